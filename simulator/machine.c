/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - machines, the supervisors on them, and the folders that survive everything
 *
 * A supervisor lives and dies with its program and needs no agent: it looks at the lease file
 * (agent/core/fence) and writes the end into the folder. A frozen machine does nothing at all while
 * its boot clock goes on. When it thaws, everything that is late happens at once, in its order. */
#include "simulator/check_starts.h"
#include "simulator/internal.h"
#include "simulator/promises.h"

#include <utlist.h>

/* as agent/processes/process.c and agent/processes/child.c say it */
#define START_FAILED_REASON "cannot start: cannot execute train: No such file or directory"
#define AGENT_BOOT_US (2 * USEC_PER_SEC)

struct unit *machine_unit(struct sim_node *node, uint64_t serial)
{
    struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (unit->serial == serial)
        return unit;
    return NULL;
}

/* What broke a promise when it started lives no further: the simulation ends with this event. */
static bool is_there(const struct unit *unit)
{
    return unit->job != NULL && (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING);
}

/* --- supervisors --- */

void unit_look(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;
    struct fence_verdict verdict;
    bool was_fenced = unit->fence.fenced;
    uint64_t at_us;

    if (!is_there(unit))
        return;
    verdict = fence_look(&unit->fence, freezing_lease(sim, unit), node_boot_us(sim, node));
    if (verdict.freeze)
        freezing_begin(sim, unit);
    if (verdict.thaw)
        freezing_end(sim, unit);
    if (unit->fence.fenced && !was_fenced)
        ledger_unit_fenced(sim, unit);
    if (verdict.term && !unit->told) {
        unit->told = true;
        ledger_unit_told(sim, unit);
        program_terminate(sim, unit);
    }
    if (!is_there(unit))
        return;
    if (verdict.kill && !unit->told && unit->fence.cause == FENCE_STOPPED) {
        unit->told = true; /* as it stands */
        ledger_unit_told(sim, unit);
    }
    if (verdict.kill) {
        freezing_check_end(sim, unit);
        ledger_unit_killed(sim, unit);
        unit_exit(sim, unit, 137, 9, NULL);
        return;
    }
    verdict.look_at_us = freezing_look_at(sim, unit, verdict.look_at_us);
    if (verdict.look_at_us == NEVER_US) {
        unit->supervisor_at_us = NEVER_US;
        return;
    }
    at_us = MAX_OF(node_when_us(node, verdict.look_at_us), sim->now_us);
    if (at_us == unit->supervisor_at_us)
        return;
    unit->supervisor_at_us = at_us;
    sim_at(sim, at_us, EVENT_SUPERVISOR, node->number, unit->serial, NULL);
}

void on_supervisor(struct sim *sim, struct sim_node *node, uint64_t serial)
{
    struct unit *unit = machine_unit(node, serial);

    if (unit == NULL || sim->now_us < unit->supervisor_at_us)
        return;
    unit->supervisor_at_us = NEVER_US;
    unit_look(sim, unit);
}

/* --- units --- */

/* The mutants of the supervisor. */
static uint64_t fence_lease_us(const struct sim *sim, uint64_t lease_us)
{
    if (sim->config.mutant == SIM_MUTANT_FENCE_IGNORES_LEASE)
        return 0;
    if (sim->config.mutant == SIM_MUTANT_MARGIN_NONE)
        return MIN_OF(lease_us, 1U); /* nothing is done before the deadline */
    return sim->config.mutant == SIM_MUTANT_FENCE_TOO_EARLY ? 2 * lease_us : lease_us;
}

