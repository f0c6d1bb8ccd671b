/* SPDX-License-Identifier: Apache-2.0 */
/* dev_child.c - a daemon that `edl dev` runs: started, noticed when it dies, started again
 *
 * Each child has its own process group, so that Ctrl-C at the terminal reaches `edl dev` alone,
 * which then stops everything in order. fork and exec instead of posix_spawn, because a child must
 * ask for a SIGTERM at our death: when `edl dev` itself is killed with SIGKILL, the agents still
 * stop their jobs. */
#include "client/dev_child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/report.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define BACKOFF_FIRST_US (100 * USEC_PER_MSEC)
#define BACKOFF_MAX_US USEC_PER_SEC    /* far below a lease: work goes on while a daemon is away */
#define HEALTHY_US (10 * USEC_PER_SEC) /* who lived so long did not fail at the start */
#define LOG_TAIL_BYTES 2000

struct dev_child *dev_child_new(sd_event *event, const char *name, const char *const *argv,
                                const char *log_path)
{
    struct dev_child *child = xcalloc(1, sizeof(*child));
    size_t n = 0;

    while (argv[n] != NULL)
        n++;
    child->event = event;
    child->name = xstrdup(name);
    child->log_path = xstrdup(log_path);
    child->argv = xcalloc(n + 1, sizeof(*child->argv));
    for (size_t i = 0; i < n; i++)
        child->argv[i] = xstrdup(argv[i]);
    child->pidfd = -1;
    return child;
}

struct dev_child *dev_child_free(struct dev_child *child)
{
    if (child == NULL)
        return NULL;
    dev_child_cancel(child);
    for (char **arg = child->argv; *arg != NULL; arg++)
        free(*arg);
    free(child->argv);
    free(child->name);
    free(child->log_path);
    child->pidfd = safe_close(child->pidfd);
    free(child);
    return NULL;
}

void dev_child_set(struct dev_child *child, const char *option, const char *value)
{
    for (char **arg = child->argv; *arg != NULL; arg++) {
        if (streq(*arg, option) && arg[1] != NULL) {
            free(arg[1]);
            arg[1] = xstrdup(value);
            return;
        }
    }
}

/* In the child; only async-signal-safe calls. */
static _Noreturn void become(struct dev_child *child, pid_t parent, int null_fd, int log_fd)
{
    sigset_t none;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before prctl could see it */
        _exit(1);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(null_fd, STDIN_FILENO) == -1 || dup2(log_fd, STDOUT_FILENO) == -1 ||
        dup2(log_fd, STDERR_FILENO) == -1)
        _exit(126);
    (void)execv(child->argv[0], child->argv);
    _exit(127);
}

int dev_child_start(struct dev_child *child, struct edl_error *error)
{
    _cleanup_close_ int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int log_fd =
        open(child->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    pid_t parent = getpid();

    if (null_fd == -1 || log_fd == -1)
        return edl_error_errno(error, -errno, "opening %s", child->log_path);

    pid_t pid = fork();

    if (pid == -1)
        return edl_error_errno(error, -errno, "starting %s", child->name);
    if (pid == 0)
        become(child, parent, null_fd, log_fd);
    child->pid = pid;
    /* Not reaped yet, so the number is still this child's. */
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    child->started_us = clock_read_us(CLOCK_BOOTTIME);
    return 0;
}

void dev_child_signal(struct dev_child *child, int number)
{
    if (child != NULL && child->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, number, NULL, 0);
}

static int on_restart(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct dev_child *child = userdata;
    struct edl_error error = { 0 };

    (void)source;
    (void)usec;
    dev_child_cancel(child);
    if (dev_child_start(child, &error) < 0)
        (void)report_error(&error);
    return 0;
}

void dev_child_cancel(struct dev_child *child)
{
    child->restart = sd_event_source_disable_unref(child->restart);
}

void dev_child_ended(struct dev_child *child, const siginfo_t *how, bool restart)
{
    uint64_t lived_us = clock_read_us(CLOCK_BOOTTIME) - child->started_us;
    uint64_t backoff_us = BACKOFF_FIRST_US;

    child->pid = 0;
    child->pidfd = safe_close(child->pidfd);
    if (!restart)
        return;
    child->failures = lived_us > HEALTHY_US ? 1 : child->failures + 1;
    for (unsigned i = 1; i < child->failures && backoff_us < BACKOFF_MAX_US; i++)
        backoff_us *= 2;
    report_note("%s ended (%s %d); it is started again, see %s", child->name,
                how->si_code == CLD_EXITED ? "exit" : "signal", how->si_status, child->log_path);
    (void)sd_event_add_time_relative(child->event, &child->restart, CLOCK_BOOTTIME,
                                     MIN_OF(backoff_us, BACKOFF_MAX_US), 0, on_restart, child);
}

void dev_child_print_log(const struct dev_child *child)
{
    char text[LOG_TAIL_BYTES + 1];
    _cleanup_close_ int fd = open(child->log_path, O_RDONLY | O_CLOEXEC);
    off_t size = fd == -1 ? -1 : lseek(fd, 0, SEEK_END);
    off_t from = MAX_OF(size - LOG_TAIL_BYTES, (off_t)0);

    if (size <= 0)
        return;
    ssize_t n = pread(fd, text, LOG_TAIL_BYTES, from);

    if (n <= 0)
        return;
    text[n] = '\0';
    const char *start = from > 0 ? strchr(text, '\n') : NULL;

    (void)fprintf(stderr, "the end of %s:\n%s", child->log_path, start != NULL ? start + 1 : text);
}
