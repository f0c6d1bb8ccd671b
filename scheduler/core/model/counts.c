/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c - sums that are kept, never searched for
 *
 * Of a job's role: how many slots live, stop, run, are due or finished. Of a node: the grants of
 * its processes, and the part that is being freed. A function that changes a
 * slot or a process takes its contribution away before and adds it after; cluster_check recounts
 * everything. */
#include "scheduler/core/model/counts.h"

#include <stdarg.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_gpu_type.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process.h"
#include "shared/job_spec.h"

struct resources resources_of_role(const struct role_spec *role)
{
    return (struct resources){ .cpu_millicores = (int64_t)role->cpu_millicores,
                               .memory_bytes = (int64_t)role->memory_bytes,
                               .gpus = role->gpus,
                               .ports = role->n_ports };
}

static int64_t ports_of_offer(const struct node_offer *offer)
{
    return offer->port_first == 0 || offer->port_last < offer->port_first
               ? 0
               : (int64_t)offer->port_last - offer->port_first + 1;
}

struct resources resources_of_offer(const struct node_offer *offer)
{
    return (struct resources){ .cpu_millicores = (int64_t)offer->cpu_millicores,
                               .memory_bytes = (int64_t)offer->memory_bytes,
                               .gpus = offer->gpus,
                               .ports = ports_of_offer(offer) };
}

/* --- slots
 * --------------------------------------------------------------------------------------------- */

bool process_is_leaving(const struct process *process)
{
    return process->node != NULL && process->node->state == NODE_DRAINING &&
           process->state != PROCESS_STOPPING;
}

static bool process_is_at_work(const struct process *process)
{
    return process->at_work && process->state != PROCESS_STOPPING;
}

void process_set_at_work(struct process *process, bool at_work)
{
    slot_count(process->job, process->role, process->index, -1);
    process->at_work = at_work;
    slot_count(process->job, process->role, process->index, 1);
}

bool slot_is_given_up(const struct job *job, const struct slot *slot)
{
    return job->spec->fault_tolerant && slot->failures > job->spec->restart_max &&
           slot->live == NULL && !slot->due && !slot->finished;
}

bool slot_is_free(const struct job *job, const struct slot *slot)
{
    return slot->live == NULL && !slot->due && !slot->finished && !slot_is_given_up(job, slot);
}

void slot_count(struct job *job, uint32_t role, uint32_t index, int sign)
{
    struct role_counts *counts = &job->counts[role];
    const struct slot *slot = &job->slots[role][index];
    uint32_t one = (uint32_t)sign; /* wraps: -1 takes away */

    if (slot->live != NULL) {
        counts->live += one;
        counts->stopping += slot->live->state == PROCESS_STOPPING ? one : 0;
        counts->running += slot->live->state == PROCESS_RUNNING ? one : 0;
        counts->at_work += process_is_at_work(slot->live) ? one : 0;
        counts->leaving += process_is_leaving(slot->live) ? one : 0;
    } else if (slot->due) {
        counts->due += one;
    }
    if (slot->finished)
        counts->finished += one;
    if (slot_is_given_up(job, slot))
        counts->given_up += one;
    if (sign > 0 && slot_is_free(job, slot) && index < counts->lowest_free)
        counts->lowest_free = index;
}

void slot_set_due(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index, bool due)
{
    struct slot *slot = &job->slots[role][index];

    if (slot->due == due)
        return;
    slot_count(job, role, index, -1);
    slot->due = due;
    slot_count(job, role, index, 1);
    effect_save_job(cluster, job);
    job_touch(cluster, job);
}

void slot_set_finished(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       bool finished)
{
    slot_count(job, role, index, -1);
    job->slots[role][index].finished = finished;
    slot_count(job, role, index, 1);
    job_touch(cluster, job);
}

void slot_set_failures(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                       uint32_t failures)
{
    slot_count(job, role, index, -1);
    job->slots[role][index].failures = failures;
    slot_count(job, role, index, 1);
    effect_save_job(cluster, job);
    job_touch(cluster, job);
}

int job_lowest_free(struct job *job, uint32_t role)
{
    uint32_t *i = &job->counts[role].lowest_free;
    uint32_t end = MIN_OF(job->n_slots[role], job->spec->roles[role].max);

    while (*i < end && !slot_is_free(job, &job->slots[role][*i]))
        ++*i;
    return *i < end ? (int)*i : -1;
}

void job_recount(struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        job->counts[r] = (struct role_counts){ 0 };
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            slot_count(job, r, i, 1);
    }
}

/* --- processes
 * ------------------------------------------------------------------------------------------ */

