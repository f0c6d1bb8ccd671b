/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_copy.c - a file of SQLite to copy from or into */
#include "scheduler/store/sqlite/sqlite_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/store/copy/copy.h"
#include "scheduler/store/copy/copy_line.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct sqlite_place {
    struct copy_place place;      /* the first member */
    struct sqlite_engine *sqlite; /* owned */
    sqlite3_stmt *insert;         /* owned; of the table that is being written */
    const struct copy_table *table;
    char *buffer; /* of a field, as long as the longest line so far */
    size_t buffer_size;
};

static struct sqlite_place *place_of(struct copy_place *place)
{
    return (struct sqlite_place *)place; /* why: it is the first member */
}

static int failed(struct sqlite_place *place, const char *what, struct edl_error *error)
{
    return engine_error(&place->sqlite->engine, what, error);
}

/* --- the schema --- */

static const struct {
    const char *type;
    enum copy_kind kind;
} kinds[] = { { "INTEGER", COPY_WHOLE }, { "REAL", COPY_REAL }, { "TEXT", COPY_TEXT } };

static enum copy_kind kind_of(const char *type)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i].type, type))
            return kinds[i].kind;
    return COPY_OTHER;
}

static int schema(struct copy_place *place, struct copy_schema *ret, struct edl_error *error)
{
    static const char sql[] =
        "SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema AS t, pragma_table_info(t.name) AS"
        " c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " ORDER BY t.name, c.name";
    struct sqlite_engine *sqlite = place_of(place)->sqlite;
    sqlite3_stmt *statement = NULL;
    int step = sqlite3_prepare_v2(sqlite->db, sql, -1, &statement, NULL);
    int r = 0;

    ret->version = (int)engine_number(&sqlite->engine, "PRAGMA user_version");
    while (r == 0 && step == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct copy_column column = { .kind = kind_of(sqlite_text(statement, 2)),
                                      .key = (unsigned)sqlite3_column_int(statement, 3) };

        (void)snprintf(column.name, sizeof column.name, "%s", sqlite_text(statement, 1));
        r = copy_schema_add(ret, sqlite_text(statement, 0), &column, error);
    }
    if (sqlite3_finalize(statement) != SQLITE_OK || step != SQLITE_OK)
        r = failed(place_of(place), "reading the schema", error);
    return r;
}

static int64_t number(struct copy_place *place, const char *sql)
{
    return engine_number(&place_of(place)->sqlite->engine, sql);
}

/* --- reading --- */

static void add_row(struct copy_line *line, sqlite3_stmt *statement)
{
    int n = sqlite3_column_count(statement);

    copy_line_clear(line);
    for (int i = 0; i < n; i++) {
        switch (sqlite3_column_type(statement, i)) {
        case SQLITE_NULL:
            copy_line_add(line, NULL);
            break;
        case SQLITE_INTEGER:
            copy_line_add_i64(line, sqlite3_column_int64(statement, i));
            break;
        case SQLITE_FLOAT:
            copy_line_add_real(line, sqlite3_column_double(statement, i));
            break;
        default:
            copy_line_add(line, sqlite_text(statement, i));
        }
    }
    copy_line_end(line);
}

static int read_table(struct copy_place *place, const struct copy_table *table, copy_line_fn fn,
                      void *userdata, struct edl_error *error)
{
    _cleanup_free_ char *sql = copy_select(table, "");
    sqlite3_stmt *statement = NULL;
    struct copy_line line = { 0 };
    int r = 0;
    int step = sqlite3_prepare_v2(place_of(place)->sqlite->db, sql, -1, &statement, NULL);

    while (r == 0 && step == SQLITE_OK && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        add_row(&line, statement);
        r = fn(line.text, line.size, userdata, error);
        step = SQLITE_OK;
    }
    if (r == 0 && step != SQLITE_DONE)
        r = failed(place_of(place), "reading", error);
    (void)sqlite3_finalize(statement);
    place->mended += line.mended;
    copy_line_done(&line);
    return r;
}

/* --- writing --- */

static int run(struct copy_place *place, const char *sql, struct edl_error *error)
{
    return sqlite_exec(place_of(place)->sqlite, sql, sql, error);
}

static int begin(struct copy_place *place, struct edl_error *error)
{
    return run(place, "BEGIN IMMEDIATE", error);
}

static int write_begin(struct copy_place *place, const struct copy_table *table,
                       struct edl_error *error)
{
    _cleanup_free_ char *columns = copy_columns(table);
    size_t size = strlen(columns) + 8 * table->n + sizeof table->name + 64, used;
    _cleanup_free_ char *sql = xcalloc(size, 1);
    struct sqlite_place *own = place_of(place);

    used = (size_t)snprintf(sql, size, "INSERT INTO \"%s\" (%s) VALUES (", table->name, columns);
    for (size_t i = 0; i < table->n; i++)
        used += (size_t)snprintf(sql + used, size - used, "%s?%zu", i > 0 ? ", " : "", i + 1);
    (void)snprintf(sql + used, size - used, ")");
    own->table = table;
    if (sqlite3_prepare_v2(own->sqlite->db, sql, -1, &own->insert, NULL) == SQLITE_OK)
        return 0;
    return failed(own, "writing", error);
}

