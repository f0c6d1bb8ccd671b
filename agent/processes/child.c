/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - starts the program of a process
 *
 * The child gets a session of its own and dies with its supervisor (PR_SET_PDEATHSIG). It has no
 * core dumps, no input unless its job wants some, the log as output, no other descriptor, and only
 * the environment it was ordered. A failure before or in execve travels back over a close-on-exec
 * pipe as (step, errno). So its text is made where memory may be used.
 *
 * Of a root agent the program runs as another account. All that needs root comes before the change:
 * the record, the descriptors. The workspace is entered before them, with that account's rights. */
#include "agent/processes/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/processes/hidden.h"
#include "agent/supervisor/process_guard.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define EXIT_CANNOT_EXECUTE 127

enum step { STEP_PREPARE, STEP_WORKSPACE, STEP_ANNOUNCE, STEP_CONFINE, STEP_ACCOUNT, STEP_EXECUTE };

struct failure_message {
    int32_t step;
    int32_t error_number;
};

_Noreturn static void report_and_exit(int status_fd, enum step step, int error_number)
{
    struct failure_message message = { .step = step, .error_number = error_number };

    (void)!write(status_fd, &message, sizeof message);
    _exit(EXIT_CANNOT_EXECUTE);
}

/* die_with - the supervisor; a change of account forgets it (prctl(2)) */
static void die_with(pid_t supervisor, int status_fd)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
        report_and_exit(status_fd, STEP_PREPARE, errno);
    if (getppid() != supervisor) /* it died before the line above */
        _exit(EXIT_CANNOT_EXECUTE);
}

static void change_account(const struct account *account, pid_t supervisor, int status_fd)
{
    int r = account_become(account);

    if (r < 0)
        report_and_exit(status_fd, STEP_ACCOUNT, -r);
    die_with(supervisor, status_fd);
}

void child_be_killable(void)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char inherited[8] = "";
    const char *own;

    if (fd == -1 || read(fd, inherited, sizeof inherited - 1) <= 0)
        return;
    own = inherited[0] == '-' ? "0" : OOM_SCORE_ADJ_FIRST;
    (void)!pwrite(fd, own, strlen(own), 0);
}

/* end_by - a workspace or a program on a server that does not answer holds up its supervisor, which
 * has a lease to keep: SIGKILL ends such a wait. A timer goes with the exec (timer_create(2)). */
static void end_by(uint64_t at_us, int status_fd)
{
    struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(at_us / USEC_PER_SEC),
                                                   .tv_nsec =
                                                       (long)(at_us % USEC_PER_SEC) * 1000 } };
    timer_t timer;

    if (timer_create(CLOCK_BOOTTIME, &by_signal, &timer) == -1 ||
        timer_settime(timer, TIMER_ABSTIME, &when, NULL) == -1)
        report_and_exit(status_fd, STEP_PREPARE, errno);
}

/* enter - the workspace, with the rights of the account, of which nothing is kept yet
 * Before the process is announced: one that cannot be entered never counts as running. */
static void enter(const struct child_spec *spec, pid_t supervisor, int status_fd)
{
    const struct account *a = spec->account;
    bool other = a != NULL && a->is_other;

    if (other && (setgroups((size_t)a->n_groups, a->groups) == -1 ||
                  setresgid((gid_t)-1, a->gid, (gid_t)-1) == -1 ||
                  setresuid((uid_t)-1, a->uid, (uid_t)-1) == -1))
        report_and_exit(status_fd, STEP_ACCOUNT, errno);
    if (chdir(spec->workspace) == -1)
        report_and_exit(status_fd, STEP_WORKSPACE, errno);
    if (!other)
        return;
    if (setresuid((uid_t)-1, 0, (uid_t)-1) == -1 || setresgid((gid_t)-1, 0, (gid_t)-1) == -1)
        report_and_exit(status_fd, STEP_ACCOUNT, errno);
    die_with(supervisor, status_fd);
}

/* run_child - signals have their defaults (main sees to that), but are blocked
 * It may be in our memory (start_here): what it changes there stays changed. */
_Noreturn static void run_child(const struct child_spec *spec, bool in_group, pid_t supervisor,
                                int status_fd)
{
    const struct rlimit no_core = { 0, 0 };
    const char *const *hidden;
    struct edl_error error = { 0 };
    sigset_t none;
    int input_fd, r;
    bool other;

    die_with(supervisor, status_fd);
    if (!in_group && spec->start_by_us != 0) /* its supervisor waits for it */
        end_by(spec->start_by_us, status_fd);
    enter(spec, supervisor, status_fd);
    r = spec->announce(spec->userdata, &error);
    if (r < 0)
        report_and_exit(status_fd, STEP_ANNOUNCE, -r);
    input_fd = spec->input_fd >= 0 ? spec->input_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input_fd == -1 || setsid() == -1 || setrlimit(RLIMIT_CORE, &no_core) == -1 ||
        dup2(input_fd, STDIN_FILENO) == -1 || dup2(spec->output_fd, STDOUT_FILENO) == -1 ||
        dup2(spec->output_fd, STDERR_FILENO) == -1 ||
        close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == -1)
        report_and_exit(status_fd, STEP_PREPARE, errno);
    other = spec->account != NULL && spec->account->is_other;
    hidden = other ? spec->hidden : NULL;
    r = hidden != NULL || spec->shm != NULL ? hidden_begin(hidden, spec->shm) : 0;
    if (r < 0)
        report_and_exit(status_fd, STEP_PREPARE, -r);
    r = spec->confine(in_group, spec->userdata);
    if (r < 0)
        report_and_exit(status_fd, STEP_CONFINE, -r);
    if (other)
        change_account(spec->account, supervisor, status_fd);
    (void)umask(spec->umask);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    environ = spec->environment; /* execvp searches the PATH of this environment */
    (void)execvp(spec->argv[0], spec->argv);
    report_and_exit(status_fd, STEP_EXECUTE, errno);
}

