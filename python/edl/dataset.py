# SPDX-License-Identifier: Apache-2.0
"""Making a data set: samples of a reader as numbered RecordIO files.

    import edl.dataset

    edl.dataset.convert("data", lambda: iter(samples), 5000, "train")        # data/train-00000 ...
    for sample in edl.cloud_reader("data/train-*", decode=edl.dataset.load): ...
"""
from __future__ import annotations

import io
import itertools
import os
import pickle
import random
import re
from typing import Any, Callable, Iterable, List, Optional, Set

from ._call import Error
from ._recordio import Writer, records

__all__ = ["convert", "dump", "load", "records"]

#: the parts that a record may have beside numbers, texts, lists, tuples and dicts
_KNOWN = {("_codecs", "encode")} | {
    (module, name) for module in ("builtins", "__builtin__") for name in ("bytearray", "complex", "frozenset", "set")} | {
    (module, name) for module in ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
    for name in ("_reconstruct", "scalar", "ndarray", "dtype")}
_PROTOCOL = 2


class _Unpickler(pickle.Unpickler):
    """A pickle is a program; this one can make values and call nothing."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it holds a {module}.{name}")
        return super().find_class(module, name)


def dump(sample: Any) -> bytes:
    """A record of a sample: bytes and text as they are, all else as Paddle's tools write it, which is a pickle."""
    if isinstance(sample, (bytes, bytearray, memoryview)):
        return bytes(sample)
    return sample.encode() if isinstance(sample, str) else pickle.dumps(sample, _PROTOCOL)


def load(record: bytes) -> Any:
    """The sample of a record that is a pickle, of Python 2 as well: numbers, texts, lists, tuples, dicts, sets, arrays.
    Error: it holds anything else, or is no pickle."""
    try:
        return _Unpickler(io.BytesIO(record), encoding="latin1").load()
    except Exception as error:  # a pickle that is damaged raises whatever it likes
        raise Error(f"a record is no sample that can be read: {error}",
                    "bytes and lines of a text need no edl.dataset.load") from None


def _write(writer: Writer, samples: List[Any], seed: Optional[int], encode: Callable[[Any], bytes]) -> None:
    if seed is not None:
        random.Random(seed).shuffle(samples)
    for sample in samples:
        writer.write(encode(sample))
    writer.finish()


def _refuse_older(folder: str, prefix: str, names: Set[str]) -> None:
    """Error: the folder has numbered files beside those of these names."""
    older = sorted(name for name in os.listdir(folder) if re.fullmatch(re.escape(prefix) + "-[0-9]{5,}", name) and name not in names)
    if older:
        raise Error(f"{folder} has {len(older)} files of an earlier data set, which {prefix}-* would take in: {older[0]}",
                    f"remove them: rm {os.path.join(folder, older[0])}")


def convert(
    output_path: "str | os.PathLike[str]",
    reader: Callable[[], Iterable[Any]],
    line_count: int,
    prefix: str,
    compress: str = "gzip",
    seed: Optional[int] = 0,
    encode: Callable[[Any], bytes] = dump,
) -> List[str]:
    """Writes the samples of a reader into files PREFIX-00000, PREFIX-00001 and so on of a folder; returns their paths.

    line_count: samples of a file, of the last one fewer. compress: none, snappy or gzip. seed: of the order of the
    samples within a file; None leaves them as they come. The files get their names when all are written. Error: the
    folder has further files of these names. Where the reader or a write fails, those of before stay."""
    if line_count < 1:
        raise ValueError(f"line_count is {line_count}, 1 at least is possible")
    folder = os.fspath(output_path)
    os.makedirs(folder, exist_ok=True)
    samples = iter(reader())
    writers: List[Writer] = []
    try:
        for held in iter(lambda: list(itertools.islice(samples, line_count)), []):
            number = len(writers)
            writers.append(Writer(os.path.join(folder, f"{prefix}-{number:05d}"), compress))
            _write(writers[-1], held, None if seed is None else seed + number, encode)
        _refuse_older(folder, prefix, {os.path.basename(writer.path) for writer in writers})
        for writer in writers:
            writer.publish()
    finally:
        for writer in writers:
            writer.abort()
    return [writer.path for writer in writers]
