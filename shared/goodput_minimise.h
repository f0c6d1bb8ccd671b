/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_minimise.h - the least value of a smooth function of a few bounded variables
 *
 * A quasi-Newton method (BFGS) that keeps the dense inverse Hessian: for a handful of variables
 * that is less than the bookkeeping of a method of limited memory. Variables at a bound that the
 * gradient pushes outwards stay there for the step; the search goes along the projected path.
 * Source: Nocedal and Wright, Numerical Optimization (2006), algorithms 6.1 and 16.7. */
#pragma once

#define GOODPUT_VARIABLES_MAX 8

struct goodput_problem {
    int n;                                                             /* variables */
    double lower[GOODPUT_VARIABLES_MAX], upper[GOODPUT_VARIABLES_MAX]; /* equal: it is pinned */
    double (*value)(const void *userdata, const double *x, double *ret_gradient);
    const void *userdata; /* borrowed */
    int steps_max;
    double reach;  /* no variable moves by more in one step, so that none jumps onto a plateau */
    double enough; /* ends when two steps in turn lower the value by less */
};

/* goodput_minimise - from x, which is moved into the bounds, to a local minimum in x; its value */
double goodput_minimise(const struct goodput_problem *problem, double *x);
