/* SPDX-License-Identifier: Apache-2.0 */
/* network_local.c - a network trained, tested or checked alone, the parameters in this process */
#include "trainer/run/network_local.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "trainer/data/sample_set.h"
#include "trainer/layers/layer.h"
#include "trainer/exchange/local_sgd.h"
#include "trainer/parameters/model_average.h"
#include "trainer/network/network.h"
#include "trainer/learn/device.h"
#include "trainer/learn/network_begin.h"
#include "trainer/learn/network_learner.h"
#include "trainer/run/network_predict.h"
#include "trainer/exchange/network_servers.h"
#include "trainer/run/network_study.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/table.h"

#define TIMED_BATCHES 100
#define FIRST_BATCHES 4 /* for the averages that a network keeps, before there is one */

void study_close(struct study *s)
{
    network_saves_close(&s->saves);
    s->learner = network_learner_free(s->learner);
    s->average = model_average_free(s->average);
    if (s->table != NULL)
        s->table = table_free(s->table);
    s->local = local_sgd_free(s->local);
    s->servers = network_servers_free(s->servers);
    network_data_close(&s->data);
    s->network = network_free(s->network);
    network_file_close(&s->file);
}

uint64_t study_batch(const struct study *s)
{
    if (s->job->batch > 0)
        return s->job->batch;
    return s->network->settings.batch_size >= 1 ? (uint64_t)s->network->settings.batch_size : 32;
}

uint64_t study_passes(const struct study *s)
{
    if (s->job->passes != UINT64_MAX)
        return s->job->passes;
    return s->network->settings.passes >= 0 ? (uint64_t)s->network->settings.passes : 1;
}

static bool has_classes(const struct network *network)
{
    for (uint32_t i = 0; i < network->n_layers; i++)
        if (network->layers[i].kind == &layer_cross_entropy)
            return true;
    return false;
}

int study_network(struct study *s, struct edl_error *error)
{
    const bool has_data = s->data.n_inputs > 0;
    int r = network_file_parse(&s->file, s->job->arguments, has_data ? s->data.inputs : NULL,
                               s->data.n_inputs, &s->network, error);

    if (r >= 0 && has_data)
        r = network_fits_data(s->network, s->data.inputs, s->data.n_inputs, error);
    s->progress.classifies = r >= 0 && has_classes(s->network);
    return r;
}

/* Trainers that a person has started have data of their own: its number is theirs. */
static uint64_t seed_of(const struct network_job *job)
{
    return job->seed ^ job->trainer_id << 32;
}

static int open_local(struct study *s, struct edl_error *error)
{
    const struct network_job *job = s->job;
    const struct local_sgd_config config = {
        .batches = job->send_every,
        .method = study_method(job),
        .rate = job->delta_add_rate / (float)MAX_OF(job->trainers, UINT64_C(1)),
        .center = ps_client_exchange,
        .center_userdata = network_servers_client(s->servers),
    };

    return local_sgd_new(&config, &s->declaration, &s->local, error);
}

static int open_parameters(struct study *s, struct edl_error *error)
{
    const struct network_job *job = s->job;
    struct network_servers_config config = { .list = job->servers,
                                             .secret_file = job->secret_file,
                                             .socket = job->socket,
                                             .job_id = job->job_id,
                                             .trainer = (uint32_t)job->trainer_id,
                                             .placement = { (uint32_t)job->ports_num,
                                                            (uint32_t)job->ports_num_for_sparse },
                                             .stop = job->stop };
    struct declaration center;
    int r;

    if (job->servers == NULL)
        return table_new(&s->declaration, 0, 1, &s->table, error);
    r = study_agreement(s, &config.agreement, error);
    if (r < 0)
        return r;
    r = job->trainers == 1 ? 0 : network_may_share(s->network, error);
    if (r < 0)
        return r;
    if (parse_seconds(job->servers_wait, &config.wait_us) < 0)
        return edl_error_set(error, -EINVAL, "--servers-wait is \"%.40s\", not a time like 60s",
                             job->servers_wait);
    s->servers_wait_us = config.wait_us;
    if (job->send_every <= 1)
        return network_servers_open(&config, &s->declaration, &s->servers, error);
    local_sgd_center(&s->declaration, &center);
    r = network_servers_open(&config, &center, &s->servers, error);
    return r < 0 ? r : open_local(s, error);
}

