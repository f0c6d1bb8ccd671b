/* SPDX-License-Identifier: Apache-2.0 */
/* worth.c - a hull as steps of instances */
#include "scheduler/core/policy/worth.h"

#include <math.h>
#include <stdlib.h>

#include "scheduler/core/speed/curve.h"
#include "shared/macro.h"

/* Between them the best size is found within a per cent or two. */
#define SIZES_APART 1.4
/* Measurements vary by more than that. */
#define STILL_AS_FAST 0.9
/* Below that it is better off with less; further off, so that a varying job does not go to and fro.
 */
#define MUCH_SLOWER 0.85

static void add_step(struct goodput_worth *worth, uint32_t upto, double value)
{
    if (worth->n == worth->cap) {
        worth->cap = worth->cap == 0 ? 4 : 2 * worth->cap;
        worth->steps = xreallocarray(worth->steps, worth->cap, sizeof *worth->steps);
    }
    worth->steps[worth->n++] = (struct goodput_step){ upto, (float)value };
}

static double fastest_up_to(const struct goodput_curve *curve, int at)
{
    double most = 0;

    for (int i = 0; i <= at; i++)
        most = fmax(most, curve->points[i].speed);
    return most;
}

/* A size that is only thought to be slower is tried, but not far beyond the tried ones. */
static bool is_worth_a_try(uint32_t instances, uint32_t measured)
{
    return measured == 0 || (instances > measured && instances <= measured + measured / 2 + 1);
}

/* The last size after `at` that nobody knows to be slower */
static int last_spare(const struct goodput_curve *curve, int at, uint32_t measured)
{
    double most = fastest_up_to(curve, at);

    while (at + 1 < curve->n && (is_worth_a_try(curve->points[at + 1].instances, measured) ||
                                 curve->points[at + 1].speed >= STILL_AS_FAST * most)) {
        at++;
        most = fmax(most, curve->points[at].speed);
    }
    return at;
}

/* The last size that is reached sooner or later: nobody else wants the room, so the cost of
 * standing still may be paid back until its end. */
static int last_paid_back(const struct goodput_curve *curve, const struct goodput_change *change,
                          int at)
{
    double held = change->current < 0 ? 0 : curve->points[change->current].speed;
    int last = at;

    for (int i = at + 1; held > 0 && i < curve->n; i++) {
        double saved_s = change->remaining_s * (1 / held - 1 / curve->points[i].speed);

        if (saved_s > change->resize_s)
            last = i;
    }
    return last;
}

void goodput_worth_set(struct goodput_worth *worth, const struct goodput_curve *curve, double q,
                       const struct goodput_change *change, int required, uint32_t measured)
{
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;
    int last = required, spare;

    worth->n = 0;
    worth->required = curve->points[required].instances;
    goodput_curve_values(curve, q, change, values);
    goodput_hull_of(curve, values, required, &hull);
    for (int i = 0; i < hull.n; i++) {
        double instances = (double)curve->points[hull.segments[i].point].instances -
                           (double)curve->points[last].instances;

        last = hull.segments[i].point;
        add_step(worth, curve->points[last].instances, hull.segments[i].value / instances);
    }
    spare = last_spare(curve, last, measured);
    worth->harmless = UINT32_MAX;
    if (change != NULL && change->current > spare &&
        curve->points[change->current].instances <= measured &&
        curve->points[change->current].speed < MUCH_SLOWER * fastest_up_to(curve, spare))
        worth->harmless = curve->points[spare].instances;
    if (change != NULL && change->resize_s > GOODPUT_CHEAP_S)
        spare = MIN_OF(spare, last_paid_back(curve, change, last));
    if (spare > last)
        add_step(worth, curve->points[spare].instances, 0);
}

static void add_size(struct goodput_worth *worth, const struct goodput_point *point)
{
    if (worth->n_sizes == worth->cap_sizes) {
        worth->cap_sizes = worth->cap_sizes == 0 ? 4 : 2 * worth->cap_sizes;
        worth->sizes = xreallocarray(worth->sizes, worth->cap_sizes, sizeof *worth->sizes);
    }
    worth->sizes[worth->n_sizes++] =
        (struct goodput_worth_size){ point->instances, (float)point->speed };
}

void goodput_worth_set_sizes(struct goodput_worth *worth, const struct goodput_curve *curve)
{
    uint32_t last = 0;

    worth->n_sizes = 0;
    for (int i = 0; i < curve->n; i++) {
        const struct goodput_point *point = &curve->points[i];

        if (point->instances < SIZES_APART * last && i < curve->n - 1)
            continue;
        add_size(worth, point);
        last = point->instances;
    }
}

void goodput_worth_done(struct goodput_worth *worth)
{
    free(worth->steps);
    free(worth->sizes);
    *worth = (struct goodput_worth){ 0 };
}

double goodput_worth_weight(const struct goodput_worth *worth, double before,
                            double priority_weight, double part, double p)
{
    double best = INFINITY;

    for (uint32_t i = 0; i < worth->n_sizes; i++) {
        double left = fmax(1 - worth->sizes[i].instances * part, 0);

        best = fmin(best, (priority_weight + before * (1 - pow(left, p))) / worth->sizes[i].speed);
    }
    return best;
}

double goodput_worth_speed(const struct goodput_worth *worth, double instances)
{
    double below = 0, speed_below = 0;

    for (uint32_t i = 0; i < worth->n_sizes; i++) {
        double at = worth->sizes[i].instances, speed = fmax(worth->sizes[i].speed, speed_below);

        if (at >= instances)
            return speed_below + (speed - speed_below) * (instances - below) / (at - below);
        below = at;
        speed_below = speed;
    }
    return speed_below;
}

double goodput_worth_of(const struct goodput_worth *worth, uint32_t instances)
{
    uint32_t low = 0, high = worth->n;

    if (instances <= worth->required)
        return INFINITY;
    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (worth->steps[middle].upto >= instances)
            high = middle;
        else
            low = middle + 1;
    }
    return low < worth->n ? worth->steps[low].value : -1;
}
