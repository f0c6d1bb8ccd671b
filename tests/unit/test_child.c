/* SPDX-License-Identifier: Apache-2.0 */
/* test_child.c - how a program is started, and the remains of a start that failed */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/processes/child.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)

struct fixture {
    char *argv[4];
    char *environment[2];
    int never[2]; /* a pipe that nobody writes to */
    struct child_spec spec;
    struct child child;
};

static int announce_nothing(void *userdata, struct edl_error *error)
{
    (void)userdata;
    (void)error;
    return 0;
}

static int confine_nothing(bool in_group, void *userdata)
{
    (void)in_group;
    (void)userdata;
    return 0;
}

static int confine_not(bool in_group, void *userdata)
{
    (void)in_group;
    (void)userdata;
    return -EACCES;
}

/* As a file system that does not answer: nothing but a signal ends it. */
static int announce_never(void *userdata, struct edl_error *error)
{
    const struct fixture *f = userdata;
    char byte;

    (void)error;
    return (int)read(f->never[0], &byte, 1);
}

static int announce_not(void *userdata, struct edl_error *error)
{
    (void)userdata;
    return edl_error_set(error, -ENOSPC, "no room");
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    f->argv[0] = (char *)"sh";
    f->argv[1] = (char *)"-c";
    f->argv[2] = (char *)"exit $CODE";
    f->environment[0] = (char *)"CODE=7";
    assert_int_equal(pipe2(f->never, O_CLOEXEC), 0);
    f->spec = (struct child_spec){
        .argv = f->argv,
        .environment = f->environment,
        .workspace = "/",
        .input_fd = -1,
        .output_fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
        .group_fd = -1,
        .announce = announce_nothing,
        .confine = confine_nothing,
        .userdata = f,
        .start_by_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US,
    };
    assert_true(f->spec.output_fd >= 0);
    f->child = (struct child){ .pidfd = -1, .status_fd = -1 };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    child_close(&f->child);
    for (size_t i = 0; i < 2; i++)
        (void)safe_close(f->never[i]);
    (void)safe_close(f->spec.output_fd);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static int run(struct fixture *f)
{
    struct edl_error error = { 0 };
    int status = -1;

    assert_int_equal(child_fork(&f->spec, &f->child, &error), 0);
    assert_int_equal(waitpid(f->child.pid, &status, 0), f->child.pid);
    return status;
}

TEST(it_runs_in_the_environment_it_was_given)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    const char *path = getenv("PATH");
    int status = run(f);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), 0);
    assert_null(getenv("CODE")); /* ours is as it was */
    assert_ptr_equal(getenv("PATH"), path);
}

TEST(a_start_that_hangs_is_ended_and_told)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    int status;

    f->spec.announce = announce_never;
    f->spec.start_by_us = clock_read_us(CLOCK_BOOTTIME) + 50 * USEC_PER_MSEC;
    status = run(f);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), -ETIMEDOUT);
    assert_non_null(strstr(error.text, "sh did not start in time"));
    assert_true(f->child.no_workspace);
    assert_int_equal(f->child.fault, START_FAULT_NODE);
}

/* What is open here without close-on-exec is not the program's, whoever opened it. */
TEST(it_has_no_other_descriptors)
{
    struct fixture *f = *state;
    int fd = fcntl(f->never[1], F_DUPFD, 50);
    char script[80];
    int status;

    assert_true(fd >= 50);
    (void)snprintf(script, sizeof script, "! test -e /proc/self/fd/%d", fd);
    f->argv[2] = script;
    status = run(f);
    (void)safe_close(fd);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(it_has_the_umask_that_it_was_given)
{
    struct fixture *f = *state;
    mode_t ours = umask(0);
    int status;

    (void)umask(ours);
    f->spec.umask = 0135;
    f->argv[2] = (char *)"test \"$(umask)\" = 0135";
    status = run(f);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(umask(ours), ours);
}

/* What root makes for a job belongs to its account; made in a folder that hands its group on, it
 * stays that group's. */
TEST_PLAIN(a_folder_that_is_given_keeps_the_group_of_a_setgid_one)
{
    struct account account = { .is_other = true, .uid = 65533, .gid = 65533 };
    char above[] = "/tmp/edl-test-child-XXXXXX";
    _cleanup_free_ char *given = NULL;
    struct stat st;

    if (geteuid() != 0)
        skip(); /* nobody else can give anything away */
    assert_non_null(mkdtemp(above));
    assert_int_equal(chown(above, 0, 65532), 0);
    assert_true(asprintf(&given, "%s/given", above) > 0);
    for (mode_t setgid = 0; setgid <= S_ISGID; setgid += S_ISGID) {
        assert_int_equal(chmod(above, 0700 | setgid), 0);
        assert_int_equal(mkdir(given, 0755), 0);
        assert_int_equal(account_give(&account, given, NULL), 0);
        assert_int_equal(stat(given, &st), 0);
        assert_int_equal(rmdir(given), 0);
        assert_int_equal(st.st_uid, 65533);
        assert_int_equal(st.st_gid, setgid != 0 ? 65532 : 65533);
    }
    assert_int_equal(rmdir(above), 0);
}

/* The program lives beyond the time that its start had. A busy machine needs more time to start it.
 */
TEST(a_program_that_runs_is_left_alone)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t start_us = USEC_PER_SEC / 4;
    char script[40];
    int status;

    f->argv[2] = script;
    do {
        start_us *= 2;
        child_close(&f->child);
        (void)snprintf(script, sizeof script, "exec sleep %g", 1.5e-6 * (double)start_us);
        f->spec.start_by_us = clock_read_us(CLOCK_BOOTTIME) + start_us;
        status = run(f);
    } while (f->child.late && start_us < DEADLINE_US);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), 0);
}

TEST(what_failed_is_told)
{
    struct fixture *f = *state;
    const struct child_spec good = f->spec;
    struct edl_error error = { 0 };

    f->spec.workspace = "/none";
    assert_int_equal(WEXITSTATUS(run(f)), 127);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), -ENOENT);
    assert_non_null(strstr(error.text, "cannot enter the workspace /none"));
    assert_true(f->child.no_workspace);
    assert_int_equal(f->child.fault, START_FAULT_NODE);
    child_close(&f->child);
    f->spec = good;
    f->spec.announce = announce_not;
    assert_int_equal(WEXITSTATUS(run(f)), 127);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), -ENOSPC);
    child_close(&f->child);
    f->spec = good;
    f->spec.confine = confine_not;
    assert_int_equal(WEXITSTATUS(run(f)), 127);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), -EACCES);
    assert_int_equal(f->child.fault, START_FAULT_NODE);
    child_close(&f->child);
    f->spec = good;
    f->argv[0] = (char *)"/none";
    assert_int_equal(WEXITSTATUS(run(f)), 127);
    assert_int_equal(child_failure(&f->child, &f->spec, &error), -ENOENT);
    assert_non_null(strstr(error.text, "cannot execute /none"));
    assert_int_equal(f->child.fault, START_FAULT_PROGRAM);
}
