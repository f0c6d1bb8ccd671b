/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.h - HTTP on the caller's event loop: a route table, JSON in and out, answers that may
 * come later
 *
 * libmicrohttpd in external-epoll mode on an sd-event loop; one thread. A handler either answers at
 * once (http_reply_*) or keeps the request (http_request_defer) and answers later, e.g. after a
 * commit or when a long poll has news. Errors are application/problem+json (RFC 9457) with
 * errors[].pointer. libmicrohttpd is named in shared/http_*.c only. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct document_bounds;
struct edl_error;
struct http_request;
struct http_server;
struct http_stream;

typedef void (*http_handler_fn)(struct http_request *request, void *userdata);

#define HTTP_QUERY_ANY "*"

#define HTTP_PIECE_BYTES ((size_t)16 * 1024) /* no piece of a body is longer */

/* A body that is taken piece by piece as it comes, and never in memory as a whole. */
struct http_sink {
    /* headers are in, the caller may, and the announced size is allowed. 0: pieces follow; negative
     * with error set; or it answers itself, when the body is not wanted (0 as well). */
    int (*begin)(struct http_request *request, void *userdata, struct edl_error *error);
    /* 0, or negative with error set; 1: no more pieces before http_request_go_on, and until then
     * the client is not read from */
    int (*take)(struct http_request *request, const void *data, size_t size, void *userdata,
                struct edl_error *error);
    /* the request is over, whatever became of it; called once for each begin that wants pieces */
    void (*end)(struct http_request *request, void *userdata);
};

struct http_route {
    const char *method;
    const char *path; /* "/jobs/{job}/processes"; a {name} matches one segment */
    http_handler_fn handler;
    uint32_t flags;        /* owner's own meaning (roles); see http_server_config.authorise */
    size_t max_body_bytes; /* 0 = 64 KiB; more is answered with 413 */
    size_t max_values;     /* of a body that is JSON; 0 = 16,384; more is answered with 413 */
    /* those two for this caller, once it may: less, if need be. NULL: they are the same for all */
    void (*narrow)(const struct http_request *request, void *userdata,
                   struct document_bounds *bounds);
    const char *too_large;        /* what to do about such a body; NULL: "send less in one call" */
    const struct http_sink *sink; /* NULL: the body is kept, see http_request_body */
    const char *summary;
    /* The keys that the query may have, a blank between; NULL: none. Any other, or one that is
     * given twice, is answered with 400 before the handler: a caller who is not understood wants
     * nothing done. HTTP_QUERY_ANY: whoever the request is passed on to decides. */
    const char *query;
    /* For whoever describes the API; the server does not look at them. */
    const char *operation; /* "submitJob" */
    const char *takes;     /* what the body is, by the name of its schema; NULL: there is none */
    const char *gives;     /* the good answer's schema, or the media type of one that is not JSON
                              (or several, a blank between); NULL: it has no body */
    uint16_t status;       /* the good answer's */
};

struct http_server_config {
    int listen_fd; /* listening TCP or Unix socket, taken over (also on failure) */
    const struct http_route *routes; /* borrowed; the first that matches counts */
    size_t n_routes;
    void *userdata; /* for every handler */
    /* headers are in, the body is not: 0 to go on, or a negative code with error set (401, 403);
     * 1: not known yet: it has deferred the request, and is asked again after http_request_go_on
     * (but not once it was answered). May be NULL. */
    int (*authorise)(struct http_request *request, const struct http_route *route, void *userdata,
                     struct edl_error *error);
    /* the request is whole: calls route->handler now, or defers the request and does so later.
     * NULL: now. */
    void (*dispatch)(struct http_request *request, const struct http_route *route, void *userdata);
    /* an answer of 401 or 403 goes out: the one place where all of them come by. May be NULL. */
    void (*refused)(const struct http_request *request, const struct edl_error *error,
                    void *userdata);
    /* a handler answers with an error of -EINPROGRESS: true: the request is deferred, and will be
     * handled again. May be NULL. */
    bool (*postpone)(struct http_request *request, void *userdata);
    unsigned max_connections; /* 0 = 1024 */
    unsigned idle_timeout_s;  /* 0 = 60 */
    /* Whoever has shown no credential (http_request_proven) holds a quarter of the connections at
     * most (1,024 in any case), each for so long; one too many costs the address (of a Unix socket:
     * the account) that has most. One owner of proven ones holds an eighth at most, and no more
     * than is left of the half that all owners have. 0: no such limits. */
    unsigned fresh_timeout_s;
    /* With such limits: what bodies of all owners may take in memory, each a fair share of it;
     * beyond is 429. 0: any, of which max_body_bytes is the bound of each. */
    uint64_t body_bytes;
    /* PEM; both or none: TLS or plain HTTP. Not kept. The server's own certificate first. */
    const char *tls_certificates;
    const char *tls_key;
};

int http_server_new(sd_event *event, const struct http_server_config *config,
                    struct http_server **ret, struct edl_error *error);

/* http_server_free - answers 503 to what is deferred, closes; accepts NULL, returns NULL
 * Not from inside a handler. */
