/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_lead.c - the leader of several schedulers: a lock to wait in, and a term in a row
 *
 * The lock of a session is only for waiting: the server wakes the next one when that session ends.
 * It is not proof, because it is not replicated. The row decides. A term is stored, with the
 * standby, before anything else is read. Each transaction begins with a change of the row that
 * fails in another term (the fence, postgresql_engine.c).
 *
 * The server ends the session of a leader that says nothing (idle_session_timeout). While it loads
 * the state it has more time for that. A leader that is stopped in the middle of a transaction's
 * messages is not idle to the server. The scheduler that waits for the lock ends that session. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

#define WAIT_LIMIT_US 2500000 /* without an answer while it waits for the lock, which takes 1 s */
/* A state of many jobs takes seconds between two reads of it, and a first plan comes behind it: the
 * session is idle then. */
#define LEADER_SETTINGS                                                                            \
    "SELECT set_config('idle_session_timeout', '30s', false),"                                     \
    " set_config('idle_in_transaction_session_timeout', '3s', false),"                             \
    " set_config('lock_timeout', '0', false)"
#define LOADED_SETTINGS "SELECT set_config('idle_session_timeout', '1500ms', false)"
#define WAITER_SETTINGS "SELECT set_config('lock_timeout', '1000ms', false)"
#define NOW_US "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
#define STRINGIFY(x) #x
#define TEXT(x) STRINGIFY(x)

/* Sessions that hold the lock, or the row, and stand still in the middle of their messages. Not one
 * that copies the state out or in: it waits for its own disk now and then. */
static const char end_frozen[] =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a JOIN pg_locks AS l USING (pid)"
    " WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = " TEXT(
        LOCK_LEADER) " AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname ="
                     " current_database()) AND a.pid <> pg_backend_pid() AND a.wait_event = "
                     "'ClientRead'"
                     " AND a.application_name <> '" POSTGRESQL_MOVER
                     "' AND a.state <> 'idle' AND a.state_change < now() - interval '1500 "
                     "milliseconds'";

static int take_lock(struct postgresql_engine *postgresql, const atomic_bool *give_up)
{
    static const char take[] = "SELECT pg_advisory_lock(" TEXT(LOCK_LEADER) ")";
    int r;

    while ((r = postgresql_ask(postgresql, take, 0, NULL, NULL)) == -EAGAIN) {
        if (give_up != NULL && atomic_load(give_up))
            return postgresql_fail(postgresql, -ECANCELED, "it is not waited for any more");
        r = postgresql_ask(postgresql, end_frozen, 0, NULL, NULL);
        if (r < 0)
            return r;
    }
    return r;
}

/* fail_moved - the state of this database went to another engine: 0 when it did not */
static int fail_moved(struct postgresql_engine *postgresql)
{
    static const char of_mark[] =
        "SELECT moved_wall_us, moved_to FROM leader WHERE moved_wall_us > 0";
    PGresult *result = NULL;
    char since[RFC3339_MAX];
    int r = postgresql_ask(postgresql, of_mark, 0, NULL, &result);

    if (r == 0 && libpq.PQntuples(result) > 0) {
        uint64_t moved_us = strtoull(libpq.PQgetvalue(result, 0, 0), NULL, 10);

        r = postgresql_fail(postgresql, -EINVAL, "its state was moved to %.200s at %s",
                            libpq.PQgetvalue(result, 0, 1), rfc3339_format(moved_us, since));
        postgresql->kept.remedy =
            "the scheduler there goes on, without `store`; or bring the state back from there: edl"
            " admin migrate --to postgresql://...; or go on here with the rows of then: edl admin"
            " begin-epoch";
    }
    libpq.PQclear(result);
    return r;
}

int postgresql_check_here(struct store *store, struct edl_error *error)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(store->engine);

    return fail_moved(postgresql) < 0
               ? postgresql_told(postgresql, "looking where the state is", error)
               : 0;
}

/* fail_no_row - the row of the leader did not take a term */
static int fail_no_row(struct postgresql_engine *postgresql)
{
    int r = fail_moved(postgresql);

    return r < 0 ? r : postgresql_fail(postgresql, EDL_ECORRUPT, "table leader has no row");
}