/* The network's, with the numbers of the command line instead of its own. */
int study_declare(struct study *s, struct edl_error *error)
{
    int r = network_declaration(s->network, s->job->seed, &s->declaration, error);

    if (r < 0)
        return r;
    if (s->job->learning_rate >= 0)
        s->declaration.optimizer.learning_rate = s->job->learning_rate;
    if (s->job->l2_rate >= 0)
        s->declaration.optimizer.l2_rate = s->job->l2_rate;
    return 0;
}

static void tell_batch(double cost, uint32_t errors, uint32_t samples, void *userdata)
{
    struct study *s = userdata;

    progress_batch(cost, errors, samples, &s->progress);
    progress_done(&s->progress, samples);
}

/* Each of the network's parameters but the averages of batches, which are means already. */
static int open_average(struct study *s, struct edl_error *error)
{
    const struct network_settings *settings = &s->network->settings;
    _cleanup_free_ size_t *sizes = xcalloc(s->network->n_params, sizeof *sizes);

    if (s->job->servers != NULL)
        return network_may_share(s->network, error);
    for (uint32_t p = 0; p < s->network->n_params; p++) {
        const struct param_spec *spec = &s->network->params[p].spec;

        if (spec->sparse) {
            (void)edl_error_set(error, -EINVAL,
                                "average_window and the sparse parameter %s exclude each other",
                                spec->name);
            return edl_error_remedy(error, "leave one of them out");
        }
        sizes[p] = s->network->params[p].is_static ? 0 : (size_t)spec->rows * spec->columns;
    }
    s->average =
        model_average_new(settings->average_window, (uint64_t)fmax(settings->max_average_window, 0),
                          sizes, s->network->n_params);
    return 0;
}

static void add_to_average(void *userdata)
{
    struct study *s = userdata;

    model_average_add(s->average, network_learner_values(s->learner));
}

static int open_learner(struct study *s, struct edl_error *error)
{
    struct network_learner_config config = { .network = s->network,
                                             .batch = (uint32_t)study_batch(s),
                                             .push_every = (uint32_t)s->job->push_every,
                                             .dropout_seed = seed_of(s->job),
                                             .on_batch = tell_batch,
                                             .batch_userdata = s };
    int r = study_declare(s, error);

    s->declaration.awaits_values = s->job->servers != NULL && s->job->init_model != NULL;
    if (r >= 0)
        r = device_backend_for(s->job->device, s->network, &config.backend, error);
    if (r >= 0)
        r = open_parameters(s, error);
    if (r < 0)
        return r;
    config.declaration = s->declaration;
    config.synchronous = s->servers != NULL && s->mode == SGD_SYNCHRONOUS;
    if (s->local != NULL) {
        config.exchange = local_sgd_exchange;
        config.exchange_userdata = s->local;
    } else if (s->servers != NULL) {
        config.exchange = ps_client_exchange;
        config.exchange_userdata = network_servers_client(s->servers);
    } else {
        config.exchange = table_exchange;
        config.exchange_userdata = s->table;
    }
    if (s->network->settings.average_window > 0) {
        r = open_average(s, error);
        config.on_update = add_to_average;
        config.update_userdata = s;
    }
    return r < 0 ? r : network_learner_new(&config, &s->learner, error);
}

/* has_saved - whether the values of a saved pass are in this process: with servers trainer 0 alone
 * reads them */
static bool has_saved(const struct study *s)
{
    return s->job->init_model != NULL && (s->servers == NULL || s->job->trainer_id == 0);
}

static struct network_begin begin_of(const struct study *s)
{
    return (struct network_begin){ .network = s->network,
                                   .folder = s->job->init_model,
                                   .missing = s->job->missing,
                                   .learner = s->learner,
                                   .all_dense = s->local != NULL,
                                   .servers = s->servers,
                                   .sets = s->job->trainer_id == 0,
                                   .goes_on = s->job->start_pass > 0 || s->job->with_optimizer > 0,
                                   .stop = s->job->stop };
}

