/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - starts the program of a process
 *
 * The child gets a session of its own, dies with its supervisor (PR_SET_PDEATHSIG), has no core
 * dumps, no input, the log as output, and only the environment it was ordered. A failure before or
 * in execve travels back over a close-on-exec pipe as (step, errno), so that its text is made where
 * memory may be used. */
#include "agent/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define EXIT_CANNOT_EXECUTE 127

enum step { STEP_PREPARE, STEP_WORKSPACE, STEP_EXECUTE };

struct failure_message {
    int32_t step;
    int32_t error_number;
};

static void report_and_exit(int status_fd, enum step step)
{
    struct failure_message message = { .step = step, .error_number = errno };

    (void)!write(status_fd, &message, sizeof message);
    _exit(EXIT_CANNOT_EXECUTE);
}

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL); /* ignored ones would stay ignored over execve */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct child_spec *spec, pid_t supervisor, int go_fd, int status_fd)
{
    const struct rlimit no_core = { 0, 0 };
    int null_fd;
    char go;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
        report_and_exit(status_fd, STEP_PREPARE);
    if (getppid() != supervisor) /* it died before the line above */
        _exit(EXIT_CANNOT_EXECUTE);
    if (read(go_fd, &go, 1) != 1) /* the supervisor gave up */
        _exit(EXIT_CANNOT_EXECUTE);
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd == -1 || setsid() == -1 || setrlimit(RLIMIT_CORE, &no_core) == -1 ||
        dup2(null_fd, STDIN_FILENO) == -1 || dup2(spec->log_fd, STDOUT_FILENO) == -1 ||
        dup2(spec->log_fd, STDERR_FILENO) == -1)
        report_and_exit(status_fd, STEP_PREPARE);
    if (chdir(spec->workspace) == -1)
        report_and_exit(status_fd, STEP_WORKSPACE);
    reset_signals();
    environ = spec->environment; /* execvp searches the PATH of this environment */
    (void)execvp(spec->argv[0], spec->argv);
    report_and_exit(status_fd, STEP_EXECUTE);
}

int child_fork(const struct child_spec *spec, struct child *ret, struct edl_error *error)
{
    int go[2] = { -1, -1 };
    int status[2] = { -1, -1 };
    pid_t supervisor = getpid();
    pid_t pid = -1;
    int pidfd = -1;

    if (pipe2(go, O_CLOEXEC) == 0 && pipe2(status, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0) {
        (void)safe_close(go[1]);
        (void)safe_close(status[0]);
        run_child(spec, supervisor, go[0], status[1]);
    }
    if (pid > 0)
        pidfd = pidfd_open(pid, 0);
    if (pidfd == -1) {
        int saved = errno;

        for (size_t i = 0; i < 2; i++) { /* closing go ends a child that waits on it */
            (void)safe_close(go[i]);
            (void)safe_close(status[i]);
        }
        return edl_error_errno(error, -saved, "cannot start a process");
    }
    (void)safe_close(go[0]);
    (void)safe_close(status[1]);
    *ret = (struct child){ .pid = pid, .pidfd = pidfd, .go_fd = go[1], .status_fd = status[0] };
    return 0;
}

void child_release(struct child *child)
{
    (void)!write(child->go_fd, "",
                 1); /* fails only when the child is dead, which is noticed anyway */
    child->go_fd = safe_close(child->go_fd);
}

int child_failure(struct child *child, const struct child_spec *spec, struct edl_error *error)
{
    struct failure_message message;

    if (child->status_fd < 0 || read(child->status_fd, &message, sizeof message) != sizeof message)
        return 0;
    switch ((enum step)message.step) {
    case STEP_WORKSPACE:
        return edl_error_errno(error, -message.error_number, "cannot enter the workspace %s",
                               spec->workspace);
    case STEP_EXECUTE:
        return edl_error_errno(error, -message.error_number, "cannot execute %s", spec->argv[0]);
    case STEP_PREPARE:
        break;
    }
    return edl_error_errno(error, -message.error_number, "cannot prepare the process");
}

void child_close(struct child *child)
{
    child->pidfd = safe_close(child->pidfd);
    child->go_fd = safe_close(child->go_fd);
    child->status_fd = safe_close(child->status_fd);
}
