/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_learner.c - any network trained against a table: groups, sparse rows, evaluation,
 * and the layer that is named when it diverges */
#define TEST_OWN_MAIN

#include "tests/unit/network_case.h"

#include <cblas.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tests/unit/test.h"
#include "trainer/learn/check_step.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/model/model_file.h"
#include "trainer/network/random_batch.h"
#include "trainer/model/network_files.h"
#include "trainer/learn/network_learner.h"
#include "trainer/run/network_local.h"
#include "trainer/exchange/table.h"

struct school {
    struct network *network;
    struct sample_set *samples;
    struct declaration declaration;
    struct table *table;
    struct network_learner *learner;
};

/* Samples whose target a network of this kind can learn: the rating follows user and movie ids. */
static struct sample_set *ratings(const struct network *network, size_t n, uint64_t seed)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct batch *one = random_batch_new(network, 1, 6, random_next(&seed));
        struct sample_value values[INPUTS_MAX] = { 0 };
        const int32_t movie = one->slots[0].ids[0], user = one->slots[3].ids[0];
        const float rating = (movie % 2 == user % 2) ? 3.0f : -2.0f;

        for (uint32_t k = 0; k < network->n_inputs; k++) {
            values[k].ids = one->slots[k].ids;
            values[k].values = one->slots[k].values;
            if (one->slots[k].starts != NULL)
                values[k].n_ids = one->slots[k].starts[1];
        }
        values[7].values = &rating;
        assert_int_equal(sample_encode(network->inputs, network->n_inputs, values, &record, NULL),
                         0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
        (void)random_batch_free(one);
    }
    free(record.bytes);
    return set;
}

static void school_open(struct school *s, uint32_t batch, uint32_t push_every, float rate)
{
    struct network_learner_config config = { .backend = backend_cpu(),
                                             .batch = batch,
                                             .push_every = push_every,
                                             .dropout_seed = 1,
                                             .exchange = table_exchange };

    memset(s, 0, sizeof *s);
    s->network =
        network_shipped("recommendation", "movie_ids=30 user_ids=40 title_chars=20 width=16");
    s->samples = ratings(s->network, 640, 5);
    assert_int_equal(network_declaration(s->network, 1, &s->declaration, NULL), 0);
    assert_int_equal(s->declaration.optimizer.method, OPTIMIZER_RMSPROP);
    if (rate > 0)
        s->declaration.optimizer.learning_rate = rate;
    assert_int_equal(table_new(&s->declaration, 0, 1, &s->table, NULL), 0);
    config.network = s->network;
    config.declaration = s->declaration;
    config.exchange_userdata = s->table;
    assert_int_equal(network_learner_new(&config, &s->learner, NULL), 0);
}

static void school_close(struct school *s)
{
    s->learner = network_learner_free(s->learner);
    s->table = table_free(s->table);
    s->samples = sample_set_free(s->samples);
    s->network = network_free(s->network);
}

static void train(struct school *s, int passes)
{
    struct edl_error error = { 0 };

    for (int pass = 0; pass < passes; pass++) {
        size_t position = 0;

        network_learner_set_lesson(s->learner, (uint32_t)pass, 0);
        if (network_learner_train(s->learner, s->samples, &position, NULL, &error) < 0)
            fail_msg("%s", error.text);
        assert_int_equal(position, sample_set_n(s->samples));
    }
}

static double cost_of(struct school *s)
{
    struct evaluation evaluation;

    assert_int_equal(network_learner_pull(s->learner, NULL), 0);
    assert_int_equal(network_learner_evaluate(s->learner, s->samples, &evaluation, NULL), 0);
    assert_int_equal(evaluation.samples, sample_set_n(s->samples));
    return evaluation.cost;
}

/* The mean rating alone costs 6.25: what lies below was learnt of ids, most of it in sparse rows.
 */
TEST(test_learns)
{
    struct school s;
    double before;

    school_open(&s, 32, 1, 0);
    before = cost_of(&s);
    assert_true(before > 6.0);
    train(&s, 60);
    if (!(cost_of(&s) < 0.5))
        fail_msg("cost %g, before training %g", cost_of(&s), before);
    school_close(&s);
}

