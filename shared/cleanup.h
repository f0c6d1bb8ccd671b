/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h - ownership that ends with the scope
 *
 * `_cleanup_free_ char *s`, `_cleanup_close_ int fd = -1`, `_cleanup_fclose_ FILE *f`. TAKE_PTR and
 * TAKE_FD hand the value over and disarm the cleanup. safe_close never retries: on Linux the
 * descriptor is gone even after EINTR, and a retry could close somebody else's. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline int safe_close(int fd)
{
    if (fd >= 0) {
        int saved = errno;

        (void)close(fd); /* the one place where close() is called */
        errno = saved;
    }
    return -1;
}

static inline void cleanup_freep(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_closep(int *fd)
{
    (void)safe_close(*fd);
}

static inline void cleanup_fclosep(FILE **f)
{
    if (*f != NULL)
        (void)fclose(*f);
}

static inline void cleanup_closedirp(DIR **d)
{
    if (*d != NULL)
        (void)closedir(*d);
}

#define _cleanup_free_ _cleanup_(cleanup_freep)
#define _cleanup_close_ _cleanup_(cleanup_closep)
#define _cleanup_fclose_ _cleanup_(cleanup_fclosep)
#define _cleanup_closedir_ _cleanup_(cleanup_closedirp)

#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int taken_ = (fd);                                                                         \
        (fd) = -1;                                                                                 \
        taken_;                                                                                    \
    })
