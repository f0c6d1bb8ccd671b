/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_arrays.h - the runs of one statement in a transaction, as one statement with arrays
 *
 * The server takes some 40 us for each statement, and little for each row. So the runs of a
 * transaction wait, and go as one statement for each text: the values of a parameter in all runs
 * are an array. A statement has such a form where it changes one row by its key: an INSERT of
 * parameters with or without ON CONFLICT, an UPDATE and a DELETE. All others are sent as they are,
 * behind those that wait.
 *
 * Of one key the last run wins, as it would one by one. A run goes with the earlier ones of its
 * statement, so before those of other statements that came between. It does only where their rows
 * are known to be others. Used by: postgresql_engine.c. Tests:
 * tests/unit/test_postgresql_arrays.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct column_type {
    char *table, *column, *type; /* owned */
};

struct column_types {
    struct column_type *types; /* owned */
    size_t n;
};

void column_types_add(struct column_types *types, const char *table, const char *column,
                      const char *type);
void column_types_done(struct column_types *types);

/* The table of a statement, and the column that each parameter is of. Parameters are
 * those of the server, from 0 on. */
struct array_form {
    char *sql;      /* owned: with arrays */
    char *table;    /* owned */
    char **columns; /* owned */
    bool *is_key;   /* owned */
    size_t n, n_keys;
    bool inserts, first_wins;
};

/* array_form_of - of a statement in the store's text, whose parameter ?N is the server's
 * places[N - 1]; NULL: it has none */
struct array_form *array_form_of(const char *text, const unsigned *places, unsigned n,
                                 const struct column_types *types);
struct array_form *array_form_free(struct array_form *form); /* accepts NULL; returns NULL */

/* Runs that wait. */
struct array_rows {
    struct array_form *form;
    struct array_row *first;  /* owned */
    struct array_row *by_key; /* uthash */
    size_t n;
};

/* array_rows_add - a run with these values (NULL: SQL's NULL), which are copied */
void array_rows_add(struct array_rows *rows, const char *const *values);
/* array_rows_clash - whether a run of another statement may be about a row that waits here */
bool array_rows_clash(const struct array_rows *rows, const struct array_form *form,
                      const char *const *values);
/* array_rows_values - of the one run that waits */
const char *const *array_rows_values(const struct array_rows *rows);
/* array_rows_literal - the array of a parameter, as the server reads it; the caller frees it */
char *array_rows_literal(const struct array_rows *rows, size_t parameter);
void array_rows_clear(struct array_rows *rows);
