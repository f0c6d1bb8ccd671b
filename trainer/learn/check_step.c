/* SPDX-License-Identifier: Apache-2.0 */
/* check_step.c - one real step of a training, against the gradient and the optimizer's formula */
#include "trainer/learn/check_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/tensor_ops.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/network/random_batch.h"
#include "trainer/learn/network_begin.h"
#include "trainer/learn/network_learner_internal.h"
#include "trainer/learn/step_seed.h"

#define SPREAD 0.1f         /* at least, of the values before the step */
#define GRADIENT_OFF 1e-3   /* of its length, in f32 */
#define GRADIENT_FLOOR 1e-5 /* of the longest gradient: where terms cancel */
#define WAY_OFF 1e-4        /* of the way of an element, in f32 */
#define ROUNDING 3e-7       /* of a value */

struct check {
    const struct step_check_config *config;
    const struct network *network;
    struct network_learner *learner;
    struct plan *plan;
    double **before, **exact; /* [params] */
    float **gradients;        /* [declared] whole, as they were pushed */
    bool **pushed;            /* [declared] rows of a sparse one, else NULL */
    uint32_t *param_of;       /* [declared] */
    uint32_t failed;
};

static const struct param_spec *spec_of(const struct check *check, uint32_t p)
{
    return &check->network->params[p].spec;
}

static size_t elements(const struct check *check, uint32_t p)
{
    return (size_t)spec_of(check, p)->rows * spec_of(check, p)->columns;
}

/* ---- begin and end ---- */

static void open_arrays(struct check *check)
{
    const uint32_t n = check->network->n_params;
    uint32_t declared = 0;

    check->before = xcalloc(n, sizeof *check->before);
    check->exact = xcalloc(n, sizeof *check->exact);
    check->gradients = xcalloc(n, sizeof *check->gradients);
    check->pushed = xcalloc(n, sizeof *check->pushed);
    check->param_of = xcalloc(n, sizeof *check->param_of);
    for (uint32_t p = 0; p < n; p++) {
        check->before[p] = xcalloc(elements(check, p), sizeof(double));
        check->exact[p] = xcalloc(elements(check, p), sizeof(double));
        if (check->network->params[p].is_static)
            continue;
        check->param_of[declared] = p;
        check->gradients[declared] = xcalloc(elements(check, p), sizeof(float));
        if (spec_of(check, p)->sparse)
            check->pushed[declared] = xcalloc(spec_of(check, p)->rows, sizeof(bool));
        declared++;
    }
}

static void check_close(struct check *check)
{
    for (uint32_t p = 0; check->before != NULL && p < check->network->n_params; p++) {
        free(check->before[p]);
        free(check->exact[p]);
        free(check->gradients[p]);
        free(check->pushed[p]);
    }
    free(check->before);
    free(check->exact);
    free(check->gradients);
    free(check->pushed);
    free(check->param_of);
    check->learner = network_learner_free(check->learner);
    check->plan = plan_free(check->plan);
}

/* The samples of the batch as records, as a training has them. */
static int samples_of(const struct check *check, struct sample_set **ret, struct edl_error *error)
{
    const struct network *network = check->network;
    const struct batch *batch = check->config->batch;
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };
    int r = 0;

    for (uint32_t i = 0; r >= 0 && i < batch->n; i++) {
        struct sample_value values[INPUTS_MAX] = { 0 };

        for (uint32_t k = 0; k < network->n_inputs; k++) {
            const struct batch_slot *slot = &batch->slots[k];
            const uint32_t first = slot->starts != NULL ? slot->starts[i] : i;

            if (slot->ids != NULL)
                values[k].ids = slot->ids + first;
            if (slot->starts != NULL)
                values[k].n_ids = slot->starts[i + 1] - first;
            if (slot->values != NULL)
                values[k].values = slot->values + (size_t)i * network->inputs[k].size;
        }
        r = sample_encode(network->inputs, network->n_inputs, values, &record, error);
        if (r >= 0)
            r = sample_set_add(set, record.bytes, record.size, error);
    }
    free(record.bytes);
    *ret = set;
    return r;
}

/* ---- the step ---- */

