/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.c - HTTP on the caller's event loop: the daemon, its wiring and the life of a request
 *
 * libmicrohttpd runs with its own epoll descriptor, which is one source of the loop. That
 * descriptor is edge-triggered inside, so the timeout it asks for is part of the contract: without
 * it large bodies and pipelined requests hang. The timeout is read in a prepare hook, once per turn
 * of the loop, after all other sources had their say. An answer given to a deferred request by any
 * of them is therefore sent in the next turn, without waiting.
 *
 * A deferred request is a suspended connection. Its answer is stored and the connection resumed;
 * the daemon then asks on_request once more, which queues what is stored. */
#include "shared/http_internal.h"

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_guard.h"
#include "shared/http_tls.h"
#include "shared/macro.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <utlist.h>

enum {
    DEFAULT_CONNECTIONS = 1024,
    DEFAULT_IDLE_S = 60,
    SPARE_CONNECTIONS = 64, /* so that a full server can still say that it is full */
    CONNECTION_MEMORY_BYTES =
        HTTP_PIECE_BYTES, /* for its headers; what it holds is touched as a whole */
    CLOSING_US = 250 * 1000,
    CLOSING_LOOK_MS = 10, /* libmicrohttpd may hold what its epoll does not show, as bytes of TLS */
    /* Who finds the kernel's queue full tries again after 1, 3, 7 s and so on. libmicrohttpd lets
     * in ten of it in a run, so it runs again while there are more, for so long. */
    ACCEPTING_US = 5 * 1000,
    SLEEP_US = 50, /* the loop waited: more than it takes to see that something is there already */
    TIMER_ACCURACY_US = 1000, /* 0 would mean the loop's default slack of 250 ms */
    FRESH_SHARE = 4,          /* of the connections, for those without a credential */
    FRESH_LEAST = 8,
    OWNER_SHARE = 8,  /* of the connections, for those of one owner */
    OWNERS_SHARE = 2, /* and for those of all owners */
    /* And so many at most: what all of them send at the same moment is read in one pass, some 100
     * ms in which nobody else is heard. */
    FRESH_MOST = 1024,
    OWNER_MOST = 1024,
};

/* TLS 1.2 and 1.3 with forward secrecy; nothing below 128 bits. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:%SERVER_PRECEDENCE"

/* note_wait - nothing had come when the loop woke before this; and what came while it slept woke it
 */
static void note_wait(struct http_server *server, bool before)
{
    uint64_t woken_us = 0;

    if (sd_event_now(sd_event_source_get_event(server->timer), CLOCK_MONOTONIC, &woken_us) != 0)
        return; /* it has not waited yet */
    if (before && sd_event_source_get_pending(server->io_source) == 0)
        server->since_us = MAX_OF(server->since_us, woken_us);
    else if (woken_us > server->waits_us + SLEEP_US)
        server->since_us = woken_us;
}

/* comes_more - somebody waits to be let in, and there is room */
static bool comes_more(const struct http_server *server)
{
    struct pollfd door = { .fd = server->config.listen_fd, .events = POLLIN };

    return !server->closing && http_server_connections(server) < server->config.max_connections &&
           poll(&door, 1, 0) == 1 && (door.revents & POLLIN) != 0;
}

static void run_daemon(struct http_server *server)
{
    struct http_tls *before = http_tls_enter(server->tls);
    uint64_t begun_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);

    assert(!server->running);
    if (server->timer != NULL) /* not at the end */
        note_wait(server, false);
    server->running = true;
    server->resumed = false;
    do
        (void)MHD_run(server->daemon);
    while (comes_more(server) && clock_read_us(CLOCK_THREAD_CPUTIME_ID) - begun_us < ACCEPTING_US);
    server->running = false;
    (void)http_tls_enter(before);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    run_daemon(userdata);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    run_daemon(userdata);
    return 0;
}

static int on_again(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    eventfd_t n;

    (void)source;
    (void)events;
    (void)eventfd_read(fd, &n);
    run_daemon(userdata);
    return 0;
}

