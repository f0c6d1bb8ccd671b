# SPDX-License-Identifier: Apache-2.0
"""Every argument that the names of PaddlePaddle take: each acts, or is refused by name, or is named as being without effect.

The tables below have a row for each argument of each name. What has no row fails: a new argument needs one.
"""
import contextlib
import inspect
import io
import os
import sys
import unittest

from edl.paddle import _errors, _init, _install, _provider, _reader, _settings, _v2
from tests import test_paddle_v2, test_paddle_words, test_trainer_config
from tests.paddle_rows import rows_of_more_words

START = ("x, z = data_layer('x', 6), data_layer('z', 6)\nid, jd = data_layer('id', 20), data_layer('jd', 20)\n"
         "pixel, label, t = data_layer('pixel', 48), data_layer('label', 10), data_layer('t', 6)\n"
         "rows = embedding_layer(id, size=4, name='rows')\n")
END = ("outputs(classification_cost(input=fc_layer(input=y, size=10, act=SoftmaxActivation(), name='end', param_attr="
       "ParamAttr(name='end')), label=label))\n")


class Acts:
    """Another network, or other data, with this value."""
    def __init__(self, value, **also):
        self.value, self.also = value, also


class Refused(Acts):
    """An error that has these words."""
    def __init__(self, value, *words, **also):
        super().__init__(value, **also)
        self.words = words


class Told(Acts):
    """The same network, and standard error names the argument: speed and memory alone."""


class Default:
    """Nothing but this can be said, and it is so anyway."""
    def __init__(self, value):
        self.value = value


class Elsewhere:
    """A test of another file has it: "Class.test_name"."""
    def __init__(self, name, module=test_paddle_v2):
        self.name, self.module = name, module


class Call:
    """A call in a configuration. given: its arguments as text; end: what makes a network of y."""
    def __init__(self, given, rows, end=END, result="y = "):
        self.given, self.rows, self.end, self.result = given, rows, end, result

    def text(self, name, given):
        return (START + f"{self.result}{name}(" + ", ".join(f"{key}={value}" for key, value in given.items()) + ")\n" +
                self.end)


EXTRA = Acts("ExtraAttr(drop_rate=0.5)")
NO_EXTRA = Refused("ExtraAttr(drop_rate=0.5)", "drop_rate")
NAME, ACT, ATTR = Acts("'own'"), Acts("SigmoidActivation()"), Acts("ParamAttr(initial_std=0.5)")
BIAS = Acts("ParamAttr(learning_rate=2)")
PIXELS = dict(input="pixel")
COST_END = "outputs(y)\n"
SCORE = "fc_layer(input=x, size=10, act=SoftmaxActivation())"
WEIGHT = Acts("data_layer('w', 1)")
SUM = "y = mixed_layer(size=6, input=[y, identity_projection(z)], bias_attr=False)\n" + END
TEXT = ("classes = data_layer('classes', 20)\n" + "y = pooling_layer(mixed_layer(size=12, input=y))\n" + END)