/* Two batches of 16 behind one push are one batch of 32, but for the order of the sums. */
TEST(test_groups)
{
    struct school one, two;
    double a, b;

    school_open(&one, 32, 1, 0);
    school_open(&two, 16, 2, 0);
    train(&one, 1);
    train(&two, 1);
    assert_int_equal(table_updates(one.table), 20);
    assert_int_equal(table_updates(two.table), 20);
    assert_int_equal(table_samples(two.table), 640);
    a = cost_of(&one);
    b = cost_of(&two);
    if (!(fabs(a - b) <= 1e-3 * a))
        fail_msg("cost %g by single batches, %g by groups", a, b);
    school_close(&one);
    school_close(&two);
}

/* The table's values are where the learner evaluates: a second learner on it says the same. */
TEST(test_pull)
{
    struct network_learner_config config = {
        .backend = backend_cpu(), .batch = 7, .push_every = 1, .exchange = table_exchange
    };
    struct evaluation evaluation;
    struct network_learner *other;
    struct school s;

    school_open(&s, 32, 1, 0);
    config.network = s.network;
    config.declaration = s.declaration;
    config.exchange_userdata = s.table;
    assert_int_equal(network_learner_new(&config, &other, NULL), 0);
    network_learner_start_values(other, false);
    assert_int_equal(network_learner_evaluate(other, s.samples, &evaluation, NULL), 0);
    assert_float_equal(evaluation.cost, cost_of(&s), 1e-5 * evaluation.cost);
    train(&s, 2);
    assert_int_equal(network_learner_pull(other, NULL), 0);
    assert_int_equal(network_learner_evaluate(other, s.samples, &evaluation, NULL), 0);
    assert_float_equal(evaluation.cost, cost_of(&s), 1e-5 * evaluation.cost);
    other = network_learner_free(other);
    school_close(&s);
}

/* Images of two kinds that differ in contrast alone, and a mean far from 0. */
static struct sample_set *contrasts(const struct network *network, size_t n, uint64_t seed)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };

    for (size_t i = 0; i < n; i++) {
        float pixels[16];
        const int32_t label = (int32_t)(i % 2);
        const struct sample_value values[] = { { .values = pixels }, { .ids = &label } };

        for (int k = 0; k < 16; k++)
            pixels[k] = 5.0f + (label > 0 ? 3.0f : 0.5f) * (float)random_normal(&seed);
        assert_int_equal(sample_encode(network->inputs, 2, values, &record, NULL), 0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
    }
    free(record.bytes);
    return set;
}

static const char normed[] =
    "{\"inputs\":[{\"name\":\"image\",\"type\":\"dense\",\"size\":16,\"channels\":1,"
    "\"height\":4,\"width\":4},{\"name\":\"label\",\"type\":\"integer\",\"size\":2}],"
    "\"layers\":[{\"kind\":\"conv\",\"input\":\"image\",\"filter\":3,\"filters\":4},"
    "{\"kind\":\"batch_norm\"},{\"kind\":\"fc\",\"size\":2,\"activation\":\"softmax\"}],"
    "\"cost\":{\"kind\":\"cross_entropy\",\"label\":\"label\"},"
    "\"training\":{\"method\":\"adam\",\"learning_rate\":0.01}}";

/* A trainer that only saves the model has trained nothing itself. It makes the averages of
 * batch_norm anew, and then the model costs what it costs the trainer that has trained it. */
TEST(test_averages_are_measured)
{
    struct network_learner_config config = {
        .backend = backend_cpu(), .batch = 32, .push_every = 1, .exchange = table_exchange
    };
    struct evaluation trained, fresh, without;
    struct network_learner *other;
    struct school s = { .network = network_of(normed) };

    s.samples = contrasts(s.network, 320, 3);
    assert_int_equal(network_declaration(s.network, 1, &s.declaration, NULL), 0);
    assert_int_equal(table_new(&s.declaration, 0, 1, &s.table, NULL), 0);
    config.network = s.network;
    config.declaration = s.declaration;
    config.exchange_userdata = s.table;
    assert_int_equal(network_learner_new(&config, &s.learner, NULL), 0);
    assert_int_equal(network_learner_new(&config, &other, NULL), 0);
    assert_true(network_learner_has_averages(other));
    train(&s, 10);
    assert_int_equal(network_learner_pull(s.learner, NULL), 0);
    assert_int_equal(network_learner_evaluate(s.learner, s.samples, &trained, NULL), 0);
    assert_true(trained.cost < 0.35);
    assert_int_equal(network_learner_pull(other, NULL), 0);
    assert_int_equal(network_learner_evaluate(other, s.samples, &without, NULL), 0);
    assert_true(without.cost > 10 * trained.cost);
    assert_int_equal(network_learner_measure(other, s.samples, 10, NULL), 0);
    assert_int_equal(network_learner_evaluate(other, s.samples, &fresh, NULL), 0);
    assert_float_equal(fresh.cost, trained.cost, 0.1 * trained.cost);
    /* one batch is all of an average that has seen one */
    assert_int_equal(network_learner_measure(other, s.samples, 1, NULL), 0);
    assert_int_equal(network_learner_evaluate(other, s.samples, &fresh, NULL), 0);
    assert_float_equal(fresh.cost, trained.cost, 0.3 * trained.cost);
    other = network_learner_free(other);
    school_close(&s);
}

