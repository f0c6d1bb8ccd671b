/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_program.c - see paddle_program.h */
#include "client/paddle/paddle_program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

__attribute__((format(printf, 2, 3))) static void add(struct paddle_command *command,
                                                      const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (command->n == PADDLE_ARGV_MAX || vasprintf(&command->argv[command->n++], format, ap) == -1)
        abort();
    va_end(ap);
}

void paddle_command_done(struct paddle_command *command)
{
    for (size_t i = 0; i < command->n; i++)
        free(command->argv[i]);
    *command = (struct paddle_command){ 0 };
}

static unsigned ports_of(const struct paddle_flags *flags)
{
    return (unsigned)(paddle_flag_count(flags, FLAG_PORTS_NUM) +
                      paddle_flag_count(flags, FLAG_PORTS_NUM_FOR_SPARSE));
}

int paddle_pserver_check(const struct paddle_flags *flags, struct edl_error *error)
{
    uint64_t port = paddle_flag_count(flags, FLAG_PORT);
    uint64_t dense = paddle_flag_count(flags, FLAG_PORTS_NUM);
    uint64_t sparse = paddle_flag_count(flags, FLAG_PORTS_NUM_FOR_SPARSE);

    if (dense == 0)
        return edl_error_set(error, -EINVAL, "--ports_num is 0; 1 or more is possible");
    if (dense > PADDLE_PORTS_MAX || sparse > PADDLE_PORTS_MAX - dense)
        return edl_error_set(error, -EINVAL,
                             "--ports_num and --ports_num_for_sparse are %" PRIu64 " and %" PRIu64
                             "; %d together are possible",
                             dense, sparse, PADDLE_PORTS_MAX);
    if (port == 0 || port > UINT16_MAX || port + dense + sparse - 1 > UINT16_MAX)
        return edl_error_set(error, -EINVAL,
                             "--port is %" PRIu64 ", and of %" PRIu64
                             " port%s from there on the last is not below 65536",
                             port, dense + sparse, PLURAL(dense + sparse));
    return (int)ports_of(flags);
}

/* count_addresses - of --pservers; 0 with an error: there is none, or an empty one */
static size_t count_addresses(const char *list, struct edl_error *error)
{
    size_t n = 0;

    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");

        if (length == 0) {
            (void)edl_error_set(error, -EINVAL, "--pservers is \"%.200s\": an address is empty",
                                list);
            (void)edl_error_remedy(error, "write --pservers=ADDRESS,ADDRESS,...");
            return 0;
        }
        n++;
        word += length;
        if (*word == '\0')
            return n;
    }
}

static int check_servers(const struct paddle_flags *flags, struct edl_error *error)
{
    int ports = paddle_pserver_check(flags, error);
    size_t n;

    if (ports < 0)
        return ports;
    n = count_addresses(flags->values[FLAG_PSERVERS], error);
    if (n == 0)
        return -EINVAL;
    if (n > PADDLE_SERVERS_MAX / (size_t)ports)
        return edl_error_set(
            error, -EINVAL,
            "--pservers has %zu address%s with %d port%s each; at most %d servers are "
            "possible",
            n, PLURAL_ES(n), ports, PLURAL(ports), PADDLE_SERVERS_MAX);
    return 0;
}

/* has_port - 10.0.0.1:7164 or [fd00::1]:7164; fd00::1 has none */
static bool has_port(const char *word, int length)
{
    const char *colon = memchr(word, ':', (size_t)length);
    const char *last = memrchr(word, ':', (size_t)length);

    return colon != NULL && (colon == last || (word[0] == '[' && last[-1] == ']'));
}

/* add_ports - trainers and servers find the same blocks and rows by them; single: each server of
 * the list is one of its own */
static void add_ports(const struct paddle_flags *flags, bool single, struct paddle_command *ret)
{
    add(ret, "--ports_num=%s", single ? "1" : flags->values[FLAG_PORTS_NUM]);
    add(ret, "--ports_num_for_sparse=%s", single ? "0" : flags->values[FLAG_PORTS_NUM_FOR_SPARSE]);
}

/* is_single - a job tells this list, and gives each of its servers one port */
static bool is_single(const struct paddle_flags *flags)
{
    const char *list = flags->values[FLAG_PSERVERS];

    return !flags->typed[FLAG_PSERVERS] && has_port(list, (int)strcspn(list, ","));
}

/* first_port - of a word of the list: its own, else --port; *length becomes that of the address */
static uint64_t first_port(const struct paddle_flags *flags, const char *word, int *length)
{
    const char *colon;

    if (!has_port(word, *length))
        return paddle_flag_count(flags, FLAG_PORT);
    colon = memrchr(word, ':', (size_t)*length);
    *length = (int)(colon - word);
    return strtoull(colon + 1, NULL, 10);
}

