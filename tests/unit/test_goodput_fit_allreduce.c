/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_fit_allreduce.c - the fit, its gradient, its pins; batches */
#include <errno.h>
#include <time.h>

#include "shared/goodput_batch.h"
#include "shared/goodput_minimise.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define POINTS 20

static double between(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, random_unit(seed));
}

static struct goodput_perf draw_truth(uint64_t *seed)
{
    struct goodput_perf perf;

    perf.of[GOODPUT_PERF_AC] = between(seed, 0.01, 0.3);
    perf.of[GOODPUT_PERF_BC] = between(seed, 0.0005, 0.01);
    perf.of[GOODPUT_PERF_AR] = between(seed, 0.01, 0.2);
    perf.of[GOODPUT_PERF_BR] = perf.of[GOODPUT_PERF_AR] * between(seed, 0.001, 0.1);
    perf.of[GOODPUT_PERF_AN] = perf.of[GOODPUT_PERF_AR] * between(seed, 1, 4);
    perf.of[GOODPUT_PERF_BN] = perf.of[GOODPUT_PERF_AN] * between(seed, 0.001, 0.1);
    perf.of[GOODPUT_PERF_GAMMA] = 1 + 3 * random_unit(seed);
    return perf;
}

static struct goodput_perf_point measure(const struct goodput_perf *truth, uint32_t nodes,
                                         uint32_t replicas, double local, double noise,
                                         uint64_t *seed)
{
    struct goodput_perf_point point = { .nodes = nodes,
                                        .replicas = replicas,
                                        .local_batch = local };
    double accumulate_s = goodput_perf_accumulate_s(truth, local);

    point.accumulate_s = accumulate_s * (1 + noise * (random_unit(seed) - 0.5));
    point.step_s =
        goodput_perf_step_s(truth, accumulate_s, goodput_perf_exchange_s(truth, nodes, replicas)) *
        (1 + noise * (random_unit(seed) - 0.5));
    return point;
}

/* Everything is seen at least once, so that nothing is pinned. */
static void draw_points(struct goodput_perf_point *points, int n, const struct goodput_perf *truth,
                        double noise, uint64_t *seed)
{
    for (int i = 0; i < n; i++) {
        uint32_t replicas = i == 0 ? 3 : 1 + (uint32_t)random_below(seed, 16);
        uint32_t nodes = i == 0 ? 1 : (replicas + 3) / 4;

        points[i] = measure(truth, nodes, replicas, rint(between(seed, 8, 256)), noise, seed);
    }
}

TEST(test_gradient_is_that_of_differences)
{
    uint64_t seed = 41;

    for (int round = 0; round < 100; round++) {
        struct goodput_perf truth = draw_truth(&seed), at = draw_truth(&seed);
        struct goodput_perf_point points[POINTS];
        double gradient[GOODPUT_PERF_PARAMS];

        draw_points(points, POINTS, &truth, 0.2, &seed);
        (void)goodput_perf_objective(&at, points, POINTS, gradient);
        for (int i = 0; i < GOODPUT_PERF_PARAMS; i++) {
            struct goodput_perf more = at, less = at;
            double step = 1e-5 * at.of[i];
            double difference;

            more.of[i] += step;
            less.of[i] -= step;
            difference = (goodput_perf_objective(&more, points, POINTS, NULL) -
                          goodput_perf_objective(&less, points, POINTS, NULL)) /
                         (2 * step);
            assert_near(gradient[i], difference, 1e-4 * fabs(difference) + 1e-6 / at.of[i]);
        }
    }
}

/* The speeds that are predicted where nothing was measured are those of the truth. */
TEST(test_fit_predicts_other_sizes)
{
    uint64_t seed = 42;
    double sum = 0, worst = 0;
    enum { ROUNDS = 100 };

    for (int round = 0; round < ROUNDS; round++) {
        struct goodput_perf truth = draw_truth(&seed), fit;
        struct goodput_perf_point points[POINTS];
        double error = 0;
        int n = 0;

        draw_points(points, POINTS, &truth, 0.04, &seed);
        assert_int_equal(goodput_perf_fit(points, POINTS, &fit), 0);
        for (uint32_t k = 1; k <= 16; k++)
            for (double local = 16; local <= 256; local *= 2, n++)
                error += fabs(goodput_throughput(&fit, (k + 3) / 4, k, local, 0) /
                                  goodput_throughput(&truth, (k + 3) / 4, k, local, 0) -
                              1);
        sum += error / n;
        worst = fmax(worst, error / n);
    }
    print_message("error of throughput, 4 %% of noise: mean %.4f, worst fit %.4f\n", sum / ROUNDS,
                  worst);
    assert_true(sum / ROUNDS < 0.02);
    assert_true(worst < 0.08);
}

struct referee {
    const struct goodput_perf_point *points;
    int n;
};

