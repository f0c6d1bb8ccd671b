/* SPDX-License-Identifier: Apache-2.0 */
/* test_paddle.c - the flags of `edl-paddle train` and `pserver`, and their translation */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/paddle/paddle_flags.h"
#include "client/paddle/paddle_nics.h"
#include "client/paddle/paddle_program.h"
#include "client/paddle/paddle_secret.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const char *const (*variables)[2];

static const char *environment(const char *name)
{
    for (size_t i = 0; variables != NULL && variables[i][0] != NULL; i++)
        if (streq(variables[i][0], name))
            return variables[i][1];
    return NULL;
}

#define PARSE(flags_, ...)                                                                         \
    parse((flags_), ELEMENTS(((const char *[]){ __VA_ARGS__ })), (const char *[]){ __VA_ARGS__ })

static void parse(struct paddle_flags *flags, size_t n, const char *const *words)
{
    struct edl_error error = { 0 };

    if (paddle_flags_parse((int)n, (char *const *)(uintptr_t)words, environment, flags, &error) < 0)
        fail_msg("%s", error.text);
}

static int reset(void **state)
{
    (void)state;
    variables = NULL;
    return 0;
}

TEST_EACH(reset, NULL);

/* Every flag of the table, by its name and by its variable. */
TEST(test_every_flag_is_taken)
{
    static const char *const values[] = { "word", "true", "7", "0.5" };
    const struct paddle_flag_row *row;
    struct paddle_flags flags;
    char word[96], name[96];
    size_t n = 0;

    for (; (row = paddle_flag_row(n)) != NULL; n++) {
        const char *pair[2][2] = { { name, values[row->kind] }, { NULL, NULL } };

        assert_non_null(row->name);
        (void)snprintf(word, sizeof word, "--%s=%s", row->name, values[row->kind]);
        PARSE(&flags, word);
        assert_int_equal(flags.n_idle, n >= PADDLE_FLAGS_USED);
        if (n < PADDLE_FLAGS_USED)
            assert_true(flags.given[n]);
        (void)snprintf(name, sizeof name, "PADDLE_INIT_%s", row->name);
        for (char *p = name; *p != '\0'; p++)
            *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        variables = (const char *const(*)[2])pair;
        PARSE(&flags, "--comment=x");
        assert_int_equal(flags.n_idle, n >= PADDLE_FLAGS_USED);
        if (n < PADDLE_FLAGS_USED)
            assert_true(flags.given[n]);
        variables = NULL;
    }
    assert_true(n > 60);
}

TEST(test_defaults)
{
    static const struct {
        enum paddle_flag flag;
        const char *value;
    } defaults[] = {
        { FLAG_PORT, "20134" },
        { FLAG_PORTS_NUM, "1" },
        { FLAG_PORTS_NUM_FOR_SPARSE, "0" },
        { FLAG_PSERVERS, "127.0.0.1" },
        { FLAG_TRAINER_ID, "0" },
        { FLAG_NUM_PASSES, "100" },
        { FLAG_LOG_PERIOD, "100" },
        { FLAG_DOT_PERIOD, "1" },
        { FLAG_SAVING_PERIOD, "1" },
        { FLAG_START_PASS, "0" },
        { FLAG_LOAD_MISSING, "fail" },
        { FLAG_LOCAL, "1" },
        { FLAG_JOB, "train" },
        { FLAG_SEED, "1" },
        { FLAG_NUM_GRADIENT_SERVERS, "1" },
    };
    struct paddle_flags flags;

    PARSE(&flags, "--comment=x");
    for (size_t i = 0; i < ELEMENTS(defaults); i++)
        assert_string_equal(flags.values[defaults[i].flag], defaults[i].value);
}

