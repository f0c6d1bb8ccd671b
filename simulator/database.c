/* SPDX-License-Identifier: Apache-2.0 */
/* database.c - see database.h
 *
 * What is cut off is lost or comes late, as connections have it. Nobody looks whether the session
 * of a late turn is still there: the term alone has to refuse it. A former primary that stands
 * alone answers what it need not store, and never answers a turn. */
#include "simulator/database.h"

#include <utlist.h>

#include "scheduler/core/core.h"
#include "simulator/internal.h"

#define LATENCY_LEAST_US 100
#define LATENCY_MOST_US USEC_PER_MSEC
#define LATE_MOST_US (20 * USEC_PER_SEC)
#define IDLE_US (1500 * USEC_PER_MSEC) /* as idle_session_timeout is set */
#define FROM_LEADER 11                 /* SCRIPT_NODE_APART: of who leads then, both ways */
#define UP_MUTE 2                      /* cut: bit of what comes back */

void database_init(struct sim *sim)
{
    sim->database.random = stream(sim, "database", 0, 0);
    sim->database.holder = NOBODY;
    sim->database.line = 1;
}

static struct flight *flight_free(struct sim *sim, struct flight *flight)
{
    struct leading *leading = &sim->servers[flight->server].leading;

    if (leading->flight == flight)
        leading->flight = NULL;
    (void)cluster_free(flight->cluster);
    free(flight->pendings.items);
    free(flight);
    return NULL;
}

struct query *query_free(struct sim *sim, struct query *query)
{
    if (query->flight != NULL) {
        ledger_dropped(sim, query->flight->run);
        query->flight = flight_free(sim, query->flight);
    }
    free(query);
    return NULL;
}

static void free_queries(struct sim *sim, struct query **list)
{
    struct query *query, *next;

    DL_FOREACH_SAFE(*list, query, next)
    {
        DL_DELETE(*list, query);
        (void)query_free(sim, query);
    }
}

void database_done(struct sim *sim)
{
    free_queries(sim, &sim->database.queue);
    free_queries(sim, &sim->database.held);
}

/* false: it is lost */
static bool travels(struct sim *sim, const struct query *query, uint32_t way, uint64_t *ret_us)
{
    struct database *database = &sim->database;
    bool cut = (sim->servers[query->server].leading.cut & way) != 0;

    *ret_us = draw(&database->random, (struct sim_range){ LATENCY_LEAST_US, LATENCY_MOST_US });
    if (!cut)
        return true;
    *ret_us += random_below(&database->random, LATE_MOST_US);
    return random_below(&database->random, 2) == 0;
}

static void reply(struct sim *sim, struct query *take_query, enum query_result result)
{
    uint64_t us;

    take_query->result = result;
    if (!travels(sim, take_query, UP_MUTE, &us))
        (void)query_free(sim, take_query);
    else
        sim_at(sim, sim->now_us + us, EVENT_DATABASE_SAYS, 0, 0, take_query);
}

uint64_t database_ask(struct sim *sim, enum query_kind kind, struct flight *take_flight)
{
    const struct leading *leading = &sim->server->leading;
    struct query *query = xcalloc(1, sizeof *query);
    uint64_t us;
    uint64_t call = ++sim->database.calls;

    *query = (struct query){ .kind = kind,
                             .server = sim->server->index,
                             .session = leading->session,
                             .line = leading->line,
                             .call = call,
                             .term = leading->term,
                             .sent_us = sim->now_us,
                             .sent_boot_us = server_boot_us(sim),
                             .flight = take_flight };
    if (travels(sim, query, 1, &us))
        sim_at(sim, sim->now_us + us, EVENT_DATABASE, 0, 0, query);
    else
        (void)query_free(sim, query);
    return call;
}

/* --- the lock --- */

static void hear(struct sim *sim, const struct query *query)
{
    struct database *database = &sim->database;

    if (database->holder != query->server || database->holder_session != query->session)
        return;
    database->heard_us = sim->now_us;
    sim_at(sim, sim->now_us + IDLE_US, EVENT_DATABASE_IDLE, 0, query->session, NULL);
}

static void grant(struct sim *sim, struct query *take_query)
{
    sim->database.holder = take_query->server;
    sim->database.holder_session = take_query->session;
    hear(sim, take_query);
    reply(sim, take_query, QUERY_DONE);
}

