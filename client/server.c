/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - calls to the scheduler that a verb talks to; server_locate.c finds it
 *
 * Blocking calls: a verb has one thing to do at a time. Waiting is done by the scheduler (long poll
 * on /events), never by asking again and again. */
#include "client/server.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "client/json_mask.h"
#include "client/report.h"
#include "client/server_advice.h"
#include "client/server_calls.h"
#include "client/server_several.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define EVENT_WAIT_MAX_S 20 /* well below the 30 s at which the scheduler ends a long poll */
#define RETRY_MS 500
#define NONE_REACHED "no scheduler can be reached at any of these addresses"
#define NONE_REMEDY "start one of them, or name another one: --server URL[,URL]"
#define RETRY_AFTER_MAX_S 10U
#define BUSY 429 /* with Retry-After: the caller has more waiting than its share */
#define RETRY_FOR_US (30 * USEC_PER_SEC) /* a scheduler is back within seconds */

int server_open(const struct common_options *options, struct server *ret)
{
    struct server server;
    struct edl_error error = { 0 };
    int r = server_locate(options, &server, &error);

    if (r == -ENOENT && error.remedy[0] != '\0') {
        (void)report_error(&error);
        return STATUS_NO_SERVER;
    }
    if (r < 0)
        return report_error(&error);
    if (http_client_new_quick(server.base, &server.http, &error) < 0) {
        server_clear(&server);
        return report_error(&error);
    }
    if (server.ca != NULL)
        http_client_trust(server.http, server.ca);
    server.verbatim = options->json;
    *ret = server;
    return STATUS_OK;
}

int server_open_agent(const char *socket_path, bool verbatim, struct server *ret)
{
    struct server server = { .base = text_format("unix:%s", socket_path), .verbatim = verbatim };
    struct edl_error error = { 0 };

    if (http_client_new_quick(server.base, &server.http, &error) < 0) {
        server_clear(&server);
        return report_error(&error);
    }
    *ret = server;
    return STATUS_OK;
}

void server_clear(struct server *server)
{
    if (server->http != NULL)
        (void)http_client_free(server->http);
    free(server->base);
    server_several_fault(server, NULL);
    (void)server_calls_free(server->calls);
    server_list_clear(&server->servers);
    free(server->token);
    free(server->ca);
    free(server->virtual_env);
    *server = (struct server){ 0 };
}

/* --- what may have been done although no answer came --- */

