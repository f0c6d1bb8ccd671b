/* SPDX-License-Identifier: Apache-2.0 */
/* test_low_water.c - how many bytes a wait for a socket ends with; a connection behind a long body
 */
#include "trainer_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "tests/unit/test.h"
#include "trainer/wire/low_water.h"
#include "trainer/server/ps_connection.h"

enum { LONG_MS = 120000, LONG_BYTES = 64 * 1024 };

static void pair_open(int ret[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ret[0], (struct sockaddr *)&address, size), 0);
    ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(ret[1] >= 0);
}

static void say(int fd, size_t bytes)
{
    uint8_t zeros[1024] = { 0 };

    assert_int_equal(send(fd, zeros, bytes, MSG_NOSIGNAL), bytes);
}

static int readable(int fd, int wait_ms)
{
    struct pollfd polled = { .fd = fd, .events = POLLIN };

    return poll(&polled, 1, wait_ms);
}

TEST(test_marks)
{
    uint8_t taken[1024];
    int mark = LOW_WATER_NONE, fds[2];

    pair_open(fds);
    low_water_set(fds[1], 1000, &mark);
    assert_int_equal(mark, 1000);
    say(fds[0], 999);
    assert_int_equal(readable(fds[1], 0), 0);
    say(fds[0], 1);
    assert_int_equal(readable(fds[1], LONG_MS), 1);
    assert_int_equal(recv(fds[1], taken, sizeof taken, MSG_WAITALL | MSG_DONTWAIT), 1000);

    low_water_set(fds[1], LOW_WATER_NONE, &mark);
    say(fds[0], 1);
    assert_int_equal(readable(fds[1], LONG_MS), 1);
    assert_int_equal(recv(fds[1], taken, sizeof taken, 0), 1);

    low_water_set(fds[1], (size_t)100 << 20, &mark); /* it does not wait for all of that */
    assert_in_range(mark, 2, 1 << 20);
    say(fds[0], 5);
    (void)safe_close(fds[0]);
    assert_int_equal(readable(fds[1], LONG_MS), 1);
    assert_int_equal(recv(fds[1], taken, sizeof taken, 0), 5);
    (void)safe_close(fds[1]);
}

static int count_frame(struct ps_connection *connection, const struct wire_header *header,
                       const uint8_t *body, void *userdata)
{
    (void)header;
    (void)body;
    ps_connection_reply(connection, WIRE_HELLO_OK, NULL, 0, NULL, 0, NULL, 0);
    (*(int *)userdata)++;
    return 0;
}

static void never_closed(struct ps_connection *connection, const char *reason, void *userdata)
{
    (void)connection;
    (void)userdata;
    fail_msg("closed: %s", reason != NULL ? reason : "at the end");
}

static void run_until(sd_event *event, const int *count, int wanted)
{
    while (*count < wanted)
        assert_int_equal(sd_event_run(event, LONG_MS * USEC_PER_MSEC), 1);
}

/* Half of a long body comes, and the other half when the connection has begun to wait for it. The
 * small frame behind it is read as well. */
TEST(test_small_behind_long)
{
    uint8_t small[WIRE_HEADER_BYTES], *frame_bytes = xcalloc(WIRE_HEADER_BYTES + LONG_BYTES, 1);
    const size_t size = frame(frame_bytes, WIRE_PUSH_PULL, LONG_BYTES), half = size / 2;
    struct ps_connection *connection = NULL;
    sd_event *event = NULL;
    int frames = 0, fds[2];
    const struct ps_connection_events events = { count_frame, never_closed, &frames };

    pair_open(fds);
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(ps_connection_new(event, fds[1], &events, &connection, NULL), 0);
    ps_connection_set_limit(connection, LONG_BYTES);
    for (int round = 1; round <= 2; round++) {
        assert_int_equal(send(fds[0], frame_bytes, half, MSG_NOSIGNAL), half);
        assert_int_equal(sd_event_run(event, LONG_MS * USEC_PER_MSEC), 1);
        while (sd_event_run(event, 0) > 0)
            ;
        assert_int_equal(send(fds[0], frame_bytes + half, size - half, MSG_NOSIGNAL), size - half);
        run_until(event, &frames, 2 * round - 1);
        assert_int_equal(send(fds[0], small, frame(small, WIRE_PUSH_PULL, 0), MSG_NOSIGNAL),
                         sizeof small);
        run_until(event, &frames, 2 * round);
    }
    (void)ps_connection_free(connection);
    (void)sd_event_unref(event);
    (void)safe_close(fds[0]);
    free(frame_bytes);
}
