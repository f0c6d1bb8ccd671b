/* SPDX-License-Identifier: Apache-2.0 */
/* server_calls.c - see server_calls.h
 *
 * A loop of its own, which runs while a call is under way. Each address has a client, which keeps
 * its connections for the next call. */
#include "client/server_calls.h"

#include <stdio.h>
#include <string.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/server_several.h"
#include "client/server_watch.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/macro.h"

#define LOOK_TIMEOUT_US (5 * USEC_PER_SEC)
#define REST_MIN_US USEC_PER_SEC /* of a call that has moved */

/* The look at one address. */
struct look {
    struct server_calls *calls;
    unsigned at;
    struct http_async_call *call; /* NULL: none is under way */
};

struct server_calls {
    struct server *server; /* borrowed, of the call under way */
    sd_event *event;
    sd_event_source *due;
    struct http_async *clients[SERVERS_MAX]; /* owned; NULL: not called yet */
    struct look looks[SERVERS_MAX];
    struct server_watch watch;
    const struct http_call *call; /* borrowed; NULL: it is answered */
    struct http_async_call *under_way;
    uint64_t began_us;
    bool may_again;
    struct http_answer *answer; /* borrowed */
};

static void tick(struct server_calls *calls);

/* client_of - NULL with error */
static struct http_async *client_of(struct server_calls *calls, unsigned at,
                                    struct edl_error *error)
{
    const struct server *server = calls->server;
    struct http_async **client = &calls->clients[at];

    if (*client != NULL ||
        http_async_new(calls->event, server->servers.urls[at], client, error) < 0)
        return *client;
    if (server->ca != NULL)
        http_async_trust(*client, server->ca);
    return *client;
}

/* --- the call --- */

/* take - the answer is lent for the time of the callback */
static void take(const struct http_answer *answer, struct http_answer *ret)
{
    *ret = *answer;
    ret->json = json_incref(answer->json);
    if (answer->body == NULL)
        return;
    ret->body = xcalloc(answer->body_size + 1, 1);
    memcpy(ret->body, answer->body, answer->body_size);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct server_calls *calls = userdata;

    calls->under_way = NULL;
    calls->call = NULL;
    if (answer->failure == 0)
        server_watch_answered(&calls->watch, answer->status == 401);
    take(answer, calls->answer);
}

/* rest_us - of the time that the call has; one that moved begins with what is left of it */
static uint64_t rest_us(const struct server_calls *calls)
{
    uint64_t most_us = calls->call->timeout_us > 0 ? calls->call->timeout_us : HTTP_TIMEOUT_US;
    uint64_t passed_us = clock_read_us(CLOCK_BOOTTIME) - calls->began_us;

    return MAX_OF(most_us - MIN_OF(passed_us, most_us), MIN_OF(most_us, REST_MIN_US));
}

static void begin(struct server_calls *calls)
{
    struct http_call call = *calls->call;
    struct edl_error error = { 0 };
    unsigned at = (unsigned)calls->server->current;
    struct http_async *client = client_of(calls, at, &error);

    call.timeout_us = rest_us(calls);
    server_watch_call(&calls->watch, (unsigned)calls->server->servers.n, at);
    if (client != NULL &&
        http_async_start(client, &call, on_answer, calls, &calls->under_way, &error) == 0)
        return;
    calls->call = NULL;
    http_answer_refuse(calls->answer, &error);
}

static void end_looks(struct server_calls *calls)
{
    for (size_t i = 0; i < ELEMENTS(calls->looks); i++)
        http_async_cancel(TAKE_PTR(calls->looks[i].call));
}

/* may_move - nothing of its answer is out, and it is done once however often it is sent */
static bool may_move(const struct server_calls *calls)
{
    const struct http_call *call = calls->call;

    return calls->under_way != NULL && calls->may_again &&
           (call->save == NULL || (call->saved != NULL && *call->saved == 0));
}

static void move(struct server_calls *calls, unsigned to)
{
    if (!may_move(calls) || !server_several_turn(calls->server, to))
        return;
    http_async_cancel(TAKE_PTR(calls->under_way));
    end_looks(calls);
    begin(calls);
    tick(calls);
}

/* --- looks --- */

