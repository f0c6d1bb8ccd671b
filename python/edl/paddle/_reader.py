# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.reader and paddle.v2.batch: functions that return iterators over samples, and what they become."""
from __future__ import annotations

import itertools
import random
from typing import Any, Callable, Iterator, List

import edl
import edl.dataset

from ._errors import ConfigError, checked, without_effect

Reader = Callable[[], Iterator[Any]]


class ComposeNotAligned(ValueError):
    """The readers of compose() do not have the same number of samples."""


@checked
def batch(reader: Reader, batch_size: int) -> Reader:
    """Lists of batch_size samples; the last one may be shorter."""
    if not isinstance(batch_size, int) or batch_size < 1:
        raise ConfigError(f"batch_size is {batch_size!r}", "a whole number of at least 1 is possible")

    def read() -> Iterator[List[Any]]:
        samples = iter(reader())
        yield from iter(lambda: list(itertools.islice(samples, batch_size)), [])
    return read


@checked
def shuffle(reader: Reader, buf_size: int) -> Reader:
    """Samples in another order: so many are gathered, shuffled and given away, again and again."""
    def read() -> Iterator[Any]:
        samples = iter(reader())
        while True:
            held = list(itertools.islice(samples, buf_size))
            if not held:
                return
            random.shuffle(held)
            yield from held
    return read


@checked
def buffered(reader: Reader, size: int) -> Reader:
    """The reader itself: its samples are all read before the training begins."""
    without_effect("reader.buffered: size", "all samples are read before the training begins")
    return reader


@checked
def firstn(reader: Reader, n: int) -> Reader:
    return lambda: itertools.islice(reader(), n)


def chain(*readers: Reader) -> Reader:
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    return lambda: map(func, *[reader() for reader in readers])


@checked
def xmap_readers(mapper: Callable[[Any], Any], reader: Reader, process_num: int, buffer_size: int,
                 order: bool = False) -> Reader:
    """The mapped samples, in their order, by one process."""
    for name in ("process_num", "buffer_size"):
        without_effect(f"reader.xmap_readers: {name}", "one process maps the samples in their order, whatever order= says")
    return map_readers(mapper, reader)


def cache(reader: Reader) -> Reader:
    """The samples of the first reading, kept."""
    held: List[Any] = []

    def read() -> Iterator[Any]:
        if not held:
            held.extend(reader())
        return iter(held)
    return read


def compose(*readers: Reader, check_alignment: bool = True) -> Reader:
    """Samples side by side, as one tuple."""
    end = object()

    def read() -> Iterator[Any]:
        for row in itertools.zip_longest(*[reader() for reader in readers], fillvalue=end):
            if any(item is end for item in row):
                if check_alignment:
                    raise ComposeNotAligned("the readers have different numbers of samples")
                return
            yield tuple(itertools.chain.from_iterable(
                item if isinstance(item, tuple) else (item,) for item in row))
    return read


def np_array(x: Any) -> Reader:
    return lambda: iter(x)


def text_file(path: str) -> Reader:
    def read() -> Iterator[str]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                yield line.rstrip("\n")
    return read


def recordio(paths: Any, buf_size: int = 100) -> Reader:
    """The samples of RecordIO files, all of them."""
    if buf_size != 100:
        without_effect("creator.recordio: buf_size", "all samples are read before the training begins")
    return edl.cloud_reader(paths, kind="recordio", decode=edl.dataset.load, local=True)


def cloud_reader(paths: Any, etcd_endpoints: Any = None, timeout_sec: float = 5, buf_size: int = 64) -> Reader:
    """The samples of RecordIO files: in a job those that are dealt out to this process."""
    for name, given, default in (("etcd_endpoints", etcd_endpoints, None), ("timeout_sec", timeout_sec, 5),
                                 ("buf_size", buf_size, 64)):
        if given != default:
            without_effect(f"creator.cloud_reader: {name}", "the job's scheduler deals the data out, and there is no etcd")
    return edl.cloud_reader(paths, kind="recordio", decode=edl.dataset.load)


DECORATORS = {"batch": batch, "batched": batch, "shuffle": shuffle, "buffered": buffered, "firstn": firstn, "chain": chain,
              "map_readers": map_readers, "xmap_readers": xmap_readers, "cache": cache, "compose": compose,
              "ComposeNotAligned": ComposeNotAligned}
CREATORS = {"np_array": np_array, "text_file": text_file, "recordio": checked(recordio),
            "cloud_reader": checked(cloud_reader)}
