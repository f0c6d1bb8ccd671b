/* SPDX-License-Identifier: Apache-2.0 */
/* test_elapsed_clock.c - wall clocks that jump, machines that start anew, batteries that are dead
 */
#include "tests/unit/test.h"

#include <string.h>

#include "shared/clock.h"
#include "shared/elapsed_clock.h"
#include "shared/macro.h"

#define BEGIN_US (UINT64_C(1764000000) * USEC_PER_SEC) /* of the wall clock */
#define DAY_US (UINT64_C(86400) * USEC_PER_SEC)
#define UP_US (1000 * USEC_PER_SEC) /* the machine runs so long at the beginning */

/* A machine: real time goes by, and its wall clock is off. */
struct machine {
    uint64_t boot_us, true_us;
    int64_t off_us;
    const char *boot_id;
    struct elapsed_clock clock;
};

static struct clock_reading reading_of(const struct machine *m)
{
    return (struct clock_reading){ .boot_id = m->boot_id,
                                   .boot_us = m->boot_us,
                                   .real_us = m->true_us + (uint64_t)m->off_us };
}

static void passes(struct machine *m, uint64_t us)
{
    m->boot_us += us;
    m->true_us += us;
}

static int64_t look(struct machine *m)
{
    const struct clock_reading now = reading_of(m);

    return elapsed_clock_look(&m->clock, &now);
}

/* jumps - the wall clock is set; returns by how much that was noticed */
static int64_t jumps(struct machine *m, int64_t us)
{
    m->off_us += us;
    return look(m);
}

static struct elapsed_record record_of(const struct machine *m)
{
    const struct clock_reading now = reading_of(m);

    return elapsed_clock_record(&m->clock, &now);
}

static uint64_t elapsed(const struct machine *m)
{
    return elapsed_clock_at(&m->clock, m->boot_us);
}

static uint64_t shown(const struct machine *m, uint64_t elapsed_us)
{
    return elapsed_us + (uint64_t)elapsed_clock_ahead_us(&m->clock, elapsed_us);
}

static struct machine machine_new(void)
{
    struct machine m = { .boot_us = UP_US, .true_us = BEGIN_US, .boot_id = "first" };
    const struct clock_reading now = reading_of(&m);

    assert_true(elapsed_clock_begin(&m.clock, NULL, &now) == 0);
    assert_true(elapsed(&m) == BEGIN_US);
    return m;
}

/* goes_on - the daemon starts again with what was stored */
static void goes_on(struct machine *m, const struct elapsed_record *stored)
{
    const struct clock_reading now = reading_of(m);

    assert_true(elapsed_record_is_valid(stored));
    (void)elapsed_clock_begin(&m->clock, stored, &now);
}

/* boots - off for so long */
static void boots(struct machine *m, uint64_t off_us)
{
    m->true_us += off_us + USEC_PER_SEC;
    m->boot_us = USEC_PER_SEC;
    m->boot_id = "second";
}

TEST(test_a_clock_that_nobody_sets_shows_itself)
{
    struct machine m = machine_new();

    passes(&m, 5 * DAY_US);
    assert_true(look(&m) == 0);
    assert_true(elapsed(&m) == BEGIN_US + 5 * DAY_US);
    assert_true(shown(&m, elapsed(&m)) == m.true_us);
}

TEST(test_91_days_ahead_for_3_seconds_and_back_is_3_seconds)
{
    struct machine m = machine_new();

    passes(&m, USEC_PER_SEC);
    assert_true(jumps(&m, 91 * (int64_t)DAY_US) == 91 * (int64_t)DAY_US);
    assert_true(elapsed(&m) == BEGIN_US + USEC_PER_SEC);
    assert_true(shown(&m, elapsed(&m)) == m.true_us + 91 * DAY_US); /* people see their clock */
    passes(&m, 3 * USEC_PER_SEC);
    assert_true(jumps(&m, -91 * (int64_t)DAY_US) == -91 * (int64_t)DAY_US);
    assert_true(elapsed(&m) == BEGIN_US + 4 * USEC_PER_SEC);
    assert_int_equal(m.clock.known.n_steps, 0); /* it was wrong, and nothing is told of it */
    assert_true(shown(&m, elapsed(&m)) == m.true_us);
}

TEST(test_a_clock_that_is_set_back_takes_nothing_back)
{
    struct machine m = machine_new();
    uint64_t before_us = elapsed(&m);

    assert_true(jumps(&m, -7200 * (int64_t)USEC_PER_SEC) == -7200 * (int64_t)USEC_PER_SEC);
    passes(&m, USEC_PER_SEC);
    assert_true(elapsed(&m) == before_us + USEC_PER_SEC);
    assert_true(shown(&m, elapsed(&m)) == m.true_us - 7200 * USEC_PER_SEC);
    assert_true(shown(&m, before_us - 1) == before_us - 1); /* history stays as it was */
}

TEST(test_half_a_second_is_no_step)
{
    struct machine m = machine_new();

    assert_true(jumps(&m, USEC_PER_SEC / 2) == 0);
    assert_true(elapsed(&m) == BEGIN_US);
}

TEST(test_a_restart_in_the_same_boot_is_exact_whatever_the_wall_clock_says)
{
    struct machine m = machine_new();
    struct elapsed_record stored = record_of(&m);

    passes(&m, 3 * DAY_US);
    m.off_us = 91 * (int64_t)DAY_US;
    goes_on(&m, &stored);
    assert_true(elapsed(&m) == BEGIN_US + 3 * DAY_US);
    assert_true(shown(&m, elapsed(&m)) == m.true_us + 91 * DAY_US);
}

