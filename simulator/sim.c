/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - a simulated cluster: made, told what is to happen, run, looked at */
#include "simulator/promises.h"
#include "simulator/sim.h"

#include <inttypes.h>

#include <utlist.h>

#include "simulator/internal.h"

/* a thaw hands in what thousands of nodes sent meanwhile: far fewer */
#define INSTANT_EVENTS_MAX 1000000

static const char *const mutant_names[_SIM_MUTANT_MAX] = {
    [SIM_MUTANT_NONE] = "none",
    [SIM_MUTANT_ANSWER_BEFORE_COMMIT] = "answer-before-commit",
    [SIM_MUTANT_ORDERS_BEFORE_COMMIT] = "orders-before-commit",
    [SIM_MUTANT_FENCE_IGNORES_LEASE] = "fence-ignores-lease",
    [SIM_MUTANT_STORE_LOSES_RECORD] = "store-loses-record",
    [SIM_MUTANT_STORE_KEEPS_TORN] = "store-keeps-torn",
    [SIM_MUTANT_STALE_FINISH_ACCEPTED] = "stale-finish-accepted",
    [SIM_MUTANT_PROCESS_NOT_COUNTED] = "process-not-counted",
    [SIM_MUTANT_CAPACITY_DOUBLED] = "capacity-doubled",
    [SIM_MUTANT_REASON_EMPTIED] = "reason-emptied",
    [SIM_MUTANT_RESTART_FORGETS_INCARNATION] = "restart-forgets-incarnation",
    [SIM_MUTANT_AGENT_FORGETS_EXITS] = "agent-forgets-exits",
    [SIM_MUTANT_MARGIN_NEGATIVE] = "margin-negative",
    [SIM_MUTANT_STOP_IGNORED] = "stop-ignored",
    [SIM_MUTANT_GANG_BY_HALVES] = "gang-by-halves",
    [SIM_MUTANT_MAX_EXCEEDED] = "max-exceeded",
    [SIM_MUTANT_SELECTOR_IGNORED] = "selector-ignored",
    [SIM_MUTANT_PINS_IGNORED] = "pins-ignored",
    [SIM_MUTANT_GPU_SHARED] = "gpu-shared",
    [SIM_MUTANT_PORT_SHARED] = "port-shared",
    [SIM_MUTANT_GRANT_HALVED] = "grant-halved",
    [SIM_MUTANT_CORDON_IGNORED] = "cordon-ignored",
    [SIM_MUTANT_EXIT_HIDDEN] = "exit-hidden",
    [SIM_MUTANT_MINIMUM_LOWERED] = "minimum-lowered",
    [SIM_MUTANT_STOP_UNASKED] = "stop-unasked",
    [SIM_MUTANT_GRACE_HALVED] = "grace-halved",
    [SIM_MUTANT_THAW_UNFENCED] = "thaw-unfenced",
    [SIM_MUTANT_FENCE_TOO_EARLY] = "fence-too-early",
    [SIM_MUTANT_KILL_FAILS] = "kill-fails",
    [SIM_MUTANT_TIMER_SPINS] = "timer-spins",
    [SIM_MUTANT_TASKS_DISCARDED_EARLY] = "tasks-discarded-early",
    [SIM_MUTANT_TASKS_TAKEN_EARLY] = "tasks-taken-early",
    [SIM_MUTANT_TASKS_NEVER_TAKEN] = "tasks-never-taken",
    [SIM_MUTANT_SAVERS_MANY] = "savers-many",
    [SIM_MUTANT_SAVE_ASSUMED] = "save-assumed",
    [SIM_MUTANT_LOSS_IGNORED] = "loss-ignored",
    [SIM_MUTANT_NUMBER_REUSED] = "number-reused",
    [SIM_MUTANT_ORDERS_KEPT] = "orders-kept",
    [SIM_MUTANT_MARGIN_NONE] = "margin-none",
    [SIM_MUTANT_SUM_SPOILED] = "sum-spoiled",
    [SIM_MUTANT_REQUEST_INFLATED] = "request-inflated",
    [SIM_MUTANT_SUCCESS_FAILS] = "success-fails",
    [SIM_MUTANT_PRIORITY_IGNORED] = "priority-ignored",
    [SIM_MUTANT_GANG_FORGOTTEN] = "gang-forgotten",
    [SIM_MUTANT_DRAIN_AS_CORDON] = "drain-as-cordon",
    [SIM_MUTANT_FOREIGN_HIDDEN] = "foreign-hidden",
    [SIM_MUTANT_MAX_LOWERED] = "max-lowered",
    [SIM_MUTANT_SHARES_MIXED_UP] = "shares-mixed-up",
    [SIM_MUTANT_GROUPS_KEPT] = "groups-kept",
    [SIM_MUTANT_SHARE_LOWERED] = "share-lowered",
    [SIM_MUTANT_LIMITS_UNTOLD] = "limits-untold",
    [SIM_MUTANT_USER_MISTAKEN] = "user-mistaken",
    [SIM_MUTANT_STARTS_FORGOTTEN] = "starts-forgotten",
    [SIM_MUTANT_NOBODY_SPARED] = "nobody-spared",
    [SIM_MUTANT_PARKED_UNASKED] = "parked-unasked",
    [SIM_MUTANT_NOTICE_LOST] = "notice-lost",
    [SIM_MUTANT_BACKLOG_HIDDEN] = "backlog-hidden",
    [SIM_MUTANT_PARKED_FORGOTTEN] = "parked-forgotten",
    [SIM_MUTANT_COST_OVERRATED] = "cost-overrated",
    [SIM_MUTANT_STALL_IGNORED] = "stall-ignored",
    [SIM_MUTANT_THAW_BY_LEASE] = "thaw-by-lease",
    [SIM_MUTANT_THAW_OLD_ORDERS] = "thaw-old-orders",
    [SIM_MUTANT_THAW_STALE] = "thaw-stale",
    [SIM_MUTANT_THAW_UNLISTED] = "thaw-unlisted",
    [SIM_MUTANT_STOP_THAWS] = "stop-thaws",
    [SIM_MUTANT_FREEZE_LATE] = "freeze-late",
    [SIM_MUTANT_FREEZE_UNVERIFIED] = "freeze-unverified",
    [SIM_MUTANT_FROZEN_FOR_EVER] = "frozen-for-ever",
    [SIM_MUTANT_EPOCH_KEPT] = "epoch-kept",
    [SIM_MUTANT_PERMISSION_NONE] = "permission-none",
    [SIM_MUTANT_PERMISSION_LONG] = "permission-long",
    [SIM_MUTANT_PROOF_WITHOUT_COMMIT] = "proof-without-commit",
    [SIM_MUTANT_FIRST_LEASE_SHORT] = "first-lease-short",
    [SIM_MUTANT_TERM_UNCHECKED] = "term-unchecked",
    [SIM_MUTANT_TERMS_ALIKE] = "terms-alike",
    [SIM_MUTANT_DEPOSED_ORDERS] = "deposed-orders",
    [SIM_MUTANT_LOAD_BEFORE_TERM] = "load-before-term",
    [SIM_MUTANT_AWAY_BEFORE_COMMIT] = "away-before-commit",
    [SIM_MUTANT_AWAY_FORGOTTEN] = "away-forgotten",
    [SIM_MUTANT_AWAY_SHARE_EARLY] = "away-share-early",
    [SIM_MUTANT_START_GRANTS] = "start-grants",
    [SIM_MUTANT_START_FLOOR_SHORT] = "start-floor-short",
    [SIM_MUTANT_STANDSTILL_UNTOLD] = "standstill-untold",
    [SIM_MUTANT_AGES_BY_WALL_CLOCK] = "ages-by-wall-clock",
    [SIM_MUTANT_PROMISE_FORGOTTEN] = "promise-forgotten",
    [SIM_MUTANT_SILENT_FROZEN] = "silent-frozen",
};

