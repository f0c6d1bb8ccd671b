# SPDX-License-Identifier: Apache-2.0
"""The TCP connections of this process, and how to end them from another thread: who waits in one fails now."""
from __future__ import annotations

import os
import socket
import stat
import threading
from typing import FrozenSet, Iterable, Optional, Tuple

Connection = Tuple[int, int]  #: descriptor and inode: a descriptor is used again, the inode of a socket is not


def _copy(fd: int) -> socket.socket:
    """Of the same connection: it stays the one it is, whatever becomes of the number meanwhile. OSError"""
    copied = os.dup(fd)
    try:
        blocking = os.get_blocking(copied)
        made = socket.socket(fileno=copied)
    except OSError:
        os.close(copied)
        raise
    if socket.getdefaulttimeout() is not None:  # then this has made the connection one that does not block
        os.set_blocking(copied, blocking)
    return made


def _is_tcp(found: socket.socket, without_port: int) -> bool:
    return (found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
            and found.getsockname()[1] != without_port)


def connections(without_port: int = 0) -> FrozenSet[Connection]:
    """All TCP sockets of this process but those of one local port."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                continue
            with _copy(fd) as copied:
                if _is_tcp(copied, without_port):
                    found.add((fd, os.fstat(copied.fileno()).st_ino))
        except OSError:  # it was closed meanwhile
            pass
    return frozenset(found)


def cut(those: Iterable[Connection]) -> None:
    """Ends these connections. Descriptors stay open: they are their library's to close."""
    for fd, inode in those:
        try:
            with _copy(fd) as copied:
                if os.fstat(copied.fileno()).st_ino == inode:
                    copied.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is closed, or was never connected
            pass


class Came:
    """The connections that come from here on, until they are `all_here`: those of a group that is being made. Not those of one local
    port, which are others'."""

    def __init__(self, without_port: int) -> None:
        self.is_cut = False
        self._without_port = without_port
        self._lock = threading.Lock()
        self._before = connections(without_port)
        self._own: Optional[FrozenSet[Connection]] = None  # None: they still come

    def _found(self) -> FrozenSet[Connection]:
        return connections(self._without_port) - self._before

    def all_here(self) -> None:
        """What comes later is not theirs."""
        with self._lock:
            self._own = self._found()
            if self.is_cut:
                cut(self._own)

    def cut(self) -> None:
        """From any thread: whoever waits in one of them fails now. Those that come later need another cut."""
        with self._lock:
            self.is_cut = True
            cut(self._found() if self._own is None else self._own)

    def end(self) -> None:
        """The last cut: one that another thread makes late would end connections of the next group."""
        self.cut()
        with self._lock:
            self._own = frozenset()
