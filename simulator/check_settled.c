/* SPDX-License-Identifier: Apache-2.0 */
/* check_settled.c - in the calm: the states that must not stay
 *
 * A node that is drained becomes empty, and a node whose own services want cores or memory gets
 * them. A job that could be larger grows. Looked at every second, from the processes that really
 * run: as long as there is an excuse, or something is on its way, the time begins anew. */
#include <utlist.h>

#include "scheduler/core/core.h"
#include "simulator/internal.h"

/* Without an excuse: for reports, commits, a start or two, and who else has to move first. */
#define DRAIN_LIMIT_US (35 * USEC_PER_SEC)
#define FOREIGN_LIMIT_US (20 * USEC_PER_SEC)
#define GROWTH_LIMIT_US (30 * USEC_PER_SEC)
#define IDLE_LIMIT_US (45 * USEC_PER_SEC)
/* What the scheduler takes for noise of a node's own load, which may stand for long, is 2 %. */
#define NOISE_PART 25

static bool is_there(const struct unit *unit)
{
    return unit->job != NULL && (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING);
}

static bool anybody_leaves(const struct sim_node *node)
{
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (is_there(unit) && unit->told)
        return true;
    return false;
}

bool settled_is_open(const struct sim *sim, const struct sim_node *node)
{
    const struct node *known = cluster_node(sim->server->cluster, node->name);

    return node->up && node->wanted == NODE_READY && known != NULL && known->state == NODE_READY;
}

static uint32_t gpus_taken(const struct sim_node *node)
{
    const struct unit *unit;
    uint32_t gpus = 0;

    DL_FOREACH(node->units, unit)
    gpus += is_there(unit) ? (uint32_t)__builtin_popcountll(unit->gpu_mask) : 0;
    return gpus;
}

static bool has_room(const struct sim_node *node, const struct role_spec *role)
{
    const struct node_offer *offer = &node->offer;
    uint32_t ports = role->n_ports;
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    ports += is_there(unit) ? unit->n_ports : 0;
    return labels_cover(&offer->labels, role_selector(role)) &&
           gpus_taken(node) + role->gpus <= offer->gpus &&
           ports <= (uint32_t)offer->port_last - offer->port_first + 1 &&
           node->cpu_used + node->foreign_cpu + role->cpu_millicores +
                   offer->cpu_millicores / NOISE_PART <=
               offer->cpu_millicores &&
           node->memory_used + node->foreign_memory + role->memory_bytes +
                   offer->memory_bytes / NOISE_PART <=
               offer->memory_bytes;
}

static bool has_room_elsewhere(const struct sim *sim, const struct sim_node *node,
                               const struct role_spec *role)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        if (sim->nodes[i] != node && settled_is_open(sim, sim->nodes[i]) &&
            has_room(sim->nodes[i], role))
            return true;
    return false;
}

/* One of its instances could have its place: of a role that names them, on that node. */
static bool has_room_for_one(const struct sim *sim, const struct truth_role *truth,
                             const struct role_spec *role)
{
    for (uint32_t i = 0; i < MIN_OF(truth->max, role->n_nodes); i++) {
        const struct sim_node *node = NULL;

        for (uint32_t n = 0; n < sim->n_nodes; n++)
            if (streq(sim->nodes[n]->name, role->nodes[i]))
                node = sim->nodes[n];
        if ((i >= truth->n_slots || truth->slots[i].live == NULL) && node != NULL &&
            settled_is_open(sim, node) && has_room(node, role))
            return true;
    }
    return role->nodes == NULL && has_room_elsewhere(sim, NULL, role);
}

static const struct job_spec *spec_of(const struct sim *sim, const struct truth_job *truth)
{
    return sim->submissions[truth->submission].spec;
}

bool settled_is_complete(const struct truth_job *truth)
{
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (truth->roles[r].n_running < truth->roles[r].min)
            return false;
    return truth->state == JOB_RUNNING || truth->state == JOB_RESIZING;
}

bool settled_is_finishing(const struct truth_job *truth)
{
    for (uint64_t i = 0; i < truth->n_processes; i++)
        if (truth->processes[i].finished)
            return true;
    return false;
}

bool settled_is_elastic(const struct sim *sim, const struct truth_job *truth, uint32_t role)
{
    return spec_of(sim, truth)->fault_tolerant && truth->roles[role].min < truth->roles[role].max &&
           (truth->n_roles == 1 || !streq(truth->roles[role].name, "pserver"));
}

/* What failed may be in back-off, and keeps its place so long. */
bool settled_nobody_failed(const struct truth_role *role)
{
    for (uint32_t i = 0; i < role->n_slots; i++)
        if (role->slots[i].failures > 0)
            return false;
    return true;
}

/* Somebody has a claim on what is free: a gang that waits for it, a job that lacks somebody. */
static bool anybody_waits(const struct sim *sim)
{
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || job_state_is_final(truth->state))
            continue;
        if (truth->state == JOB_QUEUED ? !check_may_wait(sim, truth) : !settled_is_complete(truth))
            return true;
    }
    return false;
}

