/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - comma separated values with a line of column names (RFC 4180), whole in memory
 *
 * Every error names the file, the line and the column, the value and the right form. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define CSV_MAX_BYTES ((size_t)1 << 30)
#define CSV_MAX_COLUMNS 256

struct csv {
    char *name;      /* as errors call it */
    char *text;      /* cells point into it */
    char **cells;    /* n_rows * n_columns, without the line of names */
    char **columns;  /* n_columns names */
    uint64_t *lines; /* n_rows: where each row begins, from 1 */
    size_t n_rows, n_columns;
};

#define CSV_NO_COLUMN SIZE_MAX

/* csv_parse - takes over text (malloc'ed, n bytes with a NUL behind them), also when it fails
 * Errors: -EINVAL, also where two columns have one name. Rows that are empty are skipped; quotes
 * may enclose a cell. */
int csv_parse(const char *name, char *text, size_t n, struct csv **ret, struct edl_error *error);

/* csv_read - a file. Errors: what opening gives, -E2BIG, -EINVAL */
int csv_read(const char *path, struct csv **ret, struct edl_error *error);

struct csv *csv_free(struct csv *csv);

/* csv_find - the column's index, or CSV_NO_COLUMN */
size_t csv_find(const struct csv *csv, const char *column);

/* csv_column - as csv_find, but it must be there: -EINVAL */
int csv_column(const struct csv *csv, const char *column, size_t *ret, struct edl_error *error);

const char *csv_cell(const struct csv *csv, size_t row, size_t column);

/* csv_refuse - -EINVAL for a cell: "FILE line 3, column "batch": "x" WHAT", and the remedy */
int csv_refuse(const struct csv *csv, size_t row, size_t column, const char *what,
               const char *remedy, struct edl_error *error);

/* csv_refuse_no_rows - -EINVAL for a file that has nothing but names of columns: "FILE has no line
 * below the names of its columns", and the remedy */
int csv_refuse_no_rows(const struct csv *csv, const char *remedy, struct edl_error *error);

/* What a row is about, as numbers: two rows with equal values are about the same. */
struct csv_key {
    uint64_t values[3];
    size_t row;
};

/* csv_refuse_repeated - -EINVAL for the first row that is about the same as one above it; keys:
 * one for each row, they get sorted; column: what the error quotes; same: names of what is equal */
int csv_refuse_repeated(const struct csv *csv, struct csv_key *keys, size_t column,
                        const char *same, const char *remedy, struct edl_error *error);

/* csv_number - a finite number in min..max; csv_count - a whole one */
int csv_number(const struct csv *csv, size_t row, size_t column, double min, double max,
               double *ret, struct edl_error *error);
int csv_count(const struct csv *csv, size_t row, size_t column, uint64_t min, uint64_t max,
              uint64_t *ret, struct edl_error *error);

static inline void cleanup_csvp(struct csv **csv)
{
    (void)csv_free(*csv);
}