/* What the learner pushes is kept, whole, on its way to the keeper. */
static int keep_and_exchange(void *userdata, const struct exchange *exchange,
                             struct edl_error *error)
{
    struct check *check = userdata;

    for (uint32_t d = 0; exchange->push && d < check->config->declaration.n_params; d++)
        if (check->pushed[d] == NULL)
            memcpy(check->gradients[d], exchange->dense_gradients[d],
                   elements(check, check->param_of[d]) * sizeof(float));
    for (uint32_t s = 0; exchange->push && s < exchange->n_rows; s++) {
        const struct exchange_rows *rows = &exchange->rows[s];
        const size_t columns = spec_of(check, check->param_of[rows->param])->columns;

        for (uint32_t i = 0; i < rows->n_push; i++) {
            check->pushed[rows->param][rows->push_ids[i]] = true;
            memcpy(check->gradients[rows->param] + rows->push_ids[i] * columns,
                   rows->push_rows + i * columns, columns * sizeof(float));
        }
    }
    return check->config->exchange(check->config->exchange_userdata, exchange, error);
}

static int open_learner(struct check *check, struct edl_error *error)
{
    const struct network_learner_config config = { .network = check->network,
                                                   .backend = check->config->backend,
                                                   .declaration = check->config->declaration,
                                                   .batch = check->config->batch->n,
                                                   .push_every = 1,
                                                   .dropout_seed = check->config->seed,
                                                   .exchange = keep_and_exchange,
                                                   .exchange_userdata = check };

    return network_learner_new(&config, &check->learner, error);
}

/* Larger values than those of a start, so that a mistake shows; zeros hide much. */
static int set_values(struct check *check, struct edl_error *error)
{
    const struct network_begin begin = { .network = check->network, .learner = check->learner };
    float *const *values = network_learner_values(check->learner);
    uint64_t state = check->config->seed;

    for (uint32_t p = 0; p < check->network->n_params; p++) {
        const struct param_spec *spec = spec_of(check, p);

        if (check->network->params[p].is_static)
            continue;
        for (size_t i = 0; i < elements(check, p); i++) {
            values[p][i] = spec->initial_mean +
                           (float)random_normal(&state) * MAX_OF(spec->initial_std, SPREAD);
            check->before[p][i] = (double)values[p][i];
        }
    }
    return network_begin_set(&begin, check->config->exchange, check->config->exchange_userdata,
                             error);
}

static int take_step(struct check *check, struct edl_error *error)
{
    struct sample_set *samples = NULL;
    size_t position = 0;
    int r = samples_of(check, &samples, error);

    if (r >= 0)
        r = network_learner_train(check->learner, samples, &position, NULL, error);
    if (r >= 0)
        r = network_learner_pull(check->learner, error);
    (void)sample_set_free(samples);
    return r;
}

/* The gradient of the same values, samples and dropout in f64. */
static int find_exact(struct check *check, struct edl_error *error)
{
    const struct plan_config config = { .network = check->network,
                                        .backend = backend_cpu(),
                                        .ops = tensor_ops_f64(),
                                        .batch_max = check->config->batch->n,
                                        .whole_tables = true };
    const struct step_place first = { 0 };
    struct plan_result result;
    int r = plan_new(&config, &check->plan, error);

    if (r >= 0)
        r = plan_batch(check->plan, check->config->batch, error);
    if (r >= 0)
        plan_step(check->plan, (void *const *)check->before, step_seed(check->config->seed, &first),
                  (void *const *)check->exact, &result);
    return r;
}

/* ---- comparing ---- */

