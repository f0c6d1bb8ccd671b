# SPDX-License-Identifier: Apache-2.0
"""Paddle's RecordIO file: chunks of records with a checksum. shared/recordio.h tells the format.

Files are not trusted: every size is compared with the bytes that are left before it is used.
"""
from __future__ import annotations

import gzip
import os
import struct
import zlib
from typing import BinaryIO, Dict, Iterator, List, Optional, Type

from . import _snappy
from ._call import Error
from ._survey import CHUNK_BYTES_MAX, GZIP, HEADER, MAGIC, NONE, SNAPPY, Head, read_head, survey
from ._sync import sync_folder

LENGTH = struct.Struct("<I")
CHUNK_BYTES = 1 << 20  # of records, where nothing else is said
COMPRESSORS: Dict[str, int] = {"none": NONE, "snappy": SNAPPY, "gzip": GZIP}
_GZIP_WINDOW = 15 + 16  # zlib's way of saying: with the head and the end of gzip
_GZIP_PIECE_BYTES = 64  # of a member, the first time; an empty one has 20


class Damaged(Error):
    """A file is not as it was written: the text names file and offset."""


def begins_chunk(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(4) == LENGTH.pack(MAGIC)


def is_recordio(file: BinaryIO) -> bool:
    """By its first bytes; an empty file is none."""
    return begins_chunk(file, 0)


def _unpack_gzip(stored: memoryview) -> bytes:
    """A file of gzip may have several members, and what zlib leaves behind the end of one is a copy: each is fed by pieces that
    grow with it, so millions of empty ones cost what their bytes do. ValueError, zlib.error."""
    out = bytearray()
    at = 0
    while at < len(stored):
        member = zlib.decompressobj(_GZIP_WINDOW)
        size = _GZIP_PIECE_BYTES
        while not member.eof:
            if at == len(stored):
                raise ValueError("gzip data is cut")
            piece = stored[at:at + size]
            out += member.decompress(piece, CHUNK_BYTES_MAX + 1 - len(out))
            if len(out) > CHUNK_BYTES_MAX:
                raise ValueError("it is too long")
            at += len(piece) - len(member.unused_data)
            size *= 2
    return bytes(out)


def _unpack(head: Head, stored: bytes) -> bytes:
    if head.compressor == NONE:
        return stored
    if head.compressor == SNAPPY:
        return _snappy.unpack(stored, CHUNK_BYTES_MAX)
    if head.compressor != GZIP:
        raise ValueError(f"there is no compressor {head.compressor}")
    return _unpack_gzip(memoryview(stored))


def _split(head: Head, payload: bytes) -> List[bytes]:
    records = []
    at, end = 0, len(payload)
    while at < end:
        if end - at < LENGTH.size:
            raise ValueError("the length of a record is cut")
        (size,) = LENGTH.unpack_from(payload, at)
        at += LENGTH.size
        if size > end - at:
            raise ValueError("a record is cut")
        records.append(payload[at:at + size])
        at += size
    if len(records) != head.records:
        raise ValueError(f"{len(records)} records are there, {head.records} should be")
    return records


def read_chunk(file: BinaryIO, path: str, offset: int) -> List[bytes]:
    """The records of the chunk at offset. Damaged."""
    def damaged(what: str) -> Damaged:
        return Damaged(f"{path}: chunk at offset {offset}: {what}")

    head, what = read_head(file, offset, file.seek(0, os.SEEK_END))
    if what is not None:
        raise damaged(what)
    stored = file.read(head.stored)
    if len(stored) < head.stored:
        raise damaged("the file ends inside the chunk")
    if zlib.crc32(stored) != head.crc:
        raise damaged("the checksum does not match")
    try:
        return _split(head, _unpack(head, stored))
    except (ValueError, zlib.error) as error:
        raise damaged(f"it cannot be unpacked: {error}") from None


class Writer:
    """A RecordIO file: written aside, synced and renamed when it is closed, so a file of that name is whole.

    compress: none, snappy or gzip. A record that takes a chunk beyond chunk_bytes or chunk_records begins the next one.
    """

    def __init__(self, path: str, compress: str = "gzip", chunk_bytes: int = CHUNK_BYTES, chunk_records: Optional[int] = None) -> None:
        if compress not in COMPRESSORS:
            raise ValueError(f"compress is {compress!r}: {', '.join(COMPRESSORS)} are possible")
        self.path = path
        self.n = 0  #: records so far
        self._compressor = COMPRESSORS[compress]
        self._chunk_bytes = min(chunk_bytes, CHUNK_BYTES_MAX // 2)
        self._chunk_records = chunk_records
        self._records: List[bytes] = []
        self._bytes = 0
        folder, name = os.path.split(path)
        self._folder = folder or "."
        self._partial: Optional[str] = os.path.join(folder, f".{name}.{os.getpid()}.partial")  # None: renamed, or removed
        self._file: Optional[BinaryIO] = open(self._partial, "wb")  # None: finished

    def write(self, record: bytes) -> None:
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        if len(record) > CHUNK_BYTES_MAX // 2:
            raise ValueError(f"a record has {len(record)} bytes, {CHUNK_BYTES_MAX // 2} at most are possible")
        if self._bytes + len(record) > self._chunk_bytes or len(self._records) == self._chunk_records:
            self._flush()
        self._records.append(record)
        self._bytes += len(record)
        self.n += 1

    def _flush(self) -> None:
        if not self._records:
            return
        assert self._file is not None
        payload = b"".join(LENGTH.pack(len(record)) + record for record in self._records)
        if self._compressor == SNAPPY:
            payload = _snappy.pack(payload)
        elif self._compressor == GZIP:
            payload = gzip.compress(payload, mtime=0)
        self._file.write(HEADER.pack(MAGIC, zlib.crc32(payload), self._compressor, len(payload), len(self._records)))
        self._file.write(payload)
        self._records, self._bytes = [], 0

    def finish(self) -> None:
        """All is written and synced, and waits for publish. OSError, and nothing is left."""
        if self._file is None:
            return
        try:
            self._flush()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except BaseException:
            self.abort()
            raise
        self._file = None

    def publish(self) -> None:
        """The file gets its name, in place of an earlier one. OSError: it has not got it; or it may lose it with the power."""
        if self._partial is None:
            return
        try:
            os.rename(self._partial, self.path)
        except BaseException:
            self.abort()
            raise
        self._partial = None
        sync_folder(self._folder)

    def close(self) -> None:
        """finish and publish"""
        self.finish()
        self.publish()

    def abort(self) -> None:
        """Nothing is left of it, but a file that is published stays."""
        file, self._file = self._file, None
        partial, self._partial = self._partial, None
        try:
            if file is not None:
                file.close()
        finally:
            if partial is not None:
                os.unlink(partial)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def records(path: str) -> Iterator[bytes]:
    """All records of a file. Damaged."""
    with open(path, "rb") as file:
        found = survey(file)
        for chunk in found.chunks:
            yield from read_chunk(file, path, chunk.offset)
    for gap in found.gaps:
        raise Damaged(gap.told(path, found.file_size))
