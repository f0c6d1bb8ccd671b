/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_writer.c - Paddle's RecordIO file, written
 *
 * The writer keeps one chunk in memory and writes it whole. It writes ".NAME.PID.partial" in the
 * same folder, which no pattern matches: a file that a pattern matches is always complete. */
#include "shared/recordio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/snappy_frame.h"
#include "shared/whole_file.h"
#include "shared/write_all.h"

#define LENGTH_BYTES 4
#define GZIP_WINDOW (15 + 16) /* zlib's way of saying: gzip header and trailer */

struct recordio_writer {
    char *path, *partial;
    int fd;
    enum recordio_compressor compressor;
    size_t chunk_bytes;  /* record bytes, lengths not counted */
    size_t record_bytes; /* of the chunk being filled */
    uint32_t n_records;
    uint8_t *payload;
    size_t payload_bytes, payload_room;
};

static void store_le32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)size);
}

static struct recordio_writer *writer_free(struct recordio_writer *writer)
{
    (void)safe_close(writer->fd);
    free(writer->path);
    free(writer->partial);
    free(writer->payload);
    free(writer);
    return NULL;
}

int recordio_writer_open(const char *path, enum recordio_compressor compressor, size_t chunk_bytes,
                         struct recordio_writer **ret, struct edl_error *error)
{
    _cleanup_free_ char *partial = NULL;
    struct recordio_writer *writer;
    const char *base;
    int fd;

    if (chunk_bytes > RECORDIO_CHUNK_BYTES_MAX || (unsigned int)compressor > RECORDIO_GZIP)
        return edl_error_set(error, -EINVAL, "chunks of %zu bytes with compressor %u", chunk_bytes,
                             (unsigned int)compressor);
    base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (asprintf(&partial, "%.*s.%s.%d.partial", (int)(base - path), path, base, (int)getpid()) < 0)
        abort();
    fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot create %s", partial);
    writer = xcalloc(1, sizeof *writer);
    writer->path = xstrdup(path);
    writer->partial = TAKE_PTR(partial);
    writer->fd = fd;
    writer->compressor = compressor;
    writer->chunk_bytes = chunk_bytes;
    *ret = writer;
    return 0;
}

/* gzip_pack - one gzip member; zlib fails only for want of memory */
static void gzip_pack(const uint8_t *raw, size_t size, uint8_t **ret, size_t *ret_size)
{
    z_stream z = { 0 };
    size_t room;

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        abort();
    room = deflateBound(&z, (uLong)size);
    *ret = xcalloc(1, room);
    z.next_in = (Bytef *)(uintptr_t)raw;
    z.avail_in = (uInt)size;
    z.next_out = *ret;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    *ret_size = z.total_out;
    (void)deflateEnd(&z);
}

/* dump_chunk - a chunk without records writes nothing */
static int dump_chunk(struct recordio_writer *writer, struct edl_error *error)
{
    _cleanup_free_ uint8_t *packed = NULL;
    const uint8_t *stored = writer->payload;
    size_t stored_bytes = writer->payload_bytes;
    uint8_t header[RECORDIO_HEADER_BYTES];
    int r;

    if (writer->n_records == 0)
        return 0;
    if (writer->compressor == RECORDIO_GZIP)
        gzip_pack(writer->payload, writer->payload_bytes, &packed, &stored_bytes);
    else if (writer->compressor == RECORDIO_SNAPPY)
        snappy_frame_encode(writer->payload, writer->payload_bytes, &packed, &stored_bytes);
    if (packed != NULL)
        stored = packed;
    store_le32(header, RECORDIO_MAGIC);
    store_le32(header + 4, checksum(stored, stored_bytes));
    store_le32(header + 8, (uint32_t)writer->compressor);
    store_le32(header + 12, (uint32_t)stored_bytes);
    store_le32(header + 16, writer->n_records);
    r = write_all(writer->fd, header, sizeof header);
    if (r == 0)
        r = write_all(writer->fd, stored, stored_bytes);
    if (r < 0)
        return edl_error_errno(error, r, "cannot write %s", writer->partial);
    writer->n_records = 0;
    writer->record_bytes = writer->payload_bytes = 0;
    return 0;
}

int recordio_write(struct recordio_writer *writer, const void *record, size_t size,
                   struct edl_error *error)
{
    /* A packed chunk may be a little larger than its payload; the margin keeps it readable. */
    const size_t payload_max = RECORDIO_CHUNK_BYTES_MAX - 64 * 1024;
    size_t end;
    int r;

    if (size > payload_max - LENGTH_BYTES)
        return edl_error_set(error, -E2BIG, "a record of %zu bytes does not fit a chunk", size);
    if (writer->record_bytes + size > writer->chunk_bytes ||
        writer->payload_bytes + LENGTH_BYTES + size > payload_max) {
        r = dump_chunk(writer, error);
        if (r < 0)
            return r;
    }
    end = writer->payload_bytes + LENGTH_BYTES + size;
    if (end > writer->payload_room) {
        writer->payload_room = MAX_OF(end, writer->payload_room * 2);
        writer->payload = xreallocarray(writer->payload, writer->payload_room, 1);
    }
    store_le32(writer->payload + writer->payload_bytes, (uint32_t)size);
    if (size > 0)
        memcpy(writer->payload + writer->payload_bytes + LENGTH_BYTES, record, size);
    writer->payload_bytes = end;
    writer->record_bytes += size;
    writer->n_records++;
    return 0;
}

int recordio_writer_close(struct recordio_writer *take_writer, struct edl_error *error)
{
    int r = dump_chunk(take_writer, error);

    if (r < 0) {
        recordio_writer_abort(take_writer);
        return r;
    }
    if (fsync(take_writer->fd) < 0 || rename(take_writer->partial, take_writer->path) < 0) {
        r = edl_error_errno(error, -errno, "cannot finish %s", take_writer->path);
        recordio_writer_abort(take_writer);
        return r;
    }
    r = name_sync(take_writer->path, error);
    (void)writer_free(take_writer);
    return r;
}

void recordio_writer_abort(struct recordio_writer *take_writer)
{
    if (take_writer == NULL)
        return;
    (void)unlink(take_writer->partial);
    (void)writer_free(take_writer);
}
