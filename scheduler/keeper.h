/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the scheduler's end of edl-lease-keeper (lease_keeper.c)
 *
 * It is started beside the servers, with a UDP socket at each of their TCP addresses, and again
 * when it ended. Without it everything goes on, but for agents whose scheduler stands still: they
 * end their processes with their lease. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/listen_spec.h"
#include "shared/clock.h"

struct keeper_node;
struct keeper_table;
struct node;
struct scheduler;

struct keeper {
    struct keeper_table *table; /* mapped; NULL: there is no keeper */
    int table_fd;               /* owned */
    int alive_fd;               /* owned: the keeper ends when it is closed */
    int pidfd;                  /* owned: of our unreaped child */
    sd_event_source *ended;     /* owned; NULL none runs */
    sd_event_source *retry;     /* owned */
    struct keeper_node *nodes;  /* owned; uthash by name */
    uint32_t n_slots;           /* given to nodes so far, in this run */
    bool complained;
};

/* keeper_init - starts it; what fails is told and tried again */
void keeper_init(struct scheduler *scheduler);
void keeper_done(struct keeper *keeper);

/* keeper_tell - for the answer to a report of this node, which was taken: how it asks the keeper
 * from now on. The caller's; NULL: there is none to ask */
json_t *keeper_tell(struct scheduler *scheduler, const struct node *node);

/* keeper_ask - of every node whose lease is over at now: was it heard? Then it goes on; if not, the
 * keeper answers it no more. Right before cluster_tick at the same instant. */
void keeper_ask(struct scheduler *scheduler, struct instant now);

/* keeper_forget - a node that was removed is answered no more */
void keeper_forget(struct keeper *keeper, const char *node);
