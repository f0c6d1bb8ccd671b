/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_sources.c - generated data sets hold their promises; the floors of prices and
 * ratings */
#include "tests/unit/test.h"
#include "trainer/data/source.h"

#include <math.h>

#include "source_fixture.h"
#include "trainer/data/movielens.h"
#include "trainer/data/planted_ratings.h"

/* Every sample can be written; the bytes of all of them, for comparison. */
static uint64_t hash_of(struct source *source, bool test, uint64_t first, uint64_t end)
{
    struct sample_value values[INPUTS_MAX];
    struct sample_record record = { 0 };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (uint64_t i = first; i < end; i++) {
        source->sample(source->state, test, i, values);
        assert_int_equal(sample_encode(source->inputs, source->n_inputs, values, &record, NULL), 0);
        for (size_t k = 0; k < record.size; k++)
            hash = (hash ^ record.bytes[k]) * UINT64_C(0x100000001b3);
    }
    free(record.bytes);
    return hash;
}

TEST(test_every_source_follows_its_seed)
{
    const struct source_kind *kind;

    for (size_t i = 0; (kind = source_kind_at(i)) != NULL; i++) {
        struct source_options options = defaults;
        struct source one = { 0 }, again = { 0 }, two = { 0 };

        if (streq(kind->name, "ml-1m"))
            continue;
        options.samples = 300;
        assert_int_equal(kind->open(&options, &one, NULL), 0);
        assert_int_equal(kind->open(&options, &again, NULL), 0);
        options.seed = 2;
        assert_int_equal(kind->open(&options, &two, NULL), 0);
        assert_int_equal(sample_inputs_check(one.inputs, one.n_inputs, NULL), 0);
        (void)hash_of(&again, true, 3, 5); /* what was asked before does not matter */
        assert_true(hash_of(&one, false, 0, 20) == hash_of(&again, false, 0, 20));
        assert_true(hash_of(&one, true, 0, 20) == hash_of(&again, true, 0, 20));
        assert_true(hash_of(&one, false, 0, 20) != hash_of(&two, false, 0, 20));
        assert_true(hash_of(&one, false, 0, 20) != hash_of(&one, true, 0, 20));
        source_close(&one);
        source_close(&again);
        source_close(&two);
    }
}

TEST(test_housing_has_the_form_of_the_original)
{
    struct source source = { 0 };
    struct sample_value values[2];
    double min[13], max[13], sum[13] = { 0 };

    assert_int_equal(source_open_housing(&defaults, &source, NULL), 0);
    assert_int_equal(source.n_train, 404);
    assert_int_equal(source.n_test, 102);
    assert_int_equal(source.inputs[0].size, 13);
    for (uint64_t i = 0; i < 506; i++) {
        source.sample(source.state, i >= 404, i < 404 ? i : i - 404, values);
        for (int j = 0; j < 13; j++) {
            double x = (double)values[0].values[j];

            min[j] = i == 0 ? x : fmin(min[j], x);
            max[j] = i == 0 ? x : fmax(max[j], x);
            sum[j] += x;
        }
    }
    for (int j = 0; j < 13; j++) { /* over all rows, not over those for training */
        assert_near("mean", sum[j] / 506, 0, 1e-6);
        assert_near("max - min", max[j] - min[j], 1, 1e-6);
        assert_true(min[j] > -1 && max[j] < 1);
    }
    source_close(&source);
}

/* Solves a[n][n + 1] by elimination with the largest pivot. */
static void solve(double a[14][15])
{
    for (int c = 0; c < 14; c++) {
        int p = c;

        for (int r = c + 1; r < 14; r++)
            p = fabs(a[r][c]) > fabs(a[p][c]) ? r : p;
        for (int k = 0; k < 15; k++) {
            double keep = a[c][k];

            a[c][k] = a[p][k];
            a[p][k] = keep;
        }
        for (int r = 0; r < 14; r++)
            for (int k = 14; r != c && k >= c; k--)
                a[r][k] -= a[r][c] / a[c][c] * a[c][k];
    }
    for (int c = 0; c < 14; c++)
        a[c][14] /= a[c][c];
}

/* Least squares over the train rows comes to the floor on the test rows, and not below it by more
 * than chance. */
TEST(test_housing_floor_is_what_least_squares_reach)
{
    struct source_options options = defaults;
    struct source source = { 0 };
    struct sample_value values[2];
    double a[14][15] = { { 0 } }, cost = 0, floor_cost, floor_test;
    json_t *floor;

    options.samples = 50000;
    options.noise = 2;
    assert_int_equal(source_open_housing(&options, &source, NULL), 0);
    for (uint64_t i = 0; i < source.n_train; i++) {
        double x[14] = { [13] = 1 };

        source.sample(source.state, false, i, values);
        for (int j = 0; j < 13; j++)
            x[j] = (double)values[0].values[j];
        for (int j = 0; j < 14; j++) {
            for (int k = 0; k < 14; k++)
                a[j][k] += x[j] * x[k];
            a[j][14] += x[j] * (double)values[1].values[0];
        }
    }
    solve(a);
    for (uint64_t i = 0; i < source.n_test; i++) {
        double error = -a[13][14];

        source.sample(source.state, true, i, values);
        error += (double)values[1].values[0];
        for (int j = 0; j < 13; j++)
            error -= a[j][14] * (double)values[0].values[j];
        cost += error * error / (double)source.n_test;
    }
    floor = source.floor(source.state);
    floor_cost = told(floor, "cost");
    floor_test = told(floor, "test_cost");
    assert_near("cost", floor_cost, 4, 1e-9);
    assert_near("test cost", floor_test, 4, 0.2);
    assert_near("cost of least squares", cost, floor_test, 0.01);
    json_decref(floor);
    source_close(&source);
}

