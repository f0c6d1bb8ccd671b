# SPDX-License-Identifier: Apache-2.0
"""Tasks with their records, read by a thread: the next task is fetched and read while one is being consumed."""
from __future__ import annotations

import collections
import os
import sys
import threading
import weakref
from typing import Any, Callable, Deque, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

from ._call import Error, Timeout
from ._files import LOG, Reader
from ._model import Chunk

Record = Union[bytes, str]
Decode = Callable[[Any], Any]
SETTLE_S = 2.0  # the longest wait for a question that is under way when a task fails
ASK_S = 20.0  # the longest wait of one question for a task
BATCHES_MOST = 2  # read and not consumed yet
UNREADABLE_MOST = 4  # tasks one behind the other; then it is this machine and not the file


class AnyTask(Protocol):
    """Task, or one of a process without a cluster."""

    pass_number: int

    @property
    def chunks(self) -> Sequence[Chunk]:
        ...

    def lost(self, records: int, chunks: int = 1) -> None:
        ...

    def done(self) -> bool:
        ...

    def failed(self, reason: str) -> bool:
        ...

    def give_back(self, reason: str = "") -> bool:
        ...


class Source(Protocol):
    """Where tasks come from."""

    def next_task(self, timeout: Optional[float] = None) -> Optional[AnyTask]:
        ...


class LocalTask:
    """A task that no other process wants: its end has no effect elsewhere."""

    def __init__(self, pass_number: int, chunks: Sequence[Chunk]) -> None:
        self.pass_number = pass_number
        self.chunks = tuple(chunks)

    def lost(self, records: int, chunks: int = 1) -> None:
        pass

    def done(self) -> bool:
        return True

    def failed(self, reason: str) -> bool:
        return True

    def give_back(self, reason: str = "") -> bool:
        return True


class LocalSource:
    """One pass over tasks, in their order."""

    def __init__(self, tasks: Sequence[Sequence[Chunk]]) -> None:
        self._tasks = iter(tasks)

    def next_task(self, timeout: Optional[float] = None) -> Optional[LocalTask]:
        chunks = next(self._tasks, None)
        return None if chunks is None else LocalTask(0, chunks)


class Batch(NamedTuple):
    """Records of the task that came before it; records None: the task is over, error is what ended it."""

    records: Optional[List[Record]]
    error: Optional[Exception] = None
    lost: Tuple[int, int] = (0, 0)  # of the task that is over: records of damaged chunks, and these


class _Channel:
    """Items that the thread has made and the consumer has not taken yet."""

    def __init__(self) -> None:
        self._items: Deque[Any] = collections.deque()
        self._change = threading.Condition()
        self._closed = False

    def put(self, item: Any) -> bool:
        """Waits for room. False: nobody takes it any more."""
        with self._change:
            while len(self._items) >= BATCHES_MOST and not self._closed:
                self._change.wait()
            if not self._closed:
                self._items.append(item)
                self._change.notify_all()
            return not self._closed

    def get(self) -> Any:
        with self._change:
            while not self._items:
                self._change.wait()
            item = self._items.popleft()
            self._change.notify_all()
            return item

    def close(self) -> List[Any]:
        """Nothing is taken any more; returns the items that were not."""
        with self._change:
            self._closed = True
            left = list(self._items)
            self._items.clear()
            self._change.notify_all()
            return left

    @property
    def closed(self) -> bool:
        return self._closed


_feeds: "weakref.WeakSet[Feed]" = weakref.WeakSet()


def _forked() -> None:
    """In a child: it has no thread that reads, and what its parent has read is its parent's."""
    for feed in list(_feeds):
        feed.orphan()


os.register_at_fork(after_in_child=_forked)


