# SPDX-License-Identifier: Apache-2.0
"""The tree of a checkpoint: what goes in comes out, of the same type; what cannot is named with its place."""
import base64
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from typing import Any
from unittest import mock

import edl
from edl import _manifest, _tensors, _tree

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]
try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

# a version as releases with format 1 wrote it: {"w": b"\0\1", "loss": 0.25, "deep": {"a": [1, None]}}, and an array of 2 x 3
FORMAT_1 = {
    "format": 1, "kind": "tree", "epoch": 4, "base": 0, "writer": {"job": "", "generation": 0, "incarnation": 0, "place": ""},
    "values": {"loss": 0.25, "deep": {"a": [1, None]}},
    "files": [{"name": "data/00000", "size": 2, "of": "w", "kind": "bytes"},
              {"name": "data/00001", "size": 152, "of": "a", "kind": "array"}]}
NPY = base64.b64decode("k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAg"
                       "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA=")


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = folder.name

    def again(self, tree: Any, **more: Any) -> Any:
        edl.save_checkpoint(tree, edl.TrainStatus(1), self.path, keep=1)
        found = edl.load_checkpoint(self.path, **more)
        assert found is not None
        return found.tree

    def write(self, told: Any, files: Any) -> None:
        at = os.path.join(self.path, "ckpt-0000000001")
        os.makedirs(os.path.join(at, "data"), exist_ok=True)
        for file in told["files"]:
            with open(os.path.join(at, file["name"]), "wb") as out:
                out.write(files[file["name"]])
            file["sha256"] = _manifest.hashlib.sha256(files[file["name"]]).hexdigest()
        body = json.dumps(told).encode()
        with open(os.path.join(at, "manifest"), "wb") as out:
            out.write(body + b"\n" + _manifest.hashlib.sha256(body).hexdigest().encode() + b"\n")

    def same(self, one: Any, other: Any) -> None:
        self.assertIs(type(one), type(other))
        self.assertEqual(repr(one), repr(other))


class Plain(Case):
    def test_values(self) -> None:
        for tree in ({1: "a", (2, "x"): [None, True], b"k": (), 2.5: ((1,), [[]]), None: {}, False: {"a": {"b": b"\0"}}},
                     [1, -2**63, 2**63, -2**200, 0.1, -0.0, float("nan"), float("inf"), 1e-320, 1j, "", "\ud800", "\u20ac", b"", bytearray(b"x")],
                     ({1, 2}, frozenset(("a",)), collections.deque([1, 2], 3), collections.Counter("aab"),
                      collections.OrderedDict([("z", 1), ("a", 2)])),
                     random.Random(4).getstate(), "b\0c".split("\0"), {"dict": {"tensor": 1}}):
            with self.subTest(tree):
                self.same(self.again(tree), tree)
        self.assertEqual(self.again([memoryview(b"ab")]), [b"ab"])

    def test_what_no_checkpoint_holds_is_named(self) -> None:
        point = collections.namedtuple("point", "x")
        itself: Any = []
        itself.append(itself)
        for tree, why in (({"a": {3: [object()]}}, r"what\['a'\]\[3\]\[0\] is an object, which"), ([point(1)], r"what\[0\] is a point.*_asdict"),
                          ({"f": len}, "is a builtin_function"), (collections.defaultdict(int), r"give dict\(value\)"),
                          ({"m": types.SimpleNamespace(state_dict=1)}, r"give value.state_dict\(\)"), (itself, "100 deep, or holds itself")):
            for call in (lambda: self.again(tree), lambda: edl.check_checkpoint(tree, self.path)):
                self.assertRaisesRegex(TypeError, why, call)
        deep: Any = 1
        for _ in range(_tree.DEPTH_MAX):
            deep = {"x": deep}
        self.assertEqual(self.again(deep), deep)

    def test_one_that_an_older_release_wrote(self) -> None:
        self.write(FORMAT_1, {"data/00000": b"\0\1", "data/00001": NPY})
        if numpy is None:
            self.assertRaisesRegex(edl.Error, "python3-numpy", edl.load_checkpoint, self.path)
            return
        found = edl.load_checkpoint(self.path)
        assert found is not None
        self.assertEqual(found.tree["a"].tolist(), [[0, 1, 2], [3, 4, 5]])
        del found.tree["a"]
        self.assertEqual((found.tree, found.status.epoch), ({"w": b"\0\1", "loss": 0.25, "deep": {"a": [1, None]}}, 4))

    def test_what_somebody_else_wrote(self) -> None:
        """Nothing of it is run, and no memory is taken for what it says."""
        tensor = {"device": "cpu", "grad": False, "parameter": False}
        for tree, blobs in (({"x": 1}, []), ({"bytes": 0}, []), ({"bytes": -1}, [3]), ({"bytes": 0}, [2**60]), ({"bytes": 0}, [-3, 6]), ({}, [3]),
                            ({"tuple": 3}, [3]), ({"dict": [[1]]}, [3]), ({"dict": [[[], 1]]}, [3]), ({"int": "x"}, [3]),
                            ({"set": [[]]}, [3]), ({"array": [{"tuple": ["os", "system"]}, [], "C", 0]}, [3]),
                            ({"array": ["|O", [1], "C", 0]}, [3]), ({"array": ["|u1", [2**62, 4], "C", 0]}, [3]), ({"array": ["|u1", [3], "K", 0]}, [3]),
                            ({"scalar": ["<f8", 0]}, [3]), ({"tensor": {**tensor, "dense": ["uint8", [4], 0]}}, [3]),
                            ({"tensor": {**tensor, "dense": ["uint8", [3], 0], "sparse": []}}, [3]), ({"tensor": {**tensor}}, [3]),
                            ({"tensor": {**tensor, "grad": True, "dense": ["uint8", [3], 0]}}, [3]),
                            ({"tensor": {**tensor, "device": "x", "dense": ["uint8", [3], 0]}}, [3])):
            told = {**FORMAT_1, "format": 2, "values": {"tree": tree, "blobs": blobs}, "files": [{"name": "data/00000", "size": sum(blobs), "of": "", "kind": ""}]}
            with self.subTest(str(tree)[:100]):
                self.write(told, {"data/00000": b"abc"})
                with self.assertLogs("edl", "WARNING") as said:
                    self.assertRaises(edl.CheckpointError, edl.load_checkpoint, self.path)
                self.assertIn("passed over", said.output[0])

    def test_without_numpy_and_torch(self) -> None:
        code = ("import sys; sys.modules.update(numpy=None, torch=None); import edl\n"
                "tree = {1: (b'x', [None])}\nedl.save_checkpoint(tree, edl.TrainStatus(1), sys.argv[1])\n"
                "assert edl.load_checkpoint(sys.argv[1]).tree == tree")
        subprocess.run([sys.executable, "-c", code, self.path], check=True)


