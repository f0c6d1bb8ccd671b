/* SPDX-License-Identifier: Apache-2.0 */
/* outlook.c - what is left, at the speeds that were learnt */
#include "scheduler/core/learn/outlook.h"

#include <math.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/measure.h"
#include "shared/clock.h"
#include "shared/job_spec.h"

/* Its own tasks tell: not a guess from the first of them, which is over before others are. */
static bool tells_itself(const struct job_learned *learned)
{
    return learned->units_left >= 0 && goodput_learn_unit_s(&learned->told, 1) > 0;
}

/* The curve is that of instances like most (speed/measure.c): a job with slow ones among its own
 * has so much more to do. Of a larger size that is more than true: slow ones weigh less there. */
double job_left_s(const struct job *job, struct instant now)
{
    const struct job_learned *learned = job->learned;
    int role = job_elastic_role(job);
    struct goodput_work work;
    double left_s, since_s;

    if (role < 0 || learned == NULL)
        return -1;
    work = goodput_learn_work(&learned->told, learned->units_done, learned->units_left);
    if (!tells_itself(learned))
        work.remaining_s = -1;
    left_s = goodput_learn_remaining(&learned->told, &work);
    if (left_s < 0)
        return -1;
    left_s /= learned->evenness;
    since_s = (double)(now.now_us - learned->told_us) / USEC_PER_SEC;
    return fmax(left_s - since_s * goodput_learn_speedup(&learned->told,
                                                         job_count(job, (uint32_t)role, false)),
                0);
}

/* The smallest size that is in time, with something to spare as the policy has it; the fastest when
 * none has that, 0 when that is too late as well */
static uint32_t needed_of(const struct goodput_learned *told, const struct role_spec *role,
                          double work_s, double left_s)
{
    double least_s = INFINITY;
    uint32_t fastest = 0;

    for (uint32_t k = MAX_OF(role->min, 1); k <= role->max; k++) {
        double takes_s = work_s / goodput_learn_speedup(told, k);

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
    uint64_t due_us = deadline_at(&job->due);
    uint32_t instances = role < 0 ? 0 : job_count(job, (uint32_t)role, false);
    double work_s = job_left_s(job, now);
    const struct goodput_learned *told;
    double due_in_s;

    if (instances == 0 || work_s < 0)
        return false;
    told = &job->learned->told;
    *ret = (struct job_outlook){ .instances = instances,
                                 .left_s = work_s / goodput_learn_speedup(told, instances),
                                 .by_family = !tells_itself(job->learned),
                                 .has_deadline = due_us != NEVER_US };
    if (!ret->has_deadline)
        return true;
    due_in_s = due_us > now.now_us ? (double)(due_us - now.now_us) / USEC_PER_SEC : 0;
    ret->deadline_wall_us = job->spec->deadline_wall_us;
    ret->in_time = ret->left_s <= due_in_s;
    ret->needed = needed_of(told, &job->spec->roles[role], work_s, due_in_s);
    return true;
}
