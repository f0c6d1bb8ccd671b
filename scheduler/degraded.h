/* SPDX-License-Identifier: Apache-2.0 */
/* degraded.h - read-only mode: nothing can be stored, because the disk is full, read-only or ill
 *
 * Memory goes back to the state on disk and stays there: reads are answered, writes are refused
 * with
 * 507, nothing is planned. Nodes keep their leases, so processes go on; agents keep ended ones and
 * tell of them again. The scheduler tries to write, ever more rarely, and goes on by itself. Used
 * by: scheduler. Tests: tests/unit/test_degraded.c, tests/integration/260-disk-full.sh. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/error.h"

struct http_request;
struct http_route;
struct node;
struct node_report;
struct scheduler;

struct degraded {
    bool on;
    bool away; /* it is the database that is away: memory may be ahead of it, and is shown to nobody
                */
    struct edl_error why;   /* how the last try to write failed */
    uint64_t since_us;      /* boot time */
    uint64_t delay_us;      /* from one try to the next */
    sd_event_source *retry; /* owned */
};

/* degraded_init - makes the timer */
int degraded_init(struct scheduler *scheduler, struct edl_error *error);
void degraded_done(struct scheduler *scheduler);

/* degraded_survives - a write that failed so may succeed another time; false: the stored data are
 * damaged */
bool degraded_survives(int code);

/* degraded_begin - read-only from here on, because of why; memory equals the disk. Tells callers
 * that wait for an answer that will not come. */
void degraded_begin(struct scheduler *scheduler, const struct edl_error *why);

/* degraded_begin_away - a turn's fate is not known, or another scheduler leads: nothing of the
 * state is told until it is loaded again, and nodes get leases alone (leadership.h) degraded_end -
 * the state is loaded: as after a start */
void degraded_begin_away(struct scheduler *scheduler, const struct edl_error *why);
void degraded_end(struct scheduler *scheduler);

/* degraded_committed - a turn is on disk: should it happen again, it is tried soon again */
void degraded_committed(struct scheduler *scheduler);

/* degraded_error - what a write is refused with: -ENOSPC (507), the folder, the room in it, what to
 * do; -ENOSPC is returned. Away, while a turn is in flight, or while the disk of a database is full
 * that several share: -EAGAIN (503) */
int degraded_error(const struct scheduler *scheduler, struct edl_error *error);

/* degraded_nameless - the same for callers whose credential was not looked at: the fault of a
 * shared database, without its server and files */
int degraded_nameless(const struct scheduler *scheduler, struct edl_error *error);

/* scheduler_ready - whether work can be taken: the restored state is stored, the store answers, the
 * last commit succeeded. 0, or -EAGAIN with error, which is not NULL */
int scheduler_ready(struct scheduler *scheduler, struct edl_error *error);

/* degraded_refuse - answers with degraded_error */
void degraded_refuse(const struct scheduler *scheduler, struct http_request *request);

/* degraded_serves - a request of that route needs nothing to be stored */
bool degraded_serves(const struct http_request *request, const struct http_route *route);

/* degraded_lease - the answer to a report of which nothing is stored yet: the lease alone */
json_t *degraded_lease(const struct scheduler *scheduler);

/* degraded_report - an agent's report while nothing can be stored: renews its lease, and says that
 * the rest was not taken. Refused: a node that is lost or was started again; nobody waits for it
 * with a lease. */
void degraded_report(struct scheduler *scheduler, struct http_request *request,
                     const struct node *node, const struct node_report *report);
