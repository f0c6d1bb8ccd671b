/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_client.c - the HTTP clients, on the loop and blocking: failures, cancelling, caps */
#include "tests/unit/http_fixture.h"

#include "shared/cleanup.h"
#include "shared/http_call.h"
#include "tests/unit/test.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

TEST_EACH(fixture_setup, fixture_teardown);

TEST(test_answer_cap)
{
    struct result result = { 0 };

    ask(*state, "GET", "/bytes?n=67108865", &result);
    assert_int_equal(result.code, -E2BIG);
    result_clear(&result);
}

TEST(test_timeout)
{
    struct result result = { 0 };

    ask_call(*state,
             &(struct http_call){ .method = "GET", .path = "/forever", .timeout_us = USEC_PER_SEC },
             &result);
    assert_int_equal(result.failure, -ETIMEDOUT);
    assert_int_equal(result.code, -ETIMEDOUT);
    result_clear(&result);
}

static void on_answer_free(const struct http_answer *answer, void *userdata)
{
    struct result *result = userdata;

    result->n_answers++;
    result->status = answer->status;
    http_async_cancel(result->call); /* its own: nothing to do */
    result->fixture->async = http_async_free(result->fixture->async);
}

TEST(test_cancel_and_free)
{
    struct http_call forever = { .method = "GET", .path = "/forever" };
    struct http_call hello = { .method = "GET", .path = "/hello" };
    struct fixture *f = *state;
    struct result cancelled = { 0 };
    struct result freeing = { .fixture = f };
    struct http_async_call *call = NULL;

    http_async_cancel(NULL);
    assert_int_equal(http_async_start(f->async, &forever, on_answer, &cancelled, &call, NULL), 0);
    wait_held(f, 1);
    http_async_cancel(call);
    assert_int_equal(http_async_start(f->async, &hello, on_answer, &cancelled, &call, NULL), 0);
    http_async_cancel(call); /* before it began */
    assert_int_equal(http_async_start(f->async, &forever, on_answer, &cancelled, NULL, NULL), 0);
    assert_int_equal(http_async_start(f->async, &hello, on_answer_free, &freeing, &freeing.call,
                                      NULL),
                     0);
    run_until(f, &freeing.n_answers, 1);
    assert_int_equal(freeing.status, 200);
    assert_null(f->async);
    assert_int_equal(cancelled.n_answers, 0);
}

static void on_leader(const struct http_answer *answer, void *userdata)
{
    struct result *result = userdata;

    assert_string_equal(answer->leader, "https://b.example:7010");
    result->n_answers++;
}

TEST(test_answers_tell_who_leads)
{
    struct http_call hello = { .method = "GET", .path = "/hello" };
    struct fixture *f = *state;
    struct result result = { .fixture = f };

    assert_int_equal(http_async_start(f->async, &hello, on_leader, &result, NULL, NULL), 0);
    run_until(f, &result.n_answers, 1);
}

static void on_abandoned(const struct http_answer *answer, void *userdata)
{
    struct http_call hello = { .method = "GET", .path = "/hello" };
    struct result *result = userdata;

    if (result->n_answers++ > 1) {
        result->status = answer->status; /* of what was asked again */
        return;
    }
    assert_int_equal(answer->failure, EDL_EUNREACHABLE);
    assert_true(answer->sent);
    assert_non_null(strstr(answer->text, "another one leads"));
    if (result->call != NULL) /* one of them takes the other away */
        http_async_cancel(TAKE_PTR(result->call));
    assert_int_equal(http_async_start(result->fixture->async, &hello, on_abandoned, result, NULL,
                                      NULL),
                     0);
}

/* Who asks again from inside is not told at once that it failed again. */
TEST(test_calls_that_are_abandoned_fail)
{
    struct http_call forever = { .method = "GET", .path = "/forever" };
    struct fixture *f = *state;
    struct result result = { .fixture = f };
    struct result gone = { 0 };

    assert_int_equal(http_async_start(f->async, &forever, on_abandoned, &result, NULL, NULL), 0);
    assert_int_equal(http_async_start(f->async, &forever, on_answer, &gone, &result.call, NULL), 0);
    wait_held(f, 2);
    result.n_answers = 1;
    http_async_abandon(f->async, "another one leads");
    assert_int_equal(gone.n_answers, 0);
    run_until(f, &result.n_answers, 3);
    assert_int_equal(result.status, 200);
}

static void on_answer_again(const struct http_answer *answer, void *userdata)
{
    struct http_call call = { .method = "GET", .path = "/hello" };
    struct result *result = userdata;

    assert_int_equal(answer->status, 200);
    if (++result->n_answers < 50)
        assert_int_equal(http_async_start(result->fixture->async, &call, on_answer_again, result,
                                          NULL, NULL),
                         0);
}

TEST(test_start_from_callback)
{
    struct http_call call = { .method = "GET", .path = "/hello" };
    struct fixture *f = *state;
    struct result result = { .fixture = f };

    assert_int_equal(http_async_start(f->async, &call, on_answer_again, &result, NULL, NULL), 0);
    run_until(f, &result.n_answers, 50);
}

