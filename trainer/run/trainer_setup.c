/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_setup.c - what a trainer among others and one alone have in common */
#include "trainer/run/trainer_setup.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/learn/device.h"
#include "trainer/learn/step_seed.h"
#include "trainer/model/model_file.h"
#include "trainer/network/network.h"

static const struct {
    const char *name;
    size_t offset;
    uint64_t min, max;
} bounds[] = {
    { "batch", offsetof(struct trainer_config, batch), 0, 65536 },
    { "push-every", offsetof(struct trainer_config, push_every), 1, 1024 },
    { "embedding", offsetof(struct trainer_config, embedding), 0, 65536 },
    { "hidden", offsetof(struct trainer_config, hidden), 0, 65536 },
    { "index", offsetof(struct trainer_config, index), 0, 65535 },
    { "task-records", offsetof(struct trainer_config, task_records), 1, 1u << 24 },
    { "evaluate-max", offsetof(struct trainer_config, evaluate_max), 1, 1u << 24 },
};

/* default_arguments - those of ngram_lm that are options too; NULL: its own */
static const char *default_arguments(const struct trainer_config *config, char *ret, size_t size)
{
    const double embedding = config->embedding > 0 ? (double)config->embedding : 32;

    if (config->network_arguments != NULL)
        return config->network_arguments;
    (void)snprintf(ret, size, "embedding=%.0f,hidden_std=%.9g,hidden=%" PRIu64 ",dropout=%.9g",
                   embedding, (double)(1.0f / sqrtf((float)embedding * 8.0f)),
                   config->hidden > 0 ? config->hidden : 256,
                   config->dropout >= 0 ? (double)config->dropout : 0.5);
    return ret;
}

/* Options that are arguments of ngram_lm stand beside no other network, and no other arguments. */
static int check_options(const struct trainer_config *config, struct edl_error *error)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {
        { "embedding", config->embedding > 0 },
        { "hidden", config->hidden > 0 },
        { "dropout", config->dropout >= 0 },
    };
    const bool named = config->network != NULL || config->network_arguments != NULL;

    for (size_t i = 0; i < ELEMENTS(options) && named; i++)
        if (options[i].given) {
            (void)edl_error_set(error, -EINVAL, "--%s beside --%s", options[i].name,
                                config->network != NULL ? "config" : "config_args");
            return edl_error_remedy(error, "say it there: --config_args=%s=NUMBER",
                                    options[i].name);
        }
    return 0;
}

static int check_config(const struct trainer_config *config, struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(bounds); i++) {
        uint64_t value;

        memcpy(&value, (const char *)config + bounds[i].offset, sizeof value);
        if (value < bounds[i].min || value > bounds[i].max)
            return edl_error_set(error, -EINVAL, "--%s is %llu; %llu to %llu are possible",
                                 bounds[i].name, (unsigned long long)value,
                                 (unsigned long long)bounds[i].min,
                                 (unsigned long long)bounds[i].max);
    }
    if (config->dropout >= 1.0f)
        return edl_error_set(error, -EINVAL, "--dropout must be below 1");
    return check_options(config, error);
}

static int check_ngrams(const struct workshop *workshop, struct edl_error *error)
{
    if (workshop->config->network != NULL || dataset_ngram(workshop->dataset) >= 2)
        return 0;
    (void)edl_error_set(error, -EINVAL, "the samples that %s names are no n-grams",
                        workshop->config->dataset);
    return edl_error_remedy(error, "name a network for them: --config=NETWORK");
}

static void declare_options(const struct trainer_config *config, struct optimizer_spec *optimizer)
{
    const struct {
        float value, *to;
    } numbers[] = {
        { config->learning_rate, &optimizer->learning_rate },
        { config->l2_rate, &optimizer->l2_rate },
        { config->epsilon, &optimizer->epsilon },
    };

    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        if (numbers[i].value >= 0)
            *numbers[i].to = numbers[i].value;
}

static int open_network(struct workshop *workshop, struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    const bool named = config->network != NULL;
    char arguments[128];
    uint32_t n;
    const struct input_spec *inputs = dataset_inputs(workshop->dataset, &n);
    int r = check_ngrams(workshop, error);

    if (r >= 0)
        r = network_file_open(named ? config->network : "ngram_lm", &workshop->file, error);
    if (r >= 0)
        r = network_file_parse(&workshop->file,
                               named ? config->network_arguments
                                     : default_arguments(config, arguments, sizeof arguments),
                               inputs, n, &workshop->network, error);
    if (r >= 0)
        r = network_fits_data(workshop->network, inputs, n, error);
    if (r >= 0)
        r = network_declaration(workshop->network, config->seed, &workshop->declaration, error);
    if (r >= 0)
        declare_options(config, &workshop->declaration.optimizer);
    return r < 0 ? r
                 : device_backend_for(config->device, workshop->network, &workshop->backend, error);
}

int workshop_open(struct workshop *workshop, const struct trainer_config *config,
                  struct edl_error *error)
{
    int r = check_config(config, error);

    *workshop = (struct workshop){ .config = config };
    if (r >= 0)
        r = dataset_open(config->dataset, &workshop->dataset, error);
    if (r >= 0)
        r = open_network(workshop, error);
    progress_init(&workshop->progress, stdout, config->log_period);
    if (r < 0)
        workshop_close(workshop);
    return r;
}

/* model_path - where workshop_save puts the model */
static int model_path(const struct trainer_config *config, char *ret, size_t size,
                      struct edl_error *error)
{
    if ((size_t)snprintf(ret, size, "%s/model", config->output_dir) >= size)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", config->output_dir);
    return 0;
}

