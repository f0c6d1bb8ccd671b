# SPDX-License-Identifier: Apache-2.0
"""The reader of a student: its own data, with what teachers predict of them, in its own order."""
from __future__ import annotations

import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._pump import Pump
from ._teachers import Fixed, Service, in_job, read_address

Teachers = Union[Fixed, Service]
_ROUND_S = 1.0
_AHEAD_TIMES = 4  # tasks with an answer that the program has not taken, for each that keeps teachers busy
_AHEAD_BYTES = 256 << 20


def has_room(held: int, unanswered: int, least: int, room: int, is_oldest_answered: bool, held_bytes: int) -> bool:
    """For one more task; held ones are those that the program has not taken. Teachers go on while a slow one has the oldest task: what they
    answer meanwhile is kept, in bounds."""
    room = max(least, room)
    if held < least or unanswered >= room:
        return unanswered < room
    return held_bytes < _AHEAD_BYTES and (held < _AHEAD_TIMES * room or not is_oldest_answered)


class _Piece:
    """A task: some samples of one item of the program's generator."""

    def __init__(self, item: int, last: bool, fields: List[Any], columns: Dict[str, np.ndarray]) -> None:
        self.item, self.last, self.fields, self.columns = item, last, fields, columns
        self.bytes = sum(array.nbytes for array in columns.values())


def _environment(name: str) -> Optional[str]:
    return os.environ.get(name) or None


