/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - what the store asks of a database: prepared statements, rows, transactions
 *
 * The store's SQL and what it does with rows are the same over each engine. An engine is a table of
 * functions behind a connection; a folder beside this file has all that only one of them knows:
 * sqlite/, postgresql/.
 *
 * A statement is bound, then run, or its rows are read one by one; both keep what was
 * bound. In a transaction an engine may tell an error of run, or of prepare, with the next call
 * that reads, or with the commit. An error stays with the engine until its next call: engine_error
 * tells it.
 *
 * Used by: store. Tests: tests/unit/test_store_engine.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct engine;
struct prepared;

struct engine_figures {
    uint64_t database_bytes, log_bytes; /* log: what was written ahead. 0: it cannot be looked at */
    uint64_t disk_free_bytes;
};

/* A mark {NAME WORD} in the text of a statement: WORD stands between those; before NULL: nothing is
 * in its place. */
struct engine_mark {
    const char *name, *before, *after;
};

/* Numbers of parameters begin at 1, of columns at 0. Codes: 0, or negative with an error kept. */
struct engine_calls {
    const struct engine_mark *marks; /* the last one has no name */
    int (*prepare)(struct engine *engine, const char *text, struct prepared **ret);
    struct prepared *(*finish)(struct prepared *statement); /* accepts NULL */
    /* NULL binds NULL. release: the text is the statement's from now on, which frees it so; NULL:
     * it is borrowed until the statement was run or reset */
    void (*bind_text)(struct prepared *statement, int at, const char *text,
                      void (*release)(void *text));
    void (*bind_i64)(struct prepared *statement, int at, int64_t value);
    void (*bind_real)(struct prepared *statement, int at, double value);
    int (*run)(struct prepared *statement); /* one that gives no rows; it is reset */
    /* the same of a statement that has to change exactly one row; -ENOENT where it does not. NULL:
     * run, and a look at changes */
    int (*run_one)(struct prepared *statement);
    int (*next)(struct prepared *statement); /* 1: it stands on the next row; 0: behind the last */
    void (*reset)(struct prepared *statement); /* no more of its rows are wanted */
    /* of the row; good until the next one, or the end */
    const char *(*text)(struct prepared *statement, int column); /* NULL: the column is NULL */
    int64_t (*i64)(struct prepared *statement, int column);      /* 0: so */
    double (*real)(struct prepared *statement, int column);      /* 0: so */
    bool (*is_null)(struct prepared *statement, int column);
    const char *(*name)(struct prepared *statement, int column); /* NULL: there is no such one */
    uint64_t (*changes)(struct engine *engine); /* rows that the last statement changed */
    int (*begin)(struct engine *engine);
    int (*commit)(struct engine *engine);
    void (*rollback)(struct engine *engine); /* nothing where no transaction is open */
    int (*error)(struct engine *engine, const char *what, struct edl_error *error);
    /* whether it is still the database that was opened; a write that changes nothing */
    int (*check)(struct engine *engine, struct edl_error *error);
    int (*probe)(struct engine *engine, struct edl_error *error);
    /* whether its disk takes so many bytes more; nothing stays of them. NULL: a probe has to do */
    int (*room)(struct engine *engine, uint64_t bytes, struct edl_error *error);
    void (*figures)(struct engine *engine, struct engine_figures *ret);
    void (*disconnect)(struct engine *engine); /* its statements are finished */
};

struct engine {
    const struct engine_calls *calls;
};

/* The first member of what an engine makes of it. */
struct prepared {
    struct engine *engine; /* borrowed */
};

/* engine_error - the engine's words, and the beginning of what; returns one of our codes: -ENOSPC,
 * -EROFS, -EIO, -EAGAIN, -EACCES, -ENOMEM, -ETIMEDOUT, EDL_ECORRUPT; of a server -ENOTCONN, -ESTALE
 * (postgresql.h) */
int engine_error(struct engine *engine, const char *what, struct edl_error *error);

/* engine_close - accepts NULL; returns NULL */
struct engine *engine_close(struct engine *engine);

/* engine_number - of a statement that binds nothing the first column of the first row; -1: there is
 * none */
int64_t engine_number(struct engine *engine, const char *text);

/* --- a statement --- */

/* store_bind_text - NULL binds NULL; the text must live until the statement is reset.
 * store_take_text - it is freed with the statement, or when another is bound */
void store_bind_text(struct prepared *statement, int at, const char *text);
void store_take_text(struct prepared *statement, int at, char *text);
void store_bind_u64(struct prepared *statement, int at, uint64_t value);
void store_bind_i64(struct prepared *statement, int at, int64_t value);
void store_bind_real(struct prepared *statement, int at, double value);

/* store_next - 1 with the next row, good until the statement is stepped or reset; 0: there is none.
 * doing: for people, "reading events" */
int store_next(struct prepared *statement, const char *doing, struct edl_error *error);
void store_reset(struct prepared *statement);

/* store_column_text - "" for NULL */
const char *store_column_text(struct prepared *statement, int at);
uint64_t store_column_u64(struct prepared *statement, int at);
int64_t store_column_i64(struct prepared *statement, int at);
double store_column_real(struct prepared *statement, int at);
bool store_column_is_null(struct prepared *statement, int at);
