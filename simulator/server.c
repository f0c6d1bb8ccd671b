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
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/check/spoil.h"
#include "scheduler/core/model/waiting.h"
#include "scheduler/core/plan/acts.h"
#include "simulator/check_starts.h"
#include "simulator/internal.h"

#define LOSE_ONE_IN 20                   /* SIM_MUTANT_STORE_LOSES_RECORD: processes' records */
#define LEAVING_US (300 * USEC_PER_MSEC) /* for what it tells */
#define OVERRATED_S 600 /* SIM_MUTANT_COST_OVERRATED: no change here takes longer than 60 s */

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

/* Connections that are open when a process ends are reset: their callers hear of it. */
static void reset_list(struct sim *sim, struct message **list)
{
    struct message *message;
    struct message *next;

    DL_FOREACH_SAFE(*list, message, next)
    {
        DL_DELETE(*list, message);
        send_answer(sim, answer_new(sim, message, 0));
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
    struct message **waiters = &sim->server.orders_waiters[node];
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
    struct server *server = &sim->server;
    uint64_t deadline_us = cluster_next_deadline_us(server->cluster);

    if (deadline_us == NEVER_US) {
        server->timer_at_us = NEVER_US;
        return;
    }
    deadline_us = MAX_OF(deadline_us + server->boot_base_us, sim->now_us);
    if (deadline_us == server->timer_at_us)
        return;
    server->timer_at_us = deadline_us;
    sim_at(sim, deadline_us, EVENT_SERVER_TIMER, 0, server->generation, NULL);
}

static void answer_all(struct sim *sim)
{
    struct message *list = sim->server.answers;
    struct message *answer;
    struct message *next;

    sim->server.answers = NULL;
    DL_FOREACH_SAFE(list, answer, next)
    {
        DL_DELETE(list, answer);
        if (answer->kind == CALL_REPORT && answer->status == 200) {
            const struct node *node =
                cluster_node(sim->server.cluster, sim->nodes[answer->node]->name);

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
        DL_APPEND(sim->server.answers, take_answer);
}

/* As scheduler/nodes/leaving.c: from the instant on in which it was asked. */
void server_add_away(const struct sim *sim, const struct node *node, struct message *answer)
{
    uint64_t waited_us = answer->arrived_us != 0 ? sim->now_us - answer->arrived_us : 0;

    if (sim->server.tells_away && node->heard && node->state != NODE_LOST)
        answer->lease_us = sim->config.away_us + waited_us;
}

static void tell_away(struct sim *sim)
{
    struct message *request, *next, *answer;

    sim->server.tells_away = true;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        DL_FOREACH_SAFE(sim->server.orders_waiters[i], request, next)
        {
            DL_DELETE(sim->server.orders_waiters[i], request);
            answer = answer_new(sim, request, 200);
            answer->arrived_us = request->arrived_us;
            server_answer_orders(sim, answer);
            (void)message_free(sim, request);
        }
}

static void wake_orders(struct sim *sim, uint32_t number)
{
    struct message **waiters = &sim->server.orders_waiters[number];
    struct message *request;
    struct message *next;
    const struct node *node = cluster_node(sim->server.cluster, sim->nodes[number]->name);

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

static void write_store(struct sim *sim, const struct effect *effects, size_t n)
{
    struct server *server = &sim->server;

    for (size_t i = 0; sim->config.mutant == SIM_MUTANT_NOTICE_LOST && i < n; i++)
        if (effects[i].kind == EFFECT_NOTICE && random_below(&server->random, 2) == 0)
            ((struct effect *)&effects[i])->kind = EFFECT_MEMBERSHIP; /* why: it is spoiled */
    if (sim->config.mutant == SIM_MUTANT_STORE_LOSES_RECORD) {
        struct effect *kept = xcalloc(n, sizeof *kept);
        size_t n_kept = 0;

        for (size_t i = 0; i < n; i++)
            if (effects[i].kind != EFFECT_SAVE_PROCESS ||
                random_below(&server->random, LOSE_ONE_IN) != 0)
                kept[n_kept++] = effects[i];
        memory_store_commit(server->store, kept, n_kept);
        free(kept);
        return;
    }
    memory_store_commit(server->store, effects, n);
}

/* What is on disk now may be told. */
static void finish_turn(struct sim *sim, bool committed)
{
    struct server *server = &sim->server;
    uint32_t *numbers = NULL;
    size_t n_numbers = 0;

    if (committed) {
        size_t n;
        const struct effect *effects = cluster_effects(server->cluster, &n);

        write_store(sim, effects, n);
        server->commits++;
        sim->seen[SIM_SEEN_COMMITS]++;
        ledger_committed(sim, effects, n);
        server_store_clock(sim);
        server->regrouped = false;
        numbers = collect_orders(effects, n, &n_numbers);
        cluster_effects_clear(server->cluster);
    }
    server->busy = false;
    check_turn(sim, committed);
    if (server->crash_when == CRASH_AFTER_COMMIT && committed) {
        sim->seen[SIM_SEEN_ANSWERS_LOST] += server->answers != NULL;
        free(numbers);
        server_crash(sim, CRASH_NOW, server->down_us);
        return;
    }
    answer_all(sim);
    if (server->leaves) {
        tell_away(sim);
        sim_after(sim, LEAVING_US, EVENT_SERVER_GONE, 0, server->generation);
    }
    for (size_t i = 0; i < n_numbers; i++)
        wake_orders(sim, numbers[i]);
    free(numbers);
    if (committed || server->planned)
        arm_timer(sim);
}

static void spoil(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant == SIM_MUTANT_SUM_SPOILED)
        spoil_figures(sim->server.cluster);
    if (sim->config.mutant == SIM_MUTANT_PARKED_FORGOTTEN)
        DL_FOREACH2(cluster_active_jobs(sim->server.cluster), job, active_next)
    if (job->state == JOB_QUEUED && job->parked_for != 0 && job->filed)
        job_unfile(sim->server.cluster, job);
    if (sim->config.mutant != SIM_MUTANT_REASON_EMPTIED)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server.cluster), job, active_next)
    if (job->state == JOB_QUEUED)
        *job->reason = '\0';
}

static void commit(struct sim *sim)
{
    struct server *server = &sim->server;
    uint64_t us = draw(&server->random, sim->config.commit) + server->disk_slow_us;

    server->busy = true;
    server->deaf_since_us = sim->now_us;
    if (sim->config.mutant == SIM_MUTANT_ORDERS_BEFORE_COMMIT)
        for (uint32_t i = 0; i < sim->n_nodes; i++)
            wake_orders(sim, i);
    if (server->crash_when == CRASH_IN_COMMIT)
        sim_after(sim, random_below(&server->random, us + 1), EVENT_SERVER_CRASH, 0,
                  server->generation);
    sim_after(sim, us, EVENT_COMMITTED, 0, server->generation);
}

/* SIM_MUTANT_RESTART_FORGETS_INCARNATION: right before a plan that uses them */
static void forget_incarnations(struct sim *sim)
{
    struct job *job;

    if (sim->now_us < sim->server.forgets_at_us)
        return;
    sim->server.forgets_at_us = NEVER_US;
    DL_FOREACH2(cluster_active_jobs(sim->server.cluster), job, active_next)
    job->next_incarnation = 1;
}

/* SIM_MUTANT_GANG_FORGOTTEN: right before a plan that may start it again */
static void forget_gangs(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant != SIM_MUTANT_GANG_FORGOTTEN)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server.cluster), job, active_next)
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job->state == JOB_QUEUED && job->next_incarnation > 1 && job->spec->roles[r].min > 1)
            (void)cluster_scale_job(sim->server.cluster, job, job->spec->roles[r].name, 1, 1,
                                    server_instant(sim), NULL);
}

