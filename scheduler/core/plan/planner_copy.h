/* SPDX-License-Identifier: Apache-2.0 */
/* planner_copy.h - the memory of plans, for a copy of a cluster */
#pragma once

struct cluster;

/* planner_copy - copy has all jobs of the other that are not over, and has not planned yet */
void planner_copy(struct cluster *copy, const struct cluster *cluster);
