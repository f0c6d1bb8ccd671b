/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_types.c - several types of bundles, against the exact integer programme
 *
 * The referee solves the programme exactly: dynamic programming over the budgets of three types,
 * which finds the best of all choices. */
#include <errno.h>

#include "tests/unit/goodput_curves.h"
#include "tests/unit/goodput_types_cases.h"

/* One look at all partners of a move counts as a whole, before anybody asks whether to stop. */
#define SPARE_TRIES ((CASE_JOBS_MAX + 1) * (CASE_OPTIONS_MAX + 1))

static void test_division_is_within_one_percent_of_the_exact_programme(void **state)
{
    static const double budgets[][CASE_TYPES] = {
        { 4, 4, 4 }, { 8, 4, 2 }, { 8, 8, 8 }, { 16, 12, 8 }
    };
    uint64_t seed = 51;
    double sum = 0, worst = 1;
    int n = 0;

    (void)state;
    for (int round = 0; round < 120; round++) {
        static struct types_case c;
        double best;
        struct goodput_auction auction;

        types_case_draw(&c, &seed, 2 + random_below(&seed, CASE_JOBS_MAX - 2),
                        budgets[random_below(&seed, ELEMENTS(budgets))]);
        best = types_case_exact(&c);
        auction = types_case_divide(&c, 40, 3000000);
        assert_true(auction.value <= best + 1e-9);
        assert_true(auction.bound >= best - 1e-9);
        sum += auction.value / best;
        worst = fmin(worst, auction.value / best);
        n++;
    }
    print_message("worth by that of the exact programme: mean %.5f, worst %.5f\n", sum / n, worst);
    assert_true(sum / n > 0.999);
    assert_true(worst > 0.99);
}

/* With enough tries the answer is exact, and says so: the bound is what the choice is worth. */
static void test_division_of_gangs_on_whole_nodes_is_proven(void **state)
{
    uint64_t seed = 54;

    (void)state;
    for (int round = 0; round < 120; round++) {
        static struct types_case c;
        struct goodput_auction auction;

        types_case_draw_gangs(&c, &seed, 5 + random_below(&seed, 8));
        auction = types_case_divide(&c, 40, 3000000);
        assert_near(auction.bound, auction.value, 1e-9);
        assert_near(auction.value, types_case_exact(&c), 1e-9);
    }
}

/* The search stops where it was told to, and what it has by then fits. */
static void test_tries_are_bounded(void **state)
{
    static const double budgets[CASE_TYPES] = { 16, 12, 8 };
    static const uint64_t tries[] = { 0, 1, 1000, 30000, 300000 };
    uint64_t seed = 55;

    (void)state;
    for (size_t i = 0; i < 20 * ELEMENTS(tries); i++) {
        static struct types_case c;
        uint64_t most = tries[i % ELEMENTS(tries)];

        types_case_draw(&c, &seed, CASE_JOBS_MAX, budgets);
        assert_true(types_case_divide(&c, 20, most).tries <= most + SPARE_TRIES);
    }
}

/* From the last prices a few rounds are enough. */
static void test_few_rounds_follow_a_small_change(void **state)
{
    static const double budgets[CASE_TYPES] = { 16, 12, 8 };
    uint64_t seed = 52;
    double sum = 0;
    enum { ROUNDS = 60 };

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        static struct types_case c;
        struct goodput_auction auction;

        types_case_draw(&c, &seed, CASE_JOBS_MAX, budgets);
        (void)types_case_divide(&c, 40, 3000000);
        c.n--; /* one job ends */
        auction = types_case_divide(&c, 6, 300000);
        sum += auction.value / types_case_exact(&c);
    }
    print_message("the same 6 rounds after a change: mean %.5f\n", sum / ROUNDS);
    assert_true(sum / ROUNDS > 0.99);
}

static void test_order_of_jobs_does_not_matter(void **state)
{
    static const double budgets[CASE_TYPES] = { 8, 8, 8 };
    uint64_t seed = 53;

    (void)state;
    for (int round = 0; round < 20; round++) {
        static struct types_case c, turned;

        types_case_draw(&c, &seed, 12, budgets);
        turned = c;
        for (size_t i = 0; i < c.n; i++)
            turned.jobs[i] = c.jobs[c.n - 1 - i];
        (void)types_case_divide(&c, 20, 100000);
        (void)goodput_types_divide(turned.jobs, turned.n, turned.types, CASE_TYPES,
                                   &(struct goodput_effort){ 20, 100000 },
                                   &(struct goodput_auction){ 0 });
        for (size_t i = 0; i < c.n; i++)
            assert_int_equal(c.jobs[i].chosen, turned.jobs[c.n - 1 - i].chosen);
    }
}

static void test_options_out_of_range_are_refused(void **state)
{
    struct goodput_option option = { .type = 1, .cost = 1, .value = 1 };
    struct goodput_chooser job = { .options = &option, .n_options = 1 };
    struct goodput_type type = { .budget = 4 };
    const struct goodput_effort effort = { 5, 1000 };
    struct goodput_auction auction;

    (void)state;
    assert_int_equal(goodput_types_divide(&job, 1, &type, 1, &effort, &auction), -EINVAL);
    option.type = 0;
    option.value = NAN;
    assert_int_equal(goodput_types_divide(&job, 1, &type, 1, &effort, &auction), -EINVAL);
    option.value = 1;
    assert_int_equal(goodput_types_divide(&job, 1, &type, 0, &effort, &auction), -EINVAL);
    assert_int_equal(goodput_types_divide(&job, 1, &type, 1, &effort, &auction), 0);
    assert_int_equal(job.chosen, 0);
    option.cost = 5; /* more than there is */
    assert_int_equal(goodput_types_divide(&job, 1, &type, 1, &effort, &auction), 0);
    assert_int_equal(job.chosen, GOODPUT_NO_OPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_division_is_within_one_percent_of_the_exact_programme),
        cmocka_unit_test(test_division_of_gangs_on_whole_nodes_is_proven),
        cmocka_unit_test(test_tries_are_bounded),
        cmocka_unit_test(test_few_rounds_follow_a_small_change),
        cmocka_unit_test(test_order_of_jobs_does_not_matter),
        cmocka_unit_test(test_options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
