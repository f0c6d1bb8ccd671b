/* SPDX-License-Identifier: Apache-2.0 */
/* session_program.c - a session that runs a program inside the process: exec, shell, ssh
 *
 * Its end: the program's status is known, and all output that is there by then is sent. Processes
 * in the background may hold its terminal or its pipes for ever, and are not waited for: they are
 * killed with the session. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/session/session.h"
#include "agent/session/session_child.h"
#include "agent/session/session_command.h"
#include "agent/session/session_sshd.h"
#include "agent/session/session_stream.h"
#include "agent/supervisor/killtree.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define TERMINAL_GROUP 5 /* tty, of every Debian */
#define STATUS_NO_PROGRAM 127
#define GRACE_US (2 * USEC_PER_SEC)

struct program {
    struct session *session; /* borrowed */
    struct session_command command;
    struct session_start start;
    struct session_child child;
    sd_event_source *status, *children, *timer;
    int terminal; /* owned; the master's end, for its size and its signals; -1: none */
    struct session_inlet in;
    struct session_outlet out, err;
    unsigned n_open;           /* of out and err */
    uint64_t oom_kills;        /* in the groups of the process, when it began */
    struct killtree_main tree; /* the program, and what it leaves behind */
};

/* ---- its end ---- */

/* note_ooms - as long as a program of a session is there, it is the one that is taken: the process
 * does not end by that, and is not told to have */
static void note_ooms(struct program *program)
{
    struct session_target *target = &program->session->target;
    uint64_t kills = cgroup_oom_kills(&target->record.cgroup);
    char text[256];

    if (kills <= program->oom_kills)
        return;
    process_dir_note_ooms(target->dir_fd, program->oom_kills, kills);
    program->oom_kills = kills;
    cgroup_describe_oom(json_u64(target->order, "memory_bytes"), text, sizeof text);
    session_wire_note(program->session->wire, text);
}

static void say_how(struct program *program)
{
    struct session *session = program->session;
    int status = program->tree.status;

    note_ooms(program);
    if (WIFEXITED(status))
        session_say_exit(session, false, WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGKILL && !session_target_lives(&session->target))
        session_say_gone(session);
    else
        session_say_exit(session, true, WTERMSIG(status));
}

static void settle(struct program *program)
{
    if (!program->tree.reaped || program->n_open > 0)
        return;
    say_how(program);
    session_part_over(program->session);
}

static void on_stream_over(void *userdata)
{
    struct program *program = userdata;

    program->n_open--;
    settle(program);
}

static void bound_streams(struct program *program)
{
    /* what a program wrote to a terminal comes through a queue of the kernel; a pipe has it all */
    if (program->terminal >= 0)
        session_outlet_bound_terminal(&program->out);
    else
        session_outlet_bound(&program->out);
    if (program->err.fd >= 0)
        session_outlet_bound(&program->err);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct program *program = userdata;

    (void)source;
    (void)usec;
    if (!program->tree.reaped)
        (void)pidfd_send_signal(program->child.pidfd, SIGKILL, NULL, 0);
    return 0;
}

static void arm(struct program *program, uint64_t in_us)
{
    (void)sd_event_source_set_time_relative(program->timer, in_us);
    (void)sd_event_source_set_enabled(program->timer, SD_EVENT_ONESHOT);
}

static void on_ended(struct program *program)
{
    session_inlet_close(&program->in);
    bound_streams(program);
    settle(program);
}

/* on_children - all are reaped that we took in */
static int on_children(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct program *program = userdata;
    bool known = program->tree.reaped;

    (void)source;
    (void)info;
    (void)killtree_reap(&program->tree);
    if (program->tree.reaped && !known)
        on_ended(program);
    return 0;
}

/* ---- its start ---- */

