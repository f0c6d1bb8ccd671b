/* SPDX-License-Identifier: Apache-2.0 */
/* far_engine.c - the calls of an engine, for the loop: writes are recorded, reads come later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/far/far_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

struct far *far_of_engine(struct engine *engine)
{
    return (struct far *)engine; /* why: it is the first member */
}

struct far_statement *far_statement_of(struct prepared *statement)
{
    return (struct far_statement *)statement; /* why: the same */
}

static int fail(struct far *far, int code, const char *text)
{
    return edl_error_set(&far->error, code, "%s", text);
}

/* The store prepares its statements in their order, which is the near store's as well. */
static int prepare(struct engine *engine, const char *text, struct prepared **ret)
{
    struct far *far = far_of_engine(engine);
    struct far_statement *statement;

    (void)text;
    if (far->n_prepared == ST_N)
        return fail(far, -EIO, "a statement that is none of the store's");
    statement = xcalloc(1, sizeof *statement);
    statement->prepared.engine = engine;
    statement->place = far->n_prepared++;
    *ret = &statement->prepared;
    return 0;
}

static void release(struct far_value *value)
{
    if (value->release != NULL)
        value->release((char *)(uintptr_t)value->text); /* why: it was given away by its owner */
    *value = (struct far_value){ .kind = FAR_NULL };
}

static struct prepared *finish(struct prepared *prepared)
{
    struct far_statement *statement = far_statement_of(prepared);

    if (prepared == NULL)
        return NULL;
    far_reset(statement);
    for (int i = 0; i < statement->n_values; i++)
        release(&statement->values[i]);
    free(statement);
    return NULL;
}

/* NULL: no statement of the store has so many. */
static struct far_value *value_at(struct prepared *prepared, int at)
{
    struct far_statement *statement = far_statement_of(prepared);

    if (at < 1 || at > FAR_VALUES_MAX)
        abort(); /* why: a statement of ours has more parameters than FAR_VALUES_MAX */
    statement->n_values = MAX_OF(statement->n_values, at);
    release(&statement->values[at - 1]);
    return &statement->values[at - 1];
}

static void bind_text(struct prepared *statement, int at, const char *text,
                      void (*free_text)(void *text))
{
    struct far_value *value = value_at(statement, at);

    if (text != NULL)
        *value = (struct far_value){ .kind = FAR_TEXT, .text = text, .release = free_text };
}

static void bind_i64(struct prepared *statement, int at, int64_t number)
{
    *value_at(statement, at) = (struct far_value){ .kind = FAR_NUMBER, .number = number };
}

static void bind_real(struct prepared *statement, int at, double real)
{
    *value_at(statement, at) = (struct far_value){ .kind = FAR_REAL, .real = real };
}

static int run(struct prepared *prepared)
{
    struct far *far = far_of_engine(prepared->engine);
    struct far_statement *statement = far_statement_of(prepared);

    if (far->image == NULL)
        return fail(far, -EIO, "a statement was run outside of a turn");
    image_add(far->image, statement->place, statement->values, statement->n_values);
    return 0;
}

static int next(struct prepared *statement)
{
    struct far *far = far_of_engine(statement->engine);

    if (far->image != NULL)
        return fail(far, -EIO, "a turn's rows were read while they were recorded");
    return far_next(far, far_statement_of(statement));
}

static void reset(struct prepared *statement)
{
    far_reset(far_statement_of(statement));
}

static const char *column_text(struct prepared *statement, int column)
{
    return far_text(far_statement_of(statement), column);
}

static int64_t column_i64(struct prepared *statement, int column)
{
    return far_number(far_statement_of(statement), column);
}

static double column_real(struct prepared *statement, int column)
{
    return far_real(far_statement_of(statement), column);
}

static bool column_is_null(struct prepared *statement, int column)
{
    return far_text(far_statement_of(statement), column) == NULL;
}

static const char *column_name(struct prepared *statement, int column)
{
    return far_name(far_statement_of(statement), column);
}

/* What a recorded statement changes is known when it is played (image_play). */
static uint64_t changes(struct engine *engine)
{
    (void)engine;
    return 1;
}

static int nothing(struct engine *engine)
{
    (void)engine;
    return 0;
}

static void no_rollback(struct engine *engine)
{
    (void)engine;
}

static int error_of(struct engine *engine, const char *what, struct edl_error *error)
{
    struct far *far = far_of_engine(engine);

    (void)what;
    if (error != NULL)
        *error = far->error;
    return far->error.code;
}

/* Whether the database answers is found out by turns, and by signs of life between them. */
static int check(struct engine *engine, struct edl_error *error)
{
    (void)engine;
    (void)error;
    return 0;
}

static void figures(struct engine *engine, struct engine_figures *ret)
{
    *ret = far_of_engine(engine)->sums.figures;
}

struct burial {
    struct worker_job job; /* first */
    struct far *far;
};

static void bury(struct worker_job *job)
{
    struct far *far = ((struct burial *)job)->far;

    far->near = store_free(far->near);
    free(far);
}

/* A database that is away may keep the thread for long: it closes the connection when it is back.
 */
static void disconnect(struct engine *engine)
{
    struct far *far = far_of_engine(engine);
    struct burial *last = xcalloc(1, sizeof *last);

    *last = (struct burial){ .job = { .run = bury }, .far = far };
    far->reads = far_reads_free(far->reads);
    (void)worker_abandon_to(far->writing, &last->job);
}

static const struct engine_mark no_marks[] = { { NULL, NULL, NULL } };

const struct engine_calls far_calls = {
    .marks = no_marks,
    .prepare = prepare,
    .finish = finish,
    .bind_text = bind_text,
    .bind_i64 = bind_i64,
    .bind_real = bind_real,
    .run = run,
    .next = next,
    .reset = reset,
    .text = column_text,
    .i64 = column_i64,
    .real = column_real,
    .is_null = column_is_null,
    .name = column_name,
    .changes = changes,
    .begin = nothing,
    .commit = nothing,
    .rollback = no_rollback,
    .error = error_of,
    .check = check,
    .probe = check,
    .figures = figures,
    .disconnect = disconnect,
};
