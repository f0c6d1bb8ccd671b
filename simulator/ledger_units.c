/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_units.c - what really runs, and the promises that speak of it
 *
 * Each check is made when something starts, against what is really there at that moment: an
 * incarnation acts while it is there, unless its machine is frozen beyond the end of its lease
 * (then it does nothing until its supervisor kills it; one that is to be kept goes on), or it is
 * frozen itself (freezing.h). */
#include <inttypes.h>

#include <utlist.h>

#include "simulator/internal.h"

bool ledger_unit_acts(const struct sim *sim, const struct unit *unit)
{
    bool frozen = unit->node->frozen || unit->node->thawed_us == sim->now_us;

    if (unit->frozen)
        return false;
    return !frozen || unit->keep_cut_off ||
           node_boot_us(sim, unit->node) < unit->node->lease.deadline_us;
}

static bool is_there(const struct unit *unit)
{
    return unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING;
}

static void account(struct sim *sim, struct truth_job *truth, int64_t cpu_millicores)
{
    truth->cpu_used_us += truth->cpu_now * (sim->now_us - truth->cpu_since_us) / 1000;
    truth->cpu_since_us = sim->now_us;
    truth->cpu_now = (uint64_t)((int64_t)truth->cpu_now + cpu_millicores);
}

static void check_slot(struct sim *sim, const struct unit *unit, const struct truth_slot *slot)
{
    const struct unit *other;

    DL_FOREACH2(slot->live, other, slot_next)
    if (ledger_unit_acts(sim, other))
        violate(sim, "one-incarnation",
                "two incarnations of job %s %s-%u act: %" PRIu64 " on %s starts, %" PRIu64
                " is still on %s",
                unit->job->name, unit->id.role, unit->id.index, unit->id.incarnation,
                unit->node->name, other->id.incarnation, other->node->name);
}

/* What it gets is what the job asked for, where it asked for it. */
static void check_grant(struct sim *sim, const struct unit *unit)
{
    const struct role_spec *role = &sim->submissions[unit->job->submission].spec->roles[unit->role];
    const struct node_offer *offer = &unit->node->offer;
    const char *node = role_node(role, unit->id.index);
    bool in_range = true;

    for (uint32_t i = 0; i < unit->n_ports; i++)
        in_range =
            in_range && unit->ports[i] >= offer->port_first && unit->ports[i] <= offer->port_last;
    if (unit->cpu_millicores != role->cpu_millicores || unit->memory_bytes != role->memory_bytes ||
        (uint32_t)__builtin_popcountll(unit->gpu_mask) != role->gpus ||
        unit->n_ports != role->n_ports || !in_range)
        violate(sim, "grant",
                "job %s: %s-%u starts on %s with %" PRIu64 "m, %" PRIu64 " bytes, GPUs %" PRIx64
                " and %u ports; the job asks for %" PRIu64 "m, %" PRIu64
                " bytes, %u GPUs, %u ports",
                unit->job->name, unit->id.role, unit->id.index, unit->node->name,
                unit->cpu_millicores, unit->memory_bytes, unit->gpu_mask, unit->n_ports,
                role->cpu_millicores, role->memory_bytes, role->gpus, role->n_ports);
    if (!labels_cover(&offer->labels, role_selector(role)))
        violate(sim, "selector", "job %s: %s-%u starts on %s, which lacks the labels that it wants",
                unit->job->name, unit->id.role, unit->id.index, unit->node->name);
    if (node != NULL && !streq(node, unit->node->name))
        violate(sim, "pinned", "job %s: %s-%u starts on %s, and its document says %s",
                unit->job->name, unit->id.role, unit->id.index, unit->node->name, node);
    sim->seen[SIM_SEEN_STARTS]++;
    sim->seen[SIM_SEEN_STARTS_WITH_GPU] += role->gpus > 0;
    sim->seen[SIM_SEEN_STARTS_PINNED] += node != NULL;
    sim->seen[SIM_SEEN_STARTS_BY_SELECTOR] += role_selector(role)->n > 0;
}

static bool share_a_port(const struct unit *a, const struct unit *b)
{
    for (uint32_t i = 0; i < a->n_ports; i++)
        for (uint32_t j = 0; j < b->n_ports; j++)
            if (a->ports[i] == b->ports[j])
                return true;
    return false;
}

