/* SPDX-License-Identifier: Apache-2.0 */
/* same_lines.c - see same_lines.h */
#include "client/same_lines.h"

#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

const struct same_line *same_lines_of(const struct same_lines *lines, uint64_t number)
{
    if (number == 0 || number > lines->n || number + SAME_LINES_KEPT <= lines->n)
        return NULL;
    return &lines->kept[number % SAME_LINES_KEPT];
}

void same_lines_add(struct same_lines *lines, uint64_t process, uint64_t incarnation,
                    const char *text, size_t size)
{
    struct same_line *line = &lines->kept[++lines->n % SAME_LINES_KEPT];

    free(line->text);
    *line = (struct same_line){ .size = size, .process = process, .incarnation = incarnation };
    if (size == 0 || size > SAME_LINE_MAX_BYTES)
        return;
    line->text = xcalloc(1, size);
    memcpy(line->text, text, size);
}

static bool is_equal(const struct same_line *line, const char *text, size_t size)
{
    return line->size == size &&
           (size == 0 || (line->text != NULL && memcmp(line->text, text, size) == 0));
}

/* The line that the same process printed next; 0: none yet. */
static uint64_t next_of(const struct same_lines *lines, uint64_t number)
{
    const struct same_line *line = same_lines_of(lines, number), *next;

    if (line == NULL)
        return 0;
    while ((next = same_lines_of(lines, ++number)) != NULL)
        if (next->process == line->process && next->incarnation == line->incarnation)
            return number;
    return 0;
}

/* The first line of another process, or of an earlier start of this one, that it has not repeated
 * yet. An empty line begins nothing: many are alike. */
static uint64_t begin(const struct same_lines *lines, uint64_t behind, uint64_t process,
                      uint64_t incarnation, const char *text, size_t size)
{
    uint64_t oldest = lines->n < SAME_LINES_KEPT ? 1 : lines->n - SAME_LINES_KEPT + 1;

    if (size == 0)
        return 0;
    for (uint64_t i = MAX_OF(oldest, behind + 1); i <= lines->n; i++) {
        const struct same_line *line = same_lines_of(lines, i);

        if ((line->process != process || line->incarnation != incarnation) &&
            is_equal(line, text, size))
            return i;
    }
    return 0;
}

bool same_lines_take(const struct same_lines *lines, struct same_block *block, uint64_t process,
                     uint64_t incarnation, const char *text, size_t size)
{
    uint64_t next = next_of(lines, block->last);

    if (next > 0 && is_equal(same_lines_of(lines, next), text, size)) {
        block->first = block->n == 0 ? next : block->first;
    } else {
        if (block->n > 0)
            return false;
        next = begin(lines, block->last, process, incarnation, text, size);
        if (next == 0)
            return false;
        block->first = next;
    }
    block->last = next;
    block->n++;
    return true;
}

void same_lines_clear(struct same_lines *lines)
{
    for (size_t i = 0; i < SAME_LINES_KEPT; i++)
        free(lines->kept[i].text);
    *lines = (struct same_lines){ 0 };
}
