/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch_plan.c - how large a global batch is with n ranks, in which parts, and at which rate
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/batch_plan.h"
#include "shared/error.h"
#include "shared/macro.h"

static const struct batch_rules constant = { BATCH_CONSTANT, 32, 128, 0, 100 };
static const struct batch_rules linear = { BATCH_LINEAR, 32, 128, 1024, 100 };
static const struct batch_rules goodput = { BATCH_GOODPUT, 32, 128, 1024, 100 };

static const uint32_t ranks[] = { 1, 2, 3, 4, 6, 12 };

static void assert_near(double x, double wanted)
{
    if (!(fabs(x - wanted) <= 1e-12))
        fail_msg("%.15g, not %.15g", x, wanted);
}

/* The table, row by row. */
TEST(test_constant)
{
    static const uint32_t busiest[] = { 4, 2, 2, 1, 1, 1 }, idle[] = { 0, 0, 0, 0, 2, 8 };

    for (size_t i = 0; i < ELEMENTS(ranks); i++) {
        const struct batch_plan plan = batch_plan(&constant, ranks[i], 512);

        assert_int_equal(plan.batch, 128);
        assert_int_equal(plan.micro_batches, 4);
        assert_int_equal(plan.busiest, busiest[i]);
        assert_int_equal(plan.idle, idle[i]);
        assert_near(plan.factor, 1);
    }
}

TEST(test_linear)
{
    static const uint32_t batch[] = { 128, 256, 384, 512, 768, 1024 };
    static const double factor[] = { 1, 2, 3, 4, 6, 8 };
    static const double at_once[] = { 1, 1.01, 1.02, 1.03, 1.05, 1.07 };

    for (size_t i = 0; i < ELEMENTS(ranks); i++) {
        const struct batch_plan plan = batch_plan(&linear, ranks[i], 0);

        assert_int_equal(plan.batch, batch[i]);
        assert_int_equal(plan.micro_batches, batch[i] / 32);
        assert_int_equal(plan.idle, 0);
        assert_near(plan.factor, factor[i]);
        assert_near(batch_plan_of(&linear, plan.micro_batches).factor, factor[i]);
        assert_int_equal(batch_plan_of(&linear, plan.micro_batches).batch, batch[i]);
        assert_near(batch_factor(&linear, 1, plan.factor, 0), at_once[i]);
        assert_near(batch_factor(&linear, 1, plan.factor, 99), factor[i]);
        assert_near(batch_factor(&linear, 1, plan.factor, 12345), factor[i]);
    }
}

TEST(test_goodput)
{
    static const uint32_t best[] = { 128, 128, 256, 256, 512, 512 };

    for (size_t i = 0; i < ELEMENTS(ranks); i++) {
        const struct batch_plan plan = batch_plan(&goodput, ranks[i], best[i]);

        assert_int_equal(plan.batch, best[i]);
        assert_near(plan.factor, sqrt((double)best[i] / 128));
        assert_true(batch_factor(&goodput, 1, plan.factor, 0) <= 1.01 + 1e-12);
    }
    assert_int_equal(batch_plan(&goodput, 4, 0).batch, 128);   /* not known yet */
    assert_int_equal(batch_plan(&goodput, 4, 100).batch, 128); /* never below the user's */
    assert_int_equal(batch_plan(&goodput, 4, 300).batch, 288); /* whole micro-batches */
    assert_int_equal(batch_plan(&goodput, 4, 4096).batch, 1024);
}

/* Down at once, up by and by; from wherever it was. */
TEST(test_warm_up)
{
    const struct batch_rules none = { BATCH_LINEAR, 32, 128, 1024, 0 };

    assert_near(batch_factor(&linear, 6, 2, 0), 2);
    assert_near(batch_factor(&linear, 2, 4, 0), 2.02);
    assert_near(batch_factor(&linear, 2, 4, 49), 3);
    assert_near(batch_factor(&none, 1, 8, 0), 8);
    for (uint64_t s = 1; s < 200; s++)
        assert_true(batch_factor(&linear, 1, 8, s) >= batch_factor(&linear, 1, 8, s - 1));
}

/* One step of SGD on sums moves by rate * sum of V gradients. With the numbers it is the step that
 * the rule means: factor times that of a mean over the first batch; and a decay of l2 * w beside
 * the sum has the same share of it as before. */
TEST(test_numbers_of_sums)
{
    const double gradient = 0.3, rate = 0.01; /* of each sample, alike */

    for (size_t i = 0; i < ELEMENTS(ranks); i++) {
        const struct batch_plan plan = batch_plan(&linear, ranks[i], 0);
        const struct batch_numbers sgd = batch_numbers(&linear, &plan, plan.factor, true);
        const struct batch_numbers adagrad = batch_numbers(&linear, &plan, plan.factor, false);
        const double sum = plan.batch * gradient, first = linear.start * gradient;

        assert_near(rate * sgd.rate * sum, plan.factor * rate * first);
        assert_near(adagrad.rate, plan.factor);
        assert_near(sgd.beside_the_sum * first, sum);
        assert_near(adagrad.beside_the_sum, sgd.beside_the_sum);
    }
}

TEST(test_names)
{
    for (int i = 0; i < BATCH_RULES; i++)
        assert_int_equal(batch_rule_of(batch_rule_to_string((enum batch_rule)i)), i);
    assert_int_equal(batch_rule_of("square"), -EINVAL);
}

TEST(test_bad_rules)
{
    static const struct {
        struct batch_rules rules;
        const char *text;
    } bad[] = {
        { { BATCH_CONSTANT, 0, 128, 0, 0 }, "in micro-batches of 0" },
        { { BATCH_CONSTANT, 32, 0, 0, 0 }, "a batch of 0" },
        { { BATCH_CONSTANT, 32, 100, 0, 0 }, "a batch of 100 is not made of micro-batches of 32" },
        { { BATCH_LINEAR, 32, 128, 64, 0 }, "the largest batch is 64" },
        { { BATCH_GOODPUT, 32, 128, UINT32_MAX, 0 }, "the largest batch is 4294967295" },
    };
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        error = (struct edl_error){ 0 };
        assert_int_equal(batch_rules_check(&bad[i].rules, &error), -EINVAL);
        if (strstr(error.text, bad[i].text) == NULL)
            fail_msg("\"%s\" is not in: %s", bad[i].text, error.text);
    }
    assert_int_equal(batch_rules_check(&constant, &error), 0);
    assert_int_equal(batch_rules_check(&linear, &error), 0);
}
