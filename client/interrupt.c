/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h */
#include "client/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/signal_again.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define STATUS_INTERRUPTED 130 /* as a shell has it: 128 and SIGINT */
#define EXIT_KILLED 1          /* of the child: it has killed the job */
#define KILL_WITHIN_S 60       /* the scheduler answers, or is not there */

static volatile sig_atomic_t watcher; /* pid, for the handler */

/* nohup lets a program live when its terminal goes: then a hangup means nothing here either */
static bool hangup_counts(void)
{
    static int counts = -1;
    struct sigaction is;

    if (counts < 0)
        counts = sigaction(SIGHUP, NULL, &is) == -1 || is.sa_handler != SIG_IGN;
    return counts != 0;
}

static void interrupts(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGTERM);
    if (hangup_counts())
        (void)sigaddset(ret, SIGHUP);
}

void interrupt_hold(void)
{
    sigset_t set;

    interrupts(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

void interrupt_release(void)
{
    sigset_t set;

    interrupts(&set);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The watcher is in no group that a signal is sent to. */
static void hand_on(int signal)
{
    (void)signal;
    if (watcher > 0)
        (void)kill((pid_t)watcher, SIGINT);
}

static void let_go(int signal)
{
    (void)signal;
    _exit(STATUS_INTERRUPTED);
}

/* In a process of its own, as the scheduler may not answer: over a connection of its own, as the
 * one of the verb waits for an answer. It outlives whoever lets go, or whose terminal goes: else
 * the job would live on. Exit status: enum status. */
static pid_t start_kill(const struct common_options *options, uint64_t job_id)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    (void)alarm(KILL_WITHIN_S);

    _cleanup_free_ char *path = text_format("/jobs/%" PRIu64, job_id);
    _cleanup_json_ json_t *body = json_pack("{s:s}", "reason", "interrupted");
    struct server server;
    int status = server_open(options, &server);

    if (status == STATUS_OK)
        status = server_request(&server, "DELETE", path, body, NULL);
    _exit(status);
}

enum kill_result { KILL_ASKED, KILL_DONE, KILL_FAILED };

static enum kill_result kill_result(pid_t child)
{
    int status = 0;

    if (waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == STATUS_OK)
        return KILL_DONE;
    return KILL_FAILED;
}

static void tell_let_go(enum kill_result result, const char *shown)
{
    if (result == KILL_DONE)
        report_note("let go of job %s, which the scheduler ends: edl wait %s", shown, shown);
    else if (result == KILL_ASKED)
        report_note("let go of job %s; the scheduler has not answered yet, so the job may still "
                    "run: edl kill %s",
                    shown, shown);
    else
        report_note("let go of job %s, which may still run: edl kill %s", shown, shown);
}

/* After the first Ctrl-C, with the signals in `set` blocked: the job is asked to end, and the
 * second one is heard meanwhile. first_us: when the first one came. */
static void kill_and_wait(pid_t parent, sigset_t *set, uint64_t first_us,
                          const struct common_options *options, uint64_t job_id, const char *shown)
{
    enum kill_result result = KILL_ASKED;
    pid_t child;
    int signal;

    (void)sigaddset(set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, set, NULL);
    report_note("killing job %s on all its nodes; Ctrl-C again leaves that to the scheduler",
                shown);
    child = start_kill(options, job_id);
    if (child == -1)
        result = KILL_FAILED;
    while (sigwait(set, &signal) == 0 && signal != SIGUSR1) {
        if (signal != SIGCHLD && !signal_again(&first_us))
            continue;
        if (signal != SIGCHLD) {
            tell_let_go(result, shown);
            (void)kill(parent, SIGUSR1);
            return;
        }
        result = kill_result(child);
        if (result == KILL_FAILED)
            report_note("the job may still run: edl kill %s", shown);
    }
}

static void handle(const struct sigaction *action)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

    for (size_t i = 0; i < ELEMENTS(signals); i++)
        if (signals[i] != SIGHUP || hangup_counts())
            (void)sigaction(signals[i], action, NULL);
}

static void watch(pid_t parent, const struct common_options *options, uint64_t job_id,
                  const char *shown)
{
    /* A shell starts commands in the background with SIGINT ignored, and whether an ignored signal
     * that is blocked stays pending is up to the system (sigaction(3p)). */
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    uint64_t first_us = 0;
    sigset_t set;
    int signal;

    (void)setsid(); /* a signal to the group comes once, by its parent */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    interrupts(&set);
    (void)sigaddset(&set, SIGUSR1); /* the job has ended */
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    handle(&plain);
    if (sigwait(&set, &signal) != 0 || signal == SIGUSR1)
        _exit(0);
    (void)signal_again(&first_us);
    kill_and_wait(parent, &set, first_us, options, job_id, shown);
    _exit(EXIT_KILLED);
}

int interrupt_start(struct interrupt *interrupt, const struct common_options *options,
                    uint64_t job_id, const char *shown, struct edl_error *error)
{
    struct sigaction action = { .sa_handler = hand_on, .sa_flags = SA_RESTART };
    struct sigaction end = { .sa_handler = let_go };
    pid_t parent = getpid(), child;

    (void)fflush(stdout);
    interrupt_hold(); /* the child inherits it */
    child = fork();
    if (child == -1) {
        int r = -errno;

        interrupt_release();
        return edl_error_errno(error, r, "waiting for Ctrl-C");
    }
    if (child == 0)
        watch(parent, options, job_id, shown);
    interrupt->child = child;
    watcher = child;
    (void)sigaction(SIGUSR1, &end, NULL);
    handle(&action);
    interrupt_release();
    return 0;
}

/* A Ctrl-C that comes from the job's own end on ends this process, as any other. One that killed
 * the job may come twice. */
bool interrupt_end(struct interrupt *interrupt)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    int status = 0;
    bool killed;

    if (interrupt->child <= 0)
        return false;
    interrupt_hold();
    watcher = 0;
    (void)kill(interrupt->child, SIGUSR1);
    while (waitpid(interrupt->child, &status, 0) == -1 && errno == EINTR)
        continue;
    interrupt->child = 0;
    killed = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_KILLED;
    if (!killed)
        handle(&plain);
    interrupt_release();
    return killed;
}
