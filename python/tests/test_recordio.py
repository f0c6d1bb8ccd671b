# SPDX-License-Identifier: Apache-2.0
"""RecordIO in Python: the bytes of the Go tools, what they compress, and files that are not whole."""
import gzip
import io
import os
import random
import tempfile
import unittest
import zlib
from typing import Any, List, Optional
from unittest import mock

from edl import _recordio, _snappy, _survey

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/fuzz/corpus/recordio")
GOLDEN = bytes.fromhex("04030201837e47590000000013000000020000000500000048656c6c6f06000000576f726c6421")


def all_of(path: str) -> List[bytes]:
    return list(_recordio.records(path))


class Test(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "records")

    def write(self, records: List[bytes], compress: str = "none", chunk_bytes: int = 1000) -> None:
        with _recordio.Writer(self.path, compress, chunk_bytes) as writer:
            for record in records:
                writer.write(record)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["records"])

    def test_golden_bytes(self) -> None:
        self.write([b"Hello", b"World!"])
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), GOLDEN)

    def test_all_compressors(self) -> None:
        random.seed(3)
        words = [bytes(random.choices(b"abcde \n", k=random.randrange(60))) for _ in range(500)]
        noise = [random.randbytes(random.randrange(3000)) for _ in range(80)]
        for records in ([], [b""], [b""] * 5, words, noise, [b"a" * 200000, b"", b"b"], words + noise):
            for compress in _recordio.COMPRESSORS:
                for chunk_bytes in (0, 1000, 1 << 20):
                    self.write(records, compress, chunk_bytes)
                    self.assertEqual(all_of(self.path), records)

    def test_chunks(self) -> None:
        self.write([bytes(i) for i in range(1, 1001)], chunk_bytes=0)
        with open(self.path, "rb") as file:
            found = _survey.survey(file)
        self.assertEqual(found.gaps, [])
        self.assertEqual(len(found.chunks), 1000)
        self.write([])
        self.assertEqual(os.path.getsize(self.path), 0)
        self.assertEqual(all_of(self.path), [])

    @unittest.skipUnless(os.path.isdir(CORPUS), "the stored files are not here")
    def test_files_of_others(self) -> None:
        plain = all_of(os.path.join(CORPUS, "plain"))
        self.assertTrue(plain)
        for name in ("snappy", "snappy-plain", "gzip", "gzip-two-members", "two-chunks"):
            self.assertTrue(all_of(os.path.join(CORPUS, name)), name)
        for name in ("gzip-cut", "snappy-bad-offset", "short"):
            with self.assertRaisesRegex(_recordio.Damaged, name):
                all_of(os.path.join(CORPUS, name))

    def test_damage_is_named(self) -> None:
        self.write([b"x" * 600, b"y" * 600, b"z" * 600])
        with open(self.path, "r+b") as file:
            file.seek(700)
            file.write(b"?")
            with self.assertRaisesRegex(_recordio.Damaged, "records: chunk at offset 624: the checksum does not match"):
                _recordio.read_chunk(file, self.path, 624)
            self.assertEqual(_recordio.read_chunk(file, self.path, 1248), [b"z" * 600])
            file.truncate(1300)
            found = _survey.survey(file)
            self.assertEqual([chunk.offset for chunk in found.chunks], [0, 624])
            self.assertEqual(found.gaps, [(1248, 52, 1, "the file ends inside the chunk")])
            self.assertEqual(found.gaps[0].told("F", 1300), "F: chunk at offset 1248: the file ends inside the chunk; "
                                                            "the rest of the file is lost, 52 bytes, with 1 record")

    def survey_of(self, data: bytes) -> Any:
        found = _survey.survey(io.BytesIO(data))
        parts = sorted([(c.offset, c.size) for c in found.chunks] + [(g.offset, g.size) for g in found.gaps])
        at = 0
        for offset, size in parts:  # they are all of its bytes
            self.assertEqual(offset, at)
            at += size
        self.assertEqual(at, len(data))
        return [c.offset for c in found.chunks], [(g.offset, g.size, g.records) for g in found.gaps]

    def test_chunks_behind_a_damaged_head_are_found(self) -> None:
        self.write([b"x" * 600, b"y" * 600, b"z" * 600])
        with open(self.path, "rb") as file:
            whole = file.read()
        rows = (
            (624, b"?", ([0, 1248], [(624, 624, 1)])),  # no magic number
            (632, b"?", ([0, 1248], [(624, 624, None)])),  # an unknown compressor: nothing of the head is believed
            (636, b"\x50", ([0, 624, 1248], [(1236, 12, None)])),  # less than it is: its rest is nobody's
            (637, b"\x04", ([0, 1248], [(624, 624, None)])),  # so much that the next head is passed over
            (639, b"\xff", ([0, 1248], [(624, 624, None)])),  # more than 64 MiB
            (643, b"\xff", ([0, 1248], [(624, 624, None)])),  # more records than bytes
            (0, b"?", ([624, 1248], [(0, 624, 1)])),
            (1248, b"?", ([0, 624], [(1248, 624, 1)])),
        )
        for at, change, want in rows:
            changed = whole[:at] + change + whole[at + 1:]
            self.assertEqual(self.survey_of(changed), want, at)
        self.assertEqual(self.survey_of(whole[:624] + b"abc" + whole[624:]), ([0, 627, 1251], [(624, 3, None)]))
        self.assertEqual(self.survey_of(whole[:700] + whole[1248:]), ([0, 700], [(624, 76, None)]))
        self.assertEqual(self.survey_of(whole[:624] + b"\0" * 5000 + whole[1248:]), ([0, 5624], [(624, 5000, None)]))
        self.assertEqual(self.survey_of(b"no file of records" * 50), ([], [(0, 900, None)]))

    def test_false_heads_cost_what_their_file_does(self) -> None:
        head = _recordio.HEADER.pack(_recordio.MAGIC, 1, 0, 1 << 20, 0)
        data = b"?" + head * 100000 + b"\0" * (1 << 20)
        read = 0

        class Counting(io.BytesIO):
            def read(self, size: Optional[int] = -1) -> bytes:
                nonlocal read
                found = super().read(size)
                read += len(found)
                return found

        found = _survey.survey(Counting(data))
        self.assertEqual([(gap.offset, gap.size) for gap in found.gaps], [(0, len(data))])
        self.assertLess(read, 10 * len(data) + _survey.CHUNK_BYTES_MAX)

    def test_whatever_bytes_are_no_trap(self) -> None:
        """Each changed byte is noticed, or gives other records; nothing else is raised."""
        random.seed(5)
        for compress in _recordio.COMPRESSORS:
            self.write([b"abc" * 20, b"", b"abc" * 20], compress)
            with open(self.path, "rb") as file:
                whole = file.read()
            for at in range(len(whole)):
                changed = bytearray(whole)
                changed[at] ^= 1 << random.randrange(8)
                try:
                    _recordio.read_chunk(io.BytesIO(bytes(changed)), "changed", 0)
                except _recordio.Damaged:
                    continue
                self.fail(f"{compress}: byte {at} was changed unnoticed")
            for length in range(1, len(whole)):
                with self.assertRaises(_recordio.Damaged):
                    _recordio.read_chunk(io.BytesIO(whole[:length]), "cut", 0)

    def test_unpacked_blocks_are_checked(self) -> None:
        """Behind a right checksum anything may come."""
        random.seed(7)
        good = _snappy.pack(b"abcabcabcabcabcabc" * 9)
        for _ in range(3000):
            bad = bytearray(good)
            for _ in range(random.randrange(1, 4)):
                bad[random.randrange(len(bad))] = random.randrange(256)
            try:
                self.assertLessEqual(len(_snappy.unpack(bytes(bad), 1000)), 1000)
            except ValueError:
                pass
        # copies that overlap, a length of three bytes, an offset of four
        self.assertEqual(_snappy.unpack_block(b"\x05\x00a\x01\x01"), b"aaaaa")
        self.assertEqual(_snappy.unpack_block(b"\x05\x00a\x0f\x01\x00\x00\x00"), b"aaaaa")
        for bad_block in (b"", b"\x05", b"\x05\x00a\x01\x02", b"\x05\x00a\x01", b"\x80\x80\x80\x01", b"\xff\xff\x7f"):
            self.assertRaises(ValueError, _snappy.unpack_block, bad_block)
        with self.assertRaisesRegex(ValueError, "too long"):
            _snappy.unpack(_snappy.pack(b"a" * 1001), 1000)
        self.assertEqual(_snappy.masked_crc32c(b"123456789"), (0xE3069283 >> 15 | 0xE3069283 << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF)

    def test_what_grows_too_large_is_refused(self) -> None:
        self.write([b"\0" * (20 << 20)] * 4, "gzip", 80 << 20)
        self.assertEqual(len(all_of(self.path)), 4)  # chunks were cut smaller than was asked for
        stored = gzip.compress(b"\0" * (65 << 20))
        head = _recordio.HEADER.pack(_recordio.MAGIC, zlib.crc32(stored), 2, len(stored), 1)
        with self.assertRaisesRegex(_recordio.Damaged, "too long"):
            _recordio.read_chunk(io.BytesIO(head + stored), "bomb", 0)

    def test_many_members_of_gzip_cost_what_their_bytes_do(self) -> None:
        empty = gzip.compress(b"", mtime=0)
        record = _recordio.LENGTH.pack(70000) + random.Random(9).randbytes(70000)
        stored = empty * 2000 + gzip.compress(record[:100]) + empty * 2000 + gzip.compress(record[100:]) + empty
        head = _recordio.HEADER.pack(_recordio.MAGIC, zlib.crc32(stored), _recordio.GZIP, len(stored), 1)
        fed: List[int] = []
        real = zlib.decompressobj

        class Counting:
            def __init__(self, wbits: int) -> None:
                self._part = real(wbits)

            def decompress(self, data: bytes, most: int) -> bytes:
                fed.append(len(data))
                return self._part.decompress(data, most)

            def __getattr__(self, name: str) -> Any:
                return getattr(self._part, name)

        with mock.patch.object(_recordio.zlib, "decompressobj", Counting):
            self.assertEqual(_recordio.read_chunk(io.BytesIO(head + stored), "members", 0), [record[4:]])
        self.assertLess(sum(fed), 8 * len(stored))
        for length in (len(stored) - 1, len(stored) - len(empty) - 1, 5):
            cut = stored[:length]
            head = _recordio.HEADER.pack(_recordio.MAGIC, zlib.crc32(cut), _recordio.GZIP, len(cut), 1)
            with self.assertRaisesRegex(_recordio.Damaged, "gzip data is cut"):
                _recordio.read_chunk(io.BytesIO(head + cut), "cut", 0)

    def test_a_file_is_out_of_sight_until_it_is_whole(self) -> None:
        """No pattern of a reader takes in what is being written; a loss of power behind close takes nothing back."""
        done: List[str] = []
        folder = os.path.dirname(self.path)
        real_rename, real_fsync = os.rename, os.fsync

        def rename(source: str, target: str) -> None:
            done.append(f"rename {os.path.basename(target)}")
            real_rename(source, target)

        def fsync(fd: int) -> None:
            done.append(f"sync {os.path.basename(os.readlink(f'/proc/self/fd/{fd}'))}")
            real_fsync(fd)

        with mock.patch.multiple(os, rename=rename, fsync=fsync):
            with _recordio.Writer(self.path) as writer:
                writer.write(b"x")
                partial = f".records.{os.getpid()}.partial"
                self.assertEqual(os.listdir(folder), [partial])
        self.assertEqual(done, [f"sync {partial}", "rename records", f"sync {os.path.basename(folder)}"])
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        with _recordio.Writer("here") as writer:  # a name without a folder
            writer.write(b"x")
        self.assertEqual(sorted(os.listdir(folder)), ["here", "records"])

    def test_nothing_is_left_of_what_failed(self) -> None:
        with self.assertRaises(KeyError):
            with _recordio.Writer(self.path) as writer:
                writer.write(b"x")
                raise KeyError
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [])
        self.assertRaises(ValueError, writer.write, b"y")
        self.assertRaisesRegex(ValueError, "none, snappy, gzip", _recordio.Writer, self.path, "lz4")


if __name__ == "__main__":
    unittest.main()
