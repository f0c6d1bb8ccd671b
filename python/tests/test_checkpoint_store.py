# SPDX-License-Identifier: Apache-2.0
"""Stores whose calls fail now and then: nothing that is whole is removed, and a store that is away is no empty one."""
import errno
import io
import os
import sys
import tempfile
import types
import unittest
from typing import Any, Callable, Dict, List
from unittest import mock

import edl
from edl import _versions

URL = "fake://store/checkpoint"


class _File(io.BytesIO):
    """Its bytes are in the store when it is closed."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        super().__init__()
        self._keep = keep

    def close(self) -> None:
        if not self.closed:
            self._keep(self.getvalue())
        super().close()


class FakeFs:
    """The calls of a file system of fsspec. Those that `fails` says fail for a passing reason."""

    def __init__(self) -> None:
        self.files: Dict[str, bytes] = {}
        self.fails: Callable[[str, str], bool] = lambda call, path: False

    def _look(self, call: str, path: str) -> None:
        if self.fails(call, path):
            raise OSError(errno.EIO, f"the store does not answer {call}")

    def invalidate_cache(self) -> None:
        pass

    def makedirs(self, path: str, exist_ok: bool) -> None:
        self._look("makedirs", path)

    def ls(self, path: str, detail: bool) -> List[str]:
        self._look("ls", path)
        below = [name[len(path) + 1:] for name in self.files if name.startswith(path + "/")]
        if not below:
            raise FileNotFoundError(path)
        return sorted({f"{path}/{name.split('/')[0]}" for name in below})

    def info(self, path: str) -> Dict[str, Any]:
        self._look("info", path)
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.files[path])}

    def exists(self, path: str) -> bool:
        """As fsspec has it: any error is absence."""
        try:
            self.info(path)
        except Exception:
            return False
        return True

    def open(self, path: str, mode: str) -> io.BytesIO:
        self._look("open", path)
        if mode == "wb":
            return _File(lambda data: self.files.update({path: data}))
        if path not in self.files:
            raise FileNotFoundError(path)
        return io.BytesIO(self.files[path])

    def rm(self, path: str, recursive: bool) -> None:
        self._look("rm", path)
        gone = [name for name in self.files if name == path or recursive and name.startswith(path + "/")]
        if not gone:
            raise FileNotFoundError(path)
        for name in gone:
            del self.files[name]


class FakeUrl(unittest.TestCase):
    def setUp(self) -> None:
        self.fs = FakeFs()
        fake = types.SimpleNamespace(core=types.SimpleNamespace(url_to_fs=lambda url: (self.fs, url.split("://")[1])))
        patch = mock.patch.dict(sys.modules, {"fsspec": fake})
        patch.start()
        self.addCleanup(patch.stop)

    def save(self, epoch: int, **more: Any) -> Any:
        return edl.save_checkpoint({"weights": b"%d" % epoch}, edl.TrainStatus(epoch), URL, **more)

    def whole(self) -> int:
        return sum(name.endswith("/manifest") for name in self.fs.files)

    def epoch(self) -> int:
        found = edl.load_checkpoint(URL)
        assert found is not None
        return found.status.epoch

    def test_versions_stay_where_a_question_fails(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        self.fs.fails = lambda call, path: call == "info" and "ckpt-0000000002" in path
        for epoch in (3, 4):
            with self.assertRaisesRegex(edl.CheckpointError, "does not answer info"):
                self.save(epoch)
        self.assertEqual(self.whole(), 3)
        self.fs.fails = lambda call, path: False
        self.assertEqual(self.epoch(), 2)

    def test_a_sweep_that_fails_removes_nothing(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        self.fs.fails = lambda call, path: call == "info"
        with self.assertRaises(OSError):
            _versions.store_of(URL).sweep(1, 9)
        self.assertEqual(self.whole(), 3)

    def test_a_store_that_is_away_is_not_empty(self) -> None:
        self.assertIsNone(edl.load_checkpoint(URL))
        self.save(1)
        for away in ("ls", "info"):
            self.fs.fails = lambda call, path: call == away
            with self.assertRaisesRegex(edl.CheckpointError, f"cannot be read: .*does not answer {away}.*try again"):
                edl.load_checkpoint(URL)
        self.fs.fails = lambda call, path: True
        self.assertRaises(edl.CheckpointError, edl.load_checkpoint, URL)
        self.fs.fails = lambda call, path: False
        self.assertEqual(self.epoch(), 1)

    def test_a_version_is_saved_though_older_ones_stay(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        self.fs.fails = lambda call, path: call == "rm"
        with self.assertLogs("edl", "WARNING") as told:
            self.assertRegex(self.save(3), "ckpt-0000000004-")
        self.assertRegex(told.output[0], "older versions .*does not answer rm")
        self.fs.fails = lambda call, path: False
        self.assertEqual(self.epoch(), 3)
        self.save(4)
        self.assertEqual(self.whole(), 3)

    def test_parts_of_a_killed_writer_go(self) -> None:
        self.save(1)
        self.fs.files["store/checkpoint/ckpt-0000000001-00000000000000aa/data/00000"] = b"x"
        self.save(2)
        self.assertEqual(len({name.split("/")[2] for name in self.fs.files}), 2)


class Folder(unittest.TestCase):
    def test_a_folder_that_fails_is_not_empty(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            edl.save_checkpoint({"a": 1}, edl.TrainStatus(1), folder)
            real_open, real_stat = open, os.stat

            def no_open(path: Any, *more: Any, **named: Any) -> Any:
                if "ckpt-" in str(path):
                    raise OSError(errno.ESTALE, "Stale file handle")
                return real_open(path, *more, **named)

            def no_stat(path: Any, *more: Any, **named: Any) -> Any:
                if "ckpt-" in str(path):
                    raise OSError(errno.ESTALE, "Stale file handle")
                return real_stat(path, *more, **named)

            with mock.patch("builtins.open", no_open), mock.patch.object(os, "stat", no_stat):
                with self.assertRaisesRegex(edl.CheckpointError, "Stale file handle"):
                    edl.load_checkpoint(folder)


if __name__ == "__main__":
    unittest.main()
