# SPDX-License-Identifier: Apache-2.0
"""Which task goes to which teacher: pure, the caller tells what happened and when.

A teacher gives credit for as many tasks as it has room for; a task goes to a teacher with credit. Each teacher is to have so many tasks
that it computes one while the next ones wait there or are on their way: its target, by its own speed. It is offered what it lacks. Of
several with credit one without a task comes first, then the one that will answer soonest.

A task that has no answer after four times the 95th percentile goes to another teacher as well, before all that wait, and the first answer
counts. Before any answer is known it is late after ten seconds, so a teacher that stands still from its first task on stops nobody. The
tasks of a teacher that is gone go to others, before all that wait. libedl/distill_dispatch.c is the same in C."""
from __future__ import annotations

import math
from collections import deque
from typing import Deque, Dict, Hashable, List, Optional, Set, Tuple

LATE_TIMES = 4.0
LATE_LEAST_S = 0.2
LATE_UNKNOWN_S = 10.0  # while no answer is known
LATE_FEW_S = 1.0  # and four times the longest, but this at least, while there are few
KNOWN_LEAST = 20  # answers, before they tell when a task is late
KNOWN_MOST = 400
_KNOWN_AGAIN = 10  # answers, before the percentile is looked up again
TRIES = 3  # teachers that could not answer a task
CREDIT_MOST = 0xFFFFFFFF  # what one frame gives back

_TURN_S = 0.01  # from an answer until the next task is there, on a machine with much to do
_AHEAD_S = 0.25  # more than that is not sent ahead to a teacher whose speed is known
_TARGET_LEAST, _TARGET_BATCH, _TARGET_MOST = 2, 8, 16
_ASK_S = 0.005  # without credit, and other teachers are asked
_FORGETS = 0.9


class NoAnswer(Exception):
    """Several teachers say that they cannot answer a task."""


class _Task:
    def __init__(self) -> None:
        self.at: Dict[Hashable, float] = {}  # teacher -> since when
        self.waits = True
        self.failures: List[str] = []
        self.failed_at: Set[Hashable] = set()


class _Teacher:
    def __init__(self, batch_tasks: int) -> None:
        self.batch_tasks = batch_tasks  # of one computation; 0: unknown
        self.credit = self.offered = 0
        self.asked_s = 0.0
        self.tasks: Set[int] = set()  # that it has not answered, though another may have
        self.closes = False
        self._busy_s = self._answers = 0.0
        self._last_s = -math.inf

    def answers(self, sent_s: float, now_s: float) -> None:
        self._busy_s = _FORGETS * self._busy_s + now_s - max(sent_s, self._last_s)
        self._answers = _FORGETS * self._answers + 1
        self._last_s = now_s

    @property
    def each_s(self) -> float:
        """Between two answers while it has tasks; 0: unknown."""
        return self._busy_s / self._answers if self._answers else 0.0

    @property
    def target(self) -> int:
        least = max(_TARGET_LEAST, min(_TARGET_BATCH, 2 * self.batch_tasks))
        if self.each_s <= 0:
            return least
        ahead = max(_TARGET_LEAST, math.ceil(_AHEAD_S / self.each_s))
        return min(max(least, 1 + math.ceil(_TURN_S / self.each_s)), ahead, _TARGET_MOST)

    def answers_in_s(self) -> float:
        """A task that it gets now."""
        return (len(self.tasks) + 1) * self.each_s

    @property
    def lacks(self) -> int:
        return 0 if self.closes else max(0, self.target - len(self.tasks) - self.credit)


