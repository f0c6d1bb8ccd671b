/* SPDX-License-Identifier: Apache-2.0 */
/* store_columns.h - a record's table of columns (core/record/columns.h) as SQL
 *
 * Used by: store. Tests: tests/unit/test_columns.c, test_store.c. */
#pragma once

#include "scheduler/core/record/columns.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"

extern const struct record_table join_token_table; /* of struct stored_token */

/* store_text_of - a statement with its marks filled in; the caller frees it. Parameter N of "put"
 * and "change" is column N:
 *   {job}          the columns, to be read: "id, name, ..."
 *   {put job}      a whole row, in place of the one that has its key
 *   {change job}   what can change of a row that is there, but for what is long
 *   {index NAME}   and what else the engine has marks for (engine.h)
 * A mark that names none of them stays as it is, which no engine takes. */
char *store_text_of(const struct engine_calls *engine, const char *text);

/* store_columns_n - of them the database has so many. store_place - the place of one of that name
 */
int store_columns_n(const struct record_table *table);
int store_place(const struct record_table *table, const char *name);

/* store_put_record - a row from a record; columns that are given are bound before. without: flags
 * of columns that the statement does not write: 0, of "change" STORE_KEPT. An error is SQLite's */
#define STORE_KEPT (COLUMN_ONCE | COLUMN_SELDOM)
int store_put_record(struct store *store, enum statement which, const struct record_table *table,
                     const void *record, unsigned without, struct edl_error *error);

/* store_read_record - a record from the row's columns, checked; the first of them stands at that
 * place. Columns that are given are left to the caller. Once row->r is set the rest is empty, and
 * the caller frees what it owns in any case */
void store_read_record(struct row *row, int first, const struct record_table *table, void *record);

/* --- one value: column_values.c, column_json.c --- */

/* column_bind - record's value as parameter at. column_read - the row's column at into record.
 * Nothing is done for one that is given or part of another */
void column_bind(struct prepared *statement, int at, const struct column *column,
                 const void *record);
void column_read(struct row *row, int at, const struct column *column, void *record);

/* column_json_text, column_read_json - of one whose kind is a text of JSON; the caller frees it */
char *column_json_text(const struct column *column, const void *record);
void column_read_json(struct row *row, int at, const struct column *column, void *record);

/* column_number - an unsigned member of 1, 2, 4 or 8 bytes. column_set_number - the value fits.
 * column_most - the most that such a column may be */
uint64_t column_number(const void *member, size_t size);
void column_set_number(void *member, size_t size, uint64_t value);
uint64_t column_most(const struct column *column);
