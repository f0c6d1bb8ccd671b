/* SPDX-License-Identifier: Apache-2.0 */
/* group_member.h - one of some processes that train the same values together: its part of a step,
 * and the step that the sum of all parts makes
 *
 * A step is V micro-batches of a fixed size. V may change from step to step, and the rates follow
 * it (batch_plan.h). The members share them in any way: the gradient of a micro-batch is a function
 * of (values, step, micro-batch) alone, so any member may compute it. Each member moves its own
 * values by the sum, with its own slots of the optimizer. When the sums have the same bits, so have
 * the values, with any number of members.
 *
 * A gradient is f32 values, one bucket after the other: each parameter, all dense, and behind them
 * each moving average of batch_norm. Of an average it is the way that the micro-batch moves it; a
 * step moves it by the mean of these ways.
 *
 * By the rule goodput the measures of batch_choice.h are a last bucket, and the choice by them is
 * in the state. So all members know the same of a training, and so does a checkpoint.
 *
 * The place in the data is (epoch, records of it that are trained). It is a part of the state, so a
 * member that takes the state of another goes on where all are. Knows no network of computers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/batch_history.h"
#include "shared/batch_plan.h"
#include "trainer/learn/network_learner.h"

struct edl_backend;
struct edl_error;
struct group_member;
struct network;
struct sample_set;
struct table;

struct group_member_config {
    const struct network *network; /* outlives the member, as do backend and samples */
    const struct edl_backend *backend;
    const struct declaration *declaration; /* network_declaration's, copied */
    const struct sample_set *samples;      /* at least one, in an order that all members have */
    struct batch_rules rules;              /* of a batch, in micro-batches: V0 at first */
    const struct batch_history *given;     /* V of each step, in place of the rule's; NULL */
    uint64_t seed;                         /* of the job: order and dropout */
    bool in_order;                         /* samples in their order; else shuffled each epoch */
    learner_batch_fn on_batch;             /* as of the learner */
    void *batch_userdata;
};

/* Of the gradient, in its order. */
struct group_member_bucket {
    const char *name; /* the parameter's */
    uint64_t n_values;
};

/* Of the state: all that a step needs and changes. They stay where they are. */
struct group_member_part {
    void *bytes;
    uint64_t n_bytes;
};

/* Where the training is. */
struct group_member_place {
    uint64_t steps;        /* taken */
    uint64_t epoch, place; /* of the next step */
};

/* group_member_new - with start values; *ret is the caller's. -EINVAL, -ENOMEM: as
 * network_learner_new and table_new */
int group_member_new(const struct group_member_config *config, struct group_member **ret,
                     struct edl_error *error);
/* group_member_free - NULL is fine; returns NULL */
struct group_member *group_member_free(struct group_member *member);

/* group_member_learner - to evaluate, predict and save; fresh behind network_learner_pull */
struct network_learner *group_member_learner(struct group_member *member);
/* group_member_table - values and slots, for checkpoints */
struct table *group_member_table(struct group_member *member);

const struct group_member_bucket *group_member_buckets(const struct group_member *member,
                                                       uint64_t *ret_n);
const struct group_member_part *group_member_parts(const struct group_member *member,
                                                   uint64_t *ret_n);
struct group_member_place group_member_place(const struct group_member *member);

/* group_member_micro_batches - of the last step, or at first V0 */
uint32_t group_member_micro_batches(const struct group_member *member);

/* group_member_begin - the next step has so many micro-batches; V0 where it was never called */
void group_member_begin(struct group_member *member, uint32_t micro_batches);

/* group_member_choice - the micro-batches that step shall have, by rule and state, with so many
 * members. With goodput they may be others in each step, and the state says when that is worth it
 */
uint32_t group_member_choice(const struct group_member *member, uint32_t members, uint64_t step);

/* group_member_tell_step - how long the last step was, which was as large as the next one, with as
 * many members; goes with the next gradient */
void group_member_tell_step(struct group_member *member, uint32_t members, double seconds);

/* group_member_noise - the noise scale in samples (batch_choice.h); below 0: not known */
double group_member_noise(const struct group_member *member);
/* group_member_worth - what a sample of the next step teaches, of one of the first batch */
double group_member_worth(const struct group_member *member);

/* group_member_history - NULL: of constant */
const struct batch_history *group_member_history(const struct group_member *member);

/* group_member_choices - what a checkpoint keeps of rates, measures and batches, the caller's;
 * *ret_n bytes, of constant 0 and NULL */
void *group_member_choices(const struct group_member *member, uint32_t *ret_n);

/* group_member_averages - all of them, one after the other; *ret_n of them, the caller's (free) */
float *group_member_averages(const struct group_member *member, uint32_t *ret_n);

/* What a checkpoint has beside the table of all values. */
struct group_member_kept {
    uint64_t epoch, place;
    uint32_t micro_batches; /* of its last step */
    uint32_t n_averages, n_choices;
    const float *averages;
    const void *choices; /* group_member_choices; without them the rates are those behind the
                            warm-up to its batch */
};

/* group_member_restore - the state that a checkpoint has
 * -EINVAL: it is of another network, or of other numbers. */
int group_member_restore(struct group_member *member, struct table *table,
                         const struct group_member_kept *kept, struct edl_error *error);

/* group_member_gradient - adds the gradient of a micro-batch of the next step to gradient, the
 * values of all buckets; *ret_samples: of the micro-batch, which may have none in the last step of
 * an epoch Fails as network_learner_gradient. */
int group_member_gradient(struct group_member *member, uint64_t micro_batch, float *gradient,
                          uint32_t *ret_samples, struct edl_error *error);

/* group_member_move - the next step, by the sum of the gradients of all its micro-batches */
int group_member_move(struct group_member *member, const float *sum, struct edl_error *error);

/* group_member_state_came - the bytes of the parts are those of another member now */
int group_member_state_came(struct group_member *member, struct edl_error *error);
