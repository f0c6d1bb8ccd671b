/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - durations, and their figures */
#include "bench/samples.h"

#include <stdlib.h>

#include "shared/macro.h"

void samples_add(struct samples *samples, double us)
{
    if (samples->n == samples->cap) {
        samples->cap = samples->cap > 0 ? 2 * samples->cap : 256;
        samples->us = xreallocarray(samples->us, samples->cap, sizeof *samples->us);
    }
    samples->us[samples->n++] = us;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct sample_figures samples_figures(struct samples *samples)
{
    if (samples->n == 0)
        return (struct sample_figures){ 0 };
    qsort(samples->us, samples->n, sizeof *samples->us, compare);
    return (struct sample_figures){ .p10 = samples->us[samples->n / 10],
                                    .p50 = samples->us[samples->n / 2],
                                    .p99 = samples->us[samples->n * 99 / 100],
                                    .most = samples->us[samples->n - 1] };
}

void samples_free(struct samples *samples)
{
    free(samples->us);
    *samples = (struct samples){ 0 };
}
