/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_session.c - one ssh connection to one host: its configuration, its transport, its states */
#include "client/ssh/ssh_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_collect.h"
#include "client/ssh/ssh_internal.h"
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

/* ---- life ---- */

static void forget_password(struct ssh_session *session)
{
    if (session->password != NULL)
        explicit_bzero(session->password, strlen(session->password));
    free(TAKE_PTR(session->password));
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
    ssh_session_clear_job(&session->job);
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

void ssh_session_fail_with(struct ssh_session *session, enum ssh_fault fault,
                           struct edl_error *error)
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
    ssh_session_fail_with(session, fault, &error);
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
    else if (session->config.key_judge != NULL)
        ssh_session_unfit(session, "ssh_config judges its key by %s", session->config.key_judge);
    else
        begin(session, &ssh_libssh2_ops);
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
            ssh_session_refused_key(session);
        else if (ssh_session_add_key(session, session->shown, session->shown_size))
            session->ops->accepted(session);
        break;
    case SSH_NEXT_PASSWORD:
        session->state = SSH_STATE_OPENING;
        session->ops->password(session, session->password);
        forget_password(session);
        break;
    case SSH_NEXT_RUN:
        session->state = SSH_STATE_RUNNING;
        ssh_session_job_started(session);
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
    ssh_session_clear_job(job);
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
