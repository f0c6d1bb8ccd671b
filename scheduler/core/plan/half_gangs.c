/* SPDX-License-Identifier: Apache-2.0 */
/* half_gangs.c - jobs that keep each other from being complete
 *
 * When a node is gone for good, several started jobs may hold what the others lack: each waits for
 * room, none runs, and nothing would ever end it. So once such a job has waited for long enough
 * that its node or another could have come, one that ranks after it gives up all that it holds and
 * is queued again, if and only if the one before it is complete by that. The job that ranks last
 * gives first, and none gives in vain.
 *
 * One that has more parameter servers than its document asks for gives those up by itself: it never
 * ran, and they were chosen when there was room (job_servers.c).
 *
 * Looked at before repairs, when nothing is reserved, and only when two jobs have waited so long.
 * Costs for each of them a placement of the lacking instances of the jobs before it, at most
 * HALF_GANGS_MAX squared times. */
#include "scheduler/core/plan/half_gangs.h"

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/pins.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/rooms.h"
#include "shared/macro.h"

/* So long, and two leases at least, a node has to come back, or another in its stead. */
#define HALF_GANG_HOLD_US (60 * USEC_PER_SEC)
#define HALF_GANGS_MAX 16

static uint64_t hold_us(const struct cluster *cluster)
{
    return MAX_OF(HALF_GANG_HOLD_US,
                  2 * (cluster->config.lease_us + cluster->config.lease_margin_us));
}

void plan_note_stuck(struct plan *plan, struct job *job, bool stuck)
{
    uint64_t ripe_us;

    if (!stuck) {
        planned_of(job)->stuck_since_us = 0;
        return;
    }
    if (planned_is(job)->stuck_since_us == 0)
        planned_of(job)->stuck_since_us = plan->now.now_us;
    ripe_us = planned_is(job)->stuck_since_us + hold_us(plan->cluster);
    if (ripe_us > plan->now.now_us && ripe_us < deadline_at(&job->backoff))
        deadline_set(&plan->cluster->deadlines, &job->backoff, DEADLINE_BACKOFF, ripe_us);
}

static bool is_ripe(const struct plan *plan, const struct job *job)
{
    return planned_is(job)->stuck_since_us != 0 &&
           plan->now.now_us - planned_is(job)->stuck_since_us >= hold_us(plan->cluster);
}

/* A job that finishes, or ran and is not fault tolerant, would have to do its work again. */
static bool may_give_up(const struct plan *plan, const struct job *job)
{
    return is_ripe(plan, job) && !job->finishing &&
           (job->spec->fault_tolerant || job->state == JOB_STARTING);
}

void plan_give_back(struct capacity *rooms, const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            const struct process *process = job->slots[r][i].live;
            struct resources back = { 0 };
            struct resources held = resources_of_role(&job->spec->roles[r]);

            if (process == NULL || process->state == PROCESS_STOPPING ||
                !room_is_listed(process->node->room))
                continue;
            held.ports = node_ports_of(process->node, process);
            resources_add(&back, &held, -1);
            capacity_take(rooms, process->node->room, &back, false);
        }
}

/* As repairs do: each instance where it fits. true: all of it does */
static bool place_lack(struct plan *plan, const struct job *job)
{
    struct capacity *rooms = &plan->planner->rooms;
    uint32_t roles[JOB_ROLES_MAX];
    size_t n = roles_hardest_first(job, roles);
    bool complete = true;

    for (size_t k = 0; k < n; k++) {
        struct demand demand = { .role = roles[k], .want = want_of(job, roles[k]) };
        uint32_t wanted = job_role_floor(job, roles[k]);
        uint32_t held = job_count(job, roles[k], false);
        uint32_t slots[ROLE_INSTANCES_MAX];

        demand.count = wanted - MIN_OF(held, wanted);
        (void)pins_choose(plan, job, PINS_READY | PINS_BACKING_OFF | PINS_STOPPING | PINS_FREE,
                          &demand, slots);
        for (uint32_t i = 0; i < demand.count; i++) {
            const struct want want = demand_want(&demand, i);
            struct near near = { 0 };
            struct room *room;

            near_job(&near, job);
            room = place_one(rooms, &want, &near, false);
            if (room == NULL) {
                complete = false;
                break;
            }
            capacity_take(rooms, room, &want.need, false);
        }
    }
    return complete;
}

