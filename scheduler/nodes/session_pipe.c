/* SPDX-License-Identifier: Apache-2.0 */
/* session_pipe.c - the four requests of a session, and the two rings between them
 *
 * A piece of a body is at most as long as what libmicrohttpd reads at once, so a ring that has room
 * for one more such piece takes it whole; else the request rests until the reader has made room. A
 * stream writes one piece at a time. So each connection moves one piece in a pass of the loop. */
#include "scheduler/nodes/sessions_internal.h"

#include <errno.h>
#include <sys/epoll.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define TYPE "application/octet-stream"
/* A side says something each 15 s; so long it may stand still (Ctrl-Z, a laptop that sleeps). */
#define SILENT_S 300

static enum session_who who(const struct session_side *side)
{
    return side == &side->session->sides[SESSION_PERSON] ? SESSION_PERSON : SESSION_NODE;
}

static struct session_side *other(const struct session_side *side)
{
    return &side->session->sides[SESSION_SIDES - 1 - who(side)];
}

/* --- whose request it is --- */

static int refuse_unknown(struct edl_error *error)
{
    (void)edl_error_set(error, -ENOENT, "there is no such session");
    return edl_error_remedy(error, "one that was there is forgotten a minute after its end, or when"
                                   " the scheduler is restarted");
}

static int find_of_node(struct scheduler *scheduler, const struct http_request *request,
                        struct session_side **ret, struct edl_error *error)
{
    struct session *session = sessions_find(scheduler, http_request_param(request, "session"));

    if (session == NULL || !streq(session->node, http_request_param(request, "node")))
        return refuse_unknown(error);
    *ret = &session->sides[SESSION_NODE];
    return 0;
}

static int find_of_person(struct scheduler *scheduler, const struct http_request *request,
                          struct session_side **ret, struct edl_error *error)
{
    struct session *session = sessions_find(scheduler, http_request_param(request, "session"));
    struct caller caller = { .user = "" };

    if (session == NULL)
        return refuse_unknown(error);
    (void)auth_caller(scheduler, request, &caller);
    if (!streq(session->user, caller.user))
        return edl_error_set(error, -EACCES, "the session is one of %s, and you are %s",
                             session->user, caller.user);
    *ret = &session->sides[SESSION_PERSON];
    return 0;
}

/* check_state - a request that comes: whether the session has a place for it */
static int check_state(const struct scheduler *scheduler, const struct session *session, bool came,
                       struct edl_error *error)
{
    if (scheduler->leaving.on)
        return edl_error_set(error, -EAGAIN, "the scheduler is stopping");
    if (session->state == SESSION_OVER) {
        (void)edl_error_set(error, EDL_ECOMPACTED, "the session is over: %s", session->why.text);
        return session->why.remedy[0] != '\0' ? edl_error_remedy(error, "%s", session->why.remedy)
                                              : error->code;
    }
    if (came)
        return edl_error_set(error, EDL_EBADTRANSITION,
                             "this request of the session was made already, and is made once");
    return 0;
}

/* --- in --- */

/* The end of a connection may be seen here alone (http_request_abandoned). */
static int on_leave(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct session_side *side = userdata;

    (void)fd;
    (void)events;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (side->session->state != SESSION_OVER) /* else its timer is the one that cuts */
        session_look_soon(side->session);
    return 0;
}

static void go_on_in(void *userdata)
{
    const struct session_side *side = userdata;

    http_request_go_on(side->in);
}

static int begin_in(struct scheduler *scheduler, struct session_side *side,
                    struct http_request *request, struct edl_error *error)
{
    int r = check_state(scheduler, side->session, side->came_in, error);

    if (r < 0)
        return r;
    r = sd_event_add_io(scheduler->event, &side->leave, http_request_peer_fd(request), EPOLLRDHUP,
                        on_leave, side);
    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    side->in = request;
    side->came_in = true;
    side->in_turn = (struct session_turn){ .go_on = go_on_in, .userdata = side };
    http_request_set_data(request, side);
    http_request_set_idle(request, SILENT_S);
    session_settle(side->session);
    return 0;
}

static int begin_person(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct session_side *side = NULL;
    int r = find_of_person(userdata, request, &side, error);

    return r < 0 ? r : begin_in(userdata, side, request, error);
}

static int begin_node(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct session_side *side = NULL;
    int r = find_of_node(userdata, request, &side, error);

    return r < 0 ? r : begin_in(userdata, side, request, error);
}

static int on_take(struct http_request *request, const void *data, size_t size, void *userdata,
                   struct edl_error *error)
{
    struct session_side *side = http_request_data(request);
    struct session *session = side->session;
    struct scheduler *scheduler = userdata;
    struct http_stream *stream = other(side)->stream;

    if (session->state == SESSION_OVER) /* nobody reads it any more */
        return 0;
    if (size > session_ring_room(&side->ring))
        return edl_error_set(error, -E2BIG, "more came at once than is read at once");
    session_ring_put(&side->ring, data, size);
    session->bytes[who(side)] += size;
    if (who(side) == SESSION_NODE)
        session_hear_node(session);
    scheduler->sessions.bytes[who(side)] += size;
    if (stream != NULL)
        http_stream_wake(stream);
    side->rests = session_ring_room(&side->ring) < HTTP_PIECE_BYTES;
    if (side->rests || session_turns_may(&scheduler->sessions.turns, size))
        return side->rests;
    session_turns_wait(&scheduler->sessions.turns, &side->in_turn);
    return 1;
}

static void on_in_over(struct http_request *request, void *userdata)
{
    struct session_side *side = http_request_data(request);

    (void)userdata;
    side->in = NULL;
    session_turns_leave(&side->session->scheduler->sessions.turns, &side->in_turn);
    side->leave = sd_event_source_disable_unref(side->leave);
    side->rests = false;
    session_settle(side->session);
}

