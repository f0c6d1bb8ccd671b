/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - how far a cluster may be requested */
#include "scheduler/core/policy/limits.h"

#define CORE 1000 /* millicores */
/* A reserve of a larger part of the cluster than this is an operator's wish. */
#define SMALL_PART 20

int64_t policy_load_limit(int64_t total_millicores, uint32_t max_load_permille)
{
    int64_t limit = total_millicores * max_load_permille / 1000;
    int64_t reserve = total_millicores - limit;

    if (reserve * SMALL_PART > total_millicores)
        return limit;
    return total_millicores - reserve / CORE * CORE;
}

static int64_t cpu_limit(const struct policy_totals *totals)
{
    return policy_load_limit(totals->cpu_total_millicores, totals->max_load_permille);
}

void policy_account(struct policy_totals *totals, const struct policy_job *job, int64_t change)
{
    totals->cpu_requested_millicores += change * (int64_t)job->cpu_millicores;
    totals->memory_requested_bytes += change * (int64_t)job->memory_bytes;
    totals->gpu_requested += change * (int64_t)job->gpus;
}

int64_t policy_total(const struct policy_totals *totals, enum policy_resource resource)
{
    switch (resource) {
    case POLICY_CPU:
        return totals->cpu_total_millicores;
    case POLICY_MEMORY:
        return totals->memory_total_bytes;
    default:
        return totals->gpu_total;
    }
}

int64_t policy_free(const struct policy_totals *totals, enum policy_resource resource)
{
    switch (resource) {
    case POLICY_CPU:
        return cpu_limit(totals) - totals->cpu_requested_millicores -
               totals->cpu_stopping_millicores;
    case POLICY_MEMORY: /* one that leaves nothing does not fit */
        return totals->memory_total_bytes - totals->memory_requested_bytes -
               totals->memory_stopping_bytes - 1;
    default:
        return totals->gpu_total - totals->gpu_requested - totals->gpu_stopping;
    }
}

bool policy_must_shrink(const struct policy_totals *totals, const struct request *held)
{
    return (held->cpu_millicores > 0 && totals->cpu_requested_millicores > cpu_limit(totals)) ||
           (held->gpus > 0 && totals->gpu_requested > totals->gpu_total) ||
           (held->memory_bytes > 0 && totals->memory_requested_bytes > totals->memory_total_bytes);
}

bool policy_may_grow(const struct policy_totals *totals, const struct request *wanted)
{
    return cpu_limit(totals) - totals->cpu_requested_millicores >=
               (int64_t)wanted->cpu_millicores &&
           (wanted->gpus == 0 ||
            totals->gpu_total - totals->gpu_requested >= (int64_t)wanted->gpus) &&
           /* strictly more than the request, as the original has it */
           totals->memory_total_bytes - totals->memory_requested_bytes >
               (int64_t)wanted->memory_bytes;
}

int policy_compare_spans(const struct policy_state *state, const struct policy_job *a,
                         const struct policy_job *b)
{
    uint64_t a_span = a->max - a->min, b_span = b->max - b->min;
    uint64_t a_part = (uint64_t)(a->parallelism - a->min) * b_span;
    uint64_t b_part = (uint64_t)(b->parallelism - b->min) * a_span;

    (void)state;
    if (a_span == 0 || b_span == 0)
        return (a_span == 0) - (b_span == 0);
    return a_part > b_part ? -1 : a_part < b_part;
}
