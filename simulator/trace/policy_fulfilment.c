/* SPDX-License-Identifier: Apache-2.0 */
/* policy_fulfilment.c - the job with the least part of its span grows (EDL's heuristic of 2017)
 *
 * Fulfilment is (now - min) / (max - min). A waiting job gets its minimum, from those with the
 * highest fulfilment where nothing is free. Then the one with the lowest grows, as long as MAX_LOAD
 * of the cluster is not taken. It knows neither speeds nor lengths. Two defects of the original are
 * mended: fulfilment follows the plan and not the state before it, and both directions stop at the
 * same load. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

#define MAX_LOAD 0.97

static double fulfilment(const struct view_job *job, uint32_t n)
{
    if (job->max == job->min)
        return 1;
    return (double)(n - job->min) / (job->max - job->min);
}

/* highest - who can give something up; view->n: nobody */
static size_t highest(const struct view *view, const struct plan *plan)
{
    size_t best = view->n;
    double most = 0;

    for (size_t i = 0; i < view->n; i++) {
        double f = plan->counts[i] > 0 ? fulfilment(&view->jobs[i], plan->counts[i]) : 0;

        if (f > most && view_prev(&view->jobs[i], plan->counts[i]) != 0) {
            most = f;
            best = i;
        }
    }
    return best;
}

/* lowest - who can take something of what is left; view->n: nobody */
static size_t lowest(const struct view *view, const struct plan *plan, uint32_t left)
{
    size_t best = view->n;
    double least = INFINITY;

    for (size_t i = 0; i < view->n; i++) {
        uint32_t n = plan->counts[i], next = n > 0 ? view_next(&view->jobs[i], n) : 0;

        if (next != 0 && next - n <= left && fulfilment(&view->jobs[i], n) < least) {
            least = fulfilment(&view->jobs[i], n);
            best = i;
        }
    }
    return best;
}

/* can_give - all that is above the minima */
static uint32_t can_give(const struct view *view, const struct plan *plan)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < view->n; i++)
        if (plan->counts[i] > 0)
            sum += plan->counts[i] - MIN_OF(plan->counts[i], view_first(&view->jobs[i]));
    return sum;
}

/* start - a minimum for everybody for whom it can be had, by submission; returns what is left */
static uint32_t start(const struct view *view, struct plan *plan, uint32_t left)
{
    uint32_t spare = can_give(view, plan);

    for (size_t i = 0; i < view->n; i++) {
        uint32_t first = view_first(&view->jobs[i]);

        if (plan->counts[i] > 0 || first > left + spare)
            continue;
        while (first > left) {
            size_t giver = highest(view, plan);
            uint32_t n;

            if (giver == view->n)
                return left;
            n = view_prev(&view->jobs[giver], plan->counts[giver]);
            left += plan->counts[giver] - n;
            spare -= plan->counts[giver] - n;
            plan->counts[giver] = n;
        }
        plan->counts[i] = first;
        left -= first;
    }
    return left;
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    uint32_t left = view->capacity, limit = (uint32_t)floor(MAX_LOAD * view->capacity), room;

    (void)state;
    plan->placing = PLACE_WHOLE;
    for (size_t i = 0; i < view->n; i++) {
        plan->counts[i] = view->jobs[i].held;
        left -= view->jobs[i].held;
    }
    left = start(view, plan, left);
    room = left - MIN_OF(left, view->capacity - limit);
    for (;;) {
        size_t i = lowest(view, plan, room);
        uint32_t next;

        if (i == view->n)
            return;
        next = view_next(&view->jobs[i], plan->counts[i]);
        room -= next - plan->counts[i];
        plan->counts[i] = next;
    }
}

const struct trace_policy trace_policy_fulfilment = {
    .name = "fulfilment",
    .summary = "the least fulfilled grows (EDL)",
    .decide = decide,
};
