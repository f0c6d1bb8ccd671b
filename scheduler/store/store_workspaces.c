/* SPDX-License-Identifier: Apache-2.0 */
/* store_workspaces.c - see store_workspaces.h */
#include "scheduler/store/store_workspaces.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define DOING "archives of workspaces"
#define AT_ONCE "16" /* pieces that one transaction deletes: milliseconds */

static struct prepared *prepare(struct engine *engine, const char *text, struct edl_error *error)
{
    struct prepared *statement = NULL;

    if (engine->calls->prepare(engine, text, &statement) < 0)
        (void)engine_error(engine, DOING, error);
    return statement;
}

static int finish(struct engine *engine, struct prepared *statement, int r, struct edl_error *error)
{
    if (r < 0)
        r = engine_error(engine, DOING, error);
    (void)engine->calls->finish(statement);
    return r;
}

/* run_text - a statement with texts as its parameters, the first n that are no NULL */
static int run_text(struct engine *engine, const char *sql, const char *first, const char *second,
                    struct edl_error *error)
{
    struct prepared *statement = prepare(engine, sql, error);

    if (statement == NULL)
        return error->code;
    if (first != NULL)
        store_bind_text(statement, 1, first);
    if (second != NULL)
        store_bind_text(statement, 2, second);
    return finish(engine, statement, engine->calls->run(statement), error);
}

/* in_term - a bound statement as a transaction of its own, which fails in another term; *ret: rows
 * that it changed */
static int in_term(struct engine *engine, struct prepared *statement, uint64_t *ret,
                   struct edl_error *error)
{
    int r = engine->calls->begin(engine);

    if (r == 0)
        r = engine->calls->run(statement);
    if (r == 0)
        r = engine->calls->commit(engine);
    if (r < 0) {
        r = engine_error(engine, DOING, error);
        engine->calls->rollback(engine);
        return r;
    }
    if (ret != NULL)
        *ret = engine->calls->changes(engine);
    return 0;
}

/* delete_all - a bit at a time, until none is left; text: its only parameter, or NULL */
static int delete_all(struct engine *engine, const char *sql, const char *text,
                      struct edl_error *error)
{
    struct prepared *statement = prepare(engine, sql, error);
    uint64_t n = 1;
    int r = 0;

    if (statement == NULL)
        return error->code;
    if (text != NULL)
        store_bind_text(statement, 1, text);
    while (r == 0 && n > 0)
        r = in_term(engine, statement, &n, error);
    (void)engine->calls->finish(statement);
    return r;
}

int store_workspaces_make(struct store *store, struct edl_error *error)
{
    static const char *const tables[] = {
        "CREATE TABLE IF NOT EXISTS workspace (sha256 text PRIMARY KEY, pieces text NOT NULL,"
        " bytes bigint NOT NULL, sender text NOT NULL, owners text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS workspace_piece (pieces text, number bigint, bytes bytea NOT"
        " NULL, PRIMARY KEY (pieces, number))",
        /* most archives are compressed already */
        "ALTER TABLE workspace_piece ALTER COLUMN bytes SET STORAGE EXTERNAL",
    };
    struct engine *engine = store->engine;

    if (engine_number(engine, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
                              " AND tablename = 'workspace_piece'") == 1)
        return 0;
    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        int r = run_text(engine, tables[i], NULL, NULL, error);

        if (r < 0)
            return r;
    }
    return 0;
}

int store_workspaces_each(struct store *store, store_workspace_fn fn, void *userdata,
                          struct edl_error *error)
{
    struct engine *engine = store->engine;
    struct prepared *statement =
        prepare(engine, "SELECT sha256, sender, owners, bytes FROM workspace", error);
    int r;

    if (statement == NULL)
        return error->code;
    while ((r = engine->calls->next(statement)) == 1)
        fn(&(struct stored_workspace){ .sha256 = store_column_text(statement, 0),
                                       .sender = store_column_text(statement, 1),
                                       .owners = store_column_text(statement, 2),
                                       .bytes = store_column_u64(statement, 3) },
           userdata);
    return finish(engine, statement, r, error);
}

/* --- bytes as hexadecimal digits, which each way of sending takes --- */

static char *digits_of(const unsigned char *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *text = xcalloc(2 * size + 1, 1);

    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[data[i] >> 4];
        text[2 * i + 1] = digits[data[i] & 15];
    }
    return text;
}

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

int store_workspace_put(struct engine *engine, const char *pieces, uint64_t number,
                        const void *data, size_t size, struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine,
                "INSERT INTO workspace_piece (pieces, number, bytes) VALUES (?1, ?2,"
                " decode(?3, 'hex'))",
                error);

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, pieces);
    store_bind_u64(statement, 2, number);
    store_take_text(statement, 3, digits_of(data, size));
    return finish(engine, statement, engine->calls->run(statement), error);
}

