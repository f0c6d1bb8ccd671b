/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - the limits of a cluster that no policy passes, for a single step */
#pragma once

#include <stdbool.h>

#include "scheduler/core/policy/index.h"

/* policy_load_limit - how many millicores of so many may be requested before growth ends. A
 * reserve of at most a twentieth counts in whole cores, rounded down; a larger one is kept exactly.
 * The limit depends on no job: with one that depended on the sizes of instances, a job grew and had
 * to give that back at the next transfer, for ever */
int64_t policy_load_limit(int64_t total_millicores, uint32_t max_load_permille);
/* policy_free - the part of a resource below its limit that is neither requested nor held by
 * stopping instances: in millicores, bytes, devices; below 0: it is over */
int64_t policy_free(const struct policy_totals *totals, enum policy_resource resource);
/* policy_total - what there is of it, in the same units */
int64_t policy_total(const struct policy_totals *totals, enum policy_resource resource);
/* policy_may_grow - there is room for one more below every limit; the load limit is one of cores
 * only */
bool policy_may_grow(const struct policy_totals *totals, const struct request *wanted);
/* policy_must_shrink - it holds something of a resource that is over its limit */
bool policy_must_shrink(const struct policy_totals *totals, const struct request *held);
/* policy_account - so many instances more (or less) are requested */
void policy_account(struct policy_totals *totals, const struct policy_job *job, int64_t change);
/* policy_compare_spans - policy.compare_givers where nothing else is known of a job's loss: the job
 * with the largest part of its span above its minimum gives first, one that cannot give last */
int policy_compare_spans(const struct policy_state *state, const struct policy_job *a,
                         const struct policy_job *b);
