/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - the acts of a plan, as values
 *
 * A plan decides, and hands each decision over as one of these; act_apply is the only function by
 * which a plan changes the model. The same acts in the same order do the same to a copy of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/figures.h"
#include "shared/clock.h"

struct cluster;

enum act_kind {
    ACT_BILL,     /* the bill of its user: served, charged */
    ACT_PAID,     /* it is over, and all of its cost is charged */
    ACT_SERVERS,  /* it starts with n parameter servers, and waits no longer */
    ACT_START,    /* it starts with n processes, and waits no longer: ACT_RUN follows for each */
    ACT_RUN,      /* an instance starts on the node */
    ACT_STOP,     /* that incarnation stops; again: and comes back */
    ACT_MOVE,     /* that incarnation goes to another place: it is told so */
    ACT_SIZE,     /* the reason of its next change of size */
    ACT_TARGET,   /* n instances of the role are wanted */
    ACT_GIVES,    /* n instances go at the end of their tasks */
    ACT_FORGO,    /* the slot is not filled again */
    ACT_EXCHANGE, /* the slot waits for the place of for_job's; 0: for none any more */
    ACT_DELAY,    /* the slot is not filled before us */
    ACT_REQUEUE,  /* it stops, and waits again */
    ACT_PARK,     /* the same, for for_job */
    ACT_FIRST,    /* it goes before all others that wait, until it starts */
    ACT_WAITS,    /* whether (n) a replacement of its minimum waits for room */
    ACT_DRAINS,   /* the jobs that the draining node waits for */
    ACT_EVENT,    /* an event for people */
    ACT_REASON,   /* where it stands among those that wait */
    ACT_SETTLE,   /* its state and reason follow from its instances */
    _ACTS
};

/* Only the members that its kind names are set. */
struct act {
    enum act_kind kind;
    bool again;
    enum cause cause;
    enum resize_reason resize;
    uint32_t role, index, n;
    uint64_t job, for_job; /* their numbers; 0: none */
    uint64_t incarnation;
    uint64_t served, charged, us;
    const char *node;  /* its name; borrowed */
    const char *event; /* EVENT, MOVE: its name, a constant */
    const char *text;  /* a sentence; NULL: none */
};

/* act_apply - does it; false: it could not be done, and nothing was */
bool act_apply(struct cluster *cluster, const struct act *act, struct instant now);

/* act_describe - "run train-1 worker-2 on node-4", as the model is behind it. Returns the buffer */
char *act_describe(const struct cluster *cluster, const struct act *act, char *buffer, size_t size);
