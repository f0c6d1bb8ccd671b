/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - the scheduler's shell: turns, commits, crashes
 *
 * As scheduler/turn.c: all calls that came in while nothing was being written are one turn. Its
 * effects are one commit, which takes time and blocks everything else; answers and orders go out
 * behind it. A crash before the end of a commit leaves nothing of it. */
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/plan/acts.h"
#include "simulator/check_starts.h"
#include "simulator/internal.h"

#define LEAVING_US (300 * USEC_PER_MSEC) /* for what it tells */

void server_at(struct sim *sim, uint64_t at_us, uint32_t kind, uint32_t a, uint64_t b)
{
    void *number = (void *)(uintptr_t)sim->server->index; /* nobody looks there */

    sim_at(sim, at_us, kind, a, b, number);
}

void server_after(struct sim *sim, uint64_t delay_us, uint32_t kind, uint32_t a, uint64_t b)
{
    server_at(sim, sim->now_us + delay_us, kind, a, b);
}

static void free_list(struct sim *sim, struct message **list)
{
    struct message *message;
    struct message *next;

    DL_FOREACH_SAFE(*list, message, next)
    {
        DL_DELETE(*list, message);
        (void)message_free(sim, message);
    }
}

/* A fault of the node's own may excuse it for longer. */
static void excuse(const struct sim *sim, struct sim_node *node)
{
    node->excused_until_us = MAX_OF(node->excused_until_us, sim->now_us + EXCUSED_AFTER_US);
}

void server_node_removed(struct sim *sim, uint32_t node)
{
    struct message **waiters = &sim->server->orders_waiters[node];
    struct message *request;
    struct message *next;

    excuse(sim, sim->nodes[node]);
    DL_FOREACH_SAFE(*waiters, request, next)
    {
        DL_DELETE(*waiters, request);
        server_hold(sim, answer_new(sim, request, 404));
        (void)message_free(sim, request);
    }
}

static void arm_timer(struct sim *sim)
{
    struct server *server = sim->server;
    uint64_t deadline_us = cluster_next_deadline_us(server->cluster);

    if (deadline_us == NEVER_US) {
        server->timer_at_us = NEVER_US;
        return;
    }
    deadline_us = MAX_OF(server_when_us(sim, deadline_us), sim->now_us);
    if (deadline_us == server->timer_at_us)
        return;
    server->timer_at_us = deadline_us;
    server_at(sim, deadline_us, EVENT_SERVER_TIMER, 0, server->generation);
}

static void answer_all(struct sim *sim)
{
    struct message *list = sim->server->answers;
    struct message *answer;
    struct message *next;

    sim->server->answers = NULL;
    DL_FOREACH_SAFE(list, answer, next)
    {
        DL_DELETE(list, answer);
        if (answer->kind == CALL_REPORT && answer->status == 200) {
            const struct node *node =
                cluster_node(sim->server->cluster, sim->nodes[answer->node]->name);

            answer->version = node != NULL ? node->orders_version : 0;
        }
        if (answer->kind == CALL_ORDERS && answer->orders == NULL && answer->status == 200)
            server_answer_orders(sim, answer);
        else
            send_answer(sim, answer);
    }
}

void server_hold(struct sim *sim, struct message *take_answer)
{
    if (sim->config.mutant == SIM_MUTANT_ANSWER_BEFORE_COMMIT && take_answer->node == NOBODY)
        send_answer(sim, take_answer);
    else
        DL_APPEND(sim->server->answers, take_answer);
}

/* As scheduler/nodes/leaving.c: from the instant on in which it was asked. */
void server_add_away(const struct sim *sim, const struct node *node, struct message *answer)
{
    uint64_t waited_us = answer->arrived_us != 0 ? sim->now_us - answer->arrived_us : 0;

    if (sim->server->tells_away && node->heard && node->state != NODE_LOST)
        answer->lease_us = sim->config.away_us + waited_us;
}

static void tell_away(struct sim *sim)
{
    struct message *request, *next, *answer;

    sim->server->tells_away = true;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        DL_FOREACH_SAFE(sim->server->orders_waiters[i], request, next)
        {
            DL_DELETE(sim->server->orders_waiters[i], request);
            answer = answer_new(sim, request, 200);
            answer->arrived_us = request->arrived_us;
            server_answer_orders(sim, answer);
            (void)message_free(sim, request);
        }
}

