/* SPDX-License-Identifier: Apache-2.0 */
/* test_spawner.c - the direct runtime and its spawn server, killed at bad moments
 *
 * The program is taken from the folder in EDL_BUILD_DIR (default "."). Every process writes "ran"
 * to its log first, so that a second start would show; then it waits on the gate, if it is to. */
#define TEST_OWN_MAIN

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/logs/log_times.h"
#include "agent/processes/process_dir.h"
#include "agent/machine/procfs.h"
#include "agent/runtime.h"
#include "agent/processes/spawner.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define PROCESSES_MAX 3
#define RUNS "echo ran"
#define WAITS "echo ran; read x <$GATE"

struct one {
    char dir[96];
    char log[96];
    struct runtime_process *handle;
    struct runtime_state state;
};

struct fixture {
    char root[64];
    char gate[96];
    int gate_fd;
    char supervisor[4096];
    char boot_id[BOOT_ID_SIZE];
    sd_event *event;
    struct runtime *runtime;
    struct one list[PROCESSES_MAX];
    int server; /* pidfd of the spawn server; -1 until a test asks for it */
};

static void open_runtime(struct fixture *f, const char *supervisor)
{
    assert_int_equal(runtime_new(f->event, spawner_new(f->event, supervisor), &f->runtime, NULL),
                     0);
}

