/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_weights.c - the recursion against its closed form, and against every division */
#include <stdbool.h>
#include <time.h>

#include "scheduler/core/policy/ladder.h"
#include "scheduler/core/policy/weights.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define FEW 4
#define BUNDLES 8

TEST(test_ladder_keeps_the_best_of_a_budget)
{
    enum { SEGMENTS = 3000 };
    static double slopes[SEGMENTS], widths[SEGMENTS];
    struct goodput_ladder ladder;
    uint64_t seed = 3;
    const double budget = 700;

    goodput_ladder_init(&ladder, budget);
    for (int n = 0; n < SEGMENTS; n++) {
        slopes[n] = 1 + random_unit(&seed);
        widths[n] = 0.25 * (double)(1 + random_below(&seed, 12));
        goodput_ladder_add(&ladder, slopes[n], widths[n]);
        if (n % 500 != 499)
            continue;
        struct goodput_look look = goodput_ladder_look(&ladder);

        for (double cost = 0; cost <= budget; cost += 23.5) {
            double loss = goodput_look_loss(&look, cost);
            /* by definition: what the dearest ones are worth in a budget, less in a smaller one */
            double expected = 0;
            double left = budget, less = budget - cost;
            double last = 3;

            for (;;) {
                double next = 0, width = 0;

                for (int i = 0; i <= n; i++)
                    if (slopes[i] < last && slopes[i] > next) {
                        next = slopes[i];
                        width = widths[i];
                    }
                if (next <= 0 || left <= 0)
                    break;
                expected += next * (fmin(width, left) - fmin(width, less));
                left -= fmin(width, left);
                less -= fmin(width, less);
                last = next;
            }
            assert_near(loss, expected, 1e-6);
        }
        assert_true(isinf(goodput_look_loss(&look, budget + 1)));
    }
    assert_near(ladder.width, budget, 1e-9);
    goodput_ladder_done(&ladder);
}

/* heSRPT: of s = k^p, the i-th longest of M holds (i/M)^Q - ((i-1)/M)^Q of all, Q = 1/(1-p). The
 * weights are proportional to (i^Q - (i-1)^Q)^(1/Q). */
TEST(test_recursion_is_the_closed_form_for_powers)
{
    static const double powers[] = { 0.3, 0.5, 0.8 };
    enum { JOBS = 6 };

    for (size_t e = 0; e < ELEMENTS(powers); e++) {
        struct goodput_weighed jobs[JOBS], ranked[JOBS];
        struct goodput_curve curve = { .n = 0 };
        double p = powers[e];

        /* a budget of 1, divided finely where the shares of all but the longest are */
        for (int i = 0; i < GOODPUT_POINTS_MAX; i++) {
            double k = pow(3e-3, 1 - (double)i / (GOODPUT_POINTS_MAX - 1));

            add_point(&curve, k, pow(k, p));
        }
        for (int i = 0; i < JOBS; i++)
            jobs[i] = (struct goodput_weighed){
                .id = (uint64_t)i, .curve = &curve, .priority_weight = 1, .remaining_s = 1000 - i
            };
        memcpy(ranked, jobs, sizeof jobs);
        goodput_weigh(NULL, jobs, JOBS, 1);
        goodput_weigh_by_rank(ranked, JOBS, p);
        for (int i = 0; i < JOBS; i++) {
            double q = 1 / (1 - p);

            assert_int_equal(jobs[i].rank, i + 1);
            assert_near(ranked[i].a, pow(pow(i + 1, q) - pow(i, q), 1 / q), 1e-9);
            assert_near(jobs[i].a / ranked[i].a, 1, 0.01);
        }
    }
}

