/* SPDX-License-Identifier: Apache-2.0 */
/* write_all.c - see write_all.h */
#include "shared/write_all.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? -EIO : -errno;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}
