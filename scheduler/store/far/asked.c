/* SPDX-License-Identifier: Apache-2.0 */
/* asked.c - see asked.h
 *
 * A cell is kept as text and as number, as the engine gives both: its reader knows which it is.
 * Texts stand in blocks, so that thousands of rows go by some calls of free(). */
#include "scheduler/store/far/asked.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/store_asked.h"
#include "shared/macro.h"

#define BLOCK_BYTES ((size_t)16 << 10)
#define COLUMNS_MAX 128

struct block {
    struct block *next;
    size_t used, size;
    char data[];
};

static char *keep(struct asked_rows *rows, const char *text)
{
    size_t size = strlen(text) + 1;
    struct block *block = rows->blocks;
    char *place;

    if (block == NULL || block->size - block->used < size) {
        block = xcalloc(1, sizeof *block + MAX_OF(size, BLOCK_BYTES));
        block->size = MAX_OF(size, BLOCK_BYTES);
        block->next = rows->blocks;
        rows->blocks = block;
        rows->bytes += sizeof *block + block->size;
    }
    place = block->data + block->used;
    memcpy(place, text, size);
    block->used += size;
    return place;
}

static void take_names(struct asked_rows *rows, struct prepared *statement)
{
    const struct engine_calls *calls = statement->engine->calls;
    const char *names[COLUMNS_MAX];
    size_t n = 0;

    while (n < COLUMNS_MAX && (names[n] = calls->name(statement, (int)n)) != NULL)
        n++;
    rows->n_columns = n;
    rows->names = xcalloc(n + 1, sizeof *rows->names);
    for (size_t i = 0; i < n; i++)
        rows->names[i] = keep(rows, names[i]);
}

void asked_rows_take(struct asked_rows *rows, struct prepared *statement)
{
    const struct engine_calls *calls = statement->engine->calls;
    struct asked_cell *cell;

    if (rows->names == NULL)
        take_names(rows, statement);
    if (rows->n == rows->room) {
        size_t room = rows->room != 0 ? rows->room * 2 : 4;

        rows->cells = xreallocarray(rows->cells, room * rows->n_columns, sizeof *rows->cells);
        rows->bytes += (room - rows->room) * rows->n_columns * sizeof *rows->cells;
        rows->room = room;
    }
    cell = rows->cells + rows->n++ * rows->n_columns;
    for (size_t i = 0; i < rows->n_columns; i++, cell++) {
        const char *text;

        *cell = (struct asked_cell){ .text = NULL };
        if (calls->is_null(statement, (int)i))
            continue;
        cell->number = calls->i64(statement, (int)i);
        cell->real = calls->real(statement, (int)i);
        text = calls->text(statement, (int)i);
        cell->text = keep(rows, text != NULL ? text : "");
    }
}

void asked_rows_done(struct asked_rows *rows)
{
    while (rows->blocks != NULL) {
        struct block *next = rows->blocks->next;

        free(rows->blocks);
        rows->blocks = next;
    }
    free(rows->cells);
    free(rows->names);
    *rows = (struct asked_rows){ .n = 0 };
}

/* --- memos --- */

static bool values_are_same(const struct far_value *a, const struct far_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case FAR_NULL:
        return true;
    case FAR_NUMBER:
        return a->number == b->number;
    case FAR_REAL:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case FAR_TEXT:
        return streq(a->text, b->text);
    }
    return false;
}

static bool is_of(const struct asked *asked, const struct far_statement *statement)
{
    if (asked->place != statement->place || asked->n != statement->n_values)
        return false;
    for (int i = 0; i < asked->n; i++)
        if (!values_are_same(&asked->values[i], &statement->values[i]))
            return false;
    return true;
}

struct asked *asked_find(const struct store_asked *memo, const struct far_statement *statement)
{
    struct asked *asked = memo->first;

    while (asked != NULL && !is_of(asked, statement))
        asked = asked->next;
    return asked;
}

struct asked *asked_add(struct store_asked *memo, const struct far_statement *statement)
{
    struct asked *asked = xcalloc(1, sizeof *asked);

    asked->place = statement->place;
    asked->n = statement->n_values;
    asked->values = xcalloc((size_t)asked->n + 1, sizeof *asked->values);
    for (int i = 0; i < asked->n; i++) {
        asked->values[i] = statement->values[i];
        asked->values[i].release = NULL;
        if (asked->values[i].kind == FAR_TEXT)
            asked->values[i].text = xstrdup(statement->values[i].text);
    }
    if (memo->first == NULL)
        memo->first = asked;
    else
        memo->last->next = asked;
    memo->last = asked;
    memo->n_wanted++;
    return asked;
}

static void asked_free(struct asked *asked)
{
    for (int i = 0; i < asked->n; i++)
        if (asked->values[i].kind == FAR_TEXT)
            free((char *)(uintptr_t)asked->values[i].text); /* why: asked_add's own copy */
    free(asked->values);
    asked_rows_done(&asked->rows);
    free(asked);
}

struct store_asked *store_asked_new(void)
{
    return xcalloc(1, sizeof(struct store_asked));
}

void store_asked_forget(struct store_asked *memo)
{
    struct asked *asked = memo->first;

    while (asked != NULL) {
        struct asked *next = asked->next;

        asked_free(asked);
        asked = next;
    }
    *memo = (struct store_asked){ .n_wanted = 0 };
}

struct store_asked *store_asked_free(struct store_asked *memo)
{
    if (memo == NULL)
        return NULL;
    store_asked_forget(memo);
    free(memo);
    return NULL;
}

bool store_asked_wants(const struct store_asked *memo)
{
    return memo->n_wanted > 0;
}

bool store_asked_is_empty(const struct store_asked *memo)
{
    return memo->first == NULL;
}

size_t store_asked_bytes(const struct store_asked *memo)
{
    return memo->bytes;
}