/* A key that nobody else has. */
static char *new_key_header(void)
{
    uint64_t random[2];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return NULL; /* then nothing is sent twice */
    return text_format(IDEMPOTENCY_HEADER "edl-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

/* Once the server may have acted, or asks to try again, a refused connection is a restart. What is
 * only read is asked for again when the server says so: of another answer a part may be out. */
static bool is_worth_a_retry(const struct http_answer *answer, bool is_read, bool broke_before)
{
    if (answer->failure == 0)
        return answer->status == 503 || (answer->status == BUSY && answer->retry_after_s > 0);
    if (is_read)
        return broke_before && answer->failure == EDL_EUNREACHABLE;
    return answer->sent || (broke_before && answer->failure == EDL_EUNREACHABLE);
}

/* weight_of - of what one of several says: nothing, it does not lead, it does not know the token */
static int weight_of(const struct http_answer *answer)
{
    if (answer->failure != 0)
        return 0;
    return answer->status == 503 ? 1 : answer->status == 401 ? 2 : 3;
}

static bool is_of_use(const struct http_answer *answer)
{
    return weight_of(answer) == 3;
}

static void call_one(struct server *server, const struct http_call *call, bool may_again,
                     struct http_answer *ret_answer)
{
    if (server->servers.n < 2) {
        (void)http_client_call(server->http, call, ret_answer);
        return;
    }
    server_calls_make(server, call, may_again, ret_answer);
    if (!is_of_use(ret_answer))
        server_several_fault(server, ret_answer);
}

/* is_out - the caller has a part of its answer already */
static bool is_out(const struct http_call *call)
{
    return call->saved != NULL && *call->saved > 0;
}

/* At another address at once, where there are several: unless it may have been done, and would be
 * done twice, or a part of the answer is out. The word of a scheduler that does not lead counts for
 * more than the silence of another one: a leader is waited for then, whichever was asked last. One
 * that does not know the token may be of another cluster, or have been deposed. */
static void call_each(struct server *server, const struct http_call *call, bool may_again,
                      struct http_answer *ret_answer)
{
    struct server_round round = { 0 };
    struct http_answer waits = { 0 };
    size_t waits_at = 0;

    server_several_fault(server, NULL);
    for (;;) {
        size_t at;

        if (waits.status == 401) /* it may move back there, where it is told */
            round.tried |= 1U << server->current;
        call_one(server, call, may_again, ret_answer);
        at = server->current; /* the call may have moved */
        if (((!may_again || is_out(call)) && ret_answer->failure != 0 && ret_answer->sent) ||
            !server_several_next(server, ret_answer, &round))
            break;
        if (ret_answer->failure == 0 &&
            (waits.status == 0 || weight_of(ret_answer) >= weight_of(&waits))) {
            http_answer_clear(&waits);
            waits = *ret_answer;
            waits_at = at;
        } else {
            http_answer_clear(ret_answer);
        }
    }
    if (is_of_use(ret_answer))
        server_several_heard(server);
    if (waits.status == 0 || weight_of(ret_answer) >= weight_of(&waits) ||
        (ret_answer->failure != 0 && ret_answer->sent)) {
        http_answer_clear(&waits);
        return;
    }
    http_answer_clear(ret_answer);
    *ret_answer = waits;
    (void)server_several_turn(server, waits_at);
}

/* What changes something is asked for with a key: the server does it once, however often it is
 * sent. The first call finds nobody: told at once. The connection breaks: asked again for a while.
 */
static void call_until_heard(struct server *server, struct http_call *call,
                             struct http_answer *ret_answer)
{
    bool is_read = streq(call->method, "GET");
    bool has_key = call->headers[0] != NULL &&
                   strncmp(call->headers[0], IDEMPOTENCY_HEADER, strlen(IDEMPOTENCY_HEADER)) == 0;
    _cleanup_free_ char *header = is_read || has_key ? NULL : new_key_header();
    bool may_again = is_read || has_key || header != NULL;
    uint64_t end_us = 0; /* 0: nothing broke yet */
    int wait_ms;
    size_t at = 0, saved = 0;

    while (call->headers[at] != NULL && at + 1 < ELEMENTS(call->headers))
        at++;
    assert(call->headers[at] == NULL); /* no verb has as many */
    if (header != NULL)
        call->headers[at] = header;
    call->saved = &saved;
    for (;;) {
        call_each(server, call, may_again, ret_answer);
        if (!may_again || is_out(call) || !is_worth_a_retry(ret_answer, is_read, end_us != 0))
            break;
        if (end_us == 0) {
            end_us = clock_read_us(CLOCK_BOOTTIME) + RETRY_FOR_US;
            report_note("%s; asking again, which does nothing twice",
                        ret_answer->failure != 0     ? "no answer came"
                        : ret_answer->status == BUSY ? "too much of yours waits at the server"
                                                     : "the server is not ready");
        }
        if (clock_read_us(CLOCK_BOOTTIME) >= end_us)
            break;
        wait_ms =
            MAX_OF((int)MIN_OF(ret_answer->retry_after_s, RETRY_AFTER_MAX_S) * 1000, RETRY_MS);
        http_answer_clear(ret_answer);
        (void)poll(NULL, 0, wait_ms);
    }
    if (header != NULL)
        call->headers[at] = NULL;
    call->saved = NULL;
}

/* tell_each - of several servers: a failure is that of all, a refusal that of one */
static void tell_each(const struct server *server, struct http_answer *answer)
{
    if (server->servers.n < 2 || is_of_use(answer))
        return;
    answer->each =
        server_several_faults(server, answer->failure != 0 ? server->servers.n : server->current);
    if (answer->failure == 0)
        return;
    (void)snprintf(answer->text, sizeof answer->text, NONE_REACHED);
    (void)snprintf(answer->remedy, sizeof answer->remedy, NONE_REMEDY);
}

int server_call(struct server *server, struct http_call *call, struct http_answer *ret_answer)
{
    call->bearer_token = server->token;
    call_until_heard(server, call, ret_answer);
    tell_each(server, ret_answer);
    if (ret_answer->failure != 0) {
        server_advise(server->base, ret_answer);
        return STATUS_NO_SERVER;
    }
    if (!server->verbatim || ret_answer->status >= 400)
        json_mask(ret_answer->json);
    return ret_answer->status < 400 ? STATUS_OK : STATUS_FAILED;
}

int server_report_away(const struct server *server)
{
    _cleanup_free_ char *each = server_several_faults(server, server->servers.n);
    struct edl_error error = { 0 };

    if (server->servers.n < 2)
        (void)edl_error_set(&error, EDL_EUNREACHABLE, "the server at %s cannot be reached",
                            server->base);
    else
        (void)edl_error_set(&error, EDL_EUNREACHABLE, NONE_REACHED);
    if (server->servers.n >= 2)
        (void)edl_error_remedy(&error, NONE_REMEDY);
    return report_error_each(&error, each);
}

int server_request(struct server *server, const char *method, const char *path, const json_t *body,
                   json_t **ret)
{
    struct http_call call = { .method = method, .path = path, .json = body };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status != STATUS_OK)
        status = report_answer(&answer);
    else if (ret != NULL)
        *ret = answer.json != NULL ? json_incref(answer.json) : json_object();
    http_answer_clear(&answer);
    return status;
}

int server_get(struct server *server, json_t **ret, const char *format, ...)
{
    _cleanup_free_ char *path = NULL;
    va_list ap;

    va_start(ap, format);
    if (vasprintf(&path, format, ap) < 0)
        abort();
    va_end(ap);
    return server_request(server, "GET", path, NULL, ret);
}

int server_list(struct server *server, const char *path, const char *member, json_t **ret)
{
    json_t *all = NULL;
    int status = server_get(server, &all, "%s", path);

    while (status == STATUS_OK && json_is_string(json_object_get(all, "next"))) {
        json_t *page = NULL;

        status = server_get(server, &page, "%s&cursor=%s", path,
                            json_string_value(json_object_get(all, "next")));
        if (status != STATUS_OK)
            break;
        (void)json_array_extend(json_object_get(all, member), json_object_get(page, member));
        (void)json_object_set(all, "next", json_object_get(page, "next"));
        json_decref(page);
    }
    if (status == STATUS_OK)
        *ret = all;
    else
        json_decref(all);
    return status;
}

int server_pages(struct server *server, const char *path,
                 void (*fn)(const json_t *page, void *userdata), void *userdata)
{
    json_t *page = NULL;
    int status = server_get(server, &page, "%s", path);

    while (status == STATUS_OK) {
        json_t *before = page;
        const char *next = json_string_value(json_object_get(page, "next"));

        fn(page, userdata);
        page = NULL;
        if (next != NULL)
            status = server_get(server, &page, "%s&cursor=%s", path, next);
        json_decref(before);
        if (next == NULL)
            break;
    }
    json_decref(page);
    return status;
}

/* Newest revision among the events of an answer; unchanged when there is none. */
static bool events_advance(const json_t *answer, uint64_t *revision)
{
    const json_t *events = json_object_get(answer, "events");
    uint64_t before = *revision;
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        json_int_t value = json_integer_value(json_object_get(event, "revision"));

        if (value > 0 && (uint64_t)value > *revision)
            *revision = (uint64_t)value;
    }
    return *revision > before;
}

