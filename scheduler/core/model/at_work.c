/* SPDX-License-Identifier: Apache-2.0 */
/* at_work.c - which instances work: they took a task, or are together with others */
#include "scheduler/core/model/at_work.h"

#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"

void process_works(struct cluster *cluster, struct process *process, struct instant now)
{
    if (process->at_work || process->state >= PROCESS_STOPPING)
        return;
    process_set_at_work(process, true);
    fact_of_job(cluster, FACT_SIZE, process->job, now);
}

void process_waits(struct cluster *cluster, struct process *process, struct instant now)
{
    if (!process->at_work)
        return;
    process_set_at_work(process, false);
    fact_of_job(cluster, FACT_SIZE, process->job, now);
}