/* last_pass - before the first one of this training */
static uint32_t last_pass(const struct study *s)
{
    return s->job->start_pass > 0 ? (uint32_t)(s->job->start_pass - 1) : 0;
}

/* A saved pass into the learner, and from there to where parameters are kept. */
static int begin_saved(struct study *s, struct edl_error *error)
{
    const struct network_begin begin = begin_of(s);
    int r = 0;

    if (has_saved(s))
        r = network_begin_read(&begin, error);
    if (r < 0)
        return r;
    if (s->servers == NULL) {
        r = network_begin_set(&begin, table_exchange, s->table, error);
        return r < 0 || !begin.goes_on
                   ? r
                   : network_begin_optimizer(&begin, s->table, last_pass(s), error);
    }
    return begin.sets ? network_begin_servers(&begin, error)
                      : network_begin_wait(&begin, s->servers_wait_us, error);
}

static int open_data(struct study *s, struct edl_error *error)
{
    const struct network_job *job = s->job;

    if (job->data == NULL) {
        (void)edl_error_set(error, -EINVAL, "--data is missing");
        return edl_error_remedy(error, "--data=generated, or a folder with samples");
    }
    return network_data_open(job->data, job->config, job->samples, job->seed, &s->data, error);
}

/* A training that goes on has a pass to train. */
static int check_passes(const struct study *s, struct edl_error *error)
{
    if (s->job->start_pass == 0 || s->job->start_pass < study_passes(s))
        return 0;
    (void)edl_error_set(error, -EINVAL,
                        "--start_pass is %" PRIu64 " and the number of passes %" PRIu64
                        ": none is left",
                        s->job->start_pass, study_passes(s));
    return edl_error_remedy(error,
                            "passes are counted from 0: --num_passes=%" PRIu64 " trains one more",
                            s->job->start_pass + 1);
}

int study_read(struct study *s, const struct network_job *job, struct edl_error *error)
{
    int r;

    memset(s, 0, sizeof *s);
    s->job = job;
    progress_init(&s->progress, stdout, job->log_period);
    if (job->glog)
        progress_glog(&s->progress, job->dot_period);
    r = network_file_open(job->config, &s->file, error);
    s->file.source = job->source;
    if (r >= 0)
        r = open_data(s, error);
    return r < 0 ? r : study_network(s, error);
}

/* study_begin - connects to the servers where there are some, and begins with the saved pass */
static int study_begin(struct study *s, struct edl_error *error)
{
    int r = open_learner(s, error);

    return r >= 0 && s->job->init_model != NULL ? begin_saved(s, error) : r;
}

/* ---- saving ---- */

static bool saves(const struct study *s)
{
    return s->job->save_dir != NULL && s->job->trainer_id == 0;
}

static int open_saves(struct study *s, struct edl_error *error)
{
    const struct network_saves_config config = { .network = s->network,
                                                 .file = &s->file,
                                                 .dir = s->job->save_dir,
                                                 .before = s->job->init_model,
                                                 .start_pass = s->job->start_pass,
                                                 .with_tar = s->job->save_tar > 0,
                                                 .only_one = s->job->save_only_one > 0 };

    return network_saves_open(&config, &s->saves, error);
}

/* inner: of the saves within the pass, from 1 on; 0: at its end */
static int save(struct study *s, uint64_t pass, uint64_t inner, struct edl_error *error)
{
    char path[PATH_MAX];
    int r = network_saves_write(&s->saves, s->learner, s->table, pass, inner, path, error);

    if (r >= 0 && s->job->glog)
        progress_line(&s->progress, "Saving parameters to %s", path);
    else if (r >= 0)
        printf("Saving parameters to %s\n", path);
    (void)fflush(stdout); /* a program may wait for the line */
    return r;
}

/* ---- training ---- */

