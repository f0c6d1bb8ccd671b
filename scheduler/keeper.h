/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the scheduler's end of edl-lease-keeper (lease_keeper.c)
 *
 * It is called beside the servers, given a UDP socket at each of their TCP addresses, and called
 * again when it ended. It is a unit of its own, or a child (keeper_child.h). Without it everything
 * goes on, but for agents whose scheduler stands still: they end their processes with their lease.
 *
 * No node is judged by what a keeper of the last run may have promised: at the start that one is
 * called first and says that it ends, and leases are full from there on (keeper_record.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/keeper_child.h"
#include "shared/clock.h"

#define KEEPER_SOCKET_FILE "lease-keeper.sock" /* of a child, in the state folder */
#define KEEPER_RECORD_FILE "lease-keeper"      /* keeper_record.h */

struct keeper_node;
struct keeper_table;
struct node;
struct scheduler;

enum keeper_last {
    LAST_UNKNOWN, /* it has not answered yet */
    LAST_ENDED,   /* it answers no node any more */
    LAST_LOST,    /* it is not where it would be called */
};

struct keeper {
    struct keeper_table *table; /* mapped; NULL: there is no keeper */
    int table_fd;               /* owned */
    int call_fd;                /* owned: whoever has the other end serves us; -1: nobody */
    sd_event_source *io;        /* owned, of call_fd */
    sd_event_source *retry;     /* owned */
    struct keeper_child child;
    bool is_child;         /* else it is the service manager's */
    bool serves;           /* it has our table */
    enum keeper_last last; /* of the last run */
    uint64_t floor_us;     /* no lease ends before; 0: there is no such bound */
    char path[4096];       /* where it is called */
    char record[4096];
    struct keeper_node *nodes; /* owned; uthash by name */
    uint32_t n_slots;          /* given to nodes so far, in this run */
    bool leases_begun;         /* floor_us is known */
    bool complained;
};

#define KEEPER_NONE ((struct keeper){ .table_fd = -1, .call_fd = -1, .child = KEEPER_CHILD_NONE })

/* keeper_init - of KEEPER_NONE, after the state was loaded: ends the keeper of the last run, gives
 * all nodes full leases, and starts one; what fails is told and tried again. Blocks for seconds at
 * most */
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
