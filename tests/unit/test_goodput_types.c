/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_types.c - several types of bundles, against the exact integer programme
 *
 * The referee solves the programme exactly: dynamic programming over the budgets of three types,
 * which finds the best of all choices. */
#include <errno.h>
#include <stdlib.h>

#include "scheduler/core/goodput_types.h"
#include "tests/unit/goodput_curves.h"

#define TYPES 3
#define JOBS_MAX 24
#define OPTIONS_MAX 24
#define STATES_MAX 4096

struct case_of {
    struct goodput_option options[JOBS_MAX][OPTIONS_MAX];
    struct goodput_chooser jobs[JOBS_MAX];
    size_t n;
    struct goodput_type types[TYPES];
};

/* Sizes are powers of two; a type is so much faster for each job, to a degree that differs. */
static void draw(struct case_of *c, uint64_t *seed, size_t n, const double *budgets)
{
    static const double speeds[TYPES] = { 1, 1.8, 4 };

    *c = (struct case_of){ .n = n };
    for (size_t t = 0; t < TYPES; t++)
        c->types[t] = (struct goodput_type){ .budget = budgets[t] };
    for (size_t i = 0; i < n; i++) {
        double p = 0.4 + 0.55 * random_unit(seed), a = exp(1.5 * random_unit(seed));
        int k = 0;

        for (uint32_t t = 0; t < TYPES; t++)
            for (double cost = 1; cost <= budgets[t]; cost *= 2)
                c->options[i][k++] = (struct goodput_option){
                    t, cost, a * pow(speeds[t], 0.5 + random_unit(seed)) * pow(cost, p)
                };
        c->jobs[i] = (struct goodput_chooser){
            .id = i, .options = c->options[i], .n_options = k, .chosen = GOODPUT_NO_OPTION
        };
    }
}

static size_t state_of(const size_t *left, const struct case_of *c)
{
    return (left[0] * ((size_t)c->types[1].budget + 1) + left[1]) *
               ((size_t)c->types[2].budget + 1) +
           left[2];
}

static double exact(const struct case_of *c)
{
    static double best[2][STATES_MAX];
    size_t top[TYPES];

    for (size_t t = 0; t < TYPES; t++)
        top[t] = (size_t)c->types[t].budget;
    assert_true(state_of(top, c) < STATES_MAX);
    memset(best, 0, sizeof best);
    for (size_t i = 0; i < c->n; i++) {
        const double *before = best[i % 2];
        double *after = best[(i + 1) % 2];
        size_t left[TYPES];

        for (left[0] = 0; left[0] <= top[0]; left[0]++)
            for (left[1] = 0; left[1] <= top[1]; left[1]++)
                for (left[2] = 0; left[2] <= top[2]; left[2]++) {
                    size_t at = state_of(left, c);

                    after[at] = before[at];
                    for (int o = 0; o < c->jobs[i].n_options; o++) {
                        const struct goodput_option *option = &c->options[i][o];
                        size_t rest[TYPES] = { left[0], left[1], left[2] };

                        if ((size_t)option->cost > left[option->type])
                            continue;
                        rest[option->type] -= (size_t)option->cost;
                        after[at] = fmax(after[at], before[state_of(rest, c)] + option->value);
                    }
                }
    }
    return best[c->n % 2][state_of(top, c)];
}

static struct goodput_auction divide(struct case_of *c, int rounds, uint64_t tries)
{
    struct goodput_auction auction;
    double used[TYPES] = { 0 }, value = 0;

    assert_int_equal(goodput_types_divide(c->jobs, c->n, c->types, TYPES,
                                          &(struct goodput_effort){ rounds, tries }, &auction),
                     0);
    for (size_t i = 0; i < c->n; i++)
        if (c->jobs[i].chosen >= 0) {
            const struct goodput_option *option = &c->options[i][c->jobs[i].chosen];

            used[option->type] += option->cost;
            value += option->value;
        }
    for (size_t t = 0; t < TYPES; t++) {
        assert_near(used[t], c->types[t].used, 1e-9);
        assert_true(used[t] <= c->types[t].budget + 1e-9);
    }
    assert_near(value, auction.value, 1e-9);
    return auction;
}

static void test_division_is_within_one_percent_of_the_exact_programme(void **state)
{
    static const double budgets[][TYPES] = { { 4, 4, 4 }, { 8, 4, 2 }, { 8, 8, 8 }, { 16, 12, 8 } };
    uint64_t seed = 51;
    double sum = 0, worst = 1;
    int n = 0;

    (void)state;
    for (int round = 0; round < 120; round++) {
        static struct case_of c;
        double best;
        struct goodput_auction auction;

        draw(&c, &seed, 2 + random_below(&seed, JOBS_MAX - 2),
             budgets[random_below(&seed, ELEMENTS(budgets))]);
        best = exact(&c);
        auction = divide(&c, 40, 3000000);
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

/* From the last prices a few rounds are enough. */
static void test_few_rounds_follow_a_small_change(void **state)
{
    static const double budgets[TYPES] = { 16, 12, 8 };
    uint64_t seed = 52;
    double sum = 0;
    enum { ROUNDS = 60 };

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        static struct case_of c;
        struct goodput_auction auction;

        draw(&c, &seed, JOBS_MAX, budgets);
        (void)divide(&c, 40, 3000000);
        c.n--; /* one job ends */
        auction = divide(&c, 6, 300000);
        sum += auction.value / exact(&c);
    }
    print_message("the same 6 rounds after a change: mean %.5f\n", sum / ROUNDS);
    assert_true(sum / ROUNDS > 0.99);
}

static void test_order_of_jobs_does_not_matter(void **state)
{
    static const double budgets[TYPES] = { 8, 8, 8 };
    uint64_t seed = 53;

    (void)state;
    for (int round = 0; round < 20; round++) {
        static struct case_of c, turned;

        draw(&c, &seed, 12, budgets);
        turned = c;
        for (size_t i = 0; i < c.n; i++)
            turned.jobs[i] = c.jobs[c.n - 1 - i];
        (void)divide(&c, 20, 100000);
        (void)goodput_types_divide(turned.jobs, turned.n, turned.types, TYPES,
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
        cmocka_unit_test(test_few_rounds_follow_a_small_change),
        cmocka_unit_test(test_order_of_jobs_does_not_matter),
        cmocka_unit_test(test_options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
