/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - see sessions.h: which there are, and when each ends
 *
 * Each has a timer: for sides that never come, for one that stands idle, for rights that are gone,
 * and behind its end for connections that nobody closes. */
#include "scheduler/nodes/sessions_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/peer.h"
#include "scheduler/core/core.h"
#include "scheduler/nodes/session_note.h"
#include "shared/clock.h"
#include "shared/fair_share.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define ACCURACY_US (50 * USEC_PER_MSEC)
#define BEAT_US (15 * USEC_PER_SEC) /* it is looked at so often */
#define SOON_US USEC_PER_SEC
/* A program that ended tells of it itself; its node has so long to pass that on, and longer while
 * it says something. */
#define FAREWELL_US (10 * USEC_PER_SEC)
/* Whoever does not close a connection of a session that is over loses it then. */
#define CUT_US (10 * USEC_PER_SEC)
#define KEPT_US (SESSION_KEPT_S * USEC_PER_SEC)
#define NODE_SILENT_US (SESSION_PING_US + 5 * USEC_PER_SEC)
#define KEPT_TIMES 4 /* of what may be there at once, with those that ended of late */
#define ENDS_JOB_REASON "its session ended"

static const char *const kinds[] = { "exec", "shell", "attach", "forward", "ssh" };
static const char *const causes[] = { "ended", "person_gone", "node_gone", "process_gone",
                                      "idle",  "killed",      "refused",   "stopping" };
static const char *const states[] = { "waiting", "open", "ended" };

const char *session_kind_to_string(enum session_kind kind)
{
    return kinds[kind];
}

int session_kind_from_string(const char *text)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(kinds[i], text))
            return (int)i;
    return -EINVAL;
}

const char *session_cause_to_string(enum session_cause cause)
{
    return causes[cause];
}

static void wake_node(struct scheduler *scheduler, const char *name)
{
    struct node *node = cluster_node(scheduler->cluster, name);
    char topic[TOPIC_MAX];

    if (node == NULL)
        return;
    node->orders_version++;
    (void)snprintf(topic, sizeof topic, "orders/%s", name);
    scheduler_notify(scheduler, topic);
}

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

/* --- which there are --- */

struct session *sessions_find(const struct scheduler *scheduler, const char *id)
{
    struct session *session;

    DL_FOREACH(scheduler->sessions.list, session)
    if (streq(session->id, id))
        return session;
    return NULL;
}

const struct session *sessions_first(const struct scheduler *scheduler)
{
    return scheduler->sessions.list;
}

const struct session *session_next(const struct session *session)
{
    return session->next;
}

bool session_is_over(const struct session *session)
{
    return session->state == SESSION_OVER;
}

bool session_is_of(const struct session *session, const char *user)
{
    return streq(session->user, user) || streq(session->owner, user);
}

unsigned sessions_connections(const struct scheduler *scheduler, const char *user, const char *node)
{
    const struct session *session;
    unsigned n = 1; /* who asks for one that is not there is to hear so */

    DL_FOREACH(scheduler->sessions.list, session)
    n += user != NULL ? streq(session->user, user) : streq(session->node, node);
    return n * SESSION_CONNECTIONS;
}

static void forget(struct session *session)
{
    struct sessions *sessions = &session->scheduler->sessions;

    DL_DELETE(sessions->list, session);
    sessions->n--;
    (void)sd_event_source_disable_unref(session->timer);
    for (size_t i = 0; i < SESSION_SIDES; i++)
        session_ring_clear(&session->sides[i].ring);
    json_decref(session->order);
    free(session);
}

/* --- its end --- */

static void end_job(struct session *session)
{
    struct scheduler *scheduler = session->scheduler;
    struct job *job = cluster_job(scheduler->cluster, session->process.job_id);
    struct edl_error error = { 0 };

    if (job == NULL || job_state_is_final(job->state) || scheduler->degraded.on)
        return;
    if (cluster_kill_job(scheduler->cluster, job, ENDS_JOB_REASON, clock_instant(), &error) == 0)
        scheduler_touch(scheduler);
}

