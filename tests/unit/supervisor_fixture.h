/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_fixture.h - one process under edl-supervisor
 *
 * The program is taken from the folder in EDL_BUILD_DIR (default "."). That a process is gone is
 * seen by the end of a FIFO it holds open: no pid is polled. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/processes/process_dir.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define DEADLINE_MS 120000

struct fixture {
    char root[64];
    char dir[96]; /* process folder */
    char log[96];
    char lease[96];
    char fifo[96]; /* processes hold it open: EOF here means they are gone */
    char gate[96]; /* a program waits on it until the test lets it go on */
    int fifo_fd;
    int gate_fd;
    char boot_id[BOOT_ID_SIZE]; /* of the order */
    json_int_t log_max;         /* the same; 0: none */
    int umask;                  /* the same; -1: none */
    bool takes_input;           /* the same */
    json_t *cgroup;             /* the same, owned; NULL: none */
    json_int_t cut_off_kill_us; /* the same; 0: as of an earlier version */
    char supervisor[4096];
    pid_t pid;
    int pidfd;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-supervisor-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->dir, sizeof f->dir, "%s/process", f->root);
    (void)snprintf(f->log, sizeof f->log, "%s/log", f->root);
    (void)snprintf(f->lease, sizeof f->lease, "%s/lease", f->root);
    (void)snprintf(f->fifo, sizeof f->fifo, "%s/fifo", f->root);
    (void)snprintf(f->gate, sizeof f->gate, "%s/gate", f->root);
    (void)snprintf(f->supervisor, sizeof f->supervisor, "%s/edl-supervisor",
                   build != NULL ? build : ".");
    assert_int_equal(mkfifo(f->fifo, 0600), 0);
    assert_int_equal(mkfifo(f->gate, 0600), 0);
    f->fifo_fd = open(f->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    f->gate_fd = open(f->gate, O_RDWR | O_CLOEXEC);
    assert_true(f->fifo_fd >= 0 && f->gate_fd >= 0);
    f->pidfd = -1;
    f->umask = -1;
    assert_int_equal(clock_boot_id(f->boot_id, sizeof f->boot_id), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)process_dir_remove(f->dir, NULL);
    for (size_t i = 0; i < 4; i++)
        (void)unlink((const char *[]){ f->log, f->lease, f->fifo, f->gate }[i]);
    (void)rmdir(f->root);
    (void)safe_close(f->fifo_fd);
    (void)safe_close(f->gate_fd);
    (void)safe_close(f->pidfd);
    json_decref(f->cgroup);
    free(f);
    return 0;
}

/* make_order - take_argv is consumed */
static void make_order(struct fixture *f, json_t *take_argv, uint64_t grace_us, uint64_t lease_us)
{
    struct edl_error error = { 0 };
    json_t *order =
        json_pack("{s:o, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:I, s:I, s:s}", "argv", take_argv,
                  "env", "PATH", "/usr/local/bin:/usr/bin:/bin", "FIFO", f->fifo, "GATE", f->gate,
                  "workspace", f->root, "log_path", f->log, "lease_path", f->lease, "lease_us",
                  (json_int_t)lease_us, "grace_us", (json_int_t)grace_us, "boot_id", f->boot_id);

    if (f->log_max > 0)
        (void)json_object_set_new(order, "log_max", json_integer(f->log_max));
    if (f->cgroup != NULL)
        (void)json_object_set(order, "cgroup", f->cgroup);
    if (f->cut_off_kill_us > 0)
        (void)json_object_set_new(order, "cut_off_kill_us", json_integer(f->cut_off_kill_us));
    if (f->takes_input)
        (void)json_object_set_new(order, "stdin", json_true());
    if (f->umask >= 0)
        (void)json_object_set_new(order, "umask", json_integer(f->umask));
    assert_int_equal(process_dir_create(f->dir, order, &error), 0);
    json_decref(order);
}

static void start(struct fixture *f)
{
    f->pid = fork();
    if (f->pid == 0) {
        (void)execl(f->supervisor, f->supervisor, f->dir, (char *)NULL);
        _exit(126);
    }
    f->pidfd = pidfd_open(f->pid, 0);
    assert_true(f->pidfd >= 0);
}

static inline void start_script(struct fixture *f, const char *script, uint64_t grace_us)
{
    make_order(f, json_pack("[s, s, s]", "sh", "-c", script), grace_us, 0);
    start(f);
}

static bool wait_readable(int fd, int timeout_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, timeout_ms) == 1;
}

/* wait_for_text - a process wrote this to the FIFO */
static void wait_for_text(struct fixture *f, const char *expected)
{
    char text[64];
    ssize_t n;

    assert_true(wait_readable(f->fifo_fd, DEADLINE_MS));
    n = read(f->fifo_fd, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static inline void assert_fifo_released(struct fixture *f)
{
    char c;

    assert_true(wait_readable(f->fifo_fd, DEADLINE_MS)); /* POLLHUP */
    assert_int_equal(read(f->fifo_fd, &c, 1), 0);
}

/* wait_end - the supervisor's status; its record is in *ret */
static int wait_end(struct fixture *f, struct exit_record *ret)
{
    _cleanup_close_ int dir_fd = -1;
    int status;

    assert_true(wait_readable(f->pidfd, DEADLINE_MS));
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    dir_fd = process_dir_open(f->dir, NULL);
    assert_int_equal(process_dir_read_exit(dir_fd, ret, NULL), 0);
    return status;
}
