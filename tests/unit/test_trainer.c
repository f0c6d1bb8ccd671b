/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer.c - whole trainers against real servers and a stand-in scheduler, on data whose
 * entropy is known */
#define TEST_OWN_MAIN

#include "trainer_fixture.h"

#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "tests/unit/test.h"
#include "trainer/data/dataset.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/job_api.h"
#include "trainer/model/model_file.h"
#include "trainer/run/trainer.h"

#define TRAIN 12000
#define HELD_OUT 1000
#define CHUNK 500

struct world {
    char folder[64];
    char pattern[128];
    char output[128];
    struct test_server servers[2];
    uint64_t reconnect_us, api_retry_us;
    struct fake fake;
};

static volatile sig_atomic_t stop;
static const char *network; /* NULL: ngram_lm by the options of the program */

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

static struct trainer_config config_of(const struct world *world, uint64_t index)
{
    return (struct trainer_config){
        .job_id = TEST_JOB,
        .index = index,
        .incarnation = 1,
        .socket_path = world->fake.socket,
        .dataset = world->pattern,
        .output_dir = world->output,
        .network = network,
        .network_arguments = network != NULL ? "embedding=12,hidden=48,dropout=0" : NULL,
        .batch = 16,
        .push_every = 1,
        .log_period = 0,
        .embedding = network == NULL ? 12 : 0,
        .hidden = network == NULL ? 48 : 0,
        .dropout = network == NULL ? 0.0f : -1.0f,
        .seed = 3,
        .task_records = CHUNK,
        .learning_rate = 0.1f,
        .epsilon = 1e-6f,
        .evaluate_max = HELD_OUT,
        .hosts_wait_us = 120 * USEC_PER_SEC,
        .reconnect_us = world->reconnect_us,
        .api_retry_us = world->api_retry_us,
        .stop = &stop,
    };
}

static pid_t trainer_start(const struct world *world, uint64_t index)
{
    struct trainer_config config = config_of(world, index);
    struct sigaction action = { .sa_handler = on_term };
    struct edl_error error;
    pid_t pid;
    int r;

    (void)fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigaction(SIGTERM, &action, NULL);
    r = trainer_run(&config, &error);
    if (r < 0 && r != -EINTR)
        fprintf(stderr, "trainer-%d: %s\n", (int)index, error.text);
    exit(r == -EINTR ? 7 : r < 0 ? 1 : 0);
}

static void world_open(struct world *world, uint32_t passes)
{
    char socket_folder[128];

    world->reconnect_us = world->api_retry_us = 120 * USEC_PER_SEC;
    folder_make(world->folder, sizeof world->folder);
    corpus_write(world->folder, TRAIN, HELD_OUT, CHUNK);
    (void)snprintf(world->pattern, sizeof world->pattern, "%s/train-*.recordio", world->folder);
    (void)snprintf(world->output, sizeof world->output, "%s", world->folder);
    (void)snprintf(socket_folder, sizeof socket_folder, "%s", world->folder);
    for (uint32_t s = 0; s < 2; s++)
        server_start(&world->servers[s], s, 1, NULL, 0);
    fake_start(&world->fake, socket_folder, world->servers, 2, passes);
}

static void world_close(struct world *world)
{
    fake_stop(&world->fake);
    for (uint32_t s = 0; s < 2; s++)
        assert_int_equal(server_stop(&world->servers[s]), 0);
    folder_remove(world->folder);
}

static double metric(const struct world *world, const char *name)
{
    json_t *metrics = json_loads(world->fake.state->metrics, 0, NULL);
    double value = json_number_value(json_object_get(metrics, name));

    json_decref(metrics);
    return value;
}

/* What every way to the end must come to: all tasks counted, a whole model, a cost near the
 * entropy. */
