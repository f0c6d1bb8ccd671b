/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - figures of a history: means over time, percentiles, fairness */
#include "simulator/metrics.h"

#include <stdlib.h>

#include "shared/macro.h"

/* close_step - the last value held until at_us; what lies in the window counts */
static void close_step(struct step_mean *mean, uint64_t at_us)
{
    uint64_t begin = MAX_OF(mean->last_us, mean->from_us), end = MIN_OF(at_us, mean->to_us);

    if (begin < end) {
        mean->area += mean->last * (double)(end - begin);
        mean->covered_us += end - begin;
    }
    mean->last_us = at_us;
}

void step_mean_add(struct step_mean *mean, uint64_t at_us, double value)
{
    close_step(mean, at_us);
    mean->last = value;
}

double step_mean_end(struct step_mean *mean, uint64_t end_us)
{
    close_step(mean, end_us);
    return mean->covered_us == 0 ? 0 : mean->area / (double)mean->covered_us;
}

double jain_index(const double *values, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares == 0 ? 1 : sum * sum / ((double)n * squares);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double percentile(const double *sorted, size_t n, uint32_t permille)
{
    size_t rank = (n * permille + 999) / 1000;

    return sorted[MAX_OF(rank, 1) - 1];
}

void distribution_of(double *values, size_t n, struct distribution *ret)
{
    double sum = 0;

    *ret = (struct distribution){ .n = n };
    if (n == 0)
        return;
    qsort(values, n, sizeof(values[0]), by_value);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    ret->mean = sum / (double)n;
    ret->p50 = percentile(values, n, 500);
    ret->p95 = percentile(values, n, 950);
    ret->max = values[n - 1];
}