class Feed:
    """Tasks of a source, one after the other, for one consumer. first: one that was taken before. A child that the process
    forks can take nothing of it, and closes it without an effect."""

    def __init__(self, source: Source, reader: Reader, first: Optional[AnyTask] = None) -> None:
        self._source = source
        self._reader = reader
        self._first = first
        self._channel = _Channel()
        self._wanted = threading.Semaphore(1)  # the thread takes a task when the one before it is being consumed
        self._ahead: Optional[AnyTask] = None
        self._current: Optional[AnyTask] = None
        self._over = False
        self._unreadable = 0
        self._records: Optional[List[Record]] = None  # under way
        self.pid = os.getpid()
        _feeds.add(self)
        self._thread = threading.Thread(target=self._run, name="edl-feed", daemon=True)
        self._thread.start()

    # ---- the thread ----

    def _take(self) -> Optional[AnyTask]:
        task, self._first = self._first, None
        while task is None and not self._channel.closed:
            try:
                task = self._source.next_task(ASK_S)
                return task
            except Timeout:
                continue
        return task

    def _send(self, task: AnyTask) -> bool:
        """A task, its records, its end. False: nobody takes them."""
        if not self._channel.put(task):
            task.give_back("its reader was closed")
            return False
        before = self._reader.lost, self._reader.lost_chunks
        try:
            for records in self._reader.batches(task.chunks):
                if not self._channel.put(Batch(records)):
                    return False
            lost = self._reader.lost - before[0], self._reader.lost_chunks - before[1]
            return self._channel.put(Batch(None, lost=lost))
        except (OSError, Error) as error:
            return self._channel.put(Batch(None, error))

    def _run(self) -> None:
        try:
            while True:
                self._wanted.acquire()
                task = None if self._channel.closed else self._take()
                if task is None:
                    self._channel.put(None)
                    return
                if not self._send(task):
                    return
        except BaseException as error:  # whatever it is, the consumer has to hear of it
            self._channel.put(error)

    # ---- the consumer ----

    def orphan(self) -> None:
        if self._records is not None:
            self._records.clear()  # the loop over them ends there

    def _get(self) -> Any:
        """Error: in a child the thread is not there, and would be waited for for ever."""
        if self.pid != os.getpid():
            raise Error("this loop over records was begun in the process that this one was forked from, which goes on with it",
                        "begin a loop in the child, or read the records in its parent and hand them on")
        return self._channel.get()

    @property
    def busy(self) -> bool:
        """Whether a task is being consumed."""
        return self._current is not None

    def ahead(self) -> Optional[AnyTask]:
        """The task that comes next, which is not begun; None: there is none any more."""
        if self._ahead is None and not self._over:
            item = self._get()
            if isinstance(item, BaseException):
                self._over = True
                raise item
            self._over = item is None
            self._ahead = item
        return self._ahead

    def _fail(self, task: AnyTask, error: Exception) -> None:
        """Its data cannot be read here: it is tried elsewhere, and this process goes on with others."""
        self._unreadable += 1
        if isinstance(task, LocalTask):
            raise error
        LOG.warning("a task cannot be read here and is tried elsewhere: %s", error)
        task.failed(str(error))
        if self._unreadable >= UNREADABLE_MOST:
            raise Error(f"{UNREADABLE_MOST} tasks one after the other could not be read, the last: {error}",
                        "mount the data on this machine as on the others") from error

    def _end(self, task: AnyTask, end: Batch) -> None:
        self._current = None
        if end.error is not None:
            self._fail(task, end.error)
            return
        task.lost(*end.lost)
        if task.done():
            self._unreadable = 0
        else:
            LOG.warning("a task of pass %d is another process's by now, which counts its records", task.pass_number)

    def _decoded(self, task: AnyTask, records: List[Record], decode: Decode) -> Iterator[Any]:
        """A record that decode refuses fails its task: given back, the task would end every process that takes it."""
        for record in records:
            try:
                made = decode(record)
            except Exception as error:
                self._current = None
                try:
                    task.failed(f"decode: {type(error).__name__}: {error}")
                except Error as other:  # what decode raised is what the program has to hear of
                    LOG.warning("a task with a record that cannot be decoded is still held: %s", other)
                raise
            yield made

    def consume(self, decode: Optional[Decode] = None) -> Iterator[Any]:
        """The records of the task that comes next. Once the one behind the last is asked for the task is counted."""
        task = self.ahead()
        assert task is not None
        self._ahead = None
        self._current = task
        self._wanted.release()
        while True:
            item = self._get()
            if isinstance(item, BaseException):
                raise item
            if item.records is None:
                break
            self._records = item.records
            yield from item.records if decode is None else self._decoded(task, item.records, decode)
        self._end(task, item)

    def settle(self) -> None:
        """A question for the next task may be under way, and get the task that has just failed: it goes back, as nobody
        is left here to take it. Else the end of this process would fail it again."""
        if self._thread is not threading.current_thread():
            self._thread.join(SETTLE_S)

    def take_current(self) -> Optional[AnyTask]:
        """The task that is being consumed: its end is up to the caller."""
        task, self._current = self._current, None
        return task

    def close(self, give_back: bool) -> None:
        """The thread ends. give_back: its tasks go back at once, and not with the end of this process."""
        self._over = True
        if self.pid != os.getpid():  # tasks, thread and locks are the parent's
            self._current = self._ahead = None
            return
        left = self._channel.close()
        self._wanted.release()
        if not give_back or sys.is_finalizing():
            return
        held = [self._current, self._ahead] + [item for item in left if hasattr(item, "give_back")]
        self._current = self._ahead = None
        for task in held:
            if task is not None:
                task.give_back("its reader was closed")
