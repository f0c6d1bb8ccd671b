/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - the incarnations of before: kept for people to look at, and bounded
 *
 * The newest incarnation of every slot is kept, live or not. When a slot gets a newer one, the one
 * before is past; the job lists those in the order in which they were superseded, and forgets the
 * first when there are too many. Nothing is decided by them: the memory of a slot (failures,
 * finished, due) is in the slot. Their rows go with the turn after; loaded again before that, the
 * same ones stay. */
#include "scheduler/core/model/history.h"

#include <utlist.h>

#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"

void history_add(struct process *process)
{
    struct job *job = process->job;
    struct slot *slot = process_slot(process);

    if (slot->newest != NULL) {
        DL_APPEND2(job->past, slot->newest, past_prev, past_next);
        job->n_past++;
    }
    slot->newest = process;
}

void history_trim(struct cluster *cluster, struct job *job)
{
    while (job->n_past > JOB_HISTORY_MAX) {
        struct process *oldest = job->past;

        if (!process_state_is_final(oldest->state) || oldest->effects_pending != 0)
            return;
        effect_forget_process(cluster, oldest);
        DL_DELETE2(job->past, oldest, past_prev, past_next);
        DL_DELETE2(job->processes, oldest, job_prev, job_next);
        process_free(oldest);
        job->n_past--;
    }
}
