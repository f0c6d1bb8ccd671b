/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - two instances of two jobs take each other's place
 *
 * Where the types of GPU that jobs are fast on lie the other way round, and nothing is free, an
 * instance that would be clearly faster on another type (job_types.c) finds one there whose job
 * would be faster where it is, or does not mind: a job that does not gain is asked only by jobs of
 * its own group and of no lower priority, and not if it has a deadline. Both are stopped, their
 * slots wait until both places are free, and each is started in the other's. Any event between - a
 * node that is lost, a gang that starts there, a minimum that is broken, a stop that takes too long
 * - makes it a slot that starts again where there is room, or a job that shrinks by one; then it
 * was in vain, and a job that did not get the other's place waits for the next one twice as long.
 *
 * At most JOBS_MAX jobs that run are asked, of STEPS_MAX, those that were submitted after it first.
 */
#include "scheduler/core/plan/exchange.h"

#include <math.h>
#include <stdio.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/straggler.h"

#define JOBS_MAX 256
#define STEPS_MAX 2048
#define NO_LOSS 0.1                  /* logarithm: a tenth less is no loss, as far as is known */
#define WAITS_US (10 * USEC_PER_SEC) /* for the other one, at most: longer than its job's grace */

/* As a logarithm; NAN where it does not fit, could not start, or nobody knows */
static double gain_of(const struct plan *plan, const struct process *process,
                      const struct process *other)
{
    const struct failed_starts failed = { process->job, plan->now };
    struct want want = want_of(process->job, process->role);
    struct resources now = resources_of_role(&other->job->spec->roles[other->role]);
    struct resources later = now;

    resources_add(&now, &other->node->room->now, 1);
    resources_add(&later, &other->node->room->later, 1); /* less what is promised to somebody */
    if (!resources_fit(&now, &want.need) || !resources_fit(&later, &want.need) ||
        !room_carries(other->node->room, &want) || !node_takes_processes(other->node) ||
        could_not_start(other->node->room, &failed) ||
        !job_knows_type(plan->cluster, process->job, process->node) ||
        !job_knows_type(plan->cluster, process->job, other->node))
        return NAN;
    return process_gain_log(plan->cluster, process, other->node);
}

/* It gains by it itself, or gives without a loss to somebody to whom it may have to. */
static bool agrees(const struct job *job, double gain, const struct job *asks)
{
    if (gain >= SPEED_FASTER)
        return true;
    return gain >= -NO_LOSS && job->spec->priority <= asks->spec->priority &&
           job->group == asks->group && job->spec->deadline_wall_us == 0;
}

/* The one of this job with which most is gained, if it agrees. */
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
        if (other == NULL || other->node->gpu_type == process->node->gpu_type ||
            !process_can_move(other))
            continue;
        own = gain_of(plan, process, other);
        theirs = gain_of(plan, other, process);
        if (!(own >= SPEED_FASTER && agrees(job, theirs, process->job) && own + theirs > *gain))
            continue;
        *gain = own + theirs;
        best = other;
    }
    return best;
}

static bool is_partner(const struct plan *plan, const struct job *job)
{
    int role = job_elastic_role(job);

    return role >= 0 && job->learned != NULL && job->queue != NULL &&
           job->learned->bias.known != 0 && job->spec->roles[role].gpus > 0 &&
           job_can_move(job, (uint32_t)role, plan->now);
}

static struct process *find_partner(const struct plan *plan, const struct process *process)
{
    double gain = 0;
    struct process *best = NULL;
    struct job *job = process->job;
    int asked = 0;

    for (int i = 0; i < STEPS_MAX && asked < JOBS_MAX; i++) {
        struct process *other;

        job = job->active_next != NULL ? job->active_next : plan->cluster->active;
        if (job == process->job)
            break;
        if (!is_partner(plan, job))
            continue;
        asked++;
        other = best_of(plan, job, process, &gain);
        if (other != NULL)
            best = other;
    }
    return best;
}

static void set_exchange(struct plan *plan, struct job *job, uint64_t with, uint32_t role,
                         uint32_t index)
{
    const struct act act = {
        .kind = ACT_EXCHANGE, .job = job->id, .for_job = with, .role = role, .index = index
    };

    (void)plan_do(plan->cluster, &act, plan->now);
}

