# SPDX-License-Identifier: Apache-2.0
"""records, cloud_reader and epochs: the data of a program, in a job as it is dealt out, alone from its files."""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, Iterator, Optional

from . import _files, _left_loop, _one_reader, _workers
from ._call import Error
from ._client import Client, Task
from ._feed import AnyTask, Decode, Feed, LocalSource
from ._files import LOG, Paths
from ._whole import TrainStatus
from ._workers import Turn

NO_DATA = -(1 << 62)  # less than any pass
TASKS_OF_WORKER = 16  # so many share the work well
PASSES_MOST = 1000000  # the scheduler takes no more


def in_job() -> bool:
    """Whether an agent has started this process."""
    return bool(os.environ.get("EDL_SOCKET"))


class CloudReader:
    """The records of one pass, each time that it is iterated over or called."""

    def __init__(self, begin: Callable[[Turn], Iterator[Any]]) -> None:
        turn = Turn()
        self._begin = lambda: begin(turn)

    def __iter__(self) -> Iterator[Any]:
        return self._begin()

    def __call__(self) -> Iterator[Any]:
        return self._begin()


class Data:
    """The data set of this process's job; a job has one."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._put: Optional[str] = None  # paths and kind for which it was put
        self._feed: Optional[Feed] = None
        self._closed: Optional[Feed] = None  # the last one
        self._reader = _files.Reader()
        self._first: Optional[Task] = None  # taken to look at its pass
        self._left: Optional[AnyTask] = None  # under way when an exception left the loop
        self._raised: Optional[_left_loop.Raised] = None  # that exception
        self._thread = 0  # of the loop
        self._finished = False
        self._passes: Optional[int] = None  # that this program makes; None: as the job says

    # ---- the data set of the job ----

    def _put_dataset(self, paths: Paths, kind: Optional[str]) -> None:
        """By the first process that comes; the others need not look at the files."""
        _files.check_kind(kind)
        name = repr((_files._patterns(paths), kind))
        if self._put is not None:
            if self._put != name:
                raise Error("the data set of this job was named already, with other paths or of another kind",
                            "read what is not dealt out to the job with local=True")
            return
        client = self._client()
        if not client.dataset_exists():
            found = _files.index(paths, kind)
            _files.check_names(found)
            if not client.put_dataset(found.digest, found.tasks, self._passes):
                LOG.warning("another process of the job has given another data set, which is in force")
                client.dataset_exists()  # for its passes
        self._tell_of_passes(client.passes)
        self._reader = _files.Reader(kind)
        self._put = name

    def _tell_of_passes(self, of_job: Optional[int]) -> None:
        if of_job is None:  # of an older scheduler
            said = os.environ.get("EDL_PASSES", "")
            of_job = int(said) if said.isdigit() else None
        if None not in (self._passes, of_job) and self._passes != of_job:
            LOG.warning("the job makes %d pass%s over its data, and this program asks for %d: submit with --passes %d",
                        of_job, "" if of_job == 1 else "es", self._passes, self._passes)

    def _begin_feed(self) -> Feed:
        self._program_goes_on()
        if self._feed is None:
            _one_reader.claim()
            _left_loop.watch(self)
            self._thread = threading.get_ident()
            first, self._first = self._first, None
            self._feed = Feed(self._client(), self._reader, first)
        if self._feed.pid != os.getpid():
            raise Error("the records of this job are dealt out to the process that this one was forked from",
                        "read them there, and hand them to its children")
        if self._feed.busy:
            raise Error("another loop of this process is reading the records of this job",
                        "end it first: a break does, and so does close() of its iterator")
        return self._feed

    def _end_feed(self, give_back: bool) -> None:
        feed, self._feed = self._feed, None
        if feed is not None:
            self._closed = feed
            feed.close(give_back)

    # ---- a loop that an exception left ----

    def _judge(self, error: Optional[BaseException]) -> None:
        """What was under way fails: given back, it would end every process that takes it. It is given back when somebody
        ends the program (KeyboardInterrupt). None: the program has caught it, and nobody saw what it was."""
        task, self._left = self._left, None
        found, self._raised = self._raised, None
        if task is None:
            return
        what = "an exception" if error is None else f"{type(error).__name__}: {error}"
        where = f" at {found.where}" if found is not None else ""
        try:
            if error is None or isinstance(error, Exception):
                task.failed(f"{what}{where} in the body of the loop")
                if self._closed is not None and not sys.is_finalizing():
                    self._closed.settle()
            else:
                task.give_back(type(error).__name__)
        except Error as other:  # what the body raised is what the program has to hear of
            LOG.warning("a task of a loop that an exception left is still held: %s", other)

    def _loop_is_left(self) -> None:
        """Other processes take what it had. By an exception: but for what was under way."""
        found = _left_loop.raised()
        if found is not None and self._feed is not None and not sys.is_finalizing():
            self._left, self._raised = self._feed.take_current(), found
        self._end_feed(True)
        if found is not None and isinstance(found.error, Exception):
            self._judge(found.error)

    def _program_goes_on(self) -> None:
        if self._raised is not None:
            self._judge(self._raised.error)

    def ended_by(self, error: BaseException) -> None:
        """Of a program that exits otherwise, with SystemExit say, the scheduler judges by the status."""
        if self._thread != threading.get_ident():
            return
        if self._feed is not None and self._left is None and self._feed.pid == os.getpid():
            self._left = self._feed.take_current()  # the loop is open, as a variable has it
        self._judge(error)

    def pass_of_job(self) -> Optional[int]:
        """In which the job is; None: all are done; NO_DATA: no process has given any yet."""
        self._program_goes_on()
        if self._finished:
            return None
        task: Any = self._first
        if self._feed is not None:
            task = self._feed.ahead()
        elif task is None:
            if not self._client().dataset_exists():
                return NO_DATA
            _one_reader.claim()
            task = self._first = self._client().next_task()
        self._finished = task is None
        return None if task is None else int(task.pass_number)

    # ---- records ----

    def _pass_of_job(self, paths: Paths, kind: Optional[str], decode: Optional[Decode]) -> Iterator[Any]:
        with self._lock:
            self._put_dataset(paths, kind)
            feed = self._begin_feed()
        try:
            task = feed.ahead()
            begun = None if task is None else task.pass_number
            while task is not None and task.pass_number == begun:
                yield from feed.consume(decode)
                task = feed.ahead()
        except GeneratorExit:
            self._loop_is_left()
            raise
        except BaseException as error:  # of decode, which has failed its task; or of a call
            self._end_feed(not isinstance(error, Error))
            raise
        self._finished = task is None

    @staticmethod
    def _pass_alone(paths: Paths, kind: Optional[str], decode: Optional[Decode], turn: Turn) -> Iterator[Any]:
        """Workers share whole tasks. Where there are few they share records, of which each decodes its own."""
        worker, n = _workers.part()
        tasks = _files.index(paths, kind).tasks
        by_record = 1 < n and len(tasks) < n * TASKS_OF_WORKER
        feed = Feed(LocalSource(tasks if by_record else tasks[worker::n]), _files.Reader(kind))
        seen = 0
        try:
            with turn.taken():
                while feed.ahead() is not None:
                    if not by_record:
                        yield from feed.consume(decode)
                        continue
                    for record in feed.consume():
                        if seen % n == worker:
                            yield record if decode is None else decode(record)
                        seen += 1
        finally:
            feed.close(False)

    def one_pass(self, paths: Optional[Paths], kind: Optional[str], decode: Optional[Decode], local: bool,
                 turn: Optional[Turn] = None) -> Iterator[Any]:
        """The records of the pass that the job is in; alone: of all files, or this worker's part of them. turn: of the reader."""
        named = os.environ.get("EDL_DATASET", "") if paths is None else paths
        if in_job() and not local:
            found = self._pass_of_job(named, kind, decode)
        else:
            found = self._pass_alone(named, kind, decode, turn or Turn())
        try:
            yield from found
        finally:
            found.close()  # type: ignore[attr-defined]

    def all_passes(
        self, paths: Optional[Paths], kind: Optional[str], passes: Optional[int], decode: Optional[Decode]
    ) -> Iterator[Any]:
        """Of a job as many as it makes."""
        return self._all_passes(paths, kind, passes, decode, Turn())

    def _all_passes(
        self, paths: Optional[Paths], kind: Optional[str], passes: Optional[int], decode: Optional[Decode], turn: Turn
    ) -> Iterator[Any]:
        if in_job():
            self._want_passes(passes)
            while not self._finished:
                yield from self.one_pass(paths, kind, decode, False)
        else:
            for _ in range(1 if passes is None else passes):
                yield from self.one_pass(paths, kind, decode, False, turn)

    # ---- epochs ----

    def epochs(self, n: int, status: TrainStatus, base: int) -> Iterator[int]:
        """From the one behind that of a checkpoint on; in a job where the queue is. base: the epoch of its pass 0."""
        epoch = status.next()
        self._want_passes(n - base)
        while epoch < n:
            found = self.pass_of_job() if in_job() else NO_DATA
            if found is None:
                return
            epoch = max(epoch, base + found)
            if epoch < n:
                yield epoch
            epoch += 1

    def _want_passes(self, passes: Optional[int]) -> None:
        """For the data set, when this process gives it."""
        self._passes = None if passes is None else min(max(passes, 1), PASSES_MOST)
