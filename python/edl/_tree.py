# SPDX-License-Identifier: Apache-2.0
"""The tree of a checkpoint as JSON and the bytes that JSON cannot say. No pickle, which is a program that loading runs.

None, booleans, numbers up to 64 bits, texts and lists are themselves. All else is an object with one key, its kind: `{"dict":
[[key, value], ...]}`, `{"bytes": 3}`. The number is that of a blob: all blobs lie one behind the other in one file.
"""
from __future__ import annotations

import collections
import io
import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, NoReturn, Optional, Set, Tuple

from . import _arrays, _tensors
from ._model import items, number, text

BYTES, ARRAY = "bytes", "array"  # of format 1
DEPTH_MAX = 100
INT_MAX = 2**63
Blob = Tuple[int, Callable[[], Iterable[Any]]]  # its size, and its bytes when they are asked for


@dataclass
class Packed:
    """A tree, ready to be written."""

    values: Dict[str, Any]  #: for the manifest
    blobs: List[Blob]

    def parts(self) -> Iterator[Any]:
        """The bytes of all blobs. ValueError: one has changed its size."""
        for size, bytes_of in self.blobs:
            left = size
            for part in bytes_of():
                left -= len(part)
                yield part
            if left != 0:
                raise ValueError(f"a value of the checkpoint has changed its size by {-left} bytes while it was saved")


# ---- packing ----


def _refuse(where: str, value: Any, remedy: str) -> NoReturn:
    name = type(value).__name__
    raise TypeError(f"{where} is {'an' if name[0] in 'AEIOaeio' else 'a'} {name}, which no checkpoint can hold: {remedy}")


class Packer:
    """Nodes of values, and their blobs."""

    def __init__(self) -> None:
        self.blobs: List[Blob] = []

    def blob(self, size: int, bytes_of: Callable[[], Iterable[Any]]) -> int:
        self.blobs.append((size, bytes_of))
        return len(self.blobs) - 1

    def node(self, where: str, value: Any, depth: int = 0) -> Any:
        """TypeError names the place."""
        if depth > DEPTH_MAX:
            raise TypeError(f"{where[:200]} lies more than {DEPTH_MAX} deep, or holds itself: save values that are less deep")
        pack = _PACK.get(type(value))
        if pack is not None:
            return pack(self, where, value, depth)
        for library in (_tensors, _arrays):
            found = library.pack(self, where, value)
            if found is not None:
                return found
        _refuse(where, value, _advice(value))

    def nodes(self, where: str, values: Iterable[Any], depth: int) -> List[Any]:
        return [self.node(f"{where}[{i}]", value, depth + 1) for i, value in enumerate(values)]

    def pairs(self, where: str, value: Any, depth: int) -> List[Any]:
        return [[self._key(where, key, depth), self.node(f"{where}[{key!r:.100}]", item, depth + 1)] for key, item in value.items()]

    def _key(self, where: str, key: Any, depth: int) -> Any:
        if _tensors.is_one(key):
            _refuse(f"a key of {where}", key, "texts, numbers and tuples of them can be keys")
        return self.node(f"a key of {where}", key, depth + 1)


def _advice(value: Any) -> str:
    """What to save instead: a subclass would come back as something else."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return "give value._asdict(), a dict"
    for base in (dict, list, tuple, set, frozenset, str, bytes, bool, int, float, complex):
        if isinstance(value, base):
            return f"give {base.__name__}(value)"
    if hasattr(value, "state_dict"):
        return "give value.state_dict()"
    return "dicts, lists, tuples, sets, numbers, texts, bytes, arrays of numpy and tensors of PyTorch are possible"


def _plain(packer: Packer, where: str, value: Any, depth: int) -> Any:
    return value


def _int(packer: Packer, where: str, value: int, depth: int) -> Any:
    return value if -INT_MAX <= value < INT_MAX else {"int": hex(value)}


def _float(packer: Packer, where: str, value: float, depth: int) -> Any:
    return value if math.isfinite(value) else {"float": repr(value)}


def _str(packer: Packer, where: str, value: str, depth: int) -> Any:
    """Half of a pair of surrogates is no text of JSON."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"str": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _bytes(packer: Packer, where: str, value: Any, depth: int) -> Any:
    data = bytes(value) if isinstance(value, memoryview) else value
    return {"bytearray" if type(value) is bytearray else "bytes": packer.blob(len(data), lambda: [data])}


def _ordered(packer: Packer, where: str, value: Any, depth: int) -> Any:
    """With the versions of modules, which state_dict() of PyTorch leaves on it."""
    more = getattr(value, "_metadata", None)
    return {"OrderedDict": [packer.pairs(where, value, depth), packer.node(f"{where}._metadata", more, depth + 1)]}


