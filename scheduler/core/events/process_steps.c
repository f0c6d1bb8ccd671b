/* SPDX-License-Identifier: Apache-2.0 */
/* process_steps.c - what processes tell of their training steps: counted, and learnt from
 *
 * Of a job with a queue only the tasks are learnt from, as the queue counts them and nobody has to
 * be believed. Steps count where there is none: jobs whose processes train all together. */
#include "scheduler/core/events/process_steps.h"

#include "scheduler/core/base/steps.h"
#include "scheduler/core/model/at_work.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"

/* One process says no more than this between two reports, of each figure. */
#define COUNTED_MAX STEPS_NOTE_SAMPLES_MAX

static void count(struct cluster_figures *figures, const struct step_sums *more)
{
    figures->steps = step_sum(figures->steps, MIN_OF(more->steps, COUNTED_MAX));
    figures->step_samples = step_sum(figures->step_samples, MIN_OF(more->samples, COUNTED_MAX));
    figures->step_us[STEP_COMPUTE] =
        step_sum(figures->step_us[STEP_COMPUTE], MIN_OF(more->compute_us, COUNTED_MAX));
    figures->step_us[STEP_WAIT] =
        step_sum(figures->step_us[STEP_WAIT], MIN_OF(more->wait_us, COUNTED_MAX));
}

/* An instance that neither takes tasks nor meets others is at work from its first step on. */
static void begin(struct cluster *cluster, struct process *process, const struct steps_told *told,
                  struct instant now)
{
    struct job *job = process->job;

    process->steps = xcalloc(1, sizeof *process->steps);
    steps_begin(process->steps, told, now.now_us);
    if (process->since_us != 0) /* else it told most of them to a run before this one */
        count(&cluster->figures, &process->steps->total);
    process->told_progress = true;
    job->tells_steps = true;
    if (job->queue == NULL && rendezvous_of(job, process->role) == NULL)
        process_works(cluster, process, now);
}

void process_take_steps(struct cluster *cluster, struct process *process,
                        const struct steps_told *told, struct instant now)
{
    struct step_sums more;
    bool noted;

    if (!told->any)
        return;
    if (process->steps == NULL) {
        begin(cluster, process, told, now);
        return;
    }
    if (process->steps_stale)
        steps_begin_note(process->steps, now.now_us);
    noted = steps_take(process->steps, told, now.now_us, &more) > 0;
    count(&cluster->figures, &more);
    if (process->steps_stale && more.steps > 0) {
        process->steps_stale = process->stands_still;
        steps_begin_note(process->steps, now.now_us);
        return;
    }
    if (!noted || process->job->queue != NULL)
        return;
    fact_steps(cluster, process, now);
}
