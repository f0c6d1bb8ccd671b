/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_engine.c - the calls of an engine, by PostgreSQL
 *
 * The connection is in libpq's pipeline mode for good. In a transaction a statement that gives no
 * rows is sent and not waited for: an error of it comes with the next read, or with the commit. A
 * read asks the server for all results so far (Flush). The commit is the Sync message: the server
 * takes all between two of them as one transaction, and undoes it as a whole after an error. So
 * there is no BEGIN, and no COMMIT that could "succeed" in a failed transaction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define NUMBER_SIZE POSTGRESQL_NUMBER_SIZE
#define MEASURE_EVERY_US (10 * USEC_PER_SEC)

struct postgresql_engine *postgresql_engine_of(struct engine *engine)
{
    return (struct postgresql_engine *)engine; /* why: it is the first member */
}

static struct postgresql_statement *statement_of(struct prepared *statement)
{
    return (struct postgresql_statement *)statement; /* why: the same */
}

static struct postgresql_engine *of_statement(struct prepared *statement)
{
    return postgresql_engine_of(statement->engine);
}

/* --- sending and reading --- */

static int broken(struct postgresql_engine *postgresql)
{
    return postgresql_lose(postgresql, "libpq: %.200s",
                           libpq.PQerrorMessage(postgresql->connection));
}

int postgresql_may_send(struct postgresql_engine *postgresql)
{
    return postgresql->connection == NULL || postgresql->failed ? postgresql->kept.code : 0;
}

/* sent - counts a command that libpq has taken */
int postgresql_sent(struct postgresql_engine *postgresql, int taken)
{
    if (taken == 0)
        return broken(postgresql);
    postgresql->n_pending++;
    return 0;
}

/* take - what one result says. An error is kept: the first one: the others are its echo. */
static void take(struct postgresql_engine *postgresql, PGresult *result)
{
    ExecStatusType status = libpq.PQresultStatus(result);

    if (status == PGRES_FATAL_ERROR && !postgresql->failed) {
        (void)postgresql_fail_result(postgresql, result);
        postgresql->failed = true;
    } else if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        postgresql->changes = strtoull(libpq.PQcmdTuples(result), NULL, 10);
    }
}

/* read_pending - the results of all commands, or up to the Sync; *ret, where it is wanted: of the
 * last one. An error of the commit itself comes before the Sync and is of no command. */
static int read_pending(struct postgresql_engine *postgresql, bool to_sync, uint64_t deadline_us,
                        PGresult **ret)
{
    bool is_over = !to_sync && postgresql->n_pending == 0;

    while (!is_over) {
        PGresult *result = NULL;

        if (postgresql_wait(postgresql, deadline_us, &result) < 0)
            return -ENOTCONN;
        if (result == NULL) { /* the end of a command */
            postgresql->n_pending -= postgresql->n_pending > 0;
            is_over = !to_sync && postgresql->n_pending == 0;
            continue;
        }
        is_over = libpq.PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        take(postgresql, result);
        if (ret != NULL && !is_over) {
            libpq.PQclear(*ret);
            *ret = result;
        } else {
            libpq.PQclear(result);
        }
    }
    return postgresql_may_send(postgresql);
}

/* end_transaction - stored or not; *ret as read_pending */
static int end_transaction(struct postgresql_engine *postgresql, uint64_t deadline_us,
                           PGresult **ret)
{
    int r;

    if (libpq.PQpipelineSync(postgresql->connection) == 0)
        return broken(postgresql);
    postgresql->in_transaction = false;
    r = read_pending(postgresql, true, deadline_us, ret);
    postgresql->n_pending = 0;
    postgresql->failed = false;
    if (postgresql->connection != NULL && postgresql->uncertain)
        return postgresql_lose(postgresql, "a commit did not wait for its standby");
    return r;
}