static void arm(struct session *session, uint64_t us)
{
    (void)sd_event_source_set_time(session->timer, us);
    (void)sd_event_source_set_enabled(session->timer, SD_EVENT_ONESHOT);
}

void session_look_soon(struct session *session)
{
    arm(session, now_us() + SOON_US);
}

void session_end(struct session *session, enum session_cause cause, const struct edl_error *why)
{
    struct scheduler *scheduler = session->scheduler;

    if (session->state == SESSION_OVER)
        return;
    session->state = SESSION_OVER;
    session->cause = cause;
    session->why = *why;
    scheduler->sessions.n_open--;
    session_note_end(session);
    session->since_us = now_us();
    session_pipe_close(session);
    if (session->ends_job)
        end_job(session);
    wake_node(scheduler, session->node);
    arm(session, session->since_us + CUT_US);
}

static void end_late(struct session *session, enum session_who side)
{
    struct edl_error why = { 0 };

    if (side == SESSION_NODE) {
        (void)edl_error_set(&why, -ETIMEDOUT, "the agent of node %s did not answer in time",
                            session->node);
        (void)edl_error_remedy(&why,
                               "`edl nodes %s` tells how it is; `journalctl -u edl-agent`"
                               " there tells why it could not",
                               session->node);
    } else {
        (void)edl_error_set(&why, -ETIMEDOUT, "the program of %s did not come for it in time",
                            session->user);
    }
    session_end(session, side == SESSION_NODE ? SESSION_NODE_GONE : SESSION_PERSON_GONE, &why);
}

static bool has_come(const struct session *session, enum session_who side)
{
    return session->sides[side].came_in && session->sides[side].came_out;
}

static void end_by_person(struct session *session)
{
    struct edl_error why = { 0 };

    (void)edl_error_set(&why, -ECONNRESET, "%s has left", session->user);
    session_end(session, SESSION_PERSON_GONE, &why);
}

/* settle_node - it is over when its last byte has gone on */
static void settle_node(struct session *session)
{
    const struct session_side *node = &session->sides[SESSION_NODE];
    const struct session_side *person = &session->sides[SESSION_PERSON];
    struct edl_error why = { 0 };

    if (!node->whole && (!node->came_in || node->in != NULL))
        return;
    if (node->ring.n > 0 && (!person->came_out || person->out != NULL))
        return;
    if (node->whole) {
        (void)edl_error_set(&why, 0, "node %s has ended it", session->node);
        session_end(session, SESSION_ENDED, &why);
        return;
    }
    (void)edl_error_set(&why, -ECONNRESET, "the connection to node %s was lost", session->node);
    (void)edl_error_remedy(&why,
                           "the job is not touched by that: ask again; `edl nodes %s` tells"
                           " how the node is",
                           session->node);
    session_end(session, SESSION_NODE_GONE, &why);
}

void session_settle(struct session *session)
{
    const struct session_side *person = &session->sides[SESSION_PERSON];

    if (session->state == SESSION_OVER)
        return;
    if (session->state == SESSION_WAITS && has_come(session, SESSION_PERSON) &&
        has_come(session, SESSION_NODE)) {
        session->state = SESSION_OPEN;
        session_moves_begin(&session->moves, now_us());
        session_look_soon(session); /* until now its timer is for those who do not come */
    }
    settle_node(session);
    if (session->state != SESSION_OVER &&
        ((person->came_in && (person->whole || person->in == NULL)) ||
         (person->came_out && person->out == NULL)))
        end_by_person(session);
}

void session_kill(struct session *session, const char *by)
{
    struct edl_error why = { 0 };

    (void)edl_error_set(&why, -ECANCELED, "%s has ended it", by);
    session_end(session, SESSION_KILLED, &why);
}

