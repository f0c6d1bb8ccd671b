/* SPDX-License-Identifier: Apache-2.0 */
/* http_async.c - HTTP calls on the event loop: libcurl's sockets as io sources, one timer
 *
 * libcurl tells which sockets to watch (on_socket) and when it wants to be woken (on_wish); both
 * come back to it through curl_multi_socket_action. Finished calls are collected afterwards,
 * outside of libcurl, so that a callback may start and cancel calls and even free the client. */
#include "shared/http_client.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/macro.h"

#include <sys/epoll.h>
#include <utlist.h>

enum {
    IDLE_CONNECTIONS_MAX = 16,
    TIMER_ACCURACY_US = 1000,
};

struct http_async {
    struct http_base base;
    sd_event *event;        /* owned reference */
    sd_event_source *timer; /* owned */
    CURLM *multi;           /* owned */
    int64_t priority;       /* of the sources; 0: that of most */
    struct http_async_call *calls;
    struct watched *sockets;
    bool collecting; /* callbacks run */
    bool dead;       /* freed by a callback; collect() frees the rest */
};

struct http_async_call {
    struct http_async *async; /* borrowed; NULL once the answer is being delivered */
    struct http_exchange exchange;
    CURL *easy; /* owned */
    http_answer_fn on_answer;
    void *userdata;
    struct http_async_call *prev;
    struct http_async_call *next;
};

/* One socket of libcurl's. */
struct watched {
    sd_event_source *source; /* owned */
    struct watched *prev;
    struct watched *next;
};

/* Takes the call away from libcurl; its answer, if any, stays in exchange. */
static void detach(struct http_async_call *call)
{
    struct http_async *async = TAKE_PTR(call->async);

    DL_DELETE(async->calls, call);
    (void)curl_multi_remove_handle(async->multi, call->easy);
}

static void call_free(struct http_async_call *call)
{
    curl_easy_cleanup(call->easy);
    http_exchange_clear(&call->exchange);
    free(call);
}

static void deliver(struct http_async_call *call, CURLcode result)
{
    struct http_answer answer;

    detach(call);
    http_exchange_finish(&call->exchange, result, &answer);
    call->on_answer(&answer, call->userdata);
    http_answer_clear(&answer);
    call_free(call);
}

static void free_rest(struct http_async *async)
{
    curl_global_cleanup();
    free(async);
}

static void collect(struct http_async *async)
{
    CURLMsg *message;
    int left;

    if (async->collecting)
        return;
    async->collecting = true;
    while (!async->dead && (message = curl_multi_info_read(async->multi, &left)) != NULL) {
        struct http_async_call *call = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        deliver(call, message->data.result);
    }
    async->collecting = false;
    if (async->dead)
        free_rest(async);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct http_async *async = userdata;
    int mask = 0;
    int running;

    (void)source;
    if (events & EPOLLIN)
        mask |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (events & (EPOLLERR | EPOLLHUP))
        mask |= CURL_CSELECT_ERR;
    (void)curl_multi_socket_action(async->multi, fd, mask, &running);
    collect(async);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct http_async *async = userdata;
    int running;

    (void)source;
    (void)time_us;
    (void)curl_multi_socket_action(async->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect(async);
    return 0;
}

static void unwatch(struct http_async *async, struct watched *watched)
{
    DL_DELETE(async->sockets, watched);
    (void)sd_event_source_disable_unref(watched->source);
    free(watched);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
    struct http_async *async = userdata;
    struct watched *watched = socket_data;
    uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);

    (void)easy;
    if (what == CURL_POLL_REMOVE) { /* before libcurl closes it */
        if (watched != NULL)
            unwatch(async, watched);
        (void)curl_multi_assign(async->multi, fd, NULL);
        return 0;
    }
    if (watched != NULL)
        return sd_event_source_set_io_events(watched->source, events) < 0 ? -1 : 0;
    watched = xcalloc(1, sizeof *watched);
    if (sd_event_add_io(async->event, &watched->source, fd, events, on_io, async) < 0) {
        free(watched);
        return -1; /* fails libcurl's calls */
    }
    (void)sd_event_source_set_priority(watched->source, async->priority);
    (void)sd_event_source_set_description(watched->source, "http-client");
    DL_APPEND(async->sockets, watched);
    (void)curl_multi_assign(async->multi, fd, watched);
    return 0;
}