class Dispatch:
    def __init__(self) -> None:
        self._tasks: Dict[int, _Task] = {}
        self._queue: Deque[int] = deque()
        self._teachers: Dict[Hashable, _Teacher] = {}
        self._known: Deque[float] = deque(maxlen=KNOWN_MOST)
        self._late_s: Optional[float] = None
        self._since_known = 0
        self.repeated = 0  # tasks that went to another teacher as they were late

    # ---- what happens ----

    def add(self, task: int) -> None:
        self._tasks[task] = _Task()
        self._queue.append(task)

    def teacher_came(self, teacher: Hashable, batch_tasks: int = 0) -> None:
        self._teachers[teacher] = _Teacher(batch_tasks)

    def teacher_closes(self, teacher: Hashable) -> None:
        """It gets no more tasks, and answers what it has."""
        self._teachers[teacher].closes = True

    def is_done(self, teacher: Hashable) -> bool:
        """No task waits for it, and it waits for none."""
        found = self._teachers[teacher]
        return found.credit == 0 and not any(task in self._tasks for task in found.tasks)

    def teacher_went(self, teacher: Hashable) -> None:
        gone = self._teachers.pop(teacher, None)
        for task in sorted(gone.tasks, reverse=True) if gone else ():
            self._leave(task, teacher)

    def credit(self, teacher: Hashable, n: int) -> None:
        found = self._teachers[teacher]
        found.credit = min(found.credit + n, CREDIT_MOST)
        found.offered = max(0, found.offered - n)

    def answered(self, teacher: Hashable, task: int, now_s: float) -> bool:
        """Whether it is the first answer."""
        self._teachers[teacher].tasks.discard(task)
        found = self._tasks.get(task)
        if found is None or teacher not in found.at:
            return False
        self._teachers[teacher].answers(found.at[teacher], now_s)
        self._known.append(now_s - found.at[teacher])
        self._since_known += 1
        if found.waits:
            self._queue.remove(task)
        del self._tasks[task]
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

    # ---- what to do ----

    def late_after_s(self) -> float:
        if not self._known:
            return LATE_UNKNOWN_S
        if len(self._known) < KNOWN_LEAST:
            return max(LATE_FEW_S, LATE_TIMES * max(self._known))
        if self._late_s is None or self._since_known >= _KNOWN_AGAIN:
            self._since_known = 0
            self._late_s = max(LATE_LEAST_S, LATE_TIMES * sorted(self._known)[int(0.95 * (len(self._known) - 1))])
        return self._late_s

    def _late(self, now_s: float) -> List[int]:
        late_s = self.late_after_s()
        return [task for task, found in self._tasks.items() if found.at and now_s - max(found.at.values()) >= late_s]

    def _can_have(self, found: _Task, name: Hashable) -> bool:
        """One that has failed it gets it again only where no other is left: who fails is quick, and would fail it three times."""
        if name in found.at:
            return False
        return name not in found.failed_at or not any(
            other not in found.failed_at and not teacher.closes for other, teacher in self._teachers.items())

    def _best(self, found: _Task) -> Optional[Hashable]:
        """Of those with credit: first one without a task, then the one that answers soonest."""
        able = [name for name, teacher in self._teachers.items() if teacher.credit > 0 and not teacher.closes and self._can_have(found, name)]
        return min(able, key=lambda name: (bool(self._teachers[name].tasks), self._teachers[name].answers_in_s()), default=None)

    def _next(self) -> Optional[Tuple[Hashable, int]]:
        """The first task that waits and a teacher can have. Only one that was failed has less of a choice than others."""
        for task in self._queue:
            teacher = self._best(self._tasks[task])
            if teacher is not None:
                return teacher, task
            if not self._tasks[task].failed_at:
                break
        return None

    def sends(self, now_s: float) -> List[Tuple[Hashable, int]]:
        """(teacher, task): to be sent now."""
        todo: List[Tuple[Hashable, int]] = []
        for task in self._late(now_s):
            teacher = self._best(self._tasks[task])
            if teacher is not None:
                self.repeated += 1
                self._send(teacher, task, now_s, todo)
        while (found := self._next()) is not None:
            teacher, task = found
            self._queue.remove(task)
            self._tasks[task].waits = False
            self._send(teacher, task, now_s, todo)
        return todo

    def _send(self, teacher: Hashable, task: int, now_s: float, todo: List[Tuple[Hashable, int]]) -> None:
        self._teachers[teacher].credit -= 1
        self._teachers[teacher].tasks.add(task)
        self._tasks[task].at[teacher] = now_s
        todo.append((teacher, task))

    def room(self) -> int:
        """Tasks without an answer that keep all teachers busy."""
        there = [teacher.target for teacher in self._teachers.values() if not teacher.closes]
        return sum(there) + 2

    def offers(self, now_s: float) -> Dict[Hashable, int]:
        """Each teacher's tasks that want its credit. As many teachers are asked as tasks wait, and a few more. Those that give none are
        left aside soon: they stand still, or have much to do."""
        late = self._late(now_s)
        failed = [task for task in self._queue if self._tasks[task].failed_at]
        asked = 0
        others: List[Tuple[bool, float, int, _Teacher, int]] = []
        for name, teacher in self._teachers.items():
            others_wait = len(self._queue) - sum(1 for task in failed if not self._can_have(self._tasks[task], name))
            wanted = min(teacher.lacks, others_wait + sum(1 for task in late if self._can_have(self._tasks[task], name)))
            teacher.offered = min(teacher.offered, wanted)
            if teacher.offered == 0 and wanted:
                others.append((bool(teacher.tasks), teacher.answers_in_s(), len(others), teacher, wanted))
            elif now_s - teacher.asked_s < _ASK_S:
                asked += teacher.offered
        for _has, _soon_s, _i, teacher, wanted in sorted(others, key=lambda other: other[:3]):
            if asked >= len(self._queue) + len(late) + 2:
                break
            teacher.offered, teacher.asked_s = wanted, now_s
            asked += wanted
        return {name: teacher.offered for name, teacher in self._teachers.items()}

    def next_s(self, now_s: float) -> Optional[float]:
        """When something is late next, or others are to be asked; None: nothing can be."""
        times: List[float] = []
        late_s = self.late_after_s()
        if len(self._teachers) > 1:
            times += [max(task.at.values()) + late_s for task in self._tasks.values() if task.at]
        times = [at_s for at_s in times if at_s > now_s]
        if self._queue and any(teacher.lacks and not teacher.offered for teacher in self._teachers.values()):
            times += [teacher.asked_s + _ASK_S for teacher in self._teachers.values() if teacher.offered and teacher.asked_s + _ASK_S > now_s]
        return min(times, default=None)

    def starves(self) -> bool:
        """Tasks wait, and no teacher has credit for them."""
        return bool(self._queue)

    def spare(self) -> List[Tuple[Hashable, int]]:
        """Credit that nothing here has a use for, to be given back. It is forgotten."""
        unused = [(name, teacher) for name, teacher in self._teachers.items()
                  if teacher.credit > 0 and (teacher.closes or not any(self._can_have(self._tasks[task], name) for task in self._queue))]
        found = [(name, teacher.credit) for name, teacher in unused]
        for _name, teacher in unused:
            teacher.credit = 0
        return found

    def __len__(self) -> int:
        return len(self._tasks)
