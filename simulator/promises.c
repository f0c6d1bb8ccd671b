/* SPDX-License-Identifier: Apache-2.0 */
/* promises.c - see promises.h
 *
 * Nothing but a program that hangs is to be killed. A frozen program says nothing, and so does one
 * on a frozen machine. An agent that stands still hears nothing, and the program says it again. */
#include "simulator/promises.h"

#include <inttypes.h>

#include <utlist.h>

#include "simulator/internal.h"

#define WITHIN_US (3 * USEC_PER_SEC)
#define SAYS_EACH_US (WITHIN_US / 6)
#define KILLED_BY_US (WITHIN_US + 5 * USEC_PER_SEC) /* in the calm, from when it hangs */

static bool runs(const struct unit *unit)
{
    return unit->job != NULL && unit->life == LIFE_RUNNING;
}

static bool hangs(const struct unit *unit)
{
    return unit->step == STEP_HANG;
}

static bool is_heard(const struct sim_node *node)
{
    return node->agent != NULL && !node->frozen && !node->agent_frozen;
}

static void say_later(struct sim *sim, const struct unit *unit)
{
    sim_after(sim, SAYS_EACH_US, EVENT_ALIVE, unit->node->number, unit->serial);
}

void promises_begin(struct sim *sim, struct unit *unit)
{
    if (sim->config.promises)
        sim_after(sim, 0, EVENT_ALIVE, unit->node->number, unit->serial);
}

void promises_event(struct sim *sim, const struct event *event)
{
    struct sim_node *node = sim->nodes[event->a];
    struct unit *unit = machine_unit(node, event->b);

    if (unit == NULL || !runs(unit) || hangs(unit))
        return;
    say_later(sim, unit);
    if (unit->frozen || !is_heard(node))
        return;
    unit->said_us = sim->now_us;
    unit->promised_us = WITHIN_US;
    agent_said_alive(sim, unit);
}

void promises_adopt(struct sim *sim, const struct unit *unit)
{
    struct agent_core *core = unit->node->agent->core;

    if (unit->promised_us > 0 && sim->config.mutant != SIM_MUTANT_PROMISE_FORGOTTEN)
        (void)agent_core_promised(core, &unit->id, unit->promised_us,
                                  node_boot_us(sim, unit->node));
}

static void check_silent(struct sim *sim, const struct unit *unit)
{
    if (unit->fence.cause == FENCE_SILENT && !hangs(unit))
        violate(sim, "alive", "%s-%u.%" PRIu64 " of job %s is killed on %s for its silence, %s",
                unit->id.role, unit->id.index, unit->id.incarnation, unit->job->name,
                unit->node->name, unit->frozen ? "and was frozen" : "and goes on");
}

void promises_broken(struct sim *sim, struct unit *unit)
{
    if (!runs(unit))
        return;
    fence_silent(&unit->fence, node_boot_us(sim, unit->node));
    check_silent(sim, unit);
    sim->seen[SIM_SEEN_PROMISES_BROKEN] += unit->fence.cause == FENCE_SILENT;
    unit_look(sim, unit);
}

void promises_spoil(struct sim *sim, struct sim_node *node)
{
    struct unit *unit;

    if (sim->config.mutant != SIM_MUTANT_SILENT_FROZEN)
        return;
    DL_FOREACH(node->units, unit)
    {
        if (!runs(unit) || !unit->frozen || unit->promised_us == 0 ||
            sim->now_us - unit->said_us < unit->promised_us)
            continue;
        unit->fence.stance = FENCE_RUNS;
        promises_broken(sim, unit);
        return; /* the list has changed */
    }
}

static bool should_end(const struct sim *sim, const struct unit *unit)
{
    const struct sim_node *node = unit->node;

    return runs(unit) && hangs(unit) && unit->promised_us > 0 && !unit->told && !unit->frozen &&
           is_heard(node) && sim->server->up &&
           node_boot_us(sim, node) < fence_freeze_at(node->lease.deadline_us, sim->config.lease_us);
}

void promises_check_calm(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        struct unit *unit;

        DL_FOREACH(sim->nodes[i]->units, unit)
        if (settled_lasts(sim, &unit->mute_since_us, should_end(sim, unit), KILLED_BY_US))
            violate(sim, "alive", "%s-%u.%" PRIu64 " of job %s hangs on %s in spite of its promise",
                    unit->id.role, unit->id.index, unit->id.incarnation, unit->job->name,
                    unit->node->name);
    }
}