TEST(test_words_win_over_variables)
{
    static const char *const set[][2] = { { "PADDLE_INIT_PORT", "7164" },
                                          { "PADDLE_INIT_TRAINER_ID", "1" },
                                          { "PADDLE_INIT_USE_GPU", "False" },
                                          { "PADDLE_INIT_PSERVERS", "10.0.0.1" },
                                          { NULL, NULL } };
    struct paddle_flags flags;

    variables = set;
    PARSE(&flags, "--port", "7000", "--trainer_id=2", "--use_gpu", "--noparallel_nn");
    assert_int_equal(paddle_flag_count(&flags, FLAG_PORT), 7000);
    assert_int_equal(paddle_flag_count(&flags, FLAG_TRAINER_ID), 2);
    assert_true(paddle_flag_is(&flags, FLAG_USE_GPU));
    assert_false(paddle_flag_is(&flags, FLAG_LOCAL)); /* servers are named */
    PARSE(&flags, "--local=1");
    assert_true(paddle_flag_is(&flags, FLAG_LOCAL));
    assert_false(paddle_flag_is(&flags, FLAG_USE_GPU));
    PARSE(&flags, "-config=x");
    assert_string_equal(flags.values[FLAG_CONFIG], "x");
}

/* also of a boolean whose value is the same in both places */
TEST(test_typed_is_told_from_given)
{
    static const char *const set[][2] = { { "PADDLE_INIT_LOCAL", "true" },
                                          { "PADDLE_INIT_USE_GPU", "1" },
                                          { "PADDLE_INIT_PORT", "7164" },
                                          { NULL, NULL } };
    struct paddle_flags flags;

    variables = set;
    PARSE(&flags, "--local=1", "--port", "7164", "--noparallel_nn");
    assert_true(flags.typed[FLAG_LOCAL]);
    assert_true(flags.typed[FLAG_PORT]);
    assert_true(flags.given[FLAG_USE_GPU]);
    assert_false(flags.typed[FLAG_USE_GPU]);
}

TEST(test_what_is_wrong_is_named)
{
    static const struct {
        const char *word, *text, *remedy;
    } cases[] = {
        { "--prot=1", "unknown flag --prot", "did you mean --port?" },
        { "--zzzzzzzzzz", "unknown flag --zzzzzzzzzz", "--help" },
        { "--nouse_gpus", "unknown flag --nouse_gpus", "" },
        { "--port=x", "--port is \"x\", not a number from 0 on", "" },
        { "--use_gpu=maybe", "--use_gpu is \"maybe\", not true or false", "" },
        { "--checkgrad_eps=abc", "--checkgrad_eps is \"abc\", not a number", "" },
        { "--port", "--port has no value", "--port=VALUE" },
        { "train", "\"train\" is no flag", "--NAME=VALUE" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const char *const words[] = { cases[i].word };
        struct paddle_flags flags;
        struct edl_error error = { 0 };

        assert_int_equal(paddle_flags_parse(1, (char *const *)(uintptr_t)words, environment, &flags,
                                            &error),
                         -EINVAL);
        if (strstr(error.text, cases[i].text) == NULL ||
            strstr(error.remedy, cases[i].remedy) == NULL)
            fail_msg("%s: %s; %s", cases[i].word, error.text, error.remedy);
    }
    {
        static const char *const set[][2] = { { "PADDLE_INIT_PORT", "x" }, { NULL, NULL } };
        struct paddle_flags flags;
        struct edl_error error = { 0 };

        variables = set;
        assert_int_equal(paddle_flags_parse(0, NULL, environment, &flags, &error), -EINVAL);
        assert_non_null(strstr(error.text, "PADDLE_INIT_PORT"));
    }
}

static bool has(const struct paddle_command *command, const char *word)
{
    for (size_t i = 0; i < command->n; i++)
        if (streq(command->argv[i], word))
            return true;
    return false;
}

TEST(test_a_trainer_of_two_machines)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    struct edl_error error = { 0 };

    PARSE(&flags, "--config=recommendation", "--pservers=10.0.0.1,10.0.0.2", "--port=7164",
          "--ports_num=2", "--ports_num_for_sparse=1", "--trainer_id=1", "--num_gradient_servers=2",
          "--save_dir=./output", "--dot_period=10", "--local=0");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), 0);
    assert_string_equal(command.argv[0], "edl-trainer");
    assert_true(has(&command, "--servers=10.0.0.1:7164,10.0.0.1:7165,10.0.0.1:7166,10.0.0.2:7164,"
                              "10.0.0.2:7165,10.0.0.2:7166"));
    assert_true(has(&command, "--ports_num=2"));
    assert_true(has(&command, "--ports_num_for_sparse=1"));
    assert_true(has(&command, "--num_gradient_servers=2"));
    assert_true(has(&command, "--trainer_id=1"));
    assert_true(has(&command, "--secret-file=/secret"));
    assert_true(has(&command, "--save_dir=./output"));
    assert_true(has(&command, "--dot_period=10"));
    assert_true(has(&command, "--num_passes=100"));
    assert_true(has(&command, "--data=generated"));
    assert_false(has(&command, "--local"));
    paddle_command_done(&command);
    /* in a job its agent tells the secret */
    assert_int_equal(paddle_train(&flags, "/agent", NULL, &command, &error), 0);
    assert_false(has(&command, "--secret-file=/secret"));
    paddle_command_done(&command);
}