/* The one that has waited for longest is told. */
static void unlock(struct sim *sim)
{
    struct database *database = &sim->database;
    uint32_t first = NOBODY;
    struct query *query;

    database->holder = NOBODY;
    for (uint32_t i = 0; i < sim->n_servers; i++)
        if (database->waiting[i].waits &&
            (first == NOBODY || database->waiting[i].since_us < database->waiting[first].since_us))
            first = i;
    if (first == NOBODY)
        return;
    database->waiting[first].waits = false;
    query = xcalloc(1, sizeof *query);
    *query = (struct query){ .kind = QUERY_LOCK,
                             .server = first,
                             .session = database->waiting[first].session,
                             .line = database->waiting[first].line };
    grant(sim, query);
}

static void wait_for_lock(struct sim *sim, struct query *take_query)
{
    struct database *database = &sim->database;
    uint32_t i = take_query->server;

    if (database->holder == NOBODY) {
        grant(sim, take_query);
        return;
    }
    if (database->waiting[i].session != take_query->session || !database->waiting[i].waits)
        database->waiting[i].since_us = sim->now_us;
    database->waiting[i].waits = true;
    database->waiting[i].session = take_query->session;
    database->waiting[i].line = take_query->line;
    reply(sim, take_query, QUERY_WAITS);
}

static void end_session(struct sim *sim, struct query *take_query)
{
    struct database *database = &sim->database;
    uint32_t i = take_query->server;

    if (database->waiting[i].session == take_query->session)
        database->waiting[i].waits = false;
    if (database->holder == i && database->holder_session == take_query->session)
        unlock(sim);
    (void)query_free(sim, take_query);
}

static bool is_at_work_for(const struct database *database, uint64_t session)
{
    const struct query *query;

    DL_FOREACH(database->queue, query)
    if (query->session == session)
        return true;
    return false;
}

static void on_idle(struct sim *sim, uint64_t session)
{
    struct database *database = &sim->database;

    if (database->holder == NOBODY || database->holder_session != session || database->still ||
        sim->now_us - database->heard_us < IDLE_US || is_at_work_for(database, session))
        return;
    TRACE(sim, "database: the session of scheduler %u was silent for too long", database->holder);
    unlock(sim);
}

/* --- what is stored --- */

static void store_turn(struct sim *sim, const struct query *query)
{
    struct flight *flight = query->flight;
    struct server *server = &sim->servers[flight->server];
    struct cluster *own = server->cluster;
    struct pendings own_pendings = server->pendings;
    uint64_t run = server->run;
    struct server *before = sim->server;

    sim->server = server;
    if (flight->cluster != NULL)
        server->cluster = flight->cluster;
    server->pendings = flight->pendings;
    server->run = flight->run;
    if (query->term == sim->database.term) {
        server_write(sim);
        if (flight->cluster == NULL) {
            server_store_clock(sim);
            check_turn(sim, true);
        }
    } else { /* SIM_MUTANT_TERM_UNCHECKED */
        size_t n;
        const struct effect *effects = cluster_effects(server->cluster, &n);

        memory_store_commit(sim->store, effects, n);
    }
    flight->pendings = server->pendings;
    server->pendings = own_pendings;
    if (flight->cluster != NULL)
        server->cluster = own;
    server->run = run;
    sim->server = before;
}

static void take_term(struct sim *sim, struct query *query)
{
    struct database *database = &sim->database;

    query->term = ++database->term;
    database->leader = query->server;
    ledger_drop_all(sim);
    sim->seen[SIM_SEEN_TERMS]++;
    TRACE(sim, "database: scheduler %u has term %llu", query->server,
          (unsigned long long)database->term);
}

static enum query_result carry_out(struct sim *sim, struct query *query)
{
    bool unchecked = sim->config.mutant == SIM_MUTANT_TERM_UNCHECKED;

    if (query->kind == QUERY_TERM) {
        take_term(sim, query);
        return QUERY_DONE;
    }
    if (query->term != sim->database.term && !unchecked) {
        sim->seen[SIM_SEEN_TURNS_REFUSED]++;
        return QUERY_STALE;
    }
    if (query->flight != NULL) {
        store_turn(sim, query);
        query->flight = flight_free(sim, query->flight);
    }
    return QUERY_DONE;
}

static void begin_next(struct sim *sim)
{
    struct database *database = &sim->database;
    struct query *first = database->queue;
    uint64_t us;

    if (database->busy || first == NULL || database->still || database->down)
        return;
    database->busy = true;
    us = draw(&database->random, sim->config.commit);
    sim_at(sim, sim->now_us + us, EVENT_DATABASE_DONE, 0, ++database->n_done, NULL);
}

static struct query *take_first(struct database *database)
{
    struct query *first = database->queue;

    DL_DELETE(database->queue, first);
    database->busy = false;
    return first;
}

static void finish_first(struct sim *sim)
{
    struct query *query = take_first(&sim->database);
    enum query_result result = carry_out(sim, query);

    hear(sim, query);
    reply(sim, query, result);
    begin_next(sim);
}

