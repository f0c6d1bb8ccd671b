/* SPDX-License-Identifier: Apache-2.0 */
/* test_drop_ins.c - edl-supervisor --drop-ins, as an agent talks with it
 *
 * A drop-in that hangs holds a FIFO open, with a child in a session of its own: the end of the FIFO
 * says that both are gone. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/drop_ins/visit_record.h"
#include "agent/processes/helper.h"
#include "shared/cleanup.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "tests/unit/test.h"

#define DEADLINE_MS 120000
#define JOB 7
#define HANGS "exec 9>\"$FIFO\"; setsid sleep 1000 & echo x >&9; sleep 1000"

static char root[64];
static int fifo_fd;

static char *at(const char *name)
{
    return text_format("%s/%s", root, name);
}

static int setup(void **state)
{
    static const char *const folders[] = { "d", "state", "state/visits" };
    _cleanup_free_ char *fifo = NULL;

    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/edl-test-drop-ins-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ELEMENTS(folders); i++) {
        _cleanup_free_ char *path = at(folders[i]);

        assert_int_equal(mkdir(path, 0755), 0);
    }
    fifo = at("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    fifo_fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fifo_fd >= 0);
    return 0;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    fifo_fd = safe_close(fifo_fd);
    return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

TEST_EACH(setup, teardown);

/* drop_in - name: with mode behind a space, "10-a"; FIFO and OUT stand for files of the test */
static void drop_in(const char *name, mode_t mode, const char *text)
{
    _cleanup_free_ char *path = text_format("%s/d/%s", root, name);
    _cleanup_fclose_ FILE *file = fopen(path, "w");

    assert_non_null(file);
    (void)fprintf(file, "#!/bin/sh\nFIFO=%s/fifo OUT=%s/out\n%s\n", root, root, text);
    (void)fflush(file);
    assert_int_equal(fchmod(fileno(file), mode), 0);
}

static struct helper start(const char *kind, unsigned timeout_ms)
{
    const char *build = getenv("EDL_BUILD_DIR");
    _cleanup_free_ char *program = text_format("%s/edl-supervisor", build != NULL ? build : ".");
    const char *const argv[] = { program, "--drop-ins", NULL };
    const int numbers[] = { STDIN_FILENO };
    _cleanup_free_ char *folder = at("d"), *visit = at("state/visits/7"),
                        *failed = at("state/set-aside"), *users = at("state/users"), *text = NULL;
    struct helper helper;
    json_t *json = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:{s:[], s:[], s:[], s:s, s:i, s:i, s:b, "
        "s:s, s:s, s:s}}",
        "kind", kind, "job_id", JOB, "job", "a-job", "gpus", "0,3", "node", "n1", "folder", folder,
        "visit_dir", visit, "failed_path", failed, "timeout_us", (json_int_t)timeout_ms * 1000,
        "account", "allow_users", "allow_groups", "map_users", "default_user", "", "user_first", 0,
        "user_last", 0, "allow_root", 1, "user", "", "submitter", "", "users_dir", users);

    assert_non_null(json);
    text = json_dumps(json, 0);
    json_decref(json);
    assert_int_equal(helper_start(argv, numbers, 1, &helper, NULL), 0);
    assert_true(send(helper.fd, text, strlen(text), 0) > 0);
    return helper;
}

/* end - the reason that it answered, to be freed; NULL: it said nothing */
static char *end(struct helper helper)
{
    struct pollfd gone = { .fd = helper.pidfd, .events = POLLIN };
    char text[1024];
    siginfo_t info;
    json_t *json;
    char *reason = NULL;
    ssize_t n;

    assert_int_equal(poll(&gone, 1, DEADLINE_MS), 1);
    assert_int_equal(waitid(P_PIDFD, (id_t)helper.pidfd, &info, WEXITED), 0);
    n = helper.fd >= 0 ? recv(helper.fd, text, sizeof text, MSG_DONTWAIT) : 0;
    json = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
    if (json != NULL)
        reason = xstrdup(json_text(json, "reason"));
    json_decref(json);
    (void)safe_close(helper.fd);
    (void)safe_close(helper.pidfd);
    return reason;
}

static char *run(const char *kind, unsigned timeout_ms)
{
    return end(start(kind, timeout_ms));
}

static void await_begun(void)
{
    struct pollfd begun = { .fd = fifo_fd, .events = POLLIN };
    char byte;

    assert_int_equal(poll(&begun, 1, DEADLINE_MS), 1);
    assert_int_equal(read(fifo_fd, &byte, 1), 1);
}

/* await_gone - behind a run: one that was ended before it opened the FIFO is gone as well, and of
 * that poll tells nothing */
static void await_gone(void)
{
    struct pollfd gone = { .fd = fifo_fd, .events = 0 };
    char bytes[16];
    ssize_t n = 1;

    while (n > 0)
        n = read(fifo_fd, bytes, sizeof bytes);
    if (n == 0)
        return;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(poll(&gone, 1, DEADLINE_MS), 1);
    assert_true((gone.revents & POLLHUP) != 0);
}

