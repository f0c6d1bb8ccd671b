/* SPDX-License-Identifier: Apache-2.0 */
/* planned.c - the memory that plans have of a job
 *
 * The job owns it, and knows nothing of it but that it is there. One that is over has neither
 * places nor reservations once a plan has seen that, so it is archived with a plain free(). */
#include "scheduler/core/plan/planned.h"

#include <stdlib.h>

#include "scheduler/core/model/job.h"
#include "shared/macro.h"

struct planned *planned_of(struct job *job)
{
    if (job->planned == NULL)
        job->planned = xcalloc(1, sizeof *job->planned);
    return job->planned;
}

const struct planned *planned_is(const struct job *job)
{
    static const struct planned nothing;

    return job->planned != NULL ? job->planned : &nothing;
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