static int on_status(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct program *program = userdata;
    struct edl_error error = { 0 };
    int code = 0;
    int r = session_child_failure(&program->child, &program->start, &code, &error);

    (void)source;
    (void)fd;
    (void)revents;
    program->status = sd_event_source_disable_unref(program->status);
    program->child.status_fd = safe_close(program->child.status_fd);
    if (r < 0 && !session_target_lives(&program->session->target))
        session_say_gone(program->session);
    else if (r < 0)
        session_say_error(program->session, &error, code);
    else
        session_wire_send(program->session->wire, SESSION_READY, 0, NULL, 0);
    return 0;
}

static void set_size(int terminal, struct session_size size)
{
    const struct session_size taken = session_size_or_default(size);
    const struct winsize window = { .ws_row = taken.rows,
                                    .ws_col = taken.columns,
                                    .ws_xpixel = taken.x_pixels,
                                    .ws_ypixel = taken.y_pixels };

    (void)ioctl(terminal, TIOCSWINSZ, &window);
}

/* open_terminal - the program's end belongs to its account, as sshd has it */
static int open_terminal(struct program *program, int ret[3], int *ret_slave,
                         struct edl_error *error)
{
    const struct session *session = program->session;
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    program->terminal = fd;
    if (fd == -1 || unlockpt(fd) == -1)
        return edl_error_errno(error, -errno, "cannot make a terminal on the node");
    set_size(fd, session->config.request.size);
    *ret_slave = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*ret_slave == -1)
        return edl_error_errno(error, -errno, "cannot open a terminal on the node");
    if (session->target.account.is_other &&
        (fchown(*ret_slave, session->target.account.uid, TERMINAL_GROUP) == -1 ||
         fchmod(*ret_slave, 0620) == -1))
        return edl_error_errno(error, -errno, "cannot give the terminal to %s",
                               session->target.account.name);
    for (int i = 0; i < 3; i++)
        ret[i] = *ret_slave;
    return 0;
}

/* The ends that stay here. */
struct ends {
    int in, out, err;
};

static int ours(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 ? -errno : 0;
}

static int open_pipes(int theirs[3], struct ends *ret, struct edl_error *error)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
    int r = 0;

    if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1 || pipe2(err, O_CLOEXEC) == -1)
        r = -errno;
    theirs[0] = in[0];
    theirs[1] = out[1];
    theirs[2] = err[1];
    *ret = (struct ends){ .in = in[1], .out = out[0], .err = err[0] };
    if (r == 0)
        r = ours(ret->in);
    if (r == 0)
        r = ours(ret->out);
    if (r == 0)
        r = ours(ret->err);
    return r < 0 ? edl_error_errno(error, r, "cannot make pipes") : 0;
}

/* open_socket - for sshd, whose connection is its standard input and output */
static int open_socket(int theirs[3], struct ends *ret, struct edl_error *error)
{
    int pair[2] = { -1, -1 }, err[2] = { -1, -1 };
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1 ||
        pipe2(err, O_CLOEXEC) == -1)
        r = -errno;
    theirs[0] = pair[1];
    theirs[1] = r == 0 ? fcntl(pair[1], F_DUPFD_CLOEXEC, 3) : -1;
    theirs[2] = err[1];
    *ret = (struct ends){ .in = pair[0], .err = err[0] };
    ret->out = r == 0 ? fcntl(pair[0], F_DUPFD_CLOEXEC, 3) : -1;
    if (r == 0 && (ret->out == -1 || theirs[1] == -1))
        r = -errno;
    if (r == 0)
        r = ours(ret->in);
    if (r == 0)
        r = ours(ret->err);
    return r < 0 ? edl_error_errno(error, r, "cannot make a socket") : 0;
}

