/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch_choice.c - the batch that teaches most a second */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/batch_choice.h"
#include "shared/macro.h"
#include "trainer/data/random_stream.h"

static const struct batch_rules rules = { BATCH_GOODPUT, 32, 128, 1024, 100 };

static const uint32_t ranks[] = { 1, 2, 3, 4, 6, 12 };

static void assert_about(double x, double wanted, double share)
{
    if (!(fabs(x - wanted) <= share * fabs(wanted)))
        fail_msg("%.9g, not %.9g", x, wanted);
}

/* A training whose gradients have this noise scale, and steps these times; as its words come. */
struct truth {
    double noise;                     /* samples; the square of the gradient is 1 */
    double compute_s, two_s, third_s; /* a micro-batch; the exchange of two, and of each more */
};

static double step_of(const struct truth *t, uint32_t n, uint32_t v)
{
    double exchange_s = n > 1 ? t->two_s + t->third_s * (n - 2) : 0;

    return (v / n + (v % n > 0)) * t->compute_s + exchange_s;
}

static void measure(struct batch_measures *m, const struct truth *t, uint32_t n, uint32_t v,
                    uint64_t step)
{
    const double b = rules.micro_batch;
    float told[BATCH_TOLD] = { 0 };

    for (uint32_t i = 0; i < v; i++)
        batch_tell(told, b * b * (1 + t->noise / b), t->compute_s);
    for (uint32_t k = 0; k < n && k < v; k++)
        batch_tell_step(told, n, step_of(t, n, v));
    batch_measure(m, &rules, told, v, v * b * v * b * (1 + t->noise / (v * b)), step);
}

/* The row of the table: the first batch while ranks share it, then twice and four times as much. */
TEST(test_the_table)
{
    static const uint32_t batch[] = { 128, 128, 256, 256, 512, 512 };
    const struct truth truth = { .noise = 700, .compute_s = 0.01, .two_s = 0.002, .third_s = 5e-4 };
    struct batch_measures measures = { 0 };
    uint32_t v = 4;
    uint64_t step = 0;

    for (size_t i = 0; i < ELEMENTS(ranks); i++) {
        for (int s = 0; s < 20; s++)
            measure(&measures, &truth, ranks[i], v, ++step);
        v = batch_choice(&measures, &rules, ranks[i], v);
        if (v * 32 != batch[i])
            fail_msg("%u ranks: a batch of %u, not %u", ranks[i], v * 32, batch[i]);
        assert_int_equal(batch_choice(&measures, &rules, ranks[i], v), v);
    }
    assert_about(batch_noise(&measures, &rules), 700, 1e-3);
    assert_about(batch_worth(&measures, &rules, 8), (700.0 + 128) / (700 + 256), 1e-3);
}

/* A gradient that is always the same teaches nothing by its repetition, one that is nothing but
 * noise is worth each sample: then only the time counts. */
TEST(test_noise_decides)
{
    static const struct {
        double noise;
        uint32_t v; /* of four ranks whose exchange takes as long as three micro-batches */
    } rows[] = { { 1, 4 }, { 100, 4 }, { 3000, 32 }, { 1e9, 32 } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const struct truth truth = { .noise = rows[i].noise, .compute_s = 0.001, .two_s = 0.003 };
        struct batch_measures measures = { 0 };

        for (int s = 0; s < 20; s++)
            measure(&measures, &truth, 4, 4, (uint64_t)s);
        assert_int_equal(batch_choice(&measures, &rules, 4, 4), rows[i].v);
    }
}

