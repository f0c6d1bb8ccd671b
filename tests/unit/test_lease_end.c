/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease_end.c - the end of a lease of a program that cannot be frozen, under a real
 * edl-supervisor
 *
 * The lease is so long that no busy machine comes too late: only its end comes soon. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/core/fence.h"
#include "agent/link/lease.h"
#include "tests/unit/supervisor_fixture.h"
#include "tests/unit/test.h"

#define LEASE_US (2400 * USEC_PER_SEC)
#define SHORT_US (6 * USEC_PER_SEC)

static struct lease_map lease;

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

static int begin(void **state)
{
    const struct fixture *f;

    if (setup(state) < 0)
        return -1;
    f = *state;
    return lease_map_open(f->lease, true, true, &lease, NULL);
}

static int end(void **state)
{
    lease_map_close(&lease);
    return teardown(state);
}

TEST_EACH(begin, end);

static void begin_script(struct fixture *f, const char *script, uint64_t left_us, uint64_t lease_us)
{
    lease_map_extend(&lease, (struct lease_word){ now_us() + left_us, 1 });
    make_order(f, json_pack("[s, s, s]", "sh", "-c", script), 60 * USEC_PER_SEC, lease_us);
    start(f);
    wait_for_text(f, "up\n");
}

/* come_near_end - its supervisor looks at that; returns the deadline */
static uint64_t come_near_end(const struct fixture *f, uint64_t left_us)
{
    struct lease_word word = { .deadline_us = now_us() + left_us, .epoch = 1 };

    atomic_store(&lease.words[1], lease_word_pack(word));
    assert_int_equal(kill(f->pid, SIGALRM), 0);
    return word.deadline_us;
}

/* assert_ended - then and not before, by its record: how long its supervisor takes to end
 * afterwards is nobody's business */
static void assert_ended(struct fixture *f, int signal_number, uint64_t from_us,
                         uint64_t deadline_us)
{
    struct exit_record record;
    uint64_t to_wall_us;

    (void)wait_end(f, &record);
    to_wall_us = clock_read_us(CLOCK_REALTIME) - now_us();
    assert_in_range(record.ended_wall_us, from_us + to_wall_us, deadline_us + to_wall_us);
    assert_int_equal(record.exit_signal, signal_number);
    assert_string_equal(record.reason, "lease ended: the node was cut off");
    assert_int_equal(record.cause, EXIT_CAUSE_LEASE);
}

TEST(test_lease_end_stops_before_the_deadline)
{
    struct fixture *f = *state;
    uint64_t deadline_us;

    begin_script(f, "echo up >$FIFO; exec sleep 1000", LEASE_US, LEASE_US);
    deadline_us = come_near_end(f, LEASE_US / 3 + USEC_PER_SEC);
    assert_ended(f, SIGTERM, fence_term_at(deadline_us, LEASE_US), deadline_us);
}

TEST(test_lease_end_kills_before_the_deadline)
{
    struct fixture *f = *state;
    uint64_t deadline_us;

    begin_script(f, "trap '' TERM; echo up >$FIFO; exec sleep 1000", LEASE_US, LEASE_US);
    deadline_us = come_near_end(f, LEASE_US / 12 + USEC_PER_SEC);
    assert_ended(f, SIGKILL, fence_kill_at(deadline_us, LEASE_US), deadline_us);
}

TEST(test_lease_extended_goes_on)
{
    struct fixture *f = *state;
    struct exit_record record;
    uint64_t term_at_us = fence_term_at(now_us() + SHORT_US, SHORT_US);

    begin_script(f, "echo up >$FIFO; read x <$GATE", SHORT_US, SHORT_US);
    lease_map_extend(&lease, (struct lease_word){ now_us() + 300 * USEC_PER_SEC, 1 });
    if (now_us() >= term_at_us) {
        print_message("this machine was too slow to extend the lease in time\n");
        skip();
    }
    assert_false(wait_readable(f->pidfd, SHORT_US / USEC_PER_MSEC + 100));
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
}
