# SPDX-License-Identifier: Apache-2.0
"""A writer of checkpoints is killed at any moment, and the newest whole version is loaded. EDL_KILLS: how often; EDL_SEED."""
import os
import random
import signal
import sys
import tempfile
import time
import unittest
from typing import Any
from unittest import mock

import edl
from edl import _checkpoint

KILLS = int(os.environ.get("EDL_KILLS", "40"))
SEED = os.environ.get("EDL_SEED") or time.strftime("%Y%m%d")


class _Killer:
    """The n-th call that changes the disk is the last one of this process; of a write only a part is done."""

    NAMES = ("mkdir", "open", "write", "fsync", "rename", "unlink", "rmdir")

    def __init__(self, n: int, part: random.Random) -> None:
        self._left = n
        self._part = part
        for name in self.NAMES:
            setattr(os, name, self._wrapped(name, getattr(os, name)))

    def _wrapped(self, name: str, real: Any) -> Any:
        def call(*words: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left > 0:
                return real(*words, **more)
            if name == "write":
                real(words[0], words[1][:self._part.randrange(len(words[1]) + 1)])
            elif self._part.random() < 0.5:
                real(*words, **more)
            os.kill(os.getpid(), signal.SIGKILL)
        return call


class Killed(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "checkpoint")

    @staticmethod
    def saver(path: str, told: int, n: int, part: random.Random, epoch: int) -> None:
        """In a child: saves one version after the other, telling of each, until it is killed."""
        tell = os.write
        _Killer(n, part)
        while True:
            edl.save_checkpoint({"value": epoch, "a": b"%d" % epoch * 3000, "weights": b"%d" % epoch * 5000},
                                edl.TrainStatus(epoch), path, keep=2)
            tell(told, b"%d\n" % epoch)
            epoch += 1

    def test_killed_at_any_moment(self) -> None:
        random.seed(SEED)
        print(f"kills: {KILLS}, seed {SEED}", file=sys.stderr)
        last = -1
        for _ in range(KILLS):
            # about 25 calls are a version
            n, part = random.randrange(1, 90), random.Random(random.random())
            source, sink = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    self.saver(self.path, sink, n, part, last + 1)
                finally:
                    os._exit(1)
            os.close(sink)
            with os.fdopen(source, "rb") as file:
                told = [int(line) for line in file]
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), -signal.SIGKILL)
            acknowledged = told[-1] if told else last
            with self.assertNoWarnings():
                found = edl.load_checkpoint(self.path)
            if found is None:
                self.assertEqual(acknowledged, -1)
                continue
            self.assertIn(found.status.epoch, (acknowledged, acknowledged + 1))
            self.assertEqual(found.tree, {"value": found.status.epoch, "a": b"%d" % found.status.epoch * 3000,
                                          "weights": b"%d" % found.status.epoch * 5000})
            last = found.status.epoch
        edl.save_checkpoint({}, edl.TrainStatus(last + 1), self.path, keep=2)
        self.assertEqual(len(os.listdir(self.path)), 2 + 1)  # and .writer; nothing is left of the killed ones

    def assertNoWarnings(self) -> Any:
        return mock.patch.object(_checkpoint.LOG, "warning", side_effect=AssertionError("a version is passed over"))


if __name__ == "__main__":
    unittest.main()