/* SIM_MUTANT_STARTS_FORGOTTEN: right before a plan that looks for other nodes */
static void forget_starts(struct sim *sim)
{
    struct node *node = sim->config.mutant == SIM_MUTANT_STARTS_FORGOTTEN
                            ? cluster_nodes(sim->server.cluster)
                            : NULL;

    for (; node != NULL; node = node->hh.next)
        node->n_start_failures = 0;
}

/* SIM_MUTANT_COST_OVERRATED: as if that were what was measured last */
static void overrate_cost(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant != SIM_MUTANT_COST_OVERRATED)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server.cluster), job, active_next)
    if (job->learned != NULL)
        job->learned->of.resize_s = OVERRATED_S;
}

/* But for those that only draw conclusions from the others. */
static void trace_acts(struct sim *sim)
{
    size_t n;
    const struct act *acts = cluster_acts(sim->server.cluster, &n);
    char text[500];

    for (size_t i = 0; i < n; i++)
        if (acts[i].kind != ACT_SETTLE)
            TRACE(sim, "plan: %s", act_describe(sim->server.cluster, &acts[i], text, sizeof text));
}

static void turn(struct sim *sim)
{
    struct server *server = &sim->server;
    const struct effect *effects;
    size_t n;

    server->turns++;
    if (cluster_wants_plan(server->cluster)) {
        server->planned = true;
        forget_incarnations(sim);
        forget_gangs(sim);
        forget_starts(sim);
        overrate_cost(sim);
        if (cluster_plan(server->cluster, server_instant(sim)) && sim->config.trace != NULL)
            trace_acts(sim);
        spoil(sim);
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
    struct server *server = &sim->server;

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
    struct server *server = &sim->server;

    if (generation != server->generation || !server->leaves)
        return;
    if (server->frozen) {
        sim_after(sim, LEAVING_US, EVENT_SERVER_GONE, 0, generation);
        return;
    }
    sim->seen[SIM_SEEN_SCHEDULER_LEFT]++;
    server_crash(sim, CRASH_NOW, server->down_us);
}

static void take_inbox(struct sim *sim)
{
    struct message *list = sim->server.inbox;
    struct message *request;
    struct message *next;

    sim->server.inbox = NULL;
    sim->server.planned = sim->server.timer_late;
    sim->server.timer_late = false;
    DL_FOREACH_SAFE(list, request, next)
    {
        DL_DELETE(list, request);
        server_handle(sim, request);
    }
    turn(sim);
}

void server_hears_again(struct sim *sim)
{
    struct server *server = &sim->server;
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
    if (sim->server.leaves)
        return;
    cluster_tick(sim->server.cluster, server_instant(sim));
}

void server_on_committed(struct sim *sim, uint64_t generation)
{
    struct server *server = &sim->server;

    if (generation != server->generation || !server->up)
        return;
    server_hears_again(sim);
    finish_turn(sim, true);
    if (server->up && server->timer_late)
        judge(sim);
    if (server->up && !server->leaves && (server->inbox != NULL || server->timer_late))
        take_inbox(sim);
    if (server->up && server->leaves_late && !server->busy)
        server_leave(sim, server->down_us, false);
}

void server_receive(struct sim *sim, struct message *take_request)
{
    struct server *server = &sim->server;

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
    struct server *server = &sim->server;

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
    struct server *server = &sim->server;
    struct group_table *old = server->groups;

    if (sim->config.mutant == SIM_MUTANT_GROUPS_KEPT)
        return;
    server->groups = groups_table(sim);
    server->regrouped = server->busy;
    if (server->up) {
        cluster_set_groups(server->cluster, server->groups);
        server->timer_at_us = sim->now_us;
        sim_at(sim, sim->now_us, EVENT_SERVER_TIMER, 0, server->generation, NULL);
    }
    old = group_table_free(old);
}

/* SIM_MUTANT_STORE_KEEPS_TORN */
static void keep_half(struct sim *sim)
{
    size_t n;
    const struct effect *effects = cluster_effects(sim->server.cluster, &n);

    memory_store_commit(sim->server.store, effects, (n + 1) / 2);
}

/* Whose answer is lost with it waits until its call's time is over. */
static void excuse_unanswered(struct sim *sim)
{
    const struct message *answer;

    DL_FOREACH(sim->server.answers, answer)
    if (answer->node < sim->n_nodes)
        excuse(sim, sim->nodes[answer->node]);
}

static void end(struct sim *sim)
{
    struct server *server = &sim->server;

    TRACE(sim, "scheduler ends%s", server->busy ? " in the middle of a commit" : "");
    sim_mix(sim, 0xc4a54 + server->busy);
    sim->seen[SIM_SEEN_SCHEDULER_CRASHES]++;
    sim->seen[SIM_SEEN_COMMITS_TORN] += server->busy;
    if (server->busy && sim->config.mutant == SIM_MUTANT_STORE_KEEPS_TORN)
        keep_half(sim);
    server->up = server->busy = server->frozen = server->timer_late = server->regrouped = false;
    server->leaves = server->leaves_late = server->tells_away = false;
    server->crash_when = CRASH_NOW;
    server->generation++;
    server->timer_at_us = NEVER_US;
    reset_list(sim, &server->inbox);
    excuse_unanswered(sim);
    server->excused_until_us = sim->now_us + server->down_us + EXCUSED_AFTER_US;
    free_list(sim, &server->answers); /* their callers' time runs out */
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        reset_list(sim, &server->orders_waiters[i]);
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++)
        if (sim->ledger.jobs[id] != NULL)
            reset_list(sim, &sim->ledger.jobs[id]->waiters);
    server->cluster = cluster_free(server->cluster);
    ledger_crashed(sim);
}

