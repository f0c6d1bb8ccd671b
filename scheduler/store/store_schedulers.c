/* SPDX-License-Identifier: Apache-2.0 */
/* store_schedulers.c - see store_schedulers.h */
#include "scheduler/store/store_schedulers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

static struct prepared *prepare(struct engine *engine, const char *text, struct edl_error *error)
{
    struct prepared *statement = NULL;

    if (engine->calls->prepare(engine, text, &statement) < 0)
        (void)engine_error(engine, "schedulers of the database", error);
    return statement;
}

/* finish - r: the result so far */
static int finish(struct engine *engine, struct prepared *statement, int r, struct edl_error *error)
{
    if (r < 0)
        r = engine_error(engine, "schedulers of the database", error);
    (void)engine->calls->finish(statement);
    return r;
}

static int run(struct engine *engine, struct prepared *statement, struct edl_error *error)
{
    return finish(engine, statement, engine->calls->run(statement), error);
}

int store_scheduler_begin(struct engine *engine, struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine,
                "SELECT set_config('default_transaction_read_only', 'off', false),"
                " set_config('default_transaction_isolation', 'read committed', false),"
                " set_config('synchronous_commit', 'off', false)",
                error);
    int r;

    if (statement == NULL)
        return error->code;
    r = engine->calls->next(statement);
    engine->calls->reset(statement);
    return finish(engine, statement, MIN_OF(r, 0), error);
}

/* number_of - FNV-1a: two words with one number are told to be one, which costs another word */
static int32_t number_of(const char *word)
{
    uint32_t number = 2166136261U;

    for (; *word != '\0'; word++)
        number = (number ^ (unsigned char)*word) * 16777619U;
    return (int32_t)number;
}

int store_scheduler_make(struct store *store, struct edl_error *error)
{
    struct engine *engine = store->engine;
    struct prepared *statement = prepare(
        engine,
        "CREATE TABLE IF NOT EXISTS scheduler (name text PRIMARY KEY, address text NOT NULL,"
        " seen_wall_us bigint NOT NULL)",
        error);

    return statement != NULL ? run(engine, statement, error) : error->code;
}

/* Nothing ends a session whose commit waits for a copy. */
enum { TAKEN, OURS, WAITS };
#define TAKE                                                                                       \
    "SELECT CASE WHEN pg_try_advisory_lock(%d, %d) THEN %d WHEN EXISTS (SELECT FROM pg_locks AS l" \
    " JOIN pg_stat_activity AS a USING (pid) WHERE l.locktype = 'advisory' AND l.granted AND"      \
    " l.classid::bigint = %d AND l.objid::bigint = %u AND l.objsubid = 2 AND l.database = (SELECT" \
    " oid FROM pg_database WHERE datname = current_database()) AND a.wait_event = 'SyncRep') THEN" \
    " %d ELSE %d END"

/* What each scheduler of a database has for itself. */
struct own {
    int locks; /* the first number of these, beside that of the leader */
    const char *whose, *has, *remedy;
};
static const struct own own_name = { 4712, "scheduler", "is called",
                                     "give each its own --scheduler-name" };
static const struct own own_address = { 4713, "the scheduler at", "has the address",
                                        "give each its own --address" };

static int take(struct engine *engine, const struct own *own, const char *word,
                struct edl_error *error)
{
    struct prepared *statement;
    int64_t answer = TAKEN;
    char text[600];
    int r;

    (void)snprintf(text, sizeof text, TAKE, own->locks, (int)number_of(word), OURS, own->locks,
                   (unsigned)number_of(word), WAITS, TAKEN);
    statement = prepare(engine, text, error);
    if (statement == NULL)
        return error->code;
    r = engine->calls->next(statement);
    if (r == 1)
        answer = engine->calls->i64(statement, 0);
    engine->calls->reset(statement);
    r = finish(engine, statement, MIN_OF(r, 0), error);
    if (r < 0 || answer == OURS)
        return r;
    if (answer == WAITS)
        return edl_error_set(error, -EBUSY,
                             "an earlier session of %s %s waits for the synchronous copy of the"
                             " database",
                             own->whose, word);
    (void)edl_error_set(error, -EEXIST, "another scheduler of this database %s %s", own->has, word);
    return edl_error_remedy(error, "%s", own->remedy);
}

int store_scheduler_take(struct store *store, const char *name, const char *address,
                         struct edl_error *error)
{
    int r = take(store->engine, &own_name, name, error);

    return r == 0 && address[0] != '\0' ? take(store->engine, &own_address, address, error) : r;
}

#define NOW_US "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

int store_scheduler_seen(struct engine *engine, const char *name, const char *address,
                         uint64_t *ret_wall_us, struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine,
                "INSERT INTO scheduler (name, address, seen_wall_us) VALUES (?1, ?2, " NOW_US
                ") ON CONFLICT (name) DO UPDATE SET address = excluded.address,"
                " seen_wall_us = excluded.seen_wall_us RETURNING seen_wall_us",
                error);
    int r;

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, name);
    store_bind_text(statement, 2, address);
    r = engine->calls->next(statement);
    if (r == 1)
        *ret_wall_us = store_column_u64(statement, 0);
    engine->calls->reset(statement);
    return finish(engine, statement, MIN_OF(r, 0), error);
}

int store_scheduler_each(struct engine *engine, store_scheduler_fn fn, void *userdata,
                         struct edl_error *error)
{
    struct prepared *statement = prepare(engine,
                                         "SELECT name, address, greatest(0, " NOW_US
                                         " - seen_wall_us) FROM scheduler ORDER BY name",
                                         error);
    int r;

    if (statement == NULL)
        return error->code;
    while ((r = engine->calls->next(statement)) == 1)
        fn(&(struct stored_scheduler){ store_column_text(statement, 0),
                                       store_column_text(statement, 1),
                                       store_column_u64(statement, 2) },
           userdata);
    engine->calls->reset(statement);
    return finish(engine, statement, r, error);
}

int store_scheduler_forget(struct engine *engine, const char *name, struct edl_error *error)
{
    struct prepared *statement = prepare(engine, "DELETE FROM scheduler WHERE name = ?1", error);

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, name);
    return run(engine, statement, error);
}