/* answer - the result of the command that was sent last; *ret is NULL after an error */
static int answer(struct postgresql_engine *postgresql, PGresult **ret)
{
    PGresult *result = NULL;
    int r;

    if (!postgresql->in_transaction) {
        r = end_transaction(postgresql, 0, &result);
    } else {
        if (libpq.PQsendFlushRequest(postgresql->connection) == 0)
            return broken(postgresql);
        r = read_pending(postgresql, false, 0, &result);
    }
    if (r == 0 && ret != NULL)
        *ret = TAKE_PTR(result);
    libpq.PQclear(result);
    return r;
}

int postgresql_ask(struct postgresql_engine *postgresql, const char *sql, int n,
                   const char *const *values, PGresult **ret)
{
    int r = postgresql_send_waiting(postgresql);

    if (r == 0)
        r = postgresql_sent(postgresql, libpq.PQsendQueryParams(postgresql->connection, sql, n,
                                                                NULL, values, NULL, NULL, 0));
    return r < 0 ? r : answer(postgresql, ret);
}

int postgresql_pipeline(struct postgresql_engine *postgresql)
{
    return libpq.PQenterPipelineMode(postgresql->connection) == 0 ? broken(postgresql) : 0;
}

/* --- statements --- */

/* free_dead - finished statements, in the server; not in a transaction, which an error would end:
 * one that was never prepared, as its transaction had failed */
static int free_dead(struct postgresql_engine *postgresql)
{
    while (postgresql->n_dead > 0 && !postgresql->in_transaction) {
        char name[POSTGRESQL_NAME_SIZE], sql[POSTGRESQL_NAME_SIZE + sizeof "DEALLOCATE "];

        postgresql->n_dead--;
        (void)snprintf(sql, sizeof sql, "DEALLOCATE %s",
                       postgresql_name(postgresql->dead[postgresql->n_dead], name));
        if (postgresql_ask(postgresql, sql, 0, NULL, NULL) == -ENOTCONN)
            return -ENOTCONN;
    }
    return 0;
}

static int prepare(struct engine *engine, const char *text, struct prepared **ret)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    struct postgresql_statement *statement;
    char name[POSTGRESQL_NAME_SIZE];
    char *sql;
    int r = postgresql_may_send(postgresql);

    if (r == 0)
        r = free_dead(postgresql);
    if (r < 0)
        return r;
    statement = xcalloc(1, sizeof *statement);
    statement->prepared.engine = engine;
    statement->name = ++postgresql->n_prepared;
    sql = postgresql_statement(text, statement->places, &statement->n);
    statement->rows.form = array_form_of(text, statement->places, statement->n, &postgresql->types);
    statement->values = xcalloc(statement->n, sizeof *statement->values);
    statement->texts = xcalloc(statement->n, sizeof *statement->texts);
    r = postgresql_sent(postgresql,
                        libpq.PQsendPrepare(postgresql->connection,
                                            postgresql_name(statement->name, name), sql, 0, NULL));
    free(sql);
    if (r == 0 && !postgresql->in_transaction)
        r = answer(postgresql, NULL);
    *ret = &statement->prepared;
    if (r < 0)
        *ret = engine->calls->finish(*ret);
    return r;
}

static void drop_value(struct postgresql_value *value)
{
    if (value->release != NULL)
        value->release((void *)(uintptr_t)value->text); /* why: it was given to be freed */
    value->release = NULL;
    value->text = NULL;
}

static void drop_result(struct postgresql_statement *statement)
{
    libpq.PQclear(statement->result);
    statement->result = NULL;
    statement->row = 0;
}

/* bury - a statement in the server that is not needed any more; 0: there is none */
static void bury(struct postgresql_engine *postgresql, unsigned long name)
{
    if (name == 0)
        return;
    postgresql->dead =
        xreallocarray(postgresql->dead, postgresql->n_dead + 1, sizeof *postgresql->dead);
    postgresql->dead[postgresql->n_dead++] = name;
}

static struct prepared *finish(struct prepared *prepared)
{
    struct postgresql_statement *statement = statement_of(prepared);
    struct postgresql_engine *postgresql;