static const char *const seen_names[_SIM_SEEN_MAX] = {
    [SIM_SEEN_STARTS] = "starts",
    [SIM_SEEN_STARTS_AGAIN] = "starts-again",
    [SIM_SEEN_STARTS_WITH_GPU] = "starts-with-gpu",
    [SIM_SEEN_STARTS_BY_SELECTOR] = "starts-by-selector",
    [SIM_SEEN_STARTS_PINNED] = "starts-pinned",
    [SIM_SEEN_ENDS_THEMSELVES] = "ends-themselves",
    [SIM_SEEN_ENDS_ON_SIGTERM] = "ends-on-sigterm",
    [SIM_SEEN_ENDS_ON_SIGKILL] = "ends-on-sigkill",
    [SIM_SEEN_CHECKPOINTS_DONE] = "checkpoints-done",
    [SIM_SEEN_ENDS_BY_FENCE] = "ends-by-fence",
    [SIM_SEEN_FROZEN] = "frozen",
    [SIM_SEEN_ESCAPES] = "escapes",
    [SIM_SEEN_THAWED] = "thawed",
    [SIM_SEEN_SUPERVISORS_KILLED] = "supervisors-killed",
    [SIM_SEEN_ENDS_WITH_POWER] = "ends-with-power",
    [SIM_SEEN_STARTS_FAILED] = "starts-failed",
    [SIM_SEEN_QUARANTINES] = "quarantines",
    [SIM_SEEN_RESIZES] = "resizes",
    [SIM_SEEN_NODES_LOST] = "nodes-lost",
    [SIM_SEEN_CORDONS] = "cordons",
    [SIM_SEEN_KILLS] = "kills",
    [SIM_SEEN_PRIORITIES] = "priorities",
    [SIM_SEEN_FOREIGN_LOADS] = "foreign-loads",
    [SIM_SEEN_FOREIGN_MEMORY] = "foreign-memory",
    [SIM_SEEN_WALL_JUMPS] = "wall-jumps",
    [SIM_SEEN_MESSAGES_LOST] = "messages-lost",
    [SIM_SEEN_MESSAGES_TWICE] = "messages-twice",
    [SIM_SEEN_MESSAGES_OVERTAKEN] = "messages-overtaken",
    [SIM_SEEN_CLIENT_CALLS_LOST] = "client-calls-lost",
    [SIM_SEEN_CLIENT_CALLS_TWICE] = "client-calls-twice",
    [SIM_SEEN_CLIENTS_CUT] = "clients-cut",
    [SIM_SEEN_CUTS_ONE_WAY] = "cuts-one-way",
    [SIM_SEEN_CUTS_BOTH_WAYS] = "cuts-both-ways",
    [SIM_SEEN_MACHINES_FROZEN] = "machines-frozen",
    [SIM_SEEN_AGENTS_FROZEN] = "agents-frozen",
    [SIM_SEEN_AGENT_CRASHES] = "agent-crashes",
    [SIM_SEEN_OFFERS_SMALLER] = "offers-smaller",
    [SIM_SEEN_OFFERS_LARGER] = "offers-larger",
    [SIM_SEEN_AGENT_STOPS] = "agent-stops",
    [SIM_SEEN_AGENTS_LEFT] = "agents-left",
    [SIM_SEEN_CREDENTIALS_REFUSED] = "credentials-refused",
    [SIM_SEEN_CLOCKS_DRIFTING] = "clocks-drifting",
    [SIM_SEEN_FAULTS_OVERLAPPING] = "faults-overlapping",
    [SIM_SEEN_SCHEDULER_CRASHES] = "scheduler-crashes",
    [SIM_SEEN_SCHEDULER_FREEZES] = "scheduler-freezes",
    [SIM_SEEN_SCHEDULER_LEFT] = "scheduler-left",
    [SIM_SEEN_LEASES_ALONE] = "leases-alone",
    [SIM_SEEN_STALLS] = "stalls",
    [SIM_SEEN_COMMITS] = "commits",
    [SIM_SEEN_ARCHIVED] = "archived",
    [SIM_SEEN_COMMITS_TORN] = "commits-torn",
    [SIM_SEEN_ANSWERS_LOST] = "answers-lost",
    [SIM_SEEN_STALE_FINISHES] = "stale-finishes",
    [SIM_SEEN_TASKS_FINISHED] = "tasks-finished",
    [SIM_SEEN_TASKS_GIVEN_BACK] = "tasks-given-back",
    [SIM_SEEN_TASKS_FAILED] = "tasks-failed",
    [SIM_SEEN_TASKS_DISCARDED] = "tasks-discarded",
    [SIM_SEEN_TASKS_DAMAGED] = "tasks-damaged",
    [SIM_SEEN_TASKS_TIMED_OUT] = "tasks-timed-out",
    [SIM_SEEN_TRAINERS_HUNG] = "trainers-hung",
    [SIM_SEEN_PROMISES_BROKEN] = "promises-broken",
    [SIM_SEEN_GROUPS_CHANGED] = "groups-changed",
    [SIM_SEEN_SHARES_TAKEN] = "shares-taken",
    [SIM_SEEN_LIMITED] = "limited",
    [SIM_SEEN_DATA_LATE] = "data-late",
    [SIM_SEEN_STRAGGLERS_MOVED] = "stragglers-moved",
    [SIM_SEEN_SERVERS_CHOSEN] = "servers-chosen",
    [SIM_SEEN_EXCHANGED] = "exchanged",
    [SIM_SEEN_TYPES_KNOWN] = "types-known",
    [SIM_SEEN_BACKLOGS] = "backlogs",
    [SIM_SEEN_PARKED] = "parked",
    [SIM_SEEN_GIVEN_UP] = "given-up",
    [SIM_SEEN_AT_ONCE] = "failed-at-once",
    [SIM_SEEN_TRAINED_NOTHING] = "trained-nothing",
    [SIM_SEEN_FAILED] = "failed-for-good",
    [SIM_SEEN_TERMS] = "terms",
    [SIM_SEEN_TURNS_REFUSED] = "turns-refused",
    [SIM_SEEN_TERMS_LOWER] = "terms-lower",
    [SIM_SEEN_LEADERS_AWAY] = "leaders-away",
    [SIM_SEEN_LEASES_ONLY] = "leases-only",
    [SIM_SEEN_PERMISSIONS_OVER] = "permissions-over",
    [SIM_SEEN_DEPOSED] = "deposed",
    [SIM_SEEN_DATABASE_CRASHES] = "database-crashes",
    [SIM_SEEN_DATABASE_SPLITS] = "database-splits",
};

