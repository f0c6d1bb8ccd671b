/* SPDX-License-Identifier: Apache-2.0 */
/* node_report.c - see node_report.h */
#include "scheduler/api/node_report.h"

#include <errno.h>
#include <stdio.h>

#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/old_cause_text.h"
#include "scheduler/json/node_json.h"
#include "scheduler/nodes/serving.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/step_sums_json.h"

/* A century: what a node that is wrong says would be believed of all jobs of a family. */
#define RAN_MAX_US (UINT64_C(100) * 365 * 86400 * USEC_PER_SEC)

int node_report_machine_id(const json_t *body, const char **ret, struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    int r = body_string(&may, "machine_id", MACHINE_ID_MAX, ret, error);

    if (r < 0 || *ret == NULL || strspn(*ret, "0123456789abcdef") == strlen(*ret))
        return r;
    return edl_error_at(error, -EINVAL, "/machine_id", "machine_id is at most %d hex digits",
                        MACHINE_ID_MAX);
}

static int read_exit(const struct body_field *may, struct process_report *ret,
                     struct edl_error *error)
{
    const json_t *code = json_object_get(may->object, "exit_code");
    uint64_t signal = 0;
    int r = body_u64(may, "exit_signal", 128, &signal, error);

    if (r < 0)
        return r;
    ret->exit_signal = (int)signal;
    /* -1: the agent does not know; not a number yet: it still runs */
    ret->exit_code = json_is_integer(code) ? (int)json_integer_value(code) : -1;
    return 0;
}

/* read_steps - what a program says: nonsense is left out, and is no reason to lose its node */
static void read_steps(const json_t *item, struct steps_told *ret)
{
    const json_t *steps = json_object_get(item, "steps");
    struct body_field may = { .object = steps, .at = "" };

    ret->any = steps != NULL && step_sums_from_json(steps, &ret->sums, NULL) == 0 &&
               body_u64(&may, "age_us", INT64_MAX, &ret->age_us, NULL) == 0;
}

static int read_process(const json_t *item, const char *at, struct process_report *ret,
                        struct edl_error *error)
{
    struct body_field must = { .object = item, .at = at, .required = true };
    struct body_field may = { .object = item, .at = at };
    const char *state, *unfit = NULL, *fault = NULL, *cause = NULL;
    uint64_t index, pid = 0;
    int s;
    int r = body_u64(&must, "job_id", INT64_MAX, &ret->job_id, error);