/* When libcurl wishes to be woken; it forbids being called from here. */
static int on_wish(CURLM *multi, long timeout_ms, void *userdata)
{
    struct http_async *async = userdata;
    int r;

    (void)multi;
    if (timeout_ms < 0)
        return sd_event_source_set_enabled(async->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
    if (timeout_ms == 0) /* a time long past: at once, not within the accuracy */
        r = sd_event_source_set_time(async->timer, 0);
    else
        r = sd_event_source_set_time_relative(async->timer, (uint64_t)timeout_ms * USEC_PER_MSEC);
    if (r >= 0)
        r = sd_event_source_set_enabled(async->timer, SD_EVENT_ONESHOT);
    return r < 0 ? -1 : 0;
}

static int start_multi(struct http_async *async, struct edl_error *error)
{
    int r;

    r = sd_event_add_time(async->event, &async->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
                          on_timer, async);
    if (r >= 0)
        r = sd_event_source_set_enabled(async->timer, SD_EVENT_OFF);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the HTTP client on the event loop");
    (void)sd_event_source_set_description(async->timer, "http-client-timeout");
    async->multi = curl_multi_init();
    if (async->multi == NULL)
        return edl_error_set(error, -ENOMEM, "cannot start the HTTP client");
    (void)curl_multi_setopt(async->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(async->multi, CURLMOPT_SOCKETDATA, async);
    (void)curl_multi_setopt(async->multi, CURLMOPT_TIMERFUNCTION, on_wish);
    (void)curl_multi_setopt(async->multi, CURLMOPT_TIMERDATA, async);
    (void)curl_multi_setopt(async->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    (void)curl_multi_setopt(async->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                            (long)HTTP_ASYNC_CONNECTIONS);
    (void)curl_multi_setopt(async->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS_MAX);
    return 0;
}

int http_async_new(sd_event *event, const char *base, struct http_async **ret,
                   struct edl_error *error)
{
    struct http_async *async;
    struct http_base parsed;
    int r = http_base_parse(base, &parsed, error);

    if (r < 0)
        return r;
    async = xcalloc(1, sizeof *async);
    async->base = parsed;
    async->event = sd_event_ref(event);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted; undone in http_async_free */
    r = start_multi(async, error);
    if (r < 0) {
        (void)http_async_free(async);
        return r;
    }
    *ret = async;
    return 0;
}

struct http_async *http_async_free(struct http_async *async)
{
    if (async == NULL)
        return NULL;
    while (async->calls != NULL)
        http_async_cancel(async->calls);
    (void)curl_multi_cleanup(async->multi); /* closes the connections, and unwatches them */
    while (async->sockets != NULL)
        unwatch(async, async->sockets);
    (void)sd_event_source_disable_unref(async->timer);
    (void)sd_event_unref(async->event);
    http_base_clear(&async->base);
    if (async->collecting) /* the call whose callback this is still needs libcurl */
        async->dead = true;
    else
        free_rest(async);
    return NULL;
}

void http_async_trust(struct http_async *async, const char *ca_path)
{
    http_base_trust(&async->base, ca_path);
}

void http_async_hurry(struct http_async *async)
{
    async->priority = SD_EVENT_PRIORITY_IMPORTANT;
    (void)sd_event_source_set_priority(async->timer, async->priority);
}

int http_async_start(struct http_async *async, const struct http_call *call,
                     http_answer_fn on_answer, void *userdata, struct http_async_call **ret_call,
                     struct edl_error *error)
{
    struct http_async_call *started = xcalloc(1, sizeof *started);
    int r;

    started->easy = curl_easy_init();
    if (started->easy == NULL)
        abort();
    r = http_exchange_init(&started->exchange, &async->base, started->easy, call, error);
    if (r < 0) {
        call_free(started);
        return r;
    }
    started->on_answer = on_answer;
    started->userdata = userdata;
    (void)curl_easy_setopt(started->easy, CURLOPT_PRIVATE, started);
    if (curl_multi_add_handle(async->multi, started->easy) != CURLM_OK) {
        call_free(started);
        return edl_error_set(error, -EIO, "the HTTP client takes no more calls");
    }
    started->async = async;
    DL_APPEND(async->calls, started);
    if (ret_call != NULL)
        *ret_call = started;
    return 0;
}

void http_async_cancel(struct http_async_call *call)
{
    if (call == NULL || call->async == NULL) /* its answer is being delivered */
        return;
    detach(call);
    call_free(call);
}
