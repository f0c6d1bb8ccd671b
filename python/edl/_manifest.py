# SPDX-License-Identifier: Apache-2.0
"""The manifest of a version: its status, its writer, its files with their digests; checked when it is read."""
from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Tuple

from ._model import items, number, text

FORMAT = 1
TREE, FOLDER = "tree", "folder"


@dataclass(frozen=True)
class Writer:
    """The process that writes. Of two of one place in a job the greater incarnation is the newer one, else the greater fence."""

    job: str = ""  #: names a job, without telling its secret; "" alone
    generation: int = 0  #: of its world, 0 where it joined none
    incarnation: int = 0
    place: str = ""  #: role and index; "" in manifests of before

    @property
    def fence(self) -> Tuple[int, int]:
        return self.generation, self.incarnation

    def is_older(self, other: "Writer") -> bool:
        if not self.job or self.job != other.job:
            return False
        if self.place and self.place == other.place:
            return self.incarnation < other.incarnation
        return self.fence < other.fence

    def beside(self, others: Iterable["Writer"]) -> "Writer":
        """The one that counts where these have written: a process that has joined no world yet, and started after all of
        them, is newer than each of their worlds."""
        same = [other for other in others if self.job and self.job == other.job]
        if self.generation or not same or any(other.incarnation > self.incarnation for other in same):
            return self
        return replace(self, generation=max(other.generation for other in same))


@dataclass(frozen=True)
class File:
    """A file of a version; `of` is its name in the tree, `kind` bytes or array."""

    name: str
    size: int
    sha256: str
    of: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Manifest:
    kind: str
    epoch: int
    base: int  #: the epoch of the job's pass 0
    writer: Writer
    values: Dict[str, Any] = field(default_factory=dict)
    files: List[File] = field(default_factory=list)

    def pack(self) -> bytes:
        body = json.dumps({
            "format": FORMAT, "kind": self.kind, "epoch": self.epoch, "base": self.base,
            "writer": {"job": self.writer.job, "generation": self.writer.generation, "incarnation": self.writer.incarnation,
                       "place": self.writer.place},
            "values": self.values,
            "files": [{"name": f.name, "size": f.size, "sha256": f.sha256, "of": f.of, "kind": f.kind} for f in self.files],
        }).encode()
        return body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n"

    @classmethod
    def read(cls, data: bytes) -> "Manifest":
        """ValueError, TypeError, KeyError: it is not whole, or not of this format."""
        body, digest, end = data.split(b"\n") if data.count(b"\n") == 2 else (b"", b"", b"-")
        if end or hashlib.sha256(body).hexdigest().encode() != digest:
            raise ValueError("its manifest is cut or changed")
        found = json.loads(body)
        if found["format"] != FORMAT:
            raise ValueError(f"it is of format {found['format']!r}, this program reads {FORMAT}")
        if found["kind"] not in (TREE, FOLDER):
            raise ValueError("its manifest names no kind")
        writer = found["writer"]
        return cls(
            kind=found["kind"],
            epoch=_at_least_minus_one(found["epoch"]),
            base=number(found["base"]),
            writer=Writer(text(writer["job"]), number(writer["generation"]), number(writer["incarnation"]),
                          text(writer.get("place", ""))),
            values=dict(found["values"]),
            files=[File(_inside(text(f["name"])), number(f["size"]), text(f["sha256"]), text(f["of"]), text(f["kind"]))
                   for f in items(found["files"])],
        )


def _at_least_minus_one(value: Any) -> int:
    return -1 if value == -1 else number(value)


def _inside(name: str) -> str:
    """A name below the version's folder."""
    if not name or os.path.isabs(name) or "\0" in name or ".." in name.split("/"):
        raise ValueError(f"it has a file {name!r}")
    return name