static void assert_trained(const struct world *world, uint32_t passes, double slack)
{
    const struct fake_state *state = world->fake.state;
    double best = corpus_held_out_cost(TRAIN, HELD_OUT);
    float embedding[CHAIN_WORDS * 12];
    char path[700];

    assert_int_equal(state->n_tasks, TRAIN / CHUNK);
    assert_int_equal(state->n_finished, passes * TRAIN / CHUNK);
    assert_int_equal(state->saved, 1);
    assert_true(state->owed); /* it said that it would save one */
    assert_true(fabs(metric(world, "cost_before") - log(CHAIN_WORDS)) < 0.1);
    assert_true(metric(world, "held_out_samples") == HELD_OUT);
    if (metric(world, "cost_after") > best + slack)
        fail_msg("cost %f, at best %f", metric(world, "cost_after"), best);
    assert_true(metric(world, "error_rate") < 0.27);
    (void)snprintf(path, sizeof path, "%s/done", state->model);
    assert_int_equal(access(path, R_OK), 0);
    (void)snprintf(path, sizeof path, "%s/word_dict", state->model);
    assert_int_equal(access(path, R_OK), 0);
    (void)snprintf(path, sizeof path, "%s/embedding", state->model);
    assert_int_equal(model_file_read(path, embedding, ELEMENTS(embedding), NULL), 0);
    assert_true(isfinite(embedding[5]) && embedding[5] != 0.0f);
}

TEST(test_two_trainers)
{
    struct world world;
    pid_t trainers[2];

    world_open(&world, 4);
    for (uint64_t t = 0; t < 2; t++)
        trainers[t] = trainer_start(&world, t);
    for (int t = 0; t < 2; t++)
        assert_int_equal(child_wait(trainers[t]), 0);
    assert_trained(&world, 4, 0.15);
    world_close(&world);
}

TEST(test_trainer_killed)
{
    struct world world;
    pid_t trainers[2];

    world_open(&world, 4);
    world.fake.state->finished_most = 15;
    for (uint64_t t = 0; t < 2; t++)
        trainers[t] = trainer_start(&world, t);
    fake_wait(&world.fake, FAKE_LEASED, 15);
    (void)kill(trainers[1], SIGKILL);
    assert_int_equal(child_wait(trainers[1]), -SIGKILL);
    world.fake.state->finished_most = 0;
    assert_int_equal(child_wait(trainers[0]), 0);
    assert_true(world.fake.state->n_requeued <= 1);
    assert_trained(&world, 4, 0.15);
    world_close(&world);
}

/* The same with a network of a file in the model's place. */
TEST(test_network)
{
    network = "ngram_lm";
    test_two_trainers(state);
    test_trainer_killed(state);
    network = NULL;
}

TEST(test_trainer_told_to_stop)
{
    struct world world;
    pid_t first, second;

    world_open(&world, 3);
    world.fake.state->finished_most = 3;
    first = trainer_start(&world, 0);
    fake_wait(&world.fake, FAKE_LEASED, 3);
    (void)kill(first, SIGTERM);
    assert_int_equal(child_wait(first), 7);
    world.fake.state->finished_most = 0;
    assert_true(world.fake.state->n_returned <= 1);
    assert_int_equal(world.fake.state->n_failed, 0);
    second = trainer_start(&world, 1); /* takes over where the first one stopped */
    assert_int_equal(child_wait(second), 0);
    assert_int_equal(world.fake.state->n_requeued, 0); /* nothing was left leased */
    assert_int_equal(world.fake.state->n_puts, 1);
    assert_trained(&world, 3, 0.2);
    world_close(&world);
}

TEST(test_server_replaced)
{
    char checkpoint[128];
    struct world world;
    pid_t trainer;

    world_open(&world, 4);
    (void)snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint/pserver-1.ckpt", world.folder);
    assert_int_equal(server_stop(&world.servers[1]), 0);
    server_start(&world.servers[1], 1, 2, checkpoint, 50 * USEC_PER_MSEC);
    fake_set_server(&world.fake, &world.servers[1]);
    trainer = trainer_start(&world, 0);
    fake_wait(&world.fake, FAKE_FINISHED, 20);
    server_kill(&world.servers[1]);
    server_start(&world.servers[1], 1, 3, checkpoint, 50 * USEC_PER_MSEC);
    fake_set_server(&world.fake, &world.servers[1]);
    assert_int_equal(child_wait(trainer), 0);
    assert_trained(&world, 4, 0.2);
    world_close(&world);
}

