/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_copy.c - a database of PostgreSQL to copy from or into
 *
 * Rows come and go by COPY, whose lines are those of copy_line.h already. The connection is a plain
 * one that blocks: this is done by a program of its own, with no loop that waits for it. */
#include "scheduler/store/postgresql/postgresql_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/copy/copy.h"
#include "scheduler/store/copy/copy_line.h"
#include "scheduler/store/postgresql/postgresql_internal.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define ALONE_LIMIT_US (600 * USEC_PER_SEC) /* a table is sorted, or a commit waits for a copy */
#define BESIDE_LIMIT_US (30 * USEC_PER_SEC) /* a scheduler that ends waits for so long */
#define SQL_SIZE 400

struct postgresql_place {
    struct copy_place place;              /* the first member */
    struct postgresql_engine *postgresql; /* owned */
};

static struct postgresql_engine *engine_of(struct copy_place *place)
{
    return ((struct postgresql_place *)place)->postgresql; /* why: it is the first member */
}

static int told(struct copy_place *place, const char *what, struct edl_error *error)
{
    return postgresql_told(engine_of(place), what, error);
}

static int run(struct copy_place *place, const char *sql, struct edl_error *error)
{
    return postgresql_plain(engine_of(place), sql, NULL) < 0 ? told(place, sql, error) : 0;
}

static int64_t number(struct copy_place *place, const char *sql)
{
    PGresult *result = NULL;
    int64_t value = -1;

    if (postgresql_plain(engine_of(place), sql, &result) == 0 && libpq.PQntuples(result) > 0)
        value = strtoll(libpq.PQgetvalue(result, 0, 0), NULL, 10);
    libpq.PQclear(result);
    return value;
}

/* --- the schema --- */

static enum copy_kind kind_of(const char *type)
{
    static const struct {
        const char *type;
        enum copy_kind kind;
    } kinds[] = { { "bigint", COPY_WHOLE },
                  { "integer", COPY_WHOLE },
                  { "double precision", COPY_REAL },
                  { "text", COPY_TEXT } };

    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i].type, type))
            return kinds[i].kind;
    return COPY_OTHER;
}

static int add_columns(const PGresult *result, struct copy_schema *ret, struct edl_error *error)
{
    int r = 0;

    for (int row = 0; r == 0 && row < libpq.PQntuples(result); row++) {
        struct copy_column column = {
            .kind = kind_of(libpq.PQgetvalue(result, row, 2)),
            .key = (unsigned)strtoul(libpq.PQgetvalue(result, row, 3), NULL, 10),
        };

        (void)snprintf(column.name, sizeof column.name, "%s", libpq.PQgetvalue(result, row, 1));
        r = copy_schema_add(ret, libpq.PQgetvalue(result, row, 0), &column, error);
    }
    return r;
}

static int schema(struct copy_place *place, struct copy_schema *ret, struct edl_error *error)
{
    static const char sql[] =
        "SELECT t.relname, a.attname, format_type(a.atttypid, NULL),"
        " coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) FROM pg_class AS t"
        " JOIN pg_namespace AS n ON n.oid = t.relnamespace AND n.nspname = current_schema()"
        " JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " LEFT JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisprimary"
        " WHERE t.relkind = 'r' ORDER BY t.relname, a.attname";
    PGresult *result = NULL;
    int r;

    if (postgresql_plain(engine_of(place), sql, &result) < 0)
        return told(place, "reading the schema", error);
    r = add_columns(result, ret, error);
    libpq.PQclear(result);
    ret->version = (int)number(place, "SELECT max(version) FROM schema_migration");
    return r;
}

/* --- reading --- */

/* results_end - what the server says at the end of a COPY */
static int results_end(struct postgresql_engine *postgresql)
{
    int r = 0;

    while (postgresql->connection != NULL) {
        PGresult *result = NULL;

        if (postgresql_wait(postgresql, 0, &result) < 0)
            return -ENOTCONN;
        if (result == NULL)
            break;
        if (libpq.PQresultStatus(result) == PGRES_FATAL_ERROR)
            r = postgresql_fail_result(postgresql, result);
        libpq.PQclear(result);
    }
    return postgresql->connection != NULL ? r : -ENOTCONN;
}

