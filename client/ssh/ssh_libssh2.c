/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_libssh2.c - the transport inside this process: connects, and drives one step after another */
#include "client/ssh/ssh_libssh2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client/ssh/ssh_connect.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* all that libssh2 1.10 and OpenSSH have in common, in ssh's order: what a file knows goes first */
static const struct {
    enum ssh_key_type type;
    const char *name;
} host_key_types[] = { { SSH_KEY_ED25519, "ssh-ed25519" },
                       { SSH_KEY_ECDSA_256, "ecdsa-sha2-nistp256" },
                       { SSH_KEY_ECDSA_384, "ecdsa-sha2-nistp384" },
                       { SSH_KEY_ECDSA_521, "ecdsa-sha2-nistp521" } };
#define HOST_KEY_TYPES (SSH_KEY_ED25519 | SSH_KEY_ECDSA_256 | SSH_KEY_ECDSA_384 | SSH_KEY_ECDSA_521)

#define FREE_TRIES                                                                                 \
    100 /* a socket that is shut down says EAGAIN no more; if it does, memory is lost */

/* ---- the loop ---- */

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh2 *this = userdata;
    struct ssh_session *session = this->session;

    (void)source;
    (void)fd;
    (void)revents;
    ssh_session_enter(session);
    ssh2_go_on(this);
    ssh_session_leave(session);
    return 0;
}

/* watch - what libssh2 waits for; input where it does not say. A step that has more to do comes
 * back as soon as the socket takes a byte, which is at once */
static void watch(struct ssh2 *this, enum ssh2_said said)
{
    int directions = libssh2_session_block_directions(this->ssh);
    uint32_t events = said == SSH2_MORE ? EPOLLIN | EPOLLOUT : 0;
    bool wanted = said == SSH2_AGAIN || said == SSH2_MORE;

    if ((directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0)
        events |= EPOLLOUT;
    if ((directions & LIBSSH2_SESSION_BLOCK_INBOUND) != 0 || events == 0)
        events |= EPOLLIN;
    if (sd_event_source_set_io_events(this->io, events) < 0 ||
        sd_event_source_set_enabled(this->io, wanted ? SD_EVENT_ON : SD_EVENT_OFF) < 0)
        abort();
}

void ssh2_go_on(struct ssh2 *this)
{
    enum ssh2_said said = SSH2_NEXT;

    while (said == SSH2_NEXT) {
        said = this->step(this);
        if (!ssh_session_goes_on(this->session))
            return;
    }
    watch(this, said);
}

int ssh2_code(struct ssh2 *this)
{
    int code = libssh2_session_last_errno(this->ssh);

    return code != 0 ? code : LIBSSH2_ERROR_SOCKET_NONE; /* NULL with no error is one */
}

enum ssh2_said ssh2_broken(struct ssh2 *this, int code, const char *doing)
{
    char *text = NULL;

    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    (void)libssh2_session_last_error(this->ssh, &text, NULL, 0);
    ssh_session_fail(this->session, SSH_FAULT_LOST, "try it again, nothing is half done",
                     "the connection was lost while %s (%s, libssh2 %d)", doing,
                     text != NULL ? text : "", code);
    return SSH2_OVER;
}

/* ---- handshake ---- */

static enum ssh2_said handshake_failed(struct ssh2 *this, int code)
{
    struct ssh_session *session = this->session;
    char *text = NULL;

    switch (code) {
    case LIBSSH2_ERROR_EAGAIN:
        return SSH2_AGAIN;
    case LIBSSH2_ERROR_KEX_FAILURE:
    case LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE:
        ssh_session_unfit(session, "libssh2 and that server have no algorithms in common");
        return SSH2_OVER;
    case LIBSSH2_ERROR_BANNER_RECV:
    case LIBSSH2_ERROR_SOCKET_DISCONNECT:
    case LIBSSH2_ERROR_SOCKET_RECV:
    case LIBSSH2_ERROR_SOCKET_SEND:
        ssh_session_fail(session, SSH_FAULT_PROTOCOL,
                         "look there at MaxStartups of sshd, at fail2ban and at hosts.deny; is it "
                         "the port of ssh?",
                         "it hung up at once, port %u", session->config.port);
        return SSH2_OVER;
    default:
        (void)libssh2_session_last_error(this->ssh, &text, NULL, 0);
        ssh_session_fail(session, SSH_FAULT_PROTOCOL, "look at the port: is it that of ssh?",
                         "port %u does not speak ssh with us (%s, libssh2 %d)",
                         session->config.port, text != NULL ? text : "", code);
        return SSH2_OVER;
    }
}

static enum ssh2_said handshake(struct ssh2 *this)
{
    int code = libssh2_session_handshake(this->ssh, this->fd);
    size_t size = 0;
    const char *key;

    if (code != 0)
        return handshake_failed(this, code);
    key = libssh2_session_hostkey(this->ssh, &size, NULL);
    if (key == NULL)
        return handshake_failed(this, LIBSSH2_ERROR_HOSTKEY_INIT);
    this->step = ssh2_login_begin;
    return ssh_session_host_key(this->session, (const uint8_t *)key, size) ? SSH2_NEXT : SSH2_WAIT;
}

/* set_host_keys - the list is complete: what is not in it is refused */
static int set_host_keys(struct ssh2 *this, unsigned int known_types)
{
    char list[200] = "";

    for (unsigned int known = 2; known-- > 0;)
        for (size_t i = 0; i < ELEMENTS(host_key_types); i++) {
            size_t used = strlen(list);

            if (((host_key_types[i].type & known_types) != 0) == (known == 1))
                (void)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? "," : "",
                               host_key_types[i].name);
        }
    return libssh2_session_method_pref(this->ssh, LIBSSH2_METHOD_HOSTKEY, list);
}

