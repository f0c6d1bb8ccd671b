/* SPDX-License-Identifier: Apache-2.0 */
/* job_turn.c - when it is a waiting job's turn, for policies that begin with the shortest
 *
 * Its submission and as much as it is expected to take with its minimum: who came later goes first
 * if it is shorter by more than that. So short jobs do not wait for long ones, and nobody waits for
 * ever: behind all that come after its turn it does not. Where no job of its family has ended its
 * owner's guess is taken, and where there is none the first level, as elsewhere; among such jobs
 * the order is that of their submission, also when the clock is put back meanwhile.
 *
 * What its family is known to take when it is submitted decides, and is kept: the order does not
 * change while jobs wait, nor when one comes back. A length is only known of families of elastic
 * jobs, as only of those anything is learnt; how much data a job has is told when it runs. */
#include "scheduler/core/core_internal.h"

#include <math.h>

#include "scheduler/core/goodput_allocate.h"

/* Longer ones are alike. */
#define EXPECTED_MOST_S (365 * 24 * 3600.0)

double job_hint_s(const struct job *job, const struct goodput_learned *learned)
{
    int role = job_elastic_role(job);
    double guess_s = (double)job->spec->expected_us / USEC_PER_SEC;

    if (role < 0)
        return guess_s;
    return guess_s * goodput_learn_speedup(learned, MAX_OF(job->spec->roles[role].min, 1));
}

static double expected_s(const struct cluster *cluster, const struct job *job)
{
    struct goodput_family_facts family;
    int role = job_elastic_role(job);
    uint32_t min = role < 0 ? 1 : MAX_OF(job->spec->roles[role].min, 1);
    char name[JOB_FAMILY_SIZE];
    struct goodput_learned learned;
    struct goodput_work work;

    goodput_learn_init(&learned);
    job_family_name(job, name);
    if (role >= 0 && goodput_family_get(cluster->families, name, &family)) {
        job_expect_speed(cluster, job->spec, job->user, &family);
        goodput_prior_begin(&family.prior, &learned);
        learned.family_s = goodput_family_work(cluster->families, name, 0);
    }
    learned.hint_s = job_hint_s(job, &learned);
    work = goodput_learn_work(&learned, 0, -1);
    return goodput_remaining(&goodput_defaults.levels, &work) /
           (role < 0 ? 1 : goodput_learn_speedup(&learned, min));
}

void job_take_turn(struct cluster *cluster, struct job *job)
{
    cluster->newest_wall_us = MAX_OF(cluster->newest_wall_us, job->submitted_wall_us);
    job->turn_wall_us = cluster->newest_wall_us;
    if (cluster->families != NULL)
        job->turn_wall_us +=
            (uint64_t)(fmin(expected_s(cluster, job), EXPECTED_MOST_S) * USEC_PER_SEC);
}
