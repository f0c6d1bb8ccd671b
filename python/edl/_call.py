# SPDX-License-Identifier: Apache-2.0
"""One call until it is answered, over any number of restarts; what an answer means as an exception."""
from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import socket
import stat
import threading
import time
from typing import Any, Callable, Dict, Iterator, Optional, Type, TypeVar

from ._patience import Patience

PATIENCE_S = 300.0
CALL_TIMEOUT_S = 90.0  # longer than the agent bridges an outage
WAIT_MAX_S = 20  # of one call; the scheduler waits no longer
LATE_S = 5.0  # an answer may come so much after the end of a wait
PAUSE_FIRST_S = 0.05
PAUSE_MOST_S = 2.0
EARLY_S = 0.1
TURN_LEAST_S = 1.0  # in which an agent answers whoever has not to wait
PATH_MAX_BYTES = 107  # unix(7), without the last zero
ANSWER_MAX_BYTES = 64 << 20
NOTHING_STORED = 507  # the scheduler is there, and waits for room on its disk
TOO_MANY = 429  # this job has as many calls under way as it may
AWAY = (TOO_MANY, 502, 503, 504, NOTHING_STORED)


class Error(Exception):
    """What all exceptions of this module are. `remedy` says what to do about it, or is empty."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(f"{text}: {remedy}" if remedy else text)
        self.remedy = remedy


class NotInJob(Error):
    """This is no process of a job: its environment lacks what every one has."""


class Refused(Error):
    """The call was refused as it is. `status` is that of HTTP."""

    def __init__(self, text: str, remedy: str = "", status: int = 0) -> None:
        super().__init__(text, remedy)
        self.status = status


class Stale(Refused):
    """Another has taken the place: this process should end."""


class PassError(Refused):
    """What the scheduler says of a pass that was named, in the words of upstream's master."""


class PassBefore(PassError):
    """It is over."""


class PassAfter(PassError):
    """It has not begun."""


class NoMoreTasks(PassError):
    """Others hold the rest of it; one of these may come back."""


class AllTasksFailed(PassError):
    """None of its tasks could be done."""


class NotFound(Refused):
    """What was named is not there."""


class Unreachable(Error, ConnectionError):
    """Agent or scheduler did not answer for as long as the client's patience."""


class Timeout(Error, TimeoutError):
    """What was waited for did not come in time."""


