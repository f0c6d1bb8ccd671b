/* SPDX-License-Identifier: Apache-2.0 */
/* test_usage_question.c - what the prober tells of processes that it is asked for */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/usage_question.h"
#include "shared/cleanup.h"
#include "shared/json_read.h"
#include "tests/unit/test.h"

/* fork_two - a process that waits, and its child, which does so, too */
static pid_t fork_two(void)
{
    int ends[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        if (fork() != 0)
            (void)!write(ends[1], "", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)safe_close(ends[0]);
    (void)safe_close(ends[1]);
    return pid;
}

static json_t *ask(json_t *take_trees)
{
    json_t *question = json_pack("{s:o}", "trees", take_trees);
    json_t *answer = usage_answer(question);

    json_decref(question);
    assert_non_null(answer);
    return answer;
}

TEST(test_a_tree_without_a_group_is_added_up)
{
    pid_t pid = fork_two();
    json_t *answer =
        ask(json_pack("[{s:s, s:i, s:i}, {s:s, s:i, s:b}]", "id", "1.trainer.0.1", "root", (int)pid,
                      "absent", 0, "id", "2.trainer.0.1", "root", (int)getpid(), "stuck", 1));
    const json_t *trees = json_object_get(answer, "trees");
    const json_t *first = json_array_get(trees, 0), *second = json_array_get(trees, 1);

    assert_int_equal(json_array_size(trees), 2);
    assert_string_equal(json_text(first, "id"), "1.trainer.0.1");
    assert_int_equal(json_u64(first, "tasks"), 2);
    assert_true(json_u64(first, "memory_used_bytes") > 0);
    assert_null(json_object_get(first, "stuck"));
    assert_int_equal(json_u64(second, "tasks"), 3);
    assert_non_null(strstr(json_text(second, "stuck"), "was killed and is still there"));
    assert_true(json_u64(answer, "busy_ticks") > 0);
    assert_true(json_u64(answer, "memory_bytes") > json_u64(answer, "available_bytes"));
    json_decref(answer);
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

TEST(test_one_that_is_gone_uses_nothing)
{
    pid_t pid = fork_two();
    json_t *answer;
    const json_t *told;

    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    answer = ask(json_pack("[{s:s, s:i, s:s, s:{}}]", "id", "1.trainer.0.1", "root", (int)pid,
                           "cgroup", "/none/of/this/name", "cgroup_legacy"));
    told = json_array_get(json_object_get(answer, "trees"), 0);
    assert_int_equal(json_u64(told, "tasks"), 0);
    assert_int_equal(json_u64(told, "memory_used_bytes"), 0);
    json_decref(answer);
}

TEST(test_what_is_no_question_is_left_out)
{
    json_t *answer =
        ask(json_pack("[{s:s}, s, {s:s, s:i}, {s:s, s:s}, i]", "id", "1.trainer.0.1", "words", "id",
                      "1.trainer.0.1", "root", 1, "id", "1.trainer.0.1", "root", "12", 7));

    assert_int_equal(json_array_size(json_object_get(answer, "trees")), 0);
    json_decref(answer);
    answer = usage_answer(NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "trees")), 0);
    json_decref(answer);
}
