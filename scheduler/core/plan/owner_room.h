/* SPDX-License-Identifier: Apache-2.0 */
/* owner_room.h - jobs start and grow within the limits of their users and groups
 *
 * Each filing goes through the jobs that wait in the order of priority and turn. A gang that its
 * owners may still hold is counted as if it had started, and goes into the queue. The others wait
 * outside of it, with VERDICT_OWNER, and others may pass them. So no order of
 * starts exceeds a limit. Growth takes of the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct cluster;
struct job;
struct planner;

/* owner_room_begin - the sums afresh, and which jobs wait for them. Linear in the jobs not over,
 * and a sort of those that wait, where anybody has a limit; else nothing */
void owner_room_begin(struct cluster *cluster);

/* owner_room_least - the need of its whole minimum */
struct resources owner_room_least(const struct job *job);

/* owner_room_more - so many more instances its owners may hold; owner_room_take - it has one more
 */
uint32_t owner_room_more(const struct planner *planner, const struct job *job, uint32_t role);
/* owner_room_is_bound - one of them has a limit */
bool owner_room_is_bound(const struct planner *planner, const struct job *job);
void owner_room_take(struct planner *planner, const struct job *job, uint32_t role);
