/* SPDX-License-Identifier: Apache-2.0 */
/* fulfilment.c - the autoscaler of 2018, mended: the least fulfilled job grows, the most
 * fulfilled one shrinks
 *
 * Fulfilment = (instances - min) / (max - min); how it is carried out: policy/engine.h.
 *
 * Differences from the original, each a defect there: the order follows planned moves (it was that
 * of before the decision, which made a round robin of it); a full cluster is shared anew (the first
 * job kept everything: Jain index 0.44 in the report of 2017); GPUs may all be granted, and nobody
 * shrinks for them before they are over (it grew up to their total, shrank down to the load limit,
 * and so added and removed one GPU for ever; a device is granted whole, and the part that a load
 * limit leaves of it helps nobody); a job shrinks only if it holds something of a resource that is
 * over its limit (GPUs that a fixed job holds made every other job grow and shrink for ever); a
 * growth takes room on a real node (the sign was wrong); instances that are being stopped are not
 * counted twice; equal jobs are ordered by id (the sort was not stable).
 *
 * It ends, because a transfer leaves the giver ahead of the taker: the sum of squares of the
 * fulfilments falls each time. */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/policy/engine.h"
#include "scheduler/core/policy/index.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"

/* A transfer costs a stop and a start: less than this part of a span is not worth it. */
#define WORTH_PPM 50000

uint32_t policy_fulfilment_score_ppm(const struct policy_job *job)
{
    if (job->max <= job->min)
        return 1000000;
    if (job->parallelism <= job->min)
        return 0;
    return (uint32_t)((uint64_t)(job->parallelism - job->min) * 1000000 / (job->max - job->min));
}

int policy_fulfilment_compare(const struct policy_job *a, const struct policy_job *b)
{
    uint32_t a_ppm = policy_fulfilment_score_ppm(a), b_ppm = policy_fulfilment_score_ppm(b);

    if (a_ppm != b_ppm)
        return a_ppm < b_ppm ? -1 : 1;
    return policy_compare_requests(a, b);
}

int policy_fulfilment_dry_run(struct policy_totals *totals, const struct policy_job *job,
                              int64_t planned, bool down, bool node_fits)
{
    const struct request request = request_of_job(job);
    int64_t change = 0;

    if (down)
        change = planned > job->max || (planned > job->min && policy_must_shrink(totals, &request))
                     ? -1
                     : 0;
    else if (planned >= job->max)
        change = (int64_t)job->max - planned;
    else if (node_fits && policy_may_grow(totals, &request))
        change = 1;
    policy_account(totals, job, change);
    return (int)change;
}

static uint32_t score_with(const struct policy_job *plan, int change)
{
    struct policy_job job = *plan;

    if (change < 0 && job.parallelism <= job.min)
        return 0;
    job.parallelism = (uint32_t)((int64_t)job.parallelism + change);
    return policy_fulfilment_score_ppm(&job);
}

/* A giver is to be ahead of the taker after the transfer still. */
static void score(const struct entry *entry, struct policy_scores *ret)
{
    ret->up = ret->down = policy_fulfilment_score_ppm(&entry->plan);
    ret->taker = score_with(&entry->plan, 1) + WORTH_PPM;
    ret->giver = score_with(&entry->plan, -1);
}

static const struct policy_scoring scoring = {
    .entry_size = sizeof(struct entry),
    .score = score,
};

static struct policy_state *state_new(void)
{
    return index_new(&scoring);
}

static void explain(const struct policy_state *state, uint64_t id, char *buffer, size_t size)
{
    const struct entry *entry = index_find(state, id);

    (void)snprintf(buffer, size, "fulfilment %.2f",
                   entry != NULL ? policy_fulfilment_score_ppm(&entry->plan) / 1e6 : 0);
    policy_engine_note_taker(state, buffer + strlen(buffer), size - strlen(buffer));
}

const struct policy policy_fulfilment = {
    .name = "fulfilment",
    .summary = "the least fulfilled job grows, the most fulfilled one shrinks",
    .new = state_new,
    .free = index_free,
    .put = index_put,
    .drop = index_drop,
    .decide = policy_engine_decide,
    .explain = explain,
    .compare_givers = policy_compare_spans,
};
