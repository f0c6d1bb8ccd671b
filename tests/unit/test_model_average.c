/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_average.c - means of values over the last updates */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/parameters/model_average.h"

static const size_t sizes[] = { 2, 0, 1 };

static void add(struct model_average *average, float a, float b)
{
    float first[] = { a, 2 * a }, last[] = { b };
    float *const values[] = { first, NULL, last };

    model_average_add(average, values);
}

static void expect(const struct model_average *average, double a, double b)
{
    float first[] = { -1, -1 }, last[] = { -1 };
    float *const values[] = { first, NULL, last };

    model_average_apply(average, values);
    assert_float_equal(first[0], a, 1e-6);
    assert_float_equal(first[1], a == -1 ? -1 : 2 * a, 1e-6);
    assert_float_equal(last[0], b, 1e-6);
}

TEST(test_mean_of_all)
{
    struct model_average *average = model_average_new(0.5, 0, sizes, ELEMENTS(sizes));

    expect(average, -1, -1); /* no update: the values stay */
    add(average, 1, 10);
    expect(average, 1, 10);
    add(average, 4, 20);
    expect(average, 2.5, 15);
    (void)model_average_free(average);
}

/* Updates 0 to 9,999 are the older ones; when 10,000 newer ones are there, nobody knows those. */
TEST(test_what_is_forgotten)
{
    struct model_average *average = model_average_new(1, MODEL_AVERAGE_MIN, sizes, ELEMENTS(sizes));

    for (uint64_t i = 0; i < MODEL_AVERAGE_MIN; i++)
        add(average, 1, 10);
    expect(average, 1, 10);
    for (uint64_t i = 0; i < MODEL_AVERAGE_MIN - 1; i++)
        add(average, 3, 30);
    expect(average, (1 * 10000.0 + 3 * 9999.0) / 19999, (10 * 10000.0 + 30 * 9999.0) / 19999);
    add(average, 3, 30);
    expect(average, 3, 30);
    (void)model_average_free(average);
}

/* Two updates are at most wanted, so two are enough to forget those before. */
TEST(test_a_bound_below_the_least)
{
    struct model_average *average = model_average_new(1, 2, sizes, ELEMENTS(sizes));

    add(average, 1, 10);
    add(average, 1, 10);
    add(average, 4, 40);
    expect(average, 2, 20);
    add(average, 4, 40);
    expect(average, 4, 40);
    (void)model_average_free(average);
}

/* Behind a pass of three updates three are enough; without a bound three are also the most. */
TEST(test_passes_bound_the_window)
{
    struct model_average *average = model_average_new(1, 0, sizes, ELEMENTS(sizes));

    for (int i = 0; i < 3; i++)
        add(average, 1, 10);
    model_average_end_pass(average);
    for (int i = 0; i < 3; i++)
        add(average, 3, 30);
    expect(average, 2, 20);
    add(average, 3, 30);
    expect(average, 3, 30);
    (void)model_average_free(average);
}

/* A tenth of 20,000 updates is less than the 10,000 newer ones; all of them are more. */
TEST(test_the_window_grows_with_the_updates)
{
    static const struct {
        double window, mean;
    } cases[] = { { 0.1, 3 }, { 1, 2 } };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct model_average *average =
            model_average_new(cases[i].window, 0, sizes, ELEMENTS(sizes));

        for (uint64_t k = 0; k < 2 * MODEL_AVERAGE_MIN; k++)
            add(average, k < MODEL_AVERAGE_MIN ? 1 : 3, 10);
        expect(average, cases[i].mean, 10);
        (void)model_average_free(average);
    }
}
