/* SPDX-License-Identifier: Apache-2.0 */
/* literals.h - files of assignments of literals, as a conf.py has them; nothing is ever executed
 *
 * The grammar is the part of Python that says a value: NAME = LITERAL, where a literal is a string,
 * a whole number, a number with a point, True, False, None, a list or a tuple of literals. A string
 * stands in ', ", or three of either, with the prefixes r and u, and neighbours are put together.
 * Strings that stand alone and comments say nothing. Source: The Python Language Reference, 2.4
 * (literals) and 6.2 (atoms).
 *
 * Pure. Used by: host_list.c. Tests: tests/unit/test_host_list.c, tests/fuzz/fuzz_host_list.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define LITERALS_BYTES_MAX (1024 * 1024)
#define LITERALS_DEPTH_MAX 16
#define LITERALS_ITEMS_MAX 65536 /* in one file */

/* kind, as it is called in errors */
#define LITERAL_KIND_MAP(XX)                                                                       \
    XX(LITERAL_NONE, "None")                                                                       \
    XX(LITERAL_BOOL, "True or False")                                                              \
    XX(LITERAL_INT, "a whole number")                                                              \
    XX(LITERAL_FLOAT, "a number with a point")                                                     \
    XX(LITERAL_STRING, "a string")                                                                 \
    XX(LITERAL_LIST, "a list")                                                                     \
    XX(LITERAL_TUPLE, "a tuple")

enum literal_kind {
#define XX(name, text) name,
    LITERAL_KIND_MAP(XX)
#undef XX
};

struct literal {
    enum literal_kind kind;
    uint32_t line, column; /* of its first character, from 1; columns count bytes */
    bool boolean;
    int64_t integer;
    double real;
    char *string;          /* owned; without NUL, UTF-8 as the file has it */
    struct literal *items; /* n_items of a list or tuple, owned */
    size_t n_items;
};

/* Where an error lies, and in which file. */
struct literal_place {
    const char *file;
    uint32_t line, column;
};

/* literals_set_fn - told of each assignment in the order of the file; name and value are borrowed
 * for the call. A negative value ends the reading; the error is then its own. */
typedef int (*literals_set_fn)(const char *name, const struct literal_place *place,
                               const struct literal *value, void *userdata,
                               struct edl_error *error);

/* literals_read - size bytes of text, which are file's. -EINVAL: something that is not such an
 * assignment, with file, line, column and remedy; -E2BIG: larger than the bounds above; else what
 * set returned */
int literals_read(const char *file, const char *text, size_t size, literals_set_fn set,
                  void *userdata, struct edl_error *error);

/* literal_refuse - an error "FILE:LINE:COLUMN: ..."; returns -EINVAL */
int literal_refuse(const struct literal_place *place, struct edl_error *error, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

/* literal_kind_text - "a string"; static */
const char *literal_kind_text(enum literal_kind kind);
