/* SPDX-License-Identifier: Apache-2.0 */
/* give.h - a job gives instances up between two tasks */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct plan;

/* plan_set_gives - so many of its instances go at the end of their tasks (ACT_GIVES) */
void plan_set_gives(struct plan *plan, struct job *job, uint32_t n);
void plan_count_gives(struct plan *plan, struct job *job);
bool plan_give(struct plan *plan, struct job *job);
uint32_t job_gives(const struct job *job, uint32_t role);
