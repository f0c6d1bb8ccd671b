/* SPDX-License-Identifier: Apache-2.0 */
/* search_method.c - which values a trial gets: random, grid, evolution, annealing
 *
 * Evolution is the regularised one of Real et al. 2019: a trial is a neighbour of the best of a
 * sample of the youngest, so that each dies of age. Annealing is the usual chain, over the trials
 * in the order of their numbers; "how much worse" is counted in ranks, so that a metric's scale
 * does not matter. */
#include <math.h>
#include <stdlib.h>

#include "client/search_past.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/random.h"

#define PROPOSALS 50        /* of a method, then as many at random, then the next point */
#define EVOLUTION_WIDTH 0.2 /* of a parameter's range: where a neighbour is */
#define ANNEALING_WIDTH 0.3 /* at the first temperature */
#define ANNEALING_NARROW 0.03
#define RANKED 100 /* the chain compares with so many results */

uint64_t search_stream(const struct search_space *space, unsigned int number)
{
    uint64_t state = space->seed, first = random_u64(&state);

    state = first ^ number * UINT64_C(0xd1342543de82ef95);
    return random_u64(&state);
}

static void any_value(const struct search_space *space, unsigned int i, uint64_t *random,
                      double *values)
{
    double unit = random_unit(random);

    values[i] =
        search_is_active(space, i, values) ? search_from_unit(&space->parameters[i], unit) : NAN;
}

void search_propose_random(struct search_choice *choice, double *values)
{
    const struct search_space *space = choice->past->space;

    for (unsigned int i = 0; i < space->n_parameters; i++)
        any_value(space, i, &choice->random, values);
}

/* ---- neighbours ---- */

static double normal(uint64_t *random)
{
    double a = random_unit(random), b = random_unit(random);

    return sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);
}

/* reflected - back into [0, 1) */
static double reflected(double unit)
{
    unit = fabs(fmod(unit, 2));
    unit = unit > 1 ? 2 - unit : unit;
    return MIN_OF(unit, 1 - 0x1p-53);
}

/* another_value - of one active parameter; a number moves, a choice jumps */
static double another_value(const struct search_parameter *parameter, double from, double width,
                            uint64_t *random)
{
    double unit = search_to_unit(parameter, from);
    int64_t level = search_level(parameter, from);

    if (parameter->kind == SEARCH_CHOICE) {
        uint64_t other = random_below(random, parameter->n_levels - 1);

        return (double)(other + (other >= (uint64_t)level));
    }
    for (unsigned int i = 0; i < PROPOSALS; i++) {
        double value = search_from_unit(parameter, reflected(unit + width * normal(random)));

        if (value != from)
            return value;
    }
    return level <= 0 ? search_from_level(parameter, 1)
                      : search_from_level(parameter, (unsigned int)level - 1);
}

/* pick_parameter - one of the active ones that have two values or more; n_parameters: there is none
 */
static unsigned int pick_parameter(const struct search_space *space, const double *values,
                                   uint64_t *random)
{
    unsigned int n = 0, picked = space->n_parameters;

    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (!isnan(values[i]) && space->parameters[i].n_levels != 1 &&
            random_below(random, ++n) == 0)
            picked = i;
    return picked;
}

void search_neighbour(const struct search_space *space, const double *from, double width,
                      uint64_t *random, double *values)
{
    unsigned int changed = pick_parameter(space, from, random);

    for (unsigned int i = 0; i < space->n_parameters; i++) {
        values[i] = from[i];
        if (i == changed)
            values[i] = another_value(&space->parameters[i], from[i], width, random);
        else if (search_is_active(space, i, values) != !isnan(from[i]))
            any_value(space, i, random, values);
    }
}

/* ---- evolution ---- */

void search_propose_evolution(struct search_choice *choice, double *values)
{
    const struct search_past *past = choice->past;
    const struct search_settings *settings = &past->space->settings;
    unsigned int n_alive = MIN_OF(choice->n_known, settings->population);
    unsigned int best = 0;

    if (choice->number <= settings->population || n_alive == 0) {
        search_propose_random(choice, values);
        return;
    }
    for (unsigned int i = 0; i < settings->sample; i++) {
        unsigned int one = choice->n_known - (unsigned int)random_below(&choice->random, n_alive);

        if (best == 0 || past->scores[one - 1] < past->scores[best - 1])
            best = one;
    }
    search_neighbour(past->space, past->trials[best - 1]->values, EVOLUTION_WIDTH, &choice->random,
                     values);
}