    if (prepared == NULL)
        return NULL;
    postgresql = of_statement(prepared);
    (void)postgresql_send_waiting(postgresql);
    postgresql_drop_waiting(postgresql);
    bury(postgresql, statement->name);
    bury(postgresql, statement->array_name);
    for (unsigned i = 0; i < statement->n; i++)
        drop_value(&statement->values[i]);
    drop_result(statement);
    statement->rows.form = array_form_free(statement->rows.form);
    free(statement->values);
    free(statement->texts);
    free(statement);
    return NULL;
}

/* value_at - NULL: the text of the statement does not use it */
static struct postgresql_value *value_at(struct prepared *statement, int at)
{
    const struct postgresql_statement *of = statement_of(statement);
    unsigned place = at >= 1 && at <= POSTGRESQL_PARAMETERS_MAX ? of->places[at - 1] : 0;

    if (place == 0)
        return NULL;
    drop_value(&of->values[place - 1]);
    return &of->values[place - 1];
}

static void bind_text(struct prepared *statement, int at, const char *text,
                      void (*release)(void *text))
{
    struct postgresql_value *value = value_at(statement, at);
    char *whole = text != NULL && value != NULL ? postgresql_whole_text(text) : NULL;

    if (value != NULL && whole == NULL) {
        value->text = text;
        value->release = text != NULL ? release : NULL;
        return;
    }
    if (value != NULL) {
        value->text = whole;
        value->release = free;
    }
    if (release != NULL && text != NULL)
        release((void *)(uintptr_t)text); /* why: it was given to be freed */
}

static void bind_i64(struct prepared *statement, int at, int64_t number)
{
    struct postgresql_value *value = value_at(statement, at);

    if (value == NULL)
        return;
    (void)snprintf(value->number, sizeof value->number, "%lld", (long long)number);
    value->text = value->number;
}

/* Seventeen digits tell every double from every other. */
static void bind_real(struct prepared *statement, int at, double number)
{
    struct postgresql_value *value = value_at(statement, at);

    if (value == NULL)
        return;
    (void)snprintf(value->number, sizeof value->number, "%.17g", number);
    value->text = value->number;
}

static const char *const *texts_of(struct postgresql_statement *statement)
{
    for (unsigned i = 0; i < statement->n; i++)
        statement->texts[i] = statement->values[i].text;
    return statement->texts;
}

static int send(struct prepared *prepared)
{
    struct postgresql_engine *postgresql = of_statement(prepared);
    struct postgresql_statement *statement = statement_of(prepared);
    int r = postgresql_send_waiting(postgresql);

    return r < 0 ? r : postgresql_send_plain(statement, texts_of(statement));
}

static int run(struct prepared *prepared)
{
    struct postgresql_engine *postgresql = of_statement(prepared);
    struct postgresql_statement *statement = statement_of(prepared);
    int r;

    drop_result(statement);
    if (postgresql->in_transaction && statement->rows.form != NULL)
        return postgresql_let_wait(statement, texts_of(statement));
    r = send(prepared);
    return r < 0 || postgresql->in_transaction ? r : answer(postgresql, NULL);
}

static uint64_t changes(struct engine *engine)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);

    if (postgresql_send_waiting(postgresql) == 0 && postgresql->n_pending > 0)
        (void)answer(postgresql, NULL);
    return postgresql->changes;
}

static int run_one(struct prepared *prepared)
{
    struct postgresql_engine *postgresql = of_statement(prepared);
    struct postgresql_statement *statement = statement_of(prepared);
    int r;

    statement->one = true;
    r = run(prepared);
    if (r < 0 || (postgresql->in_transaction && statement->rows.form != NULL))
        return r;
    if (changes(&postgresql->engine) == 1)
        return 0;
    r = postgresql_may_send(postgresql);
    return r < 0 ? r : postgresql_no_row(postgresql);
}