/* Compacted: go on where there is something, everything may have changed. */
static int events_begin_anew(const json_t *answer, uint64_t *revision)
{
    *revision = (uint64_t)json_integer_value(json_object_get(answer, "after"));
    return 1;
}

int server_event_revision(struct server *server, uint64_t *ret_revision)
{
    json_t *answer = NULL;
    int status = server_get(server, &answer, "/events?limit=1");

    if (status != STATUS_OK)
        return status;
    *ret_revision = (uint64_t)json_integer_value(json_object_get(answer, "newest"));
    json_decref(answer);
    return STATUS_OK;
}

int server_event_wait(struct server *server, uint64_t *revision, uint64_t timeout_us)
{
    if (timeout_us == 0)
        return 0;

    uint64_t bounded_us = MIN_OF(timeout_us, EVENT_WAIT_MAX_S * USEC_PER_SEC);
    uint64_t wait_s = MAX_OF((bounded_us + USEC_PER_SEC - 1) / USEC_PER_SEC, (uint64_t)1);
    _cleanup_free_ char *path =
        text_format("/events?after=%" PRIu64 "&wait=%" PRIu64, *revision, wait_s);
    /* The server waits in whole seconds; our own limit ends a wait that must be shorter. */
    struct http_call call = { .method = "GET", .path = path, .timeout_us = bounded_us + 100000 };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);
    int r;

    if (status == STATUS_OK)
        r = events_advance(answer.json, revision);
    else if (answer.failure == -ETIMEDOUT)
        r = 0;
    else if (answer.failure == 0 && answer.status == 410)
        r = events_begin_anew(answer.json, revision);
    else
        r = answer.failure != 0 ? answer.failure : EDL_EHTTP;
    http_answer_clear(&answer);
    if (r < 0)
        (void)poll(NULL, 0, RETRY_MS);
    return r;
}
