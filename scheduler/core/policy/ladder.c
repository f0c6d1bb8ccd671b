/* SPDX-License-Identifier: Apache-2.0 */
/* ladder.c - the most that a budget buys of many segments */
#include "scheduler/core/policy/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

struct piece {
    double slope, width;
};

struct goodput_chunk {
    struct piece pieces[GOODPUT_CHUNK]; /* slopes ascend, from `first` on */
    size_t first, n;                    /* live: [first, n) */
    double width, value;                /* sums of the live ones */
    struct goodput_chunk *next;         /* in the list of spare ones */
};

void goodput_ladder_init(struct goodput_ladder *ladder, double budget)
{
    *ladder = (struct goodput_ladder){ .budget = budget };
}

void goodput_ladder_done(struct goodput_ladder *ladder)
{
    for (size_t i = 0; i < ladder->n; i++)
        free(ladder->chunks[i]);
    while (ladder->spare != NULL) {
        struct goodput_chunk *chunk = ladder->spare;

        ladder->spare = chunk->next;
        free(chunk);
    }
    free(ladder->chunks);
    free(ladder->lows);
    *ladder = (struct goodput_ladder){ 0 };
}

static void copy_chunk(struct goodput_chunk *to, const struct goodput_chunk *from)
{
    memcpy(&to->pieces[from->first], &from->pieces[from->first],
           (from->n - from->first) * sizeof to->pieces[0]);
    to->first = from->first;
    to->n = from->n;
    to->width = from->width;
    to->value = from->value;
}

static void sum(struct goodput_chunk *chunk)
{
    chunk->width = 0;
    chunk->value = 0;
    for (size_t i = chunk->first; i < chunk->n; i++) {
        chunk->width += chunk->pieces[i].width;
        chunk->value += chunk->pieces[i].width * chunk->pieces[i].slope;
    }
}

static void make_room(struct goodput_ladder *ladder, size_t n)
{
    if (n <= ladder->cap)
        return;
    ladder->cap = MAX_OF(n, ladder->cap ? 2 * ladder->cap : 16);
    ladder->chunks = xreallocarray(ladder->chunks, ladder->cap, sizeof *ladder->chunks);
    ladder->lows = xreallocarray(ladder->lows, ladder->cap, sizeof *ladder->lows);
}

static struct goodput_chunk *spare_chunk(struct goodput_ladder *ladder)
{
    struct goodput_chunk *chunk = ladder->spare;

    if (chunk == NULL)
        return xcalloc(1, sizeof *chunk);
    ladder->spare = chunk->next;
    return chunk;
}

static struct goodput_chunk *chunk_at(struct goodput_ladder *ladder, size_t at, double low)
{
    struct goodput_chunk *chunk = spare_chunk(ladder);

    make_room(ladder, ladder->n + 1);
    memmove(&ladder->lows[at + 1], &ladder->lows[at], (ladder->n - at) * sizeof *ladder->lows);
    ladder->lows[at] = low;
    memmove(&ladder->chunks[at + 1], &ladder->chunks[at],
            (ladder->n - at) * sizeof *ladder->chunks);
    ladder->n++;
    chunk->first = chunk->n = 0;
    chunk->width = chunk->value = 0;
    ladder->chunks[at] = chunk;
    return chunk;
}

static void drop_first_chunk(struct goodput_ladder *ladder)
{
    struct goodput_chunk *chunk = ladder->chunks[0];

    chunk->next = ladder->spare;
    ladder->spare = chunk;
    ladder->n--;
    memmove(&ladder->chunks[0], &ladder->chunks[1], ladder->n * sizeof *ladder->chunks);
    memmove(&ladder->lows[0], &ladder->lows[1], ladder->n * sizeof *ladder->lows);
}

void goodput_ladder_copy(struct goodput_ladder *to, const struct goodput_ladder *from)
{
    make_room(to, from->n);
    while (to->n > from->n) {
        struct goodput_chunk *chunk = to->chunks[--to->n];

        chunk->next = to->spare;
        to->spare = chunk;
    }
    while (to->n < from->n)
        to->chunks[to->n++] = spare_chunk(to);
    for (size_t i = 0; i < from->n; i++) {
        copy_chunk(to->chunks[i], from->chunks[i]);
        to->lows[i] = from->lows[i];
    }
    to->budget = from->budget;
    to->width = from->width;
    to->value = from->value;
}

/* The chunk that a slope belongs to: the last one that begins below it, else the first. Nothing is
 * put before the first segment of a later chunk, so its low stays true; that of the first is not
 * asked.
 */
