/* SPDX-License-Identifier: Apache-2.0 */
/* plan_exchange.c - two instances of two jobs take each other's place
 *
 * Where the types of GPU that jobs are fast on lie the other way round, and nothing is free, an
 * instance that would be clearly faster on another type (job_types.c) finds one there whose job
 * would be clearly faster where it is: both gain, and nobody else is asked. Both are stopped, their
 * slots wait until both places are free, and are filled as any slot is: each job's own order of
 * types brings it to the other's place. Whatever comes between - a node that is lost, a gang that
 * starts there - makes it a slot that starts again, or a job that shrinks by one.
 *
 * At most JOBS_MAX jobs are asked, those that were submitted after it first. */
#include "scheduler/core/plan_internal.h"

#include <math.h>
#include <stdio.h>

#define JOBS_MAX 256
#define NO_LOSS 0.1                  /* logarithm: a tenth less is no loss, as far as is known */
#define WAITS_US (60 * USEC_PER_SEC) /* for the other one, at most */

static bool job_knows(const struct job *job, const struct node *node)
{
    return node->room->gpu_type != GPU_TYPE_NONE &&
           job->learned->bias.known & (1U << node->room->gpu_type);
}

/* As a logarithm; NAN where it does not fit, could not start, or nobody knows */
static double gain_of(const struct plan *plan, const struct process *process,
                      const struct process *other)
{
    const struct failed_starts failed = { process->job, plan->now };
    struct want want = want_of_role(&process->job->spec->roles[process->role]);
    struct resources there = resources_of_role(&other->job->spec->roles[other->role]);

    resources_add(&there, &other->node->room->now, 1);
    if (!resources_fit(&there, &want.need) ||
        (want.selector != NULL && !labels_cover(&other->node->offer.labels, want.selector)) ||
        !node_takes_processes(other->node) || could_not_start(other->node->room, &failed) ||
        !job_knows(process->job, process->node) || !job_knows(process->job, other->node))
        return NAN;
    return process_gain_log(plan->cluster, process, other->node);
}

/* The one of this job that gains most by the place of the other, where that gains as well. */
static struct process *best_of(const struct plan *plan, struct job *job,
                               const struct process *process, double *gain)
{
    uint32_t role = (uint32_t)job_elastic_role(job);
    uint32_t left = job->counts[role].live;
    struct process *best = NULL;

    for (uint32_t i = 0; left > 0 && i < job->n_slots[role]; i++) {
        struct process *other = job->slots[role][i].live;
        double own;
        double theirs;

        left -= other != NULL;
        if (other == NULL || other->node->room->gpu_type == process->node->room->gpu_type ||
            !process_can_move(other))
            continue;
        own = gain_of(plan, process, other);
        theirs = gain_of(plan, other, process);
        if (!(own >= SPEED_FASTER && theirs >= -NO_LOSS && own + theirs > *gain))
            continue;
        *gain = own + theirs;
        best = other;
    }
    return best;
}

static bool is_partner(const struct plan *plan, const struct job *job)
{
    int role = job_elastic_role(job);

    return role >= 0 && job->learned != NULL && job->learned->bias.known != 0 &&
           job->spec->roles[role].gpus > 0 && job_can_move(job, (uint32_t)role, plan->now);
}

static struct process *find_partner(const struct plan *plan, const struct process *process)
{
    double gain = 0;
    struct process *best = NULL;
    struct job *job = process->job;

    for (int i = 0; i < JOBS_MAX; i++) {
        struct process *other;

        job = job->active_next != NULL ? job->active_next : plan->cluster->active;
        if (job == process->job)
            break;
        other = is_partner(plan, job) ? best_of(plan, job, process, &gain) : NULL;
        if (other != NULL)
            best = other;
    }
    return best;
}