/* A list may have the first port of each server. */
TEST(test_servers_with_ports)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    struct edl_error error = { 0 };

    PARSE(&flags, "--config=x", "--pservers=10.0.0.1:7,[fd00::1]:8,fd00::2", "--port=9",
          "--ports_num=2");
    assert_int_equal(paddle_train(&flags, "/agent", NULL, &command, &error), 0);
    assert_true(has(&command, "--servers=10.0.0.1:7,10.0.0.1:8,[fd00::1]:8,[fd00::1]:9,fd00::2:9,"
                              "fd00::2:10"));
    assert_true(has(&command, "--ports_num=2"));
    paddle_command_done(&command);

    /* each server of a list that a job tells is one of its own, whatever is typed */
    PARSE(&flags, "--config=x", "--ports_num=2", "--pservers=10.0.0.1:7,10.0.0.1:9");
    flags.typed[FLAG_PSERVERS] = false;
    assert_int_equal(paddle_train(&flags, "/agent", NULL, &command, &error), 0);
    assert_true(has(&command, "--servers=10.0.0.1:7,10.0.0.1:9"));
    assert_true(has(&command, "--ports_num=1"));
    assert_true(has(&command, "--ports_num_for_sparse=0"));
    paddle_command_done(&command);
}

/* What is wrong with the servers is named by the flag that the user wrote. */
TEST(test_servers_that_cannot_be)
{
    static const struct {
        const char *words[2], *text;
    } cases[] = {
        { { "--pservers=127.0.0.1", "--ports_num=4000000000" }, "--ports_num and" },
        { { "--port=65535", "--ports_num=2" }, "--port is 65535" },
        { { "--port=0", "--ports_num=1" }, "--port is 0" },
        { { "--pservers=a,,b", "--ports_num=1" }, "--pservers is \"a,,b\": an address is empty" },
        { { "--pservers=a,", "--ports_num=1" }, "--pservers is \"a,\": an address is empty" },
        { { "--pservers=", "--ports_num=1" }, "--pservers is \"\": an address is empty" },
        { { "--pservers=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "--ports_num=64" },
          "--pservers has 17 addresses with 64 ports each" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct paddle_command command = { 0 };
        struct paddle_flags flags;
        struct edl_error error = { 0 };

        PARSE(&flags, "--config=x", "--local=0", cases[i].words[0], cases[i].words[1]);
        assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), -EINVAL);
        if (strstr(error.text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].text, error.text);
        paddle_command_done(&command);
    }
}

