/* SPDX-License-Identifier: Apache-2.0 */
/* test_optimizers.c - every optimizer by its formula: golden values to nine digits in f64, f32
 * beside it, cuts, clipping, decay, missed batches */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/optimizer.h"
#include "tests/unit/test.h"

#define STEPS 3

/* One weight from 1 on, rate 0.1, gradients 0.5, -0.25, 1: where it is after each. */
static const double gradients[STEPS] = { 0.5, -0.25, 1.0 };
static const struct golden {
    uint32_t method;
    double momentum;
    int nesterov;
    double w[2][STEPS]; /* without L2, with an L2 rate of 0.01 */
} golden[] = {
    { OPTIMIZER_MOMENTUM, 0, 0, { { 0.95, 0.975, 0.875 }, { 0.949, 0.973051, 0.872077949 } } },
    { OPTIMIZER_MOMENTUM, 0.9, 0, { { 0.95, 0.93, 0.812 }, { 0.949, 0.927151, 0.806559749 } } },
    { OPTIMIZER_MOMENTUM,
      0.9,
      1,
      { { 0.905, 0.912, 0.7058 }, { 0.9041, 0.909476310, 0.700996460 } } },
    { OPTIMIZER_ADAGRAD,
      0,
      0,
      { { 0.900000200, 0.944721488, 0.857434365 }, { 0.898000204, 0.941115103, 0.853006508 } } },
    { OPTIMIZER_DECAYED_ADAGRAD,
      0,
      0,
      { { 0.900000200, 0.950964813, 0.761506557 }, { 0.898000204, 0.947134168, 0.755881488 } } },
    { OPTIMIZER_ADADELTA,
      0,
      0,
      { { 0.999552804, 0.999841464, 0.999234563 }, { 0.999543860, 0.999820979, 0.999208010 } } },
    { OPTIMIZER_RMSPROP,
      0,
      0,
      { { 0.899874966, 0.950852987, 0.760129874 }, { 0.897872465, 0.947019616, 0.754490318 } } },
    { OPTIMIZER_ADAM,
      0,
      0,
      { { 0.900000063, 0.873366374, 0.807555232 }, { 0.900000063, 0.873366374, 0.807555232 } } },
    { OPTIMIZER_ADAMAX,
      0,
      0,
      { { 0.9, 0.878926295, 0.835383859 }, { 0.9, 0.878926295, 0.835383859 } } },
};
#define N_GOLDEN (sizeof golden / sizeof golden[0])

static struct optimizer_step step_of(const struct golden *g, double l2_rate, uint64_t count)
{
    return (struct optimizer_step){ .rate = 0.1,
                                    .momentum = g->momentum,
                                    .nesterov = g->nesterov,
                                    .l2_rate = l2_rate,
                                    .clipping = INFINITY,
                                    .rho = 0.95,
                                    .epsilon = g->method == OPTIMIZER_ADAM ? 1e-8 : 1e-6,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .count = count,
                                    .batches = 1,
                                    .first = count == 1 };
}

/* Elements and their slots, in both types. */
#define N 37
struct arrays {
    float w[N], slot[OPTIMIZER_SLOTS_MAX][N];
    double w_f64[N], slot_f64[OPTIMIZER_SLOTS_MAX][N];
};

static void slots_of(struct arrays *a, const struct optimizer_kind *kind, double momentum,
                     size_t from, float *ret[], double *ret_f64[])
{
    for (uint32_t s = 0; s < kind->n_states + 1; s++) {
        const int here = s < kind->n_states || momentum != 0;

        ret[s] = here ? a->slot[s] + from : NULL;
        ret_f64[s] = here ? a->slot_f64[s] + from : NULL;
    }
}

static void update(struct arrays *a, const struct golden *g, const struct optimizer_step *step,
                   const float *gradient, size_t from, size_t n)
{
    const struct optimizer_kind *kind = optimizer_kind(g->method);
    float *slots[OPTIMIZER_SLOTS_MAX];
    double *slots_f64[OPTIMIZER_SLOTS_MAX], gradient_f64[N];

    for (size_t i = 0; i < n; i++)
        gradient_f64[i] = (double)gradient[from + i];
    slots_of(a, kind, g->momentum, from, slots, slots_f64);
    kind->update(a->w + from, slots, gradient + from, n, step);
    kind->update_f64(a->w_f64 + from, slots_f64, gradient_f64, n, step);
}

static void start_at(struct arrays *a, double w)
{
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < N; i++) {
        a->w_f64[i] = w;
        a->w[i] = (float)w;
    }
}

static void fill(float *gradient, double value)
{
    for (size_t i = 0; i < N; i++)
        gradient[i] = (float)value;
}

