/* SPDX-License-Identifier: Apache-2.0 */
/* prior.c - speed curves from jobs of the same family */
#include "scheduler/core/speed/prior.h"

#include <math.h>

#include "scheduler/core/speed/fit_pserver.h"
#include "scheduler/core/speed/measure.h"
#include "shared/macro.h"

/* No unit of work takes less or more. */
#define UNIT_LEAST_S 1e-12
#define UNIT_MOST_S 1e12

void goodput_prior_note(struct goodput_prior *prior, const struct goodput_learned *learned)
{
    double unit_s = goodput_learn_unit_s(learned, 1);
    const struct goodput_pserver_report report = { .workers = learned->instances,
                                                   .pservers = 1,
                                                   .step_s = learned->measured_s / unit_s };

    if (prior->largest == 0)
        goodput_pserver_init(&prior->fit, 1, false);
    if (goodput_pserver_add(&prior->fit, &report) < 0)
        return;
    prior->unit_s = unit_s;
    prior->resize_s = learned->resize_s;
    prior->largest = MAX_OF(prior->largest, learned->instances);
}

/* How long a unit takes on one instance: by the job's last measurement, or as long as for the last
 * job of the family. */
static double unit_of(const struct goodput_prior *prior, const struct goodput_learned *learned)
{
    double theta[GOODPUT_THETAS];

    if (learned->windows == 0)
        return prior->unit_s;
    goodput_pserver_solve(&prior->fit, theta);
    return learned->measured_s * goodput_pserver_speed(theta, 1, false, learned->measured, 1);
}

void goodput_prior_renew(const struct goodput_prior *prior, struct goodput_learned *learned)
{
    double unit_s = prior->largest > 0 ? unit_of(prior, learned) : 0;
    double known;

    if (!(unit_s > 0))
        return;
    known = goodput_pserver_known(&prior->fit);
    learned->fit = prior->fit;
    goodput_pserver_scale(&learned->fit, unit_s,
                          known > GOODPUT_PRIOR_REPORTS ? GOODPUT_PRIOR_REPORTS / known : 1);
    goodput_pserver_join(&learned->fit, &learned->own);
    learned->largest = MAX_OF(learned->largest, prior->largest);
    learned->borrowed = learned->windows == 0;
}

void goodput_prior_begin(const struct goodput_prior *prior, struct goodput_learned *ret_learned)
{
    goodput_learn_init(ret_learned);
    goodput_prior_renew(prior, ret_learned);
    if (prior->largest > 0)
        ret_learned->resize_s = prior->resize_s;
}

bool goodput_prior_is_sound(const struct goodput_prior *prior)
{
    double theta[GOODPUT_THETAS], speed;

    goodput_pserver_solve(&prior->fit, theta);
    speed = goodput_pserver_speed(theta, 1, false, 1, 1);
    return prior->unit_s >= UNIT_LEAST_S && prior->unit_s <= UNIT_MOST_S && isfinite(speed) &&
           speed > 0;
}
