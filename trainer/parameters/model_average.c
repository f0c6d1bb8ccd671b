/* SPDX-License-Identifier: Apache-2.0 */
/* model_average.c - two sums of values: of the updates since the last change, and of those before
 */
#include "trainer/parameters/model_average.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

struct model_average {
    double window;
    uint64_t min_window, max_window, updates;
    uint64_t updates_before; /* this pass */
    bool bounded;            /* by what the caller named */
    uint64_t n_new, n_old;   /* updates in each sum */
    double **new, **old;
    size_t *sizes, n;
};

static double **sums_new(const size_t *sizes, size_t n)
{
    double **ret = xcalloc(n + 1, sizeof *ret);

    for (size_t i = 0; i < n; i++)
        ret[i] = xcalloc(sizes[i] + 1, sizeof **ret);
    return ret;
}

static void sums_free(double **sums, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(sums[i]);
    free(sums);
}

struct model_average *model_average_new(double window, uint64_t max_window, const size_t *sizes,
                                        size_t n)
{
    struct model_average *average = xcalloc(1, sizeof *average);

    average->window = window;
    average->bounded = max_window > 0;
    average->max_window = average->bounded ? max_window : UINT64_MAX;
    average->min_window = MIN_OF(MODEL_AVERAGE_MIN, average->max_window);
    average->n = n;
    average->sizes = xcalloc(n + 1, sizeof *average->sizes);
    memcpy(average->sizes, sizes, n * sizeof *sizes);
    average->new = sums_new(sizes, n);
    average->old = sums_new(sizes, n);
    return average;
}

struct model_average *model_average_free(struct model_average *average)
{
    if (average == NULL)
        return NULL;
    sums_free(average->new, average->n);
    sums_free(average->old, average->n);
    free(average->sizes);
    free(average);
    return NULL;
}

/* The new sum is large enough to stand for all. */
static int is_full(const struct model_average *average)
{
    const double wanted = floor((double)average->updates * average->window);

    return average->n_new >= average->min_window &&
           (double)average->n_new >= MIN_OF(wanted, (double)average->max_window);
}

static void turn(struct model_average *average)
{
    double **old = average->old;

    average->old = average->new;
    average->n_old = average->n_new;
    average->new = old;
    average->n_new = 0;
    for (size_t i = 0; i < average->n; i++)
        memset(old[i], 0, average->sizes[i] * sizeof **old);
}

void model_average_add(struct model_average *average, float *const *values)
{
    average->updates++;
    average->n_new++;
    for (size_t i = 0; i < average->n; i++)
        for (size_t k = 0; k < average->sizes[i]; k++)
            average->new[i][k] += (double)values[i][k];
    if (is_full(average))
        turn(average);
}

void model_average_end_pass(struct model_average *average)
{
    if (!average->bounded)
        average->max_window = average->updates - average->updates_before;
    average->updates_before = average->updates;
    average->min_window = MIN_OF(average->min_window, average->updates);
}

void model_average_apply(const struct model_average *average, float *const *values)
{
    const double n = (double)(average->n_new + average->n_old);

    if (n == 0)
        return;
    for (size_t i = 0; i < average->n; i++)
        for (size_t k = 0; k < average->sizes[i]; k++)
            values[i][k] = (float)((average->new[i][k] + average->old[i][k]) / n);
}
