# SPDX-License-Identifier: Apache-2.0
"""paddle.v2: data sets of files in ~/.cache/paddle/dataset, and the modules topology, evaluator and inference."""
import gzip
import io
import json
import os
import pickle
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

from edl.paddle import ConfigError, _movielens
from tests import test_paddle_v2


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


class Case(test_paddle_v2.Case):
    def setUp(self):
        super().setUp()
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        patch = mock.patch.dict(os.environ, {"HOME": home.name})
        patch.start()
        self.addCleanup(patch.stop)
        self.cache = os.path.join(home.name, ".cache/paddle/dataset")
        self.sets = self.paddle.dataset

    def folder(self, name):
        path = os.path.join(self.cache, name)
        os.makedirs(path)
        return path


class Sets(Case):
    def test_files_that_are_not_there(self):
        for call, file in ((lambda: self.sets.mnist.train(), "mnist/train-images-idx3-ubyte.gz"),
                           (lambda: self.sets.cifar.test10(), "cifar/cifar-10-python.tar.gz"),
                           (lambda: self.sets.uci_housing.test(), "uci_housing/housing.data"),
                           (lambda: self.sets.imdb.word_dict(), "imdb/aclImdb_v1.tar.gz"),
                           (lambda: self.sets.imdb.train({"<unk>": 0}), "imdb/aclImdb_v1.tar.gz"),
                           (lambda: self.sets.movielens.train(), "movielens/ml-1m.zip"),
                           (lambda: self.sets.common.download("http://x/y.tgz", "z"), "z/y.tgz")):
            _movielens.movie_info.cache_clear()
            with self.assertRaises(ConfigError) as caught:
                call()
            self.assertIn(f"~/.cache/paddle/dataset/{file} is not there, and nothing is downloaded", str(caught.exception))
        with self.assertRaisesRegex(ConfigError, "dataset.wmt14 is not supported; a reader of your own"):
            self.sets.wmt14.train(3)

    def test_mnist(self):
        folder = self.folder("mnist")
        for part, labels in (("train", b"\x03\x07"), ("t10k", b"\x09")):
            with gzip.open(f"{folder}/{part}-images-idx3-ubyte.gz", "wb") as file:
                file.write(bytes(16) + b"".join(bytes([255]) + bytes(783) for _ in labels))
            with gzip.open(f"{folder}/{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(bytes(8) + labels)
        train = list(self.sets.mnist.train()())
        self.assertEqual([label for _, label in train], [3, 7])
        self.assertEqual([float(value) for value in train[0][0][:3]], [1.0, -1.0, -1.0])
        self.assertEqual([(len(image), label) for image, label in self.sets.mnist.test()()], [(784, 9)])

    def test_cifar(self):
        try:
            import numpy
        except ModuleNotFoundError:
            self.skipTest("there is no numpy")
        folder = self.folder("cifar")

        def batch(label, key=b"labels"):
            return pickle.dumps({b"data": numpy.full((1, 3072), 51, dtype="uint8"), key: [label]}, 2)
        archive(f"{folder}/cifar-10-python.tar.gz", {"c/data_batch_1": batch(4), "c/data_batch_2": batch(5), "c/test_batch": batch(6)})
        archive(f"{folder}/cifar-100-python.tar.gz", {"c/train": batch(40, b"fine_labels"), "c/test": batch(60, b"fine_labels")})
        self.assertEqual([label for _, label in self.sets.cifar.train10()()], [4, 5])
        self.assertEqual([label for _, label in self.sets.cifar.test100()()], [60])
        image, label = next(self.sets.cifar.test10()())
        self.assertEqual((len(image), round(float(image[0]), 6), label), (3072, 0.2, 6))

    def test_cifar_runs_nothing(self):
        archive(f"{self.folder('cifar')}/cifar-10-python.tar.gz", {"c/test_batch": pickle.dumps(os.system, 2)})
        with self.assertRaisesRegex(pickle.UnpicklingError, "which is no array"):
            next(self.sets.cifar.test10()())

    def test_housing(self):
        with open(f"{self.folder('uci_housing')}/housing.data", "w", encoding="ascii") as file:
            for n in range(5):
                file.write(" ".join([str(n)] * 13 + [str(10 * n)]) + "\n")
        train, test = list(self.sets.uci_housing.train()()), list(self.sets.uci_housing.test()())
        self.assertEqual((len(train), len(test)), (4, 1))
        self.assertEqual([round(float(value), 6) for value in train[0][0]], [-0.5] * 13)  # (0 - 2) / (4 - 0)
        self.assertEqual(float(test[0][1][0]), 40.0)

    def test_imdb(self):
        archive(f"{self.folder('imdb')}/aclImdb_v1.tar.gz", {
            "aclImdb/train/pos/0_9.txt": b"Good, good film!", "aclImdb/train/pos/1_9.txt": b"good",
            "aclImdb/train/neg/0_1.txt": b"A bad film.", "aclImdb/test/neg/0_1.txt": b"other", "aclImdb/train/unsup/0_0.txt": b"good"})
        words = self.sets.imdb.build_dict(r"aclImdb/train/(pos|neg)/.*\.txt$", 1)
        self.assertEqual(words, {"good": 0, "film": 1, "<unk>": 2})
        self.assertEqual(list(self.sets.imdb.train(words)()), [([0, 0, 1], 0), ([2, 2, 1], 1), ([0], 0)])
        self.assertEqual(list(self.sets.imdb.test(words)()), [([2], 1)])
        self.assertEqual(list(self.sets.imdb.test(words)), [([2], 1)])

    def test_movielens(self):
        with zipfile.ZipFile(f"{self.folder('movielens')}/ml-1m.zip", "w") as zipped:
            zipped.writestr("ml-1m/movies.dat", "3::Ünder (A) Tale (1999)::Drama|War\n8::Tale (2000)::War\n".encode("latin-1"))
            zipped.writestr("ml-1m/users.dat", "5::F::25::7::123\n")
            zipped.writestr("ml-1m/ratings.dat", "5::3::4::0\n" * 40)
        for function in (_movielens.movie_info, _movielens.user_info, _movielens.get_movie_title_dict, _movielens.movie_categories):
            function.cache_clear()
            self.addCleanup(function.cache_clear)
        movielens = self.sets.movielens
        self.assertEqual((movielens.max_movie_id(), movielens.max_user_id(), movielens.max_job_id(), len(movielens.age_table)), (8, 5, 7, 7))
        self.assertEqual(movielens.movie_categories(), {"Drama": 0, "War": 1})
        self.assertEqual(movielens.get_movie_title_dict(), {"(a)": 0, "tale": 1, "ünder": 2})
        train, test = list(movielens.train()()), list(movielens.test()())
        self.assertEqual((len(train) + len(test), train[0]), (40, [5, 1, 2, 7, 3, [0, 1], [2, 0, 1], [3.0]]))
        self.assertTrue(0 < len(test) < 12)


class Modules(Case):
    def test_topology(self):
        x = self.paddle.layer.data(name="x", type=self.paddle.data_type.dense_vector(3))
        y = self.paddle.layer.fc(input=x, size=2, name="y")
        topology = self.paddle.topology.Topology(layers=y)
        text = json.loads(topology.proto())
        self.assertEqual((text["outputs"], [item["name"] for item in text["inputs"]]), (["y"], ["x"]))
        out = io.BytesIO()
        topology.serialize_for_inference(out)
        self.assertEqual(json.loads(out.getvalue()), text)
        self.assertIs(topology.get_layer("y"), y)
        self.assertEqual([(name, str(kind)) for name, kind in topology.data_type()], [("x", "dense_vector(3)")])
        self.assertEqual(list(topology.data_layers()), ["x"])
        self.assertEqual(self.paddle.layer.parse_network(y), topology.proto())
        with self.assertRaisesRegex(ConfigError, "no layer z"):
            topology.get_layer("z")

    def test_names(self):
        paddle = self.paddle
        self.assertIs(paddle.reader.batched, paddle.batch)
        self.assertEqual(paddle.layer.AggregateLevel.TO_NO_SEQUENCE, "non-seq")
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(3))
        y = paddle.layer.fc(input=x, size=2, act=paddle.activation.Softmax())
        label = paddle.layer.data(name="label", type=paddle.data_type.integer_value(2))
        paddle.evaluator.classification_error(input=y, label=label)
        self.assertEqual(paddle.layer.max_id(y).kind, "maxid")

    def test_inference(self):
        with mock.patch("edl.paddle._infer.infer") as infer:
            made = self.paddle.inference.Inference(output_layer="y", parameters="p")
            made.infer(input=[1], feeding={"x": 0}, field="id")
            infer.assert_called_once_with("y", "p", [1], {"x": 0}, "id")
            with self.assertRaisesRegex(ConfigError, "flatten_result"):
                made.infer(input=[1], flatten_result=False)


if __name__ == "__main__":
    unittest.main()
