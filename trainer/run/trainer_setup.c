/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_setup.c - what a trainer among others and one alone have in common */
#include "trainer/run/trainer_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/model/model_file.h"
#include "trainer/network/network.h"

static const struct {
    const char *name;
    size_t offset;
    uint64_t min, max;
} bounds[] = {
    { "batch", offsetof(struct trainer_config, batch), 0, 65536 },
    { "push-every", offsetof(struct trainer_config, push_every), 1, 1024 },
    { "embedding", offsetof(struct trainer_config, embedding), 1, 65536 },
    { "hidden", offsetof(struct trainer_config, hidden), 1, 65536 },
    { "index", offsetof(struct trainer_config, index), 0, 65535 },
    { "task-records", offsetof(struct trainer_config, task_records), 1, 1u << 24 },
    { "evaluate-max", offsetof(struct trainer_config, evaluate_max), 1, 1u << 24 },
};

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
    return 0;
}

/* The n-gram model, of the size that the options and the data say. */
static int open_ngram(struct workshop *workshop, struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    struct ngram_config *model = &workshop->learner_config.model;

    if (dataset_ngram(workshop->dataset) < 2) {
        (void)edl_error_set(error, -EINVAL, "the samples that %s names are no n-grams",
                            config->dataset);
        return edl_error_remedy(error, "name a network for them: --config=NETWORK");
    }
    *model = (struct ngram_config){ .ngram = dataset_ngram(workshop->dataset),
                                    .embedding = (uint32_t)config->embedding,
                                    .hidden = (uint32_t)config->hidden,
                                    .vocabulary = dataset_vocabulary(workshop->dataset),
                                    .dropout = config->dropout,
                                    .l2_rate = config->l2_rate };
    learner_declaration(model, config->seed, config->learning_rate, config->epsilon,
                        &workshop->declaration);
    return 0;
}

static int open_network(struct workshop *workshop, struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    uint32_t n;
    const struct input_spec *inputs = dataset_inputs(workshop->dataset, &n);
    int r = network_file_open(config->network, &workshop->file, error);

    if (r >= 0)
        r = network_file_parse(&workshop->file, config->network_arguments, inputs, n,
                               &workshop->network, error);
    if (r >= 0)
        r = network_fits_data(workshop->network, inputs, n, error);
    if (r >= 0)
        r = network_declaration(workshop->network, config->seed, &workshop->declaration, error);
    if (r >= 0 && config->learning_rate >= 0)
        workshop->declaration.optimizer.learning_rate = config->learning_rate;
    if (r >= 0 && config->l2_rate >= 0)
        workshop->declaration.optimizer.l2_rate = config->l2_rate;
    return r;
}

int workshop_open(struct workshop *workshop, const struct trainer_config *config,
                  struct edl_error *error)
{
    int r = check_config(config, error);

    *workshop = (struct workshop){ .config = config };
    if (r >= 0)
        r = dataset_open(config->dataset, &workshop->dataset, error);
    if (r >= 0)
        r = config->network != NULL ? open_network(workshop, error) : open_ngram(workshop, error);
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
    const double of_file = workshop->network != NULL ? workshop->network->settings.batch_size : -1;

    if (workshop->config->batch > 0)
        return (uint32_t)workshop->config->batch;
    return of_file >= 1 ? (uint32_t)of_file : 32;
}

static uint64_t dropout_seed(const struct trainer_config *config)
{
    return config->seed ^ (config->index << 32) ^ (config->incarnation << 48);
}

static int start_network(struct workshop *workshop, exchange_fn exchange, void *userdata,
                         struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    const struct network_learner_config learner = { .network = workshop->network,
                                                    .backend = config->backend,
                                                    .declaration = workshop->declaration,
                                                    .batch = batch_of(workshop),
                                                    .push_every = (uint32_t)config->push_every,
                                                    .dropout_seed = dropout_seed(config),
                                                    .exchange = exchange,
                                                    .exchange_userdata = userdata,
                                                    .on_batch = progress_batch,
                                                    .batch_userdata = &workshop->progress };

    return network_learner_new(&learner, &workshop->network_learner, error);
}

int workshop_start(struct workshop *workshop, exchange_fn exchange, void *userdata,
                   struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    struct learner_config *learner = &workshop->learner_config;

    if (workshop->network != NULL)
        return start_network(workshop, exchange, userdata, error);
    learner->declaration = workshop->declaration;
    learner->backend = config->backend;
    learner->batch = batch_of(workshop);
    learner->push_every = (uint32_t)config->push_every;
    learner->dropout_seed = dropout_seed(config);
    learner->exchange = exchange;
    learner->exchange_userdata = userdata;
    learner->on_batch = progress_batch;
    learner->batch_userdata = &workshop->progress;
    return learner_new(learner, &workshop->learner, error);
}

