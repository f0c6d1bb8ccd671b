/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - shows the policy what changed and carries out what it decides */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/policy/policy.h"

struct cluster;
struct job;
struct plan;
struct planner;
struct policy;
struct policy_price;
struct role_spec;

/* tells it of a job that changed */
void plan_tell_policy(struct plan *plan, struct job *job);

/* all that changed was told: it may be asked who gives way */
void plan_prepare_policy(struct plan *plan);
void plan_ask_policy(struct plan *plan);

/* cluster_job_leaves_room - one more of it may be known not to help: it is slower with it by what
 * was measured, or stands still too long for a change, but for no longer than believed_s. O(1) */
bool cluster_job_leaves_room(const struct cluster *cluster, uint64_t id, double believed_s);

/* cluster_totals - the sums for a decision of the policy. cluster_limit_of - the first resource
 * with too little left for one more instance of the role; POLICY_RESOURCES: none. O(1) */
struct policy_totals cluster_totals(const struct cluster *cluster);
enum policy_resource cluster_limit_of(const struct cluster *cluster, const struct role_spec *role);

/* cluster_prices - of cores, memory and GPUs, as things are; false: the policy knows none. O(log
 * n), as policy.prices */
bool cluster_prices(const struct cluster *cluster, struct policy_price ret[POLICY_RESOURCES]);
