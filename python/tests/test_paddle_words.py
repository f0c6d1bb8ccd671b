# SPDX-License-Identifier: Apache-2.0
"""Words of a configuration as public ones use them: order of inputs, outputs without a cost, defaults, operators."""
import contextlib
import io
import os
import unittest

from edl.paddle import ConfigError, _errors
from tests.test_trainer_config import CLASSES, Case

SOFTMAX = "y = fc_layer(input=x, size=10, act=SoftmaxActivation())\n"
X = "x, z = data_layer('x', 6), data_layer('z', 6)\n"


class Words(Case):
    def told(self, text):
        _errors._told.clear()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            network = self.network(text)
        return network, said.getvalue()

    def test_order_of_inputs(self):
        text = X + "label = data_layer('label', 10)\ny = fc_layer(input=[x, z], size=10, act=SoftmaxActivation())\n"
        text += "inputs(label, z, x)\noutputs(classification_cost(input=y, label=label))\n"
        self.assertEqual([item["name"] for item in self.network(text)["inputs"]], ["label", "z", "x"])
        self.refused(text.replace("(label, z, x)", "(label, z)"), "inputs() leaves out x")
        named = text.replace("inputs(label, z, x)", "Inputs('label', 'z', 'x')")
        self.assertEqual([item["name"] for item in self.network(named)["inputs"]], ["label", "z", "x"])

    def test_order_of_a_power(self):
        network = self.network("w, x = data_layer('w', 1), data_layer('x', 6)\noutputs(power_layer(input=x, weight=w))\n")
        self.assertEqual([item["name"] for item in network["inputs"]], ["x", "w"])
        self.assertEqual(network["layers"][-1]["inputs"], ["w", "__power_layer_0___log"])

    def test_defaults(self):
        text = "default_momentum(0.9)\ndefault_decay_rate(1e-3)\nSettings(batch_size=4)\n" + X + SOFTMAX + CLASSES
        self.assertEqual(self.network(text)["training"], {"method": "momentum", "momentum": 0.9, "l2": 1e-3,
                                                          "learning_rate": 1.0, "batch_size": 4})
        # a method without them takes none
        network, said = self.told(text.replace("Settings(batch_size=4)", "settings(batch_size=4, learning_method=AdamOptimizer())"))
        self.assertEqual(set(network["training"]) & {"momentum", "l2"}, set())
        self.assertIn("default_momentum", said)
        self.assertIn("default_decay_rate", said)

    def test_words_without_effect(self):
        plain = self.network(X + SOFTMAX + CLASSES)
        for word in ("default_initial_std", "default_initial_mean", "default_device", "default_num_batches_regularization",
                     "model_type", "sum_evaluator", "chunk_evaluator"):
            network, said = self.told(f"{word}(0)\n" + X + SOFTMAX + CLASSES)
            self.assertEqual(network, plain)
            self.assertIn(f"{word} is without effect here", said)
        network, said = self.told(X + "classification_error_evaluator(x, z)\n" + SOFTMAX + CLASSES)
        self.assertEqual(network, plain)
        self.assertIn("classification_error_evaluator of x is without effect here", said)

    def test_evaluators(self):
        plain = self.network(X + SOFTMAX + CLASSES)
        text = X + SOFTMAX + "label = data_layer('label', 10)\nclassification_error_evaluator(input=y, label=label)\n"
        network, said = self.told(text + CLASSES.replace("data_layer('label', 10)", "label, evaluator=classification_error_evaluator"))
        self.assertEqual((network, said), (plain, ""))

    def test_operators(self):
        layers = self.network(X + "y = 1 - 2 * x + z\n" + SOFTMAX.replace("=x,", "=y,") + CLASSES)["layers"]
        self.assertEqual([(item["kind"], item.get("slope"), item.get("intercept")) for item in layers[:3]],
                         [("slope", 2.0, 0.0), ("slope", -1.0, 1.0), ("addition", None, None)])
        self.refused(X + "x * z\n", "neither has a single value")
        for form in ("a=x, b=z", "x=x, y=z"):
            layers = self.network(X + f"y = mixed_layer(input=dotmul_operator({form}))\n" + SOFTMAX.replace("=x,", "=y,") + CLASSES)
            self.assertEqual(layers["layers"][0]["inputs"], ["x", "z"])

    def test_functions_of_layers(self):
        for module in ("math", "layer_math"):
            text = f"from paddle.trainer_config_helpers import {module}\n" + X + f"x = {module}.square(x)\n" + SOFTMAX + CLASSES
            self.assertEqual(self.network(text)["layers"][0]["activation"], "square")
        self.assertEqual(self.network(X + "x = layer_math.square(x)\n" + SOFTMAX + CLASSES)["layers"][0]["activation"], "square")

    def test_sums_of_costs(self):
        text = X + "a, b = sum_cost(x), regression_cost(x, z, coeff=3)\n"
        for form, coeffs in (("a + b", (None, 3)), ("0.5 * a", (0.5,)), ("2 * (a * 0.5 + b) + sum_cost(z)", (1, 6, None)), ("b + 0.5 * a", (3, 0.5))):
            cost = self.network(text + f"outputs({form})\n")["cost"]
            self.assertEqual(tuple(item.get("coeff") for item in (cost if isinstance(cost, list) else [cost])), coeffs, form)
        for form in ("a + 1", "1 + a", "a - b", "1 - a", "a * b", "a * x", "x * a", "x + a", "a + x", "0.5 * a * b", "(a + b) - a", "(a + b) * x",
                     "(a + b) + 1", "a * True", "x - a"):
            self.refused(text + f"outputs({form})\n", "config.py:4:", "is not done with", "0.5 * a + b")
        self.refused(text + "fc_layer(a, size=2)\n", "config.py:4:", "__sum_cost_0__ is a cost, which no layer can take")

    def test_types_of_sequences(self):
        text = ("from paddle.trainer.PyDataProvider2 import *\nassert integer_value(5, seq_type=SequenceType.SEQUENCE).kind == "
                "'integer_sequence'\nassert integer_value(5, SequenceType.NO_SEQUENCE).kind == 'integer'\n")
        self.network(text + X + SOFTMAX + CLASSES)
        text += "assert str(dense_vector(5, seq_type=SequenceType.SEQUENCE)) == 'dense_vector_sequence(5)'\n"
        self.network(text + X + SOFTMAX + CLASSES)
        self.refused(text + "dense_vector(5, seq_type=SequenceType.SUB_SEQUENCE)\n", "seq_type=2")

    def test_a_bias_of_a_layer_without_one(self):
        layers = self.network(X + "x = addto_layer([x, z], bias_attr=True, act=TanhActivation())\n" + SOFTMAX + CLASSES)["layers"]
        self.assertEqual([(item["kind"], item["name"], item.get("activation")) for item in layers[:2]],
                         [("addition", "__addto_0___values", None), ("shift", "__addto_0__", "tanh")])

    def test_the_classes_of_a_label(self):
        for size, classes in (("1", 10), ("7", 7), ("10", 10), ("50", 10)):
            network = self.network(X + SOFTMAX + CLASSES.replace("10)", size + ")"))
            self.assertEqual(network["inputs"][-1], {"name": "label", "type": "integer", "size": classes})

    def test_networks_of_images(self):
        for word, layers in (("small_vgg", 29), ("vgg_16_network", 21)):
            text = f"y = {word}(input_image=data_layer('image', 3072), num_channels={{}}, num_classes=10)\n" + CLASSES
            network = self.network(text.format(3))
            self.assertEqual(len(network["layers"]), layers)
            self.assertEqual(network["inputs"][0]["channels"], 3)
            self.refused(text.format(5), "no 5 square images")

    def test_sizes_of_windows(self):
        group = "img_conv_group(data_layer('image', 3072), [4, 4], 2, num_channels=3, conv_{}=[1])\n"
        for word in ("padding", "filter_size", "act", "with_batchnorm", "batchnorm_drop_rate"):
            self.refused(group.format(word), "config.py:2:", f"conv_{word} has 1 values, but conv_num_filter has 2")
        image = "data_layer('image', 3072), num_channels=3"
        for text in (f"img_conv_layer({image}, filter_size=3, num_filters=2, stride=0)", f"img_pool_layer({image}, pool_size=2, stride=0)",
                     f"img_pool_layer({image}, pool_size=0)", f"img_conv_layer({image}, filter_size=3, num_filters=2, padding=-1)"):
            self.refused(text + "\n", "config.py:2:", "size and stride are 1 or more")
        self.refused(f"img_cmrnorm_layer({image}, size=0)\n", "config.py:2:", "img_cmrnorm_layer: size is 0")

    def test_hsigmoid(self):
        network = self.network(X + "outputs(hsigmoid(input=[x, z], label=data_layer('label', 1), num_classes=5))\n")
        self.assertEqual(network["layers"], [{
            "kind": "fc", "name": "__hsigmoid_0___nodes", "inputs": ["x", "z"], "size": 4, "activation": "linear", "transposed": True,
            "params": [{"initial_std": 0.5, "name": "___hsigmoid_0__.w0"}, {"initial_std": 0.5, "name": "___hsigmoid_0__.w1"}],
            "bias_param": {"initial_std": 0, "name": "___hsigmoid_0__.wbias"}}])
        self.assertEqual(network["cost"], {"kind": "class_tree", "name": "__hsigmoid_0__", "input": "__hsigmoid_0___nodes", "label": "label"})
        self.assertEqual(network["inputs"][-1], {"name": "label", "type": "integer", "size": 5})

    def test_crf(self):
        text = ("rows = embedding_layer(data_layer('words', 9), size=4)\ntags = data_layer('tags', 4)\n"
                "found = crf_decoding_layer(input=rows, size=4, label=tags, param_attr=ParamAttr(name='w'))\n"
                "chunk_evaluator(input=[found, tags], chunk_scheme='IOB', num_chunk_types=2)\n")
        network, _ = self.told(text + "outputs(crf_layer(input=rows, label=tags, param_attr=ParamAttr(name='w')))\n")
        self.assertEqual(network["cost"], {"kind": "crf", "name": "__crf_layer_0__", "input": "__embedding_0__", "label": "tags",
                                           "param": {"name": "w"}})
        self.assertEqual([item["type"] for item in network["inputs"]], ["integer_sequence"] * 2)
        self.refused(text + "outputs(found)\n", "the values of a crf_decoding_layer are not supported")
        self.refused("crf_decoding_layer(input=data_layer('x', 5), size=4)\n", "size is 4")

    def test_both_directions(self):
        text = "y = embedding_layer(data_layer('words', 9), size=4)\ny = {}\ny = fc_layer(y, size=10, act=SoftmaxActivation())\n" + CLASSES
        network = self.network(text.format("bidirectional_lstm(y, 3, name='b', fwd_act=ReluActivation())"))
        self.assertEqual([(item["kind"], item["name"]) for item in network["layers"][1:-1]], [
            ("fc", "lstm_transform_b_fw"), ("lstm", "b_fw"), ("fc", "lstm_transform_b_bw"), ("lstm", "b_bw"), ("seqpool", "b_fw_last"),
            ("seqpool", "b_bw_last"), ("concat", "b")])
        self.assertEqual([item.get("cell_activation") for item in network["layers"] if item["kind"] == "lstm"], ["relu", "tanh"])
        self.assertEqual([item.get("reverse", False) for item in network["layers"] if item["kind"] == "lstm"], [False, True])
        self.assertEqual(network["inputs"][0]["type"], "integer_sequence")
        self.refused(text.format("bidirectional_gru(y, 3, fwd_ac=1)"), "no argument fwd_ac", "did you mean fwd_act?")

    def test_old_data(self):
        text = "TrainData(SimpleData(files='list'), async_load_data=False)\n" + X + SOFTMAX + CLASSES
        self.network(text)
        os.rename("out", "before")
        self.refused(text, "TrainData(...) names data that nothing here reads", "--data", with_data=True)


