/* SPDX-License-Identifier: Apache-2.0 */
/* owner_room.h - jobs start and grow within the limits of their users and groups
 *
 * The sums of each owner follow the model, as those of groups do (group_levels.h). A gang is
 * counted while room is promised to it, too, and without a place it keeps nobody else out. One that
 * fits below the limits only when instances are gone that stop is promised room, and waits. So is
 * one for which elastic jobs of its owners can give way. Any other is passed by, with
 * VERDICT_OWNER. Growth takes of the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct cluster;
struct job;
struct plan;
struct planner;
struct process;

/* The sums of an owner over its jobs. */
enum owner_sum {
    OWNER_NOW,     /* with the instances that stop */
    OWNER_LATER,   /* without these, with the gangs that are promised room */
    OWNER_SURPLUS, /* of that, the part above the minima of elastic jobs */
    OWNER_SUMS
};

/* When a gang fits below the limits of its owners. */
enum owner_fit {
    OWNER_FITS_NOW,
    OWNER_FITS_LATER, /* when those that stop are gone */
    OWNER_FITS_GIVEN, /* when elastic jobs of theirs give way as well */
    OWNER_FITS_NOT
};

/* owner_room_begin - the owners as the model has them, of whom nothing is counted
 * owner_room_count - the job's part of the sums of its owners, afresh. O(roles) */
void owner_room_begin(struct planner *planner);
void owner_room_count(struct planner *planner, struct job *job);

/* owner_room_least - the need of its whole minimum. owner_room_fit - when its owners may hold it */
struct resources owner_room_least(const struct job *job);
enum owner_fit owner_room_fit(const struct planner *planner, const struct job *job);

/* owner_room_give - its owners have an instance no more (1), in a search for victims, or have it
 * again (-1). owner_room_victim - the instance that gives way next so that the owners of the job
 * may hold its minimum; NULL: none can */
void owner_room_give(struct planner *planner, const struct process *process, int sign);
struct process *owner_room_victim(const struct plan *plan, const struct job *job);

/* owner_room_shed - elastic jobs of owners above their limits give way as far as their minima go */
void owner_room_shed(struct plan *plan);

/* owner_room_more - so many more instances its owners may hold
 * owner_room_growth - the same, as far as its largest number of instances goes
 * owner_room_note_growth - touches the jobs that may grow by another number than the policy was
 * told. Linear in the jobs not over where anybody has a limit; else nothing
 * owner_room_is_bound - one of its owners has a limit */
uint32_t owner_room_more(const struct planner *planner, const struct job *job, uint32_t role);
uint32_t owner_room_growth(const struct planner *planner, const struct job *job, uint32_t role);
void owner_room_note_growth(struct cluster *cluster);
bool owner_room_is_bound(const struct planner *planner, const struct job *job);

/* cluster_owner_held - what the jobs of a user or group hold, with those that stop and those that
 * started ones lack. false: it has no limit, and nobody counts */
bool cluster_owner_held(const struct cluster *cluster, const char *name, bool is_group,
                        struct resources *ret);
