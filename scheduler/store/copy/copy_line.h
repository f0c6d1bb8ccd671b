/* SPDX-License-Identifier: Apache-2.0 */
/* copy_line.h - a row of a table as a line of text, the way from one engine to another
 *
 * The text is that of PostgreSQL's COPY: tabs between the fields, \N for NULL, a backslash before
 * bytes that end a field or a line. So one engine passes lines on as they are. A text has to be
 * UTF-8 there: bytes that are none become U+FFFD when a line is made.
 *
 * Used by: copy.c, sqlite/, postgresql/. Tests: tests/unit/test_copy.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copy_line {
    char *text; /* owned; not terminated */
    size_t size, room, n_fields;
    uint64_t mended; /* texts that were not UTF-8, of all lines */
};

/* copy_line_clear - for the next row; the memory stays. copy_line_done - frees */
void copy_line_clear(struct copy_line *line);
void copy_line_done(struct copy_line *line);

/* copy_line_add - one field more; NULL: SQL's NULL. copy_line_add_real - so that it reads back the
 * same. copy_line_end - behind the last field */
void copy_line_add(struct copy_line *line, const char *text);
void copy_line_add_i64(struct copy_line *line, int64_t value);
void copy_line_add_real(struct copy_line *line, double value);
void copy_line_end(struct copy_line *line);

/* copy_field_next - the next field of a line that ends with '\n' or at size. true with *ret, which
 * is written into buffer (as long as the line) and terminated, or NULL for SQL's NULL; false: there
 * is none. *at: 0 at first */
bool copy_field_next(const char *line, size_t size, size_t *at, char *buffer, const char **ret);