/* read_word - false: it is not what a scheduler says */
static bool read_word(const struct server *server, const struct http_answer *answer,
                      struct server_word *ret)
{
    const char *role = json_text(answer->json, "role"), *leader = json_text(answer->json, "leader");
    size_t named = server_list_find(&server->servers, leader);

    if (answer->failure != 0 || answer->status != 200 ||
        !streq(json_text(answer->json, "status"), "ok"))
        return false;
    *ret = (struct server_word){
        .leads = role[0] == '\0' || streq(role, "leader"),
        .named = named < server->servers.n ? (unsigned)named : SERVERS_MAX,
        .term = json_u64(answer->json, "term"),
    };
    return true;
}

static void look_at(struct server_calls *calls, uint32_t which);

static void on_look(const struct http_answer *answer, void *userdata)
{
    struct look *look = userdata;
    struct server_calls *calls = look->calls;
    struct server_word word;
    bool counts = read_word(calls->server, answer, &word);
    struct server_step step;

    look->call = NULL;
    step = server_watch_heard(&calls->watch, look->at, counts ? &word : NULL);
    if (step.moves)
        move(calls, step.to);
    else
        look_at(calls, step.looks);
}

static void look_at(struct server_calls *calls, uint32_t which)
{
    static const struct http_call call = { .method = "GET",
                                           .path = "/healthz",
                                           .timeout_us = LOOK_TIMEOUT_US };

    for (unsigned i = 0; i < calls->server->servers.n; i++) {
        struct http_async *client =
            (which & UINT32_C(1) << i) != 0 ? client_of(calls, i, NULL) : NULL;

        if (client != NULL)
            (void)http_async_start(client, &call, on_look, &calls->looks[i], &calls->looks[i].call,
                                   NULL);
    }
}

/* --- time --- */

static void set_due(struct server_calls *calls, uint64_t after_us)
{
    (void)sd_event_source_set_time_relative(calls->due, after_us);
    (void)sd_event_source_set_enabled(calls->due, SD_EVENT_ONESHOT);
}

static void tick(struct server_calls *calls)
{
    set_due(calls, WATCH_STEP_US);
}

static int on_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct server_calls *calls = userdata;
    uint64_t next_us;

    (void)source;
    (void)time_us;
    look_at(calls, server_watch_due(&calls->watch, &next_us));
    set_due(calls, next_us);
    return 0;
}

/* --- */

static struct server_calls *calls_new(struct server *server)
{
    struct server_calls *calls = xcalloc(1, sizeof *calls);

    for (unsigned i = 0; i < SERVERS_MAX; i++)
        calls->looks[i] = (struct look){ .calls = calls, .at = i };
    if (sd_event_new(&calls->event) < 0 ||
        sd_event_add_time_relative(calls->event, &calls->due, CLOCK_MONOTONIC, WATCH_STEP_US, 1000,
                                   on_due, calls) < 0)
        abort();
    calls->server = server;
    return calls;
}

void server_calls_make(struct server *server, const struct http_call *call, bool may_again,
                       struct http_answer *ret_answer)
{
    struct server_calls *calls = server->calls;
    struct edl_error error = { 0 };
    int r = 0;

    if (calls == NULL)
        calls = server->calls = calls_new(server);
    calls->server = server;
    calls->call = call;
    calls->may_again = may_again;
    calls->answer = ret_answer;
    calls->began_us = clock_read_us(CLOCK_BOOTTIME);
    begin(calls);
    tick(calls);
    while (r >= 0 && calls->call != NULL)
        r = sd_event_run(calls->event, UINT64_MAX);
    end_looks(calls);
    if (calls->call == NULL)
        return;
    http_async_cancel(TAKE_PTR(calls->under_way));
    (void)edl_error_errno(&error, r, "waiting for the scheduler");
    http_answer_refuse(ret_answer, &error);
    calls->call = NULL;
}

struct server_calls *server_calls_free(struct server_calls *calls)
{
    if (calls == NULL)
        return NULL;
    for (size_t i = 0; i < ELEMENTS(calls->clients); i++)
        (void)http_async_free(calls->clients[i]);
    (void)sd_event_source_disable_unref(calls->due);
    (void)sd_event_unref(calls->event);
    free(calls);
    return NULL;
}
