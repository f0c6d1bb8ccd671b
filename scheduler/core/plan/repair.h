/* SPDX-License-Identifier: Apache-2.0 */
/* repair.h - started jobs keep to their bounds and get what they lack */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/clock.h"
#include "shared/job_spec.h"

struct cluster;
struct plan;
struct slot;
struct want;

struct failed_starts {
    const struct job *job;
    struct instant now;
};

/* place_slot - by the side of its job, as place_one; NULL: nowhere. A process that failed before
 * may have failed for its node, that lacks a program or a folder: nodes come first on which none of
 * its job failed to start, and this slot's program did not fail at once */
struct room *place_slot(struct plan *plan, const struct job *job, const struct slot *slot,
                        const struct want *want);

/* fill_role - brings a role up to wanted as far as there is room now; returns how many could not
 * be placed */
uint32_t fill_role(struct plan *plan, struct job *job, uint32_t role, uint32_t wanted);

/* the hardest to place first; returns how many */
size_t roles_hardest_first(const struct job *job, uint32_t ret[JOB_ROLES_MAX]);

/* the slot to fill next, or -1 */
int next_slot(struct job *job, uint32_t role, struct instant now);
uint32_t count_backing_off(const struct job *job, uint32_t role, struct instant now);

/* gives up repairs that nobody wants any more: those that found no room, the highest first */
void trim_due(struct plan *plan, struct job *job, uint32_t role, uint32_t keep);

/* keeps a touched job within its bounds, and knows whether it lacks something */
void plan_examine(struct plan *plan, struct job *job);

/* the lacking instances of jobs are placed, or room is made or kept for them */
void plan_repair(struct plan *plan);

/* size and state of a touched job, once everything is decided */
void plan_finish(struct plan *plan, struct job *job);

/* by id, so that the outcome does not depend on the order of the events */
void jobs_sort(struct job **jobs, size_t n);
void job_set_lacking(struct cluster *cluster, struct job *job, bool lacking);

/* could_not_start - want.avoids, with a struct failed_starts */
bool could_not_start(const struct room *room, const void *userdata);
