/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.h - pieces of many processes' output to whole lines, each behind its process' name
 *
 * A piece may end in the middle of a line. The beginning is kept until its end comes, so that two
 * processes never share a line. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LOG_LINE_MAX_BYTES (UINT64_C(1) << 20) /* a longer line comes in parts */

struct log_lines;

/* Whose output it is; all borrowed. */
struct log_who {
    const char *shown; /* in front of each line, without the index; NULL: role */
    const char *role;
    uint64_t index, incarnation;
    const char *node, *job; /* of JSON; NULL: not told */
};

/* How lines are shown. */
struct log_look {
    bool terminal; /* somebody looks at them: control characters but for tab are shown as escapes,
                      and of a line with carriage returns what is behind the last one; else the
                      bytes are those that the programs wrote */
    bool json;     /* an object a line */
    bool times;    /* when it was written, in front of its text */
    const regex_t *grep; /* only lines that match; borrowed; NULL: all */
    bool has_tail;
    uint64_t tail; /* the last so many, when log_lines_release comes, and all behind it */
};

struct log_lines *log_lines_new(FILE *out, const struct log_look *look);

/* log_lines_fold - from now on what several processes print alike, and one again when it is started
 * again, is printed once, and then told of in a line for all of them */
void log_lines_fold(struct log_lines *lines);

/* log_lines_untold - some lines were like others, and nothing tells of them yet */
bool log_lines_untold(const struct log_lines *lines);

/* log_lines_tell - prints that */
void log_lines_tell(struct log_lines *lines);

/* log_lines_release - prints the last lines so far (has_tail) */
void log_lines_release(struct log_lines *lines);

/* log_lines_free - prints what is still unfinished (with a line end); returns NULL */
struct log_lines *log_lines_free(struct log_lines *lines);

/* A piece of output. */
struct log_piece {
    const char *data;
    size_t size;
    uint64_t time_us; /* 0: unknown */
    bool is_old;      /* lines that end in it are not asked for */
};

/* log_lines_add - a new incarnation starts a new line */
void log_lines_add(struct log_lines *lines, const struct log_who *who,
                   const struct log_piece *piece);

/* log_lines_say - a line of ours, "[edl: text]", in the place of what is missing */
void log_lines_say(struct log_lines *lines, const struct log_who *who, const char *text);
