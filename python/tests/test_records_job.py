# SPDX-License-Identifier: Apache-2.0
"""records, cloud_reader and epochs as a process of a job, beside an agent of the test."""
import contextlib
import logging
import os
import signal
import subprocess
import sys
import unittest
from typing import Any, Callable, Dict, Iterator, List
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from job_agent import Job
from records_folder import Folder

import edl
from edl import _feed, _files


class InJob(Folder):
    def files(self, n: int = 5, records: int = 4) -> List[bytes]:
        lines = [f"{i}.{j}" for i in range(n) for j in range(records)]
        for i in range(n):
            self.text(f"part-{i}", "".join(line + "\n" for line in lines[i * records:(i + 1) * records]))
        return [line.encode() for line in lines]

    def test_passes_and_epochs(self) -> None:
        want = self.files()
        with Job(passes=3) as job:
            seen = [(epoch, list(edl.cloud_reader(self.pattern))) for epoch in edl.epochs(3)]
            self.assertEqual(seen, [(0, want), (1, want), (2, want)])
            self.assertEqual(job.done, [(p, task) for p in range(3) for task in range(5)])
            self.assertTrue(edl.elected())
            self.assertEqual(list(edl.epochs(3)), [])
            self.assertEqual(list(edl.cloud_reader(self.pattern)), [])
            self.assertEqual(job.asked.count("PUT /jobs/self/dataset"), 1)
            self.assertFalse(job.failed or job.returned or job.held)

    def test_all_passes(self) -> None:
        want = self.files()
        with Job(passes=2) as job:
            self.assertEqual(list(edl.records(self.pattern, passes=9)), want * 2)
            self.assertEqual(len(job.done), 10)

    def test_a_late_process_goes_on_where_the_others_are(self) -> None:
        want = self.files()
        with Job(passes=4) as job:
            job.put(_files_json(self.pattern))
            job.pass_number = 2
            job.todo = [3, 4]
            seen = [(epoch, list(edl.cloud_reader("not looked at"))) for epoch in edl.epochs(4)]
            self.assertEqual(seen, [(2, want[12:]), (3, want)])

    def test_epochs_without_data(self) -> None:
        with Job() as job:
            self.assertEqual(list(edl.epochs(3)), [0, 1, 2])
            self.assertEqual(set(job.asked), {"GET /jobs/self/dataset"})

    def test_a_job_makes_the_passes_of_its_program(self) -> None:
        want = self.files()
        with Job(passes=None) as job:
            self.assertEqual([list(edl.cloud_reader(self.pattern)) for _ in edl.epochs(3)], [want] * 3)
            self.assertEqual(job.passes, 3)
            self.assertEqual(len(job.done), 15)
        with Job(passes=None) as job:
            self.assertEqual(list(edl.records(self.pattern, passes=2)), want * 2)
        with Job(passes=None) as job:
            self.assertEqual(list(edl.records(self.pattern)), want)
            assert job.dataset is not None
            self.assertNotIn("passes", job.dataset)

    def test_epochs_that_were_done_need_no_passes(self) -> None:
        self.files()
        path = self.path("checkpoint")
        edl.save_checkpoint({"x": 1}, edl.TrainStatus(2), path)
        with Job(passes=None) as job:
            edl.load_checkpoint(path)
            self.assertEqual([epoch for epoch in edl.epochs(5) if list(edl.cloud_reader(self.pattern))], [3, 4])
            self.assertEqual(job.passes, 2)

    def test_endless_epochs(self) -> None:
        self.files()
        with Job(passes=None) as job:
            for _ in edl.epochs(1 << 62):
                list(edl.cloud_reader(self.pattern))
                break
            self.assertEqual(job.passes, 1000000)

    def test_other_passes_are_told_of(self) -> None:
        self.files()
        for passes, says in ((2, True), (2, False), (7, True)):
            with Job(passes=passes) as job, self.assertLogs("edl", logging.WARNING) as told:
                job.says_passes = says
                for i, _ in enumerate(edl.epochs(5)):
                    list(edl.cloud_reader(self.pattern))
                self.assertEqual(i + 1, min(passes, 5))
            self.assertEqual(len(told.output), 1)
            self.assertRegex(told.output[0], f"the job makes {passes} passes.*asks for 5.*--passes 5")
        with Job(passes=2) as job, self.assertLogs("edl", logging.WARNING) as told:
            job.put(_files_json(self.pattern))  # another process was first
            list(edl.records(self.pattern, passes=4))
        self.assertRegex(told.output[0], "makes 2 passes.*asks for 4")
        with Job(passes=None) as job, self.assertLogs("edl", logging.WARNING) as told:
            found, others = _files.index(self.pattern), _files_json(self.pattern)

            def index(*_: Any) -> _files.DataSet:
                job.put(others)  # another process is quicker, with other data
                return found

            with mock.patch.object(_files, "index", index):
                list(edl.records(self.pattern, passes=4))
        self.assertRegex(told.output[0], "another data set")
        self.assertRegex(told.output[1], "makes 1 pass over.*asks for 4")

    def test_a_checkpoint_of_another_job_counts_its_epochs(self) -> None:
        self.files()
        path = self.path("checkpoint")
        edl.save_checkpoint({"x": 1}, edl.TrainStatus(2), path)
        with Job(passes=2):
            assert edl.load_checkpoint(path) is not None
            seen = []
            for epoch in edl.epochs(6):
                seen.append(epoch)
                list(edl.cloud_reader(self.pattern))
                edl.save_checkpoint({"x": 1}, edl.TrainStatus(epoch), path)
            self.assertEqual(seen, [3, 4])  # two passes, behind those of before
        with Job(passes=5) as job:  # another one, in its pass 1 when this process begins again
            edl.load_checkpoint(path)
            for epoch in edl.epochs(9):
                self.assertEqual(epoch, 5)
                list(edl.cloud_reader(self.pattern))
                edl.save_checkpoint({"x": 1}, edl.TrainStatus(epoch), path)
                break
            edl._data = edl.Data(edl.client)
            edl._checkpoints = edl.Checkpoints(edl.client)
            edl.load_checkpoint(path)
            self.assertEqual(next(edl.epochs(9)), 6)
            self.assertEqual(job.pass_number, 1)

    def test_a_late_process_counts_from_a_checkpoint_of_another_job(self) -> None:
        self.files()
        path = self.path("checkpoint")
        edl.save_checkpoint({}, edl.TrainStatus(2), path)
        with Job(passes=4) as job:
            job.put(_files_json(self.pattern))
            job.pass_number = 2
            edl.load_checkpoint(path)
            self.assertEqual([epoch for epoch in edl.epochs(9) if list(edl.cloud_reader(self.pattern))], [5, 6])

    def test_a_record_is_done_when_the_next_one_is_asked_for(self) -> None:
        self.files(2, 2)
        with Job() as job:
            reader = iter(edl.cloud_reader(self.pattern))
            self.assertEqual([next(reader), next(reader)], [b"0.0", b"0.1"])
            job.wait_for("POST /jobs/self/tasks/lease", 2)  # the next task is fetched meanwhile
            self.assertEqual(job.done, [])
            self.assertEqual(next(reader), b"1.0")
            self.assertEqual(job.done, [(0, 0)])
            self.assertEqual(list(reader), [b"1.1"])
            self.assertEqual(job.done, [(0, 0), (0, 1)])

    def test_no_more_than_the_next_task_is_held(self) -> None:
        self.files(6, 1)
        with Job(passes=2) as job:
            for _ in edl.cloud_reader(self.pattern):
                self.assertLessEqual(len(job.held), 2)
            # one of the next pass, which so waits for this process
            self.assertFalse(job.comes(lambda: job.pass_number == 1 and len(job.held) > 1, 0.3))
            self.assertEqual((job.pass_number, len(job.held)), (1, 1))

    def test_who_leaves_the_loop_gives_back(self) -> None:
        want = self.files()
        with Job() as job:
            reader = iter(edl.cloud_reader(self.pattern))
            for _ in range(5):
                next(reader)
            job.wait_for("POST /jobs/self/tasks/lease", 3)
            reader.close()  # type: ignore[attr-defined]
            self.assertEqual(job.done, [(0, 0)])
            self.assertIn(1, job.returned)
            self.assertEqual(sorted(edl.cloud_reader(self.pattern)), want[4:])
            self.assertEqual(sorted(job.done), [(0, task) for task in range(5)])
            self.assertEqual(job.failed, [])

    def loops(self, job: Job) -> Dict[str, Callable[[], None]]:
        """Loops that an exception leaves behind the first record, when the next task is there too."""

        def wait() -> None:
            job.wait_for("POST /jobs/self/tasks/lease", 2)

        def plain() -> None:
            for record in edl.cloud_reader(self.pattern):
                wait()
                raise KeyError(record)

        def of_python_itself() -> None:
            for record in edl.cloud_reader(self.pattern):
                wait()
                int(record + b"x")

        def in_a_generator() -> None:
            def numbers() -> Iterator[int]:
                for record in edl.cloud_reader(self.pattern):
                    wait()
                    yield int(record + b"x")
            sum(numbers())

        def around_a_generator() -> None:
            def all_records() -> Iterator[bytes]:
                for record in edl.cloud_reader(self.pattern):
                    yield record
            for record in all_records():
                wait()
                int(record + b"x")

        return {loop.__name__: loop for loop in (plain, of_python_itself, in_a_generator, around_a_generator)}

    def test_an_exception_in_the_body_of_a_loop_fails_its_task(self) -> None:
        want = self.files()
        for name in ("plain", "of_python_itself", "in_a_generator", "around_a_generator"):
            with self.subTest(name), Job() as job:
                with self.assertRaises((KeyError, ValueError)):
                    self.loops(job)[name]()
                self.assertTrue(job.comes(lambda job=job: job.returned == [1], 120))  # the next one, which was not begun
                self.assertEqual(sorted(edl.cloud_reader(self.pattern)), want[4:])  # the program goes on
                self.assertEqual([task for task, _ in job.failed], [0])
                self.assertRegex(job.failed[0][1], r"(an exception|Error: .*) at test_records_job.py:\d+.* in the body of the loop")
                self.assertEqual(sorted(job.done), [(0, task) for task in range(1, 5)])

    def test_who_leaves_on_purpose_fails_nothing(self) -> None:
        self.files()

        def a_break() -> None:
            for _ in edl.cloud_reader(self.pattern):
                with contextlib.suppress(KeyError):
                    raise KeyError
                break

        def a_return() -> None:
            for _ in edl.cloud_reader(self.pattern):
                return

        def around_a_generator() -> None:
            def all_records() -> Iterator[bytes]:
                for record in edl.cloud_reader(self.pattern):
                    yield record
            for _ in all_records():
                break

        def a_variable() -> None:
            records = iter(edl.cloud_reader(self.pattern))
            next(records)

        def in_a_handler() -> None:
            try:
                raise KeyError
            except KeyError:
                a_break()

        for leave in (a_break, a_return, around_a_generator, a_variable, in_a_handler):
            with self.subTest(leave.__name__), Job() as job:
                leave()
                self.assertIn(0, job.returned)
                self.assertEqual((job.failed, job.done), ([], []))

    def program(self, body: str) -> "subprocess.CompletedProcess[str]":
        text = f"import sys, signal, edl\nfor record in edl.cloud_reader({self.pattern!r}):\n    {body}\n"
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(edl.__file__))})

    def test_an_exception_that_ends_the_program_is_told_in_its_words(self) -> None:
        self.files()
        for body in ("raise KeyError('no sample')", "records = [record]; int('no sample')"):
            with self.subTest(body), Job() as job:
                found = self.program(body)
                self.assertEqual(found.returncode, 1)
                self.assertRegex(found.stderr, "Traceback.*\n.*<string>.*line 3")
                self.assertEqual([task for task, _ in job.failed], [0])
                self.assertRegex(job.failed[0][1], r"^(Key|Value)Error: .*no sample.* at <string>:3 in the body of the loop$")
                self.assertEqual(job.returned.count(0), 0)

    def test_a_loop_in_a_variable_fails_its_task_too(self) -> None:
        self.files()
        with Job() as job:
            text = f"import edl\nrecords = iter(edl.cloud_reader({self.pattern!r}))\nint(next(records) + b'x')\n"
            found = subprocess.run([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                                   env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(edl.__file__))})
            self.assertEqual(found.returncode, 1)
            self.assertEqual([task for task, _ in job.failed], [0])
            self.assertRegex(job.failed[0][1], "^ValueError: invalid literal")

    def test_what_ends_the_program_in_the_body_fails_nothing(self) -> None:
        self.files()
        for body, status in (("sys.exit(0)", 0), ("raise SystemExit(4)", 4), ("raise KeyboardInterrupt", -signal.SIGINT),
                             ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
                             ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); signal.raise_signal(signal.SIGTERM)", 3)):
            with self.subTest(body), Job() as job:
                self.assertEqual(self.program(body).returncode, status)
                self.assertEqual((job.failed, job.done), ([], []))
                if status == -signal.SIGINT:  # what exits by itself gives back with its end
                    self.assertIn(0, job.returned)

    def test_a_record_that_cannot_be_decoded_fails_its_task(self) -> None:
        want = self.files()
        for why in (KeyError, edl.Error, StopIteration):
            def decode(record: bytes, why: Any = why) -> bytes:
                if record == b"1.2":
                    raise why(f"no sample: {record!r}")
                return record
            with Job() as job:
                with self.assertRaises(RuntimeError if why is StopIteration else why):
                    list(edl.cloud_reader(self.pattern, decode=decode))
                self.assertEqual([task for task, _ in job.failed], [1])
                self.assertRegex(job.failed[0][1], f"decode: {why.__name__}: .*no sample: b.1.2")
                self.assertNotIn(1, job.returned)
                # the job goes on without it
                self.assertEqual(sorted(edl.cloud_reader(self.pattern, decode=decode)), want[8:])
                self.assertEqual(sorted(job.done), [(0, task) for task in (0, 2, 3, 4)])

    def test_what_ends_the_program_in_decode_gives_back(self) -> None:
        self.files()
        for why in (SystemExit, KeyboardInterrupt):
            with Job() as job, mock.patch.object(sys, "is_finalizing", return_value=False):
                with self.assertRaises(why):
                    list(edl.cloud_reader(self.pattern, decode=mock.Mock(side_effect=why)))
                self.assertEqual((job.failed, job.done), ([], []))
                self.assertIn(0, job.returned)

    def test_a_task_of_somebody_else(self) -> None:
        want = self.files()
        with Job() as job, self.assertLogs("edl", logging.WARNING) as told:
            job.stale = [1]
            self.assertEqual(list(edl.cloud_reader(self.pattern)), want)
            self.assertEqual(job.done, [(0, 0), (0, 2), (0, 3), (0, 4)])
        self.assertRegex(told.output[0], "another process's")

    def test_what_a_damaged_chunk_loses_is_told_with_the_end_of_its_task(self) -> None:
        for name, records in (("part-0", [b"a"]), ("part-1", [b"b", b"c", b"d"]), ("part-2", [b"e"])):
            self.framed(name, records)
        with Job() as job:
            job.put(_files_json(self.pattern))
            with open(self.path("part-1"), "r+b") as file:
                for at in (24, 50 + 24):  # b and d
                    file.seek(at)
                    file.write(b"?")
            with self.assertLogs("edl", logging.WARNING):
                self.assertEqual(list(edl.cloud_reader(self.pattern)), [b"a", b"c", b"e"])
            self.assertEqual(job.done, [(0, 0), (0, 1), (0, 2)])
            self.assertEqual(job.lost, {1: (2, 2)})

    def test_no_more_is_lost_than_a_task_has(self) -> None:
        with Job() as job:
            job.put([{"chunks": [{"path": "x", "offset": i, "records": 10} for i in range(2)]}])
            task = edl.client().next_task()
            task.lost(4)
            for records, chunks in ((17, 1), (1, 2), (-1, 1), (1, 0), (0, 1)):
                with self.assertRaisesRegex(ValueError, "a task of 20 records in 2 chunks, of which 4 in 1 are"):
                    task.lost(records, chunks)
            task.lost(10)
            self.assertTrue(task.done())
            self.assertEqual(job.lost, {0: (14, 2)})

    def test_a_file_that_is_replaced_before_it_is_opened_fails_its_task(self) -> None:
        for i in range(3):
            self.framed(f"part-{i}", [b"a", b"b"])
        with Job() as job:
            found = _files.index(self.pattern)
            job.put([{"chunks": [chunk.told() for chunk in task]} for task in found.tasks])
            self.framed("part-1", [b"other"] * 2)
            with self.assertLogs("edl", logging.WARNING) as told:
                self.assertEqual(list(edl.cloud_reader(self.pattern)), [b"a", b"b"] * 2)
            self.assertEqual([task for task, _ in job.failed], [1])
            self.assertRegex(job.failed[0][1], "part-1 has changed: it had 50 bytes, of .* and has 58, of")
            self.assertRegex(told.output[0], "tried elsewhere.*part-1")
            self.assertEqual(job.lost, {})

    def test_a_file_that_vanishes_fails_its_task(self) -> None:
        want = self.files()
        with Job() as job:
            job.put(_files_json(self.pattern))
            os.unlink(self.path("part-2"))
            with self.assertLogs("edl", logging.WARNING) as told:
                self.assertEqual(list(edl.cloud_reader(self.pattern)), want[:8] + want[12:])
            self.assertEqual([task for task, _ in job.failed], [2])
            self.assertRegex(job.failed[0][1], "part-2")
            self.assertRegex(told.output[0], "part-2")

    def test_a_machine_without_the_data_ends_its_process(self) -> None:
        self.files(10)
        with Job() as job:
            job.put(_files_json(self.pattern))
            for i in range(10):
                os.unlink(self.path(f"part-{i}"))
            with self.assertRaisesRegex(edl.Error, "4 tasks one after the other.*mount the data"), self.assertLogs("edl"):
                list(edl.cloud_reader(self.pattern))
            self.assertEqual(len(job.failed), _feed.UNREADABLE_MOST)

    def test_a_name_that_is_no_text(self) -> None:
        self.files()
        os.rename(self.path("part-3"), os.fsencode(self.path("part-")) + b"\xff3")
        self.assertEqual(len(list(edl.records(self.pattern))), 20)
        with Job() as job:
            with self.assertRaisesRegex(edl.NoData, r"part-\\xff3 is not UTF-8.*mv"):
                list(edl.cloud_reader(self.pattern))
            self.assertIsNone(job.dataset)

    def test_who_asks_is_told_by_the_scheduler(self) -> None:
        """Which then knows that a model is owed. Before the end there is nothing to ask; the one that saves asks once."""
        self.files()
        call = "POST /jobs/self/save-model"
        for saver, times in ((True, 1), (False, 2), (None, 2)):
            with Job() as job:
                job.saver = saver
                self.assertFalse(edl.elected())
                self.assertNotIn(call, job.asked)
                list(edl.cloud_reader(self.pattern))
                for _ in range(2):
                    self.assertEqual(edl.elected(), saver is not False)
                self.assertEqual(job.asked.count(call), times)

    def test_one_data_set(self) -> None:
        self.files()
        with Job(passes=2):
            list(edl.cloud_reader(self.pattern))
            with self.assertRaisesRegex(edl.Error, "local=True"):
                list(edl.cloud_reader(self.path("part-1")))
            self.assertEqual(len(list(edl.cloud_reader(self.path("part-1"), local=True))), 4)

    def test_one_loop_of_one_process(self) -> None:
        want = self.files()
        with Job() as job:
            reader = iter(edl.cloud_reader(self.pattern))
            next(reader)
            with self.assertRaisesRegex(edl.Error, "another loop of this process"):
                next(iter(edl.cloud_reader(self.pattern)))
            with mock.patch.object(os, "getpid", return_value=1), self.assertRaisesRegex(edl.Error, "was forked from"):
                next(iter(edl.cloud_reader(self.pattern)))
            self.assertEqual(list(reader), want[1:])
            self.assertEqual(len(job.done), 5)

    def test_workers_are_refused_what_another_one_takes(self) -> None:
        want = self.files()
        for fork in (True, False):
            with Job() as job:
                first, other = (Worker(self.pattern, fork) for _ in range(2))
                self.assertEqual(first.ask(), repr(want[0]))
                self.assertRegex(other.ask(), "another process.*num_workers=0")
                with self.assertRaisesRegex(edl.Error, "another process.*num_workers=0"):
                    next(iter(edl.cloud_reader(self.pattern)))
                with self.assertRaisesRegex(edl.Error, "another process"):
                    next(edl.epochs(3))
                other.end()
                first.end()
                left = Worker(self.pattern, fork)  # as one that a DataLoader starts for the next epoch
                self.assertEqual(left.ask(), repr(want[0]))
                left.end()
                with mock.patch.dict(os.environ, EDL_INDEX="1"):  # another process of the job on the same machine
                    first = Worker(self.pattern, fork)
                    self.assertEqual(first.ask(), repr(want[0]))
                self.assertEqual(next(iter(edl.cloud_reader(self.pattern))), want[0])
                first.end()
                self.assertEqual(job.asked.count("PUT /jobs/self/dataset"), 1)

    def test_where_no_lock_is_possible_records_come_with_a_warning(self) -> None:
        want = self.files()
        with Job(), mock.patch.dict(os.environ, EDL_OUTPUT_DIR=self.path("absent")):
            with self.assertLogs("edl", logging.WARNING) as told:
                self.assertEqual(list(edl.cloud_reader(self.pattern)), want)
        self.assertRegex(told.output[0], "cannot be seen.*absent")

    def test_what_is_wrong_with_the_queue_is_raised(self) -> None:
        self.files()
        with Job() as job:
            def refuse(_: Any) -> Any:
                return 409, {"detail": "a newer process has the place"}
            job._lease = refuse  # type: ignore[method-assign]
            with self.assertRaisesRegex(edl.Stale, "newer process"):
                list(edl.cloud_reader(self.pattern))