TEST(test_a_boot_takes_what_the_wall_clock_says)
{
    struct machine m = machine_new();
    struct elapsed_record stored = record_of(&m);

    boots(&m, 3600 * USEC_PER_SEC);
    goes_on(&m, &stored);
    assert_true(elapsed(&m) == BEGIN_US + 3601 * USEC_PER_SEC);
    assert_int_equal(m.clock.known.n_steps, 0);
}

TEST(test_a_boot_takes_a_day_at_most_and_shows_the_right_time)
{
    struct machine m = machine_new();
    struct elapsed_record stored = record_of(&m);

    boots(&m, 10 * DAY_US);
    goes_on(&m, &stored);
    assert_true(elapsed(&m) == BEGIN_US + DAY_US);
    assert_true(shown(&m, elapsed(&m)) == m.true_us);
    assert_true(shown(&m, BEGIN_US) == BEGIN_US);
}

TEST(test_a_dead_battery_makes_it_1970_and_elapsed_time_goes_on)
{
    struct machine m = machine_new();
    struct elapsed_record stored = record_of(&m);
    uint64_t before_us;

    boots(&m, DAY_US);
    m.off_us = -(int64_t)m.true_us;
    goes_on(&m, &stored);
    assert_true(elapsed(&m) == BEGIN_US + USEC_PER_SEC); /* it is up for a second */
    before_us = elapsed(&m);
    passes(&m, 20 * USEC_PER_SEC);
    (void)jumps(&m, -m.off_us); /* NTP sets it */
    assert_true(elapsed(&m) == before_us + 20 * USEC_PER_SEC);
    assert_true(shown(&m, elapsed(&m)) == m.true_us);
}

TEST(test_a_wild_clock_at_a_boot_is_a_day_at_most)
{
    struct machine m = machine_new();
    struct elapsed_record stored = record_of(&m);

    boots(&m, 0);
    m.off_us = 27000 * (int64_t)DAY_US;
    goes_on(&m, &stored);
    assert_true(elapsed(&m) == BEGIN_US + DAY_US);
}

TEST(test_many_steps_are_bounded_and_stay_in_order)
{
    struct machine m = machine_new();
    struct elapsed_record record;

    for (int i = 0; i < 100; i++) {
        passes(&m, 2 * DAY_US);
        assert_true(jumps(&m, 60 * (int64_t)USEC_PER_SEC) > 0);
    }
    record = record_of(&m);
    assert_int_equal(record.n_steps, ELAPSED_STEPS_MAX);
    assert_true(elapsed_record_is_valid(&record));
    assert_true(shown(&m, elapsed(&m)) == m.true_us + 6000 * USEC_PER_SEC);
    assert_true(elapsed(&m) == BEGIN_US + 200 * DAY_US);
}

TEST(test_a_record_that_makes_no_sense_is_not_taken)
{
    struct machine m = machine_new();
    struct elapsed_record record;

    (void)jumps(&m, (int64_t)DAY_US);
    passes(&m, USEC_PER_SEC);
    record = record_of(&m);
    assert_true(elapsed_record_is_valid(&record));
    record.steps[0].from_us = record.elapsed_us + 1;
    assert_false(elapsed_record_is_valid(&record));
    record.steps[0].from_us = 0;
    record.elapsed_us = UINT64_MAX;
    assert_false(elapsed_record_is_valid(&record));
}

TEST(test_a_machine_that_was_up_takes_over_without_its_uptime)
{
    struct machine leader = machine_new(), other = machine_new();
    struct elapsed_record record;
    struct clock_reading now;

    record = record_of(&leader);
    other.boot_id = "of another machine";
    other.boot_us = 3 * DAY_US;
    other.true_us += 2 * USEC_PER_SEC;
    now = reading_of(&other);
    now.is_shared = true;
    assert_true(elapsed_clock_begin(&other.clock, &record, &now) == 0);
    assert_true(elapsed(&other) == record.elapsed_us + 2 * USEC_PER_SEC);
    now.real_us = record.real_us - 1; /* its clock is behind: none is counted, none goes back */
    (void)elapsed_clock_begin(&other.clock, &record, &now);
    assert_true(elapsed(&other) == record.elapsed_us);
    now.is_shared = false; /* and a boot of the machine itself took as long as it lasts */
    (void)elapsed_clock_begin(&other.clock, &record, &now);
    assert_true(elapsed(&other) == record.elapsed_us + DAY_US);
}

TEST(test_an_instant_is_of_the_clock_that_is_kept)
{
    const struct clock_reading now = { .boot_id = "first",
                                       .boot_us = clock_read_us(CLOCK_BOOTTIME),
                                       .real_us = clock_read_us(CLOCK_REALTIME) };
    struct elapsed_record stored = { .boot_id = "first",
                                     .boot_us = now.boot_us,
                                     .real_us = now.real_us,
                                     .elapsed_us = BEGIN_US / 2 };
    struct elapsed_clock clock;
    struct instant instant;

    (void)elapsed_clock_begin(&clock, &stored, &now);
    clock_keep(&clock);
    instant = clock_instant();
    assert_in_range(instant.wall_us, BEGIN_US / 2, BEGIN_US / 2 + 60 * USEC_PER_SEC);
    assert_in_range(clock_shown_us(instant.wall_us), now.real_us, now.real_us + 60 * USEC_PER_SEC);
    assert_true(instant_shown_us(instant, instant.wall_us) == clock_shown_us(instant.wall_us));
    assert_true(clock_shown_us(0) == 0 && clock_elapsed_us(0) == 0);
    assert_true(clock_elapsed_us(clock_shown_us(instant.wall_us)) == instant.wall_us);
    clock_keep(NULL);
    assert_true(clock_instant().wall_us >= now.real_us && clock_instant().ahead_us == 0);
}
