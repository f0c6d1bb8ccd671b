/* SPDX-License-Identifier: Apache-2.0 */
/* rooms.h - the rooms of the nodes, as the model has these */
#pragma once

struct cluster;
struct planner;

/* rooms_look - at all that changed since: before a search, or a question about the totals. O(log n)
 * for each node that did
 * rooms_look_at_all - at all nodes, whatever events have said of them */
void rooms_look(struct planner *planner);
void rooms_look_at_all(struct planner *planner);

/* rooms_tell - the nodes have on them what this plan promised there. O(nodes) */
void rooms_tell(struct planner *planner);
