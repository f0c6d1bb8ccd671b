/* SPDX-License-Identifier: Apache-2.0 */
/* agent_shell.c - an agent: carries out what agent_core and link_sm decide
 *
 * A crash loses what is in memory here; folders, supervisors, the lease file and the credential
 * stay, and the next agent adopts them. */
#include "shared/cleanup.h"
#include "simulator/internal.h"
#include "simulator/promises.h"

#include <utlist.h>

#include "agent/core/foreign.h"

#define RENEW_PART_OF_LEASE 8 /* as in agent/link/link.c */
#define TAIL_US (20 * USEC_PER_MSEC)
#define TAIL_FAILS_US (5 * USEC_PER_SEC)
#define RARE_TRIES_US (12 * USEC_PER_SEC) /* of a mutant */
#define REPORT_STALE_US (2 * USEC_PER_SEC)
#define LOSE_ONE_STOP_IN 4 /* SIM_MUTANT_STOP_IGNORED */

static void carry_out(struct sim *sim, struct sim_node *node);

static uint32_t noise(struct sim_node *node)
{
    return (uint32_t)random_u64(&node->agent_random);
}

/* --- calls --- */

static struct message *request_new(struct sim *sim, struct sim_node *node, enum call_kind kind,
                                   uint64_t call)
{
    struct message *message = message_new(sim, kind);

    message->node = node->number;
    message->call = call;
    message->credential = node->credential;
    return message;
}

static const struct unit *running_unit(const struct sim_node *node, const struct process_id *id)
{
    const struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (unit->life == LIFE_RUNNING && process_id_equal(&unit->id, id))
        return unit;
    return NULL;
}

/* What it told to this agent, and to none before. */
static struct steps_told steps_of(const struct sim *sim, const struct agent_shell *agent,
                                  const struct unit *unit)
{
    if (unit->steps.told_us == 0 || unit->steps.agent != agent->number)
        return (struct steps_told){ .any = false };
    return (struct steps_told){ .any = true,
                                .sums = unit->steps.told,
                                .age_us = sim->now_us - unit->steps.told_us };
}

static void make_report(struct sim *sim, const struct sim_node *node, struct agent_shell *agent)
{
    const struct agent_unit *unit;
    const struct unit *runs;
    size_t n = 0;

    for (unit = agent_core_units(agent->core); unit != NULL; unit = unit->next)
        n++;
    agent->report = xcalloc(1, sizeof *agent->report + n * sizeof agent->report->items[0]);
    agent->report->refs = 1;
    agent->report->made_us = sim->now_us;
    for (unit = agent_core_units(agent->core); unit != NULL; unit = unit->next) {
        struct agent_unit_report said = agent_unit_report(unit);
        struct process_report *item = &agent->report->items[agent->report->n++];
        static const enum process_state states[] = { [UNIT_PREPARING] = PROCESS_PREPARING,
                                                     [UNIT_RUNNING] = PROCESS_RUNNING,
                                                     [UNIT_STOPPING] = PROCESS_STOPPING,
                                                     [UNIT_EXITED] = PROCESS_EXITED };

        item->job_id = unit->id.job_id;
        item->role = text_kept(sim, unit->id.role);
        item->index = unit->id.index;
        item->incarnation = unit->id.incarnation;
        item->state = states[said.state];
        runs = running_unit(node, &unit->id);
        if (runs != NULL) { /* by the machine, as a fresh agent finds it */
            item->ran_us = sim->now_us - runs->since_us;
            item->steps = steps_of(sim, agent, runs);
            if (runs->backlog_agent == agent->number &&
                sim->config.mutant != SIM_MUTANT_BACKLOG_HIDDEN)
                item->backlog = runs->backlog;
            if (sim->config.mutant != SIM_MUTANT_STANDSTILL_UNTOLD)
                item->frozen_us = ledger_stood_us(sim, runs->job, runs->id.incarnation);
        }
        item->exit_code = said.exit_code;
        item->exit_signal = said.exit_signal;
        item->reason = text_kept(sim, said.reason);
        item->start_fault = said.fault;
        item->cause = cause_of_exit(said.cause);
    }
}

static void sample(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent = node->agent;
    uint64_t elapsed_us = sim->now_us - agent->sampled_us;

    agent->sampled_us = sim->now_us;
    agent->foreign_cpu = foreign_smooth(agent->foreign_cpu, node->foreign_cpu, elapsed_us);
    agent->foreign_memory = node->foreign_memory;
}

