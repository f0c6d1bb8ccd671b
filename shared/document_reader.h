/* SPDX-License-Identifier: Apache-2.0 */
/* document_reader.h - JSON objects into C structures, driven by a table of keys
 *
 * A rule names a key, its type, the range it must lie in and where the value goes. Keys that no
 * rule names are errors with the nearest known key as the remedy; null counts as absent. Text and
 * containers are borrowed from the document. The caller fills the target with its own marks for
 * "absent" first. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct document_reader;

enum document_kind {
    DOCUMENT_TEXT,    /* const char *; at most max bytes (0: 4096) */
    DOCUMENT_INTEGER, /* int64_t in min..max */
    DOCUMENT_COUNT,   /* int64_t in min..max; decimal text is accepted as well */
    DOCUMENT_BOOLEAN, /* int, 0 or 1 */
    DOCUMENT_CPU,     /* uint64_t millicores in min..max; number of cores or quantity text */
    DOCUMENT_BYTES,   /* uint64_t in min..max; number or quantity text */
    DOCUMENT_TIME,    /* uint64_t microseconds in min..max; number of seconds or text with a unit */
    DOCUMENT_ARRAY,   /* const json_t * */
    DOCUMENT_OBJECT,  /* const json_t * */
    DOCUMENT_NESTED,  /* an object read by its own table into the same target */
    DOCUMENT_CALL,    /* an object or array read by call(reader, key, value, target) */
    DOCUMENT_IGNORED, /* accepted and listed */
    DOCUMENT_MORE,    /* no key of its own: the rules of `more` belong to this table as well */
};

/* Rules that several tables share. */
struct document_table {
    const struct document_rule *rules;
    size_t n;
};

struct document_rule {
    const char *key;
    enum document_kind kind;
    size_t offset;
    int64_t min, max;
    const char *remedy;         /* of an integer above max; may be NULL */
    const char *remedy_of_none; /* an amount of 0 is refused with it; NULL: it is not */
    int64_t least;              /* of an amount of bytes that is not 0 */
    const struct document_rule *nested;
    size_t n_nested;
    const struct document_table *more;
    int (*call)(struct document_reader *reader, const char *key, const json_t *value, void *target);
};

struct document_reader {
    char pointer[160]; /* of the value being read; cut when too long */
    json_t *ignored;   /* array of pointers; may be NULL */
    bool stored;       /* it was taken before: rules that are younger do not count */
    struct edl_error *error;
};

/* document_enter - appends a key to the pointer; returns the length to give to document_leave */
size_t document_enter(struct document_reader *reader, const char *key);
size_t document_enter_index(struct document_reader *reader, size_t index);
void document_leave(struct document_reader *reader, size_t length);

/* document_ignore - lists the pointer, followed by "/key" when key is not NULL */
void document_ignore(struct document_reader *reader, const char *key);

/* document_refuse - EDL_EBADSPEC at the pointer; returns it */
int document_refuse(struct document_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* document_expected - "X is expected, found Y" at the pointer; returns EDL_EBADSPEC */
int document_expected(struct document_reader *reader, const char *expected, const json_t *found);

/* document_text - a string without NUL of at most max bytes */
int document_text(struct document_reader *reader, const json_t *value, size_t max,
                  const char **ret);

/* document_value - one value as a rule says; the pointer is its own */
int document_value(struct document_reader *reader, const struct document_rule *rule,
                   const json_t *value, void *target);

/* document_read - all keys of an object by the table */
int document_read(struct document_reader *reader, const json_t *object,
                  const struct document_rule *rules, size_t n_rules, void *target);
