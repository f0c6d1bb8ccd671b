# SPDX-License-Identifier: Apache-2.0
"""The snappy framing format, as RecordIO files of the Go tools hold it (shared/snappy_frame.c tells more).

The checksums of its frames are not looked at: the chunk that holds them has one over the same bytes, and a loop of
Python over each byte takes longer than all the rest of reading.
"""
from __future__ import annotations

from typing import Dict, List

IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"
FRAME_RAW_MAX = 65536
MATCH_LEAST = 4
COPY_MAX = 64


def _crc_table() -> List[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc32c(data: bytes) -> int:
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def _length(data: bytes) -> "tuple[int, int]":
    """How long the block is unpacked, and where its elements begin."""
    value = 0
    for at, byte in enumerate(data[:3]):
        value |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return value, at + 1
    raise ValueError("a snappy block has no length")


def _copy(out: bytearray, offset: int, length: int, size: int) -> None:
    if not 0 < offset <= len(out) or length > size - len(out):
        raise ValueError("a snappy block copies what is not there")
    begin = len(out) - offset
    if offset >= length:
        out += out[begin:begin + length]
    else:  # source and target overlap: the copy is a source as well
        part = bytes(out[begin:])
        out += (part * (length // offset + 1))[:length]


def unpack_block(data: bytes) -> bytearray:
    """ValueError: it is damaged."""
    size, at = _length(data)
    if size > FRAME_RAW_MAX:
        raise ValueError("a snappy block is too long")
    out = bytearray()
    end = len(data)
    while at < end:
        tag = data[at]
        kind, length = tag & 3, (tag >> 2) + 1
        at += 1
        if kind == 0:
            if length > 60:
                more = length - 60
                length = int.from_bytes(data[at:at + more], "little") + 1
                at += more
            if length > size - len(out) or length > end - at:
                raise ValueError("a snappy block is cut")
            out += data[at:at + length]
            at += length
            continue
        more = (1, 2, 4)[kind - 1]
        if more > end - at:
            raise ValueError("a snappy block is cut")
        offset = int.from_bytes(data[at:at + more], "little")
        at += more
        if kind == 1:
            length = (tag >> 2 & 7) + 4
            offset |= tag >> 5 << 8
        _copy(out, offset, length, size)
    if len(out) != size:
        raise ValueError("a snappy block is cut")
    return out


def unpack(data: bytes, raw_max: int) -> bytes:
    """ValueError: it is damaged, or more than raw_max bytes come out."""
    if not data.startswith(IDENTIFIER):
        raise ValueError("this is no snappy stream")
    out = bytearray()
    at, end = 0, len(data)
    while at < end:
        kind, length = data[at], int.from_bytes(data[at + 1:at + 4], "little")
        at += 4
        if at > end or length > end - at:
            raise ValueError("a snappy stream is cut")
        if kind <= 1:
            if length < 4:
                raise ValueError("a snappy frame has no checksum")
            body = data[at + 4:at + length]
            if len(body) > FRAME_RAW_MAX and kind == 1:
                raise ValueError("a snappy frame is too long")
            out += unpack_block(body) if kind == 0 else body
        elif kind < 0x80:
            raise ValueError(f"a snappy frame is of the unknown kind {kind}")
        if len(out) > raw_max:
            raise ValueError("a snappy stream is too long")
        at += length
    return bytes(out)


def _literal(out: bytearray, data: bytes) -> None:
    if not data:
        return
    n = len(data) - 1
    if n < 60:
        out.append(n << 2)
    elif n < 256:
        out += bytes((60 << 2, n))
    else:
        out += bytes((61 << 2, n & 0xFF, n >> 8))
    out += data


def pack_block(data: bytes) -> bytes:
    """Of at most FRAME_RAW_MAX bytes."""
    out = bytearray()
    size = n = len(data)
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    seen: Dict[bytes, int] = {}
    at = begin = 0
    while at + MATCH_LEAST <= size:
        key = data[at:at + MATCH_LEAST]
        found = seen.get(key, -1)
        seen[key] = at
        if found < 0:
            at += 1
            continue
        length = MATCH_LEAST
        while length < COPY_MAX and at + length < size and data[found + length] == data[at + length]:
            length += 1
        _literal(out, data[begin:at])
        out += bytes((length - 1 << 2 | 2,)) + (at - found).to_bytes(2, "little")
        at += length
        begin = at
    _literal(out, data[begin:])
    return bytes(out)


def pack(data: bytes) -> bytes:
    out = [IDENTIFIER]
    for at in range(0, len(data), FRAME_RAW_MAX):
        raw = data[at:at + FRAME_RAW_MAX]
        block = pack_block(raw)
        kind, body = (0, block) if len(block) < len(raw) else (1, raw)
        out.append(bytes((kind,)) + (len(body) + 4).to_bytes(3, "little") + masked_crc32c(raw).to_bytes(4, "little") + body)
    return b"".join(out)
