/* SPDX-License-Identifier: Apache-2.0 */
/* search_tpe.c - tree-structured Parzen estimator (Bergstra et al. 2011)
 *
 * The known trials are the good ones and the rest. Each parameter has a density of its own over
 * either; of some values drawn from the good density that one is taken which is likeliest there and
 * least likely among the rest. */
#include <math.h>
#include <stdlib.h>

#include "client/search_past.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/random.h"

#define GOOD_PART 0.15 /* of the known trials */
#define CANDIDATES 24

/* Some trials' values of one parameter, as 0..1 or as levels of a choice. */
struct density {
    const struct search_parameter *parameter;
    double *centres, *widths; /* of a number: normal curves, the last one is the prior */
    double counts[SEARCH_LEVELS_MAX];
    unsigned int n;
};

static double normal_mass(double centre, double width)
{
    return 0.5 * (erf((1 - centre) / width * M_SQRT1_2) - erf(-centre / width * M_SQRT1_2));
}

static double log_density(const struct density *density, double value)
{
    double sum = 0;

    if (density->parameter->kind == SEARCH_CHOICE)
        return log(density->counts[(size_t)value] / density->n);
    for (unsigned int i = 0; i < density->n; i++) {
        double at =
            (search_to_unit(density->parameter, value) - density->centres[i]) / density->widths[i];

        sum += exp(-0.5 * at * at) / density->widths[i] /
               normal_mass(density->centres[i], density->widths[i]);
    }
    return log(sum / density->n + 1e-300);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* widen - each curve reaches its farther neighbour, within bounds */
static void widen(struct density *density)
{
    double least = 1.0 / MIN_OF(100.0, density->n + 1.0);

    for (unsigned int i = 0; i + 1 < density->n; i++) {
        double below = density->centres[i] - (i > 0 ? density->centres[i - 1] : 0);
        double above = (i + 2 < density->n ? density->centres[i + 1] : 1) - density->centres[i];

        density->widths[i] = MIN_OF(MAX_OF(MAX_OF(below, above), least), 1);
    }
}

/* density_of - over those of the trials where the parameter is active */
static struct density density_of(const struct search_past *past, unsigned int parameter,
                                 const unsigned int *numbers, unsigned int n)
{
    struct density density = { .parameter = &past->space->parameters[parameter],
                               .centres = xcalloc(n + 1, sizeof(double)),
                               .widths = xcalloc(n + 1, sizeof(double)) };

    for (unsigned int i = 0; i < density.parameter->n_levels && i < SEARCH_LEVELS_MAX; i++)
        density.counts[i] = 1.0 / density.parameter->n_levels;
    for (unsigned int i = 0; i < n; i++) {
        double value = past->trials[numbers[i] - 1]->values[parameter];

        if (isnan(value))
            continue;
        if (density.parameter->kind == SEARCH_CHOICE)
            density.counts[(size_t)value]++;
        density.centres[density.n++] = search_to_unit(density.parameter, value);
    }
    qsort(density.centres, density.n, sizeof(double), compare);
    density.centres[density.n] = 0.5;
    density.widths[density.n++] = 1;
    widen(&density);
    return density;
}

static void density_clear(struct density *density)
{
    free(density->centres);
    free(density->widths);
}

#define _cleanup_density_ _cleanup_(density_clear)

static double draw_level(const struct density *density, uint64_t *random)
{
    double left = random_unit(random) * density->n;
    unsigned int level = 0;

    while (level + 1 < density->parameter->n_levels && left >= density->counts[level])
        left -= density->counts[level++];
    return level;
}

static double draw(const struct density *density, uint64_t *random)
{
    uint64_t one = random_below(random, density->n);

    if (density->parameter->kind == SEARCH_CHOICE)
        return draw_level(density, random);
    for (;;) {
        double a = random_unit(random), b = random_unit(random);
        double unit = density->centres[one] +
                      density->widths[one] * sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);

        if (unit >= 0 && unit < 1)
            return search_from_unit(density->parameter, unit);
    }
}

static double best_value(const struct density *good, const struct density *rest, uint64_t *random)
{
    double best = NAN, best_gain = -INFINITY;

    for (unsigned int i = 0; i < CANDIDATES; i++) {
        double value = draw(good, random);
        double gain = log_density(good, value) - log_density(rest, value);

        if (gain > best_gain) {
            best_gain = gain;
            best = value;
        }
    }
    return best;
}

/* rank_known - numbers of the known trials, the best first; of equal ones the first */
static unsigned int *rank_known(const struct search_past *past, unsigned int n)
{
    unsigned int *numbers = xcalloc(n, sizeof *numbers);

    for (unsigned int i = 0; i < n; i++) {
        unsigned int at = i;

        for (; at > 0 && past->scores[numbers[at - 1] - 1] > past->scores[i]; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = i + 1;
    }
    return numbers;
}

void search_propose_tpe(struct search_choice *choice, double *values)
{
    const struct search_past *past = choice->past;
    const struct search_space *space = past->space;
    _cleanup_free_ unsigned int *numbers = NULL;
    unsigned int n_good = (unsigned int)ceil(GOOD_PART * choice->n_known);

    if (choice->n_known == 0 || choice->number <= space->settings.startup) {
        search_propose_random(choice, values);
        return;
    }
    numbers = rank_known(past, choice->n_known);
    for (unsigned int i = 0; i < space->n_parameters; i++) {
        _cleanup_density_ struct density good = density_of(past, i, numbers, n_good);
        _cleanup_density_ struct density rest =
            density_of(past, i, numbers + n_good, choice->n_known - n_good);

        values[i] =
            search_is_active(space, i, values) ? best_value(&good, &rest, &choice->random) : NAN;
    }
}
