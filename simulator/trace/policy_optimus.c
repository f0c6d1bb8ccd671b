/* SPDX-License-Identifier: Apache-2.0 */
/* policy_optimus.c - one more instance to whom it saves the most time (Optimus, EuroSys 2018)
 *
 * Everybody has one first; then the gain of one more is the steps that are left times what a step
 * becomes shorter, per instance. A job with parameter servers gains by one more of them or by one
 * more trainer, whichever saves more. As in the port that comes with Pollux' simulator, steps are
 * counted by whole epochs, and few instances are placed before many. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

struct state {
    double gain;
    uint32_t next, next_pservers; /* what the gain is for */
};

static double better_split(const struct view *view, size_t i, uint32_t n, uint32_t pservers,
                           uint32_t *ret_pservers)
{
    double with_trainer = view_step_s(view, i, n, pservers);
    double with_pserver = view_step_s(view, i, n, pservers + 1);

    *ret_pservers = with_pserver < with_trainer ? pservers + 1 : pservers;
    return fmin(with_trainer, with_pserver);
}

static void set_gain(const struct view *view, size_t i, const struct plan *plan,
                     struct state *state)
{
    uint32_t n = plan->counts[i], pservers = plan->pservers[i];
    double now_s = view_step_s(view, i, n, pservers), then_s;

    state->gain = 0;
    state->next = view_next(&view->jobs[i], n);
    state->next_pservers = 0;
    if (state->next == 0)
        return;
    then_s = pservers == 0 ? view_step_s(view, i, state->next, 0)
                           : better_split(view, i, state->next, pservers, &state->next_pservers);
    state->gain = (now_s - then_s) * view_steps_left(view, i) / (state->next - n);
}

static int by_count(const void *a, const void *b, void *userdata)
{
    const struct plan *plan = userdata;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    if (plan->counts[i] != plan->counts[j])
        return plan->counts[i] < plan->counts[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* A heap of jobs by gain; of equal gains who came first. */
struct heap {
    uint32_t *items;
    size_t n;
    const struct state *states;
};

static bool goes_first(const struct heap *heap, uint32_t a, uint32_t b)
{
    double x = heap->states[a].gain, y = heap->states[b].gain;

    return x != y ? x > y : a < b;
}

static void sink(struct heap *heap, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
        uint32_t other = heap->items[at];

        if (child + 1 < heap->n && goes_first(heap, heap->items[child + 1], heap->items[child]))
            child++;
        if (!goes_first(heap, heap->items[child], other))
            return;
        heap->items[at] = heap->items[child];
        heap->items[child] = other;
    }
}

/* first_instances - in order of submission, while there are some; returns what is left */
static uint32_t first_instances(const struct view *view, struct plan *plan, struct state *states)
{
    uint32_t left = view->capacity;

    for (size_t i = 0; i < view->n; i++) {
        uint32_t first = view_first(&view->jobs[i]);

        if (first > left)
            continue;
        plan->counts[i] = first;
        plan->pservers[i] = view->jobs[i].has_pservers ? 1 : 0;
        left -= first;
    }
    for (size_t i = 0; i < view->n; i++)
        if (plan->counts[i] > 0)
            set_gain(view, i, plan, &states[i]);
    return left;
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    struct state *states = xcalloc(view->n, sizeof(*states));
    struct heap heap = { .items = xcalloc(view->n, sizeof(*heap.items)), .states = states };
    uint32_t left = first_instances(view, plan, states);

    (void)state;
    for (uint32_t i = 0; i < view->n; i++)
        heap.items[heap.n++] = i;
    for (size_t at = heap.n / 2; at > 0; at--)
        sink(&heap, at - 1);
    while (left > 0 && heap.n > 0 && states[heap.items[0]].gain > 0) {
        uint32_t i = heap.items[0], more = states[i].next - plan->counts[i];

        if (more > left) { /* it cannot grow further; others may by less */
            states[i].gain = 0;
        } else {
            plan->counts[i] = states[i].next;
            plan->pservers[i] = states[i].next_pservers;
            left -= more;
            set_gain(view, i, plan, &states[i]);
        }
        sink(&heap, 0);
    }
    qsort_r(plan->order, view->n, sizeof(*plan->order), by_count, plan);
    free(heap.items);
    free(states);
}

const struct trace_policy trace_policy_optimus = {
    .name = "optimus",
    .summary = "one more instance to whom it saves the most time",
    .uses = USES_LENGTHS | USES_SPEEDS,
    .decide = decide,
};
