/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_runs.c - see drop_in_runs.h
 *
 *   waiting -> running -> (stopped, or too late: its socket is closed, then killed) -> over
 *
 * A run keeps its own time-out. One that overruns it by far hangs itself, in a look-up or in a call
 * that does not end: then the agent kills it, and says that it failed. */
#include "agent/drop_ins/drop_in_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/core/drop_in.h"
#include "agent/groups/unit_helper.h"
#include "agent/processes/helper.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define RUNS_MAX 32 /* at a time; the others wait for their turn */
#define PATIENCE_US (15 * USEC_PER_SEC)
#define ANSWER_MAX 1024

struct drop_in_errand {
    struct drop_in_runs *runs; /* borrowed */
    const char *kind;          /* static */
    char unit[64];             /* its name, also where it is none */
    json_t *document;          /* owned; NULL once it runs */
    uint64_t timeout_us;
    bool running, stopped, answered, killed;
    char reason[DROP_IN_REASON_SIZE]; /* as it answered */
    struct helper helper;             /* owned; of a unit only its fd is ours */
    sd_event_source *source;          /* owned; its pidfd, of a unit the other end of the socket */
    sd_event_source *patience;        /* owned */
    drop_in_ended_fn ended;
    void *userdata;
    struct drop_in_errand *prev, *next; /* utlist */
};

struct drop_in_runs {
    sd_event *event; /* ref */
    char *program;
    struct unit_helpers *units; /* owned; NULL: they are our children */
    sd_event_source *next;      /* owned; begins those that wait */
    struct drop_in_errand *list;
    size_t n_running;
};

static void run_free(struct drop_in_errand *run)
{
    DL_DELETE(run->runs->list, run);
    run->runs->n_running -= run->running;
    (void)sd_event_source_disable_unref(run->source);
    (void)sd_event_source_disable_unref(run->patience);
    (void)safe_close(run->helper.fd); /* it ends with that */
    (void)safe_close(run->helper.pidfd);
    json_decref(run->document);
    free(run);
}

static void look_soon(const struct drop_in_runs *runs)
{
    (void)sd_event_source_set_enabled(runs->next, SD_EVENT_ONESHOT);
}

/* finish - reason: as of drop_in_ended_fn */
static void finish(struct drop_in_errand *run, const char *reason)
{
    struct drop_in_runs *runs = run->runs;
    drop_in_ended_fn ended = run->ended;
    void *userdata = run->userdata;
    char text[DROP_IN_REASON_SIZE];

    (void)snprintf(text, sizeof text, "%s", reason != NULL ? reason : "");
    run_free(run);
    look_soon(runs);
    ended(reason != NULL ? text : NULL, userdata);
}

static void finish_silent(struct drop_in_errand *run)
{
    char reason[DROP_IN_REASON_SIZE];

    (void)snprintf(reason, sizeof reason,
                   run->killed ? "%s hung, and was killed"
                               : "%s did not run: edl-supervisor ended without an answer",
                   run->kind);
    finish(run, run->answered ? run->reason : run->stopped ? NULL : reason);
}

/* take_answer - false: its end of the socket is closed */
static bool take_answer(struct drop_in_errand *run)
{
    char text[ANSWER_MAX];
    ssize_t n = recv(run->helper.fd, text, sizeof text, MSG_DONTWAIT);
    json_t *json;

    if (n <= 0)
        return n == -1 && errno == EAGAIN;
    json = json_loadb(text, (size_t)n, 0, NULL);
    run->answered = json != NULL;
    (void)snprintf(run->reason, sizeof run->reason, "%s", json_text(json, "reason"));
    json_decref(json);
    return true;
}

static int on_child_ended(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct drop_in_errand *run = userdata;
    siginfo_t info;

    (void)source;
    (void)revents;
    (void)take_answer(run);
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    finish_silent(run);
    return 0;
}

static int on_unit_said(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct drop_in_errand *run = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    if (!take_answer(run))
        finish_silent(run);
    return 0;
}

/* ---- too late ---- */

static void kill_it(struct drop_in_errand *run)
{
    run->killed = true;
    if (run->helper.pidfd >= 0)
        (void)pidfd_send_signal(run->helper.pidfd, SIGKILL, NULL, 0);
    else
        unit_helper_stop(run->runs->units, run->unit);
}

/* on_patience_over - one that not even SIGKILL ends is left to the kernel */
static int on_patience_over(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct drop_in_errand *run = userdata;
    char reason[DROP_IN_REASON_SIZE];

    (void)usec;
    if (!run->killed && !run->answered) {
        kill_it(run);
        (void)sd_event_source_set_time_relative(source, PATIENCE_US);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
    }
    (void)snprintf(reason, sizeof reason, "%s does not end, and cannot be killed", run->kind);
    finish(run, run->answered ? run->reason : reason);
    return 0;
}

static void be_patient(struct drop_in_errand *run, uint64_t for_us)
{
    run->patience = sd_event_source_disable_unref(run->patience);
    (void)sd_event_add_time_relative(run->runs->event, &run->patience, CLOCK_BOOTTIME, for_us, 0,
                                     on_patience_over, run);
}

/* ---- the beginning ---- */