static int test(struct study *s, struct edl_error *error)
{
    struct evaluation evaluation;
    char text[PROGRESS_EVALUATION];
    int r;

    if (sample_set_n(s->data.test) == 0)
        return 0;
    r = network_learner_evaluate(s->learner, s->data.test, &evaluation, error);
    if (r < 0)
        return r;
    if (s->job->glog) {
        progress_line(&s->progress, " Test samples=%" PRIu64 " cost=%.6g Eval: %s",
                      evaluation.samples, evaluation.cost,
                      progress_evaluation(&s->progress, evaluation.error_rate, text));
        return r;
    }
    printf("Test samples=%" PRIu64 " cost=%.6g", evaluation.samples, evaluation.cost);
    if (s->progress.classifies)
        printf(" classification_error_evaluator=%.6g", evaluation.error_rate);
    printf("\n");
    (void)fflush(stdout);
    return r;
}

/* is_broken - the connection to the servers; what was under way may be applied or not */
static bool is_broken(const struct study *s, int code)
{
    return s->servers != NULL && network_servers_may_come_back(code);
}

static int come_back(struct study *s, struct edl_error *error)
{
    const struct network_begin begin = begin_of(s);
    int r;

    log_warning("%s; connecting again", error->text);
    r = network_servers_again(s->servers, error);
    return r < 0 ? r : network_begin_again(&begin, s->servers_wait_us, error);
}

/* At its start, and at the end of a pass, a trainer takes what the servers have then. Others may
 * add to it at any time. */
static int pull(struct study *s, struct edl_error *error)
{
    int r = 0;

    while (s->local != NULL && is_broken(s, r = local_sgd_meet(s->local, error)))
        if (come_back(s, error) < 0)
            return error->code;
    if (s->local != NULL && r < 0)
        return r;
    while (is_broken(s, r = network_learner_pull(s->learner, error)))
        if (come_back(s, error) < 0)
            return error->code;
    return r;
}

/* pull_to_use - the values that are tested and saved; put_back: those that are trained */
static int pull_to_use(struct study *s, struct edl_error *error)
{
    int r = pull(s, error);

    if (r >= 0 && s->average != NULL)
        model_average_apply(s->average, network_learner_values(s->learner));
    return r;
}

static int put_back(struct study *s, struct edl_error *error)
{
    return s->average != NULL ? pull(s, error) : 0;
}

/* piece_of - how many samples lie between two saves or tests within a pass, each after so many
 * batches: whole groups. All of them where there are none; the flags are bounded (network_main.c),
 * so that no product wraps */
static size_t piece_of(const struct study *s, uint64_t batches)
{
    const uint64_t group = s->job->push_every;
    const uint64_t groups = batches / group + (batches % group > 0);

    return batches == 0 ? sample_set_n(s->data.train) : groups * group * study_batch(s);
}

/* next_stop - the next sample behind `position` before which there is a save or a test */
static size_t next_stop(const struct study *s, size_t position, size_t save_each, size_t test_each)
{
    const size_t save_at = position - position % save_each + save_each;
    const size_t test_at = position - position % test_each + test_each;

    return MIN_OF(MIN_OF(save_at, test_at), sample_set_n(s->data.train));
}

static int train_until(struct study *s, size_t *position, size_t until, struct edl_error *error)
{
    int r;

    while (is_broken(s, r = network_learner_train_until(s->learner, s->data.train, position, until,
                                                        s->job->stop, error)))
        if (come_back(s, error) < 0)
            return error->code;
    return r;
}

/* check_stop - behind a piece of a pass, and behind each pass: the learner looks within a piece */
static int check_stop(const struct study *s, struct edl_error *error)
{
    return s->job->stop != NULL && *s->job->stop ? edl_error_set(error, -EINTR, "told to stop") : 0;
}