static void wake_orders(struct sim *sim, uint32_t number)
{
    struct message **waiters = &sim->server->orders_waiters[number];
    struct message *request;
    struct message *next;
    const struct node *node = cluster_node(sim->server->cluster, sim->nodes[number]->name);

    DL_FOREACH_SAFE(*waiters, request, next)
    {
        if (node != NULL && request->has_version && request->version == node->orders_version)
            continue;
        DL_DELETE(*waiters, request);
        server_answer_orders(sim, answer_new(sim, request, 200));
        (void)message_free(sim, request);
    }
}

/* Nodes whose orders changed; the effects die with the core's next event, so their numbers are kept
 * apart. */
static uint32_t *collect_orders(const struct effect *effects, size_t n, size_t *ret_n)
{
    uint32_t *numbers = xcalloc(n, sizeof *numbers);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_ORDERS)
            numbers[(*ret_n)++] = sim_node_number(effects[i].node);
    return numbers;
}

void server_write(struct sim *sim)
{
    struct server *server = sim->server;
    size_t n;
    const struct effect *effects = cluster_effects(server->cluster, &n);

    spoil_write(sim, effects, n);
    server->commits = ++sim->commits;
    sim->seen[SIM_SEEN_COMMITS]++;
    ledger_committed(sim, effects, n);
    server->regrouped = false;
}

static void finish_turn(struct sim *sim, bool committed);
static void go_on(struct sim *sim);

/* What is on disk now may be told. */
void server_stored(struct sim *sim)
{
    server_hears_again(sim);
    finish_turn(sim, true);
    go_on(sim);
}

static bool ends_here(struct sim *sim, bool committed)
{
    struct server *server = sim->server;

    if (server->crash_when != CRASH_AFTER_COMMIT || !committed)
        return false;
    sim->seen[SIM_SEEN_ANSWERS_LOST] += server->answers != NULL;
    server_crash(sim, CRASH_NOW, server->down_us);
    return true;
}

static void finish_turn(struct sim *sim, bool committed)
{
    struct server *server = sim->server;
    uint32_t *numbers = NULL;
    size_t n_numbers = 0;

    if (committed) {
        size_t n;
        const struct effect *effects = cluster_effects(server->cluster, &n);

        numbers = collect_orders(effects, n, &n_numbers);
        cluster_effects_clear(server->cluster);
    }
    server->busy = false;
    if (!leading_deposed(sim))
        check_turn(sim, committed && role_is_alone(&server->leading));
    if (ends_here(sim, committed)) {
        free(numbers);
        return;
    }
    answer_all(sim);
    if (server->leaves) {
        tell_away(sim);
        server_after(sim, LEAVING_US, EVENT_SERVER_GONE, 0, server->generation);
    }
    for (size_t i = 0; i < n_numbers; i++)
        wake_orders(sim, numbers[i]);
    free(numbers);
    if (committed || server->planned)
        arm_timer(sim);
}

static void commit(struct sim *sim)
{
    struct server *server = sim->server;
    uint64_t us;

    server->busy = true;
    server->deaf_since_us = sim->now_us;
    if (!role_is_alone(&server->leading)) {
        leading_send(sim);
        return;
    }
    us = draw(&server->random, sim->config.commit) + server->disk_slow_us;
    if (sim->config.mutant == SIM_MUTANT_ORDERS_BEFORE_COMMIT)
        for (uint32_t i = 0; i < sim->n_nodes; i++)
            wake_orders(sim, i);
    if (server->crash_when == CRASH_IN_COMMIT)
        server_after(sim, random_below(&server->random, us + 1), EVENT_SERVER_CRASH, 0,
                     server->generation);
    server_after(sim, us, EVENT_COMMITTED, 0, server->generation);
}