class Outputs(Case):
    def test_values_without_a_cost(self):
        network = self.network(X + SOFTMAX + "outputs(maxid_layer(y), y)\n")
        self.assertNotIn("cost", network)
        self.assertEqual(network["outputs"], ["__maxid_layer_0__", "__fc_layer_0__"])
        self.assertEqual([item["name"] for item in network["inputs"]], ["x"])

    def test_values_beside_a_cost(self):
        network = self.network(X + SOFTMAX + "h = fc_layer(input=y, size=2)\n" + CLASSES.replace("))\n", "), h)\n"))
        self.assertEqual((network["outputs"], network["cost"]["kind"]), (["__fc_layer_1__"], "cross_entropy"))
        self.assertEqual([(item["name"], item["inputs"], item["activation"]) for item in network["layers"]], [
            ("__fc_layer_0__", ["x"], "linear"), ("__fc_layer_0___softmax", ["__fc_layer_0__"], "softmax"),
            ("__cost_0___softmax", ["__fc_layer_0__"], "softmax"), ("__fc_layer_1__", ["__fc_layer_0___softmax"], "tanh")])
        self.assertEqual(network["cost"]["input"], "__cost_0___softmax")
        # the softmax itself can be told where nothing else takes it
        network = self.network(X + SOFTMAX + CLASSES.replace("))\n", "), y)\n"))
        self.assertEqual((network["outputs"], len(network["layers"])), (["__fc_layer_0__"], 1))

    def test_two_costs_of_a_softmax(self):
        network = self.network(X + SOFTMAX + "a, b = data_layer('a', 10), data_layer('b', 10)\n"
                               "outputs(cross_entropy(input=y, label=a), cross_entropy(input=y, label=b), y)\n")
        self.assertEqual([cost["input"] for cost in network["cost"]], ["__cross_entropy_0___softmax", "__cross_entropy_1___softmax"])
        self.assertEqual((network["outputs"], len(network["layers"])), (["__fc_layer_0___softmax"], 4))

    def test_names(self):
        network = self.network("Outputs('__fc_layer_0__')\n" + X + SOFTMAX)
        self.assertEqual(network["outputs"], ["__fc_layer_0__"])
        self.refused("Outputs('__fc_layr_0__')\n" + X + SOFTMAX, "no layer __fc_layr_0__", "did you mean __fc_layer_0__?")
        self.refused("outputs(data_layer('a', 5))\n", "outputs() has a data_layer")


