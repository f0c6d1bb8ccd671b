/* SPDX-License-Identifier: Apache-2.0 */
/* straggler.c - an instance that is much slower than its others goes to a faster node
 *
 * Only where the job can spare it meanwhile, and where the gain over the rest of the job is worth
 * twice the cost. Never to and fro: from a node to one that is worth more to its job, not twice
 * within a minute, and a growing job goes to the fastest node that has room (placement.c). Each
 * comparison of a job's instances (slow_instances.c) makes it looked at once, so that a plan that
 * looks at everything afresh moves nobody. */
#include "scheduler/core/plan/straggler.h"

#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/exchange.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/victims.h"
#include "scheduler/core/speed/measure.h"

#define BETWEEN_US (60 * USEC_PER_SEC)
#define BETWEEN_RESIZES 10 /* or so many times what a resize costs */
#define DOUBLINGS_MAX 6    /* of that, each time that it was in vain */

static struct process *straggler_of(const struct job *job, uint32_t role)
{
    uint32_t left = job->counts[role].live;

    for (uint32_t i = 0; left > 0 && i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        left -= process != NULL;
        if (process != NULL && process->incarnation == job->learned->straggler)
            return process;
    }
    return NULL;
}

/* All that it is to have runs, and one less is enough for a while. */
static bool can_spare(const struct job *job, uint32_t role)
{
    uint32_t live = job_count(job, role, true);

    return job->state == JOB_RUNNING && !job->finishing && !planned_is(job)->lacking &&
           live == job_count_running(job, role) && job_count_due(job, role) == 0 &&
           job_surplus(job) > 0;
}

static bool moved_lately(const struct job *job, struct instant now)
{
    const struct planned *its = planned_is(job);
    uint64_t resizes_us = (uint64_t)(BETWEEN_RESIZES * job->learned->of.resize_s * USEC_PER_SEC);

    return its->moved_us != 0 &&
           now.now_us - its->moved_us < MAX_OF(BETWEEN_US, resizes_us)
                                            << MIN_OF(its->in_vain, (uint32_t)DOUBLINGS_MAX);
}

bool job_can_move(const struct job *job, uint32_t role, struct instant now)
{
    return can_spare(job, role) && !moved_lately(job, now);
}

bool process_can_move(const struct process *process)
{
    return process->state == PROCESS_RUNNING && !process_is_saver(process) &&
           !process_is_leaving(process) && !process_is_pinned(process);
}

/* The rest of the job, as it goes on now; without a queue nobody knows. */
static double left_s(const struct job *job, uint32_t instances)
{
    const struct job_learned *learned = job->learned;
    double unit_s = goodput_learn_unit_s(&learned->told, instances);

    if (learned->units_left < 0 || unit_s <= 0)
        return GOODPUT_RESIZE_MAX_S;
    return learned->units_left * unit_s / learned->evenness;
}

/* An instance of it in those that are like most. */
static double speed_of(const struct process *process)
{
    return process->speed > 0 ? process->speed : 1;
}

/* All of its job, likewise. */
static double job_speed(const struct process *process)
{
    return job_count(process->job, process->role, false) * process->job->learned->evenness;
}

double move_gain_s(const struct process *process, double gain_log)
{
    double evenness = process->job->learned->evenness;
    double speed = job_speed(process);
    double more = speed_of(process) * (exp(gain_log) - 1);

    if (process->job->learned->lockstep) /* all of them are as fast as this one */
        more = speed * (fmin(1 / evenness, exp(gain_log)) - 1);

    return left_s(process->job, job_count(process->job, process->role, false)) * more /
           (speed + more);
}

double move_cost_s(const struct process *process, struct instant now)
{
    const struct job *job = process->job;
    double held_s = job->queue == NULL
                        ? 0
                        : (double)task_queue_held_us(job->queue, process->incarnation, now.now_us) /
                              USEC_PER_SEC;

    return job->learned->of.resize_s + held_s * speed_of(process) / job_speed(process);
}

/* A node that is worth more to it with room, on which its job can be started, or NULL */
static struct room *better_place(const struct plan *plan, const struct process *process,
                                 double *ret_gain)
{
    const struct failed_starts failed = { process->job, plan->now };
    struct want want = want_of_job(plan, process->job, process->role);
    struct room *room;
    double gain;

    want.avoids = could_not_start;
    want.userdata = &failed;
    room = capacity_best_fit(&plan->planner->rooms, &want, true);
    if (room == NULL || want_worth(&want, room) <= want_worth(&want, process->node->room))
        return NULL;
    gain = process_gain_log(plan->cluster, process, room->node);
    *ret_gain = gain;
    return gain >= SPEED_FASTER ? room : NULL;
}

