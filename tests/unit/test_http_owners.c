/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_owners.c - what one caller may hold of a server: connections, and memory for bodies */
#include "tests/unit/http_fixture.h"

#include "shared/cleanup.h"
#include "tests/unit/test.h"

#include <sys/socket.h>

static void post(struct fixture *f, const char *owner, size_t size, struct result *result)
{
    _cleanup_free_ char *body = xcalloc(1, size + 1);
    char header[40];

    (void)snprintf(header, sizeof header, "X-Owner: %s", owner);
    memset(body, 'x', size);
    ask_call(f,
             &(struct http_call){ .method = "POST",
                                  .path = "/size",
                                  .headers = { owner != NULL ? header : NULL },
                                  .body = body,
                                  .body_size = size },
             result);
}

/* A call that stops before the last byte of its body, with what it sent in the server's memory. */
static void stop_in_the_middle(struct fixture *f, const char *owner, size_t size, struct raw *raw)
{
    _cleanup_free_ char *text = xcalloc(1, size + 200);
    unsigned n = 0;
    int length;

    length = snprintf(text, 200,
                      "POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                      "X-Owner: %s\r\nContent-Length: %zu\r\n\r\n",
                      owner, size);
    memset(text + length, 'x', size - 1);
    raw_send_bytes(f, raw, text, (size_t)length);
    for (size_t sent = 0; sent < size - 1;) {
        ssize_t w = send(raw->fd, text + (size_t)length + sent, size - 1 - sent, MSG_DONTWAIT);

        if (w > 0)
            sent += (size_t)w;
        assert_true(sd_event_run(f->event, 10 * USEC_PER_MSEC) >= 0);
        assert_true(n++ < 100000);
    }
    while (sd_event_run(f->event, 20 * USEC_PER_MSEC) > 0) /* until it has read all of it */
        ;
}

TEST_EACH(fixture_setup_guarded, fixture_teardown);

TEST(test_bodies)
{
    static const struct {
        const char *owner;
        size_t bytes;
        unsigned status;
    } cases[] = {
        { "ann", 210000, 429 }, /* with the 300,000 that she holds it is more than would be left */
        { "ann", 190000, 200 }, { "bob", 340000, 200 },   { "bob", 360000, 429 },
        { NULL, 900000, 200 },  { "apart", 290000, 200 }, { "apart", 310000, 429 },
    };
    struct fixture *f = *state;
    struct result result = { 0 };
    struct raw raw;

    post(f, "bob", 490000, &result); /* nobody holds any */
    assert_int_equal(result.status, 200);
    stop_in_the_middle(f, "ann", 300000, &raw);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        post(f, cases[i].owner, cases[i].bytes, &result);
        if (result.status != cases[i].status)
            fail_msg("%zu: %s gets %u: %s", i, cases[i].owner, result.status, result.error.text);
    }
    raw_more(&raw, "x");
    raw_collect(f, &raw);
    assert_non_null(strstr(raw.text, "HTTP/1.1 200 ")); /* what was let in stays */
    post(f, "bob", 490000, &result);
    assert_int_equal(result.status, 200);
    post(f, "bob", 510000, &result);
    assert_int_equal(result.status, 429);
    result_clear(&result);
}

/* Of a body that does not say how long it is what came counts. */
TEST(test_bodies_in_pieces)
{
    struct fixture *f = *state;
    struct result result = { 0 };
    _cleanup_free_ char *body = xcalloc(1, 250000);
    struct http_call call = { .method = "POST",
                              .path = "/size",
                              .headers = { "X-Owner: ann", "Transfer-Encoding: chunked" },
                              .body = body,
                              .body_size = 250000 };
    struct raw raw;

    memset(body, 'x', call.body_size);
    ask_call(f, &call, &result);
    assert_int_equal(result.status, 200);
    stop_in_the_middle(f, "bob", 490000, &raw);
    ask_call(f, &call, &result);
    assert_int_equal(result.status, 429);
    assert_non_null(strstr(result.error.remedy, "fewer"));
    raw.fd = safe_close(raw.fd);
    call.body_size = 100;
    ask_call(f, &call, &result);
    assert_int_equal(result.status, 200);
    result_clear(&result);
}

/* Two connections are those of "apart": the oldest goes, so that who comes back comes in. */
TEST(test_the_newest_stay)
{
    static const char wait[] = "GET /forever HTTP/1.1\r\nHost: x\r\nX-Owner: apart\r\n\r\n";
    struct fixture *f = *state;
    struct result result = { 0 };
    struct raw raw[5];

    for (size_t i = 0; i < ELEMENTS(raw); i++) {
        raw_send(f, &raw[i], wait);
        wait_held(f, i + 1);
    }
    assert_int_equal(http_server_cut_off(f->server), 3);
    ask(f, "GET", "/hello", &result);
    assert_int_equal(result.status, 200);
    assert_int_equal(answer_held(NULL, 0, f), 0);
    for (size_t i = 0; i < ELEMENTS(raw); i++) {
        (void)shutdown(raw[i].fd, SHUT_WR);
        raw_collect(f, &raw[i]);
        assert_int_equal(strstr(raw[i].text, "HTTP/1.1 200 ") != NULL, i >= 3);
    }
    result_clear(&result);
}
