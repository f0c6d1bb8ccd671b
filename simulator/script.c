/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - faults: each begins at a time and most end by themselves */
#include <utlist.h>

#include "simulator/internal.h"

static struct sim_node *target(struct sim *sim, const struct script *script)
{
    return sim->nodes[script->node % sim->n_nodes];
}

static void heal_after(struct sim *sim, const struct script *script)
{
    struct script *twin = xcalloc(1, sizeof *twin);

    *twin = *script;
    sim_at(sim, sim->now_us + script->for_us, EVENT_HEAL, 0, 0, twin);
}

/* Until the last one of a kind has healed. */
static void last_until(struct sim *sim, const struct script *script, uint64_t *until_us)
{
    sim->seen[SIM_SEEN_FAULTS_OVERLAPPING] += *until_us > sim->now_us;
    *until_us = MAX_OF(*until_us, sim->now_us + script->for_us);
}

static void cut(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);

    if (sim->calm) /* it was to follow another fault */
        return;
    if ((script->a & 1) != 0) {
        node->cut_up = true;
        last_until(sim, script, &node->cut_up_until_us);
    }
    if ((script->a & 2) != 0) {
        node->cut_down = true;
        last_until(sim, script, &node->cut_down_until_us);
    }
    sim->seen[script->a == 3 ? SIM_SEEN_CUTS_BOTH_WAYS : SIM_SEEN_CUTS_ONE_WAY]++;
    heal_after(sim, script);
}

static void slow(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);

    node->slow_us = script->a;
    last_until(sim, script, &node->slow_until_us);
    heal_after(sim, script);
}

static void loss(struct sim *sim, const struct script *script)
{
    sim->loss_ppm = (uint32_t)script->a;
    last_until(sim, script, &sim->loss_until_us);
    heal_after(sim, script);
}

static void freeze(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);
    bool agent_only = script->kind == SCRIPT_FREEZE_AGENT;

    machine_freeze(sim, node, agent_only);
    last_until(sim, script, agent_only ? &node->agent_frozen_until_us : &node->frozen_until_us);
    heal_after(sim, script);
}

static void crash_agent(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);

    if (node->frozen || node->agent == NULL)
        return;
    agent_crash(sim, node);
    sim_after(sim, script->for_us, EVENT_AGENT_START, node->number, 0);
}

static void reboot(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);

    machine_lose_power(sim, node);
    last_until(sim, script, &node->down_until_us);
    heal_after(sim, script);
}

static void kill_unit(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);
    struct unit *unit;
    uint64_t n = 0;

    DL_FOREACH(node->units, unit)
    n += unit->life == LIFE_RUNNING;
    if (n == 0 || node->frozen)
        return;
    n = script->a % n;
    DL_FOREACH(node->units, unit)
    if (unit->life == LIFE_RUNNING && n-- == 0)
        break;
    unit_exit(sim, unit, 137, 9, "killed by signal 9 (SIGKILL)");
}

/* Its program dies with it; what that had started stays frozen, until its agent kills it. */
static void kill_supervisor(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);
    struct unit *unit;
    uint64_t n = 0;

    DL_FOREACH(node->units, unit)
    n += unit->life == LIFE_RUNNING && unit->frozen;
    if (n == 0 || node->frozen)
        return;
    n = script->a % n;
    DL_FOREACH(node->units, unit)
    if (unit->life == LIFE_RUNNING && unit->frozen && n-- == 0)
        break;
    sim->seen[SIM_SEEN_SUPERVISORS_KILLED]++;
    unit_exit(sim, unit, -1, 0, "its supervisor vanished");
}

static void crash_server(struct sim *sim, const struct script *script)
{
    static const enum crash_when when[_SCRIPT_MAX] = {
        [SCRIPT_SERVER_CRASH] = CRASH_NOW,
        [SCRIPT_SERVER_CRASH_IN_COMMIT] = CRASH_IN_COMMIT,
        [SCRIPT_SERVER_CRASH_AFTER_COMMIT] = CRASH_AFTER_COMMIT,
    };

    if (!sim->server->frozen)
        server_crash(sim, when[script->kind], script->for_us);
}

/* What it tells has arrived when the cut begins, as a rule. Half of the nodes that are cut off can
 * be heard by the next one at first, and hear nothing. */