float *const *workshop_held(const struct workshop *workshop)
{
    if (workshop->network_learner != NULL)
        return network_learner_held(workshop->network_learner);
    return workshop->learner != NULL ? learner_held(workshop->learner) : NULL;
}

void workshop_close(struct workshop *workshop)
{
    workshop->learner = learner_free(workshop->learner);
    workshop->network_learner = network_learner_free(workshop->network_learner);
    workshop->network = network_free(workshop->network);
    network_file_close(&workshop->file);
    workshop->dataset = dataset_free(workshop->dataset);
}

/* ---- samples ---- */

int workshop_read(const struct workshop *workshop, const struct dataset_chunk *chunks,
                  size_t n_chunks, uint64_t seed, struct lesson *ret, struct edl_error *error)
{
    struct lesson lesson = { 0 };
    int r =
        workshop->network != NULL
            ? dataset_samples(workshop->dataset, chunks, n_chunks, &lesson.set, error)
            : dataset_read(workshop->dataset, chunks, n_chunks, &lesson.ngrams, &lesson.n, error);

    if (r < 0)
        return r;
    if (lesson.set != NULL) {
        lesson.n = sample_set_n(lesson.set);
        if (workshop->network->settings.shuffle != 0)
            sample_set_shuffle(lesson.set, seed);
    } else {
        dataset_shuffle(lesson.ngrams, lesson.n, dataset_ngram(workshop->dataset), seed);
    }
    *ret = lesson;
    return 0;
}

void lesson_clear(struct lesson *lesson)
{
    free(lesson->ngrams);
    if (lesson->set != NULL)
        (void)sample_set_free(lesson->set);
    *lesson = (struct lesson){ 0 };
}

int workshop_train(struct workshop *workshop, const struct lesson *lesson, size_t *position,
                   uint32_t pass, struct edl_error *error)
{
    const volatile sig_atomic_t *stop = workshop->config->stop;

    if (workshop->network != NULL) {
        network_learner_set_pass(workshop->network_learner, pass);
        return network_learner_train(workshop->network_learner, lesson->set, position, stop, error);
    }
    learner_set_pass(workshop->learner, pass);
    return learner_train(workshop->learner, lesson->ngrams, lesson->n, position, stop, error);
}

/* At most max of the held-out samples. */
static int held_out(const struct workshop *workshop, size_t max, struct lesson *ret,
                    struct edl_error *error)
{
    int r;

    *ret = (struct lesson){ 0 };
    if (workshop->network == NULL)
        return dataset_held_out(workshop->dataset, max, &ret->ngrams, &ret->n, error);
    r = dataset_held_out_samples(workshop->dataset, max, &ret->set, error);
    if (r >= 0)
        ret->n = sample_set_n(ret->set);
    return r;
}

int workshop_baseline(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    struct lesson lesson;
    int r = held_out(workshop, workshop->config->evaluate_max, &lesson, error);

    if (r >= 0 && workshop->network != NULL) {
        network_learner_start_values(workshop->network_learner, false);
        r = network_learner_measure(workshop->network_learner, lesson.set, BASELINE_BATCHES, error);
        if (r >= 0)
            r = network_learner_evaluate(workshop->network_learner, lesson.set, ret, error);
    } else if (r >= 0) {
        r = learner_evaluate_initial(workshop->learner, lesson.ngrams, lesson.n, ret, error);
    }
    lesson_clear(&lesson);
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

    if (!network_learner_has_averages(workshop->network_learner))
        return 0;
    r = read_some(workshop, &samples, error);
    if (r < 0)
        return r;
    sample_set_shuffle(samples, workshop->config->seed);
    r = network_learner_measure(workshop->network_learner, samples, RESULT_BATCHES, error);
    (void)sample_set_free(samples);
    return r;
}

int workshop_result(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    struct lesson lesson;
    int r = held_out(workshop, workshop->config->evaluate_max, &lesson, error);

    if (r >= 0 && workshop->network != NULL) {
        r = network_learner_pull(workshop->network_learner, error);
        if (r >= 0)
            r = measure_averages(workshop, error);
        if (r >= 0)
            r = network_learner_evaluate(workshop->network_learner, lesson.set, ret, error);
    } else if (r >= 0) {
        r = learner_evaluate(workshop->learner, lesson.ngrams, lesson.n, ret, error);
    }
    lesson_clear(&lesson);
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
    if (workshop->network != NULL)
        return network_save(workshop->network, &workshop->file,
                            network_learner_values(workshop->network_learner), word_dict, NULL,
                            ret_path, error);
    return model_file_save(ret_path, &workshop->declaration, learner_params(workshop->learner),
                           word_dict, error);
}