class Worker:
    """A process of the same environment, forked or begun anew, which reads a record when it is asked to."""

    PROGRAM = "import sys; sys.path[:0] = sys.argv[2:]; import test_records_job; test_records_job.Worker.work(sys.argv[1], 0, 1)"

    def __init__(self, pattern: str, fork: bool) -> None:
        asked, self._ask = os.pipe()
        self._said, said = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            if fork:
                self.work(pattern, asked, said)
            os.dup2(asked, 0)
            os.dup2(said, 1)
            folders = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(edl.__file__))]
            os.execv(sys.executable, [sys.executable, "-c", self.PROGRAM, pattern] + folders)
        os.close(asked)
        os.close(said)

    @staticmethod
    def work(pattern: str, asked: int, said: int) -> None:
        reader = iter(edl.cloud_reader(pattern))
        while os.read(asked, 1):
            try:
                os.write(said, repr(next(reader)).encode())
            except edl.Error as error:
                os.write(said, str(error).encode())
        os._exit(0)

    def ask(self) -> str:
        os.write(self._ask, b"?")
        return os.read(self._said, 4096).decode()

    def end(self) -> None:
        os.close(self._ask)
        os.close(self._said)
        os.waitpid(self._pid, 0)


def _files_json(pattern: str) -> List[Any]:
    return [{"chunks": [{"path": c.path, "offset": c.offset, "records": c.records} for c in task]}
            for task in _files.index(pattern).tasks]


if __name__ == "__main__":
    unittest.main()


if __name__ == "__main__":
    unittest.main()