TEST(test_alone_and_test)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    struct edl_error error = { 0 };

    PARSE(&flags, "--config=fit_a_line", "--data=d");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), 0);
    assert_true(has(&command, "--local"));
    assert_false(has(&command, "--secret-file=/secret"));
    assert_true(has(&command, "--save_only_one=0"));
    paddle_command_done(&command);
    PARSE(&flags, "--config=fit_a_line", "--save_dir=o", "--saving_period_by_batches=5",
          "--save_only_one", "--save_tar=true");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), 0);
    assert_true(has(&command, "--saving_period_by_batches=5"));
    assert_true(has(&command, "--save_only_one=1"));
    assert_true(has(&command, "--save_tar=1"));
    paddle_command_done(&command);
    PARSE(&flags, "--config=fit_a_line", "--job=test", "--init_model_path=output/pass-00001");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), 0);
    assert_string_equal(command.argv[1], "test");
    assert_true(has(&command, "--init_model_path=output/pass-00001"));
    assert_false(has(&command, "--local"));
    paddle_command_done(&command);
}

TEST(test_what_a_trainer_cannot_do)
{
    static const struct {
        const char *words[2], *text;
    } cases[] = {
        { { "--port=1", "--comment=x" }, "--config is missing" },
        { { "--config=x", "--job=tim" },
          "--job is \"tim\"; train, test, checkgrad and time there are" },
        { { "--config=x", "--predict_output_dir=y" }, "--predict_output_dir is for --job=test" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct paddle_command command = { 0 };
        struct paddle_flags flags;
        struct edl_error error = { 0 };

        parse(&flags, 2, cases[i].words);
        assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), -EINVAL);
        assert_non_null(strstr(error.text, cases[i].text));
        paddle_command_done(&command);
    }
    {
        struct paddle_command command = { 0 };
        struct paddle_flags flags;
        struct edl_error error = { 0 };

        PARSE(&flags, "--config=x", "--trainer_id=2", "--num_gradient_servers=2");
        assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), -EINVAL);
        assert_non_null(strstr(error.text, "--trainer_id is 2"));
        paddle_command_done(&command);
    }
}

/* By hand a number is below the count, wherever both come from; in a job the count may grow. */
TEST(test_the_number_of_a_trainer)
{
    static const char *const set[][2] = { { "PADDLE_INIT_TRAINER_ID", "2" },
                                          { "PADDLE_INIT_NUM_GRADIENT_SERVERS", "2" },
                                          { NULL, NULL } };
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    struct edl_error error = { 0 };

    variables = set;
    PARSE(&flags, "--config=x", "--pservers=10.0.0.1");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), -EINVAL);
    assert_non_null(strstr(error.text, "--trainer_id is 2"));
    assert_int_equal(paddle_train(&flags, "/agent", NULL, &command, &error), 0);
    paddle_command_done(&command);
    assert_int_equal(paddle_trainer_of_job(&flags, &command, &error), 0);
    paddle_command_done(&command);
    PARSE(&flags, "--config=x", "--trainer_id=1");
    assert_int_equal(paddle_train(&flags, NULL, "/secret", &command, &error), 0);
    paddle_command_done(&command);
}

TEST(test_servers_of_a_machine)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    struct edl_error error = { 0 };

    PARSE(&flags, "--port=7164", "--ports_num=2", "--ports_num_for_sparse=1");
    assert_int_equal(paddle_pserver_check(&flags, &error), 3);
    paddle_pserver(&flags, "10.0.0.1", 2, NULL, "/secret", &command);
    assert_string_equal(command.argv[0], "edl-pserver");
    assert_true(has(&command, "--listen=10.0.0.1:7166"));
    assert_true(has(&command, "--index=any"));
    assert_true(has(&command, "--ports_num=2"));
    assert_true(has(&command, "--ports_num_for_sparse=1"));
    assert_true(has(&command, "--secret-file=/secret"));
    paddle_command_done(&command);
    paddle_pserver(&flags, "fe80::1", 0, "/agent", NULL, &command);
    assert_true(has(&command, "--listen=[fe80::1]:7164"));
    paddle_command_done(&command);
    PARSE(&flags, "--ports_num=0");
    assert_int_equal(paddle_pserver_check(&flags, &error), -EINVAL);
    PARSE(&flags, "--port=65535", "--ports_num=2");
    assert_int_equal(paddle_pserver_check(&flags, &error), -EINVAL);
    PARSE(&flags, "--ports_num=60", "--ports_num_for_sparse=5");
    assert_int_equal(paddle_pserver_check(&flags, &error), -EINVAL);
}