static size_t files_of(const char *folder, uint64_t *ret_bytes)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    assert_non_null(dir);
    *ret_bytes = 0;
    while ((entry = readdir(dir)) != NULL) {
        struct stat status;

        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(fstatat(dirfd(dir), entry->d_name, &status, 0), 0);
        *ret_bytes += entry->d_name[0] == '_' ? (uint64_t)status.st_size : 0;
        n++;
    }
    (void)closedir(dir);
    return n;
}

/* A saved pass of the demo's size: a file for each of 31 parameters, and done, path.txt and the
 * network beside them; read again, each value is what it was. */
TEST(test_saved_pass)
{
    struct network *network = network_shipped("recommendation", NULL);
    float **values = xcalloc(network->n_params, sizeof *values);
    char folder[128], pass[160], path[400];
    struct network_file file;
    uint64_t bytes;

    folder_make(folder, sizeof folder);
    (void)snprintf(pass, sizeof pass, "%s/pass-00000", folder);
    assert_int_equal(network_file_open(network->file, &file, NULL), 0);
    for (uint32_t p = 0; p < network->n_params; p++) {
        values[p] = xcalloc((size_t)network->params[p].spec.rows * network->params[p].spec.columns,
                            sizeof(float));
        values[p][0] = 1.5f + (float)p;
    }
    assert_int_equal(network_save(network, &file, values, NULL, NULL, pass, NULL), 0);
    assert_int_equal(files_of(pass, &bytes), 34);
    assert_int_equal(bytes, 31 * 16 + 4 * 3777536);
    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;

        (void)snprintf(path, sizeof path, "%s/%s", pass, spec->name);
        values[p][0] = 0;
        assert_int_equal(model_file_read(path, values[p], (size_t)spec->rows * spec->columns, NULL),
                         0);
        assert_true(values[p][0] == 1.5f + (float)p);
        free(values[p]);
    }
    free(values);
    network_file_close(&file);
    folder_remove(folder);
    (void)network_free(network);
}

/* Sizes that are arguments follow the data, unless they are given. */
TEST(test_sizes_follow_data)
{
    struct network *shipped = network_shipped("recommendation", NULL), *bound;
    struct input_spec data[INPUTS_MAX];
    struct edl_error error = { 0 };
    struct network_file file;

    memcpy(data, shipped->inputs, sizeof data);
    data[0].size = 17;
    data[1].size = 5;
    assert_int_equal(network_file_open(shipped->file, &file, NULL), 0);
    assert_int_equal(network_file_parse(&file, "width=8", data, 8, &bound, NULL), 0);
    assert_int_equal(bound->inputs[0].size, 17);
    assert_int_equal(bound->inputs[1].size, 5);
    assert_int_equal(bound->inputs[3].size, 6040);
    assert_int_equal(network_fits_data(bound, data, 8, NULL), 0);
    (void)network_free(bound);
    assert_int_equal(network_file_parse(&file, "movie_ids=18", data, 8, &bound, NULL), 0);
    assert_int_equal(network_fits_data(bound, data, 8, &error), -EINVAL);
    assert_non_null(strstr(error.text, "movie_id, is integer of 18, but the data have"));
    (void)network_free(bound);
    assert_int_equal(network_file_parse(&file, "movie_ids=x", data, 8, &bound, &error), -EINVAL);
    network_file_close(&file);
    (void)network_free(shipped);
}

