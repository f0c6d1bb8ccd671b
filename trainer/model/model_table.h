/* SPDX-License-Identifier: Apache-2.0 */
/* model_table.h - one parameter of a saved model as a table: its rows, their words, which rows are
 * alike
 *
 * Nothing in the folder is trusted. Tests: tests/unit/test_model_survey.c */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct edl_error;

struct model_table {
    char *name; /* of the parameter; owned, as all here */
    size_t rows, columns;
    float *values; /* f32[rows, columns] */
    char **words;  /* [rows], of word_dict; NULL: there is none. An entry is NULL where it has no
                      line */
};

/* model_table_open - name: of a parameter; NULL: of the embedding with most rows
 * arguments: of the network, "width=16", or NULL. columns: 0: as the network says.
 * -EINVAL: no such parameter, no shape (what to type is in the error); EDL_ECORRUPT, -errno */
int model_table_open(const char *folder, const char *arguments, const char *name, uint64_t columns,
                     struct model_table *ret, struct edl_error *error);
void model_table_done(struct model_table *table);

/* model_table_row - of a word, or a number when there is no such word; -EINVAL with error */
int model_table_row(const struct model_table *table, const char *word, size_t *ret,
                    struct edl_error *error);

struct model_neighbour {
    size_t row;
    double cosine; /* of the angle between the rows; 0 for a row of zeros */
};

/* model_table_nearest - the n rows (at most) that are most like that one, itself left out; returns
 * how many. Rows that are equally alike come in their order. */
size_t model_table_nearest(const struct model_table *table, size_t row, size_t n,
                           struct model_neighbour *ret);

/* model_table_csv - a line for each row, its word in front where there are words (RFC 4180); nine
 * digits, which give the same float again. -errno */
int model_table_csv(const struct model_table *table, FILE *out);
