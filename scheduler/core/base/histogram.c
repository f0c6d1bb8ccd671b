/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - how long things took, in a fixed number of buckets */
#include "scheduler/core/base/histogram.h"

#include "shared/macro.h"

#define MS USEC_PER_MSEC
#define S USEC_PER_SEC

const uint64_t histogram_work_us[HISTOGRAM_BOUNDS] = { 10,       50,       100,     500,
                                                       1 * MS,   5 * MS,   10 * MS, 50 * MS,
                                                       100 * MS, 500 * MS, 1 * S,   5 * S };

const uint64_t histogram_wait_us[HISTOGRAM_BOUNDS] = { 100 * MS, 500 * MS, 1 * S,     5 * S,
                                                       10 * S,   30 * S,   60 * S,    300 * S,
                                                       1200 * S, 3600 * S, 14400 * S, 86400 * S };

void histogram_init(struct histogram *histogram, const uint64_t *bounds_us)
{
    *histogram = (struct histogram){ .bounds_us = bounds_us };
}

void histogram_observe(struct histogram *histogram, uint64_t duration_us)
{
    size_t i = 0;

    while (i < HISTOGRAM_BOUNDS && duration_us > histogram->bounds_us[i])
        i++;
    histogram->counts[i]++;
    histogram->sum_us += duration_us;
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ELEMENTS(histogram->counts); i++)
        n += histogram->counts[i];
    return n;
}