static bool has_lag_rule(const char *socket, const char *count)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;
    bool ret;

    PARSE(&flags, count, "--async_lagged_ratio_default=2");
    paddle_pserver(&flags, "10.0.0.1", 0, socket, "/secret", &command);
    ret = has(&command, "--lag-ratio=2");
    paddle_command_done(&command);
    return ret;
}

/* A push is old only where somebody has told how many trainers there are. */
TEST(test_the_lag_rule_wants_a_count)
{
    static const char *const set[][2] = { { "PADDLE_INIT_NUM_GRADIENT_SERVERS", "2" },
                                          { NULL, NULL } };

    assert_false(has_lag_rule(NULL, "--comment=x"));
    assert_false(has_lag_rule(NULL, "--num_gradient_servers=1"));
    assert_true(has_lag_rule(NULL, "--num_gradient_servers=2"));
    assert_true(has_lag_rule("/agent", "--num_gradient_servers=1")); /* edl show tells of pushes */
    variables = set;
    assert_true(has_lag_rule(NULL, "--comment=x"));
    assert_false(has_lag_rule("/agent", "--comment=x")); /* the least number of a job's trainers */
}

/* The flags that the line names, in the order of the table. */
static void assert_idle(enum paddle_way way, const char *socket, const struct paddle_flags *flags,
                        const char *names)
{
    char idle[400] = "";
    size_t used = 0;

    for (enum paddle_flag flag = 0; flag < PADDLE_FLAGS_USED; flag++)
        if (paddle_is_idle(flags, way, socket, flag)) {
            used += (size_t)snprintf(idle + used, sizeof idle - used, " %s",
                                     paddle_flag_row(flag)->name);
            assert_true(used < sizeof idle);
        }
    assert_string_equal(idle, names);
}

TEST(test_flags_without_effect_are_named)
{
    static const char *const set[][2] = { { "PADDLE_INIT_NUM_PASSES", "3" },
                                          { "PADDLE_INIT_PORT", "7164" },
                                          { "PADDLE_INIT_NICS", "lo" },
                                          { "PADDLE_INIT_NUM_GRADIENT_SERVERS", "2" },
                                          { NULL, NULL } };
    struct paddle_flags flags;

    PARSE(&flags, "--config=x", "--num_passes=3", "--save_dir=o", "--use_gpu=1", "--start_pass=2",
          "--log_period=2", "--comment=x");
    assert_idle(PADDLE_TRAINER_OF_JOB, "/agent", &flags, " num_passes save_dir start_pass use_gpu");
    assert_idle(PADDLE_ALONE, NULL, &flags, "");
    assert_idle(PADDLE_WITH_SERVERS, NULL, &flags, "");
    assert_idle(PADDLE_TEST, NULL, &flags, " num_passes save_dir start_pass log_period");
    assert_idle(PADDLE_PSERVER, NULL, &flags,
                " config num_passes save_dir start_pass log_period use_gpu");
    PARSE(&flags, "--config=x", "--job=test", "--test_period=3");
    assert_idle(PADDLE_TEST, NULL, &flags, " test_period");
    PARSE(&flags, "--config=x", "--job=time", "--test_period=3");
    assert_idle(PADDLE_TEST, NULL, &flags, "");
    PARSE(&flags, "--config=x", "--pservers=a", "--port=7164", "--trainer_id=0", "--nics=eth0",
          "--secret_file=s");
    assert_idle(PADDLE_ALONE, NULL, &flags, " trainer_id pservers port nics secret_file");
    assert_idle(PADDLE_WITH_SERVERS, NULL, &flags, " nics");
    PARSE(&flags, "--ports_num=2", "--async_lagged_ratio_default=2");
    assert_idle(PADDLE_PSERVER, NULL, &flags, " async_lagged_ratio_default"); /* without a count */
    variables = set;
    PARSE(&flags, "--ports_num=2", "--async_lagged_ratio_default=2");
    assert_idle(PADDLE_PSERVER, NULL, &flags, "");
    assert_idle(PADDLE_PSERVER_OF_JOB, "/agent", &flags, " ports_num async_lagged_ratio_default");
    PARSE(&flags, "--num_gradient_servers=4", "--async_lagged_ratio_default=2");
    assert_idle(PADDLE_PSERVER_OF_JOB, "/agent", &flags, "");
}

