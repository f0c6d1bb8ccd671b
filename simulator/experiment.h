/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.h - known scenarios by name, with their goals and the figures of others
 *
 * case1 and case2 are those of the experiment report of 2017 on Kubernetes (133 machines, 2,348
 * cores; its elastic and its fixed size runs). case1-fixed and case2-fixed are their fixed size
 * twins, case1-mixed and case2-mixed the same on other machines. case2-packed has the service on as
 * few machines as hold it, tutorial the three jobs of the tutorial of 2018. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "simulator/scenario_run.h"

/* A figure of a round; over several rounds it is the mean, or the worst of them. */
struct experiment_figure {
    const char *key;  /* "mean_waiting_s" */
    const char *name; /* "mean waiting" */
    const char *unit; /* "s", "%" or "" */
    double (*of)(const struct scenario_result *result);
    bool worst; /* of the rounds, the greatest; else their mean */
    /* NAN where there is none: */
    double at_most, at_least;            /* the goal */
    double report_elastic, report_fixed; /* what the report of 2017 measured */
};

struct experiment {
    const char *name, *summary;
    const char *document; /* the scenario (scenario.h) */
    uint32_t rounds;
    const struct experiment_figure *figures;
    size_t n_figures;
};

/* experiment_find - NULL when there is none; experiment_at - the i-th, NULL after the last */
const struct experiment *experiment_find(const char *name);
const struct experiment *experiment_at(size_t i);

/* experiment_figure - of n >= 1 rounds */
double experiment_figure(const struct experiment_figure *figure,
                         const struct scenario_result *rounds, size_t n);
/* experiment_met - true when the value reaches the goal, also when there is none */
bool experiment_met(const struct experiment_figure *figure, double value);
bool experiment_has_goal(const struct experiment_figure *figure);
