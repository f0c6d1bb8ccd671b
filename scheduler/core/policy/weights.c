/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the weights of the jobs: recursion and closed form
 *
 * Only corners of a job's envelope are looked at: the numerator is convex in c, the envelope
 * concave, so their quotient falls and then rises, and the search ends when it rises.
 *
 * Between two decisions the long jobs mostly stay what and where they are. So the weights are kept,
 * by rank, and the ladder as it was after some of them: the last copy before the first that changed
 * is where the next weighing goes on. It does the same operations in the same order as if it had
 * begun afresh. */
#include "scheduler/core/policy/weights.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/policy/ladder.h"
#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/length.h"
#include "shared/macro.h"

/* Jobs between two copies of the ladder: as many are weighed as it is dear to copy one, which is
 * more the larger it is. */
#define MARK_STEP 16
/* Copies: when there are so many every second one goes, and the next ones are twice as far apart.
 */
#define MARKS_MOST 32

struct known {
    struct goodput_curve curve;
    double priority_weight, a;
};

struct mark {
    size_t after; /* jobs */
    struct goodput_ladder ladder;
};

struct goodput_weighing {
    double budget;
    struct known *known; /* owned; by rank */
    size_t n, cap;
    struct mark marks[MARKS_MOST]; /* owned; those behind n_marks were begun, and are to be used */
    size_t n_marks;
    size_t apart; /* times as far as they need be */
};

struct goodput_weighing *goodput_weighing_new(void)
{
    struct goodput_weighing *weighing = xcalloc(1, sizeof *weighing);

    weighing->apart = 1;
    for (size_t i = 0; i < MARKS_MOST; i++)
        goodput_ladder_init(&weighing->marks[i].ladder, 0);
    return weighing;
}

struct goodput_weighing *goodput_weighing_free(struct goodput_weighing *weighing)
{
    if (weighing == NULL)
        return NULL;
    for (size_t i = 0; i < MARKS_MOST; i++)
        goodput_ladder_done(&weighing->marks[i].ladder);
    free(weighing->known);
    free(weighing);
    return NULL;
}

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

static struct place *places_of(struct goodput_weighed *jobs, size_t n)
{
    struct place *places = xcalloc(n, sizeof *places);

    for (size_t i = 0; i < n; i++) {
        jobs[i].length_s =
            goodput_length(jobs[i].curve, jobs[i].remaining_s, jobs[i].priority_weight);
        places[i] = (struct place){ jobs[i].length_s, jobs[i].id, &jobs[i] };
    }
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

/* known: its weight has not changed */
static void weigh(struct goodput_ladder *ladder, struct goodput_weighed *job, bool known)
{
    double speeds[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;

    for (int i = 0; i < job->curve->n; i++)
        speeds[i] = job->curve->points[i].speed;
    goodput_hull_of(job->curve, speeds, GOODPUT_NO_POINT, &hull);
    if (!known)
        job->a = weigh_one(ladder, job->curve, &hull, job->priority_weight);
    for (int i = 0; i < hull.n; i++) {
        double slope = job->a * goodput_slope(&hull.segments[i]);

        if (slope <= goodput_ladder_floor(ladder))
            break; /* those behind it are lower still */
        goodput_ladder_add(ladder, slope, hull.segments[i].cost);
    }
}

static bool is_known(const struct known *known, const struct goodput_weighed *job)
{
    const struct goodput_curve *curve = job->curve;

    if (known->priority_weight != job->priority_weight || known->curve.n != curve->n)
        return false;
    for (int i = 0; i < curve->n; i++)
        if (known->curve.points[i].cost != curve->points[i].cost ||
            known->curve.points[i].speed != curve->points[i].speed)
            return false;
    return true;
}

/* How many of the longest jobs have not changed; they have their weights. */
static size_t recall(const struct goodput_weighing *weighing, const struct place *places, size_t n,
                     double budget)
{
    size_t i;

    if (weighing->budget != budget)
        return 0;
    for (i = 0; i < MIN_OF(n, weighing->n); i++) {
        if (!is_known(&weighing->known[i], places[i].job))
            break;
        places[i].job->a = weighing->known[i].a;
    }
    return i;
}

static void remember(struct goodput_weighing *weighing, size_t at,
                     const struct goodput_weighed *job)
{
    struct known *known = &weighing->known[at];

    known->curve.n = job->curve->n;
    memcpy(known->curve.points, job->curve->points,
           (size_t)job->curve->n * sizeof known->curve.points[0]);
    known->priority_weight = job->priority_weight;
    known->a = job->a;
}

static void make_room(struct goodput_weighing *weighing, size_t n)
{
    if (n <= weighing->cap)
        return;
    weighing->cap = MAX_OF(n, 2 * weighing->cap);
    weighing->known = xreallocarray(weighing->known, weighing->cap, sizeof *weighing->known);
}

/* Every second one: the first of each two is to be used again. */
static void thin_out(struct goodput_weighing *weighing)
{
    for (size_t i = 0; i < MARKS_MOST / 2; i++) {
        struct mark kept = weighing->marks[2 * i + 1];

        weighing->marks[2 * i + 1] = weighing->marks[i];
        weighing->marks[i] = kept;
    }
    weighing->n_marks = MARKS_MOST / 2;
    weighing->apart *= 2;
}

/* after: so many jobs are in the ladder */
static void mark(struct goodput_weighing *weighing, const struct goodput_ladder *ladder,
                 size_t after)
{
    size_t n = weighing->n_marks;
    size_t last = n > 0 ? weighing->marks[n - 1].after : 0;

    if (after - last < MAX_OF(ladder->n / 8, (size_t)MARK_STEP) * weighing->apart)
        return;
    if (n == MARKS_MOST)
        thin_out(weighing);
    n = weighing->n_marks++;
    weighing->marks[n].after = after;
    goodput_ladder_copy(&weighing->marks[n].ladder, ladder);
}

static void weigh_from_marks(struct goodput_weighing *weighing, struct goodput_ladder *ladder,
                             const struct place *places, size_t n)
{
    size_t known = recall(weighing, places, n, ladder->budget);
    size_t from = 0;

    make_room(weighing, n);
    while (weighing->n_marks > 0 && weighing->marks[weighing->n_marks - 1].after > known)
        weighing->n_marks--;
    if (weighing->n_marks > 0) {
        from = weighing->marks[weighing->n_marks - 1].after;
        goodput_ladder_copy(ladder, &weighing->marks[weighing->n_marks - 1].ladder);
    } else {
        weighing->apart = 1;
    }
    for (size_t i = from; i < n; i++) {
        weigh(ladder, places[i].job, i < known);
        if (i >= known)
            remember(weighing, i, places[i].job);
        mark(weighing, ladder, i + 1);
    }
    weighing->n = n;
    weighing->budget = ladder->budget;
}

void goodput_weigh(struct goodput_weighing *weighing, struct goodput_weighed *jobs, size_t n,
                   double budget)
{
    struct place *places = places_of(jobs, n);
    struct goodput_ladder ladder;

    goodput_ladder_init(&ladder, budget);
    if (weighing != NULL)
        weigh_from_marks(weighing, &ladder, places, n);
    else
        for (size_t i = 0; i < n; i++)
            weigh(&ladder, places[i].job, false);
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