class DistillReader:
    """ins: names of the fields of a sample, in their order. predicts: names of what teachers are asked for; it comes behind the fields.

    Fields that the teacher names go to it, all where it names none."""

    def __init__(self, ins: Sequence[str], predicts: Sequence[str]) -> None:
        if isinstance(ins, str) or isinstance(predicts, str) or not ins or not predicts:
            raise ValueError("ins and predicts are lists of names")
        self._ins, self._predicts = list(ins), list(predicts)
        if len(set(self._ins)) != len(self._ins) or len(set(self._predicts)) != len(self._predicts):
            raise ValueError("a name comes twice in ins or in predicts")
        self._batch_size, self._require = 1, 1
        self._teachers: Optional[Teachers] = None
        self._dynamic: Optional[str] = None
        self._kind, self._generator = "", None  # type: Tuple[str, Optional[Callable[[], Iterable[Any]]]]
        self._conf_file: Optional[str] = None
        self._pump: Optional[Pump] = None
        self._next_task = 0
        self._runs = threading.Lock()

    # ---- what it is to do ----

    def set_teacher_batch_size(self, n: int) -> None:
        """Samples of a task."""
        if n < 1:
            raise ValueError(f"a teacher's batch of {n} samples")
        self._batch_size = int(n)

    def set_fixed_teacher(self, teachers: Union[str, Sequence[str]]) -> None:
        """HOST:PORT, a list of them, or several with commas between them."""
        names = teachers.split(",") if isinstance(teachers, str) else list(teachers)
        addresses = [read_address(name) for name in names if name.strip()]
        if not addresses:
            raise ValueError("no teacher is named: HOST:PORT")
        self._dynamic, self._teachers = None, Fixed(addresses)

    def set_dynamic_teacher(self, discovery_servers: Any, teacher_service_name: str, require_max_teacher: Optional[int] = None) -> None:
        """Teachers of a service, as they come and go: JOB or JOB.ROLE. discovery_servers: the scheduler knows the service, so they are
        not asked."""
        if not teacher_service_name:
            raise ValueError("the service of the teachers has no name")
        if require_max_teacher is not None:
            self.set_require_max_teacher(require_max_teacher)
        self._teachers, self._dynamic = None, teacher_service_name

    def set_require_max_teacher(self, n: int) -> None:
        """So many teachers one student talks to at least, if they are there; more, where a teacher would have no student."""
        if n < 1:
            raise ValueError(f"{n} teachers are required")
        self._require = int(n)

    def set_serving_conf_file(self, path: str) -> None:
        """Taken for programs that name one; teachers say themselves what they want and give."""
        self._conf_file = path

    def _set(self, kind: str, generator: Callable[[], Iterable[Any]]) -> DistillReader:
        if self._kind:
            raise ValueError(f"a generator is set already: set_{self._kind}_generator was called")
        self._kind, self._generator = kind, generator
        return self

    def set_sample_generator(self, generator: Callable[[], Iterable[Any]]) -> DistillReader:
        """generator() gives samples, each a sequence of fields. Returns this reader: train_reader = reader.set_sample_generator(train_reader)"""
        return self._set("sample", generator)

    def set_sample_list_generator(self, generator: Callable[[], Iterable[Any]]) -> DistillReader:
        """generator() gives lists of samples. Returns this reader."""
        return self._set("sample_list", generator)

    def set_batch_generator(self, generator: Callable[[], Iterable[Any]]) -> DistillReader:
        """generator() gives sequences of arrays, one for each field; their first dimension is that of the samples. Returns this reader."""
        return self._set("batch", generator)

    def _service_name(self) -> Optional[str]:
        servers = _environment("PADDLE_DISTILL_BALANCE_SERVER")
        if servers is not None and _environment("PADDLE_DISTILL_SERVICE_NAME") is None:
            raise ValueError("PADDLE_DISTILL_BALANCE_SERVER is set, and PADDLE_DISTILL_SERVICE_NAME is not: name the service")
        return (_environment("PADDLE_DISTILL_SERVICE_NAME") if servers is not None else None) or (
            self._dynamic if self._dynamic or self._teachers else _environment("EDL_TEACHER"))

    def _required(self) -> int:
        text = _environment("PADDLE_DISTILL_MAX_TEACHER")
        if text is None:
            return self._require
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"PADDLE_DISTILL_MAX_TEACHER is {text!r}: give a number from 1 on")
        return int(text)

    def _find_teachers(self) -> Teachers:
        name = self._service_name()
        if name is not None:
            if not in_job():
                raise ValueError(f"the service {name} is known in a cluster only: submit the program (edl submit), or name teachers by "
                                 "set_fixed_teacher")
            return Service(name, self._required())
        if self._teachers is None:
            raise ValueError("no teacher is named: set_fixed_teacher('HOST:PORT'), set_dynamic_teacher(...), or teacher: in the job")
        return self._teachers

    def print_config(self) -> None:
        name = self._service_name()
        print(f"ins={self._ins} predicts={self._predicts} teacher_batch_size={self._batch_size} require_max_teacher={self._required()} "
              f"teachers={name or (self._teachers.what if self._teachers else None)} generator={self._kind or None} "
              f"conf_file={_environment('PADDLE_DISTILL_CONF_FILE') or self._conf_file}")

    # ---- one epoch ----

    def _name(self) -> str:
        keys = ("EDL_JOB", "EDL_ROLE", "EDL_INDEX")
        return ".".join(os.environ[key] for key in keys) if in_job() and all(key in os.environ for key in keys) else (
            f"{socket.gethostname()}:{os.getpid()}")

    def _start(self) -> Pump:
        if self._pump is None:
            teachers = self._find_teachers()
            pump = Pump(self._ins, self._predicts, teachers.secret, self._name(), teachers.what, self._batch_size)
            pump.start()
            teachers.follow(pump, self._name())
            self._teachers, self._pump = teachers, pump
        return self._pump

    def close(self) -> None:
        """Connections to teachers end; the next epoch makes them anew."""
        if self._pump is not None:
            if self._teachers is not None:
                self._teachers.close()
            self._pump.close()
            self._pump = None

    def __call__(self) -> Iterator[Any]:
        """The generator of one epoch."""
        if self._generator is None:
            raise ValueError("no generator is set: set_sample_generator, set_sample_list_generator or set_batch_generator")
        if not self._runs.acquire(blocking=False):
            raise ValueError("an epoch of this reader is under way: finish or close its generator first")
        try:
            yield from _Epoch(self, self._start()).items()
        except GeneratorExit:
            self.close()  # what is under way belongs to no epoch any more
            raise
        except BaseException:
            self.close()
            raise
        finally:
            self._runs.release()


