/* SPDX-License-Identifier: Apache-2.0 */
/* job_weights.c - see job_weights.h */
#include "agent/groups/job_weights.h"

#include <uthash.h>

#include "shared/macro.h"

struct job_weight {
    uint64_t job_id;
    uint64_t sum;
    UT_hash_handle hh;
};

static void drop(struct job_weight **weights, struct job_weight *weight)
{
    HASH_DEL(*weights, weight);
    free(weight);
}

uint64_t job_weights_change(struct job_weight **weights, uint64_t job_id, uint64_t from,
                            uint64_t to)
{
    struct job_weight *weight;
    uint64_t sum;

    HASH_FIND(hh, *weights, &job_id, sizeof job_id, weight);
    if (weight == NULL && to == 0)
        return 0;
    if (weight == NULL) {
        weight = xcalloc(1, sizeof *weight);
        weight->job_id = job_id;
        HASH_ADD(hh, *weights, job_id, sizeof weight->job_id, weight);
    }
    sum = weight->sum = weight->sum - MIN_OF(weight->sum, from) + to;
    if (sum == 0)
        drop(weights, weight);
    return sum;
}

void job_weights_free(struct job_weight **weights)
{
    while (*weights != NULL)
        drop(weights, *weights);
}
