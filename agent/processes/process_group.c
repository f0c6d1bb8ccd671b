/* SPDX-License-Identifier: Apache-2.0 */
/* process_group.c - see process_group.h
 *
 * A group costs a folder and some writes in each hierarchy: the unified one, and one for each
 * controller that version 1 has. The child is made in the first (child.c) and enters the others by
 * itself, as a task: to move a whole process the kernel waits until no process of the machine is
 * between two instructions of a fork, some 15 ms on a quiet one. To move the calling thread it
 * does not.
 *
 * Its share of the cores comes last. A process of one millicore beside busy ones may wait for a
 * second in the middle of a call. All who need a lock that it has there wait with it: that of all
 * control groups, of a folder, of all mounts. */
#include "agent/processes/process_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups/cgroup_home.h"
#include "agent/supervisor/process_limits.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FOLDER_SIZE (CGROUP_PATH_SIZE + 96)

/* folder_of - of the group in the hierarchy of a controller; CGROUP_CONTROLLERS: the unified one.
 * false: it is not in that */
static bool folder_of(const struct cgroup_paths *paths, enum cgroup_controller hierarchy,
                      char ret[FOLDER_SIZE])
{
    if (hierarchy == CGROUP_CONTROLLERS)
        (void)snprintf(ret, FOLDER_SIZE, "%s%s", cgroup_unified_root(), paths->unified);
    else
        (void)snprintf(ret, FOLDER_SIZE, "%s/%s%s", cgroup_legacy_root(),
                       cgroup_controller_name(hierarchy), paths->legacy[hierarchy]);
    return (hierarchy == CGROUP_CONTROLLERS ? paths->unified : paths->legacy[hierarchy])[0] != '\0';
}