/* The deepest network of the papers: servers take as many parameters as it has. */
TEST(test_deepest)
{
    struct network *network = network_shipped("resnet_cifar", "depth=110");
    struct declaration *declaration = xcalloc(1, sizeof *declaration);
    struct edl_error error = { 0 };

    if (network_declaration(network, 1, declaration, &error) < 0 ||
        declaration_check(declaration, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(declaration->n_params, 335);
    free(declaration);
    (void)network_free(network);
}

/* A wrong name of a network is told first, not what is missing for it. */
TEST(test_network_is_named_before_data)
{
    const char *top = getenv("EDL_SOURCE_DIR");
    struct network_job job = { .config = "recomendation" };
    struct edl_error error = { 0 };
    char models[1024];

    (void)snprintf(models, sizeof models, "%s/conf/models", top != NULL ? top : ".");
    assert_int_equal(setenv("EDL_MODELS_DIR", models, 1), 0);
    assert_int_equal(network_train(&job, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "did you mean recommendation?"));
    job.config = "recommendation";
    assert_int_equal(network_train(&job, &error), -EINVAL);
    assert_string_equal(error.text, "--data is missing");
    assert_non_null(strstr(error.remedy, "--data=generated"));
}

/* A rate without measure: training stops, and batch and culprit are named. */
TEST(test_divergence)
{
    struct edl_error error = { 0 };
    struct school s;
    int r = 0;

    school_open(&s, 32, 1, 3e38f);
    for (int pass = 0; r >= 0 && pass < 5; pass++) {
        size_t position = 0;

        r = network_learner_train(s.learner, s.samples, &position, NULL, &error);
    }
    assert_int_equal(r, -EDOM);
    if (strstr(error.text, "batch ") == NULL || strstr(error.text, "is not finite") == NULL ||
        strstr(error.remedy, "learning rate") == NULL)
        fail_msg("\"%s\" (%s)", error.text, error.remedy);
    school_close(&s);
}

/* A number that the method or the schedule has no use for. */
TEST(test_training_without_use)
{
    static const struct {
        const char *training, *error; /* NULL: it is taken */
    } cases[] = {
        { "\"rho\":0.9", "training, rho: momentum has none" },
        { "\"method\":\"adamax\",\"epsilon\":0.1", "training, epsilon: adamax has none" },
        { "\"method\":\"adagrad\",\"beta1\":0.9", "training, beta1: adagrad has none" },
        { "\"method\":\"rmsprop\",\"beta2\":0.9", "training, beta2: rmsprop has none" },
        { "\"method\":\"adam\",\"beta2\":0.9", NULL },
        { "\"schedule_a\":1", "training, schedule_a: the schedule constant has no use for it" },
        { "\"schedule\":\"manual\",\"schedule_args\":\"1:1\",\"schedule_b\":1",
          "training, schedule_b: the schedule manual has no use for it" },
        { "\"schedule\":\"poly\",\"schedule_a\":1,\"schedule_args\":\"1:1\"",
          "training, schedule_args: the schedule poly has no use for it" },
        { "\"schedule\":\"poly\",\"schedule_a\":1,\"schedule_b\":1", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error = { 0 };
        struct declaration declaration;
        struct network *network;
        char text[600];

        (void)snprintf(text, sizeof text,
                       "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":1}],\"layers\":"
                       "[{\"kind\":\"fc\",\"input\":\"x\",\"size\":1}],\"cost\":{\"kind\":\"square_"
                       "error\",\"label\":\"x\"}"
                       ",\"training\":{%s}}",
                       cases[i].training);
        network = network_of(text);
        if (cases[i].error == NULL)
            assert_int_equal(network_declaration(network, 1, &declaration, &error), 0);
        else if (network_declaration(network, 1, &declaration, &error) != -EINVAL ||
                 strstr(error.text, cases[i].error) == NULL)
            fail_msg("%s: %s", cases[i].training, error.text);
        (void)network_free(network);
    }
}

/* Whether trainers wait for each other or not, they can share servers; a mean over updates is of
 * one trainer alone. */
TEST(test_trainers_that_share)
{
    static const char text[] =
        "{\"inputs\":[{\"name\":\"x\",\"type\":\"dense\",\"size\":1}],\"layers\":[{\"kind\":\"fc\","
        "\"input\":\"x\",\"size\":1}],\"cost\":{\"kind\":\"square_error\",\"label\":\"x\"},"
        "\"training\":{%s}}";
    static const char *const training[] = { "", "\"asynchronous\":1", "\"asynchronous\":0",
                                            "\"average_window\":0.5,\"max_average_window\":100" };

    for (size_t i = 0; i < ELEMENTS(training); i++) {
        struct edl_error error = { 0 };
        struct network *network;
        char whole[400];

        (void)snprintf(whole, sizeof whole, text, training[i]);
        network = network_of(whole);
        assert_int_equal(network_may_share(network, &error), i < 3 ? 0 : -EINVAL);
        if (i == 3 && strstr(error.remedy, "model_average") == NULL)
            fail_msg("%s; %s", error.text, error.remedy);
        (void)network_free(network);
    }
}

/* ---- one real step ---- */

/* A keeper that loses what it is sent of one parameter, or of the last row of one. */
struct loser {
    struct table *table;
    const float *zeros;
    uint32_t n;           /* parameters */
    uint32_t dense, rows; /* in the declaration; UINT32_MAX: none */
};

static int lose(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    const struct loser *loser = userdata;
    const float *dense[DECLARATION_PARAMS_MAX];
    struct exchange_rows rows[INPUTS_MAX];
    struct exchange less = *exchange;

    if (exchange->push && loser->dense != UINT32_MAX) {
        memcpy(dense, exchange->dense_gradients, loser->n * sizeof *dense);
        dense[loser->dense] = loser->zeros;
        less.dense_gradients = dense;
    }
    for (uint32_t i = 0; i < exchange->n_rows; i++) {
        rows[i] = exchange->rows[i];
        if (rows[i].param == loser->rows && rows[i].n_push > 0)
            rows[i].n_push--;
    }
    less.rows = rows;
    return table_exchange(loser->table, &less, error);
}

static void count_stuck(const struct step_check *check, void *userdata)
{
    if (!check->holds)
        (void)snprintf(userdata, PARAM_NAME_SIZE, "%s", check->param);
}

static uint32_t steps_that_fail(struct network *network, struct loser loser,
                                char stuck[static PARAM_NAME_SIZE])
{
    struct batch *batch = random_batch_new(network, 3, 6, 9);
    struct step_check_config config = { .network = network,
                                        .backend = backend_cpu(),
                                        .batch = batch,
                                        .seed = 3,
                                        .exchange = lose,
                                        .exchange_userdata = &loser,
                                        .on_check = count_stuck,
                                        .userdata = stuck };
    struct edl_error error = { 0 };
    uint32_t failed;

    stuck[0] = '\0';
    assert_int_equal(network_declaration(network, 1, &config.declaration, NULL), 0);
    loser.n = config.declaration.n_params;
    loser.zeros = xcalloc(1u << 16, sizeof(float));
    loser.table = NULL;
    assert_int_equal(table_new(&config.declaration, 0, 1, &loser.table, NULL), 0);
    if (check_step(&config, &failed, &error) < 0)
        fail_msg("%s", error.text);
    (void)table_free(loser.table);
    free((void *)loser.zeros);
    (void)random_batch_free(batch);
    return failed;
}

/* A step moves each parameter as its gradient and the method say; one that stays is named. */
TEST(test_step_is_checked)
{
    struct network *network =
        network_shipped("recommendation", "movie_ids=30 user_ids=40 title_chars=20 width=16");
    struct loser loser = { .dense = UINT32_MAX, .rows = UINT32_MAX };
    const uint32_t dense = param_of(network, "_movie_fusion.w1");
    const uint32_t rows = param_of(network, "___embedding_2__.w0");
    char stuck[PARAM_NAME_SIZE];

    assert_int_equal(steps_that_fail(network, loser, stuck), 0);
    loser.dense = dense;
    assert_int_equal(steps_that_fail(network, loser, stuck), 1);
    assert_string_equal(stuck, "_movie_fusion.w1");
    loser.dense = UINT32_MAX;
    loser.rows = rows;
    assert_int_equal(steps_that_fail(network, loser, stuck), 1);
    assert_string_equal(stuck, "___embedding_2__.w0");
    (void)network_free(network);
}

/* ---- values that are no numbers ---- */

static const char normed_pair[] =
    "{\"inputs\": [{\"name\": \"x\", \"type\": \"dense\", \"size\": 2},"
    "              {\"name\": \"y\", \"type\": \"dense\", \"size\": 1}],"
    " \"layers\": [{\"kind\": \"batch_norm\", \"name\": \"norm\", \"input\": \"x\"},"
    "              {\"kind\": \"fc\", \"name\": \"out\", \"size\": 1}],"
    " \"cost\": {\"kind\": \"square_error\", \"input\": \"out\", \"label\": \"y\"}}";

static struct sample_set *pairs(const struct network *network, size_t n, float largest)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);

    for (size_t i = 0; i < n; i++) {
        const float record[] = { (float)(i % 7), i + 1 == n ? largest : (float)(i % 3), 1.0f };

        assert_int_equal(sample_set_add(set, (const uint8_t *)record, sizeof record, NULL), 0);
    }
    return set;
}

