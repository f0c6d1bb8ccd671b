/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - the records as tables of columns: one line has all that is said of one stored fact
 *
 * A table lists the members of one struct of records.h. The SQLite store takes from it the texts of
 * its statements, the values that it writes and the checks of those that it reads. The core takes
 * from it the members that live object and record have in common, and what a comparison looks at.
 *
 * Columns that the database has come first; the place of a column is its place in a SELECT and,
 * from 1 on, its parameter. Behind them come members that are part of another column: the length of
 * a list.
 *
 * Used by: core/record, store. Tests: tests/unit/test_columns.c. */
#pragma once

#include "scheduler/core/record/records.h"

enum column_kind {
    COLUMN_PART,     /* of another column; the database has none of that name */
    COLUMN_GIVEN,    /* no member: the writer and the reader of the row have it themselves */
    COLUMN_NUMBER,   /* unsigned, of 1, 2, 4 or 8 bytes; 0 to most */
    COLUMN_SIGNED,   /* of 4 or 8 bytes */
    COLUMN_BOOL,     /* 0 or 1 */
    COLUMN_TEXT,     /* char[] */
    COLUMN_BORROWED, /* const char *; NULL: SQL's NULL. The reader's while it is at the row */
    COLUMN_JOB_STATE,
    COLUMN_PROCESS_STATE,
    COLUMN_NODE_STATE,
    COLUMN_JOB_CAUSE,     /* NULL, of a version before: its reason code tells it */
    COLUMN_PROCESS_CAUSE, /* NULL likewise: its reason does */
    COLUMN_INTENT,        /* NULL likewise: its state and reason code do */
    COLUMN_SECRET,        /* hexadecimal; all 0: "" */
    /* JSON */
    COLUMN_LIST, /* see list */
    COLUMN_LABELS,
    COLUMN_DEVICES, /* the bits of a mask */
    COLUMN_SPEC,    /* the reader frees it. Of it, written and not read: */
    COLUMN_JOB_NAME,
    COLUMN_ARRAY_NAME, /* NULL: it is of no array */
    _COLUMN_KINDS
};

enum column_flags {
    COLUMN_KEY = 1,   /* of the row; never changes */
    COLUMN_ONCE = 2,  /* never changes either */
    COLUMN_SELDOM = 4 /* long: only a row that is written as a whole has it */
};

struct column {
    const char *name; /* in the database */
    enum column_kind kind;
    size_t at, size;        /* of the record's member */
    size_t live, live_size; /* of the live object's, the same type; size 0: it has none */
    unsigned flags;         /* enum column_flags */
    bool loose;             /* a comparison passes over it: see compare.c */
    uint64_t most;          /* COLUMN_NUMBER; 0: what the type holds, at most INT64_MAX.
                               COLUMN_LIST: elements behind a pointer, which the reader frees with
                               their texts; 0: they are in the record itself */
    const struct column_list *list;
};

/* In JSON an element is an array of its members, or, when it has one, that alone. A text that is
 * NULL is left out: it is the last one. */
struct column_list {
    const struct column *members;
    size_t n, element_size;
    size_t length, length_size; /* of the record's member that tells how many; size 0: always all,
                                   and none is written when all are 0 */
    bool length_told;           /* by a column before this one, and so many there must be */
};

#define COLUMN_RECORD(type, member)                                                                \
    .at = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

struct record_table {
    const char *name; /* in the database */
    const struct column *columns;
    size_t n;           /* with the parts of others */
    size_t record_size; /* of the struct */
};

/* RECORD_TABLE - "job", job_columns and the struct of the record */
#define RECORD_TABLE(table, type)                                                                  \
    {                                                                                              \
        .name = #table, .columns = table##_columns, .n = ELEMENTS(table##_columns),                \
        .record_size = sizeof(type)                                                                \
    }

extern const struct record_table node_table, job_table, process_table, queue_table, queue_end_table,
    task_table, rendezvous_table, array_notice_table;

/* columns_take - the members that both have, from the live object to the record. columns_give -
 * back. columns_differ - the name of the first column that is not loose and not the same in two
 * live objects; NULL: there is none. O(columns) */
void columns_take(const struct record_table *table, const void *live, void *record);
void columns_give(const struct record_table *table, const void *record, void *live);
const char *columns_differ(const struct record_table *table, const void *a, const void *b);
