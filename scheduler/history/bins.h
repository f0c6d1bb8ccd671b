/* SPDX-License-Identifier: Apache-2.0 */
/* bins.h - amounts over time as a few means: a window cut into bins of the same length
 *
 * Pure. An amount that was there for a span is added in O(1), however many bins that covers. Used
 * by: reads.c. Tests: tests/unit/test_history.c. */
#pragma once

#include <stdint.h>

#define BINS_MAX 500
#define BINS_SERIES_MAX 32

struct bins {
    uint64_t since_us, until_us; /* the window; not empty */
    uint32_t n, n_series;
    double *parts; /* owned; of each series n: amount times share of the bin, where a span ends */
    double *steps; /* owned; of each series n + 1: changes of the amount between whole bins */
};

/* bins_init - n bins, 1 to BINS_MAX; n_series at most BINS_SERIES_MAX */
void bins_init(struct bins *bins, uint64_t since_us, uint64_t until_us, uint32_t n,
               uint32_t n_series);
/* bins_add - so much from one moment to the other; what is outside of the window is cut */
void bins_add(struct bins *bins, uint32_t series, uint64_t from_us, uint64_t to_us, double amount);
/* bins_means - of each of the n bins of a series */
void bins_means(const struct bins *bins, uint32_t series, double *ret_means);
void bins_done(struct bins *bins);
