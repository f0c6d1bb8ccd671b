/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.c - cores, memory, usage of our process trees, foreign load
 *
 * Foreign load = busy CPU time of the machine (/proc/stat) minus that of our trees over the same
 * time, smoothed, never below 0. A tree's CPU time is that of its control group, or else of
 * everything below its supervisor. The time of reaped children is in it, so that short-lived ones
 * count. */
#include "agent/machine/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/groups/cgroup.h"
#include "agent/groups/cgroup_stat.h"
#include "agent/core/foreign.h"
#include "agent/layout.h"
#include "agent/machine/procfs.h"
#include "agent/machine/procfs_tree.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define NUMA_DIR "/sys/devices/system/node"

static uint64_t machine_millicores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint64_t)CPU_COUNT(&set) * 1000;
    return (uint64_t)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 1L) * 1000;
}

/* read_memory - MemTotal and MemAvailable of /proc/meminfo in bytes */
static int read_memory(uint64_t *ret_total, uint64_t *ret_available)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/meminfo", "re");
    unsigned long long total = 0, available = 0;
    char line[160];

    if (f == NULL)
        return -errno;
    while (fgets(line, sizeof line, f) != NULL) {
        (void)sscanf(line, "MemTotal: %llu kB", &total);
        (void)sscanf(line, "MemAvailable: %llu kB", &available);
    }
    if (total == 0)
        return -EINVAL;
    *ret_total = total * 1024;
    *ret_available = MIN_OF(available, total) * 1024;
    return 0;
}

/* read_busy_ticks - user, nice, system, irq, softirq of all cores; guest time is in user already */
static uint64_t read_busy_ticks(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
    unsigned long long user, nice_, system, irq, softirq;

    if (f == NULL || fscanf(f, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice_, &system, &irq,
                            &softirq) != 5)
        return 0;
    return user + nice_ + system + irq + softirq;
}

static uint64_t ticks_to_us(uint64_t ticks)
{
    return ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* take_group - false when its control group does not tell enough; one that is gone uses nothing */
static bool take_group(struct inventory_tree *tree)
{
    struct cgroup_stat stat;

    if (tree->cgroup == NULL)
        return false;
    if (!cgroup_stat_read(cgroup_unified_root(), cgroup_legacy_root(), tree->cgroup,
                          tree->cgroup_absent, &stat))
        return !cgroup_exists(tree->cgroup->unified);
    if (stat.cpu_used_us == NEVER_US || stat.memory_used_bytes == NEVER_US ||
        stat.tasks == NEVER_US)
        return false;
    tree->cpu_used_us = stat.cpu_used_us;
    tree->memory_used_bytes = stat.memory_used_bytes;
    tree->tasks = stat.tasks;
    tree->memory_peak_bytes = stat.memory_peak_bytes != NEVER_US ? stat.memory_peak_bytes : 0;
    return true;
}

static void add_process(struct inventory_tree *tree, const struct procfs_stat *process)
{
    tree->tasks += process->threads;
    tree->cpu_used_us += ticks_to_us(process->cpu_ticks);
    tree->memory_used_bytes += process->resident_bytes;
}

/* take_processes - its root and all below it */
static void take_processes(struct inventory_tree *tree)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    struct procfs_stat root;
    size_t n = 0;

    if (procfs_stat(tree->root, &root) < 0)
        return;
    add_process(tree, &root);
    (void)procfs_tree(tree->root, &list, &n);
    for (size_t i = 0; i < n; i++)
        add_process(tree, &list[i]);
}

void inventory_measure(struct inventory_tree *tree)
{
    if (!take_group(tree))
        take_processes(tree);
}

void inventory_look(struct inventory_moment *ret)
{
    *ret = (struct inventory_moment){ .busy_ticks = read_busy_ticks() };
    (void)read_memory(&ret->memory_bytes, &ret->available_bytes);
}

uint8_t inventory_numa_nodes(const char *path)
{
    _cleanup_closedir_ DIR *dir = opendir(path);
    const struct dirent *entry;
    unsigned n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += strncmp(entry->d_name, "node", 4) == 0 && entry->d_name[4] >= '0' &&
             entry->d_name[4] <= '9';
    return (uint8_t)MIN_OF(MAX_OF(n, 1U), (unsigned)UINT8_MAX);
}

/* take_assignment - the value of a line NAME=VALUE, NAME="VALUE" or NAME='VALUE'; others are passed
 * over */
static void take_assignment(char *line, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);

    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, name, length) != 0 || line[length] != '=')
        return;
    line += length + 1;
    if (*line == '"' || *line == '\'') {
        line[1 + strcspn(line + 1, (char[]){ *line, '\0' })] = '\0';
        line++;
    }
    (void)snprintf(value, size, "%s", line);
}

