/* SPDX-License-Identifier: Apache-2.0 */
/* give.h - a job gives instances up between two tasks */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct plan;
struct planner;

void plan_count_gives(struct planner *planner, struct job *job);
bool plan_give(struct plan *plan, struct job *job);
uint32_t job_gives(const struct job *job, uint32_t role);