/* start_copy - sends the statement; 0 when the server stands in it */
static int start_copy(struct postgresql_engine *postgresql, const char *sql, ExecStatusType wanted)
{
    PGresult *result = NULL;
    int r = 0;

    if (postgresql->connection == NULL)
        return -ENOTCONN;
    if (libpq.PQsendQuery(postgresql->connection, sql) == 0)
        return postgresql_lose(postgresql, "the connection was lost");
    if (postgresql_wait(postgresql, 0, &result) < 0 || result == NULL)
        return -ENOTCONN;
    if (libpq.PQresultStatus(result) != wanted)
        r = postgresql_fail_result(postgresql, result);
    libpq.PQclear(result);
    if (r < 0)
        (void)results_end(postgresql);
    return r;
}

int postgresql_copy_rows(struct copy_place *place, const char *select, copy_line_fn fn,
                         void *userdata, struct edl_error *error)
{
    struct postgresql_engine *postgresql = engine_of(place);
    size_t size = strlen(select) + 32;
    _cleanup_free_ char *sql = xcalloc(size, 1);
    char *line = NULL;
    int r, n = 0;

    (void)snprintf(sql, size, "COPY (%s) TO STDOUT", select);
    if (start_copy(postgresql, sql, PGRES_COPY_OUT) < 0)
        return told(place, "reading", error);
    for (r = 0; (n = libpq.PQgetCopyData(postgresql->connection, &line, 0)) > 0;) {
        if (r == 0) /* after an error what is on its way is only taken out of the connection */
            r = fn(line, (size_t)n, userdata, error);
        libpq.PQfreemem(line);
    }
    if (results_end(postgresql) < 0 && r == 0)
        return told(place, "reading", error);
    return r;
}

static int read_table(struct copy_place *place, const struct copy_table *table, copy_line_fn fn,
                      void *userdata, struct edl_error *error)
{
    _cleanup_free_ char *select = copy_select(table, " COLLATE \"C\"");

    return postgresql_copy_rows(place, select, fn, userdata, error);
}

/* --- writing --- */

static int begin(struct copy_place *place, struct edl_error *error)
{
    return run(place, "BEGIN", error);
}

static int write_begin(struct copy_place *place, const struct copy_table *table,
                       struct edl_error *error)
{
    _cleanup_free_ char *columns = copy_columns(table);
    size_t size = strlen(columns) + sizeof table->name + 32;
    _cleanup_free_ char *sql = xcalloc(size, 1);

    (void)snprintf(sql, size, "COPY \"%s\" (%s) FROM STDIN", table->name, columns);
    return start_copy(engine_of(place), sql, PGRES_COPY_IN) < 0 ? told(place, "writing", error) : 0;
}

static int write_line(struct copy_place *place, const char *line, size_t size,
                      struct edl_error *error)
{
    struct postgresql_engine *postgresql = engine_of(place);

    if (libpq.PQputCopyData(postgresql->connection, line, (int)size) == 1)
        return 0;
    if (results_end(postgresql) == 0)
        (void)postgresql_lose(postgresql, "the connection was lost");
    return told(place, "writing", error);
}

static int write_end(struct copy_place *place, struct edl_error *error)
{
    struct postgresql_engine *postgresql = engine_of(place);

    if (libpq.PQputCopyEnd(postgresql->connection, NULL) != 1)
        (void)postgresql_lose(postgresql, "the connection was lost");
    return results_end(postgresql) < 0 ? told(place, "writing", error) : 0;
}

static int commit(struct copy_place *place, struct edl_error *error)
{
    return run(place, "COMMIT", error);
}

static void disconnect(struct copy_place *place)
{
    (void)engine_close(&engine_of(place)->engine);
    free(place);
}

