/* SPDX-License-Identifier: Apache-2.0 */
/* recordio.c - Paddle's RecordIO file: one chunk in memory
 *
 * The reader trusts nothing: every size is compared with the rest before it is used, and the growth
 * of a compressed chunk is bounded. */
#include "shared/recordio.h"

#include <errno.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/recordio_file.h"
#include "shared/snappy_frame.h"

#define LENGTH_BYTES 4
#define GZIP_WINDOW (15 + 16) /* zlib's way of saying: gzip header and trailer */

static uint32_t checksum(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)size);
}

bool recordio_chunk_begins(int fd, uint64_t offset_bytes)
{
    uint8_t raw[4];

    return offset_bytes <= INT64_MAX &&
           recordio_file_read(fd, offset_bytes, raw, sizeof raw) == 0 &&
           recordio_load_le32(raw) == RECORDIO_MAGIC;
}

bool recordio_begins(int fd)
{
    return recordio_chunk_begins(fd, 0);
}

/* gzip_unpack - grows as data comes, never beyond the limit (a small file may claim to be huge) */
static int gzip_unpack(const uint8_t *packed, size_t size, uint8_t **ret, size_t *ret_size)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)size };
    _cleanup_free_ uint8_t *out = NULL;
    size_t room = 0, done = 0;
    int status = Z_OK;

    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return -ENOMEM;
    while (status == Z_OK && done <= RECORDIO_CHUNK_BYTES_MAX) {
        if (done == room) {
            room = MIN_OF(room * 2 + 4 * size + 64 * 1024, (size_t)RECORDIO_CHUNK_BYTES_MAX + 1);
            out = xreallocarray(out, room, 1);
        }
        z.next_out = out + done;
        z.avail_out = (uInt)(room - done);
        status = inflate(&z, Z_NO_FLUSH);
        done = room - z.avail_out;
        if (status == Z_STREAM_END && z.avail_in > 0) /* several members are one stream */
            status = inflateReset(&z);
    }
    (void)inflateEnd(&z);
    if (done > RECORDIO_CHUNK_BYTES_MAX)
        return -E2BIG;
    if (status != Z_STREAM_END)
        return -EBADMSG;
    *ret = TAKE_PTR(out);
    *ret_size = done;
    return 0;
}

/* unpack - *data is replaced by the raw payload */
static int unpack(uint32_t compressor, uint8_t **data, size_t *size)
{
    uint8_t *raw = NULL;
    int r;

    if (compressor == RECORDIO_NONE)
        return 0;
    if (compressor == RECORDIO_GZIP)
        r = gzip_unpack(*data, *size, &raw, size);
    else
        r = snappy_frame_decode(*data, *size, RECORDIO_CHUNK_BYTES_MAX, &raw, size);
    if (r < 0)
        return r;
    free(*data);
    *data = raw;
    return 0;
}

/* split_records - the payload must be exactly n records */
static int split_records(uint8_t *take_data, size_t size, uint32_t n, struct recordio_records *ret)
{
    _cleanup_free_ uint32_t *offsets = xcalloc(n, sizeof *offsets);
    _cleanup_free_ uint32_t *sizes = xcalloc(n, sizeof *sizes);
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (size - at < LENGTH_BYTES)
            return -EBADMSG;
        sizes[i] = recordio_load_le32(take_data + at);
        at += LENGTH_BYTES;
        if (sizes[i] > size - at)
            return -EBADMSG;
        offsets[i] = (uint32_t)at;
        at += sizes[i];
    }
    if (at != size)
        return -EBADMSG;
    *ret = (struct recordio_records){ take_data, TAKE_PTR(offsets), TAKE_PTR(sizes), n };
    return 0;
}

/* read_stored - a header and the stored bytes behind it, whose checksum is right */
static int read_stored(const char *path, uint64_t offset_bytes, struct recordio_header *ret,
                       uint8_t **ret_data, struct edl_error *error)
{
    _cleanup_free_ uint8_t *data = NULL;
    _cleanup_close_ int fd = -1;
    uint64_t file_bytes = 0;
    const char *what;
    int r = recordio_file_open(path, &fd, &file_bytes, error);

    if (r < 0)
        return r;
    r = recordio_header_read(fd, offset_bytes, file_bytes, ret, &what);
    if (r == EDL_ECORRUPT)
        return recordio_damaged(path, offset_bytes, what, error);
    if (r == 0) {
        data = xcalloc(1, ret->stored_bytes);
        r = recordio_file_read(fd, offset_bytes + RECORDIO_HEADER_BYTES, data, ret->stored_bytes);
    }
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    if (checksum(data, ret->stored_bytes) != ret->crc)
        return recordio_damaged(path, offset_bytes, "the checksum does not match", error);
    *ret_data = TAKE_PTR(data);
    return 0;
}

int recordio_read_chunk(const char *path, uint64_t offset_bytes, struct recordio_records *ret,
                        struct edl_error *error)
{
    _cleanup_free_ uint8_t *data = NULL;
    struct recordio_header h;
    size_t size;
    int r = read_stored(path, offset_bytes, &h, &data, error);

    if (r < 0)
        return r;
    size = h.stored_bytes;
    if (unpack(h.compressor, &data, &size) < 0)
        return recordio_damaged(path, offset_bytes, "the compressed data is damaged or too large",
                                error);
    if (h.n_records > size / LENGTH_BYTES)
        return recordio_damaged(path, offset_bytes, "more records than the chunk can hold", error);
    if (split_records(data, size, h.n_records, ret) < 0)
        return recordio_damaged(path, offset_bytes, "the records do not add up to the chunk",
                                error);
    (void)TAKE_PTR(data);
    return 0;
}

void recordio_records_clear(struct recordio_records *records)
{
    free(records->data);
    free(records->offsets);
    free(records->sizes);
    *records = (struct recordio_records){ 0 };
}
