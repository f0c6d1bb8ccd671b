/* SPDX-License-Identifier: Apache-2.0 */
/* batch_choice.h - the batch that teaches most a second, for the rule goodput of batch_plan.h: pure
 *
 * Each micro-batch of b samples tells the square |g_i|^2 of its gradient and its time. Each rank
 * tells the time of its last step. These numbers are added up over the ranks with the gradients
 * themselves, in floats of their own. So all ranks have the same sums, and measures that are made
 * of them are alike in all ranks, those of a follower too: a part of the state.
 *
 * V micro-batches have the sum G, the mean square m = mean |g_i / b|^2 and s = |G / Vb|^2.
 *
 *     (V s - m) / (V - 1)       the square of the true gradient, without a bias;
 *     (m - s) V / (V - 1)       the variance of the gradient of b samples.
 *
 * Their ratio, times b, is the noise scale in samples. Both are averaged over about 1,000 first
 * batches, and then divided. Sources: McCandlish et al. 2018, appendix A; Pollux (OSDI 2021).
 *
 * Candidates are the first batch and its doublings. So the batch stays as it is while a rank is
 * lost and replaced. A choice that is nearly as good as the present one changes nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/batch_plan.h"

enum {
    BATCH_SQUARES = 16, /* floats: a square goes where its power of 2 belongs */
    BATCH_TOLD = BATCH_SQUARES + 4,
    BATCH_POINTS = 16
};

/* The mean times of steps of one size; weight 0: none. */
struct batch_point {
    uint64_t step; /* the last one */
    uint32_t ranks, micro_batches;
    double weight, compute_s, step_s; /* of a micro-batch; of a step */
};

/* As it lies it goes from rank to rank, and into checkpoints. Zeros: nothing is measured. */
struct batch_measures {
    double square, variance, weight; /* sums, to be divided by the weight */
    struct batch_point points[BATCH_POINTS];
};

/* batch_square - |values|^2, with the same bits on all machines */
double batch_square(const float *values, size_t n);

/* batch_tell - a micro-batch's words, added to told[BATCH_TOLD] */
void batch_tell(float *told, double square, double compute_s);
/* batch_tell_step - a rank's word of the step before, which was as large, with as many ranks */
void batch_tell_step(float *told, uint32_t ranks, double step_s);

/* batch_measure - the sum of the words of all ranks, of a step with so many micro-batches, each
 * with all its samples; square: of the sum of the gradients */
void batch_measure(struct batch_measures *measures, const struct batch_rules *rules,
                   const float *told, uint32_t micro_batches, double square, uint64_t step);

/* batch_noise - the noise scale in samples; below 0: not known yet; infinite: nothing but noise */
double batch_noise(const struct batch_measures *measures, const struct batch_rules *rules);

/* batch_worth - what a sample of a batch of so many micro-batches teaches, of one of the first
 * batch; 1 while nothing is known */
double batch_worth(const struct batch_measures *measures, const struct batch_rules *rules,
                   uint32_t micro_batches);

/* batch_choice - micro-batches of a step with so many ranks; present: of the last one, which stays
 * while nothing is known, or nothing is clearly better */
uint32_t batch_choice(const struct batch_measures *measures, const struct batch_rules *rules,
                      uint32_t ranks, uint32_t present);
