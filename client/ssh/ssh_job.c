/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_job.c - the script that runs in a session: its lines, its input, its end */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ssh/ssh_internal.h"
#include "shared/macro.h"

void ssh_session_clear_job(struct ssh_job *job)
{
    if (job->bytes != NULL)
        explicit_bzero(job->bytes, job->n_bytes); /* tokens and passwords are input */
    free(job->bytes);
    free(job->command);
    job->bytes = NULL;
    job->command = NULL;
}

/* on_line - false: the handler has freed the session */
static bool on_line(void *userdata, const char *line, bool before)
{
    struct ssh_session *session = userdata;

    if (before) {
        if (*line != '\0')
            (void)snprintf(session->job.before, sizeof session->job.before, "%s", line);
        return true;
    }
    session->handlers.line(session, line, session->userdata);
    return ssh_session_goes_on(session);
}

/* The most that a host may print: silence alone would end nothing where somebody prints for ever.
 */
#define BEFORE_BYTES_MAX ((uint64_t)1024 * 1024)
#define BEFORE_S 60.0
#define OUTPUT_BYTES_MAX ((uint64_t)16 * 1024 * 1024)

void ssh_session_job_started(struct ssh_session *session)
{
    if (sd_event_now(session->event, CLOCK_BOOTTIME, &session->job.started_us) < 0)
        abort();
    ssh_session_stage(session, SSH_STAGE_RUN);
}

/* within_bounds - false: the host printed too much, or for too long, and it is over */
static bool within_bounds(struct ssh_session *session, size_t size)
{
    struct ssh_job *job = &session->job;
    double before_us = BEFORE_S * (double)USEC_PER_SEC * session->options.patience;
    uint64_t now_us;

    if (job->out.begun || job->err.begun) {
        job->got_bytes += size;
        if (job->got_bytes <= OUTPUT_BYTES_MAX)
            return true;
        ssh_session_fail(session, SSH_FAULT_PROTOCOL,
                         "look there for the program that prints so much",
                         "the script printed more than 16 MiB");
        return false;
    }
    job->got_before_bytes += size;
    if (sd_event_now(session->event, CLOCK_BOOTTIME, &now_us) < 0)
        abort();
    if (job->got_before_bytes <= BEFORE_BYTES_MAX &&
        (double)(now_us - job->started_us) <= before_us)
        return true;
    ssh_session_fail(session, SSH_FAULT_PROTOCOL,
                     "what is printed at login? Look at ~/.bashrc and ~/.profile there",
                     "the login prints without end, and no script begins%s%s",
                     *job->before != '\0' ? ": " : "", job->before);
    return false;
}

void ssh_session_output(struct ssh_session *session, struct ssh_lines *stream, const char *bytes,
                        size_t size)
{
    if (!within_bounds(session, size))
        return;
    ssh_session_stage(session, SSH_STAGE_RUN);
    (void)ssh_lines_feed(stream, bytes, size, on_line, session);
}

void ssh_session_sent(struct ssh_session *session, size_t size)
{
    session->job.at += size;
    session->job.sent_bytes += size;
    ssh_session_stage(session, SSH_STAGE_RUN);
    if (session->handlers.sent != NULL)
        session->handlers.sent(session, session->job.sent_bytes, session->userdata);
}

bool ssh_session_input(struct ssh_session *session, const uint8_t **ret, size_t *ret_size)
{
    struct ssh_job *job = &session->job;
    ssize_t n;

    if (job->at == job->n_bytes && job->fd != -1) {
        if (job->n_bytes > 0)
            explicit_bzero(job->bytes, job->n_bytes);
        job->bytes = xreallocarray(job->bytes, SSH_INPUT_PIECE, 1);
        n = read(job->fd, job->bytes, SSH_INPUT_PIECE);
        if (n == -1) {
            ssh_session_fail(session, SSH_FAULT_HERE, "look at the file and its disk",
                             "reading what is to be sent: %s", strerror(errno));
            return false;
        }
        job->at = 0;
        job->n_bytes = (size_t)n;
        if (n == 0)
            job->fd = -1;
    }
    *ret = job->bytes != NULL ? job->bytes + job->at : NULL;
    *ret_size = job->n_bytes - job->at;
    return true;
}

void ssh_session_ended(struct ssh_session *session, const char *detail)
{
    struct ssh_job *job = &session->job;

    if (!ssh_lines_flush(&job->out, on_line, session) ||
        !ssh_lines_flush(&job->err, on_line, session))
        return;
    if (job->out.ended) {
        session->state = SSH_STATE_IDLE;
        ssh_session_clear_job(job);
        ssh_session_stage(session, SSH_STAGE_PERSON);
        session->handlers.ended(session, job->out.status, session->userdata);
    } else if (job->out.begun || job->err.begun) {
        ssh_session_fail(session, SSH_FAULT_LOST, "try it again, nothing is half done",
                         "the script was cut off%s%s", detail != NULL ? ": " : "",
                         detail != NULL ? detail : "");
    } else {
        ssh_session_fail(session, SSH_FAULT_LOGIN, "name another user, or run `ssh USER@HOST` once",
                         "%s may run no command there%s%s", session->config.user,
                         *job->before != '\0' ? ": " : "", job->before);
    }
}
