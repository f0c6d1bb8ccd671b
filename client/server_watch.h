/* SPDX-License-Identifier: Apache-2.0 */
/* server_watch.h - whom to look at while a call to one of several schedulers is not answered
 *
 * A look is GET /healthz: it has no token and changes nothing. A call that is answered at once
 * costs none. Else looks begin one after the other, as connections do in RFC 8305: the first that
 * answers as a leader wins, and the call moves there. Pure. Tests: tests/unit/test_server_watch.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/server_list.h"

#define WATCH_STEP_US UINT64_C(400000)   /* a call is left alone for so long; then between looks */
#define WATCH_AGAIN_US UINT64_C(2000000) /* between looks once each was looked at: a long poll */

struct server_watch {
    unsigned n;         /* addresses */
    unsigned current;   /* where the call is */
    unsigned turn;      /* how often looks were due since it began there */
    uint32_t looking;   /* a bit for each look under way */
    bool unheard;       /* the last look at the current one ended without a word that counts */
    uint32_t named;     /* a bit for each that another one named since looks were due */
    uint32_t led;       /* a bit for each that said that it leads, in an earlier call too */
    uint32_t strangers; /* a bit for each that did not know the token when it was asked last */
    uint64_t term[SERVERS_MAX]; /* that it said then; 0: it has none */
    uint64_t highest;           /* of all of them */
};

/* What an answer to a look says. */
struct server_word {
    bool leads;
    unsigned named; /* who leads instead; SERVERS_MAX: it does not say, or none of ours */
    uint64_t term;  /* of whoever leads; 0: none */
};

/* What follows from it. */
struct server_step {
    bool moves; /* the call, to `to` */
    unsigned to;
    uint32_t looks; /* that begin now, a bit for each: at the one that is named as the leader */
};

/* server_watch_call - a call begins at this one, or moves there; no look is under way. All
 * knowledge of the schedulers stays. */
void server_watch_call(struct server_watch *watch, unsigned n, unsigned current);

/* server_watch_answered - the call was, where it is; is_stranger: that one does not know the token,
 * as one of another cluster. No call moves there until it answers otherwise, but from one that says
 * nothing at all: the refusal is told then. */
void server_watch_answered(struct server_watch *watch, bool is_stranger);

/* server_watch_due - the time has come; a bit for each look that begins now. *ret_next_us: until
 * they are due again */
uint32_t server_watch_due(struct server_watch *watch, uint64_t *ret_next_us);

/* server_watch_heard - the look at this one is over; NULL: without a word that counts
 * The call moves to a leader: at once where the one that it is at has not said that it leads, else
 * to one of a higher term. One of a lower term than the highest was deposed. */
struct server_step server_watch_heard(struct server_watch *watch, unsigned at,
                                      const struct server_word *word);
