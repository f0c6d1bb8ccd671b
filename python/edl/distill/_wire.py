# SPDX-License-Identifier: Apache-2.0
"""Frames between students and teachers: pure encoding and decoding.

A frame is a header of 16 bytes, little-endian {u32 magic, u8 version, u8 type, u16 0, u64 bytes of the body}, and its body.

HELLO (student): u32 0, nonce of 32 bytes, then its name in UTF-8.
CHALLENGE (teacher): nonce, proof.  PROOF (student): proof.  WELCOME (teacher): JSON {"model", "feeds", "fetches"}; empty lists: any.
It may have "batch", the samples of one computation at most, and "free", the places for tasks of a teacher that has none; 0 is unknown.
OFFER (student): u32 tasks that wait for a teacher.  CREDIT (teacher): u32 more tasks that it takes.  RETURN (student): u32 credits that
it has no task for.  TASK (student): u64 id, tensors.  RESULT (teacher): u64 id, tensors.  FAILED (teacher): u64 id, text.
LEAVING (teacher): it gives no more credit, and answers what it has.  REFUSED: text.

Tensors: u32 count, each {u16 bytes of the name, u8 type, u8 dimensions, u32 0, u64 of each dimension, name, zeros up to a multiple of 8,
values, zeros likewise}. The first dimension is that of the samples.

A proof is HMAC-SHA-256 with the secret, of the role of its maker and both nonces. It proves who is at the other end when the connection
begins; later frames are neither encrypted nor authenticated (as those between trainers and parameter servers)."""
from __future__ import annotations

import hashlib
import hmac
import json
import struct
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

MAGIC = 0x544C4445  # "EDLT"
VERSION = 1
HEADER = struct.Struct("<IBBHQ")
TENSOR = struct.Struct("<HBBI")
NONCE_BYTES = PROOF_BYTES = 32
CONTROL_MAX = 65536
BODY_MAX = 1 << 30
TENSORS_MAX = 256
DIMENSIONS_MAX = 8

HELLO, CHALLENGE, PROOF, WELCOME, OFFER, CREDIT, RETURN, TASK, RESULT, FAILED, LEAVING, REFUSED = range(1, 13)
NAMES = {HELLO: "HELLO", CHALLENGE: "CHALLENGE", PROOF: "PROOF", WELCOME: "WELCOME", OFFER: "OFFER", CREDIT: "CREDIT", RETURN: "RETURN",
         TASK: "TASK", RESULT: "RESULT", FAILED: "FAILED", LEAVING: "LEAVING", REFUSED: "REFUSED"}
_BULK = (TASK, RESULT)

# of a tensor; the number is part of the protocol
_TYPES = ("float32", "float64", "int32", "int64", "uint8", "float16", "int8", "int16", "bool")
_TYPE_OF = {name: number for number, name in enumerate(_TYPES)}


class BadFrame(Exception):
    """What came is none of these frames."""


class BadProof(Exception):
    """The other end does not know the secret."""


class Refused(Exception):
    """The other end says why it cannot."""


def frame(kind: int, *parts: Any) -> List[Any]:
    """The header and the parts, for writev; parts are bytes or memoryviews of bytes."""
    size = sum(len(part) for part in parts)
    return [HEADER.pack(MAGIC, VERSION, kind, 0, size), *parts]


def header(data: Any) -> Tuple[int, int]:
    """The type, and the bytes of the body."""
    magic, version, kind, zero, size = HEADER.unpack(data)
    if magic != MAGIC:
        raise BadFrame("it speaks another protocol")
    if version != VERSION:
        raise BadFrame(f"it speaks version {version} of the protocol, and {VERSION} is spoken here: install the same release on both")
    if kind not in NAMES or zero != 0:
        raise BadFrame(f"a frame of the unknown type {kind}")
    if size > (BODY_MAX if kind in _BULK else CONTROL_MAX):
        raise BadFrame(f"{NAMES[kind]} of {size} bytes is too long")
    return kind, size


# ---- proofs ----


def service_secret(job_secret: bytes) -> bytes:
    """What students of other jobs of the same user are told: it proves nothing else."""
    return hmac.new(job_secret, b"edl-teacher service", hashlib.sha256).digest()


def proof(secret: bytes, role: str, student_nonce: bytes, teacher_nonce: bytes) -> bytes:
    return hmac.new(secret, b"edl-teacher 1 " + role.encode() + b"\0" + student_nonce + teacher_nonce, hashlib.sha256).digest()


def proves(secret: bytes, role: str, student_nonce: bytes, teacher_nonce: bytes, said: bytes) -> bool:
    return hmac.compare_digest(proof(secret, role, student_nonce, teacher_nonce), said)


def check_proof(secret: bytes, role: str, student_nonce: bytes, teacher_nonce: bytes, said: bytes) -> None:
    if not proves(secret, role, student_nonce, teacher_nonce, said):
        raise BadProof(f"the {role} does not know the secret")


