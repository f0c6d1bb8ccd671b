/* SPDX-License-Identifier: Apache-2.0 */
/* network_main.c - edl-trainer --config: any network, alone */
#include "trainer/run/network_main.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/learn/device.h"
#include "trainer/run/network_local.h"
#include "trainer/model/network_python.h"
#include "trainer/run/options.h"
#include "trainer/run/trainer_collective.h"
#include "trainer/parameters/block_placement.h"

static const char usage[] =
    "Usage: edl-trainer --local --config=NETWORK --data=DATA [OPTION VALUE]...\n"
    "       edl-trainer test|infer --config=NETWORK --data=DATA --init_model_path=DIR\n"
    "       edl-trainer checkgrad --config=NETWORK\n"
    "       edl-trainer time --config=NETWORK --data=DATA [--test_period=BATCHES]\n\n"
    "Trains a network alone, tests a saved pass or prints its outputs, compares gradients with "
    "differences, or tells how long a batch takes.\n"
    "NETWORK is the name of one that ships, a file (edl-network(5)), or a "
    "trainer_config.py.\n\nOptions:\n";

static const struct {
    const char *word;
    int (*run)(const struct network_job *job, struct edl_error *error);
} commands[] = {
    { "train", network_train },         { "test", network_test }, { "infer", network_infer },
    { "checkgrad", network_checkgrad }, { "time", network_time },
};

static size_t command_of(int argc, char **argv)
{
    for (size_t i = 1; argc > 1 && i < ELEMENTS(commands); i++)
        if (streq(argv[1], commands[i].word))
            return i;
    return 0;
}

static bool has(int argc, char **argv, const char *option)
{
    const size_t size = strlen(option);

    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], option, size) == 0 && (argv[i][size] == '\0' || argv[i][size] == '='))
            return true;
    return false;
}

bool network_main_wants(int argc, char **argv)
{
    const bool alone = has(argc, argv, "--local") || has(argc, argv, "--servers") ||
                       has(argc, argv, "--data") || getenv("EDL_SOCKET") == NULL;

    return command_of(argc, argv) > 0 || has(argc, argv, "--collective") ||
           (alone && has(argc, argv, "--config"));
}

/* begin_behind - with start_pass: the pass before, unless another model is named. Trainers that do
 * not read it need not have it */
static int begin_behind(struct network_job *job, char *path, size_t size, struct edl_error *error)
{
    char done[PATH_MAX + 8];

    if (job->start_pass == 0 || job->init_model != NULL)
        return 0;
    if (job->servers != NULL && job->trainer_id != 0) {
        job->init_model = "";
        return 0;
    }
    if (job->save_dir == NULL) {
        (void)edl_error_set(error, -EINVAL, "--start_pass goes on in --save_dir, which is missing");
        return edl_error_remedy(error, "name the folder that has pass-%05llu",
                                (unsigned long long)job->start_pass - 1);
    }
    if ((size_t)snprintf(path, size, "%s/pass-%05llu", job->save_dir,
                         (unsigned long long)job->start_pass - 1) >= size)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", job->save_dir);
    (void)snprintf(done, sizeof done, "%s/done", path);
    if (access(done, F_OK) == -1) {
        (void)edl_error_set(error, -EINVAL, "--start_pass=%llu needs %s, which is not there",
                            (unsigned long long)job->start_pass, done);
        return edl_error_remedy(error, "take one more than the last saved pass");
    }
    job->init_model = path;
    return 0;
}

static int run(const struct network_job *given, size_t command, const char *device_name,
               struct edl_error *error)
{
    struct network_job own = *given, *job = &own;
    struct device device = { 0 };
    char before[PATH_MAX];
    int r;

