/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h - made-up traces: the same kind, numbers and seed give the same trace everywhere */
#pragma once

#include <stdint.h>

struct edl_error;
struct trace;

struct generate_options {
    const char *kind;
    uint32_t jobs;
    double per_hour; /* submissions */
    uint64_t seed;
};

/* trace_generate - kinds:
 *   poisson       submissions at random, lengths log-normal around 20 minutes
 *   diurnal       the same, with a rate that swings by 80 % over 24 hours
 *   heavy-tailed  the same as poisson, lengths Pareto (exponent 1.1) from 2 minutes to 2 days
 *   pserver       as poisson, jobs with parameter servers of eight measured models
 * Errors: -EINVAL for another kind. */
int trace_generate(const struct generate_options *options, struct trace **ret,
                   struct edl_error *error);
