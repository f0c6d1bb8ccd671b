/* SPDX-License-Identifier: Apache-2.0 */
/* pins.h - what a started job lacks of a role that names the node of each instance */
#pragma once

#include <stdint.h>

#include "shared/job_spec.h"

struct demand;
struct job;
struct plan;

/* Which of a role's instances: bits; the lowest first of those that are due, then free ones. */
enum pin_slots {
    PINS_READY = 1,       /* due now */
    PINS_BACKING_OFF = 2, /* due, but not yet */
    PINS_STOPPING = 4,    /* due, once what runs there is gone */
    PINS_FREE = 8,        /* nobody lives there; those first whose nodes take processes */
};

/* pins_choose - of a pinned role: the demand is for these instances, in slots, of count at most;
 * returns how many there are. Nothing for other roles, whose instances are all alike. O(slots) */
uint32_t pins_choose(const struct plan *plan, const struct job *job, unsigned which,
                     struct demand *demand, uint32_t slots[ROLE_INSTANCES_MAX]);

/* pins_fill - starts n instances of a pinned role whose nodes have room now; returns how many */
uint32_t pins_fill(struct plan *plan, struct job *job, uint32_t role, uint32_t n);
