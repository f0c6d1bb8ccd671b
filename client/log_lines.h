/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.h - pieces of many processes' output to whole lines, each behind its process' name
 *
 * A piece may end in the middle of a line. The beginning is kept until its end comes, so that two
 * processes never share a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct log_lines;

/* log_lines_new - terminal: somebody looks at them, control characters but for tab are shown as
 * escapes, and of a line with carriage returns what is behind the last one; else the bytes are
 * those that the programs wrote */
struct log_lines *log_lines_new(FILE *out, bool terminal);

/* log_lines_free - prints what is still unfinished (with a line end); returns NULL */
struct log_lines *log_lines_free(struct log_lines *lines);

/* log_lines_add_bytes - as log_lines_add, of so many bytes, whatever they are */
void log_lines_add_bytes(struct log_lines *lines, const char *role, uint64_t index,
                         uint64_t incarnation, const char *data, size_t size);

/* log_lines_add - a piece of the output of (role, index); a new incarnation starts a new line */
void log_lines_add(struct log_lines *lines, const char *role, uint64_t index, uint64_t incarnation,
                   const char *text);
