/* SPDX-License-Identifier: Apache-2.0 */
/* far_reads.c - rows of the loop's statements, from a connection of its own */
#include <errno.h>
#include <stdlib.h>

#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/store_columns.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct far_rows {
    struct prepared *statement; /* borrowed */
};

struct far_reads {
    struct engine *reader;             /* owned; NULL: not open yet */
    struct prepared *statements[ST_N]; /* owned */
};

int far_reads_new(sd_event *event, struct far *far, struct far_reads **ret, struct edl_error *error)
{
    (void)event;
    (void)far;
    (void)error;
    *ret = xcalloc(1, sizeof **ret);
    return 0;
}

struct far_reads *far_reads_free(struct far_reads *reads)
{
    if (reads == NULL)
        return NULL;
    for (int i = 0; i < ST_N; i++)
        if (reads->statements[i] != NULL)
            (void)reads->reader->calls->finish(reads->statements[i]);
    reads->reader = engine_close(reads->reader);
    free(reads);
    return NULL;
}

static int prepare(struct far *far, int place)
{
    struct far_reads *reads = far->reads;
    _cleanup_free_ char *text = NULL;

    if (reads->reader == NULL) {
        int r = far->config.open_reader(far->config.userdata, &reads->reader, &far->error);

        if (r < 0)
            return r;
    }
    if (reads->statements[place] != NULL)
        return 0;
    text = store_text_of(reads->reader->calls, store_statement_text((enum statement)place));
    if (reads->reader->calls->prepare(reads->reader, text, &reads->statements[place]) < 0)
        return engine_error(reads->reader, text, &far->error);
    return 0;
}

static void bind(struct prepared *statement, int at, const struct far_value *value)
{
    switch (value->kind) {
    case FAR_NULL:
        store_bind_text(statement, at, NULL);
        break;
    case FAR_NUMBER:
        store_bind_i64(statement, at, value->number);
        break;
    case FAR_REAL:
        store_bind_real(statement, at, value->real);
        break;
    case FAR_TEXT:
        store_bind_text(statement, at, value->text);
        break;
    }
}

static int begin(struct far *far, struct far_statement *statement)
{
    int r = prepare(far, statement->place);

    if (r < 0)
        return r;
    statement->rows = xcalloc(1, sizeof *statement->rows);
    statement->rows->statement = far->reads->statements[statement->place];
    for (int i = 0; i < statement->n_values; i++)
        bind(statement->rows->statement, i + 1, &statement->values[i]);
    return 0;
}

int far_next(struct far *far, struct far_statement *statement)
{
    int r = statement->rows == NULL ? begin(far, statement) : 0;

    return r < 0 ? r : store_next(statement->rows->statement, "reading", &far->error);
}

void far_reset(struct far_statement *statement)
{
    if (statement->rows != NULL)
        store_reset(statement->rows->statement);
    free(statement->rows);
    statement->rows = NULL;
}

const char *far_text(struct far_statement *statement, int column)
{
    struct prepared *prepared = statement->rows->statement;

    return prepared->engine->calls->text(prepared, column);
}

int64_t far_number(struct far_statement *statement, int column)
{
    return store_column_i64(statement->rows->statement, column);
}

double far_real(struct far_statement *statement, int column)
{
    return store_column_real(statement->rows->statement, column);
}

const char *far_name(struct far_statement *statement, int column)
{
    struct prepared *prepared = statement->rows->statement;

    return prepared->engine->calls->name(prepared, column);
}
