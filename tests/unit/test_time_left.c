/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_left.c - what a training tells of the time that it still takes, and when */
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/run/time_left.h"

#define S USEC_PER_SEC

TEST(test_it_tells_after_ten_seconds_then_less_often)
{
    struct time_left left;
    char text[TIME_LEFT_TEXT];

    time_left_begin(&left, 1000, 5 * S);
    assert_false(time_left_done(&left, 50, 14 * S, text));
    assert_true(time_left_done(&left, 50, 15 * S, text)); /* 100 in 10 s: 900 take 90 */
    assert_string_equal(text, "10 % of the training is done, about 90 seconds left");
    assert_false(time_left_done(&left, 100, 34 * S, text));
    assert_true(time_left_done(&left, 50, 35 * S, text)); /* 250 in 30 s */
    assert_string_equal(text, "25 % of the training is done, about 90 seconds left");
    assert_false(time_left_done(&left, 1, 74 * S, text));
    assert_true(time_left_done(&left, 49, 75 * S, text));
    assert_string_equal(text, "30 % of the training is done, about 2 minutes left"); /* 163 s */
    assert_false(time_left_done(&left, 1, 134 * S, text));
    assert_true(time_left_done(&left, 99, 135 * S, text));
    assert_string_equal(text, "40 % of the training is done, about 3 minutes left"); /* 195 s */
}

TEST(test_a_short_training_says_nothing)
{
    struct time_left left;
    char text[TIME_LEFT_TEXT];

    time_left_begin(&left, 10, 0);
    for (uint64_t i = 1; i <= 10; i++)
        assert_false(time_left_done(&left, 1, i * S / 2, text));
}

TEST(test_nothing_is_told_of_what_nobody_knows_or_what_is_over)
{
    struct time_left left;
    char text[TIME_LEFT_TEXT];

    time_left_begin(&left, 0, 0);
    assert_false(time_left_done(&left, 1, 100 * S, text));
    time_left_begin(&left, 3, 0);
    assert_false(time_left_done(&left, 3, 100 * S, text));
    assert_false(time_left_done(&left, 1, 200 * S, text));
    time_left_begin(&left, 1000, 0);
    assert_false(time_left_done(&left, 999, 100 * S, text)); /* less than a second */
}

TEST(test_the_unit_is_the_largest_of_which_there_are_two)
{
    static const struct {
        uint64_t done, after_s;
        const char *said;
    } rows[] = { { 500, 11, "50 % of the training is done, about 11 seconds left" },
                 { 985, 200, "98 % of the training is done, about 3 seconds left" },
                 { 917, 12, "91 % of the training is done, about 1 second left" },
                 { 500, 119, "50 % of the training is done, about 119 seconds left" },
                 { 500, 120, "50 % of the training is done, about 2 minutes left" },
                 { 500, 7200, "50 % of the training is done, about 2 hours left" },
                 { 1, 86400, "0 % of the training is done, about 999 days left" } };
    char text[TIME_LEFT_TEXT];

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct time_left left;

        time_left_begin(&left, 1000, 0);
        assert_true(time_left_done(&left, rows[i].done, rows[i].after_s * S, text));
        assert_string_equal(text, rows[i].said);
    }
}