struct unit *unit_start(struct sim *sim, struct sim_node *node, const struct order *order,
                        uint64_t commit, uint64_t lease_us)
{
    struct unit *unit = xcalloc(1, sizeof *unit);
    const struct sim_work *work;

    unit->serial = ++sim->unit_serial;
    unit->node = node;
    unit->id = order->id;
    unit->role = order->role;
    unit->since_us = sim->now_us;
    unit->cpu_millicores = order->cpu_millicores;
    unit->memory_bytes = order->memory_bytes;
    unit->gpu_mask = order->gpu_mask;
    unit->n_ports = order->n_ports;
    memcpy(unit->ports, order->ports, sizeof unit->ports);
    unit->grace_us = order->grace_us;
    unit->random = stream(sim, order->id.role, order->id.job_id << 32 | order->id.index,
                          order->id.incarnation);
    unit->supervisor_at_us = unit->program_at = NEVER_US;
    DL_APPEND(node->units, unit);
    unit->keep_cut_off = order->keep_cut_off;
    fence_init(&unit->fence, order->keep_cut_off ? 0 : fence_lease_us(sim, lease_us),
               order->grace_us);
    freezing_may(sim, unit);
    TRACE(sim, "%s: %s-%u.%llu of job %llu starts", node->name, unit->id.role, unit->id.index,
          (unsigned long long)unit->id.incarnation, (unsigned long long)unit->id.job_id);
    sim_mix(sim, unit->id.job_id << 40 ^ unit->id.incarnation << 20 ^ node->number);
    ledger_unit_starts(sim, unit, commit);
    if (unit->job == NULL)
        return unit;
    work = &sim->submissions[unit->job->submission].work;
    unit->ignores = chance(&unit->random, work->ignores_sigterm_ppm);
    unit->starts_badly = chance(&unit->random, work->start_failure_ppm);
    sim_after(sim, draw(&unit->random, work->start), EVENT_UNIT, node->number, unit->serial);
    unit_look(sim, unit);
    return unit;
}

void on_unit(struct sim *sim, struct sim_node *node, uint64_t serial)
{
    struct unit *unit = machine_unit(node, serial);

    if (unit == NULL || unit->life != LIFE_STARTING || unit->frozen)
        return;
    if (unit->starts_badly || sim->now_us < node->starts_fail_until_us) {
        sim->seen[SIM_SEEN_STARTS_FAILED]++;
        check_starts_failed(sim, unit);
        unit->fault = START_FAULT_NODE;
        unit_exit(sim, unit, -1, 0, START_FAILED_REASON);
        return;
    }
    unit->life = LIFE_RUNNING;
    ledger_unit_runs(sim, unit);
    program_begin(sim, unit);
    promises_begin(sim, unit);
    agent_unit_changed(sim, unit);
}

void unit_stop(struct sim *sim, struct unit *unit, uint64_t grace_us)
{
    if (!is_there(unit))
        return;
    if (sim->config.mutant == SIM_MUTANT_STOP_THAWS && unit->frozen) {
        unit->fence.stance = FENCE_RUNS;
        freezing_end(sim, unit);
    }
    fence_stop(&unit->fence, grace_us, node_boot_us(sim, unit->node));
    unit_look(sim, unit);
}

/* A node that can be heard keeps what it runs while the scheduler listens. */
static void check_fenced(struct sim *sim, const struct unit *unit)
{
    const struct server *server = sim->server;
    uint64_t excused_us = MAX_OF(unit->node->excused_until_us, server->excused_until_us);
    bool is_lossy = sim->config.loss_ppm > 0 || sim->config.tail_ppm > 0 || sim->loss_ppm > 0;
    bool is_deaf = server->frozen || server->busy || !server->up;

    if (!is_lossy && !is_deaf && !unit->fence.freezes && sim->now_us > excused_us)
        violate(sim, "lease", "%s ends %s-%u of %s with its lease, and nothing kept it from asking",
                unit->node->name, unit->id.role, unit->id.index, unit->job->name);
}

static void count_end(struct sim *sim, const struct unit *unit, int signal)
{
    if (unit->fence.cause == FENCE_LEASE)
        check_fenced(sim, unit);
    if (unit->fence.cause == FENCE_LEASE)
        sim->seen[SIM_SEEN_ENDS_BY_FENCE]++;
    else if (unit->fence.cause == FENCE_NONE)
        sim->seen[SIM_SEEN_ENDS_THEMSELVES]++;
    else
        sim->seen[signal == 9 ? SIM_SEEN_ENDS_ON_SIGKILL : SIM_SEEN_ENDS_ON_SIGTERM]++;
}