static int next(struct prepared *prepared)
{
    struct postgresql_statement *statement = statement_of(prepared);
    int r;

    if (statement->result == NULL) {
        r = send(prepared);
        if (r == 0)
            r = answer(of_statement(prepared), &statement->result);
        if (r < 0)
            return r;
    }
    if (statement->row < libpq.PQntuples(statement->result)) {
        statement->row++;
        return 1;
    }
    drop_result(statement);
    return 0;
}

static void reset(struct prepared *statement)
{
    drop_result(statement_of(statement));
}

static const char *column_text(struct prepared *prepared, int column)
{
    const struct postgresql_statement *statement = statement_of(prepared);

    if (statement->row == 0 ||
        libpq.PQgetisnull(statement->result, statement->row - 1, column) != 0)
        return NULL;
    return libpq.PQgetvalue(statement->result, statement->row - 1, column);
}

static int64_t column_i64(struct prepared *statement, int column)
{
    const char *text = column_text(statement, column);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static double column_real(struct prepared *statement, int column)
{
    const char *text = column_text(statement, column);

    return text != NULL ? strtod(text, NULL) : 0;
}

static bool column_is_null(struct prepared *statement, int column)
{
    return column_text(statement, column) == NULL;
}

static const char *column_name(struct prepared *prepared, int column)
{
    const PGresult *result = statement_of(prepared)->result;

    return result != NULL ? libpq.PQfname(result, column) : NULL;
}

/* --- transactions --- */

/* The first statement of each transaction of a term: in another one it breaks a rule of the row. */
#define FENCE "UPDATE leader SET turn = CASE WHEN term = $1 THEN turn + 1 END WHERE id = 1"

int postgresql_prepare_fence(struct postgresql_engine *postgresql)
{
    char name[POSTGRESQL_NAME_SIZE];
    int r;

    postgresql->fence_name = ++postgresql->n_prepared;
    r = postgresql_sent(postgresql,
                        libpq.PQsendPrepare(postgresql->connection,
                                            postgresql_name(postgresql->fence_name, name), FENCE, 0,
                                            NULL));
    return r < 0 ? r : answer(postgresql, NULL);
}

static int send_first(struct postgresql_engine *postgresql)
{
    char term[NUMBER_SIZE], name[POSTGRESQL_NAME_SIZE];
    const char *values[] = { term };

    (void)snprintf(term, sizeof term, "%llu", (unsigned long long)postgresql->term);
    if (postgresql->term != 0)
        return postgresql_sent(postgresql,
                               libpq.PQsendQueryPrepared(postgresql->connection,
                                                         postgresql_name(postgresql->fence_name,
                                                                         name),
                                                         1, values, NULL, NULL, 0));
    return 0;
}

static int begin(struct engine *engine)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);

    if (postgresql->connection == NULL)
        return postgresql->kept.code;
    postgresql_drop_waiting(postgresql);
    postgresql->in_transaction = true;
    return send_first(postgresql);
}

static int commit(struct engine *engine)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    int r;

    if (postgresql->connection == NULL)
        return postgresql->kept.code;
    if (postgresql_send_waiting(postgresql) == -ENOTCONN)
        return -ENOTCONN; /* after any other error the Sync is due all the same */
    r = end_transaction(postgresql, clock_read_us(CLOCK_MONOTONIC) + POSTGRESQL_COMMIT_LIMIT_US,
                        NULL);
    return r == 0 && postgresql->has_loaded ? postgresql_settle(postgresql) : r;
}

static void roll_back(struct engine *engine)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    struct kept_error kept = postgresql->kept; /* why: it is told after the roll-back */

    postgresql_drop_waiting(postgresql);
    if (!postgresql->in_transaction || postgresql->connection == NULL)
        return;
    (void)postgresql_sent(postgresql, libpq.PQsendQueryParams(postgresql->connection, "ROLLBACK", 0,
                                                              NULL, NULL, NULL, NULL, 0));
    if (postgresql->connection != NULL)
        (void)end_transaction(postgresql, 0, NULL);
    if (postgresql->connection != NULL)
        postgresql->kept = kept;
}