/* In logarithms, by the public objective: not the code that the fit runs. */
static double referee_value(const void *userdata, const double *x, double *ret_gradient)
{
    const struct referee *referee = userdata;
    struct goodput_perf perf;
    double value;

    for (int i = 0; i < GOODPUT_PERF_PARAMS; i++)
        perf.of[i] = i < GOODPUT_PERF_GAMMA ? exp(x[i]) : x[i];
    value = goodput_perf_objective(&perf, referee->points, referee->n, ret_gradient);
    for (int i = 0; i < GOODPUT_PERF_GAMMA; i++)
        ret_gradient[i] *= perf.of[i];
    return value;
}

/* Thirty random beginnings find nothing that is much better. */
TEST(test_fit_is_near_the_best_of_many_beginnings)
{
    uint64_t seed = 43;
    double sum = 0;
    enum { ROUNDS = 40, BEGINNINGS = 30 };

    for (int round = 0; round < ROUNDS; round++) {
        struct goodput_perf truth = draw_truth(&seed), fit;
        struct goodput_perf_point points[POINTS];
        struct referee referee = { points, POINTS };
        double best = INFINITY, got;

        draw_points(points, POINTS, &truth, 0.1, &seed);
        assert_int_equal(goodput_perf_fit(points, POINTS, &fit), 0);
        got = goodput_perf_objective(&fit, points, POINTS, NULL);
        for (int b = 0; b < BEGINNINGS; b++) {
            struct goodput_problem problem = { .n = GOODPUT_PERF_PARAMS,
                                               .value = referee_value,
                                               .userdata = &referee,
                                               .steps_max = 500,
                                               .reach = 2,
                                               .enough = 1e-9 };
            double x[GOODPUT_PERF_PARAMS];

            for (int i = 0; i < GOODPUT_PERF_GAMMA; i++) {
                problem.lower[i] = log(1e-8);
                problem.upper[i] = log(1e8);
                x[i] = log(between(&seed, 1e-5, 1));
            }
            problem.lower[GOODPUT_PERF_GAMMA] = 1;
            problem.upper[GOODPUT_PERF_GAMMA] = 10;
            x[GOODPUT_PERF_GAMMA] = 1 + 9 * random_unit(&seed);
            best = fmin(best, goodput_minimise(&problem, x));
        }
        assert_true(got <= best + 0.01);
        sum += got - best;
    }
    print_message("objective above the best of %d beginnings: mean %.6f\n", BEGINNINGS,
                  sum / ROUNDS);
    assert_true(sum / ROUNDS < 1e-3);
}

TEST(test_what_is_not_seen_is_pinned)
{
    uint64_t seed = 44;
    struct goodput_perf truth = draw_truth(&seed), fit;
    struct goodput_perf_point points[4];

    points[0] = measure(&truth, 1, 1, 64, 0, &seed);
    assert_int_equal(goodput_perf_fit(points, 1, &fit), 0);
    assert_near(fit.of[GOODPUT_PERF_AC], points[0].accumulate_s / 2, 1e-9);
    assert_near(goodput_perf_accumulate_s(&fit, 64), points[0].accumulate_s, 1e-3);
    assert_near(fit.of[GOODPUT_PERF_AR], 1e-8, 1e-12);
    assert_near(fit.of[GOODPUT_PERF_BR], 1e-8, 1e-12);
    assert_near(fit.of[GOODPUT_PERF_AN], 1.1e-8, 1e-12);
    /* optimistic: eight are eight times as fast */
    assert_near(goodput_throughput(&fit, 2, 8, 64, 0) / goodput_throughput(&fit, 1, 1, 64, 0), 8,
                0.01);
    points[1] = points[0]; /* still one batch size, and half of the mean */
    points[1].accumulate_s = 3 * points[0].accumulate_s;
    assert_int_equal(goodput_perf_fit(points, 2, &fit), 0);
    assert_near(fit.of[GOODPUT_PERF_AC], points[0].accumulate_s, 1e-9);
    points[1] = measure(&truth, 1, 2, 128, 0, &seed);
    assert_int_equal(goodput_perf_fit(points, 2, &fit), 0);
    assert_true(fit.of[GOODPUT_PERF_AR] > 1e-6);
    assert_near(fit.of[GOODPUT_PERF_BR], 1e-8, 1e-12);
    assert_near(fit.of[GOODPUT_PERF_AN], 1.1 * fit.of[GOODPUT_PERF_AR], 1e-9);
    points[2] = measure(&truth, 2, 4, 128, 0, &seed);
    assert_int_equal(goodput_perf_fit(points, 3, &fit), 0);
    assert_true(fit.of[GOODPUT_PERF_AN] != 1.1 * fit.of[GOODPUT_PERF_AR]);
    for (int i = 0; i < GOODPUT_PERF_GAMMA; i++)
        assert_true(fit.of[i] >= 1e-8 * (1 - 1e-9));
    assert_in_range((int)fit.of[GOODPUT_PERF_GAMMA], 1, 10);
}

