/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - what time alone will bring, the first one first
 *
 * Each job and node embeds its own deadlines; setting, moving and dropping one is O(log n). */
#pragma once

#include <stdint.h>

#include "scheduler/core/base/tree.h"
#include "shared/macro.h"

enum deadline_kind {
    DEADLINE_BACKOFF, /* a job: the first of its slots that may start again */
    DEADLINE_TASKS,   /* a job: the first of its leased tasks that is too late */
    DEADLINE_JOB,     /* a job: when it has to be over */
    DEADLINE_LIMIT,   /* a job: when it will have run for its time limit */
    DEADLINE_FOREIGN, /* a node: its foreign load has been lower for long enough */
    DEADLINE_SPEED,   /* a node: nobody has measured its speed for long */
    DEADLINE_IDLE,    /* a job: nothing of it was seen to idle for long */
    DEADLINE_BACKLOG, /* a service: what its instances tell of their queues is looked at */
    DEADLINE_UNFIT,   /* a job: the nodes that could not run it are tried again */
    DEADLINE_PROOF,   /* a job: a process of it will have shown that it runs */
    DEADLINE_REST,    /* a job: the policy moved it, and may do so again */
    DEADLINE_POLICY,  /* the cluster: the policy is asked again */
    DEADLINE_PARK,    /* the cluster: whether jobs give way for others is looked at again */
    DEADLINE_QUIET,   /* the cluster: a plan no longer waits for silent nodes or for its share */
};
#define DEADLINE_KINDS (DEADLINE_QUIET + 1)

/* Whose it is says its kind: it is embedded in that (deadlines_fire). */
struct deadline {
    struct tree_node tree; /* first: a tree's node is its deadline */
    uint64_t at_us;        /* valid while it is set */
    uint64_t serial : 56;  /* breaks ties: the one that was set first ever */
    uint64_t kind : 8;     /* enum deadline_kind */
};

struct deadlines {
    struct tree tree;
    size_t n[DEADLINE_KINDS]; /* that are set */
    uint64_t next_serial;
};

void deadlines_init(struct deadlines *deadlines);
/* deadline_set - at_us NEVER_US: none any more */
void deadline_set(struct deadlines *deadlines, struct deadline *deadline, enum deadline_kind kind,
                  uint64_t at_us);
/* NEVER_US when it is not set */
static inline uint64_t deadline_at(const struct deadline *deadline)
{
    return tree_holds(&deadline->tree) ? deadline->at_us : NEVER_US;
}
/* the first of all, or NULL */
struct deadline *deadlines_first(const struct deadlines *deadlines);
