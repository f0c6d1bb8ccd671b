/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - trains the n-gram model on samples, wherever the parameters are kept
 *
 * Holds a copy of all parameters: dense ones as of the last exchange, of the embeddings the rows
 * the current group of batches uses. A group is push_every batches; the sum of its gradients is
 * pushed and the rows of the next group are pulled in one exchange.
 *
 * The copy, gradients and sums lie in the back-end's memory. Three things cross: the
 * load of an exchange (a group's gradient out, dense values and the next group's rows in), the ids
 * of a batch, and its cost. */
#pragma once

#include "trainer/parameters/declaration.h"
#include "trainer/exchange/exchange.h"
#include "trainer/learn/model_ngram.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct edl_backend;
struct edl_error;
struct learner;

/* After every batch. */
typedef void (*learner_batch_fn)(double cost, uint32_t errors, uint32_t samples, void *userdata);

struct learner_config {
    struct ngram_config model;         /* batch_max is set from batch */
    const struct edl_backend *backend; /* open, and outlives the learner */
    struct declaration declaration;
    uint32_t batch;
    uint32_t push_every;
    uint64_t dropout_seed;
    exchange_fn exchange;
    void *exchange_userdata;
    learner_batch_fn on_batch; /* may be NULL */
    void *batch_userdata;
};

/* learner_declaration - the model's parameters under AdaGrad */
void learner_declaration(const struct ngram_config *model, uint64_t seed, float learning_rate,
                         float epsilon, struct declaration *ret);

/* learner_new - -EINVAL: what is asked for; -ENOMEM: it does not fit the back-end's memory */
int learner_new(const struct learner_config *config, struct learner **ret, struct edl_error *error);
struct learner *learner_free(struct learner *learner);

/* learner_set_pass - what is trained from now on is of this pass (rate schedules); 0 at first */
void learner_set_pass(struct learner *learner, uint32_t pass);

/* learner_train - samples i32[n_samples, ngram] from *position on
 * Returns 0 when all are trained and every push was acknowledged; -EINTR when *stop was set (the
 * current group was pushed first); else the exchange's failure. *position: first sample not trained
 * yet; after a failure the group in flight counts as trained, and calling again goes on behind it
 * with fresh values. -EIO: the back-end has failed, for good. */
int learner_train(struct learner *learner, const int32_t *samples, size_t n_samples,
                  size_t *position, const volatile sig_atomic_t *stop, struct edl_error *error);

struct evaluation {
    double cost;       /* mean nats per sample */
    double error_rate; /* top-1 */
    uint64_t samples;
};

/* learner_evaluate - pulls everything, then forward only, without dropout (of no samples: zeros) */
int learner_evaluate(struct learner *learner, const int32_t *samples, size_t n_samples,
                     struct evaluation *ret, struct edl_error *error);

/* learner_evaluate_initial - the same of the start values, which every process can work out for
 * itself */
int learner_evaluate_initial(struct learner *learner, const int32_t *samples, size_t n_samples,
                             struct evaluation *ret, struct edl_error *error);

/* learner_held - f32[rows, columns] of each parameter as they were pulled last, in the program's
 * memory; of rows that were never pulled it says nothing */
float *const *learner_held(struct learner *learner);

/* learner_params - f32[rows, columns] of each parameter, in the program's memory; complete after
 * learner_evaluate */
float *const *learner_params(const struct learner *learner);