void server_crash(struct sim *sim, enum crash_when when, uint64_t down_us)
{
    struct server *server = &sim->server;

    if (!server->up)
        return;
    server->crash_when = when;
    server->down_us = down_us;
    if (when != CRASH_NOW)
        return;
    end(sim);
    sim_after(sim, down_us, EVENT_SERVER_START, 0, 0);
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
        .groups = sim->server.groups,
        .first_come = sim->config.first_come,
        .first_session = sim->server.generation << 32,
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

/* Two mutants: silent nodes get no lease from a start, or one like all others. */
static void spoil_start(struct sim *sim)
{
    uint64_t us = sim->config.mutant == SIM_MUTANT_START_GRANTS
                      ? 0
                      : sim->config.lease_us + sim->config.lease_margin_us;

    spoil_leases(sim->server.cluster, sim->now_us + us);
}

/* SIM_MUTANT_AWAY_FORGOTTEN: nobody is waited for because of it */
static void restore(struct sim *sim)
{
    struct cluster *cluster = sim->server.cluster;

    if (sim->config.mutant == SIM_MUTANT_AWAY_FORGOTTEN)
        spoil_restored(cluster, server_instant(sim));
    else
        cluster_restored(cluster, server_instant(sim));
    if (sim->config.mutant == SIM_MUTANT_START_GRANTS ||
        sim->config.mutant == SIM_MUTANT_START_FLOOR_SHORT)
        spoil_start(sim);
}

void server_start(struct sim *sim)
{
    struct server *server = &sim->server;
    struct cluster_config config = config_of(sim);
    struct edl_error error = { 0 };
    struct node *node;
    uint64_t base;

    if (server->up)
        return;
    server->generation++;
    server_begin_clock(sim);
    server->cluster = cluster_new(&config);
    if (memory_store_load(server->store, server->cluster, server_instant(sim), &error) < 0) {
        violate(sim, "replay", "the store cannot be read: %s", error.text);
        return;
    }
    ledger_restored(sim);
    restore(sim);
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

void server_on_poll_end(struct sim *sim, uint32_t node, uint64_t call)
{
    struct server *server = &sim->server;
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

void server_done(struct sim *sim)
{
    struct server *server = &sim->server;

    server->cluster = cluster_free(server->cluster);
    server->store = memory_store_free(server->store);
    server->groups = group_table_free(server->groups);
    free_list(sim, &server->inbox);
    free_list(sim, &server->answers);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        free_list(sim, &server->orders_waiters[i]);
    free(server->orders_waiters);
    free(server->late);
}