/* --- the database --- */

static int error_of(struct engine *engine, const char *what, struct edl_error *error)
{
    return postgresql_told(postgresql_engine_of(engine), what, error);
}

static int check(struct engine *engine, struct edl_error *error)
{
    return postgresql_engine_of(engine)->connection == NULL
               ? error_of(engine, "looking at it", error)
               : 0;
}

/* Without a term there is no fence; the row's turn goes on all the same. */
static int probe(struct engine *engine, struct edl_error *error)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    int r = begin(engine);

    if (r == 0 && postgresql->term == 0)
        r = postgresql_sent(
            postgresql, libpq.PQsendQueryParams(postgresql->connection,
                                                "UPDATE leader SET turn = turn + 1 WHERE id = 1", 0,
                                                NULL, NULL, NULL, NULL, 0));
    if (r == 0)
        r = commit(engine);
    return r < 0 ? error_of(engine, "writing", error) : 0;
}

/* A table of this session alone, in no log of the server's; its undoing leaves no file. Rows of
 * that size are not compressed. */
#define ROOM_TABLE                                                                                 \
    "CREATE TEMP TABLE edl_room AS SELECT repeat(md5(n::text), 60) FROM"                           \
    " generate_series(1, %llu) AS n"
#define ROOM_ROW_BYTES (60 * 32)

static int room(struct engine *engine, uint64_t bytes, struct edl_error *error)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    char sql[sizeof ROOM_TABLE + NUMBER_SIZE];
    unsigned long long n_rows = bytes / ROOM_ROW_BYTES + 1;
    int r = begin(engine);

    (void)snprintf(sql, sizeof sql, ROOM_TABLE, n_rows);
    if (r == 0)
        r = postgresql_ask(postgresql, sql, 0, NULL, NULL);
    roll_back(engine);
    return r < 0 ? error_of(engine, "looking for room", error) : 0;
}

static void figures(struct engine *engine, struct engine_figures *ret)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    PGresult *result = NULL;

    *ret = (struct engine_figures){ .database_bytes = postgresql->database_bytes };
    if (now_us < postgresql->measure_us || postgresql->in_transaction)
        return;
    postgresql->measure_us = now_us + MEASURE_EVERY_US; /* the server looks at each of its files */
    if (postgresql_ask(postgresql, "SELECT pg_database_size(current_database())", 0, NULL,
                       &result) == 0 &&
        libpq.PQntuples(result) == 1)
        postgresql->database_bytes = strtoull(libpq.PQgetvalue(result, 0, 0), NULL, 10);
    libpq.PQclear(result);
    ret->database_bytes = postgresql->database_bytes;
}

static void disconnect(struct engine *engine)
{
    struct postgresql_engine *postgresql = postgresql_engine_of(engine);

    if (postgresql->connection != NULL)
        libpq.PQfinish(postgresql->connection);
    free(postgresql->where);
    free(postgresql->warnings);
    free(postgresql->dead);
    column_types_done(&postgresql->types);
    free(postgresql);
}

static const struct engine_mark marks[] = {
    { "bytes", "octet_length(", ")" },
    { "index", NULL, NULL }, /* the server chooses */
    { NULL, NULL, NULL },
};

const struct engine_calls postgresql_calls = {
    .marks = marks,
    .prepare = prepare,
    .finish = finish,
    .bind_text = bind_text,
    .bind_i64 = bind_i64,
    .bind_real = bind_real,
    .run = run,
    .run_one = run_one,
    .next = next,
    .reset = reset,
    .text = column_text,
    .i64 = column_i64,
    .real = column_real,
    .is_null = column_is_null,
    .name = column_name,
    .changes = changes,
    .begin = begin,
    .commit = commit,
    .rollback = roll_back,
    .error = error_of,
    .check = check,
    .probe = probe,
    .room = room,
    .figures = figures,
    .disconnect = disconnect,
};