const struct http_sink session_person_sink = { begin_person, on_take, on_in_over };
const struct http_sink session_node_sink = { begin_node, on_take, on_in_over };

static void end_in(struct http_request *request)
{
    struct session_side *side = http_request_data(request);

    side->whole = true;
    http_reply_json(request, 204, NULL);
    session_settle(side->session);
}

void session_person_in(struct http_request *request, void *userdata)
{
    (void)userdata;
    end_in(request);
}

void session_node_in(struct http_request *request, void *userdata)
{
    (void)userdata;
    end_in(request);
}

/* --- out --- */

/* is_told - the reader has had all that there will be */
static bool is_told(const struct session_side *reader)
{
    const struct session_side *writer = other(reader);
    bool over = reader->session->state == SESSION_OVER || (writer->came_in && writer->in == NULL) ||
                writer->whole;

    return over && writer->ring.n == 0;
}

static void go_on_out(void *userdata)
{
    const struct session_side *reader = userdata;

    http_stream_wake(reader->stream);
}

static void on_room(struct http_stream *stream, void *userdata)
{
    struct session_side *reader = userdata;
    struct session_side *writer = other(reader);
    struct session_turns *turns = &reader->session->scheduler->sessions.turns;
    size_t size;
    const uint8_t *data = session_ring_look(&writer->ring, http_stream_room(stream), &size);

    if (!session_turns_may(turns, size)) {
        session_turns_wait(turns, &reader->out_turn);
        return;
    }
    if (size > 0)
        http_stream_write(stream, data, size);
    session_ring_drop(&writer->ring, size);
    if (writer->rests && session_ring_room(&writer->ring) >= HTTP_PIECE_BYTES) {
        writer->rests = false;
        http_request_go_on(writer->in);
    }
    if (!is_told(reader))
        return;
    http_stream_end(stream);
    session_settle(reader->session);
}

static void on_out_over(struct http_stream *stream, void *userdata)
{
    struct session_side *reader = userdata;

    (void)stream;
    reader->stream = NULL;
    reader->out = NULL;
    session_turns_leave(&reader->session->scheduler->sessions.turns, &reader->out_turn);
    session_settle(reader->session);
}

static int begin_out(struct scheduler *scheduler, struct session_side *side,
                     struct http_request *request, struct edl_error *error)
{
    int r = check_state(scheduler, side->session, side->came_out, error);

    if (r < 0)
        return r;
    side->out = request;
    side->came_out = true;
    side->out_turn = (struct session_turn){ .go_on = go_on_out, .userdata = side };
    http_request_set_idle(request, SILENT_S);
    http_reply_header(request, "Cache-Control", "no-store");
    http_reply_header(request, "X-Accel-Buffering", "no"); /* a proxy must not wait for more */
    side->stream = http_stream_begin(request, 200, TYPE,
                                     &(struct http_stream_config){ .on_room = on_room,
                                                                   .on_gone = on_out_over,
                                                                   .measured = true,
                                                                   .watched = true,
                                                                   .userdata = side });
    session_settle(side->session);
    return 0;
}

void session_person_out(struct http_request *request, void *userdata)
{
    struct session_side *side = NULL;
    struct edl_error error = { 0 };

    if (find_of_person(userdata, request, &side, &error) < 0 ||
        begin_out(userdata, side, request, &error) < 0)
        http_reply_error(request, &error);
}

void session_node_out(struct http_request *request, void *userdata)
{
    struct session_side *side = NULL;
    struct edl_error error = { 0 };

    if (find_of_node(userdata, request, &side, &error) < 0 ||
        begin_out(userdata, side, request, &error) < 0)
        http_reply_error(request, &error);
}

/* --- the end --- */

void session_pipe_close(struct session *session)
{
    struct session_side *node = &session->sides[SESSION_NODE];

    session_ring_clear(&session->sides[SESSION_PERSON].ring); /* nobody acts on it any more */
    if (!session->sides[SESSION_PERSON].came_out || session->sides[SESSION_PERSON].out == NULL)
        session_ring_clear(&node->ring);
    for (size_t i = 0; i < SESSION_SIDES; i++) {
        struct session_side *side = &session->sides[i];

        if (side->rests || side->in_turn.waits) {
            side->rests = false;
            session_turns_leave(&session->scheduler->sessions.turns, &side->in_turn);
            http_request_go_on(side->in);
        }
        if (side->stream != NULL && other(side)->ring.n == 0)
            http_stream_end(side->stream);
        else if (side->stream != NULL)
            http_stream_wake(side->stream);
    }
}

bool session_pipe_cut(struct session *session)
{
    bool any = false;

    for (size_t i = 0; i < SESSION_SIDES; i++) {
        struct session_side *side = &session->sides[i];

        any = any || side->in != NULL || side->out != NULL;
        side->rests = false;
        session_turns_leave(&session->scheduler->sessions.turns, &side->in_turn);
        if (side->in != NULL)
            http_request_cut(side->in);
        if (side->out != NULL)
            http_request_cut(side->out);
    }
    return any;
}

void session_pipe_sweep(struct session *session)
{
    for (size_t i = 0; i < SESSION_SIDES; i++) {
        struct http_request *in = session->sides[i].in;

        if (in != NULL && http_request_abandoned(in))
            http_request_cut(in);
    }
}

bool session_pipe_is_left(const struct session *session)
{
    for (size_t i = 0; i < SESSION_SIDES; i++)
        if (session->sides[i].in != NULL && http_request_leaves(session->sides[i].in))
            return true;
    return false;
}
