/* SPDX-License-Identifier: Apache-2.0 */
/* freezing.c - see freezing.h
 *
 * To be frozen stops a program at once; that it is complete is seen later. Now and then one of its
 * children cannot be stopped, as a fork bomb's: then it is not seen. The agent's word to thaw is a
 * signal, which its supervisor may take late: machines are busy. */
#include "simulator/freezing.h"

#include <inttypes.h>

#include <utlist.h>

#include "simulator/internal.h"

#define LEAST_US 300 /* one process; a fork bomb takes */
#define MOST_US (40 * USEC_PER_MSEC)
#define ESCAPES_PPM 20000
#define THAW_MOST_US (2 * USEC_PER_MSEC)
#define THAW_LATE_MOST_US (300 * USEC_PER_SEC) /* but for the next gap, or the calm */
#define NO_GROUPS_ONE_IN 5                     /* nodes where nothing can be frozen */
#define CALM_LIMIT_US (5 * USEC_PER_SEC)
#define AWAY_MOST_US (60 * USEC_PER_SEC)
#define CLOCK_PART 10 /* clocks of nodes go faster or slower by less */
#define DEFAULT_KILL_US (900 * USEC_PER_SEC)

static uint64_t cut_off_kill_us(const struct sim *sim)
{
    return sim->config.cut_off_kill_us != 0 ? sim->config.cut_off_kill_us : DEFAULT_KILL_US;
}

static bool is_there(const struct unit *unit)
{
    return unit->job != NULL && (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING);
}

void freezing_new_node(struct sim *sim, struct sim_node *node)
{
    node->freeze_random = stream(sim, "freeze", node->number, 0);
    node->can_freeze = random_below(&node->freeze_random, NO_GROUPS_ONE_IN) != 0;
}

void freezing_may(const struct sim *sim, struct unit *unit)
{
    bool for_ever = sim->config.mutant == SIM_MUTANT_FROZEN_FOR_EVER;

    if (unit->node->can_freeze && unit->fence.lease_us > 0)
        fence_may_freeze(&unit->fence, for_ever ? NEVER_US : cut_off_kill_us(sim));
}

struct lease_word freezing_lease(const struct sim *sim, const struct unit *unit)
{
    struct lease_word lease = unit->node->lease;

    if (sim->config.mutant == SIM_MUTANT_FREEZE_LATE && lease.deadline_us > 0)
        lease.deadline_us += sim->config.lease_us / 3;
    if (sim->config.mutant == SIM_MUTANT_THAW_BY_LEASE && unit->fence.stance != FENCE_RUNS)
        lease.epoch = unit->fence.epoch;
    return lease;
}

uint64_t freezing_look_at(const struct sim *sim, const struct unit *unit, uint64_t look_at_us)
{
    bool polls = sim->config.mutant == SIM_MUTANT_THAW_BY_LEASE ||
                 sim->config.mutant == SIM_MUTANT_EPOCH_KEPT;

    if (!polls || unit->fence.stance == FENCE_RUNS)
        return look_at_us;
    return MIN_OF(look_at_us, node_boot_us(sim, unit->node) + FENCE_POLL_US);
}

static void arm_lease_over(struct sim *sim, struct sim_node *node)
{
    node->lease_over_due = true;
    sim_at(sim, MAX_OF(node_when_us(node, node->lease.deadline_us), sim->now_us) + 1,
           EVENT_LEASE_OVER, node->number, 0, NULL);
}

static void take_held(struct sim *sim, struct sim_node *node);

void freezing_extend(struct sim *sim, struct sim_node *node, struct lease_word lease)
{
    bool gap = lease.epoch != node->lease.epoch;

    if (lease.deadline_us <= node->lease.deadline_us)
        return;
    if (sim->config.mutant == SIM_MUTANT_EPOCH_KEPT)
        lease.epoch = node->lease.epoch;
    node->lease = lease;
    if (!node->lease_over_due)
        arm_lease_over(sim, node);
    if (gap)
        take_held(sim, node);
}