void sessions_stop(struct scheduler *scheduler)
{
    struct edl_error why = { 0 };
    struct session *session;

    (void)edl_error_set(&why, -EAGAIN, "the scheduler is stopping");
    (void)edl_error_remedy(&why, "the job goes on: ask again when the scheduler is back");
    DL_FOREACH(scheduler->sessions.list, session)
    session_end(session, SESSION_STOPPING, &why);
}

int sessions_init(struct scheduler *scheduler, struct edl_error *error)
{
    return session_turns_init(&scheduler->sessions.turns, scheduler->event, error);
}

void sessions_done(struct scheduler *scheduler)
{
    struct session *session, *next;

    DL_FOREACH_SAFE(scheduler->sessions.list, session, next)
    forget(session);
    session_turns_done(&scheduler->sessions.turns);
}

/* --- whether it may go on --- */

/* name_is_known - of a caller without a token: as long as the account database does not answer,
 * nobody loses what he has */
static bool name_is_known(struct scheduler *scheduler, const struct http_request *request)
{
    char name[USER_NAME_MAX + 1];
    uid_t uid;
    int r;

    if (http_request_header(request, "Authorization") != NULL ||
        peer_uid(http_request_peer_fd(request), &uid) < 0)
        return true;
    r = peer_name(scheduler->peers, uid, now_us(), name, sizeof name);
    return r == 0 || r == -ENOENT;
}

static int check_request(const struct session *session, struct http_request *request,
                         struct edl_error *error)
{
    struct scheduler *scheduler = session->scheduler;
    struct caller caller = { .user = "" };
    int r = auth_recheck(scheduler, request, error);

    if (r < 0)
        return name_is_known(scheduler, request) ? r : 0;
    (void)auth_caller(scheduler, request, &caller);
    if (!streq(caller.user, session->user) ||
        (caller.role < USER_OPERATOR && !streq(caller.user, session->owner)))
        return edl_error_set(error, -EACCES, "the job belongs to %s, and you are %s",
                             session->owner, caller.user);
    return 0;
}

static void recheck(struct session *session)
{
    const struct session_side *person = &session->sides[SESSION_PERSON];
    struct edl_error why = { 0 };

    if (session->state != SESSION_OVER &&
        ((person->in != NULL && check_request(session, person->in, &why) < 0) ||
         (person->out != NULL && check_request(session, person->out, &why) < 0)))
        session_end(session, SESSION_REFUSED, &why);
}

void sessions_recheck(struct scheduler *scheduler)
{
    struct session *session;

    DL_FOREACH(scheduler->sessions.list, session)
    recheck(session);
}

static void describe_gone(const struct session *session, const struct process *process,
                          struct edl_error *ret)
{
    if (process != NULL && process->reason[0] != '\0')
        (void)edl_error_set(ret, EDL_ESTALE, "%s of job %s has ended: %s", session->process_name,
                            session->job, process->reason);
    else
        (void)edl_error_set(ret, EDL_ESTALE, "%s of job %s has ended", session->process_name,
                            session->job);
    (void)edl_error_remedy(ret, "`edl logs %s` has what it wrote", session->job);
}

static void end_without_process(struct session *session)
{
    const struct process *process =
        process_ref_find(session->scheduler, &session->process, &(struct edl_error){ 0 });
    struct edl_error why = { 0 };

    describe_gone(session, process, &why);
    session_end(session, SESSION_PROCESS_GONE, &why);
}

/* look - whether there is still what it looks into */
static void look(struct session *session)
{
    struct scheduler *scheduler = session->scheduler;
    const struct node *node = cluster_node(scheduler->cluster, session->node);
    const struct job *job = cluster_job(scheduler->cluster, session->process.job_id);
    const struct process *process =
        job != NULL ? job_find_process(job, session->process.role, session->process.index,
                                       session->process.incarnation)
                    : NULL;
    struct edl_error why = { 0 };

    if (session->state == SESSION_OVER || scheduler->degraded.on)
        return;
    if (node == NULL || node->state == NODE_LOST) {
        (void)edl_error_set(&why, -ECONNRESET, "node %s is %s", session->node,
                            node == NULL ? "removed" : "lost");
        (void)edl_error_remedy(&why, "`edl why %s` tells what becomes of the job", session->job);
        session_end(session, SESSION_NODE_GONE, &why);
        return;
    }
    if (session->gone_us != 0 || (process != NULL && !process_state_is_final(process->state)))
        return;
    session->gone_us = now_us(); /* the node has to say how it ended, and the last of its output */
    arm(session, session->gone_us + FAREWELL_US);
}