const char *sim_seen_to_string(enum sim_seen seen)
{
    return (unsigned)seen < _SIM_SEEN_MAX ? seen_names[seen] : "?";
}

const char *sim_mutant_to_string(enum sim_mutant mutant)
{
    return (unsigned)mutant < _SIM_MUTANT_MAX ? mutant_names[mutant] : "?";
}

static void set_default(uint64_t *value, uint64_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void set_schedulers(struct sim *sim)
{
    sim->n_servers = MAX_OF(sim->config.schedulers, 1U);
    sim->store = memory_store_new();
    for (uint32_t i = 0; i < sim->n_servers; i++) {
        struct server *server = &sim->servers[i];

        server->index = i;
        server->random = stream(sim, "server", i, 0);
        server->timer_at_us = NEVER_US;
        server->boot_base_us = i; /* machines of their own have other boots */
        if (sim->n_servers > 1)
            leading_init(sim, server);
    }
    sim->server = &sim->servers[0];
    database_init(sim);
}

struct sim *sim_new(const struct sim_config *config)
{
    struct sim *sim = xcalloc(1, sizeof *sim);

    sim->config = *config;
    if (sim->config.policy == NULL)
        sim->config.policy = policy_default;
    if (sim->config.max_load_permille == 0)
        sim->config.max_load_permille = 970;
    set_default(&sim->config.lease_us, 15 * USEC_PER_SEC);
    set_default(&sim->config.lease_margin_us, 2 * USEC_PER_SEC);
    set_default(&sim->config.away_us, 60 * USEC_PER_SEC);
    set_default(&sim->config.foreign_hold_us, FOREIGN_HOLD_US);
    set_default(&sim->config.heartbeat_us, USEC_PER_SEC);
    set_schedulers(sim);
    groups_make(sim, 0);
    sim->server->groups = groups_table(sim);
    for (uint32_t i = sim->n_servers; i-- > 0;) {
        sim->server = &sim->servers[i];
        server_at(sim, 0, EVENT_SERVER_START, 0, 0);
    }
    return sim;
}

static void free_event(struct sim *sim, const struct event *event)
{
    if (event->kind == EVENT_DELIVER)
        (void)message_free(sim, event->p);
    else if (event->kind == EVENT_SCRIPT || event->kind == EVENT_HEAL)
        free(event->p);
    else if (event->kind == EVENT_DATABASE || event->kind == EVENT_DATABASE_SAYS)
        (void)query_free(sim, event->p);
}

struct sim *sim_free(struct sim *sim)
{
    struct message *message;

    if (sim == NULL)
        return NULL;
    for (size_t i = 0; i < sim->heap.n; i++)
        free_event(sim, &sim->heap.items[i]);
    free(sim->heap.items);
    for (uint32_t k = 0; k < sim->n_servers; k++)
        for (size_t i = 0; i < sim->servers[k].n_late; i++)
            free_event(sim, &sim->servers[k].late[i]);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        for (size_t j = 0; j < sim->nodes[i]->n_late; j++)
            free_event(sim, &sim->nodes[i]->late[j]);
    database_done(sim);
    ledger_done(sim);
    for (uint32_t i = 0; i < sim->n_servers; i++)
        server_done(sim, &sim->servers[i]);
    sim->store = memory_store_free(sim->store);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        machine_done(sim->nodes[i]);
    free(sim->nodes);
    for (uint32_t i = 0; i < sim->n_submissions; i++)
        (void)job_spec_free(sim->submissions[i].spec);
    free(sim->submissions);
    free(sim->operations);
    for (size_t i = 0; i < sim->n_texts; i++)
        free(sim->texts[i]);
    free(sim->texts);
    while ((message = sim->free_messages) != NULL) {
        sim->free_messages = message->next;
        free(message);
    }
    free(sim);
    return NULL;
}

/* --- what is to happen --- */

/* Of its clock against the scheduler's. */
static int32_t drift(const struct sim *sim, uint32_t node)
{
    uint64_t random = stream(sim, "drift", node, 0);

    return (int32_t)random_below(&random, 2 * (uint64_t)sim->config.drift_ppm + 1) -
           (int32_t)sim->config.drift_ppm;
}

uint32_t sim_add_node(struct sim *sim, uint64_t at_us, const char *name,
                      const struct node_offer *offer)
{
    struct sim_node *node = xcalloc(1, sizeof *node);

    if (sim->n_nodes == sim->cap_nodes) {
        sim->cap_nodes = sim->cap_nodes ? 2 * sim->cap_nodes : 16;
        sim->nodes = xreallocarray(sim->nodes, sim->cap_nodes, sizeof(*sim->nodes));
        for (uint32_t i = 0; i < sim->n_servers; i++)
            sim->servers[i].orders_waiters =
                xreallocarray(sim->servers[i].orders_waiters, sim->cap_nodes,
                              sizeof(*sim->servers[i].orders_waiters));
    }
    node->number = sim->n_nodes;
    (void)snprintf(node->name, sizeof node->name, "%s", name);
    node->offer = *offer;
    /* the core shows it to nobody here; it tells which node of ours a node of the core is */
    (void)snprintf(node->offer.address, sizeof node->offer.address, "%u", node->number);
    node->most = node->offer;
    node->speed_permille = 1000;
    machine_tell_offer(sim, node);
    node->network_random = stream(sim, "network", node->number, 0);
    node->agent_random = stream(sim, "agent", node->number, 0);
    node->drift_ppm = drift(sim, node->number);
    freezing_new_node(sim, node);
    sim->seen[SIM_SEEN_CLOCKS_DRIFTING] += node->drift_ppm != 0;
    for (uint32_t i = 0; i < sim->n_servers; i++)
        sim->servers[i].orders_waiters[sim->n_nodes] = NULL;
    sim->nodes[sim->n_nodes++] = node;
    sim_at(sim, at_us, EVENT_NODE, node->number, 0, NULL);
    return node->number;
}

void sim_set_speed(struct sim *sim, uint32_t node, uint32_t permille)
{
    sim->nodes[node]->speed_permille = permille;
}

static uint32_t add_operation(struct sim *sim, uint64_t at_us, const struct operation *op)
{
    uint32_t number = sim->n_operations++;

    if (number == sim->cap_operations) {
        sim->cap_operations = sim->cap_operations ? 2 * sim->cap_operations : 16;
        sim->operations =
            xreallocarray(sim->operations, sim->cap_operations, sizeof *sim->operations);
    }
    sim->operations[number] = *op;
    sim->operations[number].random = stream(sim, "client", op->kind, number);
    sim_at(sim, at_us, EVENT_CLIENT, number, 0, NULL);
    return number;
}

void sim_set_user(struct sim *sim, uint32_t submission, const char *user)
{
    struct submission *its = &sim->submissions[submission];

    (void)snprintf(its->user_name, sizeof its->user_name, "%s", user);
}

uint32_t sim_submit_at(struct sim *sim, uint64_t at_us, struct job_spec *take_spec,
                       const struct sim_work *work)
{
    struct submission *submission;
    uint32_t number = sim->n_submissions++;
    uint64_t random;

    if (number == sim->cap_submissions) {
        sim->cap_submissions = sim->cap_submissions ? 2 * sim->cap_submissions : 16;
        sim->submissions =
            xreallocarray(sim->submissions, sim->cap_submissions, sizeof *sim->submissions);
    }
    submission = &sim->submissions[number];
    *submission = (struct submission){
        .spec = take_spec, .work = *work, .submitted_us = NEVER_US, .acknowledged_us = NEVER_US
    };
    (void)snprintf(submission->name, sizeof submission->name, "%s", take_spec->name);
    random = stream(sim, "user", number, 0);
    submission->user = (uint32_t)random_below(&random, SIM_USERS);
    (void)add_operation(sim, at_us,
                        &(struct operation){
                            .kind = CALL_SUBMIT, .submission = number, .node = NOBODY });
    return number;
}

void sim_kill_at(struct sim *sim, uint64_t at_us, uint32_t submission)
{
    (void)add_operation(sim, at_us,
                        &(struct operation){
                            .kind = CALL_KILL, .submission = submission, .node = NOBODY });
}

void sim_scale_at(struct sim *sim, uint64_t at_us, uint32_t submission, const char *role,
                  uint32_t min, uint32_t max)
{
    struct operation op = {
        .kind = CALL_SCALE, .submission = submission, .node = NOBODY, .min = min, .max = max
    };

    (void)snprintf(op.role, sizeof op.role, "%s", role != NULL ? role : "trainer");
    (void)add_operation(sim, at_us, &op);
}

void sim_prioritise_at(struct sim *sim, uint64_t at_us, uint32_t submission, int32_t priority)
{
    (void)add_operation(sim, at_us,
                        &(struct operation){ .kind = CALL_PRIORITISE,
                                             .submission = submission,
                                             .node = NOBODY,
                                             .priority = priority });
}

void sim_node_state_at(struct sim *sim, uint64_t at_us, uint32_t node, enum node_state state)
{
    (void)add_operation(sim, at_us,
                        &(struct operation){ .kind = CALL_NODE_STATE,
                                             .submission = NOBODY,
                                             .node = node,
                                             .state = state });
}

void sim_remove_node_at(struct sim *sim, uint64_t at_us, uint32_t node)
{
    (void)add_operation(sim, at_us,
                        &(struct operation){
                            .kind = CALL_NODE_REMOVE, .submission = NOBODY, .node = node });
}

void sim_foreign_at(struct sim *sim, uint64_t at_us, uint32_t node, uint64_t cpu_millicores,
                    uint64_t memory_bytes)
{
    sim_script_at(sim, at_us,
                  &(struct script){ .kind = SCRIPT_FOREIGN,
                                    .node = node,
                                    .a = cpu_millicores,
                                    .b = memory_bytes });
}

/* --- running --- */

static void on_program(struct sim *sim, struct sim_node *node, uint64_t serial)
{
    struct unit *unit = machine_unit(node, serial);

    if (unit != NULL && !unit->frozen) /* it is told anew when it thaws */
        program_on_event(sim, unit);
}

static void dispatch(struct sim *sim, const struct event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_DELIVER:
        network_deliver(sim, event->p);
        break;
    case EVENT_NODE:
        machine_boot(sim, sim->nodes[event->a]);
        break;
    case EVENT_AGENT_START:
        agent_start(sim, sim->nodes[event->a]);
        break;
    case EVENT_AGENT_TIMER:
        agent_on_timer(sim, sim->nodes[event->a], event->b);
        break;
    case EVENT_TAIL:
        agent_on_tail(sim, sim->nodes[event->a], event->b, event->p == NULL);
        break;
    case EVENT_UNIT:
        on_unit(sim, sim->nodes[event->a], event->b);
        break;
    case EVENT_SUPERVISOR:
        on_supervisor(sim, sim->nodes[event->a], event->b);
        break;
    case EVENT_THAWED:
        ledger_node_thawed(sim, sim->nodes[event->a]);
        break;
    case EVENT_PROGRAM:
        on_program(sim, sim->nodes[event->a], event->b);
        break;
    case EVENT_COMMITTED:
        server_on_committed(sim, event->b);
        break;
    case EVENT_SERVER_TIMER:
        server_on_timer(sim, event->b);
        break;
    case EVENT_SERVER_START:
        server_start(sim);
        break;
    case EVENT_SERVER_CRASH:
        if (event->b == sim->server->generation && !sim->server->frozen)
            server_crash(sim, CRASH_NOW, sim->server->down_us);
        break;
    case EVENT_SERVER_GONE:
        server_on_gone(sim, event->b);
        break;
    case EVENT_POLL_END:
        server_on_poll_end(sim, event->a, event->b);
        break;
    case EVENT_LEASE_END:
        server_on_lease_end(sim, event->a, event->b);
        break;
    case EVENT_CLIENT:
        client_on_event(sim, event->a, event->b);
        break;
    case EVENT_FROZEN:
    case EVENT_THAW:
    case EVENT_STOOD:
    case EVENT_LEASE_OVER:
        freezing_event(sim, event);
        break;
    case EVENT_ALIVE:
        promises_event(sim, event);
        break;
    case EVENT_SCRIPT:
        script_run(sim, event->p);
        free(event->p);
        break;
    case EVENT_HEAL:
        script_heal(sim, event->p);
        free(event->p);
        break;
    case EVENT_DATABASE:
    case EVENT_DATABASE_DONE:
    case EVENT_DATABASE_IDLE:
    case EVENT_DATABASE_UP:
        database_event(sim, event);
        break;
    case EVENT_DATABASE_SAYS:
    case EVENT_PROOF:
    case EVENT_SILENT:
    case EVENT_CANDIDATE:
    case EVENT_REPORT_WAITED:
        leading_event(sim, event);
        break;
    case _EVENT_MAX:
        break;
    }
}

