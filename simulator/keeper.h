/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - agents that have their leases kept while the scheduler stands still (keeper.c) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/events/kept_word.h"
#include "shared/clock.h"

struct event;
struct sim;
struct sim_node;

struct sim_keep {          /* one node's */
    _Atomic uint64_t word; /* in the memory of scheduler and keeper */
    uint64_t random;
    uint32_t generation; /* as the agent was told */
    bool asks;           /* its agent has a timer for it */
};

/* keep_tell - in the answer to a report; 0: there is nothing to ask for */
uint32_t keep_tell(struct sim *sim, struct sim_node *node);
/* keep_told - by the answer to a report that the agent heard */
void keep_told(struct sim *sim, struct sim_node *node, uint32_t told);

/* keep_event - EVENT_KEEP_ASK (its agent's timer), KEEP_ASKED (at the keeper), KEPT (at the agent)
 */
void keep_event(struct sim *sim, const struct event *event);

/* keep_judge - right before cluster_tick; keep_forget - of a node that was removed; keep_end - the
 * scheduler has, or its machine with the keeper; keep_begin - another scheduler, which knows
 * nothing of what the last one's keeper said, and to which that one has said that it ends */
void keep_judge(struct sim *sim, struct instant now);
void keep_forget(struct sim_node *node);
void keep_end(struct sim *sim, bool is_reboot);
void keep_begin(struct sim *sim);