static int stage(void)
{
    _cleanup_free_ char *path = at("state/visits/7");
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct visit_record record = { .job = NULL };
    int r = fd >= 0 ? visit_read(fd, &record, NULL) : -ENOENT;
    int seen = (int)record.stage;

    if (r < 0)
        return r;
    visit_record_done(&record);
    return seen;
}

static void assert_out(const char *wanted)
{
    _cleanup_free_ char *path = at("out");
    _cleanup_fclose_ FILE *file = fopen(path, "r");
    char text[300] = "";

    if (file != NULL)
        (void)fread(text, 1, sizeof text - 1, file);
    assert_string_equal(text, wanted);
}

TEST(test_a_visit_with_drop_ins)
{
    _cleanup_free_ char *began = NULL, *ended = NULL, *twice = NULL;

    drop_in("20-b", 0755, "echo \"b $EDL_DROP_IN $EDL_JOB_ID $EDL_JOB_NAME $EDL_GPUS\" >>$OUT");
    drop_in("10-a", 0755, "echo a >>$OUT");
    drop_in("30-c", 0644, "echo c >>$OUT");
    drop_in("40-d.sh", 0755, "echo d >>$OUT");
    began = run("prolog", 60000);
    assert_string_equal(began, "");
    assert_int_equal(stage(), VISIT_STAGE_OPEN);
    ended = run("epilog", 60000);
    assert_string_equal(ended, "");
    assert_int_equal(stage(), -ENOENT);
    twice = run("epilog", 60000); /* nothing is left to do */
    assert_string_equal(twice, "");
    assert_out("a\nb prolog 7 a-job 0,3\na\nb epilog 7 a-job 0,3\n");
}

/* The rest of a prolog does not run, that of an epilog does, and its failure is kept. */
TEST(test_drop_ins_that_fail)
{
    _cleanup_free_ char *began = NULL, *ended = NULL, *kept = at("state/set-aside");

    drop_in("10-a", 0755, "echo first; echo 'no room' >&2; exit 3");
    drop_in("20-b", 0755, "echo $EDL_DROP_IN >>$OUT");
    began = run("prolog", 60000);
    assert_string_equal(began, "prolog 10-a ended with 3: no room");
    assert_int_equal(stage(), VISIT_STAGE_PROLOG);
    assert_int_equal(access(kept, F_OK), -1);
    ended = run("epilog", 60000);
    assert_string_equal(ended, "epilog 10-a ended with 3: no room");
    assert_int_equal(access(kept, F_OK), 0);
    assert_out("epilog\n");
}

TEST(test_a_drop_in_that_takes_too_long)
{
    _cleanup_free_ char *reason = NULL;

    drop_in("10-a", 0755, HANGS);
    reason = run("prolog", 1000);
    assert_string_equal(reason, "prolog 10-a took longer than 1 s");
    await_gone();
}

/* It ends, and leaves a daemon: that goes with it. */
TEST(test_a_drop_in_that_leaves_something)
{
    _cleanup_free_ char *reason = NULL;

    drop_in("10-a", 0755, "exec 9>$FIFO; setsid sh -c 'sleep 1000 & sleep 1000' & exit 0");
    reason = run("prolog", 60000);
    assert_string_equal(reason, "");
    await_gone();
}

TEST(test_the_agent_is_gone)
{
    struct helper helper;

    drop_in("10-a", 0755, HANGS);
    helper = start("prolog", 60000);
    await_begun();
    helper.fd = safe_close(helper.fd);
    assert_null(end(helper));
    await_gone();
    assert_int_equal(stage(), VISIT_STAGE_PROLOG);
}

/* Its runner is killed as well: the run behind it ends the rest, before anything else. */
TEST(test_the_runner_is_killed)
{
    _cleanup_free_ char *reason = NULL;
    struct helper helper;

    drop_in("10-a", 0755, HANGS);
    helper = start("prolog", 60000);
    await_begun();
    assert_int_equal(pidfd_send_signal(helper.pidfd, SIGKILL, NULL, 0), 0);
    assert_null(end(helper));
    drop_in("10-a", 0755, "echo again >>$OUT");
    reason = run("prolog", 60000);
    assert_string_equal(reason, "");
    await_gone();
    assert_out("again\n");
}

TEST(test_one_run_of_a_job_at_a_time)
{
    _cleanup_free_ char *late = NULL, *reason = NULL;
    struct helper helper;

    drop_in("10-a", 0755, HANGS);
    helper = start("prolog", 60000);
    await_begun();
    late = run("epilog", 1000);
    assert_string_equal(late, "epilog is not run: an earlier run for this job does not end");
    assert_int_equal(shutdown(helper.fd, SHUT_WR), 0);
    assert_null(end(helper));
}

TEST(test_much_output_is_bounded)
{
    _cleanup_free_ char *reason = NULL;

    drop_in("10-a", 0755, "yes | head -n 100000; printf '\\033[31mlast'; exit 1");
    reason = run("prolog", 60000);
    assert_string_equal(reason, "prolog 10-a ended with 1: ?[31mlast");
}
