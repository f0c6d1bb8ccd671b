/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.c - the history is begun anew from a backup
 *
 * Events after the backup are forgotten here and go on out there: agents run processes that no
 * record names, and records name processes that have ended. Numbers that may have been given are
 * not given again; and a process that may have been started is taken for started, so that it is
 * ordered only if an agent has it, and else is lost. */
#include "scheduler/core/record/epoch.h"

#include <utlist.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/macro.h"

#define JOBS_ROUND 1000 /* it is the least margin, too */
#define JOBS_FACTOR 10
#define INCARNATIONS_ROUND 1000000

uint64_t epoch_first_job(const struct epoch_known *known, uint64_t now_us)
{
    uint64_t lost_us = now_us > known->known_until_us ? now_us - known->known_until_us : 0;
    uint64_t age_us =
        known->known_until_us > known->made_us ? known->known_until_us - known->made_us : 1;
    double margin =
        (double)JOBS_FACTOR * (double)known->next_job * (double)lost_us / (double)age_us;

    margin = MIN_OF(MAX_OF(margin, JOBS_ROUND), (double)LOST_JOBS_MOST);
    return (known->next_job + (uint64_t)margin + JOBS_ROUND - 1) / JOBS_ROUND * JOBS_ROUND;
}

uint64_t epoch_first_incarnation(uint64_t epoch)
{
    return 1 + epoch % INCARNATIONS_ROUND;
}

void cluster_begin_epoch(struct cluster *cluster, const struct epoch_numbers *numbers,
                         struct instant now)
{
    struct process *process;
    struct job *job;

    cluster_number_from(cluster, numbers->first_job, numbers->first_incarnation);
    for (job = cluster->jobs; job != NULL; job = job->hh.next) {
        job->next_incarnation = MAX_OF(job->next_incarnation, numbers->first);
        effect_save_job(cluster, job);
        rendezvous_begin_epoch(cluster, job, numbers->first);
        DL_FOREACH2(job->processes, process, job_next)
        if (process->state == PROCESS_ASSIGNED)
            (void)process_set_state(cluster, process, PROCESS_PREPARING, now);
    }
    effect_event(cluster, now, NULL, "", "state-restored",
                 "the state was restored from a backup; new jobs are numbered from %llu on",
                 (unsigned long long)numbers->first_job);
}
