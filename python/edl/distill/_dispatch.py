# SPDX-License-Identifier: Apache-2.0
"""Which task goes to which teacher: pure, the caller tells what happened and when.

A teacher gives credit for as many tasks as it has room for; a task goes to a teacher with credit. So the fast one gets more, and no
one is asked whether it is free. A task that has no answer after four times the 95th percentile goes to another teacher as well, and the
first answer counts. The tasks of a teacher that is gone go to others, before all that wait."""
from __future__ import annotations

from collections import deque
from typing import Deque, Dict, Hashable, List, Optional, Set, Tuple

LATE_TIMES = 4.0
LATE_LEAST_S = 0.2
KNOWN_LEAST = 20  # answers, before anything is late
KNOWN_MOST = 400
TRIES = 3  # teachers that could not answer a task


class NoAnswer(Exception):
    """Several teachers say that they cannot answer a task."""


class _Task:
    def __init__(self) -> None:
        self.at: Dict[Hashable, float] = {}  # teacher -> since when
        self.waits = True
        self.failures: List[str] = []
        self.failed_at: Set[Hashable] = set()


class _Teacher:
    def __init__(self) -> None:
        self.credit = 0
        self.tasks: Set[int] = set()


class Dispatch:
    def __init__(self) -> None:
        self._tasks: Dict[int, _Task] = {}
        self._queue: Deque[int] = deque()
        self._teachers: Dict[Hashable, _Teacher] = {}
        self._known: Deque[float] = deque(maxlen=KNOWN_MOST)
        self.repeated = 0  # tasks that went to another teacher as they were late

    # ---- what happens ----

    def add(self, task: int) -> None:
        self._tasks[task] = _Task()
        self._queue.append(task)

    def teacher_came(self, teacher: Hashable) -> None:
        self._teachers[teacher] = _Teacher()

    def teacher_went(self, teacher: Hashable) -> None:
        gone = self._teachers.pop(teacher, None)
        for task in sorted(gone.tasks, reverse=True) if gone else ():
            self._leave(task, teacher)

    def credit(self, teacher: Hashable, n: int) -> None:
        self._teachers[teacher].credit += n

    def answered(self, teacher: Hashable, task: int, now_s: float) -> bool:
        """Whether it is the first answer."""
        self._teachers[teacher].tasks.discard(task)
        found = self._tasks.get(task)
        if found is None or teacher not in found.at:
            return False
        self._known.append(now_s - found.at[teacher])
        self._forget(task, found)
        return True

    def failed(self, teacher: Hashable, task: int, why: str) -> None:
        """It is tried with others. NoAnswer: it was."""
        self._teachers[teacher].tasks.discard(task)
        found = self._tasks.get(task)
        if found is None or teacher not in found.at:
            return
        found.failures.append(why)
        found.failed_at.add(teacher)
        if len(found.failures) >= TRIES:
            raise NoAnswer(why)
        self._leave(task, teacher)

    def _leave(self, task: int, teacher: Hashable) -> None:
        found = self._tasks.get(task)
        if found is None:
            return
        found.at.pop(teacher, None)
        if not found.at and not found.waits:
            found.waits = True
            self._queue.appendleft(task)

    def _forget(self, task: int, found: _Task) -> None:
        if found.waits:
            self._queue.remove(task)
        for teacher in found.at:
            if teacher in self._teachers:
                self._teachers[teacher].tasks.discard(task)
        del self._tasks[task]

    # ---- what to do ----

    def late_after_s(self) -> Optional[float]:
        if len(self._known) < KNOWN_LEAST:
            return None
        return max(LATE_LEAST_S, LATE_TIMES * sorted(self._known)[int(0.95 * (len(self._known) - 1))])

    def _best(self, found: _Task) -> Optional[Hashable]:
        """Of those with credit: first one that has not failed it, then the one with the most room."""
        able = [name for name, teacher in self._teachers.items() if teacher.credit > 0 and name not in found.at]
        return max(able, key=lambda name: (name not in found.failed_at, self._teachers[name].credit), default=None)

    def sends(self, now_s: float) -> List[Tuple[Hashable, int]]:
        """(teacher, task): to be sent now."""
        todo: List[Tuple[Hashable, int]] = []
        while self._queue:
            teacher = self._best(self._tasks[self._queue[0]])
            if teacher is None:
                break
            task = self._queue.popleft()
            self._tasks[task].waits = False
            self._send(teacher, task, now_s, todo)
        late_s = None if self._queue else self.late_after_s()
        for task in [task for task in self._tasks if late_s is not None and self._is_late(task, now_s, late_s)]:
            teacher = self._best(self._tasks[task])
            if teacher is not None:
                self.repeated += 1
                self._send(teacher, task, now_s, todo)
        return todo

    def _send(self, teacher: Hashable, task: int, now_s: float, todo: List[Tuple[Hashable, int]]) -> None:
        self._teachers[teacher].credit -= 1
        self._teachers[teacher].tasks.add(task)
        self._tasks[task].at[teacher] = now_s
        todo.append((teacher, task))

    def _is_late(self, task: int, now_s: float, late_s: float) -> bool:
        at = self._tasks[task].at
        return bool(at) and now_s - max(at.values()) >= late_s

    def next_late_s(self) -> Optional[float]:
        """When something is late next; None: nothing can be."""
        late_s = self.late_after_s()
        since = [max(task.at.values()) for task in self._tasks.values() if task.at]
        return min(since) + late_s if late_s is not None and since and len(self._teachers) > 1 else None

    def offers(self, now_s: float) -> int:
        """Tasks that want a teacher beyond the credit that is there, late ones among them."""
        late_s = self.late_after_s()
        late = sum(1 for task in self._tasks if late_s is not None and self._is_late(task, now_s, late_s))
        return len(self._queue) + late

    def spare(self) -> List[Tuple[Hashable, int]]:
        """Credit that nothing here has a use for, to be given back. It is forgotten."""
        if self._queue:
            return []
        unused = [(name, teacher.credit) for name, teacher in self._teachers.items() if teacher.credit > 0]
        for teacher in self._teachers.values():
            teacher.credit = 0
        return unused

    def __len__(self) -> int:
        return len(self._tasks)
