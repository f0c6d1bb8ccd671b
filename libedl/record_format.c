/* SPDX-License-Identifier: Apache-2.0 */
/* record_format.c - files that are neither RecordIO nor a text, by their first bytes */
#include "libedl/record_format.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "shared/macro.h"

#define UNPACK "unpack it"
#define MEMBERS "unpack it and name the files in it, with EDL_RECORD_FILES"
#define CONVERT                                                                                    \
    "write its samples as RecordIO: edl recordio convert, or edl.dataset.convert of Python"
#define WHOLE "say EDL_RECORD_FILES, where each file is a record"
#define ASCII_SHORT 5 /* with so many letters a text may begin */
#define TFRECORD_HEAD_BYTES 12
#define TFRECORD_BYTES 16 /* beside the data of a record */
#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78)
#define CRC_MASK UINT32_C(0xa282ead8)

static const struct magic {
    struct record_format format;
    size_t offset, size;
    const char *bytes;
} magics[] = {
#define MAGIC(name, instead, offset, bytes)                                                        \
    {                                                                                              \
        { name, instead }, offset, sizeof(bytes) - 1, bytes                                        \
    }
    MAGIC("a gzip file", UNPACK, 0, "\x1f\x8b\x08"),
    MAGIC("a bzip2 file", UNPACK, 4, "1AY&SY"),
    MAGIC("an xz file", UNPACK, 0,
          "\xfd"
          "7zXZ\0"),
    MAGIC("a zstd file", UNPACK, 0, "\x28\xb5\x2f\xfd"),
    MAGIC("an lz4 file", UNPACK, 0, "\x04\x22\x4d\x18"),
    MAGIC("a tar archive", MEMBERS, 257, "ustar"),
    MAGIC("a zip archive (npz and files of PyTorch are some)", MEMBERS, 0, "PK\x03\x04"),
    MAGIC("an array of numpy (npy)", CONVERT, 0, "\x93NUMPY"),
    MAGIC("an HDF5 file", CONVERT, 0, "\x89HDF\r\n\x1a\n"),
    MAGIC("a parquet file", CONVERT, 0, "PAR1"),
    MAGIC("an Arrow file", CONVERT, 0, "ARROW1\0"),
    MAGIC("an Avro file", CONVERT, 0, "Obj\x01"),
    MAGIC("an ORC file", CONVERT, 0, "ORC"),
    MAGIC("an SQLite database", CONVERT, 0, "SQLite format 3\0"),
    MAGIC("a PNG picture", WHOLE, 0, "\x89PNG\r\n\x1a\n"),
    MAGIC("a JPEG picture", WHOLE, 0, "\xff\xd8\xff"),
    MAGIC("a RIFF file (wav, avi, webp)", WHOLE, 0, "RIFF"),
    MAGIC("a text in UTF-32", "make it UTF-8: iconv -f UTF-32 -t UTF-8", 0, "\xff\xfe\0\0"),
    MAGIC("a text in UTF-32", "make it UTF-8: iconv -f UTF-32 -t UTF-8", 0, "\0\0\xfe\xff"),
    MAGIC("a text in UTF-16", "make it UTF-8: iconv -f UTF-16 -t UTF-8", 0, "\xff\xfe"),
    MAGIC("a text in UTF-16", "make it UTF-8: iconv -f UTF-16 -t UTF-8", 0, "\xfe\xff"),
#undef MAGIC
};

static const struct record_format tfrecord = { "a TFRecord file", CONVERT };
const struct record_format record_format_binary = {
    "no text, as it has zero bytes",
    "say EDL_RECORD_FILES, where each file is a record, or EDL_RECORD_LINES if you mean its lines"
};

static uint32_t crc32c(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? CRC32C_POLYNOMIAL : 0);
    }
    return ~crc;
}

/* is_tfrecord - its first length has its checksum behind it */
static bool is_tfrecord(const uint8_t *block, size_t size, uint64_t file_bytes)
{
    uint64_t length;
    uint32_t masked, crc;

    if (size < TFRECORD_HEAD_BYTES || file_bytes < TFRECORD_BYTES)
        return false;
    memcpy(&length, block, sizeof length);
    memcpy(&masked, block + sizeof length, sizeof masked);
    crc = crc32c(block, sizeof length);
    return le64toh(length) <= file_bytes - TFRECORD_BYTES &&
           le32toh(masked) == (crc >> 15 | crc << 17) + CRC_MASK;
}

static bool is_plain(const struct magic *magic)
{
    for (size_t i = 0; i < magic->size; i++)
        if ((uint8_t)magic->bytes[i] >= 0x80)
            return false;
    return magic->size <= ASCII_SHORT;
}

const struct record_format *record_format_of(const uint8_t *block, size_t size, uint64_t file_bytes)
{
    const bool has_zero = memchr(block, 0, size) != NULL;

    for (size_t i = 0; i < ELEMENTS(magics); i++) {
        const struct magic *magic = &magics[i];

        if (size >= magic->offset + magic->size &&
            memcmp(block + magic->offset, magic->bytes, magic->size) == 0 &&
            (has_zero || !is_plain(magic)))
            return &magic->format;
    }
    return is_tfrecord(block, size, file_bytes) ? &tfrecord : NULL;
}
