/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - all rows of one database into another, of the same engine or not
 *
 * A place is a database that is copied from, or into. Each engine makes them
 * (sqlite/sqlite_copy.h,
 * postgresql/postgresql_copy.h). The schemas of the places list tables and columns, and both have
 * to say the same. All rows are read back and compared before they are committed: a copy is there
 * as a whole or not at all.
 *
 * Used by: scheduler/migrate.c. Tests: tests/unit/test_copy.c, tests/integration/272-migrate.sh. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/workspace_id.h"

struct edl_error;

#define COPY_NAME_MAX 64
#define COPY_COLUMNS_MAX 96

enum copy_kind { COPY_WHOLE, COPY_REAL, COPY_TEXT, COPY_OTHER };

struct copy_column {
    char name[COPY_NAME_MAX];
    enum copy_kind kind;
    unsigned key; /* its place in the primary key, from 1 on; 0: it is not in it */
};

struct copy_table {
    char name[COPY_NAME_MAX];
    struct copy_column columns[COPY_COLUMNS_MAX]; /* by name */
    size_t n;
};

struct copy_schema {
    int version;
    struct copy_table *tables; /* owned; by name */
    size_t n;
};
void copy_schema_done(struct copy_schema *schema);

/* copy_schema_add - a column of the table that was added last, or of a new one; in the order of
 * tables and columns. -EOVERFLOW */
int copy_schema_add(struct copy_schema *schema, const char *table, const struct copy_column *column,
                    struct edl_error *error);

/* copy_select - "SELECT columns FROM table ORDER BY key"; the caller frees it. suffix: behind each
 * column of text that it sorts by, as " COLLATE \"C\"" */
char *copy_select(const struct copy_table *table, const char *suffix);
/* copy_columns - "a", "b"; the caller frees it */
char *copy_columns(const struct copy_table *table);

struct copy_place;
/* A line ends with '\n'. Negative ends the reading. */
typedef int (*copy_line_fn)(const char *line, size_t size, void *userdata, struct edl_error *error);

struct copy_calls {
    int (*schema)(struct copy_place *place, struct copy_schema *ret, struct edl_error *error);
    /* the first column of the first row of a statement; -1: there is none, or it is no number */
    int64_t (*number)(struct copy_place *place, const char *sql);
    /* rows in the order of their key; in one state of all, as they are in this transaction */
    int (*read)(struct copy_place *place, const struct copy_table *table, copy_line_fn fn,
                void *userdata, struct edl_error *error);
    int (*begin)(struct copy_place *place, struct edl_error *error); /* a transaction for rows */
    int (*run)(struct copy_place *place, const char *sql, struct edl_error *error);
    int (*write_begin)(struct copy_place *place, const struct copy_table *table,
                       struct edl_error *error);
    int (*write)(struct copy_place *place, const char *line, size_t size, struct edl_error *error);
    int (*write_end)(struct copy_place *place, struct edl_error *error);
    int (*commit)(struct copy_place *place, struct edl_error *error);
    void (*disconnect)(struct copy_place *place); /* rolls back without a commit */
};

struct copy_place {
    const struct copy_calls *calls;
    uint64_t mended; /* texts that were read and not UTF-8 */
};

/* copy_close - accepts NULL, returns NULL */
struct copy_place *copy_close(struct copy_place *place);

struct copy_table_sum {
    char name[COPY_NAME_MAX];
    uint64_t rows;
    char digest[WORKSPACE_HEX + 1]; /* SHA-256 of its lines */
};

struct copy_sum {
    struct copy_table_sum *tables; /* owned */
    size_t n;
    uint64_t rows, mended;
};
void copy_sum_done(struct copy_sum *sum);

struct copy_wishes {
    bool replace;     /* the rows that the target has go; else it has to have none */
    const char *also; /* a statement of the same transaction; NULL: none */
    /* the last step before the commit, for what is in no table of both; NULL: there is none */
    int (*behind)(struct copy_place *from, struct copy_place *to, void *what,
                  struct edl_error *error);
    void *behind_what;
    const char *where; /* name of the target, for errors */
    const char *clear; /* a remedy: how to have an empty one */
    /* now and then; doing: "copied" or "compared"; all: of this table. NULL: nobody wants to know
     */
    void (*progress)(const char *table, const char *doing, uint64_t rows, uint64_t all,
                     void *userdata);
    void *userdata;
    const atomic_bool
        *give_up; /* looked at now and then: -ECANCELED. NULL: it is done to the end */
};

/* copy_same_cluster - whether both were made as one database */
bool copy_same_cluster(struct copy_place *a, struct copy_place *b);

/* copy_all - every row; committed when it returns 0, and else the target is as it was
 * Errors: -EEXIST the target is not empty, -EINVAL another schema, EDL_ECORRUPT the rows
 * there are others, and those of the engines. The caller clears ret in any case. */
int copy_all(struct copy_place *from, struct copy_place *to, const struct copy_wishes *wishes,
             struct copy_sum *ret, struct edl_error *error);
