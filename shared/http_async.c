/* SPDX-License-Identifier: Apache-2.0 */
/* http_async.c - HTTP calls on the event loop (http_multi.h)
 *
 * Finished calls are collected outside of libcurl, so that a callback may start and cancel calls
 * and even free the client. */
#include "shared/http_client.h"

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/http_multi.h"
#include "shared/macro.h"

#include <utlist.h>

enum { IDLE_CONNECTIONS_MAX = 16 };

struct http_async {
    struct http_base base;
    struct http_multi multi;
    struct http_async_call *calls;
    bool collecting;     /* callbacks run */
    bool dead;           /* freed by a callback; collect() frees the rest */
    uint64_t renewed_us; /* http_async_renew, CLOCK_MONOTONIC; 0: never */
};

struct http_async_call {
    struct http_async *async; /* borrowed; NULL once the answer is being delivered */
    struct http_exchange exchange;
    CURL *easy; /* owned */
    http_answer_fn on_answer;
    void *userdata;
    bool abandoned; /* http_async_abandon is about to tell it */
    struct http_async_call *prev;
    struct http_async_call *next;
};

/* Takes the call away from libcurl; its answer, if any, stays in exchange. */
static void detach(struct http_async_call *call)
{
    struct http_async *async = TAKE_PTR(call->async);

    DL_DELETE(async->calls, call);
    (void)curl_multi_remove_handle(async->multi.curl, call->easy);
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

static void collect(void *userdata)
{
    struct http_async *async = userdata;
    CURLMsg *message;
    int left;

    if (async->collecting)
        return;
    async->collecting = true;
    while (!async->dead && (message = curl_multi_info_read(async->multi.curl, &left)) != NULL) {
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
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted; undone in http_async_free */
    r = http_multi_start(&async->multi, event, collect, async, error);
    if (r < 0) {
        (void)http_async_free(async);
        return r;
    }
    (void)curl_multi_setopt(async->multi.curl, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                            (long)HTTP_ASYNC_CONNECTIONS);
    (void)curl_multi_setopt(async->multi.curl, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS_MAX);
    *ret = async;
    return 0;
}

struct http_async *http_async_free(struct http_async *async)
{
    if (async == NULL)
        return NULL;
    while (async->calls != NULL)
        http_async_cancel(async->calls);
    http_multi_stop(&async->multi);
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

void http_async_renew(struct http_async *async)
{
    async->renewed_us = clock_read_us(CLOCK_MONOTONIC);
}

/* An idle connection counts by whole seconds: for a while each call gets one of its own. */
static void use_new_ones(const struct http_async *async, CURL *easy)
{
    uint64_t since_us = clock_read_us(CLOCK_MONOTONIC) - async->renewed_us;

    if (async->renewed_us != 0 && since_us < HTTP_CONNECTION_AGE_S * USEC_PER_SEC)
        (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
}

void http_async_hurry(struct http_async *async)
{
    http_multi_hurry(&async->multi);
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
    use_new_ones(async, started->easy);
    if (curl_multi_add_handle(async->multi.curl, started->easy) != CURLM_OK) {
        call_free(started);
        return edl_error_set(error, -EIO, "the HTTP client takes no more calls");
    }
    started->async = async;
    DL_APPEND(async->calls, started);
    if (ret_call != NULL)
        *ret_call = started;
    return 0;
}

void http_async_abandon(struct http_async *async, const char *why)
{
    struct http_async_call *first;

    DL_FOREACH(async->calls, first)
    first->abandoned = true;
    /* New ones come behind them. Callbacks may start those, and cancel any. */
    while ((first = async->calls) != NULL && first->abandoned) {
        struct http_answer answer;

        detach(first);
        http_answer_fail(&answer, &async->base, EDL_EUNREACHABLE, why, "");
        answer.sent = true;
        first->on_answer(&answer, first->userdata);
        http_answer_clear(&answer);
        call_free(first);
    }
}

void http_async_cancel(struct http_async_call *call)
{
    if (call == NULL || call->async == NULL) /* its answer is being delivered */
        return;
    detach(call);
    call_free(call);
}
