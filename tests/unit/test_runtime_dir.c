/* SPDX-License-Identifier: Apache-2.0 */
/* test_runtime_dir.c - where an agent keeps process folders, and where it looks for the last one's
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/options.h"
#include "agent/processes/process_dir.h"
#include "agent/runtime_dir.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define PROCESS "7.trainer.0.1"

struct fixture {
    char root[64];
    char state[96];
    char tmpfs[96]; /* the runtime folder that is asked for */
};

static void make(const char *folder, const char *below)
{
    _cleanup_free_ char *path = text_format("%s%s", folder, below);

    assert_int_equal(folder_make(path, 0700, NULL), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-runtime-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->state, sizeof f->state, "%s/state", f->root);
    (void)snprintf(f->tmpfs, sizeof f->tmpfs, "%s/tmpfs", f->root);
    make(f->state, "");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    static const char *const parts[] = { "session_ooms",
                                         "state/runtime",
                                         "state/processes/" PROCESS,
                                         "state/processes",
                                         "state/output",
                                         "state/work",
                                         "state/workspaces",
                                         "state/tmp",
                                         "state",
                                         "tmpfs/processes/" PROCESS,
                                         "tmpfs/processes",
                                         "tmpfs",
                                         "" };

    for (size_t i = 0; i < ELEMENTS(parts); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", f->root, parts[i]);

        (void)remove(path);
    }
    assert_int_equal(access(f->root, F_OK), -1);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void assert_chosen(const struct fixture *f, const char *wanted, const char *expected)
{
    _cleanup_free_ char *chosen = NULL;

    assert_int_equal(runtime_dir_choose(f->state, wanted, &chosen, NULL), 0);
    assert_string_equal(chosen, expected);
}

TEST(test_default_is_the_state_folder)
{
    const struct fixture *f = *state;

    assert_chosen(f, NULL, f->state);
    assert_chosen(f, f->tmpfs, f->tmpfs);
    assert_chosen(f, NULL, f->state);
}

TEST(test_folders_of_an_agent_without_one_are_found)
{
    const struct fixture *f = *state;

    make(f->state, "/processes/" PROCESS);
    assert_chosen(f, f->tmpfs, f->state);
}

TEST(test_folders_of_the_last_agent_are_found)
{
    const struct fixture *f = *state;
    _cleanup_free_ char *left = text_format("%s/processes/%s", f->tmpfs, PROCESS);

    assert_chosen(f, f->tmpfs, f->tmpfs);
    make(left, "");
    assert_chosen(f, NULL, f->tmpfs);
    assert_chosen(f, NULL, f->tmpfs);
    assert_int_equal(rmdir(left), 0);
    assert_chosen(f, NULL, f->state);
}

TEST(test_folder_that_is_gone_is_not_missed)
{
    const struct fixture *f = *state;

    assert_chosen(f, f->tmpfs, f->tmpfs);
    assert_int_equal(rmdir(f->tmpfs), 0); /* the machine was restarted */
    assert_chosen(f, NULL, f->state);
    assert_chosen(f, f->tmpfs, f->tmpfs);
}

TEST(test_folder_that_others_write_to_is_refused)
{
    const struct fixture *f = *state;
    _cleanup_free_ char *chosen = NULL;
    struct edl_error error = { 0 };

    make(f->tmpfs, "");
    assert_int_equal(chmod(f->tmpfs, 0777), 0);
    assert_int_equal(runtime_dir_choose(f->state, f->tmpfs, &chosen, &error), -EPERM);
    assert_non_null(strstr(error.text, "others may write"));
    assert_null(chosen);
}

TEST(test_layout_has_folders_and_lease_there)
{
    const struct fixture *f = *state;
    const struct agent_options options = { .node = "n1",
                                           .state_dir = f->state,
                                           .runtime_dir = f->tmpfs };
    _cleanup_free_ char *processes = text_format("%s/processes", f->tmpfs);
    _cleanup_free_ char *lease = text_format("%s/lease", f->tmpfs);
    struct layout layout;

    assert_int_equal(layout_init(&options, &layout, NULL), 0);
    assert_string_equal(layout.processes_dir, processes);
    assert_string_equal(layout.lease_path, lease);
    layout_done(&layout);
}

TEST(test_sessions_beside_each_other_tell_of_a_kill_once)
{
    const struct fixture *f = *state;
    _cleanup_close_ int dir = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir >= 0);
    assert_int_equal(process_dir_read_ooms(dir), 0);
    process_dir_note_ooms(dir, 2, 3); /* two were the process's own */
    process_dir_note_ooms(dir, 2, 3);
    assert_int_equal(process_dir_read_ooms(dir), 1);
    process_dir_note_ooms(dir, 2, 5);
    process_dir_note_ooms(dir, 6, 6);
    assert_int_equal(process_dir_read_ooms(dir), 3);
}
