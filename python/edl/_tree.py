# SPDX-License-Identifier: Apache-2.0
"""The tree of a checkpoint: names with bytes, arrays or values of JSON. No pickle, which is a program that loading runs."""
from __future__ import annotations

import importlib
import io
import json
from typing import Any, Callable, Dict, List, Mapping, Tuple

from ._call import Error

BYTES, ARRAY = "bytes", "array"


class NoArrays(Error):
    """Arrays need numpy."""


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        raise NoArrays("the checkpoint has arrays, and numpy is not installed", "apt install python3-numpy") from None


def _is_array(value: Any) -> bool:
    """Of numpy, and tensors, which can be one."""
    return hasattr(value, "__array__") and hasattr(value, "dtype")


def _pack_array(value: Any) -> bytes:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    out = io.BytesIO()
    _numpy().save(out, value, allow_pickle=False)
    return out.getvalue()


def _unpack_array(data: bytes) -> Any:
    return _numpy().load(io.BytesIO(data), allow_pickle=False)


def _check_json(name: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{name} has the key {key!r}, which is no text")
            _check_json(f"{name}[{key!r}]", item)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_json(f"{name}[{i}]", item)
    elif value is not None and not isinstance(value, (str, int, float, bool)):
        raise TypeError(f"{name} is a {type(value).__name__}: bytes, arrays by name, and what JSON can say are possible")


def pack(tree: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[Tuple[str, str, Callable[[], bytes]]]]:
    """What JSON can say, by name; and (name, kind, its bytes when they are asked for) of all others. TypeError."""
    values: Dict[str, Any] = {}
    files: List[Tuple[str, str, Callable[[], bytes]]] = []
    for name, value in tree.items():
        if not isinstance(name, str):
            raise TypeError(f"a name in the checkpoint is {name!r}, which is no text")
        if isinstance(value, (bytes, bytearray, memoryview)):
            files.append((name, BYTES, lambda value=value: bytes(value)))  # type: ignore[misc]
        elif _is_array(value):
            files.append((name, ARRAY, lambda value=value: _pack_array(value)))  # type: ignore[misc]
        else:
            _check_json(name, value)
            values[name] = json.loads(json.dumps(value))
    return values, files


def unpack(kind: str, data: bytes) -> Any:
    return _unpack_array(data) if kind == ARRAY else data