struct http_server *http_server_free(struct http_server *server);

/* http_server_replace_certificate - of a server with TLS: what is shown from now on
 * Connections that are there go on as they are. After an error (-EINVAL) it is as it was. */
int http_server_replace_certificate(struct http_server *server, const char *certificates,
                                    const char *key, struct edl_error *error);

/* What operators watch of a server; answers count from its start. */
enum { HTTP_STATUS_CLASSES = 5 };
unsigned http_server_connections(const struct http_server *server);
unsigned http_server_waiting(const struct http_server *server); /* deferred requests */
/* http_server_answers - of a route, by its place in config.routes; n_routes: of what matched none.
 * status_class: 1 for 1xx .. 5 for 5xx */
uint64_t http_server_answers(const struct http_server *server, size_t route, unsigned status_class);
uint64_t http_server_cut_off(const struct http_server *server); /* connections, for those limits */
/* http_server_shut_out - TLS handshakes that were refused, as too many came at once */
uint64_t http_server_shut_out(const struct http_server *server);

/* What came in. All borrowed until the answer. */
const char *http_request_method(const struct http_request *request);
const char *http_request_path(const struct http_request *request); /* as received, not decoded */
const char *
http_request_target(const struct http_request *request); /* path and query as received */
/* http_request_waited_us - before it is looked at, at the longest: since the loop woke from sleep,
 * or looked and found nothing; good in config.dispatch */
uint64_t http_request_waited_us(const struct http_request *request);
const char *http_request_id(const struct http_request *request); /* what X-Request-Id will say */
const char *http_request_param(const struct http_request *request,
                               const char *name); /* path {name}; NULL */
const char *http_request_query(const struct http_request *request, const char *name);  /* NULL */
const char *http_request_header(const struct http_request *request, const char *name); /* NULL */
/* http_request_announced_bytes - how long the client says that its body is; 0 when it does not say
 * (chunked), or there is none */
uint64_t http_request_announced_bytes(const struct http_request *request);
const char *http_request_body(const struct http_request *request, size_t *ret_size);
int http_request_peer_fd(const struct http_request *request); /* SO_PEERCRED on a Unix socket */
const struct http_route *http_request_route(const struct http_request *request); /* that matched */
/* http_request_repeats - whether a header is there more than once: readers of it may differ */
bool http_request_repeats(const struct http_request *request, const char *name);
/* http_request_peer - who is at the other end, for people: "10.0.0.7", "uid 1000" on a Unix socket
 */
#define HTTP_PEER_MAX 64
const char *http_request_peer(const struct http_request *request, char ret[HTTP_PEER_MAX]);
bool http_request_is_local(const struct http_request *request); /* Unix socket or loopback */
/* Whose a connection is, and how much of the server it may hold. */
struct http_owner {
    const char *name;     /* NULL: somebody for whom there is always room, whom nothing bounds */
    unsigned connections; /* at once, at most; 0: an eighth of the server's */
    uint64_t body_bytes;  /* apart: that its bodies hold in memory, at most; 0: any */
    /* Not of what all owners share (http_server_config.fresh_timeout_s, body_bytes): whatever they
     * hold, it has room, and its oldest connection gives way to its newest. */
    bool apart;
};

/* http_request_proven - the peer has shown a credential: see http_server_config.fresh_timeout_s
 * false: the owner, or all of them together, have as many connections as they may. */
bool http_request_proven(struct http_request *request, const struct http_owner *owner);
void http_request_set_data(struct http_request *request, void *data);
void *http_request_data(const struct http_request *request);

/* http_request_keep - a thing that ends with the request at the latest: drop is called
 * for it, then or when another takes its place. NULL: none. http_request_kept - it, or NULL */
void http_request_keep(struct http_request *request, void *take_thing, void (*drop)(void *thing));
void *http_request_kept(const struct http_request *request);

/* http_request_again - a deferred request will be handled once more from the start: what its
 * handler put into the answer is forgotten, and its body can be read anew */
void http_request_again(struct http_request *request);

/* http_request_query_u64 - absent: fallback; malformed: -EINVAL with error */
int http_request_query_u64(const struct http_request *request, const char *name, uint64_t fallback,
                           uint64_t *ret, struct edl_error *error);

/* http_request_json - the body as a JSON value (new reference); -EINVAL with line and column,
 * -E2BIG: more values than bounds allow */
int http_request_json(struct http_request *request, json_t **ret, struct edl_error *error);
/* http_request_bounds - what its body may hold */
const struct document_bounds *http_request_bounds(const struct http_request *request);

/* A large body may be read beside the loop, while its request is deferred. The body is lent to
 * whoever reads it, and returned before the answer (or freed, when the request is gone). What came
 * of it is set, and is then what http_request_json tells. */
char *http_request_lend_body(struct http_request *request);
void http_request_return_body(struct http_request *request, char *take_body);
/* http_body_read - http_request_json without a request: for any thread */
int http_body_read(const char *body, size_t size, const struct document_bounds *bounds,
                   json_t **ret, struct edl_error *error);
