# SPDX-License-Identifier: Apache-2.0
"""paddle.v2 without a training: readers, the word data set, parameters and their tar, networks; and what
SGD makes of the lines of a program in edl-trainer's place."""
import contextlib
import io
import os
import stat
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

from edl.paddle import ConfigError, _init, _model_files, _sgd, install
from edl.paddle._graph import GRAPH

STAND_IN = """#!/bin/sh
for word; do
    case $word in
    --save_dir=*) out=${word#--save_dir=} ;;
    --config=*) cp "${word#--config=}" "$SEEN/network.json" ;;
    --data=*) cp "${word#--data=}"/* "$SEEN" ;;
    --init_model_path=*) cp -r "${word#--init_model_path=}" "$SEEN/given" ;;
    esac
    echo "$word" >>"$SEEN/words"
done
[ -z "$FAILS" ] || { echo '01:02:03.456 error edl-trainer: cannot go on: no room' >&2; exit 1; }
[ "$1" != test ] || { echo 'Test samples=3 cost=0.25 classification_error_evaluator=0.5'; exit; }
for pass in 0 1; do
    for batch in 0 1; do
        echo "Pass $pass, Batch $batch, Cost 1.$pass$batch, {'classification_error_evaluator': 0.$pass$batch}"
    done
    echo "Pass $pass done here: 2 batches, mean Cost 1.0, {'classification_error_evaluator': 0.75}, 12 samples/s"
    [ -n "$out" ] || continue
    mkdir -p "$out/pass-0000$pass"
    printf '\\0\\0\\0\\0\\4\\0\\0\\0\\6\\0\\0\\0\\0\\0\\0\\0%024d' $pass >"$out/pass-0000$pass/___fc_layer_0__.w0"
    printf '\\0\\0\\0\\0\\4\\0\\0\\0\\2\\0\\0\\0\\0\\0\\0\\0%08d' $pass >"$out/pass-0000$pass/___fc_layer_0__.wbias"
    echo "Saving parameters to $out/pass-0000$pass"
    [ -z "$WAITS" ] || exec tail -f /dev/null
done
"""


class Case(unittest.TestCase):
    def setUp(self):
        path, modules = list(sys.path), dict(sys.modules)
        self.addCleanup(self.forget, path, modules)
        GRAPH.restart()
        install(2)
        import paddle.v2
        self.paddle = paddle.v2

    @staticmethod
    def forget(path, modules):
        sys.path[:] = path
        for name in set(sys.modules) - set(modules):
            if name.partition(".")[0] == "paddle":
                del sys.modules[name]

    def classifier(self):
        paddle = self.paddle
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(3))
        label = paddle.layer.data(name="label", type=paddle.data_type.integer_value(2))
        y = paddle.layer.fc(input=x, size=2, act=paddle.activation.Softmax())
        return paddle.layer.classification_cost(input=y, label=label)


