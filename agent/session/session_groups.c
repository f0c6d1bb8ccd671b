/* SPDX-License-Identifier: Apache-2.0 */
/* session_groups.c - see session_groups.h
 *
 * Of version 1 the child enters as a task of its own, not as a process: to move a process the
 * kernel waits for a quiet moment between all forks of the machine (process_group.c). It has one
 * thread then. */
#include "agent/session/session_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups/grouping.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TEXT_SIZE 16384
#define FOLDER_SIZE (CGROUP_PATH_SIZE + 128)

/* ---- what the kernel says ---- */

/* rank_of - the group of the cores comes last: a child with next to none then holds no lock of
 * others */
static unsigned rank_of(const struct session_group *group)
{
    if (strncmp(group->hierarchy, "cpu", 3) == 0 &&
        (group->hierarchy[3] == '\0' || group->hierarchy[3] == ','))
        return 2;
    return group->hierarchy[0] == '\0' ? 1 : 0;
}

static void add(struct session_groups *groups, const struct session_group *group)
{
    size_t at = groups->n;

    if (groups->n == SESSION_GROUPS_MAX)
        return;
    for (; at > 0 && rank_of(&groups->list[at - 1]) > rank_of(group); at--)
        groups->list[at] = groups->list[at - 1];
    groups->list[at] = *group;
    groups->n++;
}

/* take - "4:memory:/a/b" */
static void take(struct session_groups *groups, const char *line, size_t length)
{
    const char *end = line + length;
    const char *list = memchr(line, ':', length);
    const char *path = list != NULL ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
    struct session_group group = { .fd = -1 };

    if (path == NULL || path - list - 1 >= SESSION_HIERARCHY_SIZE ||
        end - path - 1 >= CGROUP_PATH_SIZE || path + 1 == end || path[1] != '/')
        return;
    (void)snprintf(group.hierarchy, sizeof group.hierarchy, "%.*s", (int)(path - list - 1),
                   list + 1);
    (void)snprintf(group.path, sizeof group.path, "%.*s", (int)(end - path - 1), path + 1);
    if (strchr(group.hierarchy, '/') == NULL && strstr(group.path, "/..") == NULL)
        add(groups, &group);
}

void session_groups_parse(const char *text, struct session_groups *ret)
{
    *ret = (struct session_groups)SESSION_GROUPS_NONE;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        take(ret, text, n);
        text += text[n] == '\n' ? n + 1 : n;
    }
}