static void cut_off_later(struct sim *sim, const struct script *script)
{
    struct script cut_off = { .kind = SCRIPT_CUT, .node = script->node, .for_us = script->b };
    uint64_t kind = script->a / 4 % 6;

    cut_off.a = kind < 3 ? 1 + kind : 2;
    sim_script_at(sim, sim->now_us + USEC_PER_SEC, &cut_off);
    cut_off.a = 3;
    if (kind >= 3)
        sim_script_at(sim, sim->now_us + script->for_us + kind * USEC_PER_SEC, &cut_off);
}

static void stop_server(struct sim *sim, const struct script *script)
{
    if (script->b > 0)
        cut_off_later(sim, script);
    server_leave(sim, script->for_us, script->a % 4 == 0);
}

/* Its boot clock begins anew; wall time goes on. */
static void reboot_server(struct sim *sim, const struct script *script)
{
    if (sim->server->frozen || (!sim->server->up && !sim->server->leading.alive))
        return;
    server_crash(sim, CRASH_NOW, script->for_us);
    sim->server->boot_base_us = sim->now_us;
}

static void thaw_server(struct sim *sim)
{
    struct server *server = sim->server;

    server->frozen = false;
    server_hears_again(sim);
    for (size_t i = 0; i < server->n_late; i++)
        sim_at(sim, sim->now_us, server->late[i].kind, server->late[i].a, server->late[i].b,
               server->late[i].p);
    server->n_late = 0;
}

static void freeze_server(struct sim *sim, const struct script *script)
{
    if (!sim->server->up && !sim->server->leading.alive)
        return;
    if (!sim->server->frozen && !sim->server->busy)
        sim->server->deaf_since_us = sim->now_us;
    sim->server->frozen = true;
    sim->seen[SIM_SEEN_SCHEDULER_FREEZES]++;
    last_until(sim, script, &sim->server->frozen_until_us);
    heal_after(sim, script);
}

static void jump(struct sim *sim, const struct script *script)
{
    sim->server->wall_offset_us += (int64_t)script->a;
    sim->seen[SIM_SEEN_WALL_JUMPS]++;
}

static void slow_disk(struct sim *sim, const struct script *script)
{
    sim->server->disk_slow_us = script->a;
    last_until(sim, script, &sim->server->disk_slow_until_us);
    heal_after(sim, script);
}

static void foreign(struct sim *sim, const struct script *script)
{
    target(sim, script)->foreign_cpu = script->a;
    target(sim, script)->foreign_memory = script->b;
    sim->seen[SIM_SEEN_FOREIGN_LOADS] += script->a > 0;
    sim->seen[SIM_SEEN_FOREIGN_MEMORY] += script->b > 0;
}

static void cut_clients(struct sim *sim, const struct script *script)
{
    sim->clients_cut_up = (script->a & 1) != 0;
    sim->clients_cut_down = (script->a & 2) != 0;
    sim->seen[SIM_SEEN_CLIENTS_CUT]++;
    last_until(sim, script, &sim->clients_until_us);
    heal_after(sim, script);
}

static void stop_agent(struct sim *sim, const struct script *script)
{
    agent_stop(sim, target(sim, script), script->for_us);
}

/* It comes back with other cores, memory and GPUs. */
static void reboot_changed(struct sim *sim, const struct script *script)
{
    struct sim_node *node = target(sim, script);

    reboot(sim, script);
    if (node->up)
        return;
    node->offer.cpu_millicores =
        MAX_OF(node->offer.cpu_millicores * script->a / 1000, UINT64_C(1000));
    node->offer.memory_bytes = node->offer.memory_bytes * script->b / 1000;
    node->offer.gpus = MIN_OF(node->offer.gpus * (uint32_t)script->a / 1000, NODE_GPUS_MAX);
    sim->seen[script->a < 1000 ? SIM_SEEN_OFFERS_SMALLER : SIM_SEEN_OFFERS_LARGER]++;
    machine_tell_offer(sim, node);
}

static void regroup(struct sim *sim, const struct script *script)
{
    sim->seen[SIM_SEEN_GROUPS_CHANGED]++;
    groups_make(sim, script->a);
    server_regroup(sim);
}

static void fail_starts(struct sim *sim, const struct script *script)
{
    last_until(sim, script, &target(sim, script)->starts_fail_until_us);
}

/* What was taken out is put in again, and what was put in stays: who ran with it would wait for it
 * without end. */
static void restore_offer(struct sim *sim, struct sim_node *node)
{
    if (!machine_offers_less(node))
        return;
    machine_lose_power(sim, node);
    node->offer = node->most;
    machine_tell_offer(sim, node);
}