class BadAnswer(Error):
    """What came is no answer of an agent."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        try:
            self.json: Any = json.loads(body) if body else None
        except (ValueError, RecursionError):
            self.json = None


def _read(sock: socket.socket, response: http.client.HTTPResponse, end: float) -> bytes:
    body = bytearray()
    expected = response.length  # read() tells of no end that comes too early
    while not response.isclosed():  # which it is once all of its length was read, and its socket with it
        left = end - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        sock.settimeout(left)
        piece = response.read(1 << 16)
        if not piece:
            break
        body += piece
        if len(body) > ANSWER_MAX_BYTES:
            raise BadAnswer("the answer is too large")
    if len(body) < (1 if expected is None else expected):  # without a length: nor the end of its headers
        raise http.client.IncompleteRead(bytes(body))
    return bytes(body)


def _try(path: str, method: str, target: str, body: Optional[bytes], timeout: float) -> _Answer:
    """One exchange; OSError or HTTPException when there was no whole answer."""
    end = time.monotonic() + timeout
    connection = _Connection(path, timeout)
    try:
        connection.connect()
        sock = connection.sock
        headers = {"Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, target, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # it may have answered before it had read all: then the answer counts
            response = http.client.HTTPResponse(sock, method=method)
            response.begin()
        else:
            response = connection.getresponse()
        if response.length is not None and response.length > ANSWER_MAX_BYTES:
            raise BadAnswer("the answer is too large")
        return _Answer(response.status, _read(sock, response, end))
    finally:
        connection.close()


_OF_PASS: Dict[str, Type[Refused]] = {
    "pass-before": PassBefore,
    "pass-after": PassAfter,
    "no-more-task": NoMoreTasks,
    "all-tasks-failed": AllTasksFailed,
}


def _kind(answer: _Answer, code: Any) -> Type[Refused]:
    if isinstance(code, str) and code in _OF_PASS:
        return _OF_PASS[code]
    by_status: Dict[int, Type[Refused]] = {404: NotFound, 409: Stale}
    return by_status.get(answer.status, Refused)


def _check(answer: _Answer) -> None:
    """The exception that an answer is."""
    if 200 <= answer.status < 300:
        return
    problem: Dict[str, Any] = answer.json if isinstance(answer.json, dict) else {}
    text = problem.get("detail")
    remedy = problem.get("remedy")
    raise _kind(answer, problem.get("code"))(
        text if isinstance(text, str) else f"the agent answered with status {answer.status}",
        remedy if isinstance(remedy, str) else "",
        answer.status,
    )


Result = TypeVar("Result")


class NoNews(Exception):
    """Raised by what reads the answer to a wait: ask again."""


def _check_path(path: str) -> None:
    """NotInJob when nothing could ever answer there; what is not there yet may be an agent that is restarted."""
    remedy = "leave EDL_SOCKET as the agent sets it: edl submit -- PROGRAM"
    if not os.path.isabs(path) or "\0" in path:
        raise NotInJob(f"the path of the agent's socket, {path!r}, is not an absolute one", remedy)
    if len(os.fsencode(path)) > PATH_MAX_BYTES:
        raise NotInJob(f"the path of the agent's socket, {path!r}, is longer than {PATH_MAX_BYTES} bytes", remedy)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise NotInJob(f"{path} is not a socket", remedy)


@contextlib.contextmanager
def _turn(lock: Optional[threading.Lock], until: float, target: str) -> Iterator[None]:
    """One thread asks at a time. Who cannot in time waits for what another one is waiting for: Timeout."""
    left = max(until - time.monotonic(), TURN_LEAST_S)
    if lock is not None and not lock.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
        raise Timeout(f"{target}: no news in time, for another thread either")
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


class Caller:
    """Calls of one process to its agent. Safe to be used by several threads."""

    def __init__(self, socket_path: Optional[str] = None, patience: float = PATIENCE_S) -> None:
        path = socket_path if socket_path is not None else os.environ.get("EDL_SOCKET", "")
        if not path:
            raise NotInJob("EDL_SOCKET is not set", "submit the program as a job: edl submit -- PROGRAM")
        _check_path(path)
        self.path = path
        self.patience = patience

    def _call(
        self, method: str, target: str, body: Any, wait: float = 0.0, deadline: float = math.inf
    ) -> Dict[str, Any]:
        """One call until it is answered: tried for as long as patience and deadline allow."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        patience = Patience(self.patience)
        pause = PAUSE_FIRST_S
        while True:
            left = max(min(patience.left, deadline - time.monotonic()), 1.0)
            limit = wait + min(left, CALL_TIMEOUT_S)
            patience.plan(limit)
            answer = None
            try:
                answer = _try(self.path, method, target, data, limit)
                if answer.status not in AWAY:
                    _check(answer)
                    return answer.json if isinstance(answer.json, dict) else {}
                why = f"status {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
            patience.spend()
            if answer is not None and answer.status == NOTHING_STORED:  # however long, nothing is wrong with us
                patience = Patience(self.patience)
            if patience.over or time.monotonic() >= deadline:
                if answer is not None and answer.status == TOO_MANY and patience.over:
                    _check(answer)
                text = f"{method} {target} over {self.path}: {why}"
                raise Unreachable(text) if patience.over else Timeout(text)
            patience.plan(pause)
            time.sleep(pause)
            patience.spend()
            pause = min(pause * 2, PAUSE_MOST_S)

    def ask(self, method: str, target: str, body: Any = None) -> Dict[str, Any]:
        """One call that waits for nothing but a scheduler that is being restarted."""
        return self._call(method, target, body)

    def ask_for(
        self, method: str, target: str, read: Callable[[Dict[str, Any]], Result], body: Any = None
    ) -> Result:
        """What `read` makes of the answer."""
        return self._read(target, self._call(method, target, body), read)

    @staticmethod
    def _read(target: str, answer: Dict[str, Any], read: Callable[[Dict[str, Any]], Result]) -> Result:
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError) as error:
            raise BadAnswer(f"{target}: the answer is not as expected") from error

    def tell(self, target: str, body: Any, timeout: float) -> None:
        """One call, tried once."""
        data = json.dumps(body, allow_nan=False).encode()
        try:
            answer = _try(self.path, "POST", target, data, timeout)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"POST {target} over {self.path}: {error}") from error
        if answer.status in AWAY:
            raise Unreachable(f"POST {target} over {self.path}: status {answer.status}")
        _check(answer)

    def wait(
        self,
        method: str,
        target: str,
        body: Optional[Callable[[], Dict[str, Any]]],
        timeout: Optional[float],
        read: Callable[[Dict[str, Any]], Result],
        lock: Optional[threading.Lock] = None,
    ) -> Result:
        """The same call until `read` makes something of its answer; Timeout when that is not in time, PassAfter and
        NoMoreTasks when the last answer was that.

        What is asked is made anew each time. With a lock no two threads ask at once, each question and what is
        made of its answer on its own; between two of them others have their turn."""
        until = math.inf if timeout is None else time.monotonic() + max(timeout, 0.0)
        while True:
            with _turn(lock, until, target):
                began = time.monotonic()
                wait = min(WAIT_MAX_S, math.ceil(min(max(until - began, 0.0), WAIT_MAX_S)))
                asked = None if body is None else {**body(), "wait": wait}
                path = target if body is not None else f"{target}wait={wait}"
                try:
                    return self._read(target, self._call(method, path, asked, wait, until + LATE_S), read)
                except NoNews:
                    pass
                except (PassAfter, NoMoreTasks):
                    if time.monotonic() >= until:
                        raise
            if time.monotonic() >= until:
                raise Timeout(f"{target}: no news in time")
            if time.monotonic() - began < EARLY_S:  # a scheduler that ends answers early
                time.sleep(EARLY_S)
