/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - what planning keeps between two plans */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/array_room.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/policy/policy.h"

struct planner {
    struct cluster *cluster;                     /* borrowed: its own */
    struct capacity rooms;                       /* of the nodes that take processes */
    struct capacity offered;                     /* of all nodes, as if nothing ran there */
    struct resources total, requested, stopping; /* the figures for the policy */
    struct resources given; /* of requested, the instances that jobs give up at the end of a task */
    struct resources held;  /* granted, stopping instances included, and foreign load */
    struct policy_state *policy;
    struct job **told; /* whose standing changed in this plan; owned */
    size_t n_told, cap_told;
    struct act_list acts;  /* of the last plan */
    uint64_t moved_us;     /* when it moved somebody last */
    struct deadline asked; /* when it is asked again, where a plan had to wait for that */
    struct queue queue;
    bool queue_moves;    /* something might fit that did not when the queue was last gone through */
    struct job *lacking; /* list: started, and short of something */
    struct policy_group groups[POLICY_GROUPS_MAX];  /* the sum of each, when there are any */
    struct resources group_sums[POLICY_GROUPS_MAX]; /* the same, while a search marks victims */
    uint32_t n_groups;                              /* with the one without a name: 1 or more */
    uint64_t groups_version;                        /* of the model's table */
    struct resources *owner_sums[OWNER_SUMS];       /* of each owner with limits; owned */
    uint32_t n_owners;
    struct array_room *arrays; /* uthash by key, those with a bound and started jobs; owned */
    bool groups_changed;       /* sums of groups or owners, since the queue was wanted */
    struct deadline park;      /* when it is looked at next whether jobs give way */
    bool park_due;             /* whether jobs give way is looked at by the next plan */
    uint64_t drain_pass;       /* over the nodes that drain: each job is looked at once */
};
