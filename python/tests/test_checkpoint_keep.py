# SPDX-License-Identifier: Apache-2.0
"""What stays of a checkpoint's versions, and which of two writers of one path is refused."""
import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, List, Optional
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from job_agent import Job
import test_checkpoint_store

import edl
from edl import _versions, _writer

SAVER = """
import sys, edl
try:
    edl.save_checkpoint({"value": "second"}, edl.TrainStatus(9), sys.argv[1])
    print("saved")
except edl.Error as error:
    print(type(error).__name__, error)
"""


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "checkpoint")

    def save(self, epoch: int, **more: Any) -> Optional[str]:
        return edl.save_checkpoint({"weights": str(epoch).encode() * 5000}, edl.TrainStatus(epoch), self.path, **more)

    def numbers(self) -> List[int]:
        return sorted(int(name[5:]) for name in os.listdir(self.path) if name.startswith("ckpt-"))

    def damage(self, number: int) -> None:
        with open(os.path.join(self.path, f"ckpt-{number:010d}", "data/00000"), "r+b") as file:
            byte = file.read(1)
            file.seek(0)
            file.write(bytes((byte[0] ^ 1,)))

    def epoch(self) -> int:
        found = edl.load_checkpoint(self.path)
        assert found is not None
        return found.status.epoch


