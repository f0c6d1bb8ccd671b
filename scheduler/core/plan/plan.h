/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - planning: from the present to the wanted state */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/plan/servers.h"
#include "shared/clock.h"

struct cluster_config;
struct node;
struct policy;

/* Searches for victims that find none, in one plan. */
#define SEARCHES_MAX 16

/* One pass. */
struct plan {
    struct cluster *cluster;
    struct planner *planner;
    struct instant now;
    unsigned searches;  /* left, of SEARCHES_MAX */
    bool check_hold;    /* a job that was started before it may be in the way of the gang that nodes
                           are kept for */
    bool owner_refused; /* a growth, for a limit that others of its owner came to in this pass */
    bool searched;      /* single nodes were looked at for victims */
    struct placed *before; /* the reservations of the repaired job from the last time; owned */
    size_t n_before, at_before;
    struct spare spare;
    char load[64]; /* for reasons: "load 61.2% of 97.0%" */
};

struct planner *planner_new(const struct cluster_config *config);
struct planner *planner_free(struct planner *planner, const struct policy *policy);

/* plan_pass - one pass, the first of a plan looks at everything; new possibilities want another:
 * cluster->plan_wanted
 * plan_is_quiet - after a restart, until the nodes were heard or a part of a lease is over
 * plan_settle - while it is quiet: events are told, and their consequences wait */
void plan_pass(struct cluster *cluster, bool first, struct instant now);
bool plan_is_quiet(struct cluster *cluster, struct instant now);
void plan_settle(struct cluster *cluster, struct instant now);