V1 = {
    "data_layer": Call(dict(name="'n'", size="48"), dict(
        name=Acts("'other'"), size=Acts("12"), height=Acts("4", width="4"), width=Acts("4", height="4"),
        layer_attr=NO_EXTRA)),
    "fc_layer": Call(dict(input="x", size="7"), dict(
        input=Acts("[x, z]"), size=Acts("8"), act=ACT, name=NAME, param_attr=ATTR, bias_attr=BIAS, layer_attr=EXTRA)),
    "embedding_layer": Call(dict(input="id", size="7"), dict(
        input=Acts("jd"), size=Acts("8"), name=NAME, param_attr=Acts("ParamAttr(sparse_update=True)"),
        layer_attr=NO_EXTRA)),
    "mixed_layer": Call(dict(size="6", input="full_matrix_projection(x)"), dict(
        size=Acts("7"), input=Acts("full_matrix_projection(z)"), name=NAME, act=ACT, bias_attr=BIAS, layer_attr=EXTRA)),
    "pooling_layer": Call(dict(input="rows"), dict(
        input=Acts("embedding_layer(jd, size=4)"), pooling_type=Acts("AvgPooling()"), name=NAME, bias_attr=BIAS,
        agg_level=Refused("AggregateLevel.TO_SEQUENCE", "agg_level"), layer_attr=EXTRA)),
    "concat_layer": Call(dict(input="[x, z]"), dict(
        input=Acts("[z, x]"), act=ACT, name=NAME, layer_attr=EXTRA, bias_attr=BIAS)),
    "addto_layer": Call(dict(input="[x, z]"), dict(
        input=Acts("[x, t]"), act=ACT, name=NAME, layer_attr=EXTRA, bias_attr=BIAS)),
    "dropout_layer": Call(dict(input="x", dropout_rate="0.5"), dict(
        input=Acts("z"), dropout_rate=Acts("0.25"), name=NAME)),
    "cos_sim": Call(dict(a="x", b="z"), dict(
        a=Acts("t"), b=Acts("t"), scale=Acts("2"), size=Refused("2", "size=2"), name=NAME, layer_attr=NO_EXTRA)),
    "img_conv_layer": Call(dict(PIXELS, filter_size="3", num_filters="2", num_channels="3"), dict(
        input=Acts("fc_layer(input=x, size=48)"), filter_size=Acts("2"), num_filters=Acts("3"), name=NAME,
        num_channels=Acts("12", filter_size="1"), act=ACT, groups=Refused("2", "groups"), stride=Acts("2", padding="1"),
        padding=Acts("1"), bias_attr=BIAS, param_attr=ATTR, shared_biases=Refused("False", "shared_biases"),
        layer_attr=EXTRA, filter_size_y=Acts("2"), stride_y=Acts("2"), padding_y=Acts("1"), trans=Acts("True"),
        layer_type=Told("'exconv'"))),
    "img_pool_layer": Call(dict(PIXELS, pool_size="2", num_channels="3"), dict(
        input=Acts("fc_layer(input=x, size=48)"), pool_size=Acts("3"), name=NAME, num_channels=Acts("12"),
        pool_type=Acts("AvgPooling()"), stride=Acts("2"), padding=Acts("1"), layer_attr=EXTRA,
        ceil_mode=Acts("False"), pool_size_y=Acts("3"), stride_y=Acts("2"), padding_y=Acts("1"),
        img_width=Refused("7", "img_width"))),
    "batch_norm_layer": Call(dict(input="x"), dict(
        input=Acts("z"), act=ACT, name=NAME, num_channels=Elsewhere("ImageSizes.test_channels_of_batch_norm", sys.modules[__name__]),
        bias_attr=BIAS, param_attr=ATTR, layer_attr=EXTRA,
        batch_norm_type=Refused("'other'", "batch_norm_type"), moving_average_fraction=Acts("0.5"),
        use_global_stats=Acts("False"))),
    "regression_cost": Call(dict(input="fc_layer(input=x, size=6)", label="t"), dict(
        input=Acts("fc_layer(input=z, size=6)"), label=Acts("z"), weight=WEIGHT, name=NAME,
        coeff=Acts("2.0"), layer_attr=NO_EXTRA), COST_END),
    "classification_cost": Call(dict(input=SCORE, label="label"), dict(
        input=Acts(SCORE.replace("x,", "z,")), label=Acts("data_layer('other', 10)"), weight=WEIGHT,
        name=NAME, evaluator=Refused("1", "evaluator"), layer_attr=NO_EXTRA, coeff=Acts("2.0")), COST_END),
    "cross_entropy": Call(dict(input=SCORE, label="label"), dict(
        input=Acts(SCORE.replace("x,", "z,")), label=Acts("data_layer('other', 10)"), weight=WEIGHT,
        name=NAME, layer_attr=NO_EXTRA, coeff=Acts("2.0")), COST_END),
    "table_projection": Call(dict(input="id", size="6"), dict(
        input=Acts("jd"), size=Acts("7", end="y = mixed_layer(input=y)\n" + END),
        param_attr=Acts("ParamAttr(sparse_update=True)")), SUM),
    "full_matrix_projection": Call(dict(input="x", size="6"), dict(
        input=Acts("t"), size=Acts("7", end="y = mixed_layer(input=y)\n" + END), param_attr=ATTR), SUM),
    "trans_full_matrix_projection": Call(dict(input="x", size="6"), dict(
        input=Acts("t"), size=Acts("7", end="y = mixed_layer(input=y)\n" + END), param_attr=ATTR), SUM),
    "identity_projection": Call(dict(input="x"), dict(input=Acts("t"), offset=Refused("6", "offset")), SUM),
    "context_projection": Call(dict(input="rows", context_len="3"), dict(
        input=Acts("embedding_layer(jd, size=4)"), context_len=Acts("5", end=TEXT.replace("12", "20")),
        context_start=Acts("0"), padding_attr=Refused("True", "padding_attr")), TEXT),
    "sequence_conv_pool": Call(dict(input="rows", context_len="3", hidden_size="5"), dict(
        input=Acts("embedding_layer(jd, size=4)"), context_len=Acts("4"), hidden_size=Acts("6"), name=NAME,
        context_start=Acts("0"), pool_type=Acts("AvgPooling()"), fc_param_attr=ATTR, fc_bias_attr=BIAS, fc_act=ACT)),
    "simple_img_conv_pool": Call(dict(PIXELS, filter_size="3", num_filters="2", pool_size="2", num_channel="3"), dict(
        input=Acts("fc_layer(input=x, size=48)"), filter_size=Acts("2"), num_filters=Acts("3"), pool_size=Acts("1"),
        name=NAME, pool_type=Acts("AvgPooling()"), act=ACT, groups=Refused("2", "groups"),
        conv_stride=Acts("2", conv_padding="1"), conv_padding=Acts("1"), bias_attr=BIAS, num_channel=Acts("12", filter_size="1"),
        param_attr=ATTR, shared_bias=Refused("False", "shared_biases"), conv_layer_attr=EXTRA, pool_stride=Acts("2"),
        pool_padding=Acts("1"), pool_layer_attr=EXTRA)),
    "img_conv_group": Call(dict(PIXELS, conv_num_filter="[2]", pool_size="2", num_channels="3"), dict(
        input=Acts("fc_layer(input=x, size=48)"), conv_num_filter=Acts("[2, 2]"), pool_size=Acts("1"),
        num_channels=Acts("12"), conv_padding=Acts("2"), conv_filter_size=Acts("1"), conv_act=ACT,
        conv_with_batchnorm=Acts("True"),
        conv_batchnorm_drop_rate=Acts("0.5", conv_with_batchnorm="True"), pool_stride=Acts("2"),
        pool_type=Acts("AvgPooling()"), param_attr=ATTR)),
    "settings": Call(dict(batch_size="8"), dict(
        batch_size=Acts("9"), learning_rate=Acts("0.5"),
        learning_rate_decay_a=Acts("0.5", learning_rate_decay_b="0.5"),
        learning_rate_decay_b=Acts("0.5", learning_rate_schedule="'exp'", learning_rate_decay_a="0.5"),
        learning_rate_schedule=Acts("'pass_manual'", learning_rate_args="'1:1,2:0.5'"),
        learning_rate_args=Refused("'1:1'", "learning_rate_args"), learning_method=Acts("AdamOptimizer()"),
        regularization=Acts("L2Regularization(0.5)"), is_async=Acts("False"),
        model_average=Refused("1", "model_average"), gradient_clipping_threshold=Acts("5"),
        average_window=Acts("0.5"), max_average_window=Acts("7", average_window="0.5"),
        do_average_in_cpu=Refused("True", "do_average_in_cpu")),
        "y = x\n" + END, ""),
    "ParameterAttribute": Call({}, dict(
        name=Acts("'own'"), initial_std=Acts("0.5"), initial_mean=Acts("0.5"),
        initial_max=Acts("1", initial_min="-1"), initial_min=Refused("1", "initial_min"), l1_rate=Acts("0.5"),
        l2_rate=Acts("0.5"), learning_rate=Acts("2"), momentum=Acts("0.5"), gradient_clipping_threshold=Acts("5"),
        sparse_update=Refused("True", "sparse_update"), is_static=Acts("True")),
        "y = fc_layer(input=x, size=7, param_attr=y)\n" + END),
    "ExtraLayerAttribute": Call({}, dict(drop_rate=Acts("0.5"), device=Told("1"),
        error_clipping_threshold=Refused("5", "error_clipping_threshold")), "y = fc_layer(input=x, size=7, layer_attr=y)\n" + END),
    "get_config_arg": Call(dict(name="'n'", type="int", default="7"), dict(
        name=Elsewhere("Layers.test_arguments", test_trainer_config), default=Acts("8"), type=Refused("dict", "n is '5'", n="5")),
        "y = fc_layer(input=x, size=y)\n" + END),
    "L2Regularization": Call(dict(rate="0.5"), dict(rate=Acts("0.25")), "settings(batch_size=1, regularization=y)\ny = x\n" + END),
    "define_py_data_sources2": Call({}, {name: Elsewhere("Data.test_records", test_trainer_config)
                                         for name in ("train_list", "test_list", "module", "obj", "args")}),
    "outputs": Call({}, dict(layers=Elsewhere("Outputs.test_values_without_a_cost", test_paddle_words))),
    "AvgPooling": Call({}, dict(strategy=Acts("'sum'")), "y = pooling_layer(rows, pooling_type=y)\n" + END),
    "BaseSGDOptimizer": Call(dict(method="'momentum'"), dict(method=Acts("'adam'"))),
    "MomentumOptimizer": Call({}, dict(momentum=Acts("0.5"), sparse=Refused("True", "sparse"))),
    "AdamOptimizer": Call({}, dict(beta1=Acts("0.5"), beta2=Acts("0.5"), epsilon=Acts("0.5"))),
    "AdamaxOptimizer": Call({}, dict(beta1=Acts("0.5"), beta2=Acts("0.5"))),
    "DecayedAdaGradOptimizer": Call({}, dict(rho=Acts("0.5"), epsilon=Acts("0.5"))),
    "AdaDeltaOptimizer": Call({}, dict(rho=Acts("0.5"), epsilon=Acts("0.5"))),
    "RMSPropOptimizer": Call({}, dict(rho=Acts("0.5"), epsilon=Acts("0.5"))),
}
V1.update(rows_of_more_words(Call, Acts, Refused, Told, Elsewhere))
for _name, _call in V1.items():
    if _name.endswith("Optimizer"):
        _call.end = "settings(batch_size=1, learning_method=y)\ny = x\n" + END


