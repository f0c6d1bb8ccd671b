/* SPDX-License-Identifier: Apache-2.0 */
/* formula.c - laws of speed-up and tables of throughput as profiles */
#include "simulator/trace/formula.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/formula_internal.h"

static void free_formula(struct profile *profile)
{
    struct formula *self = (struct formula *)profile;

    free(self->counts);
    free(self->rates);
    free(self);
}

static int power_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                      struct edl_error *error)
{
    (void)error;
    ret->rate[0] = pow(shape->n, ((const struct formula *)profile)->parameter);
    ret->step_s = 1 / ret->rate[0];
    return 0;
}

static int amdahl_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                       struct edl_error *error)
{
    double serial = ((const struct formula *)profile)->parameter;

    (void)error;
    ret->step_s = serial + (1 - serial) / shape->n;
    ret->rate[0] = 1 / ret->step_s;
    return 0;
}

/* What is above one amount and below the next goes as fast as the lower one. */
static int table_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                      struct edl_error *error)
{
    const struct formula *self = (const struct formula *)profile;
    size_t n = profile->n_counts;

    while (n > 0 && self->counts[n - 1] > shape->n)
        n--;
    if (n == 0)
        return edl_error_set(error, -ERANGE, "%s: nothing was measured with %u instances",
                             profile->name, shape->n);
    ret->rate[0] = self->rates[n - 1];
    ret->step_s = 1 / ret->rate[0];
    return 0;
}

static double pserver_step_s(const struct pserver_model *model, uint32_t n, uint32_t p)
{
    double w = n - p, m = model->batch;

    return model->theta[0] * m / w + model->theta[1] + model->theta[2] * w / p +
           model->theta[3] * w + model->theta[4] * p;
}

/* best_split - as a function of the servers a step's time is convex: it falls, and then it rises */
static uint32_t best_split(const struct pserver_model *model, uint32_t n)
{
    uint32_t low = 1, high = n - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (pserver_step_s(model, n, middle + 1) < pserver_step_s(model, n, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int pserver_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                        struct edl_error *error)
{
    const struct pserver_model *model = ((const struct formula *)profile)->model;

    if (shape->n < 2 || shape->pservers >= shape->n)
        return edl_error_set(error, -ERANGE, "%s: %u instances, %u of them servers, cannot train",
                             profile->name, shape->n, shape->pservers);
    ret->pservers = shape->pservers > 0 ? shape->pservers : best_split(model, shape->n);
    ret->step_s = pserver_step_s(model, shape->n, ret->pservers);
    ret->rate[0] = 1 / ret->step_s;
    return 0;
}

const struct profile_ops formula_power_ops = {
    .name = "power", .pace = power_pace, .free = free_formula, .law = true, .rises = true
};
const struct profile_ops formula_amdahl_ops = {
    .name = "amdahl", .pace = amdahl_pace, .free = free_formula, .law = true, .rises = true
};
const struct profile_ops formula_table_ops = {
    .name = "table", .pace = table_pace, .free = free_formula, .law = true
};
const struct profile_ops formula_pserver_ops = {
    .name = "pserver", .pace = pserver_pace, .free = free_formula, .law = true
};

static struct formula *new_formula(const struct profile_ops *ops, const char *name)
{
    struct formula *self = xcalloc(1, sizeof(*self));

    profile_init(&self->profile, ops, name);
    return self;
}

struct profile *profile_power_new(const char *name, double p)
{
    struct formula *self = new_formula(&formula_power_ops, name);

    self->parameter = p;
    return &self->profile;
}

struct profile *profile_amdahl_new(const char *name, double serial)
{
    struct formula *self = new_formula(&formula_amdahl_ops, name);

    self->parameter = serial;
    return &self->profile;
}

struct profile *profile_table_new(const char *name, const uint32_t *counts, const double *rates,
                                  size_t n)
{
    struct formula *self = new_formula(&formula_table_ops, name);

    self->counts = xcalloc(n, sizeof(*counts));
    self->rates = xcalloc(n, sizeof(*rates));
    memcpy(self->counts, counts, n * sizeof(*counts));
    memcpy(self->rates, rates, n * sizeof(*rates));
    self->profile.counts = self->counts;
    self->profile.n_counts = n;
    self->profile.min = counts[0];
    self->profile.max = counts[n - 1];
    return &self->profile;
}

struct profile *profile_pserver_new(const struct pserver_model *model)
{
    struct formula *self = new_formula(&formula_pserver_ops, model->name);

    self->model = model;
    self->profile.batch = model->batch;
    self->profile.min = 2;
    return &self->profile;
}

/* Fitted by non-negative least squares to speeds measured with up to 23 servers and 23 trainers
 * (reports of the DL2 project, MXNet); theta[0] is for one sample of the batch. */
const struct pserver_model pserver_models[] = {
    { "resnet-50", 32, { .0039, .418, .421, .0074, 0 } },
    { "vgg-16", 32, { .017, .581, .807, .136, 0 } },
    { "inception-bn", 128, { .0031, .154, .166, .0194, .0028 } },
    { "seq2seq", 64, { .001, .054, .024, .013, 0 } },
    { "text-cnn", 50, { .0075, .345, .024, .017, 0 } },
    { "dssm", 256, { .0016, .118, 0, .0073, .0002 } },
    { "wlm", 160, { .0006, .239, .159, .031, 0 } },
    { "resnext-110", 128, { .0005, .156, .110, .020, .0012 } },
    { .name = NULL },
};

const struct pserver_model *pserver_model_find(const char *name)
{
    for (size_t i = 0; pserver_models[i].name != NULL; i++)
        if (streq(pserver_models[i].name, name))
            return &pserver_models[i];
    return NULL;
}
