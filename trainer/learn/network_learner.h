/* SPDX-License-Identifier: Apache-2.0 */
/* network_learner.h - trains any network on samples, wherever the parameters are kept
 *
 * Holds a copy of all parameters: dense ones as of the last exchange, of sparse ones the rows that
 * the current group of batches uses. A group is push_every batches; the sum of its gradients is
 * pushed, and the rows of the next group are pulled, in one exchange.
 *
 * The copy, gradients and sums lie in the back-end's memory. Three things cross: the load of an
 * exchange (a group's gradient out, dense values and the next group's rows in), the ids of a batch,
 * and its cost. */
#pragma once

#include "trainer/parameters/declaration.h"
#include "trainer/exchange/exchange.h"
#include "trainer/network/network.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_backend;
struct edl_error;
struct network;
struct network_learner;
struct sample_set;

/* After every batch. */
typedef void (*learner_batch_fn)(double cost, uint32_t errors, uint32_t samples, void *userdata);

struct evaluation {
    double cost;       /* mean of a sample */
    double error_rate; /* top-1 */
    uint64_t samples;
};

struct network_learner_config {
    const struct network *network;     /* outlives the learner */
    const struct edl_backend *backend; /* open, and outlives the learner */
    struct declaration declaration;    /* network_declaration's */
    uint32_t batch;
    uint32_t push_every;
    uint64_t dropout_seed; /* the job's: step_seed.h */
    bool all_dense;        /* no parameter is sparse: for a group whose members keep whole values
                              (network_declare_dense) */
    exchange_fn exchange;
    void *exchange_userdata;
    bool synchronous; /* others push while this one trains nothing: values are pulled anew */
    learner_batch_fn on_batch; /* may be NULL; its cost is the mean of the batch */
    void *batch_userdata;
    void (*on_update)(void *userdata); /* may be NULL; network_learner_values are those behind it */
    void *update_userdata;
};

/* network_declaration - the network's trained parameters, under the optimizer of its file
 * -EINVAL: a method or schedule that is none, too many parameters; the key is named. */
int network_declaration(const struct network *network, uint64_t seed, struct declaration *ret,
                        struct edl_error *error);

/* network_declare_dense - without sparse parameters: each is exchanged whole */
void network_declare_dense(struct declaration *declaration);

/* network_learner_new - -EINVAL: what is asked for; -ENOMEM: it does not fit; *ret is the caller's
 */
int network_learner_new(const struct network_learner_config *config, struct network_learner **ret,
                        struct edl_error *error);
/* network_learner_free - NULL is fine; returns NULL */
struct network_learner *network_learner_free(struct network_learner *learner);

/* network_learner_set_lesson - training goes on in this pass, with samples of this number
 * (step_seed.h); 0 and 0 at first */
void network_learner_set_lesson(struct network_learner *learner, uint32_t pass, uint64_t lesson);

/* network_learner_set_passes_before - so many passes were trained before pass 0: a training that
 * goes on with its optimizer and counts passes anew has other masks than the one before */
void network_learner_set_passes_before(struct network_learner *learner, uint64_t passes);

/* network_learner_gradient - adds the gradient of a micro-batch, samples indices[n] of the set, to
 * the sums; the only place from which gradients leave
 *
 * seed: of its dropout (step_seed). With a push_every of 1 nothing is summed: the gradient takes
 * the place of the one before. -EINVAL, -ENOMEM: as plan_batch; -EDOM, -EIO: as
 * network_learner_train.
 */
int network_learner_gradient(struct network_learner *learner, const struct sample_set *samples,
                             const uint64_t *indices, uint32_t n, uint64_t seed,
                             struct edl_error *error);

/* network_learner_clear - sums of nothing */
void network_learner_clear(struct network_learner *learner);

/* network_learner_sums - f32[rows, columns] of each parameter that is declared, in the program's
 * memory; they may be written to until the next gradient. -EIO. */
int network_learner_sums(struct network_learner *learner, float *const **ret,
                         struct edl_error *error);

/* network_learner_steps - micro-batches so far, also of the training that this one goes on with */
uint64_t network_learner_steps(const struct network_learner *learner);
void network_learner_set_steps(struct network_learner *learner, uint64_t steps);

/* network_learner_train - a set of samples from *position on
 * Returns 0 when all are trained and every push was acknowledged; -EINTR when *stop was set (the
 * current group was pushed first); else the exchange's failure. *position: first sample not trained
 * yet; after a failure the group in flight counts as trained, and calling again goes on behind it
 * with fresh values. -EDOM: a cost, a gradient or an average is not finite; the error names the
 * batch and the layer or parameter. -EIO: the back-end has failed, for good. */
int network_learner_train(struct network_learner *learner, const struct sample_set *samples,
                          size_t *position, const volatile sig_atomic_t *stop,
                          struct edl_error *error);

/* network_learner_train_until - the same up to sample until, which is the end of the set or of a
 * group from *position on: then a training in pieces has the bits of one in one piece */
int network_learner_train_until(struct network_learner *learner, const struct sample_set *samples,
                                size_t *position, size_t until, const volatile sig_atomic_t *stop,
                                struct edl_error *error);

/* network_learner_pull - fresh values of all parameters */
int network_learner_pull(struct network_learner *learner, struct edl_error *error);

/* network_learner_start_values - those that every process can work out for itself
 * shared_only: of the parameters that an exchange carries */
void network_learner_start_values(struct network_learner *learner, bool shared_only);

/* network_learner_has_averages - of batches, as batch_norm keeps: no exchange carries them */
bool network_learner_has_averages(const struct network_learner *learner);

/* network_learner_measure - makes these averages anew, of n_batches batches of samples and the
 * values that are there
 * Begins with the first sample again where samples end. Nothing is done without samples, or for a
 * network without averages. Fails as plan_batch, and with -EDOM when one is not finite. */
int network_learner_measure(struct network_learner *learner, const struct sample_set *samples,
                            uint32_t n_batches, struct edl_error *error);

/* network_learner_evaluate - forward only, of the values that are there, without dropout
 * error_rate is of samples with a class; without one it is 0. */
int network_learner_evaluate(struct network_learner *learner, const struct sample_set *samples,
                             struct evaluation *ret, struct edl_error *error);

/* What a network gives for some samples: of each output f32[rows, columns]. */
struct network_outputs {
    const float *values[NETWORK_OUTPUTS_MAX];
    size_t columns[NETWORK_OUTPUTS_MAX];
    uint32_t n;
};

/* network_learner_outputs - the network's outputs for each sample, batch by batch, in their order
 * -EINVAL: one is of a sequence; else fails as plan_batch. */
int network_learner_outputs(struct network_learner *learner, const struct sample_set *samples,
                            void (*take)(const struct network_outputs *outputs, size_t rows,
                                         void *userdata),
                            void *userdata, struct edl_error *error);

/* network_learner_values - f32[rows, columns] of each of the network's parameters, static ones as
 * well, in the program's memory; all of it is fresh behind network_learner_pull. Whoever writes
 * there evaluates these values, or sets them where parameters are kept and trains */
float *const *network_learner_values(const struct network_learner *learner);

/* network_learner_held - the same of those that an exchange carries, in the order in which they are
 * declared, as they were pulled last; of rows that were never pulled it says nothing */
float *const *network_learner_held(const struct network_learner *learner);
