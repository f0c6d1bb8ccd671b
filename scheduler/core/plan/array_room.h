/* SPDX-License-Identifier: Apache-2.0 */
/* array_room.h - so many jobs of an array at once, where it has a bound (array: 0-99%4)
 *
 * Started jobs of an array are counted, and those that are promised room. The bound is that of the
 * job's own document. */
#pragma once

#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/plan/owner_room.h"

struct job;
struct planner;

struct array_room {
    uint64_t key;
    uint32_t now, later; /* jobs: with those that stop; without them, with promised ones */
    UT_hash_handle hh;
};

/* array_room_key - the same number for all jobs of an array; 0: it has no bound */
uint64_t array_room_key(const struct job *job);

/* array_room_count - whether the job is one of those, afresh. O(1) */
void array_room_count(struct planner *planner, struct job *job);

/* array_room_fit - when its array may have it: now, later, or not. O(1) */
enum owner_fit array_room_fit(const struct planner *planner, const struct job *job);
