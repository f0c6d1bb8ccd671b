/* SPDX-License-Identifier: Apache-2.0 */
/* search_space.c - see search_space.h: the pure half */
#include "client/search_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/macro.h"

#define DIGITS "%.6g" /* of a float: more would only look exact */

static const char *const method_names[] = {
    [SEARCH_RANDOM] = "random",       [SEARCH_GRID] = "grid",           [SEARCH_ASHA] = "asha",
    [SEARCH_EVOLUTION] = "evolution", [SEARCH_ANNEALING] = "annealing", [SEARCH_TPE] = "tpe",
};

const char *search_method_name(enum search_method method)
{
    return method_names[method];
}

/* A double has up to 17 digits, which nobody reads; these six are what the program gets. */
static double rounded(const struct search_parameter *parameter, double value)
{
    char text[40];

    if (parameter->kind == SEARCH_INT)
        return MIN_OF(MAX_OF(round(value), parameter->min), parameter->max);
    (void)snprintf(text, sizeof text, DIGITS, value);
    return MIN_OF(MAX_OF(strtod(text, NULL), parameter->min), parameter->max);
}

static double between(const struct search_parameter *parameter, double min, double max, double part)
{
    if (!parameter->is_log)
        return min + part * (max - min);
    return exp(log(min) + part * (log(max) - log(min)));
}

double search_from_level(const struct search_parameter *parameter, unsigned int level)
{
    if (parameter->kind == SEARCH_CHOICE)
        return level;
    if (!parameter->has_steps)
        return parameter->min + level;
    return rounded(parameter, between(parameter, parameter->min, parameter->max,
                                      (double)level / (parameter->n_levels - 1)));
}

/* The part of the range that a value of a float or an int has below it. */
static double part_of(const struct search_parameter *parameter, double min, double max,
                      double value)
{
    if (!parameter->is_log)
        return (value - min) / (max - min);
    return (log(value) - log(min)) / (log(max) - log(min));
}

int64_t search_level(const struct search_parameter *parameter, double value)
{
    double level = value;

    if (parameter->n_levels == 0 || isnan(value))
        return -1;
    if (parameter->kind != SEARCH_CHOICE && !parameter->has_steps)
        level = value - parameter->min;
    else if (parameter->has_steps)
        level = round(part_of(parameter, parameter->min, parameter->max, value) *
                      (parameter->n_levels - 1));
    if (!(level >= 0 && level < parameter->n_levels) ||
        search_from_level(parameter, (unsigned int)level) != value)
        return -1;
    return (int64_t)level;
}

/* An int of a logarithmic range: each has the part of the range up to the next one. */
static bool is_log_int(const struct search_parameter *parameter)
{
    return parameter->kind == SEARCH_INT && parameter->is_log && !parameter->has_steps;
}

double search_from_unit(const struct search_parameter *parameter, double unit)
{
    double level = floor(unit * parameter->n_levels);

    if (is_log_int(parameter))
        return rounded(parameter,
                       floor(between(parameter, parameter->min, parameter->max + 1, unit)));
    if (parameter->n_levels == 0)
        return rounded(parameter, between(parameter, parameter->min, parameter->max, unit));
    return search_from_level(parameter,
                             (unsigned int)MIN_OF(MAX_OF(level, 0), parameter->n_levels - 1.0));
}

double search_to_unit(const struct search_parameter *parameter, double value)
{
    int64_t level = search_level(parameter, value);

    if (is_log_int(parameter))
        return part_of(parameter, parameter->min, parameter->max + 1, value + 0.5);
    if (parameter->n_levels == 0)
        return part_of(parameter, parameter->min, parameter->max, value);
    return ((double)MAX_OF(level, 0) + 0.5) / parameter->n_levels;
}

bool search_is_active(const struct search_space *space, unsigned int parameter,
                      const double *values)
{
    const struct search_parameter *at = &space->parameters[parameter];

    for (unsigned int i = 0; i < at->n_conditions; i++) {
        unsigned int on = at->conditions[i].parameter;
        int64_t level = search_level(&space->parameters[on], values[on]);

        if (level < 0 || (at->conditions[i].levels >> level & 1) == 0)
            return false;
    }
    return true;
}

bool search_values_equal(const struct search_space *space, const double *a, const double *b)
{
    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

bool search_is_finite(const struct search_space *space)
{
    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (space->parameters[i].n_levels == 0)
            return false;
    return true;
}

/* The first level of each parameter that is active, from one on. */
static void first_from(const struct search_space *space, unsigned int from, double *values)
{
    for (unsigned int i = from; i < space->n_parameters; i++)
        values[i] =
            search_is_active(space, i, values) ? search_from_level(&space->parameters[i], 0) : NAN;
}

void search_point_first(const struct search_space *space, double *values)
{
    first_from(space, 0, values);
}

bool search_point_next(const struct search_space *space, double *values)
{
    for (unsigned int i = space->n_parameters; i-- > 0;) {
        const struct search_parameter *parameter = &space->parameters[i];
        int64_t level = search_level(parameter, values[i]);

        if (level < 0 || level + 1 >= parameter->n_levels)
            continue;
        values[i] = search_from_level(parameter, (unsigned int)level + 1);
        first_from(space, i + 1, values);
        return true;
    }
    return false;
}
