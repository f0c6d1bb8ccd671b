# SPDX-License-Identifier: Apache-2.0
"""The two pure parts of edl.distill, in random histories: which task goes to which teacher, and whom a teacher gives credit."""
import random
import unittest
from typing import Any, Dict

try:
    import numpy  # noqa: F401, which edl.distill needs
except ImportError:
    raise unittest.SkipTest("there is no numpy (python3-numpy)") from None

from edl.distill import NoAnswer, _wire
from edl.distill._dispatch import Dispatch
from edl.distill._grants import Grants


class Histories(unittest.TestCase):
    """A student's Dispatch and teachers' Grants, with messages that arrive late, teachers that are slow, stand still, fail and die."""

    def play(self, seed: int) -> None:
        draw = random.Random(seed)
        now, made, answered, wasted = 0.0, 0, [], 0
        dispatch = Dispatch()
        teachers: Dict[int, Any] = {}
        born = 0
        n_tasks = 120
        for _ in range(200000):
            now += 0.01
            if len(teachers) < 3 and draw.random() < 0.05:
                born += 1
                teachers[born] = {"grants": Grants(2), "tasks": [], "speed": draw.choice((0.02, 0.1, 0.5)), "still": 0.0, "offered": 0}
                teachers[born]["grants"].came("student")
                dispatch.teacher_came(born)
            for name in list(teachers):
                if draw.random() < 0.003:
                    del teachers[name]
                    dispatch.teacher_went(name)
                elif draw.random() < 0.003:
                    teachers[name]["still"] = now + draw.choice((1.0, 5.0))
            if made < n_tasks and len(dispatch) < 8:
                dispatch.add(made)
                made += 1
            for name, task in dispatch.sends(now):
                teachers[name]["grants"].took("student")
                teachers[name]["tasks"].append((task, now))
            for name, n in dispatch.spare():
                teachers[name]["grants"].returned("student", n)
            offers = dispatch.offers(now)
            for name, teacher in teachers.items():
                teacher["grants"].offered("student", offers[name])
                if now < teacher["still"]:
                    continue
                for _student, n in teacher["grants"].give():
                    dispatch.credit(name, n)
                self.assertGreaterEqual(teacher["grants"].free(), 0)
                if teacher["tasks"] and now - teacher["tasks"][0][1] >= teacher["speed"]:
                    task, _since = teacher["tasks"].pop(0)
                    teacher["grants"].answered("student")
                    if draw.random() < 0.01:
                        try:
                            dispatch.failed(name, task, "it failed")
                        except NoAnswer:
                            return  # three teachers in a row: the program is told
                    elif dispatch.answered(name, task, now):
                        answered.append(task)
                    else:
                        wasted += 1
            if len(answered) == n_tasks:
                break
        self.assertEqual(sorted(answered), list(range(n_tasks)), f"seed {seed}")
        self.assertEqual(len(dispatch), 0)

    def test_each_task_is_answered_once(self) -> None:
        for seed in range(60):
            self.play(seed)

    def test_a_late_task_goes_to_another_teacher(self) -> None:
        dispatch = Dispatch()
        for name in "ab":
            dispatch.teacher_came(name)
        for task in range(30):
            dispatch.credit("a", 1)
            dispatch.add(task)
            self.assertEqual(dispatch.sends(task), [("a", task)])
            self.assertTrue(dispatch.answered("a", task, task + (0.2 if task % 10 == 0 else 0.1)))  # four times the 95th percentile: 0.8
        dispatch.credit("a", 1)
        dispatch.add(30)
        self.assertEqual(dispatch.sends(100), [("a", 30)])
        self.assertFalse(dispatch.answered("b", 30, 100.1))  # it was not asked
        dispatch.credit("b", 1)
        self.assertEqual(dispatch.sends(100.7), [])
        self.assertAlmostEqual(dispatch.next_s(100.7) or 0, 100.8)
        self.assertEqual(dispatch.sends(100.81), [("b", 30)])
        self.assertTrue(dispatch.answered("b", 30, 100.9))
        self.assertFalse(dispatch.answered("a", 30, 101.0))  # the second answer reaches nobody
        self.assertEqual(dispatch.repeated, 1)

    def test_a_teacher_that_fails_a_task_does_not_fail_it_thrice(self) -> None:
        """It is quick, so it has credit whenever it failed one, and the others compute."""
        dispatch = Dispatch()
        for name in "ab":
            dispatch.teacher_came(name)
        for task in (0, 1, 2):
            dispatch.add(task)
        dispatch.credit("a", 1)
        self.assertEqual(dispatch.sends(0), [("a", 0)])
        dispatch.failed("a", 0, "it is NaN")
        self.assertEqual(dispatch.offers(0)["a"], 2)
        dispatch.credit("a", 3)
        self.assertEqual(dispatch.sends(1), [("a", 1), ("a", 2)])  # but not the one that it failed
        self.assertEqual(dispatch.spare(), [("a", 1)])
        self.assertEqual((dispatch.offers(1)["a"], dispatch.offers(1)["b"]), (0, 1))
        dispatch.credit("b", 1)
        self.assertEqual(dispatch.sends(2), [("b", 0)])
        dispatch.failed("b", 0, "it is NaN")  # all have failed it: either may try once more
        dispatch.credit("a", 1)
        self.assertEqual(dispatch.sends(3), [("a", 0)])
        with self.assertRaises(NoAnswer):
            dispatch.failed("a", 0, "it is NaN")

    def test_more_credit_than_a_frame_gives_back(self) -> None:
        dispatch = Dispatch()
        dispatch.teacher_came("a")
        for _ in range(2):
            dispatch.credit("a", 0xFFFFFFFF)
        self.assertEqual(list(dispatch.spare()), [("a", 0xFFFFFFFF)])

    def test_a_late_task_goes_before_all_that_wait(self) -> None:
        """Teachers that have too much to do have tasks waiting all the time; the program waits for the late one."""
        dispatch = Dispatch()
        for name in "ab":
            dispatch.teacher_came(name)
        for task in range(30):
            dispatch.credit("a", 1)
            dispatch.add(task)
            dispatch.sends(task)
            dispatch.answered("a", task, task + 0.1)
        dispatch.credit("a", 1)
        for task in (30, 31, 32):
            dispatch.add(task)
        self.assertEqual(dispatch.sends(100), [("a", 30)])
        dispatch.offers(100)
        dispatch.credit("b", 2)
        self.assertEqual(dispatch.sends(100.5), [("b", 30), ("b", 31)])
        self.assertTrue(dispatch.answered("b", 30, 100.6))
        for name in "ab":  # a stands still: it has a task, so it is no better than the other
            dispatch.credit(name, 1)
        self.assertTrue(dispatch.answered("b", 31, 100.7))
        self.assertEqual(dispatch.sends(100.7), [("b", 32)])

    def test_an_idle_teacher_gets_the_next_task_though_it_is_slow(self) -> None:
        dispatch, now = Dispatch(), 0.0
        for name in "ab":
            dispatch.teacher_came(name)
        for task in range(10):
            dispatch.add(task)
            dispatch.credit("ab"[task % 2], 1)
            dispatch.sends(now)
            now += 0.01 if task % 2 == 0 else 1.0
            dispatch.answered("ab"[task % 2], task, now)
        for task in (10, 11, 12):
            dispatch.add(task)
        for name in "ab":
            dispatch.credit(name, 3)
        self.assertEqual(dispatch.sends(now), [("a", 10), ("b", 11), ("a", 12)])

    def test_a_late_task_gets_its_time_at_the_next_teacher(self) -> None:
        dispatch = Dispatch()
        for name in "abc":
            dispatch.teacher_came(name)
        for task in range(30):
            dispatch.credit("a", 1)
            dispatch.add(task)
            dispatch.sends(task)
            dispatch.answered("a", task, task + 0.1)
        for name in "abc":
            dispatch.credit(name, 1)
        dispatch.add(30)
        times = [len(dispatch.sends(at)) for at in (100.0, 100.3, 100.5, 100.7, 100.95, 101.5)]
        self.assertEqual(times, [1, 0, 1, 0, 1, 0])

    def test_tasks_of_a_teacher_that_is_gone_come_first(self) -> None:
        dispatch = Dispatch()
        dispatch.teacher_came("a")
        dispatch.credit("a", 2)
        for task in range(4):
            dispatch.add(task)
        self.assertEqual(dispatch.sends(1.0), [("a", 0), ("a", 1)])
        dispatch.teacher_went("a")
        dispatch.teacher_came("b")
        dispatch.credit("b", 4)
        self.assertEqual([task for _name, task in dispatch.sends(1.1)], [0, 1, 2, 3])

    def test_teachers_are_asked_for_what_they_lack(self) -> None:
        dispatch = Dispatch()
        for name in "abcdef":
            dispatch.teacher_came(name)
        self.assertEqual(dispatch.room(), 14)
        dispatch.add(0)
        offers = dispatch.offers(1.0)
        self.assertEqual(sorted(offers.values()), [0, 0, 0, 1, 1, 1])  # one that waits, and two more: not all
        self.assertEqual(dispatch.offers(1.004), offers)
        self.assertAlmostEqual(dispatch.next_s(1.004) or 0, 1.005)
        self.assertEqual(sorted(dispatch.offers(1.006).values()), [1] * 6)  # they gave none
        asked = next(name for name in offers if offers[name])
        dispatch.credit(asked, 1)
        self.assertEqual(dispatch.sends(1.01), [(asked, 0)])
        self.assertEqual(sum(dispatch.offers(1.01).values()), 0)
        dispatch.teacher_closes(asked)
        self.assertFalse(dispatch.is_done(asked))
        self.assertTrue(dispatch.answered(asked, 0, 1.02))
        dispatch.credit(asked, 1)
        dispatch.add(1)
        self.assertEqual(dispatch.sends(1.03), [])
        self.assertEqual(dispatch.spare(), [(asked, 1)])
        self.assertTrue(dispatch.is_done(asked))
        self.assertEqual(dispatch.offers(1.03)[asked], 0)

    def test_the_target_follows_the_speed(self) -> None:
        for each_s, batch, target in ((0.001, 0, 11), (0.02, 0, 2), (1.0, 0, 2), (0.0002, 0, 16), (0.02, 4, 8), (0.1, 4, 3), (1.0, 4, 2)):
            dispatch, now = Dispatch(), 0.0
            dispatch.teacher_came("a", batch)
            self.assertEqual(dispatch.room(), max(2, 2 * batch) + 2)
            for task in range(9):
                dispatch.add(task)
                dispatch.credit("a", 1)
                dispatch.sends(now)
                now += each_s
                dispatch.answered("a", task, now)
            self.assertEqual(dispatch.room(), target + 2, (each_s, batch))

    def test_what_is_late_before_much_is_known(self) -> None:
        dispatch = Dispatch()
        for name in "ab":
            dispatch.teacher_came(name)
        dispatch.credit("a", 2)
        dispatch.add(0)
        dispatch.add(1)
        self.assertEqual(dispatch.sends(5.0), [("a", 0), ("a", 1)])
        self.assertEqual(dispatch.next_s(5.0), 15.0)
        self.assertTrue(dispatch.answered("a", 0, 5.02))
        self.assertEqual(dispatch.next_s(5.1), 6.0)
        dispatch.credit("b", 1)
        self.assertEqual(dispatch.sends(5.9), [])
        self.assertEqual(dispatch.sends(6.0), [("b", 1)])

    def test_no_place_is_free_while_a_student_waits(self) -> None:
        grants = Grants(4)
        for name in "abc":
            grants.came(name)
            grants.offered(name, 10)
        given = dict(grants.give())
        self.assertEqual(sorted(given.values()), [1, 1, 2])
        self.assertEqual(grants.give(), [])
        most = max(given, key=lambda name: given[name])
        grants.took(most)
        grants.answered(most)
        again = grants.give()
        self.assertEqual(again, [("b", 1)])  # all have one, and it has waited longest
        grants.went("b")
        self.assertEqual(sum(n for _name, n in grants.give()), 2)
        grants.leaving = True
        grants.went(most)
        self.assertEqual(grants.give(), [])
        with self.assertRaises(_wire.BadFrame):
            grants.came("d")
            grants.took("d")

    def test_places_are_two_batches(self) -> None:
        grants = Grants()
        for samples, batch, places in ((4, 64, 33), (1000, 64, 4), (1, 65536, 256)):
            for _ in range(200):
                grants.sized(samples, batch)
            self.assertAlmostEqual(grants.free(), places, delta=1)

    def test_who_does_not_read_gets_no_credit(self) -> None:
        grants = Grants(4)
        grants.came("a")
        grants.offered("a", 4)
        grants.blocked("a", True)
        self.assertEqual(grants.give(), [])
        grants.blocked("a", False)
        self.assertEqual(grants.give(), [("a", 4)])


if __name__ == "__main__":
    unittest.main()