class Errors(Case):
    def test_no_error_proposes_what_does_not_work(self):
        self.refused("selectiv_fc_laye(input=1)\n", "no name selectiv_fc_laye")
        with self.assertRaises(ConfigError) as caught:
            self.network("selectiv_fc_laye(input=1)\n")
        self.assertNotIn("selective_fc_layer", str(caught.exception).partition(";")[2])
        self.refused("import paddle.trainer_config_helpers as h\nh.kmx_seq_scor\n", "has no kmx_seq_scor")

    def test_python_2(self):
        for line in ("print 'x'", "import sys; print >>sys.stderr, 'x'", "except ValueError, e:", "xrange(3)", "unicode('x')", "raise E, 'x'", "0777",
                     "{}.iteritems()", "import cPickle", "from itertools import izip", "x = `3`", "x = 1 <> 2", "x = 10L", "print(3), 'x'; x = 10l", "x = 0xFFL", "file('x')"):
            text = f"try:\n    pass\n{line}\n    pass\n" if line.startswith("except") else line + "\n"
            with self.subTest(line=line):
                self.refused(text, "config.py", "this is Python 2: 2to3 -w config.py")
        for line in ("x = 0.1e", "x = 'a ` and <>' 1", "print('x'", "x = 5x", "x = '10L' 1", "x = 3 # 10L\n)", "print(file)"):
            with self.subTest(line=line), self.assertRaises(ConfigError) as caught:
                self.network(line + "\n")
            self.assertNotIn("Python 2", str(caught.exception))
        self.refused("print 'x'\n", "Missing parentheses")
        self.file("old.py", "def f():\n    print 'x'\n")
        self.refused("import old\n", "old.py:2: this is Python 2: 2to3 -w", "old.py")


if __name__ == "__main__":
    unittest.main()
