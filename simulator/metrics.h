/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - figures of a history: means over time, percentiles, fairness; pure */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A value that holds from one step to the next, averaged over the window [from_us, to_us].
 * Zero-initialise, then set the window; to_us may be NEVER_US. */
struct step_mean {
    uint64_t from_us, to_us;
    uint64_t last_us;
    double last, area; /* value * us */
    uint64_t covered_us;
};

/* step_mean_add - the value is `value` from at_us on; at_us never falls */
void step_mean_add(struct step_mean *mean, uint64_t at_us, double value);
/* step_mean_end - the mean until end_us; 0 when nothing of the window was covered */
double step_mean_end(struct step_mean *mean, uint64_t end_us);

/* jain_index - (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one has everything;
 * 1 for no values and for zeros only (nobody is worse off than another) */
double jain_index(const double *values, size_t n);

struct distribution {
    size_t n;
    double mean, p50, p95, max; /* 0 when n == 0 */
};

/* distribution_of - sorts the values; percentiles by nearest rank, so that each is a value seen */
void distribution_of(double *values, size_t n, struct distribution *ret);

/* percentile - of sorted values, n >= 1, permille 1..1000; nearest rank */
double percentile(const double *sorted, size_t n, uint32_t permille);
