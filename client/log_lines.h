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

/* log_lines_fold - from now on what several processes print alike, and one again when it is started
 * again, is printed once, and then told of in a line for all of them */
void log_lines_fold(struct log_lines *lines);

/* log_lines_untold - some lines were like others, and nothing tells of them yet */
bool log_lines_untold(const struct log_lines *lines);

/* log_lines_tell - prints that */
void log_lines_tell(struct log_lines *lines);

/* log_lines_free - prints what is still unfinished (with a line end); returns NULL */
struct log_lines *log_lines_free(struct log_lines *lines);

/* log_lines_add_bytes - as log_lines_add, of so many bytes, whatever they are */
void log_lines_add_bytes(struct log_lines *lines, const char *role, uint64_t index,
                         uint64_t incarnation, const char *data, size_t size);

/* log_lines_add - a piece of the output of (role, index); a new incarnation starts a new line */
void log_lines_add(struct log_lines *lines, const char *role, uint64_t index, uint64_t incarnation,
                   const char *text);
