/* SPDX-License-Identifier: Apache-2.0 */
/* drain.h - nodes that are emptied, and nodes that owe */
#pragma once

#include <stdbool.h>

struct cluster;
struct plan;

/* instances for which others stand in leave the nodes that drain */
void plan_drain(struct plan *plan);

/* the others there move where there is a place; after repairs and before the queue */
void plan_drain_to_places(struct plan *plan);

/* and for whom they wait */
void plan_drain_tell(struct plan *plan);
void plan_relieve(struct plan *plan);

/* plan_drain_any - some node drains or owes. O(n) in the nodes */
bool plan_drain_any(const struct cluster *cluster);