class _Epoch:
    """Feeds tasks from the program's generator in a thread, and gives what came back in their order."""

    def __init__(self, reader: DistillReader, pump: Pump) -> None:
        self._reader, self._pump = reader, pump
        self._ins, self._predicts = reader._ins, reader._predicts
        self._pieces: Dict[int, _Piece] = {}
        self._first = self._fed = reader._next_task
        self._taken = self._first
        self._bytes = 0  # of the fields of tasks that the program has not taken
        self._read = False  # the generator is at its end
        self._over = False
        self._error: Optional[BaseException] = None

    # ---- pieces ----

    def _columns(self, samples: Sequence[Any]) -> Dict[str, np.ndarray]:
        for sample in samples:
            if len(sample) != len(self._ins):
                raise ValueError(f"a sample has {len(sample)} fields, and ins are {', '.join(self._ins)}")
        return {name: np.stack([np.asarray(sample[i]) for sample in samples]) for i, name in enumerate(self._ins)}

    def _of_samples(self, items: Iterable[Any]) -> Iterator[_Piece]:
        held: List[Any] = []
        item = 0
        for sample in items:
            held.append(sample)
            if len(held) == self._reader._batch_size:
                yield _Piece(item, True, held, self._columns(held))
                held, item = [], item + 1
        if held:
            yield _Piece(item, True, held, self._columns(held))

    def _of_lists(self, items: Iterable[Any]) -> Iterator[_Piece]:
        size = self._reader._batch_size
        for item, samples in enumerate(items):
            samples = list(samples)
            for at in range(0, len(samples), size):
                part = samples[at : at + size]
                yield _Piece(item, at + size >= len(samples), part, self._columns(part))

    def _of_batches(self, items: Iterable[Any]) -> Iterator[_Piece]:
        size = self._reader._batch_size
        for item, fields in enumerate(items):
            arrays = [np.asarray(field) for field in fields]
            if len(arrays) != len(self._ins) or any(array.ndim == 0 or len(array) != len(arrays[0]) for array in arrays):
                raise ValueError(f"a batch has arrays of the shapes {[array.shape for array in arrays]}, and ins are {', '.join(self._ins)}")
            for at in range(0, len(arrays[0]), size):
                columns = {name: array[at : at + size] for name, array in zip(self._ins, arrays)}
                yield _Piece(item, at + size >= len(arrays[0]), list(fields), columns)

    # ---- the thread that feeds ----

    def _has_room(self) -> bool:
        pump = self._pump
        least = 2 * max(self._reader._require, pump.ready()) + 2
        return has_room(self._fed - self._taken, pump.unanswered(), least, pump.room, self._taken in pump.answers, self._bytes)

    def _feed(self) -> None:
        cut = {"sample": self._of_samples, "sample_list": self._of_lists, "batch": self._of_batches}[self._reader._kind]
        changed = self._pump.changed
        try:
            assert self._reader._generator is not None
            for piece in cut(self._reader._generator()):
                with changed:
                    changed.wait_for(lambda: self._over or self._has_room())
                    if self._over:
                        return
                    task, self._fed = self._fed, self._fed + 1
                    self._pieces[task] = piece
                    self._bytes += piece.bytes
                self._pump.put(task, piece.columns)
        except BaseException as error:
            with changed:
                self._error = error
        finally:
            with changed:
                self._read = True
                changed.notify_all()

    # ---- the program's side ----

    def _next(self) -> Optional[Tuple[_Piece, Dict[str, np.ndarray]]]:
        changed, pump = self._pump.changed, self._pump
        began_s = time.monotonic()
        with changed:
            while not (pump.error or self._taken in pump.answers or (self._read and self._taken == self._fed)):
                changed.wait(_ROUND_S)  # a signal handler of Python runs between two rounds
            pump.profile["waited_s"] += time.monotonic() - began_s
            if pump.error is not None:
                raise pump.error
            if self._taken not in pump.answers:
                if self._error is not None:
                    raise self._error
                return None
            answer, piece = pump.answers.pop(self._taken), self._pieces.pop(self._taken)
            self._taken += 1
            self._bytes -= piece.bytes
            self._reader._next_task = self._taken
            changed.notify_all()
        return piece, answer

    def items(self) -> Iterator[Any]:
        feeder = threading.Thread(target=self._feed, name="edl-distill-reader", daemon=True)
        feeder.start()
        samples: List[Any] = []
        arrays: List[Dict[str, np.ndarray]] = []
        try:
            while True:
                found = self._next()
                if found is None:
                    break
                piece, answer = found
                if self._reader._kind == "batch":
                    arrays.append(answer)
                    if piece.last:
                        yield tuple(piece.fields) + tuple(np.concatenate([part[name] for part in arrays]) for name in self._predicts)
                        arrays = []
                    continue
                whole = [tuple(sample) + tuple(answer[name][i] for name in self._predicts) for i, sample in enumerate(piece.fields)]
                if self._reader._kind == "sample":
                    yield from whole
                    continue
                samples += whole
                if piece.last:
                    yield samples
                    samples = []
        finally:
            with self._pump.changed:
                self._over = True
                self._pump.changed.notify_all()
            if _environment("DISTILL_READER_PROFILE") == "1":
                told = self._pump.profile
                print(f"edl.distill: {self._taken - self._first} tasks, the program waited {told['waited_s']:.3f} s for answers, "
                      f"{told['repeated']} tasks went to a second teacher", file=sys.stderr, flush=True)
