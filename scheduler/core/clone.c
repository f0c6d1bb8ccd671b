/* SPDX-License-Identifier: Apache-2.0 */
/* clone.c - a copy of a cluster to try something on
 *
 * What is remembered goes through records, as a restart does; what a restart forgets and a plan
 * looks at is copied here by hand, so that a plan in the copy is the plan of the original. */
#include "scheduler/core/core_internal.h"
#include "scheduler/core/memory_store.h"
#include "scheduler/core/plan_internal.h"

#include <utlist.h>

static void copy_node(struct cluster *copy, const struct node *node)
{
    struct node *to = cluster_node(copy, node->name);

    to->ever_reported = node->ever_reported;
    to->orders_version = node->orders_version;
    to->offer_shrunk = node->offer_shrunk;
    to->n_stale = node->n_stale;
    to->foreign_planned_cpu = node->foreign_planned_cpu;
    to->foreign_planned_memory = node->foreign_planned_memory;
    to->foreign_peak_cpu = node->foreign_peak_cpu;
    to->foreign_peak_memory = node->foreign_peak_memory;
    deadline_set(&copy->planner->deadlines, &to->foreign_falls, DEADLINE_FOREIGN, to,
                 deadline_at(&node->foreign_falls));
    to->failed_start_job = node->failed_start_job;
    to->failed_starts = node->failed_starts;
    to->failed_starts_since_us = node->failed_starts_since_us;
    to->report_sent_us = node->report_sent_us;
    node_refresh(copy, to);
}

/* Leases in the order of the original; each keeps its deadline. */
static void copy_leases(struct cluster *copy, const struct cluster *cluster, struct instant now)
{
    const struct node *node;

    for (node = cluster->leases; node != NULL; node = node->lease_next) {
        struct node *to = cluster_node(copy, node->name);

        node_renew_lease(copy, to, now);
        to->lease_deadline_us = node->lease_deadline_us;
    }
}

static void copy_job(struct cluster *copy, const struct job *job)
{
    struct job *to = cluster_job(copy, job->id);
    const struct process *process;
    struct process *other = to->processes;

    to->submitted_us = job->submitted_us;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < MIN_OF(job->n_slots[r], to->n_slots[r]); i++)
            to->slots[r][i].not_before_us = job->slots[r][i].not_before_us;
    DL_FOREACH2(job->processes, process, job_next)
    {
        other->reported = process->reported;
        other = other->job_next;
    }
}

struct cluster *cluster_clone(const struct cluster *cluster, struct instant now)
{
    struct memory_store *store = memory_store_new();
    struct cluster *copy = cluster_new(&cluster->config);
    const struct node *node;
    const struct job *job;

    memory_store_put_all(store, cluster);
    if (memory_store_load(store, copy, now, NULL) < 0) {
        (void)memory_store_free(store);
        return cluster_free(copy);
    }
    (void)memory_store_free(store);
    cluster_restored(copy, now);
    copy->next_job_id = cluster->next_job_id;
    for (node = cluster->nodes; node != NULL; node = node->hh.next)
        copy_node(copy, node);
    copy_leases(copy, cluster, now);
    for (job = cluster->jobs; job != NULL; job = job->hh.next)
        copy_job(copy, job);
    cluster_effects_clear(copy);
    return copy;
}