/* Longest first in both lists; ties by id; a priority counts as that many jobs. */
TEST(test_rank_form_counts_priorities)
{
    struct goodput_curve curve = power_curve(0.5, 4);
    struct goodput_weighed jobs[] = {
        { .id = 9, .curve = &curve, .priority_weight = 1, .remaining_s = 50 },
        { .id = 2, .curve = &curve, .priority_weight = 1, .remaining_s = 50 },
        { .id = 1, .curve = &curve, .priority_weight = 3, .remaining_s = 60 },
    };

    goodput_weigh_by_rank(jobs, 3, 0.5);
    assert_int_equal(jobs[1].rank, 1);
    assert_int_equal(jobs[0].rank, 2);
    assert_int_equal(jobs[2].rank, 3); /* 60 s for each of three is shorter */
    assert_near(jobs[1].a, 1, 1e-12);
    assert_near(jobs[2].a, sqrt(25 - 4), 1e-12);
    for (uint64_t n = 1; n < UINT64_C(1000000000); n *= 10) /* digits are kept for large sums */
        assert_near(goodput_rank_weight((double)n, 1, 0.9) /
                        ((double)(n + 1) * pow(-expm1(10 * log1p(-1 / (double)(n + 1))), 0.1)),
                    1, 1e-6);
}

struct every {
    const struct goodput_weighed *jobs;
    int n;
    double best;
};

/* Every division of the bundles among the jobs. */
static void try_all(struct every *every, int job, int left, double sum)
{
    if (job == every->n) {
        every->best = fmax(every->best, sum);
        return;
    }
    try_all(every, job + 1, left, sum);
    for (int i = 0; i < every->jobs[job].curve->n; i++) {
        const struct goodput_point *point = &every->jobs[job].curve->points[i];

        if (point->cost <= left)
            try_all(every, job + 1, left - (int)point->cost,
                    sum + every->jobs[job].a * point->speed);
    }
}

/* What makes the weights right: the best that any division makes of them is the sum of the
 * priorities (Bellman's equation), for the longest k jobs, for every k. */
TEST(test_weights_solve_bellmans_equation)
{
    uint64_t seed = 11;

    for (int round = 0; round < 300; round++) {
        struct goodput_curve curves[FEW];
        struct goodput_weighed jobs[FEW];
        int n = 1 + (int)random_below(&seed, FEW);
        double priorities = 0;

        for (int i = 0; i < n; i++) {
            curves[i] = random_curve(&seed, BUNDLES, true);
            jobs[i] = (struct goodput_weighed){ .id = (uint64_t)i,
                                                .curve = &curves[i],
                                                .priority_weight = 1 + random_unit(&seed),
                                                .remaining_s = 100 * pow(0.2, i) };
        }
        goodput_weigh(NULL, jobs, (size_t)n, BUNDLES);
        for (int k = 0; k < n; k++) {
            struct every every = { .jobs = jobs, .n = k + 1 };

            priorities += jobs[k].priority_weight;
            assert_int_equal(jobs[k].rank, k + 1);
            try_all(&every, 0, BUNDLES, 0);
            assert_near(every.best, priorities, 1e-9);
        }
    }
}

/* --- the flow time itself: the division by weights against the best plan there is --- */

struct race {
    struct goodput_curve curves[FEW];
    double left[FEW];
    int n;
};

static bool over(const struct race *race)
{
    for (int i = 0; i < race->n; i++)
        if (race->left[i] > 1e-9)
            return false;
    return true;
}

static double next_end(const struct race *race, const int *division)
{
    double dt = INFINITY;

    for (int i = 0; i < race->n; i++)
        if (race->left[i] > 1e-9 && division[i] > 0)
            dt = fmin(dt, race->left[i] / race->curves[i].points[division[i] - 1].speed);
    return dt;
}

static int advance(struct race *race, const int *division, double dt)
{
    int waiting = 0;

    for (int i = 0; i < race->n; i++) {
        waiting += race->left[i] > 1e-9;
        if (race->left[i] > 1e-9 && division[i] > 0)
            race->left[i] -= dt * race->curves[i].points[division[i] - 1].speed;
    }
    return waiting;
}

struct division_search {
    const struct goodput_weighed *jobs;
    const int *of;
    int n, now[FEW], best[FEW];
    double most;
};

