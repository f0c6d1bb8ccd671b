/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.h - what a started job lacks is kept a place for, the same from plan to plan */
#pragma once

#include <stdint.h>

struct job;
struct placed;
struct plan;
struct want;

/* around the repair of a job: between them its places of before are at hand, and new ones noted */
void plan_reserve_begin(struct plan *plan, struct job *job);
void plan_reserve_end(struct plan *plan);

/* the next place that this role had, if it fits later; NULL: choose another */
struct room *plan_reserved_before(struct plan *plan, uint32_t role, const struct want *want);

/* takes the place off the index, and notes it; place: copied */
void plan_reserve(struct plan *plan, struct job *job, const struct placed *place);
void plan_reserve_forget(struct job *job);