/* add_servers - each address with each of its ports: 10.0.0.1:7164,10.0.0.1:7165,... One may have a
 * first port of its own, as a job tells it */
static int add_servers(const struct paddle_flags *flags, struct paddle_command *ret,
                       struct edl_error *error)
{
    const bool single = is_single(flags);
    const unsigned ports = single ? 1 : ports_of(flags);
    const char *separator = "";
    size_t size = 0;
    char *list = NULL;
    FILE *out;
    int r = check_servers(flags, error);

    if (r < 0)
        return r;
    out = open_memstream(&list, &size);
    if (out == NULL)
        abort();
    for (const char *word = flags->values[FLAG_PSERVERS]; *word != '\0';) {
        const size_t whole = strcspn(word, ",");
        int length = (int)whole;
        const uint64_t port = first_port(flags, word, &length);

        for (unsigned i = 0; i < ports; i++, separator = ",")
            (void)fprintf(out, "%s%.*s:%" PRIu64, separator, length, word, port + i);
        word += whole;
        word += *word == ',';
    }
    (void)fclose(out);
    add(ret, "--servers=%s", list);
    add_ports(flags, single, ret);
    free(list);
    return 0;
}

static void add_secret(const struct paddle_flags *flags, const char *socket,
                       const char *secret_file, struct paddle_command *ret)
{
    if (flags->given[FLAG_SECRET_FILE])
        add(ret, "--secret-file=%s", flags->values[FLAG_SECRET_FILE]);
    else if (socket == NULL)
        add(ret, "--secret-file=%s", secret_file);
}

/* check_number - of this trainer, where all are started by hand: in a job the count is the least
 * number of trainers, and ids may be above it */
static int check_number(const struct paddle_flags *flags, struct edl_error *error)
{
    if (!flags->given[FLAG_TRAINER_ID] || !flags->given[FLAG_NUM_GRADIENT_SERVERS] ||
        paddle_flag_count(flags, FLAG_TRAINER_ID) <
            paddle_flag_count(flags, FLAG_NUM_GRADIENT_SERVERS))
        return 0;
    return edl_error_set(error, -EINVAL,
                         "--trainer_id is %s, and --num_gradient_servers %s: ids are below it",
                         flags->values[FLAG_TRAINER_ID], flags->values[FLAG_NUM_GRADIENT_SERVERS]);
}

static int check_train(const struct paddle_flags *flags, struct edl_error *error)
{
    const char *job = flags->values[FLAG_JOB];

    if (*flags->values[FLAG_CONFIG] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--config is missing");
        return edl_error_remedy(error, "name a network: --config=recommendation, or a file");
    }
    if (!streq(job, "train") && !streq(job, "test") && !streq(job, "checkgrad") &&
        !streq(job, "time"))
        return edl_error_set(error, -EINVAL,
                             "--job is \"%.40s\"; train, test, checkgrad and time there are", job);
    if (*flags->values[FLAG_PREDICT_DIR] != '\0' && !streq(job, "test")) {
        (void)edl_error_set(error, -EINVAL, "--predict_output_dir is for --job=test");
        return edl_error_remedy(error, "add --job=test and --init_model_path=DIR/pass-00000");
    }
    return 0;
}

static void add_given(const struct paddle_flags *flags, enum paddle_flag flag, const char *option,
                      struct paddle_command *ret)
{
    if (*flags->values[flag] != '\0')
        add(ret, "--%s=%s", option, flags->values[flag]);
}

/* tells_trainers - what nobody has said is no count that another trainer could contradict; in a job
 * the environment has the least number, which only a division is worth */
static bool tells_trainers(const struct paddle_flags *flags, const char *socket)
{
    return paddle_flag_count(flags, FLAG_SEND_EVERY) != 1 ||
           (socket != NULL ? flags->typed[FLAG_NUM_GRADIENT_SERVERS]
                           : flags->given[FLAG_NUM_GRADIENT_SERVERS]);
}

static int add_training(const struct paddle_flags *flags, const char *socket,
                        const char *secret_file, struct paddle_command *ret,
                        struct edl_error *error)
{
    static const struct {
        enum paddle_flag flag;
        const char *option;
    } passed[] = {
        { FLAG_NUM_PASSES, "num_passes" },
        { FLAG_SAVE_DIR, "save_dir" },
        { FLAG_SAVING_PERIOD, "saving_period" },
        { FLAG_START_PASS, "start_pass" },
        { FLAG_SAVING_BATCHES, "saving_period_by_batches" },
        { FLAG_SAVE_ONLY_ONE, "save_only_one" },
        { FLAG_SAVE_TAR, "save_tar" },
        { FLAG_TEST_PERIOD, "test_period" },
        { FLAG_LOG_PERIOD, "log-period" },
        { FLAG_DOT_PERIOD, "dot_period" },
    };