/* The square of such a value is no float, while the cost is one: it is about a normed value. */
TEST(test_average_overflows)
{
    struct network_learner_config config = {
        .backend = backend_cpu(), .batch = 4, .push_every = 1, .exchange = table_exchange
    };
    struct network *network = network_of(normed_pair);
    struct sample_set *samples = pairs(network, 16, 1e25f);
    struct network_learner *learner;
    struct edl_error error = { 0 };
    struct table *table;
    size_t position = 0;

    assert_int_equal(network_declaration(network, 1, &config.declaration, NULL), 0);
    assert_int_equal(table_new(&config.declaration, 0, 1, &table, NULL), 0);
    config.network = network;
    config.exchange_userdata = table;
    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    assert_int_equal(network_learner_train(learner, samples, &position, NULL, &error), -EDOM);
    assert_string_equal(error.text,
                        "pass 0, batch 3: the moving average _norm.w2 is not finite any more: what "
                        "its batch_norm takes is too large");
    assert_int_equal(network_learner_measure(learner, samples, 4, &error), -EDOM);
    assert_non_null(strstr(error.text, "_norm.w2"));
    (void)network_learner_free(learner);
    (void)table_free(table);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

static void assert_not_saved(const struct network *network, const struct network_file *file,
                             float **values, const char *pass, const char *name)
{
    struct edl_error error = { 0 };
    char tar[200];

    assert_int_equal(network_save(network, file, values, NULL, NULL, pass, &error), -EDOM);
    if (strstr(error.text, name) == NULL)
        fail_msg("\"%s\" is not in: %s", name, error.text);
    (void)snprintf(tar, sizeof tar, "%s.tar", pass);
    assert_int_equal(network_save_tar(network, values, tar, &error), -EDOM);
    assert_int_equal(access(tar, F_OK), -1);
}

/* Each value of a pass is looked at, averages as well; the pass before stays as it is. A saved
 * parameter that somebody else has written is looked at when it is read. */
TEST(test_saved_values_are_numbers)
{
    struct network *network = network_of(normed_pair);
    const float bad[] = { INFINITY, -INFINITY, NAN };
    float **values = xcalloc(network->n_params, sizeof *values);
    char folder[128], pass[160], path[400];
    struct network_file file = { .path = "normed.json", .text = (char *)"{}", .size = 2 };
    struct edl_error error = { 0 };
    uint64_t bytes, after;
    FILE *out;

    folder_make(folder, sizeof folder);
    (void)snprintf(pass, sizeof pass, "%s/pass-00000", folder);
    for (uint32_t p = 0; p < network->n_params; p++)
        values[p] = xcalloc((size_t)network->params[p].spec.rows * network->params[p].spec.columns,
                            sizeof(float));
    assert_int_equal(network_save(network, &file, values, NULL, NULL, pass, NULL), 0);
    assert_int_equal(files_of(pass, &bytes), (int)network->n_params + 3);
    for (uint32_t p = 0; p < network->n_params; p++) {
        values[p][0] = bad[p % ELEMENTS(bad)];
        assert_not_saved(network, &file, values, pass, network->params[p].spec.name);
        values[p][0] = 0;
    }
    assert_int_equal(files_of(pass, &after), (int)network->n_params + 3);
    assert_int_equal(after, bytes);
    (void)snprintf(path, sizeof path, "%s/_norm.w2", pass);
    out = fopen(path, "r+e");
    assert_non_null(out);
    assert_int_equal(fseek(out, 16 + 4, SEEK_SET), 0);
    assert_int_equal(fwrite(&bad[2], sizeof bad[2], 1, out), 1);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(model_file_read(path, values[0], 2, &error), EDL_ECORRUPT);
    if (strstr(error.text, "_norm.w2: value 1 of the parameter is nan") == NULL)
        fail_msg("%s", error.text);
    for (uint32_t p = 0; p < network->n_params; p++)
        free(values[p]);
    free(values);
    folder_remove(folder);
    (void)network_free(network);
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
