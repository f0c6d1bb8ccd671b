/* SPDX-License-Identifier: Apache-2.0 */
/* batch_plan.h - how large a global batch is with n ranks, in which parts, and at which rate: pure
 *
 * A global batch is V micro-batches of a fixed size, the unit in which ranks share it. The size of
 * a micro-batch never changes, so its gradient has the same bits on every rank.
 *
 *     constant   the batch that the user chose, with any number of ranks: the same training
 *     linear     n times as large, up to `most`; the rate as many times as high
 *     goodput    the size that learns most a second (goodput_batch.h), found by the caller; the
 * rate goes with the square root
 *
 * The factor of a rate is for means of gradients. Ours are sums: twice the V already doubles an SGD
 * step, and adaptive methods do not see the scale at all. batch_numbers has the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

enum batch_rule { BATCH_CONSTANT, BATCH_LINEAR, BATCH_GOODPUT, BATCH_RULES };

struct batch_rules {
    enum batch_rule rule;
    uint32_t micro_batch; /* samples */
    uint32_t start;       /* samples of a global batch, a multiple of it */
    uint32_t most;        /* samples, at least start; not of constant */
    uint32_t warm_up;     /* steps in which a rate goes up; down it goes at once */
};

struct batch_plan {
    uint32_t batch;         /* samples */
    uint32_t micro_batches; /* V */
    uint32_t busiest;       /* micro-batches of the rank that has most */
    uint32_t idle;          /* ranks without one */
    double factor;          /* of the rate, for a mean, behind the warm-up */
};

/* What the optimizer takes in place of its own numbers: factors. */
struct batch_numbers {
    double rate;
    double beside_the_sum; /* of L2, L1 and the threshold of clipping, which stand beside the sum */
};

/* batch_rule_of - "constant", "linear", "goodput"; negative: none of them */
int batch_rule_of(const char *name);
const char *batch_rule_to_string(enum batch_rule rule);

/* batch_rules_check - -EINVAL names the number */
int batch_rules_check(const struct batch_rules *rules, struct edl_error *error);

/* batch_plan - of checked rules and n ranks, at least 1; best: samples, of goodput alone (0: not
 * known yet, start) */
struct batch_plan batch_plan(const struct batch_rules *rules, uint32_t n, uint32_t best);

/* batch_plan_of - the same of V micro-batches, of one rank */
struct batch_plan batch_plan_of(const struct batch_rules *rules, uint32_t micro_batches);

/* batch_factor - of the rate in a step, so many steps (from 0) behind the change from one factor to
 * another */
double batch_factor(const struct batch_rules *rules, double from, double to, uint64_t steps);

/* batch_numbers - for sums of gradients; sees_scale: a larger gradient makes a larger step (SGD,
 * momentum), else the method divides by the size of gradients (AdaGrad, RMSProp, Adam) */
struct batch_numbers batch_numbers(const struct batch_rules *rules, const struct batch_plan *plan,
                                   double factor, bool sees_scale);