@unittest.skipIf(numpy is None, "there is no numpy")
class Arrays(Case):
    def test_arrays(self) -> None:
        record = numpy.array([(1, [2.0, 3.0])], dtype=[("a", "<i4"), ("b", "<f8", (2,))])
        for value in (numpy.arange(6, dtype=">i4").reshape(2, 3), numpy.asfortranarray(numpy.ones((2, 3))), numpy.arange(20)[::3], numpy.zeros((0, 3)),
                      numpy.zeros((), "int64"), numpy.array(["a", "bcd"]), numpy.array([""], "U0"), numpy.array([b"x"]), record, record[0],
                      numpy.array(["2020-01-01"], "M8[D]"), numpy.datetime64("2020-01-01"), numpy.float16(2), numpy.float64(0.1), numpy.longdouble(3),
                      numpy.str_("hi"), numpy.bool_(True), numpy.complex64(1j), numpy.ones((2, 2, 2)).transpose(2, 0, 1)):
            with self.subTest(repr(value)):
                found = self.again({"x": [value]})["x"][0]
                self.assertIs(type(found), type(value))
                self.assertEqual((found.dtype, found.shape), (value.dtype, value.shape))
                self.assertTrue(numpy.all(found == value))
                if isinstance(found, numpy.ndarray):
                    found[...] = found  # it may be written to
                    if value.ndim < 3:
                        self.assertEqual(found.flags.f_contiguous, value.copy(order="K").flags.f_contiguous)
        self.same(self.again({numpy.int64(3): 1}), {numpy.int64(3): 1})
        state = numpy.random.default_rng(1).bit_generator.state
        self.assertEqual(self.again(state), state)

    def test_what_no_checkpoint_holds(self) -> None:
        for value, why in ((numpy.array([{}]), "Python objects"), (numpy.ma.array([1]), "a MaskedArray of numpy.*asarray"),
                           (numpy.zeros(1, [("a", "O")]), "Python objects")):
            with self.assertRaisesRegex(TypeError, r"what\['a'\] is .*" + why):
                self.again({"a": value})

    def test_without_numpy(self) -> None:
        self.again({"a": numpy.zeros(3)})
        with mock.patch.dict(sys.modules, {"numpy": None}), self.assertRaisesRegex(edl.Error, "python3-numpy"):
            edl.load_checkpoint(self.path)


