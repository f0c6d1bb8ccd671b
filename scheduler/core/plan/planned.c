/* SPDX-License-Identifier: Apache-2.0 */
/* planned.c - the memory that plans have of a job
 *
 * The job owns it, and knows nothing of it but that it is there. */
#include "scheduler/core/plan/planned.h"

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
