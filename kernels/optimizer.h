/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - how a gradient moves a parameter: one formula per method, on f32 and on f64
 *
 * All methods but Adam and Adamax end in the same step, with a scale s of their own per element:
 *
 *     m = k*m - L*s*(g + d*w);  w += m          L rate, k momentum, d L2 rate
 *
 * So L2 stands outside what a method accumulates, and s scales it as well. g is the SUM of the
 * gradients of a batch. With an L1 rate, and for batches that a row missed, the decay comes behind
 * the step: w = soft(w, L*s*l1) / (1 + L*s*d), where soft moves w towards 0 and stops there.
 *
 * A method keeps arrays beside w, its slots: first its states, then the velocity m when k is not 0.
 * All start as zeros. Formulas are element-wise, so it does not matter where a parameter is cut.
 * The f64 variants exist to prove the formulas (tests/unit/test_optimizers.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OPTIMIZER_SLOTS_MAX 3

enum {
    OPTIMIZER_VELOCITY = 1, /* a momentum is possible: one slot more, behind the states */
    OPTIMIZER_SPARSE = 2,   /* single rows can be updated, the others later */
    OPTIMIZER_SCHEDULE = 4, /* follows the rate schedule; else always the base rate */
    OPTIMIZER_DECAY = 8,    /* L1 and L2 act */
    OPTIMIZER_EPSILON = 16, /* has one, and it must not be 0 */
};

/* name in the enum, name in files, number of states, abilities; the place is the number on the wire
 * and in checkpoints */
#define OPTIMIZER_MAP(XX)                                                                          \
    XX(MOMENTUM, momentum, 0,                                                                      \
       OPTIMIZER_VELOCITY | OPTIMIZER_SPARSE | OPTIMIZER_SCHEDULE | OPTIMIZER_DECAY)               \
    XX(ADAGRAD, adagrad, 1,                                                                        \
       OPTIMIZER_VELOCITY | OPTIMIZER_SPARSE | OPTIMIZER_DECAY | OPTIMIZER_EPSILON)                \
    XX(DECAYED_ADAGRAD, decayed_adagrad, 1,                                                        \
       OPTIMIZER_VELOCITY | OPTIMIZER_SPARSE | OPTIMIZER_SCHEDULE | OPTIMIZER_DECAY |              \
           OPTIMIZER_EPSILON)                                                                      \
    XX(ADADELTA, adadelta, 2,                                                                      \
       OPTIMIZER_VELOCITY | OPTIMIZER_SCHEDULE | OPTIMIZER_DECAY | OPTIMIZER_EPSILON)              \
    XX(RMSPROP, rmsprop, 2,                                                                        \
       OPTIMIZER_VELOCITY | OPTIMIZER_SPARSE | OPTIMIZER_SCHEDULE | OPTIMIZER_DECAY |              \
           OPTIMIZER_EPSILON)                                                                      \
    XX(ADAM, adam, 2, OPTIMIZER_SCHEDULE | OPTIMIZER_EPSILON)                                      \
    XX(ADAMAX, adamax, 2, 0)

enum optimizer_method {
#define XX(upper, lower, states, abilities) OPTIMIZER_##upper,
    OPTIMIZER_MAP(XX)
#undef XX
        OPTIMIZER_METHODS
};

/* The numbers of one update of some elements. */
struct optimizer_step {
    double rate;     /* by the schedule, with the parameter's factor */
    double momentum; /* 0: no velocity */
    double l1_rate, l2_rate;
    double clipping; /* gradients are clamped to +-clipping; INFINITY: not at all */
    double rho, epsilon, beta1, beta2;
    uint64_t count;   /* updates of these elements, with this one (Adam, Adamax) */
    uint64_t batches; /* since their last update; 1: none was missed */
    int first;        /* 1: they have never been updated */
    int nesterov;     /* 1: w moves by k*m - L*g (momentum only) */
};

/* slots: one array per state, then the velocity or NULL; all as long as w. */
struct optimizer_kind {
    const char *name;
    uint32_t n_states;
    uint32_t abilities;
    /* update - w and slots in and out, n elements; g read */
    void (*update)(float *w, float *const slots[], const float *g, size_t n,
                   const struct optimizer_step *step);
    /* catch_up - the decay of step->batches missed batches, onto w only, with the scale that the
     * slots give; equal to so many updates of gradient 0 in the first order of the rate */
    void (*catch_up)(float *w, float *const slots[], size_t n, const struct optimizer_step *step);
    void (*update_f64)(double *w, double *const slots[], const double *g, size_t n,
                       const struct optimizer_step *step);
    void (*catch_up_f64)(double *w, double *const slots[], size_t n,
                         const struct optimizer_step *step);
};

/* optimizer_kind - of a method; NULL when there is no such method */
const struct optimizer_kind *optimizer_kind(uint32_t method);

/* optimizer_method_of - the number of a name; -1 when there is none */
int optimizer_method_of(const char *name);