static void on_done(struct sim *sim, uint64_t number)
{
    struct database *database = &sim->database;

    if (!database->busy || number != database->n_done)
        return;
    if (database->still)
        database->late = true;
    else
        finish_first(sim);
}

/* To a primary that is none any more: one that stands alone goes on waiting for its standby. */
static void ask_former(struct sim *sim, struct query *take_query)
{
    struct database *database = &sim->database;
    bool alone = take_query->line == database->alone_line && sim->now_us < database->alone_until_us;

    if (!alone)
        reply(sim, take_query, QUERY_LOST);
    else if (take_query->kind == QUERY_PROOF &&
             sim->config.mutant == SIM_MUTANT_PROOF_WITHOUT_COMMIT)
        reply(sim, take_query, QUERY_DONE);
    else
        (void)query_free(sim, take_query);
}

static void arrive(struct sim *sim, struct query *take_query)
{
    struct database *database = &sim->database;

    if (take_query->line != database->line) {
        ask_former(sim, take_query);
    } else if (database->down) {
        reply(sim, take_query, QUERY_LOST);
    } else if (database->still) {
        DL_APPEND(database->held, take_query);
    } else if (take_query->kind == QUERY_LOCK) {
        wait_for_lock(sim, take_query);
    } else if (take_query->kind == QUERY_END) {
        end_session(sim, take_query);
    } else {
        hear(sim, take_query);
        DL_APPEND(database->queue, take_query);
        begin_next(sim);
    }
}

static void come_up(struct sim *sim)
{
    if (sim->database.down && sim->now_us >= sim->database.up_at_us)
        sim->database.down = false;
}

void database_event(struct sim *sim, const struct event *event)
{
    switch (event->kind) {
    case EVENT_DATABASE:
        arrive(sim, event->p);
        break;
    case EVENT_DATABASE_DONE:
        on_done(sim, event->b);
        break;
    case EVENT_DATABASE_IDLE:
        on_idle(sim, event->b);
        break;
    default:
        come_up(sim);
        break;
    }
}

/* --- faults --- */

struct server *database_target(struct sim *sim, uint64_t which)
{
    uint32_t leader = sim->database.leader;

    return &sim->servers[sim->n_servers == 1 || which % 4 < 3 ? leader : 1 - leader];
}

static void heal_after(struct sim *sim, const struct script *script)
{
    struct script *twin = xcalloc(1, sizeof *twin);

    *twin = *script;
    sim_at(sim, sim->now_us + script->for_us, EVENT_HEAL, 0, 0, twin);
}

static void go_on(struct sim *sim)
{
    struct database *database = &sim->database;
    struct query *list = database->held;
    struct query *query, *next;

    database->still = false;
    database->held = NULL;
    if (database->late && database->busy)
        finish_first(sim);
    database->late = false;
    DL_FOREACH_SAFE(list, query, next)
    {
        DL_DELETE(list, query);
        arrive(sim, query);
    }
    begin_next(sim);
    if (database->holder != NOBODY) {
        database->heard_us = sim->now_us;
        sim_at(sim, sim->now_us + IDLE_US, EVENT_DATABASE_IDLE, 0, database->holder_session, NULL);
    }
}

/* Its connections end. What was being done is kept or is not; nobody is told which. */
static void lose_primary(struct sim *sim, uint64_t down_us, bool keeps, bool tells)
{
    struct database *database = &sim->database;
    struct query *query, *next, *list;

    if (database->still)
        go_on(sim);
    if (database->busy && keeps)
        (void)carry_out(sim, database->queue);
    list = database->queue;
    database->queue = NULL;
    database->busy = false;
    database->line++;
    database->holder = NOBODY;
    DL_FOREACH_SAFE(list, query, next)
    {
        DL_DELETE(list, query);
        if (tells)
            reply(sim, query, QUERY_LOST);
        else
            (void)query_free(sim, query);
    }
    for (uint32_t i = 0; i < sim->n_servers; i++)
        database->waiting[i].waits = false;
    database->down = true;
    database->up_at_us = sim->now_us + down_us;
    sim_at(sim, database->up_at_us, EVENT_DATABASE_UP, 0, 0, NULL);
}

static void crash(struct sim *sim, const struct script *script)
{
    sim->seen[SIM_SEEN_DATABASE_CRASHES]++;
    lose_primary(sim, script->for_us, script->a % 2 == 0, true);
}

static void cut_off(struct sim *sim, const struct script *script)
{
    struct leading *leading = &database_target(sim, script->a)->leading;

    leading->cut = 1 + (uint32_t)(script->a / 4 % 3);
    leading->cut_until_us = MAX_OF(leading->cut_until_us, sim->now_us + script->for_us);
    heal_after(sim, script);
}

