/* SPDX-License-Identifier: Apache-2.0 */
/* leadership.h - which of several schedulers leads
 *
 *   alone                                    one database in the state directory, one process
 *   standby --(lock, term, load)--> leader --(term ended, database away)--> away --(the same)-->
 * leader
 *
 * With a database that several schedulers share each process starts as a standby. A thread waits
 * for the lock of the database and takes the next term there (candidate.h); the loop loads what is
 * stored, and leads. A leader whose term ended, or whose database is away, may be ahead of what is
 * stored: it answers nothing but public calls, and reports as long as its permission lasts
 * (permission.h). The same process tries again.
 *
 * Used by: scheduler. Tests: tests/unit/test_leadership.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/permission.h"
#include "scheduler/options.h"

struct candidate;
struct edl_error;
struct http_request;
struct http_route;
struct scheduler;

enum leadership_role {
    ROLE_ALONE,   /* nobody else can write: it has no term and needs no permission */
    ROLE_STANDBY, /* has led nothing yet: its cluster is empty */
    ROLE_LEADER,
    ROLE_AWAY, /* led; memory may be ahead of the database */
};

#define SCHEDULERS_MAX 8 /* that are told to agents */

/* A scheduler of the cluster. */
struct scheduler_peer {
    char name[SCHEDULER_NAME_MAX + 1];
    char address[SCHEDULER_ADDRESS_MAX]; /* "": a Unix socket only */
    uint64_t seen_wall_us;               /* the database heard of it; 0: never */
};

struct leadership {
    enum leadership_role role;
    uint64_t term; /* the last that this process led; 0: none */
    uint64_t since_wall_us;
    struct scheduler_peer self;
    struct scheduler_peer leader; /* as the database last told; name "": not known */
    uint64_t leader_term;
    struct scheduler_peer others[SCHEDULERS_MAX];
    size_t n_others;
    struct permission permission;
    uint64_t ended_by_word_us; /* boot time; a report told of a higher term, and this one ended */
};

const char *leadership_role_to_string(enum leadership_role role);

/* leadership_init - role, name and address, from the options and the open listeners */
void leadership_init(struct scheduler *scheduler);

/* leadership_may_lease - whether an answer made now may tell a lease */
bool leadership_may_lease(const struct scheduler *scheduler);

/* leadership_check - whether a call of that route is answered in this role: 0, or -EAGAIN with
 * error, and the header EDL-Leader set. For http_server_config.authorise: nobody's credential was
 * looked at, as a standby knows none */
int leadership_check(const struct scheduler *scheduler, struct http_request *request,
                     const struct http_route *route, struct edl_error *error);

/* leadership_serves - the same for a request that is whole; false: it was answered */
bool leadership_serves(const struct scheduler *scheduler, struct http_request *request,
                       const struct http_route *route);

/* leadership_stored - the database has a turn that was sent at sent_us (CLOCK_BOOTTIME) */
void leadership_stored(struct scheduler *scheduler, uint64_t sent_us);

/* leadership_lost - a turn cannot be known to be stored (-ENOTCONN), or another one leads
 * (-ESTALE): away from here on. Whoever calls it has answered the turn's requests */
void leadership_lost(struct scheduler *scheduler, const struct edl_error *error);

/* leadership_add - the term and the addresses of all schedulers, to an answer for an agent; returns
 * object. Nothing where one is alone */
json_t *leadership_add(const struct scheduler *scheduler, json_t *object);

/* leadership_hear - the highest term that an agent knows, in its report: a leader of an earlier one
 * is none any more. false: the request was answered */
bool leadership_hear(struct scheduler *scheduler, struct http_request *request, const char *node,
                     uint64_t term);

/* leadership_health - for GET /healthz: {"status": "ok", ...} */
json_t *leadership_health(const struct scheduler *scheduler);