static void report(struct sim *sim, struct sim_node *node, uint64_t call)
{
    struct message *message = request_new(sim, node, CALL_REPORT, call);
    struct agent_shell *agent = node->agent;

    sample(sim, node);
    if (agent->report != NULL && sim->now_us - agent->report->made_us >= REPORT_STALE_US)
        agent->report = report_data_unref(agent->report); /* for how long each has run is old */
    if (agent->report == NULL)
        make_report(sim, node, agent);
    message->report = agent->report;
    message->report->refs++;
    message->offer = &node->told->offer;
    memcpy(message->boot_id, node->boot_id, sizeof message->boot_id);
    message->sent_us = node_boot_us(sim, node);
    message->session = agent->link.session;
    message->foreign_cpu_millicores = agent->foreign_cpu;
    message->foreign_memory_bytes = agent->foreign_memory;
    agent->main_limit_us = message->sent_us + link_sm_timeout_us(&agent->link, message->sent_us);
    send_request(sim, message);
}

static void join(struct sim *sim, struct sim_node *node, uint64_t call)
{
    struct message *message = request_new(sim, node, CALL_JOIN, call);

    message->offer = &node->told->offer;
    node->agent->main_limit_us = node_boot_us(sim, node) + LINK_CALL_TIMEOUT_US;
    send_request(sim, message);
}

static void poll_orders(struct sim *sim, struct sim_node *node, const struct link_action *action)
{
    struct message *message = request_new(sim, node, CALL_ORDERS, action->call);

    message->has_version = true;
    message->version = action->after;
    message->wait_us = action->wait_s * USEC_PER_SEC;
    node->agent->orders_limit_us = node_boot_us(sim, node) + LINK_ORDERS_TIMEOUT_US;
    send_request(sim, message);
}

static void act(struct sim *sim, struct sim_node *node, const struct link_actions *actions)
{
    struct agent_shell *agent = node->agent;

    for (size_t i = 0; i < actions->n; i++) {
        const struct link_action *action = &actions->list[i];

        switch (action->kind) {
        case LINK_JOIN:
            join(sim, node, action->call);
            break;
        case LINK_REPORT:
            report(sim, node, action->call);
            break;
        case LINK_POLL_ORDERS:
            poll_orders(sim, node, action);
            break;
        case LINK_CANCEL_POLL:
        case LINK_CANCEL_MAIN:
        case LINK_NEXT: /* it knows one here */
            break;
        case LINK_DROP_CREDENTIAL:
            node->credential = 0;
            agent_core_refused(agent->core);
            sim->seen[SIM_SEEN_CREDENTIALS_REFUSED]++;
            break;
        case LINK_ARM_MAIN:
            agent->main_at_us = action->at_us;
            if (sim->config.mutant == SIM_MUTANT_START_FLOOR_SHORT && agent->link.eager)
                agent->main_at_us += RARE_TRIES_US;
            break;
        case LINK_ARM_ORDERS:
            agent->orders_at_us = action->at_us;
            break;
        }
    }
}

/* The agent goes to the other scheduler, and gives up its calls to this one. */
static void move(struct sim *sim, struct sim_node *node)
{
    struct link_sm *link = &node->agent->link;
    struct link_actions actions;

    if (sim->n_servers < 2)
        return;
    node->at = 1 - node->at;
    link_sm_orders_answered(link, link->orders_call, LINK_FAILED, 0, node_boot_us(sim, node),
                            noise(node), &actions);
    act(sim, node, &actions);
}

/* --- timers: one event for what is near, one for the limits of calls, which seldom come --- */

static void arm(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent = node->agent;
    uint64_t at_us =
        MIN_OF(MIN_OF(agent->main_at_us, MIN_OF(agent->orders_at_us, agent->away_at_us)),
               agent_core_next_us(agent->core));
    uint64_t limit_us = MIN_OF(agent->link.main_call != 0 ? agent->main_limit_us : NEVER_US,
                               agent->link.orders_call != 0 ? agent->orders_limit_us : NEVER_US);

    if (at_us != NEVER_US) {
        at_us = MAX_OF(node_when_us(node, at_us), sim->now_us);
        if (at_us < agent->timer_at_us) {
            agent->timer_at_us = at_us;
            sim_at(sim, at_us, EVENT_AGENT_TIMER, node->number, agent->number, NULL);
        }
    }
    if (limit_us != NEVER_US) {
        limit_us = MAX_OF(node_when_us(node, limit_us), sim->now_us);
        if (limit_us < agent->limit_at_us) {
            agent->limit_at_us = limit_us;
            sim_at(sim, limit_us, EVENT_AGENT_TIMER, node->number, agent->number, NULL);
        }
    }
}

