/* SPDX-License-Identifier: Apache-2.0 */
/* record_speed.c - how fast jobs go with how many instances, as far as their record shows it
 *
 * Every pass over a dataset is the same work. So one power P explains the times of passes: that at
 * which the sums of n^P over the times of passes differ least among the passes of a job. All jobs
 * of a family are asked together. Their logarithms are compared: a job of long passes counts no
 * more than one of short ones. The first pass is left out, starting up is in it. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/record_internal.h"

#define SPREAD 1.25 /* mean sizes that differ by less show nothing */
#define POWERS 100  /* of P: 0.01, 0.02 ... 1 */

/* spread - the largest mean size of a pass over the smallest one; 0: there are not two passes */
static double spread(const struct chosen *chosen)
{
    const struct recorded *job = chosen->job;
    double least = INFINITY, most = 0;

    for (size_t i = 1; i < job->n_passes; i++) {
        double seconds = (double)(job->passes_us[i] - job->passes_us[i - 1]) / USEC_PER_SEC;
        struct record_sums sums;

        record_sum(chosen->role, job->passes_us[i - 1], job->passes_us[i], 1, &sums);
        if (seconds <= 0 || sums.running_s <= 0)
            return 0;
        least = fmin(least, sums.running_s / seconds);
        most = fmax(most, sums.running_s / seconds);
    }
    return job->n_passes > 2 ? most / least : 0;
}

/* unlike - the sum of squares by which the passes of a job differ from their mean */
static double unlike(const struct chosen *chosen, double power)
{
    const struct recorded *job = chosen->job;
    double sum = 0, squares = 0, n = (double)(job->n_passes - 1);

    for (size_t i = 1; i < job->n_passes; i++) {
        struct record_sums sums;

        record_sum(chosen->role, job->passes_us[i - 1], job->passes_us[i], power, &sums);
        sum += log(sums.work);
        squares += log(sums.work) * log(sums.work);
    }
    return squares - sum * sum / n;
}

void record_speed(struct record_family *family)
{
    const struct chosen **shows = xcalloc(family->n, sizeof(struct chosen *));
    double least = INFINITY;
    size_t n = 0;

    family->power = 1;
    for (size_t i = 0; i < family->n; i++)
        if (spread(family->jobs[i]) >= SPREAD)
            shows[n++] = family->jobs[i];
    family->measured = n > 0;
    for (int p = 1; n > 0 && p <= POWERS; p++) {
        double differ = 0;

        for (size_t i = 0; i < n; i++)
            differ += unlike(shows[i], (double)p / POWERS);
        if (differ < least) {
            least = differ;
            family->power = (double)p / POWERS;
        }
    }
    free(shows);
}
