/* SPDX-License-Identifier: Apache-2.0 */
/* first_error.c - see first_error.h
 *
 * A node reports an end at once, and how long before it the error was written: so no clock of a
 * node is asked for the time. */
#include "scheduler/core/ask/first_error.h"

#include <stdbool.h>
#include <utlist.h>

#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/macro.h"

/* has_failed - by itself, or it had told an error before it was stopped */
static bool has_failed(const struct process *process)
{
    static const enum cause causes[] = { CAUSE_PROGRAM, CAUSE_STOOD_STILL, CAUSE_NOT_STARTED,
                                         CAUSE_NO_PROGRAM };
    bool badly = process->exit_code != 0 || process->exit_signal != 0;

    for (size_t i = 0; badly && i < ELEMENTS(causes); i++)
        if (process->state == PROCESS_EXITED && process->cause == causes[i])
            return true;
    return badly && process->state == PROCESS_EXITED && process->error != NULL;
}

const char *process_error_text(const struct process *process)
{
    return process->error != NULL ? process->error : process->reason;
}

uint64_t process_failed_us(const struct process *process)
{
    return process->ended_wall_us - MIN_OF(process->error_before_us, process->ended_wall_us);
}

/* Incarnations of the newest processes of a role, by index; owned. */
struct newest {
    uint64_t *incarnations;
    size_t n;
};

static void note(struct newest *newest, const struct process *process)
{
    if (process->index >= newest->n) {
        size_t n = MAX_OF(2 * newest->n, (size_t)process->index + 1);

        newest->incarnations = xreallocarray(newest->incarnations, n, sizeof *newest->incarnations);
        for (size_t i = newest->n; i < n; i++)
            newest->incarnations[i] = 0;
        newest->n = n;
    }
    newest->incarnations[process->index] =
        MAX_OF(newest->incarnations[process->index], process->incarnation);
}

const struct process *job_first_error(const struct job *job)
{
    struct newest *newest = xcalloc(job->spec->n_roles, sizeof *newest);
    const struct process *process, *first = NULL;

    DL_FOREACH2(job->processes, process, job_next)
    note(&newest[process->role], process);
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (has_failed(process) &&
            newest[process->role].incarnations[process->index] == process->incarnation &&
            (first == NULL || process_failed_us(process) < process_failed_us(first)))
            first = process;
    }
    for (size_t i = 0; i < job->spec->n_roles; i++)
        free(newest[i].incarnations);
    free(newest);
    return job->state != JOB_SUCCEEDED ? first : NULL;
}
