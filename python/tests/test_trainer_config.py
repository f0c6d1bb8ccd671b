# SPDX-License-Identifier: Apache-2.0
"""trainer_config.py: what its names make of it. Each test runs a file as edl-trainer would."""
import contextlib
import importlib.util
import io
import json
import os
import struct
import sys
import tempfile
import unittest
import zlib

from edl import trainer_config
from edl.paddle import ConfigError

START = "from paddle.trainer_config_helpers import *\n"
CLASSES = "outputs(classification_cost(input=y, label=data_layer('label', 10)))\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext_(tempfile.TemporaryDirectory())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        path, modules = list(sys.path), set(sys.modules)
        self.addCleanup(self.forget, path, modules)

    def enterContext_(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    @staticmethod
    def forget(path, modules):
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            del sys.modules[name]

    def file(self, name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def network(self, text, arguments=None, with_data=False):
        self.file("config.py", START + text)
        with contextlib.redirect_stdout(io.StringIO()):
            trainer_config.evaluate("config.py", arguments)
            path = trainer_config.write("config.py", "out", with_data)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def refused(self, text, *words, **more):
        with self.assertRaises(ConfigError) as caught:
            self.network(text, **more)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def layer(self, text, kind, **more):
        found = [item for item in self.network(text, **more)["layers"] if item["kind"] == kind]
        self.assertEqual(len(found), 1, found)
        return found[0]


class Layers(Case):
    def test_a_shared_table_of_projections_is_one_table(self):
        layers = self.network(
            "def word(name): return table_projection(input=data_layer(name, 20), size=4,\n"
            "    param_attr=ParamAttr(name='_proj', initial_std=0.001, learning_rate=1, l2_rate=0))\n"
            "y = concat_layer(input=[word('a'), word('b')])\n"
            "y = fc_layer(input=y, size=10, act=SoftmaxActivation())\n" + CLASSES)["layers"]
        self.assertEqual(layers[0], {
            "kind": "table", "name": "__concat_0__", "inputs": ["a", "b"], "size": 4,
            "param": {"name": "_proj", "initial_std": 0.001, "l2": False}})

    def test_tables_of_their_own_are_parts_with_paddles_names(self):
        layers = self.network(
            "a, b = data_layer('a', 20), data_layer('b', 30)\n"
            "y = concat_layer(input=[table_projection(a, 4), table_projection(b, 4)])\n"
            "y = fc_layer(input=y, size=10, act=SoftmaxActivation())\n" + CLASSES)["layers"]
        self.assertEqual([item.get("param", {}).get("name") for item in layers[:2]],
                         ["___concat_0__.w0", "___concat_0__.w1"])
        self.assertEqual(layers[2]["inputs"], [layers[0]["name"], layers[1]["name"]])

    def test_a_sum_of_projections(self):
        text = ("a, b = data_layer('a', 5), data_layer('b', 6)\n"
                "with mixed_layer(size=10, act=SoftmaxActivation(), bias_attr=True) as y:\n"
                "    y += full_matrix_projection(a)\n    y += full_matrix_projection(b)\n" + CLASSES)
        self.assertEqual(self.layer(text, "fc"), {
            "kind": "fc", "name": "__mixed_0__", "inputs": ["a", "b"], "size": 10, "activation": "softmax"})

    def test_a_sum_of_different_projections(self):
        layers = self.network(
            "a, b = data_layer('a', 5), data_layer('b', 10)\n"
            "y = mixed_layer(size=10, input=[full_matrix_projection(a), identity_projection(b)],\n"
            "                act=SoftmaxActivation())\n" + CLASSES)["layers"]
        self.assertEqual([item["kind"] for item in layers], ["fc", "addition"])
        self.assertEqual(layers[0]["param"], {"name": "___mixed_0__.w0"})
        self.assertIs(layers[0]["bias"], False)
        self.assertEqual(layers[1]["inputs"], [layers[0]["name"], "b"])

    def test_attributes(self):
        text = ("y = fc_layer(input=[data_layer('a', 5), data_layer('b', 6)], size=10,\n"
                "  act=SoftmaxActivation(), bias_attr=ParamAttr(learning_rate=2),\n"
                "  param_attr=[ParamAttr(name='w', initial_max=1, initial_min=-1, l1_rate=0.5,\n"
                "    momentum=0.5, gradient_clipping_threshold=3), ParamAttr(l2_rate=0, momentum=0)])\n" + CLASSES)
        layer = self.layer(text, "fc")
        self.assertEqual(layer["bias_param"], {"learning_rate": 2})
        self.assertEqual(layer["params"], [{"name": "w", "initial_min": -1, "initial_max": 1, "l1": 0.5,
                                            "momentum": 0.5, "clipping": 3}, {"momentum": False, "l2": False}])

    def test_a_bias_with_an_empty_attribute_is_said_to_have_one(self):
        # Paddle starts such a bias with the deviation 1, and one without an attribute at 0
        text = ("y = fc_layer(input=data_layer('a', 5), size=10, act=SoftmaxActivation(), bias_attr=%s)\n" + CLASSES)
        self.assertEqual(self.layer(text % "ParamAttr()", "fc")["bias_param"], {})
        self.assertNotIn("bias_param", self.layer(text % "None", "fc"))
        self.assertIs(self.layer(text % "False", "fc")["bias"], False)

    def test_types_follow_the_use(self):
        inputs = self.network(
            "words = embedding_layer(input=data_layer('words', 50), size=4)\n"
            "one = embedding_layer(input=data_layer('one', 60), size=4)\n"
            "y = fc_layer(input=[pooling_layer(words, pooling_type=AvgPooling()), one, data_layer('x', 3)],\n"
            "             size=10, act=SoftmaxActivation())\n" + CLASSES)["inputs"]
        self.assertEqual([(item["name"], item["type"], item["size"]) for item in inputs], [
            ("words", "integer_sequence", 50), ("one", "integer", 60), ("x", "dense", 3),
            ("label", "integer", 10)])

    def test_layers_nobody_needs_are_left_out(self):
        network = self.network("x = data_layer('x', 3)\nfc_layer(input=data_layer('z', 4), size=2)\n"
                               "y = fc_layer(input=x, size=10, act=SoftmaxActivation())\n" + CLASSES)
        self.assertEqual([item["name"] for item in network["layers"]], ["__fc_layer_1__"])
        self.assertEqual([item["name"] for item in network["inputs"]], ["x", "label"])

    def test_images(self):
        network = self.network(
            "y = simple_img_conv_pool(input=data_layer('pixel', 784), filter_size=5, num_filters=20,\n"
            "  num_channel=1, pool_size=2, pool_stride=2)\n"
            "y = batch_norm_layer(input=y, act=ReluActivation())\n"
            "y = fc_layer(input=y, size=10, act=SoftmaxActivation())\n" + CLASSES)
        self.assertEqual(network["inputs"][0], {"name": "pixel", "type": "dense", "size": 784, "channels": 1,
                                                "height": 28, "width": 28})
        self.assertEqual([item["kind"] for item in network["layers"]], ["conv", "pool", "batch_norm", "fc"])
        self.assertEqual(network["layers"][0]["filters"], 20)

    def test_settings(self):
        text = ("settings(batch_size=32, learning_rate=0.1, learning_method=MomentumOptimizer(0.9),\n"
                "  regularization=L2Regularization(8e-4), gradient_clipping_threshold=25,\n"
                "  learning_rate_schedule='discexp', learning_rate_decay_a=0.5, learning_rate_decay_b=100)\n"
                "y = fc_layer(input=data_layer('a', 5), size=10, act=SoftmaxActivation())\n" + CLASSES)
        self.assertEqual(self.network(text)["training"], {
            "method": "momentum", "momentum": 0.9, "learning_rate": 0.1, "batch_size": 32, "l2": 8e-4,
            "clipping": 25, "schedule": "discexp", "schedule_a": 0.5, "schedule_b": 100})

    def test_arguments(self):
        text = ("n = get_config_arg('n', int, 3)\nif get_config_arg('wide', bool, False): n = 2 * n\n"
                "y = fc_layer(input=fc_layer(input=data_layer('a', 5), size=n, name='inner'), size=10,\n"
                "             act=SoftmaxActivation())\n" + CLASSES)
        sizes = [self.network(text, arguments)["layers"][0]["size"] for arguments in (None, "n=7", "wide=1,n=7")]
        self.assertEqual(sizes, [3, 7, 14])
        self.refused(text, "config.py:3:", "wide is 'yes'", arguments="wide=yes")


    def test_names_in_the_modules_that_have_them(self):
        text = ("from paddle.trainer_config_helpers.attrs import ParamAttr as P\n"
                "import paddle.trainer_config_helpers.layers as layers\n"
                "y = layers.fc_layer(input=data_layer('a', 5), size=10, act=SoftmaxActivation(), param_attr=P(name='w'))\n" + CLASSES)
        self.assertEqual(self.layer(text, "fc")["param"], {"name": "w"})


class Errors(Case):
    def test_unknown_names_and_arguments(self):
        self.refused("x = 1\nrecurrent_group(input=x)\n", "config.py:3:", "recurrent_group is not supported")
        self.refused("fc_layr(input=1)\n", "config.py:2:", "no name fc_layr", "did you mean fc_layer?")
        self.refused("y = fc_layer(input=data_layer('a', 5), sise=3)\n", "config.py:2:",
                     "fc_layer has no argument sise", "did you mean size?")
        self.refused("ParamAttr(update_hooks=1)\n", "config.py:2:", "no argument update_hooks")
        self.refused("SequenceSoftmaxActivation()\n", "config.py:2:", "SequenceSoftmaxActivation", "Softmax")

    def test_what_cannot_be(self):
        self.refused("fc_layer(input=3, size=2)\n", "config.py:2:", "input is 3, which is no layer")
        self.refused("a = data_layer('a', 2)\na = data_layer('a', 2)\n", "config.py:3:", "two layers are called a")
        self.refused("settings(batch_size=1, model_average=1)\n", "config.py:2:", "model_average")
        self.refused("y = fc_layer(input=data_layer('a', 5), size=10)\n" + CLASSES, "config.py:3:", "softmax")
        self.refused("outputs(data_layer('a', 5))\n", "outputs() has a data_layer")
        self.refused("x = 1\n", "has no outputs")
        self.refused("1 / 0\n", "config.py:2:", "ZeroDivisionError")

    def test_paddle_is_nobody_elses(self):
        self.assertNotIn("paddle", sys.modules)
        self.assertIsNone(importlib.util.find_spec("paddle"))


PROVIDER = """
from paddle.trainer.PyDataProvider2 import *
def hook(settings, file_list, is_train, wide, **more):
    settings.input_types = [integer_value_sequence(9), sparse_binary_vector(3), dense_vector(2), integer_value(10)]
    assert wide == 5 and len(file_list) == 1
@provider(init_hook=hook, cache=CacheType.CACHE_PASS_IN_MEM)
def process(settings, name):
    with open(name) as lines:
        for line in lines:
            n = int(line)
            yield {sample}
"""
CONFIG = ("y = fc_layer(input=[pooling_layer(embedding_layer(input=data_layer('words', 9), size=2)),\n"
          "  data_layer('flags', 3), data_layer('x', 2)], size=10, act=SoftmaxActivation())\n" + CLASSES +
          "define_py_data_sources2('train.list', None, module='reads', obj='process', args={'wide': 5})\n")


class Data(Case):
    def read(self, sample):
        self.file("reads.py", PROVIDER.replace("{sample}", sample))
        self.file("train.list", "a.txt\n")
        self.file("a.txt", "1\n2\n")
        return self.network(CONFIG, with_data=True)

    def test_records(self):
        network = self.read("[n, 3], [0, 2], [0.5, n], n")
        with open("out/data/train-00000-of-00001.recordio", "rb") as file:
            magic, crc, compressor, size, n = struct.unpack("<5I", file.read(20))
            payload = file.read()
        self.assertEqual((magic, compressor, size, n), (0x01020304, 0, len(payload), 2))
        self.assertEqual(crc, zlib.crc32(payload))
        first = struct.pack("<I2i3f2fi", 2, 1, 3, 1, 0, 1, 0.5, 1, 1)
        self.assertEqual(payload[:4 + len(first)], struct.pack("<I", len(first)) + first)
        with open("out/data/data.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["inputs"], [
                {"name": item["name"], "kind": item["type"], "size": item["size"]} for item in network["inputs"]])

    def test_samples_by_name(self):
        self.read("{'x': [0, 0], 'words': [1], 'label': n, 'flags': []}")
        self.assertEqual(os.path.getsize("out/data/train-00000-of-00001.recordio"), 20 + 2 * (4 + 8 + 12 + 8 + 4))

    def test_bad_samples(self):
        for sample, words in (("[9], [], [0, 0], 1", "sample 0, input words (integer_value_sequence(9)): 9 is no id"),
                              ("[1], [], [0], 1", "input x (dense_vector(2)): 1 values, not 2"),
                              ("[1], [], [0, 0], 10", "input label"), ("[1], []", "has 2 values"),
                              ("[1], [], [0, 0], 'a'", "input label"), ("{'x': 1}", "has no words")):
            sys.modules.pop("reads", None)
            with self.assertRaises(ConfigError) as caught:
                self.read(sample)
            self.assertIn(words, str(caught.exception))
            os.rename("out", f"out-{len(words)}-{len(sample)}")

    def values(self, provider, size, listed="a\n"):
        """The dense values of a network with one input."""
        self.file("reads.py", "from paddle.trainer.PyDataProvider2 import *\n" + provider)
        self.file("list", listed)
        self.network(f"outputs(fc_layer(input=data_layer('x', {size}), size=1))\n"
                     "define_py_data_sources2('list', None, module='reads', obj='process')\n", with_data=True)
        with open("out/data/train-00000-of-00001.recordio", "rb") as file:
            payload = file.read()[20:]
        step = 4 + 4 * size
        return [struct.unpack_from(f"<{size}f", payload, at + 4) for at in range(0, len(payload), step)]

    def test_one_input_is_given_alone(self):
        self.assertEqual(self.values("@provider(input_types=[dense_vector(2)])\ndef process(settings, name):\n"
                                     "    yield [1, 2]\n    yield (3, 4)\n    yield {'x': [5, 6]}\n", 2), [(1, 2), (3, 4), (5, 6)])

    def test_ids_that_a_cost_takes_as_values(self):
        x = "y = fc_layer(input=data_layer('x', 1), size={}, act=SigmoidActivation())\n"
        for cost, size, n, rows in (("rank_cost(left=y, right=y, label=data_layer('t', 1))", 1, 2, [(7, 0), (7, 1)]),
                                    ("multi_binary_label_cross_entropy(input=y, label=data_layer('t', 3))", 3, 3, [(7, 1, 0, 0), (7, 0, 1, 0)])):
            self.file("reads.py", f"from paddle.trainer.PyDataProvider2 import *\n@provider(input_types=[dense_vector(1), integer_value({n})])\n"
                                  "def process(settings, name):\n    for n in range(2):\n        yield [7], n\n")
            sys.modules.pop("reads", None)
            network = self.network(x.format(size) + f"outputs({cost})\ndefine_py_data_sources2(['a'], None, module='reads', obj='process')\n",
                                   with_data=True)
            self.assertEqual(network["inputs"][1], {"name": "t", "type": "dense", "size": len(rows[0]) - 1})
            with open("out/data/train-00000-of-00001.recordio", "rb") as file:
                payload = file.read()[20:]
            step = 4 + 4 * len(rows[0])
            self.assertEqual([struct.unpack_from(f"<{len(rows[0])}f", payload, at + 4) for at in (0, step)], rows)
            os.rename("out", f"out-{size}")

    def test_a_provider_of_before(self):
        # as in PaddlePaddle's demo/introduction: a word of before, a line of a blank, and a list in the place of a generator
        with contextlib.redirect_stderr(io.StringIO()) as said:
            values = self.values("@provider(slots=[dense_vector(1)], use_seq=False)\ndef process(settings, name):\n"
                                 "    return [[len(name)]]\n", 1, " \n\n a b \n")
        self.assertEqual(values, [(1,), (5,)])
        self.assertIn("@provider: use_seq is without effect here", said.getvalue())

    def test_no_files(self):
        self.refused(CONFIG, "cannot read the file list train.list", with_data=True)
        os.rename("out", "before")
        self.file("train.list", "a.txt\n")
        self.refused(CONFIG, "no module reads", with_data=True)


if __name__ == "__main__":
    unittest.main()
