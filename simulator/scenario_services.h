/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_services.h - when which machine has how much load that is not ours
 *
 * The replicas of a service are whole: each needs its request free of other load of its kind on one
 * node. Its keeper knows nothing of us. Spread, it puts a new replica where others then take the
 * smallest share of the machine, and takes away where they take the largest. Packed, it fills the
 * fullest machine that has room, and empties the emptiest. Among equals the order is drawn from the
 * seed. */
#pragma once

#include "simulator/scenario.h"

struct load_change {
    uint64_t at_us;
    uint32_t node;
    uint64_t cpu_millicores, memory_bytes; /* of all that is not ours, from now on */
};

/* scenario_load_changes - all of them, rising in time; *ret is owned by the caller
 * Errors: EDL_EBADSPEC when replicas find no room even beside nothing of ours. */
int scenario_load_changes(const struct scenario *scenario, uint64_t seed, struct load_change **ret,
                          size_t *ret_n, struct edl_error *error);