/* But for those that only draw conclusions from the others. */
static void trace_acts(struct sim *sim)
{
    size_t n;
    const struct act *acts = cluster_acts(sim->server->cluster, &n);
    char text[500];

    for (size_t i = 0; i < n; i++)
        if (acts[i].kind != ACT_SETTLE)
            TRACE(sim, "plan: %s", act_describe(sim->server->cluster, &acts[i], text, sizeof text));
}

static void turn(struct sim *sim)
{
    struct server *server = sim->server;
    const struct effect *effects;
    size_t n;

    server->turns++;
    if (cluster_wants_plan(server->cluster)) {
        server->planned = true;
        spoil_before_plan(sim);
        if (cluster_plan(server->cluster, server_instant(sim)) && sim->config.trace != NULL)
            trace_acts(sim);
        spoil_after_plan(sim);
    }
    (void)cluster_archive_ended(server->cluster, server_instant(sim));
    effects = cluster_effects(server->cluster, &n);
    check_starts(sim, effects, n);
    for (size_t i = 0; i < n; i++) {
        if (effects[i].kind == EFFECT_SAVE_TASKS || effects[i].kind == EFFECT_SAVE_DATASET)
            server_serve_tasks(sim, ledger_job(sim, effects[i].job->id));
        effects = cluster_effects(server->cluster, &n); /* it may have moved */
    }
    if (n == 0) {
        finish_turn(sim, false);
        return;
    }
    commit(sim);
}

void server_leave(struct sim *sim, uint64_t down_us, bool dies)
{
    struct server *server = sim->server;

    if (!server->up || server->frozen || server->leaves)
        return;
    server->down_us = down_us;
    server->leaves_late = server->busy;
    if (server->busy)
        return;
    TRACE(sim, "scheduler leaves");
    server->leaves = true;
    if (dies)
        server->crash_when = CRASH_IN_COMMIT;
    cluster_leave(server->cluster, sim->config.away_us);
    if (sim->config.mutant == SIM_MUTANT_AWAY_BEFORE_COMMIT)
        tell_away(sim);
    turn(sim);
}

void server_on_gone(struct sim *sim, uint64_t generation)
{
    struct server *server = sim->server;

    if (generation != server->generation || !server->leaves)
        return;
    if (server->frozen) {
        server_after(sim, LEAVING_US, EVENT_SERVER_GONE, 0, generation);
        return;
    }
    sim->seen[SIM_SEEN_SCHEDULER_LEFT]++;
    server_crash(sim, CRASH_NOW, server->down_us);
}

static void take_inbox(struct sim *sim)
{
    struct message *list = sim->server->inbox;
    struct message *request;
    struct message *next;

    sim->server->inbox = NULL;
    sim->server->planned = sim->server->timer_late;
    sim->server->timer_late = false;
    DL_FOREACH_SAFE(list, request, next)
    {
        DL_DELETE(list, request);
        server_handle(sim, request);
    }
    turn(sim);
}

void server_hears_again(struct sim *sim)
{
    struct server *server = sim->server;
    uint64_t missed_us = sim->now_us - server->deaf_since_us;

    server->deaf_since_us = sim->now_us;
    if (!server->up || missed_us < cluster_stall_least_us(server->cluster))
        return;
    sim->seen[SIM_SEEN_STALLS]++;
    server->excused_until_us = MAX_OF(server->excused_until_us, sim->now_us + EXCUSED_AFTER_US);
    if (sim->config.mutant != SIM_MUTANT_STALL_IGNORED)
        cluster_stalled(server->cluster, missed_us, server_instant(sim));
}

/* Who was told that he may go on is not judged any more. */
static void judge(struct sim *sim)
{
    if (sim->server->leaves)
        return;
    cluster_tick(sim->server->cluster, server_instant(sim));
}

static void go_on(struct sim *sim)
{
    struct server *server = sim->server;

    if (server->up && server->timer_late)
        judge(sim);
    if (server->up && !server->leaves && (server->inbox != NULL || server->timer_late))
        take_inbox(sim);
    if (server->up && server->leaves_late && !server->busy)
        server_leave(sim, server->down_us, false);
}

void server_on_committed(struct sim *sim, uint64_t generation)
{
    struct server *server = sim->server;

    if (generation != server->generation || !server->up)
        return;
    server_hears_again(sim);
    server_write(sim);
    server_store_clock(sim);
    finish_turn(sim, true);
    go_on(sim);
}

