# SPDX-License-Identifier: Apache-2.0
"""edl.dataset: samples into numbered files and back, and records that are traps."""
import os
import pickle
import tempfile
import unittest
from typing import Any, Iterator

import edl
import edl.dataset
from edl import _recordio


class Test(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "data")

    def counts(self, paths: Any) -> Any:
        return [len(list(_recordio.records(path))) for path in paths]

    def test_numbered_files(self) -> None:
        samples = [(i, [i, i + 1], f"w{i}") for i in range(25)]
        paths = edl.dataset.convert(self.folder, lambda: iter(samples), 10, "train")
        self.assertEqual([os.path.basename(path) for path in paths], ["train-00000", "train-00001", "train-00002"])
        self.assertEqual(self.counts(paths), [10, 10, 5])  # the first one has no sample more
        back = list(edl.cloud_reader(os.path.join(self.folder, "train-*"), decode=edl.dataset.load))
        self.assertEqual(sorted(back), samples)
        self.assertNotEqual(back, samples)
        self.assertEqual(sorted(back[:10]), samples[:10])
        edl.dataset.convert(self.folder, lambda: iter(samples), 10, "train")
        self.assertEqual(list(edl.cloud_reader(os.path.join(self.folder, "train-*"), decode=edl.dataset.load)), back)
        edl.dataset.convert(self.folder, lambda: iter(samples), 10, "train", seed=None, compress="snappy")
        self.assertEqual(list(edl.cloud_reader(os.path.join(self.folder, "train-*"), decode=edl.dataset.load)), samples)

    def test_bytes_and_texts_stay_as_they_are(self) -> None:
        edl.dataset.convert(self.folder, lambda: [b"\0", "ä"], 10, "x", seed=None)
        self.assertEqual(list(edl.cloud_reader(os.path.join(self.folder, "x-*"))), [b"\0", "ä".encode()])

    def test_nothing(self) -> None:
        self.assertEqual(edl.dataset.convert(self.folder, lambda: [], 10, "x"), [])
        self.assertRaises(ValueError, edl.dataset.convert, self.folder, lambda: [], 0, "x")

    def test_a_reader_that_fails_changes_nothing(self) -> None:
        def reader() -> Iterator[bytes]:
            yield from [b"a", b"b", b"c"]
            raise OSError("the source is gone")

        with self.assertRaisesRegex(OSError, "the source is gone"):
            edl.dataset.convert(self.folder, reader, 2, "x")
        self.assertEqual(os.listdir(self.folder), [])
        edl.dataset.convert(self.folder, lambda: [b"old"], 2, "x")
        with self.assertRaisesRegex(OSError, "the source is gone"):
            edl.dataset.convert(self.folder, reader, 2, "x")
        self.assertEqual(os.listdir(self.folder), ["x-00000"])
        self.assertEqual(list(edl.dataset.records(os.path.join(self.folder, "x-00000"))), [b"old"])

    def test_files_of_before_are_told_of(self) -> None:
        edl.dataset.convert(self.folder, lambda: [b"a"] * 3, 1, "x")
        with self.assertRaisesRegex(edl.Error, "2 files of an earlier data set.*x-00001.*rm "):
            edl.dataset.convert(self.folder, lambda: [b"new"], 1, "x")
        self.assertEqual(sorted(os.listdir(self.folder)), ["x-00000", "x-00001", "x-00002"])
        self.assertEqual(list(edl.dataset.records(os.path.join(self.folder, "x-00000"))), [b"a"])  # still the earlier one

    def test_samples(self) -> None:
        for sample in (1, -2.5, None, True, "ä", [1, (2, "3")], {"a": [1]}, {1, 2}, frozenset([3]), 2 + 3j, bytearray(b"x")):
            self.assertEqual(edl.dataset.load(pickle.dumps(sample, 2)), sample)
            self.assertEqual(edl.dataset.load(pickle.dumps(sample, 0)), sample)
        # as Python 2 wrote it
        self.assertEqual(edl.dataset.load(b"(lp0\nI1\naS'w\\xe4'\np1\na."), [1, "wä"])

    def test_arrays(self) -> None:
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        sample = (numpy.arange(6, dtype="float32").reshape(2, 3), numpy.float64(2))
        back = edl.dataset.load(edl.dataset.dump(sample))
        self.assertTrue((back[0] == sample[0]).all())
        self.assertEqual(back[1], 2)

    def test_a_record_calls_nothing(self) -> None:
        class Trap:
            def __reduce__(self) -> Any:
                return os.mkdir, (folder,)

        folder = self.folder
        for protocol in (0, 2, 4):
            with self.assertRaisesRegex(edl.Error, "mkdir"):
                edl.dataset.load(pickle.dumps(Trap(), protocol))
        self.assertFalse(os.path.exists(folder))
        for record in (b"", b"no pickle", b"cos\nsystem\n(S'x'\ntR.", pickle.dumps([1])[:-2], b"\x80\x05I"):
            self.assertRaises(edl.Error, edl.dataset.load, record)


if __name__ == "__main__":
    unittest.main()
