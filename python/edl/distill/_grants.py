# SPDX-License-Identifier: Apache-2.0
"""Whom a teacher gives credit to: pure.

It has so many places for tasks. A place is given to the student that offers tasks and has the fewest places, so no teacher idles while a
student waits, and no student has them all."""
from __future__ import annotations

from typing import Dict, Hashable, List, Tuple

from ._wire import BadFrame


class _Student:
    def __init__(self) -> None:
        self.offered = self.credit = self.tasks = 0

    @property
    def places(self) -> int:
        return self.credit + self.tasks


class Grants:
    def __init__(self, places: int) -> None:
        self._places = places
        self._students: Dict[Hashable, _Student] = {}
        self.leaving = False

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

    def answered(self, student: Hashable) -> None:
        if student in self._students:
            self._students[student].tasks -= 1

    def free(self) -> int:
        return self._places - sum(student.places for student in self._students.values())

    def waiting(self) -> int:
        """Tasks that students offer beyond the places."""
        return sum(student.offered for student in self._students.values())

    def give(self) -> List[Tuple[Hashable, int]]:
        """(student, credits): to be told now."""
        given: Dict[Hashable, int] = {}
        free = 0 if self.leaving else self.free()
        while free > 0:
            wanting = [name for name, student in self._students.items() if student.offered > 0]
            if not wanting:
                break
            least = min(wanting, key=lambda name: self._students[name].places)
            self._students[least].offered -= 1
            self._students[least].credit += 1
            given[least] = given.get(least, 0) + 1
            free -= 1
        return list(given.items())
