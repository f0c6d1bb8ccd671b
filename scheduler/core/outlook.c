/* SPDX-License-Identifier: Apache-2.0 */
/* outlook.c - what is left, at the speeds that were learnt */
#include "scheduler/core/outlook.h"

#include <math.h>

#include "scheduler/core/core_internal.h"
#include "scheduler/core/goodput_deadline.h"

/* Units, less what has been done since they were counted. */
static double units_left(const struct job_learned *learned, uint32_t instances, struct instant now)
{
    double since_s = (double)(now.now_us - learned->told_us) / USEC_PER_SEC;

    return fmax(learned->units_left - since_s / goodput_learn_unit_s(&learned->told, instances), 0);
}

/* The smallest size that is in time, with something to spare as the policy has it; the fastest when
 * none has that, 0 when that is too late as well */
static uint32_t needed_of(const struct job *job, const struct role_spec *role, double units,
                          double left_s)
{
    double least_s = INFINITY;
    uint32_t fastest = 0;

    for (uint32_t k = MAX_OF(role->min, 1); k <= role->max; k++) {
        double takes_s = units * goodput_learn_unit_s(&job->learned->told, k);

        if (takes_s <= GOODPUT_IN_TIME * left_s)
            return k;
        if (takes_s < least_s) {
            least_s = takes_s;
            fastest = k;
        }
    }
    return least_s <= left_s ? fastest : 0;
}

bool job_outlook(const struct job *job, struct instant now, struct job_outlook *ret)
{
    int role = job_elastic_role(job);
    uint64_t due_us = deadline_at(&job->plan.due);
    uint32_t instances = role < 0 ? 0 : job_count(job, (uint32_t)role, false);
    double units, due_in_s;

    if (instances == 0 || job->learned == NULL || job->learned->units_left < 0 ||
        goodput_learn_unit_s(&job->learned->told, instances) <= 0)
        return false;
    units = units_left(job->learned, instances, now);
    *ret = (struct job_outlook){ .instances = instances,
                                 .left_s =
                                     units * goodput_learn_unit_s(&job->learned->told, instances),
                                 .has_deadline = due_us != NEVER_US };
    if (!ret->has_deadline)
        return true;
    due_in_s = due_us > now.now_us ? (double)(due_us - now.now_us) / USEC_PER_SEC : 0;
    ret->deadline_wall_us = job->spec->deadline_wall_us;
    ret->in_time = ret->left_s <= due_in_s;
    ret->needed = needed_of(job, &job->spec->roles[role], units, due_in_s);
    return true;
}
