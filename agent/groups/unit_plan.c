/* SPDX-License-Identifier: Apache-2.0 */
/* unit_plan.c - see unit_plan.h
 *
 * The unit runs edl-supervisor, as without a service manager: it keeps the lease, records the end
 * and knows the grace of each stop. The unit adds what a supervisor cannot: limits, and a control
 * group out of which nothing escapes. A SIGTERM of the manager's own (somebody says systemctl stop)
 * goes to the supervisor alone. The rest is killed when that has ended. */
#include "agent/groups/unit_plan.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/cpu_mask.h"
#include "agent/core/process_id.h"
#include "agent/supervisor/process_limits.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

/* A supervisor answers its SIGTERM within the grace, and kills by itself. */
#define STOP_MARGIN_US (30 * (int64_t)USEC_PER_SEC)
#define PATHS_MAX 8

static void add(struct unit_plan *plan, const char *name, enum unit_type type, int64_t number,
                const char *text)
{
    plan->properties[plan->n_properties++] =
        (struct unit_property){ .name = name, .type = type, .number = number, .text = text };
}

static void add_life(struct unit_plan *plan, const json_t *order)
{
    add(plan, "Description", UNIT_TEXT, 0, plan->description);
    add(plan, "Slice", UNIT_TEXT, 0, plan->slice);
    add(plan, "Type", UNIT_TEXT, 0, "notify"); /* ready: the folder is locked */
    add(plan, "NotifyAccess", UNIT_TEXT, 0, "main");
    add(plan, "CollectMode", UNIT_TEXT, 0, "inactive-or-failed"); /* the end is in the folder */
    add(plan, "DefaultDependencies", UNIT_BOOL, false, NULL);
    add(plan, "KillMode", UNIT_TEXT, 0, "mixed");
    add(plan, "TimeoutStopUSec", UNIT_NUMBER, (int64_t)json_u64(order, "grace_us") + STOP_MARGIN_US,
        NULL);
    /* when memory runs out the program is killed, and its supervisor lives to say so */
    add(plan, "OOMPolicy", UNIT_TEXT, 0, "continue");
    add(plan, "OOMScoreAdjust", UNIT_INT, -1000, NULL);
    add(plan, "StandardInput", UNIT_TEXT, 0, "null");
    add(plan, "StandardOutput", UNIT_TEXT, 0, "null"); /* the log is the supervisor's to open */
    add(plan, "StandardError", UNIT_TEXT, 0, "journal");
}

static void add_limits(struct unit_plan *plan, const json_t *order)
{
    const struct process_limits limits = process_limits_of(order);

    if (limits.memory_bytes > 0)
        add(plan, "MemoryMax", UNIT_NUMBER, (int64_t)limits.memory_bytes, NULL);
    add(plan, "CPUWeight", UNIT_NUMBER, (int64_t)limits.cpu_weight, NULL);
    if (limits.cpu_quota_millicores > 0)
        add(plan, "CPUQuotaPerSecUSec", UNIT_NUMBER, (int64_t)limits.cpu_quota_millicores * 1000,
            NULL);
    add(plan, "TasksMax", UNIT_NUMBER, (int64_t)limits.tasks, NULL);
}

/* Those that it was given (cpu_pins.h). Its supervisor keeps to them as well, which is all there is
 * where the manager cannot: without one, or without the cpuset controller of version 2. */
static int add_cpus(struct unit_plan *plan, const json_t *order, struct edl_error *error)
{
    const char *list = json_string_value(json_object_get(order, "cpus"));
    struct cpu_mask cpus;

    if (cpu_mask_parse(list != NULL ? list : "", &cpus) < 0)
        return edl_error_set(error, -EINVAL, "cpus of the order is \"%.60s\"", list);
    for (unsigned cpu = 0; cpu < CPU_MASK_MAX; cpu++) {
        if (!cpu_mask_has(&cpus, cpu))
            continue;
        plan->cpus[cpu / 8] |= (uint8_t)(1U << cpu % 8);
        plan->n_cpu_bytes = cpu / 8 + 1;
    }
    return 0;
}

bool unit_property_limits(const struct unit_property *property)
{
    static const char *const names[] = { "MemoryMax", "CPUWeight", "CPUQuotaPerSecUSec", "TasksMax",
                                         "DevicePolicy" };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(property->name, names[i]))
            return true;
    return false;
}

static bool is_below_tmp(const char *path)
{
    return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0;
}

/* add_hidden - what the node's owner put there is seen; a job that is given a workspace there does
 * not get to see the rest */
