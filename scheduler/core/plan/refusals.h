/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - what was counted in vain while the queue is gone through */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct demand;
struct plan;

/* Sizes that were counted in vain and are remembered; more are counted again. */
#define REFUSALS_MAX 16

/* So many of one size, for which there is no room. */
struct refusal {
    struct resources need;
    uint32_t count;
};

/* Those that a smaller refused one does not stand for (plan/refusals.c). */
struct refusals {
    struct refusal items[REFUSALS_MAX];
    size_t n;
    uint64_t growths; /* of the rooms, when they were refused */
};

/* around the tries of all that wait, in which rooms are given back by growing only */
void plan_refusals_begin(struct plan *plan);
void plan_refusals_end(struct plan *plan);

/* plan_fits_by_count - as gang_fits_by_count; now false: if all gave way that could */
bool plan_fits_by_count(struct plan *plan, const struct demand *demands, size_t n, bool now);
