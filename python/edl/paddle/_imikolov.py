# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.dataset.imikolov: words before a word, from a text that is on the machine. Nothing is downloaded."""
from __future__ import annotations

import collections
import glob
import os
import re
import sys
import tarfile
from typing import Any, Callable, Dict, Iterator, List

from ._errors import ConfigError

ARCHIVE = "~/.cache/paddle/dataset/imikolov/simple-examples.tgz"
STOCK = "/usr/share/common-licenses"
TEST_EVERY = 10  # lines of a text that has no part for testing
_told: List[str] = []


class DataType:
    NGRAM = 1
    SEQ = 2


def _tell(text: str) -> None:
    if text not in _told:
        _told.append(text)
        print(text, file=sys.stderr)


def _archive(path: str, part: str) -> Iterator[List[str]]:
    with tarfile.open(path) as archive:
        member = archive.extractfile(f"./simple-examples/data/ptb.{part}.txt")
        assert member is not None
        for line in member:
            yield line.decode().split()


def _words(path: str) -> Iterator[List[str]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            words = re.findall(r"[a-z]+|[0-9]+", line.lower())
            if words:
                yield words


def _plain(paths: List[str], part: str) -> Iterator[List[str]]:
    lines = (words for path in paths for words in _words(path))
    for i, words in enumerate(lines):
        if (i % TEST_EVERY == TEST_EVERY - 1) == (part == "valid"):
            yield words


def sentences(part: str) -> Iterator[List[str]]:
    """The words of each line of "train" or "valid"."""
    named = os.environ.get("EDL_TEXT")
    archive = os.path.expanduser(ARCHIVE)
    if named:
        if not os.path.isfile(named):
            raise ConfigError(f"EDL_TEXT is {named}, which is no file", "name a text")
        return _plain([named], part)
    if os.path.isfile(archive):
        return _archive(archive, part)
    paths = sorted(path for path in glob.glob(STOCK + "/*") if os.path.isfile(path) and not os.path.islink(path))
    if not paths:
        raise ConfigError(f"dataset.imikolov: neither {ARCHIVE} nor {STOCK} is there",
                          "name a text of your own: EDL_TEXT=FILE")
    _tell(f"dataset.imikolov: {ARCHIVE} is not there, so the words are those of {STOCK}; EDL_TEXT=FILE names another text")
    return _plain(paths, part)


def build_dict(min_word_freq: int = 50) -> Dict[str, int]:
    """Words by their numbers: those that come more often, the most frequent first; <unk> is the last."""
    counts: Dict[str, int] = collections.Counter()
    for part in ("train", "valid"):
        for words in sentences(part):
            for word in ["<s>"] + words + ["<e>"]:
                counts[word] += 1
    counts.pop("<unk>", None)
    kept = sorted((item for item in counts.items() if item[1] > min_word_freq), key=lambda x: (-x[1], x[0]))
    ids = {word: i for i, (word, _) in enumerate(kept)}
    ids["<unk>"] = len(ids)
    return ids


def _reader(part: str, word_idx: Dict[str, int], n: int, data_type: int) -> Callable[[], Iterator[Any]]:
    unknown = word_idx["<unk>"]

    def read() -> Iterator[Any]:
        for words in sentences(part):
            inner = [word_idx.get(word, unknown) for word in words]
            first, last = word_idx.get("<s>", unknown), word_idx.get("<e>", unknown)
            if data_type == DataType.NGRAM:
                ids = [first] + inner + [last]
                for i in range(n, len(ids) + 1):
                    yield tuple(ids[i - n:i])
            elif n <= 0 or len(inner) + 1 <= n:
                yield [first] + inner, inner + [last]
    return read


def train(word_idx: Dict[str, int], n: int, data_type: int = DataType.NGRAM) -> Callable[[], Iterator[Any]]:
    return _reader("train", word_idx, n, data_type)


def test(word_idx: Dict[str, int], n: int, data_type: int = DataType.NGRAM) -> Callable[[], Iterator[Any]]:
    return _reader("valid", word_idx, n, data_type)


NAMES = {"build_dict": build_dict, "train": train, "test": test, "DataType": DataType}