    for (size_t i = 0; i < ELEMENTS(passed); i++)
        add_given(flags, passed[i].flag, passed[i].option, ret);
    if (paddle_flag_is(flags, FLAG_LOCAL)) {
        add(ret, "--local");
        return 0;
    }
    add(ret, "--trainer_id=%s", flags->values[FLAG_TRAINER_ID]);
    if (paddle_flag_count(flags, FLAG_SEND_EVERY) != 1) {
        add_given(flags, FLAG_SEND_EVERY, "num_batches_per_send_parameter", ret);
        add_given(flags, FLAG_CENTER, "center_parameter_update_method", ret);
        add_given(flags, FLAG_DELTA_ADD_RATE, "delta_add_rate", ret);
    }
    if (tells_trainers(flags, socket))
        add_given(flags, FLAG_NUM_GRADIENT_SERVERS, "num_gradient_servers", ret);
    add_secret(flags, socket, secret_file, ret);
    return add_servers(flags, ret, error);
}

/* A trainer_config.py names its data itself. */
static bool names_program(const char *config)
{
    const size_t size = strlen(config);

    return size > 3 && streq(config + size - 3, ".py");
}

int paddle_train(const struct paddle_flags *flags, const char *socket, const char *secret_file,
                 struct paddle_command *ret, struct edl_error *error)
{
    const char *job = flags->values[FLAG_JOB];
    int r = check_train(flags, error);

    if (r >= 0 && socket == NULL)
        r = check_number(flags, error);
    if (r < 0)
        return r;
    add(ret, "edl-trainer");
    if (!streq(job, "train"))
        add(ret, "%s", job);
    add_given(flags, FLAG_CONFIG, "config", ret);
    add_given(flags, FLAG_CONFIG_ARGS, "config_args", ret);
    add_given(flags, FLAG_SEED, "seed", ret);
    add_given(flags, FLAG_INIT_MODEL_PATH, "init_model_path", ret);
    add_given(flags, FLAG_LOAD_MISSING, "load_missing_parameter_strategy", ret);
    add_given(flags, FLAG_PREDICT_DIR, "predict_output_dir", ret);
    if (streq(job, "time"))
        add_given(flags, FLAG_TEST_PERIOD, "test_period", ret);
    add(ret, "--log-style=glog");
    add(ret, "--device=%s", paddle_flag_is(flags, FLAG_USE_GPU) ? "cuda" : "cpu");
    if (*flags->values[FLAG_DATA] != '\0')
        add_given(flags, FLAG_DATA, "data", ret);
    else if (!streq(job, "checkgrad") && !names_program(flags->values[FLAG_CONFIG]))
        add(ret, "--data=generated");
    return streq(job, "train") ? add_training(flags, socket, secret_file, ret, error) : 0;
}

int paddle_trainer_of_job(const struct paddle_flags *flags, struct paddle_command *ret,
                          struct edl_error *error)
{
    int r = check_train(flags, error);

    if (r < 0)
        return r;
    add(ret, "edl-trainer");
    add_given(flags, FLAG_CONFIG, "config", ret);
    add_given(flags, FLAG_CONFIG_ARGS, "config_args", ret);
    add_given(flags, FLAG_SEED, "seed", ret);
    add_given(flags, FLAG_LOG_PERIOD, "log-period", ret);
    return 0;
}

/* A ratio that is too small is the usual one, as in PaddlePaddle. */
static double lag_ratio(const struct paddle_flags *flags)
{
    double ratio = strtod(flags->values[FLAG_LAG], NULL);

    return ratio > strtod(flags->values[FLAG_LAG_MIN], NULL) ? ratio : 1.5;
}

/* counts_trainers - servers know how many trainers there are, so they can tell an old push
 * In a job the environment has the least number of trainers, so only a typed count is true. By hand
 * the default of one is what nobody has said, and the pushes of one trainer are never old. */
static bool counts_trainers(const struct paddle_flags *flags, const char *socket)
{
    return socket != NULL ? flags->typed[FLAG_NUM_GRADIENT_SERVERS]
                          : paddle_flag_count(flags, FLAG_NUM_GRADIENT_SERVERS) > 1;
}

