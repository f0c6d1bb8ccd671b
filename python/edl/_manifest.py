# SPDX-License-Identifier: Apache-2.0
"""The manifest of a version: its status, its writer, its files with their digests; checked when it is read."""
from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List

from ._model import items, number, text
from ._writer import Writer

FORMAT = 2
FORMATS = (1, FORMAT)  # 1: names with bytes, arrays and values of JSON, each of the first two in a file of its own
TREE, FOLDER = "tree", "folder"


@dataclass(frozen=True)
class File:
    """A file of a version; in a tree of format 1 `of` is its name there, `kind` bytes or array."""

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
    format: int = FORMAT

    def pack(self) -> bytes:
        body = json.dumps({
            "format": self.format, "kind": self.kind, "epoch": self.epoch, "base": self.base,
            "writer": self.writer.told(), "values": self.values,
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
        if found["format"] not in FORMATS:
            raise ValueError(f"it is of format {found['format']!r}, this program reads {FORMATS[0]} to {FORMATS[-1]}")
        if found["kind"] not in (TREE, FOLDER):
            raise ValueError("its manifest names no kind")
        return cls(
            kind=found["kind"],
            epoch=_at_least_minus_one(found["epoch"]),
            base=number(found["base"]),
            writer=Writer.read(found["writer"]),
            values=dict(found["values"]),
            files=[File(_inside(text(f["name"])), number(f["size"]), text(f["sha256"]), text(f["of"]), text(f["kind"]))
                   for f in items(found["files"])],
            format=int(found["format"]),
        )


def _at_least_minus_one(value: Any) -> int:
    return -1 if value == -1 else number(value)


def _inside(name: str) -> str:
    """A name below the version's folder."""
    if not name or os.path.isabs(name) or "\0" in name or ".." in name.split("/"):
        raise ValueError(f"it has a file {name!r}")
    return name