static void check_node(struct sim *sim, const struct unit *unit)
{
    const struct sim_node *node = unit->node;
    const struct unit *other;

    if (node->cpu_used + unit->cpu_millicores > node->offer.cpu_millicores ||
        node->memory_used + unit->memory_bytes > node->offer.memory_bytes)
        violate(sim, "capacity",
                "%s is over-committed: %" PRIu64 "m and %" PRIu64 " bytes are in use, %" PRIu64
                "m and %" PRIu64 " bytes more start",
                node->name, node->cpu_used, node->memory_used, unit->cpu_millicores,
                unit->memory_bytes);
    DL_FOREACH(node->units, other)
    {
        if (other == unit || !is_there(other))
            continue;
        if ((other->gpu_mask & unit->gpu_mask) != 0)
            violate(sim, "capacity", "%s: two processes have the same GPU", node->name);
        if (share_a_port(other, unit))
            violate(sim, "capacity", "%s: two processes have the same port", node->name);
    }
    if (node->offer.gpus < NODE_GPUS_MAX && unit->gpu_mask >> node->offer.gpus != 0)
        violate(sim, "capacity", "%s: a GPU is granted that it does not have", node->name);
}

/* Known of the core: a slot whose index is not below max (it was scaled down, and others stopped)
 * is not due when its process is moved off a draining node; a fresh one starts without waiting for
 * the end of the old one. */
static bool is_moved_beyond_max(const struct unit *unit, uint32_t max)
{
    return unit->id.index >= max && unit->node->wanted == NODE_DRAINING &&
           unit->job->processes[unit->id.incarnation].state == PROCESS_STOPPING;
}

static void check_bounds(struct sim *sim, const struct unit *unit, const struct truth_role *role)
{
    uint32_t max =
        sim->now_us < role->max_before_until_us ? MAX_OF(role->max, role->max_before) : role->max;
    uint32_t n = 1;

    if (role->n_live < max)
        return;
    for (uint32_t i = 0; i < role->n_slots; i++) {
        const struct unit *other;

        DL_FOREACH2(role->slots[i].live, other, slot_next)
        n += !other->told && ledger_unit_acts(sim, other) && !is_moved_beyond_max(other, max);
    }
    if (n > max)
        violate(sim, "bounds", "job %s has %u of %s, more than %u", unit->job->name, n, role->name,
                max);
}

static void check_thawed(struct sim *sim, const struct unit *unit)
{
    const struct truth_role *role = &unit->job->roles[unit->role];
    uint32_t max =
        sim->now_us < role->max_before_until_us ? MAX_OF(role->max, role->max_before) : role->max;
    const struct unit *other;
    uint32_t n = 0;

    DL_FOREACH2(role->slots[unit->id.index].live, other, slot_next)
    if (other != unit && ledger_unit_acts(sim, other))
        violate(sim, "one-incarnation",
                "%s thaws with job %s %s-%u.%" PRIu64 ", of which %" PRIu64 " acts on %s",
                unit->node->name, unit->job->name, unit->id.role, unit->id.index,
                unit->id.incarnation, other->id.incarnation, other->node->name);
    for (uint32_t i = 0; i < role->n_slots; i++)
        DL_FOREACH2(role->slots[i].live, other, slot_next)
    n += !other->told && ledger_unit_acts(sim, other);
    if (n > max && !unit->told)
        violate(sim, "bounds", "%s thaws, and job %s has %u of %s, more than %u", unit->node->name,
                unit->job->name, n, role->name, max);
}

void ledger_node_thawed(struct sim *sim, const struct sim_node *node)
{
    const struct unit *unit;

    if (node->frozen)
        return;
    DL_FOREACH(node->units, unit)
    if (unit->job != NULL && is_there(unit) && !unit->frozen)
        check_thawed(sim, unit);
    freezing_check_node(sim, node);
}

static void check_committed(struct sim *sim, const struct unit *unit, uint64_t commit)
{
    const struct truth_process *known = unit->id.incarnation < unit->job->n_processes
                                            ? &unit->job->processes[unit->id.incarnation]
                                            : NULL;

    if (known == NULL || !known->exists || commit > sim->commits)
        violate(sim, "uncommitted",
                "job %s: incarnation %" PRIu64 " starts on %s without a committed event",
                unit->job->name, unit->id.incarnation, unit->node->name);
    else if (known->node != unit->node->number || known->index != unit->id.index)
        violate(sim, "uncommitted",
                "job %s: incarnation %" PRIu64 " starts on %s, where it was not put",
                unit->job->name, unit->id.incarnation, unit->node->name);
    else if (known->began)
        violate(sim, "one-incarnation", "job %s: incarnation %" PRIu64 " starts a second time",
                unit->job->name, unit->id.incarnation);
    else if (process_state_is_final(known->state))
        violate(sim, "stale-start",
                "job %s: incarnation %" PRIu64 " starts on %s, but is on record as %s",
                unit->job->name, unit->id.incarnation, unit->node->name,
                process_state_to_string(known->state));
    if (!unit->job->gang_complete)
        violate(sim, "gang", "job %s: %s-%u starts before the whole gang has its place",
                unit->job->name, unit->id.role, unit->id.index);
}