TEST(test_points_out_of_range_are_refused)
{
    uint64_t seed = 45;
    struct goodput_perf truth = draw_truth(&seed), fit;
    struct goodput_perf_point good = measure(&truth, 1, 2, 64, 0, &seed), bad;

    assert_int_equal(goodput_perf_fit(&good, 0, &fit), -EINVAL);
    bad = good;
    bad.nodes = 3;
    assert_int_equal(goodput_perf_fit(&bad, 1, &fit), -EINVAL);
    bad = good;
    bad.step_s = 0;
    assert_int_equal(goodput_perf_fit(&bad, 1, &fit), -EINVAL);
    bad = good;
    bad.accumulate_s = INFINITY;
    assert_int_equal(goodput_perf_fit(&bad, 1, &fit), -EINVAL);
}

static double seconds(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The bound is generous: sanitizers and a loaded machine. bench/goodput tells the figures. */
TEST(test_fit_is_fast)
{
    uint64_t seed = 46;
    double sum = 0;
    enum { ROUNDS = 200 };

    for (int round = 0; round < ROUNDS; round++) {
        struct goodput_perf truth = draw_truth(&seed), fit;
        struct goodput_perf_point points[POINTS];
        double begun;

        draw_points(points, POINTS, &truth, 0.1, &seed);
        begun = seconds();
        (void)goodput_perf_fit(points, POINTS, &fit);
        sum += seconds() - begun;
    }
    print_message("a fit of %d points: %.1f us\n", POINTS, sum / ROUNDS * 1e6);
    assert_true(sum / ROUNDS < 0.005);
}

/* --- batches
 * -------------------------------------------------------------------------------------- */

TEST(test_efficiency_is_one_at_the_initial_batch)
{
    const struct goodput_gradient gradient = { .square = 2, .variance = 6 };

    assert_near(goodput_efficiency(&gradient, 128, 128), 1, 1e-12);
    /* noise = 3 x 128: (384 + 128) / (384 + 512) */
    assert_near(goodput_efficiency(&gradient, 128, 512), 512.0 / 896, 1e-12);
    assert_near(goodput_efficiency(&(struct goodput_gradient){ 0, 0 }, 128, 512), 0.25, 1e-12);
}

/* Whatever the limits: the choice keeps them, and nothing on a fine grid is much better. */
TEST(test_best_batch_is_the_best_within_the_limits)
{
    uint64_t seed = 47;

    for (int round = 0; round < 300; round++) {
        struct goodput_perf perf = draw_truth(&seed);
        struct goodput_gradient gradient = { between(&seed, 0.1, 10), between(&seed, 0.1, 100) };
        struct goodput_batch_limits limits = {
            .initial = 128, .most = 4096, .local_min = 16, .local_max = 256, .accumulate = round % 2
        };
        uint32_t replicas = 1 + (uint32_t)random_below(&seed, 16), nodes = (replicas + 3) / 4;
        struct goodput_batch best = goodput_batch_best(&perf, &gradient, &limits, nodes, replicas);
        double most = 0;

        for (uint32_t further = 0; further <= (limits.accumulate ? 15 : 0); further++)
            for (uint32_t local = 16; local <= 256; local++) {
                double batch = (double)replicas * local * (further + 1);

                if (batch >= 128 && batch <= 4096 &&
                    !(further == 0 && replicas == 1 && limits.accumulate && local > 128))
                    most = fmax(most, goodput_throughput(&perf, nodes, replicas, local, further) *
                                          goodput_efficiency(&gradient, 128, batch));
            }
        assert_true(best.goodput > 0);
        assert_in_range(best.local, 16, 256);
        assert_true(limits.accumulate || best.further == 0);
        assert_true(best.goodput >= 0.97 * most);
        assert_near(best.goodput,
                    goodput_throughput(&perf, nodes, replicas, best.local, best.further) *
                        goodput_efficiency(&gradient, 128,
                                           (double)replicas * best.local * (best.further + 1)),
                    1e-9 * best.goodput);
        /* a single replica beyond the initial batch accumulates */
        assert_true(!limits.accumulate || replicas > 1 || best.local <= 128 || best.further > 0);
    }
}

TEST(test_no_batch_fits_gives_nothing)
{
    uint64_t seed = 48;
    struct goodput_perf perf = draw_truth(&seed);
    const struct goodput_gradient gradient = { 1, 1 };
    struct goodput_batch_limits limits = { .initial = 512, .most = 512, .local_max = 100 };

    assert_near(goodput_batch_best(&perf, &gradient, &limits, 1, 4).goodput, 0, 0);
    assert_true(goodput_batch_best(&perf, &gradient, &limits, 2, 8).goodput > 0);
    limits.accumulate = true;
    assert_int_equal(goodput_batch_best(&perf, &gradient, &limits, 1, 4).further, 1);
}