    if (r == 0)
        r = body_string(&must, "role", ROLE_NAME_MAX, &ret->role, error);
    if (r == 0)
        r = body_u64(&must, "index", UINT32_MAX, &index, error);
    if (r == 0)
        r = body_u64(&must, "incarnation", INT64_MAX, &ret->incarnation, error);
    if (r == 0)
        r = body_string(&must, "state", 32, &state, error);
    if (r == 0)
        r = body_u64(&may, "pid", INT32_MAX, &pid, error);
    if (r == 0)
        r = body_reported(&may, "reason", 1024, &ret->reason, error);
    if (r == 0)
        r = body_u64(&may, "cpu_used_us", INT64_MAX, &ret->cpu_used_us, error);
    if (r == 0)
        r = body_u64(&may, "memory_used_bytes", INT64_MAX, &ret->memory_used_bytes, error);
    if (r == 0)
        r = body_u64(&may, "memory_peak_bytes", INT64_MAX, &ret->memory_peak_bytes, error);
    if (r == 0)
        r = body_u64(&may, "tasks", INT64_MAX, &ret->tasks, error);
    if (r == 0)
        r = body_u64(&may, "ran_us", RAN_MAX_US, &ret->ran_us, error);
    if (r == 0)
        r = body_u64(&may, "frozen_us", RAN_MAX_US, &ret->frozen_us, error);
    if (r == 0)
        r = body_u64(&may, "orphans_reaped", UINT32_MAX, &ret->orphans_reaped, error);
    if (r == 0)
        r = body_reported(&may, "error", 1024, &ret->error, error);
    if (r == 0)
        r = body_u64(&may, "error_before_us", RAN_MAX_US, &ret->error_before_us, error);
    if (r == 0)
        r = body_string(&may, "unfit", 63, &unfit, error);
    if (r == 0)
        r = body_string(&may, "start_fault", 63, &fault, error);
    if (r == 0)
        r = body_string(&may, "cause", 63, &cause, error);
    if (r == 0)
        r = read_exit(&may, ret, error);
    if (r < 0)
        return r;
    s = process_state_from_string(state);
    if (s < 0 || s == PROCESS_LOST)
        return edl_error_at(error, -EINVAL, at, "%s/state \"%s\" is not an agent's word", at,
                            state);
    read_steps(item, &ret->steps);
    serving_read(json_object_get(item, "progress"), &ret->backlog);
    ret->backlog.old = json_is_true(json_object_get(item, "progress_old"));
    ret->state = (enum process_state)s;
    ret->index = (uint32_t)index;
    ret->pid = (int64_t)pid;
    ret->told_progress = json_object_size(json_object_get(item, "progress")) > 0;
    ret->unfit = unfit_from_string(unfit);
    ret->start_fault =
        start_fault_from_string(fault, cause != NULL || unfit != NULL ? NULL : ret->reason);
    ret->cause =
        cause != NULL ? cause_of_exit(exit_cause_from_string(cause)) : cause_from_text(ret->reason);
    return 0;
}

int node_report_read(const json_t *body, struct node_report *ret, struct process_report **ret_list,
                     uint16_t **ret_ports, struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    _cleanup_free_ struct process_report *list = NULL;
    const json_t *array;
    size_t n;
    int r = body_string(&must, "boot_id", 39, &ret->boot_id, error);

    if (r == 0)
        r = node_report_machine_id(body, &ret->machine_id, error);
    if (r == 0)
        r = body_u64(&may, "sent_us", INT64_MAX, &ret->sent_us, error);
    if (r == 0)
        r = body_u64(&may, "session", INT64_MAX, &ret->session, error);
    if (r == 0)
        r = node_offer_from_json(body, &ret->offer, error);
    if (r == 0)
        r = body_u64(&may, "foreign_cpu_millicores", INT64_MAX / 2, &ret->foreign_cpu_millicores,
                     error);
    if (r == 0)
        r = body_u64(&may, "foreign_memory_bytes", INT64_MAX / 2, &ret->foreign_memory_bytes,
                     error);
    if (r == 0)
        r = gpus_foreign_from_json(body, &ret->gpus_foreign, error);
    if (r == 0)
        r = gpus_idle_from_json(body, &ret->gpus_idle, error);
    if (r == 0)
        r = ports_foreign_from_json(body, ret_ports, &ret->n_ports_foreign, error);
    if (r == 0)
        r = body_bool(&may, "disk_full", &ret->disk_full, error);
    if (r == 0)
        r = body_string(&may, "set_aside", NODE_SET_ASIDE_SIZE - 1, &ret->set_aside, error);
    if (r == 0)
        r = body_u64(&may, "set_aside_number", INT64_MAX, &ret->set_aside_number, error);
    if (r == 0)
        r = body_bool(&may, "complete", &ret->complete, error);
    if (r == 0)
        r = body_array(&must, "processes", &array, error);
    if (r < 0)
        return r;
    n = json_array_size(array);
    list = xcalloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        char at[40];

        (void)snprintf(at, sizeof at, "/processes/%zu", i);
        r = read_process(json_array_get(array, i), at, &list[i], error);
        if (r < 0)
            return r;
    }
    ret->ports_foreign = *ret_ports;
    ret->n_processes = n;
    ret->processes = *ret_list = TAKE_PTR(list);
    return 0;
}