def arguments(function):
    """The names that a call of it may have; None for what takes none of its own, or is refused whole."""
    if isinstance(function, type) and (function.__init__ is object.__init__ or issubclass(function, Exception)):
        return []
    if getattr(function, "__qualname__", "").startswith("refused."):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, item in inspect.signature(function).parameters.items() if name != "self" and item.kind in kinds]


class Tables(test_trainer_config.Case):
    """A configuration for each row, in a folder of its own."""

    def made(self, text, arguments_given=None):
        said = io.StringIO()
        _errors._told.clear()
        with contextlib.redirect_stderr(said):
            network = self.network(text, arguments_given)
        return network, said.getvalue()

    def row(self, name, call, argument, row):
        if isinstance(row, Elsewhere):
            kind, _, test = row.name.partition(".")
            self.assertTrue(callable(getattr(getattr(row.module, kind, None), test, None)), f"there is no test {row.name}")
            return
        also = dict(row.also)
        config_args = "n=" + also.pop("n") if "n" in also else None
        end = also.pop("end", call.end)
        other = Call(call.given, {}, end, call.result)
        plain = Call({**call.given, **also}, {}, call.end, call.result)
        if argument in also:
            self.fail(f"{name}: {argument} stands twice")
        given = {**call.given, **also, argument: row.value}
        if isinstance(row, Refused):
            self.refused(other.text(name, given), *row.words, arguments=config_args)
            return
        try:  # what goes with it must not be all of the difference
            before, _ = self.made(plain.text(name, plain.given))
        except _errors.ConfigError:
            before, _ = self.made(call.text(name, call.given))
        after, said = self.made(other.text(name, given), config_args)
        if isinstance(row, Told):
            self.assertEqual(before, after)
            self.assertIn("without effect here", said)
            self.assertIn(argument, said)
        else:
            self.assertNotEqual(before, after, f"{name}: {argument}={row.value} changes nothing")

    def test_each_row(self):
        for name, call in V1.items():
            for argument, row in call.rows.items():
                with self.subTest(name=name, argument=argument):
                    self.row(name, call, argument, row)

    def test_each_argument_has_a_row(self):
        for name, function in _install.v1_names().items():
            same = [key for key, value in _install.v1_names().items() if value is function and key in V1]
            rows = V1[same[0]].rows if same else {}
            with self.subTest(name=name):
                self.assertEqual(sorted(arguments(function)), sorted(rows), f"{name} has other arguments than rows")

    def test_rows_are_of_names(self):
        self.assertEqual([], [name for name in V1 if name not in _install.v1_names()])


