/* SPDX-License-Identifier: Apache-2.0 */
/* test_unpacker.c - a supervisor whose process starts in a copy of an archive
 *
 * edl-workspace is stood in for by scripts here: the outcome for its supervisor matters. The
 * programs are taken from the folder in EDL_BUILD_DIR (default "."). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/processes/process_dir.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_MS 120000

struct fixture {
    char root[64];
    char *dir, *log, *fifo, *script, *copy, *archive, *cached, *ran;
    char *supervisor;
    int fifo_fd; /* what unpacks holds the other end */
    pid_t pid;
};

static void put(const char *path, const char *text, mode_t mode)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-unpacker-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    f->dir = text_format("%s/process", f->root);
    f->log = text_format("%s/log", f->root);
    f->fifo = text_format("%s/fifo", f->root);
    f->script = text_format("%s/unpack.sh", f->root);
    f->copy = text_format("%s/copy", f->root);
    f->archive = text_format("%s/copy.archive", f->root);
    f->cached = text_format("%s/cached", f->root);
    f->ran = text_format("%s/ran", f->root);
    f->supervisor = text_format("%s/edl-supervisor", build != NULL ? build : ".");
    assert_int_equal(mkfifo(f->fifo, 0600), 0);
    f->fifo_fd = open(f->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(f->fifo_fd >= 0);
    put(f->cached, "the archive", 0600);
    assert_int_equal(link(f->cached, f->archive), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *none = text_format("%s/none", f->root);
    char **const owned[] = { &f->dir,     &f->log,    &f->fifo, &f->script,    &f->copy,
                             &f->archive, &f->cached, &f->ran,  &f->supervisor };
    size_t removed;

    assert_int_equal(mkdir(none, 0700), 0);
    assert_int_equal(workspace_sweep(f->root, none, &removed, NULL), 0);
    assert_int_equal(rmdir(f->root), 0);
    (void)safe_close(f->fifo_fd);
    for (size_t i = 0; i < ELEMENTS(owned); i++)
        free(*owned[i]);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

/* start_in - body: of the script that unpacks; the program says where it runs, and what is there
 * slot: of one folder for all; NULL: a copy of its own */
static void start_in(struct fixture *f, const char *slot, const char *body)
{
    _cleanup_free_ char *script = text_format("#!/bin/sh\nexec 9>%s\n%s\n", f->fifo, body);
    _cleanup_free_ char *program = text_format("pwd >%s; cat what >>%s", f->ran, f->ran);
    json_t *order =
        json_pack("{s:[s, s, s], s:{s:s}, s:s, s:s, s:s, s:I, s:I, s:s,"
                  " s:{s:s, s:s, s:s, s:s}}",
                  "argv", "sh", "-c", program, "env", "PATH", "/usr/bin:/bin", "workspace", f->copy,
                  "log_path", f->log, "lease_path", "", "lease_us", (json_int_t)0, "grace_us",
                  (json_int_t)60000000, "boot_id", "boot", "unpack", "program", f->script, "sha256",
                  "abc", "archive", f->archive, "cached", f->cached);

    if (slot != NULL)
        (void)json_object_set_new(json_object_get(order, "unpack"), "slot", json_string(slot));
    put(f->script, script, 0700);
    assert_int_equal(process_dir_create(f->dir, order, NULL), 0);
    json_decref(order);
    f->pid = fork();
    if (f->pid == 0) {
        (void)execl(f->supervisor, f->supervisor, f->dir, (char *)NULL);
        _exit(126);
    }
    assert_true(f->pid > 0);
}

static void start(struct fixture *f, const char *body)
{
    start_in(f, NULL, body);
}

static void wait_end(struct fixture *f, struct exit_record *ret)
{
    _cleanup_close_ int dir_fd = -1;
    int status;

    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    dir_fd = process_dir_open(f->dir, NULL);
    assert_int_equal(process_dir_read_exit(dir_fd, ret, NULL), 0);
}

static void wait_fifo(const struct fixture *f, const char *expected)
{
    struct pollfd p = { .fd = f->fifo_fd, .events = POLLIN };
    char text[64] = "";

    assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
    assert_true(read(f->fifo_fd, text, sizeof text - 1) >= 0);
    assert_string_equal(text, expected);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

TEST(the_program_starts_in_what_was_unpacked)
{
    struct fixture *f = *state;
    _cleanup_free_ char *expected = text_format("%s\nunpack abc: the archive\n", f->copy);
    _cleanup_fclose_ FILE *file = NULL;
    struct exit_record record;
    char text[256] = "";

    start(f, "echo \"$1 $2: $(cat)\" >what; [ $(env | grep -c FLAVOUR) = 0 ]");
    wait_end(f, &record);
    assert_string_equal(record.reason, "");
    assert_int_equal(record.exit_code, 0);
    file = fopen(f->ran, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_string_equal(text, expected);
    assert_false(is_there(f->archive)); /* its link is not needed any more */
    assert_true(is_there(f->cached));
    assert_int_equal(record.fault, START_FAULT_NONE);
}

TEST(nothing_starts_in_half_a_workspace)
{
    struct fixture *f = *state;
    struct exit_record record;

    start(f, "echo half >what; echo the archive holds a device >&2; exit 4");
    wait_end(f, &record);
    assert_int_equal(record.exit_code, 127);
    assert_string_equal(record.reason, "cannot unpack the workspace: the archive holds a device");
    assert_int_equal(record.fault, START_FAULT_JOB); /* as it would on every node */
    assert_false(is_there(f->ran));
    assert_true(is_there(f->cached));
}

TEST(a_damaged_archive_is_not_used_again)
{
    struct fixture *f = *state;
    struct exit_record record;

    start(f, "echo the archive is damaged >&2; exit 3");
    wait_end(f, &record);
    assert_string_equal(record.reason, "cannot unpack the workspace: the archive is damaged");
    assert_int_equal(record.fault, START_FAULT_NODE);
    assert_false(is_there(f->ran));
    assert_false(is_there(f->cached));
}

TEST(a_full_disk_is_told_apart)
{
    struct fixture *f = *state;
    struct exit_record record;

    start(f, "echo no room >&2; exit 5");
    wait_end(f, &record);
    assert_int_equal(record.fault, START_FAULT_DISK);
    assert_false(is_there(f->ran));
    assert_true(is_there(f->cached));
}

TEST(unpacking_is_stopped_at_once)
{
    struct fixture *f = *state;
    struct exit_record record;

    start(f, "echo up >&9; exec sleep 1000");
    wait_fifo(f, "up\n");
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    wait_end(f, &record);
    assert_string_equal(record.reason, "stopped while its workspace was unpacked");
    assert_int_equal(record.cause, EXIT_CAUSE_STOPPED);
    wait_fifo(f, ""); /* nobody holds it any more */
    assert_false(is_there(f->ran));
}

TEST(unpacking_dies_with_its_supervisor)
{
    struct fixture *f = *state;
    int status;

    start(f, "echo up >&9; exec sleep 1000");
    wait_fifo(f, "up\n");
    assert_int_equal(kill(f->pid, SIGKILL), 0);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    wait_fifo(f, "");
    assert_false(is_there(f->ran));
}

TEST(a_copy_is_made_once)
{
    struct fixture *f = *state;
    struct exit_record record;

    assert_int_equal(mkdir(f->copy, 0700), 0); /* whoever made it, it is not ours */
    start(f, "echo what >what");
    wait_end(f, &record);
    assert_non_null(strstr(record.reason, "cannot make the workspace"));
    assert_false(is_there(f->ran));
}

/* It is not made by the supervisor, whose rights are not the job's. */
TEST(one_folder_for_all_is_the_programs_to_make)
{
    struct fixture *f = *state;
    _cleanup_free_ char *expected =
        text_format("%s\nshare abc %s 7-trainer-1 in /: the archive\n", f->copy, f->copy);
    _cleanup_fclose_ FILE *file = NULL;
    struct exit_record record;
    char text[256] = "";

    start_in(f, "7-trainer-1", "mkdir \"$3\"; echo \"$1 $2 $3 $4 in $PWD: $(cat)\" >\"$3/what\"");
    wait_end(f, &record);
    assert_string_equal(record.reason, "");
    file = fopen(f->ran, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_string_equal(text, expected);
    assert_false(is_there(f->archive));
}

/* This node cannot run it: another one is asked, with none of its restarts spent. */
TEST(a_folder_without_a_place_is_no_workspace)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_in(f, "7-trainer-1", "echo /home/ann is not there >&2; echo '  make it' >&2; exit 6");
    wait_end(f, &record);
    assert_int_equal(record.unfit, UNFIT_NO_WORKSPACE);
    assert_int_equal(record.fault, START_FAULT_NONE);
    assert_string_equal(record.reason,
                        "cannot unpack the workspace: /home/ann is not there; make it");
    assert_false(is_there(f->ran));
    assert_false(is_there(f->copy));
}
