/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_buckets.c - geometric buckets with running sums */
#include "scheduler/core/goodput_buckets.h"

#include <math.h>
#include <stdlib.h>

#include "shared/macro.h"

#define DEAREST 1e9 /* worth of the first bucket, and beyond */
#define CHEAPEST 1e-9
#define TOP_BIT (GOODPUT_BUCKETS)

int64_t goodput_units(double cost)
{
    return llrint(cost * GOODPUT_UNITS_PER_BUNDLE);
}

void goodput_buckets_done(struct goodput_buckets *buckets)
{
    free(buckets->scratch);
    buckets->scratch = NULL;
    buckets->cap_scratch = 0;
}

static int32_t bucket_of(double worth)
{
    static const double per_log = (GOODPUT_BUCKETS - 1) / 41.44653167389282; /* log(1e18) */
    double at;

    if (worth >= DEAREST)
        return 0;
    if (worth <= CHEAPEST)
        return GOODPUT_BUCKETS - 1;
    at = (20.72326583694641 - log(worth)) * per_log;
    return MIN_OF(MAX_OF((int32_t)at, 0), GOODPUT_BUCKETS - 1);
}

static void add_up(struct goodput_buckets *buckets, int32_t bucket, int64_t units, double value)
{
    for (int32_t i = bucket + 1; i <= GOODPUT_BUCKETS; i += i & -i) {
        buckets->units[i] += units;
        buckets->value[i] += value;
    }
}

static double value_of(const struct goodput_lot *lot)
{
    return lot->worth * (double)lot->units / GOODPUT_UNITS_PER_BUNDLE;
}

void goodput_buckets_add(struct goodput_buckets *buckets, struct goodput_lot *lot)
{
    lot->bucket = bucket_of(lot->worth);
    lot->prev = NULL;
    lot->next = buckets->lists[lot->bucket];
    if (lot->next != NULL)
        lot->next->prev = lot;
    buckets->lists[lot->bucket] = lot;
    add_up(buckets, lot->bucket, lot->units, value_of(lot));
}

void goodput_buckets_remove(struct goodput_buckets *buckets, struct goodput_lot *lot)
{
    if (lot->bucket < 0)
        return;
    if (lot->prev != NULL)
        lot->prev->next = lot->next;
    else
        buckets->lists[lot->bucket] = lot->next;
    if (lot->next != NULL)
        lot->next->prev = lot->prev;
    add_up(buckets, lot->bucket, -lot->units, -value_of(lot));
    lot->bucket = -1;
}

/* The dearest first; no two are equal: of one owner no two have the same worth. */
static bool is_before(const struct goodput_lot *a, const struct goodput_lot *b)
{
    return a->worth != b->worth ? a->worth > b->worth : a->id < b->id;
}

bool goodput_is_above(const struct goodput_lot *lot, const struct goodput_line *line)
{
    return lot->worth != line->worth ? lot->worth > line->worth : lot->id < line->id;
}

static size_t gather(struct goodput_buckets *buckets, int32_t bucket)
{
    size_t n = 0;

    for (struct goodput_lot *lot = buckets->lists[bucket]; lot != NULL; lot = lot->next) {
        if (n == buckets->cap_scratch) {
            buckets->cap_scratch = n > 0 ? 2 * n : 64;
            buckets->scratch =
                xreallocarray(buckets->scratch, buckets->cap_scratch, sizeof(struct goodput_lot *));
        }
        buckets->scratch[n++] = lot;
    }
    return n;
}

/* Those before the pivot to the front; where the pivot ends up. */
static size_t partition(struct goodput_lot **lots, size_t n)
{
    struct goodput_lot *pivot = lots[n / 2];
    size_t kept = 0;

    lots[n / 2] = lots[n - 1];
    for (size_t i = 0; i + 1 < n; i++)
        if (is_before(lots[i], pivot)) {
            struct goodput_lot *swap = lots[kept];

            lots[kept++] = lots[i];
            lots[i] = swap;
        }
    lots[n - 1] = lots[kept];
    lots[kept] = pivot;
    return kept;
}

/* The first in order that does not fit any more: a selection by weight, O(n) expected. NULL: all
 * fit. */
