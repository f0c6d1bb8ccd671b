/* SPDX-License-Identifier: Apache-2.0 */
/* exec_all.c - see exec_all.h */
#include "client/exec_all.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_verb.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

enum { AT_ONCE = 16, SIGNALS_LEAVE = 3 };

struct all;

struct one {
    struct all *all;
    const json_t *process; /* borrowed */
    struct session *session;
};

struct all {
    struct server *server;
    const char *job;
    const json_t *body;
    sd_event *event;
    struct log_lines *out, *err;
    struct one *processes; /* owned */
    size_t n, n_begun, n_ended;
    unsigned n_signals;
    int worst;
};

static void begin_more(struct all *all);

static void end_one(struct all *all, int status)
{
    all->worst = MAX_OF(all->worst, status);
    all->n_ended++;
    if (all->n_ended == all->n)
        (void)sd_event_exit(all->event, 0);
}

static void on_data(void *userdata, uint16_t channel, const uint8_t *data, size_t size)
{
    struct one *one = userdata;

    log_lines_add(channel == SESSION_STDERR ? one->all->err : one->all->out,
                  &(struct log_who){ .role = json_text(one->process, "role"),
                                     .index = json_u64(one->process, "index") },
                  &(struct log_piece){ .data = (const char *)data, .size = size });
    session_took(one->session, channel, size);
}

static void tell(const struct one *one, const char *text)
{
    report_note("%s-%" PRIu64 ": %s", json_text(one->process, "role"),
                json_u64(one->process, "index"), text);
}

static void on_note(void *userdata, const char *text)
{
    if (isatty(STDERR_FILENO) == 1) /* else it is the commands' own */
        tell(userdata, text);
}

static void on_end(void *userdata, const struct session_end *end)
{
    struct one *one = userdata;
    struct all *all = one->all;

    if (end->error.code != 0)
        tell(one, end->error.text);
    if (end->error.remedy[0] != '\0')
        report_note("try: %s", end->error.remedy);
    one->session = session_free(one->session);
    end_one(all, end->status);
    begin_more(all);
}

static void begin_one(struct one *one)
{
    const struct session_events events = {
        .on_data = on_data, .on_note = on_note, .on_end = on_end, .userdata = one
    };
    json_t *body = json_deep_copy(one->all->body);

    (void)json_object_set_new(body, "process",
                              json_sprintf("%s-%" PRIu64, json_text(one->process, "role"),
                                           json_u64(one->process, "index")));
    if (session_open(one->all->server, one->all->event, one->all->job, body, &events,
                     &one->session) == STATUS_OK)
        session_send_eof(one->session, SESSION_STDIN);
    else
        end_one(one->all, SESSION_BROKEN);
}

static void begin_more(struct all *all)
{
    while (all->n_begun < all->n && all->n_begun - all->n_ended < AT_ONCE)
        begin_one(&all->processes[all->n_begun++]);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct all *all = userdata;

    (void)source;
    if (++all->n_signals >= SIGNALS_LEAVE) {
        all->worst = SESSION_SIGNALLED + (int)info->ssi_signo;
        return sd_event_exit(all->event, 0);
    }
    for (size_t i = 0; i < all->n; i++)
        if (all->processes[i].session != NULL)
            session_send_signal(all->processes[i].session, (int)info->ssi_signo);
    all->n = all->n_begun; /* no more of them */
    return 0;
}

/* pick - the processes that run */
static int pick(struct all *all, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "processes"), *process;
    struct edl_error error = { 0 };
    size_t i;

    all->processes = xcalloc(json_array_size(list) + 1, sizeof *all->processes);
    json_array_foreach(list, i, process)
    {
        if (streq(json_text(process, "state"), "running"))
            all->processes[all->n++] = (struct one){ .all = all, .process = process };
    }
    if (all->n > 0)
        return STATUS_OK;
    (void)edl_error_set(&error, -ENOENT, "no process of job %s is running", all->job);
    (void)edl_error_remedy(&error, "edl why %s", all->job);
    (void)report_error(&error);
    return SESSION_BROKEN;
}

static void run(struct all *all)
{
    struct edl_error error = { 0 };
    int r = session_verb_signals(all->event, on_signal, all);

    all->out = log_lines_new(stdout, &(struct log_look){ .terminal = isatty(STDOUT_FILENO) == 1 });
    all->err = log_lines_new(stderr, &(struct log_look){ .terminal = isatty(STDERR_FILENO) == 1 });
    if (r >= 0)
        begin_more(all);
    if (r >= 0 && all->n_ended < all->n)
        r = sd_event_loop(all->event);
    for (size_t i = 0; i < all->n_begun; i++)
        all->processes[i].session = session_free(all->processes[i].session);
    all->out = log_lines_free(all->out);
    all->err = log_lines_free(all->err);
    if (r >= 0)
        return;
    (void)edl_error_errno(&error, r, "the event loop");
    (void)report_error(&error);
    all->worst = SESSION_BROKEN;
}

int exec_all(struct server *server, const char *job, const json_t *body)
{
    struct all all = { .server = server, .job = job, .body = body };
    _cleanup_free_ char *path = job_path(job, "/processes");
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, "GET", path, NULL, &answer);

    if (status != STATUS_OK || sd_event_new(&all.event) < 0)
        return SESSION_BROKEN;
    all.worst = pick(&all, answer);
    if (all.worst == STATUS_OK)
        run(&all);
    free(all.processes);
    (void)sd_event_unref(all.event);
    return all.worst;
}