TEST(test_what_is_not_known_changes_nothing)
{
    struct batch_measures measures = { 0 };
    const struct truth truth = { .noise = 1e4, .compute_s = 0.001, .two_s = 0.003 };

    assert_int_equal(batch_choice(&measures, &rules, 4, 4), 4);
    assert_true(batch_noise(&measures, &rules) < 0);
    assert_about(batch_worth(&measures, &rules, 32), 1, 1e-12);
    measure(&measures, &truth, 4, 1, 1); /* one micro-batch tells nothing of noise */
    assert_true(batch_noise(&measures, &rules) < 0);
    assert_int_equal(batch_choice(&measures, &rules, 4, 8), 8);
    for (int i = 0; i < BATCH_POINTS; i++) /* whatever another one sent */
        measures.points[i] = (struct batch_point){ .weight = NAN, .compute_s = -1 };
    measures.weight = 1;
    assert_int_equal(batch_choice(&measures, &rules, 4, 8), 8);
    measures.points[3] = (struct batch_point){ .weight = 1, .ranks = 2, .micro_batches = 4 };
    assert_int_equal(batch_choice(&measures, &rules, 4, 8), 8);
}

/* One that stood still for a moment is no slow training; the oldest size is forgotten. */
TEST(test_times)
{
    const struct truth truth = { .noise = 500, .compute_s = 0.01, .two_s = 0.01 };
    const struct truth stalled = { .noise = 500, .compute_s = 0.01, .two_s = 60 };
    struct batch_measures measures = { 0 };

    for (int s = 0; s < 30; s++)
        measure(&measures, s == 20 ? &stalled : &truth, 2, 4, (uint64_t)s);
    assert_about(measures.points[0].step_s, 0.03, 0.2);
    for (uint32_t n = 1; n <= BATCH_POINTS; n++)
        if (n != 2)
            measure(&measures, &truth, n, 4, 30 + n);
    assert_int_equal(measures.points[0].ranks, 2);
    measure(&measures, &truth, 40, 4, 100);
    assert_int_equal(measures.points[0].ranks, 40);
}

/* Squares of any size go through floats of which none is beyond 32,768, and add up. */
TEST(test_squares_of_any_size)
{
    static float values[1013], none[20];
    double sum = 0;

    for (size_t i = 0; i < ELEMENTS(values); i++) {
        values[i] = (float)i / 7;
        sum += (double)values[i] * (double)values[i];
    }
    assert_about(batch_square(values, ELEMENTS(values)), sum, 1e-12);
    assert_true(batch_square(none, ELEMENTS(none)) <= 0);
    for (double square = 1e-18; square < 1e18; square *= 3) {
        struct batch_measures measures = { 0 };
        float told[BATCH_TOLD] = { 0 };

        for (int i = 0; i < 4; i++)
            batch_tell(told, square, 0.001);
        batch_tell_step(told, 1, 0.004);
        for (int i = 0; i < BATCH_TOLD; i++)
            assert_true(told[i] < 32768.0F);
        batch_measure(&measures, &rules, told, 4, 8 * square, 1); /* mean 1, of the mean 1 / 2 */
        assert_about(measures.square / measures.weight, square / 1024 / 3, 1e-5);
        assert_about(measures.variance / measures.weight, square / 1024 * 2 / 3, 1e-5);
    }
}

/* Gradients of samples that are drawn: the noise scale is found with any number of micro-batches.
 */
TEST(test_the_noise_of_drawn_gradients)
{
    static const uint32_t counts[] = { 2, 4, 16 };
    enum { VALUES = 200, STEPS = 1500 };
    uint64_t seed = 11;

    for (size_t c = 0; c < ELEMENTS(counts); c++) {
        struct batch_measures measures = { 0 };

        for (int s = 0; s < STEPS; s++) {
            float told[BATCH_TOLD] = { 0 }, sum[VALUES] = { 0 };

            for (uint32_t i = 0; i < counts[c]; i++) {
                float gradient[VALUES];

                for (int k = 0; k < VALUES; k++) { /* of 32 samples: mean 0.1, deviation 1 each */
                    gradient[k] = (float)(32 * 0.1 + sqrt(32) * random_normal(&seed));
                    sum[k] += gradient[k];
                }
                batch_tell(told, batch_square(gradient, VALUES), 0.001);
            }
            batch_measure(&measures, &rules, told, counts[c], batch_square(sum, VALUES),
                          (uint64_t)s);
        }
        assert_about(batch_noise(&measures, &rules), 1 / (0.1 * 0.1), 0.06);
    }
}