/* Opens the recommendation generator and tells its floor. */
static void open_ratings(bool rounded, float noise, struct source *ret, json_t **ret_floor)
{
    struct source_options options = defaults;

    options.samples = 20000;
    options.users = 200;
    options.movies = 100;
    options.noise = noise;
    options.rounded = rounded;
    assert_int_equal(source_open_recommendation(&options, ret, NULL), 0);
    *ret_floor = ret->floor(ret->state);
    assert_non_null(*ret_floor);
}

TEST(test_recommendation_has_the_cardinalities_of_the_original)
{
    static const uint32_t sizes[] = { 3952, 98, 18, 6040, 2, 7, 21, 1 };
    struct source_options options = defaults;
    struct source source = { 0 };
    struct sample_value values[MOVIELENS_INPUTS];

    options.samples = 20000;
    assert_int_equal(source_open_recommendation(&options, &source, NULL), 0);
    assert_int_equal(source.n_inputs, MOVIELENS_INPUTS);
    for (int i = 0; i < MOVIELENS_INPUTS; i++)
        assert_int_equal(source.inputs[i].size, sizes[i]);
    assert_int_equal(source.n_train + source.n_test, 20000);
    source.sample(source.state, false, 0, values);
    assert_true(values[1].n_ids >= 4);
    assert_int_equal(values[1].ids[values[1].n_ids - 1], 0); /* a blank at its end */
    source_close(&source);
}

/* Stars that are not rounded: the target is 2 * stars - 5, so a cost is 4 times a square of stars;
 * what is known of the truth costs the noise, and nothing else does. */
TEST(test_recommendation_floor_of_real_stars)
{
    struct source source = { 0 };
    json_t *floor = NULL;
    double mean = 0, square = 0, variance;

    open_ratings(false, 0.5f, &source, &floor);
    for (uint64_t i = 0; i < source.n_train; i++) {
        struct sample_value values[MOVIELENS_INPUTS];
        double target;

        source.sample(source.state, false, i, values);
        target = (double)values[7].values[0];
        mean += target / (double)source.n_train;
        square += target * target / (double)source.n_train;
    }
    variance = square - mean * mean;
    assert_near("cost", told(floor, "cost"), 1, 1e-9);
    assert_near("RMSE", told(floor, "rmse_stars"), 0.5, 1e-9);
    assert_near("RMSE of the test set", told(floor, "test_rmse_stars"), 0.5, 0.03);
    assert_true(mean > 0.5 && mean < 4); /* most ratings are friendly */
    if (variance < 2 * told(floor, "cost"))
        fail_msg("there is little to learn: a constant costs %g", variance);
    json_decref(floor);
    source_close(&source);
}

/* Rounding adds about 1/12 of a star squared while it is fine beside the noise and no end is near.
 */
TEST(test_rounding_is_noise_of_its_own)
{
    struct source source = { 0 };
    json_t *floor = NULL;
    double mean, variance;

    rounded_mean_variance(3, 0.5, &mean, &variance);
    assert_near("mean", mean, 3, 1e-9);
    assert_near("variance", variance, 0.25 + 1.0 / 12, 0.01);
    rounded_mean_variance(3.5, 0, &mean, &variance);
    assert_near("mean without noise", mean, 3.5, 1e-9); /* either, by a hair */
    rounded_mean_variance(0.2, 1e-3, &mean, &variance);
    assert_near("mean below the scale", mean, 1, 1e-9);
    assert_near("variance below the scale", variance, 0, 1e-9);
    rounded_mean_variance(9, 0.5, &mean, &variance);
    assert_near("mean above the scale", mean, 5, 1e-9);

    open_ratings(true, 0.5f, &source, &floor);
    assert_near("real", told(floor, "rmse_stars_real"), 0.5, 1e-9);
    assert_near("rounded", told(floor, "rmse_stars"), told(floor, "rmse_stars_rounded"), 1e-12);
    assert_near("test set", told(floor, "test_rmse_stars"), told(floor, "rmse_stars"), 0.03);
    assert_true(told(floor, "rmse_stars") > 0.5);
    assert_near("rounded", told(floor, "rmse_stars"), sqrt(0.25 + 1.0 / 12), 0.03);
    for (uint64_t i = 0; i < source.n_train; i++) {
        struct sample_value values[MOVIELENS_INPUTS];
        double stars;

        source.sample(source.state, false, i, values);
        stars = ((double)values[7].values[0] + 5) / 2;
        assert_true(stars == round(stars) && stars >= 1 && stars <= 5);
    }
    json_decref(floor);
    source_close(&source);
}

TEST(test_options_out_of_range)
{
    const struct {
        const char *name, *says;
        struct source_options options;
    } wrong[] = {
        { "housing", "--samples 9 is outside 10 to", { .samples = 9 } },
        { "images", "--samples 50000001 is outside", { .samples = SOURCE_SAMPLES_MAX + 1 } },
        { "digits", "--label-noise 0.95 is above 0.9", { .label_noise = 0.95f } },
        { "digits", "--noise 1001 is above 1000", { .noise = 1001 } },
        { "recommendation", "--users 1000001 is outside 1 to", { .users = 1000001 } },
        { "recommendation", "--movies 1 is outside 2 to", { .movies = 1 } },
        { "ml-1m", "--data is missing", { .seed = 1 } },
        { "ml-1m", "/nowhere-at-all/users.dat", { .data = "/nowhere-at-all" } },
    };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct source source = { 0 };
        struct edl_error error = { 0 };

        assert_true(source_find(wrong[i].name)->open(&wrong[i].options, &source, &error) < 0);
        if (strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %s", wrong[i].says, error.text);
        assert_null(source.state);
    }
    assert_null(source_find("mnist"));
}