static void add_hidden(struct unit_plan *plan, const json_t *order, const char *const *paths)
{
    const char *workspace = json_string_value(json_object_get(order, "workspace"));
    const char *scheduler = json_string_value(json_object_get(order, "scheduler_socket"));
    const char *in_use[PATHS_MAX + 1] = { NULL }, *hidden[HIDDEN_MAX + 1];
    size_t n = 0;

    for (; *paths != NULL && n < PATHS_MAX; paths++)
        if (workspace == NULL || !streq(*paths, workspace))
            in_use[n++] = *paths;
    hidden_paths(in_use, scheduler != NULL ? scheduler : "", hidden);
    for (size_t i = 0; hidden[i] != NULL; i++) {
        (void)snprintf(plan->hidden[i], UNIT_HIDDEN_SIZE, "-%s", hidden[i]);
        plan->hidden_list[i] = plan->hidden[i];
    }
    if (plan->hidden_list[0] != NULL)
        plan->properties[plan->n_properties++] = (struct unit_property){
            .name = "InaccessiblePaths", .type = UNIT_TEXTS, .texts = plan->hidden_list
        };
    add(plan, "ProtectProc", UNIT_TEXT, 0, "invisible");
}

static void add_sandbox(struct unit_plan *plan, const json_t *order, const char *const *paths)
{
    bool private_tmp = true;

    add_hidden(plan, order, paths);
    for (; *paths != NULL; paths++)
        private_tmp = private_tmp && !is_below_tmp(*paths);
    add(plan, "NoNewPrivileges", UNIT_BOOL, true, NULL);
    add(plan, "PrivateTmp", UNIT_BOOL, private_tmp, NULL);
    add(plan, "Delegate", UNIT_BOOL, true, NULL); /* the supervisor puts its program in a group */
    add(plan, "DevicePolicy", UNIT_TEXT, 0, "closed");
}

static void add_device(struct unit_plan *plan, const char *format, unsigned number)
{
    if (plan->n_devices < UNIT_DEVICES_MAX)
        (void)snprintf(plan->devices[plan->n_devices++], UNIT_DEVICE_SIZE, format, number);
}

/* Those that were granted, by the numbers in its environment, and what all of them share. Their
 * files may have other numbers (gpus.h). */
static int add_gpus(struct unit_plan *plan, const json_t *order, struct edl_error *error)
{
    const char *list =
        json_string_value(json_object_get(json_object_get(order, "env"), "EDL_GPUS"));
    const json_t *minors = json_object_get(order, "gpu_minors");
    const char *at = list;
    unsigned number;
    size_t i = 0;
    const json_t *minor;
    int n;

    while (at != NULL && *at != '\0') {
        if (!isdigit((unsigned char)*at) || sscanf(at, "%3u%n", &number, &n) != 1 ||
            (at[n] != '\0' && at[n] != ','))
            return edl_error_set(error, -EINVAL, "EDL_GPUS of the order is \"%.60s\"", list);
        minor = json_array_get(minors, i++);
        add_device(plan, "/dev/nvidia%u",
                   json_is_integer(minor) ? (unsigned)json_integer_value(minor) : number);
        at += at[n] == ',' ? n + 1 : n;
    }
    if (plan->n_devices > 0) {
        add_device(plan, "/dev/nvidiactl", 0);
        add_device(plan, "/dev/nvidia-uvm", 0);
        add_device(plan, "/dev/nvidia-uvm-tools", 0);
    }
    return 0;
}

void unit_plan_slice(uint64_t job_id, char ret[UNIT_NAME_SIZE])
{
    (void)snprintf(ret, UNIT_NAME_SIZE, "edl-%" PRIu64 ".slice", job_id);
}

bool unit_is_of(const char *cgroup, const char *key)
{
    const char *name = strrchr(cgroup, '/');
    size_t n = strlen(key);

    return name != NULL && strncmp(name, "/edl-", 5) == 0 && strncmp(name + 5, key, n) == 0 &&
           (streq(name + 5 + n, ".service") || name[5 + n] == '-');
}

int unit_plan(const char *key, const json_t *order, const char *const *paths, struct unit_plan *ret,
              struct edl_error *error)
{
    const char *job = json_string_value(json_object_get(order, "job"));
    struct process_id id;
    int r;

    if (process_id_parse(key, &id) < 0)
        return edl_error_set(error, -EINVAL, "%s is not the key of a process", key);
    *ret = (struct unit_plan){ 0 };
    (void)snprintf(ret->name, sizeof ret->name, "edl-%s.service", key);
    ret->job_id = id.job_id;
    unit_plan_slice(id.job_id, ret->slice);
    (void)snprintf(ret->description, sizeof ret->description, "%s %s %lu of EDL job %s", "process",
                   id.role, (unsigned long)id.index, job != NULL ? job : "?");
    add_life(ret, order);
    add_limits(ret, order);
    add_sandbox(ret, order, paths);
    r = add_cpus(ret, order, error);
    return r < 0 ? r : add_gpus(ret, order, error);
}