int workshop_prepare_output(const struct workshop *workshop, struct edl_error *error)
{
    char path[PATH_MAX];
    int r;

    if (workshop->config->output_dir == NULL)
        return 0;
    r = model_path(workshop->config, path, sizeof path, error);
    return r < 0 ? r : model_file_prepare(path, error);
}

static uint32_t batch_of(const struct workshop *workshop)
{
    const double of_file = workshop->network->settings.batch_size;

    if (workshop->config->batch > 0)
        return (uint32_t)workshop->config->batch;
    return of_file >= 1 ? (uint32_t)of_file : 32;
}

int workshop_start(struct workshop *workshop, exchange_fn exchange, void *userdata,
                   bool synchronous, struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    const struct network_learner_config learner = { .network = workshop->network,
                                                    .backend = workshop->backend,
                                                    .declaration = workshop->declaration,
                                                    .batch = batch_of(workshop),
                                                    .push_every = (uint32_t)config->push_every,
                                                    .dropout_seed = config->seed,
                                                    .exchange = exchange,
                                                    .exchange_userdata = userdata,
                                                    .synchronous = synchronous,
                                                    .on_batch = progress_batch,
                                                    .batch_userdata = &workshop->progress };

    return network_learner_new(&learner, &workshop->learner, error);
}

float *const *workshop_held(const struct workshop *workshop)
{
    return workshop->learner != NULL ? network_learner_held(workshop->learner) : NULL;
}

void workshop_close(struct workshop *workshop)
{
    workshop->learner = network_learner_free(workshop->learner);
    workshop->network = network_free(workshop->network);
    network_file_close(&workshop->file);
    workshop->dataset = dataset_free(workshop->dataset);
}

/* ---- samples ---- */

int workshop_read(const struct workshop *workshop, const struct dataset_chunk *chunks,
                  size_t n_chunks, uint64_t seed, struct sample_set **ret, struct edl_error *error)
{
    int r = dataset_samples(workshop->dataset, chunks, n_chunks, ret, error);

    if (r >= 0 && workshop->network->settings.shuffle != 0)
        sample_set_shuffle(*ret, seed);
    return r;
}

int workshop_train(struct workshop *workshop, const struct sample_set *samples, size_t *position,
                   uint32_t pass, const struct dataset_chunk *first, struct edl_error *error)
{
    network_learner_set_lesson(workshop->learner, pass,
                               first != NULL ? step_lesson(first->path, first->offset) : 0);
    return network_learner_train(workshop->learner, samples, position, workshop->config->stop,
                                 error);
}

int workshop_baseline(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    struct sample_set *samples = NULL;
    int r = dataset_held_out_samples(workshop->dataset, workshop->config->evaluate_max, &samples,
                                     error);

    if (r < 0)
        return r;
    network_learner_start_values(workshop->learner, false);
    r = network_learner_measure(workshop->learner, samples, BASELINE_BATCHES, error);
    if (r >= 0)
        r = network_learner_evaluate(workshop->learner, samples, ret, error);
    (void)sample_set_free(samples);
    return r;
}

/* Chunks evenly spread over the train files, enough for the batches that averages are made of. */
static int read_some(const struct workshop *workshop, struct sample_set **ret,
                     struct edl_error *error)
{
    const size_t wanted = (size_t)RESULT_BATCHES * batch_of(workshop);
    struct dataset_chunk *chunks = NULL, *some;
    size_t n_chunks = 0, n_some = 0, records = 0, step;
    int r = dataset_train_chunks(workshop->dataset, &chunks, &n_chunks, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n_chunks; i++)
        records += chunks[i].records;
    step = MAX_OF(records / wanted, (size_t)1);
    some = xcalloc(MAX_OF(n_chunks, (size_t)1), sizeof *some);
    for (size_t i = 0; i < n_chunks; i += step)
        some[n_some++] = chunks[i];
    r = dataset_samples(workshop->dataset, some, n_some, ret, error);
    free(some);
    dataset_chunks_free(chunks, n_chunks);
    return r;
}

/* The servers keep no averages, and this trainer may have trained little or nothing: they are made
 * of train samples and the values of now. */
static int measure_averages(struct workshop *workshop, struct edl_error *error)
{
    struct sample_set *samples = NULL;
    int r;

    if (!network_learner_has_averages(workshop->learner))
        return 0;
    r = read_some(workshop, &samples, error);
    if (r < 0)
        return r;
    sample_set_shuffle(samples, workshop->config->seed);
    r = network_learner_measure(workshop->learner, samples, RESULT_BATCHES, error);
    (void)sample_set_free(samples);
    return r;
}

int workshop_result(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    struct sample_set *samples = NULL;
    int r = dataset_held_out_samples(workshop->dataset, workshop->config->evaluate_max, &samples,
                                     error);

    if (r < 0)
        return r;
    r = network_learner_pull(workshop->learner, error);
    if (r >= 0)
        r = measure_averages(workshop, error);
    if (r >= 0)
        r = network_learner_evaluate(workshop->learner, samples, ret, error);
    (void)sample_set_free(samples);
    return r;
}

int workshop_save(struct workshop *workshop, char *ret_path, size_t size, struct edl_error *error)
{
    const char *folder = dataset_folder(workshop->dataset), *word_dict;
    char words[PATH_MAX];
    int r = model_path(workshop->config, ret_path, size, error);

    if (r < 0)
        return r;
    if ((size_t)snprintf(words, sizeof words, "%s/word_dict", folder) >= sizeof words)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s/word_dict", folder);
    word_dict = access(words, R_OK) == 0 ? words : NULL;
    return network_save(workshop->network, &workshop->file,
                        network_learner_values(workshop->learner), word_dict, NULL, ret_path,
                        error);
}
