/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_away.c - a scheduler that leaves in order says for how long its nodes may go on without
 * it
 *
 * It stores that time, and tells it then. The permission of its nodes only ever ends. So the next
 * run waits for as long from its own start on. It counts no time of before, and trusts no wall
 * clock. A node that repeats a session of that run has dropped what it was told before, and its
 * wait is over (node_repeats). When nobody is waited for any more, the stored time is 0 again.
 */
#include "scheduler/core/events/scheduler_away.h"

#include "scheduler/core/base/permission.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "shared/macro.h"

static void set(struct cluster *cluster, uint64_t us)
{
    if (cluster->away_us == us)
        return;
    cluster->away_us = us;
    effect_save_away(cluster);
}

/* A node that is still waited for may act by the permission of the run before. */
void cluster_leave(struct cluster *cluster, uint64_t away_us)
{
    uint64_t us = MIN_OF(away_us, CLUSTER_AWAY_MOST_US);

    cluster->leaves = true;
    if (cluster_first_lease(cluster) == NULL)
        us = 0; /* there is nobody to tell */
    set(cluster, cluster->starting != NULL ? MAX_OF(us, cluster->away_us) : us);
}

uint64_t away_wait_us(const struct cluster *cluster)
{
    uint64_t us = cluster->away_us;

    if (us == 0)
        return 0;
    return permission_wait_us(cluster->config.follows_leader ? PERMISSION_US : 0, us,
                              cluster->config.lease_margin_us);
}

void away_settle(struct cluster *cluster)
{
    if (cluster->starting == NULL && !cluster->leaves)
        set(cluster, 0);
}