static int train_samples(struct study *s, uint64_t pass, struct edl_error *error)
{
    const size_t n = sample_set_n(s->data.train);
    const size_t save_each = piece_of(s, saves(s) ? s->job->saving_period_batches : 0);
    const size_t test_each = piece_of(s, s->job->test_period);
    uint64_t inner = 0;
    size_t position = 0;
    int r = 0;

    while (r >= 0 && position < n) {
        r = train_until(s, &position, next_stop(s, position, save_each, test_each), error);
        if (r < 0 || position == n)
            break;
        r = check_stop(s, error);
        if (r >= 0)
            r = pull_to_use(s, error);
        if (r >= 0 && position % test_each == 0)
            r = test(s, error);
        if (r >= 0 && position % save_each == 0)
            r = save(s, pass, ++inner, error);
        if (r >= 0)
            r = put_back(s, error);
    }
    return r;
}

bool study_shuffles(const struct study *s)
{
    return s->job->shuffle != UINT64_MAX ? s->job->shuffle > 0 : s->network->settings.shuffle != 0;
}

/* The order of a pass follows from that of the pass before. */
static void shuffle(const struct study *s, uint64_t pass)
{
    if (study_shuffles(s))
        sample_set_shuffle(s->data.train, seed_of(s->job) + pass * UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t batches_of_pass(const struct study *s)
{
    return (sample_set_n(s->data.train) + study_batch(s) - 1) / study_batch(s);
}

/* The optimizer of a saved pass tells how many batches were trained before it. */
static void count_passes_before(const struct study *s)
{
    const uint64_t passes = network_learner_steps(s->learner) / MAX_OF(batches_of_pass(s), 1u);

    network_learner_set_passes_before(s->learner, passes - MIN_OF(passes, s->job->start_pass));
}

static bool tests_behind_pass(const struct study *s)
{
    const uint64_t period = s->job->test_period;

    return period == 0 || batches_of_pass(s) % period == 0;
}

static int train_pass(struct study *s, uint64_t pass, struct edl_error *error)
{
    int r;

    shuffle(s, pass);
    network_learner_set_lesson(s->learner, (uint32_t)pass, 0);
    progress_pass(&s->progress, (int64_t)pass);
    r = train_samples(s, pass, error);
    if (r < 0)
        return r;
    progress_end(&s->progress);
    if (s->average != NULL)
        model_average_end_pass(s->average);
    r = pull_to_use(s, error);
    if (r >= 0 && tests_behind_pass(s))
        r = test(s, error);
    if (r >= 0 && saves(s) &&
        ((pass + 1) % s->job->saving_period == 0 || pass + 1 == study_passes(s)))
        r = save(s, pass, 0, error);
    return r < 0 ? r : put_back(s, error);
}

static void describe(const struct study *s)
{
    char *floor = json_dumps(s->data.floor, JSON_REAL_PRECISION(6));

    printf("The input order is [");
    for (uint32_t i = 0; i < s->network->n_inputs; i++)
        printf("%s%s", i > 0 ? ", " : "", s->network->inputs[i].name);
    printf("]\n%s: %u parameter%s, %" PRIu64 " value%s; %zu sample%s to train, %zu to test\n",
           s->job->source != NULL ? s->job->source : s->file.path, s->network->n_params,
           PLURAL(s->network->n_params), network_values(s->network),
           PLURAL(network_values(s->network)), sample_set_n(s->data.train),
           PLURAL(sample_set_n(s->data.train)), sample_set_n(s->data.test));
    if (floor != NULL)
        printf("The floor of these data: %s\n", floor);
    free(floor);
    (void)fflush(stdout);
}

int network_train(const struct network_job *job, struct edl_error *error)
{
    struct study s;
    int r = study_read(&s, job, error);

    if (r >= 0)
        r = network_may_train(s.network, error);
    if (r >= 0)
        r = check_passes(&s, error);
    if (r >= 0 && saves(&s))
        r = open_saves(&s, error);
    if (r >= 0)
        r = study_begin(&s, error);
    if (r >= 0) {
        describe(&s);
        count_passes_before(&s);
        r = pull(&s, error);
    }
    if (r >= 0 && !has_saved(&s))
        r = network_learner_measure(s.learner, s.data.train, FIRST_BATCHES, error);
    if (r >= 0)
        r = test(&s, error);
    for (uint64_t pass = 0; r >= 0 && pass < job->start_pass; pass++)
        shuffle(&s, pass);
    if (r >= 0 && job->test_period > batches_of_pass(&s))
        log_warning("--test_period is %" PRIu64 ", and a pass has %" PRIu64
                    " batch%s: there is no test but the one before",
                    job->test_period, batches_of_pass(&s), PLURAL_ES(batches_of_pass(&s)));
    if (r >= 0)
        progress_ahead(&s.progress, study_passes(&s) - job->start_pass, sample_set_n(s.data.train));
    for (uint64_t pass = job->start_pass; r >= 0 && pass < study_passes(&s); pass++) {
        r = train_pass(&s, pass, error);
        if (r >= 0 && pass + 1 < study_passes(&s))
            r = check_stop(&s, error);
    }
    study_close(&s);
    return r;
}

/* Asks something of a saved pass and the test samples. */
static int ask(const struct network_job *job,
               int (*question)(struct study *s, struct edl_error *error), struct edl_error *error)
{
    struct study s;
    int r;

    if (job->init_model == NULL) {
        (void)edl_error_set(error, -EINVAL, "--init_model_path is missing");
        return edl_error_remedy(error, "name a saved pass: --init_model_path=DIR/pass-00000");
    }
    r = study_read(&s, job, error);
    if (r >= 0)
        r = study_begin(&s, error);
    if (r >= 0)
        r = network_learner_pull(s.learner, error);
    if (r >= 0 && sample_set_n(s.data.test) == 0)
        r = edl_error_set(error, -ENOMEDIUM, "%s has no test samples", job->data);
    if (r >= 0)
        r = question(&s, error);
    study_close(&s);
    return r;
}

/* Costs, predictions, or both. */
static int test_saved(struct study *s, struct edl_error *error)
{
    int r = s->job->predictions != NULL
                ? network_predict_write(s->learner, s->data.test, s->job->predictions, error)
                : network_may_train(s->network, error);

    return r >= 0 && s->network->has_cost ? test(s, error) : r;
}

int network_test(const struct network_job *job, struct edl_error *error)
{
    return ask(job, test_saved, error);
}

static int infer(struct study *s, struct edl_error *error)
{
    return network_predict_print(s->learner, s->data.test, error);
}

int network_infer(const struct network_job *job, struct edl_error *error)
{
    return ask(job, infer, error);
}

/* ---- time ---- */

/* Trains so many batches, pass after pass; the last one of a pass may have fewer samples. */
static int train_batches(struct study *s, uint64_t batches, uint64_t *ret_samples,
                         struct edl_error *error)
{
    const size_t n = sample_set_n(s->data.train), batch = (size_t)study_batch(s);
    size_t position = 0;
    int r = 0;

    *ret_samples = 0;
    for (uint64_t i = 0; r >= 0 && i < batches; i++) {
        position = position < n ? position : 0;
        *ret_samples += MIN_OF(batch, n - position);
        r = train_until(s, &position, MIN_OF(position + batch, n), error);
    }
    return r;
}

int network_time(const struct network_job *job, struct edl_error *error)
{
    const uint64_t batches = job->test_period > 0 ? job->test_period : TIMED_BATCHES;
    struct study s;
    uint64_t before_us, samples = 0;
    int r = study_read(&s, job, error);

    if (r >= 0)
        r = network_may_train(s.network, error);
    if (r >= 0)
        r = study_begin(&s, error);
    if (r >= 0)
        r = pull(&s, error);
    before_us = clock_read_us(CLOCK_MONOTONIC);
    if (r >= 0)
        r = train_batches(&s, batches, &samples, error);
    if (r >= 0) {
        const double ms = (double)(clock_read_us(CLOCK_MONOTONIC) - before_us) / 1e3;

        printf("%" PRIu64 " batch%s of %" PRIu64 ": %.3f ms a batch, %.0f samples/s\n", batches,
               PLURAL_ES(batches), study_batch(&s), ms / (double)batches,
               (double)samples / ms * 1e3);
    }
    study_close(&s);
    return r;
}
