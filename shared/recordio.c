/* SPDX-License-Identifier: Apache-2.0 */
/* recordio.c - Paddle's RecordIO file: its index, and one chunk in memory
 *
 * The reader trusts nothing: every size is compared with what is left before it is used, and what a
 * compressed chunk grows to is bounded. */
#include "shared/recordio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/snappy_frame.h"

#define LENGTH_BYTES 4
#define GZIP_WINDOW (15 + 16) /* zlib's way of saying: gzip header and trailer */

/* A chunk header as read: five little endian words. */
struct chunk_header {
    uint32_t magic, crc, compressor, stored_bytes, n_records;
};

static uint32_t load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t checksum(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)size);
}

/* open_file - regular files only: opening a FIFO would wait for ever */
static int open_file(const char *path, int *ret_fd, uint64_t *ret_size, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (S_ISDIR(st.st_mode)) {
        (void)edl_error_set(error, -EISDIR, "%s is a folder, not a file of records", path);
        return edl_error_remedy(error, "name the files in it: %s/*", path);
    }
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

int recordio_survey(const char *path, struct recordio_survey *ret, struct edl_error *error)
{
    struct recordio_survey found = { 0 };
    _cleanup_close_ int fd = -1;
    uint64_t offset = 0;
    size_t room = 0;
    int r;

    r = open_file(path, &fd, &found.file_bytes, error);
    while (r == 0 && offset < found.file_bytes) {
        struct chunk_header h = { 0 };

        r = read_header(fd, path, offset, found.file_bytes, &h, &found.damage);
        if (r < 0)
            break;
        if (found.n_chunks == room) {
            room = room * 2 + 16;
            found.chunks = xreallocarray(found.chunks, room, sizeof *found.chunks);
        }
        found.chunks[found.n_chunks++] =
            (struct recordio_chunk){ offset, h.stored_bytes, h.n_records,
                                     (enum recordio_compressor)h.compressor };
        offset += RECORDIO_HEADER_BYTES + (uint64_t)h.stored_bytes;
    }
    if (r == EDL_ECORRUPT) {
        found.lost_bytes = found.file_bytes - offset;
        r = 0;
    } else if (r < 0 && found.damage.code != 0 && error != NULL) {
        *error = found.damage;
    }
    if (r < 0) {
        free(found.chunks);
        return r;
    }
    *ret = found;
    return 0;
}

void recordio_survey_clear(struct recordio_survey *survey)
{
    free(survey->chunks);
    *survey = (struct recordio_survey){ 0 };
}

int recordio_index(const char *path, struct recordio_chunk **ret_chunks, size_t *ret_n,
                   struct edl_error *error)
{
    struct recordio_survey found = { 0 };
    int r = recordio_survey(path, &found, error);

    if (r < 0)
        return r;
    if (found.lost_bytes > 0) {
        if (error != NULL)
            *error = found.damage;
        recordio_survey_clear(&found);
        return EDL_ECORRUPT;
    }
    *ret_chunks = found.chunks != NULL ? found.chunks : xcalloc(1, sizeof *found.chunks);
    *ret_n = found.n_chunks;
    return 0;
}

bool recordio_begins(int fd)
{
    uint8_t raw[4];

    return read_at(fd, 0, raw, sizeof raw) == 0 && load_le32(raw) == RECORDIO_MAGIC;
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