static int open_streams(struct program *program, const struct ends *take, struct edl_error *error)
{
    struct session *session = program->session;
    int r =
        session_inlet_open(&program->in, session->event, session->wire, SESSION_STDIN, take->in);

    program->in.is_terminal = program->terminal >= 0;
    program->in.is_socket = session->config.request.kind == SESSION_KIND_SSH;
    if (r >= 0) {
        r = session_outlet_open(&program->out, session->event, session->wire, SESSION_STDOUT,
                                take->out, on_stream_over, program);
        program->n_open++;
    }
    if (r >= 0 && take->err >= 0) {
        r = session_outlet_open(&program->err, session->event, session->wire, SESSION_STDERR,
                                take->err, on_stream_over, program);
        program->n_open++;
    }
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

/* open_files - the program's standard descriptors to theirs, the others to streams */
static int open_files(struct program *program, int theirs[3], struct edl_error *error)
{
    const struct session_request *request = &program->session->config.request;
    struct ends ends = { .in = -1, .out = -1, .err = -1 };
    int r;

    if (request->has_pty && request->kind != SESSION_KIND_SSH) {
        int slave = -1;

        r = open_terminal(program, theirs, &slave, error);
        ends.in = r == 0 ? fcntl(program->terminal, F_DUPFD_CLOEXEC, 3) : -1;
        ends.out = r == 0 ? fcntl(program->terminal, F_DUPFD_CLOEXEC, 3) : -1;
        if (r < 0)
            (void)safe_close(slave);
    } else if (request->kind == SESSION_KIND_SSH) {
        r = open_socket(theirs, &ends, error);
    } else {
        r = open_pipes(theirs, &ends, error);
    }
    if (r == 0)
        return open_streams(program, &ends, error);
    (void)safe_close(ends.in);
    (void)safe_close(ends.out);
    (void)safe_close(ends.err);
    return r;
}

static void close_theirs(const int theirs[3])
{
    for (int i = 0; i < 3; i++)
        if (i == 0 || theirs[i] != theirs[0])
            (void)safe_close(theirs[i]);
}

static int watch(struct program *program, struct edl_error *error)
{
    sd_event *event = program->session->event;
    int r = sd_event_add_signal(event, &program->children, SIGCHLD, on_children, program);

    program->tree.pid = program->child.pid;
    if (r >= 0) /* before the end is looked at: why it never ran comes first */
        r = sd_event_source_set_priority(program->children, SD_EVENT_PRIORITY_NORMAL + 1);
    if (r >= 0)
        r = sd_event_add_io(event, &program->status, program->child.status_fd, EPOLLIN, on_status,
                            program);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &program->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
                                       program);
    if (r >= 0)
        r = sd_event_source_set_enabled(program->timer, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int check_sshd(struct session *session, struct edl_error *error)
{
    if (session->config.request.kind != SESSION_KIND_SSH || session_sshd_is_installed())
        return 0;
    session->failed = STATUS_NO_PROGRAM;
    (void)edl_error_set(error, -ENOENT, "node %.60s has no sshd", session->config.node);
    return edl_error_remedy(error, "its owner may install the package openssh-server; edl shell "
                                   "and edl exec need none");
}

static int start(struct session *session, struct edl_error *error)
{
    struct program *program = xcalloc(1, sizeof *program);
    int theirs[3] = { -1, -1, -1 };
    int r;

    session->part = program;
    program->session = session;
    program->terminal = program->in.fd = program->out.fd = program->err.fd = -1;
    program->child = (struct session_child){ .pidfd = -1, .status_fd = -1 };
    r = check_sshd(session, error);
    if (r == 0)
        r = session_target_look(&session->config, &session->target, error);
    if (r < 0)
        return r;
    program->oom_kills = cgroup_oom_kills(&session->target.record.cgroup);
    session_command_choose(&session->config, &session->target, &program->command);
    r = open_files(program, theirs, error);
    program->start = (struct session_start){ .target = &session->target,
                                             .program = program->command.program,
                                             .argv = program->command.argv,
                                             .environment = program->command.environment,
                                             .fds = { theirs[0], theirs[1], theirs[2] },
                                             .terminal = program->terminal >= 0 };
    if (r == 0 && session->target.ours_only && program->command.note == NULL)
        program->command.note = "the agent of this node is not root: the program has the account, "
                                "environment and folder of the process, not all of its limits";
    if (r == 0 && program->command.note != NULL)
        session_wire_note(session->wire, program->command.note);
    if (r == 0)
        r = session_child_start(&program->start, &program->child, error);
    close_theirs(theirs);
    return r < 0 ? r : watch(program, error);
}

/* ---- what the person says ---- */

/* send_signal - to what stands in the foreground of a terminal, else to the program's group */
static void send_signal(const struct program *program, int number)
{
    pid_t group = program->terminal >= 0 ? tcgetpgrp(program->terminal) : -1;

    if (program->tree.reaped || number < 1 || number >= NSIG)
        return;
    if (program->terminal >= 0 && group > 0 && ioctl(program->terminal, TIOCSIG, number) == 0)
        return;
    /* our child, not reaped: its number, and that of its group, are nobody else's */
    if (getpgid(program->child.pid) == program->child.pid)
        (void)kill(-program->child.pid, number);
}

static void on_window(struct program *program, const struct session_frame *frame)
{
    uint32_t size;
    bool fits = session_frame_u32(frame, &size);

    if (fits && frame->channel == SESSION_STDOUT)
        fits = session_outlet_granted(&program->out, size);
    else if (fits && frame->channel == SESSION_STDERR)
        fits = session_outlet_granted(&program->err, size);
    if (!fits)
        session_broken(program->session);
}

static void on_frame(struct session *session, const struct session_frame *frame)
{
    struct program *program = session->part;
    struct session_size size;

    switch (frame->type) {
    case SESSION_DATA:
        if (frame->channel == SESSION_STDIN &&
            !session_inlet_take(&program->in, frame->data, frame->size))
            session_broken(session);
        break;
    case SESSION_EOF:
        if (frame->channel == SESSION_STDIN)
            session_inlet_end(&program->in);
        break;
    case SESSION_RESIZE:
        if (program->terminal >= 0 && session_frame_size(frame, &size))
            set_size(program->terminal, size);
        break;
    case SESSION_SIGNAL:
        if (frame->size == 1)
            send_signal(program, frame->data[0]);
        break;
    case SESSION_WINDOW:
        on_window(program, frame);
        break;
    default:
        break;
    }
}

static void on_room(struct session *session)
{
    struct program *program = session->part;

    session_outlet_go_on(&program->out);
    session_outlet_go_on(&program->err);
}

static bool on_process_end(struct session *session)
{
    (void)session;
    return true;
}

static void hang_up(struct session *session, bool at_once)
{
    struct program *program = session->part;

    if (program->child.pidfd < 0 || program->tree.reaped) {
        session_part_over(session);
        return;
    }
    send_signal(program, SIGHUP);
    send_signal(program, SIGCONT); /* a stopped one acts on it */
    session_inlet_close(&program->in);
    session_outlet_close(&program->out);
    session_outlet_close(&program->err);
    program->n_open = 0;
    program->terminal = safe_close(program->terminal); /* the kernel hangs up what is left on it */
    arm(program, at_once ? 0 : GRACE_US);
}

static void program_free(struct session *session)
{
    struct program *program = session->part;

    (void)sd_event_source_disable_unref(program->status);
    (void)sd_event_source_disable_unref(program->children);
    (void)sd_event_source_disable_unref(program->timer);
    session_inlet_close(&program->in);
    session_outlet_close(&program->out);
    session_outlet_close(&program->err);
    (void)safe_close(program->terminal);
    (void)safe_close(program->child.status_fd);
    (void)safe_close(program->child.pidfd);
    session_command_clear(&program->command);
    free(program);
}

const struct session_kind_ops session_program_ops = { .start = start,
                                                      .on_frame = on_frame,
                                                      .on_room = on_room,
                                                      .on_process_end = on_process_end,
                                                      .hang_up = hang_up,
                                                      .free = program_free };
