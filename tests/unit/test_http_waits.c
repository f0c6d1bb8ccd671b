/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_waits.c - requests that wait before they are whole: for the rest of their body to be
 * wanted, and until it is known who calls; connections that wait to be let in */
#include "tests/unit/http_fixture.h"

#include <sys/socket.h>

#include "shared/cleanup.h"
#include "tests/unit/test.h"

TEST_EACH(fixture_setup, fixture_teardown);

TEST(test_the_rest_of_a_body_waits)
{
    struct fixture *f = *state;
    struct result other = { 0 };
    struct raw raw;

    /* chunks that come together as well as those that come late */
    raw_send(f, &raw,
             "PUT /sink HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
             "Transfer-Encoding: chunked\r\n\r\n2\r\na?\r\n2\r\nb?\r\n");
    for (size_t i = 1; i <= 2; i++) {
        run_until(f, &f->n_resting, (unsigned)i);
        ask(f, "GET", "/number?number=7", &other); /* others are served meanwhile */
        assert_int_equal(other.status, 200);
        assert_int_equal(f->sunk_bytes, 2 * i);
        assert_int_equal(http_server_waiting(f->server), 1);
        http_request_go_on(f->resting);
    }
    raw_more(&raw, "3\r\nend\r\n0\r\n\r\n");
    raw_collect(f, &raw);
    assert_non_null(strstr(raw.text, "\"bytes\":7"));
    run_until(f, &f->n_sinks_ended, 1);

    /* who left meanwhile is noticed behind it; a server that ends waits for nobody */
    raw_send(f, &raw, "PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n?");
    run_until(f, &f->n_resting, 3);
    raw.fd = safe_close(raw.fd);
    http_request_go_on(f->resting);
    run_until(f, &f->n_sinks_ended, 2);
    /* and also when it sent more before */
    raw_send(f, &raw, "PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n?");
    run_until(f, &f->n_resting, 4);
    raw_more(&raw, "more");
    raw.fd = safe_close(raw.fd);
    http_request_go_on(f->resting);
    run_until(f, &f->n_sinks_ended, 3);
    /* but the whole body of who then only listens is taken */
    raw_send(f, &raw,
             "PUT /sink HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n?");
    run_until(f, &f->n_resting, 5);
    raw_more(&raw, "more");
    assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
    http_request_go_on(f->resting);
    raw_collect(f, &raw);
    assert_non_null(strstr(raw.text, "\"bytes\":5"));
    run_until(f, &f->n_sinks_ended, 4);
    raw_send(f, &raw, "PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n?");
    run_until(f, &f->n_resting, 6);
    f->server = http_server_free(f->server);
    assert_int_equal(f->n_sinks_ended, 5);
    raw.fd = safe_close(raw.fd);
    result_clear(&other);
}

#define LATER "Host: x\r\nConnection: close\r\nAuthorization: Bearer later\r\n"

TEST(test_who_calls_is_known_later)
{
    struct fixture *f = *state;
    struct result other = { 0 };
    struct raw raw;

    raw_send(f, &raw, "POST /secret HTTP/1.1\r\n" LATER "Content-Length: 7\r\n\r\n{\"a\":1}");
    run_until(f, &f->n_resting, 1);
    ask(f, "GET", "/number?number=7", &other);
    assert_int_equal(other.status, 200);
    http_request_go_on(f->resting);
    raw_collect(f, &raw);
    assert_non_null(strstr(raw.text, "HTTP/1.1 201 "));
    assert_non_null(strstr(raw.text, "{\"a\":1}"));
    assert_int_equal(f->n_gone, 0);

    /* answered in its place: it is not asked again */
    f->resting = NULL;
    raw_send(f, &raw, "POST /secret HTTP/1.1\r\n" LATER "Content-Length: 7\r\n\r\n{\"a\":1}");
    run_until(f, &f->n_resting, 2);
    (void)edl_error_set(&other.error, -EAGAIN, "nobody knows");
    http_reply_error(f->resting, &other.error);
    raw_collect(f, &raw);
    assert_non_null(strstr(raw.text, "HTTP/1.1 503 "));
    assert_int_equal(f->n_resting, 2);

    /* and whoever leaves is told of */
    f->resting = NULL;
    raw_send(f, &raw, "POST /secret HTTP/1.1\r\n" LATER "Content-Length: 7\r\n\r\n{\"a\":1}");
    run_until(f, &f->n_resting, 3);
    raw.fd = safe_close(raw.fd);
    run_until(f, &f->n_gone, 1);
    result_clear(&other);
}

/* First for who calls, then for its body: who waited for the name is not told of what comes then.
 */
TEST(test_a_wait_that_is_over_is_forgotten)
{
    struct fixture *f = *state;
    struct raw raw;

    raw_send(f, &raw, "PUT /secret-sink HTTP/1.1\r\n" LATER "Content-Length: 9\r\n\r\n?");
    run_until(f, &f->n_resting, 1);
    http_request_go_on(f->resting);
    run_until(f, &f->n_resting, 2);
    f->server = http_server_free(f->server);
    assert_int_equal(f->n_gone, 0);
    raw.fd = safe_close(raw.fd);
}

/* Who was let in and has said what he wants is told by a server that ends to
 * come again, and not just cut off; who says nothing does not hold it up for ever. */
TEST(test_who_has_come_is_answered)
{
    static const char ask[] = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct fixture *f = *state;
    struct raw in, put, silent;

    raw_send(f, &in, "");
    raw_send(f, &silent, "");
    /* its owner would have to be looked up, and its body to rest */
    raw_send(f, &put, "");
    while (http_server_connections(f->server) < 3)
        assert_true(sd_event_run(f->event, 100 * USEC_PER_MSEC) >= 0);
    raw_more(&in, ask);
    raw_more(&put, "PUT /secret-sink HTTP/1.1\r\n" LATER "Content-Length: 1\r\n\r\n?");
    f->server = http_server_free(f->server);
    raw_collect(f, &in);
    assert_non_null(strstr(in.text, "HTTP/1.1 503 "));
    assert_non_null(strstr(in.text, "Retry-After: "));
    raw_collect(f, &put);
    assert_non_null(strstr(put.text, "HTTP/1.1 503 "));
    assert_int_equal(f->n_resting, 0);
    raw_collect(f, &silent);
    assert_int_equal(silent.size, 0);
}

/* What has come is let in at once: who waits in the kernel's queue keeps others out of it, and who
 * is kept out of it tries again after seconds. */
TEST(test_a_queue_of_connections_is_let_in_at_once)
{
    enum { N = 35 };
    struct fixture *f = *state;
    struct raw raw;
    int fds[N];

    for (size_t i = 0; i < N; i++) {
        raw_send(f, &raw, "");
        fds[i] = raw.fd;
    }
    while (http_server_connections(f->server) == 0)
        assert_true(sd_event_run(f->event, DEADLINE_US) >= 0);
    assert_int_equal(http_server_connections(f->server), N);
    for (size_t i = 0; i < N; i++)
        fds[i] = safe_close(fds[i]);
}
