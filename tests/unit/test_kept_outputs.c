/* SPDX-License-Identifier: Apache-2.0 */
/* test_kept_outputs.c - which folders of ended processes stay, and which go */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/kept_outputs.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define MUCH (UINT64_C(1) << 40)

static struct kept_output kept(const char *name, uid_t owner, uint64_t bytes, uint64_t ended_us)
{
    struct kept_output one = { .owner = owner, .bytes = bytes, .ended_us = ended_us };

    (void)snprintf(one.name, sizeof one.name, "%s", name);
    return one;
}

static bool goes(const struct kept_output *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (streq(list[i].name, name))
            return list[i].goes;
    fail_msg("%s is not there", name);
    return false;
}

TEST(what_is_old_goes)
{
    const struct kept_bounds bounds = { .keep_us = 100, .max_bytes = MUCH };
    struct kept_output list[] = { kept("young", 1, 5, 901), kept("old", 1, 5, 900),
                                  kept("future", 1, 5, 2000) };

    kept_outputs_choose(list, ELEMENTS(list), &bounds, 1000, MUCH);
    assert_true(goes(list, 3, "old"));
    assert_false(goes(list, 3, "young"));
    assert_false(goes(list, 3, "future")); /* a clock that was set back */
}

TEST(who_holds_most_loses_the_oldest)
{
    const struct kept_bounds bounds = { .keep_us = 1000, .max_bytes = 100 };
    struct kept_output list[] = { kept("a-new", 1, 60, 990), kept("a-old", 1, 60, 900),
                                  kept("b-oldest", 2, 30, 100) };

    kept_outputs_choose(list, ELEMENTS(list), &bounds, 1000, MUCH);
    assert_true(goes(list, 3, "a-old"));
    assert_false(goes(list, 3, "a-new"));
    assert_false(goes(list, 3, "b-oldest"));
}

TEST(one_that_is_too_large_goes_alone)
{
    const struct kept_bounds bounds = { .keep_us = 1000, .max_bytes = 100 };
    struct kept_output list[] = { kept("large", 1, 500, 990), kept("small", 2, 100, 100) };

    kept_outputs_choose(list, ELEMENTS(list), &bounds, 1000, MUCH);
    assert_true(goes(list, 2, "large"));
    assert_false(goes(list, 2, "small"));
}

TEST(the_disk_keeps_room)
{
    const struct kept_bounds bounds = { .keep_us = 1000, .max_bytes = MUCH };
    struct kept_output list[] = { kept("first", 1, 60, 900), kept("second", 1, 60, 990) };

    assert_int_equal(kept_outputs_most(&bounds, 120, 80), 100);
    assert_int_equal(kept_outputs_most(&bounds, 120, UINT64_MAX), MUCH);
    kept_outputs_choose(list, ELEMENTS(list), &bounds, 1000, 80);
    assert_true(goes(list, 2, "first"));
    assert_false(goes(list, 2, "second"));
    kept_outputs_choose(list, 0, &bounds, 1000, 0);
}

TEST(nothing_is_kept_for_no_time)
{
    const struct kept_bounds bounds = { .keep_us = 0, .max_bytes = MUCH };
    struct kept_output list[] = { kept("just", 1, 1, 1000) };

    kept_outputs_choose(list, ELEMENTS(list), &bounds, 1000, MUCH);
    assert_true(list[0].goes);
}
