/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c - what was counted in vain while the queue is gone through
 *
 * Where so many of one size find no room, as many or more of that size or a larger one do not
 * either, and most of those that wait ask for much the same: so few searches tell of all of them.
 * That holds until some room has more: takes for promises, and room that is kept for the held gang,
 * make rooms smaller only. */
#include "scheduler/core/plan/refusals.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"

void plan_refusals_begin(struct plan *plan)
{
    for (size_t now = 0; now < ELEMENTS(plan->refusals); now++)
        plan->refusals[now] = (struct refusals){ .growths = plan->planner->rooms.growths };
    plan->remembers = true;
}

void plan_refusals_end(struct plan *plan)
{
    plan->remembers = false;
}

static bool is_refused(const struct refusals *refusals, const struct demand *demand)
{
    for (size_t i = 0; i < refusals->n; i++)
        if (demand->count >= refusals->items[i].count &&
            resources_fit(&demand->want.need, &refusals->items[i].need))
            return true;
    return false;
}

/* Those for which it stands as well are forgotten. */
static void refuse(struct refusals *refusals, const struct demand *demand)
{
    const struct refusal refusal = { demand->want.need, demand->count };
    size_t kept = 0;

    for (size_t i = 0; i < refusals->n; i++)
        if (refusals->items[i].count < refusal.count ||
            !resources_fit(&refusals->items[i].need, &refusal.need))
            refusals->items[kept++] = refusals->items[i];
    refusals->n = kept;
    if (kept < REFUSALS_MAX)
        refusals->items[refusals->n++] = refusal;
}

static bool count(const struct capacity *rooms, const struct demand *demand, bool now)
{
    return now ? demand_fits(rooms, demand, true) : demand_might_fit(rooms, demand);
}

static bool fits(struct plan *plan, const struct demand *demand, bool now)
{
    const struct capacity *rooms = &plan->planner->rooms;
    struct refusals *refusals = &plan->refusals[now];
    bool anywhere = (demand->want.selector == NULL || demand->want.selector->n == 0) &&
                    demand->want.unfit == NULL && demand->pinned == NULL;
    bool fits_there;

    if (!plan->remembers)
        return count(rooms, demand, now);
    if (refusals->growths != rooms->growths)
        *refusals = (struct refusals){ .growths = rooms->growths };
    if (is_refused(refusals, demand))
        return false;
    fits_there = count(rooms, demand, now);
    if (!fits_there && anywhere)
        refuse(refusals, demand);
    return fits_there;
}

bool plan_fits_by_count(struct plan *plan, const struct demand *demands, size_t n, bool now)
{
    for (size_t d = 0; d < n; d++)
        if (!fits(plan, &demands[d], now))
            return false;
    return true;
}
