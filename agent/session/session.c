/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - see session.h
 *
 *   open -> the kind runs -> the last frame was said -> it was taken, and nothing is left
 *
 * Others end it as well: the person and the scheduler (the wire), the process, the agent (the other
 * end of our standard input), and SIGTERM. */
#include "agent/session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/session/session_run.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define LAST_WORDS_US (2 * USEC_PER_SEC) /* of a session that others end */
#define NO_SESSION 255

/* a process whose program is not there yet has it by then */
#define START_WITHIN_US (3 * USEC_PER_SEC)
#define START_LOOK_MS 5

static const struct session_kind_ops *const kinds[SESSION_KINDS] = {
    [SESSION_KIND_EXEC] = &session_program_ops,    [SESSION_KIND_SHELL] = &session_program_ops,
    [SESSION_KIND_SSH] = &session_program_ops,     [SESSION_KIND_ATTACH] = &session_attach_ops,
    [SESSION_KIND_FORWARD] = &session_forward_ops,
};

/* ---- the end ---- */

static void check_over(const struct session *session)
{
    if (session->wire_over && session->part_over)
        (void)sd_event_exit(session->event, 0);
}

void session_part_over(struct session *session)
{
    session->part_over = true;
    check_over(session);
}

static void hang_up(struct session *session, bool at_once)
{
    if (session->part_over || (session->hung_up && !at_once))
        return;
    session->hung_up = true;
    if (session->ops != NULL)
        session->ops->hang_up(session, at_once);
    else
        session_part_over(session);
}

static void said(struct session *session)
{
    session->said = true;
    session_wire_finish(session->wire);
    hang_up(session, false);
}

void session_say_exit(struct session *session, bool by_signal, int value)
{
    const uint8_t data[] = { by_signal ? 1 : 0, (uint8_t)value };

    if (session->said)
        return;
    session_wire_send(session->wire, SESSION_EXIT, 0, data, sizeof data);
    said(session);
}

void session_say_error(struct session *session, const struct edl_error *why, int code)
{
    if (session->said)
        return;
    session_wire_error(session->wire, 0, why, code);
    said(session);
}

void session_say_gone(struct session *session)
{
    struct edl_error why = { 0 };
    char name[300];

    session_target_name(&session->config, name, sizeof name);
    (void)edl_error_set(&why, -ESRCH, "%s has ended, and the session with it", name);
    (void)edl_error_remedy(&why, "edl ps %.200s says how; edl logs has its output",
                           session->config.request.job);
    session_say_error(session, &why, NO_SESSION);
}

void session_broken(struct session *session)
{
    struct edl_error why = { 0 };

    (void)edl_error_set(&why, -EBADMSG, "what the other end of the session sends cannot be");
    session_say_error(session, &why, NO_SESSION);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct session *session = userdata;

    (void)source;
    (void)usec;
    session->wire_over = true;
    check_over(session);
    return 0;
}

/* end_by_others - the person is told, if it can be told soon */
static void end_by_others(struct session *session)
{
    struct edl_error why = { 0 };

    if (session->deadline != NULL)
        return;
    (void)edl_error_set(&why, -ECANCELED,
                        "the agent of node %.60s ends the session: it was ended by its orders, or "
                        "the agent itself is being stopped; the job goes on",
                        session->config.node);
    (void)edl_error_remedy(&why, "the same command again");
    if (sd_event_add_time_relative(session->event, &session->deadline, CLOCK_MONOTONIC,
                                   LAST_WORDS_US, 0, on_deadline, session) < 0)
        session->wire_over = true;
    session_say_error(session, &why, NO_SESSION);
    hang_up(session, false);
    check_over(session);
}

static int on_agent(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)fd;
    (void)revents;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    end_by_others(userdata);
    return 0;
}

static int on_term(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    (void)source;
    (void)info;
    end_by_others(userdata);
    return 0;
}

/* on_process - its program or its supervisor is gone */
static int on_process(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct session *session = userdata;
    bool is_last = source == session->supervisor;

    (void)fd;
    (void)revents;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (session->ops != NULL && session->ops == &session_attach_ops && !is_last)
        return 0; /* its supervisor still writes the log */
    if (session->ops != NULL && !session->ops->on_process_end(session))
        return 0;
    session_say_gone(session);
    hang_up(session, true);
    return 0;
}