class Readers(Case):
    def test_batches(self):
        batch = self.paddle.batch(lambda: iter(range(5)), 2)
        self.assertEqual(list(batch()), [[0, 1], [2, 3], [4]])
        self.assertEqual(list(batch()), [[0, 1], [2, 3], [4]])
        with self.assertRaisesRegex(ConfigError, "batch_size is 0"):
            self.paddle.batch(lambda: iter([]), 0)

    def test_decorators(self):
        reader, numbers = self.paddle.reader, lambda: iter(range(6))
        self.assertEqual(sorted(reader.shuffle(numbers, 4)()), list(range(6)))
        self.assertEqual(sorted(list(reader.shuffle(numbers, 4)())[:4]), [0, 1, 2, 3])
        self.assertEqual(list(reader.firstn(numbers, 2)()), [0, 1])
        self.assertEqual(list(reader.chain(numbers, numbers)()), list(range(6)) * 2)
        self.assertEqual(list(reader.map_readers(lambda a, b: a * b, numbers, numbers)()), [0, 1, 4, 9, 16, 25])
        self.assertEqual(list(reader.compose(numbers, lambda: ((i, -i) for i in range(6)))())[2], (2, 2, -2))
        with self.assertRaises(reader.ComposeNotAligned):
            list(reader.compose(numbers, lambda: iter([1]))())
        self.assertEqual(len(list(reader.compose(numbers, lambda: iter([1]), check_alignment=False)())), 1)
        once = iter([1, 2])
        kept = reader.cache(lambda: once)
        self.assertEqual((list(kept()), list(kept())), ([1, 2], [1, 2]))

    def test_record_files(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = [(i, [0.5, i], "w") for i in range(7)] + ["text"]
            self.paddle.dataset.common.convert(folder, lambda: iter(samples), 5, "train")
            self.assertEqual(sorted(os.listdir(folder)), ["train-00000", "train-00001"])
            for reader in (self.paddle.reader.creator.cloud_reader([folder + "/train-*"], "127.0.0.1:2379"),
                           self.paddle.reader.creator.recordio(folder + "/train-*")):
                for _ in range(2):
                    self.assertEqual(sorted(reader(), key=str), sorted(samples, key=str))
                batches = list(self.paddle.batch(reader, 3)())
                self.assertEqual(list(map(len, batches)), [3, 3, 2])
        with self.assertRaisesRegex(ConfigError, "cloud_reader has no argument etcd"):
            self.paddle.reader.creator.cloud_reader(["x"], etcd="y")


class Orders(Case):
    def test_inputs_stand_as_they_are_defined(self):
        layer, kinds = self.paddle.layer, self.paddle.data_type
        from paddle.v2.topology import Topology
        label, x, z = (layer.data(name=name, type=kind) for name, kind in (
            ("label", kinds.integer_value(2)), ("x", kinds.dense_vector(3)), ("z", kinds.dense_vector(4))))
        cost = layer.rank_cost(left=layer.fc(input=z, size=1), right=layer.fc(input=x, size=1), label=label)
        made = Topology(cost)
        self.assertEqual([name for name, _ in made.data_type()], ["label", "x", "z"])
        self.assertEqual(list(made.data_layers()), ["label", "x", "z"])
        self.assertIn('{"name": "label", "type": "dense", "size": 1}', made.proto())


class Words(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.text = os.path.join(folder.name, "text")
        with open(self.text, "w", encoding="utf-8") as file:
            file.write("b a b\n" * 9 + "c\n")  # the tenth line is for testing
        environment = mock.patch.dict(os.environ, {"EDL_TEXT": self.text})
        environment.start()
        self.addCleanup(environment.stop)

    def test_numbers(self):
        words = self.paddle.dataset.imikolov
        self.assertEqual(words.build_dict(0), {"b": 0, "<e>": 1, "<s>": 2, "a": 3, "c": 4, "<unk>": 5})
        self.assertEqual(words.build_dict(9), {"b": 0, "<e>": 1, "<s>": 2, "<unk>": 3})

    def test_ngrams(self):
        words = self.paddle.dataset.imikolov
        ids = words.build_dict(9)
        self.assertEqual(list(words.train(ids, 5)())[:2], [(2, 0, 3, 0, 1)] * 2)
        self.assertEqual(len(list(words.train(ids, 5)())), 9)
        self.assertEqual(list(words.train(ids, 4)())[:2], [(2, 0, 3, 0), (0, 3, 0, 1)])
        self.assertEqual(list(words.test(ids, 3)()), [(2, 3, 1)])
        self.assertEqual(list(words.test(ids, 5)()), [])
        sequences = words.train(ids, 5, words.DataType.SEQ)
        self.assertEqual(next(sequences()), ([2, 0, 3, 0], [0, 3, 0, 1]))

    def test_sets_that_are_not_there(self):
        with self.assertRaisesRegex(ConfigError, "nothing is downloaded"):
            self.paddle.dataset.mnist.train()
        with mock.patch.dict(os.environ, {"EDL_TEXT": "/nowhere"}):
            with self.assertRaisesRegex(ConfigError, "EDL_TEXT is /nowhere"):
                self.paddle.dataset.imikolov.build_dict()


class Networks(Case):
    def test_what_v2_means_by_default(self):
        paddle = self.paddle
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(3))
        y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
        sides = [paddle.layer.fc(input=x, size=4, param_attr=paddle.attr.Param(l2_rate=0)) for _ in range(2)]
        cost = paddle.layer.square_error_cost(input=paddle.layer.cos_sim(*sides), label=y)
        sgd = paddle.trainer.SGD(cost, paddle.parameters.create(cost), paddle.optimizer.RMSProp(
            learning_rate=1e-4, rho=0.5, regularization=paddle.optimizer.L2Regularization(8e-4)))
        self.assertEqual(sgd.network["training"], {"method": "rmsprop", "rho": 0.5, "epsilon": 1e-6, "learning_rate": 1e-4,
                                                   "l2": 8e-4})
        self.assertEqual(sgd.network["layers"][-1]["scale"], 1.0)
        self.assertNotIn("param", sgd.network["layers"][0])  # the optimizer's L2, as since Paddle 0.11

    def test_refusals(self):
        paddle, cost = self.paddle, self.classifier()
        parameters, adam = paddle.parameters.create(cost), paddle.optimizer.Adam()
        for call, words in (
                (lambda: paddle.trainer.SGD(cost, parameters, adam, is_local=False, pserver_spec="x"), "pserver_spec"),
                (lambda: paddle.trainer.SGD(cost, parameters, None), "update_equation is None"),
                (lambda: paddle.optimizer.Adam(rate=1), "optimizer.Adam has no argument rate"),
                (lambda: paddle.layer.memory(1), "memory is not supported"),
                (lambda: paddle.layer.fcc, "did you mean fc"),
                (lambda: paddle.infer(cost, parameters, [], field="name"), "field is 'name'"),
                (lambda: paddle.init(use_gpo=True), "did you mean use_gpu")):
            with self.assertRaisesRegex(ConfigError, words):
                call()

    def test_flags(self):
        with mock.patch.dict(os.environ, {"PADDLE_INIT_SEED": "5", "PADDLE_INIT_USE_GPU": "False"}):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.paddle.init(trainer_count=4, port=7164)
        self.assertEqual(1, said.getvalue().count("paddle.init: trainer_count is without effect here"), said.getvalue())
        self.assertNotIn("port", said.getvalue())
        self.assertEqual(_init.options(), {"seed": "5"})
        self.paddle.init(use_gpu=True)
        self.assertEqual(_init.options(), {"device": "cuda"})


class Values(Case):
    def test_tar(self):
        parameters = self.paddle.parameters.create(self.classifier())
        self.assertEqual(parameters.names(), ["___fc_layer_0__.w0", "___fc_layer_0__.wbias"])
        file = io.BytesIO()
        parameters.to_tar(file)
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            self.assertEqual(tar.getnames(), [name + end for name in parameters.names() for end in ("", ".protobuf")])
            self.assertEqual(tar.extractfile("___fc_layer_0__.wbias").read(),
                             b"\0\0\0\0\4\0\0\0" + b"\2" + b"\0" * 7 + b"\0" * 8)
            self.assertEqual(tar.extractfile("___fc_layer_0__.w0.protobuf").read(),
                             b"\x0a\x12___fc_layer_0__.w0\x10\x06\x48\x03\x48\x02")
        file.seek(0)
        again = self.paddle.parameters.Parameters.from_tar(file)
        self.assertEqual(again.all(), parameters.all())
        self.assertEqual(again.get_shape("___fc_layer_0__.w0"), (3, 2))

    def test_foreign_tars(self):
        for content in (b"", b"x" * 600, self.tar("a", b"short"), self.tar("a.protobuf", b"\xff" * 20),
                        self.tar("a", b"\0\0\0\0\4\0\0\0" + b"\xff" * 8),
                        self.tar("a", b"\1\0\0\0\4\0\0\0" + b"\0" * 8)):
            with self.assertRaises(ConfigError):
                self.paddle.parameters.Parameters.from_tar(io.BytesIO(content))

    @staticmethod
    def tar(name, data):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        return file.getvalue()

    def test_arrays(self):
        try:
            import numpy
        except ModuleNotFoundError:
            self.skipTest("there is no numpy")
        parameters = self.paddle.parameters.create(self.classifier())
        parameters.set("___fc_layer_0__.w0", numpy.arange(6).reshape(3, 2))
        self.assertEqual(parameters["___fc_layer_0__.w0"].tolist(), [[0, 1], [2, 3], [4, 5]])
        with self.assertRaisesRegex(ConfigError, "has the shape"):
            parameters.set("___fc_layer_0__.w0", numpy.zeros(5))
        with self.assertRaisesRegex(ConfigError, "there is no parameter w"):
            parameters.get("w")

    def test_without_numpy(self):
        parameters = self.paddle.parameters.create(self.classifier())
        with mock.patch.dict(sys.modules, {"numpy": None}):
            with self.assertRaisesRegex(ConfigError, "apt-get install python3-numpy"):
                parameters.get("___fc_layer_0__.w0")
            parameters.to_tar(io.BytesIO())


class Training(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.seen = folder.name
        program = os.path.join(self.seen, "edl-trainer")
        with open(program, "w", encoding="ascii") as file:
            file.write(STAND_IN)
        os.chmod(program, stat.S_IRWXU)
        environment = mock.patch.dict(os.environ, {"EDL_TRAINER": program, "SEEN": self.seen})
        environment.start()
        self.addCleanup(environment.stop)
        _init.GIVEN.clear()
        self.cost = self.classifier()
        self.parameters = self.paddle.parameters.create(self.cost)
        self.sgd = self.paddle.trainer.SGD(self.cost, self.parameters, self.paddle.optimizer.Momentum(momentum=0.9))
        self.samples = [[([0.0, 1.0, 2.0], 1), ([3.0, 4.0, 5.0], 0)], [([6.0, 7.0, 8.0], 1)]]

    def words(self):
        with open(os.path.join(self.seen, "words"), encoding="utf-8") as file:
            return file.read().split("\n")

    def test_events(self):
        events, values = [], []

        def handler(event):
            events.append((type(event).__name__, event.__dict__))
            if isinstance(event, self.paddle.event.EndPass):
                values.append(self.parameters.bytes_of("___fc_layer_0__.wbias"))

        self.sgd.train(lambda: iter(self.samples), num_passes=2, event_handler=handler)
        one = ["BeginIteration", "EndForwardBackward", "EndIteration"]
        self.assertEqual([name for name, _ in events], (["BeginPass"] + one + one + ["EndPass"]) * 2)
        last = {key: events[14][1][key] for key in ("pass_id", "batch_id", "cost", "metrics")}
        self.assertEqual(last, {"pass_id": 1, "batch_id": 1, "cost": 1.11,
                                "metrics": {"classification_error_evaluator": 0.11}})
        self.assertEqual(events[-1][1]["metrics"], {"classification_error_evaluator": 0.75})
        self.assertEqual(values, [b"00000000", b"00000001"])
        words = self.words()
        for word in ("--local", "--num_passes=2", "--batch=2", "--shuffle=0", "--log-period=1"):
            self.assertIn(word, words)
        self.assertFalse([word for word in words if word.startswith("--init_model_path")])

    def test_values_that_were_given_are_the_start(self):
        self.parameters.take({"___fc_layer_0__.wbias": b"12345678"})
        self.sgd.train(lambda: iter(self.samples))
        given = _model_files.read_pass(os.path.join(self.seen, "given"), self.parameters.names())
        self.assertEqual((given["___fc_layer_0__.wbias"], len(given["___fc_layer_0__.w0"])), (b"12345678", 24))

    def test_feeding(self):
        swapped = [[(label, x) for x, label in batch] for batch in self.samples]
        self.sgd.train(lambda: iter(swapped), feeding={"x": 1, "label": 0})
        with open(os.path.join(self.seen, "train-00000-of-00001.recordio"), "rb") as file:
            first = file.read()
        self.sgd.train(lambda: iter(self.samples), feeding=["x", "label"])
        with open(os.path.join(self.seen, "train-00000-of-00001.recordio"), "rb") as file:
            self.assertEqual(file.read(), first)
        with self.assertRaisesRegex(ConfigError, "feeding does not name the data layer label"):
            self.sgd.train(lambda: iter(self.samples), feeding=["x", "labl"])

    def test_servers(self):
        far = self.paddle.trainer.SGD(self.cost, self.parameters, self.paddle.optimizer.Momentum(), is_local=False)
        ends = []

        def handler(event):
            if isinstance(event, self.paddle.event.EndPass):
                ends.append(event.pass_id)

        with mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": self.seen, "EDL_SOCKET": ""}):
            for trainer in (0, 1):
                self.paddle.init(pservers="10.0.0.1,10.0.0.2", port=7164, ports_num=1, ports_num_for_sparse=1,
                                 trainer_id=trainer)
                far.train(lambda: iter(self.samples), num_passes=2, event_handler=handler)
            self.paddle.init(pservers="10.0.0.3:7,[fd00::1]:8", port=9, trainer_id=1)
            far.train(lambda: iter(self.samples), num_passes=2, event_handler=handler)
            self.paddle.init(port="none")
            with self.assertRaisesRegex(ConfigError, "port is 'none'"):
                far.train(lambda: iter(self.samples))
        words = self.words()
        secret = os.path.join(self.seen, "edl", "paddle-secret")
        for word in ("--servers=10.0.0.1:7164,10.0.0.1:7165,10.0.0.2:7164,10.0.0.2:7165", "--ports_num=1",
                     "--ports_num_for_sparse=1", "--trainer_id=0",
                     "--servers=10.0.0.3:7,[fd00::1]:8", "--trainer_id=1", f"--secret-file={secret}"):
            self.assertIn(word, words)
        self.assertNotIn("--local", words)
        self.assertEqual(len([word for word in words if word.startswith("--save_dir")]), 1)  # trainer 0 saves
        self.assertEqual(ends, [0, 1, 0, 1, 0, 1])
        with open(secret, encoding="ascii") as file:
            self.assertRegex(file.read(), "^[0-9a-f]{64}\n$")
        self.assertEqual(stat.S_IMODE(os.stat(secret).st_mode), 0o600)

    def test_test(self):
        result = self.sgd.test(lambda: iter(self.samples))
        self.assertEqual((result.cost, result.metrics), (0.25, {"classification_error_evaluator": 0.5}))

    def test_bad_readers(self):
        for batches, words in (([], "gives no batch"), ([1], "not a list of samples"), ([[1]], "it has no value"),
                               ([[([0, 0, 0], 1)], [([0, 0, 0], 1)] * 2], "different sizes"),
                               ([[([0, 0], 1)]], "train sample 0, input x")):
            with self.assertRaisesRegex(ConfigError, words):
                self.sgd.train(lambda: iter(batches))

    def test_errors(self):
        with mock.patch.dict(os.environ, {"FAILS": "1"}):
            with self.assertRaisesRegex(ConfigError, "ended with status 1: cannot go on: no room"):
                self.sgd.train(lambda: iter(self.samples))
        with mock.patch.dict(os.environ, {"EDL_TRAINER": "/nowhere"}):
            with self.assertRaisesRegex(ConfigError, "apt-get install edl-trainer"):
                self.sgd.train(lambda: iter(self.samples))

    def test_a_handler_that_raises_ends_the_training(self):
        def handler(event):
            if isinstance(event, self.paddle.event.EndPass):
                raise KeyError("enough")

        # the program would go on for ever: only its end lets train() return
        with mock.patch.dict(os.environ, {"WAITS": "1"}), mock.patch.object(_sgd.tempfile, "tempdir", self.seen):
            with self.assertRaisesRegex(KeyError, "enough"):
                self.sgd.train(lambda: iter(self.samples), event_handler=handler)
        self.assertEqual([name for name in os.listdir(self.seen) if name.startswith("edl-paddle-")], [])


if __name__ == "__main__":
    unittest.main()
