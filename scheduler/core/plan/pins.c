/* SPDX-License-Identifier: Apache-2.0 */
/* pins.c - what a started job lacks of a role that names the node of each instance
 *
 * Instances of other roles are all alike: the lack is a number, and any free slot will do. Here
 * each slot has one place. A slot whose node has no room stays empty, and the next one is tried.
 * All of it is linear in the slots of the role. */
#include "scheduler/core/plan/pins.h"

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "shared/clock.h"

static bool is_ready(const struct slot *slot, struct instant now)
{
    return slot->due && slot->live == NULL && !slot->finished && slot->not_before_us <= now.now_us;
}

static bool is_backing_off(const struct slot *slot, struct instant now)
{
    return slot->due && slot->live == NULL && slot->not_before_us > now.now_us;
}

static bool is_stopping(const struct slot *slot)
{
    return slot->due && slot->live != NULL && slot->live->state == PROCESS_STOPPING;
}

/* Slots beyond the maximum are left over of a larger one. A finishing job is not filled afresh. */
static bool may_be_filled(const struct job *job, uint32_t role, uint32_t index)
{
    return index < job->spec->roles[role].max && slot_is_free(job, &job->slots[role][index]) &&
           !(job->finishing && job_role_works(job, role));
}

struct choice {
    const struct job *job;
    uint32_t role;
    uint32_t most;
    uint32_t *slots;
    uint32_t n;
};

static void choose(struct choice *choice, uint32_t index)
{
    if (choice->n < choice->most)
        choice->slots[choice->n++] = index;
}

static void choose_due(struct choice *choice, unsigned which, struct instant now)
{
    for (uint32_t i = 0; i < choice->job->n_slots[choice->role]; i++) {
        const struct slot *slot = &choice->job->slots[choice->role][i];

        if (((which & PINS_READY) && is_ready(slot, now)) ||
            ((which & PINS_BACKING_OFF) && is_backing_off(slot, now)) ||
            ((which & PINS_STOPPING) && is_stopping(slot)))
            choose(choice, i);
    }
}

/* Of those that are free, first the ones whose node takes processes. */
static void choose_free(const struct plan *plan, struct choice *choice, bool listed)
{
    const struct job *job = choice->job;

    for (uint32_t i = 0; choice->n < choice->most && i < job->n_slots[choice->role]; i++) {
        const char *node = role_node(&job->spec->roles[choice->role], i);

        if (may_be_filled(job, choice->role, i) &&
            (capacity_room(&plan->planner->rooms, node) != NULL) == listed)
            choose(choice, i);
    }
}

uint32_t pins_choose(const struct plan *plan, const struct job *job, unsigned which,
                     struct demand *demand, uint32_t slots[ROLE_INSTANCES_MAX])
{
    struct choice choice = { job, demand->role, demand->count, slots, 0 };

    if (job->spec->roles[demand->role].nodes == NULL)
        return demand->count;
    choose_due(&choice, which, plan->now);
    if (which & PINS_FREE) {
        choose_free(plan, &choice, true);
        choose_free(plan, &choice, false);
    }
    demand->pinned = &job->spec->roles[demand->role];
    demand->slots = slots;
    demand->count = choice.n;
    if (choice.n > 0)
        demand->want.only = role_node(demand->pinned, slots[0]);
    return choice.n;
}

/* false: its node has no room */
static bool fill(struct plan *plan, struct job *job, uint32_t role, uint32_t index,
                 struct want *want)
{
    const struct room *room;

    want->only = role_node(&job->spec->roles[role], index);
    room = capacity_best_fit(&plan->planner->rooms, want, true);
    return room != NULL && plan_assign(plan, job, role, index, room->node);
}

uint32_t pins_fill(struct plan *plan, struct job *job, uint32_t role, uint32_t n)
{
    uint32_t max = job->spec->roles[role].max;
    struct want want = want_of_job(plan, job, role);
    uint32_t filled = 0;

    for (int due = 1; due >= 0; due--)
        for (uint32_t i = 0; filled < n && i < job->n_slots[role]; i++)
            if ((due ? is_ready(&job->slots[role][i], plan->now) : may_be_filled(job, role, i)) &&
                job_count(job, role, true) < max)
                filled += fill(plan, job, role, i, &want);
    return filled;
}