void freezing_begin(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;
    bool late = node_boot_us(sim, node) >= node->lease.deadline_us;
    uint64_t us = LEAST_US + random_below(&node->freeze_random, MOST_US - LEAST_US);

    TRACE(sim, "%s: %s-%u.%llu of job %llu freezes", node->name, unit->id.role, unit->id.index,
          (unsigned long long)unit->id.incarnation, (unsigned long long)unit->id.job_id);
    ledger_unit_fenced(sim, unit);
    unit->escapes = !late && chance(&node->freeze_random, ESCAPES_PPM);
    unit->frozen = !unit->escapes;
    unit->frozen_since_us = sim->now_us;
    if (unit->frozen)
        ledger_stands_still(sim, unit);
    unit->still_since_us = 0;
    sim->seen[SIM_SEEN_FROZEN]++;
    sim->seen[SIM_SEEN_ESCAPES] += unit->escapes;
    if (unit->life == LIFE_STARTING) /* its agent has not heard that it runs */
        fence_unfrozen(&unit->fence, node_boot_us(sim, node));
    else if (!unit->escapes || sim->config.mutant == SIM_MUTANT_FREEZE_UNVERIFIED)
        sim_after(sim, us, EVENT_FROZEN, node->number, unit->serial);
    sim_at(sim, sim->now_us + cut_off_kill_us(sim) + cut_off_kill_us(sim) / 8 + USEC_PER_SEC,
           EVENT_STOOD, node->number, unit->serial, (void *)(uintptr_t)sim->now_us); /* a number */
}

/* check_thaw - it is the one of its place, and its record says that it lives */
static void check_thaw(struct sim *sim, const struct unit *unit)
{
    const struct truth_job *truth = unit->job;
    const struct truth_process *own = &truth->processes[unit->id.incarnation];

    if (process_state_is_final(own->state))
        violate(sim, "thaw", "%s thaws %s-%u.%" PRIu64 " of job %s, which is on record as %s",
                unit->node->name, unit->id.role, unit->id.index, unit->id.incarnation, truth->name,
                process_state_to_string(own->state));
    for (uint64_t i = unit->id.incarnation + 1; i < truth->n_processes; i++)
        if (truth->processes[i].exists && truth->processes[i].role == unit->role &&
            truth->processes[i].index == unit->id.index)
            violate(sim, "thaw",
                    "%s thaws %s-%u.%" PRIu64 " of job %s, whose place %" PRIu64 " has",
                    unit->node->name, unit->id.role, unit->id.index, unit->id.incarnation,
                    truth->name, i);
}

/* Work that was being done goes on where it was; the time of a call goes on meanwhile. */
void freezing_end(struct sim *sim, struct unit *unit)
{
    uint64_t stood_us = sim->now_us - unit->frozen_since_us;

    TRACE(sim, "%s: %s-%u.%llu of job %llu thaws", unit->node->name, unit->id.role, unit->id.index,
          (unsigned long long)unit->id.incarnation, (unsigned long long)unit->id.job_id);
    check_thaw(sim, unit);
    sim->seen[SIM_SEEN_THAWED]++;
    unit->escapes = false;
    if (!unit->frozen)
        return;
    unit->frozen = false;
    unit->runs_since_us += stood_us;
    ledger_goes_on(sim, unit);
    unit->steps.since_us += stood_us;
    if (unit->program_at != NEVER_US) {
        unit->program_at = MAX_OF(unit->program_at + (unit->call == 0 ? stood_us : 0), sim->now_us);
        sim_at(sim, unit->program_at, EVENT_PROGRAM, unit->node->number, unit->serial, NULL);
    }
    agent_unit_changed(sim, unit);
}

static void send_thaw(struct sim *sim, struct unit *unit, uint64_t us)
{
    sim_at(sim, sim->now_us + us, EVENT_THAW, unit->node->number, unit->serial,
           (void *)(uintptr_t)unit->thaw_epoch); /* a number, nobody looks there */
}

void freezing_thaw(struct sim *sim, struct unit *unit, uint16_t epoch)
{
    struct sim_node *node = unit->node;

    if (unit->thaw_held) /* a second signal is the first one, as long as that was not taken */
        return;
    unit->thaw_held = chance(&node->freeze_random, sim->config.thaw_late_ppm);
    unit->thaw_epoch = epoch;
    send_thaw(sim, unit,
              unit->thaw_held ? random_below(&node->freeze_random, THAW_LATE_MOST_US)
                              : random_below(&node->freeze_random, THAW_MOST_US));
}

/* take_held - at the worst moment: the lease has just been renewed after another gap */
static void take_held(struct sim *sim, struct sim_node *node)
{
    struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (unit->thaw_held && is_there(unit))
        send_thaw(sim, unit, random_below(&node->freeze_random, THAW_MOST_US));
}

void freezing_calm(struct sim *sim)
{
    sim->config.thaw_late_ppm = 0;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        take_held(sim, sim->nodes[i]);
}

void freezing_thaw_all(struct sim *sim, struct sim_node *node)
{
    const struct orders_data *orders = node->agent->orders;
    struct unit *unit;

    if (sim->config.mutant != SIM_MUTANT_THAW_OLD_ORDERS || orders == NULL)
        return;
    DL_FOREACH(node->units, unit)
    for (size_t i = 0; i < orders->n; i++)
        if (is_there(unit) && unit->frozen && orders->items[i].run &&
            process_id_equal(&orders->items[i].id, &unit->id))
            freezing_thaw(sim, unit, node->lease.epoch);
}

