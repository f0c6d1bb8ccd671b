# SPDX-License-Identifier: Apache-2.0
"""One call until it is answered, over any number of restarts; what an answer means as an exception."""
from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import select
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
SLICE_S = 1.0  # of a wait: shared/patience.h says why
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


class _Socket(socket.socket):
    """Of one call: all that is waited for spends its patience. A wait goes on all the time: each ends here, and the
    next one begins."""

    def __init__(self, patience: Patience) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self.setblocking(False)
        self._patience = patience
        self._left = patience.plan(SLICE_S)

    def _await(self, event: int) -> None:
        poll = select.poll()
        poll.register(self, event)
        while True:
            last = self._patience.over
            ready = poll.poll(math.ceil(self._left * 1000))
            self._patience.spend()
            self._left = self._patience.plan(SLICE_S)
            if ready:
                return
            if last:
                raise socket.timeout("timed out")

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        while True:
            self._await(select.POLLIN)
            try:
                return super().recv_into(*args, **kwargs)
            except BlockingIOError:
                pass

    def sendall(self, data: Any, flags: int = 0) -> None:
        with memoryview(data).cast("B") as view:
            sent = 0
            while sent < len(view):
                try:
                    sent += self.send(view[sent:], flags)
                except BlockingIOError:
                    self._await(select.POLLOUT)


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, patience: Patience) -> None:
        super().__init__("localhost")
        self._path = path
        self._patience = patience

    def connect(self) -> None:
        self.sock = _Socket(self._patience)
        self.sock.connect(self._path)


class _Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        try:
            self.json: Any = json.loads(body) if body else None
        except (ValueError, RecursionError):
            self.json = None


def _read(response: http.client.HTTPResponse) -> bytes:
    body = bytearray()
    expected = response.length  # read() tells of no end that comes too early
    while not response.isclosed():  # which it is once all of its length was read, and its socket with it
        piece = response.read(1 << 16)
        if not piece:
            break
        body += piece
        if len(body) > ANSWER_MAX_BYTES:
            raise BadAnswer("the answer is too large")
    if len(body) < (1 if expected is None else expected):  # without a length: nor the end of its headers
        raise http.client.IncompleteRead(bytes(body))
    return bytes(body)


def _try(path: str, method: str, target: str, body: Optional[bytes], patience: Patience) -> _Answer:
    """One exchange, which spends the patience; OSError or HTTPException when there was no whole answer."""
    connection = _Connection(path, patience)
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
        return _Answer(response.status, _read(response))
    finally:
        connection.close()
        patience.spend()


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
def _turn(lock: Optional[threading.Lock], limit: Patience, target: str) -> Iterator[None]:
    """One thread asks at a time. Who cannot in time waits for what another one is waiting for: Timeout."""
    turn = Patience(max(limit.left - LATE_S, TURN_LEAST_S))
    mine = lock is None
    while lock is not None and not mine:
        mine = lock.acquire(timeout=turn.plan(SLICE_S))
        turn.spend()
        if not mine and turn.over:
            raise Timeout(f"{target}: no news in time, for another thread either")
    limit.use(turn.spent)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _pause(seconds: float, *spends: Patience) -> None:
    pause = Patience(seconds)
    while not pause.over:
        time.sleep(pause.plan(SLICE_S))
        pause.spend()
    for patience in spends:
        patience.use(seconds)


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
        self, method: str, target: str, body: Any, wait: float = 0.0, limit: Optional[Patience] = None
    ) -> Dict[str, Any]:
        """One call until it is answered: tried for as long as patience and limit allow, of which it spends both."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        limit = Patience(math.inf) if limit is None else limit
        patience = Patience(self.patience)
        pause = PAUSE_FIRST_S
        while True:
            turn = Patience(wait + min(max(min(patience.left, limit.left), 1.0), CALL_TIMEOUT_S))
            answer = None
            try:
                answer = _try(self.path, method, target, data, turn)
                if answer.status not in AWAY:
                    _check(answer)
                    return answer.json if isinstance(answer.json, dict) else {}
                why = f"status {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
            finally:
                patience.use(turn.spent)
                limit.use(turn.spent)
            if answer is not None and answer.status == NOTHING_STORED:  # however long, nothing is wrong with us
                patience = Patience(self.patience)
            if patience.over or limit.over:
                if answer is not None and answer.status == TOO_MANY and patience.over:
                    _check(answer)
                text = f"{method} {target} over {self.path}: {why}"
                raise Unreachable(text) if patience.over else Timeout(text)
            _pause(pause, patience, limit)
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
            answer = _try(self.path, "POST", target, data, Patience(timeout))
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
        limit = Patience(math.inf if timeout is None else max(timeout, 0.0) + LATE_S)
        while True:
            with _turn(lock, limit, target):
                began = time.monotonic()
                wait = math.ceil(min(max(limit.left - LATE_S, 0.0), WAIT_MAX_S))
                asked = None if body is None else {**body(), "wait": wait}
                path = target if body is not None else f"{target}wait={wait}"
                try:
                    return self._read(target, self._call(method, path, asked, wait, limit), read)
                except NoNews:
                    pass
                except (PassAfter, NoMoreTasks):
                    if limit.left <= LATE_S:
                        raise
            if limit.left <= LATE_S:
                raise Timeout(f"{target}: no news in time")
            if time.monotonic() - began < EARLY_S:  # a scheduler that ends answers early
                _pause(EARLY_S, limit)
