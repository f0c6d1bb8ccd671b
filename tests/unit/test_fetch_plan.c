/* SPDX-License-Identifier: Apache-2.0 */
/* test_fetch_plan.c - what `edl fetch` asks of whom, and where it puts it */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fetch_plan.h"
#include "client/json_read.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static json_t *process(const char *role, int index, int incarnation, const char *node)
{
    return json_pack("{s:s,s:i,s:i,s:s}", "role", role, "index", index, "incarnation", incarnation,
                     "node", node);
}

static void make(const char *workspace, json_t *take_processes, const char *role, uint64_t index,
                 struct fetch_plan *ret)
{
    json_t *job = json_pack("{s:{s:[{s:s,s:s}],s:s}}", "spec", "roles", "role", "trainer",
                            "workspace", workspace, "workspace-folder", "/home/ann/JOB");

    fetch_plan_make(job, take_processes, role, index, ret);
    json_decref(job);
    json_decref(take_processes);
}

static void check(const struct fetch_plan *plan, const char *wanted)
{
    char text[400] = "";

    for (size_t i = 0; i < plan->n_sources; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s-%d@%s%s",
                       i > 0 ? " " : "", plan->sources[i].role, (int)plan->sources[i].index,
                       plan->sources[i].node, plan->sources[i].output ? "!" : "");
    assert_string_equal(text, wanted);
}

static void add(struct fetch_source *source, const char *path, int mtime_us)
{
    _cleanup_free_ char *line =
        text_format("{\"path\":\"%s\",\"bytes\":1,\"mtime_us\":%d,\"mode\":420,\"sha256\":\"" SHA
                    "\"}",
                    path, mtime_us);
    struct edl_error error = { 0 };

    assert_int_equal(fetch_source_add(source, line, strlen(line), &error), 0);
}

TEST(the_newest_of_each_slot_is_asked)
{
    struct fetch_plan plan;

    make("",
         json_pack("[o,o,o,o]", process("trainer", 0, 1, "n1"), process("trainer", 0, 5, "n2"),
                   process("trainer", 1, 2, "n1"), process("pserver", 0, 3, "n1")),
         NULL, UINT64_MAX, &plan);
    check(&plan, "trainer-0@n2 trainer-0@n2! trainer-1@n1 trainer-1@n1! pserver-0@n1");
    fetch_plan_clear(&plan);
    make("", json_pack("[o,o]", process("trainer", 0, 1, "n1"), process("pserver", 1, 3, "n1")),
         "pserver", 1, &plan);
    check(&plan, "pserver-1@n1 pserver-1@n1!");
    fetch_plan_clear(&plan);
    make("", json_array(), NULL, UINT64_MAX, &plan);
    check(&plan, "");
    fetch_plan_clear(&plan);
}

TEST(one_asks_for_a_shared_folder)
{
    struct fetch_plan plan;

    make("/data",
         json_pack("[o,o,o]", process("trainer", 0, 1, "n1"), process("trainer", 1, 2, "n1"),
                   process("trainer", 2, 3, "n2")),
         NULL, UINT64_MAX, &plan);
    check(&plan, "trainer-0@n1 trainer-0@n1! trainer-2@n2 trainer-2@n2!");
    /* the two nodes have it of one file server, but for a file */
    add(&plan.sources[0], "same", 5);
    add(&plan.sources[0], "own", 5);
    add(&plan.sources[2], "same", 5);
    add(&plan.sources[2], "own", 6);
    add(&plan.sources[1], "model", 5);
    add(&plan.sources[3], "model", 5);
    fetch_plan_place(&plan);
    assert_int_equal(plan.sources[0].n_files, 2);
    assert_int_equal(plan.sources[2].n_files, 1);
    assert_string_equal(plan.sources[2].files[0]->path, "own");
    assert_string_equal(plan.sources[2].folder, "n2/");
    assert_int_equal(plan.sources[3].n_files, 0);
    assert_string_equal(plan.sources[0].folder, "n1/");
    assert_string_equal(plan.sources[1].folder, "n1/EDL_OUTPUT_DIR/");
    fetch_plan_clear(&plan);
}

