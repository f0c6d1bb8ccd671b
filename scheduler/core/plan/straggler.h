/* SPDX-License-Identifier: Apache-2.0 */
/* straggler.h - an instance that is much slower than its others goes to a faster node */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct act;
struct instant;
struct job;
struct plan;
struct process;

/* move_gain_s - so much earlier its job is over when it works so much faster (as a logarithm) from
 * now on; move_cost_s - so much later, by the move. Its gain has to be so many times as much
 */
#define MOVE_WORTH_COSTS 2
double move_gain_s(const struct process *process, double gain_log);
double move_cost_s(const struct process *process, struct instant now);

void plan_stragglers(struct plan *plan);

/* job_can_move - it can spare one for a while, and none was moved lately; process_can_move - it is
 * at work there, and may leave it */
bool job_can_move(const struct job *job, uint32_t role, struct instant now);
bool process_can_move(const struct process *process);

/* process_tell_move - its move (ACT_MOVE), as its reason, an event and its job's decision */
void process_tell_move(struct plan *plan, const struct process *process, const struct act *how);
