/* SPDX-License-Identifier: Apache-2.0 */
/* session_run.c - see session_run.h
 *
 * Its end is that of the session, once all that came was written. A signal that the person sends
 * goes to the program, as it would if that ran here; the third one ends the session instead, for a
 * program that does not listen. */
#include "client/session_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "client/escape_keys.h"
#include "client/json_read.h"
#include "client/output_mask.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/stream_in.h"
#include "client/stream_out.h"
#include "client/terminal.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

enum { SIGNALS_LEAVE = 3, SIGNALS = 9 };

/* Where output goes. What came is told as taken once all that is shown of it is written. */
struct sink {
    struct stream_out *out;
    bool masks;
    struct output_mask mask;
    size_t untold;
};

struct running {
    const struct session_run *run;
    sd_event *event;
    struct session *session;
    struct stream_in *in;
    struct sink out, err;
    sd_event_source *signals[SIGNALS];
    sigset_t mask_before;
    struct escape_keys keys;
    unsigned n_signals;
    bool over;   /* the session: what came is still written */
    bool exited; /* the program did, and the session is whole */
    int status;
    struct edl_error error;
};

/* --- the end --- */

static void leave_when_written(struct running *running)
{
    if (running->over && stream_out_pending(running->out.out) == 0 &&
        stream_out_pending(running->err.out) == 0)
        (void)sd_event_exit(running->event, 0);
}

static void sink_write(struct sink *sink, const void *data, size_t size, bool at_end)
{
    _cleanup_free_ char *shown = NULL;
    size_t n = 0;

    if (!sink->masks) {
        stream_out_write(sink->out, data, size);
        return;
    }
    sink->untold += size;
    shown = output_mask_take(&sink->mask, data, size, at_end, &n);
    stream_out_write(sink->out, shown, n);
}

/* sink_end - what was held back goes out */
static void sink_end(struct sink *sink)
{
    if (sink->masks)
        sink_write(sink, NULL, 0, true);
}

static void leave(struct running *running, int status, const char *text)
{
    (void)sd_event_exit(running->event, 0); /* what is not written yet is not waited for */
    if (running->over)
        return;
    running->over = true;
    running->status = status;
    if (text != NULL)
        (void)edl_error_set(&running->error, -ECANCELED, "%s", text);
}

static void on_end(void *userdata, const struct session_end *end)
{
    struct running *running = userdata;

    if (running->over)
        return;
    running->over = true;
    running->status = end->status;
    running->error = end->error;
    running->exited = end->exited;
    if (running->in != NULL)
        stream_in_want(running->in, false);
    sink_end(&running->out);
    sink_end(&running->err);
    leave_when_written(running);
}

/* --- from the program --- */

static void on_data(void *userdata, uint16_t channel, const uint8_t *data, size_t size)
{
    struct running *running = userdata;

    sink_write(channel == SESSION_STDERR ? &running->err : &running->out, data, size, false);
}

static void sink_wrote(struct running *running, struct sink *sink, uint16_t channel, size_t size)
{
    if (sink->masks && stream_out_pending(sink->out) == 0) {
        session_took(running->session, channel, sink->untold);
        sink->untold = 0;
    } else if (!sink->masks) {
        session_took(running->session, channel, size);
    }
    leave_when_written(running);
}

static void on_out_written(void *userdata, size_t size)
{
    struct running *running = userdata;

    sink_wrote(running, &running->out, SESSION_STDOUT, size);
}

static void on_err_written(void *userdata, size_t size)
{
    struct running *running = userdata;

    sink_wrote(running, &running->err, SESSION_STDERR, size);
}

/* Whoever read our output has seen enough: the program ends, as it would in a pipe here. */
static void on_broken(void *userdata, int code)
{
    struct running *running = userdata;
    char text[128];

    (void)snprintf(text, sizeof text, "the output could not be written: %s", strerror(-code));
    running->over = false; /* it counts, although the program has ended */
    leave(running, code == -EPIPE ? SESSION_SIGNALLED + SIGPIPE : SESSION_BROKEN,
          code == -EPIPE ? NULL : text);
}

/* For people: standard error is the program's own where it goes into a file or pipe. */
static void on_note(void *userdata, const char *text)
{
    const struct running *running = userdata;

    if (running->run->quiet || isatty(STDERR_FILENO) != 1)
        return;
    (void)fprintf(stderr, "edl: %s%s", text, terminal_is_raw() ? "\r\n" : "\n");
}

/* --- from the person --- */

static void on_room(void *userdata)
{
    struct running *running = userdata;

    if (running->in != NULL && !running->over)
        stream_in_want(running->in, session_room(running->session, SESSION_STDIN) > 0);
}