void server_receive(struct sim *sim, struct message *take_request)
{
    struct server *server = sim->server;

    if (!role_is_alone(&server->leading) && leading_receive(sim, take_request))
        return;
    /* nobody listens, or it was said to a scheduler that is no more */
    if (!server->up || take_request->generation != server->generation) {
        send_answer(sim, answer_new(sim, take_request, 0));
        (void)message_free(sim, take_request);
        return;
    }
    if (server->leaves && (take_request->kind != CALL_ORDERS || !server->tells_away)) {
        send_answer(sim, answer_new(sim, take_request, 0));
        (void)message_free(sim, take_request);
        return;
    }
    if (server->busy) {
        DL_APPEND(server->inbox, take_request);
        return;
    }
    server->planned = false;
    server_handle(sim, take_request);
    turn(sim);
}

void server_on_timer(struct sim *sim, uint64_t generation)
{
    struct server *server = sim->server;

    if (generation != server->generation || !server->up || sim->now_us < server->timer_at_us)
        return;
    if (server->busy) { /* the loop is in the commit: right after it */
        server->timer_late = true;
        return;
    }
    if (server->leaves)
        return;
    server->timer_at_us = NEVER_US;
    judge(sim);
    server->planned = true;
    turn(sim);
    if (server->up && !server->busy)
        arm_timer(sim);
}

/* The turn comes as that of a timer. */
void server_regroup(struct sim *sim)
{
    struct server *server = sim->server;
    struct group_table *old = server->groups;

    if (sim->config.mutant == SIM_MUTANT_GROUPS_KEPT)
        return;
    server->groups = groups_table(sim);
    server->regrouped = server->busy;
    if (server->up) {
        cluster_set_groups(server->cluster, server->groups);
        server->timer_at_us = sim->now_us;
        server_at(sim, sim->now_us, EVENT_SERVER_TIMER, 0, server->generation);
    }
    old = group_table_free(old);
}

/* Whose answer is lost with it waits until its call's time is over. */
static void excuse_unanswered(struct sim *sim)
{
    const struct message *answer;

    DL_FOREACH(sim->server->answers, answer)
    if (answer->node < sim->n_nodes)
        excuse(sim, sim->nodes[answer->node]);
}

/* Connections that are open when a process ends are reset: their callers hear of it. */
static void answer_list(struct sim *sim, struct message **list, int status)
{
    struct message *message;
    struct message *next;

    DL_FOREACH_SAFE(*list, message, next)
    {
        DL_DELETE(*list, message);
        send_answer(sim, answer_new(sim, message, status));
        (void)message_free(sim, message);
    }
}

void server_drop(struct sim *sim, int status)
{
    struct server *server = sim->server;

    answer_list(sim, &server->inbox, status);
    excuse_unanswered(sim);
    if (status == 0)
        free_list(sim, &server->answers); /* their callers' time runs out */
    else
        answer_list(sim, &server->answers, status);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        answer_list(sim, &server->orders_waiters[i], status);
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++)
        if (sim->ledger.jobs[id] != NULL)
            answer_list(sim, &sim->ledger.jobs[id]->waiters[server->index], status);
}

static void end(struct sim *sim)
{
    struct server *server = sim->server;

    TRACE(sim, "scheduler ends%s", server->busy ? " in the middle of a commit" : "");
    sim_mix(sim, 0xc4a54 + server->busy);
    sim->seen[SIM_SEEN_SCHEDULER_CRASHES]++;
    sim->seen[SIM_SEEN_COMMITS_TORN] += server->busy;
    if (server->busy && sim->config.mutant == SIM_MUTANT_STORE_KEEPS_TORN)
        spoil_torn(sim);
    server->up = server->busy = server->frozen = server->timer_late = server->regrouped = false;
    server->leaves = server->leaves_late = server->tells_away = false;
    server->crash_when = CRASH_NOW;
    server->generation++;
    server->timer_at_us = NEVER_US;
    server->excused_until_us = sim->now_us + server->down_us + EXCUSED_AFTER_US;
    server_drop(sim, 0);
    leading_release(sim, server);
    ledger_crashed(sim);
}