static int on_prepare(sd_event_source *source, void *userdata)
{
    struct http_server *server = userdata;
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    uint64_t now_us = 0, armed_us = 0, at_us;
    int enabled = SD_EVENT_OFF;
    int r;

    (void)source;
    note_wait(server, true);
    server->waits_us = clock_read_us(CLOCK_MONOTONIC);
    /* why resumed: MHD_get_timeout of 0.9.75 does not know of resumed connections */
    if (!server->resumed && MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES)
        return 0; /* a timer that is still armed does no harm */
    /* Not a timer long past: the kernel's interrupt for it takes longer than all else of a pass. */
    if (timeout_ms == 0)
        return eventfd_write(sd_event_source_get_io_fd(server->again), 1) == 0 ? 0 : -errno;
    (void)sd_event_now(sd_event_source_get_event(server->timer), CLOCK_MONOTONIC, &now_us);
    (void)sd_event_source_get_enabled(server->timer, &enabled);
    (void)sd_event_source_get_time(server->timer, &armed_us);
    at_us = now_us + timeout_ms * USEC_PER_MSEC;
    /* Every request moves the first idle connection's end by a little: a timer that comes too early
     * once in a while costs less than a system call for each. */
    if (enabled != SD_EVENT_OFF && armed_us <= at_us)
        return 0;
    r = sd_event_source_set_time(server->timer, at_us);
    return r < 0 ? r : sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

/* The request line is in: the only moment at which the target is seen undecoded. */
static void *on_target(void *userdata, const char *target, struct MHD_Connection *connection)
{
    return http_request_new(userdata, connection, target);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)userdata;
    (void)connection;
    (void)code;
    if (*state != NULL)
        http_request_done(*state);
    *state = NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = userdata;
    const union MHD_ConnectionInfo *fd, *address;

    if (server->guard == NULL)
        return;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        http_guard_close(server->guard, *context);
        *context = NULL;
        return;
    }
    fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context = http_guard_open(server->guard, fd->connect_fd,
                               address != NULL ? address->client_addr : NULL);
}

static enum MHD_Result queue_answer(struct http_request *request)
{
    struct MHD_Response *response = TAKE_PTR(request->response);
    enum MHD_Result queued;

    queued = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    return queued;
}

static void handle(struct http_request *request)
{
    struct http_server *server = request->server;
    struct edl_error error = { 0 };

    request->handled = true;
    request->n_own_headers = request->n_headers;
    /* Refused before the handler has had any effect, so that the client may try again. */
    if (server->closing || server->n_deferred >= server->config.max_connections) {
        (void)edl_error_set(&error, -EAGAIN, "the server is %s",
                            server->closing ? "stopping" : "busy: too many requests wait");
        http_reply_error(request, &error);
        return;
    }
    if (server->config.dispatch != NULL)
        server->config.dispatch(request, request->route, server->config.userdata);
    else
        request->route->handler(request, server->config.userdata);
    if (request->response == NULL && !request->deferred) {
        (void)edl_error_set(&error, -EIO, "%s %s was not answered", request->route->method,
                            request->route->path);
        http_reply_error(request, &error);
    }
}

/* Without its body, or with a piece of it that is left for later when the connection is suspended.
 */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct http_request *request = *state;

    (void)userdata;
    (void)connection;
    (void)url;
    if (request->suspended) /* chunks that came together are handed over together: not now */
        return MHD_YES;
    if (request->left)
        return MHD_NO;
    if (!request->begun || request->parked) { /* headers only: made again when it was suspended */
        if (request->parked)
            http_request_admit(request);
        else
            http_request_begin(request, method, version);
        if (request->parked)
            http_request_suspend(request);
        if (request->response != NULL && http_request_wants_early(request))
            return queue_answer(request);
        return MHD_YES;
    }
    if (*upload_size > 0) {
        size_t size = *upload_size;
        int r;

        *upload_size = 0;
        r = http_request_append(request, upload, size);
        if (r > 0)
            http_request_suspend(request);
        return r < 0 ? MHD_NO : MHD_YES;
    }
    if (request->response == NULL && !request->handled)
        handle(request);
    if (request->response != NULL)
        return queue_answer(request);
    http_request_suspend(request);
    return MHD_YES;
}