/* Its place may have been taken before its slot was free again, or it could not start there. */
static void note_move(struct job *job, const struct node *from, struct instant now)
{
    struct planned *its = planned_of(job);
    uint64_t off = digest_text(0, from->name);

    its->in_vain = its->moved_us != 0 && its->moved_off == off ? its->in_vain + 1 : 0;
    its->moved_off = off;
    its->moved_us = now.now_us;
}

void process_tell_move(struct plan *plan, const struct process *process, const struct act *how)
{
    struct job_learned *learned = process->job->learned;
    struct act act = *how;
    char name[ROLE_NAME_MAX + 16];

    act.kind = ACT_MOVE;
    act.job = process->job->id;
    act.role = process->role;
    act.index = process->index;
    act.incarnation = process->incarnation;
    process_name(process, name, sizeof name);
    (void)snprintf(learned->moved, sizeof learned->moved, "%s was %.120s", name, act.text);
    (void)plan_do(plan->cluster, &act, plan->now);
}

/* By its tasks, beside its others; else it is its type of GPU that others are better than. */
static bool is_slow(const struct cluster *cluster, const struct process *process)
{
    const struct node_speed *speed = &process->node->speeds[SPEED_GPU];
    double typical = gpu_types_typical(&cluster->gpu_types, process->node->gpu_type);

    if (process->speed <= 0 || process->speed >= PROCESS_STRAGGLES)
        return false;
    return !process->job->learned->bias.clear || speed->log < typical - SPEED_FASTER;
}

/* In another slot at once if it has one, else in its own when that is free again. */
static void move(struct plan *plan, struct process *process, struct room *room, double gain)
{
    struct job *job = process->job;
    struct node *from = process->node;
    char name[ROLE_NAME_MAX + 16];
    char reason[sizeof process->reason];
    bool slow = is_slow(plan->cluster, process);
    int index = next_slot(job, process->role, plan->now);
    bool placed = index >= 0 && plan_assign(plan, job, process->role, (uint32_t)index, room->node);

    process_name(process, name, sizeof name);
    if (slow)
        (void)snprintf(reason, sizeof reason, "moved from %s: %.2g times as fast as its others",
                       from->name, (double)process->speed);
    else
        (void)snprintf(reason, sizeof reason,
                       "moved from %.40s to GPUs on %.40s: %.2g times as fast", from->name,
                       room->name, exp(gain));
    process_tell_move(plan, process,
                      &(struct act){ .event = "process-moved", .text = reason, .n = slow });
    note_move(job, from, plan->now);
    if (!placed)
        plan_size(plan, job, RESIZE_MOVED, "%s is %s %s", name,
                  slow ? "slow on" : "faster elsewhere than on", from->name);
    planned_of(job)->moving = !placed;
    plan_stop(plan, process, !placed, CAUSE_MOVED, reason);
}

/* Its slot is free again. */
static void come_back(struct plan *plan, struct job *job, uint32_t role)
{
    if (job->counts[role].due > 0 && job->resize_why == NULL)
        plan_size(plan, job, RESIZE_MOVED, "the moved instance starts again");
    planned_of(job)->moving = job->counts[role].stopping > 0;
}

static void look_at(struct plan *plan, struct job *job)
{
    int role = job_elastic_role(job);
    struct process *process;
    struct room *room;
    double gain = 0;

    if (job->exchange.with != 0)
        plan_exchange_goes_on(plan, job);
    if (planned_is(job)->moving && role >= 0)
        come_back(plan, job, (uint32_t)role);
    if (job->learned->straggler == 0)
        return;
    process = role >= 0 && job_can_move(job, (uint32_t)role, plan->now)
                  ? straggler_of(job, (uint32_t)role)
                  : NULL;
    job->learned->straggler = 0;
    if (process == NULL || !process_can_move(process))
        return;
    room = better_place(plan, process, &gain);
    if (room != NULL &&
        move_gain_s(process, gain) > MOVE_WORTH_COSTS * move_cost_s(process, plan->now))
        move(plan, process, room, gain);
    else if (room == NULL && job->learned->bias.known != 0)
        (void)plan_exchange(plan, process);
}

const char *job_moved(const struct job *job)
{
    return job->learned != NULL ? job->learned->moved : "";
}

void plan_stragglers(struct plan *plan)
{
    struct job **jobs = NULL;
    struct job *job;
    size_t n = 0;

    DL_FOREACH2(plan->cluster->touched, job, touched_next)
    {
        if (job->learned == NULL ||
            (job->learned->straggler == 0 && !planned_is(job)->moving && job->exchange.with == 0))
            continue;
        jobs = xreallocarray(jobs, n + 1, sizeof(*jobs));
        jobs[n++] = job;
    }
    if (n > 0)
        jobs_sort(jobs, n);
    for (size_t i = 0; i < n; i++)
        look_at(plan, jobs[i]);
    free(jobs);
}