static void divide(struct division_search *search, int at, int left, double sum)
{
    if (at == search->n) {
        if (sum > search->most + 1e-12) {
            search->most = sum;
            memcpy(search->best, search->now, sizeof search->best);
        }
        return;
    }
    for (int k = 0; k <= left; k++) {
        search->now[search->of[at]] = k;
        divide(search, at + 1, left - k,
               sum +
                   (k > 0 ? search->jobs[at].a * search->jobs[at].curve->points[k - 1].speed : 0));
    }
    search->now[search->of[at]] = 0;
}

static double flow_by_weights(struct race race, int bundles)
{
    double flow = 0;

    while (!over(&race)) {
        struct goodput_weighed jobs[FEW];
        int of[FEW], n = 0;
        struct division_search search = { .jobs = jobs, .of = of };
        double dt;

        for (int i = 0; i < race.n; i++)
            if (race.left[i] > 1e-9) {
                of[n] = i;
                jobs[n++] = (struct goodput_weighed){ .id = (uint64_t)i,
                                                      .curve = &race.curves[i],
                                                      .priority_weight = 1,
                                                      .remaining_s = race.left[i] };
            }
        goodput_weigh(NULL, jobs, (size_t)n, bundles);
        search.n = n;
        divide(&search, 0, bundles, 0);
        dt = next_end(&race, search.best);
        flow += dt * advance(&race, search.best, dt);
    }
    return flow;
}

static double best_flow(struct race race, int bundles);

/* Every division until somebody ends, and the best after that. */
static void try_divisions(const struct race *race, int at, int left, int *division, double *best)
{
    if (at == race->n) {
        struct race next = *race;
        double dt = next_end(race, division);
        double flow;

        if (isinf(dt))
            return;
        flow = dt * advance(&next, division, dt);
        if (flow < *best)
            *best = fmin(*best, flow + best_flow(next, race->curves[0].n));
        return;
    }
    for (int k = 0; k <= (race->left[at] > 1e-9 ? left : 0); k++) {
        division[at] = k;
        try_divisions(race, at + 1, left - k, division, best);
    }
}

static double best_flow(struct race race, int bundles)
{
    int division[FEW] = { 0 };
    double best = INFINITY;

    if (over(&race))
        return 0;
    try_divisions(&race, 0, bundles, division, &best);
    return best;
}

TEST(test_flow_time_is_near_the_best_of_all_plans)
{
    uint64_t seed = 5;
    double sum = 0, worst = 0;
    enum { ROUNDS = 60, SLOTS = 6, RACERS = 3 };

    for (int round = 0; round < ROUNDS; round++) {
        struct race race = { .n = RACERS };
        double ratio;

        for (int i = 0; i < race.n; i++) {
            race.curves[i] = random_curve(&seed, SLOTS, true);
            race.left[i] = 10 + 500 * random_unit(&seed) * random_unit(&seed);
        }
        ratio = flow_by_weights(race, SLOTS) / best_flow(race, SLOTS);
        sum += ratio;
        worst = fmax(worst, ratio);
    }
    print_message("flow time / best of all plans: mean %.4f, worst %.4f\n", sum / ROUNDS, worst);
    assert_true(sum / ROUNDS < 1.01);
    assert_true(worst < 1.06);
}

/* Jobs come, end, get on, and change: what is kept from one weighing to the next must give what a
 * fresh one does, to the last bit. */
struct crowd {
    struct goodput_weighing *weighing;
    struct goodput_curve *curves;
    struct goodput_weighed *jobs, *fresh;
    size_t n, most;
    uint64_t seed, next_id;
    double budget;
};

static void one_comes(struct crowd *c)
{
    c->curves[c->n] = power_curve(0.4 + 0.55 * random_unit(&c->seed), 64);
    c->jobs[c->n] = (struct goodput_weighed){ .id = c->next_id++,
                                              .curve = &c->curves[c->n],
                                              .priority_weight = 1,
                                              .remaining_s = exp(9 * random_unit(&c->seed)) };
    c->n++;
}

