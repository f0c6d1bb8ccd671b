/* SPDX-License-Identifier: Apache-2.0 */
/* search_tpe.c - tree-structured Parzen estimator (Bergstra et al. 2011)
 *
 * The known trials are the good ones and the rest. Each parameter has a density of its own over
 * either; of some values drawn from the good density that one is taken which is likeliest there and
 * least likely among the rest. The fewer are drawn the more they differ: so it is after a proposal
 * that another trial has already. */
#include <math.h>
#include <stdlib.h>

#include "client/search_past.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/random.h"

#define GOOD_PART 0.1 /* of the known trials */
#define GOOD_MAX 25
#define CANDIDATES 24

/* Some trials' values of one parameter, as 0..1 or as levels of a choice. */
struct density {
    const struct search_parameter *parameter;
    double *centres, *widths; /* of a number: normal curves, the last one is the prior */
    double *heights;          /* of each, so that its part within 0..1 has the same weight */
    double counts[SEARCH_LEVELS_MAX];
    unsigned int n;
};

static double normal_mass(double centre, double width)
{
    return 0.5 * (erf((1 - centre) / width * M_SQRT1_2) - erf(-centre / width * M_SQRT1_2));
}

static double log_density(const struct density *density, double value)
{
    double unit = search_to_unit(density->parameter, value), sum = 0;

    if (density->parameter->kind == SEARCH_CHOICE)
        return log(density->counts[(size_t)value] / density->n);
    for (unsigned int i = 0; i < density->n; i++) {
        double at = (unit - density->centres[i]) / density->widths[i];

        sum += density->heights[i] * exp(-0.5 * at * at);
    }
    return log(sum / density->n + 1e-300);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* widen - each curve reaches its farther neighbour, within bounds; only what a number needs */
static void widen(struct density *density)
{
    double least = 1.0 / MIN_OF(100.0, density->n + 1.0);

    for (unsigned int i = 0; i + 1 < density->n; i++) {
        double below = density->centres[i] - (i > 0 ? density->centres[i - 1] : 0);
        double above = (i + 2 < density->n ? density->centres[i + 1] : 1) - density->centres[i];

        density->widths[i] = MIN_OF(MAX_OF(MAX_OF(below, above), least), 1);
    }
    for (unsigned int i = 0; i < density->n; i++)
        density->heights[i] =
            1 / (density->widths[i] * normal_mass(density->centres[i], density->widths[i]));
}

/* density_of - over those of the trials where the parameter is active */
static struct density density_of(const struct search_past *past, unsigned int parameter,
                                 const unsigned int *numbers, unsigned int n)
{
    struct density density = { .parameter = &past->space->parameters[parameter],
                               .centres = xcalloc(n + 1, sizeof(double)),
                               .widths = xcalloc(n + 1, sizeof(double)),
                               .heights = xcalloc(n + 1, sizeof(double)) };

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
    free(density->heights);
}

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

/* gain_of - how much likelier a value is among the good ones; known: of the levels so far, or NAN
 */
static double gain_of(const struct density *good, const struct density *rest, double value,
                      double *known)
{
    int64_t level = search_level(good->parameter, value);
    bool is_kept = level >= 0 && level < SEARCH_LEVELS_MAX;
    double gain = is_kept ? known[level] : NAN;

    if (isnan(gain))
        gain = log_density(good, value) - log_density(rest, value);
    if (is_kept)
        known[level] = gain;
    return gain;
}

static double best_value(const struct density *good, const struct density *rest,
                         unsigned int n_candidates, uint64_t *random)
{
    double best = NAN, best_gain = -INFINITY, known[SEARCH_LEVELS_MAX];

    for (unsigned int i = 0; i < SEARCH_LEVELS_MAX; i++)
        known[i] = NAN;
    for (unsigned int i = 0; i < n_candidates; i++) {
        double value = draw(good, random);
        double gain = gain_of(good, rest, value, known);

        if (isnan(best) || gain > best_gain) {
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

/* Two densities for each parameter. */
struct search_model {
    struct density *good, *rest;
    unsigned int n;
};

static struct search_model *model_of(const struct search_past *past, unsigned int n_known)
{
    _cleanup_free_ unsigned int *numbers = rank_known(past, n_known);
    unsigned int n_good = (unsigned int)MIN_OF(ceil(GOOD_PART * n_known), GOOD_MAX);
    unsigned int n = past->space->n_parameters;
    struct search_model *model = xcalloc(1, sizeof *model);

    *model = (struct search_model){ .good = xcalloc(n, sizeof *model->good),
                                    .rest = xcalloc(n, sizeof *model->rest),
                                    .n = n };
    for (unsigned int i = 0; i < n; i++) {
        model->good[i] = density_of(past, i, numbers, n_good);
        model->rest[i] = density_of(past, i, numbers + n_good, n_known - n_good);
    }
    return model;
}

void search_model_free(struct search_model *model)
{
    for (unsigned int i = 0; model != NULL && i < model->n; i++) {
        density_clear(&model->good[i]);
        density_clear(&model->rest[i]);
    }
    if (model != NULL) {
        free(model->good);
        free(model->rest);
    }
    free(model);
}

void search_propose_tpe(struct search_choice *choice, double *values)
{
    const struct search_space *space = choice->past->space;
    unsigned int n_candidates = MAX_OF(CANDIDATES / (1 + choice->n_proposed), 1U);

    if (choice->n_known == 0 || choice->number <= space->settings.startup) {
        search_propose_random(choice, values);
        return;
    }
    if (choice->model == NULL)
        choice->model = model_of(choice->past, choice->n_known);
    for (unsigned int i = 0; i < space->n_parameters; i++)
        values[i] = search_is_active(space, i, values)
                        ? best_value(&choice->model->good[i], &choice->model->rest[i], n_candidates,
                                     &choice->random)
                        : NAN;
}
