/* SPDX-License-Identifier: Apache-2.0 */
/* network_declaration.c - what a network declares: its trained parameters under its optimizer */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/network.h"
#include "trainer/network_learner.h"

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