void http_request_suspend(struct http_request *request)
{
    MHD_suspend_connection(request->connection);
    request->suspended = true;
    DL_APPEND(request->server->deferred, request);
    request->server->n_deferred++;
}

void http_request_detach(struct http_request *request)
{
    request->watch = sd_event_source_disable_unref(request->watch);
    if (!request->suspended)
        return;
    request->suspended = false;
    DL_DELETE(request->server->deferred, request);
    request->server->n_deferred--;
    MHD_resume_connection(request->connection);
    request->server->resumed = true;
}

static int start_daemon(struct http_server *server, struct edl_error *error)
{
    const struct http_server_config *config = &server->config;
    bool tls = server->tls != NULL;
    struct MHD_OptionItem tls_items[] = {
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL },
    };

    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
        on_request, server, MHD_OPTION_ARRAY, tls ? tls_items : &tls_items[ELEMENTS(tls_items) - 1],
        MHD_OPTION_LISTEN_SOCKET, config->listen_fd, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_CONNECTION_LIMIT,
        config->max_connections + SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        config->idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
        tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, http_tls_pick, MHD_OPTION_END);
    return server->daemon != NULL ? 0 : edl_error_set(error, -EIO, "cannot start the HTTP server");
}

static int add_guard(struct http_server *server, sd_event *event, struct edl_error *error)
{
    unsigned most = server->config.max_connections;
    struct http_guard_limits limits = {
        .fresh = MIN_OF(MAX_OF(most / FRESH_SHARE, (unsigned)FRESH_LEAST), (unsigned)FRESH_MOST),
        .fresh_us = server->config.fresh_timeout_s * USEC_PER_SEC,
        .owner = MIN_OF(MAX_OF(most / OWNER_SHARE, (unsigned)FRESH_LEAST), (unsigned)OWNER_MOST),
        .owners = MAX_OF(most / OWNERS_SHARE, (unsigned)FRESH_LEAST),
        .body_bytes = server->config.body_bytes,
    };

    if (limits.fresh_us == 0)
        return 0;
    return http_guard_new(event, &limits, &server->guard, error);
}

/* add_again - the source that has the daemon run once more at once */
static int add_again(struct http_server *server, sd_event *event)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r =
        fd >= 0 ? sd_event_add_io(event, &server->again, fd, EPOLLIN, on_again, server) : -errno;

    if (r >= 0)
        r = sd_event_source_set_io_fd_own(server->again, 1);
    else
        (void)safe_close(fd);
    return r;
}

static int add_sources(struct http_server *server, sd_event *event, struct edl_error *error)
{
    const union MHD_DaemonInfo *info;
    int r;

    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL)
        return edl_error_set(error, -EIO, "the HTTP server has no epoll descriptor");
    r = sd_event_add_io(event, &server->io_source, info->epoll_fd, EPOLLIN, on_io, server);
    if (r >= 0)
        r = sd_event_add_time(event, &server->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
                              on_timer, server);
    if (r >= 0)
        r = sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = add_again(server, event);
    if (r >= 0)
        r = sd_event_source_set_prepare(server->io_source, on_prepare);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the HTTP server on the event loop");
    (void)sd_event_source_set_description(server->io_source, "http-server");
    (void)sd_event_source_set_description(server->timer, "http-server-timeout");
    (void)sd_event_source_set_description(server->again, "http-server-again");
    return 0;
}

int http_server_new(sd_event *event, const struct http_server_config *config,
                    struct http_server **ret, struct edl_error *error)
{
    struct http_server *server = xcalloc(1, sizeof *server);
    int r;