def hello(nonce: bytes, name: str) -> bytes:
    return struct.pack("<I", 0) + nonce + name.encode()[:200]


def read_hello(body: bytes) -> Tuple[bytes, str]:
    if not 4 + NONCE_BYTES <= len(body) <= 4 + NONCE_BYTES + 200:
        raise BadFrame("HELLO of another length")
    return body[4 : 4 + NONCE_BYTES], body[4 + NONCE_BYTES :].decode("utf-8", "replace")


def read_count(body: bytes) -> int:
    if len(body) != 4:
        raise BadFrame("a count of another length")
    return int(struct.unpack("<I", body)[0])


def read_id(body: Any) -> int:
    if len(body) < 8:
        raise BadFrame("a frame without its number")
    return int(struct.unpack_from("<Q", body)[0])


# ---- tensors ----


def tensors(values: Mapping[str, Any]) -> List[Any]:
    """The parts of named arrays, in their order. The arrays' memory is not copied where it lies in one piece."""
    if len(values) > TENSORS_MAX:
        raise ValueError(f"{len(values)} tensors; at most {TENSORS_MAX} there can be")
    parts: List[Any] = [struct.pack("<I", len(values)), b"\0" * 4]
    for name, value in values.items():
        array = np.ascontiguousarray(value)
        number = _TYPE_OF.get(array.dtype.name)
        if number is None:
            raise ValueError(f"{name} has the type {array.dtype.name}; there are {', '.join(_TYPES)}")
        if array.ndim > DIMENSIONS_MAX:
            raise ValueError(f"{name} has {array.ndim} dimensions, at most {DIMENSIONS_MAX} there can be")
        encoded = name.encode()
        head = TENSOR.pack(len(encoded), number, array.ndim, 0) + struct.pack(f"<{array.ndim}Q", *array.shape) + encoded
        parts += [head + b"\0" * (-len(head) % 8), memoryview(array.reshape(-1).view(np.uint8)) if array.nbytes else b"",
                  b"\0" * (-array.nbytes % 8)]
    return parts


def read_tensors(body: Any) -> Dict[str, np.ndarray]:
    """What was written so, as views into the body. BadFrame of anything else."""
    view = memoryview(body)
    if len(view) < 8:
        raise BadFrame("tensors without their number")
    count, at = struct.unpack_from("<I", view)[0], 8
    if count > TENSORS_MAX:
        raise BadFrame(f"{count} tensors")
    found: Dict[str, np.ndarray] = {}
    for _ in range(count):
        if len(view) - at < TENSOR.size:
            raise BadFrame("a tensor is cut off")
        name_bytes, number, dimensions, _zero = TENSOR.unpack_from(view, at)
        head = TENSOR.size + 8 * dimensions + name_bytes
        if number >= len(_TYPES) or dimensions > DIMENSIONS_MAX or len(view) - at < head:
            raise BadFrame("a tensor with another head")
        shape = struct.unpack_from(f"<{dimensions}Q", view, at + TENSOR.size)
        dtype, size = np.dtype(_TYPES[number]), 1
        for extent in shape:  # also beside one of 0: numpy knows no array with such a shape
            size = min(size * max(extent, 1), BODY_MAX + 1)
        if size > BODY_MAX:
            raise BadFrame("a tensor is too large")
        size = 0 if 0 in shape else size
        at += head - name_bytes
        try:
            name = bytes(view[at : at + name_bytes]).decode()
        except UnicodeDecodeError:
            raise BadFrame("a name that is no UTF-8") from None
        at += name_bytes + -head % 8
        n_bytes = size * dtype.itemsize
        if len(view) - at < n_bytes + -n_bytes % 8 or name in found:
            raise BadFrame("a tensor is cut off, or comes twice")
        found[name] = np.frombuffer(view, dtype, size, at).reshape(shape) if size else np.empty(shape, dtype)
        at += n_bytes + -n_bytes % 8
    if at != len(view):
        raise BadFrame("something follows the tensors")
    return found


# ---- what a teacher says of itself ----


def welcome(model: str, feeds: Optional[List[Dict[str, Any]]], fetches: Optional[List[str]], batch: int = 0, free: int = 0) -> bytes:
    return json.dumps({"model": model, "feeds": feeds or [], "fetches": fetches or [], "batch": batch, "free": free}).encode()


def read_welcome(body: bytes) -> Dict[str, Any]:
    try:
        said = json.loads(body)
        if not (isinstance(said["model"], str) and isinstance(said["feeds"], list) and isinstance(said["fetches"], list)):
            raise TypeError
        for key in ("batch", "free"):
            if type(said.setdefault(key, 0)) is not int or not 0 <= said[key] <= 0xFFFFFFFF:
                raise TypeError
        for feed in said["feeds"]:
            if not (isinstance(feed["name"], str) and isinstance(feed.get("type", ""), str) and isinstance(feed.get("shape", []), list)):
                raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadFrame("WELCOME is not as expected") from None
    return dict(said)