bool settled_lasts(const struct sim *sim, uint64_t *since_us, bool is_so, uint64_t limit_us)
{
    if (!is_so)
        *since_us = 0;
    else if (*since_us == 0)
        *since_us = sim->now_us;
    return is_so && sim->now_us - *since_us > limit_us;
}

/* --- draining nodes --- */

static uint32_t count_elsewhere(const struct sim *sim, const struct truth_role *role)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < role->n_slots; i++) {
        const struct unit *unit;

        DL_FOREACH2(role->slots[i].live, unit, slot_next)
        n += unit->life == LIFE_RUNNING && !unit->told && settled_is_open(sim, unit->node);
    }
    return n;
}

/* The rest run elsewhere, or it can: nobody has to be waited for. */
static bool could_leave(const struct sim *sim, const struct unit *unit)
{
    const struct truth_job *truth = unit->job;
    const struct truth_role *role = &truth->roles[unit->role];

    if (!is_there(unit) || !spec_of(sim, truth)->fault_tolerant || !settled_is_complete(truth) ||
        settled_is_finishing(truth) || !settled_nobody_failed(role))
        return false;
    if (settled_is_elastic(sim, truth, unit->role) && count_elsewhere(sim, role) >= role->min)
        return true;
    return spec_of(sim, truth)->roles[unit->role].nodes == NULL &&
           has_room_elsewhere(sim, unit->node, &spec_of(sim, truth)->roles[unit->role]);
}

static const struct unit *first_that_could_leave(const struct sim *sim, const struct sim_node *node)
{
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (could_leave(sim, unit))
        return unit;
    return NULL;
}

static void check_drain(struct sim *sim, struct sim_node *node, bool settled)
{
    const struct unit *unit = settled && node->wanted == NODE_DRAINING && !anybody_leaves(node)
                                  ? first_that_could_leave(sim, node)
                                  : NULL;

    if (settled_lasts(sim, &node->drains_since_us, unit != NULL, DRAIN_LIMIT_US))
        violate(sim, "drain", "%s is drained, and for %.0f s %s-%u of job %s could leave it",
                node->name, (double)(sim->now_us - node->drains_since_us) / 1e6, unit->id.role,
                unit->id.index, unit->job->name);
}

/* --- nodes whose own services want more --- */

static bool is_short(uint64_t used, uint64_t foreign, uint64_t offered)
{
    return used + foreign > offered + offered / NOISE_PART;
}

static const struct unit *first_that_could_give_way(const struct sim *sim,
                                                    const struct sim_node *node)
{
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    {
        const struct truth_job *truth = unit->job;

        if (is_there(unit) && settled_is_elastic(sim, truth, unit->role) &&
            settled_is_complete(truth) && !settled_is_finishing(truth) &&
            truth->roles[unit->role].n_live > truth->roles[unit->role].min)
            return unit;
    }
    return NULL;
}

static void check_foreign(struct sim *sim, struct sim_node *node)
{
    const struct node_offer *offer = &node->offer;
    bool owes = is_short(node->cpu_used, node->foreign_cpu, offer->cpu_millicores) ||
                is_short(node->memory_used, node->foreign_memory, offer->memory_bytes);
    const struct unit *unit =
        owes && !anybody_leaves(node) ? first_that_could_give_way(sim, node) : NULL;

    if (settled_lasts(sim, &node->owes_since_us, unit != NULL, FOREIGN_LIMIT_US))
        violate(
            sim, "foreign",
            "%s has less than its own services want. Job %s is above its minimum, and for %.0f s "
            "its %s-%u does not give way",
            node->name, unit->job->name, (double)(sim->now_us - node->owes_since_us) / 1e6,
            unit->id.role, unit->id.index);
}

/* --- growth --- */

/* No change keeps a job here from its work for longer. */
#define STALL_MOST_S 60

/* At most so many are wanted again that failed and are in back-off: they are load already. */
static uint32_t may_be_due(const struct truth_role *role)
{
    return settled_nobody_failed(role) || role->n_live >= role->max ? 0 : role->max - role->n_live;
}

/* A reserve of at most a twentieth of the cluster counts in whole cores, rounded down. */
static uint64_t load_limit(uint64_t total, uint32_t permille)
{
    uint64_t limit = total * permille / 1000, kept = total - limit;

    return kept * 20 <= total ? total - kept / 1000 * 1000 : limit;
}

