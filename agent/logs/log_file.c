/* SPDX-License-Identifier: Apache-2.0 */
/* log_file.c - see log_file.h
 *
 * Of an agent that is not root the folders of logs are the jobs' as well: a job may put a pipe in
 * the place of a log, whose open(2) waits for a writer, and the agent with it. */
#include "agent/logs/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/logs/log_times.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

static int open_regular(const char *path, struct stat *ret)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd == -1 || fstat(fd, ret) == -1)
        return -errno;
    return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -ENOENT;
}

int log_file_open(const struct layout *layout, const struct process_id *id, struct stat *ret)
{
    _cleanup_free_ char *path = layout_log_path(layout, id);

    return open_regular(path, ret);
}

void log_file_times(const struct layout *layout, const struct process_id *id, struct log_times *ret)
{
    _cleanup_free_ char *path = layout_log_path(layout, id);
    _cleanup_free_ char *name = log_times_name(path);
    struct stat st;
    _cleanup_close_ int fd = open_regular(name, &st);

    log_times_read(MAX_OF(fd, -1), ret);
}

/* make - never waits, as for the reader of a pipe */
static int make(const char *path)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    _cleanup_close_ int fd = open(path, flags, LOG_MODE_BEGUN);
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1)
        return -errno;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EEXIST; /* of which O_NONBLOCK means nothing */
}

int log_file_make(const char *path)
{
    int fd = make(path);

    if (fd == -ENOENT) {
        _cleanup_free_ char *folder = xstrdup(path);

        folder[strrchr(folder, '/') - folder] = '\0';
        (void)mkdir(folder, 0750);
        fd = make(path);
    }
    return fd;
}