static void on_thaw(struct sim *sim, struct unit *unit, uint16_t epoch)
{
    struct lease_word lease = freezing_lease(sim, unit);

    unit->thaw_held = false;
    if (sim->config.mutant == SIM_MUTANT_THAW_STALE)
        epoch = lease.epoch;
    if (fence_thaw(&unit->fence, epoch, lease, node_boot_us(sim, unit->node)))
        freezing_end(sim, unit);
}

static void on_stood(struct sim *sim, const struct unit *unit, uint64_t since_us)
{
    if (unit->frozen && unit->frozen_since_us == since_us)
        violate(sim, "thaw", "%s: %s-%u.%" PRIu64 " of job %s is frozen for %.0f s",
                unit->node->name, unit->id.role, unit->id.index, unit->id.incarnation,
                unit->job->name, (double)(sim->now_us - unit->frozen_since_us) / 1e6);
}

static void on_lease_over(struct sim *sim, struct sim_node *node)
{
    node->lease_over_due = false;
    if (!node->up)
        return;
    if (node_boot_us(sim, node) <= node->lease.deadline_us)
        arm_lease_over(sim, node);
    else
        freezing_check_node(sim, node);
}

void freezing_event(struct sim *sim, const struct event *event)
{
    struct sim_node *node = sim->nodes[event->a];
    struct unit *unit;

    if (event->kind == EVENT_LEASE_OVER) {
        on_lease_over(sim, node);
        return;
    }
    unit = machine_unit(node, event->b);
    if (unit == NULL || !is_there(unit))
        return;
    if (event->kind == EVENT_STOOD) {
        on_stood(sim, unit, (uintptr_t)event->p);
    } else if (event->kind == EVENT_FROZEN) {
        fence_verified(&unit->fence);
        agent_unit_changed(sim, unit);
    } else {
        on_thaw(sim, unit, (uint16_t)(uintptr_t)event->p);
    }
    unit_look(sim, unit);
}

void freezing_check_node(struct sim *sim, const struct sim_node *node)
{
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (is_there(unit) && !unit->keep_cut_off && ledger_unit_acts(sim, unit) &&
        node_boot_us(sim, node) > node->lease.deadline_us)
        violate(sim, "frozen", "%s-%u.%" PRIu64 " of job %s acts on %s, whose lease is over",
                unit->id.role, unit->id.index, unit->id.incarnation, unit->job->name, node->name);
}

/* Its node was called lost, and what was told to it since says that it is to end. */
static bool is_superseded(const struct unit *unit)
{
    return unit->fence.cause == FENCE_STOPPED &&
           unit->job->processes[unit->id.incarnation].state == PROCESS_LOST;
}

/* Its lease ended it, or its node was called lost, though it could stand still, and nothing but the
 * scheduler was away. */
void freezing_check_end(struct sim *sim, const struct unit *unit)
{
    bool is_lossy = sim->config.loss_ppm > 0 || sim->config.tail_ppm > 0 || sim->loss_ppm > 0;
    bool by_lease = unit->fence.freezes && unit->fence.cause == FENCE_LEASE;
    uint64_t most_us = MIN_OF(AWAY_MOST_US, cut_off_kill_us(sim));
    bool is_old = sim->now_us - unit->frozen_since_us >= most_us - most_us / CLOCK_PART;

    if ((by_lease || is_superseded(unit)) && unit->life == LIFE_RUNNING && unit->frozen &&
        !is_old && !is_lossy && sim->now_us > unit->node->excused_until_us)
        violate(sim, "undisturbed", "%s-%u.%" PRIu64 " of job %s is killed on %s %s", unit->id.role,
                unit->id.index, unit->id.incarnation, unit->job->name, unit->node->name,
                by_lease ? "with its lease" : "as its place is another's");
}

static bool can_go_on(const struct sim *sim, const struct sim_node *node)
{
    return sim->server->up && node->up && !node->frozen && !node->agent_frozen &&
           node->agent != NULL &&
           node_boot_us(sim, node) < fence_term_at(node->lease.deadline_us, sim->config.lease_us);
}

void freezing_check_calm(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        struct unit *unit;

        DL_FOREACH(sim->nodes[i]->units, unit)
        if (settled_lasts(sim, &unit->still_since_us,
                          is_there(unit) && unit->frozen && can_go_on(sim, sim->nodes[i]),
                          CALM_LIMIT_US))
            violate(sim, "thaw", "%s is heard, and %s-%u.%" PRIu64 " of job %s is frozen still",
                    sim->nodes[i]->name, unit->id.role, unit->id.index, unit->id.incarnation,
                    unit->job->name);
    }
}
