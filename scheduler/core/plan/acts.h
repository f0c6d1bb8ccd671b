/* SPDX-License-Identifier: Apache-2.0 */
/* acts.h - the acts of a plan: a list of values, each applied at once
 *
 * The plan looks at the model again behind each: the next search has the rooms as they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/apply.h"

struct cluster;
struct job;
struct node;
struct plan;
struct planner;
struct process;

/* Of the last plan, in their order. */
struct act_list {
    struct act *items; /* owned, with their texts */
    size_t n, cap;
};

/* plan_do - applies it (act_apply), and notes it unless that fails. Its text is copied
 * plan_assign, plan_stop, plan_target - ACT_RUN, ACT_STOP, ACT_TARGET
 * plan_size, plan_requeue - ACT_SIZE, ACT_REQUEUE, with a sentence
 * plan_event - ACT_EVENT, likewise
 * plan_touch - the job is looked at by this plan: no act, but a mark */
bool plan_do(struct cluster *cluster, const struct act *act, struct instant now);
bool plan_assign(struct plan *plan, struct job *job, uint32_t role, uint32_t index,
                 struct node *node);
void plan_stop(struct plan *plan, struct process *process, bool again, enum cause cause,
               const char *reason);
void plan_size(struct plan *plan, const struct job *job, enum resize_reason reason,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
void plan_target(struct plan *plan, struct job *job, uint32_t role, uint32_t n);
void plan_requeue(struct plan *plan, const struct job *job, enum cause cause, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
void plan_event(struct plan *plan, const struct job *job, const char *event, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
void plan_touch(struct cluster *cluster, struct job *job);

/* cluster_acts - those of the last plan; valid until the next one. acts_clear - nothing */
const struct act *cluster_acts(const struct cluster *cluster, size_t *ret_n);
void acts_clear(struct act_list *list);