TEST(test_golden)
{
    for (size_t m = 0; m < N_GOLDEN; m++)
        for (int decayed = 0; decayed < 2; decayed++) {
            struct arrays a;
            float gradient[N];

            start_at(&a, 1.0);
            for (uint64_t t = 0; t < STEPS; t++) {
                struct optimizer_step step = step_of(&golden[m], decayed ? 0.01 : 0.0, t + 1);
                const double want = golden[m].w[decayed][t];

                fill(gradient, gradients[t]);
                update(&a, &golden[m], &step, gradient, 0, N);
                for (size_t i = 0; i < N; i++) {
                    if (!(fabs(a.w_f64[i] - want) <= 0.51e-9))
                        fail_msg("%s, L2 %d, step %d: %.12f, not %.9f",
                                 optimizer_kind(golden[m].method)->name, decayed, (int)t,
                                 a.w_f64[i], want);
                    if (!(fabs((double)a.w[i] - want) <= 4e-7))
                        fail_msg("%s in f32: %.9f, not %.9f",
                                 optimizer_kind(golden[m].method)->name, (double)a.w[i], want);
                }
            }
        }
}

TEST(test_names)
{
    for (uint32_t m = 0; m < OPTIMIZER_METHODS; m++)
        assert_int_equal(optimizer_method_of(optimizer_kind(m)->name), m);
    assert_int_equal(optimizer_method_of("sgd"), -1);
    assert_null(optimizer_kind(OPTIMIZER_METHODS));
}

/* The same bits when a parameter is cut into pieces of any length. */
TEST(test_cuts)
{
    for (size_t m = 0; m < N_GOLDEN; m++) {
        struct arrays whole, cut;
        float gradient[N];

        start_at(&whole, 0.7);
        start_at(&cut, 0.7);
        for (uint64_t t = 0; t < 5; t++) {
            struct optimizer_step step = step_of(&golden[m], 0.01, t + 1);

            for (size_t i = 0; i < N; i++)
                gradient[i] = (float)sin((double)(i * 7 + t));
            update(&whole, &golden[m], &step, gradient, 0, N);
            for (size_t from = 0; from < N; from += 5)
                update(&cut, &golden[m], &step, gradient, from, N - from < 5 ? N - from : 5);
        }
        assert_memory_equal(&whole, &cut, sizeof whole);
    }
}

/* Clipping is by value: as if the gradients had been clamped before, in the states too. */
TEST(test_clipping)
{
    for (size_t m = 0; m < N_GOLDEN; m++) {
        struct arrays clipped, clamped;
        float gradient[N], small[N];
        struct optimizer_step step = step_of(&golden[m], 0.01, 1), none = step;

        step.clipping = 0.25;
        for (size_t i = 0; i < N; i++) {
            gradient[i] = ((float)i - 18.0f) / 10.0f;
            small[i] = fminf(fmaxf(gradient[i], -0.25f), 0.25f);
        }
        start_at(&clipped, 0.7);
        start_at(&clamped, 0.7);
        update(&clipped, &golden[m], &step, gradient, 0, N);
        update(&clamped, &golden[m], &none, small, 0, N);
        assert_memory_equal(&clipped, &clamped, sizeof clipped);
        update(&clamped, &golden[m], &none, gradient, 0, N);
        assert_true(clipped.w[0] != clamped.w[0]);
    }
}

/* L1 draws to 0 and stops there; L2 divides behind it. By hand for s = 1. */
TEST(test_l1)
{
    const struct golden *g = &golden[0];
    struct optimizer_step step = step_of(g, 0.5, 1);
    struct arrays a;
    float gradient[N];

    step.l1_rate = 2.0; /* by 0.1 * 2 */
    start_at(&a, 1.0);
    fill(gradient, 1.0);
    gradient[1] = 9.0f;  /* 0.1 before the shrinking: 0 behind it */
    gradient[2] = 15.0f; /* -0.5 before: -0.3/1.05 */
    update(&a, g, &step, gradient, 0, N);
    assert_true(fabs(a.w_f64[0] - 0.7 / 1.05) < 1e-12);
    assert_true(a.w_f64[1] == 0.0);
    assert_true(fabs(a.w_f64[2] - -0.3 / 1.05) < 1e-12);
    assert_true(fabs((double)a.w[0] - 0.7 / 1.05) < 1e-6);
}