static int read_groups(const char *who, struct session_groups *ret)
{
    char name[64], text[TEXT_SIZE];
    _cleanup_close_ int fd = -1;
    size_t size = 0;
    ssize_t n;

    (void)snprintf(name, sizeof name, "/proc/%s/cgroup", who);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return -errno;
    while (size < sizeof text - 1 && (n = read(fd, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = '\0';
    session_groups_parse(text, ret);
    return size > 0 ? 0 : -ESRCH;
}

/* ---- folders ---- */

/* folder_of - those of version 1 are mounted by the names of their controllers, or by one of them
 */
static void folder_of(const struct session_group *group, char ret[FOLDER_SIZE])
{
    const char *name = group->hierarchy;
    struct stat st;

    if (name[0] == '\0') {
        (void)snprintf(ret, FOLDER_SIZE, "%s%s", cgroup_unified_root(), group->path);
        return;
    }
    if (strncmp(name, "name=", 5) == 0)
        name += 5;
    (void)snprintf(ret, FOLDER_SIZE, "%s/%s%s", cgroup_legacy_root(), name, group->path);
    if (stat(ret, &st) == -1)
        (void)snprintf(ret, FOLDER_SIZE, "%s/%.*s%s", cgroup_legacy_root(), (int)strcspn(name, ","),
                       name, group->path);
}

static bool is_ours(const struct session_groups *ours, const struct session_group *group)
{
    for (size_t i = 0; i < ours->n; i++)
        if (streq(ours->list[i].hierarchy, group->hierarchy))
            return streq(ours->list[i].path, group->path);
    return false;
}

/* open_own - below that of the process: nobody else is in there */
static void open_own(struct session_groups *groups, struct session_group *group,
                     const char *process_group, const char *session)
{
    char own[CGROUP_PATH_SIZE];

    if (!cgroup_is_below(group->path, process_group) ||
        snprintf(own, sizeof own, "%s/" SESSION_GROUP_PREFIX "%s", group->path, session) >=
            (int)sizeof own ||
        cgroup_make(own) < 0)
        return;
    (void)memcpy(groups->own, own, sizeof own);
    groups->own_fd = cgroup_open(own);
    (void)memcpy(group->path, own, sizeof own);
}

static void open_one(struct session_groups *groups, struct session_group *group)
{
    char folder[FOLDER_SIZE], path[FOLDER_SIZE + 16];

    folder_of(group, folder);
    (void)snprintf(path, sizeof path, "%s/%s", folder,
                   group->hierarchy[0] == '\0' ? "cgroup.procs" : "tasks");
    group->fd = open(path, O_WRONLY | O_CLOEXEC);
    groups->refused = groups->refused || group->fd == -1;
}

int session_groups_open(pid_t pid, const char *process_group, const char *session,
                        struct session_groups *ret, struct edl_error *error)
{
    struct session_groups ours;
    char who[16];
    int r;

    (void)snprintf(who, sizeof who, "%d", (int)pid);
    *ret = (struct session_groups)SESSION_GROUPS_NONE;
    r = read_groups(who, ret);
    if (r < 0)
        return edl_error_set(error, -ESRCH, "the program of the process has just ended");
    r = read_groups("self", &ours);
    if (r < 0)
        return edl_error_errno(error, r, "cannot read the own control groups");
    for (size_t i = 0; i < ret->n; i++) {
        struct session_group *group = &ret->list[i];

        if (group->hierarchy[0] == '\0')
            open_own(ret, group, process_group, session);
        if (!is_ours(&ours, group))
            open_one(ret, group);
    }
    return 0;
}

int session_groups_enter(const struct session_groups *groups, bool in_own)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct session_group *group = &groups->list[i];

        if (group->fd >= 0 && !(in_own && group->hierarchy[0] == '\0') &&
            write(group->fd, "0", 1) != 1)
            return -errno;
    }
    return 0;
}

/* ---- its end ---- */

void session_groups_kill(const struct session_groups *groups)
{
    if (groups->own[0] != '\0')
        (void)cgroup_kill(groups->own);
}

void session_group_end(const char *path, int timeout_ms)
{
    _cleanup_close_ int fd = cgroup_open_events(path);
    struct pollfd events = { .fd = fd, .events = POLLPRI };
    char folder[FOLDER_SIZE];

    while (fd >= 0 && cgroup_is_populated(fd)) {
        if (cgroup_kill(path) < 0 || poll(&events, 1, timeout_ms) <= 0)
            return;
    }
    (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(), path);
    if (fd >= 0)
        (void)rmdir(folder);
}

/* sweep_in - path: of a group in which sessions may have theirs */
static void sweep_in(const char *path, const char *session, int timeout_ms)
{
    char folder[FOLDER_SIZE], found[FOLDER_SIZE];
    _cleanup_closedir_ DIR *groups = NULL;
    const struct dirent *entry;
    size_t n = strlen(SESSION_GROUP_PREFIX);

    (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(), path);
    groups = opendir(folder);
    while (groups != NULL && (entry = readdir(groups)) != NULL)
        if (strncmp(entry->d_name, SESSION_GROUP_PREFIX, n) == 0 &&
            (session == NULL || streq(entry->d_name + n, session)) &&
            snprintf(found, sizeof found, "%s/%s", path, entry->d_name) < (int)sizeof found)
            session_group_end(found, timeout_ms);
}

void session_group_sweep(const char *process_group, const char *session, int timeout_ms)
{
    char program[CGROUP_PATH_SIZE];

    sweep_in(process_group, session, timeout_ms);
    if (snprintf(program, sizeof program, "%s/" GROUPING_PROGRAM, process_group) <
        (int)sizeof program)
        sweep_in(program, session, timeout_ms);
}

void session_groups_close(struct session_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        groups->list[i].fd = safe_close(groups->list[i].fd);
    groups->own_fd = safe_close(groups->own_fd);
}
