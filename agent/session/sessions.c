/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - see sessions.h
 *
 *   running -> ending (its socket is closed, then killed) -> over (until orders list it no more)
 *
 * One that is over stays known as long as orders list it, or it would begin again. An entry that is
 * not understood, or that names no process of this node, is started all the same: edl-session tells
 * the person why. */
#include "agent/session/sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/groups/unit_helper.h"
#include "agent/layout.h"
#include "agent/link/link.h"
#include "agent/processes/errand.h"
#include "agent/processes/helper.h"
#include "agent/processes/process_id_json.h"
#include "agent/session/session_request.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define SESSIONS_MAX 512 /* listed; none begins beyond that */
#define UNIT_SIZE 64
#define PATIENCE_US (15 * USEC_PER_SEC)

struct open_session {
    struct sessions *sessions; /* borrowed */
    char id[SESSION_ID_SIZE];
    char *process_dir;       /* owned; "": no process was understood */
    bool listed;             /* mark of sessions_follow */
    struct helper helper;    /* owned; of a unit only its fd is ours. Both -1: it is over */
    sd_event_source *ended;  /* owned; its pidfd, of a unit the other end of the socket */
    sd_event_source *killer; /* owned; NULL: nobody asked it to end */
    struct open_session *prev, *next;
};

struct sessions {
    struct sessions_config config;
    struct unit_helpers *units; /* owned; NULL: they are our children */
    sd_event_source *sweeping;  /* owned; behind an agent that was killed; NULL: it is over */
    int sweep_pidfd;
    json_t *waiting, *accounts; /* owned; of sessions_follow, until then */
    struct open_session *list;  /* owned */
};

static bool is_over(const struct open_session *session)
{
    return session->ended == NULL;
}

static void name_unit(const struct open_session *session, char ret[UNIT_SIZE])
{
    (void)snprintf(ret, UNIT_SIZE, "edl-session-%s.service", session->id);
}

/* ---- the end ---- */

static void session_free(struct open_session *session)
{
    DL_DELETE(session->sessions->list, session);
    (void)sd_event_source_disable_unref(session->ended);
    (void)sd_event_source_disable_unref(session->killer);
    (void)safe_close(session->helper.fd); /* it ends with that */
    (void)safe_close(session->helper.pidfd);
    free(session->process_dir);
    free(session);
}

static void settle(struct open_session *session)
{
    session->ended = sd_event_source_disable_unref(session->ended);
    session->killer = sd_event_source_disable_unref(session->killer);
    session->helper.fd = safe_close(session->helper.fd);
    session->helper.pidfd = safe_close(session->helper.pidfd);
}

static int on_ended(sd_event_source *source, int fd, uint32_t revents, void *userdata);

/* sweep - it was killed, maybe as a whole: its program may have left something behind */
static void sweep(struct open_session *session)
{
    const struct sessions_config *config = &session->sessions->config;
    _cleanup_free_ char *program = text_format("%s/edl-session", config->layout->program_dir);
    const char *const argv[] = { program, "--sweep", session->process_dir, session->id, NULL };

    session->ended = errand_start(config->event, argv, on_ended, session, &session->helper.pidfd);
}

/* on_ended - of edl-session, or of the sweep behind it */
static int on_ended(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct open_session *session = userdata;
    siginfo_t info = { 0 };

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    settle(session);
    if (info.si_code != CLD_EXITED && session->process_dir[0] != '\0')
        sweep(session);
    if (!session->listed && is_over(session))
        session_free(session);
    return 0;
}

/* on_unit_ended - its end of the socket is closed; systemd sweeps behind it */
static int on_unit_ended(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct open_session *session = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    settle(session);
    if (!session->listed)
        session_free(session);
    return 0;
}

static void kill_it(const struct open_session *session)
{
    char unit[UNIT_SIZE];

    name_unit(session, unit);
    if (session->helper.pidfd >= 0)
        (void)pidfd_send_signal(session->helper.pidfd, SIGKILL, NULL, 0);
    else
        unit_helper_stop(session->sessions->units, unit);
}

static int on_patience_over(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    kill_it(userdata);
    return 0;
}

/* end - it ends what it has started, which takes a moment */
static void end(struct open_session *session)
{
    if (session->killer != NULL)
        return;
    (void)shutdown(session->helper.fd, SHUT_WR);
    if (sd_event_add_time_relative(session->sessions->config.event, &session->killer,
                                   CLOCK_BOOTTIME, PATIENCE_US, 0, on_patience_over, session) < 0)
        kill_it(session);
}

/* ---- the beginning ---- */

/* document_of - the credential is in memory of the agent alone, and of edl-session */
static json_t *document_of(const struct open_session *session, const json_t *entry,
                           json_t *accounts)
{
    const struct sessions_config *config = &session->sessions->config;

    return json_pack("{s:s, s:s?, s:s?, s:s, s:s, s:s, s:s, s:O?, s:O}", "server",
                     link_server(config->link), "ca", config->ca, "credential",
                     link_credential(config->link), "node", link_node(config->link), "boot_id",
                     config->boot_id, "process_dir", session->process_dir, "program_dir",
                     config->layout->program_dir, "accounts", accounts, "session", entry);
}

