# SPDX-License-Identifier: Apache-2.0
"""A student's thread: connections to its teachers, tasks out, answers in."""
from __future__ import annotations

import os
import selectors
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np

import edl

from . import _wire
from ._dispatch import Dispatch
from ._link import Closed, Link
from ._links import Links

Address = Tuple[str, int]
_AGAIN_FIRST_S, _AGAIN_MOST_S = 0.1, 3.0
_GREETING_S = 10.0
_NONE_S = 1.0  # without a teacher, before it is said


def _say(text: str) -> None:
    print(f"edl.distill: {text}", file=sys.stderr, flush=True)


class _Teacher:
    """A teacher that was named; connected, or to be tried at a time."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = f"{address[0]}:{address[1]}"
        self.link: Optional[Link] = None
        self.stage = ""  # connecting, challenge, welcome, ready
        self.nonce = b""
        self.since_s = self.again_at_s = 0.0
        self.pause_s = _AGAIN_FIRST_S
        self.feeds: List[str] = []
        self.offered = 0
        self.closes = False
        self.unfit = ""
        self.said = ""


class Pump:
    """ins: what tasks have; predicts: what answers must have. secret: called for the first connection, and where a teacher knows another
    one. on_change: called with the lock held whenever there is an answer or an error."""

    def __init__(self, ins: Sequence[str], predicts: Sequence[str], secret: Callable[[], bytes], name: str, what: str,
                 task_samples: int = 1) -> None:
        self._task_samples = task_samples
        self.ins, self.predicts = list(ins), list(predicts)
        self._secret, self._name, self._what = secret, name, what
        self._known_secret: Optional[bytes] = None
        self.changed = threading.Condition()
        self.answers: Dict[int, Dict[str, np.ndarray]] = {}
        self.error: Optional[BaseException] = None
        self.profile = {"tasks": 0, "answers": 0, "repeated": 0, "waited_s": 0.0}
        self._tasks: Dict[int, Mapping[str, Any]] = {}
        self._new: List[int] = []
        self._named: Optional[Tuple[List[Address], List[Address], int]] = None
        self._links: Links[Address] = Links()
        self.room = 0  # tasks without an answer that keep all teachers busy
        self._teachers: Dict[Address, _Teacher] = {}
        self._dispatch = Dispatch()
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._over = False
        self._told_none, self._none_since_s = False, time.monotonic()
        self._thread = threading.Thread(target=self._run, name="edl-distill", daemon=True)

    # ---- for other threads ----

    def start(self) -> None:
        self._thread.start()

    def _ring(self) -> None:
        try:
            self._wake.send(b"w")
        except (BlockingIOError, OSError):
            pass

    def put(self, task: int, values: Mapping[str, Any]) -> None:
        with self.changed:
            self._tasks[task] = values
            self._new.append(task)
        self._ring()

    def name_teachers(self, own: Sequence[Address], others: Sequence[Address] = (), most: int = 0) -> None:
        """These and no others, from now on: connections to its own ones, and to others as _links.py has it."""
        with self.changed:
            self._named = list(own), list(others), most
        self._ring()

    def unanswered(self) -> int:
        return len(self._tasks)

    def fail(self, error: BaseException) -> None:
        """Whoever waits for an answer gets that error."""
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def ready(self) -> int:
        return sum(teacher.stage == "ready" for teacher in list(self._teachers.values()))

    def close(self) -> None:
        with self.changed:
            self._over = True
        self._ring()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    # ---- the loop ----

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except BaseException as error:  # whoever waits for answers is told
            self.fail(error)
        finally:
            for teacher in self._teachers.values():
                if teacher.link is not None:
                    teacher.link.close()
            self._selector.close()
            self._woken.close()
            self._wake.close()

    def _turn(self) -> bool:
        now_s = time.monotonic()
        with self.changed:
            if self._over:
                return False
            named, self._named = self._named, None
            new, self._new = self._new, []
        if named is not None:
            self._links.named(*named)
            for address in set(self._teachers) - {*named[0], *named[1]}:
                self._forget(self._teachers[address])
        for task in new:
            self.profile["tasks"] += 1
            self._dispatch.add(task)
        self._links.turn(self._dispatch.starves(), now_s)
        self._follow(set(self._links.held()))
        self._tend(now_s)
        self._hand_out(now_s)
        for key, _events in self._selector.select(self._timeout_s(time.monotonic())):
            if key.data is None:
                self._drain()
            else:
                self._serve(key.data)
        return True

    def _drain(self) -> None:
        try:
            while self._woken.recv(4096):
                pass
        except (BlockingIOError, InterruptedError):
            pass

    def _timeout_s(self, now_s: float) -> Optional[float]:
        times = [teacher.again_at_s for teacher in self._teachers.values() if teacher.link is None and not teacher.unfit]
        times += [teacher.since_s + _GREETING_S for teacher in self._teachers.values() if teacher.link and teacher.stage != "ready"]
        if self._dispatch and not self.ready() and not self._told_none:
            times.append(self._none_since_s + _NONE_S)
        times += [at_s for at_s in (self._dispatch.next_s(now_s), self._links.next_s()) if at_s is not None]
        return max(0.0, min(times) - now_s) if times else None

    def _follow(self, held: Set[Address]) -> None:
        for teacher in list(self._teachers.values()):
            if teacher.address not in held and teacher.stage == "ready" and not teacher.closes:
                teacher.closes = True  # also if it is wanted again meanwhile: then by another connection
                self._dispatch.teacher_closes(teacher.address)
            if self._dispatch.is_done(teacher.address) if teacher.closes else teacher.address not in held:
                self._forget(teacher)
        for address in held - set(self._teachers):
            self._teachers[address] = _Teacher(address)

    def _forget(self, teacher: _Teacher) -> None:
        self._drop(teacher, "")
        del self._teachers[teacher.address]

    # ---- connections ----

    def _tend(self, now_s: float) -> None:
        for teacher in self._teachers.values():
            if teacher.link is not None and teacher.stage != "ready" and now_s >= teacher.since_s + _GREETING_S:
                self._drop(teacher, "it does not greet")
            if teacher.link is None and not teacher.unfit and now_s >= teacher.again_at_s:
                self._connect(teacher, now_s)
        unfit = [teacher for teacher in self._teachers.values() if teacher.unfit]
        if unfit and len(unfit) == len(self._teachers):
            raise _wire.Refused("; ".join(teacher.unfit for teacher in unfit))
        if self.ready() or not self._dispatch:
            self._none_since_s = now_s
        if self._told_none and self.ready():
            _say(f"a teacher of {self._what} is there again")
            self._told_none = False
        elif not self._told_none and now_s - self._none_since_s >= _NONE_S:
            _say(f"no teacher of {self._what} is there: waiting for one")
            self._told_none = True

    def _connect(self, teacher: _Teacher, now_s: float) -> None:
        try:
            family, kind, number, _name, address = socket.getaddrinfo(*teacher.address, type=socket.SOCK_STREAM)[0]
            connecting = socket.socket(family, kind, number)
        except OSError as error:
            self._again(teacher, now_s, str(error))
            return
        teacher.link, teacher.stage, teacher.since_s = Link(connecting), "connecting", now_s
        teacher.nonce = os.urandom(_wire.NONCE_BYTES)
        teacher.link.put(_wire.HELLO, _wire.hello(teacher.nonce, self._name))
        connecting.connect_ex(address)
        self._selector.register(connecting, selectors.EVENT_READ | selectors.EVENT_WRITE, teacher)

    def _again(self, teacher: _Teacher, now_s: float, why: str) -> None:
        teacher.again_at_s = now_s + teacher.pause_s
        teacher.pause_s = min(2 * teacher.pause_s, _AGAIN_MOST_S)
        if why and why != teacher.said:
            teacher.said = why
            _say(f"teacher {teacher.name}: {why}; trying again")

    def _drop(self, teacher: _Teacher, why: str) -> None:
        if teacher.link is None:
            return
        if teacher.stage == "ready":
            self._dispatch.teacher_went(teacher.address)
        self._selector.unregister(teacher.link.socket)
        teacher.link.close()
        teacher.link, teacher.stage, teacher.offered, teacher.closes = None, "", 0, False
        self._again(teacher, time.monotonic(), why)

    def _serve(self, teacher: _Teacher) -> None:
        link = teacher.link
        if link is None:
            return
        try:
            if teacher.stage == "connecting":
                failure = link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if failure:
                    raise Closed(os.strerror(failure))
            link.send()
            if teacher.stage == "connecting":
                teacher.stage = "challenge"
            link.receive()
            for kind, body in link.frames(_wire.BODY_MAX if teacher.stage == "ready" else _wire.CONTROL_MAX):
                self._take(teacher, kind, body)
        except (Closed, _wire.BadFrame, _wire.BadProof) as error:
            self._drop(teacher, str(error))
            return
        self._watch(teacher)

    def _watch(self, teacher: _Teacher) -> None:
        if teacher.link is not None:
            writes = selectors.EVENT_WRITE if teacher.link.wants_write or teacher.stage == "connecting" else 0
            self._selector.modify(teacher.link.socket, selectors.EVENT_READ | writes, teacher)

    # ---- frames ----

    def _take(self, teacher: _Teacher, kind: int, body: memoryview) -> None:
        assert teacher.link is not None
        if kind == _wire.REFUSED:
            raise _wire.BadProof(f"it refuses: {bytes(body[:300]).decode('utf-8', 'replace')}")
        if teacher.stage == "challenge" and kind == _wire.CHALLENGE:
            self._prove(teacher, bytes(body))
        elif teacher.stage == "welcome" and kind == _wire.WELCOME:
            self._meet(teacher, _wire.read_welcome(bytes(body)))
        elif teacher.stage == "ready" and kind == _wire.CREDIT:
            n = _wire.read_count(bytes(body))
            self._dispatch.credit(teacher.address, n)
            teacher.offered = max(0, teacher.offered - n)
        elif teacher.stage == "ready" and kind == _wire.RESULT:
            self._result(teacher, body)
        elif teacher.stage == "ready" and kind == _wire.FAILED:
            self._failed(teacher, _wire.read_id(body), bytes(body[8:308]).decode("utf-8", "replace"))
        elif kind != _wire.LEAVING:
            raise _wire.BadFrame(f"{_wire.NAMES[kind]} comes at the wrong time")

    def _prove(self, teacher: _Teacher, body: bytes) -> None:
        assert teacher.link is not None
        if len(body) != _wire.NONCE_BYTES + _wire.PROOF_BYTES:
            raise _wire.BadFrame("CHALLENGE of another length")
        nonce, said, was = body[: _wire.NONCE_BYTES], body[_wire.NONCE_BYTES :], self._known_secret
        if was is None or not _wire.proves(was, "teacher", teacher.nonce, nonce, said):
            self._known_secret = None
            self._known_secret = self._ask_secret()  # nothing else goes on meanwhile, so not for each connection
            _wire.check_proof(self._known_secret, "teacher", teacher.nonce, nonce, said)
        teacher.link.put(_wire.PROOF, _wire.proof(self._known_secret, "student", teacher.nonce, nonce))
        teacher.stage = "welcome"

    def _ask_secret(self) -> bytes:
        try:
            return self._secret()
        except edl.NotFound as error:  # the service is over: another one may come
            raise Closed(str(error)) from None

    def _meet(self, teacher: _Teacher, welcome: Mapping[str, Any]) -> None:
        feeds = [feed["name"] for feed in welcome["feeds"]]
        missing = [name for name in feeds if name not in self.ins]
        lacks = [name for name in self.predicts if welcome["fetches"] and name not in welcome["fetches"]]
        if missing:
            teacher.unfit = (f"teacher {teacher.name} ({welcome['model']}) wants {', '.join(missing)}, and ins of this reader are "
                             f"{', '.join(self.ins)}")
        elif lacks:
            teacher.unfit = (f"teacher {teacher.name} ({welcome['model']}) has no {', '.join(lacks)}; it predicts "
                             f"{', '.join(welcome['fetches'])}")
        if teacher.unfit:
            _say(teacher.unfit)
            raise Closed("")
        teacher.feeds = feeds
        teacher.stage, teacher.pause_s, teacher.said = "ready", _AGAIN_FIRST_S, ""
        self._dispatch.teacher_came(teacher.address, -(-welcome["batch"] // self._task_samples))
        self._links.met(teacher.address, welcome["free"] > 0, time.monotonic())

    def _result(self, teacher: _Teacher, body: memoryview) -> None:
        task = _wire.read_id(body)
        found = _wire.read_tensors(body[8:])
        with self.changed:
            values = self._tasks.get(task)
        if values is not None:
            why = self._wrong(values, found)
            if why:
                self._failed(teacher, task, why)
                return
        if self._dispatch.answered(teacher.address, task, time.monotonic()):
            with self.changed:
                del self._tasks[task]
                self.answers[task] = {name: found[name] for name in self.predicts}
                self.profile["answers"] += 1
                self.changed.notify_all()

    def _wrong(self, values: Mapping[str, Any], found: Mapping[str, np.ndarray]) -> str:
        n = len(next(iter(values.values())))
        for name in self.predicts:
            if name not in found:
                return f"the answer has no {name}; it has {', '.join(found) or 'nothing'}"
            if found[name].ndim == 0 or len(found[name]) != n:
                return f"{name} has the shape {found[name].shape}, and {n} samples were asked about"
            if found[name].dtype.kind == "f" and np.isnan(found[name]).any():
                return f"{name} has a value that is no number"
        return ""

    def _failed(self, teacher: _Teacher, task: int, why: str) -> None:
        self._dispatch.failed(teacher.address, task, f"teacher {teacher.name}: {why}")

    # ---- tasks ----

    def _hand_out(self, now_s: float) -> None:
        for address, task in self._dispatch.sends(now_s):
            teacher = self._teachers[address]  # type: ignore[index]
            with self.changed:
                values = self._tasks[task]
            sent = {name: values[name] for name in teacher.feeds} if teacher.feeds else values
            assert teacher.link is not None
            teacher.link.put(_wire.TASK, task.to_bytes(8, "little"), *_wire.tensors(sent))
        self.profile["repeated"] = self._dispatch.repeated
        room = self._dispatch.room()
        if room != self.room:
            with self.changed:
                self.room = room
                self.changed.notify_all()  # there may be room for more tasks
        for address, n in self._dispatch.spare():
            self._teachers[address].link.put(_wire.RETURN, n.to_bytes(4, "little"))  # type: ignore[index, union-attr]
        offers = self._dispatch.offers(now_s)
        for teacher in list(self._teachers.values()):
            if teacher.link is None:
                continue
            offered = offers.get(teacher.address, 0)
            if teacher.stage == "ready" and offered != teacher.offered:
                teacher.offered = offered
                teacher.link.put(_wire.OFFER, offered.to_bytes(4, "little"))
            if teacher.stage != "connecting":
                try:
                    teacher.link.send()
                except Closed as error:
                    self._drop(teacher, str(error))
                    continue
                self._watch(teacher)
