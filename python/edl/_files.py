# SPDX-License-Identifier: Apache-2.0
"""The files of a data set: which they are, how they are cut into tasks, and the records of a piece.

A piece is a Chunk: of a RecordIO file one of its chunks; of a text so many lines from an offset on; where files are
the records, one file.
"""
from __future__ import annotations

import glob
import hashlib
import logging
import os
import stat
import time
from typing import BinaryIO, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _formats, _recordio, _survey
from ._call import Error
from ._file_facts import AGAIN, Changed, check, facts
from ._model import Chunk

LOG = logging.getLogger("edl")
Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
KINDS = ("recordio", "lines", "files")
TASKS_WANTED = 1024  # so many processes still share the work well; the scheduler takes 100000
TASK_BYTES_LEAST = 64 << 10
TASK_BYTES_MOST = 64 << 20
TASK_TEXT_BYTES = 200000  # of a task's chunks as they are sent; the scheduler takes 256 KiB
CHUNK_TEXT_BYTES = 140  # of a chunk beside its path
ESCAPE_BYTES = 6  # \u00e9
BLOCK_BYTES = 1 << 20
TELL_AFTER_S = 5.0
TELL_EACH_S = 30.0


class NoData(Error):
    """The paths name no data set."""


class DataSet(NamedTuple):
    """The pieces of each task, and a name of them all."""

    digest: str
    tasks: List[List[Chunk]]


# ---- which files ----


def _patterns(paths: Paths) -> List[str]:
    if not isinstance(paths, (str, os.PathLike)):
        return [os.fspath(path) for path in paths]
    text = os.fspath(paths)
    if not text:
        return []
    if "," in text and not os.path.exists(text):
        return [part.strip() for part in text.split(",") if part.strip()]
    return [text]


def expand(paths: Paths) -> List[str]:
    """The files that paths name, each once: patterns in the order in which they are given, files of one by name."""
    found: Dict[str, None] = {}
    patterns = _patterns(paths)
    for pattern in patterns:
        plain = os.path.lexists(pattern) or not glob.has_magic(pattern)
        names = [pattern] if plain else sorted(glob.glob(pattern, recursive=True))
        if not names:
            raise NoData(f"no valid dataset specified: no file matches {pattern}", f"look at: ls {pattern}")
        found.update(dict.fromkeys(names))
    if not found:
        raise NoData("no dataset specified", 'name files: edl.cloud_reader("data/train-*"), or submit with --dataset')
    return list(found)


def _size(path: str) -> int:
    try:
        found = os.stat(path)
    except OSError as error:
        raise NoData(f"no valid dataset specified: {path}: {error.strerror}", f"look at: ls -l {path}") from None
    if stat.S_ISDIR(found.st_mode):
        raise NoData(f"{path} is a folder, not a file of records", f"name the files in it: '{path.rstrip('/')}/*'")
    if not stat.S_ISREG(found.st_mode):
        raise NoData(f"{path} is not a regular file", "name files that can be read again from any place")
    return found.st_size


# ---- tasks ----


def _text_bytes(path: str) -> int:
    """Of a path as it is sent, about: other letters than ASCII may become escapes."""
    size = len(os.fsencode(path))
    return size if path.isascii() and path.isprintable() else size * ESCAPE_BYTES