static size_t chunk_for(const struct goodput_ladder *ladder, double slope)
{
    size_t low = 0, high = ladder->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (ladder->lows[middle] < slope)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void split(struct goodput_ladder *ladder, size_t at)
{
    struct goodput_chunk *lower = ladder->chunks[at];
    size_t half = (lower->first + lower->n) / 2;
    struct goodput_chunk *upper = chunk_at(ladder, at + 1, lower->pieces[half].slope);

    upper->n = lower->n - half;
    memcpy(upper->pieces, &lower->pieces[half], upper->n * sizeof upper->pieces[0]);
    lower->n = half;
    sum(lower);
    sum(upper);
}

static void insert(struct goodput_chunk *chunk, double slope, double width)
{
    size_t at = chunk->n;

    if (chunk->n == GOODPUT_CHUNK) { /* there is room at the front, or it would have been split */
        memmove(&chunk->pieces[0], &chunk->pieces[chunk->first],
                (chunk->n - chunk->first) * sizeof chunk->pieces[0]);
        chunk->n -= chunk->first;
        chunk->first = 0;
        at = chunk->n;
    }
    while (at > chunk->first && chunk->pieces[at - 1].slope > slope) {
        chunk->pieces[at] = chunk->pieces[at - 1];
        at--;
    }
    chunk->pieces[at] = (struct piece){ slope, width };
    chunk->n++;
    chunk->width += width;
    chunk->value += slope * width;
}

/* Segments beyond the budget go, from the cheap end on. */
static void trim(struct goodput_ladder *ladder)
{
    while (ladder->width > ladder->budget && ladder->n > 0) {
        struct goodput_chunk *chunk = ladder->chunks[0];
        double over = ladder->width - ladder->budget;
        struct piece *lowest = &chunk->pieces[chunk->first];
        double slope = lowest->slope;
        double gone = MIN_OF(over, lowest->width);

        lowest->width -= gone;
        chunk->width -= gone;
        chunk->value -= gone * slope;
        ladder->value -= gone * slope;
        if (gone < over || lowest->width <= 0)
            chunk->first++;
        ladder->width = gone < over ? ladder->width - gone : ladder->budget;
        if (chunk->first == chunk->n)
            drop_first_chunk(ladder);
    }
}

void goodput_ladder_add(struct goodput_ladder *ladder, double slope, double width)
{
    struct goodput_chunk *chunk;
    size_t at;

    if (slope <= goodput_ladder_floor(ladder) || !(width > 0))
        return;
    if (ladder->n == 0)
        (void)chunk_at(ladder, 0, slope);
    at = chunk_for(ladder, slope);
    chunk = ladder->chunks[at];
    if (chunk->n - chunk->first == GOODPUT_CHUNK) {
        split(ladder, at);
        at += ladder->chunks[at + 1]->pieces[0].slope < slope;
    }
    insert(ladder->chunks[at], slope, width);
    ladder->width += width;
    ladder->value += slope * width;
    trim(ladder);
}

double goodput_ladder_floor(const struct goodput_ladder *ladder)
{
    if (ladder->width < ladder->budget || ladder->n == 0)
        return 0;
    return ladder->chunks[0]->pieces[ladder->chunks[0]->first].slope;
}

struct goodput_look goodput_ladder_look(const struct goodput_ladder *ladder)
{
    return (struct goodput_look){ .ladder = ladder,
                                  .at = ladder->n > 0 ? ladder->chunks[0]->first : 0,
                                  /* an unsold bundle is given for nothing */
                                  .passed_width = ladder->budget - ladder->width };
}

double goodput_look_loss(struct goodput_look *look, double cost)
{
    const struct goodput_ladder *ladder = look->ladder;

    if (cost > ladder->budget)
        return INFINITY;
    while (look->chunk < ladder->n) {
        const struct goodput_chunk *chunk = ladder->chunks[look->chunk];

        if (look->at == chunk->first && look->passed_width + chunk->width <= cost) {
            look->passed_width += chunk->width;
            look->passed_value += chunk->value;
            look->at = chunk->n;
        }
        while (look->at < chunk->n && look->passed_width + chunk->pieces[look->at].width <= cost) {
            look->passed_width += chunk->pieces[look->at].width;
            look->passed_value += chunk->pieces[look->at].width * chunk->pieces[look->at].slope;
            look->at++;
        }
        if (look->at < chunk->n)
            return look->passed_value +
                   fmax(cost - look->passed_width, 0) * chunk->pieces[look->at].slope;
        look->chunk++;
        look->at = look->chunk < ladder->n ? ladder->chunks[look->chunk]->first : 0;
    }
    return look->passed_value;
}