    if (!streq(job->missing, "fail") && !streq(job->missing, "rand") &&
        !streq(job->missing, "zero"))
        return edl_error_set(error, -EINVAL,
                             "--load_missing_parameter_strategy is \"%.40s\"; fail, rand and zero "
                             "there are",
                             job->missing);
    if (!streq(job->center, "average") && !streq(job->center, "elastic_average"))
        return edl_error_set(error, -EINVAL,
                             "--center_parameter_update_method is \"%.40s\"; average and "
                             "elastic_average there are",
                             job->center);
    if (job->send_every == 0 || job->send_every > UINT32_MAX || job->trainers > UINT32_MAX)
        return edl_error_set(error, -EINVAL,
                             "--num_batches_per_send_parameter is 1 or more, and it and "
                             "--num_gradient_servers are below 4294967296");
    if (job->ports_num == 0 || job->ports_num > BLOCK_PLACEMENT_PORTS_MAX ||
        job->ports_num_for_sparse > BLOCK_PLACEMENT_PORTS_MAX)
        return edl_error_set(error, -EINVAL,
                             "--ports_num is 1 to %d, and --ports_num_for_sparse at most %d",
                             BLOCK_PLACEMENT_PORTS_MAX, BLOCK_PLACEMENT_PORTS_MAX);
    if (job->send_every > 1 && job->servers == NULL) {
        (void)edl_error_set(error, -EINVAL,
                            "--num_batches_per_send_parameter is %llu, and there are no servers",
                            (unsigned long long)job->send_every);
        return edl_error_remedy(error, "name them: --servers=HOST:PORT,...");
    }
    if (job->trainer_id > UINT16_MAX)
        return edl_error_set(error, -EINVAL, "--trainer_id is at most %d", UINT16_MAX);
    if (job->saving_period == 0)
        return edl_error_set(error, -EINVAL, "--saving_period is 0; 1 or more is possible");
    if (job->saving_period_batches > UINT32_MAX)
        return edl_error_set(error, -EINVAL,
                             "--saving_period_by_batches is %llu; at most 4294967295 is possible, "
                             "and 0 saves nothing within a pass",
                             (unsigned long long)job->saving_period_batches);
    if (job->test_period > UINT32_MAX)
        return edl_error_set(error, -EINVAL,
                             "--test_period is %llu; at most 4294967295 is possible, and 0 tests "
                             "behind each pass",
                             (unsigned long long)job->test_period);
    if (job->batch > 65536 || job->push_every == 0 || job->push_every > 1024)
        return edl_error_set(error, -EINVAL,
                             "--batch is at most 65536, and --push-every 1 to 1024");
    r = begin_behind(job, before, sizeof before, error);
    if (r < 0)
        return r;
    r = device_open(device_name, &device, error);
    if (r < 0)
        return r;
    job->device = &device;
    r = job->collective ? network_collective(job, error) : commands[command].run(job, error);
    device_close(&device);
    return r;
}

/* Runs a config in Python first: the job is then about what it has written. */
static int run_config(struct network_job *job, size_t command, const char *device_name,
                      struct edl_error *error)
{
    const bool with_data = commands[command].run != network_checkgrad && job->data == NULL;
    struct network_python python;
    int r;

    if (job->config == NULL && job->collective)
        job->config = "ngram_lm";
    if (job->config == NULL) {
        (void)edl_error_set(error, -EINVAL, "--config is missing");
        return edl_error_remedy(error, "name a network: --config=ngram_lm, or a file");
    }
    if (!network_python_wants(job->config))
        return run(job, command, device_name, error);
    r = network_python_open(job->config, job->arguments, with_data, job->stop, &python, error);
    if (r < 0)
        return r;
    job->source = job->config;
    job->config = python.network;
    job->arguments = NULL;
    if (with_data && python.data[0] != '\0')
        job->data = python.data;
    r = run(job, command, device_name, error);
    network_python_close(&python);
    return r;
}

static int read_style(const char *style, struct network_job *job, struct edl_error *error)
{
    job->glog = streq(style, "glog");
    if (job->glog || streq(style, "edl"))
        return 0;
    return edl_error_set(error, -EINVAL, "--log-style is \"%.40s\"; it may be edl, or glog", style);
}

/* What is worked out once the options are read. */
struct words {
    const char *device, *style;
    bool local; /* as network_main_wants has seen */
};

