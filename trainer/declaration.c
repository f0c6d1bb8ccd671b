/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.c - what a trainer declares to the parameter servers: parameters, seed and optimiser
 */
#include "trainer/declaration.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

static bool name_is_valid(const char name[32])
{
    size_t size = strnlen(name, 32);

    /* The name becomes a file of the saved model: no separators, no hidden files. */
    if (size == 0 || size == 32 || name[0] == '.')
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
           size;
}

static bool rate_is_valid(float rate)
{
    return isfinite(rate) && rate >= 0.0f;
}

static int check_param(const struct param_spec *spec, uint32_t p, struct edl_error *error)
{
    if (!name_is_valid(spec->name))
        return edl_error_set(error, -EINVAL, "parameter %u has no valid name", p);
    if (spec->rows == 0 || spec->columns == 0 ||
        (uint64_t)spec->rows * spec->columns > DECLARATION_VALUES_MAX)
        return edl_error_set(error, -EINVAL, "parameter %s has an impossible size: %u x %u",
                             spec->name, spec->rows, spec->columns);
    if (spec->sparse > 1)
        return edl_error_set(error, -EINVAL, "parameter %s: sparse is %u, not 0 or 1", spec->name,
                             spec->sparse);
    if (!rate_is_valid(spec->initial_std) || !rate_is_valid(spec->learning_rate) ||
        !rate_is_valid(spec->l2_rate))
        return edl_error_set(error, -EINVAL, "parameter %s has a rate that is no number >= 0",
                             spec->name);
    return 0;
}

int declaration_check(const struct declaration *declaration, struct edl_error *error)
{
    if (declaration->n_params == 0 || declaration->n_params > DECLARATION_PARAMS_MAX)
        return edl_error_set(error, -EINVAL, "%u parameters declared; 1 to %u are possible",
                             declaration->n_params, DECLARATION_PARAMS_MAX);
    if (!rate_is_valid(declaration->learning_rate) || !rate_is_valid(declaration->epsilon))
        return edl_error_set(error, -EINVAL, "learning rate or epsilon is no number >= 0");
    for (uint32_t p = 0; p < declaration->n_params; p++) {
        int r = check_param(&declaration->params[p], p, error);

        if (r < 0)
            return r;
        for (uint32_t q = 0; q < p; q++)
            if (streq(declaration->params[q].name, declaration->params[p].name))
                return edl_error_set(error, -EINVAL, "two parameters are called %s",
                                     declaration->params[p].name);
    }
    return 0;
}

static bool same_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool param_equal(const struct param_spec *a, const struct param_spec *b)
{
    return strncmp(a->name, b->name, sizeof a->name) == 0 && a->rows == b->rows &&
           a->columns == b->columns && a->sparse == b->sparse &&
           same_float(a->initial_std, b->initial_std) &&
           same_float(a->learning_rate, b->learning_rate) && same_float(a->l2_rate, b->l2_rate);
}

bool declaration_equal(const struct declaration *a, const struct declaration *b)
{
    if (a->seed != b->seed || !same_float(a->learning_rate, b->learning_rate) ||
        !same_float(a->epsilon, b->epsilon) || a->n_params != b->n_params)
        return false;
    for (uint32_t p = 0; p < a->n_params; p++)
        if (!param_equal(&a->params[p], &b->params[p]))
            return false;
    return true;
}
