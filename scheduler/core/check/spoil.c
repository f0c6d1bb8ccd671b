/* SPDX-License-Identifier: Apache-2.0 */
/* spoil.c - breaks a cluster on purpose, for the simulator's mutants; and what benchmarks teach it
 */
#include "scheduler/core/check/spoil.h"

#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/record/restore.h"

void spoil_figures(struct cluster *cluster)
{
    cluster->figures.jobs[JOB_RUNNING]++;
}

void spoil_number(struct cluster *cluster)
{
    if (cluster->next_job_id > 1)
        cluster->next_job_id--;
}

void spoil_leases(struct cluster *cluster, uint64_t until_us)
{
    struct node *node;

    DL_FOREACH2(cluster->starting, node, lease_next)
    node->lease_deadline_us = until_us;
}

void spoil_restored(struct cluster *cluster, struct instant now)
{
    uint64_t away_us = cluster->away_us;

    cluster->away_us = 0;
    cluster_restored(cluster, now);
    if (cluster->starting != NULL)
        cluster->away_us = away_us;
}

struct goodput_families *taught_families(struct cluster *cluster)
{
    return cluster->families;
}

struct gpu_types *taught_types(struct cluster *cluster)
{
    return &cluster->gpu_types;
}
