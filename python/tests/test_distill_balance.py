# SPDX-License-Identifier: Apache-2.0
"""Teachers and students under a virtual clock: no teacher idles while a student waits, with few connections. The parts that decide are those of
edl.distill and edl.teach: Dispatch, Grants, Links, shared_out, has_room."""
import heapq
import itertools
import unittest
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

try:
    import numpy  # noqa: F401
except ImportError:
    raise unittest.SkipTest("there is no numpy (python3-numpy)") from None

from edl.distill._dispatch import Dispatch
from edl.distill._grants import Grants
from edl.distill._links import Links, shared_out
from edl.distill._reader import has_room
from edl.distill._teachers import most_links

MESSAGE_S = 0.0005


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self._events: List[Tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self.teachers: Dict[Any, "Teacher"] = {}
        self.students: List["Student"] = []
        self.measured_s = self.idle_s = self.waiting_s = 0.0
        self.most_links = self.born = 0

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._count), what))

    def run(self, until: float, measure: bool = True) -> None:
        while self._events and self._events[0][0] <= until:
            at, _n, what = heapq.heappop(self._events)
            if measure:
                self._measure(at - self.now)
            self.now = at
            what()
        self.now = until

    def _measure(self, seconds: float) -> None:
        """Time of teachers in which a student waits, and the part of it in which they have nothing to do."""
        self.measured_s += seconds * len(self.teachers)
        self.most_links = max(self.most_links, sum(len(student.links.held()) for student in self.students))
        if any(student.waits for student in self.students):
            self.waiting_s += seconds * len(self.teachers)
            self.idle_s += seconds * sum(not teacher.computes for teacher in self.teachers.values())

    @property
    def idle(self) -> float:
        return self.idle_s / self.waiting_s

    def add_students(self, n: int, train_s: float = 0.0, require: int = 1) -> List["Student"]:
        added = [Student(self, self.born + i, train_s, require) for i in range(n)]
        self.born += n
        self.students += added
        self.name()
        return added

    def add_teachers(self, speeds: Sequence[float]) -> List["Teacher"]:
        added = [Teacher(self, speed) for speed in speeds]
        for teacher in added:
            self.teachers["10.0.0.1", 9000 + len(self.teachers)] = teacher
        self.name()
        return added

    def remove(self, student: "Student") -> None:
        self.students.remove(student)
        for teacher in student.joined.values():
            teacher.went(student)
        student.over = True

    def name(self) -> None:
        names = [str(student.index) for student in self.students]
        for student in self.students:
            own, others = shared_out(str(student.index), names, list(self.teachers))
            student.links.named(own, others, most_links(len(self.teachers), len(names), student.require))
            student.turn()


class Teacher:
    def __init__(self, world: World, task_s: float) -> None:
        self.world, self.task_s = world, task_s
        self.grants = Grants(8)
        self.queue: List[Any] = []
        self.computes = False
        self.answered: Dict[Any, int] = {}

    def came(self, student: "Student") -> bool:
        idle = self.grants.taken() == 0
        self.grants.came(student)
        return idle

    def went(self, student: "Student") -> None:
        self.grants.went(student)
        self.queue = [task for task in self.queue if task[0] is not student]
        self.give()

    def hear(self, student: "Student", what: Callable[..., None], *arguments: Any) -> None:
        if student in self.grants._students:
            what(student, *arguments)
            self.give()

    def give(self) -> None:
        for student, n in self.grants.give():
            self.world.after(MESSAGE_S, lambda student=student, n=n: student.hear(self, "credit", n))
        if self.queue and not self.computes:
            self.computes = True
            task = self.queue.pop(0)
            self.world.after(self.task_s, lambda: self.done(*task))

    def take(self, student: "Student", task: int) -> None:
        self.grants.took(student)
        self.queue.append((student, task))

    def done(self, student: "Student", task: int) -> None:
        self.computes = False
        self.grants.answered(student)
        self.answered[student] = self.answered.get(student, 0) + 1
        self.world.after(MESSAGE_S, lambda: student.hear(self, "result", task))
        self.give()