PROVIDER = """
from paddle.trainer.PyDataProvider2 import *
@provider(input_types=[dense_vector(6), integer_value(10)], {})
def process(settings, name):
    for n in range(3):
        yield [n] * 6, n
"""
CONFIG = ("y = data_layer('x', 6)\n" + END.replace("label)", "data_layer('label', 10))") +
          "define_py_data_sources2(['a'], None, module='reads', obj='process')\n")
PROVIDER_ROWS = dict(
    input_types=Elsewhere("Data.test_records", test_trainer_config), should_shuffle=Acts("False"), pool_size=Told("7"),
    min_pool_size=Told("7"), can_over_batch_size=Told("False"), calc_batch_size=Refused("len", "calc_batch_size"),
    cache=Default("CacheType.CACHE_PASS_IN_MEM"), check=Default("True"),
    check_fail_continue=Refused("True", "check_fail_continue"), init_hook=Elsewhere("Data.test_records", test_trainer_config))


class Provider(test_trainer_config.Case):
    def read(self, argument, value):
        sys.modules.pop("reads", None)
        self.file("reads.py", PROVIDER.format(f"{argument}={value}" if argument else ""))
        for name in os.listdir("."):
            if name == "out":
                os.rename("out", f"out-{len(os.listdir('.'))}")
        return self.network(CONFIG, with_data=True)

    def test_each_argument(self):
        self.assertEqual(sorted(PROVIDER_ROWS), sorted(arguments(_provider.provider)))
        plain = self.read("", "")
        for argument, row in PROVIDER_ROWS.items():
            with self.subTest(argument=argument), contextlib.redirect_stderr(io.StringIO()) as said:
                if isinstance(row, Elsewhere):
                    continue
                if isinstance(row, Refused):
                    with self.assertRaisesRegex(_errors.ConfigError, row.words[0]):
                        self.read(argument, row.value)
                elif isinstance(row, Default):
                    self.assertEqual(self.read(argument, row.value), plain)
                elif isinstance(row, Told):
                    self.assertEqual(self.read(argument, row.value), plain)
                    self.assertIn(f"@provider: {argument} is without effect here", said.getvalue())
                else:
                    self.assertNotEqual(self.read(argument, row.value), plain)