def _deque(packer: Packer, where: str, value: Any, depth: int) -> Any:
    return {"deque": [packer.nodes(where, value, depth), value.maxlen]}


def _listed(kind: str) -> Callable[[Packer, str, Any, int], Any]:
    return lambda packer, where, value, depth: {kind: packer.nodes(where, value, depth)}


def _paired(kind: str) -> Callable[[Packer, str, Any, int], Any]:
    return lambda packer, where, value, depth: {kind: packer.pairs(where, value, depth)}


_PACK: Dict[type, Callable[[Packer, str, Any, int], Any]] = {
    type(None): _plain,
    bool: _plain,
    int: _int,
    float: _float,
    complex: lambda packer, where, value, depth: {"complex": packer.nodes(where, (value.real, value.imag), depth)},
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    list: lambda packer, where, value, depth: packer.nodes(where, value, depth),
    tuple: _listed("tuple"),
    set: _listed("set"),
    frozenset: _listed("frozenset"),
    dict: _paired("dict"),
    collections.Counter: _paired("Counter"),
    collections.OrderedDict: _ordered,
    collections.deque: _deque,
}


def pack(tree: Any) -> Packed:
    """TypeError names what cannot be saved, and its place."""
    packer = Packer()
    node = packer.node("what", tree)
    return Packed({"tree": node, "blobs": [size for size, _ in packer.blobs]}, packer.blobs)


# ---- unpacking ----


class Unpacker:
    """Values of nodes. The blobs are those of its file; device: of tensors, None: where they were, if it is here."""

    def __init__(self, blobs: List[bytearray], device: Optional[str]) -> None:
        self._blobs = blobs
        self._taken: Set[int] = set()
        self.device = device

    def blob(self, n: Any) -> bytearray:
        """Once each, as they were saved: else a small file could fill the memory. ValueError"""
        at = number(n, len(self._blobs) - 1)
        if at in self._taken:
            raise ValueError("two of its values have the same bytes")
        self._taken.add(at)
        return self._blobs[at]

    def value(self, node: Any) -> Any:
        """ValueError, TypeError, KeyError: no such tree was saved. Error: a library is not there."""
        if isinstance(node, list):
            return [self.value(one) for one in node]
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ValueError("its tree is none")
        (kind, said), = node.items()
        if kind in _UNPACK:
            return _UNPACK[kind](self, said)
        for library in (_arrays, _tensors):
            if kind in library.UNPACK:
                return library.UNPACK[kind](self, said)
        raise ValueError(f"it has values of an unknown kind, {text(kind)[:100]!r}")

    def pairs(self, said: Any) -> Iterator[Tuple[Any, Any]]:
        return ((self.value(key), self.value(value)) for key, value in items(said))


def _unpack_ordered(unpacker: Unpacker, said: Any) -> Any:
    pairs, more = said
    value = collections.OrderedDict(unpacker.pairs(pairs))
    found = unpacker.value(more)
    if found is not None:
        value._metadata = found  # type: ignore[attr-defined]
    return value


def _unpack_deque(unpacker: Unpacker, said: Any) -> Any:
    values, most = said
    return collections.deque(unpacker.value(items(values)), None if most is None else number(most))


_UNPACK: Dict[str, Callable[[Unpacker, Any], Any]] = {
    "int": lambda unpacker, said: int(text(said), 16),
    "float": lambda unpacker, said: float(text(said)),
    "complex": lambda unpacker, said: complex(*unpacker.value(items(said))),
    "str": lambda unpacker, said: bytes.fromhex(text(said)).decode("utf-8", "surrogatepass"),
    "bytes": lambda unpacker, said: bytes(unpacker.blob(said)),
    "bytearray": lambda unpacker, said: unpacker.blob(said),
    "tuple": lambda unpacker, said: tuple(unpacker.value(items(said))),
    "set": lambda unpacker, said: set(unpacker.value(items(said))),
    "frozenset": lambda unpacker, said: frozenset(unpacker.value(items(said))),
    "dict": lambda unpacker, said: dict(unpacker.pairs(said)),
    "Counter": lambda unpacker, said: collections.Counter(dict(unpacker.pairs(said))),
    "OrderedDict": _unpack_ordered,
    "deque": _unpack_deque,
}


def sizes(values: Dict[str, Any]) -> List[int]:
    """Of the blobs. ValueError, TypeError, KeyError."""
    return [number(size) for size in items(values["blobs"])]


def unpack(values: Dict[str, Any], blobs: List[bytearray], device: Optional[str]) -> Any:
    """ValueError, TypeError, KeyError: it is no tree; NoArrays, NoTensors."""
    return Unpacker(blobs, device).value(values["tree"])


def unpack_1(kind: str, data: bytes) -> Any:
    """A value of format 1."""
    return _arrays.numpy().load(io.BytesIO(data), allow_pickle=False) if kind == ARRAY else data
