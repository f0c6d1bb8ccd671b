/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types_cases.h - small divisions among three types, and what they are worth at most */
#pragma once

#include "scheduler/core/goodput_types.h"

#define CASE_TYPES 3
#define CASE_JOBS_MAX 24
#define CASE_OPTIONS_MAX 24

struct types_case {
    struct goodput_option options[CASE_JOBS_MAX][CASE_OPTIONS_MAX];
    struct goodput_chooser jobs[CASE_JOBS_MAX];
    size_t n;
    struct goodput_type types[CASE_TYPES];
};

/* types_case_draw - n jobs of any size that is a power of two, a type so much faster for each of
 * them, to a degree that differs */
void types_case_draw(struct types_case *c, uint64_t *seed, size_t n, const double *budgets);

/* types_case_draw_gangs - n jobs on whole nodes of 4 or 8 bundles, 1 to 3 nodes a type. A job has a
 * least size, powers of two within a node, whole nodes beyond; one in four knows its least size
 * only, one in four is slower across nodes than within one, and some cannot use some type. */
void types_case_draw_gangs(struct types_case *c, uint64_t *seed, size_t n);

/* types_case_exact - what the best of all choices is worth: dynamic programming over what is left
 * of each type. Costs and budgets are whole numbers. */
double types_case_exact(const struct types_case *c);

/* types_case_divide - the division of the code, after a look at whether it keeps the budgets and
 * adds up */
struct goodput_auction types_case_divide(struct types_case *c, int rounds, uint64_t tries);
