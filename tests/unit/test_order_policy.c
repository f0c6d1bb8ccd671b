/* SPDX-License-Identifier: Apache-2.0 */
/* test_order_policy.c - orders beyond the node's offer; the node's additions to others */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "agent/core/process_id.h"
#include "agent/environment.h"
#include "agent/layout.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/start_fault.h"
#include "tests/unit/test.h"

#define ARCHIVE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ORDER(more_) "{\"job\":\"j\",\"argv\":[\"true\"]," more_ "}"

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
    (void)stat;
    (void)kind;
    (void)walk;
    return remove(path);
}

TEST(test_orders)
{
    static const struct {
        const char *order, *wrong; /* NULL: it is for folders to fail, later */
        enum start_fault fault;    /* NONE: the node's */
    } rows[] = {
        { "{\"job\":\"j\",\"argv\":[]}", "no command", START_FAULT_JOB },
        { "{\"job\":\"j\",\"argv\":[1]}", "argv[0] of the order is not text", START_FAULT_JOB },
        { "{\"job\":\"../j\",\"argv\":[\"true\"]}", "no usable job name", START_FAULT_JOB },
        { ORDER("\"workspace\":\"train_dir\""), "'train_dir' is not an absolute path",
          START_FAULT_JOB },
        { ORDER("\"workspace\":\"workspace-folder:/a/../b\",\"archive\":\"" ARCHIVE "\""),
          "workspace-folder '/a/../b'", START_FAULT_JOB },
        { ORDER("\"workspace\":\"workspace-folder:a\",\"archive\":\"" ARCHIVE "\""),
          "not an absolute path", START_FAULT_JOB },
        { ORDER("\"workspace\":\"workspace-folder:/a\""), "names no archive for /a",
          START_FAULT_JOB },
        { ORDER("\"cpu_millicores\":2000,\"memory_bytes\":4096,\"ports\":[20000,20009],"
                "\"env\":{\"EDL_GPUS\":\"0,1\"}"),
          NULL, START_FAULT_NONE },
        { ORDER("\"cpu_millicores\":2001"), "2001 millicores, this node offers 2000",
          START_FAULT_NONE },
        { ORDER("\"memory_bytes\":4097"), "4097 bytes of memory, this node offers 4096",
          START_FAULT_NONE },
        { ORDER("\"ports\":[20000,19999]"), "port 19999, this node offers 20000-20009",
          START_FAULT_NONE },
        { ORDER("\"ports\":[20010]"), "port 20010", START_FAULT_NONE },
        { ORDER("\"ports\":[\"20000\"]"), "port 0", START_FAULT_NONE },
        { ORDER("\"env\":{\"EDL_GPUS\":\"0,2\"}"), "a GPU that this node does not offer",
          START_FAULT_NONE },
        { ORDER("\"env\":{\"EDL_GPUS\":\"64\"}"), "EDL_GPUS of the order names '64'",
          START_FAULT_NONE },
        { ORDER("\"env\":{\"EDL_GPUS\":\"0,\"}"), "EDL_GPUS of the order names ''",
          START_FAULT_NONE },
    };
    char nowhere[] = "/proc/nowhere";
    const struct layout layout = { .work_dir = nowhere,
                                   .logs_dir = nowhere,
                                   .output_dir = nowhere };
    const struct process_id id = { .job_id = 1, .role = "trainer", .incarnation = 1 };
    const struct environment_facts facts = { .limits = { 2000, 4096, 2, 20000, 20009 } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        json_t *order = json_loads(rows[i].order, 0, NULL), *made = NULL;
        struct edl_error error = { 0 };
        const char *wrong = rows[i].wrong != NULL ? rows[i].wrong : nowhere;

        assert_non_null(order);
        assert_true(environment_complete(&layout, &id, order, &facts, &made, &error) < 0);
        if (strstr(error.text, wrong) == NULL)
            fail_msg("row %zu: %s, not: %s", i, error.text, wrong);
        assert_int_equal(start_fault_of_error(error.code),
                         rows[i].fault != START_FAULT_NONE ? rows[i].fault : START_FAULT_NODE);
        json_decref(order);
    }
}