/* Whether jobs[which] is complete when the donors give; those before it are served before it. */
static bool is_complete(struct plan *plan, struct job *const *jobs, size_t which,
                        struct job *const *donors, size_t n_donors)
{
    struct capacity *rooms = &plan->planner->rooms;
    size_t mark = capacity_mark(rooms);
    bool complete = false;

    for (size_t i = 0; i < n_donors; i++)
        plan_give_back(rooms, donors[i]);
    for (size_t i = 0; i <= which; i++)
        complete = place_lack(plan, jobs[i]);
    capacity_roll_back(rooms, mark);
    return complete;
}

/* The fewest donors from the last on, with those left out that turned out not to be needed. */
static size_t find_donors(struct plan *plan, struct job *const *jobs, size_t n, size_t which,
                          struct job *ret[HALF_GANGS_MAX])
{
    size_t n_donors = 0;

    for (size_t i = n; i-- > which + 1 && n_donors < HALF_GANGS_MAX;) {
        if (!may_give_up(plan, jobs[i]))
            continue;
        ret[n_donors++] = jobs[i];
        if (is_complete(plan, jobs, which, ret, n_donors))
            break;
    }
    if (!is_complete(plan, jobs, which, ret, n_donors))
        return 0;
    for (size_t i = 0; i < n_donors;) {
        struct job *donor = ret[i];

        ret[i] = ret[n_donors - 1];
        if (is_complete(plan, jobs, which, ret, n_donors - 1)) {
            n_donors--;
        } else {
            ret[n_donors - 1] = ret[i];
            ret[i++] = donor;
        }
    }
    return n_donors;
}

/* More servers than its document asks for were chosen for it, and one that never ran lacks room: as
 * one that is queued it asks for the fewest again. */
static bool gives_up_servers(const struct plan *plan, const struct job *job)
{
    return is_ripe(plan, job) && !job->finishing && job->state == JOB_STARTING &&
           job->started_wall_us == 0 && job_servers(job) > job->servers_min;
}

/* true: one did */
static bool give_up_servers(struct plan *plan, struct job *const *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!gives_up_servers(plan, jobs[i]) || is_complete(plan, jobs, i, NULL, 0))
            continue;
        plan_requeue(
            plan, jobs[i], CAUSE_SERVERS_NO_ROOM,
            "gave up its %u parameter server%s, chosen when it was started: for %llu s there was "
            "no room; %u would do",
            job_servers(jobs[i]), PLURAL(job_servers(jobs[i])),
            (unsigned long long)(hold_us(plan->cluster) / USEC_PER_SEC), jobs[i]->servers_min);
        job_set_lacking(plan->cluster, jobs[i], false);
        queue_might_move(plan->cluster);
        return true;
    }
    return false;
}

void plan_half_gangs(struct plan *plan, struct job *const *jobs, size_t n)
{
    struct job *donors[HALF_GANGS_MAX];
    unsigned looked_at = 0;

    if (give_up_servers(plan, jobs, n))
        return; /* the others are looked at when that has settled */
    for (size_t i = 0; i + 1 < n && looked_at < HALF_GANGS_MAX; i++) {
        size_t n_donors;

        if (!is_ripe(plan, jobs[i]) || is_complete(plan, jobs, i, NULL, 0))
            continue;
        looked_at++;
        n_donors = find_donors(plan, jobs, n, i, donors);
        for (size_t d = 0; d < n_donors; d++) {
            plan_requeue(
                plan, donors[d], CAUSE_HALF_GANG,
                "gave up what it held so that job %s is complete: for %llu s neither found "
                "room for its minimum",
                jobs[i]->spec->name, (unsigned long long)(hold_us(plan->cluster) / USEC_PER_SEC));
            job_set_lacking(plan->cluster, donors[d], false);
        }
        if (n_donors > 0) {
            queue_might_move(plan->cluster);
            return; /* the others are looked at when that has settled */
        }
    }
}
