/* SPDX-License-Identifier: Apache-2.0 */
/* freezer.c - see freezer.h
 *
 * A thread that was asked to freeze leaves the kernel by standing still. So one that waits in a
 * call (state D) will, and one that does stand shows as sleeping. One that runs may be between two
 * instructions of its program, whatever the reason: then the group does not stand still. */
#include "agent/freezer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define DEPTH_MAX 16 /* of groups that a program made below its own */

bool freezer_open(struct freezer *ret, const char *group)
{
    *ret = (struct freezer){ .group = group, .events_fd = -1 };
    if (group[0] == '\0' || !cgroup_can_freeze(group))
        return false;
    ret->events_fd = cgroup_open_events(group);
    return ret->events_fd >= 0;
}

void freezer_close(struct freezer *freezer)
{
    freezer->events_fd = safe_close(freezer->events_fd);
}

int freezer_freeze(const struct freezer *freezer)
{
    return cgroup_set_frozen(freezer->group, true);
}

int freezer_thaw(const struct freezer *freezer)
{
    return cgroup_set_frozen(freezer->group, false);
}

bool freezer_stands(const struct freezer *freezer)
{
    return cgroup_is_frozen(freezer->events_fd);
}

bool freezer_holds(const struct freezer *freezer, pid_t pid)
{
    size_t length = strlen(freezer->group);
    struct cgroup_paths paths;

    cgroup_paths_of(pid, &paths);
    return strncmp(paths.unified, freezer->group, length) == 0 &&
           (paths.unified[length] == '\0' || paths.unified[length] == '/');
}

bool freezer_is_undone(const struct freezer *freezer)
{
    return !cgroup_wants_frozen(freezer->group);
}

/* state_of - 'R', 'S', 'D', ..; 'X' of one that is gone. The name before it may have any bytes. */
static char state_of(const char *thread)
{
    char path[64], text[512];
    _cleanup_close_ int fd = -1;
    const char *end;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd != -1 ? read(fd, text, sizeof text - 1) : 0;
    if (n <= 0)
        return 'X';
    text[n] = '\0';
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : 'R';
}

/* count_calls - false: a thread of this folder's group runs; else *calls are in a call */
static bool count_calls(int folder_fd, size_t *calls)
{
    int fd = openat(folder_fd, "cgroup.threads", O_RDONLY | O_CLOEXEC);
    _cleanup_fclose_ FILE *file = fd != -1 ? fdopen(fd, "r") : NULL;
    char line[32];

    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        char state;

        line[strcspn(line, "\n")] = '\0';
        state = state_of(line);
        *calls += state == 'D';
        if (strchr("DSTtZX", state) == NULL)
            return false;
    }
    return true;
}

static bool count_below(int folder_fd, unsigned depth, size_t *calls)
{
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1 || (folder = fdopendir(fd)) == NULL || depth == DEPTH_MAX ||
        !count_calls(folder_fd, calls))
        return false;
    while ((entry = readdir(folder)) != NULL) {
        _cleanup_close_ int below = -1;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        below = openat(folder_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (below == -1 || !count_below(below, depth + 1, calls))
            return false;
    }
    return true;
}

bool freezer_stands_but_for_calls(const struct freezer *freezer)
{
    _cleanup_close_ int fd = cgroup_open(freezer->group);
    size_t calls = 0;

    return fd >= 0 && count_below(fd, 0, &calls) && calls > 0;
}
