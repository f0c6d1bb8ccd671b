/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_session.c - one ssh connection to one host: its configuration, its transport, its states */
#include "client/ssh/ssh_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ssh/ssh_collect.h"
#include "client/ssh/ssh_internal.h"
#include "client/ssh/ssh_known_files.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define SILENT_S 10

static const struct {
    unsigned int seconds;
    enum ssh_fault fault;
    const char *text, *remedy;
} stages[] = {
#define XX(name, seconds, fault, text, remedy) [name] = { seconds, fault, text, remedy },
    SSH_STAGE_MAP(XX)
#undef XX
};

static const char *const fault_words[] = {
#define XX(name, word) [name] = word,
    SSH_FAULT_MAP(XX)
#undef XX
};

static const char *const transport_words[] = {
#define XX(name, word) [name] = word,
    SSH_TRANSPORT_MAP(XX)
#undef XX
};

const char *ssh_fault_word(enum ssh_fault fault)
{
    return fault_words[fault];
}

const char *ssh_transport_word(enum ssh_transport transport)
{
    return transport_words[transport];
}

bool ssh_transport_of(const char *word, enum ssh_transport *ret)
{
    for (size_t i = 0; i < ELEMENTS(transport_words); i++) {
        if (streq(word, transport_words[i])) {
            *ret = (enum ssh_transport)i;
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

static void forget_password(struct ssh_session *session)
{
    if (session->password != NULL)
        explicit_bzero(session->password, strlen(session->password));
    free(TAKE_PTR(session->password));
}

static void clear_job(struct ssh_job *job)
{
    if (job->bytes != NULL)
        explicit_bzero(job->bytes, job->n_bytes); /* tokens and passwords are input */
    free(job->bytes);
    free(job->command);
    job->bytes = NULL;
    job->command = NULL;
}

/* end_transport - and all that waits for something */
static void end_transport(struct ssh_session *session)
{
    session->asked = ssh_collect_free(session->asked);
    if (session->ops != NULL)
        session->ops->end(session);
    session->ops = NULL;
    session->impl = NULL;
    if (session->deadline != NULL)
        (void)sd_event_source_set_enabled(session->deadline, SD_EVENT_OFF);
}

static void destroy(struct ssh_session *session)
{
    end_transport(session);
    forget_password(session);
    clear_job(&session->job);
    ssh_config_clear(&session->config);
    (void)sd_event_source_disable_unref(session->defer);
    (void)sd_event_source_disable_unref(session->deadline);
    free((char *)(uintptr_t)session->target.host);
    free((char *)(uintptr_t)session->target.user);
    free((char *)(uintptr_t)session->options.config_file);
    free((char *)(uintptr_t)session->options.known_hosts_file);
    free(session->shown);
    sd_event_unref(session->event);
    free(session);
}

void ssh_session_enter(struct ssh_session *session)
{
    session->depth++;
}

void ssh_session_leave(struct ssh_session *session)
{
    if (--session->depth > 0)
        return;
    if (session->closed)
        destroy(session);
    else if (session->state == SSH_STATE_FAILED)
        end_transport(session);
}

void ssh_session_free(struct ssh_session *session)
{
    if (session == NULL)
        return;
    session->closed = true;
    if (session->depth == 0)
        destroy(session);
}

bool ssh_session_goes_on(const struct ssh_session *session)
{
    return !session->closed && session->state != SSH_STATE_FAILED &&
           session->next != SSH_NEXT_SWITCH;
}

/* do_next - from the loop, soon */
static void do_next(struct ssh_session *session, enum ssh_next next)
{
    session->next = next;
    if (sd_event_source_set_enabled(session->defer, SD_EVENT_ONESHOT) < 0)
        abort();
}

/* ---- what a transport tells ---- */

static void fail_with(struct ssh_session *session, enum ssh_fault fault, struct edl_error *error)
{
    if (!ssh_session_goes_on(session))
        return;
    edl_error_prefix(error, "%s: ", session->target.host);
    printable_mask(error->text, strlen(error->text), "");
    session->state = SSH_STATE_FAILED;
    session->handlers.failed(session, fault, error, session->userdata);
}

void ssh_session_fail(struct ssh_session *session, enum ssh_fault fault, const char *remedy,
                      const char *format, ...)
{
    struct edl_error error = { 0 };
    char text[sizeof error.text];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)edl_error_set(&error, EDL_EUNREACHABLE, "%s", text);
    (void)edl_error_remedy(&error, "%s", remedy);
    fail_with(session, fault, &error);
}

void ssh_session_unfit(struct ssh_session *session, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(session->why, sizeof session->why, format, ap);
    va_end(ap);
    if (session->transport == SSH_PROGRAM)
        ssh_session_fail(session, SSH_FAULT_KEY_UNKNOWN,
                         "compare the keys with those in /etc/ssh there; then ssh-keygen -R, and "
                         "again",
                         "%s", session->why);
    else if (session->options.transport == SSH_AUTO)
        do_next(session, SSH_NEXT_SWITCH);
    else
        ssh_session_fail(session, SSH_FAULT_PROTOCOL, "let the program ssh do it: --ssh=auto",
                         "libssh2 cannot serve it: %s", session->why);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct ssh_session *session = userdata;

    (void)source;
    (void)usec;
    ssh_session_enter(session);
    ssh_session_fail(session, stages[session->stage].fault, stages[session->stage].remedy, "%s",
                     stages[session->stage].text);
    ssh_session_leave(session);
    return 0;
}

void ssh_session_stage(struct ssh_session *session, enum ssh_stage stage)
{
    unsigned int seconds =
        stage == SSH_STAGE_RUN && session->silent_s > 0 ? session->silent_s : stages[stage].seconds;
    /* what runs on this machine is not hurried */
    double patience = stage <= SSH_STAGE_RESOLVE ? MAX_OF(session->options.patience, 1.0)
                                                 : session->options.patience;
    uint64_t us = (uint64_t)((double)seconds * (double)USEC_PER_SEC * patience);
    int r;

    session->stage = stage;
    if (seconds == 0)
        r = sd_event_source_set_enabled(session->deadline, SD_EVENT_OFF);
    else if ((r = sd_event_source_set_time_relative(session->deadline, us)) >= 0)
        r = sd_event_source_set_enabled(session->deadline, SD_EVENT_ONESHOT);
    if (r < 0)
        abort();
}

void ssh_session_opened(struct ssh_session *session)
{
    session->state = SSH_STATE_IDLE;
    ssh_session_stage(session, SSH_STAGE_PERSON);
    session->handlers.opened(session, session->userdata);
}

void ssh_session_ask_password(struct ssh_session *session, unsigned int tried)
{
    session->state = SSH_STATE_PASSWORD_ASKED;
    ssh_session_stage(session, SSH_STAGE_PERSON);
    session->handlers.want_password(session, tried, session->userdata);
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

void ssh_session_output(struct ssh_session *session, struct ssh_lines *stream, const char *bytes,
                        size_t size)
{
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
        clear_job(job);
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

/* ---- the host's key ---- */

int ssh_session_judge(struct ssh_session *session, const uint8_t *key, size_t size,
                      struct ssh_known_hosts *ret, struct edl_error *error)
{
    return ssh_known_files_judge(&session->config, session->known_name, key, size, ret, error);
}

/* add_key - the host key that a person or ssh_config accepts; false: it is over */
static bool add_key(struct ssh_session *session, const uint8_t *key, size_t size)
{
    struct edl_error error = { 0 };

    if (ssh_known_files_add(&session->config, session->known_name, key, size, &error) >= 0)
        return true;
    (void)edl_error_remedy(&error, "make it writable, or name another UserKnownHostsFile");
    fail_with(session, SSH_FAULT_HERE, &error);
    return false;
}

/* new_key - one that no file knows */
static bool new_key(struct ssh_session *session, const uint8_t *key, size_t size,
                    const struct ssh_host_key *shown)
{
    if (session->config.strict == SSH_STRICT_ACCEPT_NEW)
        return add_key(session, key, size);
    if (session->config.strict == SSH_STRICT_YES) {
        ssh_session_fail(session, SSH_FAULT_KEY_UNKNOWN,
                         "StrictHostKeyChecking of ssh_config is yes: add the key to known_hosts",
                         "its key is not known (%s %s)", shown->type, shown->fingerprint);
        return false;
    }
    free(session->shown);
    session->shown = xcalloc(size, 1);
    session->shown_size = size;
    memcpy(session->shown, key, size);
    session->state = SSH_STATE_KEY_SHOWN;
    ssh_session_stage(session, SSH_STAGE_PERSON);
    session->handlers.unknown_key(session, shown, session->userdata);
    return false;
}

bool ssh_session_host_key(struct ssh_session *session, const uint8_t *key, size_t size)
{
    char fingerprint[SSH_FINGERPRINT_MAX];
    _cleanup_free_ char *remedy = NULL;
    struct ssh_host_key shown = { .fingerprint = fingerprint };
    struct ssh_known_hosts known;
    struct edl_error error = { 0 };

    if (ssh_session_judge(session, key, size, &known, &error) < 0) {
        (void)edl_error_remedy(&error, "make it readable: a key that is revoked there is refused");
        fail_with(session, SSH_FAULT_HERE, &error);
        return false;
    }
    (void)ssh_blob_type(key, size, &shown.type);
    ssh_fingerprint(key, size, fingerprint);
    switch (ssh_known_hosts_verdict(&known)) {
    case SSH_KNOWN_SAME:
        return true;
    case SSH_KNOWN_NEW:
        return new_key(session, key, size, &shown);
    case SSH_KNOWN_REVOKED:
        ssh_session_fail(session, SSH_FAULT_KEY_REVOKED, "do not log in there before you know why",
                         "its key is revoked in %s:%u (%s %s)", known.file, known.line, shown.type,
                         fingerprint);
        return false;
    case SSH_KNOWN_CHANGED:
        if (asprintf(&remedy,
                     "was it installed anew? ssh-keygen -f '%s' -R '%s', then again. If it was "
                     "not, somebody is in between",
                     known.file, session->known_name) < 0)
            abort();
        ssh_session_fail(session, SSH_FAULT_KEY_CHANGED, remedy,
                         "its key is not the known one: %s %s instead of %s in %s:%u", shown.type,
                         fingerprint, known.fingerprint, known.file, known.line);
        return false;
    case SSH_KNOWN_OTHER:
        ssh_session_unfit(session, "known_hosts has its key of another type only (%s:%u)",
                          known.file, known.line);
        return false;
    case SSH_KNOWN_CA:
        ssh_session_unfit(session, "known_hosts has an authority for it, and no key");
        return false;
    }
    return false;
}

/* ---- what the caller says ---- */

static void begin(struct ssh_session *session, const struct ssh_transport_ops *ops)
{
    session->ops = ops;
    session->transport = ops->transport;
    ops->begin(session);
}

/* configured - all of ssh_config is known: the transport is chosen */
static void configured(struct ssh_session *session)
{
    if (!ssh_known_hosts_name(session->config.hostname, session->config.port,
                              session->config.host_key_alias, session->known_name)) {
        ssh_session_fail(session, SSH_FAULT_RESOLVE, "give its name or address", "no such name");
        return;
    }
    if (session->options.transport == SSH_PROGRAM)
        begin(session, &ssh_program_ops);
    else if (session->config.proxy != NULL)
        ssh_session_unfit(session, "ssh_config leads to it by another host (%s)",
                          session->config.proxy);
    else
        begin(session, &ssh_libssh2_ops);
}

/* refused_key - a person does not accept it */
static void refused_key(struct ssh_session *session)
{
    char fingerprint[SSH_FINGERPRINT_MAX];
    const char *type;

    (void)ssh_blob_type(session->shown, session->shown_size, &type);
    ssh_fingerprint(session->shown, session->shown_size, fingerprint);
    ssh_session_fail(session, SSH_FAULT_KEY_UNKNOWN,
                     "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there, then "
                     "accept it",
                     "its key is not known and was not accepted (%s %s)", type, fingerprint);
}

static int on_defer(sd_event_source *source, void *userdata)
{
    struct ssh_session *session = userdata;
    enum ssh_next next = session->next;

    (void)source;
    session->next = SSH_NEXT_NONE;
    if (session->state == SSH_STATE_FAILED || session->closed)
        return 0;
    ssh_session_enter(session);
    switch (next) {
    case SSH_NEXT_NONE:
        break;
    case SSH_NEXT_CONFIGURED:
        configured(session);
        break;
    case SSH_NEXT_SWITCH:
        end_transport(session);
        session->state = SSH_STATE_OPENING;
        begin(session, &ssh_program_ops);
        break;
    case SSH_NEXT_KEY:
        session->state = SSH_STATE_OPENING;
        if (!session->key_accepted)
            refused_key(session);
        else if (add_key(session, session->shown, session->shown_size))
            session->ops->accepted(session);
        break;
    case SSH_NEXT_PASSWORD:
        session->state = SSH_STATE_OPENING;
        session->ops->password(session, session->password);
        forget_password(session);
        break;
    case SSH_NEXT_RUN:
        session->state = SSH_STATE_RUNNING;
        ssh_session_stage(session, SSH_STAGE_RUN);
        session->ops->run(session);
        break;
    }
    ssh_session_leave(session);
    return 0;
}

static void on_config(void *userdata, int status, const char *out, const char *err)
{
    struct ssh_session *session = userdata;
    struct ssh_place place = ssh_config_place();

    ssh_session_enter(session);
    if (status != 0) {
        ssh_session_fail(session, SSH_FAULT_HERE, "mend ssh_config, or name another file",
                         "ssh -G: %.*s", (int)strcspn(err, "\r\n"), err);
    } else {
        ssh_config_parse(out, &session->target, &place, &session->config);
        ssh_config_known_hosts(&session->config, session->options.known_hosts_file);
        session->asked = ssh_collect_free(session->asked);
        configured(session);
    }
    ssh_session_leave(session);
}

/* ask_config - ssh -G; a machine without ssh has no ssh_config either */
static int ask_config(struct ssh_session *session, struct edl_error *error)
{
    struct ssh_place place = ssh_config_place();
    const char *argv[SSH_CONFIG_ARGV_MAX];
    char storage[8];
    int r;

    ssh_config_argv(&session->target, session->options.config_file, storage, argv);
    r = ssh_collect_start(session->event, argv, on_config, session, &session->asked, error);
    if (r == -ENOENT) {
        ssh_config_default(&session->target, &place, &session->config);
        ssh_config_known_hosts(&session->config, session->options.known_hosts_file);
        do_next(session, SSH_NEXT_CONFIGURED);
        return 0;
    }
    if (r >= 0)
        ssh_session_stage(session, SSH_STAGE_CONFIG);
    return r;
}

static int check_target(const struct ssh_target *target, struct edl_error *error)
{
    const char *const texts[] = { target->host, target->user };

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        if (texts[i] == NULL)
            continue;
        if (*texts[i] == '\0' || *texts[i] == '-' || !printable_is(texts[i]) ||
            strpbrk(texts[i], " \t") != NULL) {
            (void)edl_error_set(error, -EINVAL, "'%s' is no %s", texts[i],
                                i == 0 ? "host" : "user");
            return edl_error_remedy(error, "write USER@HOST:PORT; neither begins with '-'");
        }
    }
    return 0;
}

static char *copy(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

int ssh_session_new(sd_event *event, const struct ssh_target *target,
                    const struct ssh_options *options, const struct ssh_handlers *handlers,
                    void *userdata, struct ssh_session **ret, struct edl_error *error)
{
    struct ssh_session *session;
    int r = check_target(target, error);

    if (r < 0)
        return r;
    session = xcalloc(1, sizeof *session);
    *session = (struct ssh_session){
        .event = sd_event_ref(event),
        .handlers = *handlers,
        .userdata = userdata,
        .target = { .host = copy(target->host), .user = copy(target->user), .port = target->port },
        .options = { .transport = options->transport,
                     .patience = options->patience > 0 ? options->patience : 1,
                     .config_file = copy(options->config_file),
                     .known_hosts_file = copy(options->known_hosts_file) },
        .transport = options->transport,
        .job = { .fd = -1 },
    };
    if (sd_event_add_defer(event, &session->defer, on_defer, session) < 0 ||
        sd_event_source_set_enabled(session->defer, SD_EVENT_OFF) < 0 ||
        sd_event_add_time_relative(event, &session->deadline, CLOCK_BOOTTIME, 0, 0, on_deadline,
                                   session) < 0 ||
        /* after all that is ready: a machine that is busy for long has not waited for long */
        sd_event_source_set_priority(session->deadline, SD_EVENT_PRIORITY_NORMAL + 10) < 0 ||
        sd_event_source_set_enabled(session->deadline, SD_EVENT_OFF) < 0)
        abort(); /* of memory only */
    r = ask_config(session, error);
    if (r < 0) {
        destroy(session);
        return r;
    }
    *ret = session;
    return 0;
}

void ssh_session_accept_key(struct ssh_session *session, bool accepted)
{
    if (session->state != SSH_STATE_KEY_SHOWN)
        return;
    session->key_accepted = accepted;
    do_next(session, SSH_NEXT_KEY);
}

void ssh_session_password(struct ssh_session *session, const char *password)
{
    if (session->state != SSH_STATE_PASSWORD_ASKED)
        return;
    forget_password(session);
    session->password = copy(password);
    do_next(session, SSH_NEXT_PASSWORD);
}

int ssh_session_run(struct ssh_session *session, const char *script, const struct ssh_input *input,
                    unsigned int silent_s, struct edl_error *error)
{
    struct ssh_job *job = &session->job;
    char mark[SSH_MARK_MAX], *command;

    if (session->state != SSH_STATE_IDLE || session->next != SSH_NEXT_NONE)
        return edl_error_set(error, -EBUSY, "%s: not open, or a script runs", session->target.host);
    ssh_lines_mark(mark);
    command = ssh_lines_wrap(script, mark);
    if (command == NULL)
        return edl_error_set(error, -E2BIG, "a script has at most %d bytes", SSH_SCRIPT_MAX);
    clear_job(job);
    *job = (struct ssh_job){ .command = command, .fd = input != NULL ? input->fd : -1 };
    if (input != NULL && input->n_bytes > 0) {
        job->bytes = xcalloc(input->n_bytes, 1);
        job->n_bytes = input->n_bytes;
        memcpy(job->bytes, input->bytes, input->n_bytes);
    }
    ssh_lines_begin(&job->out, mark);
    ssh_lines_begin(&job->err, mark);
    session->silent_s = silent_s;
    do_next(session, SSH_NEXT_RUN);
    return 0;
}

enum ssh_transport ssh_session_transport(const struct ssh_session *session)
{
    return session->transport;
}

const char *ssh_session_why(const struct ssh_session *session)
{
    return *session->why != '\0' ? session->why : NULL;
}
