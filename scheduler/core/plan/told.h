/* SPDX-License-Identifier: Apache-2.0 */
/* told.h - the jobs that a plan tells where they stand */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/plan/planned.h"

struct cluster;
struct job;
struct planner;

/* queue_tell - tells a waiting job where it stands, if that is news. Its reason is written when the
 * plan is ready: ask/reason.c */
void queue_tell(struct cluster *cluster, struct job *job, enum queue_verdict verdict);

/* plan_has_its_share - its group has as much as is guaranteed to it, and the job waits for room */
bool plan_has_its_share(const struct cluster *cluster, const struct job *job,
                        enum queue_verdict verdict);

/* plan_told - the jobs, each once; plan_told_clear - their reasons were written */
struct job *const *plan_told(const struct planner *planner, size_t *ret_n);
void plan_told_clear(struct planner *planner);