static const struct copy_calls calls = {
    .schema = schema,
    .number = number,
    .read = read_table,
    .begin = begin,
    .run = run,
    .write_begin = write_begin,
    .write = write_line,
    .write_end = write_end,
    .commit = commit,
    .disconnect = disconnect,
};

/* --- where the state is --- */

static int take_text(const char *line, size_t size, void *userdata, struct edl_error *error)
{
    _cleanup_free_ char *buffer = xcalloc(size + 1, 1);
    char *ret = userdata;
    const char *field;
    size_t at = 0;

    (void)error;
    if (copy_field_next(line, size, &at, buffer, &field) && field != NULL)
        (void)snprintf(ret, COPY_MOVED_MAX, "%s", field);
    return 0;
}

int postgresql_copy_moved(struct copy_place *place, char ret[COPY_MOVED_MAX],
                          struct edl_error *error)
{
    ret[0] = '\0';
    return postgresql_copy_rows(place, "SELECT moved_to FROM leader WHERE moved_wall_us > 0",
                                take_text, ret, error);
}

/* text_of - an expression for a text, whatever is in it; the caller frees it */
static char *text_of(const char *text)
{
    _cleanup_free_ char *whole = postgresql_whole_text(text);
    const char *p = whole != NULL ? whole : text;
    char *sql = NULL;
    size_t size;
    FILE *out = open_memstream(&sql, &size);

    if (out == NULL)
        abort();
    (void)fputs("convert_from(decode('", out);
    for (; *p != '\0'; p++)
        (void)fprintf(out, "%02x", (unsigned)(unsigned char)*p);
    (void)fputs("', 'hex'), 'UTF8')", out);
    (void)fclose(out);
    return sql;
}

char *postgresql_copy_of_past(const char *where)
{
    _cleanup_free_ char *to = text_of(where);

    return text_format("moved_wall_us = %" PRIu64 ", moved_to = %s, name = '', address = ''",
                       clock_read_us(CLOCK_REALTIME), to);
}

/* The lock was held since before the rows were read. The turn and the term are looked at all the
 * same: the lock is of one server, and the row goes with the rows. */
int postgresql_copy_leave(struct copy_place *place, const char *where, struct edl_error *error)
{
    struct postgresql_engine *postgresql = engine_of(place);
    _cleanup_free_ char *of_past = postgresql_copy_of_past(where);
    _cleanup_free_ char *sql = NULL;
    int64_t term = number(place, "SELECT term FROM leader");
    int64_t turn = number(place, "SELECT turn FROM leader");
    int r = run(place, "COMMIT", error); /* of what was read */

    if (r < 0)
        return r;
    sql = text_format("UPDATE leader SET %s, led = 1 WHERE term = %" PRId64 " AND turn = %" PRId64
                      " RETURNING 1",
                      of_past, term, turn);
    if (number(place, sql) == 1)
        return 0;
    if (postgresql->kept.code != 0)
        return told(place, "marking it as moved", error);
    return edl_error_set(error, -ESTALE, "a scheduler has led over the %s meanwhile",
                         postgresql->where);
}

/* --- opening --- */

/* A scheduler that waits to lead ends sessions that hold the lock and stand still. So none may be
 * there, whether it leads or waits. */
static int be_alone(struct copy_place *place, struct edl_error *error)
{
    static const char others[] =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-scheduler' AND"
        " datname = current_database() AND pid <> pg_backend_pid()";
    static const char movers[] =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" POSTGRESQL_MOVER
        "' AND datname = current_database() AND pid <> pg_backend_pid()";
    struct postgresql_engine *postgresql = engine_of(place);
    char sql[SQL_SIZE];
    int r;

    (void)snprintf(sql, sizeof sql, "SELECT pg_try_advisory_lock(%d)::int", LOCK_LEADER);
    r = run(place, "SET application_name = '" POSTGRESQL_MOVER "'", error);
    if (r < 0 || (number(place, sql) == 1 && number(place, others) == 0))
        return r;
    if (number(place, movers) > 0) {
        (void)edl_error_set(error, -EEXIST,
                            "another `edl admin` copies the state out of the %s,"
                            " or into it",
                            postgresql->where);
        return edl_error_remedy(error, "wait for its end: migrate, restore or begin-epoch");
    }
    (void)edl_error_set(error, -EEXIST, "a scheduler uses the %s", postgresql->where);
    return edl_error_remedy(error, "stop every scheduler of it: systemctl stop edl-scheduler");
}