/* One more stays below the limits of what all open nodes have. */
static bool load_allows(const struct sim *sim, const struct role_spec *role)
{
    uint64_t cpu = role->cpu_millicores;
    uint64_t memory = role->memory_bytes;
    uint64_t gpus = role->gpus;
    struct node_offer all = { 0 };

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        for (uint32_t r = 0; truth != NULL && truth->n_live > 0 && r < truth->n_roles; r++) {
            const struct role_spec *due = &spec_of(sim, truth)->roles[r];

            cpu += may_be_due(&truth->roles[r]) * due->cpu_millicores;
            memory += may_be_due(&truth->roles[r]) * due->memory_bytes;
            gpus += may_be_due(&truth->roles[r]) * due->gpus;
        }
    }
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct sim_node *node = sim->nodes[i];

        if (!settled_is_open(sim, node))
            continue;
        all.cpu_millicores += node->offer.cpu_millicores;
        all.memory_bytes += node->offer.memory_bytes;
        all.gpus += node->offer.gpus;
        gpus += gpus_taken(node);
        cpu += node->cpu_used + node->foreign_cpu;
        memory += node->memory_used + node->foreign_memory;
    }
    return cpu + all.cpu_millicores / NOISE_PART <=
               load_limit(all.cpu_millicores, sim->config.max_load_permille) &&
           memory + all.memory_bytes / NOISE_PART < all.memory_bytes &&
           (role->gpus == 0 || gpus <= all.gpus);
}

static const struct sim_work *work_of(const struct sim *sim, const struct truth_job *truth)
{
    return &sim->submissions[truth->submission].work;
}

static uint32_t share_up(uint32_t permille, uint32_t each_permille)
{
    return (permille + each_permille - 1) / each_permille;
}

/* Of a service so many have work all of the time, whatever happens. */
static uint32_t most_that_grow(const struct sim *sim, const struct truth_job *truth,
                               const struct truth_role *role)
{
    const struct sim_work *work = work_of(sim, truth);

    return work->kind == SIM_WORK_SERVE
               ? MIN_OF(role->max, share_up(program_load_permille(work, sim->now_us), 1000))
               : role->max;
}

/* More would have work for less than two fifths of their time. */
static bool has_too_many(const struct sim *sim, const struct truth_job *truth,
                         const struct truth_role *role)
{
    const struct sim_work *work = work_of(sim, truth);
    uint32_t enough = share_up(program_load_permille(work, sim->now_us), 400);

    return work->kind == SIM_WORK_SERVE && settled_is_complete(truth) &&
           role->n_live == role->n_running && role->n_live > MAX_OF(enough, MAX_OF(role->min, 1U));
}

static bool could_grow(const struct sim *sim, const struct truth_job *truth, uint32_t r)
{
    const struct truth_role *role = &truth->roles[r];
    const struct role_spec *spec = &spec_of(sim, truth)->roles[r];

    return settled_is_elastic(sim, truth, r) && settled_is_complete(truth) &&
           !settled_is_finishing(truth) && role->n_live < most_that_grow(sim, truth, role) &&
           role->n_live == role->n_running && settled_nobody_failed(role) &&
           (work_of(sim, truth)->kind == SIM_WORK_SERVE ||
            !cluster_job_leaves_room(sim->server->cluster, truth->id, STALL_MOST_S)) &&
           has_room_for_one(sim, role, spec) && load_allows(sim, spec);
}

static void check_growth(struct sim *sim, struct truth_job *truth, bool settled)
{
    for (uint32_t r = 0; r < truth->n_roles; r++) {
        struct truth_role *role = &truth->roles[r];

        if (settled_lasts(sim, &role->small_since_us, settled && could_grow(sim, truth, r),
                          GROWTH_LIMIT_US))
            violate(sim, "growth", "job %s has %u of its %u %s, and for %.0f s there is room",
                    truth->name, role->n_live, role->max, role->name,
                    (double)(sim->now_us - role->small_since_us) / 1e6);
        if (settled_lasts(sim, &role->idle_since_us, has_too_many(sim, truth, role), IDLE_LIMIT_US))
            violate(sim, "backlog", "job %s has %u %s for %.0f s, and fewer have work", truth->name,
                    role->n_live, role->name, (double)(sim->now_us - role->idle_since_us) / 1e6);
    }
}

/* What is to leave a draining node has a claim on what it needs elsewhere, also when it has no
 * place there yet. What is never moved has none. */
static bool anybody_is_to_move(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct unit *unit;

        DL_FOREACH(sim->nodes[i]->units, unit)
        if (sim->nodes[i]->wanted == NODE_DRAINING && is_there(unit) &&
            spec_of(sim, unit->job)->fault_tolerant &&
            !(settled_is_finishing(unit->job) && program_works_on_data(unit)))
            return true;
    }
    return false;
}

void check_settled(struct sim *sim)
{
    bool settled = sim->server->up && !anybody_waits(sim);

    for (uint32_t i = 0; sim->server->up && i < sim->n_nodes; i++) {
        check_drain(sim, sim->nodes[i], settled);
        check_foreign(sim, sim->nodes[i]);
    }
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++)
        if (sim->ledger.jobs[id] != NULL)
            check_growth(sim, sim->ledger.jobs[id], settled && !anybody_is_to_move(sim));
}
