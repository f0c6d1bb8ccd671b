/* SPDX-License-Identifier: Apache-2.0 */
/* test_rate.c - rate schedules against their formulas, and texts that are no schedule */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "tests/unit/test.h"
#include "trainer/parameters/rate.h"

static int parse(uint32_t schedule, double base, double a, double b, const char *args,
                 struct rate *ret, struct edl_error *error)
{
    char padded[RATE_ARGS_SIZE] = { 0 };

    (void)snprintf(padded, sizeof padded, "%s", args);
    return rate_parse(schedule, base, a, b, padded, ret, error);
}

TEST(test_values)
{
    static const struct {
        uint32_t schedule;
        double a, b;
        const char *args;
        uint64_t samples;
        uint32_t pass;
        double want; /* of a base of 1 */
    } cases[] = {
        { RATE_CONSTANT, 7, 7, "", 1000000, 9, 1 },
        { RATE_POLY, 0, 0, "", 12345, 0, 1 },
        { RATE_POLY, 0.1, 0.5, "", 10, 0, 0.70710678118654752 },
        { RATE_CAFFE_POLY, 100, 2, "", 50, 0, 0.25 },
        { RATE_CAFFE_POLY, 100, 2, "", 100, 0, 0 },
        { RATE_CAFFE_POLY, 100, 2, "", 101, 0, 0 },
        { RATE_EXP, 0.5, 100, "", 150, 0, 0.35355339059327376 },
        { RATE_DISCEXP, 0.5, 100, "", 150, 0, 0.5 },
        { RATE_DISCEXP, 0.5, 100, "", 99, 0, 1 },
        { RATE_LINEAR, 0.001, 0.2, "", 500, 0, 0.5 },
        { RATE_LINEAR, 0.001, 0.2, "", 900, 0, 0.2 },
        { RATE_MANUAL, 0, 0, "100:1,200:.5", 100, 0, 1 },
        { RATE_MANUAL, 0, 0, "100:1,200:.5", 101, 0, 0.5 },
        { RATE_MANUAL, 0, 0, "100:1,200:.5", 500, 0, 0.5 },
        { RATE_PASS_MANUAL, 0, 0, "0:1,2:.1", 500, 0, 1 },
        { RATE_PASS_MANUAL, 0, 0, "0:1,2:.1", 500, 1, 0.1 },
        { RATE_PASS_MANUAL, 0, 0, "0:1,2:.1", 500, 7, 0.1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct edl_error error = { 0 };
        struct rate rate;
        double got;

        if (parse(cases[i].schedule, 1, cases[i].a, cases[i].b, cases[i].args, &rate, &error) < 0)
            fail_msg("case %zu: %s", i, error.text);
        got = rate_at(&rate, cases[i].samples, cases[i].pass);
        if (!(fabs(got - cases[i].want) <= 1e-15))
            fail_msg("%s at %llu: %.17g, not %.17g", rate_schedule_to_string(cases[i].schedule),
                     (unsigned long long)cases[i].samples, got, cases[i].want);
        assert_int_equal(parse(cases[i].schedule, 0.5, cases[i].a, cases[i].b, cases[i].args, &rate,
                               &error),
                         0);
        if (cases[i].schedule != RATE_LINEAR)
            assert_true(rate_at(&rate, cases[i].samples, cases[i].pass) == got / 2);
    }
}

TEST(test_refusals)
{
    static const struct {
        uint32_t schedule;
        double base, a, b;
        const char *args, *says;
    } cases[] = {
        { RATE_SCHEDULES, 1, 0, 0, "", "no rate schedule of number 8" },
        { RATE_CONSTANT, -1, 0, 0, "", "learning_rate is -1" },
        { RATE_CONSTANT, NAN, 0, 0, "", "learning_rate is nan" },
        { RATE_POLY, 1, -0.5, 0, "", "learning_rate_decay_a is -0.5" },
        { RATE_POLY, 1, 0, NAN, "", "learning_rate_decay_b is nan" },
        { RATE_CAFFE_POLY, 1, 0, 0, "", "needs a number above 0" },
        { RATE_EXP, 1, 0.5, 0, "", "learning_rate_decay_b is 0" },
        { RATE_DISCEXP, 1, 0, 1, "", "learning_rate_decay_a is 0" },
        { RATE_LINEAR, 1, INFINITY, 0, "", "learning_rate_decay_a is inf" },
        { RATE_MANUAL, 1, 0, 0, "", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "100", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "100:", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "-1:1", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "1:1,", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "1:1;2:1", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "1:nan", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "1:-1", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "99999999999999999999999:1", "needs steps with factors" },
        { RATE_MANUAL, 1, 0, 0, "2:1,2:.5", "must rise" },
        { RATE_PASS_MANUAL, 1, 0, 0, "2:1,1:.5", "must rise" },
        { RATE_MANUAL, 1, 0, 0,
          "1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1,10:1,11:1,12:1,13:1,14:1,15:1,16:1,17:1,18:1,19:1,"
          "20:1,21:1,22:1,23:1,24:1",
          NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct edl_error error = { 0 };
        struct rate rate = { .n_steps = 77 };
        int r = parse(cases[i].schedule, cases[i].base, cases[i].a, cases[i].b, cases[i].args,
                      &rate, &error);

        if (cases[i].says == NULL) {
            assert_int_equal(r, 0);
            continue;
        }
        assert_int_equal(r, -EINVAL);
        assert_int_equal(rate.n_steps, 77);
        if (strstr(error.text, cases[i].says) == NULL)
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, error.text, cases[i].says);
    }
}

/* More steps than there is room for, and a text without an end. */
TEST(test_bounds)
{
    char args[RATE_ARGS_SIZE];
    struct edl_error error = { 0 };
    struct rate rate;
    size_t used = 0;

    memset(args, '1', sizeof args);
    assert_int_equal(rate_parse(RATE_MANUAL, 1, 0, 0, args, &rate, &error), -EINVAL);
    assert_non_null(strstr(error.text, "has no end"));
    memset(args, 0, sizeof args);
    for (int i = 0; i < 9; i++)
        used += (size_t)snprintf(args + used, sizeof args - used, "%d:1,", i);
    for (int i = 10; used < sizeof args - 6; i++)
        used += (size_t)snprintf(args + used, sizeof args - used, "%d:1,", i);
    args[used - 1] = '\0';
    assert_int_equal(rate_parse(RATE_MANUAL, 1, 0, 0, args, &rate, &error), 0);
    assert_true(rate.n_steps <= RATE_STEPS_MAX);
}

TEST(test_names)
{
    for (uint32_t s = 0; s < RATE_SCHEDULES; s++)
        assert_int_equal(rate_schedule_of(rate_schedule_to_string(s)), s);
    assert_int_equal(rate_schedule_of("cosine"), -1);
    assert_string_equal(rate_schedule_to_string(RATE_SCHEDULES), "?");
}
