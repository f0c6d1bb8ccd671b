/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h */
#include "agent/groups/cgroup.h"

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

const char *cgroup_legacy_root(void)
{
    return "/sys/fs/cgroup";
}

const char *cgroup_controller_name(enum cgroup_controller controller)
{
    static const char *const names[] = { [CGROUP_MEMORY] = "memory",
                                         [CGROUP_CPU] = "cpu",
                                         [CGROUP_PIDS] = "pids",
                                         [CGROUP_CPUSET] = "cpuset" };

    return names[controller];
}

const char *cgroup_limit_name(enum cgroup_controller controller)
{
    static const char *const names[] = { [CGROUP_MEMORY] = "memory",
                                         [CGROUP_CPU] = "cpu",
                                         [CGROUP_PIDS] = "tasks",
                                         [CGROUP_CPUSET] = "cpus" };

    return names[controller];
}

bool cgroup_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') &&
            (at[length] == '\0' || at[length] == ' ' || at[length] == '\n'))
            return true;
    return false;
}

/* ---- where a process is ---- */

static void take_path(char ret[CGROUP_PATH_SIZE], const char *path, size_t length)
{
    if (path[0] == '/' && length < CGROUP_PATH_SIZE)
        (void)snprintf(ret, CGROUP_PATH_SIZE, "%.*s", (int)length, path);
}

/* has_controller - in "cpu,cpuacct", which ends at a colon */
static bool has_controller(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (;;) {
        size_t n = strcspn(list, ",:");

        if (n == length && strncmp(list, name, n) == 0)
            return true;
        if (list[n] != ',')
            return false;
        list += n + 1;
    }
}

void cgroup_paths_take(struct cgroup_paths *paths, const char *line)
{
    const char *list = strchr(line, ':');
    const char *path = list != NULL ? strchr(list + 1, ':') : NULL;

    if (path == NULL)
        return;
    path++;
    if (list[1] == ':')
        take_path(paths->unified, path, strcspn(path, "\n"));
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (has_controller(list + 1, cgroup_controller_name(i)))
            take_path(paths->legacy[i], path, strcspn(path, "\n"));
}

static int read_paths(const char *name, struct cgroup_paths *ret)
{
    _cleanup_fclose_ FILE *file = fopen(name, "re");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;

    *ret = (struct cgroup_paths){ 0 };
    if (file == NULL)
        return -errno;
    while (getline(&line, &size, file) != -1)
        cgroup_paths_take(ret, line);
    return 0;
}

int cgroup_paths_of_self(struct cgroup_paths *ret)
{
    return read_paths("/proc/self/cgroup", ret);
}

void cgroup_paths_of(pid_t pid, struct cgroup_paths *ret)
{
    char name[64];

    (void)snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    (void)read_paths(name, ret);
}

int cgroup_of_self(char ret[CGROUP_PATH_SIZE])
{
    struct cgroup_paths paths;
    int r = cgroup_paths_of_self(&paths);

    if (r < 0)
        return r;
    (void)memcpy(ret, paths.unified, CGROUP_PATH_SIZE);
    return ret[0] != '\0' ? 0 : -ENOENT;
}

void cgroup_paths_everywhere(struct cgroup_paths *paths, const char *path)
{
    if (path != paths->unified)
        (void)snprintf(paths->unified, CGROUP_PATH_SIZE, "%s", path);
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        (void)snprintf(paths->legacy[i], CGROUP_PATH_SIZE, "%s", path);
}

bool cgroup_is_unit(const char *path)
{
    const char *end = strrchr(path, '.');

    return end != NULL && streq(end, ".service");
}

/* ---- groups of the unified hierarchy ---- */

int cgroup_make(const char *path)
{
    char folder[CGROUP_PATH_SIZE + 64];

    (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(), path);
    return mkdir(folder, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

int cgroup_open(const char *path)
{
    char folder[CGROUP_PATH_SIZE + 64];
    int fd;

    (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(), path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd == -1 ? -errno : fd;
}

static int write_to(const char *path, const char *file, const char *text)
{
    char full[CGROUP_PATH_SIZE + 96];
    _cleanup_close_ int fd = -1;
    size_t size = strlen(text);

    (void)snprintf(full, sizeof full, "%s%s/%s", cgroup_unified_root(), path, file);
    fd = open(full, O_WRONLY | O_CLOEXEC);
    return fd != -1 && write(fd, text, size) == (ssize_t)size ? 0 : -errno;
}

int cgroup_enter(const char *path)
{
    return write_to(path, "cgroup.procs", "0");
}

int cgroup_kill(const char *path)
{
    return write_to(path, "cgroup.kill", "1");
}

bool cgroup_is_below(const char *path, const char *group)
{
    size_t n = strlen(group);

    return n > 0 && strncmp(path, group, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

void cgroup_remove_folder(const char *folder)
{
    _cleanup_closedir_ DIR *below = NULL;
    const struct dirent *entry;

    if (rmdir(folder) == 0 || errno == ENOENT)
        return;
    below = opendir(folder);
    while (below != NULL && (entry = readdir(below)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)unlinkat(dirfd(below), entry->d_name, AT_REMOVEDIR);
    (void)rmdir(folder);
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

uint64_t cgroup_oom_kills(const struct cgroup_paths *paths)
{
    uint64_t n = 0;

    if (!read_oom_kills(cgroup_unified_root(), paths->unified, "memory.events", &n) &&
        paths->legacy[CGROUP_MEMORY][0] != '\0')
        (void)read_oom_kills("/sys/fs/cgroup/memory", paths->legacy[CGROUP_MEMORY],
                             "memory.oom_control", &n);
    return n;
}

void cgroup_describe_oom(uint64_t memory_bytes, char *ret, size_t size)
{
    static const char *const units[] = { "bytes", "KiB", "MiB" };
    size_t unit = 0;

    for (; unit + 1 < ELEMENTS(units) && memory_bytes >= 1024; unit++)
        memory_bytes >>= 10;
    if (memory_bytes > 0)
        (void)snprintf(ret, size,
                       "out of memory: beyond the %" PRIu64 " %s that each may use; ask for more: "
                       "--memory, in a document memory",
                       memory_bytes, units[unit]);
    else
        (void)
            snprintf(ret, size,
                     "out of memory: all of its node is used, and the job asks for none; say what "
                     "it needs: --memory, in a document memory");
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

/* events_say - ENODEV: the group was removed while it was open, and nothing is so */
static bool events_say(int events_fd, const char *words)
{
    char text[256];
    ssize_t n = pread(events_fd, text, sizeof text - 1, 0);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return strstr(text, words) != NULL;
}

bool cgroup_is_populated(int events_fd)
{
    return events_say(events_fd, "populated 1");
}

bool cgroup_is_frozen(int events_fd)
{
    return events_say(events_fd, "frozen 1");
}

bool cgroup_can_freeze(const char *path)
{
    char file[CGROUP_PATH_SIZE + 96];

    (void)snprintf(file, sizeof file, "%s%s/cgroup.freeze", cgroup_unified_root(), path);
    return access(file, W_OK) == 0;
}

int cgroup_set_frozen(const char *path, bool frozen)
{
    return write_to(path, "cgroup.freeze", frozen ? "1" : "0");
}

bool cgroup_wants_frozen(const char *path)
{
    char file[CGROUP_PATH_SIZE + 96], word;
    _cleanup_close_ int fd = -1;

    (void)snprintf(file, sizeof file, "%s%s/cgroup.freeze", cgroup_unified_root(), path);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    return fd != -1 && read(fd, &word, 1) == 1 && word == '1';
}
