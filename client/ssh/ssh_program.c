/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program.c - the transport by the program ssh: the master, and the meaning of its end */
#include "client/ssh/ssh_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/ssh/ssh_collect.h"
#include "client/ssh/ssh_key_file.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

static const char *const files[] = { "m", "new", "askpass", "secret" };

/* what ssh says on stderr, and what that means; the first that fits */
static const struct {
    const char *words;
    enum ssh_fault fault;
    const char *remedy;
} meanings[] = {
    { "revoked", SSH_FAULT_KEY_REVOKED, "do not log in there before you know why" },
    { "Could not resolve hostname", SSH_FAULT_RESOLVE,
      "look at the name in HOSTS, at /etc/hosts and at DNS" },
    { "Connection refused", SSH_FAULT_CONNECT,
      "there: apt install openssh-server; or write its port: USER@HOST:PORT" },
    { "during banner exchange", SSH_FAULT_PROTOCOL,
      "something listens there, but it is no ssh server, or it hangs: look at the port" },
    { "timed out", SSH_FAULT_CONNECT,
      "is it on, and does a firewall drop what is sent to the port of ssh?" },
    { "No route to host", SSH_FAULT_CONNECT, "is it on, and in this network?" },
    { "Network is unreachable", SSH_FAULT_CONNECT, "is it on, and in this network?" },
    { "Unable to negotiate", SSH_FAULT_PROTOCOL,
      "allow an algorithm that both have, there in sshd_config or here in ssh_config" },
    { "kex_exchange_identification", SSH_FAULT_PROTOCOL,
      "look there at MaxStartups of sshd, at fail2ban and at hosts.deny; is it the port of ssh?" },
    { "bad configuration option", SSH_FAULT_HERE, "mend ssh_config, or name another file" },
    { "Too many authentication failures", SSH_FAULT_LOGIN,
      "say in ssh_config which key: IdentityFile and IdentitiesOnly yes" },
    { "Permission denied", SSH_FAULT_LOGIN,
      "put a key of yours there: ssh-copy-id; or add one to the agent: ssh-add" },
    { "Host key verification failed", SSH_FAULT_KEY_UNKNOWN,
      "look at it with ssh, and accept its key there" },
    { "not responding", SSH_FAULT_SILENT, "is it still on? Try it again, nothing is half done" },
};

static void start_master(struct ssh_program *this, enum ssh_program_use use, char *const *env);

/* ---- folder ---- */

/* make_dir - nobody else may use it: its socket is a login */
static bool make_dir(struct ssh_program *this)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = SSH_PROGRAM_DIR_MAX;

    if (runtime != NULL && *runtime == '/')
        n = snprintf(this->dir, sizeof this->dir, "%s/edl-ssh.XXXXXX", runtime);
    if (n < SSH_PROGRAM_DIR_MAX && mkdtemp(this->dir) != NULL)
        return true;
    (void)snprintf(this->dir, sizeof this->dir, "/tmp/edl-ssh.XXXXXX");
    if (mkdtemp(this->dir) != NULL)
        return true;
    this->dir[0] = '\0';
    ssh_session_fail(this->session, SSH_FAULT_HERE, "make room in /tmp", "no folder in /tmp: %s",
                     strerror(errno));
    return false;
}

static void remove_dir(struct ssh_program *this)
{
    char path[PATH_MAX];

    if (this->dir[0] == '\0')
        return;
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        ssh_program_path(this, files[i], path);
        (void)unlink(path);
    }
    (void)rmdir(this->dir);
}

/* ---- what ssh says ---- */

/* line_with - the line of text that has these words; *ret_length of it. NULL: none has */
static const char *line_with(const char *text, const char *words, int *ret_length)
{
    const char *at = strstr(text, words);

    if (at == NULL)
        return NULL;
    while (at > text && at[-1] != '\n')
        at--;
    *ret_length = (int)strcspn(at, "\r\n");
    return at;
}

void ssh_program_told(struct ssh_program *this, const char *said, const char *doing)
{
    const char *line;
    int length;

    for (size_t i = 0; i < ELEMENTS(meanings); i++) {
        line = line_with(said, meanings[i].words, &length);
        if (line != NULL) {
            ssh_session_fail(this->session, meanings[i].fault, meanings[i].remedy, "ssh: %.*s",
                             MIN_OF(length, 250), line);
            return;
        }
    }
    ssh_session_fail(this->session, SSH_FAULT_LOST, "try it again, nothing is half done",
                     "the connection was lost while %s%s%.*s", doing, *said != '\0' ? ": " : "",
                     MIN_OF((int)strcspn(said, "\r\n"), 250), said);
}

