# SPDX-License-Identifier: Apache-2.0
"""Files that are neither RecordIO nor a text, by their first bytes: their lines would be no records. libedl/record_format.c has
the same table."""
from __future__ import annotations

import struct
from typing import NamedTuple, Optional

BLOCK_BYTES = 64 << 10  # that are looked at
UNPACK = "unpack it"
MEMBERS = 'unpack it and name the files in it, with kind="files"'
CONVERT = "write its samples as RecordIO: edl.dataset.convert"
WHOLE = 'say kind="files", where each file is a record'
ENCODE = "make it UTF-8: iconv -f {0} -t UTF-8"
UNKNOWN = 'say kind="files", where each file is a record, or kind="lines" if you mean its lines'


class Format(NamedTuple):
    name: str
    instead: str


class _Magic(NamedTuple):
    format: Format
    offset: int
    bytes: bytes


# A short one of ASCII letters, with which a text may begin, counts where there is a zero byte.
_MAGICS = [_Magic(Format(name, instead), offset, magic) for name, instead, offset, magic in (
    ("a gzip file", UNPACK, 0, b"\x1f\x8b\x08"),
    ("a bzip2 file", UNPACK, 4, b"1AY&SY"),
    ("an xz file", UNPACK, 0, b"\xfd7zXZ\0"),
    ("a zstd file", UNPACK, 0, b"\x28\xb5\x2f\xfd"),
    ("an lz4 file", UNPACK, 0, b"\x04\x22\x4d\x18"),
    ("a tar archive", MEMBERS, 257, b"ustar"),
    ("a zip archive (npz and files of PyTorch are some)", MEMBERS, 0, b"PK\x03\x04"),
    ("an array of numpy (npy)", CONVERT, 0, b"\x93NUMPY"),
    ("an HDF5 file", CONVERT, 0, b"\x89HDF\r\n\x1a\n"),
    ("a parquet file", CONVERT, 0, b"PAR1"),
    ("an Arrow file", CONVERT, 0, b"ARROW1\0"),
    ("an Avro file", CONVERT, 0, b"Obj\x01"),
    ("an ORC file", CONVERT, 0, b"ORC"),
    ("an SQLite database", CONVERT, 0, b"SQLite format 3\0"),
    ("a PNG picture", WHOLE, 0, b"\x89PNG\r\n\x1a\n"),
    ("a JPEG picture", WHOLE, 0, b"\xff\xd8\xff"),
    ("a RIFF file (wav, avi, webp)", WHOLE, 0, b"RIFF"),
    ("a text in UTF-32", ENCODE.format("UTF-32"), 0, b"\xff\xfe\0\0"),
    ("a text in UTF-32", ENCODE.format("UTF-32"), 0, b"\0\0\xfe\xff"),
    ("a text in UTF-16", ENCODE.format("UTF-16"), 0, b"\xff\xfe"),
    ("a text in UTF-16", ENCODE.format("UTF-16"), 0, b"\xfe\xff"),
)]
_TFRECORD = Format("a TFRecord file", CONVERT)
_TFRECORD_HEAD = struct.Struct("<QI")
_TFRECORD_BYTES = 16  # beside the data of a record
BINARY = Format("no text, as it has zero bytes", UNKNOWN)


def _crc32c(data: bytes) -> int:
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def _is_tfrecord(block: bytes, size: int) -> bool:
    """Its first length has its checksum behind it."""
    if len(block) < _TFRECORD_HEAD.size:
        return False
    length, masked = _TFRECORD_HEAD.unpack_from(block)
    crc = _crc32c(block[:8])
    return length + _TFRECORD_BYTES <= size and masked == ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def known(block: bytes, size: int) -> Optional[Format]:
    """The format of a file that begins with this block; None: it is none of those that are known."""
    for format, offset, magic in _MAGICS:
        if block[offset:offset + len(magic)] == magic and (b"\0" in block or not magic.isascii() or len(magic) > 5):
            return format
    return _TFRECORD if _is_tfrecord(block, size) else None
