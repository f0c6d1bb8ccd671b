/* SPDX-License-Identifier: Apache-2.0 */
/* fit_pserver.h - the step time of a job with parameter servers, learnt as it runs
 *
 * With w workers, p parameter servers and a global batch of M samples
 *     synchronous:   step = t0 M/w + t1 + t2 w/p + t3 w + t4 p       all t >= 0
 *     asynchronous:  step of one worker = t1 + t2 w/p + t3 w + t4 p   (so w steps in that time)
 * Linear in t: the observations are a 5x5 matrix and a vector, to which a report adds O(25); t is
 * the least sum of squared relative errors under t >= 0, solved exactly when it is asked for.
 *
 * An old report counts less (0.98 a report), but only in the direction of the report: a job that
 * stays at one size for days goes on knowing what it learnt at others. Plain forgetting loses that,
 * which is the usual failure of such estimators.
 *
 * The caller reports the median of a window of steps, without warm-up and not while the job is
 * being resized. Sources: Optimus (EuroSys 2018), section 4; directional forgetting: Cao and
 * Schwartz, Automatica 36 (2000). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GOODPUT_THETAS 5

struct goodput_pserver_fit {
    double gram[GOODPUT_THETAS][GOODPUT_THETAS]; /* sum of x x' of relative rows */
    double moment[GOODPUT_THETAS];
    double batch; /* M */
    bool async;
    uint32_t reports;
};

struct goodput_pserver_report {
    uint32_t workers, pservers; /* > 0 */
    double step_s;              /* > 0: of the job when synchronous, of a worker when not */
};

/* The budget of a search for the best split. */
struct goodput_split_bounds {
    double worker_cost, pserver_cost; /* bundles, > 0 */
    uint32_t workers_min, workers_max, pservers_min, pservers_max;
};

struct goodput_split {
    uint32_t workers, pservers; /* 0: nothing fits */
    double speed;               /* steps of the job in a second */
};

/* goodput_pserver_init - batch: M, > 0; nothing of it is used when asynchronous */
void goodput_pserver_init(struct goodput_pserver_fit *fit, double batch, bool async);
/* goodput_pserver_add - O(25). -EINVAL: something is not positive and finite; nothing changes */
int goodput_pserver_add(struct goodput_pserver_fit *fit,
                        const struct goodput_pserver_report *report);
/* goodput_pserver_known - how many reports what is known now comes to: those that were forgotten,
 * in part or wholly, count for less */
double goodput_pserver_known(const struct goodput_pserver_fit *fit);
/* goodput_pserver_scale - as if all reports had been of steps that took `factor` times as long, and
 * counted for `weight` each; both > 0 */
void goodput_pserver_scale(struct goodput_pserver_fit *fit, double factor, double weight);
/* goodput_pserver_join - as if the reports of the other fit had been added as well; both have the
 * same batch and mode */
void goodput_pserver_join(struct goodput_pserver_fit *fit, const struct goodput_pserver_fit *other);
/* goodput_pserver_solve - t of the reports; a term that they cannot tell is 0, which is the
 * optimistic answer. A few microseconds. */
void goodput_pserver_solve(const struct goodput_pserver_fit *fit, double ret_theta[GOODPUT_THETAS]);
/* goodput_pserver_speed - steps of the job in a second; 0 without workers or servers */
double goodput_pserver_speed(const double theta[GOODPUT_THETAS], double batch, bool async,
                             uint32_t workers, uint32_t pservers);
/* goodput_pserver_split - the fastest division of a budget into workers and servers; of equal ones
 * the one with fewer instances. Looks at every number of workers and, for each, at the numbers of
 * servers that can be the best one. */
struct goodput_split goodput_pserver_split(const double theta[GOODPUT_THETAS], double batch,
                                           bool async, const struct goodput_split_bounds *bounds,
                                           double budget);
