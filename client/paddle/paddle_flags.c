/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_flags.c - see paddle_flags.h
 *
 * Names and defaults: utils/Flags.cpp, trainer/Trainer.cpp, trainer/TrainerMain.cpp,
 * trainer/Tester.cpp and pserver/ of PaddlePaddle 0.11. */
#include "client/paddle/paddle_flags.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"

#define TRAIN true, false
#define PSERVER false, true
#define BOTH true, true
#define IDLE(name_, kind_, fallback_)                                                              \
    {                                                                                              \
        name_, fallback_, kind_, BOTH, NULL                                                        \
    }

static const struct paddle_flag_row rows[] = {
    [FLAG_JOB] = { "job", "train", FLAG_TEXT, TRAIN, "train, test, checkgrad or time" },
    [FLAG_CONFIG] = { "config", "", FLAG_TEXT, TRAIN,
                      "a network's name, its JSON file, or trainer_config.py" },
    [FLAG_CONFIG_ARGS] = { "config_args", "", FLAG_TEXT, TRAIN, "NAME=VALUE,... for the network" },
    [FLAG_DATA] = { "data", "", FLAG_TEXT, TRAIN,
                    "a folder with a data set; of EDL; without it: generated" },
    [FLAG_LOCAL] = { "local", "", FLAG_BOOL, TRAIN,
                     "no parameter servers; default 1, and 0 when pservers is given" },
    [FLAG_NUM_PASSES] = { "num_passes", "100", FLAG_COUNT, TRAIN, "passes over the data" },
    [FLAG_SAVE_DIR] = { "save_dir", "", FLAG_TEXT, TRAIN, "pass-00000 and so on go there" },
    [FLAG_SAVING_PERIOD] = { "saving_period", "1", FLAG_COUNT, TRAIN,
                             "passes between two that are saved" },
    [FLAG_SAVING_BATCHES] = { "saving_period_by_batches", "0", FLAG_COUNT, TRAIN,
                              "batches between two saves within a pass; 0: none" },
    [FLAG_SAVE_ONLY_ONE] = { "save_only_one", "0", FLAG_BOOL, TRAIN,
                             "a save that is whole removes the one before it" },
    [FLAG_SAVE_TAR] = { "save_tar", "0", FLAG_BOOL, TRAIN,
                        "of EDL: beside each saved pass a tar, which paddle.v2 reads" },
    [FLAG_START_PASS] = { "start_pass", "0", FLAG_COUNT, TRAIN,
                          "go on behind the saved pass before this one" },
    [FLAG_INIT_MODEL_PATH] = { "init_model_path", "", FLAG_TEXT, TRAIN,
                               "a saved pass to begin with, or to test" },
    [FLAG_LOAD_MISSING] = { "load_missing_parameter_strategy", "fail", FLAG_TEXT, TRAIN,
                            "of a parameter without a file: fail, rand or zero" },
    [FLAG_PREDICT_DIR] = { "predict_output_dir", "", FLAG_TEXT, TRAIN,
                           "of --job=test: the outputs of the samples go there" },
    [FLAG_TEST_PERIOD] = { "test_period", "0", FLAG_COUNT, TRAIN,
                           "batches between tests; 0: one after each pass" },
    [FLAG_LOG_PERIOD] = { "log_period", "100", FLAG_COUNT, TRAIN,
                          "batches between lines of the log" },
    [FLAG_DOT_PERIOD] = { "dot_period", "1", FLAG_COUNT, TRAIN, "batches between dots" },
    [FLAG_SEED] = { "seed", "1", FLAG_COUNT, TRAIN, "of start values, dropout and order" },
    [FLAG_TRAINER_ID] = { "trainer_id", "0", FLAG_COUNT, TRAIN, "number of this trainer; 0 saves" },
    [FLAG_NUM_GRADIENT_SERVERS] = { "num_gradient_servers", "1", FLAG_COUNT, BOTH,
                                    "trainers there are" },
    [FLAG_PSERVERS] = { "pservers", "127.0.0.1", FLAG_TEXT, TRAIN,
                        "addresses of the parameter servers, with commas" },
    [FLAG_PORT] = { "port", "20134", FLAG_COUNT, BOTH, "the first port" },
    [FLAG_PORTS_NUM] = { "ports_num", "1", FLAG_COUNT, BOTH,
                         "ports for blocks of dense parameters, each with a process" },
    [FLAG_PORTS_NUM_FOR_SPARSE] = { "ports_num_for_sparse", "0", FLAG_COUNT, BOTH,
                                    "ports behind them, for rows of sparse parameters" },
    [FLAG_NICS] = { "nics", "", FLAG_TEXT, PSERVER,
                    "interfaces to listen on; without it: 127.0.0.1" },
    [FLAG_USE_GPU] = { "use_gpu", "0", FLAG_BOOL, TRAIN, "1: compute with a GPU" },
    [FLAG_SECRET_FILE] = { "secret_file", "", FLAG_TEXT, BOTH,
                           "of EDL: the secret that servers and trainers prove to each other" },
    [FLAG_LAG_MIN] = { "async_lagged_ratio_min", "1.0", FLAG_REAL, PSERVER,
                       "the least that async_lagged_ratio_default may be" },
    [FLAG_LAG] = { "async_lagged_ratio_default", "1.5", FLAG_REAL, PSERVER,
                   "pushes of others, times trainers, after which a push is dropped" },
    [FLAG_SEND_EVERY] = { "num_batches_per_send_parameter", "1", FLAG_COUNT, TRAIN,
                          "batches between two meetings of all trainers; of settings()" },
    [FLAG_CENTER] = { "center_parameter_update_method", "average", FLAG_TEXT, TRAIN,
                      "average or elastic_average; of settings()" },
    [FLAG_DELTA_ADD_RATE] = { "delta_add_rate", "1.0", FLAG_REAL, TRAIN,
                              "part of the distance that is added at a meeting; of settings()" },
    [FLAG_COMMENT] = { "comment", "", FLAG_TEXT, BOTH,
                       "words in the list of processes; of servers only" },
    IDLE("trainer_count", FLAG_COUNT, "1"),
    IDLE("rdma_tcp", FLAG_TEXT, "tcp"),
    IDLE("log_period_server", FLAG_COUNT, "500"),
    IDLE("start_pserver", FLAG_BOOL, "0"),
    IDLE("show_parameter_stats_period", FLAG_COUNT, "0"),
    IDLE("show_layer_stat", FLAG_BOOL, "0"),
    IDLE("use_old_updater", FLAG_BOOL, "0"),
    IDLE("pserver_num_threads", FLAG_COUNT, "1"),
    IDLE("loadsave_parameters_in_pserver", FLAG_BOOL, "0"),
    IDLE("sock_send_buf_size", FLAG_COUNT, "41943040"),
    IDLE("sock_recv_buf_size", FLAG_COUNT, "41943040"),
    IDLE("sock_listen_queue_size", FLAG_COUNT, "1024"),
    IDLE("small_messages", FLAG_BOOL, "0"),
    IDLE("check_sparse_distribution_in_pserver", FLAG_BOOL, "0"),
    IDLE("check_sparse_distribution_batches", FLAG_COUNT, "100"),
    IDLE("check_sparse_distribution_ratio", FLAG_REAL, "0.6"),
    IDLE("check_sparse_distribution_unbalance_degree", FLAG_REAL, "2.0"),
    IDLE("test_all_data_in_one_period", FLAG_BOOL, "0"),
    IDLE("average_test_period", FLAG_COUNT, "0"),
    IDLE("test_pass", FLAG_TEXT, "-1"),
    IDLE("test_wait", FLAG_BOOL, "0"),
    IDLE("with_cost", FLAG_BOOL, "1"),
    IDLE("distribute_test", FLAG_BOOL, "0"),
    IDLE("model_list", FLAG_TEXT, ""),
    IDLE("feat_file", FLAG_TEXT, ""),
    IDLE("thread_local_rand_use_global_seed", FLAG_BOOL, "0"),
    IDLE("checkgrad_eps", FLAG_REAL, "1e-05"),
    IDLE("log_clipping", FLAG_BOOL, "0"),
    IDLE("log_error_clipping", FLAG_BOOL, "0"),
    IDLE("log_barrier_abstract", FLAG_BOOL, "1"),
    IDLE("log_barrier_lowest_nodes", FLAG_COUNT, "5"),
    IDLE("log_barrier_show_log", FLAG_BOOL, "0"),
    IDLE("async_count", FLAG_COUNT, "0"),
    IDLE("parameter_block_size", FLAG_COUNT, "0"),
    IDLE("parameter_block_size_for_sparse", FLAG_COUNT, "0"),
    IDLE("enable_grad_share", FLAG_COUNT, "104857600"),
    IDLE("grad_share_block_num", FLAG_COUNT, "64"),
    IDLE("parallel_nn", FLAG_BOOL, "0"),
    IDLE("gpu_id", FLAG_COUNT, "0"),
    IDLE("cudnn_dir", FLAG_TEXT, ""),
    IDLE("prev_batch_state", FLAG_BOOL, "0"),
    IDLE("beam_size", FLAG_COUNT, "1"),
    IDLE("rnn_use_batch", FLAG_BOOL, "0"),
    IDLE("diy_beam_search_prob_so", FLAG_TEXT, ""),
    IDLE("allow_only_one_model_on_one_gpu", FLAG_BOOL, "1"),
    IDLE("enable_parallel_vector", FLAG_COUNT, "0"),
};

