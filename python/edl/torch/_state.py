# SPDX-License-Identifier: Apache-2.0
"""All members of a generation have the same state: that of the one that is furthest."""
from __future__ import annotations

import json
from typing import Any, Callable, List, Optional, Tuple

import torch
import torch.distributed as dist

from .. import _tree


def packed(tree: Any) -> _tree.Packed:
    """TypeError: its place and what cannot be told to others."""
    return _tree.pack(tree)


def _bytes_of(tree: Any) -> Tuple[bytes, bytearray]:
    pack = packed(tree)
    data = bytearray()
    for part in pack.parts():
        data += part
    return json.dumps(pack.values).encode(), data


def _broadcast(source: int, mine: Optional[bytearray], size: int) -> bytearray:
    """mine: None where it is not this process's."""
    data = bytearray(size) if mine is None else mine
    if size > 0:
        dist.broadcast(torch.frombuffer(data, dtype=torch.uint8), source)
    return data


def _blobs(values: Any, data: bytearray) -> List[bytearray]:
    view, at, found = memoryview(data), 0, []
    for size in _tree.sizes(values):
        found.append(bytearray(view[at:at + size]))
        at += size
    return found


def from_one(rank: int, source: int, state: Callable[[], Any]) -> Optional[Any]:
    """The state of `source`, None there. RuntimeError: a peer is gone."""
    head, body = _bytes_of(state()) if rank == source else (b"", bytearray())
    sizes = torch.tensor([len(head), len(body)], dtype=torch.int64)
    dist.broadcast(sizes, source)
    head_size, body_size = (int(size) for size in sizes)
    told = _broadcast(source, bytearray(head) if rank == source else None, head_size)
    data = _broadcast(source, body if rank == source else None, body_size)
    if rank == source:
        return None
    values = json.loads(bytes(told))
    return _tree.unpack(values, _blobs(values, data), "cpu")


class Place:
    """How far a member is: committed steps, and whether it was in a generation before."""

    def __init__(self, steps: int, was_here: bool) -> None:
        self.steps = steps
        self.was_here = was_here

    def __lt__(self, other: "Place") -> bool:
        return (self.steps, self.was_here) < (other.steps, other.was_here)


def places(size: int, own: Place) -> List[Place]:
    """Of all members, by rank. RuntimeError: a peer is gone."""
    mine = torch.tensor([own.steps, int(own.was_here)], dtype=torch.int64)
    if size == 1:
        return [own]
    told = [torch.zeros(2, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(told, mine)
    return [Place(int(steps), bool(was_here)) for steps, was_here in told]


def furthest(members: List[Place]) -> int:
    """Its rank; of several the lowest."""
    return members.index(max(members))
