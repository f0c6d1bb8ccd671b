/* SPDX-License-Identifier: Apache-2.0 */
/* policy_rigid.c - jobs with the amount that they asked for, or nothing: first come first served;
 * shortest remaining time first
 *
 * FIFO stops no one, and nobody overtakes who came before. SRTF starts over at each decision:
 * shortest first with the amount asked for; a job that does not fit is left out, longer ones behind
 * it run. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

static void decide_fifo(void *state, const struct view *view, struct plan *plan)
{
    uint32_t left = view->capacity;

    (void)state;
    plan->placing = PLACE_WHOLE;
    for (size_t i = 0; i < view->n; i++) {
        plan->counts[i] = view->jobs[i].held;
        left -= view->jobs[i].held;
    }
    for (size_t i = 0; i < view->n; i++) {
        uint32_t wants = view->jobs[i].requested;

        if (view->jobs[i].held > 0)
            continue;
        if (wants > left)
            return;
        plan->counts[i] = wants;
        left -= wants;
    }
}

static int by_remaining(const void *a, const void *b, void *userdata)
{
    const double *remaining_s = userdata;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    if (remaining_s[i] != remaining_s[j])
        return remaining_s[i] < remaining_s[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Of whom nothing is known yet goes first: else nothing ever would be. */
static double remaining_of(const struct view *view, size_t i)
{
    double remaining_s = view_remaining_s(view, i, view->jobs[i].requested);

    return isfinite(remaining_s) ? remaining_s : 0;
}

static void decide_srtf(void *state, const struct view *view, struct plan *plan)
{
    double *remaining_s = xcalloc(view->n, sizeof(*remaining_s));
    uint32_t left = view->capacity;

    (void)state;
    plan->placing = PLACE_WHOLE;
    for (size_t i = 0; i < view->n; i++)
        remaining_s[i] = remaining_of(view, i);
    qsort_r(plan->order, view->n, sizeof(*plan->order), by_remaining, remaining_s);
    for (size_t at = 0; at < view->n && left > 0; at++) {
        uint32_t i = plan->order[at], wants = view->jobs[i].requested;

        if (wants > left)
            continue;
        plan->counts[i] = wants;
        left -= wants;
    }
    free(remaining_s);
}

const struct trace_policy trace_policy_fifo = {
    .name = "fifo",
    .summary = "rigid; first come, first served",
    .decide = decide_fifo,
};

const struct trace_policy trace_policy_srtf = {
    .name = "srtf",
    .summary = "rigid; shortest remaining time first",
    .uses = USES_LENGTHS | USES_SPEEDS,
    .decide = decide_srtf,
};
