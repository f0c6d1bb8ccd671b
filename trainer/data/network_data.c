/* SPDX-License-Identifier: Apache-2.0 */
/* network_data.c - the samples that a network is trained with alone, in memory */
#include "trainer/data/network_data.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/data/source.h"
#include "trainer/data/dataset.h"

/* Which generator makes samples for a network. */
static const struct {
    const char *network, *source;
} generators[] = {
    { "recommendation", "recommendation" },
    { "fit_a_line", "housing" },
    { "digits_softmax", "digits" },
    { "digits_mlp", "digits" },
    { "digits_conv", "digits" },
    { "resnet_cifar", "images" },
};

static int read_source(const char *name, const struct source_options *options,
                       struct network_data *ret, struct edl_error *error)
{
    const struct source_kind *kind = source_find(name);
    struct source source = { 0 };
    int r = kind->open(options, &source, error);

    if (r < 0)
        return r;
    memcpy(ret->inputs, source.inputs, sizeof ret->inputs);
    ret->n_inputs = source.n_inputs;
    r = source_samples(&source, false, &ret->train, error);
    if (r >= 0)
        r = source_samples(&source, true, &ret->test, error);
    if (r >= 0)
        ret->floor = source.floor(source.state);
    source_close(&source);
    return r;
}

static int read_dataset(const char *folder, struct network_data *ret, struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    struct dataset *dataset = NULL;
    const struct input_spec *inputs;
    char pattern[PATH_MAX];
    size_t n_chunks = 0;
    int r;

    if ((size_t)snprintf(pattern, sizeof pattern, "%s/train-*.recordio", folder) >= sizeof pattern)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    r = dataset_open(pattern, &dataset, error);
    if (r < 0)
        return r;
    inputs = dataset_inputs(dataset, &ret->n_inputs);
    memcpy(ret->inputs, inputs, ret->n_inputs * sizeof *inputs);
    r = dataset_train_chunks(dataset, &chunks, &n_chunks, error);
    if (r >= 0)
        r = dataset_samples(dataset, chunks, n_chunks, &ret->train, error);
    if (r >= 0)
        r = dataset_held_out_samples(dataset, SAMPLE_SET_SAMPLES_MAX, &ret->test, error);
    dataset_chunks_free(chunks, n_chunks);
    (void)dataset_free(dataset);
    return r;
}

static int generate(const char *config, struct source_options *options, struct network_data *ret,
                    struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(generators); i++)
        if (streq(generators[i].network, config))
            return read_source(generators[i].source, options, ret, error);
    (void)edl_error_set(error, -EINVAL, "--data: no generator makes samples for %s", config);
    return edl_error_remedy(error, "name a folder: --data=DIR; edl-trainer data and edl corpus "
                                   "build make them");
}

int network_data_open(const char *data, const char *config, uint64_t samples, uint64_t seed,
                      struct network_data *ret, struct edl_error *error)
{
    struct source_options options = {
        .samples = samples, .seed = seed, .noise = -1.0f, .label_noise = -1.0f
    };
    char ratings[PATH_MAX];
    int r;

    memset(ret, 0, sizeof *ret);
    (void)snprintf(ratings, sizeof ratings, "%s/ratings.dat", data);
    if (streq(data, "generated")) {
        r = generate(config, &options, ret, error);
    } else if (access(ratings, R_OK) == 0) {
        options.data = data;
        r = read_source("ml-1m", &options, ret, error);
    } else {
        r = read_dataset(data, ret, error);
    }
    if (r < 0)
        network_data_close(ret);
    return r;
}

void network_data_close(struct network_data *data)
{
    if (data->train != NULL)
        data->train = sample_set_free(data->train);
    if (data->test != NULL)
        data->test = sample_set_free(data->test);
    json_decref(data->floor);
    data->floor = NULL;
}