class Student:
    def __init__(self, world: World, index: int, train_s: float, require: int) -> None:
        self.world, self.index, self.train_s, self.require = world, index, train_s, require
        self.dispatch, self.links = Dispatch(), Links()
        self.joined: Dict[Any, Teacher] = {}
        self.told: Dict[Any, int] = {}
        self.closes: set = set()
        self.fed = self.taken = 0
        self.answers: set = set()
        self.trains = self.over = False
        self._wakes_at: Optional[float] = None

    @property
    def waits(self) -> bool:
        return not self.trains and not self.over

    def name_of(self, teacher: Teacher) -> Any:
        return next((name for name, other in self.joined.items() if other is teacher), None)

    def hear(self, teacher: Teacher, kind: str, n: int) -> None:
        name = self.name_of(teacher)
        if name is None or self.over:
            return
        if kind == "credit":
            self.dispatch.credit(name, n)
            self.told[name] = max(0, self.told[name] - n)
        elif self.dispatch.answered(name, n, self.world.now):
            self.answers.add(n)
        self.turn()

    def send(self, name: Any, what: Callable[..., None], *arguments: Any) -> None:
        teacher = self.joined[name]
        self.world.after(MESSAGE_S, lambda: teacher.hear(self, what, *arguments))

    def follow(self) -> None:
        held = set(self.links.held())
        for name in list(self.joined):
            if name not in held and name not in self.closes:
                self.closes.add(name)
                self.dispatch.teacher_closes(name)
            if name in self.closes and self.dispatch.is_done(name):
                self.dispatch.teacher_went(name)
                self.joined.pop(name).went(self)
                self.closes.discard(name)
        for name in held - set(self.joined):
            teacher = self.joined[name] = self.world.teachers[name]
            self.told[name] = 0
            is_idle = teacher.came(self)
            self.dispatch.teacher_came(name)
            self.links.met(name, is_idle, self.world.now)

    def program(self) -> None:
        """What it does between two tasks."""
        while not self.trains and self.taken in self.answers:
            self.answers.remove(self.taken)
            self.taken += 1
            if self.train_s:
                self.trains = True
                self.world.after(self.train_s, self.trained)
        while has_room(self.fed - self.taken, len(self.dispatch), 2 * max(self.require, len(self.joined)) + 2, self.dispatch.room(),
                       self.taken in self.answers, 0):
            self.dispatch.add(self.fed)
            self.fed += 1

    def trained(self) -> None:
        self.trains = False
        self.turn()

    def turn(self) -> None:
        if self.over:
            return
        now = self.world.now
        self.program()
        self.links.turn(self.dispatch.starves(), now)
        self.follow()
        for name, task in self.dispatch.sends(now):
            teacher = self.joined[name]
            self.send(name, teacher.take, task)
        for name, n in self.dispatch.spare():
            self.send(name, self.joined[name].grants.returned, n)
        for name, n in self.dispatch.offers(now).items():
            if n != self.told[name]:
                self.told[name] = n
                self.send(name, self.joined[name].grants.offered, n)
        at = min((at for at in (self.dispatch.next_s(now), self.links.next_s()) if at is not None), default=None)
        if at is not None and (self._wakes_at is None or at < self._wakes_at or self._wakes_at <= now):
            self._wakes_at = max(at, now + 1e-4)
            self.world.after(self._wakes_at - now, self.turn)


