/* SPDX-License-Identifier: Apache-2.0 */
/* acts.h - what a plan does to the model, which it looks at again then: the next search has the
 * rooms as they are */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/model/cause.h"

struct cluster;
struct job;
struct node;
struct plan;
struct process;

/* plan_assign, plan_stop, plan_settle_job - as process_assign, process_stop, job_settle
 * plan_touch - as job_touch */
bool plan_assign(struct plan *plan, struct job *job, uint32_t role, uint32_t index,
                 struct node *node);
void plan_stop(struct plan *plan, struct process *process, bool again, enum cause cause,
               const char *reason);
void plan_settle_job(struct plan *plan, struct job *job);
void plan_touch(struct cluster *cluster, struct job *job);
