# SPDX-License-Identifier: Apache-2.0
"""The teachers that a student is connected to: pure.

All students of a role work out the same table, in which each teacher has a student. A student holds its own teachers and one beside
them: ceil(T / C) + 1 of T teachers for C students, or as many as the program requires. So T and C together may grow, and connections
grow with them, not with T x C.

While its tasks wait, a student looks around: the teacher beside its own ones is another one each time. A teacher that says that it has
nothing to do is held in addition, for ten seconds, then asked again. So no teacher idles while a student waits, wherever the others are."""
from __future__ import annotations

import bisect
import hashlib
import math
from collections import deque
from typing import Deque, Dict, Generic, Iterable, List, Optional, Sequence, Tuple, TypeVar

_PATIENCE_S = 0.1  # tasks wait so long before it looks around
_GAP_S = 0.02  # without a task that waits, and it waits no more
_PAUSE_FIRST_S, _PAUSE_MOST_S = 0.05, 0.25
_HELD_S, _APART_S = 10.0, 0.5

Address = TypeVar("Address")


def _place(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def shared_out(me: str, students: Iterable[str], teachers: Sequence[Tuple[str, int]]) -> Tuple[List[Tuple[str, int]], List[Tuple[str, int]]]:
    """(own, others): of each teacher one student, and no student has more than ceil(T / C). Students without any are dealt to teachers
    evenly. Students and teachers stand on a ring by their hashes; a teacher belongs to the next student that has room. So few change
    when somebody comes or goes. Others are in an order of this student's."""
    names = sorted(set(students) | {me}, key=_place)
    places = [_place(name) for name in names]
    most = -(-len(teachers) // len(names))
    owned: Dict[str, List[Tuple[str, int]]] = {name: [] for name in names}
    by_place = sorted((_place(f"{host}:{port}"), (host, port)) for host, port in teachers)
    for place, teacher in by_place:
        at = bisect.bisect(places, place)
        while len(owned[names[at % len(names)]]) >= most:
            at += 1
        owned[names[at % len(names)]].append(teacher)
    if teachers:
        for i, name in enumerate(name for name in names if not owned[name]):
            owned[name].append(by_place[i % len(by_place)][1])
    own = set(owned[me])
    others = [teacher for _place_, teacher in by_place if teacher not in own]
    return owned[me], sorted(others, key=lambda teacher: _place(f"{me} {teacher[0]}:{teacher[1]}"))


class Links(Generic[Address]):
    def __init__(self) -> None:
        self._own: List[Address] = []
        self._others: Deque[Address] = deque()  # that it is not connected to, the next one first
        self._beside: Deque[Address] = deque()
        self._idle: Dict[Address, float] = {}  # until when it is held
        self._room = 0
        self._waits = False
        self._waited_s = self._waits_since_s = -math.inf
        self._look_s = 0.0
        self._looks = False
        self._pause_s = _PAUSE_FIRST_S

    def named(self, own: Iterable[Address], others: Iterable[Address], most: int) -> None:
        """These there are; at most so many are held."""
        self._own, known = list(own), list(others)
        self._room = max(most - len(self._own), min(most, 1))
        there = set(known)
        self._beside = deque([address for address in self._beside if address in there][: self._room])
        self._idle = {address: until_s for address, until_s in self._idle.items() if address in there}
        self._others = deque(address for address in known if address not in self._beside and address not in self._idle)
        self._pause_s, self._look_s = _PAUSE_FIRST_S, 0.0
        self._fill()

    def _fill(self) -> None:
        while len(self._beside) < self._room and self._others:
            self._beside.append(self._others.popleft())

    def met(self, address: Address, is_idle: bool, now_s: float) -> None:
        """What a teacher said as the connection began."""
        if is_idle and address in self._beside and self._looks:
            self._beside.remove(address)
            self._idle[address] = max([now_s + _HELD_S, *(until_s + _APART_S for until_s in self._idle.values())])
            self._pause_s, self._look_s = _PAUSE_FIRST_S, now_s
            self._fill()

    def turn(self, waits: bool, now_s: float) -> None:
        """waits: tasks of this student wait for a teacher."""
        for address in [address for address, until_s in self._idle.items() if now_s >= until_s]:
            del self._idle[address]
            self._others.appendleft(address)
            self._look_s = now_s
        if self._waits:
            self._waited_s = now_s
        self._waits = waits
        if waits and now_s - self._waited_s > _GAP_S:
            self._waits_since_s, self._pause_s, self._looks = now_s, _PAUSE_FIRST_S, False
        if waits and self._others and self._room and now_s >= max(self._waits_since_s + _PATIENCE_S, self._look_s):
            self._looks = True
            if len(self._beside) >= self._room:
                self._others.append(self._beside.popleft())
            self._beside.append(self._others.popleft())
            self._look_s = now_s + self._pause_s
            self._pause_s = min(2 * self._pause_s, _PAUSE_MOST_S)

    def next_s(self) -> Optional[float]:
        """When it has something to do though nothing happens."""
        times = list(self._idle.values())
        if self._waits and self._others and self._room:
            times.append(max(self._waits_since_s + _PATIENCE_S, self._look_s))
        return min(times, default=None)

    def held(self) -> List[Address]:
        return [*self._own, *self._beside, *self._idle]
