/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_libssh2_run.c - runs a script by libssh2: a channel, its two streams, its input
 *
 * Both streams share one window, so both are always read, also while input is written. A message
 * that was sent in part is sent on before anything else is done. */
#include "client/ssh/ssh_libssh2.h"

#include <stdio.h>
#include <string.h>

#include "shared/macro.h"

#define TURNS_MAX 32 /* pieces of one dispatch; then other hosts have their turn */
#define PIECE_BYTES 16384

static ssh2_step open_channel, exec_script, pump, close_channel, free_channel;

enum ssh2_said ssh2_run_begin(struct ssh2 *this)
{
    this->half = SSH2_FREE;
    this->input_over = false;
    this->detail[0] = '\0';
    this->step = open_channel;
    return SSH2_NEXT;
}

static enum ssh2_said open_channel(struct ssh2 *this)
{
    this->channel = libssh2_channel_open_session(this->ssh);
    if (this->channel == NULL)
        return ssh2_broken(this, ssh2_code(this), "beginning a script");
    this->step = exec_script;
    return SSH2_NEXT;
}

static enum ssh2_said exec_script(struct ssh2 *this)
{
    struct ssh_session *session = this->session;
    int code = libssh2_channel_exec(this->channel, session->job.command);

    if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) {
        ssh_session_fail(session, SSH_FAULT_LOGIN, "name another user",
                         "%s may run no command there", session->config.user);
        return SSH2_OVER;
    }
    if (code != 0)
        return ssh2_broken(this, code, "beginning a script");
    this->step = pump;
    return SSH2_NEXT;
}

/* is_half - EAGAIN came while sending: the same call goes on, and no other one before */
static bool is_half(struct ssh2 *this)
{
    return (libssh2_session_block_directions(this->ssh) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

/* read_stream - all that is there, or as much as one turn takes. > 0: bytes came; 0: none;
 * < 0: a code of libssh2 */
static ssize_t read_stream(struct ssh2 *this, int stream)
{
    struct ssh_job *job = &this->session->job;
    char piece[PIECE_BYTES];
    ssize_t n = libssh2_channel_read_ex(this->channel, stream, piece, sizeof piece);

    this->half = SSH2_FREE;
    if (n == LIBSSH2_ERROR_EAGAIN) {
        if (is_half(this))
            this->half = stream == 0 ? SSH2_READS_OUT : SSH2_READS_ERR;
        return 0;
    }
    if (n > 0)
        ssh_session_output(this->session, stream == 0 ? &job->out : &job->err, piece, (size_t)n);
    return n;
}

/* write_input - one piece, or the end of all. As read_stream */
static ssize_t write_input(struct ssh2 *this)
{
    const uint8_t *bytes;
    size_t size;
    ssize_t n;

    if (!ssh_session_input(this->session, &bytes, &size))
        return 0;
    n = size > 0 ? libssh2_channel_write(this->channel, (const char *)bytes, size)
                 : libssh2_channel_send_eof(this->channel);
    this->half = SSH2_FREE;
    if (n == LIBSSH2_ERROR_EAGAIN) {
        if (is_half(this))
            this->half = SSH2_WRITES;
        return 0;
    }
    if (n == LIBSSH2_ERROR_CHANNEL_CLOSED || n == LIBSSH2_ERROR_CHANNEL_EOF_SENT ||
        (n == 0 && size == 0)) {
        this->input_over = true; /* the script reads no more, or has it all */
        return 0;
    }
    if (n > 0)
        ssh_session_sent(this->session, (size_t)n);
    return n;
}

/* turn - each direction once. > 0: something moved */
static ssize_t turn(struct ssh2 *this)
{
    ssize_t out = 0, err = 0, in = 0;

    if (this->half == SSH2_FREE || this->half == SSH2_READS_OUT)
        out = read_stream(this, 0);
    if (out < 0 || !ssh_session_goes_on(this->session))
        return out;
    if (this->half == SSH2_FREE || this->half == SSH2_READS_ERR)
        err = read_stream(this, SSH_EXTENDED_DATA_STDERR);
    if (err < 0 || !ssh_session_goes_on(this->session))
        return err;
    if ((this->half == SSH2_FREE && !this->input_over) || this->half == SSH2_WRITES)
        in = write_input(this);
    return in < 0 ? in : out + err + in;
}

static bool is_over(const struct ssh2 *this)
{
    const struct ssh_job *job = &this->session->job;

    return this->half == SSH2_FREE &&
           ((job->out.ended && job->err.ended) || libssh2_channel_eof(this->channel) != 0);
}

static enum ssh2_said pump(struct ssh2 *this)
{
    ssize_t moved = 1;

    for (int i = 0; i < TURNS_MAX && moved > 0; i++) {
        moved = turn(this);
        if (!ssh_session_goes_on(this->session))
            return SSH2_OVER;
        if (moved < 0)
            return ssh2_broken(this, (int)moved, "a script ran");
        if (is_over(this)) {
            this->step = close_channel;
            return SSH2_NEXT;
        }
    }
    return moved > 0 ? SSH2_MORE : SSH2_AGAIN;
}

/* close_channel - the status of a signal comes with it. An end line counts, whatever follows it */
static enum ssh2_said close_channel(struct ssh2 *this)
{
    int code = libssh2_channel_close(this->channel);

    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    this->step = free_channel;
    return SSH2_NEXT;
}

static enum ssh2_said free_channel(struct ssh2 *this)
{
    char *signal = NULL;
    size_t length;
    int code;

    if (*this->detail == '\0' && !this->session->job.out.ended) {
        (void)libssh2_channel_get_exit_signal(this->channel, &signal, &length, NULL, NULL, NULL,
                                              NULL);
        if (signal != NULL)
            (void)snprintf(this->detail, sizeof this->detail, "signal %s", signal);
        libssh2_free(this->ssh, signal);
    }
    code = libssh2_channel_free(this->channel);
    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    this->channel = NULL;
    this->step = NULL;
    ssh_session_ended(this->session, *this->detail != '\0' ? this->detail : NULL);
    return SSH2_WAIT;
}