/* ---- the wire ---- */

static void on_frame(void *userdata, const struct session_frame *frame)
{
    struct session *session = userdata;

    if (session->ops != NULL && !session->said)
        session->ops->on_frame(session, frame);
}

static void on_room(void *userdata)
{
    struct session *session = userdata;

    if (session->ops != NULL && !session->said)
        session->ops->on_room(session);
}

static void on_sent(void *userdata)
{
    struct session *session = userdata;

    session->wire_over = true;
    check_over(session);
}

static void on_end(void *userdata, const struct edl_error *error)
{
    struct session *session = userdata;

    if (error != NULL && !session->said)
        (void)log_failure(error, "session %s", session->config.request.id);
    session->said = true; /* nobody is there to hear it */
    session->wire_over = true;
    hang_up(session, false);
    check_over(session);
}

/* ---- the beginning ---- */

static int watch_process(struct session *session, struct edl_error *error)
{
    int r = sd_event_add_io(session->event, &session->supervisor, session->target.supervisor_pidfd,
                            EPOLLIN, on_process, session);

    if (r >= 0)
        r = sd_event_add_io(session->event, &session->program, session->target.program_pidfd,
                            EPOLLIN, on_process, session);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

/* open_target - who asks for a shell the moment a process runs finds its supervisor's child, which
 * executes the program within milliseconds: nothing else tells of that. Nothing else goes on here
 * yet. */
static int open_target(struct session *session, struct edl_error *error)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + START_WITHIN_US;
    int r = session_target_open(&session->config, &session->target, error);

    while (r == -EAGAIN && clock_read_us(CLOCK_BOOTTIME) < end_us) {
        (void)poll(NULL, 0, START_LOOK_MS);
        session_target_close(&session->target);
        r = session_target_open(&session->config, &session->target, error);
    }
    return r;
}

static int begin(struct session *session, struct edl_error *error)
{
    int r = open_target(session, error);

    if (r == 0)
        r = watch_process(session, error);
    if (r < 0)
        return r;
    session->ops = kinds[session->config.request.kind];
    return session->ops->start(session, error);
}

static int open_loop(struct session *session, int agent_fd, struct edl_error *error)
{
    const struct session_wire_config wire = { .event = session->event,
                                              .session = &session->config,
                                              .on_frame = on_frame,
                                              .on_room = on_room,
                                              .on_sent = on_sent,
                                              .on_end = on_end,
                                              .userdata = session };
    int r = sd_event_add_io(session->event, &session->agent, agent_fd, EPOLLIN, on_agent, session);

    if (r >= 0)
        r = sd_event_add_signal(session->event, NULL, SIGTERM, on_term, session);
    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    return session_wire_open(&wire, &session->wire, error);
}

static void session_done(struct session *session)
{
    if (session->part != NULL)
        session->ops->free(session);
    (void)sd_event_source_disable_unref(session->deadline);
    (void)sd_event_source_disable_unref(session->supervisor);
    (void)sd_event_source_disable_unref(session->program);
    (void)sd_event_source_disable_unref(session->agent);
    (void)session_wire_free(session->wire);
    session_target_close(&session->target);
    session_config_clear(&session->config);
    sd_event_unref(session->event);
}

int session_run(const json_t *document, int agent_fd, char *group)
{
    struct session session = { .target = SESSION_TARGET_NONE };
    struct edl_error error = { 0 }, why = { 0 };
    int understood = session_config_parse(document, &session.config, &why);
    int r = sd_event_default(&session.event);

    if (r < 0)
        r = edl_error_errno(&error, r, "cannot make an event loop");
    else
        r = open_loop(&session, agent_fd, &error);
    if (r == 0) {
        if (understood < 0 || begin(&session, &why) < 0)
            session_say_error(&session, &why, session.failed != 0 ? session.failed : NO_SESSION);
        (void)snprintf(group, CGROUP_PATH_SIZE, "%s", session.target.groups.own);
        check_over(&session);
        r = sd_event_loop(session.event);
    } else {
        (void)log_failure(&error, "session %s", session.config.request.id);
    }
    session_groups_kill(&session.target.groups);
    session_done(&session);
    return r;
}
