/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_minimise.c - BFGS within bounds */
#include "shared/goodput_minimise.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define VARS GOODPUT_VARIABLES_MAX
#define ARMIJO 1e-4
#define HALVINGS_MAX 20
#define AFRESH_MAX 2 /* times that the curvature is forgotten */
#define STEEP 3e-3

struct search {
    const struct goodput_problem *problem; /* borrowed */
    double x[VARS], gradient[VARS], value;
    double inverse[VARS][VARS]; /* of the Hessian, as far as it is known */
    double direction[VARS];
    bool scaled; /* the first step told how large the inverse is */
};

static double within(const struct goodput_problem *problem, int i, double x)
{
    return fmin(fmax(x, problem->lower[i]), problem->upper[i]);
}

static void forget(struct search *search)
{
    memset(search->inverse, 0, sizeof search->inverse);
    for (int i = 0; i < search->problem->n; i++)
        search->inverse[i][i] = 1;
    search->scaled = false;
}

static bool is_free(const struct search *search, int i)
{
    const struct goodput_problem *problem = search->problem;

    return !(problem->lower[i] >= problem->upper[i] ||
             (search->x[i] <= problem->lower[i] && search->gradient[i] > 0) ||
             (search->x[i] >= problem->upper[i] && search->gradient[i] < 0));
}

/* The slope along it; 0: there is no way down */
static double choose_direction(struct search *search)
{
    int n = search->problem->n;
    bool of[VARS];
    double slope = 0, longest = 0;

    for (int i = 0; i < n; i++)
        of[i] = is_free(search, i);
    for (int i = 0; i < n; i++) {
        search->direction[i] = 0;
        for (int j = 0; of[i] && j < n; j++)
            if (of[j])
                search->direction[i] -= search->inverse[i][j] * search->gradient[j];
        slope += search->direction[i] * search->gradient[i];
        longest = fmax(longest, fabs(search->direction[i]));
    }
    if (longest <= search->problem->reach)
        return slope;
    for (int i = 0; i < n; i++)
        search->direction[i] *= search->problem->reach / longest;
    return slope * search->problem->reach / longest;
}

/* It ended where it need not: what was learnt of the curvature is wrong there. */
static bool is_steep(const struct search *search)
{
    for (int i = 0; i < search->problem->n; i++)
        if (is_free(search, i) && fabs(search->gradient[i]) > STEEP)
            return true;
    return false;
}

static void learn(struct search *search, const double *step, const double *change)
{
    int n = search->problem->n;
    double turned[VARS] = { 0 };
    double sy = 0, yy = 0, yhy = 0;

    for (int i = 0; i < n; i++) {
        sy += step[i] * change[i];
        yy += change[i] * change[i];
    }
    if (!(sy > 1e-10 * yy) || !(yy > 0))
        return; /* the curvature is not positive: what is known stays */
    if (!search->scaled)
        for (int i = 0; i < n; i++)
            search->inverse[i][i] = sy / yy;
    search->scaled = true;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            turned[i] += search->inverse[i][j] * change[j];
        yhy += turned[i] * change[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            search->inverse[i][j] += (1 + yhy / sy) * step[i] * step[j] / sy -
                                     (turned[i] * step[j] + step[i] * turned[j]) / sy;
}

/* false: no step goes down */
static bool walk(struct search *search, double slope)
{
    const struct goodput_problem *problem = search->problem;
    double length = 1;

    for (int halving = 0; halving < HALVINGS_MAX; halving++) {
        double x[VARS], gradient[VARS], step[VARS], change[VARS];
        double fall = 0, value;

        for (int i = 0; i < problem->n; i++) {
            x[i] = within(problem, i, search->x[i] + length * search->direction[i]);
            step[i] = x[i] - search->x[i];
            fall += step[i] * search->gradient[i];
        }
        value = problem->value(problem->userdata, x, gradient);
        if (value <= search->value + ARMIJO * fmin(fall, 0) && value < search->value) {
            for (int i = 0; i < problem->n; i++)
                change[i] = gradient[i] - search->gradient[i];
            learn(search, step, change);
            memcpy(search->x, x, sizeof x);
            memcpy(search->gradient, gradient, sizeof gradient);
            search->value = value;
            return true;
        }
        /* the least of the parabola through what is known, not too short nor too long */
        length *=
            isfinite(value)
                ? fmin(fmax(-slope * length / (2 * (value - search->value - slope * length)), 0.1),
                       0.5)
                : 0.1;
    }
    return false;
}

double goodput_minimise(const struct goodput_problem *problem, double *x)
{
    struct search search = { .problem = problem };
    int slow = 0, afresh = 0;

    for (int i = 0; i < problem->n; i++)
        search.x[i] = within(problem, i, x[i]);
    search.value = problem->value(problem->userdata, search.x, search.gradient);
    forget(&search);
    for (int s = 0; s < problem->steps_max; s++) {
        double before = search.value;
        double slope = choose_direction(&search);
        bool moved = slope < -1e-14 && walk(&search, slope);

        slow = moved && before - search.value >= problem->enough ? 0 : slow + 1;
        if (moved && slow < 2)
            continue;
        if (afresh++ == AFRESH_MAX || !is_steep(&search))
            break;
        forget(&search);
        slow = 0;
    }
    memcpy(x, search.x, (size_t)problem->n * sizeof *x);
    return search.value;
}