static void time_out(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent = node->agent;
    uint64_t now_us = node_boot_us(sim, node);
    struct link_report_answer none = { .result = LINK_FAILED };
    struct link_actions actions;

    if (agent->link.main_call != 0 && agent->main_limit_us <= now_us) {
        if (agent->link.joined)
            link_sm_report_answered(&agent->link, agent->link.main_call, &none, now_us, noise(node),
                                    &actions);
        else
            link_sm_join_answered(&agent->link, agent->link.main_call, LINK_FAILED, now_us,
                                  noise(node), &actions);
        act(sim, node, &actions);
        move(sim, node);
    }
    if (agent->link.orders_call != 0 && agent->orders_limit_us <= now_us) {
        link_sm_orders_answered(&agent->link, agent->link.orders_call, LINK_FAILED, 0, now_us,
                                noise(node), &actions);
        act(sim, node, &actions);
    }
}

/* As go_on of agent/link/link.c. */
static void go_on(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent = node->agent;
    uint64_t now_us = node_boot_us(sim, node);
    uint64_t sent_us;

    agent->away_at_us = NEVER_US;
    if (!link_sm_renew_away(&agent->link, now_us, &sent_us))
        return;
    sim->seen[SIM_SEEN_LEASES_ALONE]++;
    link_sm_renewed(&agent->link, sent_us, agent->link.lease_us, now_us);
    agent_core_renewed(agent->core, sent_us, agent->link.lease_us, now_us);
    freezing_extend(sim, node, agent_core_lease(agent->core));
    agent->away_at_us = now_us + agent->link.lease_us / RENEW_PART_OF_LEASE;
}

void agent_on_timer(struct sim *sim, struct sim_node *node, uint64_t number)
{
    struct agent_shell *agent = node->agent;
    uint64_t now_us = node_boot_us(sim, node);
    struct link_actions actions;

    if (agent == NULL || agent->number != number)
        return;
    if (sim->config.mutant == SIM_MUTANT_TIMER_SPINS)
        sim_after(sim, 0, EVENT_AGENT_TIMER, node->number, number);
    if (sim->now_us >= agent->timer_at_us)
        agent->timer_at_us = NEVER_US;
    if (sim->now_us >= agent->limit_at_us)
        agent->limit_at_us = NEVER_US;
    time_out(sim, node);
    if (agent->main_at_us <= now_us) {
        agent->main_at_us = NEVER_US;
        link_sm_main_timer(&agent->link, now_us, agent->link.eager ? noise(node) : 0, &actions);
        act(sim, node, &actions);
    }
    if (agent->orders_at_us <= now_us) {
        agent->orders_at_us = NEVER_US;
        link_sm_orders_timer(&agent->link, now_us, &actions);
        act(sim, node, &actions);
    }
    if (agent->away_at_us <= now_us)
        go_on(sim, node);
    if (agent_core_next_us(agent->core) <= now_us)
        agent_core_timer(agent->core, now_us);
    promises_spoil(sim, node);
    carry_out(sim, node);
}

/* --- what the core wants --- */

static struct agent_facts facts_of(const struct unit *unit)
{
    struct agent_facts facts = { .phase = AGENT_STARTING, .found = true };

    if (unit->life == LIFE_RUNNING)
        facts.phase = AGENT_RUNNING;
    facts.frozen = unit->fence.stance == FENCE_FROZEN;
    if (unit->life == LIFE_GONE || unit->life == LIFE_LOST) {
        facts.phase = AGENT_GONE;
        facts.exit_code = unit->life == LIFE_LOST ? -1 : unit->exit_code;
        facts.exit_signal = unit->exit_signal;
        facts.fault = unit->life == LIFE_LOST ? START_FAULT_NONE : unit->fault;
        facts.cause = unit->life == LIFE_LOST ? EXIT_CAUSE_REBOOTED : unit->exit_cause;
        facts.reason =
            unit->life == LIFE_LOST ? "the machine was started again" : unit->exit_reason;
    }
    return facts;
}

