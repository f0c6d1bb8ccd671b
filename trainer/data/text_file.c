/* SPDX-License-Identifier: Apache-2.0 */
/* text_file.c - a whole file in memory, as long as it is not too large */
#include "trainer/data/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/files/file_write.h"

int text_file_read(const char *path, size_t bytes_max, char **ret, size_t *ret_size,
                   struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (!S_ISREG(st.st_mode))
        return edl_error_set(error, -EINVAL, "%s is not a regular file", path);
    if ((uint64_t)st.st_size > bytes_max)
        return edl_error_set(error, -E2BIG, "%s has %lld bytes; it may have %zu", path,
                             (long long)st.st_size, bytes_max);
    text = xcalloc((size_t)st.st_size + 1, 1);
    r = file_read_all(fd, text, (size_t)st.st_size);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read %s", path);
    *ret_size = (size_t)st.st_size;
    *ret = TAKE_PTR(text);
    return 0;
}
