/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - the limits of a cluster that no policy passes, for a single step */
#pragma once

#include <stdbool.h>

#include "scheduler/core/policy/index.h"

/* policy_load_top - how many millicores may be requested by jobs with instances of such a size: the
 * load limit, and more where the reserve above it would keep more than itself. It is kept from no
 * instance that is larger, and counts in whole cores for instances of a core or more, rounded down.
 * A reserve of more than a twentieth of the cluster is meant: it is kept from instances of up to
 * twice as much, and rounded to the nearest core. O(1) */
int64_t policy_load_top(int64_t total_millicores, uint32_t max_load_permille,
                        uint64_t one_millicores);
/* policy_free - the part of a resource that instances of such a request may have and that is
 * neither requested nor held by stopping ones: in millicores, bytes, devices; below 0: it is over
 */
int64_t policy_free(const struct policy_totals *totals, enum policy_resource resource,
                    const struct request *wanted);
/* policy_total - what there is of it, in the same units */
int64_t policy_total(const struct policy_totals *totals, enum policy_resource resource);
/* policy_may_grow - there is room for one more below every limit; the load limit is one of cores
 * only. policy_might_grow - perhaps, for some of those that want no less */
bool policy_may_grow(const struct policy_totals *totals, const struct request *wanted);
bool policy_might_grow(const struct policy_totals *totals, const struct request *least);
/* policy_must_shrink - it holds something of a resource that is over its limit */
bool policy_must_shrink(const struct policy_totals *totals, const struct request *held);
/* policy_account - so many instances more (or less) are requested */
void policy_account(struct policy_totals *totals, const struct policy_job *job, int64_t change);
/* policy_compare_spans - policy.compare_givers where nothing else is known of a job's loss: the job
 * with the largest part of its span above its minimum gives first, one that cannot give last */
int policy_compare_spans(const struct policy_state *state, const struct policy_job *a,
                         const struct policy_job *b);