static void add_lag_rule(const struct paddle_flags *flags, const char *socket,
                         struct paddle_command *ret)
{
    if (!counts_trainers(flags, socket))
        return;
    add(ret, "--trainers=%s", flags->values[FLAG_NUM_GRADIENT_SERVERS]);
    add(ret, "--lag-ratio=%g", lag_ratio(flags));
}

void paddle_pserver(const struct paddle_flags *flags, const char *address, unsigned n,
                    const char *socket, const char *secret_file, struct paddle_command *ret)
{
    add(ret, "edl-pserver");
    add(ret, strchr(address, ':') != NULL ? "--listen=[%s]:%" PRIu64 : "--listen=%s:%" PRIu64,
        address, paddle_flag_count(flags, FLAG_PORT) + n);
    add(ret, "--index=any");
    add_ports(flags, false, ret);
    add_lag_rule(flags, socket, ret);
    add_secret(flags, socket, secret_file, ret);
}

void paddle_pserver_of_job(const struct paddle_flags *flags, const char *socket,
                           struct paddle_command *ret)
{
    add(ret, "edl-pserver");
    add_lag_rule(flags, socket, ret);
}

#define ALONE (1U << PADDLE_ALONE)
#define SERVED (1U << PADDLE_WITH_SERVERS)
#define TEST (1U << PADDLE_TEST)
#define OF_JOB (1U << PADDLE_TRAINER_OF_JOB)
#define BY_HAND (ALONE | SERVED | TEST)
#define PSERVER (1U << PADDLE_PSERVER)
#define PSERVER_OF_JOB (1U << PADDLE_PSERVER_OF_JOB)

/* The ways that heed a flag. --comment is for the list of processes, whatever the way. */
static const unsigned ways[PADDLE_FLAGS_USED] = {
    [FLAG_JOB] = BY_HAND | OF_JOB,
    [FLAG_CONFIG] = BY_HAND | OF_JOB,
    [FLAG_CONFIG_ARGS] = BY_HAND | OF_JOB,
    [FLAG_DATA] = BY_HAND,
    [FLAG_LOCAL] = BY_HAND,
    [FLAG_NUM_PASSES] = ALONE | SERVED,
    [FLAG_SAVE_DIR] = ALONE | SERVED,
    [FLAG_SAVING_PERIOD] = ALONE | SERVED,
    [FLAG_SAVING_BATCHES] = ALONE | SERVED,
    [FLAG_SAVE_ONLY_ONE] = ALONE | SERVED,
    [FLAG_SAVE_TAR] = ALONE | SERVED,
    [FLAG_START_PASS] = ALONE | SERVED,
    [FLAG_INIT_MODEL_PATH] = BY_HAND,
    [FLAG_LOAD_MISSING] = BY_HAND,
    [FLAG_PREDICT_DIR] = TEST,
    [FLAG_TEST_PERIOD] = TEST | ALONE | SERVED,
    [FLAG_LOG_PERIOD] = ALONE | SERVED | OF_JOB,
    [FLAG_DOT_PERIOD] = ALONE | SERVED,
    [FLAG_SEED] = BY_HAND | OF_JOB,
    [FLAG_TRAINER_ID] = SERVED,
    [FLAG_NUM_GRADIENT_SERVERS] = SERVED | PSERVER | PSERVER_OF_JOB,
    [FLAG_PSERVERS] = SERVED,
    [FLAG_PORT] = SERVED | PSERVER,
    [FLAG_PORTS_NUM] = SERVED | PSERVER,
    [FLAG_PORTS_NUM_FOR_SPARSE] = SERVED | PSERVER,
    [FLAG_NICS] = PSERVER,
    [FLAG_USE_GPU] = BY_HAND,
    [FLAG_SECRET_FILE] = SERVED | PSERVER,
    [FLAG_LAG_MIN] = PSERVER | PSERVER_OF_JOB,
    [FLAG_LAG] = PSERVER | PSERVER_OF_JOB,
    [FLAG_SEND_EVERY] = SERVED,
    [FLAG_CENTER] = SERVED,
    [FLAG_DELTA_ADD_RATE] = SERVED,
    [FLAG_COMMENT] = BY_HAND | OF_JOB | PSERVER | PSERVER_OF_JOB,
};

bool paddle_is_idle(const struct paddle_flags *flags, enum paddle_way way, const char *socket,
                    enum paddle_flag flag)
{
    const bool of_lag_rule = flag == FLAG_LAG || flag == FLAG_LAG_MIN;
    const bool of_time = way == PADDLE_TEST && flag == FLAG_TEST_PERIOD;

    return flags->typed[flag] &&
           ((ways[flag] & 1U << way) == 0 || (of_lag_rule && !counts_trainers(flags, socket)) ||
            (of_time && !streq(flags->values[FLAG_JOB], "time")));
}
