/* SPDX-License-Identifier: Apache-2.0 */
/* whole_file.c - small files that are there whole or not at all */
#include "shared/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

static int read_text(int fd, const char *path, char *text, struct edl_error *error)
{
    size_t used = 0;

    while (used <= WHOLE_FILE_MAX_BYTES) {
        ssize_t n = read(fd, text + used, WHOLE_FILE_MAX_BYTES + 1 - used);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_errno(error, -errno, "reading %s", path);
        if (n == 0)
            break;
        used += (size_t)n;
    }
    if (used > WHOLE_FILE_MAX_BYTES)
        return edl_error_set(error, -E2BIG, "%s is larger than %d bytes", path,
                             WHOLE_FILE_MAX_BYTES);
    if (strlen(text) != used)
        return edl_error_set(error, -EINVAL, "%s is not text", path);
    return 0;
}

int whole_file_read(const char *path, bool secret, char **ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    int r;

    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "opening %s", path);
    if (secret && (st.st_mode & 077) != 0) {
        (void)edl_error_set(error, -EPERM, "%s can be read by others", path);
        return edl_error_remedy(error, "chmod 600 %s", path);
    }
    text = xcalloc(1, WHOLE_FILE_MAX_BYTES + 2);
    r = read_text(fd, path, text, error);
    if (r == 0)
        *ret = TAKE_PTR(text);
    return r;
}

int name_sync(const char *path, struct edl_error *error)
{
    _cleanup_free_ char *copy = xstrdup(path);
    _cleanup_close_ int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1 || fsync(fd) == -1)
        return edl_error_errno(error, -errno, "syncing the folder of %s", path);
    return 0;
}

int file_sync(const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd == -1 || fsync(fd) == -1)
        return edl_error_errno(error, -errno, "syncing %s", path);
    return name_sync(path, error);
}

int whole_file_write(const char *path, const char *text, unsigned mode, struct edl_error *error)
{
    _cleanup_free_ char *temporary = NULL;
    _cleanup_close_ int fd = -1;
    size_t size = strlen(text);
    int r = 0;

    if (asprintf(&temporary, "%s.new", path) == -1)
        abort();
    (void)unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd == -1)
        return edl_error_errno(error, -errno, "making %s", temporary);
    errno = EIO; /* for a short write */
    if (fchmod(fd, mode) == -1 || write(fd, text, size) != (ssize_t)size || fsync(fd) == -1 ||
        rename(temporary, path) == -1)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary);
        return edl_error_errno(error, r, "writing %s", path);
    }
    return name_sync(path, error);
}