TEST(one_asks_for_a_folder_of_each_node)
{
    struct fetch_plan plan;

    make("sha256:" SHA,
         json_pack("[o,o]", process("trainer", 0, 1, "n1"), process("trainer", 1, 2, "n1")), NULL,
         UINT64_MAX, &plan);
    check(&plan, "trainer-0@n1 trainer-0@n1!");
    assert_true(plan.sources[0].given);
    fetch_plan_place(&plan);
    assert_string_equal(plan.sources[0].folder, "");
    assert_string_equal(plan.sources[1].folder, "EDL_OUTPUT_DIR/");
    fetch_plan_clear(&plan);
}

TEST(files_of_several_processes_are_kept_apart)
{
    struct fetch_plan plan;

    make("", json_pack("[o,o]", process("trainer", 0, 1, "n1"), process("trainer", 1, 2, "n2")),
         NULL, UINT64_MAX, &plan);
    add(&plan.sources[0], "a", 1);
    fetch_plan_place(&plan); /* before n2 answers */
    assert_string_equal(plan.sources[0].folder, "trainer-0/");
    assert_string_equal(plan.sources[1].folder, "n1/EDL_OUTPUT_DIR/");
    add(&plan.sources[2], "a", 1); /* the same, but nothing says that it is one */
    add(&plan.sources[1], "m", 1);
    add(&plan.sources[3], "m", 2);
    fetch_plan_place(&plan);
    assert_string_equal(plan.sources[0].folder, "trainer-0/");
    assert_string_equal(plan.sources[2].folder, "trainer-1/");
    assert_string_equal(plan.sources[1].folder, "n1/EDL_OUTPUT_DIR/");
    assert_string_equal(plan.sources[3].folder, "n2/EDL_OUTPUT_DIR/");
    fetch_plan_clear(&plan);
}

static void add_large(struct fetch_source *source, const char *path, int mtime_us)
{
    _cleanup_free_ char *line =
        text_format("{\"path\":\"%s\",\"bytes\":5000000,\"mtime_us\":%d,\"mode\":420}", path,
                    mtime_us);
    struct edl_error error = { 0 };

    assert_int_equal(fetch_source_add(source, line, strlen(line), &error), 0);
}

static void note_asked(const struct fetch_source *source, struct file_entry *entry, void *userdata)
{
    char *asked = userdata;

    (void)snprintf(asked + strlen(asked), 200 - strlen(asked), "%s@%s ", entry->path, source->node);
    if (!streq(entry->path, "other"))
        memcpy(entry->sha256, SHA, sizeof entry->sha256);
}

TEST(a_large_file_of_two_nodes_is_one_if_their_checksums_say_so)
{
    struct fetch_plan plan;
    char asked[200] = "";

    make("", json_pack("[o,o]", process("trainer", 0, 1, "n1"), process("trainer", 1, 2, "n2")),
         NULL, UINT64_MAX, &plan);
    for (size_t i = 1; i < 4; i += 2) { /* the output folders of n1 and n2 */
        add_large(&plan.sources[i], "same", 1);
        add_large(&plan.sources[i], "other", 1); /* their nodes tell no checksum */
        add_large(&plan.sources[i], "later", (int)i);
        add(&plan.sources[i], "small", 1);
    }
    add_large(&plan.sources[0], "same", 1); /* a working folder is nobody else's */
    fetch_plan_twins(&plan, note_asked, asked);
    assert_string_equal(asked, "same@n1 same@n2 other@n1 other@n2 ");
    fetch_plan_place(&plan);
    assert_int_equal(plan.sources[0].n_files, 1);
    assert_int_equal(plan.sources[1].n_files, 4);
    assert_int_equal(plan.sources[3].n_files, 2);
    assert_string_equal(plan.sources[3].files[0]->path, "other");
    assert_string_equal(plan.sources[3].files[1]->path, "later");
    fetch_plan_clear(&plan);
}

