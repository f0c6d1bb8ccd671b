/* SPDX-License-Identifier: Apache-2.0 */
/* snappy_frame.c - the snappy framing format, as RecordIO files of the Go tools hold it
 *
 * Stream = identifier frame, then frames of {type, 24-bit length, masked CRC32C of the raw bytes,
 * data}; type 0 is a snappy block, type 1 plain bytes, 0x80 to 0xfe may be skipped. A frame is at
 * most 64 KiB of raw bytes. libsnappy knows blocks, and no frames. */
#include "shared/snappy_frame.h"

#include <errno.h>
#include <snappy-c.h>
#include <stdbool.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define FRAME_RAW_MAX 65536u
#define FRAME_COMPRESSED 0x00
#define FRAME_PLAIN 0x01
#define FRAME_SKIP_FIRST 0x80
#define CRC_BYTES 4

static const uint8_t identifier[10] = { 0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y' };

/* ---- CRC32C, the sum of iSCSI, which zlib has not ---- */

static void crc_table_fill(uint32_t table[256])
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
        table[byte] = crc;
    }
}

static uint32_t crc_by_table(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = UINT32_MAX;

    crc_table_fill(table); /* a frame is much longer */
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_processor(const uint8_t *data, size_t size)
{
    uint64_t crc = UINT32_MAX, word;

    for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
        memcpy(&word, data, sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    for (; size > 0; data++, size--)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *data);
    return ~(uint32_t)crc;
}

static uint32_t crc32c(const uint8_t *data, size_t size)
{
    return __builtin_cpu_supports("sse4.2") ? crc_by_processor(data, size)
                                            : crc_by_table(data, size);
}
#else
static uint32_t crc32c(const uint8_t *data, size_t size)
{
    return crc_by_table(data, size);
}
#endif

static uint32_t masked_crc32c(const uint8_t *data, size_t size)
{
    const uint32_t crc = crc32c(data, size);

    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* ---- frames ---- */

static uint32_t load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint8_t *store_le(uint8_t *p, uint32_t value, unsigned int bytes)
{
    for (unsigned int i = 0; i < bytes; i++)
        *p++ = (uint8_t)(value >> (8 * i));
    return p;
}

void snappy_frame_encode(const uint8_t *raw, size_t size, uint8_t **ret, size_t *ret_size)
{
    const size_t frames = size / FRAME_RAW_MAX + 1;
    const size_t block_room = snappy_max_compressed_length(FRAME_RAW_MAX);
    uint8_t *out = xcalloc(1, sizeof identifier + size + frames * 8);
    _cleanup_free_ char *block = xcalloc(1, block_room);
    uint8_t *p = out;

    memcpy(p, identifier, sizeof identifier);
    p += sizeof identifier;
    while (size > 0) {
        size_t part = MIN_OF(size, (size_t)FRAME_RAW_MAX), packed = block_room;
        bool smaller =
            snappy_compress((const char *)raw, part, block, &packed) == SNAPPY_OK && packed < part;
        const void *data = smaller ? (const void *)block : (const void *)raw;

        packed = smaller ? packed : part;
        *p++ = smaller ? FRAME_COMPRESSED : FRAME_PLAIN;
        p = store_le(p, (uint32_t)packed + CRC_BYTES, 3);
        p = store_le(p, masked_crc32c(raw, part), CRC_BYTES);
        memcpy(p, data, packed);
        p += packed;
        raw += part;
        size -= part;
    }
    *ret = out;
    *ret_size = (size_t)(p - out);
}

/* A frame of a stream that is read. */
struct frame {
    unsigned int type;
    const uint8_t *data; /* its checksum, and what that is of */
    size_t length;
    size_t raw_size; /* that come out */
};

/* frame_at - the frame at a place of the stream, and the place behind it; -EBADMSG */
static int frame_at(const uint8_t *framed, size_t size, size_t *io_at, struct frame *ret)
{
    size_t at = *io_at;

    if (size - at < 4)
        return -EBADMSG;
    *ret = (struct frame){ .type = framed[at],
                           .data = framed + at + 4,
                           .length = load_le32(framed + at) >> 8 };
    if (ret->length > size - at - 4)
        return -EBADMSG;
    *io_at = at + 4 + ret->length;
    if (ret->type > FRAME_PLAIN) /* some may be skipped */
        return ret->type < FRAME_SKIP_FIRST ? -EBADMSG : 0;
    if (ret->length < CRC_BYTES)
        return -EBADMSG;
    ret->raw_size = ret->length - CRC_BYTES;
    if (ret->type == FRAME_COMPRESSED &&
        snappy_uncompressed_length((const char *)ret->data + CRC_BYTES, ret->length - CRC_BYTES,
                                   &ret->raw_size) != SNAPPY_OK)
        return -EBADMSG;
    /* no writer makes an empty frame, and many of them would cost more than their bytes */
    return ret->raw_size == 0 || ret->raw_size > FRAME_RAW_MAX ? -EBADMSG : 0;
}

/* decode_frame - out has room for raw_size bytes */
static int decode_frame(const struct frame *frame, uint8_t *out)
{
    size_t size = frame->raw_size;

    if (frame->type > FRAME_PLAIN)
        return 0;
    if (frame->type == FRAME_PLAIN)
        memcpy(out, frame->data + CRC_BYTES, size);
    else if (snappy_uncompress((const char *)frame->data + CRC_BYTES, frame->length - CRC_BYTES,
                               (char *)out, &size) != SNAPPY_OK)
        return -EBADMSG;
    return masked_crc32c(out, size) == load_le32(frame->data) ? 0 : -EBADMSG;
}

/* raw_size_of - of all frames: what is decoded has its room at once */
static int raw_size_of(const uint8_t *framed, size_t size, size_t raw_max, size_t *ret)
{
    struct frame frame;
    size_t all = 0;

    for (size_t at = 0; at < size; all += frame.raw_size) {
        int r = frame_at(framed, size, &at, &frame);

        if (r < 0)
            return r;
        if (frame.raw_size > raw_max - all)
            return -E2BIG;
    }
    *ret = all;
    return 0;
}

int snappy_frame_decode(const uint8_t *framed, size_t size, size_t raw_max, uint8_t **ret,
                        size_t *ret_size)
{
    _cleanup_free_ uint8_t *out = NULL;
    size_t raw_size = 0, done = 0;
    int r;

    if (size < sizeof identifier || memcmp(framed, identifier, sizeof identifier) != 0)
        return -EBADMSG;
    r = raw_size_of(framed, size, raw_max, &raw_size);
    if (r < 0)
        return r;
    out = xreallocarray(NULL, MAX_OF(raw_size, (size_t)1), 1);
    for (size_t at = 0; r == 0 && at < size;) {
        struct frame frame = { 0 };

        r = frame_at(framed, size, &at, &frame);
        if (r == 0)
            r = decode_frame(&frame, out + done);
        done += frame.raw_size;
    }
    if (r < 0)
        return r;
    *ret = TAKE_PTR(out);
    *ret_size = raw_size;
    return 0;
}
