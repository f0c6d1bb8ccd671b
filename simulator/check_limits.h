/* SPDX-License-Identifier: Apache-2.0 */
/* check_limits.h - no new grant exceeds the limit of a user or group
 *
 * Of jobs that start, and of instances above a minimum. Repairs of a minimum may exceed it, and so
 * do processes that stand in for those of a draining node. */
#pragma once

#include <stddef.h>

struct effect;
struct sim;

/* check_limits - at each commit, behind the ledger's own look at it */
void check_limits(struct sim *sim, const struct effect *effects, size_t n);
