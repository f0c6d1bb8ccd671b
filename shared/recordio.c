/* SPDX-License-Identifier: Apache-2.0 */
/* recordio.c - Paddle's RecordIO file: chunks of records with a checksum
 *
 * The writer keeps one chunk in memory and writes it whole. It writes "<path>.<pid>.partial", so
 * that a file under its final name is always complete: trainers index what a glob matches. The
 * reader trusts nothing: every size is compared with what is left before it is used, and what a
 * compressed chunk grows to is bounded. */
#include "shared/recordio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/snappy_frame.h"
#include "shared/whole_file.h"

#define LENGTH_BYTES 4
#define GZIP_WINDOW (15 + 16) /* zlib's way of saying: gzip header and trailer */

/* A chunk header as read: five little endian words. */
struct chunk_header {
    uint32_t magic, crc, compressor, stored_bytes, n_records;
};

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

static uint32_t load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store_le32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)size);
}

static int write_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        size -= (size_t)n;
    }
    return 0;
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
    int fd;

    if (chunk_bytes > RECORDIO_CHUNK_BYTES_MAX || (unsigned int)compressor > RECORDIO_GZIP)
        return edl_error_set(error, -EINVAL, "chunks of %zu bytes with compressor %u", chunk_bytes,
                             (unsigned int)compressor);
    if (asprintf(&partial, "%s.%d.partial", path, (int)getpid()) < 0)
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

/* open_file - regular files only: opening a FIFO would wait for ever */
static int open_file(const char *path, int *ret_fd, uint64_t *ret_size, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (!S_ISREG(st.st_mode))
        return edl_error_set(error, -EINVAL, "%s is not a regular file", path);
    *ret_size = (uint64_t)st.st_size;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* read_at - all of size bytes; -ENODATA when the file ends before */
static int read_at(int fd, uint64_t offset, uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = pread(fd, data, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        data += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int corrupt(const char *path, uint64_t offset, const char *what, struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ECORRUPT, "%s: chunk at offset %" PRIu64 ": %s", path, offset,
                        what);
    (void)edl_error_remedy(error, "copy or build the file again");
    return EDL_ECORRUPT;
}

/* read_header - one header and the checks that need no payload */
static int read_header(int fd, const char *path, uint64_t offset, uint64_t file_bytes,
                       struct chunk_header *ret, struct edl_error *error)
{
    uint8_t raw[RECORDIO_HEADER_BYTES];
    struct chunk_header h;
    int r;

    if (offset > file_bytes || file_bytes - offset < sizeof raw)
        return corrupt(path, offset, "the file ends inside the header", error);
    r = read_at(fd, offset, raw, sizeof raw);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    h = (struct chunk_header){ load_le32(raw), load_le32(raw + 4), load_le32(raw + 8),
                               load_le32(raw + 12), load_le32(raw + 16) };
    if (h.magic != RECORDIO_MAGIC)
        return corrupt(path, offset, "no chunk starts here (wrong magic number)", error);
    if (h.compressor > RECORDIO_GZIP)
        return corrupt(path, offset, "unknown compressor", error);
    if (h.stored_bytes > RECORDIO_CHUNK_BYTES_MAX)
        return corrupt(path, offset, "the chunk is larger than 64 MiB", error);
    if (h.stored_bytes > file_bytes - offset - sizeof raw)
        return corrupt(path, offset, "the file ends inside the chunk", error);
    if (h.n_records > RECORDIO_CHUNK_BYTES_MAX / LENGTH_BYTES ||
        (h.compressor == RECORDIO_NONE && h.n_records > h.stored_bytes / LENGTH_BYTES))
        return corrupt(path, offset, "more records than the chunk can hold", error);
    *ret = h;
    return 0;
}

int recordio_index(const char *path, struct recordio_chunk **ret_chunks, size_t *ret_n,
                   struct edl_error *error)
{
    _cleanup_free_ struct recordio_chunk *chunks = NULL;
    _cleanup_close_ int fd = -1;
    uint64_t file_bytes = 0, offset = 0;
    size_t n = 0, room = 0;
    int r;

    r = open_file(path, &fd, &file_bytes, error);
    if (r < 0)
        return r;
    while (offset < file_bytes) {
        struct chunk_header h = { 0 };

        r = read_header(fd, path, offset, file_bytes, &h, error);
        if (r < 0)
            return r;
        if (n == room) {
            room = room * 2 + 16;
            chunks = xreallocarray(chunks, room, sizeof *chunks);
        }
        chunks[n++] = (struct recordio_chunk){ offset, h.stored_bytes, h.n_records };
        offset += RECORDIO_HEADER_BYTES + (uint64_t)h.stored_bytes;
    }
    *ret_chunks = chunks != NULL ? TAKE_PTR(chunks) : xcalloc(1, sizeof *chunks);
    *ret_n = n;
    return 0;
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
            room = MIN_OF(room * 2 + 64 * 1024, (size_t)RECORDIO_CHUNK_BYTES_MAX + 1);
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
        sizes[i] = load_le32(take_data + at);
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

int recordio_read_chunk(const char *path, uint64_t offset_bytes, struct recordio_records *ret,
                        struct edl_error *error)
{
    _cleanup_free_ uint8_t *data = NULL;
    _cleanup_close_ int fd = -1;
    struct chunk_header h = { 0 };
    uint64_t file_bytes = 0;
    size_t size;
    int r;

    r = open_file(path, &fd, &file_bytes, error);
    if (r < 0)
        return r;
    r = read_header(fd, path, offset_bytes, file_bytes, &h, error);
    if (r < 0)
        return r;
    size = h.stored_bytes;
    data = xcalloc(1, size);
    r = read_at(fd, offset_bytes + RECORDIO_HEADER_BYTES, data, size);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    if (checksum(data, size) != h.crc)
        return corrupt(path, offset_bytes, "the checksum does not match", error);
    if (unpack(h.compressor, &data, &size) < 0)
        return corrupt(path, offset_bytes, "the compressed data is damaged or too large", error);
    if (h.n_records > size / LENGTH_BYTES)
        return corrupt(path, offset_bytes, "more records than the chunk can hold", error);
    if (split_records(data, size, h.n_records, ret) < 0)
        return corrupt(path, offset_bytes, "the records do not add up to the chunk", error);
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