static struct unit *unit_of(struct sim_node *node, const struct process_id *id)
{
    struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (process_id_equal(&unit->id, id))
        return unit;
    return NULL;
}

static void observe(struct sim *sim, struct sim_node *node, const struct unit *unit)
{
    struct agent_facts facts = facts_of(unit);

    agent_core_observed(node->agent->core, &unit->id, &facts, node_boot_us(sim, node));
}

static void start(struct sim *sim, struct sim_node *node, const struct agent_action *action)
{
    struct agent_shell *agent = node->agent;
    const struct orders_data *orders = agent->orders;
    const struct unit *unit;

    if (unit_of(node, &action->id) != NULL) {
        agent_core_start_failed(agent->core, &action->id, START_FAULT_NODE,
                                "its folder is there already", node_boot_us(sim, node));
        return;
    }
    unit = unit_start(sim, node, &orders->items[action->idx_order],
                      orders->uncommitted ? NEVER_US : orders->commit,
                      agent_core_lease_us(agent->core));
    observe(sim, node, unit);
}

static void stop(struct sim *sim, struct sim_node *node, const struct agent_action *action)
{
    struct unit *unit = unit_of(node, &action->id);

    if (unit == NULL || (sim->config.mutant == SIM_MUTANT_STOP_IGNORED &&
                         random_below(&node->agent_random, LOSE_ONE_STOP_IN) == 0))
        return;
    if (sim->config.mutant == SIM_MUTANT_THAW_UNLISTED && unit->frozen)
        freezing_thaw(sim, unit, node->lease.epoch);
    else
        unit_stop(sim, unit, action->grace_us);
}

static void carry_out_one(struct sim *sim, struct sim_node *node, const struct agent_action *action)
{
    struct agent_shell *agent = node->agent;
    struct unit *unit = unit_of(node, &action->id);
    struct link_actions actions;

    switch (action->kind) {
    case AGENT_START:
        start(sim, node, action);
        break;
    case AGENT_STOP:
        stop(sim, node, action);
        break;
    case AGENT_SILENT:
        if (unit != NULL)
            promises_broken(sim, unit);
        break;
    case AGENT_THAW:
        if (unit != NULL && unit->frozen)
            freezing_thaw(sim, unit, action->epoch);
        break;
    case AGENT_FORGET:
        if (unit != NULL)
            unit_forget(sim, unit);
        break;
    case AGENT_SEND_TAIL:
        if (unit != NULL)
            sim_after(sim, node->cut_up || node->cut_down ? TAIL_FAILS_US : TAIL_US, EVENT_TAIL,
                      node->number, unit->serial);
        else
            agent_core_tail_offered(agent->core, &action->id, true, node_boot_us(sim, node));
        break;
    case AGENT_REFRESH:
        if (unit != NULL)
            observe(sim, node, unit);
        break;
    case AGENT_REPORT:
        link_sm_changed(&agent->link, node_boot_us(sim, node), &actions);
        act(sim, node, &actions);
        break;
    case AGENT_MOVED:
    case AGENT_EPILOG: /* there are no drop-ins in this world */
        break;
    case AGENT_UNLISTED:
        violate(sim, "core", "%s: %s", node->name, agent_core_unlisted(agent->core));
        break;
    case AGENT_LEAVE:
        agent->leaves = true;
        break;
    }
}

static void end_calls(struct sim *sim, struct sim_node *node)
{
    struct unit *unit;

    DL_FOREACH(node->units, unit)
    if (unit->call != 0)
        program_call_failed(sim, unit); /* its socket is closed */
}

/* Its program ends, and is started again as after an upgrade. */
static void leave(struct sim *sim, struct sim_node *node)
{
    TRACE(sim, "%s: agent leaves", node->name);
    sim->seen[SIM_SEEN_AGENTS_LEFT]++;
    agent_free_shell(node);
    end_calls(sim, node);
    sim_after(sim, node->away_us, EVENT_AGENT_START, node->number, 0);
}