static int write_text(const char *folder, const char *file, const char *text)
{
    char path[FOLDER_SIZE + 40];
    _cleanup_close_ int fd = -1;

    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd != -1 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static int read_text(const char *folder, const char *file, char *ret, size_t size)
{
    char path[FOLDER_SIZE + 40];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd != -1 ? read(fd, ret, size - 1) : -1;
    if (n == -1)
        return -errno;
    ret[n] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}

/* is_taken - what stands there now is what was asked for; the kernel counts memory in pages */
static bool is_taken(const char *is, const char *asked)
{
    uint64_t is_number, asked_number;

    if (streq(is, asked))
        return true;
    return sscanf(is, "%" SCNu64, &is_number) == 1 &&
           sscanf(asked, "%" SCNu64, &asked_number) == 1 && strchr(asked, ' ') == NULL &&
           is_number <= asked_number && asked_number - is_number < (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_one(const char *folder, const struct cgroup_setting *setting)
{
    char is[CGROUP_SETTING_TEXT_SIZE] = "";
    int r = write_text(folder, setting->file, setting->text);

    if (r == 0)
        r = read_text(folder, setting->file, is, sizeof is);
    if (r < 0)
        log_error("cannot set %s to %s: %s", setting->file, setting->text, strerror(-r));
    else if (!is_taken(is, setting->text))
        log_error("the kernel keeps %s at %s, %s was asked for", setting->file, is, setting->text);
}

/* Of version 1 a group of this has no memory to run from before it is told. */
static void copy_memory_nodes(const char *above, const char *folder)
{
    char nodes[CGROUP_SETTING_TEXT_SIZE];

    if (read_text(above, "cpuset.mems", nodes, sizeof nodes) == 0)
        (void)write_text(folder, "cpuset.mems", nodes);
}

static void limit(const struct cgroup_home *home, const struct cgroup_paths *paths,
                  enum cgroup_controller controller, const struct process_limits *limits)
{
    struct cgroup_setting settings[CGROUP_SETTINGS_MAX];
    unsigned version = home->by_unified[controller] ? 2 : 1;
    char folder[FOLDER_SIZE], above[FOLDER_SIZE];
    size_t n = process_limits_settings(limits, controller, version, settings);

    (void)folder_of(paths, version == 2 ? CGROUP_CONTROLLERS : controller, folder);
    if (version == 1 && controller == CGROUP_CPUSET) {
        (void)folder_of(&home->paths, controller, above);
        copy_memory_nodes(above, folder);
    }
    for (size_t i = 0; i < n; i++)
        set_one(folder, &settings[i]);
}

static void join(char ret[CGROUP_PATH_SIZE], const char *above, const char *name)
{
    if (snprintf(ret, CGROUP_PATH_SIZE, "%s/%s", above[1] != '\0' ? above : "", name) >=
        CGROUP_PATH_SIZE)
        ret[0] = '\0';
}

/* name_paths - a hierarchy of version 1 is worth its cost only when it limits something */
static void name_paths(const struct cgroup_home *home, const char *name,
                       const struct process_limits *limits, struct cgroup_paths *ret)
{
    struct cgroup_setting settings[CGROUP_SETTINGS_MAX];

    *ret = (struct cgroup_paths){ 0 };
    join(ret->unified, home->paths.unified, name);
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (home->paths.legacy[i][0] != '\0' && process_limits_settings(limits, i, 1, settings) > 0)
            join(ret->legacy[i], home->paths.legacy[i], name);
}

int process_group_make(const json_t *order, const char *key, struct cgroup_paths *ret)
{
    const struct process_limits limits = process_limits_of(order);
    const json_t *where = json_object_get(order, "cgroup");
    struct cgroup_home home;
    char name[CGROUP_PATH_SIZE];
    int r = where == NULL ? -ENOENT : cgroup_home_from_json(where, &home);

    if (r < 0)
        return r;
    (void)snprintf(name, sizeof name, PROCESS_GROUP_PREFIX "%.200s-%d", key, (int)getpid());
    name_paths(&home, name, &limits, ret);
    for (unsigned i = 0; r == 0 && i <= CGROUP_CONTROLLERS; i++) {
        char folder[FOLDER_SIZE];

        if (folder_of(ret, (enum cgroup_controller)i, folder) && mkdir(folder, 0755) == -1)
            r = -errno;
    }
    if (r == 0 && ret->unified[0] == '\0')
        r = -ENAMETOOLONG;
    if (r < 0) {
        process_group_remove(ret);
        *ret = (struct cgroup_paths){ 0 };
        return r;
    }
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (ret->legacy[i][0] != '\0' || (home.by_unified[i] && i != CGROUP_CPU))
            limit(&home, ret, i, &limits);
    return 0;
}

static int enter_legacy(const struct cgroup_paths *paths, enum cgroup_controller controller)
{
    char folder[FOLDER_SIZE];

    return folder_of(paths, controller, folder) ? write_text(folder, "tasks", "0") : 0;
}

int process_group_enter(const json_t *order, const struct cgroup_paths *paths)
{
    const struct process_limits limits = process_limits_of(order);
    struct cgroup_home home;
    int r = 0;

    for (enum cgroup_controller i = 0; r == 0 && i < CGROUP_CONTROLLERS; i++)
        if (i != CGROUP_CPU)
            r = enter_legacy(paths, i);
    if (r < 0)
        return r;
    if (cgroup_home_from_json(json_object_get(order, "cgroup"), &home) == 0 &&
        home.by_unified[CGROUP_CPU])
        limit(&home, paths, CGROUP_CPU, &limits);
    return enter_legacy(paths, CGROUP_CPU);
}

void process_group_remove(const struct cgroup_paths *paths)
{
    for (unsigned i = 0; i <= CGROUP_CONTROLLERS; i++) {
        char folder[FOLDER_SIZE];

        if (folder_of(paths, (enum cgroup_controller)i, folder))
            cgroup_remove_folder(folder);
    }
}

void process_group_end(const struct cgroup_paths *paths)
{
    _cleanup_close_ int fd = cgroup_open_events(paths->unified);
    struct pollfd events = { .fd = fd, .events = POLLPRI };

    while (fd >= 0 && cgroup_is_populated(fd)) {
        if (cgroup_kill(paths->unified) < 0)
            return;
        (void)poll(&events, 1, -1);
    }
    process_group_remove(paths);
}
