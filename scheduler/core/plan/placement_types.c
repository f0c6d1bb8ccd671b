/* SPDX-License-Identifier: Apache-2.0 */
/* placement_types.c - to which types of GPU a job goes first, by what is believed of it */
#include "scheduler/core/plan/placement_types.h"

#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/queue.h"
#include "shared/clock.h"

/* Each plan asks for that of the first job of a class. */
static const char *family_of(const struct job *job, char own[JOB_FAMILY_SIZE])
{
    struct queue_class *class = planned_is(job)->class;

    if (class == NULL) {
        job_family_name(job, own);
        return own;
    }
    if (class->family_of != job->id) {
        class->family_of = job->id;
        job_family_name(job, class->family);
    }
    return class->family;
}

static bool prefer(const struct plan *plan, const struct job *job, struct want *want)
{
    const struct cluster *cluster = plan->cluster;
    char own[JOB_FAMILY_SIZE];
    const char *family;

    if (want->need.gpus == 0 || !cluster->gpu_types.learnt || !cluster_minds_types(cluster))
        return false;
    family = job->learned == NULL ? family_of(job, own) : NULL;
    return job_order_types(cluster, job, family, plan->now, &want->order);
}

struct want want_of_job(const struct plan *plan, const struct job *job, uint32_t role)
{
    struct want want = want_of(job, role);

    (void)prefer(plan, job, &want);
    return want;
}

const struct demand *gang_demands_of(const struct plan *plan, const struct job *job,
                                     const struct demand *demands, size_t n,
                                     struct demand own[JOB_ROLES_MAX])
{
    bool differs = false;

    if (!plan->cluster->gpu_types.learnt)
        return demands;
    for (size_t d = 0; d < n; d++) {
        own[d] = demands[d];
        differs |= prefer(plan, job, &own[d].want);
    }
    return differs ? own : demands;
}
