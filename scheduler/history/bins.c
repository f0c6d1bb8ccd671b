/* SPDX-License-Identifier: Apache-2.0 */
/* bins.c - see bins.h */
#include "scheduler/history/bins.h"

#include <stdlib.h>

#include "shared/macro.h"

void bins_init(struct bins *bins, uint64_t since_us, uint64_t until_us, uint32_t n,
               uint32_t n_series)
{
    *bins = (struct bins){
        .since_us = since_us,
        .until_us = until_us,
        .n = n,
        .n_series = n_series,
        .parts = xcalloc((size_t)n * n_series + 1, sizeof *bins->parts),
        .steps = xcalloc((size_t)(n + 1) * n_series + 1, sizeof *bins->steps),
    };
}

/* Where a moment of the window is, in bins from its beginning. */
static double place_of(const struct bins *bins, uint64_t at_us)
{
    return (double)(at_us - bins->since_us) * bins->n / (double)(bins->until_us - bins->since_us);
}

void bins_add(struct bins *bins, uint32_t series, uint64_t from_us, uint64_t to_us, double amount)
{
    double *parts = bins->parts + (size_t)series * bins->n;
    double *steps = bins->steps + (size_t)series * (bins->n + 1);
    double from, to;
    uint32_t first, last;

    from_us = MAX_OF(from_us, bins->since_us);
    to_us = MIN_OF(to_us, bins->until_us);
    if (from_us >= to_us)
        return;
    from = place_of(bins, from_us);
    to = place_of(bins, to_us);
    first = MIN_OF((uint32_t)from, bins->n - 1);
    last = MIN_OF((uint32_t)to, bins->n); /* that it does not fill; n: it fills all to the end */
    if (last == first) {
        parts[first] += amount * (to - from);
        return;
    }
    parts[first] += amount * ((double)(first + 1) - from);
    steps[first + 1] += amount;
    steps[last] -= amount;
    if (last < bins->n)
        parts[last] += amount * (to - (double)last);
}

void bins_means(const struct bins *bins, uint32_t series, double *ret_means)
{
    const double *parts = bins->parts + (size_t)series * bins->n;
    const double *steps = bins->steps + (size_t)series * (bins->n + 1);
    double whole = 0;

    for (uint32_t i = 0; i < bins->n; i++) {
        whole += steps[i];
        ret_means[i] = whole + parts[i];
    }
}

void bins_done(struct bins *bins)
{
    free(bins->parts);
    free(bins->steps);
    *bins = (struct bins){ .n = 0 };
}
