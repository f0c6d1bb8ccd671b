/* SPDX-License-Identifier: Apache-2.0 */
/* plan_room.c - makes room for a gang by choosing who is shrunk away
 *
 * The policy knows totals; whether a gang fits is decided by single nodes. Greedy: instance by
 * instance, in placing order, where it fits later (what is stopping counts as gone) without
 * anybody's loss; else on the node that needs the fewest victims. Never below a job's minimum. All
 * or nothing. Cost: nodes x their processes for an instance that needs a victim; the number of
 * gangs tried in a pass is bounded by the caller. */
#include "scheduler/core/core_internal.h"

#include <utlist.h>

#define VICTIMS_PER_INSTANCE 64

void plan_mark(struct plan *plan, struct process *process)
{
    if (plan->n_victims == plan->cap_victims) {
        plan->cap_victims = plan->cap_victims ? 2 * plan->cap_victims : 32;
        plan->victims = xreallocarray(plan->victims, plan->cap_victims, sizeof(*plan->victims));
    }
    plan->victims[plan->n_victims++] = process;
    process->marked = true;
}

static bool is_candidate(const struct process *process)
{
    const struct job *job = process->job;

    return !process->marked && process->state != PROCESS_STOPPING && job_is_started(job) &&
           job->surplus > 0 && job_elastic_role(job) == (int)process->role;
}

/* It has something of what the node lacks. */
static bool helps(const struct process *process, const struct resources *have,
                  const struct resources *need)
{
    struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

    return (have->cpu_millicores < need->cpu_millicores && held.cpu_millicores > 0) ||
           (have->memory_bytes < need->memory_bytes && held.memory_bytes > 0) ||
           (have->gpus < need->gpus && held.gpus > 0) ||
           (have->ports < need->ports && held.ports > 0);
}

bool plan_victim_before(const struct process *a, const struct process *b)
{
    bool a_beyond = a->index >= a->job->spec->roles[a->role].max;
    bool b_beyond = b->index >= b->job->spec->roles[b->role].max;
    bool a_pressed = a->node->room != NULL && a->node->room->later.cpu_millicores < 0;
    bool b_pressed = b->node->room != NULL && b->node->room->later.cpu_millicores < 0;

    if (a_beyond != b_beyond)
        return a_beyond;
    if ((a->state < PROCESS_RUNNING) != (b->state < PROCESS_RUNNING))
        return a->state < PROCESS_RUNNING;
    /* a node that owes (foreign load came, or it offers less than before) is relieved first */
    if (a_pressed != b_pressed)
        return a_pressed;
    return a->index > b->index;
}

/* Across jobs: who has the largest part of its span above its minimum gives first. */
static bool gives_before(const struct process *a, const struct process *b)
{
    const struct role_spec *a_role = &a->job->spec->roles[a->role];
    const struct role_spec *b_role = &b->job->spec->roles[b->role];
    uint64_t a_part = (uint64_t)a->job->surplus * (b_role->max - b_role->min);
    uint64_t b_part = (uint64_t)b->job->surplus * (a_role->max - a_role->min);

    if (a->job != b->job && a_part != b_part)
        return a_part > b_part;
    if (a->job != b->job)
        return a->job->id > b->job->id;
    return plan_victim_before(a, b);
}

static void unmark_down_to(struct plan *plan, size_t n)
{
    while (plan->n_victims > n) {
        struct process *process = plan->victims[--plan->n_victims];

        process->marked = false;
        process->job->surplus++;
    }
}

/* Marks victims on this node until need fits; false: it cannot, nothing marked. */
static bool free_on(struct plan *plan, const struct room *room, const struct resources *need,
                    size_t limit)
{
    struct resources have = room->later;
    size_t before = plan->n_victims;

    while (!resources_fit(&have, need)) {
        struct process *best = NULL;
        struct process *process;
        struct resources held;

        DL_FOREACH2(room->node->processes, process, node_next)
        {
            if (is_candidate(process) && helps(process, &have, need) &&
                (best == NULL || gives_before(process, best)))
                best = process;
        }
        if (best == NULL || plan->n_victims - before >= limit) {
            unmark_down_to(plan, before);
            return false;
        }
        plan_mark(plan, best);
        best->job->surplus--;
        held = resources_of_role(&best->job->spec->roles[best->role]);
        resources_add(&have, &held, 1);
    }
    return true;
}

/* The node that needs the fewest victims, with them marked; NULL when none can. */
static struct room *free_somewhere(struct plan *plan, const struct resources *need)
{
    struct room *best = NULL;
    size_t fewest = VICTIMS_PER_INSTANCE;
    size_t before = plan->n_victims;

    for (size_t i = 0; i < plan->rooms.n && fewest > 1; i++) {
        if (!free_on(plan, &plan->rooms.items[i], need, best == NULL ? fewest : fewest - 1))
            continue;
        fewest = plan->n_victims - before;
        best = &plan->rooms.items[i];
        unmark_down_to(plan, before);
    }
    if (best == NULL || !free_on(plan, best, need, fewest))
        return NULL;
    for (size_t i = before; i < plan->n_victims; i++) {
        struct process *process = plan->victims[i];
        struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

        resources_add(&best->later, &held, 1);
    }
    return best;
}

bool plan_make_room(struct plan *plan, const struct demand *demands, size_t n)
{
    struct room *before = xcalloc(plan->rooms.n, sizeof *before);
    size_t n_victims = plan->n_victims;
    bool fits = true;

    memcpy(before, plan->rooms.items, plan->rooms.n * sizeof *before);
    for (size_t d = 0; fits && d < n; d++)
        for (uint32_t i = 0; fits && i < demands[d].count; i++) {
            struct room *room = rooms_best_fit(&plan->rooms, &demands[d].need, false);

            if (room == NULL && plan->tries > 0)
                room = free_somewhere(plan, &demands[d].need);
            fits = room != NULL;
            if (fits)
                room_take(room, &demands[d].need, false);
        }
    if (!fits) {
        memcpy(plan->rooms.items, before, plan->rooms.n * sizeof *before);
        unmark_down_to(plan, n_victims);
    }
    if (plan->tries > 0 && (!fits || plan->n_victims > n_victims))
        plan->tries--;
    free(before);
    return fits;
}