/* unit_exit - the supervisor writes the end down; reason NULL: as it was asked to end */
void unit_exit(struct sim *sim, struct unit *unit, int code, int signal, const char *reason)
{
    if (!is_there(unit))
        return;
    TRACE(sim, "%s: %s-%u.%llu of job %llu ends: %d", unit->node->name, unit->id.role,
          unit->id.index, (unsigned long long)unit->id.incarnation,
          (unsigned long long)unit->id.job_id, code);
    unit->exit_code = code;
    ledger_unit_gone(sim, unit);
    count_end(sim, unit, signal);
    unit->life = LIFE_GONE;
    unit->exit_signal = signal;
    unit->exit_cause = fence_exit_cause(unit->fence.cause, EXIT_CAUSE_PROGRAM);
    unit->exit_reason = unit->fence.cause != FENCE_NONE ? fence_say(unit->fence.cause)
                        : reason != NULL                ? reason
                                                        : "";
    unit->call = 0;
    unit->program_at = NEVER_US;
    agent_unit_changed(sim, unit);
}

void unit_forget(struct sim *sim, struct unit *unit)
{
    (void)sim;
    DL_DELETE(unit->node->units, unit);
    free(unit);
}

/* --- machines --- */

static void all_gone(struct sim *sim, struct sim_node *node)
{
    struct unit *unit;

    DL_FOREACH(node->units, unit)
    {
        if (!is_there(unit))
            continue;
        ledger_unit_gone(sim, unit);
        sim->seen[SIM_SEEN_ENDS_WITH_POWER]++;
        unit->life = LIFE_LOST;
        unit->call = 0;
        unit->program_at = NEVER_US;
    }
}

void machine_lose_power(struct sim *sim, struct sim_node *node)
{
    if (!node->up)
        return;
    TRACE(sim, "%s: power is lost", node->name);
    machine_thaw(sim, node);
    agent_free_shell(node);
    node->up = false; /* nothing of it ended by itself */
    all_gone(sim, node);
}

void machine_tell_offer(const struct sim *sim, struct sim_node *node)
{
    struct offer_told *told = xcalloc(1, sizeof *told);
    struct node_offer *most = &node->most;

    told->offer = node->offer;
    if (sim->config.mutant == SIM_MUTANT_CAPACITY_DOUBLED)
        told->offer.cpu_millicores *= 2;
    LL_PREPEND(node->told, told);
    most->cpu_millicores = MAX_OF(most->cpu_millicores, node->offer.cpu_millicores);
    most->memory_bytes = MAX_OF(most->memory_bytes, node->offer.memory_bytes);
    most->gpus = MAX_OF(most->gpus, node->offer.gpus);
}

static bool is_less(const struct node_offer *offer, const struct node_offer *most)
{
    return offer->cpu_millicores < most->cpu_millicores ||
           offer->memory_bytes < most->memory_bytes || offer->gpus < most->gpus;
}

bool machine_offers_less(const struct sim_node *node)
{
    return is_less(&node->offer, &node->most);
}

bool machine_told_less(const struct sim_node *node)
{
    const struct offer_told *told;

    LL_FOREACH(node->told, told)
    if (is_less(&told->offer, &node->most))
        return true;
    return false;
}

void machine_boot(struct sim *sim, struct sim_node *node)
{
    if (node->up)
        return;
    node->boots++;
    (void)snprintf(node->boot_id, sizeof node->boot_id, "%u-%u", node->number, node->boots);
    node->boot_base_us = sim->now_us;
    node->lease = (struct lease_word){ 0 }; /* a deadline of another boot is worth nothing */
    node->up = true;
    TRACE(sim, "%s: boot %u", node->name, node->boots);
    sim_after(sim, AGENT_BOOT_US, EVENT_AGENT_START, node->number, 0);
}