class Keep(Case):
    def test_a_damaged_version_does_not_count(self) -> None:
        for epoch in range(5):
            self.save(epoch, keep=5)
        self.damage(4)
        self.damage(5)
        with self.assertLogs("edl", "WARNING"):
            self.assertEqual(self.epoch(), 2)
        self.save(5)
        self.assertEqual(self.numbers(), [2, 3, 4, 5, 6])
        self.save(6)
        self.assertEqual(self.numbers(), [3, 4, 5, 6, 7])
        self.save(7)
        self.assertEqual(self.numbers(), [6, 7, 8])

    def test_nor_in_a_process_that_has_loaded_nothing(self) -> None:
        for epoch in range(5):
            self.save(epoch, keep=5)
        for number in (2, 5):
            self.damage(number)
        shutil.rmtree(os.path.join(self.path, "ckpt-0000000004", "data"))
        with mock.patch.object(edl, "_checkpoints", type(edl._checkpoints)(edl.client)):
            self.save(5)
        self.assertEqual(self.numbers(), [1, 2, 3, 4, 5, 6])

    def test_nor_one_that_is_damaged_after_it_was_read(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        self.damage(3)
        self.save(3)
        self.assertEqual(self.numbers(), [1, 2, 3, 4])

    def test_what_cannot_be_read_now_is_not_removed(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        real = open

        def fails(path: Any, *more: Any, **named: Any) -> Any:
            if "ckpt-0000000002/data" in str(path):
                raise OSError(errno.EIO, "Input/output error")
            return real(path, *more, **named)

        with mock.patch.object(edl, "_checkpoints", type(edl._checkpoints)(edl.client)), mock.patch("builtins.open", fails):
            self.save(3)
        self.assertEqual(self.numbers(), [1, 2, 3, 4])
        self.save(4)
        self.assertEqual(self.numbers(), [3, 4, 5])

    def test_a_version_is_read_once(self) -> None:
        """Those that are known to be whole cost no more than a look at their files."""
        for epoch in range(3):
            self.save(epoch)
        real, opened = open, []

        def note(path: Any, *more: Any, **named: Any) -> Any:
            opened.append(str(path))
            return real(path, *more, **named)

        with mock.patch("builtins.open", note):
            self.save(3)
        self.assertEqual([path for path in opened if "ckpt-" in path and "data" in path], [])

    def test_a_version_that_does_not_read_back(self) -> None:
        for epoch in range(3):
            self.save(epoch)
        real = os.write

        def lies(fd: int, data: Any) -> int:
            return real(fd, bytes(len(data)))

        with mock.patch.object(os, "write", lies), self.assertRaisesRegex(edl.CheckpointError, "does not read back.*look at the disk"):
            self.save(3, keep=1)
        self.assertEqual(self.numbers(), [1, 2, 3])
        real_file = _versions._write_file

        def bad_manifest(path: str, parts: Any) -> None:
            real_file(path, [b"x"] if path.endswith("manifest") else parts)

        with mock.patch.object(_versions, "_write_file", bad_manifest), self.assertRaisesRegex(edl.CheckpointError, "manifest does not read"):
            self.save(3, keep=1)
        self.assertEqual(self.numbers(), [1, 2, 3])
        self.assertEqual(self.epoch(), 2)


class Writers(Case):
    def second(self, path: str, **environment: str) -> str:
        said = subprocess.run([sys.executable, "-c", SAVER, path], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                              check=True)
        return said.stdout.decode().strip()

    def test_the_second_one_is_refused_by_the_name_of_the_first(self) -> None:
        self.save(0)
        self.assertRegex(self.second(self.path), rf"CheckpointError process {os.getpid()} \(.*\) on .* writes the checkpoints in .*"
                         "one process at a time does")
        with self.assertRaisesRegex(edl.CheckpointError, f"process {os.getpid()} "):
            raise edl.CheckpointError(self.second(self.path + "/../checkpoint"))
        self.assertEqual(self.numbers(), [1])
        self.save(1)
        self.assertEqual(self.numbers(), [1, 2])

    def test_a_check_is_enough(self) -> None:
        edl.check_checkpoint({"a": 1}, self.path)
        self.assertEqual(os.listdir(self.path), [".writer"])
        self.assertRegex(self.second(self.path), f"process {os.getpid()} ")

    def test_one_that_has_ended_holds_nothing(self) -> None:
        self.assertEqual(self.second(self.path), "saved")
        self.save(1)
        self.assertEqual(self.numbers(), [1, 2])

    def test_of_another_job(self) -> None:
        with Job(incarnation=3):
            self.save(0)
            self.assertRegex(self.second(self.path, EDL_SOCKET=""), "CheckpointError job 7 .train., trainer 0, process")

    def test_a_newer_one_of_the_job_does_not_wait(self) -> None:
        """The older one stands still. It is refused when it goes on."""
        with Job(incarnation=3):
            self.save(0)
            self.assertEqual(self.second(self.path, EDL_INCARNATION="4"), "saved")
            with self.assertRaisesRegex(edl.OldWriter, "incarnation 4, this one is 3"):
                self.save(1)
        self.assertEqual(self.numbers(), [1, 2])

    def test_an_older_one_that_has_written_nothing_yet(self) -> None:
        with Job(incarnation=3):
            edl.check_checkpoint({}, self.path)
            self.assertRegex(self.second(self.path, EDL_INCARNATION="2"), "OldWriter .* newer process of this job writes")

    def test_a_child_of_the_writer(self) -> None:
        """Its files of a version that is under way are not taken for those of a process that was killed."""
        self.save(0)
        child = os.fork()
        if child == 0:
            try:
                self.save(1)
            except edl.CheckpointError as error:
                os._exit(0 if f"process {os.getppid()} " in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.save(2)
        self.assertEqual(self.numbers(), [1, 2])

    def test_a_file_system_without_locks(self) -> None:
        """The one that is replaced meanwhile is refused."""
        with mock.patch.object(_writer, "_try_lock", lambda fd: None), self.assertLogs("edl", "WARNING"):
            self.save(0)
            self.assertEqual(self.second(self.path), "saved")
            with self.assertRaisesRegex(edl.CheckpointError, r"(process [0-9]+ .*){1}(has written|writes)"):
                self.save(1)

    def test_a_name_that_somebody_else_wrote(self) -> None:
        os.makedirs(self.path)
        for text in (b"", b"[]", b"{", b'{"job": 3}', b"[" * 4000, b"\xff"):
            with open(os.path.join(self.path, ".writer"), "wb") as file:
                file.write(text)
            with open(os.path.join(self.path, ".writer"), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                with self.assertRaisesRegex(edl.CheckpointError, "another process writes"):
                    self.save(0)

    def test_errors_name_what_helps(self) -> None:
        for code, remedy in ((errno.ENOSPC, "make room there"), (errno.EACCES, "let this account write"), (errno.EIO, ": name another path")):
            with mock.patch.object(os, "write", side_effect=OSError(code, os.strerror(code))):
                with self.assertRaisesRegex(edl.CheckpointError, remedy):
                    self.save(0)


class Url(test_checkpoint_store.FakeUrl):
    """There are no locks: the one that finds the other's version behind its own is refused."""

    def test_the_one_that_comes_later_is_told(self) -> None:
        self.save(0)
        name = "process 1 (other.py) on elsewhere"
        with mock.patch.object(edl, "_checkpoints", type(edl._checkpoints)(edl.client)):
            with mock.patch.object(_writer, "this_process", lambda: _writer.Writer(name=name, id="other")):
                self.save(1)
        for _ in range(2):
            with self.assertRaisesRegex(edl.CheckpointError, r"process 1 \(other.py\) on elsewhere has written ckpt-0000000002-.*own"):
                self.save(2)
        self.assertEqual(self.whole(), 2)

    def test_damaged_versions(self) -> None:
        for epoch in range(5):
            self.save(epoch, keep=5)
        for name in self.fs.files:
            if name.endswith("data/00000") and ("ckpt-0000000004" in name or "ckpt-0000000005" in name):
                self.fs.files[name] = b"X"
        self.save(5)
        self.assertEqual({name.split("/")[2][:15] for name in self.fs.files}, {f"ckpt-{i:010d}" for i in range(2, 7)})


for name in [name for name in vars(test_checkpoint_store.FakeUrl) if name.startswith("test_")]:  # those run in their own file
    setattr(Url, name, None)


if __name__ == "__main__":
    unittest.main()
