/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_pictures.c - the floors of digits and images */
#include "tests/unit/test.h"
#include "trainer/data/source_images.h"

#include <math.h>

#include "source_fixture.h"
#include "trainer/data/label.h"

TEST(test_wrong_labels_are_as_frequent_as_told)
{
    double p[SOURCE_CLASSES] = {
        -1000, -1, -1000, -1000, -1000, -1000, -1000, -1000, -1000, -1000
    };
    uint64_t random = 7;
    int counts[SOURCE_CLASSES] = { 0 };

    for (int i = 0; i < 90000; i++)
        counts[label_draw(4, 0.5, &random)]++;
    assert_near("right ones", counts[4], 45000, 600);
    for (int c = 0; c < SOURCE_CLASSES; c++)
        if (c != 4)
            assert_near("one of the others", counts[c], 5000, 300);
    label_posterior(p, 0.3);
    assert_near("the label of the class", p[1], 0.7, 1e-9);
    assert_near("any other", p[7], 0.3 / 9, 1e-9);
}

static json_t *floor_of(int (*open)(const struct source_options *options, struct source *ret,
                                    struct edl_error *error),
                        uint64_t samples, float noise, float label_noise)
{
    struct source_options options = defaults;
    struct source source = { 0 };
    json_t *floor;

    options.samples = samples;
    options.noise = noise;
    options.label_noise = label_noise;
    assert_int_equal(open(&options, &source, NULL), 0);
    floor = source.floor(source.state);
    source_close(&source);
    return floor;
}

TEST(test_digits_floor)
{
    json_t *clear = floor_of(source_open_digits, 600, 0.1f, 0),
           *wrong = floor_of(source_open_digits, 600, 0.1f, 0.3f),
           *blurred = floor_of(source_open_digits, 1800, 4, 0);

    assert_near("error", told(clear, "error"), 0, 1e-6);
    assert_near("test error", told(clear, "test_error"), 0, 1e-6);
    assert_near("error with wrong labels", told(wrong, "error"), 0.3, 1e-6);
    assert_near("test error with wrong labels", told(wrong, "test_error"), 0.3, 0.14);
    assert_near("cost with wrong labels", told(wrong, "cost"), -0.7 * log(0.7) - 0.3 * log(0.3 / 9),
                1e-6);
    assert_true(told(blurred, "error") > 0.2 && told(blurred, "error") < 0.7);
    /* what the likelihood expects comes true: 300 samples, 3 deviations */
    assert_near("test error in much noise", told(blurred, "test_error"), told(blurred, "error"),
                0.09);
    assert_near("test cost in much noise", told(blurred, "test_cost"), told(blurred, "cost"), 0.25);
    json_decref(clear);
    json_decref(wrong);
    json_decref(blurred);
}

TEST(test_bessel_function)
{
    assert_near("ln I0(0)", images_log_bessel(0), 0, 1e-12);
    assert_near("ln I0(1)", images_log_bessel(1), 0.2359143585, 1e-9);
    assert_near("ln I0(10)", images_log_bessel(10), 7.9429720831, 1e-9);
    assert_near("both forms", images_log_bessel(30.0000001) - images_log_bessel(29.9999999), 2e-7,
                2e-8);
    assert_near("ln I0(100)", images_log_bessel(100), 96.7797326899, 1e-7);
}

/* Against the closed form: ten orthogonal signals of unknown phase. */
TEST(test_images_floor)
{
    json_t *noisy = floor_of(source_open_images, 6000, 11, 0),
           *usual = floor_of(source_open_images, 1200, 1, 0.05f);
    double expected = images_error_of_phase(11);

    assert_near("guessing", images_error_of_phase(1e6), 0.9, 1e-3);
    assert_true(expected > 0.2 && expected < 0.6);
    assert_near("error", told(noisy, "error"), expected, 0.03); /* 1000 samples */
    assert_near("test error", told(noisy, "test_error"), expected, 0.05);
    assert_near("usual error", told(usual, "error"), 0.05, 1e-6);
    json_decref(noisy);
    json_decref(usual);
}

/* The mean picture of each class is the same grey: nothing linear tells them apart. */
TEST(test_images_have_nothing_linear)
{
    enum { N = 1500, PIXELS = 3072 };
    struct source_options options = defaults;
    struct source source = { 0 };
    double(*sums)[PIXELS] = xcalloc(SOURCE_CLASSES, sizeof *sums), worst = 0;
    double counts[SOURCE_CLASSES] = { 0 };

    options.samples = 2 * N;
    options.noise = 0.5f;
    options.label_noise = 0;
    assert_int_equal(source_open_images(&options, &source, NULL), 0);
    for (uint64_t i = 0; i < N; i++) {
        struct sample_value values[2];
        int32_t label;

        source.sample(source.state, false, i, values);
        label = values[1].ids[0];
        counts[label]++;
        for (int p = 0; p < PIXELS; p++) {
            assert_true(values[0].values[p] >= 0 && values[0].values[p] <= 1);
            sums[label][p] += (double)values[0].values[p] - 0.5;
        }
    }
    for (int c = 0; c < SOURCE_CLASSES; c++)
        for (int p = 0; p < PIXELS; p++)
            worst = fmax(worst, fabs(sums[c][p]) / sqrt(counts[c]));
    if (worst > 0.19 * 5) /* deviation of a pixel, and five of them among 30,720 */
        fail_msg("a class has a mean picture of its own: %g", worst);
    free(sums);
    source_close(&source);
}