void machine_freeze(struct sim *sim, struct sim_node *node, bool agent_only)
{
    if (!node->up)
        return;
    TRACE(sim, "%s: %s freezes", node->name, agent_only ? "agent" : "machine");
    sim->seen[agent_only ? SIM_SEEN_AGENTS_FROZEN : SIM_SEEN_MACHINES_FROZEN]++;
    if (agent_only)
        node->agent_frozen = true;
    else
        node->frozen = true;
}

static void thaw_late(struct sim *sim, struct sim_node *node)
{
    TRACE(sim, "%s: thaws", node->name);
    for (size_t i = 0; i < node->n_late; i++) {
        const struct event *late = &node->late[i];

        if (sim->config.mutant != SIM_MUTANT_THAW_UNFENCED || late->kind != EVENT_SUPERVISOR)
            sim_at(sim, sim->now_us, late->kind, late->a, late->b, late->p);
    }
    node->n_late = 0;
    if (node->frozen)
        return;
    node->thawed_us = sim->now_us;
    sim_after(sim, 1, EVENT_THAWED, node->number, 0); /* others may thaw now, too */
}

void machine_thaw(struct sim *sim, struct sim_node *node)
{
    if (!node->frozen && !node->agent_frozen)
        return;
    node->frozen = node->agent_frozen = false;
    thaw_late(sim, node);
}

void machine_thaw_part(struct sim *sim, struct sim_node *node, bool agent_only)
{
    bool *frozen = agent_only ? &node->agent_frozen : &node->frozen;

    if (!*frozen)
        return;
    *frozen = false;
    thaw_late(sim, node); /* what is still held back is kept again */
}

static void keep(struct event **list, size_t *n, size_t *cap, const struct event *event)
{
    if (*n == *cap) {
        *cap = *cap ? 2 * *cap : 32;
        *list = xreallocarray(*list, *cap, sizeof **list);
    }
    (*list)[(*n)++] = *event;
}

static bool is_of_agent(const struct event *event)
{
    const struct message *message = event->p;

    switch (event->kind) {
    case EVENT_AGENT_START:
    case EVENT_AGENT_TIMER:
    case EVENT_TAIL:
        return true;
    case EVENT_DELIVER:
        return message->answer && message->node != NOBODY;
    default:
        return false;
    }
}

static bool is_of_machine(const struct event *event)
{
    return is_of_agent(event) || event->kind == EVENT_UNIT || event->kind == EVENT_SUPERVISOR ||
           event->kind == EVENT_PROGRAM || event->kind == EVENT_FROZEN ||
           event->kind == EVENT_THAW || event->kind == EVENT_STOOD || event->kind == EVENT_ALIVE;
}

static bool is_of_server(const struct event *event)
{
    const struct message *message = event->p;

    switch (event->kind) {
    case EVENT_COMMITTED:
    case EVENT_SERVER_TIMER:
    case EVENT_POLL_END:
    case EVENT_LEASE_END:
    case EVENT_DATABASE_SAYS:
    case EVENT_PROOF:
    case EVENT_SILENT:
    case EVENT_CANDIDATE:
    case EVENT_REPORT_WAITED:
        return true;
    case EVENT_DELIVER:
        return !message->answer;
    default:
        return false;
    }
}

bool machine_defers(struct sim *sim, const struct event *event)
{
    struct sim_node *node;

    if (sim->server->frozen && is_of_server(event)) {
        keep(&sim->server->late, &sim->server->n_late, &sim->server->cap_late, event);
        return true;
    }
    if (!is_of_machine(event))
        return false;
    node = sim->nodes[event->a];
    if (!node->frozen && !(node->agent_frozen && is_of_agent(event)))
        return false;
    keep(&node->late, &node->n_late, &node->cap_late, event);
    return true;
}

void machine_done(struct sim_node *node)
{
    struct offer_told *told;
    struct offer_told *told_next;
    struct unit *unit;
    struct unit *next;

    agent_free_shell(node);
    LL_FOREACH_SAFE(node->told, told, told_next)
    {
        LL_DELETE(node->told, told);
        free(told);
    }
    DL_FOREACH_SAFE(node->units, unit, next)
    {
        DL_DELETE(node->units, unit);
        free(unit);
    }
    free(node->late);
    free(node);
}
