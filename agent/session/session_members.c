/* SPDX-License-Identifier: Apache-2.0 */
/* session_members.c - see session_members.h */
#include "agent/session/session_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent/groups/cgroup.h"
#include "agent/machine/identity.h"
#include "agent/machine/procfs_tree.h"
#include "agent/session/session_target.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define FOLDER_SIZE (CGROUP_PATH_SIZE + 64)
#define DEPTH_MAX 16
#define ANCESTORS_MAX 64

static void add(struct session_members *members, pid_t pid)
{
    if (members->n == SESSION_MEMBERS_MAX || pid <= 0)
        return;
    if ((members->n & (members->n + 1)) == 0)
        members->pids = xreallocarray(members->pids, 2 * members->n + 2, sizeof *members->pids);
    members->pids[members->n++] = pid;
}

static void add_group(struct session_members *members, const char *folder)
{
    char path[FOLDER_SIZE + 16];
    _cleanup_fclose_ FILE *file = NULL;
    int pid;

    (void)snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &pid) == 1)
        add(members, (pid_t)pid);
}

static void add_below(struct session_members *members, const char *folder, unsigned depth)
{
    _cleanup_closedir_ DIR *groups = opendir(folder);
    const struct dirent *entry;
    char below[FOLDER_SIZE];

    add_group(members, folder);
    while (groups != NULL && depth < DEPTH_MAX && (entry = readdir(groups)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            snprintf(below, sizeof below, "%s/%s", folder, entry->d_name) < (int)sizeof below)
            add_below(members, below, depth + 1);
}

/* take_identity - of the process, by its order; false: it may be others' as well */
static bool take_identity(const struct session_target *target, struct identity *ret)
{
    json_t *env = json_object_get(target->order, "env");
    char **words = xcalloc(json_object_size(env) + 1, sizeof *words);
    const char *name;
    size_t n = 0;
    json_t *value;
    bool taken;

    json_object_foreach(env, name, value) if (json_is_string(value)) words[n++] =
        text_format("%s=%s", name, json_string_value(value));
    taken = geteuid() != 0 && identity_take(ret, words);
    for (size_t i = 0; i < n; i++)
        free(words[i]);
    free(words);
    return taken;
}

/* add_alike - what sessions started is below edl-session, not below the supervisor */
static void add_alike(struct session_members *members, const struct session_target *target)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    struct identity identity;
    size_t n = 0;

    if (!take_identity(target, &identity))
        return;
    (void)procfs_list(&list, &n);
    for (size_t i = 0; i < n; i++)
        if (identity_is_of(&identity, list[i].pid))
            add(members, list[i].pid);
    identity_clear(&identity);
}

static bool is_alike(pid_t pid, const struct session_target *target)
{
    struct identity identity;
    bool is = false;

    if (take_identity(target, &identity)) {
        is = identity_is_of(&identity, pid);
        identity_clear(&identity);
    }
    return is;
}

void session_members_find(const struct session_target *target, struct session_members *ret)
{
    _cleanup_free_ struct procfs_stat *tree = NULL;
    char folder[FOLDER_SIZE];
    size_t n = 0;

    *ret = (struct session_members){ 0 };
    if (target->record.cgroup.unified[0] != '\0') {
        (void)snprintf(folder, sizeof folder, "%s%s", cgroup_unified_root(),
                       target->record.cgroup.unified);
        add_below(ret, folder, 0);
        return;
    }
    (void)procfs_tree(target->record.pid, &tree, &n);
    for (size_t i = 0; i < n; i++)
        add(ret, tree[i].pid);
    add_alike(ret, target);
}

static bool is_below_supervisor(pid_t pid, pid_t supervisor)
{
    for (unsigned depth = 0; depth < ANCESTORS_MAX && pid > 1; depth++) {
        pid = procfs_parent(pid);
        if (pid == supervisor)
            return true;
    }
    return false;
}

int session_members_hold(pid_t pid, const void *userdata)
{
    const struct session_target *target = userdata;
    int pidfd = pidfd_open(pid, 0);
    struct cgroup_paths paths;
    bool is_member;

    if (pidfd == -1)
        return -1;
    if (target->record.cgroup.unified[0] != '\0') {
        cgroup_paths_of(pid, &paths);
        is_member = cgroup_is_below(paths.unified, target->record.cgroup.unified);
    } else {
        is_member = is_below_supervisor(pid, target->record.pid) || is_alike(pid, target);
    }
    return is_member ? pidfd : safe_close(pidfd);
}

void session_members_clear(struct session_members *members)
{
    free(members->pids);
    *members = (struct session_members){ 0 };
}
