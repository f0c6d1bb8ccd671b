# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the newest whole version is loaded, whatever became of the others, and older writers are refused."""
import json
import logging
import os
import shutil
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Optional
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from job_agent import Job

import edl
from edl import _checkpoint, _manifest, _versions


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "checkpoint")

    def save(self, value: Any, epoch: int = 0, **more: Any) -> Optional[str]:
        return edl.save_checkpoint({"value": value, "weights": str(epoch).encode() * 5000}, edl.TrainStatus(epoch), self.path, **more)

    def versions(self) -> List[str]:
        return sorted(name for name in os.listdir(self.path) if name != ".writer")

    def loaded(self) -> edl.Checkpoint:
        found = edl.load_checkpoint(self.path)
        assert found is not None
        self.assertEqual(found.tree["weights"], str(found.status.epoch).encode() * 5000)
        return found

    def change(self, version: str, name: str, at: int = -1, cut: Optional[int] = None) -> None:
        path = os.path.join(self.path, version, name)
        with open(path, "r+b") as file:
            if cut is not None:
                file.truncate(cut)
                return
            file.seek(at, os.SEEK_END)
            byte = file.read(1)
            file.seek(at, os.SEEK_END)
            file.write(bytes((byte[0] ^ 1,)))


class Test(Case):
    def test_status(self) -> None:
        self.assertEqual(edl.TrainStatus().next(), 0)
        self.assertEqual(edl.TrainStatus(4).next(), 5)

    def test_a_tree(self) -> None:
        self.assertIsNone(edl.load_checkpoint(self.path))
        tree = {"w": b"\0\1", "empty": b"", "../x": bytearray(b"y"), "loss": 0.25, "names": ["a", None, True], "deep": {"a": {"b": 1}}}
        self.assertEqual(edl.save_checkpoint(tree, edl.TrainStatus(3), self.path), "ckpt-0000000001")
        found = edl.load_checkpoint(self.path)
        assert found is not None
        self.assertEqual(found.tree, tree)
        self.assertEqual((found.status.next(), found.folder, found.version), (4, None, "ckpt-0000000001"))
        self.assertEqual(os.listdir(self.folder), ["checkpoint"])

    def test_arrays(self) -> None:
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        tree = {"a": numpy.arange(6, dtype="float32").reshape(2, 3), "b": numpy.float32(2.5), "c": numpy.zeros((0, 3), "int64")}
        edl.save_checkpoint(tree, edl.TrainStatus(0), self.path)
        found = edl.load_checkpoint(self.path)
        assert found is not None
        for name, value in tree.items():
            self.assertEqual(found.tree[name].dtype, value.dtype)
            self.assertTrue((found.tree[name] == value).all())
            self.assertEqual(found.tree[name].shape, value.shape)
        with mock.patch.dict(sys.modules, {"numpy": None}), self.assertRaisesRegex(edl.Error, "python3-numpy"):
            edl.load_checkpoint(self.path)

    def test_a_folder(self) -> None:
        source = os.path.join(self.folder, "model")
        os.makedirs(os.path.join(source, "deep/er"))
        for name, data in (("a", b"1"), ("deep/er/b", b"2" * 3000000), ("deep/c", b"")):
            with open(os.path.join(source, name), "wb") as file:
                file.write(data)
        edl.save_checkpoint(source, edl.TrainStatus(1), self.path)
        found = edl.load_checkpoint(self.path)
        assert found is not None and found.folder is not None
        self.assertEqual(found.tree, {})
        for name in ("a", "deep/er/b", "deep/c"):
            with open(os.path.join(found.folder, name), "rb") as one, open(os.path.join(source, name), "rb") as other:
                self.assertEqual(one.read(), other.read())
        os.symlink("/", os.path.join(source, "all"))
        with self.assertRaisesRegex(edl.CheckpointError, "link to a folder"):
            edl.save_checkpoint(source, edl.TrainStatus(1), self.path)
        os.unlink(os.path.join(source, "all"))
        os.mkfifo(os.path.join(source, "pipe"))
        with self.assertRaisesRegex(edl.CheckpointError, "no file that can be saved"):
            edl.save_checkpoint(source, edl.TrainStatus(1), self.path)
        self.assertEqual(self.versions(), ["ckpt-0000000001"])

    def test_a_folder_around_the_checkpoints(self) -> None:
        """They are left out: else each version would hold those before."""
        source = os.path.join(self.folder, "out")
        os.makedirs(os.path.join(source, "model"))
        os.mkdir(os.path.join(source, "empty"))
        with open(os.path.join(source, "model/a"), "wb") as file:
            file.write(b"1")
        os.symlink(source, os.path.join(self.folder, "link"))
        for path in (os.path.join(source, "checkpoint"), os.path.join(self.folder, "link/deep/checkpoint")):
            for epoch in range(3):
                edl.save_checkpoint(source, edl.TrainStatus(epoch), path)
            found = edl.load_checkpoint(path)
            assert found is not None and found.folder is not None
            self.assertEqual([names for _, _, names in os.walk(found.folder) if names], [["a"]])
            shutil.rmtree(path)
        edl.save_checkpoint(source, edl.TrainStatus(1), self.path)
        found = edl.load_checkpoint(self.path)
        assert found is not None and found.folder is not None
        edl.save_checkpoint(found.folder, edl.TrainStatus(2), self.path)  # what was loaded may be saved
        with self.assertRaisesRegex(edl.CheckpointError, "keeps the checkpoints.*save another folder"):
            edl.save_checkpoint(self.path, edl.TrainStatus(3), self.path)
        self.assertEqual(len(self.versions()), 2)

    def test_the_last_ones_stay(self) -> None:
        for epoch in range(6):
            self.save("x", epoch)
        self.assertEqual(self.versions(), [f"ckpt-{i:010d}" for i in (4, 5, 6)])
        self.save("x", 6, keep=1)
        self.assertEqual(self.versions(), ["ckpt-0000000007"])
        self.assertRaises(ValueError, self.save, "x", 7, keep=0)

    def test_one_that_is_not_whole_is_passed_over(self) -> None:
        for damage in ({"name": "data/00000"}, {"name": "data/00000", "cut": 10}, {"name": "data/00000", "cut": 0},
                       {"name": "manifest"}, {"name": "manifest", "at": -100}, {"name": "manifest", "cut": 40},
                       {"name": "manifest", "cut": 0}, {}, {"gone": "data/00000"}, {"gone": "manifest"}, {"longer": "data/00000"}):
            with self.subTest(damage):
                shutil.rmtree(self.path, ignore_errors=True)
                self.save("old", 1)
                version = self.save("new", 2)
                assert version is not None
                if "gone" in damage:
                    os.unlink(os.path.join(self.path, version, str(damage["gone"])))
                elif "longer" in damage:
                    with open(os.path.join(self.path, version, str(damage["longer"])), "ab") as file:
                        file.write(b"x")
                elif damage:
                    self.change(version, **damage)  # type: ignore[arg-type]
                else:
                    self.assertEqual(self.loaded().tree["value"], "new")
                    continue
                with self.assertLogs("edl", logging.WARNING) as told:
                    self.assertEqual(self.loaded().tree["value"], "old")
                self.assertEqual(len(told.output), 1)
                self.assertRegex(told.output[0], f"{version} in .*passed over: ")
                with self.assertLogs("edl", logging.WARNING):
                    self.assertEqual(self.save("newer", 3), "ckpt-0000000003")
                    edl.load_checkpoint(os.path.join(self.path, "none"))
                    logging.getLogger("edl").warning("x")
                self.assertEqual(self.loaded().tree["value"], "newer")

    def test_none_that_is_whole(self) -> None:
        for version in (self.save("x", 1), self.save("x", 2)):
            self.change(str(version), "data/00000", cut=1)
        with self.assertLogs("edl", logging.WARNING), self.assertRaisesRegex(edl.CheckpointError, "none of the 2 checkpoints.*move them"):
            edl.load_checkpoint(self.path)

    def test_names_of_others_stay_outside(self) -> None:
        version = str(self.save("x", 1))
        path = os.path.join(self.path, version, "manifest")
        with open(path, "rb") as file:
            found = json.loads(file.readline())
        for name in ("/etc/passwd", "../../x", "data/../../../x", ""):
            found["files"][0]["name"] = name
            body = json.dumps(found).encode()
            with open(path, "wb") as file:
                file.write(body + b"\n" + _manifest.hashlib.sha256(body).hexdigest().encode() + b"\n")
            with self.assertLogs("edl", logging.WARNING) as told, self.assertRaises(edl.CheckpointError):
                edl.load_checkpoint(self.path)
            self.assertIn("it has a file", told.output[0])

    def test_what_cannot_be_saved(self) -> None:
        for what, why in ((object(), "what is an object"), ({"a": {1: [lambda: 0]}}, r"what\['a'\]\[1\]\[0\] is a function")):
            for call in (lambda: edl.save_checkpoint(what, edl.TrainStatus(0), self.path), lambda: edl.check_checkpoint(what, self.path)):
                self.assertRaisesRegex(TypeError, why, call)
        with self.assertRaisesRegex(edl.CheckpointError, "is no folder.*a tree of values"):
            edl.save_checkpoint(os.path.join(self.folder, "absent"), edl.TrainStatus(0), self.path)
        self.assertFalse(os.path.exists(self.path))

    def test_what_could_not_be_loaded_is_not_saved(self) -> None:
        self.save("old", 1)
        for epoch in (-2, 1.5, 3.0, "4", None, True, 2**63, 2**63 - 1):
            with self.assertRaisesRegex(ValueError, "the epoch is .*: a whole number from -1"):
                self.save("new", epoch)  # type: ignore[arg-type]
        with mock.patch.object(_checkpoint, "MANIFEST_BYTES_MAX", 1000):
            with self.assertRaisesRegex(edl.CheckpointError, "1[0-9]{3} bytes, 1000 at most are loaded.*give long values as bytes"):
                self.save("x" * 1000, 2)
            with self.assertRaisesRegex(edl.CheckpointError, "bytes, 1000 at most are loaded"):
                edl.save_checkpoint({str(i): b"x" for i in range(100)}, edl.TrainStatus(2), self.path)
        self.assertEqual(self.versions(), ["ckpt-0000000001"])
        self.assertEqual(self.loaded().tree["value"], "old")
        self.save("new", -1)
        self.save("new", 2**63 - 2)
        self.assertEqual(self.loaded().status.epoch, 2**63 - 2)

    def test_a_full_disk_is_told_of_and_nothing_is_lost(self) -> None:
        self.save("old", 1)
        with mock.patch.object(os, "write", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(edl.CheckpointError, "No space left on device.*make room"):
                self.save("new", 2)
        self.assertEqual(self.versions(), ["ckpt-0000000001"])
        self.assertEqual(self.loaded().tree["value"], "old")

    def test_a_path_that_is_none(self) -> None:
        with mock.patch.dict(os.environ, {"EDL_CHECKPOINT_DIR": self.path}):
            edl.save_checkpoint({}, edl.TrainStatus(5))
            found = edl.load_checkpoint()
            assert found is not None
            self.assertEqual(found.status.epoch, 5)
        self.assertEqual(_checkpoint.Checkpoints.default_path(), "./checkpoint")
        with mock.patch.dict(os.environ, {"EDL_OUTPUT_DIR": "/out"}):
            self.assertEqual(_checkpoint.Checkpoints.default_path(), "/out/checkpoint")

    def test_files_are_synced_before_they_are_renamed(self) -> None:
        done: List[str] = []
        open_paths: Dict[int, str] = {}
        real_open, real_fsync, real_rename = os.open, os.fsync, os.rename

        def note_open(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            fd = real_open(path, flags, mode, **more)
            open_paths[fd] = os.path.relpath(path, self.path) if "dir_fd" not in more else ""
            return fd

        def note_fsync(fd: int) -> None:
            real_fsync(fd)
            done.append(f"sync {open_paths[fd]}")

        def note_rename(source: Any, target: Any) -> None:
            real_rename(source, target)
            done.append(f"rename {os.path.relpath(source, self.path)}")

        with mock.patch.multiple(os, open=note_open, fsync=note_fsync, rename=note_rename):
            self.save("x")
        aside = done[-2].split()[1]
        self.assertRegex(aside, r"^\.tmp-0-")
        self.assertEqual(done, [f"sync {aside}/data/00000", f"sync {aside}/manifest", f"sync {aside}/data", f"sync {aside}",
                                f"rename {aside}", "sync ."])


class InJob(Case):
    def test_only_the_first_one_writes(self) -> None:
        with Job(index=1) as job:
            self.assertIsNone(self.save("x"))
            self.assertEqual(job.asked, [])
            edl.client().world = mock.Mock(rank=0, generation=4)  # as edl.worlds gives it
            self.assertIsNotNone(self.save("x"))
        with Job(index=0):
            edl.client().world = mock.Mock(rank=1, generation=5)
            self.assertIsNone(self.save("x"))
        self.assertEqual(len(self.versions()), 1)

    def test_an_older_writer_is_refused(self) -> None:
        with Job(incarnation=5):
            self.save("five", 1)
        with Job(incarnation=6):
            self.save("six", 2)
        with Job(incarnation=5), self.assertRaisesRegex(edl.OldWriter, r"incarnation 6, this one is 5\).*end this process"):
            self.save("five", 3)
        self.assertEqual(self.versions(), ["ckpt-0000000001", "ckpt-0000000002"])
        self.assertEqual(self.loaded().tree["value"], "six")
        with Job(incarnation=2, secret="11" * 32):  # of another job, or alone: nobody is older
            self.save("other", 4)
        self.save("alone", 5)
        self.assertEqual(self.loaded().tree["value"], "alone")

    def test_of_worlds_the_later_one_counts(self) -> None:
        with Job(index=3, incarnation=9):
            edl.client().world = mock.Mock(rank=0, generation=2)
            self.save("two", 1)
        with Job(index=1, incarnation=4):
            edl.client().world = mock.Mock(rank=0, generation=3)
            self.save("three", 2)
        with Job(index=3, incarnation=9), self.assertRaises(edl.OldWriter):
            edl.client().world = mock.Mock(rank=0, generation=2)
            self.save("two", 3)

    def test_a_restarted_one_that_has_joined_no_world(self) -> None:
        """It is newer than any process of the last world; a later world is newer than it."""
        with Job(incarnation=2):
            edl.client().world = mock.Mock(rank=0, generation=4)
            self.save("two", 1)
        with Job(incarnation=3):
            self.save("three", 2)
            self.assertEqual(self.loaded().tree["value"], "three")
        with Job(incarnation=2), self.assertRaisesRegex(edl.OldWriter, "incarnation 3, this one is 2"):
            edl.client().world = mock.Mock(rank=0, generation=4)
            self.save("two", 3)
        with Job(incarnation=1), self.assertRaises(edl.OldWriter):
            self.save("one", 3)
        with Job(index=1, incarnation=1):
            edl.client().world = mock.Mock(rank=0, generation=5)
            self.save("of world five", 3)
        self.assertEqual(self.loaded().tree["value"], "of world five")

    def test_of_one_place_the_later_process_counts(self) -> None:
        """The older one was in a world, and saves for the first time when another one has its place."""
        with Job(incarnation=3):
            self.save("three", 1)
        with Job(incarnation=2), self.assertRaises(edl.OldWriter):
            edl.client().world = mock.Mock(rank=0, generation=4)
            self.save("two", 2)
        with Job(index=1, incarnation=1):  # of another place: its world may have come later
            edl.client().world = mock.Mock(rank=0, generation=5)
            self.save("of world five", 2)

    def test_a_newer_one_that_writes_meanwhile(self) -> None:
        """The older one has looked, and is at its files, when the newer one writes."""
        real = _checkpoint._write_tree

        def slow(pending: Any, files: Any) -> Any:
            with mock.patch.object(_checkpoint, "_write_tree", real):
                with Job(incarnation=6):
                    self.save("six", 2)
            return real(pending, files)

        with Job(incarnation=5), mock.patch.object(_checkpoint, "_write_tree", slow), self.assertRaises(edl.OldWriter):
            self.save("five", 1)
        self.assertEqual(self.versions(), ["ckpt-0000000001"])
        self.assertEqual(self.loaded().tree["value"], "six")

    def test_two_that_take_the_same_number(self) -> None:
        """Between the last look and the rename: the older one finds its number taken, looks again and is refused."""
        real = _versions._PendingFolder.commit

        def late(pending: Any, number: int, manifest: bytes) -> str:
            with mock.patch.object(_versions._PendingFolder, "commit", real):
                with Job(incarnation=6):
                    self.save("six", 2)
            return real(pending, number, manifest)

        with Job(incarnation=5), mock.patch.object(_versions._PendingFolder, "commit", late), self.assertRaises(edl.OldWriter):
            self.save("five", 1)
        self.assertEqual(self.loaded().tree["value"], "six")


class Urls(Case):
    def setUp(self) -> None:
        super().setUp()
        try:
            import fsspec
        except ImportError:
            self.skipTest("there is no fsspec (python3-fsspec)")
        self.fs = fsspec.filesystem("memory")

    def each(self) -> Any:
        for url in (f"memory://{self.folder}", f"file://{self.path}"):
            self.path = url
            with self.subTest(url):
                yield url

    def test_a_tree_and_a_folder(self) -> None:
        for url in self.each():
            self.assertIsNone(edl.load_checkpoint(url))
            for epoch in range(5):
                self.save(url, epoch)
            self.assertEqual(self.loaded().tree["value"], url)
            self.assertEqual(len(_versions.store_of(url).versions()), 3)
            source = tempfile.mkdtemp(dir=self.folder)
            os.mkdir(os.path.join(source, "deep"))
            with open(os.path.join(source, "deep/a"), "wb") as file:
                file.write(b"x" * 3000000)
            edl.save_checkpoint(source, edl.TrainStatus(7), url)
            found = edl.load_checkpoint(url)
            assert found is not None and found.folder is not None
            with open(os.path.join(found.folder, "deep/a"), "rb") as file:
                self.assertEqual(file.read(), b"x" * 3000000)
            copy = found.folder
            del found
            self.assertFalse(os.path.exists(copy))

    def test_a_writer_that_is_cut(self) -> None:
        for url in self.each():
            self.save("old", 1)
            store = _versions.store_of(url)
            for at in range(2):  # at the file, at the manifest
                real = _versions.UrlStore.write
                calls = iter(range(9))

                def cut(store: Any, version: str, name: str, parts: Any, real: Any = real, calls: Any = calls, at: int = at) -> None:
                    if next(calls) == at:
                        raise SystemError
                    real(store, version, name, parts)

                with mock.patch.object(_versions.UrlStore, "write", cut), mock.patch.object(_versions._PendingObject, "abort"):
                    self.assertRaises(SystemError, self.save, "cut", 2)
                self.assertEqual(self.loaded().tree["value"], "old")
            self.save("new", 3)
            self.save("newer", 4)
            self.assertEqual(self.loaded().tree["value"], "newer")
            self.assertEqual(len([name for name in store._names() if name != ".writer"]), 3)  # type: ignore[attr-defined]

    def test_an_older_writer_is_refused(self) -> None:
        for url in self.each():
            with Job(incarnation=6):
                self.save("six", 2)
            with Job(incarnation=5), self.assertRaises(edl.OldWriter):
                self.save("five", 3)
            # no store refuses a name that was taken meanwhile: what an older one wrote all the same is passed over
            with Job(incarnation=5), mock.patch.object(_checkpoint.Checkpoints, "_fenced", lambda _, store, found, writer: writer):
                self.save("five", 3)
            with self.assertLogs("edl", logging.WARNING) as told:
                self.assertEqual(self.loaded().tree["value"], "six")
            self.assertIn("replaced before it wrote", told.output[0])

    def test_a_folder_around_the_checkpoints(self) -> None:
        with open(os.path.join(self.folder, "a"), "wb") as file:
            file.write(b"1")
        for epoch in range(3):
            edl.save_checkpoint(self.folder, edl.TrainStatus(epoch), f"file://{self.path}")
        found = edl.load_checkpoint(f"file://{self.path}")
        assert found is not None and found.folder is not None
        self.assertEqual(os.listdir(found.folder), ["a"])

    def test_without_fsspec(self) -> None:
        with mock.patch.dict(sys.modules, {"fsspec": None}), self.assertRaisesRegex(edl.Error, "python3-fsspec"):
            edl.load_checkpoint("s3://bucket/x")


if __name__ == "__main__":
    unittest.main()