/* ---- annealing ---- */

/* worse_by - the part of the last results that is between two scores; below 0: b is better */
static double worse_by(const double *scores, unsigned int n, double a, double b)
{
    unsigned int from = n > RANKED ? n - RANKED : 0, between = 0;

    if (b < a)
        return -1;
    for (unsigned int i = from; i < n; i++)
        between += scores[i] > a && scores[i] <= b;
    return (double)between / (n - from);
}

/* chain_end - the number of the trial where the chain stands after trials 1 to n */
static unsigned int chain_end(const struct search_past *past, unsigned int n)
{
    const struct search_settings *settings = &past->space->settings;
    double temperature = settings->temperature;
    unsigned int at = 1;

    for (unsigned int number = 2; number <= n; number++) {
        uint64_t random = ~search_stream(past->space, number);
        double worse =
            worse_by(past->scores, number, past->scores[at - 1], past->scores[number - 1]);

        temperature *= settings->cooling;
        if (random_unit(&random) < exp(-worse / temperature))
            at = number;
    }
    return at;
}

void search_propose_annealing(struct search_choice *choice, double *values)
{
    const struct search_past *past = choice->past;
    const struct search_settings *settings = &past->space->settings;
    unsigned int at;
    double width;

    if (choice->n_known == 0) {
        search_propose_random(choice, values);
        return;
    }
    at = chain_end(past, choice->n_known);
    width = ANNEALING_WIDTH * sqrt(pow(settings->cooling, choice->n_known));
    search_neighbour(past->space, past->trials[at - 1]->values, MAX_OF(width, ANNEALING_NARROW),
                     &choice->random, values);
}

/* ---- one trial ---- */

static bool is_new(const struct search_past *past, const double *values)
{
    for (unsigned int i = 0; i < past->n; i++)
        if (search_values_equal(past->space, past->trials[i]->values, values))
            return false;
    return true;
}

/* next_point - the first point of a grid that no trial has; a space with a float has no points */
static bool next_point(const struct search_past *past, double *values)
{
    if (!search_is_finite(past->space))
        return false;
    search_point_first(past->space, values);
    while (!is_new(past, values))
        if (!search_point_next(past->space, values))
            return false;
    return true;
}

static bool propose(struct search_choice *choice, search_propose_fn fn, double *values)
{
    for (choice->n_proposed = 0; choice->n_proposed < PROPOSALS; choice->n_proposed++) {
        fn(choice, values);
        if (is_new(choice->past, values))
            return true;
    }
    return false;
}

/* grid_point - the one after the last trial's; the trials before it have the points before it */
static bool grid_point(const struct search_past *past, double *values)
{
    const struct search_space *space = past->space;

    if (past->n == 0) {
        search_point_first(space, values);
        return true;
    }
    memcpy(values, past->trials[past->n - 1]->values, space->n_parameters * sizeof *values);
    return search_point_next(space, values);
}

bool search_choose(const struct search_past *past, double *values)
{
    static const search_propose_fn fns[SEARCH_METHODS] = {
        [SEARCH_RANDOM] = search_propose_random,
        [SEARCH_ASHA] = search_propose_random,
        [SEARCH_EVOLUTION] = search_propose_evolution,
        [SEARCH_ANNEALING] = search_propose_annealing,
        [SEARCH_TPE] = search_propose_tpe,
    };
    const struct search_space *space = past->space;
    struct search_choice choice = {
        .past = past,
        .number = past->n + 1,
        .n_known = past->n + 1 > space->settings.parallel && space->settings.parallel > 0
                       ? past->n + 1 - space->settings.parallel
                       : 0,
        .random = search_stream(space, past->n + 1),
    };

    bool has_values;

    if (space->method == SEARCH_GRID)
        return grid_point(past, values);
    has_values = propose(&choice, fns[space->method], values) ||
                 propose(&choice, search_propose_random, values) || next_point(past, values);
    search_model_free(choice.model);
    return has_values;
}
