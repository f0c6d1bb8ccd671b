/* SPDX-License-Identifier: Apache-2.0 */
/* fits.c - whether a gang fits the nodes that are known, taken for empty and present */
#include "scheduler/core/plan/fits.h"

#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/rooms.h"

/* One role alone: its instances are of one size, so going greedily from node to node finds room for
 * as many as there can be. */
bool fits_alone(struct capacity *offered, const struct demand *demand)
{
    size_t mark = capacity_mark(offered);
    bool fits = place_gang(offered, demand, 1, true, NULL);

    capacity_roll_back(offered, mark);
    return fits;
}

/* Linear in the nodes; for gangs that did not fit only, once per change of an offer. */
struct resources fits_offered(const struct cluster *cluster, const struct demand *demands, size_t n)
{
    struct resources total = { 0 };

    for (const struct node *node = cluster->nodes; node != NULL; node = node->hh.next) {
        bool fit = false;

        for (size_t d = 0; d < n; d++)
            fit |= !unfit_nodes_hold(demands[d].want.unfit, node, demands[d].want.unfit_roles);
        if (fit)
            resources_add(&total, &node->empty_room->now, 1);
    }
    return total;
}

/* A search that places nothing proves nothing: several sizes are packed by rules of thumb. */
static bool cannot_fit(const struct cluster *cluster, const struct demand *demands, size_t n)
{
    struct capacity *offered = &cluster->planner->offered;
    struct resources total = fits_offered(cluster, demands, n);
    struct resources need = gang_total(demands, n);

    if (!pins_fit(offered, demands, n))
        return true;
    for (size_t d = 0; d < n; d++)
        if (!fits_alone(offered, &demands[d]))
            return true;
    return !resources_fit(&total, &need);
}

/* Takes nodes that are away for present: "never" is a strong word. */
enum queue_fit demands_fit_ever(const struct cluster *cluster, const struct demand *demands,
                                size_t n)
{
    struct capacity *offered = &cluster->planner->offered;
    size_t mark = capacity_mark(offered);
    bool fits = place_gang(offered, demands, n, true, NULL);

    capacity_roll_back(offered, mark);
    if (fits)
        return FIT_EVER;
    return cannot_fit(cluster, demands, n) ? FIT_NEVER : FIT_UNKNOWN;
}

/* spec_fits_ever - see fits.h */
bool spec_fits_ever(const struct cluster *cluster, const struct job_spec *spec)
{
    struct demand demands[JOB_ROLES_MAX];

    rooms_look(cluster->planner);
    return demands_fit_ever(cluster, demands, gang_demands(spec, demands)) != FIT_NEVER;
}

enum queue_fit queue_fits_ever(const struct cluster *cluster, struct queue_class *class)
{
    if (class->fits_version != cluster->offers_version) {
        class->fits_ever = demands_fit_ever(cluster, class->demands, class->n_demands);
        class->fits_version = cluster->offers_version;
    }
    if (class->jobs != NULL) { /* for the next plan */
        planned_of(class->jobs)->fits_ever = class->fits_ever;
        planned_of(class->jobs)->fits_version = class->fits_version;
    }
    return class->fits_ever;
}
