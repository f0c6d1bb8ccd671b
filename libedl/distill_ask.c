/* SPDX-License-Identifier: Apache-2.0 */
/* distill_ask.c - a GET of the agent for a program with a poll loop */
#include "libedl/distill_ask.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "shared/clock.h"
#include "shared/macro.h"

#define ANSWER_US (110 * USEC_PER_SEC) /* the agent bridges an outage meanwhile */
#define PAUSE_FIRST_MS 50U
#define PAUSE_MOST_MS 2000U

void distill_ask_init(struct distill_ask *ask, struct edl_client *client, int epoll_fd,
                      uint64_t number)
{
    *ask = (struct distill_ask){
        .client = client, .epoll_fd = epoll_fd, .number = number, .exchange.fd = -1
    };
}

static void watch(struct distill_ask *ask)
{
    uint32_t events = (uint32_t)ask->exchange.events; /* of poll(2), which are those of epoll(7) */
    struct epoll_event event = { .events = events, .data.u64 = ask->number };

    if (events == ask->watched)
        return;
    (void)epoll_ctl(ask->epoll_fd, ask->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                    ask->exchange.fd, &event);
    ask->watched = events;
}

/* end - why not by the close alone: a child of the program may have the descriptor as well */
static void end(struct distill_ask *ask)
{
    if (ask->watched != 0)
        (void)epoll_ctl(ask->epoll_fd, EPOLL_CTL_DEL, ask->exchange.fd, NULL);
    ask->watched = 0;
    if (ask->is_asking)
        http_plain_clear(&ask->exchange);
    ask->is_asking = ask->is_ready = false;
    ask->exchange.fd = -1;
}

void distill_ask_clear(struct distill_ask *ask)
{
    end(ask);
    ask->path[0] = '\0';
}

void distill_ask_begin(struct distill_ask *ask, uint64_t at_us, const char *format, ...)
{
    va_list args;

    distill_ask_clear(ask);
    va_start(args, format);
    (void)vsnprintf(ask->path, sizeof ask->path, format, args);
    va_end(args);
    ask->again_us = at_us;
    ask->pause_ms = PAUSE_FIRST_MS;
    ask->patience = patience_of(ask->client->patience_us);
}

/* try_again - -EAGAIN, or what is told to a program that has no more patience */
static int try_again(struct distill_ask *ask, uint64_t now_us, int code)
{
    struct edl_client *client = ask->client;

    end(ask);
    if (patience_is_over(&ask->patience)) {
        edl_error_prefix(&client->error, "GET %.100s: ", ask->path);
        ask->path[0] = '\0';
        return code == EDL_ETOOMANY ? code : EDL_EUNREACHABLE;
    }
    client->error = (struct edl_error){ 0 };
    ask->again_us = now_us + ask->pause_ms * USEC_PER_MSEC;
    patience_use(&ask->patience, ask->pause_ms * USEC_PER_MSEC);
    ask->pause_ms = MIN_OF(ask->pause_ms * 2, PAUSE_MOST_MS);
    return -EAGAIN;
}

static int begin(struct distill_ask *ask, uint64_t now_us)
{
    struct http_call call = { .method = "GET", .path = ask->path };

    ask->is_asking = true; /* whatever comes, the exchange is cleared */
    if (http_plain_begin(&ask->exchange, &ask->client->base, &call) < 0) {
        (void)edl_error_set(&ask->client->error, EDL_EUNREACHABLE, "the agent does not answer");
        return try_again(ask, now_us, EDL_EUNREACHABLE);
    }
    ask->end_us = now_us + ANSWER_US;
    return 0;
}

static int take(struct distill_ask *ask, uint64_t now_us, struct http_answer *answer, json_t **ret)
{
    bool stored = answer->status != CLIENT_NOTHING_STORED;
    int r;

    if (client_worth_retrying(answer)) {
        r = http_answer_error(answer, &ask->client->error);
        http_answer_clear(answer);
        if (!stored) /* the scheduler waits for room on its disk, and so do we */
            ask->patience = patience_of(ask->client->patience_us);
        return try_again(ask, now_us, r);
    }
    r = client_read_answer(ask->client, answer, ask->path, ret);
    distill_ask_clear(ask);
    return r;
}

int distill_ask_go_on(struct distill_ask *ask, uint64_t now_us, json_t **ret)
{
    struct http_answer answer = { 0 };
    int r = 0;

    if (!distill_ask_is_on(ask) || (!ask->is_asking && now_us < ask->again_us))
        return -EAGAIN;
    if (!ask->is_asking)
        r = begin(ask, now_us);
    else if (!ask->is_ready && now_us < ask->end_us)
        r = -EAGAIN;
    if (r < 0)
        return r;
    ask->is_ready = false;
    if (http_plain_go_on(&ask->exchange, &answer) == 0)
        return take(ask, now_us, &answer, ret);
    if (now_us < ask->end_us) {
        watch(ask);
        return -EAGAIN;
    }
    (void)edl_error_set(&ask->client->error, -ETIMEDOUT, "the agent says nothing");
    return try_again(ask, now_us, -ETIMEDOUT);
}

uint64_t distill_ask_next_us(const struct distill_ask *ask)
{
    if (!distill_ask_is_on(ask))
        return NEVER_US;
    return ask->is_asking ? ask->end_us : ask->again_us;
}
