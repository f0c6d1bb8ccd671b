/* SPDX-License-Identifier: Apache-2.0 */
/* session_attach.c - a session that shows what a process writes, and gives it what a person types
 *
 * The log is followed by inotify(7), from its last lines on. Its end is the end of the process:
 * its supervisor has written all of the log by then, and how it ended stands in its folder. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/session/session.h"
#include "agent/session/session_stream.h"
#include "agent/supervisor/program_input.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define TAIL_BYTES 4096

struct attach {
    struct session *session; /* borrowed */
    int log_fd;              /* owned */
    uint64_t at;             /* offset in it */
    sd_event_source *changed, *more;
    struct session_window window;
    struct session_inlet in;
    bool no_input_told;
    bool ended; /* the process has: what is in the log, and no more */
};

static void say_end(struct attach *attach)
{
    struct session *session = attach->session;
    struct exit_record record;

    if (process_dir_read_exit(session->target.dir_fd, &record, NULL) < 0)
        session_say_gone(session);
    else if (record.exit_signal != 0)
        session_say_exit(session, true, record.exit_signal);
    else
        session_say_exit(session, false, record.exit_code & 0xff);
}

static void tell_hole(const struct attach *attach, uint64_t bytes)
{
    char text[200];

    (void)snprintf(text, sizeof text,
                   "%" PRIu64 " bytes of the log are not there any more: the node keeps its last "
                   "part, and the process writes faster than this end reads",
                   bytes);
    session_wire_note(attach->session->wire, text);
}

/* skip_hole - a log that grew too long was trimmed. The hole reads as zeros, which are not sent.
 * Returns how many bytes follow, `most` of them at most */
static size_t skip_hole(struct attach *attach, size_t most)
{
    off_t at = (off_t)attach->at;
    off_t data = lseek(attach->log_fd, at, SEEK_DATA), hole;

    if (data == -1) /* at its end, or a file system that knows no holes */
        return most;
    if (data > at) {
        tell_hole(attach, (uint64_t)(data - at));
        attach->at = (uint64_t)data;
    }
    hole = lseek(attach->log_fd, data, SEEK_HOLE);
    return hole > data ? (size_t)MIN_OF((uint64_t)most, (uint64_t)(hole - data)) : most;
}

/* send_some - a piece of the log; false: there is nothing, or no room for it */
static bool send_some(struct attach *attach)
{
    static uint8_t data[SESSION_DATA_MAX]; /* one thread */
    struct session *session = attach->session;
    size_t most = MIN_OF(session_wire_room(session->wire), (size_t)attach->window.may_send);
    ssize_t n = -1;

    if (most > 0) {
        most = skip_hole(attach, most);
        n = pread(attach->log_fd, data, most, (off_t)attach->at);
    }

    if (n == 0 && attach->ended) {
        attach->ended = false;
        session_wire_send(session->wire, SESSION_EOF, SESSION_STDOUT, NULL, 0);
        say_end(attach);
    }
    if (n <= 0)
        return false;
    attach->at += (uint64_t)n;
    session_window_sent(&attach->window, (size_t)n);
    session_wire_send(session->wire, SESSION_DATA, SESSION_STDOUT, data, (size_t)n);
    return true;
}