static void send_typed(struct running *running, const char *data, size_t size)
{
    char *typed = xcalloc(size + 1, 1);
    size_t at = 0, n = 0;

    while (at < size && !running->over) {
        enum escape_wish wish = escape_keys_take(&running->keys, data, size, &at, typed, &n);

        session_send(running->session, SESSION_STDIN, typed, n);
        if (wish == ESCAPE_HELP)
            (void)fprintf(stderr, "\r\n" ESCAPE_HELP_TEXT);
        else if (wish == ESCAPE_END)
            leave(running, SESSION_BROKEN, "the session was left; the job goes on");
    }
    free(typed);
}

/* in_room - how much of standard input is taken now; a tilde that was held back adds one */
static size_t in_room(void *userdata)
{
    struct running *running = userdata;
    size_t room = session_room(running->session, SESSION_STDIN);

    return room > 0 ? room - running->keys.tilde : 0;
}

static void on_typed(void *userdata, const char *data, size_t size)
{
    struct running *running = userdata;

    if (running->over)
        return;
    if (running->run->pty)
        send_typed(running, data, size);
    else
        session_send(running->session, SESSION_STDIN, data, size);
    on_room(running);
}

static void on_typed_end(void *userdata)
{
    struct running *running = userdata;

    running->in = stream_in_free(running->in);
    if (running->over)
        return;
    if (running->run->pty) /* the terminal is gone: nobody is there any more */
        leave(running, SESSION_SIGNALLED + SIGHUP, NULL);
    else if (!running->run->no_eof)
        session_send_eof(running->session, SESSION_STDIN);
}

/* --- signals --- */

static int on_resized(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct running *running = userdata;
    struct session_size size;

    (void)source;
    (void)info;
    terminal_size(&size);
    session_send_size(running->session, &size);
    return 0;
}

/* Whoever stopped us has set the terminal for itself meanwhile. */
static int on_continued(sd_event_source *source, const struct signalfd_siginfo *info,
                        void *userdata)
{
    struct running *running = userdata;

    if (terminal_enter(NULL) < 0)
        leave(running, SESSION_BROKEN, "the terminal cannot be made raw again");
    return on_resized(source, info, userdata);
}

static int on_leaving(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct running *running = userdata;

    (void)source;
    if (running->run->ret_left != NULL)
        *running->run->ret_left = true;
    leave(running, SESSION_SIGNALLED + (int)info->ssi_signo, running->run->left);
    return 0;
}

static int on_passed_on(sd_event_source *source, const struct signalfd_siginfo *info,
                        void *userdata)
{
    struct running *running = userdata;

    if (++running->n_signals >= SIGNALS_LEAVE)
        return on_leaving(source, info, userdata);
    session_send_signal(running->session, (int)info->ssi_signo);
    if (running->n_signals == SIGNALS_LEAVE - 1)
        report_note("the command got the signal twice; the next one ends the session");
    return 0;
}

static int on_nothing(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    (void)source;
    (void)info;
    (void)userdata;
    return 0;
}

struct signal_row {
    int number;
    sd_event_signal_handler_t handler;
};

static const struct signal_row in_terminal[] = {
    { SIGWINCH, on_resized },
    { SIGCONT, on_continued },
    { SIGINT, on_leaving },
    { SIGTERM, on_leaving },
    { SIGHUP, on_leaving },
    { SIGQUIT, on_leaving },
    { 0 },
};

static const struct signal_row in_filter[] = {
    { SIGINT, on_passed_on },
    { SIGTERM, on_passed_on },
    { SIGQUIT, on_passed_on },
    { SIGHUP, on_leaving },
    { 0 },
};

static const struct signal_row in_attach[] = {
    { SIGINT, on_leaving },
    { SIGTERM, on_leaving },
    { SIGHUP, on_leaving },
    { 0 },
};

static const struct signal_row in_proxy[] = {
    { SIGINT, on_nothing },
    { SIGTERM, on_leaving },
    { SIGHUP, on_leaving },
    { 0 },
};

static int watch_signals(struct running *running)
{
    const struct signal_row *rows = running->run->pty        ? in_terminal
                                    : running->run->detaches ? in_attach
                                    : running->run->quiet    ? in_proxy
                                                             : in_filter;
    sigset_t set;
    int r = 0;

    (void)sigemptyset(&set);
    for (size_t i = 0; rows[i].number != 0; i++)
        (void)sigaddset(&set, rows[i].number);
    (void)sigprocmask(SIG_BLOCK, &set, &running->mask_before);
    for (size_t i = 0; rows[i].number != 0 && r >= 0; i++) {
        struct sigaction is;

        /* nohup lets a program live when its terminal goes */
        if (rows[i].number == SIGHUP && sigaction(SIGHUP, NULL, &is) == 0 &&
            is.sa_handler == SIG_IGN)
            continue;
        r = sd_event_add_signal(running->event, &running->signals[i], rows[i].number,
                                rows[i].handler, running);
    }
    return r;
}

