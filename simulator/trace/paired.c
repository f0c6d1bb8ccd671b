/* SPDX-License-Identifier: Apache-2.0 */
/* paired.c - differences of two policies over the same cases, with a bootstrap interval */
#include "shared/macro.h"
#include "shared/random.h"
#include "simulator/trace/figures.h"

void paired_of(const double *a, const double *b, size_t n, uint64_t seed, struct paired *ret)
{
    double *means = xcalloc(BOOTSTRAP_DRAWS, sizeof(*means)), other = 0;

    *ret = (struct paired){ .n = n };
    for (size_t i = 0; i < n; i++) {
        ret->mean += (a[i] - b[i]) / (double)n;
        other += b[i] / (double)n;
        ret->lost += a[i] > b[i];
    }
    ret->relative = ret->mean / other;
    for (size_t draw = 0; draw < BOOTSTRAP_DRAWS; draw++)
        for (size_t i = 0; i < n; i++) {
            size_t j = random_below(&seed, n);

            means[draw] += (a[j] - b[j]) / (double)n;
        }
    sort_numbers(means, BOOTSTRAP_DRAWS);
    ret->low = quantile(means, BOOTSTRAP_DRAWS, 0.025);
    ret->high = quantile(means, BOOTSTRAP_DRAWS, 0.975);
    free(means);
}