static int tell(int fd, const json_t *document, struct edl_error *error)
{
    char *text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
    size_t size = text != NULL ? strlen(text) : 0;
    int r = 0;

    if (text == NULL || size > SESSION_DOCUMENT_MAX)
        r = edl_error_set(error, -E2BIG, "its order has more than %zu bytes", SESSION_DOCUMENT_MAX);
    else if (send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        r = edl_error_errno(error, -errno, "cannot tell edl-session what to do");
    if (text != NULL)
        explicit_bzero(text, size);
    free(text);
    return r;
}

static int start_child(struct open_session *session, const char *program, struct edl_error *error)
{
    const char *const argv[] = { program, NULL };
    const int numbers[] = { STDIN_FILENO };
    int r = helper_start(argv, numbers, ELEMENTS(numbers), &session->helper, error);

    if (r < 0)
        return r;
    r = sd_event_add_io(session->sessions->config.event, &session->ended, session->helper.pidfd,
                        EPOLLIN, on_ended, session);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int start_unit(struct open_session *session, const char *program, struct edl_error *error)
{
    const char *const argv[] = { program, NULL };
    const char *const after[] = { program, "--sweep", session->process_dir, session->id, NULL };
    _cleanup_close_ int theirs = -1;
    char unit[UNIT_SIZE];
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return edl_error_errno(error, -errno, "cannot make a socket");
    session->helper.fd = ends[0];
    theirs = ends[1];
    name_unit(session, unit);
    r = unit_helper_start(session->sessions->units,
                          &(struct unit_helper_plan){ .name = unit,
                                                      .description =
                                                          "session inside a process of an EDL job",
                                                      .argv = argv,
                                                      .after = after,
                                                      .stdin_fd = theirs },
                          error);
    if (r < 0)
        return r;
    r = sd_event_add_io(session->sessions->config.event, &session->ended, session->helper.fd,
                        EPOLLIN, on_unit_ended, session);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static int start(struct open_session *session, const json_t *document, struct edl_error *error)
{
    const struct sessions_config *config = &session->sessions->config;
    _cleanup_free_ char *program = text_format("%s/edl-session", config->layout->program_dir);
    int r = config->by_systemd ? start_unit(session, program, error)
                               : start_child(session, program, error);

    return r < 0 ? r : tell(session->helper.fd, document, error);
}

static void add(struct sessions *sessions, const json_t *entry, const char *id, json_t *accounts)
{
    struct open_session *session = xcalloc(1, sizeof *session);
    struct edl_error error = { 0 };
    struct process_id process;
    json_t *document;

    session->sessions = sessions;
    session->process_dir = process_id_from_json(entry, &process, NULL) == 0
                               ? layout_process_dir(sessions->config.layout, &process)
                               : xstrdup("");
    session->listed = true;
    session->helper = (struct helper){ .fd = -1, .pidfd = -1 };
    (void)memcpy(session->id, id, SESSION_ID_SIZE);
    DL_APPEND(sessions->list, session);
    document = document_of(session, entry, accounts);
    if (start(session, document, &error) < 0) {
        (void)log_failure(&error, "session %s", id);
        if (!is_over(session))
            end(session);
    }
    json_decref(document);
}

/* ---- orders ---- */

static struct open_session *find(const struct sessions *sessions, const char *id)
{
    struct open_session *session;

    DL_FOREACH(sessions->list, session)
    if (streq(session->id, id))
        return session;
    return NULL;
}

static void follow(struct sessions *sessions, const json_t *array, json_t *accounts)
{
    struct open_session *session, *next;
    char id[SESSION_ID_SIZE];

    DL_FOREACH(sessions->list, session)
    session->listed = false;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *entry = json_array_get(array, i);

        if (!session_request_id(entry, id))
            continue;
        session = find(sessions, id);
        if (session != NULL)
            session->listed = true;
        else if (i < SESSIONS_MAX)
            add(sessions, entry, id, accounts);
    }
    DL_FOREACH_SAFE(sessions->list, session, next)
    {
        if (session->listed)
            continue;
        if (is_over(session))
            session_free(session);
        else
            end(session);
    }
}

static void forget_waiting(struct sessions *sessions)
{
    json_decref(sessions->waiting);
    json_decref(sessions->accounts);
    sessions->waiting = sessions->accounts = NULL;
}

void sessions_follow(struct sessions *sessions, json_t *array, json_t *accounts)
{
    forget_waiting(sessions);
    if (sessions->sweeping == NULL) {
        follow(sessions, array, accounts);
        return;
    }
    sessions->waiting = json_incref(array);
    sessions->accounts = json_incref(accounts);
}

static int on_swept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct sessions *sessions = userdata;
    siginfo_t info;

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    sessions->sweeping = sd_event_source_disable_unref(sessions->sweeping);
    sessions->sweep_pidfd = safe_close(sessions->sweep_pidfd);
    follow(sessions, sessions->waiting, sessions->accounts);
    forget_waiting(sessions);
    return 0;
}

/* sweep_all - units have been swept behind by systemd */
static void sweep_all(struct sessions *sessions)
{
    const struct layout *layout = sessions->config.layout;
    _cleanup_free_ char *program = text_format("%s/edl-session", layout->program_dir);
    const char *const argv[] = { program, "--sweep-all", layout->processes_dir, NULL };

    sessions->sweeping =
        errand_start(sessions->config.event, argv, on_swept, sessions, &sessions->sweep_pidfd);
}

struct sessions *sessions_new(const struct sessions_config *config)
{
    struct sessions *sessions = xcalloc(1, sizeof *sessions);

    sessions->config = *config;
    sessions->sweep_pidfd = -1;
    if (config->by_systemd)
        sessions->units = unit_helpers_new(config->event);
    else if (config->has_processes)
        sweep_all(sessions);
    return sessions;
}

struct sessions *sessions_free(struct sessions *sessions)
{
    struct open_session *session, *next;

    if (sessions == NULL)
        return NULL;
    DL_FOREACH_SAFE(sessions->list, session, next)
    session_free(session);
    (void)unit_helpers_free(sessions->units);
    (void)sd_event_source_disable_unref(sessions->sweeping);
    (void)safe_close(sessions->sweep_pidfd);
    forget_waiting(sessions);
    free(sessions);
    return NULL;
}
