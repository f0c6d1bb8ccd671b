/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_weights.c - the weights of the jobs: recursion and closed form
 *
 * Only corners of a job's envelope are looked at: the numerator is convex in c, the envelope
 * concave, so their quotient falls and then rises, and the search ends when it rises. */
#include "scheduler/core/goodput_weights.h"

#include <math.h>
#include <stdlib.h>

#include "scheduler/core/goodput_ladder.h"
#include "shared/macro.h"

struct place {
    double length;
    uint64_t id;
    struct goodput_weighed *job; /* borrowed */
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

double goodput_length(const struct goodput_curve *curve, double remaining_s, double priority_weight)
{
    double slowest = curve->points[0].speed;
    double fastest = curve->points[goodput_curve_best(curve)].speed;

    return remaining_s / (sqrt(slowest * fastest) * priority_weight);
}

static struct place *places_of(struct goodput_weighed *jobs, size_t n)
{
    struct place *places = xcalloc(n, sizeof *places);

    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){ goodput_length(jobs[i].curve, jobs[i].remaining_s,
                                                   jobs[i].priority_weight),
                                    jobs[i].id, &jobs[i] };
    qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0; i < n; i++)
        places[i].job->rank = (uint32_t)i + 1;
    return places;
}

/* One whose smallest configuration is beyond the budget cannot run: it is weighed as if that took
 * the whole budget. */
static double weigh_one(const struct goodput_ladder *ladder, const struct goodput_curve *curve,
                        const struct goodput_hull *hull, double priority_weight)
{
    struct goodput_look look = goodput_ladder_look(ladder);
    double best = INFINITY;

    for (int i = 0; i < hull->n; i++) {
        const struct goodput_point *point = &curve->points[hull->segments[i].point];
        double cost = i == 0 ? MIN_OF(point->cost, ladder->budget) : point->cost;
        double a = (priority_weight + goodput_look_loss(&look, cost)) / point->speed;

        if (a >= best)
            break;
        best = a;
    }
    return best;
}

static void weigh(struct goodput_ladder *ladder, struct goodput_weighed *job)
{
    double speeds[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;

    for (int i = 0; i < job->curve->n; i++)
        speeds[i] = job->curve->points[i].speed;
    goodput_hull_of(job->curve, speeds, GOODPUT_NO_POINT, &hull);
    job->a = weigh_one(ladder, job->curve, &hull, job->priority_weight);
    for (int i = 0; i < hull.n; i++) {
        double slope = job->a * goodput_slope(&hull.segments[i]);

        if (slope <= goodput_ladder_floor(ladder))
            break; /* those behind it are lower still */
        goodput_ladder_add(ladder, slope, hull.segments[i].cost);
    }
}

void goodput_weigh(struct goodput_weighed *jobs, size_t n, double budget)
{
    struct place *places = places_of(jobs, n);
    struct goodput_ladder ladder;

    goodput_ladder_init(&ladder, budget);
    for (size_t i = 0; i < n; i++)
        weigh(&ladder, places[i].job);
    goodput_ladder_done(&ladder);
    free(places);
}

double goodput_rank_weight(double sum_before, double priority_weight, double p)
{
    double sum = sum_before + priority_weight;
    double q = 1 / (1 - p);
    /* 1 - (before / sum)^q without the loss of digits that many jobs would bring */
    double part = sum_before > 0 ? -expm1(q * log(sum_before / sum)) : 1;

    return sum * pow(part, 1 / q);
}

void goodput_weigh_by_rank(struct goodput_weighed *jobs, size_t n, double p)
{
    struct place *places = places_of(jobs, n);
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double weight = places[i].job->priority_weight;

        places[i].job->a = goodput_rank_weight(sum, weight, p);
        sum += weight;
    }
    free(places);
}