static size_t common_options(struct network_job *job, struct words *words, struct option_row *ret)
{
    const struct option_row rows[] = {
        { .name = "local", .flag = &words->local, .help = "alone, not as a trainer of a job" },
        { .name = "config", .text = &job->config, .help = "name or file of the network" },
        { .name = "config_args",
          .text = &job->arguments,
          .help = "NAME=NUMBER,... of its arguments" },
        { .name = "data",
          .text = &job->data,
          .help = "generated, a folder with a data set, or one with MovieLens 1M" },
        { .name = "samples",
          .fallback = "0",
          .u64 = &job->samples,
          .help = "of generated data, or of checkgrad's batch; 0: as many as usual" },
        { .name = "num_passes", .u64 = &job->passes, .help = "instead of the network's" },
        { .name = "save_dir", .text = &job->save_dir, .help = "pass-00000 and so on go there" },
        { .name = "saving_period",
          .fallback = "1",
          .u64 = &job->saving_period,
          .help = "passes between two that are saved" },
        { .name = "saving_period_by_batches",
          .fallback = "0",
          .u64 = &job->saving_period_batches,
          .help = "batches between two saves within a pass; 0: none" },
        { .name = "test_period",
          .fallback = "0",
          .u64 = &job->test_period,
          .help = "batches between tests; 0: one behind each pass" },
        { .name = "save_tar",
          .fallback = "0",
          .u64 = &job->save_tar,
          .help = "1: beside each saved pass a tar, which paddle.v2 reads" },
        { .name = "save_only_one",
          .fallback = "0",
          .u64 = &job->save_only_one,
          .help = "1: a save that is whole removes the one before it" },
        { .name = "predict_output_dir",
          .text = &job->predictions,
          .help = "of test: rank-00000 with the outputs of the samples goes there" },
        { .name = "init_model_path",
          .text = &job->init_model,
          .help = "a saved pass to begin with" },
        { .name = "init_optimizer",
          .fallback = "0",
          .u64 = &job->with_optimizer,
          .help = "1: the optimizer of init_model_path as well, as start_pass takes it" },
        { .name = "start_pass",
          .fallback = "0",
          .u64 = &job->start_pass,
          .help = "number of the first pass; goes on behind the pass before it in save_dir" },
        { .name = "load_missing_parameter_strategy",
          .fallback = "fail",
          .text = &job->missing,
          .help = "of a parameter without a file: fail, rand or zero" },
        { .name = "log-style",
          .fallback = "edl",
          .text = &words->style,
          .help = "edl, or glog: lines as PaddlePaddle prints them" },
        { .name = "dot_period",
          .fallback = "0",
          .u64 = &job->dot_period,
          .help = "batches between dots; 0: none" },
        { .name = "batch",
          .fallback = "0",
          .u64 = &job->batch,
          .help = "samples; 0: the network's" },
        { .name = "push-every",
          .fallback = "1",
          .u64 = &job->push_every,
          .help = "batches whose gradients are summed before an update" },
        { .name = "learning-rate",
          .real = &job->learning_rate,
          .help = "instead of the network's" },
        { .name = "l2-rate", .real = &job->l2_rate, .help = "instead of the network's" },
        { .name = "seed",
          .fallback = "1",
          .u64 = &job->seed,
          .help = "of start values, dropout, order and generated data" },
        { .name = "shuffle",
          .u64 = &job->shuffle,
          .help = "0: samples in the order of the data; 1: in another one each pass (the "
                  "network's, or 1)" },
        { .name = "log-period",
          .fallback = "100",
          .u64 = &job->log_period,
          .help = "batches between lines; 0: none" },
        { .name = "device",
          .fallback = "cpu",
          .text = &words->device,
          .help = "cpu, cuda, or auto: a GPU that was granted and can, else the CPU" },
    };

    memcpy(ret, rows, sizeof rows);
    return ELEMENTS(rows);
}

