/* SPDX-License-Identifier: Apache-2.0 */
/* leadership.h - which of several schedulers leads
 *
 *   alone                                    one database in the state directory, one process
 *   standby --(lock, term, load)--> leader
 *   leader --(term ended, database away)--> away --(lock, term, load)--> leader
 *
 * With a database that several schedulers share each process starts as a standby. A thread waits
 * for the lock of the database and takes the next term there (candidate.h); the loop loads what is
 * stored, and leads. A leader whose term ended, or whose database is away, may be ahead of the
 * database: it answers nothing but public calls, and reports as long as its permission lasts
 * (permission.h). The same process tries again.
 *
 * Used by: scheduler. Tests: tests/unit/test_leadership.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "scheduler/core/base/permission.h"
#include "scheduler/leadership/shared_database.h"
#include "scheduler/options.h"
#include "shared/error.h"

struct candidate;
struct watch;
struct http_request;
struct http_route;
struct scheduler;

enum leadership_role {
    ROLE_ALONE,   /* nobody else can write: it has no term and needs no permission */
    ROLE_STANDBY, /* has led nothing yet: its cluster is empty */
    ROLE_LEADER,
    ROLE_AWAY, /* led; memory may be ahead of the database */
};
enum { LEADERSHIP_ROLES = ROLE_AWAY + 1 };

struct leadership {
    enum leadership_role role;
    uint64_t term; /* the last that this process led; 0: none */
    uint64_t since_wall_us;
    struct scheduler_peer self;
    struct scheduler_peer leader; /* as the database last told; name "": not known */
    uint64_t leader_term;
    uint64_t kept_term;   /* the highest of which known_term.h knows */
    uint64_t unkept_term; /* of the last try to keep one */
    bool was_open;        /* the database, by this process; it is the cluster's */
    struct scheduler_peer others[SCHEDULERS_MAX];
    size_t n_others; /* all but this one */
    struct permission permission;
    uint64_t told_term;        /* the highest that a report told and that may be; 0: none did */
    uint64_t ended_by_word_us; /* boot time; a report told of a higher term, and this one ended */
    bool ends;                 /* it did so while a turn was in flight: the term ends behind that */
    struct shared_facts facts; /* the newest; the members above are made of them */
    uint64_t facts_us;         /* boot time; 0: there are none, or the database is away */
    struct edl_error why;      /* the last failure of the candidate; code 0: it waits */
    uint64_t began_us;         /* boot time of this process' first try */
    bool clock_is_wrong;       /* it was told so */
    bool copy_is_missed;       /* the same: commits wait for a copy */
    bool ready;                /* the service manager was told so */
    const struct shared_database *database;
    struct candidate *candidate; /* owned; NULL: alone */
    struct watch *watch;         /* owned; the same */
    sd_event_source *alive;      /* owned; signs of life of a leader */
    sd_event_source *ending;     /* owned; for `ends` */
    char status[500];            /* as it was told to the service manager */
    char advice[1000];           /* about the database, a line each, as the term began */
};

const char *leadership_role_to_string(enum leadership_role role);

/* leadership_shown_role - for people: one that led is a standby again when another one is known to
 * lead. Its own role stays away until it loads the state anew */
enum leadership_role leadership_shown_role(const struct leadership *leadership);

/* leadership_init - role, name and address, from the options and the open listeners */
void leadership_init(struct scheduler *scheduler);

/* leadership_begin - where several share a database: begins to wait to lead; the service manager is
 * told when it does. leadership_done - ends that, and waits for nothing */
int leadership_begin(struct scheduler *scheduler, struct edl_error *error);
void leadership_done(struct scheduler *scheduler);

/* leadership_knows_state - what memory has may be shown: it is stored, and nobody else leads */
bool leadership_knows_state(const struct scheduler *scheduler);

/* leadership_may_lease - whether an answer made now may tell a lease */
bool leadership_may_lease(const struct scheduler *scheduler);

/* leadership_is_fresh - it proved of late that it leads: another one may have begun a moment ago at
 * the earliest. Without, nothing that a node reports is taken, and nothing is refused it for good
 */
bool leadership_is_fresh(const struct scheduler *scheduler);

/* leadership_doubt - a node's call was refused with error: where that is not fresh the refusal is
 * one for now, as the node may have joined anew elsewhere. Returns error's code */
int leadership_doubt(const struct scheduler *scheduler, const struct http_route *route,
                     struct edl_error *error);

/* leadership_check - whether a call of that route is answered in this role: 0, or -EAGAIN with
 * error, and the header EDL-Leader set. For http_server_config.authorise: nobody's credential was
 * looked at, as a standby knows none */
int leadership_check(const struct scheduler *scheduler, struct http_request *request,
                     const struct http_route *route, struct edl_error *error);

/* leadership_may_open - in some role a call of that route is answered to everybody
 * leadership_opens - in this role it is: its answer has nothing of the cluster in it */
bool leadership_may_open(const struct http_route *route);
bool leadership_opens(const struct scheduler *scheduler, const struct http_route *route);

/* leadership_serves - the same for a request that is whole; false: it was answered */
bool leadership_serves(const struct scheduler *scheduler, struct http_request *request,
                       const struct http_route *route);

/* leadership_stored - the database has a turn that was sent at sent_us (CLOCK_BOOTTIME) */
void leadership_stored(struct scheduler *scheduler, uint64_t sent_us);

/* leadership_lost - a turn cannot be known to be stored (-ENOTCONN), or another one leads
 * (-ESTALE): away from here on, and a candidate. The last step of scheduler_away (turn.c) */
void leadership_lost(struct scheduler *scheduler, const struct edl_error *error);

/* leadership_outlives - a turn failed so, and the term goes on: the disk of the database is full,
 * and the database itself said that it undid the turn */
bool leadership_outlives(const struct scheduler *scheduler, int code);

/* leadership_ends_at - after a failure of any other kind another scheduler may lead from now on: a
 * new term alone knows what is stored */
bool leadership_ends_at(const struct scheduler *scheduler, int code);

/* leadership_end - this one's term is over by its own knowledge; behind a turn that is in flight */
void leadership_end(struct scheduler *scheduler, const struct edl_error *why);

/* leadership_add - the term and the addresses of all schedulers, to an answer; returns
 * object. Nothing where one is alone */
json_t *leadership_add(const struct scheduler *scheduler, json_t *object);

/* leadership_hear - the highest term that an agent knows, in its report: a leader of an earlier one
 * is none any more. Its next term begins above: a database that was put back to an earlier moment
 * has lost terms, and agents take no lower one. A number that no cluster can have reached counts
 * for nothing. false: the request was answered */
bool leadership_hear(struct scheduler *scheduler, struct http_request *request, const char *node,
                     uint64_t term);

/* leadership_health - for GET /healthz: {"status": "ok", ...}; anybody may see it */
json_t *leadership_health(const struct scheduler *scheduler);
