/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - starts waiting gangs, in order of priority and turn (queue.c); those of groups that
 * have less than is guaranteed to them first */
#pragma once

#include <stdbool.h>

struct cluster;
struct plan;

/* Classes of waiting jobs that are tried in vain in one plan, so that a long queue of different
 * jobs costs a bounded time (Slurm's bf_max_job_test). Of those behind, as many are tried with the
 * room that is free now, and only those that the largest holes and the sum of them may hold. */
#define QUEUE_DEPTH 128

void plan_queue(struct plan *plan);

/* the load of stopping processes holds some promised job back no longer */
void plan_queue_release(struct plan *plan);

/* somebody waits who could profit from another look */
bool plan_queue_waits(const struct cluster *cluster);