/* The server's next life, without a checkpoint. */
static void replace_empty(struct world *world, uint32_t s)
{
    server_kill(&world->servers[s]);
    server_start(&world->servers[s], s, world->servers[s].incarnation + 1, NULL, 0);
    fake_set_server(&world->fake, &world->servers[s]);
}

/* Servers that never wrote a checkpoint die in the last pass: what is left of it is too short to
 * learn anew, so the trainers' values are there again. */
static void lose_servers(int n_trainers, uint32_t n_servers, unsigned times)
{
    struct world world;
    pid_t trainers[2];

    world_open(&world, 4);
    for (int t = 0; t < n_trainers; t++)
        trainers[t] = trainer_start(&world, (uint64_t)t);
    fake_wait(&world.fake, FAKE_FINISHED, 4 * TRAIN / CHUNK - 6 - times);
    for (unsigned i = 0; i < times; i++) {
        fake_wait(&world.fake, FAKE_FINISHED, 1);
        for (uint32_t s = 0; s < n_servers; s++)
            replace_empty(&world, s);
    }
    for (int t = 0; t < n_trainers; t++)
        assert_int_equal(child_wait(trainers[t]), 0);
    assert_int_equal(world.fake.state->n_lost, 0);
    assert_trained(&world, 4, 0.15);
    world_close(&world);
}

TEST(test_server_back_without_checkpoint)
{
    lose_servers(1, 1, 3);
    lose_servers(2, 2, 1);
    network = "ngram_lm";
    lose_servers(2, 2, 2);
    network = NULL;
}

/* The only trainer dies with a server, and no other one has its values: start values would pass for
 * trained ones. */
TEST(test_values_are_lost)
{
    struct world world;
    pid_t trainer;

    world_open(&world, 2);
    world.fake.state->finished_most = 3;
    world.reconnect_us = 300 * USEC_PER_MSEC;
    trainer = trainer_start(&world, 0);
    fake_wait(&world.fake, FAKE_FINISHED, 3);
    (void)kill(trainer, SIGKILL);
    assert_int_equal(child_wait(trainer), -SIGKILL);
    replace_empty(&world, 1);
    assert_int_equal(child_wait(trainer_start(&world, 1)), 1);
    assert_int_equal(world.fake.state->n_lost, 1);
    assert_int_equal(world.fake.state->saved, 0);
    world_close(&world);
}

/* Whether somebody else trains is not known then: the trainer ends, and its job does not. */
TEST(test_an_absent_scheduler_decides_nothing)
{
    struct world world;
    pid_t trainer;

    world_open(&world, 2);
    world.fake.state->finished_most = 3;
    trainer = trainer_start(&world, 0);
    fake_wait(&world.fake, FAKE_FINISHED, 3);
    (void)kill(trainer, SIGKILL);
    assert_int_equal(child_wait(trainer), -SIGKILL);
    replace_empty(&world, 1);
    world.fake.state->hides_tasks = true;
    world.reconnect_us = world.api_retry_us = 300 * USEC_PER_MSEC;
    assert_int_equal(child_wait(trainer_start(&world, 1)), 1);
    assert_int_equal(world.fake.state->n_lost, 0);
    world_close(&world);
}

/* Nothing was counted yet, so start values are as good. */
TEST(test_server_back_before_all)
{
    struct world world;

    world_open(&world, 2);
    replace_empty(&world, 1);
    assert_int_equal(child_wait(trainer_start(&world, 0)), 0);
    assert_trained(&world, 2, 0.4);
    world_close(&world);
}

TEST(test_stale_lease)
{
    struct world world;

    world_open(&world, 2);
    world.fake.state->refuse_finish = 3;
    assert_int_equal(child_wait(trainer_start(&world, 0)), 0);
    assert_trained(&world, 2, 0.4);
    world_close(&world);
}

/* No servers, no scheduler: an error in time, not a wait for ever. */
TEST(test_nobody_there)
{
    struct world world;
    struct trainer_config config;
    struct edl_error error;

    world_open(&world, 1);
    config = config_of(&world, 0);
    config.hosts_wait_us = 300 * USEC_PER_MSEC;
    world.fake.state->hosts[1].port = 0;
    assert_int_equal(trainer_run(&config, &error), EDL_EUNREACHABLE);
    assert_non_null(strstr(error.text, "parameter servers that run: 1 of 2"));
    config.socket_path = "/nonexistent/socket";
    config.api_retry_us = 200 * USEC_PER_MSEC;
    assert_int_equal(trainer_run(&config, &error), EDL_EUNREACHABLE);
    world_close(&world);
}