class _Cutter:
    """Makes tasks of pieces, as libedl does. A task ends when it is large, when its text is, or after so many files."""

    def __init__(self, files: int, all_bytes: int, task_records: int = 0) -> None:
        self.tasks: List[List[Chunk]] = []
        self.task_records = task_records  # at most, but of a chunk with more; 0: any number
        self.task_bytes = min(max(all_bytes // TASKS_WANTED, TASK_BYTES_LEAST), TASK_BYTES_MOST)
        self._task_files = -(-files // TASKS_WANTED)
        self._facts = (0, 0)
        self._begin()

    def _begin(self) -> None:
        self._open: List[Chunk] = []
        self.open_bytes = self._open_text = self._open_files = self._open_records = 0

    def end(self) -> None:
        """The pieces since the last end are a task."""
        if self._open:
            self.tasks.append(self._open)
        self._begin()

    def begin_file(self, file: BinaryIO) -> None:
        """What is added now is of this file, as it is now."""
        self._facts = facts(os.fstat(file.fileno()))

    def add(self, path: str, offset: int, records: int, size: int) -> None:
        if self.task_records and self._open_records + records > self.task_records:
            self.end()
        self._open.append(Chunk(path, offset, records, *self._facts))
        self._open_records += records
        self.open_bytes += size
        self._open_text += _text_bytes(path) + CHUNK_TEXT_BYTES
        if self.open_bytes >= self.task_bytes or self._open_text >= TASK_TEXT_BYTES or self._open_records == self.task_records:
            self.end()

    def end_file(self) -> None:
        self._open_files += 1
        if self._open_files >= self._task_files:
            self.end()


def _line_ends(block: bytes, each: bool) -> Iterator[Tuple[int, int]]:
    """The places behind lines in it, and how many lines since the one before: all of them, or the last one."""
    if not each:
        yield block.rfind(b"\n") + 1, block.count(b"\n")
        return
    end = block.find(b"\n") + 1
    while end:
        yield end, 1
        end = block.find(b"\n", end) + 1


def _cut_lines(cutter: _Cutter, file: BinaryIO, path: str) -> None:
    """Pieces that end where a line does."""
    file.seek(0)
    offset = begin = lines = 0
    last = b"\n"
    for block in iter(lambda: file.read(min(BLOCK_BYTES, cutter.task_bytes)), b""):
        for end, more in _line_ends(block, cutter.task_records > 0):
            lines += more
            large = cutter.open_bytes + offset + end - begin >= cutter.task_bytes
            if end and (large or lines == cutter.task_records):
                cutter.add(path, begin, lines, offset + end - begin)
                begin, lines = offset + end, 0
        last = block[-1:]
        offset += len(block)
    if last != b"\n":
        lines += 1  # the last line may lack its end
    if lines:
        cutter.add(path, begin, lines, offset - begin)


def _cut_chunks(cutter: _Cutter, file: BinaryIO, path: str) -> None:
    found = _survey.survey(file)
    for gap in found.gaps:
        LOG.warning("%s", gap.told(path, found.file_size))
    for chunk in found.chunks:
        if chunk.records:
            cutter.add(path, chunk.offset, chunk.records, chunk.size)


def _is_framed(file: BinaryIO, path: str, kind: Optional[str]) -> bool:
    """Also of a file whose first header is damaged: it has chunks further on, and no text has a zero byte where a header has some.
    NoData: it is neither that nor a text. Who says "lines" means lines."""
    if _recordio.is_recordio(file):
        return True
    if kind == "lines":
        return False
    file.seek(0)
    block = file.read(_formats.BLOCK_BYTES)
    other = _formats.known(block, os.fstat(file.fileno()).st_size)
    if other is None and (kind == "recordio" or b"\0" in block[:_survey.HEADER.size]) and _survey.survey(file).chunks:
        return True
    if other is None and b"\0" in block:
        other = _formats.BINARY
    if other is not None:
        raise NoData(f"{path} is {other.name}, and no RecordIO file", other.instead)
    return False


def _cut_file(cutter: _Cutter, path: str, kind: Optional[str]) -> None:
    if kind == "files":
        cutter.add(path, 0, 1, 0)
        cutter.end()
        return
    with open(path, "rb") as file:
        cutter.begin_file(file)
        framed = _is_framed(file, path, kind)
        if kind == "recordio" and not framed and os.path.getsize(path):
            raise NoData(f"{path} is no RecordIO file", f"make one: edl recordio convert {path} --lines --out PREFIX")
        (_cut_chunks if framed and kind != "lines" else _cut_lines)(cutter, file, path)
    cutter.end_file()


def check_kind(kind: Optional[str]) -> None:
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is {kind!r}: {', '.join(KINDS)} are possible, or None, which is recordio or lines by the file")


def task_records() -> int:
    """In a task, as its job says; 0: it says nothing. NoData."""
    said = os.environ.get("EDL_TASK_RECORDS", "")
    if said and not (said.isascii() and said.isdigit() and int(said)):
        raise NoData(f"EDL_TASK_RECORDS is {said!r}, not a number of records", "take it out of the environment")
    return int(said or 0)


def index(paths: Paths, kind: Optional[str] = None) -> DataSet:
    """The tasks of all files, in their order. NoData."""
    check_kind(kind)
    files = expand(paths)
    sizes = [0 if kind == "files" else _size(path) for path in files]
    cutter = _Cutter(len(files), sum(sizes), task_records())
    name = hashlib.sha256()
    began = time.monotonic()
    tell = began + TELL_AFTER_S
    for i, path in enumerate(files):
        try:
            _cut_file(cutter, path, kind)
        except OSError as error:
            raise NoData(f"{path} cannot be read: {error.strerror}", f"look at: ls -l {path}") from None
        now = time.monotonic()
        if now >= tell:
            LOG.warning("finding the records: %d of %d files after %.0f s", i + 1, len(files), now - began)
            tell = now + TELL_EACH_S
    cutter.end()
    if not cutter.tasks:
        raise NoData(f"no valid dataset specified: there is no record in {', '.join(files[:3])}")
    for task in cutter.tasks:
        for chunk in task:
            said = f"{chunk.path}\0{chunk.offset} {chunk.records} {chunk.size} {chunk.mtime_us // 10**6}\n"
            name.update(said.encode("utf-8", "surrogateescape"))
    return DataSet(name.hexdigest(), cutter.tasks)


def check_names(found: DataSet) -> None:
    """That other processes can be told of the files. NoData."""
    for task in found.tasks:
        for chunk in task:
            try:
                chunk.path.encode()
            except UnicodeEncodeError:
                shown = os.fsencode(chunk.path).decode("utf-8", "backslashreplace")
                raise NoData(f"the name of {shown} is not UTF-8, so other processes cannot be told of it",
                             f"give it another name: mv $'{shown}' NAME") from None


# ---- records ----


class Reader:
    """Reads pieces; remembers what each file was like, so one that changes meanwhile is noticed."""

    def __init__(self, kind: Optional[str] = None) -> None:
        check_kind(kind)
        self.kind = kind
        self.lost = self.lost_chunks = 0  #: records of damaged chunks, and these
        self._known: Dict[str, Tuple[int, int, int]] = {}

    def _check(self, file: BinaryIO, chunk: Chunk) -> None:
        path = chunk.path
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise Changed(f"{path} is a folder, not a file of records")
        check(chunk, found)
        now = (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._known.setdefault(path, now) != now:
            raise Changed(f"{path} has changed since this process read it first", AGAIN)

    def _lines(self, file: BinaryIO, chunk: Chunk) -> List[bytes]:
        file.seek(max(chunk.offset - 1, 0))
        if chunk.offset and file.read(1) != b"\n":
            raise Changed(f"{chunk.path} has changed: no line begins at {chunk.offset}", AGAIN)
        lines: List[bytes] = []
        for _ in range(chunk.records):
            line = file.readline()
            if not line:
                raise Changed(f"{chunk.path} has changed: it has {len(lines)} lines from {chunk.offset} on, "
                              f"{chunk.records} were there", AGAIN)
            lines.append(line[:-1] if line.endswith(b"\n") else line)
        return lines

    def _chunk(self, file: BinaryIO, chunk: Chunk) -> List[bytes]:
        """A damaged one is told of, and loses its records and no others."""
        if not chunk.mtime_us and not _recordio.begins_chunk(file, chunk.offset):  # else it is damage, as the file is the same
            raise Changed(f"{chunk.path} has changed: no chunk begins at {chunk.offset}", AGAIN)
        try:
            records = _recordio.read_chunk(file, chunk.path, chunk.offset)
            if len(records) != chunk.records:
                raise Changed(f"{chunk.path} has changed: the chunk at {chunk.offset} has {len(records)} records, "
                              f"{chunk.records} were there", AGAIN)
            return records
        except _recordio.Damaged as error:
            self.lost += chunk.records
            self.lost_chunks += chunk.records > 0
            LOG.warning("%s; %d record%s lost", error, chunk.records, "" if chunk.records == 1 else "s")
            return []

    def records(self, chunk: Chunk) -> List[Union[bytes, str]]:
        """Of one piece. OSError, Changed: it cannot be read."""
        if self.kind == "files":
            return [chunk.path]
        with open(chunk.path, "rb") as file:
            self._check(file, chunk)
            framed = self.kind == "recordio" or (
                self.kind is None and (_recordio.is_recordio(file) or _recordio.begins_chunk(file, chunk.offset))
            )
            return self._chunk(file, chunk) if framed else self._lines(file, chunk)

    def batches(self, chunks: Iterable[Chunk]) -> Iterator[List[Union[bytes, str]]]:
        for chunk in chunks:
            yield self.records(chunk)