/* Its slot is not filled before. */
static void delay(struct plan *plan, struct job *job, uint32_t role, uint32_t index, uint64_t us)
{
    const struct act act = {
        .kind = ACT_DELAY, .job = job->id, .role = role, .index = index, .us = us
    };

    (void)plan_do(plan->cluster, &act, plan->now);
}

/* Its slot waits for the other's place. */
static void leave(struct plan *plan, struct process *process, const struct process *other)
{
    struct job *job = process->job;
    double gain = process_gain_log(plan->cluster, process, other->node);
    char what[160];

    if (gain >= SPEED_FASTER)
        (void)snprintf(what, sizeof what, "exchanged for a place on %.30s: %.2g times as fast",
                       other->node->name, exp(gain));
    else
        (void)snprintf(what, sizeof what,
                       "exchanged for a place on %.30s: about as fast, and %.30s gains",
                       other->node->name, other->job->spec->name);
    set_exchange(plan, job, other->job->id, process->role, process->index);
    planned_of(job)->moved_us = plan->now.now_us;
    planned_of(job)->moved_off = 0;
    plan_size(plan, job, RESIZE_MOVED, "an instance changes places with one of %.40s",
              other->job->spec->name);
    process_tell_move(plan, process,
                      &(struct act){
                          .event = "process-exchanged", .text = what, .for_job = other->job->id });
    plan_stop(plan, process, true, CAUSE_MOVED, what);
    delay(plan, job, process->role, process->index,
          plan->now.now_us + WAITS_US + MAX_OF(job->spec->grace_us, other->job->spec->grace_us));
}

/* The gain of both over the rest of their jobs is worth twice their cost. */
static bool is_worth_it(const struct plan *plan, const struct process *a, const struct process *b)
{
    double gain_s = move_gain_s(a, process_gain_log(plan->cluster, a, b->node)) +
                    move_gain_s(b, process_gain_log(plan->cluster, b, a->node));

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

/* Its slot is filled as soon as it is free. */
static void let_go(struct plan *plan, struct job *job)
{
    const struct exchange was = job->exchange;
    const struct slot *slot = job_exchange_slot(job);

    if (was.with == 0)
        return;
    set_exchange(plan, job, 0, was.role, was.index);
    planned_of(job)->in_vain++;
    if (slot != NULL)
        delay(plan, job, was.role, was.index, plan->now.now_us);
}

/* Of the job that it exchanges places with, which does so with it; NULL: not any more */
static struct job *partner_of(const struct cluster *cluster, const struct job *job)
{
    struct job *with = cluster_job(cluster, job->exchange.with);

    return with != NULL && with->learned != NULL && with->exchange.with == job->id ? with : NULL;
}

void job_exchange_fails(struct plan *plan, struct job *job)
{
    struct job *with = partner_of(plan->cluster, job);

    let_go(plan, job);
    if (with != NULL)
        let_go(plan, with);
}

/* NULL: it is gone */
static struct node *place_left(const struct plan *plan, const struct slot *slot)
{
    return slot->newest != NULL ? cluster_node(plan->cluster, slot->newest->node_name) : NULL;
}

/* false: there is no room any more */
static bool take_place(struct plan *plan, struct job *job, struct node *node)
{
    const struct exchange *exchange = &job->exchange;
    struct want want = want_of(job, exchange->role);

    return node != NULL && node_takes_processes(node) &&
           room_fits(&plan->planner->rooms, node->room, &want, true) &&
           plan_assign(plan, job, exchange->role, exchange->index, node);
}

static void settle(struct plan *plan, struct job *job, struct node *node)
{
    if (!take_place(plan, job, node)) {
        let_go(plan, job);
        return;
    }
    set_exchange(plan, job, 0, job->exchange.role, job->exchange.index);
    planned_of(job)->in_vain = 0;
    if (job->resize_why == NULL)
        plan_size(plan, job, RESIZE_MOVED, "the exchanged instance starts again");
}

void plan_exchange_goes_on(struct plan *plan, struct job *job)
{
    const struct slot *slot = job_exchange_slot(job);
    struct job *with = partner_of(plan->cluster, job);
    const struct slot *other = with != NULL ? job_exchange_slot(with) : NULL;
    struct node *own, *others;

    if (slot == NULL || other == NULL) {
        job_exchange_fails(plan, job);
        return;
    }
    if (slot->live != NULL || other->live != NULL)
        return;
    own = place_left(plan, slot);
    others = place_left(plan, other);
    settle(plan, job, others);
    settle(plan, with, own);
}
