/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradients.c - a network's gradients against differences of its cost, in f64
 *
 * Differences at two steps, h and h/2: where they disagree a kink (relu, max) lies between, and the
 * comparison is made again closer by. */
#include "trainer/network/check_gradients.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/network/random_batch.h"

#define DIRECTIONS 2
#define STEP 1e-4
#define CLOSER 0.1 /* the next step, at a kink */
#define TRIES 4
#define TOLERANCE 1e-6  /* of the larger slope */
#define CANCELLED 1e-12 /* of the cost, by the step: what rounding leaves of a difference */

struct check {
    const struct gradient_check_config *config;
    const struct network *network;
    struct plan *plan;
    double **params, **gradients; /* [params] */
    double *kept, *direction;     /* of the parameter under way */
    uint64_t state, masks;
    uint32_t failed;
};

static size_t elements(const struct check *check, uint32_t p)
{
    const struct param_spec *spec = &check->network->params[p].spec;

    return (size_t)spec->rows * spec->columns;
}

static void open_params(struct check *check)
{
    size_t largest = 0;

    check->params = xcalloc(check->network->n_params, sizeof *check->params);
    check->gradients = xcalloc(check->network->n_params, sizeof *check->gradients);
    for (uint32_t p = 0; p < check->network->n_params; p++) {
        const struct param_spec *spec = &check->network->params[p].spec;
        const size_t n = elements(check, p);

        largest = MAX_OF(largest, n);
        check->params[p] = xcalloc(n, sizeof(double));
        check->gradients[p] = xcalloc(n, sizeof(double));
        for (size_t i = 0; i < n; i++)
            check->params[p][i] =
                (double)spec->initial_mean +
                random_normal(&check->state) * MAX_OF((double)spec->initial_std, 0.1);
    }
    check->kept = xcalloc(largest, sizeof(double));
    check->direction = xcalloc(largest, sizeof(double));
}

static void close_params(struct check *check)
{
    for (uint32_t p = 0; p < check->network->n_params; p++) {
        free(check->params[p]);
        free(check->gradients[p]);
    }
    free(check->params);
    free(check->gradients);
    free(check->kept);
    free(check->direction);
}

static double cost_at(struct check *check, uint32_t p, double along)
{
    const size_t n = elements(check, p);
    struct plan_result result;

    for (size_t i = 0; i < n; i++)
        check->params[p][i] = check->kept[i] + along * check->direction[i];
    plan_forward(check->plan, (void *const *)check->params, true, check->masks, &result);
    memcpy(check->params[p], check->kept, n * sizeof(double));
    return result.cost;
}

static double slope(struct check *check, uint32_t p, double step)
{
    return (cost_at(check, p, step) - cost_at(check, p, -step)) / (2 * step);
}

static void compare(struct check *check, uint32_t p, bool one_element)
{
    struct gradient_check result = { .param = check->network->params[p].spec.name,
                                     .one_element = one_element,
                                     .step = STEP };

    for (size_t i = 0; i < elements(check, p); i++)
        result.computed += check->gradients[p][i] * check->direction[i];
    result.cost = cost_at(check, p, 0);
    for (int try = 0; try < TRIES && !result.holds; try++) {
        const double size = fabs(result.computed);
        double allowed, half;

        result.step = STEP * pow(CLOSER, try);
        half = slope(check, p, result.step / 2);
        /* two steps, and the error of third order falls out */
        result.measured = (4 * half - slope(check, p, result.step)) / 3;
        allowed = TOLERANCE * MAX_OF(size, fabs(result.measured)) +
                  CANCELLED * MAX_OF(fabs(result.cost), 1.0) / result.step;
        result.holds = fabs(result.measured - result.computed) <= allowed;
    }
    check->failed += !result.holds;
    if (check->config->on_check != NULL)
        check->config->on_check(&result, check->config->userdata);
}

static void check_param(struct check *check, uint32_t p)
{
    const size_t n = elements(check, p);

    memcpy(check->kept, check->params[p], n * sizeof(double));
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        for (size_t i = 0; i < n; i++)
            check->direction[i] = random_normal(&check->state) / sqrt((double)n);
        compare(check, p, false);
    }
    memset(check->direction, 0, n * sizeof(double));
    for (uint32_t i = 0; i < check->config->n_elements; i++) {
        const size_t at = (size_t)(random_next(&check->state) % n);

        check->direction[at] = 1;
        compare(check, p, true);
        check->direction[at] = 0;
    }
}

static void check_all(struct check *check)
{
    struct plan_result result;

    plan_step(check->plan, (void *const *)check->params, check->masks,
              (void *const *)check->gradients, &result);
    for (uint32_t p = 0; p < check->network->n_params; p++)
        if (!check->network->params[p].is_static)
            check_param(check, p);
}

/* Memory full of values that are no numbers: a gradient that nobody writes shows. */
static void *allocate_spoilt(size_t bytes)
{
    void *ret = backend_cpu()->allocate(bytes);

    if (ret != NULL)
        memset(ret, 0xff, bytes);
    return ret;
}

int check_gradients(const struct gradient_check_config *config, uint32_t *ret_failed,
                    struct edl_error *error)
{
    struct edl_backend spoilt = *backend_cpu();
    const struct plan_config plan = { .network = config->network,
                                      .backend = &spoilt,
                                      .ops = tensor_ops_f64(),
                                      .batch_max = config->batch->n,
                                      .whole_tables = true };
    struct check check = { .config = config,
                           .network = config->network,
                           .state = config->seed,
                           .masks = config->seed + 1 };
    int r;

    spoilt.allocate = allocate_spoilt;
    r = plan_new(&plan, &check.plan, error);
    if (r >= 0)
        r = plan_batch(check.plan, config->batch, error);
    if (r >= 0) {
        open_params(&check);
        check_all(&check);
        close_params(&check);
        *ret_failed = check.failed;
    }
    (void)plan_free(check.plan);
    return r;
}
