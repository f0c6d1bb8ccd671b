/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - how long things took, in a fixed number of buckets
 *
 * An observation is O(buckets) and allocates nothing. Pure. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BOUNDS 12

struct histogram {
    const uint64_t *bounds_us; /* borrowed: HISTOGRAM_BOUNDS rising upper bounds, inclusive */
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* of each bucket alone; the last is beyond all bounds */
    uint64_t sum_us;
};

/* 10 us to 5 s: the work of one thread between two looks at its sockets */
extern const uint64_t histogram_work_us[HISTOGRAM_BOUNDS];
/* 0.1 s to a day: the waits of people and processes */
extern const uint64_t histogram_wait_us[HISTOGRAM_BOUNDS];

/* histogram_init - empty, with one of the above */
void histogram_init(struct histogram *histogram, const uint64_t *bounds_us);
void histogram_observe(struct histogram *histogram, uint64_t duration_us);
/* histogram_count - of all observations */
uint64_t histogram_count(const struct histogram *histogram);
