/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_run.c - see drop_in_run.h
 *
 * It leads a session of its own, and everything that it starts comes back to us when its parent
 * ends (killtree.h). So a drop-in that forks, or starts a daemon, is over when we say so. One that
 * needs a service starts it as such (systemctl start). */
#include "agent/drop_ins/drop_in_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/supervisor/killtree.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define LINES_MAX 200  /* of one drop-in, in the log */
#define LINE_SIZE 512  /* a longer one is told as several */
#define SHOWN_SIZE 800 /* with control characters as escapes */
#define READS_MAX 16   /* of 4096 bytes, between two looks at the time */

struct output {
    const struct drop_in_run *run;
    int fd; /* -1: it is over */
    char line[LINE_SIZE];
    size_t size;
    unsigned n_lines, n_left_out;
    struct drop_in_result *result;
};

/* ---- the child ---- */

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* be_ordinary - what the agent has for itself is none of it */
static void be_ordinary(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd != -1)
        (void)!write(fd, "0", 1);
    (void)setpriority(PRIO_PROCESS, 0, 0);
    (void)umask(022);
}

_Noreturn static void execute(const struct drop_in_run *run, pid_t parent, int output_fd)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    reset_signals();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || setsid() == -1 || dup2(null_fd, STDIN_FILENO) == -1 ||
        dup2(output_fd, STDOUT_FILENO) == -1 || dup2(output_fd, STDERR_FILENO) == -1 ||
        chdir("/") == -1)
        _exit(126);
    be_ordinary();
    (void)execve(run->path, (char *const[]){ (char *)(uintptr_t)run->path, NULL },
                 run->environment);
    (void)dprintf(STDERR_FILENO, "cannot execute %s: %s\n", run->path, strerror(errno));
    _exit(127);
}

/* ---- its output ---- */

static void tell_line(struct output *output)
{
    char shown[SHOWN_SIZE], text[LINE_SIZE + 1];
    const char *last;

    (void)memcpy(text, output->line, output->size);
    text[output->size] = '\0';
    output->size = 0;
    (void)printable_escape(text, shown, sizeof shown);
    last = drop_in_last_line(text);
    if (*last != '\0')
        (void)snprintf(output->result->last_line, sizeof output->result->last_line, "%.*s",
                       printable_prefix(last, sizeof output->result->last_line - 1), last);
    if (output->n_lines++ >= LINES_MAX)
        output->n_left_out++;
    else
        log_entry(LOG_LEVEL_INFO, &(struct log_subject){ .job = output->run->job_id },
                  "%s %s of job %llu: %s", drop_in_kind_name(output->run->kind), output->run->name,
                  (unsigned long long)output->run->job_id, shown);
}

static void take_output(struct output *output, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\0')
            output->line[output->size++] = bytes[i];
        if (bytes[i] == '\n' || output->size == sizeof output->line)
            tell_line(output);
    }
}

/* read_output - what is there, and no more than a pipe holds: who writes without an end would keep
 * us from looking at the time */
static void read_output(struct output *output)
{
    char bytes[4096];
    ssize_t n = -1;

    for (int i = 0; i < READS_MAX && output->fd >= 0; i++) {
        n = read(output->fd, bytes, sizeof bytes);
        if (n <= 0)
            break;
        take_output(output, bytes, (size_t)n);
    }
    if (n == 0)
        output->fd = safe_close(output->fd);
}

static void end_output(struct output *output)
{
    read_output(output);
    if (output->size > 0)
        tell_line(output);
    if (output->n_left_out > 0)
        log_entry(LOG_LEVEL_INFO, &(struct log_subject){ .job = output->run->job_id },
                  "%s %s of job %llu: left out are %u line%s", drop_in_kind_name(output->run->kind),
                  output->run->name, (unsigned long long)output->run->job_id, output->n_left_out,
                  PLURAL(output->n_left_out));
    output->fd = safe_close(output->fd);
}

/* ---- until its end ---- */

static int left_ms(uint64_t deadline_us)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    return deadline_us <= now_us
               ? 0
               : (int)MIN_OF((deadline_us - now_us) / USEC_PER_MSEC + 1, (uint64_t)INT32_MAX);
}

/* watch - until it has ended, its time is over, or the agent's end of the socket is */
static void watch(struct output *output, int pidfd, struct drop_in_result *ret)
{
    const struct drop_in_run *run = output->run;

    for (;;) {
        struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN },
                                { .fd = run->agent_fd, .events = POLLIN | POLLRDHUP },
                                { .fd = output->fd, .events = POLLIN } };
        int n = poll(fds, ELEMENTS(fds), left_ms(run->deadline_us));

        if (n == -1 && errno == EINTR)
            continue;
        if (n > 0 && fds[2].revents != 0)
            read_output(output);
        if (n > 0 && fds[0].revents != 0)
            return;
        if (n == -1 || fds[1].revents != 0) {
            ret->cut = true;
            return;
        }
        if (clock_read_us(CLOCK_BOOTTIME) >= run->deadline_us) {
            ret->end = DROP_IN_TIMEOUT;
            return;
        }
    }
}

static void take_status(const struct killtree_main *child, struct drop_in_result *ret)
{
    if (ret->end == DROP_IN_TIMEOUT || ret->cut)
        return;
    if (WIFSIGNALED(child->status)) {
        ret->end = DROP_IN_SIGNAL;
        ret->number = WTERMSIG(child->status);
    } else if (WEXITSTATUS(child->status) != 0) {
        ret->end = DROP_IN_CODE;
        ret->number = WEXITSTATUS(child->status);
    }
}

static void refuse(struct drop_in_result *ret, const char *what, int code)
{
    ret->end = DROP_IN_REFUSED;
    (void)snprintf(ret->last_line, sizeof ret->last_line, "%s: %s", what, strerror(code));
}

void drop_in_run(const struct drop_in_run *run, struct drop_in_result *ret)
{
    struct output output = { .run = run, .fd = -1, .result = ret };
    struct killtree_main child = { .pid = 0 };
    _cleanup_close_ int pidfd = -1;
    pid_t parent = getpid();
    int ends[2];

    *ret = (struct drop_in_result){ .end = DROP_IN_DONE };
    if (pipe2(ends, O_CLOEXEC) == -1) {
        refuse(ret, "cannot make a pipe", errno);
        return;
    }
    child.pid = fork();
    if (child.pid == 0)
        execute(run, parent, ends[1]);
    (void)safe_close(ends[1]);
    output.fd = ends[0];
    (void)fcntl(output.fd, F_SETFL, O_NONBLOCK);
    pidfd = child.pid > 0 ? pidfd_open(child.pid, 0) : -1;
    if (pidfd >= 0)
        watch(&output, pidfd, ret);
    else
        refuse(ret, "cannot start a process", errno);
    killtree_kill_all(&child);
    end_output(&output);
    if (pidfd >= 0)
        take_status(&child, ret);
    killtree_done(&child);
}