/* asks_password - ssh was refused, and the host would take one */
static bool asks_password(const char *said)
{
    int length;
    const char *line = line_with(said, "Permission denied (", &length);
    _cleanup_free_ char *copy = line != NULL ? strndup(line, (size_t)length) : NULL;

    return copy != NULL &&
           (strstr(copy, "password") != NULL || strstr(copy, "keyboard-interactive") != NULL);
}

/* ---- the host's key ---- */

/* scanned_key - of the only line that ssh wrote; the caller's. NULL: there is none */
static uint8_t *scanned_key(const struct ssh_program *this, size_t *ret_size)
{
    _cleanup_free_ char *text = NULL;
    char path[PATH_MAX];
    const char *space;
    struct ssh_key_file key;

    ssh_program_path(this, "new", path);
    if (whole_file_read(path, false, &text, NULL) < 0 || (space = strchr(text, ' ')) == NULL ||
        !ssh_key_public_read(space + 1, strlen(space + 1), &key))
        return NULL;
    *ret_size = key.blob_size;
    return key.blob;
}

static void on_scanned(void *userdata, int status, const char *out, const char *err)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;
    _cleanup_free_ uint8_t *key = NULL;
    size_t size;

    (void)status; /* 255: nobody is logged in, on purpose */
    (void)out;
    ssh_session_enter(session);
    key = scanned_key(this, &size);
    if (key == NULL)
        ssh_program_told(this, err, "asking for its key");
    else if (ssh_session_host_key(session, key, size))
        start_master(this, SSH_PROGRAM_MASTER, NULL);
    this->scan = ssh_collect_free(this->scan);
    ssh_session_leave(session);
}

/* scan - ssh refused the host's key and does not show it: it is asked for again, without a login */
static void scan(struct ssh_program *this)
{
    struct ssh_session *session = this->session;
    struct ssh_program_argv argv;
    struct edl_error error = { 0 };

    this->scanned = true;
    ssh_program_argv(this, SSH_PROGRAM_SCAN, NULL, &argv);
    if (ssh_collect_start(session->event, (const char *const *)argv.items, on_scanned, this,
                          &this->scan, &error) < 0)
        ssh_session_fail(session, SSH_FAULT_HERE, "apt install openssh-client", "%s", error.text);
    ssh_program_argv_clear(&argv);
}

/* ---- the master ---- */

void ssh_program_drop(struct ssh_program *this, struct ssh_program_child *child)
{
    child->in = sd_event_source_disable_unref(child->in);
    child->out = sd_event_source_disable_unref(child->out);
    child->err = sd_event_source_disable_unref(child->err);
    child->gone = sd_event_source_disable_unref(child->gone);
    ssh_child_abandon(&child->child, this->session->event);
}

/* master_ended - it did not log in, or the connection is lost */
static void master_ended(struct ssh_program *this)
{
    struct ssh_session *session = this->session;
    bool opening = session->state == SSH_STATE_OPENING;

    ssh_program_drop(this, &this->master);
    this->secret = safe_close(this->secret);
    if (opening && !this->scanned && strstr(this->said, "Host key verification failed") != NULL) {
        scan(this);
    } else if (opening && asks_password(this->said)) {
        ssh_session_ask_password(session, this->passwords);
    } else if (opening && this->said_length == 0 && *session->job.before != '\0') {
        ssh_session_fail(session, SSH_FAULT_LOGIN, "name another user, or run `ssh USER@HOST` once",
                         "%s may run no command there: %s", session->config.user,
                         session->job.before);
    } else {
        ssh_program_told(this, this->said, opening ? "logging in" : "a script ran");
    }
}

/* on_hello - what the login shell says before, which is told if nothing follows */
static bool on_hello(void *userdata, const char *line, bool before)
{
    struct ssh_session *session = userdata;

    if (before && *line != '\0')
        (void)snprintf(session->job.before, sizeof session->job.before, "%s", line);
    return true;
}

static int on_master_out(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof piece);

    (void)revents;
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    ssh_session_enter(session);
    if (n <= 0)
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    else
        (void)ssh_lines_feed(&this->hello, piece, (size_t)n, on_hello, session);
    if (this->hello.begun && session->state == SSH_STATE_OPENING) {
        this->secret = safe_close(this->secret);
        ssh_session_opened(session);
    }
    ssh_session_leave(session);
    return 0;
}

