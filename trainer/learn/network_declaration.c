/* SPDX-License-Identifier: Apache-2.0 */
/* network_declaration.c - what a network declares: its trained parameters under its optimizer */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/network.h"
#include "trainer/learn/network_learner.h"

static int read_method(const struct network *network, struct optimizer_spec *spec,
                       struct edl_error *error)
{
    const struct network_settings *s = &network->settings;
    const int method = optimizer_method_of(*s->method != '\0' ? s->method : "momentum");
    const int schedule = rate_schedule_of(*s->schedule != '\0' ? s->schedule : "constant");

    if (method < 0) {
        (void)edl_error_set(error, -EINVAL, "%s: training, method: there is no method \"%s\"",
                            network->file, s->method);
        return edl_error_remedy(error,
                                "momentum, adagrad, decayed_adagrad, adadelta, rmsprop, adam "
                                "or adamax");
    }
    if (schedule < 0) {
        (void)edl_error_set(error, -EINVAL, "%s: training, schedule: there is no schedule \"%s\"",
                            network->file, s->schedule);
        return edl_error_remedy(error,
                                "constant, poly, caffe_poly, exp, discexp, linear, manual or "
                                "pass_manual");
    }
    *spec = optimizer_default((enum optimizer_method)method);
    spec->schedule = (uint32_t)schedule;
    (void)snprintf(spec->schedule_args, sizeof spec->schedule_args, "%s", s->schedule_args);
    return 0;
}

/* Numbers of some methods only; of the others the file must not speak. */
static int check_use(const struct network *network, uint32_t method, struct edl_error *error)
{
    const struct network_settings *s = &network->settings;
    const uint32_t decayed =
        1u << OPTIMIZER_DECAYED_ADAGRAD | 1u << OPTIMIZER_ADADELTA | 1u << OPTIMIZER_RMSPROP;
    const uint32_t adams = 1u << OPTIMIZER_ADAM | 1u << OPTIMIZER_ADAMAX;
    const struct {
        const char *key;
        double value;
        uint32_t methods;
    } uses[] = {
        { "rho", s->rho, decayed },
        { "epsilon", s->epsilon, decayed | 1u << OPTIMIZER_ADAGRAD | 1u << OPTIMIZER_ADAM },
        { "beta1", s->beta1, adams },
        { "beta2", s->beta2, adams },
    };

    for (size_t i = 0; i < ELEMENTS(uses); i++)
        if (uses[i].value >= 0 && !(uses[i].methods & 1u << method))
            return edl_error_set(error, -EINVAL, "%s: training, %s: %s has none: leave it out",
                                 network->file, uses[i].key, optimizer_kind(method)->name);
    return 0;
}

/* The numbers or the steps that a schedule has no use for. */
static int check_schedule(const struct network *network, uint32_t schedule, struct edl_error *error)
{
    const struct network_settings *s = &network->settings;
    const bool steps = schedule == RATE_MANUAL || schedule == RATE_PASS_MANUAL;
    const char *key = NULL;

    if (*s->schedule_args != '\0' && !steps)
        key = "schedule_args";
    if (steps || schedule == RATE_CONSTANT)
        key = s->schedule_a != 0 ? "schedule_a" : s->schedule_b != 0 ? "schedule_b" : key;
    if (key == NULL)
        return 0;
    return edl_error_set(error, -EINVAL,
                         "%s: training, %s: the schedule %s has no use for it: leave it out",
                         network->file, key, rate_schedule_to_string(schedule));
}

/* What the file says; the rest stays as the method has it. */
static void read_numbers(const struct network_settings *s, struct optimizer_spec *spec)
{
    const struct {
        double value;
        float *to;
    } numbers[] = {
        { s->learning_rate, &spec->learning_rate },
        { s->momentum, &spec->momentum },
        { s->rho, &spec->rho },
        { s->epsilon, &spec->epsilon },
        { s->beta1, &spec->beta1 },
        { s->beta2, &spec->beta2 },
        { s->l1, &spec->l1_rate },
        { s->l2, &spec->l2_rate },
        { s->clipping, &spec->clipping },
    };

    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        if (numbers[i].value >= 0)
            *numbers[i].to = (float)numbers[i].value;
    spec->schedule_a = (float)s->schedule_a;
    spec->schedule_b = (float)s->schedule_b;
    spec->nesterov = s->nesterov > 0;
}

int network_declaration(const struct network *network, uint64_t seed, struct declaration *ret,
                        struct edl_error *error)
{
    int r;

    memset(ret, 0, sizeof *ret);
    ret->seed = seed;
    r = read_method(network, &ret->optimizer, error);
    if (r >= 0)
        r = check_use(network, ret->optimizer.method, error);
    if (r >= 0)
        r = check_schedule(network, ret->optimizer.schedule, error);
    if (r < 0)
        return r;
    read_numbers(&network->settings, &ret->optimizer);
    for (uint32_t p = 0; p < network->n_params; p++) {
        if (network->params[p].is_static)
            continue;
        if (ret->n_params == DECLARATION_PARAMS_MAX)
            return edl_error_set(error, -EINVAL, "%s: more than %d parameters to train",
                                 network->file, DECLARATION_PARAMS_MAX);
        ret->params[ret->n_params++] = network->params[p].spec;
    }
    return 0;
}

void network_declare_dense(struct declaration *declaration)
{
    for (uint32_t p = 0; p < declaration->n_params; p++)
        declaration->params[p].sparse = 0;
}