void sessions_look(struct scheduler *scheduler)
{
    struct session *session;

    DL_FOREACH(scheduler->sessions.list, session)
    look(session);
}

/* --- the timer --- */

static void end_if_idle(struct session *session, uint64_t now)
{
    struct edl_error why = { 0 };
    uint64_t bytes = session->bytes[SESSION_PERSON] + session->bytes[SESSION_NODE];

    if (!session_moves_look(&session->moves, bytes, now,
                            session->scheduler->options.sessions.idle_us) ||
        session->state != SESSION_OPEN)
        return;
    (void)edl_error_set(&why, -ETIMEDOUT, "nothing has moved in it for %" PRIu64 " s",
                        session_moves_idle_us(&session->moves, now) / USEC_PER_SEC);
    (void)edl_error_remedy(&why, "session-idle in the scheduler's scheduler.conf says for how long"
                                 " one may stand still");
    session_end(session, SESSION_IDLE, &why);
}

void session_hear_node(struct session *session)
{
    (void)sd_event_now(session->scheduler->event, CLOCK_BOOTTIME, &session->heard_us);
}

/* farewell_us - when a session whose process has ended is over, if its node does not end it. What
 * waits for a person to read it is not cut off: session-idle bounds that. */
static uint64_t farewell_us(const struct session *session, uint64_t now)
{
    const struct session_side *node = &session->sides[SESSION_NODE];
    uint64_t until = session->gone_us + FAREWELL_US;

    if (node->ring.n > 0 && session->sides[SESSION_PERSON].out != NULL)
        return MAX_OF(until, now + BEAT_US);
    if (node->in == NULL || session->heard_us == 0)
        return until;
    return MAX_OF(until, session->heard_us + NODE_SILENT_US);
}

static uint64_t next_look_us(const struct session *session, uint64_t now)
{
    uint64_t idle_us = session->scheduler->options.sessions.idle_us;
    uint64_t next = now + BEAT_US;

    if (session->state == SESSION_WAITS && !has_come(session, SESSION_NODE))
        next = MIN_OF(next, session->since_us + SESSION_NODE_WAIT_S * USEC_PER_SEC);
    if (session->state == SESSION_WAITS && !has_come(session, SESSION_PERSON))
        next = MIN_OF(next, session->since_us + SESSION_PERSON_WAIT_S * USEC_PER_SEC);
    if (session->state == SESSION_OPEN)
        next = MIN_OF(next, session->moves.moved_us + idle_us);
    if (session->gone_us != 0)
        next = MIN_OF(next, farewell_us(session, now));
    if (session_pipe_is_left(session))
        next = MIN_OF(next, now + SOON_US);
    return MAX_OF(next, now + ACCURACY_US);
}

static void look_at_living(struct session *session, uint64_t now)
{
    session_pipe_sweep(session);
    recheck(session);
    end_if_idle(session, now);
    if (session->state == SESSION_WAITS && !has_come(session, SESSION_NODE) &&
        now >= session->since_us + SESSION_NODE_WAIT_S * USEC_PER_SEC)
        end_late(session, SESSION_NODE);
    else if (session->state == SESSION_WAITS && !has_come(session, SESSION_PERSON) &&
             now >= session->since_us + SESSION_PERSON_WAIT_S * USEC_PER_SEC)
        end_late(session, SESSION_PERSON);
    else if (session->gone_us != 0 && now >= farewell_us(session, now))
        end_without_process(session);
    if (session->state != SESSION_OVER)
        arm(session, next_look_us(session, now));
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct session *session = userdata;
    uint64_t now = now_us();

    (void)source;
    (void)time_us;
    if (session->state != SESSION_OVER)
        look_at_living(session, now);
    else if (session_pipe_cut(session))
        arm(session, now + SOON_US);
    else if (now < session->since_us + KEPT_US)
        arm(session, session->since_us + KEPT_US);
    else
        forget(session);
    return 0;
}

