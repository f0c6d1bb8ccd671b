# SPDX-License-Identifier: Apache-2.0
"""One connection of a loop of selectors: whole frames in, frames out, nothing blocks."""
from __future__ import annotations

import socket
import time
from collections import deque
from typing import Any, Deque, Iterator, List, Tuple

from . import _wire

_PIECE = 1 << 18
_PARTS_MOST = 64  # of one sendmsg
_KEEPALIVE = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", 4), 4),
              (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPINTVL", 5), 2), (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPCNT", 6), 3),
              (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))


class Closed(Exception):
    """The other end has closed the connection, or it broke."""


class Link:
    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._in = bytearray()
        self._out: Deque[memoryview] = deque()
        self.moved_s = time.monotonic()  # when the last byte came or went
        for level, option, value in _KEEPALIVE:
            connected.setsockopt(level, option, value)
        connected.setblocking(False)

    def put(self, kind: int, *parts: Any) -> None:
        """To be sent; memory of the parts must stay as it is until then."""
        self._out += [memoryview(part) for part in _wire.frame(kind, *parts) if len(part)]

    @property
    def wants_write(self) -> bool:
        return bool(self._out)

    def send(self) -> None:
        """What goes without waiting."""
        while self._out:
            pieces: List[memoryview] = [self._out[i] for i in range(min(len(self._out), _PARTS_MOST))]
            try:
                n = self.socket.sendmsg(pieces)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                raise Closed(str(error)) from None
            self.moved_s = time.monotonic()
            while n > 0:
                first = self._out.popleft()
                if n < len(first):
                    self._out.appendleft(first[n:])
                n -= min(n, len(first))

    def receive(self) -> None:
        """What is there, as far as one piece goes: others have their turn."""
        try:
            piece = self.socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise Closed(str(error)) from None
        if not piece:
            raise Closed("the connection was closed")
        self.moved_s = time.monotonic()
        self._in += piece

    def frames(self, most: int) -> Iterator[Tuple[int, memoryview]]:
        """(type, body) of all that are whole. BadFrame; most: the longest body that is taken."""
        at = 0
        while len(self._in) - at >= _wire.HEADER.size:
            kind, size = _wire.header(bytes(self._in[at : at + _wire.HEADER.size]))
            if size > most:
                raise _wire.BadFrame(f"{_wire.NAMES[kind]} of {size} bytes is too long here")
            start = at + _wire.HEADER.size
            if len(self._in) < start + size:
                break
            at = start + size
            yield kind, memoryview(bytes(self._in[start:at]))
        if at:
            del self._in[:at]

    def close(self) -> None:
        self.socket.close()
