/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - what operators watch of the cluster */
#include "scheduler/core/model/figures.h"

#include <assert.h>
#include <string.h>

#include "scheduler/core/base/histogram.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/macro.h"

static_assert(FIGURE_JOB_STATES == JOB_KILLED + 1, "jobs are counted by state");
static_assert(FIGURE_PROCESS_STATES == PROCESS_LOST + 1, "processes are counted by state");
static_assert(FIGURE_NODE_STATES == NODE_QUARANTINED + 1, "nodes are counted by state");

static const char *const starts[] = { [START_NEW] = "new", [START_AGAIN] = "again" };

static const char *const ends[] = {
    [END_FINISHED] = "finished",
    [END_FAILED] = "failed",
    [END_STOPPED] = "stopped",
    [END_LOST] = "lost",
};

static const char *const directions[] = { [RESIZE_GROW] = "grow", [RESIZE_SHRINK] = "shrink" };

static const char *const reasons[] = {
    [RESIZE_GROWN] = "grown",         [RESIZE_SHRUNK] = "shrunk",
    [RESIZE_MAKE_ROOM] = "make-room", [RESIZE_FOREIGN_LOAD] = "foreign-load",
    [RESIZE_DRAIN] = "drain",         [RESIZE_BOUNDS] = "bounds",
    [RESIZE_GIVEN_UP] = "given-up",   [RESIZE_MOVED] = "moved",
    [RESIZE_OTHER] = "other",
};
static_assert(ELEMENTS(reasons) == RESIZE_REASONS, "each has its word");

static const char *const task_ends[] = {
    [TASK_END_FINISHED] = "finished", [TASK_END_FAILED] = "failed",
    [TASK_END_RETURNED] = "returned", [TASK_END_RELEASED] = "released",
    [TASK_END_EXPIRED] = "expired",
};

static const char *name_of(const char *const *names, size_t n, unsigned value)
{
    return value < n ? names[value] : "?";
}

/* process_start_to_string - "new"; "?" for a wrong number, as in all of these */
const char *process_start_to_string(enum process_start start)
{
    return name_of(starts, ELEMENTS(starts), (unsigned)start);
}

const char *process_end_to_string(enum process_end end)
{
    return name_of(ends, ELEMENTS(ends), (unsigned)end);
}

const char *resize_direction_to_string(enum resize_direction direction)
{
    return name_of(directions, ELEMENTS(directions), (unsigned)direction);
}

const char *resize_reason_to_string(enum resize_reason reason)
{
    return name_of(reasons, ELEMENTS(reasons), (unsigned)reason);
}

const char *task_end_to_string(enum task_end end)
{
    return name_of(task_ends, ELEMENTS(task_ends), (unsigned)end);
}

const char *step_part_to_string(enum step_part part)
{
    return part == STEP_WAIT ? "wait" : "compute";
}

void figures_init(struct cluster_figures *figures)
{
    *figures = (struct cluster_figures){ 0 };
    histogram_init(&figures->queue_wait, histogram_wait_us);
    histogram_init(&figures->resize_start, histogram_wait_us);
    histogram_init(&figures->resize_stop, histogram_wait_us);
}

void figures_resized(struct cluster_figures *figures, enum resize_direction direction,
                     enum resize_reason reason)
{
    figures->resizes[direction][reason]++;
}

static void add_node(struct node_sums *sums, const struct node *node)
{
    uint64_t foreign = node_gpus_withheld(node);
    uint64_t idle = node->offer.gpus - MIN_OF(node->offer.gpus, node->gpus_granted + foreign);

    sums->nodes[node->state]++;
    if (node->state == NODE_LOST)
        return;
    sums->cpu_millicores += node->offer.cpu_millicores;
    sums->cpu_granted_millicores += node->cpu_granted_millicores;
    sums->cpu_foreign_millicores += node->foreign_cpu_millicores;
    sums->memory_bytes += node->offer.memory_bytes;
    sums->memory_granted_bytes += node->memory_granted_bytes;
    sums->memory_foreign_bytes += node->foreign_memory_bytes;
    sums->gpus_granted += node->gpus_granted;
    sums->gpus_foreign += foreign;
    sums->gpus_idle += (uint64_t)__builtin_popcountll(node->gpus_used & node->gpus_idle);
    if (node_takes_processes(node))
        sums->gpus_free += idle;
    else
        sums->gpus_withheld += idle;
    sums->stale += node->n_stale;
}

struct node_sums figures_sum_nodes(const struct cluster *cluster)
{
    struct node_sums sums = { 0 };

    for (const struct node *node = cluster->nodes; node != NULL; node = node->hh.next)
        add_node(&sums, node);
    return sums;
}

uint32_t cluster_crowd(const struct cluster *cluster)
{
    static const enum job_state states[] = { JOB_STARTING, JOB_RUNNING, JOB_RESIZING };
    uint64_t n = cluster->n_filed;

    for (size_t i = 0; i < ELEMENTS(states); i++)
        n += cluster->figures.jobs[states[i]];
    return (uint32_t)n;
}

uint64_t figures_oldest_wait_us(const struct cluster *cluster, struct instant now)
{
    const struct job *job = cluster->first_queued;

    return job != NULL ? now.wall_us - MIN_OF(after_ready_wall_us(cluster, job), now.wall_us) : 0;
}

/* Every report renews a lease, all leases are equally long, and they are listed in order. */
uint64_t figures_oldest_report_us(const struct cluster *cluster, struct instant now)
{
    uint64_t lease_us = cluster->config.lease_us + cluster->config.lease_margin_us;
    uint64_t renewed_us;

    if (cluster->leases == NULL)
        return 0;
    renewed_us = cluster->leases->lease_deadline_us - lease_us;
    return now.now_us > renewed_us ? now.now_us - renewed_us : 0;
}
