/* SPDX-License-Identifier: Apache-2.0 */
/* job_turn.c - when it is a waiting job's turn, for policies that begin with the shortest
 *
 * Its submission, and of its expected time with its minimum at most ten minutes. A later job goes
 * first if it is shorter by more than it came later. So short jobs do not wait for long ones, and
 * nobody is passed by what comes more than ten minutes later. What nobody knows counts nothing.
 * Nobody knows where none of its family has ended and its owner does not guess.
 *
 * The known time of its family at the submission decides. The turn is kept while the job waits, and
 * when it comes back, also when more is known by then.
 *
 * Of jobs of a fixed size nothing is learnt but how long they run; how much data a job has is told
 * when it runs. Where their owner guesses, it is noted by how much he is wrong. Guesses for jobs of
 * the family are multiplied by that, so one program with true guesses of many lengths stays in
 * their order. While none has ended a guess is believed. Once one has outrun it, it is known to be
 * wrong only, and the job counts as a long one. */
#include "scheduler/core/learn/job_turn.h"

#include <math.h>

#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/length.h"
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/speed/prior.h"
#include "shared/job_spec.h"

#define OUTRUN 2 /* as in speed/family.c: as much again */
/* Of the expected length no more counts: by what comes later than that nobody is passed. */
#define PASSED_MOST_S 600.0

double job_hint_s(const struct job *job, const struct goodput_learned *learned)
{
    int role = job_elastic_role(job);
    double guess_s = (double)job->spec->expected_us / USEC_PER_SEC;

    if (role < 0)
        return guess_s;
    return guess_s * goodput_learn_speedup(learned, MAX_OF(job->spec->roles[role].min, 1));
}

double job_length_unit_s(const struct job *job)
{
    return job->spec->expected_us > 0 ? (double)job->spec->expected_us / USEC_PER_SEC : 1;
}

/* Of a fixed size. A guess that one of its family has outrun says nothing, also not how wrong it
 * is: twice what that one did is little at first, and would let others begin that are as long. */
static double fixed_expected_s(const struct cluster *cluster, const struct job *job)
{
    double guess_s = (double)job->spec->expected_us / USEC_PER_SEC;
    double unit_s = job_length_unit_s(job);
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];

    job_length_name(job, name);
    if (!goodput_family_get(cluster->families, name, &family))
        return guess_s;
    if (family.n_ended > 0)
        return goodput_family_work(cluster->families, name, 0) * unit_s;
    if (guess_s <= 0 || family.most * unit_s <= guess_s)
        return guess_s;
    return fmax(OUTRUN * family.most * unit_s, PASSED_MOST_S);
}

static double elastic_expected_s(const struct cluster *cluster, const struct job *job)
{
    struct goodput_family_facts family = { 0 };
    const struct role_spec *role = &job->spec->roles[job_elastic_role(job)];
    char name[JOB_FAMILY_SIZE];
    struct goodput_learned learned;
    struct goodput_work work;

    goodput_learn_init(&learned);
    job_family_name(job, name);
    if (goodput_family_get(cluster->families, name, &family)) {
        job_expect_speed(cluster, job->spec, job->user, &family);
        goodput_prior_begin(&family.prior, &learned);
        learned.family_s = goodput_family_work(cluster->families, name, 0);
    }
    if (family.n_ended == 0 && job->spec->expected_us == 0)
        return 0;
    learned.hint_s = job_hint_s(job, &learned);
    work = goodput_learn_work(&learned, 0, -1);
    return goodput_remaining(&GOODPUT_LEVELS, &work) /
           goodput_learn_speedup(&learned, MAX_OF(role->min, 1));
}

/* A job is over at its time limit. An unknown length stays unknown: most jobs end long before a
 * limit. */
double job_expected_s(const struct cluster *cluster, const struct job *job)
{
    double expected_s = job_elastic_role(job) < 0 ? fixed_expected_s(cluster, job)
                                                  : elastic_expected_s(cluster, job);
    double limit_s = (double)job->spec->time_limit_us / USEC_PER_SEC;

    return limit_s > 0 ? fmin(expected_s, limit_s) : expected_s;
}

bool job_length_is_seen(const struct cluster *cluster, const struct job *job)
{
    struct goodput_family_facts family = { 0 };
    char name[JOB_FAMILY_SIZE];

    if (job_elastic_role(job) < 0)
        job_length_name(job, name);
    else
        job_family_name(job, name);
    return cluster->families != NULL && goodput_family_get(cluster->families, name, &family) &&
           family.n_ended > 0;
}

bool job_guess_was_wrong(const struct cluster *cluster, const struct job *job)
{
    double guess_s = (double)job->spec->expected_us / USEC_PER_SEC;

    return cluster->families != NULL && guess_s > 0 && job_expected_s(cluster, job) > 2 * guess_s;
}

void job_take_turn(struct cluster *cluster, struct job *job)
{
    learn_take(cluster); /* how long jobs of its family took that are just over */
    cluster->newest_wall_us = MAX_OF(cluster->newest_wall_us, job->submitted_wall_us);
    job->turn_wall_us = cluster->newest_wall_us;
    if (cluster->families != NULL)
        job->turn_wall_us +=
            (uint64_t)(fmin(job_expected_s(cluster, job), PASSED_MOST_S) * USEC_PER_SEC);
}
