# SPDX-License-Identifier: Apache-2.0
"""Parameters in files: one each in a saved pass, and the tar of paddle.v2."""
from __future__ import annotations

import io
import os
import struct
import tarfile
from typing import Any, BinaryIO, Dict, List, Sequence, Tuple

from ._errors import ConfigError

HEADER = struct.Struct("<IIQ")  # 0, bytes of a value, values
MEMBER_MAX = 1 << 32


def pack(values: bytes) -> bytes:
    """A file of 32-bit floats."""
    return HEADER.pack(0, 4, len(values) // 4) + values


def unpack(data: bytes, name: str) -> bytes:
    """The floats of such a file, checked."""
    if len(data) < HEADER.size:
        raise ConfigError(f"{name} has {len(data)} bytes, which is no parameter", "", "")
    version, size, count = HEADER.unpack_from(data)
    if (version, size) != (0, 4) or len(data) != HEADER.size + 4 * count:
        raise ConfigError(f"{name} is no parameter: version {version}, {count} values of {size} bytes in "
                          f"{len(data)} bytes", "", "")
    return data[HEADER.size:]


def write_pass(folder: str, values: Dict[str, bytes]) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, data in values.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(pack(data))


def read_pass(folder: str, names: Sequence[str]) -> Dict[str, bytes]:
    values = {}
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            values[name] = unpack(file.read(), path)
    return values


OPTIMIZER = ".optimizer"  # edl-trainer's own


def read_optimizer(folder: str) -> bytes:
    """The optimizer's state of a saved pass; empty if it has none, as with parameter servers."""
    try:
        with open(os.path.join(folder, OPTIMIZER), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def write_optimizer(folder: str, state: bytes) -> None:
    with open(os.path.join(folder, OPTIMIZER), "wb") as file:
        file.write(state)


# ---- the text beside each parameter: protobuf's wire format, field 1 a name, 2 its size, 9 its shape ----

def _varint(n: int) -> bytes:
    parts = []
    while n > 127:
        parts.append(n & 127 | 128)
        n >>= 7
    return bytes(parts + [n])


def _describe(name: str, shape: Tuple[int, int]) -> bytes:
    text = name.encode()
    return (b"\x0a" + _varint(len(text)) + text + b"\x10" + _varint(shape[0] * shape[1]) +
            b"".join(b"\x48" + _varint(side) for side in shape))


def _read_varint(data: bytes, at: int) -> Tuple[int, int]:
    n = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number has no end")
        n |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return n, at


def _shape(data: bytes) -> Tuple[int, ...]:
    """The shape in a description; other fields are passed over."""
    shape: List[int] = []
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            n, at = _read_varint(data, at)
            if tag >> 3 == 9:
                shape.append(n)
        elif kind == 2:
            n, at = _read_varint(data, at)
            at += n
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
    return tuple(shape)


def binary(file: Any) -> BinaryIO:
    """The bytes behind a file: programs for Python 2 open a tar as text."""
    ret: BinaryIO = getattr(file, "buffer", file)
    return ret


def write_tar(file: Any, values: Dict[str, bytes], shapes: Dict[str, Tuple[int, int]]) -> None:
    """NAME and NAME.protobuf of each parameter."""
    with tarfile.open(fileobj=binary(file), mode="w") as tar:
        for name, data in values.items():
            for member, content in ((name, pack(data)), (name + ".protobuf", _describe(name, shapes[name]))):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def read_tar(file: Any) -> Tuple[Dict[str, bytes], Dict[str, Tuple[int, int]]]:
    """Values and shapes; nothing is unpacked to the disk."""
    values: Dict[str, bytes] = {}
    shapes: Dict[str, Tuple[int, int]] = {}
    try:
        with tarfile.open(fileobj=binary(file), mode="r:") as tar:
            for info in tar:
                found = tar.extractfile(info) if info.isfile() and info.size < MEMBER_MAX else None
                if found is None:
                    raise ValueError(f"{info.name} is no file of a parameter")
                data = found.read()
                if info.name.endswith(".protobuf"):
                    shape = _shape(data)
                    shapes[info.name[:-len(".protobuf")]] = (shape[0], shape[1]) if len(shape) == 2 else (1, 0)
                else:
                    values[info.name] = unpack(data, info.name)
    except (tarfile.TarError, ValueError) as error:
        raise ConfigError(f"this is no tar of parameters: {error}", "save_parameter_to_tar writes one") from None
    for name, data in values.items():
        rows, columns = shapes.get(name, (1, 0))
        shapes[name] = (rows, columns) if 4 * rows * columns == len(data) else (1, len(data) // 4)
    return values, shapes
