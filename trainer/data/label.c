/* SPDX-License-Identifier: Apache-2.0 */
/* label.c - labels of which a known share is wrong, and the floor of a classifier */
#include "trainer/data/label.h"

#include <math.h>

#include "shared/macro.h"
#include "shared/random.h"

#define FLOOR_SAMPLES UINT64_C(2000) /* enough for 0.5 points at an error of 5 % */

int32_t label_draw(uint32_t class, double noise, uint64_t *state)
{
    double unit = random_unit(state);
    uint32_t other = (uint32_t)random_below(state, SOURCE_CLASSES - 1);

    if (unit >= noise)
        return (int32_t) class;
    return (int32_t)(other < class ? other : other + 1);
}

void label_posterior(double *io_values, double noise)
{
    double max = io_values[0], sum = 0;

    for (uint32_t c = 1; c < SOURCE_CLASSES; c++)
        max = fmax(max, io_values[c]);
    for (uint32_t c = 0; c < SOURCE_CLASSES; c++)
        sum += io_values[c] = exp(io_values[c] - max);
    for (uint32_t c = 0; c < SOURCE_CLASSES; c++) {
        double p = io_values[c] / sum;

        io_values[c] = (1 - noise) * p + noise * (1 - p) / (SOURCE_CLASSES - 1);
    }
}

json_t *label_floor(uint64_t n_test, void *state,
                    void (*posterior)(void *state, uint64_t i, double *ret_posterior,
                                      int32_t *ret_label))
{
    uint64_t n = MIN_OF(n_test, FLOOR_SAMPLES);
    double error = 0, cost = 0, test_error = 0, test_cost = 0;

    for (uint64_t i = 0; i < n; i++) {
        double p[SOURCE_CLASSES];
        int32_t label = 0, best = 0;

        posterior(state, i, p, &label);
        for (int32_t c = 0; c < SOURCE_CLASSES; c++) {
            cost -= p[c] > 0 ? p[c] * log(p[c]) : 0;
            best = p[c] > p[best] ? c : best;
        }
        error += 1 - p[best];
        test_error += best != label;
        test_cost -= log(fmax(p[label], 1e-300));
    }
    return json_pack("{s:f, s:f, s:f, s:f, s:I}", "error", error / (double)n, "test_error",
                     test_error / (double)n, "cost", cost / (double)n, "test_cost",
                     test_cost / (double)n, "samples", (json_int_t)n);
}