/* on_word - what does not fit is forgotten */
static bool on_word(void *userdata, const char *line, bool before)
{
    struct ssh_program *this = userdata;
    size_t room = sizeof this->said - this->said_length;
    int n = snprintf(this->said + this->said_length, room, "%s\n", line);

    (void)before;
    this->said_length += MIN_OF((size_t)n, room - 1);
    return true;
}

/* take_said - what is there of the master's stderr */
static void take_said(struct ssh_program *this)
{
    char piece[1024];
    ssize_t n = 1;

    for (int i = 0; i < 16 && n > 0 && this->master.child.err != -1; i++) {
        n = read(this->master.child.err, piece, sizeof piece);
        if (n > 0)
            (void)ssh_lines_feed(&this->words, piece, (size_t)n, on_word, this);
    }
    if (n == 0)
        this->master.err = sd_event_source_disable_unref(this->master.err);
}

static int on_master_err(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    take_said(userdata);
    return 0;
}

static int on_master_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_program *this = userdata;
    struct ssh_session *session = this->session;

    (void)source;
    (void)fd;
    (void)revents;
    ssh_session_enter(session);
    take_said(this);
    (void)ssh_child_reap(&this->master.child);
    master_ended(this);
    ssh_session_leave(session);
    return 0;
}

static void start_master(struct ssh_program *this, enum ssh_program_use use, char *const *env)
{
    struct ssh_session *session = this->session;
    struct ssh_program_child *master = &this->master;
    struct ssh_program_argv argv;
    struct edl_error error = { 0 };
    char mark[SSH_MARK_MAX];
    _cleanup_free_ char *command = NULL;
    int r;

    ssh_lines_mark(mark);
    ssh_lines_begin(&this->hello, mark);
    ssh_lines_begin(&this->words, mark);
    this->said_length = 0;
    this->said[0] = '\0';
    session->job.before[0] = '\0';
    command = ssh_lines_wrap("exec cat >/dev/null", mark);
    ssh_program_argv(this, use, command, &argv);
    r = ssh_child_start((const char *const *)argv.items, env, true, &master->child, &error);
    ssh_program_argv_clear(&argv);
    if (r < 0) {
        ssh_session_fail(session, SSH_FAULT_HERE, "apt install openssh-client", "%s%s%s",
                         error.text, *session->why != '\0' ? "; it is wanted because " : "",
                         session->why);
        return;
    }
    if (sd_event_add_io(session->event, &master->out, master->child.out, EPOLLIN, on_master_out,
                        this) < 0 ||
        sd_event_add_io(session->event, &master->err, master->child.err, EPOLLIN, on_master_err,
                        this) < 0 ||
        sd_event_add_io(session->event, &master->gone, master->child.pidfd, EPOLLIN, on_master_gone,
                        this) < 0)
        abort(); /* of memory only */
    ssh_session_stage(session, SSH_STAGE_PROGRAM);
}

/* ---- passwords ---- */

static void password(struct ssh_session *session, const char *text)
{
    struct ssh_program *this = session->impl;
    char **env;

    if (text == NULL) {
        ssh_program_told(this, this->said, "logging in");
        return;
    }
    if (!ssh_program_askpass(this, text)) {
        ssh_session_fail(session, SSH_FAULT_HERE, "make room there", "no file in %s", this->dir);
        return;
    }
    this->passwords++;
    env = ssh_program_environment(this);
    start_master(this, SSH_PROGRAM_MASTER_PASSWORD, env);
    ssh_program_environment_free(env);
}

/* ---- as the session sees it ---- */

static void begin(struct ssh_session *session)
{
    static const struct ssh_child none = { -1, -1, -1, -1 };
    struct ssh_program *this = xcalloc(1, sizeof *this);

    this->session = session;
    this->secret = -1;
    this->master.child = this->script.child = none;
    session->impl = this;
    if (make_dir(this))
        start_master(this, SSH_PROGRAM_MASTER, NULL);
}

static void accepted(struct ssh_session *session)
{
    start_master(session->impl, SSH_PROGRAM_MASTER, NULL);
}

static void run(struct ssh_session *session)
{
    ssh_program_run(session->impl);
}

static void end(struct ssh_session *session)
{
    struct ssh_program *this = session->impl;

    (void)ssh_collect_free(this->scan);
    ssh_program_drop(this, &this->script);
    ssh_program_drop(this, &this->master);
    (void)safe_close(this->secret);
    remove_dir(this);
    free(this);
}

const struct ssh_transport_ops ssh_program_ops = {
    .transport = SSH_PROGRAM,
    .begin = begin,
    .accepted = accepted,
    .password = password,
    .run = run,
    .end = end,
};
