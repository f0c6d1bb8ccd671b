/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - a look into a running process: bytes between a person and the node, relayed
 *
 * Agents are called by nobody, and people call none. So a session that somebody asks for is listed
 * in its node's orders ("sessions") until it is over, and each side comes with two requests. One is
 * a POST whose body goes in piece by piece, and one is a GET whose answer streams. Between the POST
 * of one side and the GET of the other lies a ring of 64 KiB. A reader who stops makes the writer
 * stop. Nobody here looks at the bytes (shared/session_frame.h has what the two sides make of
 * them).
 *
 *   waiting -> open -> ended, and forgotten a minute later
 *
 * Nothing is stored but the lines of the audit log: a restart of the scheduler ends every session,
 * and the job does not notice.
 *
 * Used by: api/sessions.c, api/orders.c, turn.c. Tests: tests/unit/test_session_turns.c,
 * tests/integration/163-sessions.sh. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/api/process_ref.h"
#include "scheduler/nodes/session_turns.h"

struct edl_error;
struct http_request;
struct http_sink;
struct process;
struct scheduler;
struct session;

#define SESSION_ID_HEX 32
#define SESSION_NODE_WAIT_S 20
#define SESSION_PERSON_WAIT_S 30
#define SESSION_KEPT_S 60     /* behind its end */
#define SESSION_CONNECTIONS 2 /* of each side */

enum session_kind { SESSION_EXEC, SESSION_SHELL, SESSION_ATTACH, SESSION_FORWARD, SESSION_SSH };

/* Why one is over; the words are in the API. */
enum session_cause {
    SESSION_ENDED, /* the node's side has told all that there was */
    SESSION_PERSON_GONE,
    SESSION_NODE_GONE,
    SESSION_PROCESS_GONE,
    SESSION_IDLE,
    SESSION_KILLED,   /* DELETE */
    SESSION_REFUSED,  /* its person may no more */
    SESSION_STOPPING, /* the scheduler does */
};

struct session_limits {
    uint64_t idle_us;   /* that moves nothing for so long ends */
    uint64_t user, all; /* at once */
};

struct sessions {
    struct session_turns turns;
    struct session *list; /* owned; utlist: also those that have ended, for a minute */
    unsigned n, n_open;   /* of the list; of those that have not ended */
    uint64_t begun;
    uint64_t bytes[2]; /* that came: from people, from nodes */
};

/* What somebody asks for, checked. */
struct session_wish {
    enum session_kind kind;
    const struct process *process; /* that runs */
    json_t *members; /* for the order, as they came: command, pty, port, key; borrowed */
    bool ends_job;   /* when it ends */
};

const char *session_kind_to_string(enum session_kind kind);
int session_kind_from_string(const char *text); /* -EINVAL */
const char *session_cause_to_string(enum session_cause cause);

/* session_begin - for the caller of the request, who may; behind it a turn is due. EDL_ETOOMANY */
int session_begin(struct scheduler *scheduler, struct http_request *request,
                  const struct session_wish *wish, struct session **ret, struct edl_error *error);

/* sessions_find - one that is known still; NULL */
struct session *sessions_find(const struct scheduler *scheduler, const char *id);
const struct session *sessions_first(const struct scheduler *scheduler);
const struct session *session_next(const struct session *session);
bool session_is_over(const struct session *session);
/* session_is_of - it is that user's: who asked for it, or whose job it is in */
bool session_is_of(const struct session *session, const char *user);
json_t *session_to_json(const struct session *session);       /* as lists have it */
json_t *session_state_to_json(const struct session *session); /* with state, cause and reason */
json_t *session_made_to_json(const struct scheduler *scheduler, const struct session *session);

/* session_kill - ends it, as `by` wants it; nothing when it is over */
void session_kill(struct session *session, const char *by);

/* sessions_order - adds to the orders of a node the sessions that its agent serves */
void sessions_order(const struct scheduler *scheduler, const char *node, json_t *orders);

/* sessions_look - behind a turn: those whose process or node has gone end */
void sessions_look(struct scheduler *scheduler);
/* sessions_recheck - users or tokens have changed: those of people who may no more end */
void sessions_recheck(struct scheduler *scheduler);
/* sessions_stop - the scheduler stops: all of them end, and those who are there hear so */
void sessions_stop(struct scheduler *scheduler);
/* sessions_init - the loop must be there */
int sessions_init(struct scheduler *scheduler, struct edl_error *error);
/* sessions_done - the servers are closed */
void sessions_done(struct scheduler *scheduler);

/* sessions_connections - how many connections its sessions may have now: those of a user, or of a
 * node when user is NULL */
unsigned sessions_connections(const struct scheduler *scheduler, const char *user,
                              const char *node);

/* --- the four requests (session_pipe.c) --- */

extern const struct http_sink session_person_sink, session_node_sink;

/* session_person_in, session_node_in - handlers of the POSTs, whose bodies have ended.
 * session_person_out, session_node_out: of the GETs */
void session_person_in(struct http_request *request, void *userdata);
void session_node_in(struct http_request *request, void *userdata);
void session_person_out(struct http_request *request, void *userdata);
void session_node_out(struct http_request *request, void *userdata);