/* close_runtime - what the end of an agent does to the rest */
static void close_runtime(struct fixture *f)
{
    for (size_t i = 0; f->runtime != NULL && i < PROCESSES_MAX; i++)
        f->list[i].handle = runtime_release(f->list[i].handle);
    if (f->runtime != NULL)
        f->runtime = runtime_free(f->runtime);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");
    char root[sizeof f->root] = "/tmp/edl-test-spawner-XXXXXX";

    assert_non_null(mkdtemp(root));
    (void)snprintf(f->root, sizeof f->root, "%s", root);
    (void)snprintf(f->gate, sizeof f->gate, "%s/gate", f->root);
    (void)snprintf(f->supervisor, sizeof f->supervisor, "%s/edl-supervisor",
                   build != NULL ? build : ".");
    for (int i = 0; i < PROCESSES_MAX; i++) {
        struct one *one = &f->list[i];

        (void)snprintf(one->dir, sizeof one->dir, "%s/%d", root, i);
        (void)snprintf(one->log, sizeof one->log, "%s/%d.log", root, i);
    }
    assert_int_equal(mkfifo(f->gate, 0600), 0);
    f->gate_fd = open(f->gate, O_RDWR | O_CLOEXEC);
    assert_true(f->gate_fd >= 0);
    assert_int_equal(clock_boot_id(f->boot_id, sizeof f->boot_id), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    f->server = -1;
    open_runtime(f, f->supervisor);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    close_runtime(f);
    sd_event_unref(f->event);
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        _cleanup_free_ char *times = log_times_name(f->list[i].log);

        (void)process_dir_remove(f->list[i].dir, NULL);
        (void)unlink(f->list[i].log);
        (void)unlink(times);
    }
    (void)safe_close(f->gate_fd);
    (void)safe_close(f->server);
    (void)unlink(f->gate);
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void on_changed(void *userdata)
{
    (void)userdata; /* await polls after each event */
}

static int start(struct fixture *f, int i, const char *script, struct edl_error *error)
{
    struct one *p = &f->list[i];
    json_t *order =
        json_pack("{s:[s, s, s], s:{s:s, s:s}, s:s, s:s, s:I, s:I, s:s}", "argv", "sh", "-c",
                  script, "env", "PATH", "/usr/local/bin:/usr/bin:/bin", "GATE", f->gate,
                  "workspace", f->root, "log_path", p->log, "lease_us", (json_int_t)0, "grace_us",
                  (json_int_t)60000000, "boot_id", f->boot_id);

    assert_int_equal(process_dir_create(p->dir, order, NULL), 0);
    json_decref(order);
    return runtime_start(f->runtime, p->dir, on_changed, p, &p->handle, error);
}

static void start_well(struct fixture *f, int i, const char *script)
{
    assert_int_equal(start(f, i, script, NULL), 0);
}

/* await - until process i is in this phase */
static void await(struct fixture *f, int i, enum runtime_phase phase)
{
    struct one *p = &f->list[i];

    for (;;) {
        runtime_poll(p->handle, &p->state);
        if (p->state.phase == phase)
            return;
        assert_int_not_equal(p->state.phase, RUNTIME_EXITED);
        assert_true(sd_event_run(f->event, DEADLINE_US) > 0);
    }
}

static void assert_ran(struct fixture *f, int i, const char *text)
{
    _cleanup_close_ int fd = open(f->list[i].log, O_RDONLY | O_CLOEXEC);
    char log[64] = "";

    assert_true(fd == -1 || read(fd, log, sizeof log - 1) >= 0);
    assert_string_equal(log, text);
}

static void let_go(struct fixture *f)
{
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
}

/* find_server - it is the parent of the supervisors; process 0 has to run */
static void find_server(struct fixture *f)
{
    struct procfs_stat supervisor;

    await(f, 0, RUNTIME_RUNNING);
    assert_true(f->list[0].state.supervisor_pid > 0);
    assert_int_equal(procfs_stat(f->list[0].state.supervisor_pid, &supervisor), 0);
    assert_int_not_equal(supervisor.ppid, getpid());
    f->server = pidfd_open(supervisor.ppid, 0);
    assert_true(f->server >= 0);
}

static void signal_server(struct fixture *f, int signal_number)
{
    assert_int_equal(pidfd_send_signal(f->server, signal_number, NULL, 0), 0);
}

static void await_server_end(struct fixture *f)
{
    struct pollfd end = { .fd = f->server, .events = POLLIN };

    assert_int_equal(poll(&end, 1, DEADLINE_US / USEC_PER_MSEC), 1);
}

/* reap_all - waits for the end of every supervisor: without a server they are our children */
static void reap_all(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_int_equal(errno, ECHILD);
}

TEST(test_processes_run_once_each)
{
    struct fixture *f = *state;

    for (int i = 0; i < PROCESSES_MAX; i++)
        start_well(f, i, RUNS);
    for (int i = 0; i < PROCESSES_MAX; i++) {
        await(f, i, RUNTIME_EXITED);
        assert_int_equal(f->list[i].state.exit_code, 0);
        assert_ran(f, i, "ran\n");
    }
}

TEST(test_ignored_signals_are_not_passed_on)
{
    struct fixture *f = *state;

    (void)signal(SIGHUP, SIG_IGN); /* as nohup(1) does for an agent */
    start_well(f, 0, "kill -HUP $$");
    await(f, 0, RUNTIME_EXITED);
    (void)signal(SIGHUP, SIG_DFL);
    assert_int_equal(f->list[0].state.exit_signal, SIGHUP);
}

TEST(test_server_killed_disturbs_nobody)
{
    struct fixture *f = *state;

    start_well(f, 0, WAITS);
    find_server(f);
    signal_server(f, SIGKILL);
    await_server_end(f);
    start_well(f, 1, RUNS);
    await(f, 1, RUNTIME_EXITED);
    assert_ran(f, 1, "ran\n");
    runtime_poll(f->list[0].handle, &f->list[0].state);
    assert_int_equal(f->list[0].state.phase, RUNTIME_RUNNING);
    let_go(f);
    await(f, 0, RUNTIME_EXITED);
    assert_int_equal(f->list[0].state.exit_code, 0);
}

TEST(test_server_killed_while_it_starts_one)
{
    struct fixture *f = *state;

    start_well(f, 0, WAITS);
    find_server(f);
    signal_server(f, SIGSTOP);
    start_well(f, 1, RUNS);
    signal_server(f, SIGKILL);
    await(f, 1, RUNTIME_EXITED);
    assert_int_equal(f->list[1].state.exit_code, 0);
    assert_ran(f, 1, "ran\n");
    let_go(f);
    await(f, 0, RUNTIME_EXITED);
}

/* The request is still on its way when the agent dies and the next one looks. */
TEST(test_agent_killed_while_it_starts_one)
{
    struct fixture *f = *state;

    start_well(f, 0, WAITS);
    find_server(f);
    signal_server(f, SIGSTOP);
    start_well(f, 1, RUNS);
    close_runtime(f);
    open_runtime(f, f->supervisor);
    for (int i = 0; i < 2; i++)
        assert_int_equal(runtime_adopt(f->runtime, f->list[i].dir, on_changed, NULL,
                                       &f->list[i].handle, NULL),
                         0);
    await(f, 1, RUNTIME_EXITED);
    assert_int_equal(f->list[1].state.exit_code, -1);
    assert_string_equal(f->list[1].state.reason, "its supervisor vanished");
    signal_server(f, SIGCONT);
    await_server_end(f);
    await(f, 0, RUNTIME_RUNNING);
    let_go(f);
    await(f, 0, RUNTIME_EXITED);
    reap_all();
    assert_ran(f, 1, "");
}

TEST(test_stop_before_the_supervisor_is_known)
{
    struct fixture *f = *state;

    start_well(f, 0, WAITS);
    find_server(f);
    signal_server(f, SIGSTOP);
    start_well(f, 1, WAITS);
    assert_int_equal(runtime_stop(f->list[1].handle, 60 * USEC_PER_SEC, NULL), 0);
    signal_server(f, SIGCONT);
    await(f, 1, RUNTIME_EXITED);
    assert_string_equal(f->list[1].state.reason, "stopped");
    let_go(f);
    await(f, 0, RUNTIME_EXITED);
}

TEST(test_server_that_does_not_stay_is_given_up)
{
    struct fixture *f = *state;

    close_runtime(f);
    open_runtime(f, "/bin/true");
    start_well(f, 0, RUNS);
    await(f, 0, RUNTIME_EXITED);
    assert_int_equal(f->list[0].state.exit_code, -1);
    assert_string_equal(f->list[0].state.reason,
                        "cannot start: edl-supervisor --serve ended in all of 2 tries");
}

TEST(test_server_that_is_missing_says_so)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    close_runtime(f);
    open_runtime(f, "/no/edl-supervisor");
    assert_int_equal(start(f, 0, RUNS, &error), -ENOENT);
    assert_string_equal(error.text, "cannot start /no/edl-supervisor: No such file or directory");
}

int main(int argc, char **argv)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
        return 1;
    return tests_main(argc, argv);
}