int store_workspace_get(struct engine *engine, const char *sha256, uint64_t number, void *data,
                        size_t *ret_size, struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine,
                "SELECT encode(p.bytes, 'hex') FROM workspace AS w JOIN workspace_piece AS"
                " p ON p.pieces = w.pieces WHERE w.sha256 = ?1 AND p.number = ?2",
                error);
    unsigned char *bytes = data;
    int r;

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, sha256);
    store_bind_u64(statement, 2, number);
    r = engine->calls->next(statement);
    if (r == 1) {
        const char *text = store_column_text(statement, 0);
        size_t size = MIN_OF(strlen(text) / 2, WORKSPACE_PIECE_BYTES);

        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
        *ret_size = size;
    }
    engine->calls->reset(statement);
    return finish(engine, statement, r, error);
}

/* --- archives --- */

/* pieces_of - 1 with the name of an archive's bytes; 0: it is not there */
static int pieces_of(struct engine *engine, const char *sha256, char ret[WORKSPACE_PIECES_SIZE],
                     struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine, "SELECT pieces FROM workspace WHERE sha256 = ?1", error);
    int r;

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, sha256);
    r = engine->calls->next(statement);
    if (r == 1)
        (void)snprintf(ret, WORKSPACE_PIECES_SIZE, "%s", store_column_text(statement, 0));
    engine->calls->reset(statement);
    return finish(engine, statement, r, error);
}

static int insert(struct engine *engine, const char *pieces, const struct stored_workspace *row,
                  struct edl_error *error)
{
    struct prepared *statement = prepare(
        engine,
        "INSERT INTO workspace (sha256, pieces, bytes, sender, owners) SELECT CAST(?1 AS text),"
        " CAST(?2 AS text), CAST(?3 AS bigint), CAST(?4 AS text), CAST(?5 AS text) WHERE CAST(?3"
        " AS bigint) = (SELECT coalesce(sum(octet_length(bytes)), 0) FROM workspace_piece WHERE"
        " pieces = CAST(?2 AS text))",
        error);
    uint64_t n = 0;
    int r;

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, row->sha256);
    store_bind_text(statement, 2, pieces);
    store_bind_u64(statement, 3, row->bytes);
    store_bind_text(statement, 4, row->sender);
    store_bind_text(statement, 5, row->owners);
    r = in_term(engine, statement, &n, error);
    (void)engine->calls->finish(statement);
    if (r < 0 || n == 1)
        return r;
    (void)edl_error_set(error, -EAGAIN, "the database has not all of the archive %s", row->sha256);
    return edl_error_remedy(error, "send it again");
}

int store_workspace_name(struct engine *engine, const char *pieces,
                         const struct stored_workspace *row, struct edl_error *error)
{
    char there[WORKSPACE_PIECES_SIZE];
    int r = pieces_of(engine, row->sha256, there, error);

    if (r == 0)
        return insert(engine, pieces, row, error);
    return r < 0 ? r : store_workspace_drop(engine, pieces, error);
}

int store_workspace_own(struct engine *engine, const char *sha256, const char *owners,
                        struct edl_error *error)
{
    struct prepared *statement =
        prepare(engine, "UPDATE workspace SET owners = ?2 WHERE sha256 = ?1", error);
    int r;

    if (statement == NULL)
        return error->code;
    store_bind_text(statement, 1, sha256);
    store_bind_text(statement, 2, owners);
    r = in_term(engine, statement, NULL, error);
    (void)engine->calls->finish(statement);
    return r;
}

int store_workspace_remove(struct engine *engine, const char *sha256, struct edl_error *error)
{
    char pieces[WORKSPACE_PIECES_SIZE];
    int r = pieces_of(engine, sha256, pieces, error);

    if (r == 1)
        r = delete_all(engine, "DELETE FROM workspace WHERE sha256 = ?1", sha256, error);
    else
        return r;
    return r < 0 ? r : store_workspace_drop(engine, pieces, error);
}

int store_workspace_drop(struct engine *engine, const char *pieces, struct edl_error *error)
{
    return delete_all(engine,
                      "DELETE FROM workspace_piece WHERE pieces = ?1 AND number IN (SELECT number"
                      " FROM workspace_piece WHERE pieces = ?1 LIMIT " AT_ONCE
                      ") AND NOT EXISTS (SELECT 1 FROM workspace WHERE workspace.pieces = ?1)",
                      pieces, error);
}

int store_workspace_tidy(struct engine *engine, struct edl_error *error)
{
    return delete_all(engine,
                      "DELETE FROM workspace_piece WHERE (pieces, number) IN (SELECT p.pieces,"
                      " p.number FROM workspace_piece AS p WHERE NOT EXISTS (SELECT 1 FROM"
                      " workspace AS w WHERE w.pieces = p.pieces) LIMIT " AT_ONCE ")",
                      NULL, error);
}
