/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.c - the history is begun anew from a backup
 *
 * Events after the backup are forgotten here and go on out there: agents run processes that no
 * record names, and records name processes that have ended. Numbers that may have been given are
 * not given again; and a process that may have been started is taken for started, so that it is
 * ordered only if an agent has it, and else is lost. */
#include "scheduler/core/record/epoch.h"

#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/macro.h"

void cluster_begin_epoch(struct cluster *cluster, uint64_t first_number, struct instant now)
{
    struct process *process;
    struct job *job;

    cluster->next_job_id = MAX_OF(cluster->next_job_id, first_number);
    for (job = cluster->jobs; job != NULL; job = job->hh.next) {
        job->next_incarnation = MAX_OF(job->next_incarnation, first_number);
        effect_save_job(cluster, job);
        rendezvous_begin_epoch(cluster, job, first_number);
        DL_FOREACH2(job->processes, process, job_next)
        if (process->state == PROCESS_ASSIGNED)
            (void)process_set_state(cluster, process, PROCESS_PREPARING, now);
    }
    effect_event(cluster, now, NULL, "", "state-restored",
                 "the state was restored from a backup; numbers go on from %llu",
                 (unsigned long long)first_number);
}
