/* SPDX-License-Identifier: Apache-2.0 */
/* test_parking.c - when it pays that a job goes back to the queue for another one (pure) */
#include "scheduler/core/policy/parking.h"
#include "tests/unit/test.h"

#define TURN_S 3600

static const struct parking_job long_job = {
    .remaining_s = 20000, .cost_s = 30, .ran_s = 10000, .since_s = -1
};

TEST(test_unknown_length_is_what_was_had)
{
    assert_true(parking_remaining(TURN_S, 700, 50) == 700);
    assert_true(parking_remaining(TURN_S, 0, 50) == TURN_S);
    assert_true(parking_remaining(TURN_S, -5, 9000) == 9000);
}

TEST(test_bounds)
{
    struct parking_job job = long_job;

    assert_true(parking_may(TURN_S, &job, 600));
    assert_false(parking_may(0, &job, 600)); /* switched off */
    job.since_s = TURN_S - 1;
    assert_false(parking_may(TURN_S, &job, 600));
    job.since_s = TURN_S;
    assert_true(parking_may(TURN_S, &job, 600));
    job.ran_s = TURN_S - 1; /* it waited for most of that hour */
    assert_false(parking_may(TURN_S, &job, 600));
    job = long_job;
    job.ran_s = 299; /* a restart costs more than a tenth of what it did */
    assert_false(parking_may(TURN_S, &job, 600));
}

TEST(test_never_for_less_than_it_costs)
{
    struct parking_job job = long_job;

    job.remaining_s = 2 * (600 + 30);
    assert_true(parking_may(TURN_S, &job, 600));
    job.remaining_s--;
    assert_false(parking_may(TURN_S, &job, 600));
    assert_true(parking_pays(1260, parking_loss(&job, 600)));
    assert_false(parking_pays(1259, parking_loss(&job, 600)));
    /* two that are parked lose twice */
    assert_false(parking_pays(1260, 2 * parking_loss(&job, 600)));
}

TEST(test_who_loses_least_goes_first)
{
    struct parking_job dear = long_job, longer = long_job;

    dear.cost_s = 31;
    longer.remaining_s = 30000;
    assert_true(parking_compare(&long_job, &dear) < 0);
    assert_true(parking_compare(&dear, &longer) > 0);
    assert_true(parking_compare(&longer, &long_job) < 0);
    assert_int_equal(parking_compare(&long_job, &long_job), 0);
}