static void stand_still(struct sim *sim, const struct script *script)
{
    sim->database.still = true;
    sim->database.still_until_us =
        MAX_OF(sim->database.still_until_us, sim->now_us + script->for_us);
    heal_after(sim, script);
}

static void set_apart(struct sim *sim, uint32_t number, uint32_t which, uint32_t ways,
                      uint64_t for_us)
{
    struct sim_node *node = sim->nodes[number % sim->n_nodes];

    node->apart[which] |= ways;
    node->apart_until_us[which] = MAX_OF(node->apart_until_us[which], sim->now_us + for_us);
    node->excused_until_us =
        MAX_OF(node->excused_until_us, sim->now_us + for_us + EXCUSED_AFTER_US);
}

/* A node and one of the schedulers: mostly it hears the one that leads, and not the other one. */
static void keep_apart(struct sim *sim, const struct script *script)
{
    uint32_t which = 1 - database_target(sim, script->a)->index;

    set_apart(sim, script->node, which, 1 + (uint32_t)(script->a / 4 % 3), script->for_us);
    heal_after(sim, script);
}

/* Half of the nodes hear none but that. Some of them hear the next one first. */
static void keep_to(struct sim *sim, const struct script *script, uint32_t leader)
{
    bool later = (script->a >> 40 & 1) != 0;
    struct script apart = { .kind = SCRIPT_NODE_APART, .for_us = script->for_us, .a = FROM_LEADER };

    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        if (i != script->node && (script->a >> i % 32 & 1) == 0)
            continue;
        apart.node = i;
        if (later)
            sim_script_at(sim, sim->now_us + USEC_PER_SEC + script->a % (3 * USEC_PER_SEC), &apart);
        else
            set_apart(sim, i, 1 - leader, 3, script->for_us);
    }
}

/* Who is connected to the former primary stays so for a while. */
static void split(struct sim *sim, const struct script *script)
{
    struct database *database = &sim->database;

    sim->seen[SIM_SEEN_DATABASE_SPLITS]++;
    database->alone_line = database->line;
    database->alone_until_us = sim->now_us + script->for_us;
    keep_to(sim, script, database->leader);
    lose_primary(sim, script->a % 4 * USEC_PER_SEC, script->a / 4 % 2 == 0, false);
    heal_after(sim, script);
}

/* The worst: the database ends the session of the leader, which does not hear it, as it is cut off
 * from there. */
static void depose(struct sim *sim, const struct script *script)
{
    struct database *database = &sim->database;
    struct leading *leading = &sim->servers[database->leader].leading;

    sim->seen[SIM_SEEN_DEPOSED]++;
    leading->cut = 3;
    leading->cut_until_us = MAX_OF(leading->cut_until_us, sim->now_us + script->for_us);
    keep_to(sim, script, database->leader);
    if (database->holder == database->leader && !database->still && !database->down)
        unlock(sim);
    heal_after(sim, script);
}

void database_script(struct sim *sim, const struct script *script)
{
    static void (*const kinds[_SCRIPT_MAX])(struct sim *, const struct script *) = {
        [SCRIPT_STORE_CUT] = cut_off,     [SCRIPT_STORE_STILL] = stand_still,
        [SCRIPT_STORE_CRASH] = crash,     [SCRIPT_STORE_SPLIT] = split,
        [SCRIPT_NODE_APART] = keep_apart, [SCRIPT_LEADER_DEPOSED] = depose,
    };

    if (sim->n_servers > 1 && !sim->calm)
        kinds[script->kind](sim, script);
}

void database_heal(struct sim *sim, const struct script *script)
{
    (void)script;
    for (uint32_t i = 0; i < sim->n_servers; i++)
        if (sim->now_us >= sim->servers[i].leading.cut_until_us)
            sim->servers[i].leading.cut = 0;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        for (uint32_t k = 0; k < sim->n_servers; k++)
            if (sim->now_us >= sim->nodes[i]->apart_until_us[k])
                sim->nodes[i]->apart[k] = 0;
    if (sim->database.still && sim->now_us >= sim->database.still_until_us)
        go_on(sim);
}

void database_calm(struct sim *sim)
{
    sim->database.alone_until_us = 0;
    sim->database.still_until_us = 0;
    for (uint32_t i = 0; i < sim->n_servers; i++)
        sim->servers[i].leading.cut_until_us = 0;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        memset(sim->nodes[i]->apart_until_us, 0, sizeof sim->nodes[i]->apart_until_us);
    sim->database.up_at_us = sim->now_us;
    come_up(sim);
    database_heal(sim, NULL);
}