void ledger_unit_starts(struct sim *sim, struct unit *unit, uint64_t commit)
{
    struct truth_job *truth = ledger_job(sim, unit->id.job_id);
    struct truth_role *role;
    struct truth_slot *slot;

    if (truth == NULL || unit->role >= truth->n_roles) {
        violate(sim, "uncommitted",
                "%s: a process of job %" PRIu64 " starts, which was never committed",
                unit->node->name, unit->id.job_id);
        return;
    }
    unit->job = truth;
    role = &truth->roles[unit->role];
    check_committed(sim, unit, commit);
    if (sim->violated || unit->id.index >= role->n_slots) {
        unit->job = NULL; /* it is in no list: nobody may look for it there */
        return;
    }
    slot = &role->slots[unit->id.index];
    check_slot(sim, unit, slot);
    check_grant(sim, unit);
    check_node(sim, unit);
    check_bounds(sim, unit, role);
    sim->seen[SIM_SEEN_STARTS_AGAIN] += slot->used;
    slot->used = true;
    DL_APPEND2(slot->live, unit, slot_prev, slot_next);
    role->n_live++;
    truth->n_live++;
    truth->processes[unit->id.incarnation].began = true;
    truth->processes[unit->id.incarnation].boot = unit->node->boots;
    unit->node->cpu_used += unit->cpu_millicores;
    unit->node->memory_used += unit->memory_bytes;
    account(sim, truth, (int64_t)unit->cpu_millicores);
}

void ledger_unit_runs(struct sim *sim, struct unit *unit)
{
    struct truth_job *truth = unit->job;

    truth->roles[unit->role].n_running++;
    unit->runs_since_us = sim->now_us;
    if (truth->started_us != NEVER_US)
        return;
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (truth->roles[r].n_running < truth->roles[r].min)
            return;
    truth->started_us = sim->now_us;
}

/* With 0 a trainer that was not told to end did its work; a server never does. */
static bool succeeded(const struct unit *unit, const struct truth_process *known)
{
    return known->finished && (unit->job->n_roles == 1 || !streq(unit->id.role, "pserver"));
}

static void count_failure(struct unit *unit, const struct truth_process *known)
{
    struct truth_slot *slot = &unit->job->roles[unit->role].slots[unit->id.index];

    slot->failures += unit->node->up && !process_state_is_final(known->state) &&
                      known->state != PROCESS_STOPPING && !succeeded(unit, known);
}

/* While it stands still it does not run. */
static void note_run(const struct sim *sim, struct truth_role *role, const struct unit *unit)
{
    uint64_t until_us = unit->frozen ? unit->frozen_since_us : sim->now_us;

    role->longest_us = MAX_OF(role->longest_us, until_us - MIN_OF(unit->runs_since_us, until_us));
}

/* How long a unit goes on because its node did not hear of the end tells nothing of its program. */
void ledger_units_stop(struct sim *sim, struct truth_job *truth)
{
    for (uint32_t r = 0; r < truth->n_roles; r++) {
        struct truth_role *role = &truth->roles[r];

        for (uint32_t i = 0; i < role->n_slots; i++) {
            const struct unit *unit;

            DL_FOREACH2(role->slots[i].live, unit, slot_next)
            {
                if (unit->life == LIFE_RUNNING)
                    note_run(sim, role, unit);
            }
        }
    }
}

void ledger_unit_gone(struct sim *sim, struct unit *unit)
{
    struct truth_job *truth = unit->job;
    struct truth_role *role = &truth->roles[unit->role];
    struct truth_process *known = &truth->processes[unit->id.incarnation];

    DL_DELETE2(role->slots[unit->id.index].live, unit, slot_prev, slot_next);
    if (!unit->told)
        role->n_live--;
    if (unit->life == LIFE_RUNNING) {
        if (truth->state < JOB_STOPPING) /* later ones: ledger_units_stop */
            note_run(sim, role, unit);
        if (role->n_running-- == role->min)
            role->short_since_us = sim->now_us;
    }
    truth->n_live--;
    if (known->end == END_NONE)
        known->end = unit->fence.cause != FENCE_NONE && unit->fence.cause != FENCE_SILENT
                         ? END_TOLD
                         : END_ITSELF;
    known->finished = known->end == END_ITSELF && unit->node->up && unit->exit_code == 0;
    count_failure(unit, known);
    unit->node->cpu_used -= unit->cpu_millicores;
    unit->node->memory_used -= unit->memory_bytes;
    account(sim, truth, -(int64_t)unit->cpu_millicores);
}
