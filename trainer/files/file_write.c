/* SPDX-License-Identifier: Apache-2.0 */
/* file_write.c - whole reads, a file that is read back, and the folder of a file */
#include "trainer/files/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "shared/write_all.h"

int file_read_all(int fd, void *data, size_t size)
{
    uint8_t *p = data;

    while (size > 0) {
        ssize_t n = read(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

int file_write_pieces(int fd, const struct file_piece *pieces, size_t n)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = write_all(fd, pieces[i].data, pieces[i].size);
    return r >= 0 && fsync(fd) < 0 ? -errno : r;
}

/* has_piece - the bytes that are next in the file */
static int has_piece(int fd, const struct file_piece *piece)
{
    const uint8_t *data = piece->data;
    uint8_t block[65536];

    for (size_t at = 0; at < piece->size;) {
        const size_t n = MIN_OF(piece->size - at, sizeof block);
        int r = file_read_all(fd, block, n);

        if (r < 0)
            return r == -ENODATA ? -EIO : r;
        if (memcmp(block, data + at, n) != 0)
            return -EIO;
        at += n;
    }
    return 0;
}

int file_reads_back(int folder, const char *name, const struct file_piece *pieces, size_t n)
{
    _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    uint8_t more;
    int r = fd < 0 ? -errno : 0;

    if (fd >= 0)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = has_piece(fd, &pieces[i]);
    if (r < 0)
        return r;
    return file_read_all(fd, &more, 1) == -ENODATA ? 0 : -EIO;
}

char *file_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent;

    if (slash == NULL)
        return xstrdup(".");
    parent = xstrdup(path);
    parent[slash == path ? 1 : slash - path] = '\0';
    return parent;
}

int file_make_parent(const char *path, struct edl_error *error)
{
    _cleanup_free_ char *parent = file_parent(path);

    if (mkdir(parent, 0755) == 0)
        return name_sync(parent, error);
    return errno == EEXIST ? 0 : edl_error_errno(error, -errno, "cannot create folder %s", parent);
}