/* --help lists what some way of the program heeds, and nothing else. */
TEST(test_help_lists_what_has_an_effect)
{
    struct paddle_flags flags = { 0 };

    for (enum paddle_flag flag = 0; flag < PADDLE_FLAGS_USED; flag++) {
        const struct paddle_flag_row *row = paddle_flag_row(flag);
        bool trains = false, serves = false;

        flags.values[FLAG_NUM_GRADIENT_SERVERS] = "2";
        flags.values[FLAG_JOB] = "train";
        flags.typed[flag] = true;
        for (enum paddle_way way = PADDLE_ALONE; way < PADDLE_PSERVER; way++)
            trains = trains || !paddle_is_idle(&flags, way, NULL, flag);
        for (enum paddle_way way = PADDLE_PSERVER; way <= PADDLE_PSERVER_OF_JOB; way++)
            serves = serves || !paddle_is_idle(&flags, way, NULL, flag);
        if (trains != row->of_train || serves != row->of_pserver)
            fail_msg("--%s", row->name);
    }
}

TEST(test_a_server_of_a_job)
{
    struct paddle_command command = { 0 };
    struct paddle_flags flags;

    PARSE(&flags, "--num_gradient_servers=4", "--async_lagged_ratio_default=2");
    paddle_pserver_of_job(&flags, "/agent", &command);
    assert_int_equal(command.n, 3);
    assert_string_equal(command.argv[0], "edl-pserver");
    assert_true(has(&command, "--trainers=4"));
    assert_true(has(&command, "--lag-ratio=2"));
    paddle_command_done(&command);
    PARSE(&flags, "--comment=x");
    paddle_pserver_of_job(&flags, "/agent", &command);
    assert_int_equal(command.n, 1);
    paddle_command_done(&command);
}

TEST(test_interfaces)
{
    char address[PADDLE_ADDRESS_SIZE];
    struct edl_error error = { 0 };

    assert_int_equal(paddle_nics_address("", "10.0.0.1", address, &error), 0);
    assert_string_equal(address, "127.0.0.1");
    assert_int_equal(paddle_nics_address("no-such-nic,lo", NULL, address, &error), 0);
    assert_string_equal(address, "127.0.0.1");
    assert_int_equal(paddle_nics_address("no-such-nic,lo", "127.0.0.9", address, &error), 0);
    assert_string_equal(address, "127.0.0.9");
    assert_int_equal(paddle_nics_address("no-such-nic,lo", "192.0.2.1", address, &error), 0);
    assert_string_equal(address, "127.0.0.1");
    assert_int_equal(paddle_nics_address("no-such-nic", "127.0.0.9", address, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, " lo"));
}

/* Made once, for its owner alone, and the same for whoever comes later. */
TEST(test_the_secret_of_a_user)
{
    char folder[] = "/tmp/edl-test-paddle-XXXXXX", first[80], second[80];
    _cleanup_free_ char *path = NULL, *again = NULL;
    struct edl_error error = { 0 };
    struct stat st;
    FILE *file;

    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_int_equal(paddle_secret_file(&path, &error), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 65);
    file = fopen(path, "re");
    assert_non_null(fgets(first, sizeof first, file));
    (void)fclose(file);
    assert_int_equal(paddle_secret_file(&again, &error), 0);
    assert_string_equal(path, again);
    file = fopen(path, "re");
    assert_non_null(fgets(second, sizeof second, file));
    (void)fclose(file);
    assert_string_equal(first, second);
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
}
