# SPDX-License-Identifier: Apache-2.0
"""Which records a process reads where no scheduler deals them out: a worker of a DataLoader its part, and of several
processes that share one reader one at a time, as each would read all of them."""
from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sys
import threading
from typing import Any, Iterator, Optional, Tuple

from ._call import Error

_MODULES = ("torch.utils.data", "paddle.io")  # those that start workers and tell these who they are
_lock = threading.Lock()
_file: Optional[int] = None  # a byte for each reader, which the process that reads has locked


def _forked() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def part() -> Tuple[int, int]:
    """The number of this worker, and how many there are; 0 of 1 in a process that is none."""
    for name in _MODULES:
        module: Any = sys.modules.get(name)
        info = module.get_worker_info() if hasattr(module, "get_worker_info") else None
        if info is not None:
            return int(info.id), int(info.num_workers)
    return 0, 1


def _open() -> Optional[int]:
    """Before a fork: then all children have the same file."""
    global _file
    with _lock:
        if _file is None:
            try:
                _file = os.memfd_create("edl-readers")
            except OSError:  # nobody is refused then
                return None
        return _file


class Turn:
    """A lock of one reader. A child of a fork has the same one and not the lock: the kernel gives that to a process."""

    def __init__(self) -> None:
        self._file = _open()
        self._byte = secrets.randbelow(2**62)
        self._held = (os.getpid(), 0)  # how many loops of this process

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Error: another process reads."""
        if self._file is None or part()[1] > 1:
            yield
            return
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte)
        except (BlockingIOError, PermissionError):
            raise Error("another process, a parent or a child of this one, reads the records of this reader, and this one would read "
                        "all of them again", "read in one process and hand them on; or give each a reader of its own, with its own files: "
                        "edl.cloud_reader(files[i::n])") from None
        self._count(1)
        try:
            yield
        finally:
            if self._count(-1) <= 0:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._byte)

    def _count(self, more: int) -> int:
        pid, held = self._held
        self._held = os.getpid(), (held if pid == os.getpid() else 0) + more
        return self._held[1]
