/* SPDX-License-Identifier: Apache-2.0 */
/* job_turn.c - when it is a waiting job's turn, for policies that begin with the shortest
 *
 * Its submission and as much as it is expected to take with its minimum: who came later goes first
 * if it is shorter by more than that. So short jobs do not wait for long ones, and nobody waits for
 * ever: behind all that come after its turn it does not. For whose length nobody knows the first
 * level is taken, as elsewhere; among such jobs the order is that of their submission.
 *
 * What is known at the submission decides, and is kept: the order does not change while they wait
 * but by what changes in the jobs themselves. */
#include "scheduler/core/core_internal.h"

#include <math.h>

#include "scheduler/core/goodput_allocate.h"

/* Longer ones are alike. */
#define EXPECTED_MOST_S (365 * 24 * 3600.0)

/* What its family knows; nothing is noted of it yet */
static void begin(const struct cluster *cluster, const struct job *job,
                  struct goodput_learned *ret_learned)
{
    struct goodput_family_facts family = { 0 };
    char name[JOB_FAMILY_SIZE];

    job_family_name(job, name);
    if (!goodput_family_get(cluster->families, name, &family)) {
        goodput_learn_init(ret_learned);
        return;
    }
    goodput_prior_begin(&family.prior, ret_learned);
    ret_learned->family_s = goodput_family_work(cluster->families, name, 0);
}

static double expected_s(const struct cluster *cluster, const struct job *job)
{
    int role = job_elastic_role(job);
    uint32_t min = role < 0 ? 1 : MAX_OF(job->spec->roles[role].min, 1);
    double units_done = 0, units_left = -1;
    struct goodput_learned learned;
    struct goodput_work work;

    goodput_learn_init(&learned);
    if (job->learned != NULL) {
        learned = job->learned->told;
        units_done = job->learned->units_done;
        units_left = job->learned->units_left;
    } else if (role >= 0) {
        begin(cluster, job, &learned);
    }
    work = goodput_learn_work(&learned, units_done, units_left);
    return goodput_remaining(&goodput_defaults.levels, &work) /
           goodput_learn_speedup(&learned, min);
}

void job_take_turn(const struct cluster *cluster, struct job *job)
{
    job->turn_wall_us = job->submitted_wall_us;
    if (cluster->families != NULL)
        job->turn_wall_us +=
            (uint64_t)(fmin(expected_s(cluster, job), EXPECTED_MOST_S) * USEC_PER_SEC);
}
