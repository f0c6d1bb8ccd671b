/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput.c - ours: the division of goodput in scheduler/core/goodput_allocate.c
 *
 * Everything is divided afresh at each decision, by the recursion of goodput_weights.c. The policy
 * that the scheduler runs reaches nearly the same step by step: policy_live.c. */
#include <math.h>

#include "scheduler/core/goodput_allocate.h"
#include "shared/macro.h"
#include "simulator/trace/goodput_view.h"
#include "simulator/trace/policy.h"

static void divide(const struct goodput_options *options, struct goodput_history *history,
                   const struct view *view, struct plan *plan)
{
    struct goodput_curve *curves = xcalloc(view->n, sizeof(*curves));
    struct goodput_request *requests = xcalloc(view->n, sizeof(*requests));
    struct goodput_target *targets = xcalloc(view->n, sizeof(*targets));

    goodput_history_look(history, view);
    for (size_t i = 0; i < view->n; i++) {
        goodput_view_curve(view, i, 0, &curves[i]);
        requests[i] =
            (struct goodput_request){ .id = view->jobs[i].id,
                                      .curve = &curves[i],
                                      .priority_weight = view->jobs[i].weight,
                                      .work = goodput_view_work(history, view, i),
                                      .resize_s = view->restart_s,
                                      .current = goodput_curve_at(&curves[i], view->jobs[i].held),
                                      .required = GOODPUT_NO_POINT,
                                      .tenant = GOODPUT_NO_TENANT };
    }
    (void)goodput_allocate(options, requests, view->n, NULL, 0, view->capacity, targets);
    for (size_t i = 0; i < view->n; i++)
        if (targets[i].point >= 0)
            plan->counts[i] = curves[i].points[targets[i].point].instances;
    plan->placing = PLACE_ALIGNED;
    free(curves);
    free(requests);
    free(targets);
}

static void *begin(const struct view *view)
{
    (void)view;
    return goodput_history_new();
}

static void end(void *state)
{
    (void)goodput_history_free(state);
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
