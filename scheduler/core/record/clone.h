/* SPDX-License-Identifier: Apache-2.0 */
/* clone.h - the facts of a cluster, for a copy to try something on */
#pragma once

#include <stdbool.h>

struct cluster;
struct instant;

/* cluster_copy_facts - all that is remembered, and all else that a plan looks at (leases,
 * back-offs, foreign load), without pending effects and without the memory of plans
 * (cluster_clone). Linear */
struct cluster *cluster_copy_facts(const struct cluster *cluster, bool with_ended,
                                   struct instant now);
