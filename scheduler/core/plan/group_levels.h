/* SPDX-License-Identifier: Apache-2.0 */
/* group_levels.h - what each group holds of the cluster, beside its guarantee */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct job;
struct planner;
struct process;
struct resources;

/* groups_begin - their table as the model has it; with another one all jobs are counted afresh
 * group_count - the job's part of the sum of its group, afresh. O(roles)
 * groups_look - the sums of each as they are counted */
void groups_begin(struct planner *planner);
void group_count(struct planner *planner, struct job *job);
void groups_look(struct planner *planner);

/* wanted_of_job - the grants of a started job and those to come, or the gang that room is made for;
 * else nothing. O(roles) */
struct resources wanted_of_job(const struct job *job);

/* group_give - its group gives the process away (1), in a search for victims, or has it again (-1)
 */
void group_give(struct planner *planner, const struct process *process, int sign);

/* as policy_group_level */
int64_t group_level(const struct planner *planner, uint32_t group);
bool group_is_below(const struct planner *planner, uint32_t group);

/* its part of the cluster */
double group_percent(const struct planner *planner, uint32_t group);

/* that job may hold so much and its group has no more than its guarantee */
bool group_may_hold(const struct planner *planner, const struct job *job,
                    const struct resources *holds);

/* it may be shrunk away and its group keeps what is guaranteed to it */
bool group_may_lend(const struct planner *planner, const struct process *process);

/* cluster_group_held_permille - what its jobs hold, lack and are promised of the cores or of the
 * GPUs, whichever is more. 0 for a group that it was not told of */
uint32_t cluster_group_held_permille(const struct cluster *cluster, const char *name);
