/* SPDX-License-Identifier: Apache-2.0 */
/* search_functions.h - functions with a known optimum, as spaces of points
 *
 * The methods' defaults were chosen on `bowl` alone; the others tell whether they hold elsewhere.
 */
#pragma once

#include "tests/unit/search_world.h"

struct search_function {
    const char *name;
    const char *parameters; /* all have levels */
    world_metric_fn metric; /* the lower the better */
    double noise;
};

enum {
    FUNCTION_BOWL,
    FUNCTION_BRANIN,
    FUNCTION_ROSENBROCK,
    FUNCTION_NETWORK,
    FUNCTION_NOISY,
    SEARCH_FUNCTIONS
};

extern const struct search_function search_functions[SEARCH_FUNCTIONS];

/* function_points - how many a grid has; *ret_best: the least value among them */
unsigned int function_points(const struct search_function *function, double *ret_best);

/* function_quantile - the value that this part of the points has, or a lower one */
double function_quantile(const struct search_function *function, double part);
