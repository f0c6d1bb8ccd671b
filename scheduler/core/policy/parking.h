/* SPDX-License-Identifier: Apache-2.0 */
/* parking.h - whether jobs go back to the queue so that a waiting one starts
 *
 * A job that can go on later lends all that it holds to a waiting job, and waits in its stead. The
 * waiting job gains the time that it would have waited for room. Each job that is parked loses the
 * time that the other one runs, its stop and start, and its work since it was saved. It pays when
 * the gain is PARKING_MARGIN times the loss: lengths are guesses.
 *
 * Nobody knows how long some jobs run. Such a job is taken to run for as long as it has, and for
 * again_s at least. So a new job of unknown length passes jobs that have run for long, and those
 * have their turn again.
 *
 * Pure. Tests: tests/unit/test_parking.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PARKING_MARGIN 2

/* A started job, in seconds. */
struct parking_job {
    double remaining_s; /* as it runs now */
    double cost_s;      /* at most: of the stop, the start, and the work that is done again */
    double ran_s;       /* since it was started last */
    double since_s;     /* since it was parked last; below 0: it never was */
};

/* parking_remaining - known_s: the rest of its known length, 0 or less when it has outrun that
 * or nobody knows it */
double parking_remaining(double again_s, double known_s, double ran_s);

/* parking_may - a job is parked once in again_s at most, and runs for as long in between; 0: none
 * is. length_s: how long the other job will run. False: the job was parked not long ago, has run
 * for too little to bear a restart, or ends so soon that waiting for it is cheaper */
bool parking_may(double again_s, const struct parking_job *job, double length_s);

/* parking_loss - in seconds of jobs that wait */
double parking_loss(const struct parking_job *job, double length_s);

/* parking_compare - below 0: a loses less than b: less to do again; then, it has longer to run */
int parking_compare(const struct parking_job *a, const struct parking_job *b);

/* parking_pays - it would have to wait for so long without; loss_s: the sum of those that are
 * parked */
bool parking_pays(double wait_s, double loss_s);
