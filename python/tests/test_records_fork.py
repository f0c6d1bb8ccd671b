# SPDX-License-Identifier: Apache-2.0
"""Several processes and one data set without a cluster: workers share it, and a child of a fork is told what to do."""
import collections
import os
import sys
import threading
import types
import unittest
from typing import Any, Callable, List
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from job_agent import Job
from records_folder import Folder

import edl

DEADLINE_S = 120  # a hang


def in_child(work: Callable[[], Any]) -> str:
    """What a forked child says: the result, or the error."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            threading.Thread(target=lambda: (threading.Event().wait(DEADLINE_S), os._exit(1)), daemon=True).start()
            try:
                said = repr(work())
            except edl.Error as error:
                said = str(error)
            os.write(sink, said.encode())
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        said = file.read().decode()
    os.waitpid(child, 0)
    return said


def as_worker(number: int, n: int) -> Any:
    """As a process that a DataLoader of PyTorch has started."""
    info = types.SimpleNamespace(id=number, num_workers=n)
    return mock.patch.dict(sys.modules, {"torch.utils.data": types.SimpleNamespace(get_worker_info=lambda: info)})


class Workers(Folder):
    def shared(self, n: int, **more: Any) -> List[List[Any]]:
        found = []
        for number in range(n):
            with as_worker(number, n):
                found.append(list(edl.cloud_reader(self.pattern, **more)))
        return found

    def test_each_record_comes_once(self) -> None:
        self.text("part-0", "".join(f"{i}\n" for i in range(100)))
        self.framed("part-1", [b"%d" % i for i in range(100, 150)])
        want = collections.Counter(range(150))
        for n in (1, 2, 3, 200):
            decoded: List[bytes] = []

            def decode(record: bytes, decoded: List[bytes] = decoded) -> int:
                decoded.append(record)
                return int(record)

            found = self.shared(n, decode=decode)
            self.assertEqual(collections.Counter(x for one in found for x in one), want)
            self.assertLessEqual(max(map(len, found)) - min(map(len, found)), 1)
            self.assertEqual(len(decoded), 150)  # each by one of them

    def test_of_many_tasks_each_has_its_own(self) -> None:
        for i in range(70):
            self.text(f"part-{i:02}", f"{i}\n")
        read: List[str] = []
        real = open

        def note(path: Any, *more: Any, **named: Any) -> Any:
            read.append(str(path))
            return real(path, *more, **named)

        with mock.patch("edl._files.open", note, create=True):
            for kind in (None, "files"):
                found = self.shared(2, kind=kind)
                self.assertEqual(list(map(len, found)), [35, 35])
                self.assertEqual(len({x for one in found for x in one}), 70)
        self.assertEqual(len([path for path in read if path.endswith("part-07")]), 3)  # by both to find it, by one to read it

    def test_so_do_passes_and_local_readers_of_a_job(self) -> None:
        self.text("part-0", "a\nb\nc\n")
        with as_worker(0, 2):
            self.assertEqual(list(edl.records(self.pattern, passes=2)), [b"a", b"c"] * 2)
        with Job(), as_worker(1, 2):
            self.assertEqual(list(edl.cloud_reader(self.pattern, local=True)), [b"b"])

    @unittest.skipUnless("torch" in sys.modules, "PyTorch is not loaded")
    def test_the_real_ones(self) -> None:
        import torch

        self.text("part-0", "".join(f"{i}\n" for i in range(100)))
        pattern = self.pattern

        class Set(torch.utils.data.IterableDataset):  # type: ignore[misc, type-arg]
            def __iter__(self) -> Any:
                return iter(edl.cloud_reader(pattern, decode=int))

        found = list(torch.utils.data.DataLoader(Set(), num_workers=2, batch_size=None))
        self.assertEqual(collections.Counter(found), collections.Counter(range(100)))


class Forks(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.text("part-0", "".join(f"{i}\n" for i in range(100)))

    def test_an_open_loop_is_the_parents(self) -> None:
        reader = iter(edl.cloud_reader(self.pattern))
        next(reader)
        self.assertRegex(in_child(lambda: next(reader)), "begun in the process that this one was forked from.*begin a loop in the child")
        self.assertRegex(in_child(lambda: list(reader)), "was forked from")
        self.assertEqual(in_child(lambda: reader.close()), "None")  # type: ignore[attr-defined]
        self.assertEqual(in_child(lambda: len(list(edl.cloud_reader(self.pattern)))), "100")
        self.assertEqual(len(list(reader)), 99)

    def test_of_a_job_too_and_nothing_goes_back(self) -> None:
        with Job() as job:
            reader = iter(edl.cloud_reader(self.pattern))
            next(reader)
            for work in (lambda: next(reader), lambda: next(edl.epochs(3)), lambda: next(iter(edl.cloud_reader(self.pattern)))):
                self.assertRegex(in_child(work), "was forked from")
            self.assertEqual(in_child(lambda: reader.close()), "None")  # type: ignore[attr-defined]
            self.assertEqual(job.returned, [])
            self.assertEqual(len(list(reader)), 99)
            self.assertEqual(job.done, [(0, 0)])

    def test_one_reader_is_read_by_one_process_at_a_time(self) -> None:
        reader, passes = edl.cloud_reader(self.pattern), edl.records(self.pattern)
        for one, again in ((iter(reader), lambda: next(iter(reader))), (passes, lambda: next(passes))):
            with one.gi_frame.f_locals["turn"].taken():  # as a loop of this process that has begun
                self.assertRegex(in_child(again), r"another process, a parent or a child.*edl.cloud_reader\(files\[i::n\]\)")
            self.assertEqual(in_child(again), "b'0'")
        self.assertEqual(len(list(reader)), 100)
        self.assertEqual(len(list(zip(reader, reader))), 100)  # two loops of one process
        self.assertEqual(in_child(lambda: len(list(reader))), "100")

    def test_a_fork_while_a_task_is_asked_for(self) -> None:
        """The lock of that question is free in the child."""
        with Job() as job:
            client = edl.client()
            with client._asking:
                job.put([])
                self.assertRegex(in_child(lambda: client._asking.acquire(timeout=1)), "True")


if __name__ == "__main__":
    unittest.main()
