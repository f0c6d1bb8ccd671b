/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_setup.h - what a trainer among others and one alone have in common */
#pragma once

#include "trainer/data/dataset.h"
#include "trainer/model/network_files.h"
#include "trainer/learn/network_learner.h"
#include "trainer/run/progress.h"
#include "trainer/run/trainer.h"

#define BASELINE_BATCHES 4 /* of these, for the averages that a network keeps of batches */
#define RESULT_BATCHES 32  /* of train samples, for the same in a saved model */

struct workshop {
    const struct trainer_config *config;
    struct dataset *dataset;
    struct declaration declaration;
    struct network_file file;
    struct network *network;
    const struct edl_backend *backend;
    struct network_learner *learner;
    struct progress progress;
};

/* workshop_open - data set and declaration; the learner follows when it is known where the
 * parameters are; synchronous: others train there as well, and all wait for each other */
int workshop_open(struct workshop *workshop, const struct trainer_config *config,
                  struct edl_error *error);
int workshop_start(struct workshop *workshop, exchange_fn exchange, void *userdata,
                   bool synchronous, struct edl_error *error);
void workshop_close(struct workshop *workshop);

/* workshop_read - samples, shuffled by the seed; the caller's, for sample_set_free */
int workshop_read(const struct workshop *workshop, const struct dataset_chunk *chunks,
                  size_t n_chunks, uint64_t seed, struct sample_set **ret, struct edl_error *error);

/* workshop_train - as network_learner_train, of a pass; first: the chunk whose records come first,
 * from which the seeds of their dropout follow, whoever trains them; NULL: there is none */
int workshop_train(struct workshop *workshop, const struct sample_set *samples, size_t *position,
                   uint32_t pass, const struct dataset_chunk *first, struct edl_error *error);

/* workshop_baseline - the start values on the samples of workshop_result; samples 0 when there are
 * none */
int workshop_baseline(struct workshop *workshop, struct evaluation *ret, struct edl_error *error);

/* workshop_result - the parameters as they are now on the held-out set; they lie in the learner
 * then */
int workshop_result(struct workshop *workshop, struct evaluation *ret, struct edl_error *error);

/* workshop_held - f32[rows, columns] of each parameter that is declared, as it was pulled last;
 * NULL: before workshop_start */
float *const *workshop_held(const struct workshop *workshop);

/* workshop_prepare_output - before anything is trained: output_dir is there (made, one level) and
 * can be written to; 0 also without one */
int workshop_prepare_output(const struct workshop *workshop, struct edl_error *error);

/* workshop_save - the learner's parameters to output_dir/model; ret_path holds it */
int workshop_save(struct workshop *workshop, char *ret_path, size_t size, struct edl_error *error);
