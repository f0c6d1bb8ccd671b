# SPDX-License-Identifier: Apache-2.0
"""records, cloud_reader and epochs: alone, and as a process of a job."""
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, Callable, Dict, Iterator, List
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from job_agent import Job

import edl
from edl import _feed, _files, _recordio


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.assertNotIn("EDL_SOCKET", os.environ)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pattern = os.path.join(self.folder, "part-*")
        edl._checkpoints.status = edl.TrainStatus()

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def text(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def framed(self, name: str, records: List[bytes], chunk_bytes: int = 0) -> str:
        with _recordio.Writer(self.path(name), "none", chunk_bytes) as writer:
            for record in records:
                writer.write(record)
        return self.path(name)


class Alone(Folder):
    def test_files_in_order(self) -> None:
        self.framed("part-1", [b"c", b"", b"d"])
        self.text("part-0", "a\nb")
        self.text("part-2", "")
        self.text("part-3", "\r\n\ne\n")
        want = [b"a", b"b", b"c", b"", b"d", b"\r", b"", b"e"]
        reader = edl.cloud_reader(self.pattern)
        self.assertEqual(list(reader), want)
        self.assertEqual(list(reader()), want)
        self.assertEqual(list(edl.records(self.pattern, passes=2)), want * 2)
        self.assertEqual([len(record) for record in edl.cloud_reader(self.pattern, decode=bytes.decode)], list(map(len, want)))
        listed = [self.path("part-3"), self.path("part-0"), self.pattern]
        self.assertEqual(list(edl.cloud_reader(listed)), want[5:] + want[:5])
        self.assertEqual(list(edl.cloud_reader(",".join(listed[:2]))), want[5:] + want[:2])
        self.assertEqual(list(edl.cloud_reader(self.pattern, kind="files")), [self.path(f"part-{i}") for i in range(4)])
        self.assertTrue(edl.elected())
        edl.model_saved("x")

    def test_lines_are_cut_into_tasks(self) -> None:
        lines = [f"line {i} " + "x" * (i % 300) for i in range(3000)]
        path = self.text("part-0", "\n".join(lines) + "\n")
        tasks = _files.index(path).tasks
        self.assertGreaterEqual(len(tasks), 4)
        self.assertEqual(sum(chunk.records for task in tasks for chunk in task), 3000)
        self.assertEqual([r.decode() for r in edl.cloud_reader(path)], lines)
        self.text("part-0", "y" * 300000 + "\nz")  # lines longer than what is read at a time
        self.assertEqual([len(r) for r in edl.cloud_reader(path)], [300000, 1])

    def test_chunks_are_gathered_into_tasks(self) -> None:
        path = self.framed("part-0", [b"x" * 30000] * 20)
        tasks = _files.index(path).tasks
        self.assertEqual([len(task) for task in tasks], [3] * 6 + [2])
        self.assertEqual(_files.index(path).digest, _files.index(path).digest)
        self.assertNotEqual(_files.index(path).digest, _files.index(self.framed("part-1", [b"x"])).digest)

    def test_a_program_in_c_gives_the_same_name(self) -> None:
        """tests/unit/test_libedl_records.c has the same files and the same name."""
        with _recordio.Writer(self.path("part-0"), "none", chunk_records=1) as writer:
            writer.write(b"a")
            writer.write(b"b")
        self.text("m\u00fc", "one\ntwo\n")
        for name in ("part-0", "m\u00fc"):
            os.utime(self.path(name), ns=(0, 1700000000250000000))
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            found = _files.index("part-0,m\u00fc")
        finally:
            os.chdir(before)
        self.assertEqual(found.digest, "0371153b7fd56b5040d419a340c126c3f944c07c2780922fd24a42eb7326d59b")

    def test_a_task_is_no_longer_than_the_scheduler_takes(self) -> None:
        os.mkdir(self.path("long"))
        path = self.framed(os.path.join("long", "\u00fc" * 100), [b"a"] * 4000)
        tasks = _files.index(path).tasks
        self.assertEqual(sum(len(task) for task in tasks), 4000)
        for task in tasks:  # as Client.put_dataset sends it
            sent = json.dumps({"chunks": [chunk.told() for chunk in task]})
            self.assertLess(len(sent), 256 << 10)
        self.assertGreater(len(tasks), 4000 * 600 // (256 << 10))

    def test_many_small_files_share_tasks(self) -> None:
        names = [self.path(f"part-{i:04}") for i in range(1500)]
        for name in names:
            with open(name, "wb") as file:
                file.write(b"a\n")
        for files, lengths in ((1500, [2] * 750), (1024, [1] * 1024)):
            tasks = _files.index(names[:files]).tasks
            self.assertEqual([len(task) for task in tasks], lengths)
            self.assertEqual([chunk.path for task in tasks for chunk in task], names[:files])
        self.assertEqual(len(_files.index(names, "files").tasks), 1500)

    def test_what_is_no_data(self) -> None:
        for paths, why in (([], "no dataset specified"), (None, "no dataset specified"), ("", "no dataset specified"),
                           (self.pattern, "no file matches.*part-"), (self.path("absent"), "absent"),
                           (self.folder, r"is a folder, not a file of records.*/\*"),
                           ("/dev/null", "not a regular file")):
            with self.assertRaisesRegex(edl.NoData, why):
                list(edl.cloud_reader(paths))
        self.text("part-0", "")
        with self.assertRaisesRegex(edl.NoData, "no record in"):
            list(edl.cloud_reader(self.pattern))
        self.text("part-0", "text")
        with self.assertRaisesRegex(edl.NoData, "is no RecordIO file.*edl recordio convert"):
            list(edl.cloud_reader(self.pattern, kind="recordio"))
        with self.assertRaisesRegex(ValueError, "recordio, lines, files"):
            list(edl.cloud_reader(self.pattern, kind="csv"))

    def test_a_damaged_chunk_loses_itself_alone(self) -> None:
        path = self.framed("part-0", [b"a", b"b", b"c"])
        with open(path, "r+b") as file:
            file.seek(25 + 24)
            file.write(b"?")
        with self.assertLogs("edl", logging.WARNING) as told:
            self.assertEqual(list(edl.cloud_reader(path)), [b"a", b"c"])
        self.assertEqual(len(told.output), 1)
        self.assertRegex(told.output[0], "part-0: chunk at offset 25: .*1 records are lost")
        os.truncate(path, 60)
        with self.assertLogs("edl", logging.WARNING) as told:
            self.assertEqual(list(edl.cloud_reader(path)), [b"a"])
        self.assertRegex(told.output[0], "chunk at offset 50: the file ends inside the header; the rest of the file is lost")

    def test_a_file_that_changes(self) -> None:
        reader = _files.Reader()
        path = self.text("part-0", "a\nb\n")
        chunk = edl.Chunk(path, 0, 2)
        self.assertEqual(reader.records(chunk), [b"a", b"b"])
        self.text("part-0", "a\nb\nc\n")
        with self.assertRaisesRegex(edl.Changed, "has changed since.*submit it again"):
            reader.records(chunk)
        for bad, why in ((edl.Chunk(path, 1, 1), "no line begins at 1"), (edl.Chunk(path, 2, 3), "2 lines from 2 on, 3")):
            with self.assertRaisesRegex(edl.Changed, why):
                _files.Reader().records(bad)
        with self.assertRaisesRegex(edl.Changed, "has 1 records, 2 were"):
            _files.Reader().records(edl.Chunk(self.framed("part-1", [b"a"]), 0, 2))
        os.unlink(path)
        with self.assertRaises(FileNotFoundError):
            _files.Reader().records(chunk)

    def test_another_file_is_known_by_who_opens_it_first(self) -> None:
        path = self.framed("part-0", [b"a", b"b"])
        os.utime(path, ns=(0, 1700000000123456789))
        chunks = _files.index(path).tasks[0]
        self.assertEqual({(chunk.size, chunk.mtime_us) for chunk in chunks}, {(50, 1700000000123456)})
        digest = _files.index(path).digest
        os.utime(path, ns=(0, 1700000000 * 10**9))  # a copy by tar
        self.assertEqual(list(_files.Reader().records(chunks[1])), [b"b"])
        os.utime(path, ns=(0, 1700000000654321000))
        with self.assertRaisesRegex(edl.Changed, "part-0 has changed: it had 50 bytes, of 2023-11-14T22:13:20.123456Z, .* and has 50, "
                                                 "of 2023-11-14T22:13:20.654321Z: end the job and submit it again.*cp -p"):
            _files.Reader().records(chunks[1])
        os.utime(path, ns=(0, 1700000001 * 10**9))
        self.assertNotEqual(_files.index(path).digest, digest)
        self.framed("part-0", [b"a", b"b", b"c"])
        os.utime(path, ns=(0, 1700000000123456789))
        with self.assertRaisesRegex(edl.Changed, "it had 50 bytes.* and has 75"):
            _files.Reader().records(chunks[0])
        untold = [edl.Chunk(chunk.path, chunk.offset, chunk.records) for chunk in chunks]  # of an older version
        self.assertEqual(list(_files.Reader().records(untold[0])), [b"a"])

    def test_a_damaged_first_header_makes_no_text_of_the_file(self) -> None:
        path = self.framed("part-0", [b"a", b"b", b"c"])
        self.framed("part-1", [b"d"])
        with open(path, "r+b") as file:
            file.write(b"XXXX")
        for kind in (None, "recordio"):
            with self.assertLogs("edl", logging.WARNING) as told:
                self.assertEqual(list(edl.cloud_reader(self.path("part-*"), kind=kind)), [b"b", b"c", b"d"])
            self.assertRegex(told.output[0], "part-0")

    def test_a_rotten_magic_number_of_a_file_that_is_the_same_loses_its_chunk(self) -> None:
        path = self.framed("part-0", [b"a", b"b", b"c"])
        chunks = [chunk for task in _files.index(path).tasks for chunk in task]
        before = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(chunks[1].offset)
            file.write(b"X")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        reader = _files.Reader()
        with self.assertLogs("edl", logging.WARNING):
            self.assertEqual([list(reader.records(chunk)) for chunk in chunks], [[b"a"], [], [b"c"]])
        self.assertEqual((reader.lost, reader.lost_chunks), (1, 1))

    def test_where_no_chunk_begins_any_more_nothing_is_damaged(self) -> None:
        path = self.framed("part-0", [b"aaaa", b"b"])
        reader = _files.Reader()
        for offset in (24, 1000):
            with self.assertRaisesRegex(edl.Changed, f"part-0 has changed: no chunk begins at {offset}.*submit it again"):
                reader.records(edl.Chunk(path, offset, 1))
        self.assertEqual(reader.lost, 0)

    def test_a_slow_index_is_told_of(self) -> None:
        for i in range(3):
            self.text(f"part-{i}", "a\n")
        before, _files.TELL_AFTER_S = _files.TELL_AFTER_S, 0.0
        try:
            with self.assertLogs("edl", logging.WARNING) as told:
                _files.index(self.pattern)
        finally:
            _files.TELL_AFTER_S = before
        self.assertRegex(told.output[0], "1 of 3 files")
        self.assertEqual(len(told.output), 1)

    def test_threads_end_with_their_loops(self) -> None:
        path = self.text("part-0", "a\n" * 400000)
        for _ in edl.cloud_reader(path):
            break
        for thread in threading.enumerate():
            if thread.name == "edl-feed":
                thread.join(120)
                self.assertFalse(thread.is_alive())

    def test_epochs(self) -> None:
        self.assertEqual(list(edl.epochs(3)), [0, 1, 2])
        edl.save_checkpoint({}, edl.TrainStatus(1), self.path("checkpoint"))
        edl.load_checkpoint(self.path("checkpoint"))
        self.assertEqual(list(edl.epochs(4)), [2, 3])
        self.assertEqual(list(edl.epochs(2)), [])


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
                self.assertRegex(job.failed[0][1], r"(an exception|Error: .*) at test_records.py:\d+.* in the body of the loop")
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

    PROGRAM = "import sys; sys.path[:0] = sys.argv[2:]; import test_records; test_records.Worker.work(sys.argv[1], 0, 1)"

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