static void bind_field(sqlite3_stmt *statement, int at, enum copy_kind kind, const char *field)
{
    if (field == NULL)
        (void)sqlite3_bind_null(statement, at);
    else if (kind == COPY_WHOLE)
        (void)sqlite3_bind_int64(statement, at, strtoll(field, NULL, 10));
    else if (kind == COPY_REAL)
        (void)sqlite3_bind_double(statement, at, strtod(field, NULL));
    else
        (void)sqlite3_bind_text(statement, at, field, -1, SQLITE_TRANSIENT);
}

static int write_line(struct copy_place *place, const char *line, size_t size,
                      struct edl_error *error)
{
    struct sqlite_place *own = place_of(place);
    const char *field;
    size_t at = 0, n = 0;

    if (size + 1 > own->buffer_size) {
        free(own->buffer);
        own->buffer_size = 2 * size + 1;
        own->buffer = xcalloc(own->buffer_size, 1);
    }
    for (; n < own->table->n && copy_field_next(line, size, &at, own->buffer, &field); n++)
        bind_field(own->insert, (int)n + 1, own->table->columns[n].kind, field);
    if (n != own->table->n || at <= size - 1)
        return edl_error_set(error, EDL_ECORRUPT, "a row of %s has other columns",
                             own->table->name);
    if (sqlite3_step(own->insert) != SQLITE_DONE || sqlite3_reset(own->insert) != SQLITE_OK)
        return failed(own, "writing", error);
    return 0;
}

static int write_end(struct copy_place *place, struct edl_error *error)
{
    struct sqlite_place *own = place_of(place);

    (void)error;
    (void)sqlite3_finalize(own->insert);
    own->insert = NULL;
    return 0;
}

/* Rows that refer to missing ones are told here, and not at a start. */
static int commit(struct copy_place *place, struct edl_error *error)
{
    struct sqlite_place *own = place_of(place);

    if (engine_number(&own->sqlite->engine, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
        return edl_error_set(error, EDL_ECORRUPT, "rows refer to missing rows");
    return run(place, "COMMIT", error);
}

static void disconnect(struct copy_place *place)
{
    struct sqlite_place *own = place_of(place);

    (void)sqlite3_finalize(own->insert);
    (void)sqlite_engine_close(own->sqlite);
    free(own->buffer);
    free(own);
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

/* --- opening --- */

static int open_place(const char *name, int flags, struct sqlite_place **ret,
                      struct edl_error *error)
{
    struct sqlite_place *own = xcalloc(1, sizeof *own);
    int r = sqlite_engine_open(name, flags, &own->sqlite, error);

    own->place.calls = &calls;
    if (r < 0)
        free(own);
    else
        *ret = own;
    return r;
}

static int give(struct sqlite_place *own, int r, struct copy_place **ret)
{
    if (r < 0)
        (void)copy_close(&own->place);
    else
        *ret = &own->place;
    return r;
}

/* uri_of - it takes no lock (sqlite_open.c), and without a log it makes none. The caller frees it
 */
static char *uri_of(const char *path)
{
    char *uri = sqlite_read_only_uri(path);
    size_t size = strlen(path) + sizeof "-wal";
    _cleanup_free_ char *log = xcalloc(size, 1);
    char *immutable;

    (void)snprintf(log, size, "%s-wal", path);
    if (access(log, F_OK) == 0)
        return uri;
    size = strlen(uri) + sizeof "&immutable=1";
    immutable = xcalloc(size, 1);
    (void)snprintf(immutable, size, "%s&immutable=1", uri);
    free(uri);
    return immutable;
}

int sqlite_copy_source(const char *path, struct copy_place **ret, struct edl_error *error)
{
    _cleanup_free_ char *uri = uri_of(path);
    struct sqlite_place *own;
    int r;

    if (access(path, R_OK) == -1) {
        r = edl_error_errno(error, -errno, "opening %s", path);
        return r == -ENOENT ? edl_error_remedy(error, "look at --state-dir: a scheduler that was"
                                                      " started there has made it")
                            : r;
    }
    r = open_place(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &own, error);
    if (r < 0)
        return r;
    (void)sqlite3_db_config(own->sqlite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    r = sqlite_exec(own->sqlite, "PRAGMA locking_mode = EXCLUSIVE", path, error);
    if (r == 0)
        r = sqlite_says_ok(own->sqlite, "PRAGMA quick_check(1)", error);
    if (r == 0 && !sqlite_is_current(own->sqlite)) {
        r = edl_error_set(error, -EINVAL, "%s was not made by this release", path);
        (void)edl_error_remedy(error, "start this edl-scheduler once and stop it: that brings the"
                                      " database up to date");
    }
    return give(own, r, ret);
}

/* Its maker syncs it and gives it its name; a crash before leaves a file that nobody opens. */
int sqlite_copy_target(const char *path, struct copy_place **ret, struct edl_error *error)
{
    struct sqlite_place *own;
    int r;

    if (access(path, F_OK) == 0)
        return edl_error_set(error, -EEXIST, "%s is there already", path);
    r = open_place(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &own, error);
    if (r < 0)
        return r;
    r = sqlite_exec(own->sqlite, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY", path,
                    error);
    if (r == 0)
        r = sqlite_migrate(own->sqlite, error);
    /* sums of triggers are copied as they are */
    if (r == 0)
        (void)sqlite3_db_config(own->sqlite->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return give(own, r, ret);
}

int sqlite_copy_fresh(struct copy_place **ret, struct edl_error *error)
{
    struct sqlite_place *own;
    int r = open_place(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &own, error);

    return r < 0 ? r : give(own, sqlite_migrate(own->sqlite, error), ret);
}
