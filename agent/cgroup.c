/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h */
#include "agent/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

const char *cgroup_unified_root(void)
{
    struct statfs fs;

    return statfs("/sys/fs/cgroup/unified", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC
               ? "/sys/fs/cgroup/unified"
               : "/sys/fs/cgroup";
}

int cgroup_of_self(char ret[CGROUP_PATH_SIZE])
{
    _cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
    char line[CGROUP_PATH_SIZE + 3];

    if (file == NULL)
        return -errno;
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strchr(line, '\n');

        if (strncmp(line, "0::/", 4) != 0)
            continue;
        if (end == NULL)
            return -ENAMETOOLONG;
        *end = '\0';
        (void)snprintf(ret, CGROUP_PATH_SIZE, "%s", line + 3);
        return 0;
    }
    return -ENOENT;
}

int cgroup_make(const char *path, const char *name)
{
    char folder[CGROUP_PATH_SIZE + 64];

    (void)snprintf(folder, sizeof folder, "%s%s/%s", cgroup_unified_root(), path, name);
    return mkdir(folder, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

static int write_to(const char *path, const char *name, const char *file, const char *text)
{
    char full[CGROUP_PATH_SIZE + 96];
    _cleanup_close_ int fd = -1;
    size_t size = strlen(text);

    (void)snprintf(full, sizeof full, "%s%s/%s/%s", cgroup_unified_root(), path, name, file);
    fd = open(full, O_WRONLY | O_CLOEXEC);
    return fd != -1 && write(fd, text, size) == (ssize_t)size ? 0 : -errno;
}

int cgroup_enter(const char *path, const char *name)
{
    return write_to(path, name, "cgroup.procs", "0");
}

int cgroup_kill(const char *path, const char *name)
{
    return write_to(path, name, "cgroup.kill", "1");
}

bool cgroup_exists(const char *path)
{
    char folder[CGROUP_PATH_SIZE + 64];

    (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(), path);
    return access(folder, F_OK) == 0;
}

static bool read_oom_kills(const char *root, const char *path, const char *name, uint64_t *ret)
{
    char file[CGROUP_PATH_SIZE + 64], line[128];
    _cleanup_fclose_ FILE *counts = NULL;

    (void)snprintf(file, sizeof file, "%s%s/%s", root, path, name);
    counts = fopen(file, "re");
    while (counts != NULL && fgets(line, sizeof line, counts) != NULL)
        if (sscanf(line, "oom_kill %" SCNu64, ret) == 1)
            return true;
    return false;
}

uint64_t cgroup_oom_kills(const char *path)
{
    uint64_t n = 0;

    if (!read_oom_kills(cgroup_unified_root(), path, "memory.events", &n))
        (void)read_oom_kills("/sys/fs/cgroup/memory", path, "memory.oom_control", &n);
    return n;
}

int cgroup_open_events(const char *path)
{
    char file[CGROUP_PATH_SIZE + 64];
    int fd;

    if (path[0] != '/' || strlen(path) >= CGROUP_PATH_SIZE || strstr(path, "/../") != NULL)
        return -EINVAL;
    (void)snprintf(file, sizeof file, "%s%s/cgroup.events", cgroup_unified_root(), path);
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd == -1 ? -errno : fd;
}

bool cgroup_is_populated(int events_fd)
{
    char text[256];
    ssize_t n = pread(events_fd, text, sizeof text - 1, 0);

    if (n <= 0) /* ENODEV: the group was removed while it was open */
        return false;
    text[n] = '\0';
    return strstr(text, "populated 1") != NULL;
}