    server->config = *config;
    if (server->config.max_connections == 0)
        server->config.max_connections = DEFAULT_CONNECTIONS;
    if (server->config.idle_timeout_s == 0)
        server->config.idle_timeout_s = DEFAULT_IDLE_S;
    server->answers = xcalloc((config->n_routes + 1) * HTTP_STATUS_CLASSES, sizeof(uint64_t));
    if (getrandom(&server->id_prefix, sizeof server->id_prefix, 0) == -1)
        r = edl_error_errno(error, -errno, "cannot get random bytes");
    else
        r = add_guard(server, event, error);
    if (r == 0 && config->tls_certificates != NULL)
        r = http_tls_new(config->tls_certificates, config->tls_key, &server->tls, error);
    if (r < 0) {
        (void)safe_close(config->listen_fd);
        (void)http_server_free(server);
        return r;
    }
    r = start_daemon(server, error); /* from here on the daemon owns the descriptor */
    if (r >= 0)
        r = add_sources(server, event, error);
    if (r < 0) {
        (void)http_server_free(server);
        return r;
    }
    *ret = server;
    return 0;
}

static void answer_deferred(struct http_server *server)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EAGAIN, "the server is stopping");
    while (server->deferred != NULL) {
        struct http_request *request = server->deferred;

        if (request->stream != NULL) {
            http_stream_close(request->stream);
            continue;
        }
        if (request->on_gone != NULL)
            request->on_gone(request, request->gone_userdata);
        if (request->suspended) /* on_gone must not answer; survive it if it does */
            http_reply_error(request, &error);
    }
}

/* is_owed - somebody asked and has no answer yet, or was let in and has not asked: what he sends is
 * on its way, maybe here already */
static bool is_owed(const struct http_server *server)
{
    return server->n_requests > 0 || (server->guard != NULL && http_guard_fresh(server->guard) > 0);
}

/* finish - whom nobody else will answer is answered, as long as that takes no time
 * Blocks, for CLOSING_US at most. */
static void finish(struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd ready = { .fd = info != NULL ? info->epoll_fd : -1, .events = POLLIN };
    uint64_t end_us = clock_read_us(CLOCK_MONOTONIC) + CLOSING_US;

    run_daemon(server);
    while (is_owed(server) && clock_read_us(CLOCK_MONOTONIC) < end_us) {
        (void)poll(&ready, 1, CLOSING_LOOK_MS);
        run_daemon(server);
    }
}

struct http_server *http_server_free(struct http_server *server)
{
    if (server == NULL)
        return NULL;
    assert(!server->running); /* not from a handler */
    server->closing = true;
    server->io_source = sd_event_source_disable_unref(server->io_source);
    server->timer = sd_event_source_disable_unref(server->timer);
    server->again = sd_event_source_disable_unref(server->again);
    if (server->daemon != NULL) {
        (void)safe_close(MHD_quiesce_daemon(server->daemon));
        answer_deferred(server); /* a suspended connection would be an API violation below */
        finish(server);
        answer_deferred(server);
        run_daemon(server);
        MHD_stop_daemon(server->daemon);
    }
    (void)http_guard_free(server->guard);
    (void)http_tls_free(server->tls);
    free(server->answers);
    free(server);
    return NULL;
}

int http_server_replace_certificate(struct http_server *server, const char *certificates,
                                    const char *key, struct edl_error *error)
{
    return http_tls_replace(server->tls, certificates, key, error);
}

unsigned http_server_connections(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info != NULL ? info->num_connections : 0;
}

unsigned http_server_waiting(const struct http_server *server)
{
    return server->n_deferred;
}

uint64_t http_server_answers(const struct http_server *server, size_t route, unsigned status_class)
{
    if (route > server->config.n_routes || status_class < 1 || status_class > HTTP_STATUS_CLASSES)
        return 0;
    return server->answers[route * HTTP_STATUS_CLASSES + status_class - 1];
}

uint64_t http_request_waited_us(const struct http_request *request)
{
    const struct http_server *server = request->server;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);

    return now_us > server->since_us ? now_us - server->since_us : 0;
}

uint64_t http_server_shut_out(const struct http_server *server)
{
    return server->tls != NULL ? http_tls_refused(server->tls) : 0;
}

uint64_t http_server_cut_off(const struct http_server *server)
{
    return server->guard != NULL ? http_guard_cut_off(server->guard) : 0;
}
