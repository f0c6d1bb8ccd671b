/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - the step between the HTTP server and the handlers of the route table: it serves a
 * caller now, lets it wait, or asks it to come again
 *
 * Used by: listeners.c, turn.c, scheduler.c. Tests: tests/unit/test_turn.c,
 * tests/unit/test_dispatch.c, tests/integration/161-fair.sh. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/core/base/histogram.h"
#include "scheduler/calls/dispatch_tier.h"
#include "scheduler/calls/fair.h"
#include "scheduler/calls/refusals.h"

struct edl_error;
struct http_request;
struct http_route;
struct scheduler;

struct dispatch {
    struct fair *waiting[DISPATCH_TIERS]; /* owned */
    size_t n_read;                        /* of them, with what was read of a large body */
    struct refusals refusals;
    sd_event_source *serve;  /* owned */
    sd_event_source *opened; /* owned; ends what opening says */
    bool opening;            /* nodes are to be heard first: changes that people ask for wait */
    unsigned passed_over;    /* passes of the loop since it was dispatched */
    uint64_t pass;           /* of the loop, in which was spent: */
    uint64_t spent_us[DISPATCH_TIERS]; /* in handlers */
    struct histogram waits[DISPATCH_TIERS];
    uint64_t longest_wait_us[DISPATCH_TIERS];
    uint64_t refused[FAIR_ANSWERS]; /* by why; none of FAIR_TAKEN */
};

/* dispatch_init - the loop must be there */
int dispatch_init(struct scheduler *scheduler, struct edl_error *error);

/* dispatch_open - the scheduler is about to listen: until all nodes that had a lease have reported,
 * or a fifth of one is over (1 s at most), changes that people ask for wait, so that none comes
 * before the reports */
void dispatch_open(struct scheduler *scheduler);

/* dispatch_done - forgets what still waits (the server is gone) */
void dispatch_done(struct scheduler *scheduler);

/* dispatch - http_server_config.dispatch; userdata is the scheduler. Calls the route's handler now;
 * or later, when others wait, when this pass of the loop has done enough of its kind, or, as it
 * reads state, when a turn is under way; or answers 429. */
void dispatch(struct http_request *request, const struct http_route *route, void *userdata);

/* dispatch_read - the same for a request whose body was read beside the loop (body_reads.h);
 * since_us: it waits */
void dispatch_read(struct scheduler *scheduler, struct http_request *request, uint64_t since_us);

/* dispatch_again - the same for a request that was handled, and postponed (asking.h) */
void dispatch_again(struct scheduler *scheduler, struct http_request *request);

/* dispatch_readers - the turn is committed: handles what waited for that, as much as one pass of
 * the loop may; the rest follows */
void dispatch_readers(struct scheduler *scheduler);

/* dispatch_landed - the turn in flight is stored, or is not: what nodes said meanwhile comes before
 * anything else, and before the next turn */
void dispatch_landed(struct scheduler *scheduler);

/* A look for news that may wait its turn; a member of its owner's object. */
struct dispatch_poll {
    struct fair_item item; /* first */
    void (*look)(struct dispatch_poll *poll);
    uint64_t since_us; /* it waits */
};

/* dispatch_caller - whose turn a request takes, for dispatch_poll */
void dispatch_caller(struct scheduler *scheduler, struct http_request *request,
                     char ret[FAIR_NAME_MAX]);

/* dispatch_poll - look is called between two turns, when the caller's turn comes; one that waits
 * already goes on waiting. dispatch_unpoll: it is not called any more */
void dispatch_poll(struct scheduler *scheduler, const char *caller, struct dispatch_poll *poll);
void dispatch_unpoll(struct scheduler *scheduler, struct dispatch_poll *poll);

/* dispatch_wake - a forecast has ended: the next one that waits may be made */
void dispatch_wake(struct scheduler *scheduler);

/* dispatch_refuse - the state is lost: waiting callers are asked to try again */
void dispatch_refuse(struct scheduler *scheduler);

/* dispatch_n_readers - how many reads wait */
size_t dispatch_n_readers(const struct scheduler *scheduler);
