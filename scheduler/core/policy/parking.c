/* SPDX-License-Identifier: Apache-2.0 */
/* parking.c - whether jobs go back to the queue so that a waiting one starts */
#include "scheduler/core/policy/parking.h"

#include <math.h>

/* A restart costs this part of the time that a job has run, at most. */
#define BEARS_PART 10

double parking_remaining(double again_s, double known_s, double ran_s)
{
    return known_s > 0 ? known_s : fmax(ran_s, again_s);
}

bool parking_may(double again_s, const struct parking_job *job, double length_s)
{
    if (again_s <= 0 || job->ran_s < BEARS_PART * job->cost_s)
        return false;
    if (job->since_s >= 0 && (job->since_s < again_s || job->ran_s < again_s))
        return false;
    return job->remaining_s >= PARKING_MARGIN * parking_loss(job, length_s);
}

double parking_loss(const struct parking_job *job, double length_s)
{
    return length_s + job->cost_s;
}

int parking_compare(const struct parking_job *a, const struct parking_job *b)
{
    if (a->cost_s != b->cost_s)
        return a->cost_s < b->cost_s ? -1 : 1;
    if (a->remaining_s != b->remaining_s)
        return a->remaining_s > b->remaining_s ? -1 : 1;
    return 0;
}

bool parking_pays(double wait_s, double loss_s)
{
    return wait_s >= PARKING_MARGIN * loss_s;
}