void agent_stop(struct sim *sim, struct sim_node *node, uint64_t away_us)
{
    if (node->agent == NULL || node->frozen || node->agent_frozen)
        return;
    TRACE(sim, "%s: agent is told to stop", node->name);
    sim->seen[SIM_SEEN_AGENT_STOPS]++;
    node->away_us = away_us;
    agent_core_stop(node->agent->core, node_boot_us(sim, node));
    carry_out(sim, node);
}

static void carry_out(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent = node->agent;
    struct agent_action action;
    struct link_actions actions;

    if (agent->acting)
        return;
    agent->acting = true;
    while (agent_core_take(agent->core, &action)) {
        agent->report = report_data_unref(agent->report);
        carry_out_one(sim, node, &action);
    }
    agent->acting = false;
    if (agent->leaves) {
        leave(sim, node);
        return;
    }
    if (agent->link.eager != agent_core_any_frozen(agent->core)) {
        link_sm_eager(&agent->link, !agent->link.eager, node_boot_us(sim, node), noise(node),
                      &actions);
        act(sim, node, &actions);
    }
    arm(sim, node);
}

void agent_unit_changed(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;

    if (node->agent == NULL)
        return;
    if (node->frozen || node->agent_frozen) { /* it looks when it goes on */
        sim_at(sim, sim->now_us, EVENT_TAIL, node->number, unit->serial, node);
        return;
    }
    node->agent->report = report_data_unref(node->agent->report);
    observe(sim, node, unit);
    carry_out(sim, node);
}

void agent_on_tail(struct sim *sim, struct sim_node *node, uint64_t serial, bool offered)
{
    struct unit *unit = machine_unit(node, serial);

    if (node->agent == NULL || unit == NULL)
        return;
    node->agent->report = report_data_unref(node->agent->report);
    if (offered)
        agent_core_tail_offered(node->agent->core, &unit->id, !node->cut_up && !node->cut_down,
                                node_boot_us(sim, node));
    else
        observe(sim, node, unit);
    carry_out(sim, node);
}

/* --- answers --- */

static enum link_result result_of(int status)
{
    if (status == 200 || status == 201)
        return LINK_TAKEN;
    return status == 401 || status == 403 || status == 404 ? LINK_REFUSED : LINK_FAILED;
}

static void on_join(struct sim *sim, struct sim_node *node, const struct message *answer)
{
    struct agent_shell *agent = node->agent;
    struct link_actions actions;

    if (!link_sm_awaits(&agent->link, answer->call))
        return;
    if (result_of(answer->status) == LINK_TAKEN)
        node->credential = answer->credential;
    link_sm_join_answered(&agent->link, answer->call, result_of(answer->status),
                          node_boot_us(sim, node), noise(node), &actions);
    act(sim, node, &actions);
}

static void hand_in_orders(struct sim *sim, struct sim_node *node, uint64_t asked_us)
{
    const struct orders_data *orders = node->agent->orders;
    struct reconcile_order *list = xcalloc(orders->n, sizeof *list);

    for (size_t i = 0; i < orders->n; i++)
        list[i] = (struct reconcile_order){ .id = orders->items[i].id,
                                            .run = orders->items[i].run,
                                            .grace_us = orders->items[i].grace_us };
    agent_core_orders(node->agent->core, list, orders->n, asked_us, node_boot_us(sim, node));
    free(list);
}

static void on_report(struct sim *sim, struct sim_node *node, const struct message *answer)
{
    struct agent_shell *agent = node->agent;
    struct link_report_answer said = { .result = result_of(answer->status),
                                       .lease_us = answer->lease_us,
                                       .next_us = answer->next_report_us,
                                       .session = answer->session,
                                       .has_version = !answer->not_stored,
                                       .not_stored = answer->not_stored,
                                       .version = answer->version };
    bool taken = link_sm_awaits(&agent->link, answer->call) && said.result == LINK_TAKEN;
    bool was_away = node_boot_us(sim, node) >= node->lease.deadline_us;
    uint64_t sent_us = agent->link.sent_us;
    struct link_actions actions;

    link_sm_report_answered(&agent->link, answer->call, &said, node_boot_us(sim, node), noise(node),
                            &actions);
    if (taken) {
        agent_core_reported(agent->core, sent_us, answer->lease_us, link_sm_all_told(&agent->link),
                            node_boot_us(sim, node));
        freezing_extend(sim, node, agent_core_lease(agent->core));
        if (was_away && agent->orders != NULL && sim->config.mutant == SIM_MUTANT_ORDERS_KEPT)
            hand_in_orders(sim, node, node_boot_us(sim, node));
        if (was_away)
            freezing_thaw_all(sim, node);
    }
    act(sim, node, &actions);
}

