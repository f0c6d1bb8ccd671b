/* SPDX-License-Identifier: Apache-2.0 */
/* database.h - the store that two schedulers share, as PostgreSQL with a synchronous standby is one
 *
 * It does one thing after the other, each takes the time of a commit. A turn is stored when it is
 * on the standby, and told then. A crash of the primary in between keeps it or drops it, and tells
 * its client neither. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "simulator/leading.h"
#include "simulator/server.h"

struct cluster;
struct event;
struct script;
struct sim;

enum query_kind { QUERY_LOCK, QUERY_TERM, QUERY_TURN, QUERY_PROOF, QUERY_END };
enum query_result { QUERY_WAITS, QUERY_DONE, QUERY_STALE, QUERY_LOST };

/* A turn on its way: what it stores is in the core of who sent it, which stands still meanwhile. */
struct flight {
    uint32_t server;
    uint64_t run;
    struct cluster *cluster; /* owned; NULL: it is that scheduler's still */
    struct pendings pendings;
};

struct query {
    struct query *next, *prev;
    enum query_kind kind;
    enum query_result result;
    uint32_t server;
    uint64_t session, line, call, term;
    uint64_t sent_us, sent_boot_us;
    struct flight *flight; /* owned; NULL: no turn */
};

struct database {
    uint64_t random;
    uint64_t term;
    uint32_t leader;                     /* who took the last term */
    uint64_t line;                       /* counts primaries */
    uint64_t alone_line, alone_until_us; /* a former primary that stands alone and knows nothing */
    bool down, still, late;
    uint64_t up_at_us, still_until_us;
    struct query *queue; /* owned list; the first one is being done */
    struct query *held;  /* owned list: arrived while it stands still */
    bool busy;
    uint64_t n_done;
    uint64_t sessions, calls;
    uint32_t holder; /* of the lock; NOBODY: nobody */
    uint64_t holder_session, heard_us;
    struct {
        bool waits;
        uint64_t session, call, line, since_us;
    } waiting[SIM_SCHEDULERS_MAX];
};

void database_init(struct sim *sim);
void database_done(struct sim *sim);
/* database_ask - from the scheduler whose event this is; session and line are its own. Returns the
 * number of the call */
uint64_t database_ask(struct sim *sim, enum query_kind kind, struct flight *take_flight);
void database_event(struct sim *sim, const struct event *event);
struct query *query_free(struct sim *sim, struct query *query);

/* database_script, database_heal - faults of it and of who leads
 * database_calm - the end of all of them */
/* database_target - whom a fault of a scheduler concerns: mostly who leads */
struct server *database_target(struct sim *sim, uint64_t which);
void database_script(struct sim *sim, const struct script *script);
void database_heal(struct sim *sim, const struct script *script);
void database_calm(struct sim *sim);
