/* SPDX-License-Identifier: Apache-2.0 */
/* search_functions.c - see search_functions.h */
#include "tests/unit/search_functions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

/* Convex, a minimum for each choice; the right choice is as good as a good step of a number. */
static double bowl(const struct search_space *space, const double *values, double part)
{
    static const double offsets[] = { 0.3, 0, 0.6 };
    double sum = offsets[(size_t)values[3]];

    (void)part;
    for (unsigned int i = 0; i < 3; i++) {
        double away = search_to_unit(&space->parameters[i], values[i]) - 0.25 * (i + 1) + 0.05;

        sum += 4 * away * away;
    }
    return sum;
}

/* Three valleys of one depth, and hills between. */
static double branin(const struct search_space *space, const double *values, double part)
{
    double x = values[0], y = values[1];
    double curve = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;

    (void)space, (void)part;
    return curve * curve + 10 * (1 - 1 / (8 * M_PI)) * cos(x) + 10;
}

/* A bent valley: no parameter can be improved alone for long. */
static double rosenbrock(const struct search_space *space, const double *values, double part)
{
    double sum = 0;

    (void)part;
    for (unsigned int i = 0; i + 1 < space->n_parameters; i++) {
        double bend = values[i + 1] - values[i] * values[i];

        sum += 100 * bend * bend + (1 - values[i]) * (1 - values[i]);
    }
    return sum;
}

/* A network's layers: what an operator is worth depends on the one before it, depth and width on
 * each other; deeper is better until width has to give way. */
static double network(const struct search_space *space, const double *values, double part)
{
    static const double worth[5][5] = { { 3, 1, 4, 1, 5 },
                                        { 2, 6, 5, 3, 5 },
                                        { 4, 7, 1, 3, 2 },
                                        { 3, 8, 4, 6, 2 },
                                        { 5, 0, 2, 8, 4 } };
    double depth = values[0], width = values[1], sum = 0;
    size_t before = 0;

    (void)space, (void)part;
    for (unsigned int i = 2; i < 6 && !isnan(values[i]); i++) {
        sum += worth[before][(size_t)values[i]];
        before = (size_t)values[i];
    }
    return 40 - sum + 1.5 * fabs(depth + width - 5);
}

#define NETWORK                                                                                    \
    "  depth: {kind: int, min: 1, max: 4}\n"                                                       \
    "  width: [16, 32, 64, 128]\n"                                                                 \
    "  op1: [conv3, conv5, pool, skip, mix]\n"                                                     \
    "  op2: {kind: choice, values: [conv3, conv5, pool, skip, mix], when: {depth: [2, 3, 4]}}\n"   \
    "  op3: {kind: choice, values: [conv3, conv5, pool, skip, mix], when: {depth: [3, 4]}}\n"      \
    "  op4: {kind: choice, values: [conv3, conv5, pool, skip, mix], when: {depth: 4}}\n"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

const struct search_function search_functions[SEARCH_FUNCTIONS] = {
    [FUNCTION_BOWL] = { "bowl",
                        "  x: {kind: float, min: 0, max: 1, steps: 8}\n"
                        "  y: {kind: float, min: 0.001, max: 10, log: true, steps: 8}\n"
                        "  z: {kind: int, min: 1, max: 8}\n"
                        "  c: [a, b, c]\n",
                        bowl, 0 },
    [FUNCTION_BRANIN] = { "branin",
                          "  x: {kind: float, min: -5, max: 10, steps: 31}\n"
                          "  y: {kind: float, min: 0, max: 15, steps: 31}\n",
                          branin, 0 },
    [FUNCTION_ROSENBROCK] = { "rosenbrock",
                              "  x: {kind: float, min: -2, max: 2, steps: 9}\n"
                              "  y: {kind: float, min: -2, max: 2, steps: 9}\n"
                              "  z: {kind: float, min: -2, max: 2, steps: 9}\n",
                              rosenbrock, 0 },
    [FUNCTION_NETWORK] = { "network", NETWORK, network, 0 },
    [FUNCTION_NOISY] = { "noisy network", NETWORK, network, 0.5 },
};

/* all_values - of a grid's points, the lowest first; the caller's to free */
static double *all_values(const struct search_function *function, unsigned int *ret_n)
{
    double *found = NULL, values[SEARCH_PARAMETERS_MAX];
    struct search_space *space = NULL;
    char text[2000];
    unsigned int n = 0;

    (void)snprintf(text, sizeof text,
                   "parameters:\n%smetric: {name: m, direction: minimize}\nmethod: grid\n",
                   function->parameters);
    if (search_space_parse(text, strlen(text), &space, NULL) < 0)
        abort();
    search_point_first(space, values);
    do {
        found = xreallocarray(found, n + 1, sizeof *found);
        found[n++] = function->metric(space, values, 1);
    } while (search_point_next(space, values));
    (void)search_space_free(space);
    qsort(found, n, sizeof *found, compare);
    *ret_n = n;
    return found;
}

unsigned int function_points(const struct search_function *function, double *ret_best)
{
    unsigned int n;
    _cleanup_free_ double *found = all_values(function, &n);

    *ret_best = found[0];
    return n;
}

double function_quantile(const struct search_function *function, double part)
{
    unsigned int n;
    _cleanup_free_ double *found = all_values(function, &n);

    return found[(unsigned int)(part * n)];
}
