/* SPDX-License-Identifier: Apache-2.0 */
/* http_request.c - one request: its input, its body within bounds, and the answer */
#include "shared/http_internal.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#include <inttypes.h>

struct http_request *http_request_new(struct http_server *server, struct MHD_Connection *connection,
                                      const char *target)
{
    struct http_request *request = xcalloc(1, sizeof *request);

    request->server = server;
    request->connection = connection;
    request->target = xstrdup(target);
    request->path = xstrdup(target);
    (void)snprintf(request->id, sizeof request->id, "%016" PRIx64 "-%" PRIx64, server->id_prefix,
                   ++server->id_next);
    server->n_requests++;
    return request;
}

static void drop_headers(struct http_request *request, size_t from)
{
    while (request->n_headers > from) {
        struct http_pair *header = &request->headers[--request->n_headers];

        free((char *)header->name);
        free((char *)header->value);
    }
}

void http_request_done(struct http_request *request)
{
    request->watch = sd_event_source_disable_unref(request->watch);
    if (request->deferred && request->status == 0 && request->on_gone != NULL)
        request->on_gone(request, request->gone_userdata);
    if (request->stream != NULL)
        http_stream_gone(request->stream);
    if (request->sinking)
        request->route->sink->end(request, request->server->config.userdata);
    http_request_keep(request, NULL, NULL);
    request->server->n_requests--;
    http_request_release(request);
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    drop_headers(request, 0);
    free(request->arguments);
    free(request->target);
    free(request->path);
    free(request->segments);
    free(request->query);
    free(request->body);
    free(request->unread);
    json_decref(request->json);
    free(request);
}

uint64_t http_request_announced_bytes(const struct http_request *request)
{
    const char *text = http_request_header(request, "Content-Length");
    uint64_t size = 0;

    if (text != NULL && parse_u64(text, &size) == -ERANGE)
        return UINT64_MAX;
    return size;
}

/* What is in memory of those who may hold less than all of it. */
static int refuse_more(struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ETOOMANY,
                        "the bodies of your calls, or of all, take as much memory as they may");
    return edl_error_remedy(error, "send fewer of them at once, or try again in a moment");
}

/* begin_sink - last of all checks: what refuses the request has done so */
static int begin_sink(struct http_request *request, struct edl_error *error)
{
    const struct http_sink *sink = request->route->sink;
    int r = sink != NULL ? sink->begin(request, request->server->config.userdata, error) : 0;

    request->sinking = sink != NULL && r >= 0 && request->status == 0;
    return r;
}

/* refuse_at_the_end - a server that ends begins nothing that may have to wait: nobody would wake it
 */
static int refuse_at_the_end(const struct http_request *request, struct edl_error *error)
{
    return request->server->closing ? edl_error_set(error, -EAGAIN, "the server is stopping") : 0;
}

void http_request_begin(struct http_request *request, const char *method, const char *version)
{
    struct edl_error error = { 0 };
    int r;

    request->begun = true;
    (void)snprintf(request->method, sizeof request->method, "%s", method);
    r = refuse_at_the_end(request, &error);
    if (r >= 0)
        r = http_check_head(request, method, version, &error);
    request->malformed = r == -EINVAL;
    if (request->malformed)
        http_reply_header(request, "Connection", "close");
    if (r >= 0)
        r = http_parse_target(request, &error);
    if (r >= 0)
        r = http_match_route(request, &error);
    if (r >= 0)
        http_request_admit(request);
    else
        http_reply_error(request, &error);
}

/* Before the body, so that nobody unknown fills our memory. */
void http_request_admit(struct http_request *request)
{
    const struct http_server_config *config = &request->server->config;
    struct edl_error error = { 0 };
    int r = 0;

    request->parked = false;
    if (request->status != 0) /* it was answered while it waited */
        return;
    if (config->authorise != NULL)
        r = config->authorise(request, request->route, config->userdata, &error);
    if (r > 0) {
        request->parked = true;
        return;
    }
    if (r >= 0)
        r = http_check_query(request, &error);
    if (r >= 0)
        http_request_bound(request);
    if (r >= 0 && http_request_announced_bytes(request) > request->bounds.bytes)
        r = http_request_refuse_body(request, &error);
    if (r >= 0 && request->route->sink == NULL &&
        !http_request_may_hold(request, http_request_announced_bytes(request)))
        r = refuse_more(&error);
    if (r >= 0)
        r = begin_sink(request, &error);
    if (r < 0)
        http_reply_error(request, &error);
}

bool http_request_wants_early(const struct http_request *request)
{
    return request->malformed || http_request_header(request, "Expect") != NULL ||
           http_request_header(request, "Transfer-Encoding") != NULL || /* it may have no end */
           http_request_announced_bytes(request) > HTTP_DRAIN_BYTES;
}

/* keep - the piece is a part of request->body; EDL_ETOOMANY: there is no room for it */
static int keep(struct http_request *request, const char *data, size_t size,
                struct edl_error *error)
{
    uint64_t announced = http_request_announced_bytes(request);
    size_t most = announced > 0 ? MIN_OF(announced, request->bounds.bytes) : request->bounds.bytes;
    size_t room = request->body_room;

