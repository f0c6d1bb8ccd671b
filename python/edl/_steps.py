# SPDX-License-Identifier: Apache-2.0
"""Steps of training: added up here, told once a second in a message that nobody waits for."""
from __future__ import annotations

import json
import operator
import os
import socket
import threading
import time
from types import TracebackType
from typing import Optional, Type

TELL_EACH_S = 1.0
REFUSED_S = 60.0  # an agent of before does not know the call
END_S = 0.25
SUM_MAX = (1 << 53) - 1
_STATUS_AT = 9  # in b"HTTP/1.1 204"


class _Sums:
    """What was done; seconds, until they are told."""

    __slots__ = ("step", "steps", "samples", "compute", "wait")

    def __init__(self) -> None:
        self.step = 0
        self.steps = 0
        self.samples = 0
        self.compute = 0.0
        self.wait = 0.0

    def add(self, newer: "_Sums") -> None:
        self.step = newer.step
        self.steps += newer.steps
        self.samples += newer.samples
        self.compute += newer.compute
        self.wait += newer.wait

    def body(self) -> bytes:
        told = {
            "step": self.step,
            "steps": self.steps,
            "samples": self.samples,
            "compute_us": int(self.compute * 1e6),
            "wait_us": int(self.wait * 1e6),
        }
        return json.dumps({name: min(number, SUM_MAX) for name, number in told.items()}).encode()


def _whole(name: str, number: int) -> int:
    number = operator.index(number)
    if not 0 <= number <= SUM_MAX:
        raise ValueError(f"{name} is {number}, not a whole number from 0 to 2**53 - 1")
    return number


def _seconds(name: str, seconds: float) -> float:
    seconds = float(seconds)
    if not 0 <= seconds <= SUM_MAX / 1e6:  # nor is NaN
        raise ValueError(f"{name} is {seconds}, not seconds")
    return seconds


class Steps:
    """The steps of this process. path: of the agent's socket; None: nobody is told."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a signal handler may come between
        self._untold = _Sums()
        self._on_way = _Sums()
        self._call: Optional[socket.socket] = None  # under way
        self._last = 0
        self._ended: Optional[float] = None
        self._next = 0.0
        self._waited = 0.0

    def step(self, samples: int, step: Optional[int], compute: Optional[float], wait: Optional[float]) -> None:
        """Client.step"""
        now = time.monotonic()
        samples = _whole("samples", samples)
        if step is not None:
            step = _whole("step", step)
        if compute is not None:
            compute = _seconds("compute", compute)
        if wait is not None:
            wait = _seconds("wait", wait)
        if self._path is None:
            return
        with self._lock:
            untold = self._untold
            if wait is None:
                wait = self._waited
            if compute is None:
                compute = 0.0 if self._ended is None else max(now - self._ended - wait, 0.0)
            self._last = min(self._last + 1, SUM_MAX) if step is None else step
            untold.step = self._last
            untold.steps += 1
            untold.samples += samples
            untold.compute += compute
            untold.wait += wait
            self._waited = 0.0
            self._ended = now
            if now >= self._next:
                self._tell(now)

    def add_wait(self, seconds: float) -> None:
        with self._lock:
            self._waited += seconds

    def _look(self, call: socket.socket) -> Optional[int]:
        """The first digit of the status of the call under way, 0 when nobody took it; None: not answered yet."""
        try:
            answer = call.recv(_STATUS_AT + 1)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            answer = b""
        call.close()
        self._call = None
        kind = answer[_STATUS_AT] - ord("0") if len(answer) > _STATUS_AT else 0
        lost, self._on_way = self._on_way, _Sums()
        if kind not in (2, 4):  # its agent is gone, and its sums with it
            if self._untold.steps > 0:
                lost.add(self._untold)
            self._untold = lost
        return kind

    def _send(self) -> Optional[socket.socket]:
        body = self._untold.body()
        head = (
            "POST /processes/self/steps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        request = head.encode() + body
        call = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            call.setblocking(False)
            call.connect(self._path or "")
            if call.send(request) == len(request):
                return call
        except OSError:
            pass
        call.close()
        return None

    def _forget_parents(self) -> None:
        """After a fork what was not told is the parent's to tell, and so is its call."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        self._untold, self._on_way = _Sums(), _Sums()
        if self._call is not None:
            self._call.close()
            self._call = None

    def _tell(self, now: float) -> None:
        self._forget_parents()
        kind = None if self._call is None else self._look(self._call)
        self._next = now + (REFUSED_S if kind == 4 else TELL_EACH_S)
        if self._call is not None or kind == 4 or self._untold.steps == 0:
            return
        self._call = self._send()
        if self._call is not None:
            self._on_way, self._untold = self._untold, _Sums()

    def end(self) -> None:
        """What was not told yet is told, within a moment."""
        with self._lock:
            self._forget_parents()
            for _ in range(2):
                if self._call is not None or self._untold.steps > 0:
                    self._tell(time.monotonic())
                if self._call is not None:
                    self._call.settimeout(END_S)
                    try:
                        self._call.recv(1, socket.MSG_PEEK)
                    except OSError:
                        pass
                    self._call.setblocking(False)
            if self._call is not None:
                self._call.close()
                self._call = None


class Waiting:
    """The time of a `with` block is a wait, of the step that ends next."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._since = 0.0

    def __enter__(self) -> "Waiting":
        self._since = time.monotonic()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._steps.add_wait(time.monotonic() - self._since)
