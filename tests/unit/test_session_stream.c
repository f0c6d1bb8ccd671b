/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_stream.c - the streams of a session at a terminal, on a wire that stands still */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "agent/session/session_stream.h"
#include "agent/session/session_wire.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define STILL_US (300 * USEC_PER_MSEC)

/* The wire, played here. */
static struct {
    size_t room;
    size_t n_data;
    unsigned n_ends;
    uint8_t last;
} wire;

size_t session_wire_room(const struct session_wire *unused)
{
    (void)unused;
    return MIN_OF(wire.room, (size_t)SESSION_DATA_MAX);
}

void session_wire_send(struct session_wire *unused, enum session_frame_type type, unsigned channel,
                       const void *data, size_t size)
{
    (void)unused;
    (void)channel;
    wire.n_ends += type == SESSION_EOF;
    if (type != SESSION_DATA)
        return;
    wire.n_data += size;
    wire.room -= size;
    wire.last = ((const uint8_t *)data)[size - 1];
}

void session_wire_window(struct session_wire *unused, unsigned channel, uint32_t size)
{
    (void)unused;
    (void)channel;
    (void)size;
}

struct terminal {
    sd_event *event;
    int master, slave;
    bool over;
};

static void begin(struct terminal *t)
{
    struct termios modes;

    *t = (struct terminal){ .master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) };
    assert_true(t->master >= 0 && unlockpt(t->master) == 0);
    t->slave = ioctl(t->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    assert_true(t->slave >= 0 && tcgetattr(t->slave, &modes) == 0);
    cfmakeraw(&modes);
    assert_int_equal(tcsetattr(t->slave, TCSANOW, &modes), 0);
    assert_true(sd_event_new(&t->event) >= 0);
    memset(&wire, 0, sizeof wire);
}

static void end(struct terminal *t)
{
    (void)safe_close(t->slave);
    (void)sd_event_unref(t->event);
}

static void on_over(void *userdata)
{
    ((struct terminal *)userdata)->over = true;
}

static uint64_t now_us(struct terminal *t)
{
    uint64_t now = 0;

    (void)sd_event_now(t->event, CLOCK_MONOTONIC, &now);
    return now;
}

/* turn - the loop, until the outlet is over or so much time has passed */
static void turn(struct terminal *t, uint64_t us)
{
    uint64_t end_us;

    (void)sd_event_run(t->event, 0);
    end_us = now_us(t) + us;
    while (!t->over && now_us(t) < end_us)
        (void)sd_event_run(t->event, end_us - now_us(t));
}

/* fill - as much as the kernel takes */
static size_t fill(int fd)
{
    static const uint8_t some[100] = { [0 ... 99] = 'x' };
    size_t n = 0;
    ssize_t r;

    while ((r = write(fd, some, sizeof some)) > 0)
        n += (size_t)r;
    return n;
}

/* One in the background holds the slave all the time. */
static void check_rest(size_t room_at_once)
{
    struct terminal t;
    struct session_outlet outlet;
    size_t written;

    begin(&t);
    assert_true(
        session_outlet_open(&outlet, t.event, NULL, SESSION_STDOUT, t.master, on_over, &t) >= 0);
    written = fill(t.slave);
    assert_true(written > 8192);
    session_outlet_bound_terminal(&outlet);
    turn(&t, STILL_US); /* the wire takes nothing: that is no sign that there is nothing */
    assert_false(t.over);
    while (!t.over && wire.n_data <= written) {
        wire.room = room_at_once;
        session_outlet_go_on(&outlet);
        turn(&t, STILL_US);
    }
    assert_int_equal(wire.n_data, written);
    assert_int_equal(wire.n_ends, 1);
    end(&t);
}

TEST(test_the_rest_of_a_terminal_waits_for_the_wire)
{
    check_rest(3000);
    check_rest(1 << 20);
}

TEST(test_a_terminal_ends_though_one_writes_on)
{
    struct terminal t;
    struct session_outlet outlet;

    begin(&t);
    assert_true(
        session_outlet_open(&outlet, t.event, NULL, SESSION_STDOUT, t.master, on_over, &t) >= 0);
    session_outlet_bound_terminal(&outlet);
    for (unsigned i = 0; !t.over && i < 10000; i++) {
        wire.room = 1 << 20;
        (void)fill(t.slave);
        (void)sd_event_run(t.event, 1000);
    }
    assert_true(t.over);
    assert_in_range(wire.n_data, 1, 1 << 20);
    end(&t);
}

/* all_at_once - how much a terminal of which nobody reads takes in one write */
static size_t all_at_once(void)
{
    static const uint8_t some[1 << 16] = { 0 };
    struct terminal t;
    ssize_t n;

    begin(&t);
    n = write(t.master, some, sizeof some);
    assert_in_range(n, 1, sizeof some - 1);
    (void)safe_close(t.master);
    end(&t);
    return (size_t)n;
}

/* The last of what was typed leaves no room. */
static void check_ctrl_d(size_t size)
{
    static const uint8_t some[1 << 16] = { 0 };
    struct terminal t;
    struct session_inlet inlet;
    uint8_t got[4096], last = 0;
    ssize_t n;

    begin(&t);
    assert_true(session_inlet_open(&inlet, t.event, NULL, SESSION_STDIN,
                                   fcntl(t.master, F_DUPFD_CLOEXEC, 3)) >= 0);
    inlet.is_terminal = true;
    assert_true(session_inlet_take(&inlet, some, size));
    session_inlet_end(&inlet);
    for (unsigned i = 0; i < 1000 && last != 4; i++) {
        turn(&t, USEC_PER_MSEC);
        n = read(t.slave, got, sizeof got);
        last = n > 0 ? got[n - 1] : 0;
    }
    assert_int_equal(last, 4);
    assert_int_equal(inlet.fd, -1);
    session_inlet_close(&inlet);
    (void)safe_close(t.master);
    end(&t);
}

TEST(test_ctrl_d_waits_until_a_terminal_takes_it)
{
    size_t size = all_at_once();

    for (unsigned i = 0; i < 20; i++)
        check_ctrl_d(size);
}