class ImageSizes(test_trainer_config.Case):
    def test_channels_of_batch_norm(self):
        with self.assertRaisesRegex(_errors.ConfigError, "no multiple of 5 channels"):
            self.network(START + "y = batch_norm_layer(pixel, num_channels=5)\n" + END)
        for given, channels in (("pixel", 48), ("pixel, num_channels=3", 3), ("pixel, num_channels=24", 24),
                                ("img_conv_layer(pixel, 3, 2, num_channels=3)", 2),
                                ("dropout_layer(img_pool_layer(pixel, 2, num_channels=3), 0.5)", 3)):
            # a convolution beside it finds an image in its input, which changes nothing here
            text = START + f"c = img_conv_layer(pixel, 3, 2, num_channels=3)\ny = batch_norm_layer({given})\n" + END
            self.assertEqual(self.layer(text, "batch_norm")["channels"], channels)

    def test_global_statistics(self):
        plain, always, never = (self.network(START + f"y = batch_norm_layer(x, use_global_stats={value})\n" + END)
                                for value in ("None", "True", "False"))
        self.assertEqual(plain, always)
        self.assertTrue(next(item for item in never["layers"] if item["kind"] == "batch_norm")["batch_statistics"])


class V2Names(test_paddle_v2.Case):
    """What v2 has beside the names of v1."""

    def told(self, call, *words):
        _errors._told.clear()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            call()
        for word in words:
            self.assertIn(f"{word} is without effect here", said.getvalue())

    def optimizer(self, **given):
        return self.paddle.optimizer.Momentum(**given).training

    def test_optimizers_take_the_arguments_of_settings(self):
        from edl.paddle._optimizer import RATES
        self.assertEqual(sorted(RATES), sorted(name for name in arguments(_settings.settings) if name != "learning_method"))
        plain = self.optimizer()
        for name, value in dict(learning_rate=0.5, regularization=self.paddle.optimizer.L2Regularization(0.5),
                                is_async=False, gradient_clipping_threshold=5.0, average_window=0.5,
                                model_average=self.paddle.optimizer.ModelAverage(0.5, 100)).items():
            self.assertNotEqual(self.optimizer(**{name: value}), plain, name)
        for name, value in dict(model_average=1, learning_rate_args="1:1", do_average_in_cpu=True).items():
            with self.assertRaisesRegex(_errors.ConfigError, name):
                self.optimizer(**{name: value})
        for kind in ("Adam", "Adamax", "AdaGrad"):
            made = getattr(self.paddle.optimizer, kind)
            if kind != "AdaGrad":  # as in PaddlePaddle, where it changes nothing either
                self.told(lambda: made(regularization=self.paddle.optimizer.L2Regularization(0.5)), "regularization")  # pylint: disable=cell-var-from-loop
                self.assertNotIn("l2", made(regularization=self.paddle.optimizer.L2Regularization(0.5)).training)
            if kind != "Adam":
                with self.assertRaisesRegex(_errors.ConfigError, "no schedule"):
                    made(learning_rate_schedule="discexp", learning_rate_decay_a=0.5, learning_rate_decay_b=10)
            made(learning_rate_schedule="constant")

    def test_flags(self):
        acts = {name for name, default in _init.FLAGS.items() if default is None}
        self.assertEqual(acts, {"use_gpu", "seed", "port", "ports_num", "ports_num_for_sparse", "trainer_id", "pservers"})
        for name in set(_init.FLAGS) - acts:
            self.told(lambda: self.paddle.init(**{name: "7"}), f"paddle.init: {name}")  # pylint: disable=cell-var-from-loop
        self.paddle.init(seed=0)
        first = _init.options()["seed"]
        self.assertNotEqual(first, _init.options()["seed"])
        self.paddle.init()

    def test_readers(self):
        reader = self.paddle.reader
        numbers = lambda: iter(range(4))  # noqa: E731
        self.told(lambda: reader.buffered(numbers, 4), "reader.buffered: size")
        self.told(lambda: reader.xmap_readers(abs, numbers, 2, 4), "reader.xmap_readers: process_num",
                  "reader.xmap_readers: buffer_size")
        self.told(lambda: reader.creator.recordio("x", buf_size=3), "creator.recordio: buf_size")
        self.told(lambda: reader.creator.cloud_reader("x", "etcd", 3, 4), "creator.cloud_reader: etcd_endpoints",
                  "creator.cloud_reader: timeout_sec", "creator.cloud_reader: buf_size")
        known = dict(batch=("reader", "batch_size"), batched=("reader", "batch_size"), shuffle=("reader", "buf_size"), buffered=("reader", "size"),
                     firstn=("reader", "n"), chain=(), map_readers=("func",),
                     xmap_readers=("mapper", "reader", "process_num", "buffer_size", "order"), cache=("reader",),
                     compose=("check_alignment",), ComposeNotAligned=(), np_array=("x",), text_file=("path",),
                     recordio=("paths", "buf_size"), cloud_reader=("paths", "etcd_endpoints", "timeout_sec", "buf_size"))
        for name, function in {**_reader.DECORATORS, **_reader.CREATORS}.items():
            self.assertEqual(sorted(arguments(function)), sorted(known[name]), name)

    def test_trainer(self):
        paddle, cost = self.paddle, self.classifier()
        parameters, plain = paddle.parameters.create(cost), paddle.optimizer.Momentum()
        self.assertEqual(arguments(paddle.trainer.SGD), ["cost", "parameters", "update_equation", "extra_layers", "is_local",
                                                         "pserver_spec", "use_etcd"])
        for name, value in dict(extra_layers=cost, pserver_spec="x", parameters=1, update_equation=1).items():
            given = {**dict(cost=cost, parameters=parameters, update_equation=plain), name: value}
            with self.assertRaisesRegex(_errors.ConfigError, name):
                paddle.trainer.SGD(**given)
        self.told(lambda: paddle.trainer.SGD(cost, parameters, plain, use_etcd=False), "SGD: use_etcd")
        trainer = paddle.trainer.SGD(cost, parameters, plain)
        self.assertEqual(arguments(trainer.train), ["reader", "num_passes", "event_handler", "feeding"])
        self.assertEqual(arguments(trainer.test), ["reader", "feeding"])
        self.assertEqual(arguments(paddle.infer), ["output_layer", "parameters", "input", "feeding", "field"])

    def test_names_of_layers_are_those_above(self):
        above = set(map(id, _install.v1_names().values())) | {id(self.paddle.layer.data)}
        for module in ("layer", "networks", "activation", "pooling", "attr"):
            for name, value in _v2.modules(_install.V1_LAYERS, _install.NETWORKS, {})[module].items():
                if arguments(value):
                    self.assertIn(id(value), above, f"{module}.{name}")
        self.assertEqual(arguments(self.paddle.layer.data), ["name", "type", "height", "width", "layer_attr"])
        with self.assertRaisesRegex(_errors.ConfigError, "drop_rate"):
            self.paddle.layer.data(name="d", type=self.paddle.data_type.dense_vector(4), layer_attr=self.paddle.attr.Extra(drop_rate=0.5))


if __name__ == "__main__":
    unittest.main()