TEST(a_role_or_process_that_is_not_there_is_told)
{
    _cleanup_json_ json_t *job = json_pack("{s:s,s:{s:[{s:s},{s:s}]}}", "name", "proj", "spec",
                                           "roles", "role", "pserver", "role", "trainer");
    _cleanup_json_ json_t *processes = json_pack("[o]", process("trainer", 0, 1, "n1"));
    struct fetch_plan plan;
    struct edl_error error;

    fetch_plan_make(job, processes, "nope", UINT64_MAX, &plan);
    assert_int_equal(fetch_plan_check(&plan, job, "nope", UINT64_MAX, &error), -ENOENT);
    assert_string_equal(error.text, "job proj has no role nope; it has pserver, trainer");
    fetch_plan_make(job, processes, "trainer", 7, &plan);
    assert_int_equal(fetch_plan_check(&plan, job, "trainer", 7, &error), -ENOENT);
    assert_string_equal(error.text, "job proj has no process trainer-7");
    fetch_plan_make(job, processes, "pserver", UINT64_MAX, &plan); /* it has not begun */
    assert_int_equal(fetch_plan_check(&plan, job, "pserver", UINT64_MAX, &error), 0);
    fetch_plan_make(job, processes, "trainer", 0, &plan);
    assert_int_equal(fetch_plan_check(&plan, job, "trainer", 0, &error), 0);
    fetch_plan_clear(&plan);
}

TEST(a_pattern_means_one_of_the_folders)
{
    _cleanup_free_ char *literal = fetch_pattern_of("a*[b]?\\");

    assert_string_equal(fetch_pattern("", false), "");
    assert_string_equal(fetch_pattern("", true), "");
    assert_string_equal(fetch_pattern("out/*", false), "out/*");
    assert_null(fetch_pattern("out/*", true));
    assert_string_equal(fetch_pattern("EDL_OUTPUT_DIR/m*", true), "m*");
    assert_string_equal(fetch_pattern("$EDL_OUTPUT_DIR/m*", true), "m*");
    assert_string_equal(fetch_pattern("EDL_OUTPUT_DIR/", true), "*");
    assert_string_equal(fetch_pattern("EDL_OUTPUT_DIR", true), "*");
    assert_null(fetch_pattern("EDL_OUTPUT_DIR/m*", false));
    assert_string_equal(fetch_pattern("EDL_OUTPUT_DIRS", false), "EDL_OUTPUT_DIRS");
    assert_string_equal(literal, "a\\*\\[b\\]\\?\\\\");
}

TEST(a_list_ends_once)
{
    static const char end[] =
        "{\"end\":true,\"files\":1,\"bytes\":0,\"links\":0,\"unnamed\":0,\"unreadable\":0}";
    struct edl_error error = { 0 };
    struct fetch_plan plan;

    make("", json_pack("[o]", process("trainer", 0, 1, "n1")), NULL, UINT64_MAX, &plan);
    add(&plan.sources[0], "a", 1);
    assert_int_equal(fetch_source_add(&plan.sources[0], "", 0, &error), 0); /* a sign of life */
    assert_int_equal(plan.sources[0].n_files, 1);
    assert_false(plan.sources[0].whole);
    assert_int_equal(fetch_source_add(&plan.sources[0], end, strlen(end), &error), 0);
    assert_true(plan.sources[0].whole);
    assert_int_equal(fetch_source_add(&plan.sources[0], end, strlen(end), &error), -EINVAL);
    assert_int_equal(fetch_source_add(&plan.sources[1], "{}", 2, &error), -EINVAL);
    fetch_plan_clear(&plan);
}