class Balance(unittest.TestCase):
    def world(self, students: int, speeds: Sequence[float], require: int = 1, train_s: float = 0.0, warm_s: float = 0.3) -> World:
        world = World()
        world.add_teachers(speeds)
        world.add_students(students, train_s, require)
        world.run(warm_s, measure=False)
        return world

    def test_rows_of_the_balance(self) -> None:
        """(students, teachers, required): the seed's balance server gave 32, 1, 2/2/1 and 8 teachers and left 1, 1, 0 and 32 idle."""
        for students, teachers, require, links in ((3, 97, 100, 97), (2, 3, 4, 3), (5, 3, 4, 3), (1, 40, 8, 40)):
            with self.subTest(row=(students, teachers, require)):
                world = self.world(students, [0.05 if teachers < 10 else 0.15] * teachers, require)
                world.run(3.0)
                self.assertLess(world.idle, 0.02)
                self.assertEqual([len(student.joined) for student in world.students], [links] * students)
                shares = [sum(teacher.answered.get(student, 0) for teacher in world.teachers.values()) for student in world.students]
                self.assertGreater(min(shares), 0.8 * max(shares), shares)

    def test_connections_are_few(self) -> None:
        for students, teachers in ((3, 97), (50, 97), (97, 50), (5, 3), (40, 8)):
            with self.subTest(row=(students, teachers)):
                world = self.world(students, [0.1] * teachers)
                world.run(1.0)
                self.assertLess(world.idle, 0.02)
                most = most_links(teachers, students, 1)
                self.assertEqual(most, -(-teachers // students) + 1)
                self.assertLessEqual(max(len(student.links.held()) for student in world.students), most)
                self.assertLessEqual(world.most_links, students * most)

    def test_teachers_of_different_speed(self) -> None:
        speeds = (0.01, 0.01, 0.02, 0.05, 0.2, 0.4)
        for students in (1, 2, 4):
            with self.subTest(students=students):
                world = self.world(students, speeds)
                world.run(4.0)
                self.assertLess(world.idle, 0.02)
                answered = sum(sum(teacher.answered.values()) for teacher in world.teachers.values())
                self.assertGreater(answered, 0.95 * 4.0 * sum(1 / speed for speed in speeds))

    def test_a_student_finds_the_teachers_of_one_that_needs_none(self) -> None:
        """Eight students, one of which waits: it holds more than its own, as those say that they idle."""
        for teachers, slow in ((8, 7), (10, 3)):
            with self.subTest(teachers=teachers):
                world = World()
                world.add_teachers([0.04] * teachers)
                world.add_students(slow, train_s=2.0)
                world.add_students(1)
                world.run(3.0, measure=False)
                world.run(12.0)
                self.assertLess(world.idle, 0.02)

    def test_students_come_and_go(self) -> None:
        world = self.world(3, (0.02, 0.02, 0.05, 0.1, 0.02, 0.3))
        for n in range(1, 9):
            world.run(0.3 + 3 * n)
            if n % 2:
                world.remove(world.students[0])
                if n % 4 == 1:
                    world.name()  # the others are told; in the other cases they find out by themselves
            else:
                world.add_students(1)
        self.assertLess(world.idle, 0.02)

    def test_each_teacher_has_a_student(self) -> None:
        for n_teachers in (0, 1, 2, 3, 8, 97):
            for n_students in (1, 2, 3, 5, 50):
                teachers = [("10.0.0.1", 9000 + i) for i in range(n_teachers)]
                students = [str(i) for i in range(n_students)]
                parts = [shared_out(me, students, teachers) for me in students]
                counts = [len(own) for own, _others in parts]
                self.assertEqual({teacher for own, _others in parts for teacher in own}, set(teachers))
                self.assertLessEqual(max(counts), max(1, -(-n_teachers // n_students)))
                self.assertGreaterEqual(min(counts), min(1, n_teachers) if n_students >= n_teachers else 0)
                for own, others in parts:
                    self.assertEqual(sorted(own + others), sorted(teachers))
                if n_students > n_teachers > 0:
                    of = [sum(teacher in own for own, _others in parts) for teacher in teachers]
                    self.assertLessEqual(max(of) - min(of), 1)
        before = [set(shared_out(str(i), map(str, range(5)), teachers)[0]) for i in range(5)]
        after = [set(shared_out(str(i), map(str, range(5)), teachers[:-1])[0]) for i in range(5)]
        self.assertLess(sum(len(was - now) for was, now in zip(before, after)), 30)


if __name__ == "__main__":
    unittest.main()
