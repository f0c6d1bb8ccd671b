/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - one planning pass: from what is to what is wanted next
 *
 *   1. what runs on draining nodes is stopped; it is started again elsewhere by the steps below
 *   2. what started jobs lack of their minimum is placed, or room is made for it
 *   3. waiting gangs start, or room is made for them (plan_queue.c)
 *   4. the policy gives each elastic job a size (plan_view.c)
 *   5. shrinking: the victims that made room, and as many more as the policy wants
 *   6. growing, where there is room now
 *
 * A pass is linear in active jobs, their slots and the nodes, plus nodes x instances started. It
 * runs only when some event asked for it, once for all events of a turn. Its result depends on
 * nothing but the state and the instant. */
#include "scheduler/core/core_internal.h"

#include <stdio.h>
#include <utlist.h>

/* In one pass room is made by shrinking for so many waiting jobs; the others get their turn when
 * these started. */
#define MAKE_ROOM_TRIES 16
#define PASSES_MAX 4

static void drain(struct plan *plan)
{
    struct node *node;

    for (node = plan->cluster->nodes; node != NULL; node = node->hh.next) {
        struct process *process;

        if (node->state != NODE_DRAINING)
            continue;
        DL_FOREACH2(node->processes, process, node_next)
        process_stop(plan->cluster, process, true, REASON_DRAINED, plan->now);
    }
}

/* Scratch of the pass, and the next back-off to wake up for. */
static void begin(struct plan *plan)
{
    struct cluster *cluster = plan->cluster;
    struct job *job;

    plan->rooms = rooms_of_nodes(cluster, false);
    cluster->next_backoff_us = NEVER_US;
    DL_FOREACH2(cluster->active, job, active_next)
    {
        int elastic = job_elastic_role(job);
        uint32_t live = elastic < 0 ? 0 : job_count(job, (uint32_t)elastic, false);
        uint32_t min = elastic < 0 ? 0 : job->spec->roles[elastic].min;

        plan->n_active++;
        job->waits_for_room = false;
        job->surplus = live > min && (!job->finishing || job->queue != NULL) ? live - min : 0;
        for (uint32_t r = 0; r < job->spec->n_roles; r++)
            for (uint32_t i = 0; i < job->n_slots[r]; i++) {
                const struct slot *slot = &job->slots[r][i];

                if (slot->due && slot->live == NULL && slot->not_before_us > plan->now.now_us)
                    cluster->next_backoff_us =
                        MIN_OF(cluster->next_backoff_us, slot->not_before_us);
            }
    }
    plan->waiting = xcalloc(plan->n_active, sizeof *plan->waiting);
}

static uint32_t count_backing_off(const struct job *job, uint32_t role, struct instant now)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        n += slot->due && slot->live == NULL && slot->not_before_us > now.now_us;
    }
    return n;
}

/* The slot to fill next: one that is due and ready, else the lowest that is free; -1 when there is
 * none. */
static int next_slot(const struct job *job, uint32_t role, struct instant now)
{
    bool only_due = job->finishing && job_role_works(job, role);
    int fresh = -1;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        if (slot->live != NULL || slot->finished)
            continue;
        if (slot->due && slot->not_before_us <= now.now_us)
            return (int)i;
        if (!slot->due && !only_due && fresh < 0 && i < job->spec->roles[role].max)
            fresh = (int)i;
    }
    return fresh;
}

/* Brings a role up to wanted as far as there is room now; returns how many could not be placed.
 * Slots in back-off keep their places: nobody takes a fresh slot to get around a back-off. */
static uint32_t fill_role(struct plan *plan, struct job *job, uint32_t role, uint32_t wanted)
{
    struct resources need = resources_of_role(&job->spec->roles[role]);
    uint32_t held = job_count(job, role, false) + count_backing_off(job, role, plan->now);

    while (held < wanted) {
        int index = next_slot(job, role, plan->now);
        struct room *room = index < 0 ? NULL : rooms_best_fit(&plan->rooms, &need, true);

        if (room == NULL ||
            !process_assign(plan->cluster, job, role, (uint32_t)index, room->node, plan->now))
            break;
        room_take(room, &need, true);
        held++;
    }
    return wanted > held ? wanted - held : 0;
}

/* What is in back-off or still waits for its slot gets its room promised, without anybody's loss.
 */
static void keep_place(struct plan *plan, const struct resources *need, uint32_t n)
{
    for (; n > 0; n--) {
        struct room *room = rooms_best_fit(&plan->rooms, need, false);

        if (room == NULL)
            return;
        room_take(room, need, false);
    }
}

static void repair(struct plan *plan, struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        uint32_t wanted = job_role_floor(job, r);
        struct demand demand = { .role = r, .need = resources_of_role(&job->spec->roles[r]) };
        uint32_t backing_off;

        if (job_count(job, r, false) >= wanted)
            continue;
        demand.count = fill_role(plan, job, r, wanted);
        backing_off = count_backing_off(job, r, plan->now);
        if (backing_off > 0)
            keep_place(plan, &demand.need, MIN_OF(backing_off, wanted - job_count(job, r, false)));
        if (demand.count == 0)
            continue;
        if (next_slot(job, r, plan->now) < 0) {
            keep_place(plan, &demand.need, demand.count); /* its slots are still being stopped */
            continue;
        }
        job->waits_for_room = true;
        if (plan_make_room(plan, &demand, 1) && plan->beneficiary == NULL)
            plan->beneficiary = job;
    }
}