static const struct goodput_lot *first_too_many(struct goodput_lot **lots, size_t n, int64_t *left)
{
    const struct goodput_lot *found = NULL;

    while (n > 0) {
        size_t middle = partition(lots, n);
        int64_t before = 0;

        for (size_t i = 0; i < middle; i++)
            before += lots[i]->units;
        if (before > *left) { /* it is among them */
            n = middle;
            continue;
        }
        if (before + lots[middle]->units > *left) {
            int64_t spent = before;

            found = lots[middle];
            *left -= spent;
            return found;
        }
        *left -= before + lots[middle]->units;
        lots += middle + 1;
        n -= middle + 1;
    }
    return found;
}

/* How many buckets such a budget buys wholly; units: what is left of it. */
static int32_t whole_buckets(const struct goodput_buckets *buckets, int64_t *units, double *value)
{
    int32_t at = 0;

    for (int32_t bit = TOP_BIT; bit > 0; bit >>= 1)
        if (at + bit <= GOODPUT_BUCKETS && buckets->units[at + bit] <= *units) {
            at += bit;
            *units -= buckets->units[at];
            *value += buckets->value[at];
        }
    return at;
}

struct goodput_line goodput_buckets_cut(struct goodput_buckets *buckets, int64_t units,
                                        int64_t *ret_left)
{
    const struct goodput_lot *cut;
    double value = 0;
    int32_t bucket;

    *ret_left = MAX_OF(units, 0);
    if (units < 0)
        return (struct goodput_line){ .worth = INFINITY };
    bucket = whole_buckets(buckets, ret_left, &value);
    if (bucket == GOODPUT_BUCKETS)
        return (struct goodput_line){ 0 };
    cut = first_too_many(buckets->scratch, gather(buckets, bucket), ret_left);
    return cut == NULL ? (struct goodput_line){ 0 }
                       : (struct goodput_line){ .worth = cut->worth, .id = cut->id };
}

void goodput_buckets_between(const struct goodput_buckets *buckets, const struct goodput_line *a,
                             const struct goodput_line *b,
                             void (*each)(struct goodput_lot *lot, void *userdata), void *userdata)
{
    int32_t first = bucket_of(fmax(a->worth, b->worth));
    int32_t last = bucket_of(fmin(a->worth, b->worth));

    for (int32_t bucket = first; bucket <= last; bucket++)
        for (struct goodput_lot *lot = buckets->lists[bucket]; lot != NULL; lot = lot->next)
            if (goodput_is_above(lot, a) != goodput_is_above(lot, b))
                each(lot, userdata);
}

static int dearer_first(const void *left, const void *right)
{
    const struct goodput_lot *a = *(struct goodput_lot *const *)left;
    const struct goodput_lot *b = *(struct goodput_lot *const *)right;

    return is_before(a, b) ? -1 : 1;
}

void goodput_buckets_below(struct goodput_buckets *buckets, const struct goodput_line *line,
                           bool (*each)(struct goodput_lot *lot, void *userdata), void *userdata)
{
    for (int32_t bucket = bucket_of(line->worth); bucket < GOODPUT_BUCKETS; bucket++) {
        size_t n = 0;

        if (buckets->lists[bucket] == NULL)
            continue;
        n = gather(buckets, bucket);
        qsort(buckets->scratch, n, sizeof(struct goodput_lot *), dearer_first);
        for (size_t i = 0; i < n; i++)
            if (!goodput_is_above(buckets->scratch[i], line) &&
                !each(buckets->scratch[i], userdata))
                return;
    }
}

double goodput_buckets_value(const struct goodput_buckets *buckets, int64_t units)
{
    int64_t left = units;
    double value = 0;
    int32_t bucket = whole_buckets(buckets, &left, &value);
    int64_t inside = 0;
    double worth = 0;

    if (bucket == GOODPUT_BUCKETS)
        return value;
    for (const struct goodput_lot *lot = buckets->lists[bucket]; lot != NULL; lot = lot->next) {
        inside += lot->units;
        worth += value_of(lot);
    }
    return value + worth * (double)left / (double)MAX_OF(inside, 1);
}
