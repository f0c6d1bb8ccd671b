/* SPDX-License-Identifier: Apache-2.0 */
/* process_ref.c - a process by name */
#include "scheduler/api/process_ref.h"

#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"

struct process_ref process_ref_of(const struct process *process)
{
    return (struct process_ref){ .job_id = process->job->id,
                                 .incarnation = process->incarnation,
                                 .role = process->role,
                                 .index = process->index };
}

struct process *process_ref_find(const struct scheduler *scheduler, const struct process_ref *ref,
                                 struct edl_error *error)
{
    const struct job *job = cluster_job(scheduler->cluster, ref->job_id);
    struct process *process =
        job != NULL ? job_find_process(job, ref->role, ref->index, ref->incarnation) : NULL;

    if (scheduler->degraded.on)
        (void)degraded_error(scheduler, error);
    else if (process == NULL)
        (void)edl_error_set(error, EDL_ESTALE, "the process is not known any more");
    return scheduler->degraded.on ? NULL : process;
}
