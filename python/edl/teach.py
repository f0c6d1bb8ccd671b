# SPDX-License-Identifier: Apache-2.0
"""Any function of Python as a teacher: what students send is batched, and goes through it.

    python3 -m edl.teach my_model:predict --port 9292 --max-batch 64

    edl.teach(predict, port=9292)

predict gets a dict of arrays of numpy, {name: array}, whose first dimension is that of the samples, and returns one: {name: array} with
as many. In a job the port is its own, and only students who know the secret of the service are let in. Outside of one it listens on
this machine alone, unless EDL_TEACHER_SECRET_FILE names a secret. SIGTERM: no more tasks are taken, those that were are answered.
"""
from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import selectors
import signal
import socket
import sys
import threading
import time
import types
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

import edl
from edl.distill import _wire
from edl.distill._grants import Grants
from edl.distill._link import Closed, Link
from edl.distill._teachers import in_job, own_secret

Predict = Callable[[Dict[str, np.ndarray]], Mapping[str, Any]]
_MOST_STUDENTS = 1024
_GREETING_S = 10.0
_TELL_S = 1.0
_PATIENCE_S = 2.0  # with a student that stands still while others wait, or at the end
_LEAVING_TIMES = 5  # that patience: then nobody is waited for


def _say(text: str) -> None:
    print(f"edl.teach: {text}", file=sys.stderr, flush=True)


def _shown(name: str) -> str:
    """As progress takes it: no control characters, and not more bytes."""
    return "".join(letter if letter.isprintable() else "?" for letter in name).encode()[:120].decode("utf-8", "ignore")


class _Student:
    def __init__(self, link: Link) -> None:
        self.link: Optional[Link] = link
        self.stage = "hello"
        self.nonce = self.own_nonce = b""
        self.name = "a student"
        self.since_s = time.monotonic()


class _Task:
    def __init__(self, student: _Student, number: int, values: Dict[str, np.ndarray]) -> None:
        self.student, self.number, self.values = student, number, values
        self.n = len(next(iter(values.values())))
        self.key = tuple((name, array.dtype.str, array.shape[1:]) for name, array in values.items())  # of one kind: one batch


