/* SPDX-License-Identifier: Apache-2.0 */
/* http_internal.h - what http_server.c and http_request.c share; nobody else includes it
 *
 * Life of a request: http_request_new at the request line, http_request_begin when the headers are
 * in, http_request_append per piece of body. Then the route's handler at the end, and
 * http_request_done when the answer is sent or the connection is lost. An answer given early
 * (unknown path, no permission, body too large) is kept in response while the rest of the body is
 * dropped. */
#pragma once

#include "shared/document_bounds.h"
#include "shared/http_server.h"

#include <microhttpd.h>
#include <stdbool.h>

enum {
    HTTP_PARAMS_MAX = 8,
    HTTP_REPLY_HEADERS_MAX = 8,
    HTTP_DEFAULT_BODY_BYTES = 64 * 1024,
    /* a refused body up to this size is read and dropped, so that the client sees the answer and
     * the connection lives on; a larger one costs it the connection */
    HTTP_DRAIN_BYTES = 16 * 1024 * 1024,
};

struct http_pair {
    const char *name;
    const char *value;
};

struct http_guard;
struct http_tls;

struct http_server {
    struct http_guard *guard;   /* owned; NULL: no limits */
    struct http_tls *tls;       /* owned; NULL: plain HTTP */
    sd_event_source *io_source; /* owned */
    sd_event_source *timer;     /* owned */
    sd_event_source *again;     /* owned */
    struct MHD_Daemon *daemon;  /* owned */
    struct http_server_config config;
    struct http_request *deferred; /* suspended requests; they belong to their connections */
    unsigned n_deferred;
    uint64_t *answers; /* owned: HTTP_STATUS_CLASSES for each route, then for no route */
    unsigned n_requests;
    uint64_t id_prefix;
    uint64_t id_next;
    /* CLOCK_MONOTONIC: when the loop began to wait, and when whatever came last may have come */
    uint64_t waits_us, since_us;
    bool running; /* inside MHD_run */
    bool resumed; /* a connection was resumed since MHD_run began: run it again at once */
    bool closing;
};

struct http_request {
    struct http_server *server;        /* borrowed */
    struct MHD_Connection *connection; /* borrowed */
    const struct http_route *route;    /* borrowed; NULL when none matched */
    char id[40];
    char method[16];
    char *target;                             /* owned: as received, "/jobs/a%2Fb?x=1" */
    char *path;                               /* owned: target without the query, not decoded */
    char *segments;                           /* owned: path, split and decoded in place */
    char *query;                              /* owned: query, split and decoded in place */
    struct http_pair params[HTTP_PARAMS_MAX]; /* names point into the route table's paths */
    size_t n_params;
    struct http_pair *arguments; /* owned array, point into query */
    size_t n_arguments;
    struct http_pair headers[HTTP_REPLY_HEADERS_MAX]; /* of the answer; owned strings */
    size_t n_headers;
    size_t n_own_headers; /* of them, that were there before its handler was called */
    char *body;           /* owned, NUL-terminated */
    size_t body_size;
    size_t body_room;
    struct document_bounds bounds; /* of the body, once its caller may */
    json_t *json;                  /* owned: the body as it was read; NULL: unread says why not */
    struct edl_error *unread;      /* owned */
    uint64_t dropped_bytes;
    struct MHD_Response *response; /* the answer; owned until queued */
    unsigned status;               /* of the answer; 0 = there is none yet */
    struct http_stream *stream;    /* owned; when the answer is one */
    bool begun;
    bool malformed; /* where it ends is not known: nobody waits for its body */
    bool parked;    /* whether it may is not known yet */
    bool rested;    /* http_request_go_on was called */
    bool sinking;   /* the route's sink began and has not ended */
    bool read;      /* http_request_set_read was called */
    bool handled;
    bool deferred;
    bool suspended;
    bool left;              /* its client has, while it waited */
    sd_event_source *watch; /* owned; NULL: nobody looks whether it leaves */
    void (*on_gone)(struct http_request *, void *);
    void *gone_userdata;
    void *data;
    void *kept; /* owned: drop frees it */
    void (*drop)(void *kept);
    struct http_request *prev; /* in server->deferred */
    struct http_request *next;
};

struct http_request *http_request_new(struct http_server *server, struct MHD_Connection *connection,
                                      const char *target);
void http_request_done(struct http_request *request);

/* http_request_begin - finds the route, asks for permission, looks at the announced body */
void http_request_begin(struct http_request *request, const char *method, const char *version);

/* http_request_admit - the same without the route, which was found, when the request was parked */
void http_request_admit(struct http_request *request);

/* http_request_bound - fills bounds, as its route says and for whoever calls */
void http_request_bound(struct http_request *request);

/* http_request_refuse_body - -E2BIG: there is more of it, or will be, than bounds allow */
int http_request_refuse_body(const struct http_request *request, struct edl_error *error);

/* http_request_append - takes a piece of body; -EPIPE when the connection has to go; 1: the next
 * one only after http_request_go_on */
int http_request_append(struct http_request *request, const char *data, size_t size);

/* http_request_wants_early - the client waits for "100 Continue", announced more than we drop, or
 * what follows is not to be read */
bool http_request_wants_early(const struct http_request *request);

/* http_request_is_cut_off - the peer sends no more, nothing of it is unread, and the body is
 * shorter than it said */
bool http_request_is_cut_off(const struct http_request *request);

/* http_request_hold - the body takes so many bytes now; false: more than the connection's owner may
 * hold. http_request_may_hold: only whether; http_request_release: none any more */
bool http_request_hold(struct http_request *request, uint64_t bytes);
bool http_request_may_hold(const struct http_request *request, uint64_t bytes);
void http_request_release(struct http_request *request);

/* http_request_suspend - the connection rests until http_request_detach */
void http_request_suspend(struct http_request *request);

/* http_reply_response - the answer, whatever its body is; takes the response, not NULL */
void http_reply_response(struct http_request *request, unsigned status, const char *content_type,
                         struct MHD_Response *take_response);

/* http_stream_close - the server ends it, not its owner */
void http_stream_close(struct http_stream *stream);

/* http_stream_gone - tells its owner and frees it */
void http_stream_gone(struct http_stream *stream);

/* http_request_detach - takes a suspended request off the list and lets its connection run again */
void http_request_detach(struct http_request *request);

/* http_check_head - method and version: as libmicrohttpd hands them to on_request. -EINVAL with
 * error: the head can be read in more than one way, and the connection has to end. */
int http_check_head(const struct http_request *request, const char *method, const char *version,
                    struct edl_error *error);

/* http_parse_target - path segments and query arguments of request->target; -EINVAL with error */
int http_parse_target(struct http_request *request, struct edl_error *error);

/* http_match_route - fills route and params; -ENOENT: no such path, -EOPNOTSUPP: wrong method */
int http_match_route(struct http_request *request, struct edl_error *error);

/* http_check_query - -EINVAL when the query says what the request's route does not understand */
int http_check_query(const struct http_request *request, struct edl_error *error);