static void one_leaves(struct crowd *c, size_t at)
{
    c->n--;
    c->curves[at] = c->curves[c->n];
    c->jobs[at] = c->jobs[c->n];
    c->jobs[at].curve = &c->curves[at];
}

/* Each is the least that a job can become another by. */
static void one_is_another(struct crowd *c, size_t at)
{
    struct goodput_curve *curve = &c->curves[at];

    switch (random_below(&c->seed, 4)) {
    case 0:
        c->jobs[at].priority_weight = 1 + random_unit(&c->seed);
        break;
    case 1:
        curve->points[curve->n / 2].speed *= 1 + 1e-9;
        break;
    case 2:
        curve->points[curve->n - 1].cost *= 1 + 1e-9;
        break;
    default:
        curve->n -= curve->n > 2;
        break;
    }
}

static void crowd_changes(struct crowd *c)
{
    size_t at = c->n > 0 ? random_below(&c->seed, c->n) : 0;

    if (c->n == 0 || (c->n < c->most && random_below(&c->seed, 100) < 52))
        one_comes(c);
    else if (random_below(&c->seed, 100) < 80)
        one_leaves(c, at);
    else
        one_is_another(c, at);
    if (random_below(&c->seed, 200) == 0)
        c->budget = 100 + (double)random_below(&c->seed, 400);
    for (size_t i = 0; i < c->n; i++)
        c->jobs[i].remaining_s *= 1 - 1e-3 * random_unit(&c->seed);
}

static void weighs_as_afresh(size_t most, size_t begin_with, int rounds)
{
    struct crowd c = { .weighing = goodput_weighing_new(),
                       .curves = xcalloc(most, sizeof *c.curves),
                       .jobs = xcalloc(most, sizeof *c.jobs),
                       .fresh = xcalloc(most, sizeof *c.fresh),
                       .most = most,
                       .seed = 21,
                       .next_id = 1,
                       .budget = 300 };

    while (c.n < begin_with)
        one_comes(&c);
    for (int round = 0; round < rounds; round++) {
        crowd_changes(&c);
        memcpy(c.fresh, c.jobs, c.n * sizeof c.fresh[0]);
        goodput_weigh(c.weighing, c.jobs, c.n, c.budget);
        goodput_weigh(NULL, c.fresh, c.n, c.budget);
        for (size_t i = 0; i < c.n; i++) {
            assert_true(c.jobs[i].a == c.fresh[i].a);
            assert_int_equal(c.jobs[i].rank, c.fresh[i].rank);
        }
    }
    (void)goodput_weighing_free(c.weighing);
    free(c.curves);
    free(c.jobs);
    free(c.fresh);
}

TEST(test_what_is_kept_changes_no_bit)
{
    weighs_as_afresh(150, 0, 2000);
}

/* There are more copies than are kept: every second one goes, and goes again. */
TEST(test_what_is_kept_of_many_changes_no_bit)
{
    weighs_as_afresh(1500, 1490, 120);
}

static double seconds(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The bound is generous: sanitizers and a loaded machine. bench/goodput tells the figures. */
TEST(test_recursion_is_fast_for_a_thousand_jobs)
{
    enum { JOBS = 1000 };
    static struct goodput_curve curves[JOBS];
    static struct goodput_weighed jobs[JOBS];
    uint64_t seed = 1;
    double best = INFINITY;

    for (int i = 0; i < JOBS; i++) {
        curves[i] = power_curve(0.5 + 0.45 * random_unit(&seed), 64);
        jobs[i] = (struct goodput_weighed){ .id = (uint64_t)i,
                                            .curve = &curves[i],
                                            .priority_weight = 1,
                                            .remaining_s = exp(10 * random_unit(&seed)) };
    }
    for (int round = 0; round < 5; round++) {
        double begun = seconds();

        goodput_weigh(NULL, jobs, JOBS, 4 * JOBS);
        best = fmin(best, seconds() - begun);
    }
    print_message("1,000 jobs, 4,000 bundles: %.3f ms\n", best * 1e3);
    assert_true(best < 0.05);
}