/* read_os - ID-VERSION_ID, or ID where releases have no number; see os-release(5) */
static int read_os(const char *root, char *text, size_t size)
{
    static const char *const paths[] = { "/etc/os-release", "/usr/lib/os-release" };
    char id[40] = "linux", version[40] = "", line[512];
    _cleanup_fclose_ FILE *f = NULL;

    for (size_t i = 0; i < ELEMENTS(paths) && f == NULL; i++) {
        _cleanup_free_ char *path = text_format("%s%s", root, paths[i]);

        f = fopen(path, "re");
    }
    if (f == NULL)
        return -ENOENT;
    while (fgets(line, sizeof line, f) != NULL) {
        take_assignment(line, "ID", id, sizeof id);
        take_assignment(line, "VERSION_ID", version, sizeof version);
    }
    (void)snprintf(text, size, "%s%s%s", id, version[0] != '\0' ? "-" : "", version);
    return 0;
}

void inventory_labels(const char *root, struct labels *labels)
{
    struct utsname machine;
    char os[96];

    if (uname(&machine) == 0)
        (void)labels_set(labels, "arch", machine.machine, NULL);
    if (read_os(root, os, sizeof os) == 0)
        (void)labels_set(labels, "os", os, NULL);
}

/* share - what is offered of total; name: of the option */
static int share(const char *name, uint64_t wanted, uint64_t reserve, uint64_t total,
                 bool overcommit, uint64_t *ret, struct edl_error *error)
{
    if (reserve >= total)
        return edl_error_set(error, EDL_ECONFIG, "--reserve-%s keeps %llu, this machine has %llu",
                             name, (unsigned long long)reserve, (unsigned long long)total);
    if (wanted > total - reserve && !overcommit)
        return edl_error_set(error, EDL_ECONFIG, "--%s offers %llu, this machine has %llu%s%.0llu",
                             name, (unsigned long long)wanted, (unsigned long long)total,
                             reserve > 0 ? " and keeps " : "", (unsigned long long)reserve);
    *ret = wanted > 0 ? wanted : total - reserve;
    return 0;
}

int inventory_offer(struct inventory *inventory, const struct inventory_offer *offer,
                    struct edl_error *error)
{
    uint64_t total, available, cpu_millicores, memory_bytes;
    uint64_t cores = machine_millicores();
    int r = read_memory(&total, &available);

    if (r < 0)
        return edl_error_errno(error, r, "cannot read /proc/meminfo");
    r = share("cpu", offer->cpu_millicores, offer->reserve_cpu_millicores, cores, offer->overcommit,
              &cpu_millicores, error);
    if (r == 0)
        r = share("memory", offer->memory_bytes, offer->reserve_memory_bytes, total,
                  offer->overcommit, &memory_bytes, error);
    if (r < 0)
        return r;
    inventory->cpu_millicores = cpu_millicores;
    inventory->memory_bytes = memory_bytes;
    return 0;
}

int inventory_init(struct inventory *inventory, const struct inventory_offer *offer,
                   bool no_foreign, struct edl_error *error)
{
    struct inventory made = { .numa_nodes = inventory_numa_nodes(NUMA_DIR),
                              .no_foreign = no_foreign };
    int r = inventory_offer(&made, offer, error);

    if (r < 0)
        return r;
    *inventory = made;
    inventory_labels("", &inventory->labels);
    return 0;
}

void inventory_take(struct inventory *inventory, const struct inventory_moment *moment,
                    uint64_t ours_us, uint64_t ours_bytes, uint64_t now_us)
{
    uint64_t taken_bytes =
        moment->memory_bytes - MIN_OF(moment->memory_bytes, moment->available_bytes);

    if (inventory->no_foreign)
        return;
    if (inventory->sampled_us != 0 && now_us > inventory->sampled_us) {
        uint64_t elapsed_us = now_us - inventory->sampled_us;
        uint64_t busy_us =
            ticks_to_us(moment->busy_ticks - MIN_OF(moment->busy_ticks, inventory->busy_ticks));
        uint64_t mine_us = ours_us - MIN_OF(ours_us, inventory->ours_us);
        uint64_t foreign_us = busy_us - MIN_OF(busy_us, mine_us);

        inventory->foreign_cpu_millicores =
            foreign_smooth(inventory->foreign_cpu_millicores, foreign_us * 1000 / elapsed_us,
                           elapsed_us);
    }
    inventory->busy_ticks = moment->busy_ticks;
    inventory->ours_us = ours_us;
    inventory->sampled_us = now_us;
    if (moment->memory_bytes > 0)
        inventory->foreign_memory_bytes = taken_bytes - MIN_OF(taken_bytes, ours_bytes);
}