/* --- its beginning --- */

static int check_number(const struct scheduler *scheduler, const struct caller *caller,
                        struct edl_error *error)
{
    const struct session_limits *limits = &scheduler->options.sessions;
    const struct session *session;
    unsigned n = 0;

    DL_FOREACH(scheduler->sessions.list, session)
    n += !session_is_over(session) && streq(session->user, caller->user);
    if (caller->role < USER_ADMIN && limits->user > 0 && n >= limits->user) {
        (void)edl_error_set(error, EDL_ETOOMANY, "%s has as many sessions as one user may: %u",
                            caller->user, n);
        return edl_error_remedy(error, "end one; sessions-user in scheduler.conf says how many");
    }
    if (limits->all == 0 || fair_share_has_room(n, scheduler->sessions.n_open, limits->all))
        return 0;
    (void)edl_error_set(error, EDL_ETOOMANY,
                        "as many sessions as may be are there already: %u, %u of them of %s",
                        scheduler->sessions.n_open, n, caller->user);
    return edl_error_remedy(error, "end one; sessions-max in scheduler.conf says how many");
}

/* make_room - those that ended of late are told of for a minute, but not any number of them */
static void make_room(struct scheduler *scheduler)
{
    const struct session_limits *limits = &scheduler->options.sessions;
    struct session *session, *next;
    uint64_t most = limits->all * KEPT_TIMES;

    DL_FOREACH_SAFE(scheduler->sessions.list, session, next)
    {
        if (most == 0 || scheduler->sessions.n < most)
            return;
        if (session->state == SESSION_OVER && !session_pipe_cut(session))
            forget(session);
    }
}

static void set_names(struct session *session, const struct http_request *request,
                      const struct process *process)
{
    const struct job *job = process->job;

    (void)snprintf(session->owner, sizeof session->owner, "%s", job->user);
    (void)snprintf(session->job, sizeof session->job, "%s", job->spec->name);
    (void)snprintf(session->node, sizeof session->node, "%s", process->node_name);
    (void)snprintf(session->process_name, sizeof session->process_name, "%s-%u",
                   job->spec->roles[process->role].name, process->index);
    (void)snprintf(session->request_id, sizeof session->request_id, "%s", http_request_id(request));
}

static json_t *make_order(const struct session *session, const struct process *process,
                          json_t *members)
{
    const struct job *job = process->job;
    json_t *order =
        json_pack("{s:s,s:I,s:s,s:s,s:I,s:I,s:s,s:s}", "session", session->id, "job_id",
                  (json_int_t)job->id, "job", job->spec->name, "role",
                  job->spec->roles[process->role].name, "index", (json_int_t)process->index,
                  "incarnation", (json_int_t)process->incarnation, "kind",
                  session_kind_to_string(session->kind), "user", session->user);

    (void)json_object_update_missing(order, members);
    return order;
}

static int make_id(char ret[SESSION_ID_HEX + 1], struct edl_error *error)
{
    char token[TOKEN_HEX + 1];
    int r = auth_make_token(token, error);

    if (r == 0)
        (void)snprintf(ret, SESSION_ID_HEX + 1, "%.*s", SESSION_ID_HEX, token);
    return r;
}

