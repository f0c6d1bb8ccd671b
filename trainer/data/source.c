/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - the sources by name, and the parts that they share */
#include "trainer/data/source.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"

static const struct source_kind kinds[] = {
    { "recommendation", "ratings of films by planted tastes, with noise of a known size",
      source_open_recommendation },
    { "ml-1m", "the ratings of MovieLens 1M: --data names the folder with ratings.dat",
      source_open_ml_1m },
    { "housing", "prices of houses: 13 features, linear, with noise of a known size",
      source_open_housing },
    { "digits", "28x28 pictures of ten digits, shifted, with noise", source_open_digits },
    { "images", "3x32x32 pictures of ten gratings at any phase, with noise", source_open_images },
};

const struct source_kind *source_kind_at(size_t i)
{
    return i < ELEMENTS(kinds) ? &kinds[i] : NULL;
}

const struct source_kind *source_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

int source_samples(struct source *source, bool test, struct sample_set **ret,
                   struct edl_error *error)
{
    const uint64_t n = test ? source->n_test : source->n_train;
    struct sample_set *set = sample_set_new(source->inputs, source->n_inputs);
    struct sample_record record = { 0 };
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < n; i++) {
        struct sample_value values[INPUTS_MAX];

        source->sample(source->state, test, i, values);
        r = sample_encode(source->inputs, source->n_inputs, values, &record, error);
        if (r == 0)
            r = sample_set_add(set, record.bytes, record.size, error);
    }
    free(record.bytes);
    if (r < 0)
        (void)sample_set_free(set);
    else
        *ret = set;
    return r;
}

void source_close(struct source *source)
{
    if (source->release != NULL)
        source->release(source->state);
    *source = (struct source){ 0 };
}

int source_check(const struct source_options *options, uint64_t samples_min,
                 struct edl_error *error)
{
    if (options->samples != 0 &&
        (options->samples < samples_min || options->samples > SOURCE_SAMPLES_MAX))
        return edl_error_set(error, -EINVAL,
                             "--samples %" PRIu64 " is outside %" PRIu64 " to %" PRIu64,
                             options->samples, samples_min, SOURCE_SAMPLES_MAX);
    if (options->noise > 1e3f)
        return edl_error_set(error, -EINVAL, "--noise %g is above 1000", (double)options->noise);
    if (options->label_noise > 0.9f)
        return edl_error_set(error, -EINVAL,
                             "--label-noise %g is above 0.9, where labels tell nothing",
                             (double)options->label_noise);
    return 0;
}

void source_input(struct source *source, const char *name, enum input_kind kind, uint32_t size)
{
    struct input_spec *input = &source->inputs[source->n_inputs++];

    *input = (struct input_spec){ .kind = kind, .size = size };
    (void)snprintf(input->name, sizeof input->name, "%s", name);
}