@unittest.skipIf(torch is None, "there is no PyTorch")
class Tensors(Case):
    def test_every_type(self) -> None:
        n = 0
        for dtype in sorted({value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str):
            try:
                made = (torch.arange(6) % 2).to(dtype).reshape(2, 3)
            except (RuntimeError, NotImplementedError, UserWarning):
                continue
            for value in (made, made[0, 0], made[:0], made.t()):
                found = self.again([value])[0]
                self.assertEqual((found.dtype, found.shape), (value.dtype, value.shape))
                wide = torch.complex128 if value.is_complex() else torch.float64  # which can be compared
                self.assertTrue(torch.equal(found.to(wide), value.to(wide)))
            n += 1
        self.assertGreaterEqual(n, 12)
        found = self.again(torch.tensor([1 + 2j]).conj())
        self.assertEqual(found.tolist(), [1 - 2j])

    def test_sparse_and_quantized(self) -> None:
        warnings.filterwarnings("ignore", "Sparse CSR")
        for dtype in (torch.float32, torch.bfloat16, torch.int64):
            value = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], torch.tensor([1, 0, 1]).to(dtype), (2, 3))
            for one in (value, value.coalesce()):
                found = self.again(one)
                self.assertEqual((found.layout, found.dtype, found.is_coalesced(), found.shape), (one.layout, dtype, one.is_coalesced(), one.shape))
                self.assertTrue(torch.equal(found._indices(), one._indices()) and torch.equal(found._values(), one._values()))
        dense = torch.randn(4, 4)
        for one in (dense.to_sparse_csr(), dense.to_sparse_csc(), dense.to_sparse_bsr((2, 2)), dense.to_sparse_bsc((2, 2))):
            found = self.again(one)
            self.assertEqual((found.layout, found.shape), (one.layout, one.shape))
            self.assertTrue(torch.equal(found.values(), one.values()))
        for one in (torch.quantize_per_tensor(dense, 0.1, 3, torch.qint8),
                    torch.quantize_per_channel(dense, torch.ones(4), torch.tensor([1, 2, 3, 4]), 1, torch.quint8)):
            found = self.again(one)
            self.assertEqual((found.dtype, found.qscheme()), (one.dtype, one.qscheme()))
            self.assertTrue(torch.equal(found.dequantize(), one.dequantize()))

    def test_a_model_and_its_optimizer_go_on(self) -> None:
        def step(model: Any, optimizer: Any) -> Any:
            torch.manual_seed(3)
            optimizer.zero_grad()
            model(torch.randn(5, 3)).pow(2).sum().backward()
            optimizer.step()
            return [one.tolist() for one in model.parameters()]

        def make() -> Any:
            model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
            return model, torch.optim.Adam(model.parameters())

        model, optimizer = make()
        edl.check_checkpoint({"model": model.state_dict(), "opt": optimizer.state_dict()}, self.path)
        step(model, optimizer)
        tree = self.again({"model": model.state_dict(), "opt": optimizer.state_dict()})
        self.same(tree["model"], model.state_dict())
        self.assertEqual(tree["model"]._metadata, model.state_dict()._metadata)
        self.assertEqual(list(tree["opt"]["state"]), [0, 1, 2, 3])
        other, its_optimizer = make()
        other.load_state_dict(tree["model"])
        its_optimizer.load_state_dict(tree["opt"])
        self.assertEqual(step(other, its_optimizer), step(model, optimizer))

    def test_parameters_and_what_is_beside_them(self) -> None:
        tree = {"p": torch.nn.Parameter(torch.ones(2)), "fixed": torch.nn.Parameter(torch.ones(1), False), "g": torch.ones(1, requires_grad=True),
                "size": torch.Size([1, 2]), "dtype": torch.bfloat16, "device": torch.device("cpu")}
        self.same(self.again(tree), tree)

    def test_what_no_checkpoint_holds(self) -> None:
        class Mine(torch.Tensor):
            pass

        for value, why in ((torch.empty(1, device="meta"), "a tensor of float32 on meta"), (torch.ones(1).as_subclass(Mine), "a Mine, a tensor of another"),
                           (torch.nn.Linear(1, 1), r"give value.state_dict\(\)"), ({torch.ones(1): 1}, r"a key of what\['a'\] is a Tensor")):
            with self.assertRaisesRegex(TypeError, why):
                self.again({"a": value})

    def test_without_pytorch_or_its_type(self) -> None:
        self.again({"a": torch.zeros(3)})
        with mock.patch.dict(sys.modules, {"torch": None}), self.assertRaisesRegex(edl.Error, "python3-torch"):
            edl.load_checkpoint(self.path)
        with mock.patch.object(_tensors, "_name", lambda of: "float2"):
            edl.save_checkpoint([torch.float32], edl.TrainStatus(2), self.path)
        with self.assertRaisesRegex(edl.Error, "'float2', which PyTorch .* does not know"):
            edl.load_checkpoint(self.path)

    def test_devices(self) -> None:
        """As if this process had two GPUs, or none."""
        cuda = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 2, current_device=lambda: 0)
        fake = types.SimpleNamespace(device=torch.device, cuda=cuda)
        for was, wanted, here in (("cuda:1", None, "cuda:1"), ("cuda:7", None, "cuda:0"), ("cuda:1", "cpu", "cpu"), ("cpu", None, "cpu"), ("mps", None, "cpu")):
            self.assertEqual(_tensors._device(fake, torch.device(was), wanted), torch.device(here))
        cuda.is_available = lambda: False
        self.assertEqual(_tensors._device(fake, torch.device("cuda:0"), None), torch.device("cpu"))
        self.assertEqual(self.again([torch.ones(1)], device="cpu")[0].device, torch.device("cpu"))


if __name__ == "__main__":
    unittest.main()