static void begin_ssh(struct ssh2 *this)
{
    struct ssh_session *session = this->session;
    struct ssh_known_hosts known;
    struct edl_error error = { 0 };

    /* a file that cannot be read is told when the key is judged */
    if (ssh_session_judge(session, NULL, 0, &known, &error) < 0)
        known.types = 0;
    this->ssh = libssh2_session_init();
    if (this->ssh == NULL || set_host_keys(this, known.types) != 0) {
        ssh_session_fail(session, SSH_FAULT_HERE, "is libssh2-1 installed whole?",
                         "libssh2 does not begin");
        return;
    }
    libssh2_session_set_blocking(this->ssh, 0);
    if (sd_event_add_io(session->event, &this->io, this->fd, EPOLLIN, on_socket, this) < 0)
        abort();
    ssh_session_stage(session, SSH_STAGE_HANDSHAKE);
    this->step = handshake;
    ssh2_go_on(this);
}

/* ---- connection ---- */

static void on_resolved(void *userdata)
{
    struct ssh2 *this = userdata;

    ssh_session_stage(this->session, SSH_STAGE_CONNECT);
}

static void connect_failed(struct ssh2 *this, int error_code)
{
    struct ssh_session *session = this->session;
    const char *name = session->config.hostname;
    uint16_t port = session->config.port;

    if (error_code == -ENOENT)
        ssh_session_fail(session, SSH_FAULT_RESOLVE,
                         "look at the name in HOSTS, at /etc/hosts and at DNS",
                         "there is no host %s", name);
    else if (error_code == -ECONNREFUSED)
        ssh_session_fail(session, SSH_FAULT_CONNECT,
                         "there: apt install openssh-server; or write its port: USER@HOST:PORT",
                         "nobody listens at port %u", port);
    else if (error_code == -ETIMEDOUT)
        ssh_session_fail(session, SSH_FAULT_CONNECT,
                         "is it on, and does a firewall drop what is sent to the port of ssh?",
                         "it does not answer at port %u", port);
    else
        ssh_session_fail(session, SSH_FAULT_CONNECT, "is it on, and in this network?",
                         "no way to port %u: %s", port, strerror(-error_code));
}

static void on_connected(void *userdata, int fd, int error_code)
{
    struct ssh2 *this = userdata;
    struct ssh_session *session = this->session;

    ssh_session_enter(session);
    this->connect = ssh_connect_free(this->connect);
    this->fd = fd;
    if (fd == -1)
        connect_failed(this, error_code);
    else
        begin_ssh(this);
    ssh_session_leave(session);
}

/* can_serve - what is known before anything is sent */
static bool can_serve(struct ssh_session *session)
{
    struct ssh_known_hosts known;
    struct edl_error error = { 0 };

    if (ssh_session_judge(session, NULL, 0, &known, &error) < 0)
        return true; /* told when the key is judged */
    if (known.types != 0 && (known.types & HOST_KEY_TYPES) == 0)
        ssh_session_unfit(session, "%s:%u has its key of a type that libssh2 cannot use",
                          known.file, known.line);
    else if (known.types == 0 && known.authority)
        ssh_session_unfit(session, "known_hosts has an authority for it, and no key");
    return ssh_session_goes_on(session);
}

static void begin(struct ssh_session *session)
{
    static const struct ssh_connect_handlers handlers = { on_resolved, on_connected };
    struct edl_error error = { 0 };
    struct ssh2 *this = xcalloc(1, sizeof *this);

    this->session = session;
    this->fd = -1;
    session->impl = this;
    if (!can_serve(session))
        return;
    if (libssh2_init(0) != 0) {
        ssh_session_fail(session, SSH_FAULT_HERE, "is libssh2-1 installed whole?",
                         "libssh2 does not begin");
        return;
    }
    ssh_session_stage(session, SSH_STAGE_RESOLVE);
    if (ssh_connect_start(session->event, session->config.hostname, session->config.port,
                          session->options.patience, &handlers, this, &this->connect, &error) < 0)
        ssh_session_fail(session, SSH_FAULT_HERE, "is libc-bin installed whole?", "%s", error.text);
}

static void accepted(struct ssh_session *session)
{
    ssh2_go_on(session->impl);
}

static void password(struct ssh_session *session, const char *text)
{
    ssh2_login_password(session->impl, text);
}

static void run(struct ssh_session *session)
{
    struct ssh2 *this = session->impl;

    this->step = ssh2_run_begin;
    ssh2_go_on(this);
}

/* end - a dead peer is not waited for: what the socket does not take is not said */
static void end(struct ssh_session *session)
{
    struct ssh2 *this = session->impl;

    (void)ssh_connect_free(this->connect);
    (void)sd_event_source_disable_unref(this->io);
    if (this->ssh != NULL) {
        if (session->state == SSH_STATE_IDLE)
            (void)libssh2_session_disconnect(this->ssh, "done");
        (void)shutdown(this->fd, SHUT_RDWR);
        for (int i = 0; i < FREE_TRIES; i++)
            if (libssh2_session_free(this->ssh) != LIBSSH2_ERROR_EAGAIN)
                break;
    }
    ssh2_login_free(this);
    (void)safe_close(this->fd);
    free(this);
}

const struct ssh_transport_ops ssh_libssh2_ops = {
    .transport = SSH_LIBSSH2,
    .begin = begin,
    .accepted = accepted,
    .password = password,
    .run = run,
    .end = end,
};
