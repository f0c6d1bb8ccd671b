/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.c - what a trainer declares to the parameter servers: parameters, seed and optimiser
 */
#include "trainer/parameters/declaration.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

static bool name_is_valid(const char name[PARAM_NAME_SIZE])
{
    size_t size = strnlen(name, PARAM_NAME_SIZE);

    /* The name becomes a file of the saved model: no separators, no hidden files. */
    if (size == 0 || size == PARAM_NAME_SIZE || name[0] == '.')
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
           size;
}

/* A negative number of the last four means none. */
static int check_numbers(const struct param_spec *spec, struct edl_error *error)
{
    const struct {
        const char *name;
        float value, least, below;
    } numbers[] = {
        { "initial_mean", spec->initial_mean, -INFINITY, INFINITY },
        { "initial_std", spec->initial_std, 0.0f, INFINITY },
        { "learning_rate", spec->learning_rate, 0.0f, INFINITY },
        { "momentum", spec->momentum, -INFINITY, 1.0f },
        { "l1_rate", spec->l1_rate, -INFINITY, INFINITY },
        { "l2_rate", spec->l2_rate, -INFINITY, INFINITY },
        { "clipping", spec->clipping, -INFINITY, INFINITY },
    };

    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        if (!isfinite(numbers[i].value) || numbers[i].value < numbers[i].least ||
            numbers[i].value >= numbers[i].below)
            return edl_error_set(error, -EINVAL, "parameter %s: %s is %g, but must be a number%s%s",
                                 spec->name, numbers[i].name, (double)numbers[i].value,
                                 isinf(numbers[i].least) ? "" : " of at least 0",
                                 isinf(numbers[i].below) ? "" : " below 1");
    return 0;
}

static int check_param(const struct param_spec *spec, uint32_t p, struct edl_error *error)
{
    if (!name_is_valid(spec->name))
        return edl_error_set(error, -EINVAL,
                             "parameter %u has no valid name: 1 to %d of A-Z, a-z, 0-9, _, - and "
                             ".; no . at the start",
                             p, PARAM_NAME_SIZE - 1);
    if (spec->rows == 0 || spec->columns == 0 ||
        (uint64_t)spec->rows * spec->columns > DECLARATION_VALUES_MAX)
        return edl_error_set(error, -EINVAL, "parameter %s has an impossible size: %u x %u",
                             spec->name, spec->rows, spec->columns);
    if (spec->sparse > 1)
        return edl_error_set(error, -EINVAL, "parameter %s: sparse is %u, not 0 or 1", spec->name,
                             spec->sparse);
    if (spec->initial >= PARAM_INITIALS)
        return edl_error_set(error, -EINVAL, "parameter %s has start values of unknown kind %u",
                             spec->name, spec->initial);
    return check_numbers(spec, error);
}

int declaration_check(const struct declaration *declaration, struct edl_error *error)
{
    int r;

    if (declaration->n_params == 0 || declaration->n_params > DECLARATION_PARAMS_MAX)
        return edl_error_set(error, -EINVAL, "%u parameter%s declared; 1 to %u are possible",
                             declaration->n_params, PLURAL(declaration->n_params),
                             DECLARATION_PARAMS_MAX);
    if (declaration->awaits_values > 1)
        return edl_error_set(error, -EINVAL, "awaits_values is %u, not 0 or 1",
                             declaration->awaits_values);
    r = optimizer_check(&declaration->optimizer, error);
    for (uint32_t p = 0; r >= 0 && p < declaration->n_params; p++) {
        r = check_param(&declaration->params[p], p, error);
        if (r >= 0)
            r = optimizer_check_param(&declaration->optimizer, &declaration->params[p], error);
        for (uint32_t q = 0; r >= 0 && q < p; q++)
            if (streq(declaration->params[q].name, declaration->params[p].name))
                r = edl_error_set(error, -EINVAL, "two parameters are called %s",
                                  declaration->params[p].name);
    }
    return r;
}

/* Compared as bytes: none of it is padding, but what stands behind a text's end. */
static struct optimizer_spec plain_optimizer(struct optimizer_spec spec)
{
    size_t used = strnlen(spec.schedule_args, sizeof spec.schedule_args);

    memset(spec.schedule_args + used, 0, sizeof spec.schedule_args - used);
    return spec;
}

static struct param_spec plain_param(struct param_spec spec)
{
    size_t used = strnlen(spec.name, sizeof spec.name);

    memset(spec.name + used, 0, sizeof spec.name - used);
    return spec;
}

void declaration_plain(const struct declaration *declaration, struct declaration *ret)
{
    *ret = (struct declaration){ .seed = declaration->seed,
                                 .awaits_values = declaration->awaits_values,
                                 .placement = declaration->placement,
                                 .n_params = declaration->n_params };
    ret->optimizer = plain_optimizer(declaration->optimizer);
    for (uint32_t p = 0; p < declaration->n_params; p++)
        ret->params[p] = plain_param(declaration->params[p]);
}

bool declaration_equal(const struct declaration *a, const struct declaration *b)
{
    struct declaration plain_a, plain_b;

    if (a->seed != b->seed || a->awaits_values != b->awaits_values || a->n_params != b->n_params ||
        a->placement.dense_ports != b->placement.dense_ports ||
        a->placement.sparse_ports != b->placement.sparse_ports)
        return false;
    declaration_plain(a, &plain_a);
    declaration_plain(b, &plain_b);
    return memcmp(&plain_a.optimizer, &plain_b.optimizer, sizeof plain_a.optimizer) == 0 &&
           memcmp(plain_a.params, plain_b.params, a->n_params * sizeof *a->params) == 0;
}
