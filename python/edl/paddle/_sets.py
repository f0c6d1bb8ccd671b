# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.dataset: the sets whose files lie in ~/.cache/paddle/dataset. Nothing is downloaded."""
from __future__ import annotations

import collections
import gzip
import itertools
import os
import pickle
import re
import string
import tarfile
from typing import Any, Callable, Dict, Iterator, List, Tuple

from ._errors import ConfigError

HOME = "~/.cache/paddle/dataset"
Reader = Callable[[], Iterator[Any]]


def file_of(name: str, file: str) -> str:
    """The path of a set's file; an error that says where it belongs."""
    path = os.path.expanduser(os.path.join(HOME, name, file))
    if not os.path.isfile(path):
        raise ConfigError(f"dataset.{name}: {HOME}/{name}/{file} is not there, and nothing is downloaded",
                          "put it there, or use a reader of your own")
    return path


def download(url: str, module_name: str, md5sum: str = "") -> str:
    """dataset.common.download: the file that is there already."""
    return file_of(module_name, url.rpartition("/")[2])


def _row(values: Any) -> Any:
    """Numbers as an array, where numpy is there; else as a list."""
    try:
        import numpy
    except ModuleNotFoundError:
        return list(values)
    return numpy.array(values, dtype="float32")


# ---- mnist ----

def _mnist(part: str) -> Reader:
    images, labels = (file_of("mnist", f"{part}-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1"))

    def read() -> Iterator[Any]:
        with gzip.open(images) as pixels, gzip.open(labels) as classes:
            pixels.read(16)  # what says how many there are
            classes.read(8)
            for label in classes.read():
                yield _row([byte / 127.5 - 1.0 for byte in pixels.read(784)]), label
    return read


# ---- cifar ----

class _Arrays(pickle.Unpickler):
    """Dictionaries of arrays, and nothing that runs."""
    KNOWN = {("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"it holds a {module}.{name}, which is no array")
        return super().find_class(module, name)


def _cifar(classes: int, part: str) -> Reader:
    path = file_of("cifar", f"cifar-{classes}-python.tar.gz")

    def read() -> Iterator[Any]:
        with tarfile.open(path) as archive:
            for member in archive:
                if part not in member.name or not member.isfile():
                    continue
                file = archive.extractfile(member)
                assert file is not None
                batch = _Arrays(file, encoding="bytes").load()
                labels = batch.get(b"labels", batch.get(b"fine_labels"))
                for image, label in zip(batch[b"data"], labels):
                    yield _row([byte / 255.0 for byte in image.tolist()]), int(label)
    return read


# ---- uci_housing ----

FEATURES = 13


def _housing(part: str) -> Reader:
    path = file_of("uci_housing", "housing.data")

    def read() -> Iterator[Any]:
        with open(path, encoding="ascii") as file:
            numbers = [float(word) for word in file.read().split()]
        rows = [numbers[i:i + FEATURES + 1] for i in range(0, len(numbers), FEATURES + 1)]
        columns = [[row[i] for row in rows] for i in range(FEATURES)]
        scale = [(sum(column) / len(column), max(column) - min(column)) for column in columns]
        cut = int(len(rows) * 0.8)
        for row in rows[:cut] if part == "train" else rows[cut:]:
            yield _row([(value - mean) / (span or 1.0) for value, (mean, span) in zip(row, scale)]), _row(row[FEATURES:])
    return read


# ---- imdb ----

KEPT = str.maketrans("", "", string.punctuation)


def _reviews(pattern: Any) -> Iterator[List[str]]:
    with tarfile.open(file_of("imdb", "aclImdb_v1.tar.gz")) as archive:
        for member in archive:
            if not pattern.match(member.name):
                continue
            file = archive.extractfile(member)
            assert file is not None
            yield file.read().decode("utf-8", "replace").translate(KEPT).lower().split()


def imdb_build_dict(pattern: Any, cutoff: int) -> Dict[str, int]:
    """Words that come more often than cutoff, the most frequent first; <unk> is the last."""
    counts = collections.Counter(itertools.chain.from_iterable(_reviews(re.compile(pattern))))
    kept = sorted(((word, n) for word, n in counts.items() if n > cutoff), key=lambda item: (-item[1], item[0]))
    ids = {word: i for i, (word, _) in enumerate(kept)}
    ids["<unk>"] = len(ids)
    return ids


def imdb_word_dict() -> Dict[str, int]:
    return imdb_build_dict(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$", 150)


class Both:
    """A reader that is its samples as well, as PaddlePaddle 0.10 had it."""

    def __init__(self, read: Reader) -> None:
        self.read = read

    def __call__(self) -> Iterator[Any]:
        return self.read()

    __iter__ = __call__


def _imdb(part: str) -> Callable[[Dict[str, int]], Reader]:
    def reader(word_idx: Dict[str, int]) -> Reader:
        file_of("imdb", "aclImdb_v1.tar.gz")

        def ids(kind: str, label: int) -> Iterator[Tuple[List[int], int]]:
            for words in _reviews(re.compile(rf"aclImdb/{part}/{kind}/.*\.txt$")):
                yield [word_idx.get(word, word_idx["<unk>"]) for word in words], label

        def read() -> Iterator[Any]:
            """A good one and a bad one in turn; what is left over of either comes last."""
            end = object()
            for pair in itertools.zip_longest(ids("pos", 0), ids("neg", 1), fillvalue=end):
                yield from (sample for sample in pair if sample is not end)
        return Both(read)
    return reader


SETS: Dict[str, Dict[str, Any]] = {
    "mnist": {"train": lambda: _mnist("train"), "test": lambda: _mnist("t10k")},
    "cifar": {"train10": lambda: _cifar(10, "data_batch"), "test10": lambda: _cifar(10, "test_batch"),
              "train100": lambda: _cifar(100, "train"), "test100": lambda: _cifar(100, "test")},
    "uci_housing": {"train": lambda: _housing("train"), "test": lambda: _housing("test")},
    "imdb": {"train": _imdb("train"), "test": _imdb("test"), "build_dict": imdb_build_dict, "word_dict": imdb_word_dict},
}