/* Those about parameter servers that a person has started. */
static size_t server_options(struct network_job *job, struct option_row *ret)
{
    const struct option_row rows[] = {
        { .name = "servers",
          .text = &job->servers,
          .help = "host:port,... of parameter servers that are started by hand" },
        { .name = "num_batches_per_send_parameter",
          .fallback = "1",
          .u64 = &job->send_every,
          .help = "with servers: batches that are trained here between two meetings; 1: each is "
                  "pushed" },
        { .name = "center_parameter_update_method",
          .fallback = "average",
          .text = &job->center,
          .help = "the values that a trainer takes at a meeting: average, or elastic_average" },
        { .name = "delta_add_rate",
          .fallback = "1",
          .real = &job->delta_add_rate,
          .help = "part of the distance that is added at a meeting, times 1/num_gradient_servers" },
        { .name = "num_gradient_servers",
          .fallback = "0",
          .u64 = &job->trainers,
          .help = "trainers that share the servers; 0: not said, 1 for local SGD" },
        { .name = "sync",
          .flag = &job->sync,
          .help = "with servers: each update waits for all trainers that have data (the network's "
                  "word; else with several in --num_gradient_servers)" },
        { .name = "async", .flag = &job->async, .help = "each trainer pushes on its own" },
        { .name = "ports_num",
          .fallback = "1",
          .u64 = &job->ports_num,
          .help = "of each host in --servers: the first ports, for blocks of dense parameters" },
        { .name = "ports_num_for_sparse",
          .fallback = "0",
          .u64 = &job->ports_num_for_sparse,
          .help = "of each host in --servers: the ports behind them, for rows; 0: rows are with "
                  "the blocks" },
        { .name = "servers-wait",
          .fallback = "300s",
          .text = &job->servers_wait,
          .help = "for these servers to be there" },
        { .name = "trainer_id",
          .fallback = "0",
          .u64 = &job->trainer_id,
          .help = "with servers: number of this trainer; 0 saves" },
        { .name = "secret-file",
          .text = &job->secret_file,
          .help = "with servers: 64 hex digits that they know as well" },
        { .name = "socket",
          .environment = "EDL_SOCKET",
          .text = &job->socket,
          .help = "the agent's, which tells the job's secret" },
        { .name = "job-id",
          .environment = "EDL_JOB_ID",
          .fallback = "0",
          .u64 = &job->job_id,
          .help = "with servers: number of the job" },
    };

    memcpy(ret, rows, sizeof rows);
    return ELEMENTS(rows);
}

/* Those of a group without servers. */
static size_t group_options(struct network_job *job, struct option_row *ret)
{
    const struct option_row rows[] = {
        { .name = "collective",
          .flag = &job->collective,
          .help = "in a group of processes without servers; alone a group of one" },
        { .name = "micro-batches",
          .fallback = "0",
          .u64 = &job->micro_batches,
          .help = "with collective: parts of a batch, which ranks share; 0: at most 8" },
        { .name = "batch-rule",
          .fallback = "constant",
          .text = &job->batch_rule,
          .help = "with collective: constant; linear: so many batches as ranks in a step; goodput: "
                  "the batch that teaches most a second" },
        { .name = "batch-most",
          .fallback = "0",
          .u64 = &job->batch_most,
          .help = "with linear, goodput: samples of a step at most; 0: eight batches" },
        { .name = "batch-warm-up",
          .fallback = "100",
          .u64 = &job->warm_up,
          .help = "with linear, goodput: steps in which a rate rises" },
        { .name = "batches",
          .text = &job->batches,
          .help = "with linear, goodput: file batches of a training; the same ones once more" },
        { .name = "exact",
          .fallback = "1",
          .u64 = &job->exact,
          .help = "with collective: 1: the same bits whatever ranks there are" },
        { .name = "output-dir",
          .environment = "EDL_OUTPUT_DIR",
          .text = &job->output_dir,
          .help = "with collective: model/ and checkpoint/ in it" },
        { .name = "dataset",
          .environment = "EDL_DATASET",
          .text = &job->dataset,
          .help = "with collective: glob of RecordIO files, in place of --data" },
    };

    memcpy(ret, rows, sizeof rows);
    return ELEMENTS(rows);
}

int network_main(int argc, char **argv, const volatile sig_atomic_t *stop, struct edl_error *error)
{
    const size_t command = command_of(argc, argv);
    struct network_job job = { .passes = UINT64_MAX,
                               .shuffle = UINT64_MAX,
                               .learning_rate = -1.0f,
                               .l2_rate = -1.0f,
                               .stop = stop };
    struct words words;
    struct option_row rows[OPTIONS_MAX];
    size_t n = common_options(&job, &words, rows);
    int r;

    n += server_options(&job, rows + n);
    n += group_options(&job, rows + n);
    r = options_parse(argc - (command > 0), argv + (command > 0), "edl-trainer", usage, rows, n,
                      NULL, error);
    if (r != OPTIONS_RUN)
        return MIN_OF(r, 0);
    r = read_style(words.style, &job, error);
    return r < 0 ? r : run_config(&job, command, words.device, error);
}
