/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_job.c - command lines of PaddlePaddle's paddle.py, and the job that comes of them */
#include "client/run_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/json_read.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LINE_BYTES 256

/* Puts a word and a blank behind the text in a buffer of LINE_BYTES. */
static void append(char *text, const char *word)
{
    size_t length = strlen(text);
    int written = snprintf(text + length, LINE_BYTES - length, "%s ", word);

    assert_in_range(written, 1, LINE_BYTES - length - 1);
}

/* words separated by blanks; buffer has LINE_BYTES */
static int split(const char *line, char *buffer, char **own, int *n_own, char **flags,
                 size_t *n_flags, struct edl_error *error)
{
    char *words[32], *rest = buffer, *word;
    int n = 0;

    *error = (struct edl_error){ 0 };
    (void)snprintf(buffer, LINE_BYTES, "%s", line);
    while ((word = strsep(&rest, " ")) != NULL)
        words[n++] = word;
    return run_split(n, words, own, n_own, flags, n_flags, error);
}

TEST(test_words_are_sorted)
{
    static const struct {
        const char *line, *own, *flags; /* flags NULL: refused */
    } rows[] = {
        { "--job_dispatch_package=/p --dot_period=10 --save_dir=./output",
          "--job_dispatch_package=/p ", "--dot_period=10 --save_dir=./output " },
        { "-p /p --use_gpu=0", "-p /p ", "--use_gpu=0 " },
        { "-p/p -j /w", "-p/p -j /w ", "" },
        { "--job_workspace /w --local", "--job_workspace /w ", "--local " },
        { "--conf=x.py --config=net.py --confused=1", "--conf=x.py ",
          "--config=net.py --confused=1 " },
        { "--server=http://x --json --help", "--server=http://x --json --help ", "" },
        { "--a=1 --b=x=y --c=", "", "--a=1 --b=x=y --c= " },
        { "dot_period=10", "", NULL },
        { "-x", "", NULL },
        { "--", "", NULL },
        { "-", "", NULL },
        { "--a=1 value", "", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char buffer[LINE_BYTES], said[LINE_BYTES] = "", others[LINE_BYTES] = "";
        char *own[32], *flags[32];
        struct edl_error error;
        size_t n_flags = 0;
        int n_own = 0, r = split(rows[i].line, buffer, own, &n_own, flags, &n_flags, &error);

        for (int j = 0; j < n_own && r == 0; j++)
            append(said, own[j]);
        for (size_t j = 0; j < n_flags && r == 0; j++)
            append(others, flags[j]);
        if ((r == 0) != (rows[i].flags != NULL) || !streq(said, rows[i].own) ||
            (r == 0 && !streq(others, rows[i].flags)) || (r < 0 && error.remedy[0] == '\0'))
            fail_msg("%s: %d \"%s\" \"%s\" %s", rows[i].line, r, said, others, error.text);
    }
}

TEST(test_one_way_to_a_workspace)
{
    static const struct {
        struct run_options options;
        const char *said; /* NULL: fine */
    } rows[] = {
        { { .package = "p" }, NULL },
        { { .workspace = "/home/paddle/JOB1" }, NULL },
        { { .package = "p", .workspace = "/w" }, "both given" },
        { { .package = NULL }, "neither" },
        { { .workspace = "w" }, "no absolute path" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        int r = run_check(&rows[i].options, &error);

        if ((r == 0) != (rows[i].said == NULL) ||
            (r < 0 && (strstr(error.text, rows[i].said) == NULL || error.remedy[0] == '\0')))
            fail_msg("%zu: %d %s", i, r, error.text);
    }
}

TEST(test_paths_into_the_copy)
{
    static const struct {
        const char *flag, *folder, *text;
    } cases[] = {
        { "--config=/home/ann/demo/trainer_config.py", "/home/ann/demo",
          "--config=./trainer_config.py" },
        { "--config=/home/ann/demo/trainer_config.py", "/home/ann/demo//",
          "--config=./trainer_config.py" },
        { "--save_dir=/home/ann/demo", "/home/ann/demo", "--save_dir=." },
        { "--save_dir=/home/ann/demo2/x", "/home/ann/demo", NULL },
        { "--save_dir=./output", "/home/ann/demo", NULL },
        { "--local", "/home/ann/demo", NULL },
        { "--config=/etc/x", "/", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *text = run_flag_in_copy(cases[i].flag, cases[i].folder);

        if (cases[i].text == NULL)
            assert_null(text);
        else
            assert_string_equal(text, cases[i].text);
    }
}

TEST(test_what_is_no_utf8_is_refused)
{
    char *good[] = { (char *)"--save_dir=./caf\xc3\xa9" },
         *bad[] = { (char *)"--save_dir=./caf\xe9" };
    const struct run_options fine = { .package = "p" }, wrong = { .workspace = "/w\xe9" };
    struct edl_error error = { 0 };

    assert_int_equal(run_check_text(&fine, good, 1, &error), 0);
    assert_int_equal(run_check_text(&fine, bad, 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "is no UTF-8"));
    assert_int_equal(run_check_text(&wrong, good, 1, &error), -EINVAL);
}

static const char conf[] =
    "HOSTS = ['root@192.168.129.79', 'root@n2.example.org', 'n3', 'far']\n"
    "ROOT_DIR = '/home/paddle'\nPADDLE_NIC = 'eth0'\nPADDLE_PORT = 7164\nPADDLE_PORTS_NUM = 2\n"
    "PADDLE_PORTS_NUM_FOR_SPARSE = 3\nLD_LIBRARY_PATH = '/usr/local/cuda/lib64'\nPADDLE_USE_GPU = "
    "'True'\n";

static json_t *four_nodes(void)
{
    return json_pack("[{s:s,s:s,s:i,s:I},{s:s,s:s,s:i,s:I},{s:s,s:s,s:i,s:I},{s:s,s:s,s:i,s:I}]",
                     "name", "n3", "address", "10.0.0.3", "cpu_millicores", 4000, "memory_bytes",
                     (json_int_t)1 << 32, "name", "n1", "address", "192.168.129.79",
                     "cpu_millicores", 2000, "memory_bytes", (json_int_t)1 << 33, "name", "n2",
                     "address", "10.0.0.2", "cpu_millicores", 8000, "memory_bytes",
                     (json_int_t)1 << 32, "name", "n4", "address", "10.0.0.4", "cpu_millicores",
                     2000, "memory_bytes", (json_int_t)1 << 32);
}

TEST(test_hosts_are_nodes)
{
    _cleanup_json_ json_t *nodes = four_nodes();
    char *addresses[] = { NULL, NULL, NULL, (char *)"fd00::4 10.0.0.4" };
    char *wrong[] = { NULL, NULL, NULL, (char *)"10.0.0.44 110.0.0.4" };
    char *twice[] = { NULL, NULL, NULL, (char *)"10.0.0.2" };
    const json_t *found[4];
    struct host_list list;
    struct edl_error error = { 0 };

    assert_int_equal(host_list_parse("conf.py", conf, strlen(conf), &list, &error), 0);
    assert_int_equal(run_find_nodes(&list, nodes, addresses, found, &error), 0);
    assert_string_equal(json_text(found[0], "name"), "n1");
    assert_string_equal(json_text(found[1], "name"), "n2");
    assert_string_equal(json_text(found[2], "name"), "n3");
    assert_string_equal(json_text(found[3], "name"), "n4");
    assert_int_equal(run_find_nodes(&list, nodes, NULL, found, &error), -ENOENT);
    assert_string_equal(error.text, "conf.py:1: the host far is no node of this cluster");
    assert_int_equal(run_find_nodes(&list, nodes, wrong, found, &error), -ENOENT);
    assert_int_equal(run_find_nodes(&list, nodes, twice, found, &error), -EEXIST);
    assert_non_null(strstr(error.text, "are one node, n2"));
    host_list_clear(&list);
}

static json_t *document(const struct run_options *options, struct host_list *list)
{
    static char *flags[] = { (char *)"--ports_num_for_sparse=2",
                             (char *)"--config=./trainer_config.py",
                             (char *)"--save_dir=./my output" };
    _cleanup_json_ json_t *nodes = four_nodes();
    char *addresses[] = { NULL, NULL, NULL, (char *)"10.0.0.4" };
    const json_t *found[4];
    struct edl_error error = { 0 };
    struct run_job job = { .options = options,
                           .port = list->port,
                           .list = list,
                           .nodes = found,
                           .name = "job20161104171630",
                           .folder = "JOB20161104171630",
                           .flags = flags,
                           .n_flags = ELEMENTS(flags) };

    job.workspace = options->workspace != NULL
                        ? options->workspace
                        : "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_int_equal(run_find_nodes(list, nodes, addresses, found, &error), 0);
    return run_job_document(&job);
}

/* Case C1: the command line that seed 004 shows of trainer 1 of 4. */
TEST(test_command_lines)
{
    static const char *const trainer[] = { "--num_gradient_servers=4",
                                           "--nics=eth0",
                                           "--port=7164",
                                           "--ports_num=2",
                                           "--comment=paddle_process_by_paddle",
                                           "--pservers=192.168.129.79,10.0.0.2,10.0.0.3,10.0.0.4",
                                           "--ports_num_for_sparse=2",
                                           "--config=./trainer_config.py",
                                           "--save_dir=./my output" };
    static const char *const pserver[] = { "--num_gradient_servers=4",
                                           "--nics=eth0",
                                           "--port=7164",
                                           "--ports_num=2",
                                           "--ports_num_for_sparse=3",
                                           "--comment=paddle_process_by_paddle" };
    const struct run_options options = { .package = "p" };
    struct host_list list;
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;

    assert_int_equal(host_list_parse("conf.py", conf, strlen(conf), &list, &error), 0);

    _cleanup_json_ json_t *made = document(&options, &list);

    if (job_spec_from_document(made, &spec, NULL, &error) < 0)
        fail_msg("%s %s", error.pointer, error.text);
    assert_int_equal(spec->n_roles, 2);
    for (size_t r = 0; r < 2; r++) {
        const struct role_spec *role = &spec->roles[r];
        bool is_trainer = streq(role->name, "trainer");
        const char *const *expected = is_trainer ? trainer : pserver;
        size_t n = is_trainer ? ELEMENTS(trainer) : ELEMENTS(pserver);

        assert_string_equal(role->argv[4], is_trainer ? "train.log" : "server.log");
        assert_string_equal(role->argv[5],
                            is_trainer ? "paddle_trainer.INFO" : "paddle_pserver2.INFO");
        assert_string_equal(role->argv[6], is_trainer ? "edl-paddle train" : "edl-paddle pserver");
        for (size_t i = 0; i < n; i++)
            assert_string_equal(role->argv[7 + i], expected[i]);
        assert_null(role->argv[7 + n]);
        assert_int_equal(role->min, 4);
        assert_int_equal(role->max, 4);
        assert_int_equal(role->n_nodes, 4);
        assert_string_equal(role->nodes[0], "n1");
        assert_string_equal(role->nodes[3], "n4");
        /* both fit on the smallest host */
        assert_int_equal(role->cpu_millicores, is_trainer ? 1000 : 500);
        assert_int_equal(role->memory_bytes, UINT64_C(1) << (is_trainer ? 31 : 30));
        assert_int_equal(role->gpus, is_trainer ? 1 : 0);
    }
    assert_string_equal(spec->workspace_folder, "/home/paddle/JOB20161104171630");
    assert_int_equal(spec->n_env, 1);
    assert_string_equal(spec->env[0].name, "LD_LIBRARY_PATH");
    assert_int_equal(spec->mode, JOB_MODE_PSERVER);
    assert_int_equal(spec->ports_num_for_sparse, 3);
    (void)job_spec_free(spec);
    host_list_clear(&list);
}

TEST(test_a_folder_that_is_there)
{
    const struct run_options options = { .workspace = "/data/JOB1",
                                         .trainer = "./train.sh -x",
                                         .cpu_millicores = 300,
                                         .memory_bytes = 1 << 28 };
    struct host_list list;
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;

    assert_int_equal(host_list_parse("conf.py", conf, strlen(conf), &list, &error), 0);

    _cleanup_json_ json_t *made = document(&options, &list);

    if (job_spec_from_document(made, &spec, NULL, &error) < 0)
        fail_msg("%s %s", error.pointer, error.text);
    assert_string_equal(spec->roles[1].workspace, "/data/JOB1");
    assert_string_equal(spec->roles[1].argv[6], "./train.sh -x");
    assert_int_equal(spec->roles[1].cpu_millicores, 300);
    assert_int_equal(spec->roles[1].memory_bytes, 1 << 28);
    assert_true(spec->workspace_folder == NULL);
    (void)job_spec_free(spec);
    host_list_clear(&list);
}