TEST(test_local)
{
    struct world world = { 0 };
    struct trainer_config config;

    folder_make(world.folder, sizeof world.folder);
    corpus_write(world.folder, TRAIN, HELD_OUT, CHUNK);
    (void)snprintf(world.pattern, sizeof world.pattern, "%s/train-*.recordio", world.folder);
    (void)snprintf(world.output, sizeof world.output, "%s", world.folder);
    config = config_of(&world, 0);
    assert_int_equal(trainer_run_local(&config, 1, NULL), 0);
    assert_int_equal(trainer_run_local(&config, 1, NULL), 0); /* replaces the model */
    folder_remove(world.folder);
}

/* A folder that nobody can write to costs no training; one that is not there is made. */
TEST(test_output_is_checked_first)
{
    struct world world = { 0 };
    struct trainer_config config;
    struct edl_error error = { 0 };
    char file[128], missing[128], made[160];
    int fd;

    folder_make(world.folder, sizeof world.folder);
    corpus_write(world.folder, TRAIN, HELD_OUT, CHUNK);
    (void)snprintf(world.pattern, sizeof world.pattern, "%s/train-*.recordio", world.folder);
    config = config_of(&world, 0);
    (void)snprintf(file, sizeof file, "%s/a-file", world.folder);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    (void)safe_close(fd);
    (void)snprintf(missing, sizeof missing, "%s/a/b", world.folder);
    stop = 1; /* whoever begins to train ends with -EINTR */
    config.output_dir = file;
    assert_int_equal(trainer_run_local(&config, 1, &error), -ENOTDIR);
    assert_non_null(strstr(error.remedy, "--output-dir"));
    config.output_dir = missing;
    assert_int_equal(trainer_run_local(&config, 1, &error), -ENOENT);
    assert_non_null(strstr(error.remedy, "mkdir -p"));
    stop = 0;
    config.output_dir = missing;
    (void)snprintf(missing, sizeof missing, "%s/new", world.folder);
    assert_int_equal(trainer_run_local(&config, 1, &error), 0);
    (void)snprintf(made, sizeof made, "%s/model/done", missing);
    assert_int_equal(access(made, F_OK), 0);
    folder_remove(world.folder);
}

TEST(test_dataset)
{
    char folder[64], pattern[128];
    struct dataset *dataset = NULL;
    struct dataset_chunk bad;
    struct sample_set *samples = NULL;
    json_t *tasks = NULL;

    folder_make(folder, sizeof folder);
    (void)snprintf(pattern, sizeof pattern, "%s/train-*.recordio", folder);
    assert_int_equal(dataset_open(pattern, &dataset, NULL), -ENOMEDIUM);
    corpus_write(folder, 1000, 100, 100);
    assert_int_equal(dataset_open(pattern, &dataset, NULL), 0);
    assert_int_equal(dataset_vocabulary(dataset), CHAIN_WORDS);
    assert_int_equal(dataset_tasks(dataset, 250, &tasks, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(tasks, "tasks")), 5); /* two chunks each */
    assert_int_equal(strlen(json_string_value(json_object_get(tasks, "digest"))), 64);
    json_decref(tasks);
    assert_int_equal(dataset_held_out_samples(dataset, 30, &samples, NULL), 0);
    assert_int_equal(sample_set_n(samples), 25); /* every fourth */
    (void)sample_set_free(samples);
    bad = (struct dataset_chunk){ .path = pattern, .offset = 0 };
    assert_true(dataset_samples(dataset, &bad, 1, &samples, NULL) < 0);
    dataset = dataset_free(dataset);
    folder_remove(folder);
}

/* The networks that ship lie with the sources. */
static void find_models(void)
{
    const char *top = getenv("EDL_SOURCE_DIR");
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/conf/models", top != NULL ? top : ".");
    (void)setenv("EDL_MODELS_DIR", path, 1);
}

int main(int argc, char **argv)
{
    find_models();
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}
