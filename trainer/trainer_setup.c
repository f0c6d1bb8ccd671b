/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_setup.c - what a trainer among others and one alone have in common */
#include "trainer/trainer_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/model_file.h"

static const struct {
    const char *name;
    size_t offset;
    uint64_t min, max;
} bounds[] = {
    { "batch", offsetof(struct trainer_config, batch), 1, 65536 },
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

int workshop_open(struct workshop *workshop, const struct trainer_config *config,
                  struct edl_error *error)
{
    struct ngram_config *model = &workshop->learner_config.model;
    int r = check_config(config, error);

    *workshop = (struct workshop){ .config = config };
    if (r >= 0)
        r = dataset_open(config->dataset, &workshop->dataset, error);
    if (r >= 0 && dataset_ngram(workshop->dataset) < 2) {
        workshop->dataset = dataset_free(workshop->dataset);
        r = edl_error_set(error, -EINVAL, "the samples that %s names are no n-grams",
                          config->dataset);
    }
    if (r < 0)
        return r;
    *model = (struct ngram_config){ .ngram = dataset_ngram(workshop->dataset),
                                    .embedding = (uint32_t)config->embedding,
                                    .hidden = (uint32_t)config->hidden,
                                    .vocabulary = dataset_vocabulary(workshop->dataset),
                                    .dropout = config->dropout,
                                    .l2_rate = config->l2_rate };
    learner_declaration(model, config->seed, config->learning_rate, config->epsilon,
                        &workshop->declaration);
    progress_init(&workshop->progress, stdout, config->log_period);
    return 0;
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

int workshop_start(struct workshop *workshop, exchange_fn exchange, void *userdata,
                   struct edl_error *error)
{
    const struct trainer_config *config = workshop->config;
    struct learner_config *learner = &workshop->learner_config;

    learner->declaration = workshop->declaration;
    learner->backend = config->backend;
    learner->batch = (uint32_t)config->batch;
    learner->push_every = (uint32_t)config->push_every;
    learner->dropout_seed = config->seed ^ (config->index << 32) ^ (config->incarnation << 48);
    learner->exchange = exchange;
    learner->exchange_userdata = userdata;
    learner->on_batch = progress_batch;
    learner->batch_userdata = &workshop->progress;
    return learner_new(learner, &workshop->learner, error);
}

void workshop_close(struct workshop *workshop)
{
    workshop->learner = learner_free(workshop->learner);
    workshop->dataset = dataset_free(workshop->dataset);
}

int workshop_baseline(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    int32_t *samples = NULL;
    size_t n = 0;
    int r = dataset_held_out(workshop->dataset, BASELINE_SAMPLES, &samples, &n, error);

    if (r >= 0)
        r = learner_evaluate_initial(workshop->learner, samples, n, ret, error);
    free(samples);
    return r;
}

int workshop_result(struct workshop *workshop, struct evaluation *ret, struct edl_error *error)
{
    int32_t *samples = NULL;
    size_t n = 0;
    int r =
        dataset_held_out(workshop->dataset, workshop->config->evaluate_max, &samples, &n, error);

    if (r >= 0)
        r = learner_evaluate(workshop->learner, samples, n, ret, error);
    free(samples);
    return r;
}

int workshop_save(struct workshop *workshop, char *ret_path, size_t size, struct edl_error *error)
{
    char words[PATH_MAX];
    int r = model_path(workshop->config, ret_path, size, error);

    if (r < 0)
        return r;
    if ((size_t)snprintf(words, sizeof words, "%s/word_dict", dataset_folder(workshop->dataset)) >=
        sizeof words)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s/word_dict",
                             dataset_folder(workshop->dataset));
    return model_file_save(ret_path, &workshop->declaration, learner_params(workshop->learner),
                           access(words, R_OK) == 0 ? words : NULL, error);
}
