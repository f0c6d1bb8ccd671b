/* SPDX-License-Identifier: Apache-2.0 */
/* learner_run.h - one small training by a back-end, the same each time: to compare back-ends */
#pragma once

#include "trainer/learn/network_learner.h"

struct edl_backend;

#define LEARNER_RUN_BATCHES_MAX 1024
#define LEARNER_RUN_PARAMS 5

struct learner_run {
    int result; /* 0, or the learner's failure */
    char text[400];
    struct evaluation before, after;
    double costs[LEARNER_RUN_BATCHES_MAX]; /* of each batch */
    uint32_t n_costs;
    uint64_t updates;                  /* of the table at the end */
    float *params[LEARNER_RUN_PARAMS]; /* for learner_run_free */
    size_t param_bytes[LEARNER_RUN_PARAMS];
};

/* learner_run - two passes over 4,000 samples of trainer_fixture.h's chain, against a table in this
 * process */
void learner_run(const struct edl_backend *backend, uint32_t push_every, struct learner_run *ret);
void learner_run_free(struct learner_run *run);

/* learner_run_bound - the cost that no model beats on these samples */
double learner_run_bound(void);