static uint32_t scheduler_of(const struct sim *sim, const struct event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_DELIVER: {
        const struct message *message = event->p;

        return message->answer ? sim->database.leader : message->server;
    }
    case EVENT_DATABASE_SAYS:
        return ((const struct query *)event->p)->server;
    case EVENT_COMMITTED:
    case EVENT_SERVER_TIMER:
    case EVENT_SERVER_START:
    case EVENT_SERVER_CRASH:
    case EVENT_SERVER_GONE:
    case EVENT_POLL_END:
    case EVENT_LEASE_END:
    case EVENT_PROOF:
    case EVENT_SILENT:
    case EVENT_CANDIDATE:
    case EVENT_REPORT_WAITED:
        return (uint32_t)(uintptr_t)event->p;
    default:
        return sim->database.leader;
    }
}

/* A loop of messages and timers without delay would never let the clock go on. */
static void check_instant(struct sim *sim, const struct event *event)
{
    if (event->at_us != sim->instant_us) {
        sim->instant_us = event->at_us;
        sim->instant_events = 0;
    }
    if (++sim->instant_events > INSTANT_EVENTS_MAX)
        violate(sim, "endless", "more than %d events in one instant, the last of kind %" PRIu32,
                INSTANT_EVENTS_MAX, event->kind);
}

