# SPDX-License-Identifier: Apache-2.0
"""What answers hold, checked: each class reads one JSON object, and raises ValueError, TypeError or KeyError."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._call import NotInJob


def number(value: Any, most: int = 2**63 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{value!r} is no number from 0 to {most}")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def items(value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


@dataclass(frozen=True)
class Self:
    """What this process is."""

    job: str
    job_id: int
    role: str
    index: int
    incarnation: int  #: rises with each life of this index
    node: str
    address: str  #: of this node, for others
    ports: Tuple[int, ...]  #: allocated for this process
    workspace: str
    output_dir: str
    dataset: str  #: as the job says, "" when it says nothing

    @classmethod
    def read(cls, environment: Optional[Mapping[str, str]] = None) -> "Self":
        found = os.environ if environment is None else environment
        try:
            return cls(
                job=found["EDL_JOB"],
                job_id=int(found["EDL_JOB_ID"]),
                role=found["EDL_ROLE"],
                index=int(found["EDL_INDEX"]),
                incarnation=int(found["EDL_INCARNATION"]),
                node=found.get("EDL_NODE", ""),
                address=found.get("EDL_ADDRESS", "127.0.0.1"),
                ports=tuple(int(port) for port in found.get("EDL_PORTS", "").split(",") if port),
                workspace=found.get("EDL_WORKSPACE", ""),
                output_dir=found.get("EDL_OUTPUT_DIR", ""),
                dataset=found.get("EDL_DATASET", ""),
            )
        except KeyError as error:
            raise NotInJob(
                f"{error.args[0]} is not set", "submit the program as a job: edl submit -- PROGRAM"
            ) from None
        except ValueError as error:
            raise NotInJob(f"the environment is not that of a process of a job: {error}") from None


@dataclass(frozen=True)
class Chunk:
    """A part of a file; what offset and records mean is the program's business."""

    path: str
    offset: int = 0
    records: int = 1
    size: int = 0  #: of the whole file in bytes, when it was cut into tasks
    mtime_us: int = 0  #: when it was changed last by then, since 1970; 0: neither is told

    @classmethod
    def read(cls, json: Any) -> "Chunk":
        return cls(text(json["path"]), number(json["offset"]), number(json["records"], 2**32 - 1),
                   number(json.get("size", 0)), number(json.get("mtime_us", 0)))

    def told(self) -> Dict[str, Any]:
        """As the scheduler is told of it."""
        told: Dict[str, Any] = {"path": self.path, "offset": self.offset, "records": self.records}
        if self.mtime_us:
            told.update(size=self.size, mtime_us=self.mtime_us)
        return told


@dataclass(frozen=True)
class Peer:
    """A process, of this job or another."""

    index: int
    incarnation: int
    address: str
    ports: Tuple[int, ...]
    role: str = ""  #: "" where all have the same
    rank: int = 0  #: of a world; elsewhere the place in the list
    node: str = ""
    state: str = "running"
    note: str = ""  #: of a world: what it brought there

    @classmethod
    def read(cls, json: Any, place: int) -> "Peer":
        return cls(
            index=number(json["index"]),
            incarnation=number(json["incarnation"]),
            address=text(json["address"]),
            ports=tuple(number(port, 65535) for port in items(json["ports"])),
            role=text(json.get("role", "")),
            rank=number(json.get("rank", place)),
            node=text(json.get("node", "")),
            state=text(json.get("state", "running")),
            note=text(json.get("note", "")),
        )

    @classmethod
    def read_list(cls, json: Any) -> "Tuple[Peer, ...]":
        return tuple(cls.read(item, place) for place, item in enumerate(items(json)))


@dataclass(frozen=True)
class Hosts:
    """The live processes of a role, by index, and how many there shall be."""

    want: int
    peers: Tuple[Peer, ...]

    @classmethod
    def read(cls, json: Any) -> "Hosts":
        return cls(number(json["want"]), Peer.read_list(json["hosts"]))


@dataclass(frozen=True)
class Service:
    """Who serves under a name."""

    name: str  #: in full
    job_id: int
    version: int  #: another one when others serve, or elsewhere
    peers: Tuple[Peer, ...]

    @classmethod
    def read(cls, json: Any) -> "Service":
        return cls(
            text(json["service"]),
            number(json["job_id"]),
            number(json["version"]),
            Peer.read_list(json["processes"]),
        )
