/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h */
#include "scheduler/web/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LIBRARY_BYTES_MAX (4 << 20)

static int read_whole(int fd, char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, text + done, size - done);

        if (n == 0)
            return -EIO; /* it became shorter */
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int make_tag(struct web_library *library, struct edl_error *error)
{
    struct content_hash *hash;
    char sum[WORKSPACE_HEX + 1];
    int r = content_hash_new(&hash, error);

    if (r < 0)
        return r;
    content_hash_add(hash, library->text, library->size);
    content_hash_end(hash, sum);
    (void)content_hash_free(hash);
    (void)snprintf(library->tag, sizeof library->tag, "\"%s\"", sum);
    return 0;
}

static int take_file(const char *path, struct web_library *ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int r;

    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "the charting library %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > LIBRARY_BYTES_MAX)
        return edl_error_set(error, -E2BIG, "the charting library %s is no file of 1 to %d bytes",
                             path, LIBRARY_BYTES_MAX);
    ret->size = (size_t)st.st_size;
    ret->text = xcalloc(ret->size, 1);
    r = read_whole(fd, ret->text, ret->size);
    if (r < 0)
        return edl_error_errno(error, r, "reading the charting library %s", path);
    return make_tag(ret, error);
}

int web_library_read(struct web_library *ret, struct edl_error *error)
{
    const char *other = getenv(WEB_LIBRARY_VARIABLE);
    int r = take_file(other != NULL ? other : WEB_LIBRARY_PATH, ret, error);

    if (r == 0)
        return 0;
    web_library_done(ret);
    return edl_error_remedy(error, "apt install libjs-chart.js, and restart the scheduler");
}

void web_library_done(struct web_library *library)
{
    free(library->text);
    *library = (struct web_library){ .size = 0 };
}
