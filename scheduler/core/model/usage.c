/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - see usage.h */
#include "scheduler/core/model/usage.h"

#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

const char *usage_kind_to_string(enum usage_kind kind)
{
    static const char *const words[] = { [USAGE_USEFUL] = "useful",
                                         [USAGE_RESIZE] = "resize",
                                         [USAGE_IDLE] = "idle",
                                         [USAGE_WASTED] = "wasted" };

    return words[kind];
}

void usage_add(struct usage *to, const struct usage *what)
{
    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        to->kinds[kind].cpu_millicore_ms += what->kinds[kind].cpu_millicore_ms;
        to->kinds[kind].gpu_ms += what->kinds[kind].gpu_ms;
        to->kinds[kind].memory_mib_ms += what->kinds[kind].memory_mib_ms;
    }
}

static uint64_t span_us(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? to_us - from_us : 0;
}

static bool holds_task(const struct process *process)
{
    const struct task_queue *queue = process->job->queue;

    return queue != NULL && task_queue_held_since_us(queue, process->incarnation) != NEVER_US;
}

/* Whether the end of this process means that its last work is done again. */
static bool loses_work(const struct process *process)
{
    if (process->state == PROCESS_LOST)
        return true;
    if (process->stop_wanted)
        return holds_task(process);
    return process->state == PROCESS_EXITED &&
           (process->exit_code != 0 || process->exit_signal != 0);
}

/* lost_us - of the time until then; nothing is lost of the last time that it was frozen */
static uint64_t lost_us(const struct process *process, uint64_t from_us, uint64_t to_us)
{
    uint64_t us = span_us(MAX_OF(process->credited_wall_us, from_us), to_us);

    return span_us(process->frozen_us - process->frozen_before_us, us);
}

/* How long each kind lasted; idle is the frozen time, so far. */
static void split_time(const struct process *process, uint64_t now_wall_us, uint64_t *ret_us)
{
    uint64_t end_us = process_state_is_final(process->state) ? process->ended_wall_us : now_wall_us;
    uint64_t ran_from_us = process->started_wall_us != 0 ? process->started_wall_us : end_us;
    uint64_t ran_to_us = process->stopping_wall_us != 0 ? process->stopping_wall_us : end_us;
    uint64_t run_us = span_us(ran_from_us, MIN_OF(ran_to_us, end_us));

    ret_us[USAGE_IDLE] = MIN_OF(process->frozen_us, run_us);
    ret_us[USAGE_USEFUL] = run_us - ret_us[USAGE_IDLE];
    ret_us[USAGE_WASTED] = 0;
    if (loses_work(process))
        ret_us[USAGE_WASTED] =
            MIN_OF(ret_us[USAGE_USEFUL], lost_us(process, ran_from_us, ran_to_us));
    ret_us[USAGE_USEFUL] -= ret_us[USAGE_WASTED];
    ret_us[USAGE_RESIZE] = span_us(process->assigned_wall_us, end_us);
    ret_us[USAGE_RESIZE] -= MIN_OF(run_us, ret_us[USAGE_RESIZE]);
}

void usage_of_process(const struct process *process, uint64_t now_wall_us, struct usage *ret)
{
    const struct role_spec *role = &process->job->spec->roles[process->role];
    uint64_t spans_us[USAGE_KINDS];
    struct resource_time *useful = &ret->kinds[USAGE_USEFUL];
    uint64_t *not_used = &ret->kinds[USAGE_IDLE].cpu_millicore_ms;
    uint64_t granted, used, most, idle;

    split_time(process, now_wall_us, spans_us);
    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        uint64_t ms = spans_us[kind] / USEC_PER_MSEC;

        ret->kinds[kind].cpu_millicore_ms = ms * role->cpu_millicores;
        ret->kinds[kind].gpu_ms = ms * role->gpus;
        ret->kinds[kind].memory_mib_ms = ms * (role->memory_bytes >> 20);
    }
    most = useful->cpu_millicore_ms + *not_used;
    granted = most + ret->kinds[USAGE_WASTED].cpu_millicore_ms;
    used = process->cpu_used_us; /* one core for a microsecond is one millicore for a millisecond */
    idle = MIN_OF(granted > used ? granted - used : 0, most);
    useful->cpu_millicore_ms = most - idle;
    *not_used = idle;
}

void usage_of_ended(struct job *job, const struct usage *what)
{
    static const struct usage nothing;

    if (memcmp(what, &nothing, sizeof nothing) == 0)
        return;
    if (job->usage == NULL)
        job->usage = xcalloc(1, sizeof *job->usage);
    usage_add(job->usage, what);
}

void usage_of_job(const struct job *job, uint64_t now_wall_us, struct usage *ret)
{
    const struct process *process;

    *ret = job->usage != NULL ? *job->usage : (struct usage){ 0 };
    DL_FOREACH2(job->processes, process, job_next)
    {
        struct usage own;

        if (process_state_is_final(process->state))
            continue;
        usage_of_process(process, now_wall_us, &own);
        usage_add(ret, &own);
    }
}