/* on_more - one piece a turn of the loop */
static int on_more(sd_event_source *source, void *userdata)
{
    return sd_event_source_set_enabled(source, send_some(userdata) ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void go_on(const struct attach *attach)
{
    (void)sd_event_source_set_enabled(attach->more, SD_EVENT_ON);
}

static int on_changed(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
    (void)source;
    (void)event;
    go_on(userdata);
    return 0;
}

/* first_line - where whole lines begin in the last part of the log; the front may be a hole */
static uint64_t first_line(int fd)
{
    char tail[TAIL_BYTES + 1];
    struct stat st;
    const char *line;
    off_t from, data;
    ssize_t n;

    if (fstat(fd, &st) == -1 || st.st_size <= TAIL_BYTES)
        return 0;
    from = st.st_size - TAIL_BYTES - 1;
    data = lseek(fd, from, SEEK_DATA);
    if (data > from)
        return (uint64_t)data;
    n = pread(fd, tail, sizeof tail, from);
    line = n > 0 ? memchr(tail, '\n', (size_t)n) : NULL;
    return line != NULL ? (uint64_t)from + (uint64_t)(line - tail) + 1 : (uint64_t)from + 1;
}

/* open_regular - see agent/logs/log_file.c: a job may put a pipe in the place of its log */
static int open_regular(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1)
        return -errno;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -ENOENT;
}

static int open_log(struct attach *attach, struct edl_error *error)
{
    const struct session *session = attach->session;
    const char *path = json_text(session->target.order, "log_path");
    int r;

    attach->log_fd = open_regular(path);
    if (attach->log_fd < 0)
        return edl_error_errno(error, attach->log_fd, "cannot open the log of the process");
    attach->at = first_line(attach->log_fd);
    r = sd_event_add_defer(session->event, &attach->more, on_more, attach);
    if (r >= 0)
        r = sd_event_add_inotify(session->event, &attach->changed, path, IN_MODIFY, on_changed,
                                 attach);
    return r < 0 ? edl_error_errno(error, r, "cannot follow the log of the process") : 0;
}

/* open_input - -1: it has none. Who writes there is one of many. */
static int open_input(const struct session *session)
{
    struct stat st;
    int fd = openat(session->target.dir_fd, PROGRAM_INPUT_FIFO,
                    O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

    if (fd != -1 && (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode)))
        fd = safe_close(fd);
    return fd;
}

/* on_input_over - all is written. Nobody sees an end before the supervisor has closed its own end
 * of the FIFO (program_input.h), which it does where the person has said so. */
static void on_input_over(void *userdata)
{
    const struct attach *attach = userdata;

    if (attach->in.ended)
        (void)pidfd_send_signal(attach->session->target.supervisor_pidfd, SIGUSR2, NULL, 0);
}

static int start(struct session *session, struct edl_error *error)
{
    struct attach *attach = xcalloc(1, sizeof *attach);
    int r;

    session->part = attach;
    attach->session = session;
    attach->in.fd = -1;
    session_window_begin(&attach->window);
    r = open_log(attach, error);
    if (r < 0)
        return r;
    r = session_inlet_open(&attach->in, session->event, session->wire, SESSION_STDIN,
                           open_input(session));
    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    attach->in.over = on_input_over;
    attach->in.userdata = attach;
    session_wire_send(session->wire, SESSION_READY, 0, NULL, 0);
    return 0;
}

static void tell_no_input(struct attach *attach)
{
    if (attach->no_input_told || attach->in.fd >= 0)
        return;
    attach->no_input_told = true;
    session_wire_note(attach->session->wire,
                      "what you type goes nowhere: the program reads no input; a job whose "
                      "document says stdin: true takes it");
}

static void on_frame(struct session *session, const struct session_frame *frame)
{
    struct attach *attach = session->part;
    uint32_t size;

    if (frame->type == SESSION_DATA && frame->channel == SESSION_STDIN) {
        tell_no_input(attach);
        if (!session_inlet_take(&attach->in, frame->data, frame->size))
            session_broken(session);
    } else if (frame->type == SESSION_EOF && frame->channel == SESSION_STDIN) {
        session_inlet_end(&attach->in);
    } else if (frame->type == SESSION_WINDOW && frame->channel == SESSION_STDOUT) {
        if (!session_frame_u32(frame, &size) || !session_window_granted(&attach->window, size))
            session_broken(session);
        go_on(attach);
    }
}

static void on_room(struct session *session)
{
    go_on(session->part);
}

static bool on_process_end(struct session *session)
{
    struct attach *attach = session->part;

    attach->ended = true;
    go_on(attach);
    return false;
}

static void hang_up(struct session *session, bool at_once)
{
    (void)at_once;
    session_part_over(session);
}

static void attach_free(struct session *session)
{
    struct attach *attach = session->part;

    (void)sd_event_source_disable_unref(attach->changed);
    (void)sd_event_source_disable_unref(attach->more);
    session_inlet_close(&attach->in);
    (void)safe_close(attach->log_fd);
    free(attach);
}

const struct session_kind_ops session_attach_ops = { .start = start,
                                                     .on_frame = on_frame,
                                                     .on_room = on_room,
                                                     .on_process_end = on_process_end,
                                                     .hang_up = hang_up,
                                                     .free = attach_free };