void server_crash(struct sim *sim, enum crash_when when, uint64_t down_us)
{
    struct server *server = sim->server;

    if (!server->up && !server->leading.alive)
        return;
    server->crash_when = when;
    server->down_us = down_us;
    if (when != CRASH_NOW)
        return;
    end(sim);
    leading_end(sim, down_us);
    server_after(sim, down_us, EVENT_SERVER_START, 0, 0);
}

static struct cluster_config config_of(const struct sim *sim)
{
    struct cluster_config config = {
        .policy = sim->config.policy,
        .max_load_permille = sim->config.max_load_permille,
        .lease_us = sim->config.lease_us,
        .lease_margin_us = sim->config.lease_margin_us,
        .foreign_hold_us = sim->config.foreign_hold_us,
        .parking_us = sim->config.parking_us,
        .keep_ended_jobs = sim->config.keep_ended_jobs,
        .groups = sim->server->groups,
        .first_come = sim->config.first_come,
        .first_session = sim->server->run << 32,
        .follows_leader = !role_is_alone(&sim->server->leading),
        .ignores_speed = sim->config.ignores_speed,
        .ignores_types = sim->config.ignores_types,
    };

    if (sim->config.mutant == SIM_MUTANT_MARGIN_NONE)
        config.lease_margin_us = 0;
    if (sim->config.mutant == SIM_MUTANT_MARGIN_NEGATIVE) {
        config.lease_us /= 4;
        config.lease_margin_us = 0;
    }
    return config;
}

void server_load(struct sim *sim)
{
    struct server *server = sim->server;
    struct cluster_config config = config_of(sim);
    struct edl_error error = { 0 };

    server_begin_clock(sim);
    server->cluster = cluster_new(&config);
    server->commits = sim->commits;
    if (memory_store_load(sim->store, server->cluster, server_instant(sim), &error) < 0) {
        violate(sim, "replay", "the store cannot be read: %s", error.text);
        return;
    }
    ledger_restored(sim);
    spoil_restore(sim);
}

void server_serves(struct sim *sim)
{
    struct server *server = sim->server;
    struct node *node;
    uint64_t base;

    if (sim->violated)
        return;
    server->forgets_at_us = sim->config.mutant == SIM_MUTANT_RESTART_FORGETS_INCARNATION
                                ? sim->now_us + sim->config.lease_us / 2
                                : NEVER_US;
    base = random_u64(&server->random) >> 34 << 32;
    for (node = cluster_nodes(server->cluster); node != NULL; node = node->hh.next)
        node->orders_version = base + (++server->joins << 20);
    server->up = true;
    server->timer_at_us = NEVER_US;
    TRACE(sim, "scheduler starts");
    cluster_want_plan(server->cluster);
    server->planned = true;
    turn(sim);
}

void server_start(struct sim *sim)
{
    struct server *server = sim->server;

    if (server->up || server->leading.alive)
        return;
    server->generation++;
    if (!role_is_alone(&server->leading)) {
        leading_start(sim);
        return;
    }
    server->run = server->generation;
    server_load(sim);
    server_serves(sim);
}

void server_on_poll_end(struct sim *sim, uint32_t node, uint64_t call)
{
    struct server *server = sim->server;
    struct message *request;

    if (!server->up)
        return;
    DL_FOREACH(server->orders_waiters[node], request)
    if (request->call == call)
        break;
    if (request != NULL) {
        struct message *answer = answer_new(sim, request, 200);

        DL_DELETE(server->orders_waiters[node], request);
        if (server->busy)
            DL_APPEND(server->answers, answer);
        else
            server_answer_orders(sim, answer);
        (void)message_free(sim, request);
    }
}

void server_done(struct sim *sim, struct server *server)
{
    server->cluster = cluster_free(server->cluster);
    server->groups = group_table_free(server->groups);
    free_list(sim, &server->inbox);
    free_list(sim, &server->answers);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        free_list(sim, &server->orders_waiters[i]);
    free(server->orders_waiters);
    free(server->pendings.items);
    free(server->late);
}
