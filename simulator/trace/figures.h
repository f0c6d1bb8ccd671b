/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - what came of a run in numbers, and bounds that no policy can beat */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct run_config;
struct run_result;
struct trace;

#define ISOLATED_START_S 90.0 /* what a job that is alone may take to start */

struct figures {
    double completion_avg_s, completion_p50_s, completion_p90_s, completion_p99_s;
    double waiting_avg_s, waiting_p50_s, waiting_p90_s, waiting_p99_s;
    double makespan_s; /* from the first submission to the last end */
    double allocated;  /* share of all places times that span that somebody held */
    double effective;  /* the same, each place counted by what it added: speed-up over all places */
    double rho_worst;  /* completion over isolated completion; see figures_of */
    double unfair;     /* share of jobs with rho above 1 */
    double rescales;   /* per job, after its first start */
    double rescale_cost_s; /* per job, instances times seconds that stood still after a change */
    double decision_p50_s, decision_p99_s, decision_max_s;
};

enum { FIGURES = sizeof(struct figures) / sizeof(double) };

/* figures_of - of a whole run
 * rho: what a job took over what it would have taken alone with its share: capacity over the mean
 * number of jobs that were there during its life, at its best amount within that share, and
 * ISOLATED_START_S to start. A share below its minimum stretches the time. Jobs that can use one
 * amount only are left out. */
int figures_of(const struct trace *trace, const struct run_config *config,
               const struct run_result *result, struct figures *ret, struct edl_error *error);

/* figures_mean - each figure's mean over n runs */
void figures_mean(const struct figures *figures, size_t n, struct figures *ret);

/* quantile - of sorted values, linear between them; NAN for none */
double quantile(const double *sorted, size_t n, double part);
void sort_numbers(double *values, size_t n);

struct bounds {
    double shortest_avg_s; /* every job alone at its best amount */
    double srpt_avg_s;     /* one machine as fast as all places, shortest first, every job at its
                              cheapest amount */
    double makespan_s;     /* all work at its cheapest, or the last job alone */
};

/* bounds_of - without restarts; shapes as full as can be */
int bounds_of(const struct trace *trace, const struct run_config *config, struct bounds *ret,
              struct edl_error *error);

/* Paired differences of two policies over the same cases. */
struct paired {
    double mean, low, high; /* of a - b; 95 % interval by bootstrap over the cases */
    double relative;        /* mean over b's mean */
    size_t n, lost;         /* cases, and those in which a is larger */
};

#define BOOTSTRAP_DRAWS 10000

/* paired_of - n >= 1 cases */
void paired_of(const double *a, const double *b, size_t n, uint64_t seed, struct paired *ret);
