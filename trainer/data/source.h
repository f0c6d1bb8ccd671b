/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - what a data set is made from: a generator that knows its own floor, or somebody's
 * files
 *
 * No model can go below a floor: the cost or the error rate of one that knows how the samples were
 * made. "cost" and "error" are expected values, "test_cost" and "test_error" those of the test
 * samples as they were drawn. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "trainer/data/batch.h"
#include "trainer/data/sample.h"

struct edl_error;
struct sample_set;

#define SOURCE_SAMPLES_MAX UINT64_C(50000000)
#define SOURCE_CLASSES 10

/* Zero samples, users or movies, and a negative noise, mean the default of the source. */
struct source_options {
    uint64_t samples; /* train and test together */
    uint64_t seed;
    uint64_t users, movies; /* the largest id of each */
    float noise;            /* standard deviation */
    float label_noise;      /* share of labels that are replaced by another one, below 0.9 */
    bool rounded;           /* stars are whole numbers 1 to 5 */
    const char *data;       /* the folder with the files to read */
};

struct source {
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
    uint64_t n_train, n_test;
    void *state;

    /* sample - values of sample i of one of the two sets, in the order of inputs; they live until
     * the next call */
    void (*sample)(void *state, bool test, uint64_t i, struct sample_value *ret_values);

    /* floor - new reference; NULL when nobody knows it. May compute for seconds. */
    json_t *(*floor)(void *state);
    void (*release)(void *state);
};

struct source_kind {
    const char *name, *summary;
    int (*open)(const struct source_options *options, struct source *ret, struct edl_error *error);
};

/* source_find - NULL: there is none of this name */
const struct source_kind *source_find(const char *name);

/* source_kind_at - the i-th, NULL at the end */
const struct source_kind *source_kind_at(size_t i);

int source_open_housing(const struct source_options *options, struct source *ret,
                        struct edl_error *error);
int source_open_digits(const struct source_options *options, struct source *ret,
                       struct edl_error *error);
int source_open_images(const struct source_options *options, struct source *ret,
                       struct edl_error *error);
int source_open_recommendation(const struct source_options *options, struct source *ret,
                               struct edl_error *error);
int source_open_ml_1m(const struct source_options *options, struct source *ret,
                      struct edl_error *error);

/* source_samples - all samples of one of the two sets, in memory; *ret is the caller's
 * (sample_set_free). Errors: those of sample_encode and sample_set_add. */
int source_samples(struct source *source, bool test, struct sample_set **ret,
                   struct edl_error *error);

/* source_close - accepts one that was never opened */
void source_close(struct source *source);

/* source_check - the options that all generators share, within bounds; samples_min is the source's
 * Errors: -EINVAL names the option and the value. */
int source_check(const struct source_options *options, uint64_t samples_min,
                 struct edl_error *error);

/* source_input - adds one to the inputs */
void source_input(struct source *source, const char *name, enum input_kind kind, uint32_t size);