bool sim_step(struct sim *sim)
{
    struct event event;

    if (sim->violated || !heap_pop(&sim->heap, &event))
        return false;
    sim->now_us = event.at_us;
    sim->events++;
    sim_mix(sim, event.at_us ^ (uint64_t)event.kind << 56 ^ (uint64_t)event.a << 40);
    check_instant(sim, &event);
    sim->server = &sim->servers[scheduler_of(sim, &event)];
    if (!machine_defers(sim, &event))
        dispatch(sim, &event);
    sim->server = &sim->servers[sim->database.leader];
    return !sim->violated;
}

void sim_run_until(struct sim *sim, uint64_t us)
{
    while (sim->heap.n > 0 && sim->heap.items[0].at_us <= us && sim_step(sim))
        continue;
    if (!sim->violated)
        sim->now_us = MAX_OF(sim->now_us, us);
}

/* --- looking --- */

uint64_t sim_now_us(const struct sim *sim)
{
    return sim->now_us;
}

uint64_t sim_saw(const struct sim *sim, enum sim_seen what)
{
    return sim->seen[what];
}

uint64_t sim_events(const struct sim *sim)
{
    return sim->events;
}

const struct edl_error *sim_violation(const struct sim *sim)
{
    return sim->violated ? &sim->violation : NULL;
}