const struct paddle_flag_row *paddle_flag_row(size_t n)
{
    return n < ELEMENTS(rows) ? &rows[n] : NULL;
}

static size_t find(const char *name, size_t size)
{
    size_t i = 0;

    while (i < ELEMENTS(rows) &&
           (strlen(rows[i].name) != size || strncmp(rows[i].name, name, size) != 0))
        i++;
    return i;
}

static int unknown(const char *word, struct edl_error *error)
{
    const char *names[ELEMENTS(rows)], *near;
    char name[64];

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        names[i] = rows[i].name;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    near = nearest_word(name, names, ELEMENTS(rows));
    (void)edl_error_set(error, -EINVAL, "unknown flag --%s", name);
    return near != NULL ? edl_error_remedy(error, "did you mean --%s?", near)
                        : edl_error_remedy(error, "--help lists the flags");
}

static const char *boolean(const char *text)
{
    static const char *const words[][2] = { { "true", "1" }, { "t", "1" },  { "yes", "1" },
                                            { "y", "1" },    { "1", "1" },  { "false", "0" },
                                            { "f", "0" },    { "no", "0" }, { "n", "0" },
                                            { "0", "0" } };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (strcasecmp(text, words[i][0]) == 0)
            return words[i][1];
    return NULL;
}

static bool is_real(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    return end != text && *end == '\0' && isfinite(value);
}