/* --- all of it --- */

static int open_streams(struct running *running)
{
    struct stream_out_config out = { .event = running->event,
                                     .fd = running->run->out_fd > 0 ? running->run->out_fd
                                                                    : STDOUT_FILENO,
                                     .on_written = on_out_written,
                                     .on_broken = on_broken,
                                     .userdata = running };
    struct stream_in_config in = { .event = running->event,
                                   .fd = running->run->in_fd,
                                   .room = in_room,
                                   .on_data = on_typed,
                                   .on_end = on_typed_end,
                                   .userdata = running };
    int r = stream_out_new(&out, &running->out.out);

    running->out.masks = running->run->masks && isatty(out.fd) == 1;
    running->err.masks = running->run->masks && isatty(STDERR_FILENO) == 1;
    out.fd = STDERR_FILENO;
    out.on_written = on_err_written;
    if (r == 0)
        r = stream_out_new(&out, &running->err.out);
    if (r == 0 && running->run->reads)
        r = stream_in_new(&in, &running->in);
    if (r == 0)
        r = watch_signals(running);
    return r;
}

static void add_pty(json_t *body)
{
    const char *term = getenv("TERM");
    struct session_size size;

    terminal_size(&size);
    (void)json_object_set_new(body, "pty",
                              json_pack("{s:i, s:i, s:s}", "rows", size.rows, "columns",
                                        size.columns, "term",
                                        term != NULL && *term != '\0' ? term : "xterm"));
}

static int open_session(struct running *running)
{
    const struct session_run *run = running->run;
    const struct session_events events = { .on_data = on_data,
                                           .on_note = on_note,
                                           .on_room = on_room,
                                           .on_end = on_end,
                                           .userdata = running };
    json_t *body = json_deep_copy(run->body);

    if (run->name->process != NULL)
        (void)json_object_set_new(body, "process", json_string(run->name->process));
    if (run->pty)
        add_pty(body);
    return session_open(run->server, running->event, run->name->job, body, &events,
                        &running->session);
}

/* turn - the session is there: its bytes go to and fro until its end */
static int turn(struct running *running)
{
    struct edl_error error = { 0 };
    int r = open_streams(running);

    if (r < 0) {
        (void)edl_error_errno(&error, r, "the standard streams cannot be watched");
        return report_error(&error);
    }
    if (running->run->pty && terminal_enter(&error) < 0)
        return report_error(&error);
    if (!running->run->reads && !running->run->no_eof)
        session_send_eof(running->session, SESSION_STDIN);
    r = sd_event_loop(running->event);
    terminal_leave();
    if (running->run->pty && !running->exited) /* in the middle of a line, for all we know */
        (void)fputc('\n', stderr);
    if (r < 0)
        (void)edl_error_errno(&running->error, r, "the event loop");
    if (running->error.code != 0)
        (void)report_error(&running->error);
    return STATUS_OK;
}

static void clear(struct running *running)
{
    for (size_t i = 0; i < ELEMENTS(running->signals); i++)
        (void)sd_event_source_disable_unref(running->signals[i]);
    running->session = session_free(running->session);
    running->in = stream_in_free(running->in);
    running->out.out = stream_out_free(running->out.out);
    running->err.out = stream_out_free(running->err.out);
    running->event = sd_event_unref(running->event);
    (void)sigprocmask(SIG_SETMASK, &running->mask_before, NULL);
}

int session_run(const struct session_run *run)
{
    struct running running = { .run = run, .status = SESSION_BROKEN };
    int status = STATUS_FAILED;

    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);

    escape_keys_begin(&running.keys);
    (void)sigprocmask(SIG_BLOCK, NULL, &running.mask_before);
    (void)fflush(stdout);
    if (sd_event_new(&running.event) >= 0)
        status = open_session(&running);
    if (status == STATUS_OK)
        status = turn(&running);
    clear(&running);
    (void)signal(SIGPIPE, pipe_before);
    return status == STATUS_OK ? running.status : SESSION_BROKEN;
}

json_t *session_body(const char *kind, char *const *command, size_t n)
{
    json_t *body = json_pack("{s:s}", "kind", kind);
    json_t *words = n > 0 ? json_array() : NULL;

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(words, json_string(command[i])) == -1) {
            struct edl_error error = { 0 };

            (void)edl_error_set(&error, -EINVAL, "word %zu of the command is not UTF-8", i);
            (void)report_error(&error);
            json_decref(words);
            json_decref(body);
            return NULL;
        }
    if (words != NULL)
        (void)json_object_set_new(body, "command", words);
    return body;
}
