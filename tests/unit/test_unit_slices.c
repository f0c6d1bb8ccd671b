/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_slices.c - a job's slice weighs what its processes do, and systemd hears of each change
 *
 * That systemd and the kernel keep to it is shown by tests/cluster/035-own-services.sh. */
#include <stdio.h>
#include <string.h>

#include "agent/groups/unit_slices.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static struct unit_slices *slices;
static char told[256];
static bool is_there; /* what tell answers */

static bool tell(uint64_t job_id, uint64_t cpu_weight, void *userdata)
{
    size_t n = strlen(told);

    assert_ptr_equal(userdata, &is_there);
    (void)snprintf(told + n, sizeof told - n, "%u:%u ", (unsigned)job_id, (unsigned)cpu_weight);
    return is_there;
}

static void assert_told(const char *expected)
{
    told[0] = '\0';
    unit_slices_tell(slices, tell, &is_there);
    assert_string_equal(told, expected);
}

static int setup(void **state)
{
    (void)state;
    slices = unit_slices_new();
    is_there = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    slices = unit_slices_free(slices);
    return 0;
}

TEST_EACH(setup, teardown);

TEST(test_a_slice_is_made_with_its_weight)
{
    assert_int_equal(unit_slices_made(slices, 7), 100);
    assert_true(unit_slices_weigh(slices, 7, 250));
    assert_int_equal(unit_slices_made(slices, 7), 250);
    assert_told("");
}

TEST(test_a_change_is_told_once)
{
    assert_true(unit_slices_weigh(slices, 7, 50));
    assert_int_equal(unit_slices_made(slices, 7), 50);
    assert_true(unit_slices_weigh(slices, 7, 100));
    assert_true(unit_slices_weigh(slices, 8, 20));
    assert_false(unit_slices_weigh(slices, 7, 100));
    assert_told("7:100 8:20 ");
    assert_told("");
    assert_true(unit_slices_weigh(slices, 7, 50));
    assert_told("7:50 ");
}

TEST(test_what_was_not_taken_is_told_again)
{
    assert_true(unit_slices_weigh(slices, 7, 50));
    is_there = false;
    assert_told("7:50 ");
    assert_told("7:50 ");
    is_there = true;
    assert_told("7:50 ");
    assert_told("");
}

TEST(test_a_slice_that_was_there_is_told)
{
    assert_true(unit_slices_weigh(slices, 7, 50));
    assert_int_equal(unit_slices_made(slices, 7), 50);
    unit_slices_untold(slices, 7);
    unit_slices_untold(slices, 8);
    assert_told("7:50 ");
}

TEST(test_a_job_without_processes_is_forgotten)
{
    assert_false(unit_slices_weigh(slices, 7, 0));
    assert_true(unit_slices_weigh(slices, 7, 50));
    assert_false(unit_slices_weigh(slices, 7, 0));
    assert_told("");
    assert_true(unit_slices_weigh(slices, 7, 50));
}

TEST(test_weights_are_those_that_systemd_takes)
{
    assert_true(unit_slices_weigh(slices, 7, UINT64_MAX));
    assert_int_equal(unit_slices_made(slices, 7), 10000);
}
