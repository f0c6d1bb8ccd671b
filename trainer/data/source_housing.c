/* SPDX-License-Identifier: Apache-2.0 */
/* source_housing.c - houses: 13 features of different ranges, a price that is linear in them, noise
 *
 * In the form of the Boston housing data: each feature becomes (x - mean) / (max - min) over all
 * rows, the first four fifths of the rows are for training, and nothing is shuffled. */
#include <errno.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/random_stream.h"
#include "trainer/data/source.h"

#define FEATURES 13
#define ROWS_DEFAULT 506
#define ROWS_MIN 10
#define NOISE_DEFAULT 3.0f
#define PRICE_MEAN 22.5
#define WEIGHT_DEVIATION 8.0
#define RANGE_MAX 400.0 /* of a feature before it is scaled */

enum { STREAM_WEIGHTS = 1, STREAM_ROWS };

struct housing {
    uint64_t n_rows, n_train;
    double noise, cost_of_test;
    float (*features)[FEATURES];
    float *prices;
};

static void draw_features(struct housing *h, uint64_t seed)
{
    for (uint64_t i = 0; i < h->n_rows; i++) {
        uint64_t state = random_stream(seed, STREAM_ROWS, i);

        for (uint32_t j = 0; j < FEATURES; j++) { /* some even, some with a long tail */
            double unit = random_unit(&state), range = RANGE_MAX * (j + 1) / FEATURES;

            h->features[i][j] = (float)(range * (j % 2 == 0 ? unit : unit * unit * unit));
        }
    }
}

static void scale_feature(struct housing *h, uint32_t j)
{
    double min = INFINITY, max = -INFINITY, sum = 0;

    for (uint64_t i = 0; i < h->n_rows; i++) {
        min = fmin(min, (double)h->features[i][j]);
        max = fmax(max, (double)h->features[i][j]);
        sum += (double)h->features[i][j];
    }
    for (uint64_t i = 0; i < h->n_rows; i++)
        h->features[i][j] =
            (float)(((double)h->features[i][j] - sum / (double)h->n_rows) / (max - min));
}

/* Prices of the scaled features, and what the true function costs on the test rows. */
static void draw_prices(struct housing *h, uint64_t seed)
{
    uint64_t state = random_stream(seed, STREAM_WEIGHTS, 0);
    double weights[FEATURES], squares = 0;

    for (uint32_t j = 0; j < FEATURES; j++)
        weights[j] = WEIGHT_DEVIATION * random_normal(&state);
    for (uint64_t i = 0; i < h->n_rows; i++) {
        double truth = PRICE_MEAN, error;

        for (uint32_t j = 0; j < FEATURES; j++)
            truth += weights[j] * (double)h->features[i][j];
        h->prices[i] = (float)(truth + h->noise * random_normal(&state));
        error = (double)h->prices[i] - truth;
        if (i >= h->n_train)
            squares += error * error;
    }
    h->cost_of_test = squares / (double)(h->n_rows - h->n_train);
}

static void sample(void *state, bool test, uint64_t i, struct sample_value *ret_values)
{
    const struct housing *h = state;
    uint64_t row = test ? h->n_train + i : i;

    ret_values[0] = (struct sample_value){ .values = h->features[row] };
    ret_values[1] = (struct sample_value){ .values = &h->prices[row] };
}

static json_t *floor_of(void *state)
{
    const struct housing *h = state;

    return json_pack("{s:f, s:f}", "cost", h->noise * h->noise, "test_cost", h->cost_of_test);
}

static void housing_free(void *state)
{
    struct housing *h = state;

    free(h->features);
    free(h->prices);
    free(h);
}

int source_open_housing(const struct source_options *options, struct source *ret,
                        struct edl_error *error)
{
    int r = source_check(options, ROWS_MIN, error);
    struct housing *h;

    if (r < 0)
        return r;
    h = xcalloc(1, sizeof *h);
    h->n_rows = options->samples != 0 ? options->samples : ROWS_DEFAULT;
    h->n_train = h->n_rows * 4 / 5;
    h->noise = (double)(options->noise >= 0 ? options->noise : NOISE_DEFAULT);
    h->features = xcalloc(h->n_rows, sizeof *h->features);
    h->prices = xcalloc(h->n_rows, sizeof *h->prices);
    draw_features(h, options->seed);
    for (uint32_t j = 0; j < FEATURES; j++)
        scale_feature(h, j);
    draw_prices(h, options->seed);
    *ret = (struct source){ .n_train = h->n_train,
                            .n_test = h->n_rows - h->n_train,
                            .state = h,
                            .sample = sample,
                            .floor = floor_of,
                            .release = housing_free };
    source_input(ret, "x", INPUT_DENSE, FEATURES);
    source_input(ret, "y", INPUT_DENSE, 1);
    return 0;
}
