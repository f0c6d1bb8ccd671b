/* SPDX-License-Identifier: Apache-2.0 */
/* start_mark.c - see start_mark.h */
#include "agent/processes/start_mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/elapsed_clock.h"
#include "shared/log.h"
#include "shared/macro.h"

#define LOG_SUFFIX ".log"
#define MARK_SIZE 64
#define MARKS_MAX 4096 /* are looked at */

struct start_mark start_mark_now(void)
{
    return (struct start_mark){ .real_us = clock_read_us(CLOCK_REALTIME_COARSE),
                                .elapsed_us = clock_instant().wall_us };
}

/* folder_of - of the logs of its job, open; *ret_name: of its mark in there, the caller's */
static int folder_of(const struct layout *layout, const struct process_id *id, char **ret_name)
{
    _cleanup_free_ char *path = layout_log_path(layout, id);
    char *slash = strrchr(path, '/');

    *ret_name = text_format("%.*s%s", (int)(strlen(slash + 1) - strlen(LOG_SUFFIX)), slash + 1,
                            START_MARK_SUFFIX);
    *slash = '\0';
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void start_mark_write(const struct layout *layout, const struct process_id *id)
{
    const struct start_mark mark = start_mark_now();
    _cleanup_free_ char *name = NULL;
    _cleanup_close_ int fd = folder_of(layout, id, &name);
    char text[MARK_SIZE];

    (void)snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, mark.real_us, mark.elapsed_us);
    if (fd == -1 || (symlinkat(text, fd, name) == -1 && errno != EEXIST))
        log_warning("the start of %s is not noted: %s", name, strerror(errno));
}

uint64_t start_mark_real_us(const struct start_mark *mark, const struct start_mark *now)
{
    uint64_t age_us = now->elapsed_us - MIN_OF(mark->elapsed_us, now->elapsed_us);
    uint64_t shown_us = now->real_us - MIN_OF(age_us, now->real_us);

    /* the two clocks were not read at one moment */
    return shown_us + ELAPSED_STEP_US < mark->real_us ? shown_us : mark->real_us;
}

static bool read_mark(int folder_fd, const char *name, struct start_mark *ret)
{
    char text[MARK_SIZE];
    ssize_t n = readlinkat(folder_fd, name, text, sizeof text - 1);

    text[MAX_OF(n, 0)] = '\0';
    return sscanf(text, "%" SCNu64 ".%" SCNu64, &ret->real_us, &ret->elapsed_us) == 2;
}

static bool is_mark(const char *name)
{
    size_t n = strlen(name), suffix = strlen(START_MARK_SUFFIX);

    return n > suffix && streq(name + n - suffix, START_MARK_SUFFIX);
}

bool start_mark_since(const struct layout *layout, const struct process_id *id, uint64_t waited_us,
                      uint64_t *ret_us)
{
    const struct start_mark now = start_mark_now();
    _cleanup_free_ char *own = NULL;
    int fd = folder_of(layout, id, &own);
    _cleanup_closedir_ DIR *folder = fd != -1 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    struct start_mark mark;
    uint64_t real_us;

    *ret_us = 0;
    if (folder == NULL || !read_mark(fd, own, &mark)) {
        if (folder == NULL)
            (void)safe_close(fd);
        return false;
    }
    real_us = start_mark_real_us(&mark, &now);
    *ret_us = real_us - MIN_OF(waited_us, real_us);
    for (int i = 0; i < MARKS_MAX && (entry = readdir(folder)) != NULL; i++)
        if (is_mark(entry->d_name) && read_mark(fd, entry->d_name, &mark))
            *ret_us = MIN_OF(*ret_us, start_mark_real_us(&mark, &now));
    return true;
}
