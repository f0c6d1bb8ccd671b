/* SPDX-License-Identifier: Apache-2.0 */
/* prior.h - what the speeds of other jobs of a family say of a new one
 *
 * A family shares the shape of its speed curves. How long a unit of work takes may differ: other
 * data has longer records. So each job's measurements are noted relative to its own speed on one
 * instance, a new job begins with that shape and the last job's unit, and its first own measurement
 * sets the unit right. The family's knowledge counts as GOODPUT_PRIOR_REPORTS measurements
 * altogether, so that a few of a job's own outweigh it at the sizes where they were made; at others
 * it stays.
 *
 * Pure, no allocation. */
#pragma once

#include "scheduler/core/speed/measure.h"

#define GOODPUT_PRIOR_REPORTS 3

struct goodput_prior {
    struct goodput_pserver_fit fit; /* of time per unit, on one instance 1 */
    double unit_s;                  /* on one instance, of the job measured last */
    double resize_s;                /* the same */
    uint32_t largest;               /* instances, of a measurement; 0: nothing is known */
    uint64_t program; /* speed/servers.h: whose seconds these are, or count; 0: nobody's */
    uint32_t tries;   /* starts of it, or of others */
};

/* goodput_prior_note - a job of the family has just completed a measurement */
void goodput_prior_note(struct goodput_prior *prior, const struct goodput_learned *learned);
/* goodput_prior_is_sound - what is known of it is a speed that can be: from a record that may be
 * damaged */
bool goodput_prior_is_sound(const struct goodput_prior *prior);
/* goodput_prior_renew - a job that runs takes what its family has learnt meanwhile: in the unit of
 * its own last measurement, beside its own measurements. */
void goodput_prior_renew(const struct goodput_prior *prior, struct goodput_learned *learned);
/* goodput_prior_begin - in place of goodput_learn_init, for a new job of the family */
void goodput_prior_begin(const struct goodput_prior *prior, struct goodput_learned *ret_learned);