static int open_place(const char *url, bool alone, struct copy_place **ret, struct edl_error *error)
{
    struct postgresql_engine *postgresql;
    struct postgresql_place *own;
    int r = postgresql_connect(url, 0, 0, &postgresql, error);

    if (r < 0)
        return r;
    own = xcalloc(1, sizeof *own);
    own->place.calls = &calls;
    own->postgresql = postgresql;
    postgresql->answer_limit_us = alone ? ALONE_LIMIT_US : BESIDE_LIMIT_US;
    (void)libpq.PQsetnonblocking(postgresql->connection, 0);
    if (alone)
        r = be_alone(&own->place, error);
    if (r < 0)
        disconnect(&own->place);
    else
        *ret = &own->place;
    return r;
}

int postgresql_copy_source(const char *url, bool alone, struct copy_place **ret,
                           struct edl_error *error)
{
    struct copy_place *place;
    int r = open_place(url, alone, &place, error);

    if (r < 0)
        return r;
    r = postgresql_check_newest(engine_of(place));
    if (r < 0)
        r = told(place, "opening it", error);
    else
        r = run(place, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error);
    if (r < 0)
        (void)copy_close(place);
    else
        *ret = place;
    return r;
}

/* check_whose - before anything of it is changed. authority: a pin, or "": it is not asked. An
 * older schema may lack the column */
static int check_whose(struct copy_place *place, const char *authority, struct edl_error *error)
{
    _cleanup_free_ char *sql =
        text_format("SELECT count(*) FROM leader AS l WHERE coalesce(to_jsonb(l) ->> 'authority',"
                    " '') NOT IN ('', '%s')",
                    authority);

    if (authority[0] == '\0' || number(place, sql) != 1)
        return 0;
    (void)edl_error_set(error, -EINVAL, "the %s is of another cluster", engine_of(place)->where);
    return edl_error_remedy(error, "name the database of this cluster");
}

/* bring_forward - by the session that has the lock: another one would wait for it. make: a database
 * that has no schema may go on, and what else is wrong with it is told when it is opened */
static int bring_forward(struct copy_place *place, bool make, const char *authority,
                         struct edl_error *error)
{
    struct postgresql_engine *postgresql = engine_of(place);
    int r = postgresql_check_there(postgresql);

    if (r < 0 && make) {
        postgresql->kept = (struct kept_error){ 0 };
        return 0;
    }
    if (r == 0 && check_whose(place, authority, error) < 0)
        return error->code;
    if (r == 0)
        r = postgresql_migrate(postgresql);
    postgresql->answer_limit_us = ALONE_LIMIT_US;
    return r < 0 ? told(place, "opening it", error) : 0;
}

/* open_target - make: also the schema of a database that has none. The lock comes first */
static int open_target(const char *url, bool make, const char *authority, struct copy_place **ret,
                       struct edl_error *error)
{
    struct copy_place *place;
    struct store *store;
    int r = open_place(url, true, &place, error);

    if (r < 0)
        return r;
    r = bring_forward(place, make, authority, error);
    if (r == 0)
        r = postgresql_open(url, 0, &store, error); /* settings, rights, schema */
    if (r < 0) {
        (void)copy_close(place);
        return r;
    }
    (void)store_free(store);
    *ret = place;
    return 0;
}

int postgresql_copy_target(const char *url, struct copy_place **ret, struct edl_error *error)
{
    return open_target(url, true, "", ret, error);
}

int postgresql_copy_forward(const char *url, bool make, const char *authority,
                            struct edl_error *error)
{
    struct copy_place *place = NULL;
    int r = open_target(url, make, authority, &place, error);

    (void)copy_close(place);
    return r;
}