static void calm_server(struct sim *sim)
{
    sim->server->disk_slow_us = 0;
    sim->server->crash_when = CRASH_NOW;
    sim->server->down_us = 0; /* if it leaves in this very moment */
    if (sim->server->frozen)
        thaw_server(sim);
    server_start(sim);
}

static void calm(struct sim *sim, const struct script *script)
{
    (void)script;
    sim->calm = true;
    sim->loss_ppm = 0;
    sim->clients_cut_up = sim->clients_cut_down = false;
    sim->config.loss_ppm = sim->config.duplicate_ppm = sim->config.tail_ppm = 0;
    freezing_calm(sim);
    database_calm(sim);
    for (uint32_t i = 0; i < sim->n_servers; i++) {
        sim->server = &sim->servers[i];
        calm_server(sim);
    }
    sim->server = &sim->servers[sim->database.leader];
    if (sim->config.limits) {
        groups_lift(sim);
        server_regroup(sim);
    }
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        struct sim_node *node = sim->nodes[i];

        node->cut_up = node->cut_down = false;
        node->starts_fail_until_us = 0;
        node->slow_us = node->foreign_cpu = node->foreign_memory = 0;
        machine_thaw(sim, node);
        restore_offer(sim, node);
        if (node->up)
            sim_after(sim, 0, EVENT_AGENT_START, i, 0);
        else if (node->boots > 0)
            machine_boot(sim, node);
    }
}

static const struct {
    const char *name;
    void (*run)(struct sim *sim, const struct script *script);
} kinds[_SCRIPT_MAX] = {
    [SCRIPT_CUT] = { "cut", cut },
    [SCRIPT_SLOW] = { "slow", slow },
    [SCRIPT_LOSS] = { "loss", loss },
    [SCRIPT_FREEZE] = { "freeze", freeze },
    [SCRIPT_FREEZE_AGENT] = { "freeze-agent", freeze },
    [SCRIPT_AGENT_CRASH] = { "agent-crash", crash_agent },
    [SCRIPT_REBOOT] = { "reboot", reboot },
    [SCRIPT_KILL_UNIT] = { "kill-process", kill_unit },
    [SCRIPT_SERVER_CRASH] = { "scheduler-crash", crash_server },
    [SCRIPT_SERVER_CRASH_IN_COMMIT] = { "scheduler-crash-in-commit", crash_server },
    [SCRIPT_SERVER_CRASH_AFTER_COMMIT] = { "scheduler-crash-after-commit", crash_server },
    [SCRIPT_SERVER_REBOOT] = { "scheduler-reboot", reboot_server },
    [SCRIPT_SERVER_FREEZE] = { "scheduler-freeze", freeze_server },
    [SCRIPT_SERVER_STOP] = { "scheduler-stop", stop_server },
    [SCRIPT_WALL_JUMP] = { "wall-jump", jump },
    [SCRIPT_DISK_SLOW] = { "disk-slow", slow_disk },
    [SCRIPT_FOREIGN] = { "foreign", foreign },
    [SCRIPT_CUT_CLIENTS] = { "cut-clients", cut_clients },
    [SCRIPT_AGENT_STOP] = { "agent-stop", stop_agent },
    [SCRIPT_REBOOT_CHANGED] = { "reboot-changed", reboot_changed },
    [SCRIPT_GROUPS] = { "groups", regroup },
    [SCRIPT_STARTS_FAIL] = { "starts-fail", fail_starts },
    [SCRIPT_KILL_SUPERVISOR] = { "kill-supervisor", kill_supervisor },
    [SCRIPT_STORE_CUT] = { "store-cut", database_script },
    [SCRIPT_STORE_STILL] = { "store-still", database_script },
    [SCRIPT_STORE_CRASH] = { "store-crash", database_script },
    [SCRIPT_STORE_SPLIT] = { "store-split", database_script },
    [SCRIPT_NODE_APART] = { "node-apart", database_script },
    [SCRIPT_LEADER_DEPOSED] = { "leader-deposed", database_script },
    [SCRIPT_CALM] = { "calm", calm },
};

const char *script_name(enum script_kind kind)
{
    return kinds[kind].name;
}

void sim_script_at(struct sim *sim, uint64_t at_us, const struct script *script)
{
    struct script *twin = xcalloc(1, sizeof *twin);

    *twin = *script;
    sim_at(sim, at_us, EVENT_SCRIPT, 0, 0, twin);
}

