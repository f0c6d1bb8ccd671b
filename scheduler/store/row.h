/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - one row of the database, read with checks
 *
 * Every reader checks what it takes: in range, not too long, of the right kind. The first that
 * fails sets the error, which names the row and the column, and the code EDL_ECORRUPT in row->r.
 * Readers after it do nothing and give 0, "" or NULL. So a row is read as a whole and r looked at
 * once. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

struct row {
    struct prepared *statement; /* borrowed, standing on the row */
    struct edl_error *error;    /* borrowed */
    char name[96];              /* "node n1", "process 2.0.1.7" */
    int r;
};

/* row_begin - the row that the statement stands on; format names it for people */
void row_begin(struct row *row, struct prepared *statement, struct edl_error *error,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* row_damaged - the row's value in that column cannot be; returns EDL_ECORRUPT */
int row_damaged(struct row *row, int column, const char *what);

uint64_t row_u64(struct row *row, int column, uint64_t max); /* 0..max */
int64_t row_i64(struct row *row, int column, int64_t min, int64_t max);
bool row_bool(struct row *row, int column);
/* row_text - copied, size included its NUL */
void row_text(struct row *row, int column, char *to, size_t size);
/* row_state - the number of the state's word */
int row_state(struct row *row, int column, int (*from_string)(const char *text));
/* row_json - new reference to the column's array or object; NULL once row->r is set. max: elements
 */
json_t *row_array(struct row *row, int column, size_t max);
json_t *row_object(struct row *row, int column);
/* row_element - a number of an array of that column, 0..max */
uint64_t row_element(struct row *row, int column, const json_t *value, uint64_t max);