static int start_child(struct drop_in_errand *run, const char *const *argv, struct edl_error *error)
{
    const int numbers[] = { STDIN_FILENO };
    int r = helper_start(argv, numbers, ELEMENTS(numbers), &run->helper, error);

    if (r < 0)
        return r;
    r = sd_event_add_io(run->runs->event, &run->source, run->helper.pidfd, EPOLLIN, on_child_ended,
                        run);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int start_unit(struct drop_in_errand *run, const char *const *argv, struct edl_error *error)
{
    _cleanup_close_ int theirs = -1;
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return edl_error_errno(error, -errno, "cannot make a socket");
    run->helper.fd = ends[0];
    theirs = ends[1];
    r = unit_helper_start(run->runs->units,
                          &(struct unit_helper_plan){ .name = run->unit,
                                                      .description =
                                                          "prolog or epilog of an EDL job",
                                                      .argv = argv,
                                                      .stdin_fd = theirs },
                          error);
    if (r < 0)
        return r;
    r = sd_event_add_io(run->runs->event, &run->source, run->helper.fd, EPOLLIN, on_unit_said, run);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int tell(struct drop_in_errand *run, struct edl_error *error)
{
    _cleanup_free_ char *text = json_dumps(run->document, JSON_COMPACT);
    size_t size = text != NULL ? strlen(text) : 0;

    if (text == NULL ||
        send(run->helper.fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        return edl_error_errno(error, -errno, "cannot tell edl-supervisor what to run");
    return 0;
}

/* give_up - it runs, and does not know what for. Its end is awaited, so that it is reaped */
static void give_up(struct drop_in_errand *run, const struct edl_error *error)
{
    run->answered = true;
    (void)snprintf(run->reason, sizeof run->reason, "%s did not run: %.140s", run->kind,
                   error->text);
    kill_it(run);
}

static int begin(struct drop_in_errand *run, struct edl_error *error)
{
    const char *const argv[] = { run->runs->program, "--drop-ins", NULL };
    int r;

    run->running = true;
    run->runs->n_running++;
    r = run->runs->units != NULL ? start_unit(run, argv, error) : start_child(run, argv, error);
    if (r == 0 && tell(run, error) < 0)
        give_up(run, error);
    json_decref(run->document);
    run->document = NULL;
    be_patient(run, run->timeout_us + PATIENCE_US);
    return r;
}

static int on_next(sd_event_source *source, void *userdata)
{
    struct drop_in_runs *runs = userdata;
    struct drop_in_errand *run, *next;

    (void)source;
    DL_FOREACH_SAFE(runs->list, run, next)
    {
        struct edl_error error = { 0 };
        char reason[DROP_IN_REASON_SIZE];

        if (run->running || (!run->stopped && runs->n_running >= RUNS_MAX))
            continue;
        if (run->stopped) {
            finish(run, NULL);
            return 0; /* the list may be another one now; finish asks for another look */
        }
        if (begin(run, &error) < 0) {
            (void)snprintf(reason, sizeof reason, "%s did not run: %.140s", run->kind, error.text);
            finish(run, reason);
            return 0;
        }
    }
    return 0;
}

struct drop_in_errand *drop_in_runs_add(struct drop_in_runs *runs, const char *kind,
                                        uint64_t job_id, json_t *take_document, uint64_t timeout_us,
                                        drop_in_ended_fn ended, void *userdata)
{
    struct drop_in_errand *run = xcalloc(1, sizeof *run);

    run->runs = runs;
    run->kind = kind;
    (void)snprintf(run->unit, sizeof run->unit, "edl-%s-%" PRIu64 "-%" PRIx64 ".service", kind,
                   job_id, clock_read_us(CLOCK_BOOTTIME));
    run->document = take_document;
    run->timeout_us = timeout_us;
    run->helper = (struct helper){ .fd = -1, .pidfd = -1 };
    run->ended = ended;
    run->userdata = userdata;
    DL_APPEND(runs->list, run);
    look_soon(runs);
    return run;
}

void drop_in_errand_stop(struct drop_in_errand *run)
{
    if (run->stopped)
        return;
    run->stopped = true;
    if (!run->running) {
        look_soon(run->runs);
        return;
    }
    (void)shutdown(run->helper.fd, SHUT_WR);
    be_patient(run, PATIENCE_US);
}

struct drop_in_runs *drop_in_runs_new(sd_event *event, const char *program, bool by_systemd)
{
    struct drop_in_runs *runs = xcalloc(1, sizeof *runs);

    runs->event = sd_event_ref(event);
    runs->program = xstrdup(program);
    if (by_systemd)
        runs->units = unit_helpers_new(event);
    if (sd_event_add_defer(event, &runs->next, on_next, runs) >= 0)
        (void)sd_event_source_set_enabled(runs->next, SD_EVENT_OFF);
    return runs;
}

struct drop_in_runs *drop_in_runs_free(struct drop_in_runs *runs)
{
    struct drop_in_errand *run, *next;

    if (runs == NULL)
        return NULL;
    DL_FOREACH_SAFE(runs->list, run, next)
    run_free(run);
    sd_event_source_disable_unref(runs->next);
    (void)unit_helpers_free(runs->units);
    sd_event_unref(runs->event);
    free(runs->program);
    free(runs);
    return NULL;
}
