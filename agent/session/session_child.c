/* SPDX-License-Identifier: Apache-2.0 */
/* session_child.c - see session_child.h
 *
 * The child first does all that needs our rights (groups, mounts, limits). Then it becomes the
 * account, for good, and enters the folder and the program with the rights of that. A failure
 * travels back over a close-on-exec pipe as (step, errno), as in agent/processes/child.c. When
 * memory runs out in the groups of the process, the kernel takes a program of a session first. */
#include "agent/session/session_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/session/session_target.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define OOM_SCORE_ADJ_SESSION "1000" /* the first to go */
#define CAPABILITIES 64

enum step {
    STEP_PREPARE,
    STEP_GROUPS,
    STEP_MOUNTS,
    STEP_LIMITS,
    STEP_ACCOUNT,
    STEP_FOLDER,
    STEP_EXECUTE,
    STEPS
};

static const char *const steps[STEPS] = {
    [STEP_PREPARE] = "cannot prepare the program of the session",
    [STEP_GROUPS] = "cannot enter the control groups of the process",
    [STEP_MOUNTS] = "cannot see the file systems as the process does",
    [STEP_LIMITS] = "cannot take over the limits of the process",
    [STEP_ACCOUNT] = "cannot become the account of the process",
    [STEP_FOLDER] = "cannot enter the working folder of the process",
};

struct message {
    int32_t step;
    int32_t error_number;
};

_Noreturn static void fail(int status_fd, enum step step, int error_number)
{
    struct message message = { .step = step, .error_number = error_number };

    (void)!write(status_fd, &message, sizeof message);
    _exit(255);
}

/* die_with - edl-session; a change of account forgets it (prctl(2)) */
static void die_with(pid_t session, int status_fd)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
        fail(status_fd, STEP_PREPARE, errno);
    if (getppid() != session)
        _exit(255);
}

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void connect_files(const struct session_start *start, int status_fd)
{
    if (setsid() == -1)
        fail(status_fd, STEP_PREPARE, errno);
    if (start->terminal && ioctl(start->fds[0], TIOCSCTTY, 0) == -1)
        fail(status_fd, STEP_PREPARE, errno);
    for (int i = 0; i < 3; i++)
        if (dup2(start->fds[i], i) == -1)
            fail(status_fd, STEP_PREPARE, errno);
    if (close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == -1)
        fail(status_fd, STEP_PREPARE, errno);
}

static void be_first_to_go(void)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd != -1)
        (void)!write(fd, OOM_SCORE_ADJ_SESSION, strlen(OOM_SCORE_ADJ_SESSION));
}

/* take_limit - where we may not have as much, what we have: it is never more than the process's */
static int take_limit(int resource, struct rlimit limit)
{
    struct rlimit ours;

    if (setrlimit((__rlimit_resource_t)resource, &limit) == 0)
        return 0;
    if (errno != EPERM || getrlimit((__rlimit_resource_t)resource, &ours) == -1)
        return -errno;
    limit.rlim_max = MIN_OF(limit.rlim_max, ours.rlim_max);
    limit.rlim_cur = MIN_OF(limit.rlim_cur, limit.rlim_max);
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0 ? 0 : -errno;
}

/* take_limits - and whatever else the kernel says of its program */
static void take_limits(const struct session_target *target, int status_fd)
{
    const struct session_traits *traits = &target->traits;

    for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
        int r = take_limit(i, traits->limits[i]);

        if (r < 0)
            fail(status_fd, STEP_LIMITS, -r);
    }
    if (traits->has_cpus)
        (void)sched_setaffinity(0, sizeof traits->cpus, &traits->cpus);
    (void)setpriority(PRIO_PROCESS, 0, traits->nice);
    (void)umask(traits->umask);
    for (unsigned i = 0; i < CAPABILITIES; i++)
        if ((traits->bounding & UINT64_C(1) << i) == 0 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == -1 && !target->ours_only)
            fail(status_fd, STEP_LIMITS, errno);
    if (traits->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
        fail(status_fd, STEP_LIMITS, errno);
}

/* enter_folder - the one it has now, else its workspace */
static void enter_folder(const struct session_target *target, int status_fd)
{
    if (target->folder_fd >= 0 && fchdir(target->folder_fd) == 0)
        return;
    if (chdir(json_text(target->order, "workspace")) == -1)
        fail(status_fd, STEP_FOLDER, errno);
}

_Noreturn static void run(const struct session_start *start, bool in_own, pid_t session,
                          int status_fd)
{
    const struct session_target *target = start->target;
    int r;

    die_with(session, status_fd);
    reset_signals();
    connect_files(start, status_fd);
    be_first_to_go();
    if (target->mounts_fd >= 0 && setns(target->mounts_fd, CLONE_NEWNS) == -1 && !target->ours_only)
        fail(status_fd, STEP_MOUNTS, errno);
    r = session_groups_enter(&target->groups, in_own);
    if (r < 0 && !target->ours_only)
        fail(status_fd, STEP_GROUPS, -r);
    take_limits(target, status_fd);
    if (target->account.is_other) {
        r = account_become(&target->account);
        if (r < 0)
            fail(status_fd, STEP_ACCOUNT, -r);
        die_with(session, status_fd);
    }
    enter_folder(target, status_fd);
    environ = start->environment;
    (void)execvp(start->program, start->argv);
    fail(status_fd, STEP_EXECUTE, errno);
}

/* start_in_group - see agent/processes/child.c; -1: there is none, or the kernel refuses */
static pid_t start_in_group(const struct session_start *start, pid_t session, int status_fd)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD,
                               .cgroup = (uint64_t)start->target->groups.own_fd };
    pid_t pid;

    if (start->target->groups.own_fd < 0)
        return -1;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        run(start, true, session, status_fd);
    return pid;
}

int session_child_start(const struct session_start *start, struct session_child *ret,
                        struct edl_error *error)
{
    _cleanup_close_ int readable = -1, writable = -1;
    pid_t session = getpid(), pid;
    int status[2], pidfd;

    if (pipe2(status, O_CLOEXEC) == -1)
        return edl_error_errno(error, -errno, "cannot make a pipe");
    readable = status[0];
    writable = status[1];
    pid = start_in_group(start, session, writable);
    if (pid == -1)
        pid = fork();
    if (pid == 0)
        run(start, false, session, writable);
    pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd == -1)
        return edl_error_errno(error, -errno, "cannot start a process");
    *ret = (struct session_child){ .pid = pid, .pidfd = pidfd, .status_fd = TAKE_FD(readable) };
    return 0;
}

static int not_executed(const struct session_start *start, int code, int *ret_code,
                        struct edl_error *error)
{
    *ret_code = code == -ENOENT || code == -ENOTDIR ? 127 : 126;
    (void)edl_error_errno(error, code, "cannot execute %.200s on the node", start->program);
    if (code == -ENOENT && strchr(start->program, '/') == NULL)
        (void)edl_error_remedy(error, "it is in none of the folders of the process's PATH; give "
                                      "its whole path, or install it on the node");
    else if (code == -ENOENT)
        (void)edl_error_remedy(error, "there is no such file on the node, or not the program that "
                                      "its first line names");
    return code;
}

int session_child_failure(const struct session_child *child, const struct session_start *start,
                          int *ret_code, struct edl_error *error)
{
    struct message message;

    if (read(child->status_fd, &message, sizeof message) != sizeof message)
        return 0;
    if (message.step == STEP_EXECUTE)
        return not_executed(start, -message.error_number, ret_code, error);
    *ret_code = 255;
    return edl_error_errno(error, -message.error_number, "%s", steps[message.step]);
}