/* http_request_set_read - take_json NULL: error says why it could not be read */
void http_request_set_read(struct http_request *request, json_t *take_json,
                           const struct edl_error *error);
bool http_request_was_read(const struct http_request *request);

/* http_request_defer - the answer comes later from any event source of the loop
 * on_gone (may be NULL) is called if the request ends without our answer (server closing); request
 * is invalid afterwards. NB: a peer that left is noticed only when we answer; keep a deadline. */
void http_request_defer(struct http_request *request,
                        void (*on_gone)(struct http_request *, void *), void *userdata);

/* http_request_go_on - no answer yet, but what the request waited for is there: more of its body
 * (http_sink.take), or whether it may (http_server_config.authorise). Not from within those two. */
void http_request_go_on(struct http_request *request);

/* http_request_watch - of a deferred request that may wait for long: on_gone is called as soon as
 * its client closes the connection, or its half of it. Without, that is seen when the answer is
 * written. */
void http_request_watch(struct http_request *request);

/* http_request_set_idle - its connection is given up when nothing has come or gone for so long, and
 * not after idle_timeout_s. Whoever waits (suspended, deferred) is not counted */
void http_request_set_idle(struct http_request *request, unsigned seconds);

/* http_request_leaves - its client sends no more than what is here; a system call.
 * http_request_abandoned - its client sends no more, and all that it sent was read: the end of its
 * body will not come. libmicrohttpd takes an end that comes together with data for data only */
bool http_request_leaves(const struct http_request *request);
bool http_request_abandoned(const struct http_request *request);

/* http_request_cut - the connection ends now, whatever is under way on it; the request is over by
 * and by */
void http_request_cut(struct http_request *request);

/* Answers; each ends the request (deferred or not). take_json is consumed; NULL is an empty body.
 */
void http_reply_json(struct http_request *request, unsigned status, json_t *take_json);
void http_reply_error(struct http_request *request, const struct edl_error *error);
/* http_reply_problem - as http_reply_error, with more members (an object; consumed) */
void http_reply_problem(struct http_request *request, const struct edl_error *error,
                        json_t *take_members);
void http_reply_text(struct http_request *request, unsigned status, const char *content_type,
                     const char *text);
void http_reply_bytes(struct http_request *request, unsigned status, const char *content_type,
                      const void *data, size_t size); /* data copied */
/* http_reply_file - the whole of an open regular file, sent as fast as the caller reads; takes fd
 */
void http_reply_file(struct http_request *request, unsigned status, const char *content_type,
                     int take_fd, uint64_t size_bytes);
/* http_reply_file_while - the same, and may is asked before each piece: false cuts it off, and the
 * client sees that it is too short */
typedef bool (*http_may_fn)(struct http_request *request, void *userdata);
void http_reply_file_while(struct http_request *request, unsigned status, const char *content_type,
                           int take_fd, uint64_t size_bytes, http_may_fn may, void *userdata);
/* before the answer: an extra header, copied */
void http_reply_header(struct http_request *request, const char *name, const char *value);

/* An answer without an end of its own. It is pulled: on_room is called when the connection takes
 * more and what was written before has gone out, and writes the next piece, or nothing and waits
 * for http_stream_wake. So nothing piles up for a reader who is slow: it holds one piece, and loses
 * its connection when it takes nothing for idle_timeout_s. Whoever left is noticed only when
 * something is written: keep a timer that writes now and then, or have it watched. */
struct http_stream_config {
    void (*on_room)(struct http_stream *stream, void *userdata);
    /* called once, last: it ended, the reader left, or the server is closing */
    void (*on_gone)(struct http_stream *stream, void *userdata);
    void *userdata;
    bool measured; /* it is whole after http_stream_end only: a server that closes cuts it off */
    bool watched;  /* it ends as soon as its reader closes the connection, or its half of it */
};
/* http_stream_begin - ends the request as http_reply_* does; the stream lives until on_gone */
struct http_stream *http_stream_begin(struct http_request *request, unsigned status,
                                      const char *content_type,
                                      const struct http_stream_config *config);
/* http_stream_write - from on_room, or right behind http_stream_begin; data copied */
void http_stream_write(struct http_stream *stream, const void *data, size_t size);
/* http_stream_room - from on_room: how much of it goes out at once */
size_t http_stream_room(const struct http_stream *stream);
/* http_stream_wake - there is something to write: on_room will be asked */
void http_stream_wake(struct http_stream *stream);
/* http_stream_end - after what was written; also from on_room */
void http_stream_end(struct http_stream *stream);
/* http_stream_break - cuts it off, and the client sees that it is too short; as http_stream_end */
void http_stream_break(struct http_stream *stream);

/* http_listen_tcp / http_listen_unix - listening sockets (CLOEXEC, non-blocking)
 * tcp: address "127.0.0.1" or "::1", port 0 = any (ret_port tells). unix: path is unlinked first,
 * mode given. */
int http_listen_tcp(const char *address, uint16_t port, uint16_t *ret_port,
                    struct edl_error *error);
int http_listen_unix(const char *path, unsigned mode, struct edl_error *error);
