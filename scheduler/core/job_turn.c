/* SPDX-License-Identifier: Apache-2.0 */
/* job_turn.c - when it is a waiting job's turn, for policies that begin with the shortest
 *
 * Its submission and as much as it is expected to take with its minimum: who came later goes first
 * if it is shorter by more than that. So short jobs do not wait for long ones, and nobody waits for
 * ever: behind all that come after its turn it does not. Where no job of its family has ended its
 * owner's guess is taken, and where there is none the first level, as elsewhere; among such jobs
 * the order is that of their submission, also when the clock is put back meanwhile.
 *
 * What its family is known to take when it is submitted decides. A job of which nothing was known
 * then waits in a list of its family (struct unknown_family), and its turn moves with what becomes
 * known of the family:
 * - When a job of the family ends with success, the first jobs of the list take the turn that they
 *   would have had, if that is an earlier one. That happens once to a job.
 * - While none of several has ended and one has done so much that they must be taken to be twice as
 *   long as their turn says, that is put off, by POSTPONED_MOST_US after the submission at most.
 * So no turn is before the submission, and nobody starves: behind a turn nobody passes. All else
 * keeps its place while it waits, and when it comes back. At most TURNS_MOVED jobs move at a time,
 * which bounds what that costs: each of them ends as well, and moves as many.
 *
 * Of jobs of a fixed size nothing is learnt but how long they run; how much data a job has is told
 * when it runs. Where their owner guesses, it is noted by how much he is wrong: guesses for jobs of
 * the family are multiplied by that, so that one program with true guesses of many lengths stays in
 * their order. While none has ended a guess is believed; once one has outrun it, it says nothing,
 * and they are taken to last as long as jobs of which nothing is known. */
#include "scheduler/core/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/goodput_allocate.h"

#define TURNS_MOVED 16
#define OUTRUN 2 /* as in goodput_family.c: as much again */
#define POSTPONED_MOST_US (8 * 3600 * USEC_PER_SEC)
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

double job_length_unit_s(const struct job *job)
{
    return job->spec->expected_us > 0 ? (double)job->spec->expected_us / USEC_PER_SEC : 1;
}

/* Of a fixed size. A guess that one of its family has outrun says nothing, also not how wrong it
 * is: twice what that one did is little at first, and would let others begin that are as long. */
static double fixed_expected_s(const struct cluster *cluster, const struct job *job)
{
    double unit_s = job_length_unit_s(job);
    double guess_s = job->spec->expected_us > 0 ? unit_s : goodput_defaults.levels.first_s;
    struct goodput_family_facts family;
    char name[JOB_FAMILY_SIZE];

    job_length_name(job, name);
    if (!goodput_family_get(cluster->families, name, &family))
        return guess_s;
    if (family.n_ended > 0)
        return goodput_family_work(cluster->families, name, 0) * unit_s;
    if (family.most * unit_s <= guess_s)
        return guess_s;
    return fmax(OUTRUN * family.most * unit_s, goodput_defaults.levels.first_s);
}

static double elastic_expected_s(const struct cluster *cluster, const struct job *job)
{
    struct goodput_family_facts family;
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
    learned.hint_s = job_hint_s(job, &learned);
    work = goodput_learn_work(&learned, 0, -1);
    return goodput_remaining(&goodput_defaults.levels, &work) /
           goodput_learn_speedup(&learned, MAX_OF(role->min, 1));
}

static uint64_t expected_us(const struct cluster *cluster, const struct job *job)
{
    double s = job_elastic_role(job) < 0 ? fixed_expected_s(cluster, job)
                                         : elastic_expected_s(cluster, job);

    return (uint64_t)(fmin(s, EXPECTED_MOST_S) * USEC_PER_SEC);
}

bool job_guess_was_wrong(const struct cluster *cluster, const struct job *job)
{
    return cluster->families != NULL && job->spec->expected_us > 0 &&
           expected_us(cluster, job) > 2 * job->spec->expected_us;
}

void job_take_turn(struct cluster *cluster, struct job *job)
{
    cluster->newest_wall_us = MAX_OF(cluster->newest_wall_us, job->submitted_wall_us);
    job->turn_wall_us = cluster->newest_wall_us;
    if (cluster->families != NULL)
        job->turn_wall_us += expected_us(cluster, job);
}

/* --- turns that move
 * ----------------------------------------------------------------------------------------- */

