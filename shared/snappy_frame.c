/* SPDX-License-Identifier: Apache-2.0 */
/* snappy_frame.c - the snappy framing format, as RecordIO files of the Go tools hold it
 *
 * Stream = identifier frame, then frames of {type, 24-bit length, masked CRC32C of the raw bytes,
 * data}; type 0 is a snappy block, type 1 plain bytes, 0x80 to 0xfe may be skipped. A frame is at
 * most 64 KiB of raw bytes, so a copy offset fits the two-byte form and the decoder needs no more
 * than one frame's buffer beyond its output. Both directions are short enough that a C++ library as
 * a dependency would cost more than it saves. */
#include "shared/snappy_frame.h"

#include <errno.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define FRAME_RAW_MAX 65536u
#define FRAME_COMPRESSED 0x00
#define FRAME_PLAIN 0x01
#define FRAME_SKIP_FIRST 0x80
#define FRAME_IDENTIFIER 0xff
#define HASH_BITS 14
#define COPY_MAX 64 /* bytes that one copy element can express */

static const uint8_t identifier[10] = { 0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y' };

static uint32_t masked_crc32c(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

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

static uint8_t *put_literal(uint8_t *out, const uint8_t *from, size_t size)
{
    if (size == 0)
        return out;
    if (size <= 60) {
        *out++ = (uint8_t)((size - 1) << 2);
    } else {
        *out++ = 61 << 2; /* a two-byte length follows */
        out = store_le(out, (uint32_t)(size - 1), 2);
    }
    memcpy(out, from, size);
    return out + size;
}

static uint8_t *put_copy(uint8_t *out, size_t offset, size_t length)
{
    while (length > 0) {
        size_t part = MIN_OF(length, (size_t)COPY_MAX);

        *out++ = (uint8_t)((part - 1) << 2 | 2);
        out = store_le(out, (uint32_t)offset, 2);
        length -= part;
    }
    return out;
}

/* compress_block - greedy matches of four bytes or more through a hash table of positions
 * Worst case: a copy of 4 bytes costs 3, literals cost 3 more for each run, so 2 * size + 16 is
 * ample. */
static size_t compress_block(const uint8_t *raw, size_t size, uint8_t *out)
{
    uint16_t table[1 << HASH_BITS] = { 0 };
    uint8_t *p = out;
    size_t literal = 0, i = 1;
    uint32_t length = (uint32_t)size;

    for (; length >= 0x80; length >>= 7)
        *p++ = (uint8_t)(length | 0x80);
    *p++ = (uint8_t)length;
    while (i + 4 <= size) {
        uint32_t word = load_le32(raw + i), slot = word * UINT32_C(0x1e35a7bd) >> (32 - HASH_BITS);
        size_t candidate = table[slot], n = 4;

        table[slot] = (uint16_t)i;
        if (load_le32(raw + candidate) != word) {
            i++;
            continue;
        }
        while (i + n < size && raw[candidate + n] == raw[i + n])
            n++;
        p = put_literal(p, raw + literal, i - literal);
        p = put_copy(p, i - candidate, n);
        i += n;
        literal = i;
    }
    return (size_t)(put_literal(p, raw + literal, size - literal) - out);
}

void snappy_frame_encode(const uint8_t *raw, size_t size, uint8_t **ret, size_t *ret_size)
{
    size_t frames = size / FRAME_RAW_MAX + 1;
    uint8_t *out = xcalloc(1, sizeof identifier + size + frames * 8);
    _cleanup_free_ uint8_t *block = xcalloc(1, 2 * FRAME_RAW_MAX + 16);
    uint8_t *p = out;

    memcpy(p, identifier, sizeof identifier);
    p += sizeof identifier;
    while (size > 0) {
        size_t part = MIN_OF(size, (size_t)FRAME_RAW_MAX),
               packed = compress_block(raw, part, block);
        int smaller = packed < part;
        const uint8_t *data = smaller ? block : raw;

        packed = smaller ? packed : part;
        *p++ = smaller ? FRAME_COMPRESSED : FRAME_PLAIN;
        p = store_le(p, (uint32_t)packed + 4, 3);
        p = store_le(p, masked_crc32c(raw, part), 4);
        memcpy(p, data, packed);
        p += packed;
        raw += part;
        size -= part;
    }
    *ret = out;
    *ret_size = (size_t)(p - out);
}

/* A block being decoded: every read and write is checked against these ends. */
struct block {
    const uint8_t *in, *in_end;
    uint8_t *out;
    size_t done, size;
};

static int take_le(struct block *b, unsigned int bytes, uint32_t *ret)
{
    uint32_t value = 0;

    if ((size_t)(b->in_end - b->in) < bytes)
        return -EBADMSG;
    for (unsigned int i = 0; i < bytes; i++)
        value |= (uint32_t)*b->in++ << (8 * i);
    *ret = value;
    return 0;
}

static int take_literal(struct block *b, unsigned int tag)
{
    uint32_t length = tag >> 2;

    if (length >= 60 && take_le(b, length - 59, &length) < 0)
        return -EBADMSG;
    if (length >= b->size - b->done || length >= (size_t)(b->in_end - b->in))
        return -EBADMSG;
    memcpy(b->out + b->done, b->in, (size_t)length + 1);
    b->in += (size_t)length + 1;
    b->done += (size_t)length + 1;
    return 0;
}

static int take_copy(struct block *b, unsigned int tag)
{
    static const unsigned int offset_bytes[] = { [1] = 1, [2] = 2, [3] = 4 };
    unsigned int kind = tag & 3;
    uint32_t length = (tag >> 2) + 1, offset;

    if (take_le(b, offset_bytes[kind], &offset) < 0)
        return -EBADMSG;
    if (kind == 1) {
        length = (tag >> 2 & 7) + 4;
        offset |= (tag >> 5) << 8;
    }
    if (offset == 0 || offset > b->done || length > b->size - b->done)
        return -EBADMSG;
    for (uint32_t i = 0; i < length;
         i++, b->done++) /* source and target may overlap: byte by byte */
        b->out[b->done] = b->out[b->done - offset];
    return 0;
}

/* decompress_block - out has room for FRAME_RAW_MAX bytes */
static int decompress_block(const uint8_t *in, size_t in_size, uint8_t *out, size_t *ret_size)
{
    struct block b = { .in = in, .in_end = in + in_size, .out = out };
    uint32_t byte = 0x80;

    for (unsigned int shift = 0; (byte & 0x80) != 0; shift += 7) {
        if (shift > 14 || take_le(&b, 1, &byte) < 0)
            return -EBADMSG;
        b.size |= (size_t)(byte & 0x7f) << shift;
    }
    if (b.size > FRAME_RAW_MAX)
        return -EBADMSG;
    while (b.in < b.in_end) {
        unsigned int tag = *b.in++;

        if (((tag & 3) == 0 ? take_literal(&b, tag) : take_copy(&b, tag)) < 0)
            return -EBADMSG;
    }
    if (b.done != b.size)
        return -EBADMSG;
    *ret_size = b.size;
    return 0;
}

/* decode_data_frame - data starts at the checksum; out has room for one frame */
static int decode_data_frame(unsigned int type, const uint8_t *data, size_t length, uint8_t *out,
                             size_t *ret_size)
{
    size_t size = length - 4;

    if (length < 4)
        return -EBADMSG;
    if (type == FRAME_COMPRESSED) {
        if (decompress_block(data + 4, length - 4, out, &size) < 0)
            return -EBADMSG;
    } else {
        if (size > FRAME_RAW_MAX)
            return -EBADMSG;
        memcpy(out, data + 4, size);
    }
    if (masked_crc32c(out, size) != load_le32(data))
        return -EBADMSG;
    *ret_size = size;
    return 0;
}

int snappy_frame_decode(const uint8_t *framed, size_t size, size_t raw_max, uint8_t **ret,
                        size_t *ret_size)
{
    _cleanup_free_ uint8_t *out = NULL;
    size_t done = 0, room = 0, at = 0;

    if (size < sizeof identifier || memcmp(framed, identifier, sizeof identifier) != 0)
        return -EBADMSG;
    while (at < size) {
        unsigned int type = framed[at];
        size_t length, part = 0;

        if (size - at < 4)
            return -EBADMSG;
        length = load_le32(framed + at) >> 8;
        at += 4;
        if (length > size - at)
            return -EBADMSG;
        if (type == FRAME_COMPRESSED || type == FRAME_PLAIN) {
            if (room - done < FRAME_RAW_MAX) {
                room = room * 2 + FRAME_RAW_MAX;
                out = xreallocarray(out, room, 1);
            }
            if (decode_data_frame(type, framed + at, length, out + done, &part) < 0)
                return -EBADMSG;
        } else if (type < FRAME_SKIP_FIRST) {
            return -EBADMSG; /* reserved and not skippable */
        }
        done += part;
        if (done > raw_max)
            return -E2BIG;
        at += length;
    }
    *ret = out != NULL ? TAKE_PTR(out) : xcalloc(1, 1);
    *ret_size = done;
    return 0;
}