static struct process *next_victim(const struct job *job, uint32_t role)
{
    struct process *best = NULL;

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        if (process != NULL && !process->marked && process->state != PROCESS_STOPPING &&
            (best == NULL || plan_victim_before(process, best)))
            best = process;
    }
    return best;
}

/* Gives up repairs that are not wanted any more, the highest first; returns how many are left. */
static uint32_t trim_due(struct cluster *cluster, struct job *job, uint32_t role, uint32_t keep)
{
    uint32_t due = job_count_due(job, role);

    for (uint32_t i = job->n_slots[role]; i-- > 0 && due > keep;) {
        struct slot *slot = &job->slots[role][i];

        if (!slot->due || slot->live != NULL)
            continue;
        slot->due = false;
        due--;
        effect_save_job(cluster, job);
    }
    return due;
}

static uint32_t count_marked(const struct job *job, uint32_t role)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[role]; i++)
        n += job->slots[role][i].live != NULL && job->slots[role][i].live->marked;
    return n;
}

/* Shrinks a role to its size (marks only); returns the size that the victims of others leave it. */
static uint32_t shrink_role(struct plan *plan, struct job *job, uint32_t role, uint32_t size)
{
    uint32_t live = job_count(job, role, false);
    uint32_t marked = count_marked(job, role);

    if (marked > 0)
        size = MIN_OF(size, live - marked);
    (void)trim_due(plan->cluster, job, role, size > live - marked ? size - (live - marked) : 0);
    while (live - marked > size) {
        struct process *victim = next_victim(job, role);

        if (victim == NULL)
            break;
        plan_mark(plan, victim);
        marked++;
    }
    return size;
}

/* The size that each role of a started job is to have, of the elastic one what the policy says. */
static uint32_t wanted_size(const struct job *job, uint32_t role, uint32_t policy_target)
{
    /* what finishes keeps what it has, unless its bounds were lowered under it */
    uint32_t floor = MIN_OF(job_role_floor(job, role), job->spec->roles[role].max);

    if (job_elastic_role(job) != (int)role)
        return floor;
    /* the gang comes first: nothing more than the minimum until it runs */
    return job->state == JOB_STARTING ? floor
           : job->finishing           ? policy_target
                                      : MAX_OF(policy_target, floor);
}

static void stop_victims(struct plan *plan)
{
    char reason[sizeof plan->victims[0]->reason];

    for (size_t i = 0; i < plan->n_victims; i++) {
        struct process *process = plan->victims[i];

        if (plan->beneficiary != NULL)
            (void)snprintf(reason, sizeof reason, "shrunk to make room for job %s",
                           plan->beneficiary->spec->name);
        else
            (void)snprintf(reason, sizeof reason,
                           "shrunk: the %s policy gives its job fewer instances",
                           plan->cluster->config.policy->name);
        process->marked = false;
        process_stop(plan->cluster, process, false, reason, plan->now);
    }
}

static void resize(struct plan *plan, const uint32_t *policy_target)
{
    uint32_t *size = xcalloc(plan->n_active, JOB_ROLES_MAX * sizeof *size);
    struct job *job;
    size_t i = 0;

    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        for (uint32_t r = 0; job_is_started(job) && r < job->spec->n_roles; r++)
            size[i * JOB_ROLES_MAX + r] =
                shrink_role(plan, job, r, wanted_size(job, r, policy_target[i]));
        i++;
    }
    stop_victims(plan);
    i = 0;
    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        for (uint32_t r = 0; job_is_started(job) && r < job->spec->n_roles; r++) {
            uint32_t wanted = size[i * JOB_ROLES_MAX + r];
            uint32_t floor = job_role_floor(job, r);

            /* growth that finds no room is no target: the job would seem to resize for ever */
            if (wanted > floor)
                wanted = MAX_OF(wanted - fill_role(plan, job, r, wanted), floor);
            (void)trim_due(plan->cluster, job, r,
                           wanted - MIN_OF(wanted, job_count(job, r, false)));
            job_set_target(plan->cluster, job, r, wanted, plan->now);
        }
        i++;
    }
    free(size);
}

static void pass(struct cluster *cluster, struct instant now)
{
    struct plan plan = { .cluster = cluster, .now = now, .tries = MAKE_ROOM_TRIES };
    uint32_t *policy_target;
    struct job *job;
    struct job *next;

    drain(&plan);
    begin(&plan);
    policy_target = xcalloc(plan.n_active, sizeof *policy_target);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        if (job_is_started(job))
            repair(&plan, job);
    }
    plan_gangs(&plan);
    plan_ask_policy(&plan, policy_target);
    resize(&plan, policy_target);
    cluster->plan_wanted = false;
    DL_FOREACH_SAFE2(cluster->active, job, next, active_next)
    job_settle(cluster, job, now);
    free(policy_target);
    free(plan.waiting);
    free(plan.victims);
    rooms_done(&plan.rooms);
}

/* cluster_plan - see cluster.h; idempotent until the next event. A second pass follows only when
 * the first one itself ended a job or made one complete. */
void cluster_plan(struct cluster *cluster, struct instant now)
{
    for (int i = 0; cluster->plan_wanted && i < PASSES_MAX; i++)
        pass(cluster, now);
    cluster->plan_wanted = false;
}
