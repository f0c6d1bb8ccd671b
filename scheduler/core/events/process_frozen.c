/* SPDX-License-Identifier: Apache-2.0 */
/* process_frozen.c - processes that stood still because their node was cut off
 *
 * Their agent tells how long each has stood still in all, and goes on telling more while it does.
 * That time says nothing about a program, a node or a job: it is told, it is idle in the usage, and
 * a measurement across it is not learnt from. */
#include "scheduler/core/events/process_frozen.h"

#include <stdio.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

static void tell(struct cluster *cluster, const struct process *process, const char *event,
                 const char *format, struct instant now)
{
    char name[ROLE_NAME_MAX + 16];
    char text[120];

    process_name(process, name, sizeof name);
    (void)snprintf(text, sizeof text, "%s %s %.1f s: its node was cut off", name, format,
                   (double)(process->frozen_us - process->frozen_before_us) / USEC_PER_SEC);
    effect_process_event(cluster, now, process, event, "%s", text);
}

/* Its tasks are nobody else's for that: neither are they done twice, nor do they look slow. */
static void excuse_tasks(struct cluster *cluster, const struct process *process, uint64_t us,
                         struct instant now)
{
    struct job *job = process->job;

    if (job->queue == NULL)
        return;
    task_queue_stood_still(job->queue, process->incarnation, us, now.now_us);
    job_tasks_changed(cluster, job);
}

void process_take_frozen(struct cluster *cluster, struct process *process,
                         const struct process_report *report, struct instant now)
{
    bool more = report->frozen_us > process->frozen_us;
    bool ended = process_state_is_final(report->state);
    bool stands = more && !ended;
    bool stood = process->stands_still;

    if (!more && !stood)
        return;
    process->stands_still = stands;
    if (more) {
        excuse_tasks(cluster, process, report->frozen_us - process->frozen_us, now);
        fact_stood_still(cluster, process, report->frozen_us - process->frozen_us, now);
        if (!stood)
            process->frozen_before_us = process->frozen_us;
        process->frozen_us = report->frozen_us;
        process->still_seen_us = now.now_us;
        process->steps_stale = true;
    }
    if (stands && stood)
        return;
    effect_save_process(cluster, process);
    if (stands)
        tell(cluster, process, "process-frozen", "stands still, so far for", now);
    else if (ended)
        tell(cluster, process, "process-thawed", "stood still and then ended, after", now);
    else if (report->state == PROCESS_RUNNING)
        tell(cluster, process, "process-thawed", "stood still for", now);
}
