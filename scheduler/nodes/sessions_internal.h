/* SPDX-License-Identifier: Apache-2.0 */
/* sessions_internal.h - what sessions.c and session_pipe.c share; nobody else includes it */
#pragma once

#include <systemd/sd-event.h>

#include "scheduler/nodes/session_moves.h"
#include "scheduler/nodes/session_ring.h"
#include "scheduler/nodes/sessions.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"

enum session_state { SESSION_WAITS, SESSION_OPEN, SESSION_OVER };
enum session_who { SESSION_PERSON, SESSION_NODE, SESSION_SIDES };

/* A person, or the node: its two requests. */
struct session_side {
    struct session *session;    /* its own */
    struct http_request *in;    /* borrowed: the POST, until it is over; NULL: not there */
    struct http_request *out;   /* borrowed: the GET, likewise */
    struct http_stream *stream; /* its answer */
    struct session_ring ring;   /* what it sent and the other has not got */
    bool came_in, came_out;     /* each comes once */
    struct session_turn in_turn, out_turn;
    bool rests;             /* in waits for room in the ring */
    bool whole;             /* the body of in has ended in order */
    sd_event_source *leave; /* owned: whether the client of in leaves; NULL: nobody looks */
};

struct session {
    struct scheduler *scheduler; /* borrowed */
    char id[SESSION_ID_HEX + 1];
    char user[USER_NAME_MAX + 1]; /* who asked for it */
    char via[40];
    char owner[USER_NAME_MAX + 1]; /* whose the job is */
    char request_id[40];
    char job[JOB_NAME_MAX + 1], node[NODE_NAME_MAX + 1];
    char process_name[ROLE_NAME_MAX + 16]; /* "trainer-0" */
    enum session_kind kind;
    struct process_ref process;
    json_t *order; /* owned */
    bool ends_job;
    enum session_state state;
    struct session_side sides[SESSION_SIDES];
    uint64_t since_wall_us;
    uint64_t since_us; /* boot time, as all below; when it ended, then */
    uint64_t gone_us;  /* its process ended then; 0: it runs */
    uint64_t heard_us; /* the last time that its node sent something; 0: never */
    struct session_moves moves;
    uint64_t bytes[SESSION_SIDES]; /* that came */
    enum session_cause cause;      /* when it is over */
    struct edl_error why;          /* likewise: text and remedy */
    sd_event_source *timer;        /* owned */
    struct session *next, *prev;
};

/* session_end - it is over, for that reason; once */
void session_end(struct session *session, enum session_cause cause, const struct edl_error *why);

/* session_settle - a request has come or gone: whether that opens or ends it */
void session_settle(struct session *session);

/* session_look_soon - the timer is to look at it in a moment */
void session_look_soon(struct session *session);

/* session_hear_node - its node has sent something */
void session_hear_node(struct session *session);

/* session_pipe_close - it is over: nobody waits for more; what the person has not got yet is told
 */
void session_pipe_close(struct session *session);

/* session_pipe_cut - requests that are still there lose their connections. true: there were some */
bool session_pipe_cut(struct session *session);

/* session_pipe_sweep - requests whose clients have left without a word, and of which nothing is
 * left
 */
void session_pipe_sweep(struct session *session);

/* session_pipe_is_left - there is one whose client has left, and something of it may be left */
bool session_pipe_is_left(const struct session *session);
