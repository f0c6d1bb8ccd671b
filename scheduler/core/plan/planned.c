/* SPDX-License-Identifier: Apache-2.0 */
/* planned.c - the memory that plans have of a job
 *
 * The job owns it, and knows nothing of it but that it is there. One that is over has neither
 * places nor reservations once a plan has seen that, so it is archived with a plain free(). */
#include "scheduler/core/plan/planned.h"

#include <stdlib.h>

#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "shared/macro.h"

struct planned *planned_of(struct job *job)
{
    if (job->planned == NULL) {
        job->planned = xcalloc(1, sizeof *job->planned);
        job->planned->job = job;
    }
    return job->planned;
}

const struct planned *planned_is(const struct job *job)
{
    static const struct planned nothing;

    return job->planned != NULL ? job->planned : &nothing;
}

static bool is_of_this_filing(const struct job *job)
{
    return job->planned != NULL && job->planned->filing == job->filing;
}

/* What is remembered of another filing is over. A run or a table of groups before may have told it
 * something. */
enum queue_verdict planned_verdict(const struct job *job)
{
    if (is_of_this_filing(job))
        return job->planned->verdict;
    return job->was_told ? VERDICT_BEHIND : VERDICT_NONE;
}

bool planned_promised(const struct job *job)
{
    return is_of_this_filing(job) && job->planned->promised;
}

bool planned_yields(const struct process *process)
{
    return planned_is(process->job)->yield_role == process->role + 1;
}

static struct planned *of_this_filing(struct job *job)
{
    struct planned *planned = planned_of(job);

    planned->verdict = planned_verdict(job);
    planned->promised = planned_promised(job);
    planned->filing = job->filing;
    return planned;
}

void planned_tell(struct job *job, enum queue_verdict verdict)
{
    of_this_filing(job)->verdict = verdict;
}

void planned_promise(struct job *job, bool promised)
{
    of_this_filing(job)->promised = promised;
}

static void count_ref(struct job *job, bool was, bool is)
{
    job->n_planner_refs += (uint32_t)is - (uint32_t)was;
}

void planned_set(struct job *job, bool *mark, bool is)
{
    count_ref(job, *mark, is);
    *mark = is;
}

void planned_set_class(struct job *job, struct queue_class *class)
{
    struct planned *planned = planned_of(job);

    count_ref(job, planned->class != NULL, class != NULL);
    planned->class = class;
}

void plan_forget_places(struct job *job)
{
    if (job->planned == NULL)
        return;
    free(job->planned->places);
    job->planned->places = NULL;
    job->planned->n_places = 0;
}

void planned_free(struct job *job)
{
    plan_forget_places(job);
    if (job->planned != NULL)
        free(job->planned->reserved);
    free(job->planned);
    job->planned = NULL;
}
