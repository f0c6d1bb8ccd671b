/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - see probe.h
 *
 * A process of its own, not a thread: one that hangs in the kernel can be left behind and does not
 * keep this program from ending. The memory that a driver's library takes, or breaks, is not ours.
 * It ends when our end of the socket is closed. */
#include "agent/machine/probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes/helper.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

/* a storm of starts holds up whoever looks at control groups */
#define USAGE_PATIENCE_US (60 * USEC_PER_SEC)
#define ANSWER_MAX ((size_t)256 * 1024)

struct probe {
    struct probe_config config; /* text owned below */
    char *program, *state_dir, *output_dir, *node;
    sd_event *event; /* ref */
    int fd;          /* -1: no prober */
    int pidfd;
    sd_event_source *answers, *gone;
    uint64_t number;     /* of the last question that was asked */
    bool waiting;        /* for its answer */
    bool again;          /* something was to be asked meanwhile */
    bool killed;         /* it did not answer; no other one before it is gone */
    uint64_t asked_us;   /* when it was */
    uint64_t started_us; /* the last prober; 0: none yet */
};

/* ---- the prober itself ---- */

static void drop(struct probe *p)
{
    p->answers = sd_event_source_disable_unref(p->answers);
    p->gone = sd_event_source_disable_unref(p->gone);
    p->fd = safe_close(p->fd);
    p->pidfd = safe_close(p->pidfd);
    p->waiting = false;
    p->again = false;
    p->killed = false;
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct probe *p = userdata;
    siginfo_t info;

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    log_warning("edl-prober is gone; another one is started");
    drop(p);
    return 0;
}

static int on_answers(sd_event_source *source, int fd, uint32_t revents, void *userdata);

static int watch(struct probe *p)
{
    int r = sd_event_add_io(p->event, &p->answers, p->fd, POLLIN, on_answers, p);

    return r < 0 ? r : sd_event_add_io(p->event, &p->gone, p->pidfd, POLLIN, on_gone, p);
}

static int start(struct probe *p, struct edl_error *error)
{
    static const int numbers[] = { STDIN_FILENO, STDOUT_FILENO };
    const char *const machine[] = { p->program, p->state_dir, p->output_dir, p->node, NULL };
    const char *const usage[] = { p->program, "--usage", p->node, NULL };
    const char *const *argv = p->state_dir != NULL ? machine : usage;
    struct helper prober;
    int r = helper_start(argv, numbers, ELEMENTS(numbers), &prober, error);

    if (r < 0)
        return r;
    p->fd = prober.fd;
    p->pidfd = prober.pidfd;
    r = watch(p);
    if (r < 0) {
        drop(p);
        return edl_error_errno(error, r, "cannot watch %s", p->program);
    }
    return 0;
}

/* ---- questions and answers ---- */

static void send_question(struct probe *p, const char *text, size_t size, uint64_t now_us)
{
    p->number++;
    p->again = false;
    p->asked_us = now_us;
    p->waiting = send(p->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* take_answer - false when there is none */
static bool take_answer(struct probe *p)
{
    _cleanup_free_ char *text = xcalloc(1, ANSWER_MAX);
    ssize_t n = recv(p->fd, text, ANSWER_MAX, MSG_DONTWAIT);
    json_t *json;

    if (n <= 0 || !p->waiting)
        return false;
    p->waiting = false;
    json = json_loadb(text, (size_t)n, 0, NULL);
    if (json_is_object(json))
        p->config.on_answer(p->number, json, p->config.userdata);
    else
        log_warning("edl-prober answers what cannot be read");
    json_decref(json);
    if (p->again && p->fd >= 0)
        send_question(p, "?", 1, p->asked_us);
    return true;
}

static int on_answers(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct probe *p = userdata;

    (void)fd;
    (void)revents;
    if (!take_answer(p))
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF); /* its pidfd says the rest */
    return 0;
}

bool probe_is_well(const struct probe *p, uint64_t now_us)
{
    uint64_t patience_us = p->state_dir != NULL ? PROBE_PATIENCE_US : USAGE_PATIENCE_US;

    return p->fd >= 0 && (!p->waiting || now_us - p->asked_us <= patience_us);
}

/* refresh - a prober that can be asked, or none for now */
static void refresh(struct probe *p, uint64_t now_us)
{
    struct edl_error error = { 0 };

    if (!probe_is_well(p, now_us) && p->fd >= 0 && !p->killed) {
        log_warning("edl-prober does not answer: %s of this machine hangs",
                    p->state_dir != NULL ? "a disk, a network interface or a driver"
                                         : "a control group or a process");
        (void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
        p->killed = true;
    }
    if (p->fd >= 0 || (p->started_us != 0 && now_us - p->started_us < PROBE_PATIENCE_US))
        return;
    p->started_us = now_us;
    if (start(p, &error) < 0)
        (void)log_failure(&error, "%s not reported",
                          p->state_dir != NULL ? "disks and network interfaces are"
                                               : "what processes use is");
}

uint64_t probe_ask(struct probe *p, uint64_t now_us)
{
    refresh(p, now_us);
    if (p->waiting || p->fd < 0) {
        p->again = p->waiting;
        return p->number + 1;
    }
    send_question(p, "?", 1, now_us);
    return p->number;
}

bool probe_ask_for(struct probe *p, const char *question, size_t size, uint64_t now_us)
{
    refresh(p, now_us);
    if (p->waiting || p->fd < 0)
        return false;
    send_question(p, question, size, now_us);
    return p->waiting;
}

bool probe_wait(struct probe *p, uint64_t patience_us)
{
    struct pollfd answer = { .fd = p->fd, .events = POLLIN };

    return p->waiting && poll(&answer, 1, (int)(patience_us / USEC_PER_MSEC)) == 1 &&
           take_answer(p);
}

struct probe *probe_new(sd_event *event, const struct probe_config *config)
{
    struct probe *p = xcalloc(1, sizeof *p);

    p->config = *config;
    p->program = xstrdup(config->program);
    p->state_dir = config->state_dir != NULL ? xstrdup(config->state_dir) : NULL;
    p->output_dir = config->output_dir != NULL ? xstrdup(config->output_dir) : NULL;
    p->node = xstrdup(config->node);
    p->event = sd_event_ref(event);
    p->fd = -1;
    p->pidfd = -1;
    return p;
}

struct probe *probe_free(struct probe *p)
{
    if (p == NULL)
        return NULL;
    drop(p);
    sd_event_unref(p->event);
    free(p->program);
    free(p->state_dir);
    free(p->output_dir);
    free(p->node);
    free(p);
    return NULL;
}