void process_count(struct process *process, int sign)
{
    struct job *job = process->job;
    struct node *node = process->node;
    struct resources held = resources_of_role(&job->spec->roles[process->role]);

    slot_count(job, process->role, process->index, sign);
    if (node == NULL)
        return;
    held.ports = node_ports_of(node, process);
    node->cpu_granted_millicores += (uint64_t)(sign * held.cpu_millicores);
    node->memory_granted_bytes += (uint64_t)(sign * held.memory_bytes);
    node->gpus_granted += (uint32_t)(sign * held.gpus);
    node->ports_held += sign * held.ports;
    node->n_processes += (uint32_t)sign;
    if (process->state == PROCESS_STOPPING)
        resources_add(&node->stopping, &held, sign);
}

/* --- jobs
 * -----------------------------------------------------------------------------------------------
 */

void job_changed(struct cluster *cluster, struct job *job)
{
    if (job->changed)
        return;
    job->changed = true;
    LL_PREPEND2(cluster->changed_jobs, job, changed_next);
}

void job_touch(struct cluster *cluster, struct job *job)
{
    job_changed(cluster, job);
    if (job->touched)
        return;
    job->touched = true;
    DL_APPEND2(cluster->touched, job, touched_prev, touched_next);
}

void job_decided(struct job *job, enum resize_reason reason, const char *format, ...)
{
    char text[190], why[224];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)snprintf(why, sizeof why, "%s: %s", resize_reason_to_string(reason), text);
    free(job->resize_why);
    job->resize_reason = reason;
    job->resize_why = xstrdup(why);
}

/* --- nodes
 * --------------------------------------------------------------------------------------------- */

bool node_takes_processes(const struct node *node)
{
    return node->state == NODE_READY && node->ever_reported && !node->disk_full;
}

static int64_t free_devices(const struct node *node)
{
    return __builtin_popcountll(gpus_mask(node->offer.gpus) & ~node->gpus_used &
                                ~node->gpus_foreign);
}

uint32_t node_gpus_withheld(const struct node *node)
{
    return (uint32_t)__builtin_popcountll(gpus_mask(node->offer.gpus) & ~node->gpus_used &
                                          node->gpus_foreign);
}

struct room_facts node_facts(const struct node *node)
{
    struct room_facts facts = { .now = resources_of_offer(&node->offer) };

    facts.now.ports -= node_ports_withheld(node);
    facts.most = facts.now;
    facts.most.cpu_millicores -= (int64_t)node->foreign_planned_cpu;
    facts.most.memory_bytes -= (int64_t)node->foreign_planned_memory;
    facts.now.cpu_millicores -= (int64_t)(node->cpu_granted_millicores + node->foreign_planned_cpu);
    facts.now.memory_bytes -= (int64_t)(node->memory_granted_bytes + node->foreign_planned_memory);
    facts.now.gpus -= node->gpus_granted;
    facts.now.ports -= node->ports_held;
    /* devices that are held beyond the present offer free none of it, nor do those of others */
    facts.now.gpus = MIN_OF(facts.now.gpus, free_devices(node));
    facts.later = facts.now;
    resources_add(&facts.later, &node->stopping, 1);
    if (node->n_stale > 0 || !node->heard)
        facts.now =
            (struct resources){ .cpu_millicores = -1, .memory_bytes = -1, .gpus = -1, .ports = -1 };
    return facts;
}

static void note_unheard(struct cluster *cluster, struct node *node)
{
    bool unheard = node->state != NODE_LOST && node->ever_reported && !node->heard;

    cluster->n_unheard += (uint32_t)unheard - (uint32_t)node->unheard;
    node->unheard = unheard;
}

uint32_t cluster_unheard_nodes(const struct cluster *cluster)
{
    return cluster->n_unheard;
}

void node_changed(struct cluster *cluster, struct node *node)
{
    const struct room_facts facts = node_facts(node);

    note_unheard(cluster, node);
    /* a closed node's own services come first as well */
    node->owes = node->state != NODE_LOST && node->heard && resources_owe(&facts.later);
    if (node->changed)
        return;
    node->changed = true;
    LL_PREPEND2(cluster->changed, node, changed_next);
}

void node_offer_changed(struct cluster *cluster, struct node *node)
{
    const struct process *process;

    node_set_gpu_type(cluster, node, true);
    node->offer_changed = true;
    cluster->offers_version++;
    /* the range of ports may have moved: the held part of it is summed up afresh */
    node->ports_held = 0;
    node->stopping.ports = 0;
    DL_FOREACH2(node->processes, process, node_next)
    {
        int64_t ports = node_ports_of(node, process);

        node->ports_held += ports;
        if (process->state == PROCESS_STOPPING)
            node->stopping.ports += ports;
    }
    node_changed(cluster, node);
}
