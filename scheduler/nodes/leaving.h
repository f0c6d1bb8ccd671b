/* SPDX-License-Identifier: Apache-2.0 */
/* leaving.h - an orderly stop: nodes hear for how long they may go on alone
 *
 * After a signal: the machine's service manager says whether the machine ends, and that time is
 * stored together with the due changes. Each node that polls is told, and the process ends. Nothing
 * is changed or judged meanwhile. A failure on that way ends the process as a crash would, which
 * disturbs nobody more. Used by: scheduler.c, turn.c, dispatch.c, api/orders.c. Tests:
 * tests/integration/253-orderly-stop.sh. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct http_route;
struct machine_ends;
struct node;
struct scheduler;

struct leaving {
    bool on;                    /* nothing but orders is served any more */
    bool known;                 /* whether the machine ends */
    bool sent;                  /* the turn that stores it is on its way */
    bool told;                  /* it is stored, and nodes may know */
    uint64_t away_us;           /* the times that they are told */
    struct machine_ends *asked; /* owned */
    sd_event_source *end;       /* owned */
    unsigned n_left;            /* nodes that have not asked yet */
};

/* leaving_go_on - no turn is in flight any more */
void leaving_go_on(struct scheduler *scheduler);

/* leaving_begin - once; the process ends within seconds. A second time: at once */
void leaving_begin(struct scheduler *scheduler);
void leaving_done(struct leaving *leaving);

/* leaving_serves - a request of that route; else error says why not */
bool leaving_serves(const struct scheduler *scheduler, const struct http_route *route,
                    struct edl_error *error);

/* leaving_orders - to add to the orders of this node, which asked at asked_us (boot time); false:
 * it was told before, or is not to be told: no orders for it any more */
bool leaving_orders(struct scheduler *scheduler, struct node *node, uint64_t asked_us,
                    json_t *orders);