static bool has_ended(const struct cluster *cluster, const char *family)
{
    struct goodput_family_facts facts;

    return goodput_family_get(cluster->families, family, &facts) && facts.n_ended > 0;
}

static struct unknown_family *family_of(struct planner *planner, const char *name)
{
    struct unknown_family *family;

    HASH_FIND_STR(planner->unknown, name, family);
    if (family == NULL) {
        family = xcalloc(1, sizeof *family);
        (void)snprintf(family->name, sizeof family->name, "%s", name);
        HASH_ADD_STR(planner->unknown, name, family);
    }
    return family;
}

/* By number: the last one mostly. */
static void insert(struct unknown_family *family, struct job *job)
{
    struct job *before = family->jobs != NULL ? family->jobs->plan.family_prev : NULL;

    while (before != NULL && before->id > job->id)
        before = before == family->jobs ? NULL : before->plan.family_prev;
    if (before == NULL)
        DL_PREPEND2(family->jobs, job, plan.family_prev, plan.family_next);
    else
        DL_APPEND_ELEM2(family->jobs, before, job, plan.family_prev, plan.family_next);
}

void job_turn_enter(struct cluster *cluster, struct job *job)
{
    char name[JOB_FAMILY_SIZE];

    if (cluster->families == NULL || job->plan.turn_known)
        return;
    job_length_name(job, name);
    /* one that is known when it comes; one that comes back may still have to move */
    job->plan.turn_known = has_ended(cluster, name) &&
                           job->submitted_wall_us + expected_us(cluster, job) >= job->turn_wall_us;
    if (job->plan.turn_known)
        return;
    job->plan.unknown = family_of(cluster->planner, name);
    insert(job->plan.unknown, job);
}

void job_turn_leave(struct cluster *cluster, struct job *job)
{
    struct unknown_family *family = job->plan.unknown;

    if (family == NULL)
        return;
    DL_DELETE2(family->jobs, job, plan.family_prev, plan.family_next);
    job->plan.unknown = NULL;
    if (family->jobs != NULL)
        return;
    HASH_DEL(cluster->planner->unknown, family);
    free(family);
}

static void move(struct cluster *cluster, struct job *job, uint64_t turn_wall_us)
{
    /* room is being made or kept for it already */
    if (job->plan.promised || cluster->planner->queue.held == job)
        return;
    queue_leave(cluster, job);
    job->turn_wall_us = turn_wall_us;
    queue_enter(cluster, job, true);
    effect_save_job(cluster, job);
    queue_might_move(cluster->planner);
    cluster->plan_wanted = true;
}

static void take(struct cluster *cluster, struct job *job)
{
    uint64_t turn_wall_us = job->submitted_wall_us + expected_us(cluster, job);

    job_turn_leave(cluster, job);
    job->plan.turn_known = true;
    if (turn_wall_us < job->turn_wall_us)
        move(cluster, job, turn_wall_us);
}

void job_turns_move(struct cluster *cluster, const char *family_name)
{
    struct unknown_family *family;

    for (int i = 0; i < TURNS_MOVED; i++) {
        HASH_FIND_STR(cluster->planner->unknown, family_name, family);
        if (family == NULL)
            return;
        take(cluster, family->jobs);
    }
}

/* Those that were put off go to the end of the list: the first of it tells whether there are more.
 */
void job_turns_postpone(struct cluster *cluster, const char *family_name)
{
    struct unknown_family *family;

    for (int i = 0; i < TURNS_MOVED; i++) {
        struct job *job;
        uint64_t us;

        HASH_FIND_STR(cluster->planner->unknown, family_name, family);
        if (family == NULL)
            return;
        job = family->jobs;
        us = MIN_OF(expected_us(cluster, job), POSTPONED_MOST_US);
        if (us < 2 * (job->turn_wall_us - job->submitted_wall_us))
            return;
        move(cluster, job, job->submitted_wall_us + us);
        if (job->plan.unknown != family)
            return;
        DL_DELETE2(family->jobs, job, plan.family_prev, plan.family_next);
        DL_APPEND2(family->jobs, job, plan.family_prev, plan.family_next);
    }
}

void job_turns_done(struct planner *planner)
{
    struct unknown_family *family, *next;

    HASH_ITER(hh, planner->unknown, family, next)
    {
        HASH_DEL(planner->unknown, family);
        free(family);
    }
}
