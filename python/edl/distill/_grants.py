# SPDX-License-Identifier: Apache-2.0
"""Whom a teacher gives credit to: pure.

It has so many places for tasks. A place is given to the student that offers tasks and has the fewest places; of several to the one that has
waited longest. So no teacher idles while a student waits, and no student has them all. As many places as two batches fill: one is computed
while the next one comes, and no teacher hoards what another one could begin. trainer/teach/teach_grants.c has the same in C."""
from __future__ import annotations

from typing import Dict, Hashable, List, Tuple

from ._wire import BadFrame


PLACES_FIRST, PLACES_LEAST, PLACES_MOST = 8, 4, 256
_OF_A_NEW_TASK = 0.1  # in the running mean


class _Student:
    def __init__(self) -> None:
        self.offered = self.credit = self.tasks = 0
        self.blocked = False
        self.given = 0  # when it was given a place the last time

    @property
    def places(self) -> int:
        return self.credit + self.tasks


class Grants:
    def __init__(self, places: int = PLACES_FIRST) -> None:
        self._places = places
        self._students: Dict[Hashable, _Student] = {}
        self._task_samples = 0.0
        self.leaving = False
        self._given = 0

    def came(self, student: Hashable) -> None:
        self._students[student] = _Student()

    def went(self, student: Hashable) -> None:
        self._students.pop(student, None)

    def offered(self, student: Hashable, n: int) -> None:
        """So many tasks want credit now, whatever it offered before."""
        self._students[student].offered = n

    def returned(self, student: Hashable, n: int) -> None:
        if n > self._students[student].credit:
            raise BadFrame(f"a student gives back {n} credits, and has {self._students[student].credit}")
        self._students[student].credit -= n

    def took(self, student: Hashable) -> None:
        """A task came."""
        if self._students[student].credit == 0:
            raise BadFrame("a task without credit")
        self._students[student].credit -= 1
        self._students[student].tasks += 1

    def sized(self, samples: int, max_batch: int) -> None:
        """A task of so many samples came: how many places there are follows from it."""
        n = float(max(1, samples))
        self._task_samples = (1 - _OF_A_NEW_TASK) * self._task_samples + _OF_A_NEW_TASK * n if self._task_samples else n
        self._places = int(min(max(2 * max_batch / self._task_samples + 1, PLACES_LEAST), PLACES_MOST))

    def blocked(self, student: Hashable, blocked: bool) -> None:
        """It does not read its answers: no more credit."""
        if student in self._students:
            self._students[student].blocked = blocked

    def answered(self, student: Hashable) -> None:
        if student in self._students:
            self._students[student].tasks -= 1

    def taken(self) -> int:
        return sum(student.places for student in self._students.values())

    def free(self) -> int:
        return max(0, self._places - self.taken())

    def credit(self, student: Hashable) -> int:
        """That it has, and has sent no task for."""
        return self._students[student].credit if student in self._students else 0

    def granted(self) -> int:
        """The credit of all."""
        return sum(student.credit for student in self._students.values())

    def waiting(self) -> int:
        """Tasks that students offer beyond the places."""
        return sum(student.offered for student in self._students.values())

    def give(self) -> List[Tuple[Hashable, int]]:
        """(student, credits): to be told now."""
        given: Dict[Hashable, int] = {}
        free = 0 if self.leaving else self.free()
        while free > 0:
            wanting = [name for name, student in self._students.items() if student.offered > 0 and not student.blocked]
            if not wanting:
                break
            least = min(wanting, key=lambda name: (self._students[name].places, self._students[name].given))
            self._given += 1
            self._students[least].given = self._given
            self._students[least].offered -= 1
            self._students[least].credit += 1
            given[least] = given.get(least, 0) + 1
            free -= 1
        return list(given.items())