/* Its slot waits for the other's place. */
static void leave(struct plan *plan, struct process *process, const struct process *other)
{
    struct job *job = process->job;
    struct slot *slot = process_slot(process);
    double gain = process_gain_log(plan->cluster, process, other->node);
    char what[128];

    if (gain >= SPEED_FASTER)
        (void)snprintf(what, sizeof what, "exchanged for a place on %.40s: %.2g times as fast",
                       other->node->name, exp(gain));
    else
        (void)snprintf(what, sizeof what,
                       "exchanged for a place on %.40s: as fast, and %.40s gains",
                       other->node->name, other->job->spec->name);
    job->learned->exchange =
        (struct exchange){ .with = other->job->id, .role = process->role, .index = process->index };
    job->learned->moved_us = plan->now.now_us;
    process_tell_move(plan, process, "process-exchanged", what);
    process_stop(plan->cluster, process, true, what, plan->now);
    slot->not_before_us = plan->now.now_us + WAITS_US;
    job_touch(plan->cluster, job);
}

/* What both gain over the rest of their jobs is worth twice what it costs both of them. */
static bool is_worth_it(const struct plan *plan, const struct process *a, const struct process *b)
{
    double gain_s = move_gain_s(a, fmax(process_gain_log(plan->cluster, a, b->node), 0)) +
                    move_gain_s(b, fmax(process_gain_log(plan->cluster, b, a->node), 0));

    return gain_s > MOVE_WORTH_COSTS * (move_cost_s(a, plan->now) + move_cost_s(b, plan->now));
}

bool plan_exchange(struct plan *plan, struct process *process)
{
    struct process *other = find_partner(plan, process);

    if (other == NULL || !is_worth_it(plan, process, other))
        return false;
    leave(plan, process, other);
    leave(plan, other, process);
    return true;
}

/* NULL: it has none, or that is taken or wanted no more */
static struct slot *waiting_slot(const struct job *job)
{
    const struct exchange *exchange = job->learned != NULL ? &job->learned->exchange : NULL;
    struct slot *slot;

    if (exchange == NULL || exchange->with == 0 || exchange->index >= job->n_slots[exchange->role])
        return NULL;
    slot = &job->slots[exchange->role][exchange->index];
    return slot->due && (slot->live == NULL || slot->live->state == PROCESS_STOPPING) ? slot : NULL;
}

uint32_t job_exchanges(const struct job *job, uint32_t role)
{
    const struct slot *slot = waiting_slot(job);

    return slot != NULL && slot->live != NULL && job->learned->exchange.role == role;
}

/* Its slot is filled as soon as it is free. */
static void let_go(struct cluster *cluster, struct job *job, struct instant now)
{
    struct slot *slot = waiting_slot(job);

    job->learned->exchange.with = 0;
    if (slot == NULL)
        return;
    slot->not_before_us = now.now_us;
    job_touch(cluster, job);
}

/* Of the job that it exchanges places with, which does so with it; NULL: not any more */
static struct job *partner_of(const struct cluster *cluster, const struct job *job)
{
    struct job *with = cluster_job(cluster, job->learned->exchange.with);

    return with != NULL && with->learned != NULL && with->learned->exchange.with == job->id ? with
                                                                                            : NULL;
}

void job_exchange_ends(struct cluster *cluster, struct job *job, struct instant now)
{
    struct job *with = partner_of(cluster, job);

    let_go(cluster, job, now);
    if (with != NULL)
        let_go(cluster, with, now);
}

/* NULL: it is gone */
static struct node *place_left(const struct plan *plan, const struct slot *slot)
{
    return slot->newest != NULL ? cluster_node(plan->cluster, slot->newest->node_name) : NULL;
}

/* If there is still room. */
static void take_place(struct plan *plan, struct job *job, struct node *node)
{
    const struct exchange *exchange = &job->learned->exchange;
    struct want want = want_of_role(&job->spec->roles[exchange->role]);

    if (node != NULL && node_takes_processes(node) &&
        room_fits(&plan->planner->rooms, node->room, &want, true))
        (void)process_assign(plan->cluster, job, exchange->role, exchange->index, node, plan->now);
}

void plan_exchange_goes_on(struct plan *plan, struct job *job)
{
    const struct slot *slot = waiting_slot(job);
    struct job *with = partner_of(plan->cluster, job);
    const struct slot *other = with != NULL ? waiting_slot(with) : NULL;
    struct node *own;

    if (slot != NULL && other != NULL) {
        if (slot->live != NULL || other->live != NULL)
            return;
        own = place_left(plan, slot);
        take_place(plan, job, place_left(plan, other));
        take_place(plan, with, own);
    }
    job_exchange_ends(plan->cluster, job, plan->now);
}
