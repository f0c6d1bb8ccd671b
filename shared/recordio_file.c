/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_file.c - the bytes of a RecordIO file, and the header of a chunk as it stands there
 *
 * Nothing is trusted: every size is compared with the bytes that are left before it is used. */
#include "shared/recordio_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/recordio.h"

/* recordio_file_open - regular files only: opening a FIFO would wait for ever */
int recordio_file_open(const char *path, int *ret_fd, uint64_t *ret_size_bytes,
                       struct edl_error *error)
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
    *ret_size_bytes = (uint64_t)st.st_size;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int recordio_file_read(int fd, uint64_t offset_bytes, uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = pread(fd, data, size, (off_t)offset_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        data += n;
        offset_bytes += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

uint32_t recordio_load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int recordio_damaged(const char *path, uint64_t offset_bytes, const char *what,
                     struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ECORRUPT, "%s: chunk at offset %" PRIu64 ": %s", path,
                        offset_bytes, what);
    (void)edl_error_remedy(error, "copy or build the file again");
    return EDL_ECORRUPT;
}

/* damage_of - what is wrong with a header; NULL: nothing. room: bytes of the file behind it */
static const char *damage_of(const struct recordio_header *h, uint64_t room)
{
    if (h->magic != RECORDIO_MAGIC)
        return "no chunk starts here (wrong magic number)";
    if (h->compressor > RECORDIO_GZIP)
        return "unknown compressor";
    if (h->stored_bytes > RECORDIO_CHUNK_BYTES_MAX)
        return "the chunk is larger than 64 MiB";
    if (h->stored_bytes > room)
        return "the file ends inside the chunk";
    if (h->n_records > RECORDIO_RECORDS_MAX(h->compressor, h->stored_bytes))
        return "more records than the chunk can hold";
    return NULL;
}

int recordio_header_read(int fd, uint64_t offset_bytes, uint64_t file_bytes,
                         struct recordio_header *ret, const char **ret_what)
{
    uint8_t raw[RECORDIO_HEADER_BYTES];
    int r;

    *ret = (struct recordio_header){ 0 };
    *ret_what = "the file ends inside the header";
    if (offset_bytes > file_bytes || file_bytes - offset_bytes < sizeof raw)
        return EDL_ECORRUPT;
    r = recordio_file_read(fd, offset_bytes, raw, sizeof raw);
    if (r < 0)
        return r;
    *ret = (struct recordio_header){ recordio_load_le32(raw), recordio_load_le32(raw + 4),
                                     recordio_load_le32(raw + 8), recordio_load_le32(raw + 12),
                                     recordio_load_le32(raw + 16) };
    *ret_what = damage_of(ret, file_bytes - offset_bytes - sizeof raw);
    return *ret_what != NULL ? EDL_ECORRUPT : 0;
}