static int begin_term(struct postgresql_engine *postgresql, const char *name, const char *address,
                      uint64_t least_term, uint64_t *ret)
{
    static const char next_term[] =
        "UPDATE leader SET term = greatest(term + 1, $3::bigint), name = $1, address = $2,"
        " since_wall_us = " NOW_US ", led = 1 WHERE id = 1 AND moved_wall_us = 0 RETURNING term";
    char least[32];
    const char *values[] = { name, address, least };
    PGresult *result = NULL;
    int r;

    (void)snprintf(least, sizeof least, "%" PRIu64, least_term);
    r = postgresql_ask(postgresql, next_term, ELEMENTS(values), values, &result);
    if (r == 0 && libpq.PQntuples(result) == 1)
        *ret = strtoull(libpq.PQgetvalue(result, 0, 0), NULL, 10);
    else if (r == 0)
        r = fail_no_row(postgresql);
    libpq.PQclear(result);
    return r;
}

int postgresql_lead(struct store *store, const char *name, const char *address, uint64_t least_term,
                    const atomic_bool *give_up, uint64_t *ret_term, struct edl_error *error)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(store->engine);
    uint64_t term = 0;
    int r;

    postgresql->answer_limit_us = WAIT_LIMIT_US;
    r = postgresql_ask(postgresql, WAITER_SETTINGS, 0, NULL, NULL);
    if (r == 0)
        r = take_lock(postgresql, give_up);
    postgresql->answer_limit_us = ANSWER_LIMIT_US;
    if (r == 0)
        r = begin_term(postgresql, name, address, least_term, &term);
    if (r == 0)
        r = postgresql_ask(postgresql, LEADER_SETTINGS, 0, NULL, NULL);
    if (r == 0)
        r = postgresql_prepare_fence(postgresql);
    if (r < 0)
        return postgresql_told(postgresql, "waiting to lead", error);
    store_forget_sums(store); /* another leader may have written since they were read */
    postgresql->term = term;
    store->readers.least_term = term;
    *ret_term = term;
    return 0;
}

void postgresql_loaded(struct store *store)
{
    postgresql_engine_of(store->engine)->has_loaded = true;
}

int postgresql_settle(struct postgresql_engine *postgresql)
{
    postgresql->has_loaded = false;
    return postgresql_ask(postgresql, LOADED_SETTINGS, 0, NULL, NULL);
}

int postgresql_clock(struct store *store, uint64_t *ret_wall_us, struct edl_error *error)
{
    static const char now[] = "SELECT " NOW_US;
    struct postgresql_engine *postgresql = postgresql_engine_of(store->engine);
    PGresult *result = NULL;
    int r = postgresql_ask(postgresql, now, 0, NULL, &result);

    if (r == 0 && libpq.PQntuples(result) == 1)
        *ret_wall_us = strtoull(libpq.PQgetvalue(result, 0, 0), NULL, 10);
    libpq.PQclear(result);
    return r < 0 ? postgresql_told(postgresql, "reading its clock", error) : 0;
}

uint64_t postgresql_term(const struct store *store)
{
    return postgresql_engine_of(store->engine)->term;
}

/* look_whose - without a change: one would wait for the leader's turn, and for the copy behind it
 */
static int look_whose(struct postgresql_engine *postgresql, const char *authority, bool *ret_ours)
{
    PGresult *result = NULL;
    int r =
        postgresql_ask(postgresql, "SELECT authority FROM leader WHERE id = 1", 0, NULL, &result);

    if (r == 0)
        *ret_ours =
            libpq.PQntuples(result) == 1 && streq(libpq.PQgetvalue(result, 0, 0), authority);
    libpq.PQclear(result);
    return r;
}

/* claim - where it is nobody's yet */
static int claim(struct postgresql_engine *postgresql, const char *authority, bool *ret_ours)
{
    const char *values[] = { authority };
    int r =
        postgresql_ask(postgresql,
                       "UPDATE leader SET authority = $1 WHERE id = 1 AND authority IN ('', $1)",
                       ELEMENTS(values), values, NULL);

    if (r == 0)
        *ret_ours = postgresql->changes == 1;
    return r;
}

