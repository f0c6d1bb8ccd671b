/* SPDX-License-Identifier: Apache-2.0 */
/* gather_cgroups.c - what is mounted of control groups */
#include "agent/doctor/gather.h"

#include <dirent.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/groups/cgroup.h"
#include "agent/groups/cgroup_home.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/error.h"

static bool is_of_type(const char *path, long magic)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == magic;
}

static void read_line(const char *path, char *ret, size_t size)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");

    if (file == NULL || fgets(ret, (int)size, file) == NULL)
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static void list_v1(char *ret, size_t size)
{
    static const char *const controllers[] = { "memory", "cpu",     "cpuacct", "cpuset",
                                               "pids",   "devices", "blkio",   "freezer" };
    size_t used = 0;

    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        _cleanup_free_ char *path = text_format("/sys/fs/cgroup/%s", controllers[i]);

        if (!is_of_type(path, CGROUP_SUPER_MAGIC) || used + strlen(controllers[i]) + 2 > size)
            continue;
        used +=
            (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " " : "", controllers[i]);
    }
}

/* The root has no such file; any group below it has. */
static bool has_file(const char *root, const char *name)
{
    _cleanup_closedir_ DIR *folder = opendir(root);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        _cleanup_free_ char *path = text_format("%s/%s/%s", root, entry->d_name, name);

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* As an agent would that is started as doctor was: in the same control group, by the same user. */
static void look_at_own(struct cgroup_facts *ret)
{
    struct edl_error error = { 0 };
    struct cgroup_home home;
    size_t used = 0;

    if (cgroup_home_find(&home, &error) < 0) {
        (void)snprintf(ret->own_fault, FACT_SIZE, "%.255s", error.text);
        (void)snprintf(ret->own_remedy, FACT_SIZE, "%.255s", error.remedy);
    }
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (cgroup_home_holds(&home, i) && used < FACT_SIZE)
            used += (size_t)snprintf(ret->own_holds + used, FACT_SIZE - used, "%s%s",
                                     used > 0 ? ", " : "", cgroup_limit_name(i));
}

/* is_offered - a file of every group but the root; since: the kernel that has it first */
static bool is_offered(const struct doctor_facts *all, const char *name, const char *since)
{
    const char *root = cgroup_unified_root();
    char own[CGROUP_PATH_SIZE];

    if (has_file(root, name))
        return true;
    if (cgroup_of_self(own) == 0) {
        _cleanup_free_ char *path = text_format("%s%s/%s", root, own, name);

        if (access(path, F_OK) == 0)
            return true;
    }
    /* no group at all to look at: the kernel's age tells */
    return all->machine.kernel[0] != '\0' && strverscmp(all->machine.kernel, since) >= 0;
}

void gather_cgroups(const struct doctor_context *context, struct doctor_facts *all)
{
    struct cgroup_facts *ret = &all->cgroups;
    const char *root = cgroup_unified_root();
    _cleanup_free_ char *controllers = text_format("%s/cgroup.controllers", root);

    (void)context;
    look_at_own(ret);
    list_v1(ret->v1_has, sizeof ret->v1_has);
    ret->unified = is_of_type(root, CGROUP2_SUPER_MAGIC);
    if (!ret->unified)
        return;
    read_line(controllers, ret->unified_has, sizeof ret->unified_has);
    ret->can_kill = is_offered(all, "cgroup.kill", "5.14");
    ret->can_freeze = is_offered(all, "cgroup.freeze", "5.2");
}