TEST(test_bad_calls)
{
    static const struct http_call bad[] = {
        { .method = "GET", .path = "hello" },
        { .method = "GET", .path = "/a b" },
        { .method = "GET", .path = "/a\r\nX: y" },
        { .method = "GET", .path = "/hello", .bearer_token = "a\r\nX: y" },
        { .method = "GET", .path = "/hello", .headers = { "A: b\nC: d" } },
    };
    static const char *const bases[] = { "",        "localhost:1", "https://",
                                         "http://", "unix:x",      "http://a b" };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct http_client *client = NULL;

    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_int_equal(http_async_start(f->async, &bad[i], on_answer, NULL, NULL, &error),
                         -EINVAL);
    for (size_t i = 0; i < ELEMENTS(bases); i++) {
        assert_int_equal(http_client_new(bases[i], &client, &error), -EINVAL);
        assert_true(error.text[0] != '\0');
    }
    assert_null(client);
}

/* What is this machine is told by the spelling: nobody is asked what a name means. */
TEST(test_no_token_goes_to_another_machine_in_clear)
{
    static const struct {
        const char *base;
        bool refused;
    } cases[] = {
        { "http://10.0.0.1:1", true },
        { "http://example.org:1", true },
        { "http://127.0.0.1.example.org:1", true },
        { "http://localhost.example.org:1", true },
        { "http://[::2]:1", true },
        { "http://0.0.0.0:1", true },
        { "http://127.0.0.1:1", false },
        { "http://127.1.2.3:1", false },
        { "http://localhost:1", false },
        { "http://[::1]:1", false },
        { "https://example.org:1", false },
        { "unix:/nowhere", false },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct http_call call = { .method = "GET", .path = "/", .bearer_token = "secret" };
        struct http_async_call *started = NULL;
        struct http_async *async;
        struct edl_error error = { 0 };
        int r;

        assert_int_equal(http_async_new(f->event, cases[i].base, &async, &error), 0);
        r = http_async_start(async, &call, on_answer, NULL, &started, &error);
        if (r != (cases[i].refused ? -EINVAL : 0))
            fail_msg("%s: %d", cases[i].base, r);
        if (cases[i].refused)
            assert_non_null(strstr(error.remedy, "https://"));
        call.bearer_token = NULL; /* without one, anybody may be asked */
        http_async_cancel(started);
        assert_int_equal(http_async_start(async, &call, on_answer, NULL, &started, &error), 0);
        (void)http_async_free(async);
    }
}

/* ---- the blocking client needs a thread of its own here ---- */

struct blocking {
    int (*new_client)(const char *base, struct http_client **ret, struct edl_error *error);
    const char *base;
    int done_fd;
    int failures[4];
    unsigned statuses[4];
    unsigned n_done;
};

static void *call_blocking(void *userdata)
{
    static const struct http_call calls[] = {
        { .method = "GET", .path = "/hello" },
        { .method = "POST", .path = "/small", .body = "abc", .body_size = 3 },
        { .method = "GET", .path = "/together" },
        { .method = "GET", .path = "/forever", .timeout_us = 50 * USEC_PER_MSEC },
    };
    struct blocking *blocking = userdata;
    struct http_client *client = NULL;
    uint64_t one = 1;

    if (blocking->new_client(blocking->base, &client, NULL) == 0)
        for (size_t i = 0; i < ELEMENTS(calls); i++) {
            struct http_answer answer;

            blocking->failures[i] = http_client_call(client, &calls[i], &answer);
            blocking->statuses[i] = answer.status;
            http_answer_clear(&answer);
        }
    (void)http_client_free(client);
    (void)!write(blocking->done_fd, &one, sizeof one);
    return NULL;
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)fd;
    (void)events;
    ((struct blocking *)userdata)->n_done++;
    return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void run_blocking(struct fixture *f,
                         int (*new_client)(const char *, struct http_client **, struct edl_error *))
{
    _cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct blocking blocking = { .new_client = new_client, .base = f->base, .done_fd = fd };
    sd_event_source *source = NULL;
    pthread_t thread;

    f->n_wanted = 1;
    assert_true(sd_event_add_io(f->event, &source, fd, EPOLLIN, on_done, &blocking) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, call_blocking, &blocking), 0);
    run_until(f, &blocking.n_done, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)sd_event_source_disable_unref(source);
    assert_int_equal(blocking.statuses[0], 200);
    assert_int_equal(blocking.statuses[1], 200);
    assert_int_equal(blocking.statuses[2], 200);
    assert_int_equal(blocking.failures[2], 0);
    assert_int_equal(blocking.failures[3], -ETIMEDOUT);
}

TEST(test_blocking_client)
{
    run_blocking(*state, http_client_new);
}

TEST(test_quick_client)
{
    run_blocking(*state, http_client_new_quick);
}

TEST_AGAIN(test_quick_client, unix, .setup = fixture_setup_unix, .teardown = fixture_teardown);

