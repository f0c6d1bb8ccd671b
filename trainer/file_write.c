/* SPDX-License-Identifier: Apache-2.0 */
/* file_write.c - whole reads and writes, and the folder of a file */
#include "trainer/file_write.h"

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

int file_write_all(int fd, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

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