/* What silences a node itself, and so long after it as its agent may need to be heard again. */
static void excuse(struct sim *sim, const struct script *script)
{
    static const bool silences[_SCRIPT_MAX] = {
        [SCRIPT_CUT] = true,          [SCRIPT_SLOW] = true,           [SCRIPT_FREEZE] = true,
        [SCRIPT_FREEZE_AGENT] = true, [SCRIPT_AGENT_CRASH] = true,    [SCRIPT_REBOOT] = true,
        [SCRIPT_AGENT_STOP] = true,   [SCRIPT_REBOOT_CHANGED] = true,
    };
    struct sim_node *node = target(sim, script);
    uint64_t until_us = sim->now_us + script->for_us + EXCUSED_AFTER_US;

    for (uint32_t i = 0; i < sim->n_nodes; i++)
        if (script->kind == SCRIPT_LOSS || script->kind == SCRIPT_CALM)
            sim->nodes[i]->excused_until_us = MAX_OF(sim->nodes[i]->excused_until_us, until_us);
    if (silences[script->kind])
        node->excused_until_us = MAX_OF(node->excused_until_us, until_us);
}

void script_run(struct sim *sim, const struct script *script)
{
    TRACE(sim, "fault %s, node %u, for %llu ms, %lld", kinds[script->kind].name,
          sim->n_nodes > 0 ? script->node % sim->n_nodes : 0,
          (unsigned long long)(script->for_us / USEC_PER_MSEC), (long long)script->a);
    if (sim->n_nodes == 0)
        return;
    excuse(sim, script);
    sim->server = database_target(sim, script->a);
    kinds[script->kind].run(sim, script);
}

static void heal_cut(struct sim *sim, struct sim_node *node)
{
    node->cut_up = node->cut_up && sim->now_us < node->cut_up_until_us;
    node->cut_down = node->cut_down && sim->now_us < node->cut_down_until_us;
}

static void heal_slow(struct sim *sim, struct sim_node *node)
{
    if (sim->now_us >= node->slow_until_us)
        node->slow_us = 0;
}

static void heal_loss(struct sim *sim, struct sim_node *node)
{
    (void)node;
    if (sim->now_us >= sim->loss_until_us)
        sim->loss_ppm = 0;
}

static void heal_clients(struct sim *sim, struct sim_node *node)
{
    (void)node;
    if (sim->now_us >= sim->clients_until_us)
        sim->clients_cut_up = sim->clients_cut_down = false;
}

static void heal_freeze(struct sim *sim, struct sim_node *node)
{
    if (sim->now_us >= node->frozen_until_us)
        machine_thaw_part(sim, node, false);
    if (sim->now_us >= node->agent_frozen_until_us)
        machine_thaw_part(sim, node, true);
}

static void heal_reboot(struct sim *sim, struct sim_node *node)
{
    if (sim->now_us >= node->down_until_us)
        machine_boot(sim, node);
}

static void heal_server_freeze(struct sim *sim, struct sim_node *node)
{
    (void)node;
    for (uint32_t i = 0; i < sim->n_servers; i++) {
        sim->server = &sim->servers[i];
        if (sim->server->frozen && sim->now_us >= sim->server->frozen_until_us)
            thaw_server(sim);
    }
}

static void heal_disk(struct sim *sim, struct sim_node *node)
{
    (void)node;
    if (sim->now_us >= sim->server->disk_slow_until_us)
        sim->server->disk_slow_us = 0;
}

void script_heal(struct sim *sim, const struct script *script)
{
    static void (*const heals[_SCRIPT_MAX])(struct sim *, struct sim_node *) = {
        [SCRIPT_CUT] = heal_cut,
        [SCRIPT_SLOW] = heal_slow,
        [SCRIPT_LOSS] = heal_loss,
        [SCRIPT_CUT_CLIENTS] = heal_clients,
        [SCRIPT_FREEZE] = heal_freeze,
        [SCRIPT_FREEZE_AGENT] = heal_freeze,
        [SCRIPT_REBOOT] = heal_reboot,
        [SCRIPT_REBOOT_CHANGED] = heal_reboot,
        [SCRIPT_SERVER_FREEZE] = heal_server_freeze,
        [SCRIPT_DISK_SLOW] = heal_disk,
    };

    if (sim->n_servers > 1)
        database_heal(sim, script);
    if (heals[script->kind] != NULL)
        heals[script->kind](sim, target(sim, script));
}
