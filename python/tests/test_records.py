# SPDX-License-Identifier: Apache-2.0
"""records, cloud_reader and epochs alone: no cluster, the local files."""
import bz2
import gzip
import io
import json
import logging
import lzma
import os
import struct
import sys
import tarfile
import threading
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from records_folder import Folder

import edl
from edl import _files, _recordio


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

    def test_files_that_are_no_text(self) -> None:
        """tests/unit/test_libedl_records.c has the same ones."""
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("a"), io.BytesIO(b""))
        tfrecord = bytes.fromhex("0300000000000000") + struct.pack("<I", 0x0e4999b0) + b"abc" + b"\0" * 4
        for data, why in ((gzip.compress(b"a\nb\n"), "a gzip file.*unpack it"), (bz2.compress(b"a\n"), "a bzip2 file"),
                          (lzma.compress(b"a\n"), "an xz file"), (tar.getvalue(), 'a tar archive.*kind="files"'),
                          (b"PK\3\4\n\0", "a zip archive"), (b"\x93NUMPY\1\0v\0{'descr': '<f4'}\n", "npy.*edl.dataset.convert"),
                          (b"PAR1\x15\0\n", "a parquet file"), (tfrecord, "a TFRecord file"), ("a\nb\n".encode("utf-16"), "UTF-16.*iconv -f UTF-16"),
                          ("a\nb\n".encode("utf-32"), "a text in UTF-32"), ("a\nb\n".encode("utf-16-le"), "zero bytes"),
                          (b"\x89PNG\r\n\x1a\n\0", 'a PNG picture.*kind="files"'), (b"x" * 5000 + b"\n\0", 'zero bytes.*kind="lines"')):
            path = self.path("part-0")
            with open(path, "wb") as file:
                file.write(data)
            for kind in (None, "recordio"):
                with self.subTest(why), self.assertRaisesRegex(edl.NoData, f"part-0 is .*{why}"):
                    list(edl.cloud_reader(self.pattern, kind=kind))
            self.assertEqual(list(edl.cloud_reader(self.pattern, kind="files")), [path])
            self.assertEqual(b"\n".join(edl.cloud_reader(self.pattern, kind="lines")), data[:-1] if data.endswith(b"\n") else data)
        for text in ("PAR1 is a name\n", "ORC\n", "RIFFs\n", "BZh9\n", "\ufeffa\n", "\x1f\n", "ustar\n" * 60):
            self.text("part-0", text)
            self.assertEqual(b"\n".join(edl.cloud_reader(self.pattern)), text[:-1].encode())

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

    def test_tasks_have_as_many_records_as_the_job_says(self) -> None:
        """tests/unit/test_libedl_records.c has the same."""
        self.text("part-0", "one\ntwo\nthree\n")
        self.text("part-1", "four\nfive\nsix")
        with _recordio.Writer(self.path("part-2"), "none", chunk_records=3) as writer:
            for record in (b"a", b"b", b"c", b"d"):
                writer.write(record)
        with mock.patch.dict(os.environ, {"EDL_TASK_RECORDS": "2"}):
            tasks = _files.index(self.pattern).tasks
            self.assertEqual([[chunk.records for chunk in task] for task in tasks], [[2], [1], [2], [1], [3], [1]])
            self.assertEqual(tasks[3][0].offset, 10)
            self.assertEqual(list(edl.cloud_reader(self.path("part-[01]"))), [b"one", b"two", b"three", b"four", b"five", b"six"])
            names = [self.text(f"small-{i:04}", "a\n") for i in range(1500)]
            self.assertEqual({len(task) for task in _files.index(names).tasks}, {1, 2})
        for wrong in ("0", "-1", "two", "\u00b2"):
            with mock.patch.dict(os.environ, {"EDL_TASK_RECORDS": wrong}), self.assertRaisesRegex(edl.NoData, "EDL_TASK_RECORDS"):
                _files.index(self.pattern)

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
        self.assertRegex(told.output[0], "part-0: chunk at offset 25: .*1 record lost")
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


if __name__ == "__main__":
    unittest.main()