uint64_t sim_hash(const struct sim *sim)
{
    return sim->hash;
}

const struct cluster *sim_cluster(const struct sim *sim)
{
    return sim->server->cluster;
}

static uint32_t count_bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

void sim_each_process(const struct sim *sim, sim_process_fn fn, void *userdata)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct unit *unit;

        DL_FOREACH(sim->nodes[i]->units, unit)
        if (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING)
            fn(&(struct sim_process_view){ .node = i,
                                           .job_id = unit->id.job_id,
                                           .role = unit->id.role,
                                           .index = unit->id.index,
                                           .incarnation = unit->id.incarnation,
                                           .running = unit->life == LIFE_RUNNING,
                                           .stopping = unit->told,
                                           .since_us = unit->since_us,
                                           .cpu_millicores = unit->cpu_millicores,
                                           .memory_bytes = unit->memory_bytes,
                                           .gpus = count_bits(unit->gpu_mask) },
               userdata);
    }
}

size_t sim_n_submissions(const struct sim *sim)
{
    return sim->n_submissions;
}

void sim_job_facts(const struct sim *sim, uint32_t submission, struct sim_job_facts *ret)
{
    const struct submission *made = &sim->submissions[submission];
    const struct truth_job *truth = made->job_id != 0 ? ledger_job(sim, made->job_id) : NULL;

    *ret = (struct sim_job_facts){ .name = made->name,
                                   .job_id = made->job_id,
                                   .submitted_us = made->submitted_us,
                                   .acknowledged_us = made->acknowledged_us,
                                   .started_us = NEVER_US,
                                   .ended_us = NEVER_US };
    if (truth == NULL)
        return;
    ret->started_us = truth->started_us;
    ret->ended_us = truth->ended_us;
    ret->state = truth->state;
    ret->resizes = truth->resizes;
    ret->cpu_granted_us =
        truth->cpu_used_us + truth->cpu_now * (sim->now_us - truth->cpu_since_us) / 1000;
}