/* Elements that never had a gradient but 0 stay numbers, and without decay where they are. */
TEST(test_zero_gradients)
{
    for (size_t m = 0; m < N_GOLDEN; m++) {
        struct arrays a;
        float gradient[N];

        start_at(&a, 0.7);
        fill(gradient, 0.0);
        for (uint64_t t = 0; t < 3; t++) {
            struct optimizer_step step = step_of(&golden[m], 0.0, t + 1);

            update(&a, &golden[m], &step, gradient, 0, N);
            assert_true(a.w_f64[5] == 0.7);
            assert_true(a.w[5] == 0.7f);
        }
    }
}

/* A variance that rounding has brought below 0 counts as 0: no NaN, and a step of rate * g over the
 * root of epsilon. */
TEST(test_rmsprop_variance)
{
    const struct golden *g = &golden[6];
    struct optimizer_step step = step_of(g, 0.0, 2);
    struct arrays a;
    float gradient[N];

    assert_int_equal(g->method, OPTIMIZER_RMSPROP);
    step.rate = 1e-6;
    start_at(&a, 0.7);
    fill(gradient, 1.0);
    for (size_t i = 0; i < N; i++) {
        a.slot[0][i] = 1.0f;
        a.slot[1][i] = 1.001f;
        a.slot_f64[0][i] = 1.0;
        a.slot_f64[1][i] = 1.001;
    }
    update(&a, g, &step, gradient, 0, N);
    assert_true(fabs(a.w_f64[3] - (0.7 - 1e-3)) < 1e-12);
    assert_true(fabs((double)a.w[3] - (0.7 - 1e-3)) < 1e-6);
}

/* The decay that a row owes for batches it missed equals so many updates of gradient 0, to first
 * order: the difference falls with the square of the rate. */
static double lazy_difference(const struct golden *g, double rate)
{
    const struct optimizer_kind *kind = optimizer_kind(g->method);
    struct optimizer_step step = step_of(g, 0.01, 1);
    struct arrays dense, lazy;
    float gradient[N], *slots[OPTIMIZER_SLOTS_MAX];
    double *slots_f64[OPTIMIZER_SLOTS_MAX];
    enum { MISSED = 6 };

    step.rate = rate;
    start_at(&dense, 1.0);
    fill(gradient, 0.5);
    update(&dense, g, &step, gradient, 0, N);
    lazy = dense;
    fill(gradient, 0.0);
    step.first = 0;
    for (int i = 0; i < MISSED; i++)
        update(&dense, g, &step, gradient, 0, N);
    step.batches = MISSED;
    slots_of(&lazy, kind, 0, 0, slots, slots_f64);
    kind->catch_up_f64(lazy.w_f64, slots_f64, N, &step);
    kind->catch_up(lazy.w, slots, N, &step);
    assert_true(fabs((double)lazy.w[3] - lazy.w_f64[3]) < 1e-6);
    assert_true(lazy.w_f64[3] < 1.0);
    return fabs(lazy.w_f64[3] - dense.w_f64[3]);
}

TEST(test_missed_batches)
{
    for (size_t m = 0; m < N_GOLDEN; m++) {
        const uint32_t method = golden[m].method;
        double coarse, fine;

        /* where the scale does not change meanwhile */
        if ((method != OPTIMIZER_MOMENTUM && method != OPTIMIZER_ADAGRAD) || golden[m].momentum > 0)
            continue;
        coarse = lazy_difference(&golden[m], 1e-1);
        fine = lazy_difference(&golden[m], 1e-2);
        assert_true(coarse < 1e-3);
        assert_true(fine < coarse / 50);
    }
}

/* The states of a row that missed batches have decayed as so many gradients of 0 would make them.
 */
TEST(test_missed_states)
{
    static const size_t decaying[] = { 4, 6 }; /* decayed AdaGrad, RMSProp */

    for (size_t d = 0; d < 2; d++) {
        const struct golden *g = &golden[decaying[d]];
        struct optimizer_step step = step_of(g, 0.0, 1);
        struct arrays dense, lazy;
        float gradient[N];

        start_at(&dense, 1.0);
        fill(gradient, 0.5);
        update(&dense, g, &step, gradient, 0, N);
        lazy = dense;
        step.first = 0;
        fill(gradient, 0.0);
        for (int i = 0; i < 6; i++)
            update(&dense, g, &step, gradient, 0, N);
        fill(gradient, -1.5);
        update(&dense, g, &step, gradient, 0, N);
        step.batches = 7;
        update(&lazy, g, &step, gradient, 0, N);
        for (uint32_t s = 0; s < optimizer_kind(g->method)->n_states; s++)
            assert_true(fabs(lazy.slot_f64[s][9] - dense.slot_f64[s][9]) < 1e-12);
        /* w moved alike but for what the memory of f moves it meanwhile (gradient 0 moves nothing)
         */
        assert_true(fabs(lazy.w_f64[9] - dense.w_f64[9]) < 1e-12);
    }
}