    if (request->body_size + size > room) {
        room = MIN_OF(MAX_OF(room * 2, request->body_size + size), most);
        if (!http_request_hold(request, room))
            return refuse_more(error);
        request->body_room = room;
        request->body = xreallocarray(request->body, room + 1, 1);
    }
    memcpy(request->body + request->body_size, data, size);
    request->body[request->body_size + size] = '\0';
    return 0;
}

static void drop_body(struct http_request *request)
{
    free(TAKE_PTR(request->body));
    request->body_size = request->body_room = 0;
    http_request_release(request);
}

int http_request_append(struct http_request *request, const char *data, size_t size)
{
    struct edl_error error = { 0 };
    size_t cap = request->bounds.bytes;
    int r = 0;

    if (request->status == 0 && size > cap - request->body_size) {
        (void)http_request_refuse_body(request, &error);
        http_reply_error(request, &error);
        drop_body(request);
    }
    if (request->status != 0) { /* answered already: read on, keep nothing */
        request->dropped_bytes += size;
        return request->dropped_bytes > HTTP_DRAIN_BYTES ? -EPIPE : 0;
    }
    if (!request->sinking)
        r = keep(request, data, size, &error);
    else if ((r = refuse_at_the_end(request, &error)) == 0)
        r = request->route->sink->take(request, data, size, request->server->config.userdata,
                                       &error);
    if (r < 0)
        http_reply_error(request, &error);
    if (r < 0 && !request->sinking)
        drop_body(request);
    else
        request->body_size += size;
    if (r > 0)
        return 1;
    /* While the body rested the end may have come behind the last of it: one edge for both, which
     * libmicrohttpd takes for data only. It would find out when the connection has been idle. */
    return request->rested && http_request_is_cut_off(request) ? -EPIPE : 0;
}

const char *http_request_method(const struct http_request *request)
{
    return request->method;
}

const char *http_request_path(const struct http_request *request)
{
    return request->path;
}

const char *http_request_target(const struct http_request *request)
{
    return request->target;
}

const char *http_request_id(const struct http_request *request)
{
    return request->id;
}

const char *http_request_param(const struct http_request *request, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < request->n_params; i++)
        if (strncmp(request->params[i].name, name, length) == 0 &&
            request->params[i].name[length] == '}')
            return request->params[i].value;
    return NULL;
}

const char *http_request_query(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_arguments; i++)
        if (streq(request->arguments[i].name, name))
            return request->arguments[i].value;
    return NULL;
}

int http_request_query_u64(const struct http_request *request, const char *name, uint64_t fallback,
                           uint64_t *ret, struct edl_error *error)
{
    const char *text = http_request_query(request, name);

    if (text == NULL) {
        *ret = fallback;
        return 0;
    }
    if (parse_u64(text, ret) < 0)
        return edl_error_set(error, -EINVAL, "the query's %s is \"%s\", not a whole number", name,
                             text);
    return 0;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_request_body(const struct http_request *request, size_t *ret_size)
{
    if (ret_size != NULL)
        *ret_size = request->body_size;
    return request->body != NULL ? request->body : "";
}

const struct http_route *http_request_route(const struct http_request *request)
{
    return request->route;
}

void http_request_set_data(struct http_request *request, void *data)
{
    request->data = data;
}

void *http_request_data(const struct http_request *request)
{
    return request->data;
}

void http_request_keep(struct http_request *request, void *take_thing, void (*drop)(void *thing))
{
    void *before = request->kept;

    request->kept = take_thing;
    if (before != NULL)
        request->drop(before);
    request->drop = drop;
}

void *http_request_kept(const struct http_request *request)
{
    return request->kept;
}

void http_request_again(struct http_request *request)
{
    drop_headers(request, request->n_own_headers);
    json_decref(TAKE_PTR(request->json));
    free(TAKE_PTR(request->unread));
    request->read = false;
}

void http_request_defer(struct http_request *request,
                        void (*on_gone)(struct http_request *, void *), void *userdata)
{
    request->deferred = true;
    request->on_gone = on_gone;
    request->gone_userdata = userdata;
}

void http_request_go_on(struct http_request *request)
{
    request->deferred = false;
    request->on_gone = NULL; /* what it would be told of is over */
    request->rested = true;
    http_request_detach(request);
}

/* A connection that is suspended is looked at by nobody else. When it is resumed without an answer,
 * on_request closes it. */
static int on_left(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct http_request *request = userdata;

    (void)source;
    (void)fd;
    (void)events;
    request->left = true;
    http_request_detach(request);
    return 0;
}

void http_request_watch(struct http_request *request)
{
    sd_event *event = sd_event_source_get_event(request->server->io_source);
    int fd = http_request_peer_fd(request);

    if (request->watch == NULL && fd >= 0)
        (void)sd_event_add_io(event, &request->watch, fd, EPOLLRDHUP, on_left, request);
}
