/* SPDX-License-Identifier: Apache-2.0 */
/* policy_goodput.c - ours: the division of goodput in scheduler/core/goodput_allocate.c
 *
 * The live policy (policy_goodput_division.c) sells by the same curves and hulls, but to several
 * resources, by ranks, and without families: what is measured here is not yet what it does. This
 * file only says what the laboratory knows in the words of that: for each job a curve over the
 * amounts that are worth a try, what is left of it, and what a change costs it. */
#include <math.h>

#include "scheduler/core/goodput_allocate.h"
#include "scheduler/core/goodput_family.h"
#include "shared/macro.h"
#include "simulator/trace/policy.h"

/* What was seen of families so far. */
struct history {
    struct goodput_families *families;
    size_t n_ended;   /* of view.ended, taken in */
    uint32_t next_id; /* the next job that begins */
};

/* next_amount - all of them on one node up to four, then larger steps; whole nodes beyond, in steps
 * of an eighth, so that a curve has few points however large the cluster is */
static uint32_t next_amount(const struct view *view, const struct view_job *job, uint32_t n)
{
    uint32_t per_node = view->per_node, nodes = n / per_node;

    if (job->counts != NULL)
        return view_next(job, n);
    if (n < per_node)
        return MIN_OF(n + MAX_OF(n / 4, 1U), per_node);
    return (nodes + MAX_OF(nodes / 8, 1U)) * per_node;
}

static void add_point(struct goodput_curve *curve, uint32_t n, double speed)
{
    if (speed > 0 && isfinite(speed) && curve->n < GOODPUT_POINTS_MAX)
        curve->points[curve->n++] =
            (struct goodput_point){ .instances = n, .cost = n, .speed = speed };
}

static void curve_of(const struct view *view, size_t i, struct goodput_curve *curve)
{
    const struct view_job *job = &view->jobs[i];
    uint32_t first = view_first(job);

    curve->n = 0;
    for (uint32_t n = first; n != 0 && n <= job->max; n = next_amount(view, job, n))
        add_point(curve, n, view_speed(view, i, n));
    if (curve->n == 0) /* nothing is known of any amount: it can at least begin */
        add_point(curve, first, 1);
}

static void look(struct history *history, const struct view *view)
{
    if ((view->uses & USES_HISTORY) == 0)
        return;
    for (; history->n_ended < view->n_ended; history->n_ended++)
        goodput_family_ended(history->families, view->ended[history->n_ended].family,
                             view->ended[history->n_ended].work);
    for (size_t i = 0; i < view->n; i++) {
        const struct view_job *job = &view->jobs[i];

        if (job->id >= history->next_id) {
            goodput_family_begun(history->families, job->family);
            history->next_id = job->id + 1;
        }
        goodput_family_done(history->families, job->family, job->work);
    }
}

/* What is left, in seconds with the smallest amount, by whoever knows. */
static struct goodput_work work_of(struct history *history, const struct view *view, size_t i)
{
    const struct view_job *job = &view->jobs[i];
    double rate = view_rate(view, i, view_first(job));
    double remaining_s = view_remaining_s(view, i, view_first(job));
    struct goodput_work work = { .remaining_s = isfinite(remaining_s) ? remaining_s : -1 };

    if (rate > 0 && isfinite(rate)) {
        work.attained_s = job->work / rate;
        work.family_median_s =
            goodput_family_work(history->families, job->family, job->work) / rate;
    }
    return work;
}

static void divide(const struct goodput_options *options, struct history *history,
                   const struct view *view, struct plan *plan)
{
    struct goodput_curve *curves = xcalloc(view->n, sizeof(*curves));
    struct goodput_request *requests = xcalloc(view->n, sizeof(*requests));
    struct goodput_target *targets = xcalloc(view->n, sizeof(*targets));

    look(history, view);
    for (size_t i = 0; i < view->n; i++) {
        curve_of(view, i, &curves[i]);
        requests[i] =
            (struct goodput_request){ .id = view->jobs[i].id,
                                      .curve = &curves[i],
                                      .priority_weight = view->jobs[i].weight,
                                      .work = work_of(history, view, i),
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
    struct history *history = xcalloc(1, sizeof(*history));

    (void)view;
    history->families = goodput_families_new();
    return history;
}

static void end(void *state)
{
    struct history *history = state;

    (void)goodput_families_free(history->families);
    free(history);
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    divide(&goodput_defaults, state, view, plan);
}

/* The one knob: towards the makespan. */
static void decide_balanced(void *state, const struct view *view, struct plan *plan)
{
    struct goodput_options options = goodput_defaults;

    options.beta = 0.4;
    options.q = 0.75;
    divide(&options, state, view, plan);
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