static json_t *complete(const char *order_text)
{
    char dir[] = "/tmp/test-order-XXXXXX";
    const struct process_id id = { .job_id = 1, .role = "trainer", .incarnation = 1 };
    const struct environment_facts facts = { .boot_id = "boot",
                                             .cuda_libraries = "/tmp",
                                             .limits = { 2000, 4096, 2, 20000, 20009 } };
    json_t *order = json_loads(order_text, 0, NULL), *made = NULL;
    struct edl_error error = { 0 };
    struct layout layout;

    assert_non_null(mkdtemp(dir));
    assert_non_null(order);
    layout = (struct layout){ .node = dir,
                              .runtime_dir = dir,
                              .work_dir = dir,
                              .processes_dir = dir,
                              .logs_dir = dir,
                              .output_dir = dir,
                              .socket_path = dir,
                              .lease_path = dir,
                              .archives_dir = dir,
                              .copies_dir = dir,
                              .tmp_dir = dir,
                              .program_dir = dir };
    if (environment_complete(&layout, &id, order, &facts, &made, &error) < 0)
        fail_msg("%s", error.text);
    json_decref(order);
    assert_int_equal(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    return made;
}

static json_t *environment_of(const char *order_text)
{
    json_t *made = complete(order_text), *env = json_incref(json_object_get(made, "env"));

    json_decref(made);
    return env;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* One folder for all is named by the order, and made by nobody here. */
TEST(test_where_an_archive_goes)
{
    static const struct {
        const char *order, *workspace, *slot; /* workspace NULL: a copy of its own */
    } rows[] = {
        { ORDER("\"workspace\":\"workspace-folder:/srv/JOB1\",\"archive\":\"" ARCHIVE "\",\"env\":{"
                "\"TRAINER_PACKAGE\":\"" ARCHIVE "\"}"),
          "/srv/JOB1", "1-trainer-0" },
        { ORDER("\"workspace\":\"" ARCHIVE "\",\"env\":{\"TRAINER_PACKAGE\":\"" ARCHIVE "\"}"),
          NULL, "" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        json_t *made = complete(rows[i].order), *env = json_object_get(made, "env");
        const json_t *unpack = json_object_get(made, "unpack");
        const char *workspace = text_at(made, "workspace");

        if (rows[i].workspace != NULL)
            assert_string_equal(workspace, rows[i].workspace);
        else
            assert_non_null(strstr(workspace, "1.trainer.0.1"));
        assert_string_equal(text_at(env, "EDL_WORKSPACE"), workspace);
        assert_string_equal(text_at(env, "TRAINER_PACKAGE"), workspace);
        assert_string_equal(text_at(unpack, "slot"), rows[i].slot);
        assert_string_equal(text_at(unpack, "sha256"), ARCHIVE + strlen("sha256:"));
        assert_int_equal(json_array_size(json_object_get(made, "folders")),
                         2); /* the output, TMPDIR */
        json_decref(made);
    }
}

/* Given to the account of the process, and named after it; one of the job's own is the job's. */
TEST(test_where_temporary_files_go)
{
    json_t *made = complete(ORDER("\"env\":{}")), *env = json_object_get(made, "env");
    const json_t *folders = json_object_get(made, "folders");
    const char *tmp_dir = text_at(env, "TMPDIR");

    assert_non_null(strstr(tmp_dir, "/1.trainer.0.1"));
    assert_int_equal(json_array_size(folders), 3); /* the output, the workspace, and it */
    assert_string_equal(json_string_value(json_array_get(folders, 1)), tmp_dir);
    json_decref(made);

    made = complete(ORDER("\"env\":{\"TMPDIR\":\"/scratch\"}"));
    assert_string_equal(text_at(json_object_get(made, "env"), "TMPDIR"), "/scratch");
    assert_int_equal(json_array_size(json_object_get(made, "folders")), 2);
    json_decref(made);
}

/* What a library of collectives is to use, where it would take another. */
TEST(test_the_interface_of_the_address_is_told)
{
    static const struct {
        const char *env, *gloo, *nccl;
    } rows[] = {
        { "{\"EDL_ADDRESS\":\"127.0.0.1\"}", "lo", "=lo" },
        { "{\"EDL_ADDRESS\":\"127.0.0.1\",\"GLOO_SOCKET_IFNAME\":\"ib0\"}", "ib0", "=lo" },
        { "{\"EDL_ADDRESS\":\"192.0.2.77\"}", NULL, NULL }, /* behind a translation */
        { "{\"EDL_ADDRESS\":\"a.name\"}", NULL, NULL },
        { "{}", NULL, NULL },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char order[200];
        json_t *env;
        const char *gloo, *nccl;

        (void)snprintf(order, sizeof order, ORDER("\"env\":%s"), rows[i].env);
        env = environment_of(order);
        gloo = json_string_value(json_object_get(env, "GLOO_SOCKET_IFNAME"));
        nccl = json_string_value(json_object_get(env, "NCCL_SOCKET_IFNAME"));
        if (rows[i].gloo == NULL) {
            assert_null(json_object_get(env, "PADDLE_INIT_NICS"));
            assert_null(gloo);
            assert_null(nccl);
        } else {
            assert_non_null(gloo);
            assert_non_null(nccl);
            assert_string_equal(text_at(env, "PADDLE_INIT_NICS"), "lo");
            assert_string_equal(gloo, rows[i].gloo);
            assert_string_equal(nccl, rows[i].nccl);
        }
        json_decref(env);
    }
}

/* The libraries of CUDA are for programs of parameter servers that have a GPU. */
TEST(test_where_cuda_is)
{
    static const char *const rows[][2] = {
        { "{\"EDL_GPUS\":\"1\",\"PSERVERS\":\"2\"}", "/tmp" },
        { "{\"EDL_GPUS\":\"1\",\"PSERVERS\":\"2\",\"LD_LIBRARY_PATH\":\"/own\"}", "/own" },
        { "{\"EDL_GPUS\":\"\",\"PSERVERS\":\"2\"}", "" },
        { "{\"EDL_GPUS\":\"1\",\"PSERVERS\":\"0\"}", "" },
        { "{\"EDL_GPUS\":\"1\"}", "" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char order[200];
        json_t *env;

        (void)snprintf(order, sizeof order, ORDER("\"env\":%s"), rows[i][0]);
        env = environment_of(order);
        assert_string_equal(text_at(env, "LD_LIBRARY_PATH"), rows[i][1]);
        json_decref(env);
    }
}

/* What Python prints is in the log when it is printed, unless the job wants it otherwise. */
TEST(test_python_is_told_to_print_at_once)
{
    static const char *const rows[][2] = { { "{}", "1" }, { "{\"PYTHONUNBUFFERED\":\"\"}", "" } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *told;
        char order[200];
        json_t *env;

        (void)snprintf(order, sizeof order, ORDER("\"env\":%s"), rows[i][0]);
        env = environment_of(order);
        told = json_string_value(json_object_get(env, "PYTHONUNBUFFERED"));
        assert_non_null(told);
        assert_string_equal(told, rows[i][1]);
        json_decref(env);
    }
}
