/* SPDX-License-Identifier: Apache-2.0 */
/* check_starts.c - see check_starts.h
 *
 * The truth tells of starts that failed, where and when that was on record; the core itself says
 * which node could take a process. Only a case without doubt is a violation: the other node runs
 * nothing and never failed to start anything, and nobody else waits for a place there. */
#include "simulator/check_starts.h"

#include <inttypes.h>

#include "scheduler/core/core.h"
#include "simulator/internal.h"

/* The core remembers it for ten minutes, and of so many jobs (node.h); other bounds that came
 * longer ago than this would be forgotten (max_before_until_us). */
#define REMEMBERED_US (20 * USEC_PER_SEC)

void check_starts_failed(const struct sim *sim, const struct unit *unit)
{
    struct truth_process *known = &unit->job->processes[unit->id.incarnation];

    (void)sim;
    known->start_failure = ++unit->node->n_start_failures;
}

/* The incarnation before, of the same slot. */
static const struct truth_process *one_before(const struct truth_job *truth,
                                              const struct process *process)
{
    for (uint64_t i = MIN_OF(process->incarnation, truth->n_processes); i-- > 0;)
        if (truth->processes[i].exists && truth->processes[i].role == process->role &&
            truth->processes[i].index == process->index)
            return &truth->processes[i];
    return NULL;
}

/* It could not be started there, and the core has heard that and had no reason to forget it. */
static bool failed_there(const struct sim *sim, const struct truth_process *before,
                         const struct sim_node *there)
{
    return before->start_failure != 0 &&
           (before->state == PROCESS_EXITED || before->state == PROCESS_LOST) &&
           before->node == there->number && before->stop_commit == 0 &&
           before->heard_by == sim->server->run && sim->now_us - before->heard_us < REMEMBERED_US &&
           there->told_us < before->heard_us &&
           there->n_start_failures - before->start_failure < START_FAILURES_MAX;
}

static bool is_new_of_node(const struct effect *effect, const char *name)
{
    return effect->kind == EFFECT_EVENT && effect->job == NULL && streq(effect->name, name);
}

/* Bounds that changed may have made it a slot that never failed; who waits, or is short of
 * something, may hold a place. */
static bool is_clear(const struct sim *sim, const struct truth_job *truth, const struct job *job)
{
    const struct cluster *cluster = sim->server->cluster;
    const uint64_t *jobs = cluster_figures(cluster)->jobs;
    bool own = job->state == JOB_STARTING || job->state == JOB_RESIZING;
    const struct node *node;

    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (job->counts[r].due > 0 || sim->now_us < truth->roles[r].max_before_until_us)
            return false;
    for (size_t i = 0; i < sim->server->pendings.n; i++)
        if (sim->server->pendings.items[i].kind == PENDING_SCALE)
            return false;
    for (node = cluster_nodes(cluster); node != NULL; node = node->hh.next)
        if (node->state == NODE_DRAINING)
            return false;
    return jobs[JOB_QUEUED] == 0 && jobs[JOB_STARTING] + jobs[JOB_RESIZING] == own;
}

/* It has nothing to do and nothing against it. */
static bool is_idle(const struct sim *sim, const struct node *node)
{
    return node->state == NODE_READY && node->heard && node->n_stale == 0 &&
           node->processes == NULL && !node->disconnected && !node->offer_shrunk &&
           (node->gpus_foreign | node->gpus_beyond) == 0 && node->foreign_planned_cpu == 0 &&
           node->foreign_planned_memory == 0 &&
           sim->nodes[sim_node_number(node)]->n_start_failures == 0;
}

static bool holds(const struct node *node, const struct role_spec *role)
{
    const struct node_offer *offer = &node->offer;

    return role->nodes == NULL && offer->cpu_millicores >= role->cpu_millicores &&
           offer->memory_bytes >= role->memory_bytes && offer->gpus >= role->gpus &&
           (uint32_t)offer->port_last - offer->port_first + 1 >= role->n_ports &&
           labels_cover(&offer->labels, role_selector(role));
}

static void look(struct sim *sim, const struct process *process, const struct effect *effects,
                 size_t n)
{
    const struct job *job = process->job;
    const struct truth_job *truth = ledger_job(sim, job->id);
    const struct sim_node *there = sim->nodes[sim_node_number(process->node)];
    const struct truth_process *before;
    const struct node *node;

    if (truth == NULL || !truth->exists || truth->state < JOB_STARTING ||
        truth->state > JOB_RESIZING)
        return;
    before = one_before(truth, process);
    if (before == NULL || !failed_there(sim, before, there) || !is_clear(sim, truth, job))
        return;
    for (size_t i = 0; i < n; i++)
        if (is_new_of_node(&effects[i], there->name))
            return;
    for (node = cluster_nodes(sim->server->cluster); node != NULL; node = node->hh.next)
        if (is_idle(sim, node) &&
            holds(node, &sim->submissions[truth->submission].spec->roles[process->role])) {
            violate(sim, "failed",
                    "job %s: %s-%u could not be started on %s and is put there again, while %s is "
                    "idle",
                    truth->name, truth->roles[process->role].name, process->index, there->name,
                    node->name);
            return;
        }
}

void check_starts(struct sim *sim, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_SAVE_PROCESS &&
            effects[i].process->state == PROCESS_ASSIGNED && effects[i].process->node != NULL)
            look(sim, effects[i].process, effects, n);
}
