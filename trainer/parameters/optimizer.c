/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - which optimizer a job's parameters are under, with all its numbers */
#include "trainer/parameters/optimizer.h"

#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"

struct optimizer_spec optimizer_default(enum optimizer_method method)
{
    return (struct optimizer_spec){ .method = (uint32_t)method,
                                    .schedule = RATE_CONSTANT,
                                    .learning_rate = 1e-3f,
                                    .rho = 0.95f,
                                    .epsilon = method == OPTIMIZER_ADAM ? 1e-8f : 1e-6f,
                                    .beta1 = 0.9f,
                                    .beta2 = 0.999f };
}

/* Numbers that must be at least 0, and some of them below 1. */
static const struct {
    const char *name;
    size_t offset;
    float below;
} numbers[] = {
    { "learning_rate", offsetof(struct optimizer_spec, learning_rate), INFINITY },
    { "momentum", offsetof(struct optimizer_spec, momentum), 1.0f },
    { "rho", offsetof(struct optimizer_spec, rho), 1.0f },
    { "epsilon", offsetof(struct optimizer_spec, epsilon), INFINITY },
    { "beta1", offsetof(struct optimizer_spec, beta1), 1.0f },
    { "beta2", offsetof(struct optimizer_spec, beta2), 1.0f },
    { "l1_rate", offsetof(struct optimizer_spec, l1_rate), INFINITY },
    { "l2_rate", offsetof(struct optimizer_spec, l2_rate), INFINITY },
    { "clipping", offsetof(struct optimizer_spec, clipping), INFINITY },
};

static int check_numbers(const struct optimizer_spec *spec, struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(numbers); i++) {
        float value;

        memcpy(&value, (const char *)spec + numbers[i].offset, sizeof value);
        if (isfinite(value) && value >= 0.0f && value < numbers[i].below)
            continue;
        return edl_error_set(error, -EINVAL, "the optimizer's %s is %g, but must be a number %s",
                             numbers[i].name, (double)value,
                             isinf(numbers[i].below) ? "of at least 0" : "from 0 to below 1");
    }
    return 0;
}

int optimizer_check(const struct optimizer_spec *spec, struct edl_error *error)
{
    const struct optimizer_kind *kind = optimizer_kind(spec->method);
    struct rate rate;
    int r;

    if (kind == NULL)
        return edl_error_set(error, -EINVAL, "there is no optimizer of number %u", spec->method);
    r = check_numbers(spec, error);
    if (r >= 0)
        r = rate_parse(spec->schedule, (double)spec->learning_rate, (double)spec->schedule_a,
                       (double)spec->schedule_b, spec->schedule_args, &rate, error);
    if (r < 0)
        return r;
    if (spec->epsilon == 0.0f && (kind->abilities & OPTIMIZER_EPSILON))
        return edl_error_set(error, -EINVAL, "epsilon is 0, and %s would divide by it: use 1e-6",
                             kind->name);
    if (spec->schedule != RATE_CONSTANT && !(kind->abilities & OPTIMIZER_SCHEDULE)) {
        (void)edl_error_set(error, -EINVAL, "%s follows no schedule, and %s is given", kind->name,
                            rate_schedule_to_string(spec->schedule));
        return edl_error_remedy(error, "leave the schedule out, or use another method: rmsprop");
    }
    if (spec->momentum > 0 && !(kind->abilities & OPTIMIZER_VELOCITY))
        return edl_error_set(error, -EINVAL, "momentum is %g, but %s has none: leave it out",
                             (double)spec->momentum, kind->name);
    if (spec->nesterov > 1 || (spec->nesterov == 1 && spec->method != OPTIMIZER_MOMENTUM))
        return edl_error_set(error, -EINVAL, "nesterov is %u: it goes with method momentum only",
                             spec->nesterov);
    return 0;
}

/* The parameter's own, else the optimizer's; negative: none. */
static double own_or(float own, float common)
{
    return own < 0.0f ? 0.0 : own > 0.0f ? (double)own : (double)common;
}

struct optimizer_step optimizer_param_step(const struct optimizer_spec *spec,
                                           const struct param_spec *param)
{
    const double clipping = own_or(param->clipping, spec->clipping);

    return (struct optimizer_step){ .momentum = own_or(param->momentum, spec->momentum),
                                    .l1_rate = own_or(param->l1_rate, spec->l1_rate),
                                    .l2_rate = own_or(param->l2_rate, spec->l2_rate),
                                    .clipping = clipping > 0 ? clipping : INFINITY,
                                    .rho = (double)spec->rho,
                                    .epsilon = (double)spec->epsilon,
                                    .beta1 = (double)spec->beta1,
                                    .beta2 = (double)spec->beta2,
                                    .nesterov = (int)spec->nesterov };
}

bool optimizer_has_velocity(const struct optimizer_spec *spec, const struct param_spec *param)
{
    return (optimizer_kind(spec->method)->abilities & OPTIMIZER_VELOCITY) &&
           own_or(param->momentum, spec->momentum) > 0;
}

int optimizer_check_param(const struct optimizer_spec *spec, const struct param_spec *param,
                          struct edl_error *error)
{
    const struct optimizer_kind *kind = optimizer_kind(spec->method);
    const struct optimizer_step step = optimizer_param_step(spec, param);

    if (param->sparse && !(kind->abilities & OPTIMIZER_SPARSE))
        return edl_error_set(error, -EINVAL,
                             "parameter %s is sparse, but %s updates no single rows: use momentum, "
                             "adagrad, decayed_adagrad or rmsprop, or make it dense",
                             param->name, kind->name);
    if (param->sparse && step.momentum > 0 && (kind->abilities & OPTIMIZER_VELOCITY))
        return edl_error_set(error, -EINVAL,
                             "parameter %s is sparse and has momentum %g: give it none (momentum "
                             "-1), or make it dense",
                             param->name, step.momentum);
    if ((step.l1_rate > 0 || step.l2_rate > 0) && !(kind->abilities & OPTIMIZER_DECAY))
        return edl_error_set(error, -EINVAL,
                             "parameter %s has an %s rate, but %s knows no decay: take it away",
                             param->name, step.l1_rate > 0 ? "L1" : "L2", kind->name);
    if (param->momentum > 0 && !(kind->abilities & OPTIMIZER_VELOCITY))
        return edl_error_set(error, -EINVAL,
                             "parameter %s has momentum %g, but %s has none: take it away",
                             param->name, (double)param->momentum, kind->name);
    if (step.l1_rate > 0 && step.momentum > 0)
        return edl_error_set(error, -EINVAL,
                             "parameter %s has an L1 rate and momentum %g: only one is possible",
                             param->name, step.momentum);
    return 0;
}
