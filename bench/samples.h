/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - durations in microseconds, and their figures */
#pragma once

#include <stddef.h>

struct samples {
    double *us; /* owned */
    size_t n, cap;
};

struct sample_figures {
    double p10, p50, p99, most; /* 0 when there were none */
};

void samples_add(struct samples *samples, double us);
/* samples_figures - sorts them */
struct sample_figures samples_figures(struct samples *samples);
void samples_free(struct samples *samples);
