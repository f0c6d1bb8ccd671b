# SPDX-License-Identifier: Apache-2.0
"""Which chunks a RecordIO file has, and which of its bytes no chunk has.

A chunk is found by the size in the head before it. Behind a damaged head the next whole chunk is looked for: a magic
number with a head that can be and a payload whose checksum is right. The same rules stand in shared/recordio_survey.c,
so that both find the same. What is spent on false heads is bounded by the size of the file.
"""
from __future__ import annotations

import os
import struct
import zlib
from typing import BinaryIO, List, NamedTuple, Optional, Tuple

MAGIC = 0x01020304
HEADER = struct.Struct("<5I")  # magic, CRC32 of the stored bytes, compressor, stored bytes, records
CHUNK_BYTES_MAX = 64 << 20  # larger ones are refused
NONE, SNAPPY, GZIP = 0, 1, 2
LENGTH_BYTES = 4  # of the length of a record
_MAGIC_BYTES = struct.pack("<I", MAGIC)
_BLOCK_BYTES_FIRST = 256  # a gap is short where the next chunk is near
_BLOCK_BYTES = 1 << 20
_CHECKED_PER_BYTE = 4  # so often each byte of a file is read for checksums, about


class Head(NamedTuple):
    """Of a chunk, as it stands in the file."""

    magic: int
    crc: int
    compressor: int
    stored: int
    records: int

    def records_can_be(self) -> bool:
        """Each record has a length."""
        return self.records <= (self.stored if self.compressor == NONE else CHUNK_BYTES_MAX) // LENGTH_BYTES


class FileChunk(NamedTuple):
    """Where a chunk begins, how many bytes it takes and how many records it has."""

    offset: int
    size: int
    records: int


class Gap(NamedTuple):
    """Bytes that no chunk has, and what is wrong where they begin."""

    offset: int
    size: int
    records: Optional[int]  # None: it is not known how many there were
    what: str

    def told(self, path: str, file_size: int) -> str:
        if self.offset + self.size == file_size:
            lost = f"the rest of the file is lost, {self.size} bytes"
        else:
            lost = f"{self.size} bytes are lost, up to the next whole chunk"
        if self.records is None:
            records = "an unknown number of records"
        else:
            records = f"{self.records} record{'' if self.records == 1 else 's'}"
        return f"{path}: chunk at offset {self.offset}: {self.what}; {lost}, with {records}"


class Survey(NamedTuple):
    """The chunks of a file and the gaps between them, both in their order; together they are all of its bytes."""

    chunks: List[FileChunk]
    gaps: List[Gap]
    file_size: int


def damage_of(head: Head, room: int) -> Optional[str]:
    """What is wrong with a head. room: bytes of the file behind it."""
    if head.magic != MAGIC:
        return "no chunk starts here (wrong magic number)"
    if head.compressor > GZIP:
        return "unknown compressor"
    if head.stored > CHUNK_BYTES_MAX:
        return "the chunk is larger than 64 MiB"
    if head.stored > room:
        return "the file ends inside the chunk"
    if not head.records_can_be():
        return "more records than the chunk can hold"
    return None


def read_head(file: BinaryIO, offset: int, file_size: int) -> Tuple[Head, Optional[str]]:
    """What stands there, and what is wrong with it; the file is behind it then."""
    file.seek(offset)
    data = file.read(HEADER.size)
    if len(data) < HEADER.size:
        return Head(0, 0, 0, 0, 0), "the file ends inside the header"
    head = Head(*HEADER.unpack(data))
    return head, damage_of(head, file_size - offset - HEADER.size)


class _Surveying:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = file.seek(0, os.SEEK_END)
        self.chunks: List[FileChunk] = []
        self.gaps: List[Gap] = []
        self.n_whole = 0  # the first chunks, whose checksums were seen to be right
        self.budget = _CHECKED_PER_BYTE * self.size + CHUNK_BYTES_MAX  # bytes, for checksums

    def _add_chunk(self, offset: int, head: Head) -> int:
        self.chunks.append(FileChunk(offset, HEADER.size + head.stored, head.records))
        return offset + HEADER.size + head.stored

    def _add_gap(self, begin: int, end: int, what: str, head: Head) -> None:
        """Its records are known where the damaged head leads to the next chunk, or the file was cut in its chunk."""
        claimed = begin + HEADER.size + head.stored
        can_be = head.stored <= CHUNK_BYTES_MAX and head.compressor <= GZIP and head.records_can_be()
        cut = head.magic == MAGIC and end == self.size and claimed > end
        self.gaps.append(Gap(begin, end - begin, head.records if can_be and (claimed == end or cut) else None, what))

    def _is_whole(self, offset: int, head: Head) -> bool:
        left = head.stored
        if left > self.budget:
            self.budget = 0
            return False
        self.budget -= left
        self.file.seek(offset + HEADER.size)
        crc = 0
        while left > 0:
            data = self.file.read(min(left, _BLOCK_BYTES))
            if not data:
                return False
            crc = zlib.crc32(data, crc)
            left -= len(data)
        return crc == head.crc

    def _chunk_at(self, offset: int) -> Optional[Head]:
        head, what = read_head(self.file, offset, self.size)
        return head if what is None and self._is_whole(offset, head) else None

    def _find(self, begin: int) -> Tuple[int, Optional[Head]]:
        """The first whole chunk that begins there or behind it."""
        size = _BLOCK_BYTES_FIRST
        while self.budget > 0 and self.size - begin >= HEADER.size:
            self.file.seek(begin)
            block = self.file.read(min(size, self.size - begin))
            if not block:
                break
            at = block.find(_MAGIC_BYTES)
            while at >= 0 and self.budget > 0:
                head = self._chunk_at(begin + at)
                if head is not None:
                    return begin + at, head
                at = block.find(_MAGIC_BYTES, at + 1)
            begin += max(len(block) - (len(_MAGIC_BYTES) - 1), 1)  # a magic number may lie across two blocks
            size = min(2 * size, _BLOCK_BYTES)
        return self.size, None

    def _pass_damage(self, offset: int, what: str, damaged: Head) -> int:
        """Where to go on. The chunk before is looked through when it is damaged too: its size may have led past whole ones."""
        begin = offset + 1
        if len(self.chunks) > self.n_whole and self._chunk_at(self.chunks[-1].offset) is None:
            begin = self.chunks[-1].offset + 1
        found, head = self._find(begin)
        if found > offset:
            self._add_gap(offset, found, what, damaged)
        else:
            misleading = self.chunks.pop().offset
            self._add_gap(misleading, found, "another chunk begins inside the chunk",
                          read_head(self.file, misleading, self.size)[0])
        if head is None:
            return found
        end = self._add_chunk(found, head)
        self.n_whole = len(self.chunks)
        return end

    def run(self) -> Survey:
        offset = 0
        while offset < self.size:
            head, what = read_head(self.file, offset, self.size)
            offset = self._add_chunk(offset, head) if what is None else self._pass_damage(offset, what, head)
        return Survey(self.chunks, self.gaps, self.size)


def survey(file: BinaryIO) -> Survey:
    """Of an open file that may be damaged. OSError."""
    return _Surveying(file).run()
