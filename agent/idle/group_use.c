/* SPDX-License-Identifier: Apache-2.0 */
/* group_use.c - see group_use.h */
#include "agent/idle/group_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups/cgroup_stat.h"
#include "agent/machine/procfs.h"
#include "agent/machine/procfs_tree.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define SUPERVISOR "edl-supervisor"
#define GENERATIONS_MAX 100
#define GROUPS_DEPTH 8

/* ---- whose group it is ---- */

static bool is_supervisor(pid_t pid)
{
    _cleanup_free_ char *path = text_format("/proc/%d/comm", (int)pid);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char name[32] = "";

    return f != NULL && fgets(name, sizeof name, f) != NULL && streq(name, SUPERVISOR "\n");
}

/* is_seen - an agent's service may hide other accounts' processes (ProtectProc=) */
static bool is_seen(pid_t pid)
{
    struct procfs_stat stat;

    return procfs_stat(pid, &stat) == 0;
}

/* find_supervisor - of our process: one of those above us; 0: it is hidden; -1: there is none */
static pid_t find_supervisor(void)
{
    pid_t pid = getppid();

    for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
        if (!is_seen(pid))
            return 0;
        if (is_supervisor(pid))
            return pid;
        pid = procfs_parent(pid);
    }
    return pid == 0 ? 0 : -1;
}

bool group_use_is_supervised(void)
{
    return is_seen(getppid()) ? is_supervisor(getppid()) : getenv("EDL_INCARNATION") != NULL;
}

/* choose_paths - none where the group may be others' as well */
static void choose_paths(struct group_use *use, bool has_identity)
{
    struct cgroup_paths supervisor = { .unified = "" };
    pid_t pid = has_identity ? find_supervisor() : -1;

    if (pid == -1 || cgroup_paths_of_self(&use->paths) < 0) {
        use->paths = (struct cgroup_paths){ .unified = "" };
        return;
    }
    if (pid > 0)
        cgroup_paths_of(pid, &supervisor);
    if (streq(supervisor.unified, use->paths.unified))
        use->paths.unified[0] = '\0';
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        if (streq(supervisor.legacy[i], use->paths.legacy[i]))
            use->paths.legacy[i][0] = '\0';
}

void group_use_begin(struct group_use *use)
{
    struct cgroup_stat stat;

    *use = (struct group_use){ .absent = 0 };
    choose_paths(use, identity_take(&use->identity, environ));
    if (use->paths.unified[0] != '\0' &&
        (!cgroup_stat_read(cgroup_unified_root(), cgroup_legacy_root(), &use->paths, &use->absent,
                           &stat) ||
         stat.cpu_used_us == NEVER_US))
        use->paths.unified[0] = '\0';
}

void group_use_done(struct group_use *use)
{
    identity_clear(&use->identity);
}

bool group_use_is_ours(const struct group_use *use)
{
    return use->paths.unified[0] != '\0';
}

/* ---- the sum of the kernel ---- */

static uint64_t rusage_us(int who)
{
    struct rusage usage;

    if (getrusage(who, &usage) == -1)
        return 0;
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * USEC_PER_SEC +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* has_others - in the group of this folder, or below it, where each session has one of its own */
static bool has_others(const char *folder, pid_t helper, int depth)
{
    _cleanup_free_ char *path = text_format("%s/cgroup.procs", folder);
    _cleanup_fclose_ FILE *procs = fopen(path, "re");
    _cleanup_closedir_ DIR *dir = opendir(folder);
    const struct dirent *entry;
    int pid;

    while (procs != NULL && fscanf(procs, "%d", &pid) == 1)
        if (pid != getpid() && pid != helper)
            return true;
    while (dir != NULL && depth > 0 && (entry = readdir(dir)) != NULL) {
        _cleanup_free_ char *below = text_format("%s/%s", folder, entry->d_name);

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            has_others(below, helper, depth - 1))
            return true;
    }
    return false;
}

static bool look_at_group(struct group_use *use, pid_t helper, uint64_t helper_us,
                          uint64_t *ret_used_us, bool *ret_others)
{
    _cleanup_free_ char *folder = text_format("%s%s", cgroup_unified_root(), use->paths.unified);
    struct cgroup_stat stat;
    uint64_t own_us;

    if (!cgroup_stat_read(cgroup_unified_root(), cgroup_legacy_root(), &use->paths, &use->absent,
                          &stat) ||
        stat.cpu_used_us == NEVER_US)
        return false;
    own_us = rusage_us(RUSAGE_SELF) + helper_us;
    *ret_used_us = stat.cpu_used_us - MIN_OF(own_us, stat.cpu_used_us);
    *ret_others = has_others(folder, helper, GROUPS_DEPTH);
    return true;
}

/* ---- one process after the other ---- */

static const struct procfs_stat *find(const struct procfs_stat *list, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

/* is_below - of us, by what was listed */
static bool is_below(const struct procfs_stat *list, size_t n, const struct procfs_stat *process)
{
    for (int i = 0; process != NULL && i < GENERATIONS_MAX; i++) {
        if (process->ppid == getpid())
            return true;
        process = process->ppid > 1 ? find(list, n, process->ppid) : NULL;
    }
    return false;
}

static bool look_at_each(const struct group_use *use, pid_t helper, uint64_t *ret_used_us,
                         bool *ret_others)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    size_t n;

    if (procfs_list(&list, &n) < 0 || ticks_per_s <= 0)
        return false;
    *ret_used_us = rusage_us(RUSAGE_CHILDREN);
    *ret_others = false;
    for (size_t i = 0; i < n; i++) {
        if (list[i].pid == getpid() || list[i].pid == helper || list[i].state == 'Z' ||
            (!is_below(list, n, &list[i]) && !identity_is_of(&use->identity, list[i].pid)))
            continue;
        *ret_used_us += list[i].cpu_ticks * USEC_PER_SEC / (uint64_t)ticks_per_s;
        *ret_others = true;
    }
    return true;
}

bool group_use_look(struct group_use *use, pid_t helper, uint64_t helper_us, uint64_t *ret_used_us,
                    bool *ret_others)
{
    return group_use_is_ours(use) ? look_at_group(use, helper, helper_us, ret_used_us, ret_others)
                                  : look_at_each(use, helper, ret_used_us, ret_others);
}
