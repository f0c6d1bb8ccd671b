/* SPDX-License-Identifier: Apache-2.0 */
/* half_gangs.h - jobs that keep each other from being complete */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct capacity;
struct job;
struct plan;

/* plan_note_stuck - whether a lacking job's minimum cannot be completed, after it was repaired */
void plan_note_stuck(struct plan *plan, struct job *job, bool stuck);

/* plan_half_gangs - of jobs that keep each other from being complete for long, those that rank last
 * give up; jobs: all that lack, by rank, with nothing reserved */
void plan_half_gangs(struct plan *plan, struct job *const *jobs, size_t n);

/* plan_give_back - all that a job holds and does not stop anyhow, until the rooms are rolled back
 */
void plan_give_back(struct capacity *rooms, const struct job *job);