static void on_orders(struct sim *sim, struct sim_node *node, struct message *answer)
{
    struct agent_shell *agent = node->agent;
    struct link_actions actions;

    if (!link_sm_awaits(&agent->link, answer->call))
        return;
    if (answer->status == 200) {
        (void)orders_data_unref(agent->orders);
        agent->orders = TAKE_PTR(answer->orders);
        agent->report = report_data_unref(agent->report);
        hand_in_orders(sim, node, agent->link.asked_us);
        if (answer->lease_us > 0) {
            link_sm_away(&agent->link, answer->lease_us, node_boot_us(sim, node));
            go_on(sim, node);
        }
    }
    link_sm_orders_answered(&agent->link, answer->call,
                            answer->status == 200 ? LINK_TAKEN : LINK_FAILED, answer->version,
                            node_boot_us(sim, node), noise(node), &actions);
    act(sim, node, &actions);
}

void agent_answer(struct sim *sim, struct sim_node *node, struct message *answer)
{
    bool moves = addresses_moves(sim, node, answer);

    if (answer->kind == CALL_JOIN)
        on_join(sim, node, answer);
    else if (answer->kind == CALL_REPORT)
        on_report(sim, node, answer);
    else
        on_orders(sim, node, answer);
    if (moves)
        move(sim, node);
    carry_out(sim, node);
}

/* --- life --- */

void agent_start(struct sim *sim, struct sim_node *node)
{
    struct agent_shell *agent;
    struct link_actions actions;
    struct unit *unit;
    struct unit *next;

    if (!node->up || node->agent != NULL)
        return;
    agent = node->agent = xcalloc(1, sizeof *agent);
    agent->number = ++sim->agent_serial;
    agent->main_at_us = agent->orders_at_us = agent->away_at_us = NEVER_US;
    agent->timer_at_us = agent->limit_at_us = NEVER_US;
    agent->foreign_cpu = node->foreign_cpu;
    agent->foreign_memory = node->foreign_memory;
    agent->sampled_us = sim->now_us;
    agent->core = agent_core_new(node->lease);
    DL_FOREACH_SAFE(node->units, unit, next)
    {
        struct agent_facts facts = facts_of(unit);

        if (sim->config.mutant == SIM_MUTANT_AGENT_FORGETS_EXITS && facts.phase == AGENT_GONE) {
            unit_forget(sim, unit);
            continue;
        }
        agent_core_adopt(agent->core, &unit->id, unit->grace_us, &facts);
        promises_adopt(sim, unit);
    }
    TRACE(sim, "%s: agent starts", node->name);
    /* numbers of calls go on, as connections of an earlier agent are not ours */
    link_sm_init(&agent->link, sim->config.heartbeat_us, node->credential != 0,
                 node_boot_us(sim, node), &actions);
    agent->link.calls = sim->agent_serial << 32;
    act(sim, node, &actions);
    carry_out(sim, node);
}

void agent_free_shell(struct sim_node *node)
{
    struct agent_shell *agent = TAKE_PTR(node->agent);

    if (agent == NULL)
        return;
    (void)agent_core_free(agent->core);
    (void)orders_data_unref(agent->orders);
    (void)report_data_unref(agent->report);
    free(agent);
}

void agent_crash(struct sim *sim, struct sim_node *node)
{
    if (node->agent == NULL)
        return;
    TRACE(sim, "%s: agent ends", node->name);
    sim->seen[SIM_SEEN_AGENT_CRASHES]++;
    agent_free_shell(node);
    end_calls(sim, node);
}

void agent_checkpoint_done(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;

    if (node->agent == NULL || node->frozen || node->agent_frozen ||
        !agent_core_checkpoint_done(node->agent->core, &unit->id))
        return;
    unit->saved_us = node_boot_us(sim, node);
    sim->seen[SIM_SEEN_CHECKPOINTS_DONE]++;
    carry_out(sim, node);
}

void agent_said_alive(struct sim *sim, struct unit *unit)
{
    struct sim_node *node = unit->node;

    if (agent_core_promised(node->agent->core, &unit->id, unit->promised_us,
                            node_boot_us(sim, node)))
        carry_out(sim, node);
}
