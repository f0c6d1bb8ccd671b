/* SPDX-License-Identifier: Apache-2.0 */
/* deadline_share.c - progressive filling in the order of the deadlines
 *
 * Free room is a list of steps over time, which ends with one that lasts for ever. A step ends
 * where a job that was filled in ends. */
#include "scheduler/core/policy/deadline_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/speed/curve.h"
#include "shared/macro.h"

struct step {
    double from_s;
    double free; /* bundles, until the next step */
};

struct profile {
    struct step *steps; /* owned */
    size_t n;
};

static double end_of_step(const struct profile *profile, size_t at)
{
    return at + 1 < profile->n ? profile->steps[at + 1].from_s : INFINITY;
}

static int point_in(const struct goodput_curve *curve, int share, double room)
{
    return MIN_OF(share, goodput_curve_within(curve, room));
}

/* When it ends with such a share; INFINITY: never */
static double end_with(const struct profile *profile, const struct goodput_due *job, int share)
{
    double left_s = job->remaining_s;

    for (size_t at = 0; at < profile->n; at++) {
        int point = point_in(job->curve, share, profile->steps[at].free);
        double from_s = profile->steps[at].from_s;
        double lasts_s = end_of_step(profile, at) - from_s;
        double speed = point < 0 ? 0 : job->curve->points[point].speed;

        if (left_s <= 0)
            return from_s;
        if (speed > 0 && left_s / speed <= lasts_s)
            return from_s + left_s / speed;
        left_s -= speed > 0 ? speed * lasts_s : 0;
    }
    return INFINITY;
}

/* A step begins there; a job that never ends cuts nothing. */
static void cut_at(struct profile *profile, double at_s)
{
    size_t at = 0;

    if (isinf(at_s))
        return;
    while (end_of_step(profile, at) <= at_s)
        at++;
    if (profile->steps[at].from_s >= at_s)
        return;
    memmove(&profile->steps[at + 1], &profile->steps[at],
            (profile->n - at) * sizeof *profile->steps);
    profile->n++;
    profile->steps[at + 1].from_s = at_s;
}

/* cost: below 0: it is given back */
static void take_until(struct profile *profile, double until_s, double cost)
{
    cut_at(profile, until_s);
    for (size_t at = 0; at < profile->n && profile->steps[at].from_s < until_s; at++)
        profile->steps[at].free -= cost;
}

static double holds_until(const struct goodput_due *job)
{
    return fmin(job->deadline_s, job->remaining_s / job->curve->points[0].speed);
}

static void hold(struct profile *profile, const struct goodput_due *job, double sign)
{
    if (job->holds && holds_until(job) > 0)
        take_until(profile, holds_until(job), sign * job->curve->points[0].cost);
}

static void fill_in(struct profile *profile, const struct goodput_due *job)
{
    cut_at(profile, job->end_s);
    for (size_t at = 0; at < profile->n && profile->steps[at].from_s < job->end_s; at++) {
        int point = point_in(job->curve, job->share, profile->steps[at].free);

        if (point >= 0)
            profile->steps[at].free -= job->curve->points[point].cost;
    }
}

/* The more it may have the sooner it ends: the smallest share is found by halving. */
static int smallest_in_time(const struct profile *profile, const struct goodput_due *job)
{
    int low = 0, high = job->curve->n - 1;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (end_with(profile, job, middle) <= job->deadline_s)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

static void plan_one(struct profile *profile, struct goodput_due *job)
{
    int share;

    hold(profile, job, -1);
    share = smallest_in_time(profile, job);
    job->end_s = end_with(profile, job, share);
    job->feasible = job->end_s <= job->deadline_s;
    job->share = job->point_now = GOODPUT_NO_POINT;
    if (!job->feasible) {
        hold(profile, job, 1);
        return;
    }
    job->share = share;
    job->point_now = point_in(job->curve, share, profile->steps[0].free);
    fill_in(profile, job);
}

static int earlier_first(const void *left, const void *right)
{
    const struct goodput_due *a = *(struct goodput_due *const *)left;
    const struct goodput_due *b = *(struct goodput_due *const *)right;

    if (a->deadline_s != b->deadline_s)
        return a->deadline_s < b->deadline_s ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static size_t plan_in_order(struct goodput_due **order, size_t n, double budget)
{
    /* a job cuts at most two steps in two: where it ends, and where it would with its present
     * size */
    struct profile profile = { .steps = xcalloc(2 * n + 2, sizeof *profile.steps), .n = 1 };
    size_t failed = 0;

    profile.steps[0] = (struct step){ .from_s = 0, .free = budget };
    qsort(order, n, sizeof *order, earlier_first);
    for (size_t i = 0; i < n; i++)
        hold(&profile, order[i], 1);
    for (size_t i = 0; i < n; i++) {
        plan_one(&profile, order[i]);
        failed += !order[i]->feasible;
    }
    free(profile.steps);
    return failed;
}

size_t goodput_due_plan(struct goodput_due *jobs, size_t n, double budget)
{
    struct goodput_due **order = xcalloc(n, sizeof(struct goodput_due *));
    size_t failed;

    for (size_t i = 0; i < n; i++)
        order[i] = &jobs[i];
    failed = plan_in_order(order, n, budget);
    free(order);
    return failed;
}

bool goodput_due_admits(struct goodput_due *promised, size_t n, struct goodput_due *candidates,
                        size_t n_candidates, double budget)
{
    struct goodput_due **order = xcalloc(n + n_candidates, sizeof(struct goodput_due *));
    bool all = true;

    (void)goodput_due_plan(promised, n, budget);
    for (size_t i = 0; i < n; i++) {
        promised[i].displaced = promised[i].feasible;
        order[i] = &promised[i];
    }
    for (size_t i = 0; i < n_candidates; i++)
        order[n + i] = &candidates[i];
    (void)plan_in_order(order, n + n_candidates, budget);
    free(order);
    for (size_t i = 0; i < n; i++) {
        promised[i].displaced = promised[i].displaced && !promised[i].feasible;
        all = all && !promised[i].displaced;
    }
    for (size_t i = 0; i < n_candidates; i++)
        all = all && candidates[i].feasible;
    return all;
}