int postgresql_claim(struct store *store, const char *authority, struct edl_error *error)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(store->engine);
    bool is_ours = false;
    int r = look_whose(postgresql, authority, &is_ours);

    if (r == 0 && !is_ours)
        r = claim(postgresql, authority, &is_ours);
    if (r < 0)
        return postgresql_told(postgresql, "looking whose it is", error);
    if (is_ours)
        return 0;
    (void)edl_error_set(error, -EINVAL, "the %s is of another cluster", postgresql->where);
    return edl_error_remedy(error, "name another database; for a second scheduler of that cluster"
                                   " see `edl admin standby add`");
}

/* --- the row of the leader, and the copies --- */

static uint64_t number(const PGresult *result, int row, int column)
{
    return strtoull(libpq.PQgetvalue(result, row, column), NULL, 10);
}

static void read_leader(const PGresult *result, struct leader_facts *ret)
{
    ret->term = number(result, 0, 0);
    ret->turn = number(result, 0, 1);
    (void)snprintf(ret->name, sizeof ret->name, "%s", libpq.PQgetvalue(result, 0, 2));
    (void)snprintf(ret->address, sizeof ret->address, "%s", libpq.PQgetvalue(result, 0, 3));
    ret->since_wall_us = number(result, 0, 4);
    (void)snprintf(ret->wanted_copies, sizeof ret->wanted_copies, "%s",
                   libpq.PQgetvalue(result, 0, 5));
    ret->commit_waits_us = number(result, 0, 6);
}

static void read_copies(const PGresult *result, struct leader_facts *ret)
{
    size_t n = MIN_OF((size_t)libpq.PQntuples(result), ELEMENTS(ret->copies));

    for (int i = 0; (size_t)i < n; i++) {
        struct database_copy *copy = &ret->copies[i];

        (void)snprintf(copy->name, sizeof copy->name, "%s", libpq.PQgetvalue(result, i, 0));
        (void)snprintf(copy->state, sizeof copy->state, "%s", libpq.PQgetvalue(result, i, 1));
        copy->lag_bytes = number(result, i, 2);
        copy->lag_us = number(result, i, 3);
    }
    ret->n_copies = n;
}

int postgresql_leader(struct engine *engine, struct leader_facts *ret, struct edl_error *error)
{
    /* A session is in the state of its last statement while its commit waits. Each role sees those
     * of its own. */
    static const char of_leader[] =
        "SELECT term, turn, name, address, since_wall_us,"
        " current_setting('synchronous_standby_names'), (SELECT coalesce(max(extract(epoch FROM"
        " clock_timestamp() - state_change) * 1000000), 0)::bigint FROM pg_stat_activity WHERE"
        " datname = current_database() AND wait_event = 'SyncRep') FROM leader WHERE id = 1";
    /* state and lag are NULL where the role may not see them: it needs pg_read_all_stats */
    static const char of_copies[] =
        "SELECT application_name, coalesce(sync_state, 'unknown'), "
        "coalesce(greatest(pg_wal_lsn_diff("
        "pg_current_wal_lsn(), flush_lsn), 0), 0)::bigint, coalesce(extract(epoch FROM flush_lag) *"
        " 1000000, 0)::bigint FROM pg_stat_replication WHERE state IS NULL OR state = 'streaming'"
        " ORDER BY application_name";
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    struct leader_facts facts = { 0 };
    PGresult *result = NULL;
    int r = postgresql_ask(postgresql, of_leader, 0, NULL, &result);

    if (r == 0 && libpq.PQntuples(result) == 1)
        read_leader(result, &facts);
    libpq.PQclear(result);
    result = NULL;
    if (r == 0)
        r = postgresql_ask(postgresql, of_copies, 0, NULL, &result);
    if (r == 0)
        read_copies(result, &facts);
    libpq.PQclear(result);
    if (r < 0)
        return postgresql_told(postgresql, "reading who leads", error);
    (void)snprintf(facts.server, sizeof facts.server, "%s", libpq.PQhost(postgresql->connection));
    *ret = facts;
    return 0;
}