class Teacher:
    """The loop of the connections is a thread; the function runs in the thread that calls serve()."""

    def __init__(self, predict: Predict, listening: socket.socket, max_batch: int, max_wait_s: float, secret: bytes, model: str,
                 feeds: Optional[List[Dict[str, Any]]], fetches: Optional[List[str]]) -> None:
        self._predict, self._max_batch, self._max_wait_s = predict, max_batch, max_wait_s
        self._secret, self._listening = secret, listening
        self._welcome = model, feeds, fetches
        self._feeds = {feed["name"]: feed for feed in feeds or []}
        self._students: List[_Student] = []
        self._grants = Grants()
        self._changed = threading.Condition()
        self._queue: Deque[_Task] = deque()
        self._done: Deque[Tuple[_Task, int, List[Any]]] = deque()
        self._stopping = self._over = False
        self._error: Optional[BaseException] = None
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake, listening):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._selector.register(listening, selectors.EVENT_READ, listening)
        self._model = model
        self.told = {"batches": 0, "samples": 0, "tasks": 0, "failed": 0, "busy_s": 0.0, "idle_s": 0.0}
        self._idle_told_s = self._leaving_since_s = 0.0
        self._told_before, self._told_at_s = dict(self.told), time.monotonic()
        self._thread = threading.Thread(target=self._run, name="edl-teach", daemon=True)

    # ---- the function ----

    def serve(self) -> None:
        """Until it is told to stop, and has answered what it was given."""
        self._thread.start()
        while True:
            batch = self._collect()
            if batch is None:
                break
            if batch:
                self._answer(batch)
            if time.monotonic() >= self._told_at_s + _TELL_S:
                self._tell()
        with self._changed:
            self._over = True
        self._ring()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Safe in a signal handler."""
        self._stopping = True
        self._ring()

    def _ring(self) -> None:
        try:
            self._wake.send(b"w")
        except (BlockingIOError, OSError):
            pass

    def _collect(self) -> Optional[List[_Task]]:
        """What waits, of one kind, up to the largest batch; nothing: none came in time to tell of it; None: it is over."""
        began_s = time.monotonic()
        with self._changed:
            at_once = bool(self._queue)  # they came while the last batch was computed: to wait for more would be idle
            until_s = self._told_at_s + _TELL_S
            while not self._queue and not self._error and not (self._stopping and self._all_answered()):
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    if self.told["batches"]:
                        self.told["idle_s"] += time.monotonic() - began_s
                    return []
                self._changed.wait(left_s)
            if self._error is not None or not self._queue:
                return None
            first = self._queue[0]
            until_s = time.monotonic() + (0 if at_once else self._max_wait_s)
            while self._samples_of(first.key) < self._max_batch and not self._error:
                left_s = until_s - time.monotonic()
                if left_s <= 0 or not (self._grants.granted() or self._grants.waiting() and self._grants.free()):
                    break
                self._changed.wait(left_s)
            batch, n = [], 0
            for task in [task for task in self._queue if task.key == first.key]:
                if batch and n + task.n > self._max_batch:
                    break
                batch.append(task)
                n += task.n
            for task in batch:
                self._queue.remove(task)
        if self.told["batches"]:
            self.told["idle_s"] += time.monotonic() - began_s
        return batch

    def _samples_of(self, key: Any) -> int:
        return sum(task.n for task in self._queue if task.key == key)

    def _all_answered(self) -> bool:
        return self._grants.leaving and self._grants.taken() == 0

    def _answer(self, batch: List[_Task]) -> None:
        began_s = time.monotonic()
        n = sum(task.n for task in batch)
        try:
            values = {name: np.concatenate([task.values[name] for task in batch]) if len(batch) > 1 else batch[0].values[name]
                      for name in batch[0].values}
            found = {name: np.asarray(array) for name, array in self._predict(values).items()}
            for name, array in found.items():
                if array.ndim == 0 or len(array) != n:
                    raise ValueError(f"the function gives {name} of the shape {array.shape}, and was given {n} samples")
            at = 0
            for task in batch:
                own = {name: np.ascontiguousarray(array[at : at + task.n]) for name, array in found.items()}
                at += task.n
                why = self._not_a_number(own)
                if why:
                    self._fail([task], why)
                else:
                    self._done.append((task, _wire.RESULT, _wire.tensors(own)))
        except Exception as error:  # of the function: its student is told, and asks others
            _say(f"the function failed: {type(error).__name__}: {error}")
            self._fail(batch, f"{type(error).__name__}: {error}")
        self.told["busy_s"] += time.monotonic() - began_s
        self.told["batches"] += 1
        self.told["samples"] += n
        self.told["tasks"] += len(batch)
        if in_job():
            edl.step(n, compute=time.monotonic() - began_s, wait=self.told["idle_s"] - self._idle_told_s)
            self._idle_told_s = self.told["idle_s"]
        self._ring()

    def _fail(self, tasks: List[_Task], why: str) -> None:
        self.told["failed"] += len(tasks)
        for task in tasks:
            self._done.append((task, _wire.FAILED, [why.encode()[:300]]))

    def _not_a_number(self, values: Mapping[str, np.ndarray]) -> str:
        for name, array in values.items():
            if array.dtype.kind == "f" and np.isnan(array).any():
                return f"{name} of the model {self._model} is NaN, of sample {int(np.argwhere(np.isnan(array))[0][0])}"
        return ""

    def _tell(self) -> None:
        """By the names that edl-teacher(1) has."""
        now_s, before = time.monotonic(), self._told_before
        period_s = max(now_s - self._told_at_s, 1e-9)
        new = {name: value - before[name] for name, value in self.told.items()}
        self._told_before, self._told_at_s = dict(self.told), now_s
        if not in_job():
            return
        with self._changed:
            queue, students = len(self._queue) + self._grants.waiting(), sum(student.stage == "ready" for student in self._students)
        edl.progress(queue_tasks=queue, busy_share=round(min(1.0, new["busy_s"] / period_s), 4),
                     batch_mean=round(new["samples"] / new["batches"], 1) if new["batches"] else 0.0,
                     tasks_per_s=round(new["tasks"] / period_s, 2), samples_per_s=round(new["samples"] / period_s, 2), students=students,
                     tasks=self.told["tasks"], batches=self.told["batches"], samples=self.told["samples"], failed=self.told["failed"],
                     model=_shown(self._model), leaving=self._grants.leaving)

    # ---- the connections ----

    def _run(self) -> None:
        try:
            while not self._over or any(student.link and student.link.wants_write for student in self._students):
                self._turn()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
        finally:
            for student in self._students:
                if student.link is not None:
                    student.link.close()
            self._selector.close()
            self._listening.close()

    def _turn(self) -> None:
        self._begin_to_leave()
        self._send_answers()
        self._give()
        for key, _events in self._selector.select(self._patient_for_s()):
            if key.data is None:
                try:
                    while self._woken.recv(4096):
                        pass
                except (BlockingIOError, InterruptedError):
                    pass
            elif key.data is self._listening:
                self._accept()
            else:
                self._serve_student(key.data)
        for student in list(self._students):
            due_s, why = self._due_s(student)
            if time.monotonic() >= due_s:
                self._drop(student, why)

    def _due_s(self, student: _Student) -> Tuple[float, str]:
        """When it has taken too long. One that keeps credit and sends nothing stands still: others give back what they have no task for."""
        if student.link is None or student.stage != "ready":
            return student.since_s + _GREETING_S, "it does not greet"
        moved_s, leaving = student.link.moved_s, self._grants.leaving
        if leaving:
            moved_s = min(max(moved_s, self._leaving_since_s), self._leaving_since_s + _LEAVING_TIMES * _PATIENCE_S)
        with self._changed:
            keeps = self._grants.credit(student) > 0 and (leaving or not self._grants.free() and self._grants.waiting() > 0)
        if keeps:
            return moved_s + _PATIENCE_S, "it has credit and sends no task"
        if leaving and student.link.wants_write:
            return moved_s + _PATIENCE_S, "it does not read its answers"
        return math.inf, ""

    def _patient_for_s(self) -> Optional[float]:
        due_s = min((self._due_s(student)[0] for student in self._students), default=math.inf)
        return None if due_s == math.inf else max(0.0, due_s - time.monotonic())

    def _begin_to_leave(self) -> None:
        if not self._stopping or self._grants.leaving:
            return
        self._leaving_since_s = time.monotonic()
        with self._changed:
            self._grants.leaving = True
            self._changed.notify_all()
        for student in self._students:
            if student.stage == "ready" and student.link is not None:
                student.link.put(_wire.LEAVING)
                self._send(student)

    def _accept(self) -> None:
        try:
            connected, _address = self._listening.accept()
        except OSError:
            return
        if len(self._students) >= _MOST_STUDENTS or self._stopping:
            connected.close()
            return
        student = _Student(Link(connected))
        self._students.append(student)
        self._selector.register(connected, selectors.EVENT_READ, student)

    def _drop(self, student: _Student, why: str) -> None:
        if student.link is None:
            return
        if why:
            _say(f"{student.name}: {why}")
        self._selector.unregister(student.link.socket)
        student.link.close()
        student.link = None
        self._students.remove(student)
        with self._changed:
            self._grants.went(student)
            for task in [task for task in self._queue if task.student is student]:
                self._queue.remove(task)
            self._changed.notify_all()

    def _refuse(self, student: _Student, why: str) -> None:
        if student.link is not None:
            student.link.put(_wire.REFUSED, why.encode()[:300])
            try:
                student.link.send()
            except Closed:
                pass
        self._drop(student, why)

    def _serve_student(self, student: _Student) -> None:
        if student.link is None:
            return
        try:
            student.link.receive()
            for kind, body in student.link.frames(_wire.BODY_MAX if student.stage == "ready" else _wire.CONTROL_MAX):
                self._take(student, kind, body)
        except Closed as error:
            self._drop(student, "" if student.stage == "ready" else str(error))
            return
        except (_wire.BadFrame, _wire.BadProof) as error:
            self._refuse(student, str(error))
            return
        self._send(student)

    def _send(self, student: _Student) -> None:
        if student.link is None:
            return
        try:
            student.link.send()
        except Closed as error:
            self._drop(student, str(error))
            return
        with self._changed:
            self._grants.blocked(student, student.link.wants_write)
        writes = selectors.EVENT_WRITE if student.link.wants_write else 0
        self._selector.modify(student.link.socket, selectors.EVENT_READ | writes, student)

    def _take(self, student: _Student, kind: int, body: memoryview) -> None:
        assert student.link is not None
        if student.stage == "hello" and kind == _wire.HELLO:
            student.nonce, student.name = _wire.read_hello(bytes(body))
            student.own_nonce = os.urandom(_wire.NONCE_BYTES)
            student.link.put(_wire.CHALLENGE, student.own_nonce + _wire.proof(self._secret, "teacher", student.nonce, student.own_nonce))
            student.stage = "proof"
        elif student.stage == "proof" and kind == _wire.PROOF:
            _wire.check_proof(self._secret, "student", student.nonce, student.own_nonce, bytes(body))
            with self._changed:
                free = 0 if self._grants.taken() or self._grants.leaving else self._grants.free()
                self._grants.came(student)
            student.link.put(_wire.WELCOME, _wire.welcome(*self._welcome, batch=self._max_batch, free=free))
            student.stage = "ready"
        elif student.stage == "ready" and kind in (_wire.OFFER, _wire.RETURN, _wire.TASK):
            with self._changed:
                self._take_ready(student, kind, body)
                self._changed.notify_all()
        else:
            raise _wire.BadFrame(f"{_wire.NAMES[kind]} comes at the wrong time")

    def _take_ready(self, student: _Student, kind: int, body: memoryview) -> None:
        if kind == _wire.OFFER:
            self._grants.offered(student, _wire.read_count(bytes(body)))
            return
        if kind == _wire.RETURN:
            self._grants.returned(student, _wire.read_count(bytes(body)))
            return
        number = _wire.read_id(body)
        self._grants.took(student)
        why, values = self._fits(body)
        if why:
            assert student.link is not None
            self._grants.answered(student)
            student.link.put(_wire.FAILED, number.to_bytes(8, "little"), why.encode()[:300])
            return
        task = _Task(student, number, values)
        self._queue.append(task)
        self._grants.sized(task.n, self._max_batch)

    def _fits(self, body: memoryview) -> Tuple[str, Dict[str, np.ndarray]]:
        values = _wire.read_tensors(body[8:])
        lengths = {array.shape[:1] for array in values.values()}
        if not values or len(lengths) != 1 or () in lengths or (0,) in lengths:
            return f"the fields have the shapes {({name: array.shape for name, array in values.items()})}: no number of samples", values
        for name, feed in self._feeds.items():
            if name not in values:
                return f"this teacher wants {name}, and was sent {', '.join(values)}", values
            shape, kind = feed.get("shape"), feed.get("type")
            given = values[name].shape[1:]
            if shape is not None and (len(shape) != len(given) or any(want is not None and want != n for want, n in zip(shape, given))):
                return f"{name} has the shape {given} for each sample, and this teacher wants {tuple(shape)}", values
            if kind is not None and kind != values[name].dtype.name:
                return f"{name} has the type {values[name].dtype.name}, and this teacher wants {kind}", values
        return "", values

    def _send_answers(self) -> None:
        while self._done:
            task, kind, parts = self._done.popleft()
            with self._changed:
                self._grants.answered(task.student)
                self._changed.notify_all()
            if task.student.link is not None:
                task.student.link.put(kind, task.number.to_bytes(8, "little"), *parts)
                self._send(task.student)

    def _give(self) -> None:
        with self._changed:
            given = self._grants.give()
        for student, n in given:
            if student.link is not None:  # type: ignore[attr-defined]
                student.link.put(_wire.CREDIT, n.to_bytes(4, "little"))  # type: ignore[attr-defined]
                self._send(student)  # type: ignore[arg-type]


# ---- starting one ----


def _listen(host: Optional[str], port: Optional[int], secret: bytes) -> socket.socket:
    if in_job() and port is None:
        me = edl.Client().me
        if not me.ports:
            raise SystemExit("edl.teach: the role of this process has no ports: ports: 1 in its job")
        host, port = host or me.address, me.ports[0]
    host = host or ("" if secret else "127.0.0.1")
    if not secret and host not in ("127.0.0.1", "localhost", "::1"):
        raise SystemExit(f"edl.teach: anybody could ask a teacher at {host}: name a secret by EDL_TEACHER_SECRET_FILE (openssl rand -hex 32)")
    listening = socket.create_server((host, 9292 if port is None else port), family=socket.AF_INET6 if ":" in host else socket.AF_INET,
                                     backlog=128)
    return listening


def serve(predict: Predict, *, port: Optional[int] = None, host: Optional[str] = None, max_batch: int = 64, max_wait_ms: float = 2.0,
          feeds: Optional[List[Dict[str, Any]]] = None, fetches: Optional[Sequence[str]] = None, model: str = "") -> None:
    """Teaches until SIGTERM. feeds: [{"name", "type", "shape"}] that the function wants, without the dimension of the samples (None in a
    shape: any); none given: whatever students send. fetches: what it gives. A batch has max_batch samples at most, and nobody waits
    longer than max_wait_ms for others to fill it."""
    secret = own_secret()
    listening = _listen(host, port, secret)
    teacher = Teacher(predict, listening, max_batch, max_wait_ms / 1000, secret, model or getattr(predict, "__name__", "a function"),
                      feeds or getattr(predict, "feeds", None), list(fetches) if fetches else getattr(predict, "fetches", None))
    address = listening.getsockname()
    _say(f"listening on {address[0]}:{address[1]}, batches of at most {max_batch} samples")
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: teacher.stop())
    teacher.serve()
    _say(f"left: {json.dumps(teacher.told)}")


class _Callable(types.ModuleType):
    def __call__(self, predict: Predict, **options: Any) -> None:
        """edl.teach(predict, ...): as edl.teach.serve"""
        serve(predict, **options)


sys.modules[__name__].__class__ = _Callable


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m edl.teach", description="Serves a function of Python as a teacher.")
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="as my_model:predict; it gets and gives {name: array}")
    parser.add_argument("--port", type=int, help="default: the first port of this process of a job, else 9292")
    parser.add_argument("--host", help="default: the address of this process of a job; 127.0.0.1 without a secret")
    parser.add_argument("--max-batch", type=int, default=64, metavar="SAMPLES", help="(64)")
    parser.add_argument("--max-wait-ms", type=float, default=2.0, help="for a batch to get full (2)")
    given = parser.parse_args(arguments)
    module, separator, name = given.function.partition(":")
    if not separator:
        parser.error(f"{given.function!r} is no MODULE:FUNCTION, as my_model:predict")
    if given.max_batch < 1 or not 0 <= given.max_wait_ms <= 10000:
        parser.error("--max-batch is 1 or more, --max-wait-ms 0 to 10000")
    sys.path.insert(0, os.getcwd())
    try:
        predict = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        parser.error(f"{error}; the folder is {os.getcwd()}")
    except AttributeError:
        parser.error(f"{module} has no {name}")
    serve(predict, port=given.port, host=given.host, max_batch=given.max_batch, max_wait_ms=given.max_wait_ms, model=given.function)
    return 0


if __name__ == "__main__":
    sys.exit(main())
