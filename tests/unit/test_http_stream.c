/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_stream.c - answers without an end of their own: pieces, a reader who is slow or leaves,
 * the server's end */
#include "tests/unit/http_fixture.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "tests/unit/test.h"

enum { PIECE_BYTES = 64 * 1024, SMALL_BUFFER = 4096, ENOUGH_BYTES = 64 * 1024 * 1024 };

struct world {
    sd_event *event;
    struct http_server *server;
    struct http_stream *stream;
    uint16_t port;
    const char *next; /* what on_room writes, once; NULL: nothing */
    bool endless, ends;
    size_t written;
    unsigned n_rooms, n_gone;
};

static void on_room(struct http_stream *stream, void *userdata)
{
    static const char piece[PIECE_BYTES] = "x";
    struct world *w = userdata;

    assert_ptr_equal(stream, w->stream);
    w->n_rooms++;
    if (w->endless) {
        http_stream_write(stream, piece, sizeof piece);
        w->written += sizeof piece;
    } else if (w->next != NULL) {
        http_stream_write(stream, w->next, strlen(w->next));
        w->next = NULL;
        if (w->ends)
            http_stream_end(stream);
    }
}

static void on_gone(struct http_stream *stream, void *userdata)
{
    struct world *w = userdata;

    assert_ptr_equal(stream, w->stream);
    w->n_gone++;
}

static void on_request(struct http_request *request, void *userdata)
{
    struct world *w = userdata;

    w->stream = http_stream_begin(request, 200, "text/event-stream",
                                  &(struct http_stream_config){
                                      .on_room = on_room, .on_gone = on_gone, .userdata = w });
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/stream", .handler = on_request },
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    struct http_server_config config = {
        .routes = routes, .n_routes = ELEMENTS(routes), .userdata = w, .idle_timeout_s = 1
    };

    assert_true(sd_event_new(&w->event) >= 0);
    config.listen_fd = http_listen_tcp("127.0.0.1", 0, &w->port, NULL);
    assert_true(config.listen_fd >= 0);
    assert_int_equal(http_server_new(w->event, &config, &w->server, NULL), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    (void)http_server_free(w->server);
    (void)sd_event_unref(w->event);
    free(w);
    return 0;
}

TEST_EACH(setup, teardown);

static void turn(const struct world *w, uint64_t end_us)
{
    assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    assert_true(sd_event_run(w->event, 100 * USEC_PER_MSEC) >= 0);
}

static void run_to(const struct world *w, const unsigned *n, unsigned wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (*n < wanted)
        turn(w, end_us);
}

static int ask_stream(const struct world *w)
{
    static const char text[] = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(w->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int size = SMALL_BUFFER;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    return fd;
}

/* Collects what comes until it holds `wanted`. */
static void expect(const struct world *w, int fd, const char *wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    char text[4096] = "";
    size_t size = 0;

    while (strstr(text, wanted) == NULL) {
        ssize_t n = recv(fd, text + size, sizeof text - 1 - size, MSG_DONTWAIT);

        if (n > 0)
            size += (size_t)n;
        else
            turn(w, end_us);
        text[size] = '\0';
    }
}

static void say(struct world *w, const char *text)
{
    w->next = text;
    http_stream_wake(w->stream);
}

TEST(test_pieces_come_as_they_are_written)
{
    struct world *w = *state;
    int fd = ask_stream(w);

    run_to(w, &w->n_rooms, 1);
    expect(w, fd, "Content-Type: text/event-stream\r\n");
    say(w, "first\n");
    expect(w, fd, "first\n");
    assert_int_equal(http_server_waiting(w->server), 1); /* it rests, and costs nothing */
    say(w, "second\n");
    http_stream_wake(w->stream); /* twice is once */
    expect(w, fd, "second\n");
    assert_int_equal(w->n_gone, 0);
    w->ends = true;
    say(w, "last\n");
    expect(w, fd, "last\n\r\n0\r\n\r\n"); /* the end of the body, not of the connection alone */
    run_to(w, &w->n_gone, 1);
    (void)safe_close(fd);
}

TEST(test_a_stream_at_rest_does_not_spin)
{
    struct world *w = *state;
    int fd = ask_stream(w);
    uint64_t before, after, end_us;

    run_to(w, &w->n_rooms, 1);
    assert_true(sd_event_get_iteration(w->event, &before) >= 0);
    end_us = clock_read_us(CLOCK_BOOTTIME) + 1500 * USEC_PER_MSEC; /* longer than idle_timeout_s */
    while (clock_read_us(CLOCK_BOOTTIME) < end_us)
        assert_true(sd_event_run(w->event, 100 * USEC_PER_MSEC) >= 0);
    assert_true(sd_event_get_iteration(w->event, &after) >= 0);
    assert_true(after - before < 50);
    assert_int_equal(w->n_rooms, 1);
    assert_int_equal(w->n_gone, 0); /* nothing to say is no reason to end */
    say(w, "still there\n");
    expect(w, fd, "still there\n");
    (void)safe_close(fd);
}

/* Whoever left is noticed when something is written. */
TEST(test_the_reader_leaves)
{
    struct world *w = *state;
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    int fd = ask_stream(w);

    run_to(w, &w->n_rooms, 1);
    (void)safe_close(fd);
    while (w->n_gone == 0) {
        say(w, ":\n\n");
        turn(w, end_us);
    }
    assert_int_equal(w->n_gone, 1);
    assert_int_equal(http_server_waiting(w->server), 0);
}

/* One who does not read is asked for nothing more, and loses its connection. */
TEST(test_a_slow_reader_is_bounded_and_cut_off)
{
    struct world *w = *state;
    int fd;

    w->endless = true;
    fd = ask_stream(w);
    run_to(w, &w->n_gone, 1);
    assert_true(w->written < ENOUGH_BYTES); /* what the sockets hold, and one piece */
    (void)safe_close(fd);
}

TEST(test_the_server_ends)
{
    struct world *w = *state;
    int fd = ask_stream(w);

    run_to(w, &w->n_rooms, 1);
    w->server = http_server_free(w->server);
    assert_int_equal(w->n_gone, 1);
    expect(w, fd, "0\r\n\r\n");
    (void)safe_close(fd);
}