/* set - source: how the user wrote it, for errors; typed: on the command line */
static int set(struct paddle_flags *flags, size_t i, const char *value, const char *source,
               bool typed, struct edl_error *error)
{
    static const char *const kinds[] = { "text", "true or false", "a number from 0 on",
                                         "a number" };
    const char *word = rows[i].kind == FLAG_BOOL ? boolean(value) : value;
    uint64_t count;

    if (word == NULL || (rows[i].kind == FLAG_COUNT && parse_u64(word, &count) < 0) ||
        (rows[i].kind == FLAG_REAL && !is_real(word)))
        return edl_error_set(error, -EINVAL, "%s is \"%.60s\", not %s", source, value,
                             kinds[rows[i].kind]);
    if (i < PADDLE_FLAGS_USED) {
        flags->values[i] = word;
        flags->given[i] = true;
        flags->typed[i] = typed;
        return 0;
    }
    for (size_t k = 0; k < flags->n_idle; k++)
        if (streq(flags->idle[k], rows[i].name))
            return 0;
    if (flags->n_idle < ELEMENTS(flags->idle))
        flags->idle[flags->n_idle++] = rows[i].name;
    return 0;
}

static int from_environment(struct paddle_flags *flags, paddle_environment_fn environment,
                            struct edl_error *error)
{
    char name[96];
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(rows); i++) {
        const char *value;

        (void)snprintf(name, sizeof name, "PADDLE_INIT_%s", rows[i].name);
        for (char *p = name; *p != '\0'; p++)
            *p = (char)toupper((unsigned char)*p);
        value = environment(name);
        if (value != NULL && *value != '\0')
            r = set(flags, i, value, name, false, error);
    }
    return r;
}

/* from_word - one flag; *used: how many words it took */
static int from_word(struct paddle_flags *flags, const char *word, const char *next, int *used,
                     struct edl_error *error)
{
    const char *name = word + (word[1] == '-' ? 2 : 1), *value = strchr(name, '=');
    size_t size = strcspn(name, "="), i = find(name, size);
    char source[80];

    *used = 1;
    if (i == ELEMENTS(rows) && strncmp(name, "no", 2) == 0 && value == NULL) {
        i = find(name + 2, size - 2);
        if (i < ELEMENTS(rows) && rows[i].kind == FLAG_BOOL)
            return set(flags, i, "false", word, true, error);
        i = ELEMENTS(rows);
    }
    if (i == ELEMENTS(rows))
        return unknown(name, error);
    (void)snprintf(source, sizeof source, "--%s", rows[i].name);
    if (value != NULL)
        return set(flags, i, value + 1, source, true, error);
    if (rows[i].kind == FLAG_BOOL)
        return set(flags, i, "true", source, true, error);
    if (next == NULL) {
        (void)edl_error_set(error, -EINVAL, "%s has no value", source);
        return edl_error_remedy(error, "write %s=VALUE", source);
    }
    *used = 2;
    return set(flags, i, next, source, true, error);
}

int paddle_flags_parse(int argc, char *const *argv, paddle_environment_fn environment,
                       struct paddle_flags *ret, struct edl_error *error)
{
    int r, used;

    *ret = (struct paddle_flags){ 0 };
    for (size_t i = 0; i < PADDLE_FLAGS_USED; i++)
        ret->values[i] = rows[i].fallback;
    r = from_environment(ret, environment, error);
    for (int i = 0; r == 0 && i < argc; i += used) {
        if (streq(argv[i], "--help") || streq(argv[i], "-h")) {
            ret->help = true;
            return 0;
        }
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            (void)edl_error_set(error, -EINVAL, "\"%.60s\" is no flag", argv[i]);
            return edl_error_remedy(error, "write --NAME=VALUE");
        }
        r = from_word(ret, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used, error);
    }
    if (r == 0 && !ret->given[FLAG_LOCAL])
        ret->values[FLAG_LOCAL] = ret->given[FLAG_PSERVERS] ? "0" : "1";
    return r;
}

bool paddle_flag_is(const struct paddle_flags *flags, enum paddle_flag flag)
{
    return streq(flags->values[flag], "1");
}

uint64_t paddle_flag_count(const struct paddle_flags *flags, enum paddle_flag flag)
{
    uint64_t count = 0;

    (void)parse_u64(flags->values[flag], &count);
    return count;
}
