/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput.c - ours: the division of goodput in scheduler/core/policy/allocate.c
 *
 * Everything is divided afresh at each decision, by the recursion of policy/weights.c. A part that
 * is the same as at the last one is not worked out again, which changes nothing but the time. The
 * policy that the scheduler runs reaches nearly the same step by step: policy_live.c. */
#include <stdlib.h>

#include "scheduler/core/policy/allocate.h"
#include "scheduler/core/policy/weights.h"
#include "shared/macro.h"
#include "simulator/trace/goodput_view.h"
#include "simulator/trace/policy.h"

/* A curve as it was at the last decision. */
struct kept_curve {
    uint32_t id;
    uint32_t speeds; /* view_job.speeds */
    struct goodput_curve curve;
};

struct goodput_state {
    struct goodput_history *history;
    struct goodput_weighing *weighing;
    struct kept_curve *curves; /* by id, as the jobs of a view are */
    size_t n_curves, cap;
};

static void make_room(struct goodput_state *state, size_t n)
{
    if (n <= state->cap)
        return;
    state->cap = MAX_OF(n, 2 * state->cap);
    state->curves = xreallocarray(state->curves, state->cap, sizeof(*state->curves));
}

/* renew_curves - those of the jobs of now; whose speeds are the same keep theirs. In place: who is
 * new comes behind all others, so nobody moves to the right. */
static void renew_curves(struct goodput_state *state, const struct view *view)
{
    size_t old = 0;

    make_room(state, view->n);
    for (size_t i = 0; i < view->n; i++) {
        const struct view_job *job = &view->jobs[i];
        struct kept_curve *kept = &state->curves[i];

        while (old < state->n_curves && state->curves[old].id < job->id)
            old++;
        if (old < state->n_curves && state->curves[old].id == job->id) {
            if (old != i)
                *kept = state->curves[old];
            if (job->speeds != 0 && kept->speeds == job->speeds)
                continue;
        }
        kept->id = job->id;
        kept->speeds = job->speeds;
        goodput_view_curve(view, i, 0, &kept->curve);
    }
    state->n_curves = view->n;
}

static void divide(const struct goodput_options *options, struct goodput_state *state,
                   const struct view *view, struct plan *plan)
{
    struct goodput_request *requests = xcalloc(view->n, sizeof(*requests));
    struct goodput_target *targets = xcalloc(view->n, sizeof(*targets));

    goodput_history_look(state->history, view);
    renew_curves(state, view);
    for (size_t i = 0; i < view->n; i++) {
        const struct goodput_curve *curve = &state->curves[i].curve;

        requests[i] =
            (struct goodput_request){ .id = view->jobs[i].id,
                                      .curve = curve,
                                      .priority_weight = view->jobs[i].weight,
                                      .work = goodput_view_work(state->history, view, i),
                                      .resize_s = view->restart_s,
                                      .current = goodput_curve_at(curve, view->jobs[i].held),
                                      .required = GOODPUT_NO_POINT,
                                      .tenant = GOODPUT_NO_TENANT };
    }
    (void)goodput_allocate(state->weighing, options, requests, view->n, NULL, 0, view->capacity,
                           targets);
    for (size_t i = 0; i < view->n; i++)
        if (targets[i].point >= 0)
            plan->counts[i] = state->curves[i].curve.points[targets[i].point].instances;
    plan->placing = PLACE_ALIGNED;
    free(requests);
    free(targets);
}

static void *begin(const struct view *view)
{
    struct goodput_state *state = xcalloc(1, sizeof(*state));

    (void)view;
    state->history = goodput_history_new();
    state->weighing = goodput_weighing_new();
    return state;
}

static void end(void *userdata)
{
    struct goodput_state *state = userdata;

    (void)goodput_history_free(state->history);
    (void)goodput_weighing_free(state->weighing);
    free(state->curves);
    free(state);
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    divide(&goodput_defaults, state, view, plan);
}

/* The one knob: towards the makespan. */
static void decide_balanced(void *state, const struct view *view, struct plan *plan)
{
    divide(&goodput_balanced, state, view, plan);
}

/* Without a floor: what everybody else gets by it is the price of a start at once. */
static void decide_patient(void *state, const struct view *view, struct plan *plan)
{
    struct goodput_options options = goodput_defaults;

    options.no_floors = true;
    divide(&options, state, view, plan);
}

const struct trace_policy trace_policy_goodput = {
    .name = "goodput",
    .summary = "ours: more goes to whom a bundle is worth most",
    .uses = USES_SPEEDS,
    .profits = USES_LENGTHS | USES_HISTORY,
    .begin = begin,
    .decide = decide,
    .end = end,
};

const struct trace_policy trace_policy_goodput_balanced = {
    .name = "goodput-balanced",
    .summary = "ours, with an eye on the makespan",
    .uses = USES_SPEEDS,
    .profits = USES_LENGTHS | USES_HISTORY,
    .begin = begin,
    .decide = decide_balanced,
    .end = end,
};

const struct trace_policy trace_policy_goodput_patient = {
    .name = "goodput-patient",
    .summary = "ours, but long jobs may wait",
    .uses = USES_SPEEDS,
    .profits = USES_LENGTHS | USES_HISTORY,
    .begin = begin,
    .decide = decide_patient,
    .end = end,
};
