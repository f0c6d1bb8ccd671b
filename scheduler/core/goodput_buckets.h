/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_buckets.h - segments by what a bundle of them is worth, and what a budget buys of them
 *
 * Buckets in geometric steps of half a per cent, each with a list of its segments, and two Fenwick
 * trees over them: bundles and value. Adding and removing a segment, and finding the bucket in
 * which a budget ends, are O(log buckets), whatever the number of segments. Inside that one bucket
 * the order is exact: worth, then id. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_BUCKETS 8192
#define GOODPUT_UNITS_PER_BUNDLE (1 << 20) /* sums of whole units do not drift */

struct goodput_lot {
    struct goodput_lot *prev, *next; /* in its bucket */
    void *owner;                     /* borrowed */
    uint64_t id;                     /* of the owner: breaks ties */
    double worth;                    /* of a bundle, > 0; of one owner they fall */
    int64_t units;                   /* of cost, > 0 */
    int32_t bucket;                  /* -1: it is in none */
    int32_t at;                      /* its place among the owner's */
};

/* Between what is bought and what is not. */
struct goodput_line {
    double worth; /* 0: everything is bought; INFINITY: nothing */
    uint64_t id;
};

struct goodput_buckets {
    struct goodput_lot *lists[GOODPUT_BUCKETS]; /* borrowed; the dearest first */
    int64_t units[GOODPUT_BUCKETS + 1];         /* Fenwick */
    double value[GOODPUT_BUCKETS + 1];          /* Fenwick */
    struct goodput_lot **scratch;               /* owned */
    size_t cap_scratch;
};

int64_t goodput_units(double cost);
void goodput_buckets_done(struct goodput_buckets *buckets);
void goodput_buckets_add(struct goodput_buckets *buckets, struct goodput_lot *lot);
/* goodput_buckets_remove - nothing when it is in none */
void goodput_buckets_remove(struct goodput_buckets *buckets, struct goodput_lot *lot);

/* goodput_is_above - the lot is on the dear side of the line: bought */
bool goodput_is_above(const struct goodput_lot *lot, const struct goodput_line *line);
/* goodput_buckets_cut - the line of a budget: the first lot, in order, that no longer fits, lies
 * on its cheap side. ret_left: units that are not spent. */
struct goodput_line goodput_buckets_cut(struct goodput_buckets *buckets, int64_t units,
                                        int64_t *ret_left);
/* goodput_buckets_between - calls each for every lot between two lines, in no order; it must not
 * add or remove any */
void goodput_buckets_between(const struct goodput_buckets *buckets, const struct goodput_line *a,
                             const struct goodput_line *b,
                             void (*each)(struct goodput_lot *lot, void *userdata), void *userdata);
/* goodput_buckets_below - lots in their order from the line on, until each says false */
void goodput_buckets_below(struct goodput_buckets *buckets, const struct goodput_line *line,
                           bool (*each)(struct goodput_lot *lot, void *userdata), void *userdata);
/* goodput_buckets_value - the value of what a budget buys, the cut bucket in proportion */
double goodput_buckets_value(const struct goodput_buckets *buckets, int64_t units);