int session_begin(struct scheduler *scheduler, struct http_request *request,
                  const struct session_wish *wish, struct session **ret, struct edl_error *error)
{
    struct caller caller = { .user = "" };
    struct session *session;
    int r;

    (void)auth_caller(scheduler, request, &caller);
    r = check_number(scheduler, &caller, error);
    if (r < 0)
        return r;
    make_room(scheduler);
    session = xcalloc(1, sizeof *session);
    session->scheduler = scheduler;
    r = make_id(session->id, error);
    if (r == 0 && sd_event_add_time(scheduler->event, &session->timer, CLOCK_BOOTTIME, 0,
                                    ACCURACY_US, on_timer, session) < 0)
        r = edl_error_set(error, -EIO, "the event loop takes no timer");
    if (r < 0) {
        free(session);
        return r;
    }
    (void)snprintf(session->user, sizeof session->user, "%s", caller.user);
    (void)snprintf(session->via, sizeof session->via, "%s", caller.via);
    set_names(session, request, wish->process);
    session->kind = wish->kind;
    session->process = process_ref_of(wish->process);
    session->order = make_order(session, wish->process, wish->members);
    session->ends_job = wish->ends_job;
    session->since_wall_us = clock_instant().wall_us;
    session->since_us = now_us();
    session_moves_begin(&session->moves, session->since_us);
    for (size_t i = 0; i < SESSION_SIDES; i++)
        session->sides[i].session = session;
    DL_APPEND(scheduler->sessions.list, session);
    scheduler->sessions.n++;
    scheduler->sessions.n_open++;
    scheduler->sessions.begun++;
    arm(session, next_look_us(session, session->since_us));
    session_note_begin(session);
    wake_node(scheduler, session->node);
    *ret = session;
    return 0;
}

/* --- as it is told --- */

void sessions_order(const struct scheduler *scheduler, const char *node, json_t *orders)
{
    const struct session *session;
    json_t *array = NULL;

    DL_FOREACH(scheduler->sessions.list, session)
    {
        if (session->state == SESSION_OVER || !streq(session->node, node))
            continue;
        if (array == NULL)
            array = json_array();
        (void)json_array_append(array, session->order);
    }
    if (array != NULL)
        (void)json_object_set_new(orders, "sessions", array);
}

json_t *session_to_json(const struct session *session)
{
    const json_t *command = json_object_get(session->order, "command");
    uint64_t now = now_us();
    uint64_t until = session->state == SESSION_OVER ? session->since_us : now;

    return json_pack("{s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:o,s:s,s:I,s:I,s:I,s:I}", "session",
                     session->id, "user", session->user, "job", session->job, "job_id",
                     (json_int_t)session->process.job_id, "process", session->process_name, "node",
                     session->node, "kind", session_kind_to_string(session->kind), "command",
                     command != NULL ? json_deep_copy(command) : json_array(), "state",
                     states[session->state], "since_us",
                     (json_int_t)clock_shown_us(session->since_wall_us), "idle_us",
                     (json_int_t)session_moves_idle_us(&session->moves, until), "in_bytes",
                     (json_int_t)session->bytes[SESSION_PERSON], "out_bytes",
                     (json_int_t)session->bytes[SESSION_NODE]);
}

json_t *session_state_to_json(const struct session *session)
{
    json_t *json = session_to_json(session);

    if (session->state != SESSION_OVER)
        return json;
    (void)json_object_set_new(json, "cause", json_string(session_cause_to_string(session->cause)));
    (void)json_object_set_new(json, "reason", json_string(session->why.text));
    (void)json_object_set_new(json, "remedy", json_string(session->why.remedy));
    return json;
}

json_t *session_made_to_json(const struct scheduler *scheduler, const struct session *session)
{
    const json_t *order = session->order;

    return json_pack("{s:s,s:s,s:s,s:O,s:O,s:O,s:s,s:I}", "session", session->id, "job",
                     session->job, "process", session->process_name, "role",
                     json_object_get(order, "role"), "index", json_object_get(order, "index"),
                     "incarnation", json_object_get(order, "incarnation"), "node", session->node,
                     "idle_s", (json_int_t)(scheduler->options.sessions.idle_us / USEC_PER_SEC));
}