static double length(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* wanted_run - what n elements are to be behind the first update of their row, or behind one that
 * passed it by */
static void wanted_run(const struct check *check, uint32_t d, size_t first, size_t n, bool passed,
                       double *ret)
{
    const struct declaration *declaration = &check->config->declaration;
    const struct optimizer_spec *spec = &declaration->optimizer;
    const struct optimizer_kind *kind = optimizer_kind(spec->method);
    struct optimizer_step step = optimizer_param_step(spec, &declaration->params[d]);
    double *slots[OPTIMIZER_SLOTS_MAX] = { NULL };
    double *gradient = xcalloc(n, sizeof *gradient);
    const uint32_t n_slots = kind->n_states + optimizer_has_velocity(spec, &declaration->params[d]);
    struct rate rate;

    (void)rate_parse(spec->schedule, (double)spec->learning_rate, (double)spec->schedule_a,
                     (double)spec->schedule_b, spec->schedule_args, &rate, NULL);
    step.rate = (kind->abilities & OPTIMIZER_SCHEDULE ? rate_at(&rate, check->config->batch->n, 0)
                                                      : rate.base) *
                (double)declaration->params[d].learning_rate;
    step.count = step.batches = 1;
    step.first = 1;
    for (uint32_t s = 0; s < n_slots; s++)
        slots[s] = xcalloc(n, sizeof *slots[s]);
    for (size_t i = 0; i < n; i++)
        gradient[i] = (double)check->gradients[d][first + i];
    if (!passed)
        kind->update_f64(ret, slots, gradient, n, &step);
    else if ((step.l1_rate > 0 || step.l2_rate > 0) && (kind->abilities & OPTIMIZER_DECAY))
        kind->catch_up_f64(ret, slots, n, &step);
    for (uint32_t s = 0; s < n_slots; s++)
        free(slots[s]);
    free(gradient);
}

static double *wanted(const struct check *check, uint32_t d)
{
    const uint32_t p = check->param_of[d];
    const size_t n = elements(check, p), columns = spec_of(check, p)->columns;
    double *ret = xcalloc(n, sizeof *ret);

    memcpy(ret, check->before[p], n * sizeof *ret);
    if (check->pushed[d] == NULL)
        wanted_run(check, d, 0, n, false, ret);
    for (uint32_t row = 0; check->pushed[d] != NULL && row < spec_of(check, p)->rows; row++)
        wanted_run(check, d, row * columns, columns, !check->pushed[d][row], ret + row * columns);
    return ret;
}

static bool compare_gradient(const struct check *check, uint32_t d, double longest,
                             struct step_check *result)
{
    const uint32_t p = check->param_of[d];
    const size_t n = elements(check, p);
    _cleanup_free_ double *off = xcalloc(n, sizeof *off);

    for (size_t i = 0; i < n; i++)
        off[i] = (double)check->gradients[d][i] - check->exact[p][i];
    result->gradient = length(check->exact[p], n);
    result->gradient_off = length(off, n);
    return result->gradient_off <= GRADIENT_OFF * result->gradient + GRADIENT_FLOOR * longest;
}

static bool compare_way(const struct check *check, uint32_t d, struct step_check *result)
{
    const uint32_t p = check->param_of[d];
    const float *after = network_learner_values(check->learner)[p];
    _cleanup_free_ double *to = wanted(check, d);
    bool holds = true;

    for (size_t i = 0; i < elements(check, p); i++) {
        const double way = to[i] - check->before[p][i], off = fabs((double)after[i] - to[i]);

        holds = holds && off <= WAY_OFF * fabs(way) +
                                    ROUNDING * MAX_OF(fabs(check->before[p][i]), fabs(to[i]));
        result->way = hypot(result->way, way);
        result->way_off = fmax(result->way_off, off);
    }
    return holds;
}

static void compare(struct check *check)
{
    double longest = 0;

    for (uint32_t p = 0; p < check->network->n_params; p++)
        longest = fmax(longest, length(check->exact[p], elements(check, p)));
    for (uint32_t d = 0; d < check->config->declaration.n_params; d++) {
        struct step_check result = { .param = check->config->declaration.params[d].name };

        result.holds = compare_gradient(check, d, longest, &result);
        result.holds = compare_way(check, d, &result) && result.holds;
        check->failed += !result.holds;
        if (check->config->on_check != NULL)
            check->config->on_check(&result, check->config->userdata);
    }
}

int check_step(const struct step_check_config *config, uint32_t *ret_failed,
               struct edl_error *error)
{
    struct check check = { .config = config, .network = config->network };
    int r;

    open_arrays(&check);
    r = open_learner(&check, error);
    if (r >= 0)
        r = set_values(&check, error);
    if (r >= 0)
        r = take_step(&check, error);
    if (r >= 0)
        r = find_exact(&check, error);
    if (r >= 0)
        compare(&check);
    *ret_failed = check.failed;
    check_close(&check);
    return r;
}