TEST(test_unreachable)
{
    struct fixture *f = *state;
    struct http_client *client = NULL;
    struct http_answer answer;
    struct edl_error error = { 0 };

    f->server = http_server_free(f->server); /* its port is free now */
    assert_int_equal(http_client_new(f->base, &client, &error), 0);
    assert_int_equal(http_client_call(client,
                                      &(struct http_call){ .method = "GET", .path = "/hello" },
                                      &answer),
                     EDL_EUNREACHABLE);
    assert_int_equal(http_answer_error(&answer, &error), EDL_EUNREACHABLE);
    assert_non_null(strstr(error.text, f->base));
    http_answer_clear(&answer);
    client = http_client_free(client);
    assert_int_equal(http_client_new("unix:/nonexistent/socket", &client, &error), 0);
    assert_int_equal(http_client_call(client,
                                      &(struct http_call){ .method = "GET", .path = "/hello" },
                                      &answer),
                     EDL_EUNREACHABLE);
    http_answer_clear(&answer);
    client = http_client_free(client);
}

TEST_WITH(test_blocking_client_unix, .setup = fixture_setup_unix, .teardown = fixture_teardown)
{
    run_blocking(*state, http_client_new);
}

/* What no scheduler says comes from a proxy on the way, which is named by its own words. */
TEST_PLAIN(test_an_answer_of_a_proxy)
{
    static const struct {
        unsigned status;
        bool json;
        const char *body, *text, *remedy;
    } rows[] = {
        { 413, false,
          "<html>\r\n<head><title>413 Request Entity\tToo Large</title></head>\r\n</html>",
          "status 413 (413 Request Entity?Too Large) is no answer of a scheduler",
          "client_max_body_size" },
        { 502, false, "", "status 502 is no answer of a scheduler", "--server" },
        { 503, true, "{\"error\": \"no healthy upstream\"}", "status 503 is no answer",
          "--server" },
        { 413, true, "{\"detail\": \"it is too large\", \"remedy\": \"send less\"}",
          "it is too large", "send less" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct http_answer answer;
        struct edl_error error = { 0 };

        http_answer_take(&answer, rows[i].status, rows[i].json, xstrdup(rows[i].body),
                         strlen(rows[i].body));
        assert_true(http_answer_error(&answer, &error) < 0);
        assert_non_null(strstr(error.text, rows[i].text));
        assert_non_null(strstr(error.remedy, rows[i].remedy));
        http_answer_clear(&answer);
    }
}

/* A server that comes back is found again, though the kept connection is dead. */
TEST(test_server_comes_back)
{
    struct http_server_config config = { .n_routes = 0 };
    struct edl_error error = { 0 };
    struct result result = { 0 };
    struct fixture *f = *state;

    ask(f, "GET", "/hello", &result);
    assert_int_equal(result.status, 200);
    f->server = http_server_free(f->server);
    config.listen_fd = http_listen_tcp("127.0.0.1", f->port, NULL, &error);
    assert_int_equal(http_server_new(f->event, &config, &f->server, &error), 0);
    ask(f, "GET", "/hello", &result);
    assert_int_equal(result.status, 404); /* another server: no routes */
    result_clear(&result);
}

static int count_defer(sd_event_source *source, void *userdata)
{
    (void)source;
    ++*(int *)userdata;
    return 0;
}

/* run_until_readable - the loop goes on until there is something to read for us */
static void run_until_readable(struct fixture *f, int fd)
{
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    uint64_t deadline_us = clock_read_us(CLOCK_MONOTONIC) + 120 * USEC_PER_SEC;

    while (poll(&readable, 1, 0) == 0) {
        assert_true(clock_read_us(CLOCK_MONOTONIC) < deadline_us);
        assert_true(sd_event_run(f->event, 10 * USEC_PER_MSEC) >= 0);
    }
}

/* What is ready already, as the ends of many processes, waits for an answer that comes after it. */
TEST(test_answers_go_first)
{
    static const char words[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    struct http_call call = { .method = "GET", .path = "/hello" };
    sd_event_source *others[16];
    struct fixture *f = *state;
    struct result result = { 0 };
    struct edl_error error = { 0 };
    int n_others = 0;
    int listener, peer;

    http_async_hurry(f->async);
    f->server = http_server_free(f->server);
    listener = http_listen_tcp("127.0.0.1", f->port, NULL, &error);
    assert_true(listener >= 0);
    assert_int_equal(http_async_start(f->async, &call, on_answer, &result, NULL, NULL), 0);
    run_until_readable(f, listener);
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(peer >= 0);
    run_until_readable(f, peer);
    for (size_t i = 0; i < ELEMENTS(others); i++)
        assert_true(sd_event_add_defer(f->event, &others[i], count_defer, &n_others) >= 0);
    assert_int_equal(write(peer, words, sizeof words - 1), sizeof words - 1);
    run_until(f, &result.n_answers, 1);
    assert_int_equal(result.status, 200);
    assert_int_equal(n_others, 0);
    for (size_t i = 0; i < ELEMENTS(others); i++)
        sd_event_source_disable_unref(others[i]);
    (void)safe_close(peer);
    (void)safe_close(listener);
    result_clear(&result);
}
