/* SPDX-License-Identifier: Apache-2.0 */
/* same_lines.h - lines that a process prints as another one has printed them
 *
 * Ranks of a job tend to say the same, and a program that fails says it again each time it is
 * started. The newest lines are kept with the process that printed them first. A process whose
 * lines are those of one other process, one after the other, repeats a block. Pure.
 *
 * Used by: log_lines.c. Tests: tests/unit/test_same_lines.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAME_LINES_KEPT 64
#define SAME_LINE_MAX_BYTES 4096 /* a longer line is like no other */

struct same_line {
    char *text; /* owned, size bytes; NULL: it is empty, or too long */
    size_t size;
    uint64_t process, incarnation; /* printed it */
};

struct same_lines {
    struct same_line kept[SAME_LINES_KEPT]; /* line n at n modulo their number */
    uint64_t n;                             /* of all lines; the first is 1 */
};

/* What a process has repeated and nobody was told of yet. */
struct same_block {
    uint64_t first, last; /* lines; last stays when it was told: what follows it may come next */
    size_t n;             /* 0: nothing */
};

/* same_lines_add - a process prints a line that it does not repeat; the text is copied */
void same_lines_add(struct same_lines *lines, uint64_t process, uint64_t incarnation,
                    const char *text, size_t size);

/* same_lines_take - whether the line goes on with the block of its process, or begins one. A block
 * that was begun and ends by this is to be told of first: then nothing is taken. */
bool same_lines_take(const struct same_lines *lines, struct same_block *block, uint64_t process,
                     uint64_t incarnation, const char *text, size_t size);

/* same_lines_of - the line with that number; NULL: it is kept no more */
const struct same_line *same_lines_of(const struct same_lines *lines, uint64_t number);

/* same_lines_clear - frees what is kept */
void same_lines_clear(struct same_lines *lines);
