/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program_run.c - a script is one more ssh, through the master's socket */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/ssh/ssh_program.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TURNS_MAX 32 /* pieces of one dispatch; then other hosts have their turn */
#define PIECE_BYTES 16384

/* over - the script has ended, or ssh has: the session is told once */
static void over(struct ssh_program *this, int status)
{
    const struct ssh_job *job = &this->session->job;
    char before[sizeof job->before];

    ssh_program_drop(this, &this->script);
    if (status == 255 && !job->out.begun) {
        (void)snprintf(before, sizeof before, "%s", job->before);
        ssh_program_told(this, before, "beginning a script");
    } else {
        ssh_session_ended(this->session, NULL);
    }
}

/* read_stream - what is there; with an end, *fd is closed. false: the session is over */
static bool read_stream(struct ssh_program *this, int *fd, sd_event_source **source,
                        struct ssh_lines *lines)
{
    for (int i = 0; i < TURNS_MAX && *fd != -1; i++) {
        char piece[PIECE_BYTES];
        ssize_t n = read(*fd, piece, sizeof piece);

        if (n == -1 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            *source = sd_event_source_disable_unref(*source);
            *fd = safe_close(*fd);
            break;
        }
        ssh_session_output(this->session, lines, piece, (size_t)n);
        if (!ssh_session_goes_on(this->session))
            return false;
    }
    return true;
}

static bool has_ended(const struct ssh_program *this)
{
    return this->session->job.out.ended && this->session->job.err.ended;
}

static int on_output(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;
    struct ssh_program_child *script = &this->script;
    bool goes_on;

    (void)source;
    (void)revents;
    ssh_session_enter(session);
    goes_on = fd == script->child.out
                  ? read_stream(this, &script->child.out, &script->out, &session->job.out)
                  : read_stream(this, &script->child.err, &script->err, &session->job.err);
    if (goes_on && has_ended(this))
        over(this, 0);
    ssh_session_leave(session);
    return 0;
}

/* close_input - ssh tells the script that there is no more */
static void close_input(struct ssh_program_child *script)
{
    script->in = sd_event_source_disable_unref(script->in);
    script->child.in = safe_close(script->child.in);
}

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;
    const uint8_t *bytes;
    size_t size;
    ssize_t n = 1;

    (void)source;
    (void)revents;
    ssh_session_enter(session);
    for (int i = 0; i < TURNS_MAX && n > 0 && ssh_session_input(session, &bytes, &size); i++) {
        n = size > 0 ? send(fd, bytes, size, MSG_NOSIGNAL) : 0;
        if (n > 0)
            ssh_session_sent(session, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close_input(&this->script); /* all is sent, or ssh takes no more */
        if (!ssh_session_goes_on(session))
            break;
    }
    ssh_session_leave(session);
    return 0;
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;
    struct ssh_program_child *script = &this->script;
    int status;

    (void)source;
    (void)fd;
    (void)revents;
    ssh_session_enter(session);
    if (read_stream(this, &script->child.out, &script->out, &session->job.out) &&
        read_stream(this, &script->child.err, &script->err, &session->job.err) &&
        script->child.out == -1 && script->child.err == -1) {
        script->gone = sd_event_source_disable_unref(script->gone);
        status = ssh_child_reap(&script->child);
        over(this, status);
    }
    ssh_session_leave(session);
    return 0;
}

void ssh_program_run(struct ssh_program *this)
{
    struct ssh_session *session = this->session;
    struct ssh_program_child *script = &this->script;
    struct ssh_program_argv argv;
    struct edl_error error = { 0 };
    int r;

    ssh_program_argv(this, SSH_PROGRAM_SCRIPT, session->job.command, &argv);
    r = ssh_child_start((const char *const *)argv.items, NULL, true, &script->child, &error);
    ssh_program_argv_clear(&argv);
    if (r < 0) {
        ssh_session_fail(session, SSH_FAULT_HERE, "apt install openssh-client", "%s", error.text);
        return;
    }
    if (sd_event_add_io(session->event, &script->in, script->child.in, EPOLLOUT, on_input, this) <
            0 ||
        sd_event_add_io(session->event, &script->out, script->child.out, EPOLLIN, on_output, this) <
            0 ||
        sd_event_add_io(session->event, &script->err, script->child.err, EPOLLIN, on_output, this) <
            0 ||
        sd_event_add_io(session->event, &script->gone, script->child.pidfd, EPOLLIN, on_gone,
                        this) < 0)
        abort(); /* of memory only */
}
