/* SPDX-License-Identifier: Apache-2.0 */
/* placement_pins.c - roles that name the node of each instance
 *
 * Such an instance has one place or none, so there is no choice: pinned instances are placed before
 * all others of their gang, which then settle in the rest. */
#include "scheduler/core/plan/placement_pins.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "shared/job_spec.h"

uint32_t demand_slot(const struct demand *demand, uint32_t at)
{
    return demand->slots != NULL ? demand->slots[at] : at;
}

static const char *node_of(const struct demand *demand, uint32_t at)
{
    return role_node(demand->pinned, demand_slot(demand, at));
}

struct want demand_want(const struct demand *demand, uint32_t at)
{
    struct want want = demand->want;

    if (demand->pinned != NULL)
        want.only = node_of(demand, at);
    return want;
}

bool demands_pin(const struct demand *demands, size_t n)
{
    for (size_t d = 0; d < n; d++)
        if (demands[d].pinned != NULL)
            return true;
    return false;
}

/* The room that may be found there: now, later, or once all gave way that could. */
static struct resources open_in(const struct capacity *capacity, const struct room *room, bool now,
                                bool might)
{
    struct resources open = room_open(capacity, room, now);

    if (might)
        resources_add(&open, &room->facts.yield, 1);
    return open;
}

/* One more there, beside those that were found there before (room->noted). */
static bool one_more_fits(const struct room *room, const struct want *want,
                          const struct resources *open)
{
    struct resources need = { 0 };

    resources_add(&need, &want->need, (int64_t)room->noted + 1);
    return resources_fit(open, &need) && room_carries(room, want);
}

/* Each in its place, which several may share. */
static bool pin_counts_fit(const struct capacity *capacity, const struct demand *demand, bool now,
                           bool might)
{
    struct want want = demand->want;
    uint32_t n = 0;
    bool fits = true;

    while (fits && n < demand->count) {
        struct room *room = capacity_room(capacity, node_of(demand, n));
        struct resources open;

        fits = room != NULL;
        if (!fits)
            break;
        want.only = room->name;
        open = open_in(capacity, room, now, might);
        fits = one_more_fits(room, &want, &open);
        room->noted++;
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        capacity_room(capacity, node_of(demand, i))->noted = 0;
    return fits;
}

bool demand_fits(const struct capacity *capacity, const struct demand *demand, bool now)
{
    return demand->pinned != NULL
               ? pin_counts_fit(capacity, demand, now, false)
               : capacity_fits_times(capacity, &demand->want, demand->count, now);
}

bool demand_might_fit(const struct capacity *capacity, const struct demand *demand)
{
    return demand->pinned != NULL
               ? pin_counts_fit(capacity, demand, false, true)
               : capacity_might_fit_times(capacity, &demand->want, demand->count);
}

/* false: it has no place */
static bool place_pin(struct capacity *capacity, const struct demand *demand, uint32_t at, bool now,
                      struct placed *placed)
{
    const struct want want = demand_want(demand, at);
    struct room *room = capacity_best_fit(capacity, &want, now);

    if (room == NULL)
        return false;
    capacity_take(capacity, room, &want.need, now);
    if (placed != NULL)
        *placed = (struct placed){ .room = room, .role = demand->role, .need = want.need };
    return true;
}

bool place_pins(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed, size_t *ret_n)
{
    size_t mark = capacity_mark(capacity);
    size_t n_placed = 0;

    for (size_t d = 0; d < n; d++)
        for (uint32_t i = 0; demands[d].pinned != NULL && i < demands[d].count; i++) {
            if (!place_pin(capacity, &demands[d], i, now,
                           placed != NULL ? &placed[n_placed] : NULL)) {
                capacity_roll_back(capacity, mark);
                return false;
            }
            n_placed++;
        }
    *ret_n = n_placed;
    return true;
}

bool pins_fit(struct capacity *capacity, const struct demand *demands, size_t n)
{
    size_t mark = capacity_mark(capacity), n_placed;
    bool fits = place_pins(capacity, demands, n, true, NULL, &n_placed);

    capacity_roll_back(capacity, mark);
    return fits;
}
