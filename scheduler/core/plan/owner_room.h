/* SPDX-License-Identifier: Apache-2.0 */
/* owner_room.h - jobs start and grow within the limits of their users and groups
 *
 * A gang is counted as its owners' when it starts, and while room is promised to it. A gang
 * without a place keeps nobody else out. A filing leaves the jobs beyond the limits of their owners
 * out of the queue, with VERDICT_OWNER, and others may pass them. While the queue is gone through,
 * each job is looked at again before it is tried. So no order of starts exceeds a limit. Growth
 * takes of the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct cluster;
struct job;
struct planner;

/* owner_room_begin - the sums afresh, and which jobs wait for them. Linear in the jobs not over
 * where anybody has a limit; else nothing */
void owner_room_begin(struct cluster *cluster);

/* owner_room_keep_out - true: its owners have come to their limit since the filing, and it has left
 * the queue */
bool owner_room_keep_out(struct cluster *cluster, struct job *job);

/* owner_room_take_gang - its owners have its whole minimum (1), or not any more (-1) */
void owner_room_take_gang(struct planner *planner, const struct job *job, int64_t n);

/* owner_room_least - the need of its whole minimum */
struct resources owner_room_least(const struct job *job);

/* owner_room_more - so many more instances its owners may hold; owner_room_take - it has one more
 */
uint32_t owner_room_more(const struct planner *planner, const struct job *job, uint32_t role);
/* owner_room_growth - the same, as far as its largest number of instances goes */
uint32_t owner_room_growth(const struct planner *planner, const struct job *job, uint32_t role);
/* owner_room_is_bound - one of them has a limit */
bool owner_room_is_bound(const struct planner *planner, const struct job *job);
void owner_room_take(struct planner *planner, const struct job *job, uint32_t role);
