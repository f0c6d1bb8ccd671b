/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the root object of edl-session, for its parts
 *
 * A kind of session (exec, attach, forward) is a table of functions. The root has the wire, the
 * process, and the end: which frame is the last one, and that nothing is left. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "agent/session/session_request.h"
#include "agent/session/session_target.h"
#include "agent/session/session_wire.h"

struct session;

struct session_kind_ops {
    /* start - the process is there; negative with error: the session is over */
    int (*start)(struct session *session, struct edl_error *error);
    /* on_frame - data, its end, windows, and so on; pings are none */
    void (*on_frame)(struct session *session, const struct session_frame *frame);
    void (*on_room)(struct session *session);
    /* on_process_end - the program of the process has ended. false: there is something to say yet;
     * session_say_exit or session_say_error follows */
    bool (*on_process_end)(struct session *session);
    /* hang_up - nobody is there any more; at_once: as the process is gone. session_part_over
     * follows, or came before */
    void (*hang_up)(struct session *session, bool at_once);
    void (*free)(struct session *session);
};

struct session {
    sd_event *event;
    struct session_config config;
    struct session_target target;
    struct session_wire *wire;
    const struct session_kind_ops *ops; /* NULL until it has started */
    void *part;                         /* of the kind; owned by it */
    sd_event_source *agent, *supervisor, *program;
    sd_event_source *deadline; /* NULL until the last frame was sent */
    int failed;                /* the status for the person where start failed; 0: no session */
    bool said;                 /* the last frame was sent */
    bool wire_over;            /* nothing more of it arrives, or matters */
    bool part_over;            /* nothing of the kind is left */
    bool hung_up;
};

extern const struct session_kind_ops session_program_ops, session_attach_ops, session_forward_ops;

/* The last frame; nothing after the first one. */
void session_say_exit(struct session *session, bool by_signal, int value);
void session_say_error(struct session *session, const struct edl_error *why, int code);
/* session_say_gone - the process has ended, and the session with it */
void session_say_gone(struct session *session);
/* session_broken - what came is no frame of ours */
void session_broken(struct session *session);
/* session_part_over - nothing of the kind is left */
void session_part_over(struct session *session);