/* start_in_group - a fork straight into a control group
 * To move there afterwards the kernel stops all forks of the machine, for which it waits some 15 ms
 * on a quiet one. What libc's fork does beyond the system call is for programs with threads; its
 * vfork knows no groups. */
static pid_t start_in_group(const struct child_spec *spec, pid_t supervisor, int status_fd)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD,
                               .cgroup = (uint64_t)spec->group_fd };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

    if (pid == 0)
        run_child(spec, true, supervisor, status_fd);
    return pid;
}

/* start_here - vfork(2): our memory is not copied just to be dropped by the program
 * We hear nothing until that runs; end_by sees to it that this is soon. */
static pid_t start_here(const struct child_spec *spec, pid_t supervisor, int status_fd)
{
    char **const ours = environ;
    pid_t pid = vfork();

    if (pid == 0)
        run_child(spec, false, supervisor, status_fd);
    environ = ours;
    return pid;
}

/* is_late - then end_by killed it, or is about to
 * The kernel lets us go on before a killed child can be waited for, so that we cannot ask which: we
 * kill too, and nothing runs beyond its time. */
static bool is_late(const struct child_spec *spec, int pidfd)
{
    if (spec->start_by_us == 0 || clock_read_us(CLOCK_BOOTTIME) < spec->start_by_us)
        return false;
    (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    return true;
}

int child_fork(const struct child_spec *spec, struct child *ret, struct edl_error *error)
{
    int status[2] = { -1, -1 };
    pid_t supervisor = getpid();
    bool waited = false;
    pid_t pid = -1;
    int pidfd = -1;

    if (pipe2(status, O_CLOEXEC) == 0) {
        if (spec->group_fd >= 0)
            pid = start_in_group(spec, supervisor, status[1]);
        waited = pid == -1; /* no group, or a kernel before 5.7 */
        if (waited)
            pid = start_here(spec, supervisor, status[1]);
    }
    if (pid > 0)
        pidfd = pidfd_open(pid, 0);
    if (pidfd == -1) {
        int saved = errno;

        for (size_t i = 0; i < 2; i++)
            (void)safe_close(status[i]);
        return edl_error_errno(error, -saved, "cannot start a process"); /* the caller kills it */
    }
    (void)safe_close(status[1]);
    *ret = (struct child){
        .pid = pid, .pidfd = pidfd, .status_fd = status[0], .late = waited && is_late(spec, pidfd)
    };
    return 0;
}

static int never_ran(struct child *child, const struct child_spec *spec, struct edl_error *error)
{
    child->no_workspace = true;
    child->fault = START_FAULT_NODE;
    return edl_error_set(error, -ETIMEDOUT,
                         "%s did not start in time: the file system of the program or of the "
                         "workspace %s does not answer",
                         spec->argv[0], spec->workspace);
}

/* fault_of - a program that is the job's may be made to fail in any way: other nodes tell whether
 * it is. A folder that is the job's is known to the caller (no_workspace). */
static enum start_fault fault_of(enum step step, int code)
{
    if (step == STEP_WORKSPACE)
        return code == -ENAMETOOLONG ? START_FAULT_JOB : START_FAULT_NODE;
    return step == STEP_EXECUTE ? start_fault_of_exec(code) : start_fault_of_error(code);
}

int child_failure(struct child *child, const struct child_spec *spec, struct edl_error *error)
{
    struct failure_message message;
    int code;

    if (child->status_fd < 0 || read(child->status_fd, &message, sizeof message) != sizeof message)
        return child->late ? never_ran(child, spec, error) : 0;
    code = -message.error_number;
    child->fault = fault_of((enum step)message.step, code);
    switch ((enum step)message.step) {
    case STEP_ANNOUNCE:
        return edl_error_errno(error, code, "cannot write the record of the process");
    case STEP_CONFINE:
        return edl_error_errno(error, code, "cannot enter its control group");
    case STEP_ACCOUNT:
        return edl_error_errno(error, code, "cannot become %s", spec->account->name);
    case STEP_WORKSPACE:
        child->no_workspace = code != -ENAMETOOLONG;
        return edl_error_errno(error, code, "cannot enter the workspace %s%s%s", spec->workspace,
                               spec->account != NULL ? " as " : "",
                               spec->account != NULL ? spec->account->name : "");
    case STEP_EXECUTE:
        return edl_error_errno(error, code, "cannot execute %s", spec->argv[0]);
    case STEP_PREPARE:
        break;
    }
    return edl_error_errno(error, code, "cannot prepare the process");
}

void child_close(struct child *child)
{
    child->pidfd = safe_close(child->pidfd);
    child->status_fd = safe_close(child->status_fd);
}
