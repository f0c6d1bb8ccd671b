/* SPDX-License-Identifier: Apache-2.0 */
/* asked.h - what a memo holds (store_asked.h): statements that were asked for, and copies of their
 * rows. Shared by asked.c and far_reads.c only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/store_asked.h"
#include "shared/error.h"

struct block;

struct asked_cell {
    const char *text; /* NULL: the column is NULL */
    int64_t number;
    double real;
};

struct asked_rows {
    struct asked_cell *cells; /* owned: n rows of n_columns each */
    size_t n, n_columns, room;
    const char **names;   /* owned: of the columns */
    struct block *blocks; /* owned: the texts */
    size_t bytes;         /* that all of it takes */
};

/* asked_rows_take - copies the row on which a statement of a reader stands */
void asked_rows_take(struct asked_rows *rows, struct prepared *statement);
void asked_rows_done(struct asked_rows *rows);

/* A read that was asked for. */
struct asked {
    int place;                /* enum statement */
    struct far_value *values; /* owned, and their texts */
    int n;
    bool there; /* it was read; r: 0, or how that failed */
    int r;
    struct edl_error error;
    struct asked_rows rows;
    struct asked *next;
};

struct store_asked {
    struct asked *first, *last; /* owned, in the order in which they were asked for */
    size_t bytes;               /* of their rows */
    size_t n_wanted;
};

/* asked_find - NULL: it was not asked for. asked_add - it is, now */
struct asked *asked_find(const struct store_asked *memo, const struct far_statement *statement);
struct asked *asked_add(struct store_asked *memo, const struct far_statement *statement);
