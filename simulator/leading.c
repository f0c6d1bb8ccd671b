/* SPDX-License-Identifier: Apache-2.0 */
/* leading.c - see leading.h
 *
 * A candidate waits for the lock, takes a term, and loads the state then. A leader whose turn was
 * refused or is not answered may have in memory what is not stored: it tells nothing of that, and
 * begins as a candidate anew. */
#include "simulator/leading.h"

#include <inttypes.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/lease.h"
#include "shared/cleanup.h"
#include "simulator/internal.h"

#define SILENT_US (2500 * USEC_PER_MSEC) /* no answer of the database: another connection */
#define ASK_AGAIN_US USEC_PER_SEC        /* for the lock; lock_timeout */
#define LOST_AGAIN_US (200 * USEC_PER_MSEC)
#define PROOF_EACH_US (500 * USEC_PER_MSEC)
#define PROOF_FRESH_US USEC_PER_SEC
#define REPORT_WAITS_US (50 * USEC_PER_MSEC)
#define LONG_US (12 * USEC_PER_SEC) /* SIM_MUTANT_PERMISSION_LONG */

void leading_init(struct sim *sim, struct server *server)
{
    uint64_t random = stream(sim, "scheduler-drift", server->index, 0);

    server->leading.role = ROLE_STANDBY;
    server->leading.drift_ppm =
        (int32_t)random_below(&random, 2 * (uint64_t)sim->config.drift_ppm + 1) -
        (int32_t)sim->config.drift_ppm;
}

bool leading_deposed(const struct sim *sim)
{
    const struct leading *leading = &sim->server->leading;

    return !role_is_alone(leading) && leading->term != sim->database.term;
}

void leading_release(struct sim *sim, struct server *server)
{
    struct flight *flight = server->leading.flight;

    (void)sim;
    if (flight != NULL)
        flight->cluster = TAKE_PTR(server->cluster);
    else
        server->cluster = cluster_free(server->cluster);
    server->leading.flight = NULL;
}

/* --- the way to lead --- */

static void ask(struct sim *sim, enum query_kind kind, struct flight *take_flight)
{
    struct leading *leading = &sim->server->leading;

    leading->call = database_ask(sim, kind, take_flight);
    server_after(sim, SILENT_US, EVENT_SILENT, 0, leading->call);
}

static void wait_for_lock(struct sim *sim)
{
    struct leading *leading = &sim->server->leading;

    leading->session = ++sim->database.sessions;
    leading->line = sim->database.line;
    ask(sim, QUERY_LOCK, NULL);
}

static void connect_again(struct sim *sim)
{
    (void)database_ask(sim, QUERY_END, NULL);
    wait_for_lock(sim);
}

void leading_start(struct sim *sim)
{
    struct leading *leading = &sim->server->leading;

    leading->alive = true;
    leading->role = ROLE_STANDBY;
    leading->permission = (struct permission){ 0 };
    TRACE(sim, "scheduler %u waits", sim->server->index);
    wait_for_lock(sim);
}

void leading_end(struct sim *sim, uint64_t down_us)
{
    struct leading *leading = &sim->server->leading;

    if (!role_is_alone(leading)) {
        TRACE(sim, "scheduler %u ends", sim->server->index);
        (void)database_ask(sim, QUERY_END, NULL);
        leading->alive = false;
        leading->role = ROLE_STANDBY;
        leading->call = 0;
        leading->term = 0;
        leading->permission = (struct permission){ 0 };
    }
    server_after(sim, down_us, EVENT_SERVER_START, 0, 0);
}

/* Nodes whose lease runs out meanwhile, where nothing can stand still, are not to blame. */
static void excuse(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_servers; i++)
        sim->servers[i].excused_until_us =
            MAX_OF(sim->servers[i].excused_until_us, sim->now_us + EXCUSED_AFTER_US);
}

/* Its term is over, or nobody knows: another way to lead begins. */
static void go_away(struct sim *sim)
{
    struct server *server = sim->server;

    TRACE(sim, "scheduler %u is away", server->index);
    sim->seen[SIM_SEEN_LEADERS_AWAY]++;
    server->leading.role = ROLE_AWAY;
    server->up = server->busy = server->timer_late = server->leaves = server->tells_away = false;
    server->timer_at_us = NEVER_US;
    server->pendings.n = 0;
    server->leading.call = 0;
    excuse(sim);
    server_drop(sim, 503);
    connect_again(sim);
}

static void proved(struct sim *sim, const struct query *query)
{
    struct leading *leading = &sim->server->leading;

    permission_stored(&leading->permission, query->sent_boot_us);
    if (sim->config.mutant == SIM_MUTANT_PERMISSION_LONG)
        leading->permission.until_us =
            MAX_OF(leading->permission.until_us, query->sent_boot_us + LONG_US);
    leading->proof_us = MAX_OF(leading->proof_us, query->sent_us);
}

static void load(struct sim *sim)
{
    leading_release(sim, sim->server);
    sim->server->run = sim->server->leading.term;
    server_load(sim);
}

static void lead(struct sim *sim, const struct query *query)
{
    struct server *server = sim->server;

    server->leading.role = ROLE_LEADER;
    server->leading.term = query->term;
    server->leading.call = 0;
    proved(sim, query);
    excuse(sim);
    if (sim->config.mutant == SIM_MUTANT_LOAD_BEFORE_TERM)
        server->run = query->term;
    else
        load(sim);
    TRACE(sim, "scheduler %u leads", server->index);
    server_serves(sim);
    server_after(sim, PROOF_EACH_US, EVENT_PROOF, 0, server->leading.term);
}

static void on_lock(struct sim *sim, const struct query *query)
{
    struct leading *leading = &sim->server->leading;

    if (leading->role == ROLE_LEADER)
        return;
    if (query->result == QUERY_WAITS) {
        leading->call = 0;
        server_after(sim, ASK_AGAIN_US, EVENT_CANDIDATE, 0, query->session);
        return;
    }
    if (sim->config.mutant == SIM_MUTANT_LOAD_BEFORE_TERM) {
        leading->term = sim->database.term;
        load(sim);
    }
    ask(sim, QUERY_TERM, NULL);
}

static void on_lost(struct sim *sim)
{
    struct leading *leading = &sim->server->leading;

    leading->call = 0;
    if (leading->role == ROLE_LEADER)
        go_away(sim);
    else
        server_after(sim, LOST_AGAIN_US, EVENT_CANDIDATE, 0, 0);
}

static void on_stored(struct sim *sim, const struct query *query)
{
    struct leading *leading = &sim->server->leading;

    if (leading->role != ROLE_LEADER)
        return;
    proved(sim, query);
    if (query->call == leading->call)
        leading->call = 0;
    if (query->kind == QUERY_TURN)
        server_stored(sim);
}

static void on_said(struct sim *sim, const struct query *query)
{
    const struct leading *leading = &sim->server->leading;

    if (!leading->alive || query->session != leading->session)
        return;
    if (query->result == QUERY_LOST)
        on_lost(sim);
    else if (query->kind == QUERY_LOCK)
        on_lock(sim, query);
    else if (query->result == QUERY_STALE)
        go_away(sim);
    else if (query->kind == QUERY_TERM && leading->role != ROLE_LEADER)
        lead(sim, query);
    else if (query->kind != QUERY_TERM)
        on_stored(sim, query);
}

static void on_silent(struct sim *sim, uint64_t call)
{
    const struct leading *leading = &sim->server->leading;

    if (!leading->alive || call != leading->call)
        return;
    if (leading->role == ROLE_LEADER)
        go_away(sim);
    else
        connect_again(sim);
}

static void on_proof(struct sim *sim, uint64_t term)
{
    const struct leading *leading = &sim->server->leading;

    if (leading->role != ROLE_LEADER || leading->term != term)
        return;
    if (leading->call == 0)
        ask(sim, QUERY_PROOF, NULL);
    server_after(sim, PROOF_EACH_US, EVENT_PROOF, 0, term);
}

/* session 0: by another connection */
static void on_candidate(struct sim *sim, uint64_t session)
{
    const struct leading *leading = &sim->server->leading;

    if (!leading->alive || leading->role == ROLE_LEADER || leading->call != 0)
        return;
    if (session == 0)
        connect_again(sim);
    else if (session == leading->session)
        ask(sim, QUERY_LOCK, NULL);
}

void leading_send(struct sim *sim)
{
    struct server *server = sim->server;
    struct flight *flight = xcalloc(1, sizeof *flight);

    flight->server = server->index;
    flight->run = server->run;
    flight->pendings = server->pendings;
    server->pendings = (struct pendings){ 0 };
    server->leading.flight = flight;
    ask(sim, QUERY_TURN, flight);
}

/* --- what is answered --- */

static void answer(struct sim *sim, const struct message *request, int status)
{
    send_answer(sim, answer_new(sim, request, status));
}

static bool has_fresh_proof(const struct sim *sim)
{
    return sim->now_us - sim->server->leading.proof_us <= PROOF_FRESH_US;
}

/* As degraded_report: a lease and nothing else. What is in the core otherwise stays as it is. */
static void answer_lease(struct sim *sim, const struct message *request)
{
    struct server *server = sim->server;
    struct node *node = cluster_node(server->cluster, sim->nodes[request->node]->name);
    struct message *said;

    if (node == NULL || request->credential == 0 || node->state == NODE_LOST ||
        strtoull(node->credential_hash, NULL, 16) != request->credential ||
        !streq(node->boot_id, request->boot_id)) {
        answer(sim, request, 503);
        return;
    }
    node_extend_lease(server->cluster, node, server_instant(sim));
    said = answer_new(sim, request, 200);
    said->lease_us = sim->config.lease_us;
    said->next_report_us = cluster_next_report_us(server->cluster);
    said->not_stored = true;
    said->ask_others = !has_fresh_proof(sim);
    sim->seen[SIM_SEEN_LEASES_ONLY]++;
    send_answer(sim, said);
}

/* The mutant answers orders as if its state were stored. */
static void answer_away(struct sim *sim, const struct message *request)
{
    const struct server *server = sim->server;

    if (request->kind == CALL_REPORT && server->cluster != NULL)
        answer_lease(sim, request);
    else if (request->kind == CALL_ORDERS && server->cluster != NULL &&
             sim->config.mutant == SIM_MUTANT_DEPOSED_ORDERS)
        server_answer_orders(sim, answer_new(sim, request, 200));
    else
        answer(sim, request, 503);
}

static bool receives(struct sim *sim, struct message *request)
{
    struct server *server = sim->server;
    struct leading *leading = &server->leading;

    if (!leading->alive || request->generation != server->generation) {
        answer(sim, request, 0);
        return true;
    }
    if (request->term > leading->term && leading->role != ROLE_STANDBY) {
        leading->permission = (struct permission){ 0 };
        if (leading->role == ROLE_LEADER)
            go_away(sim);
    }
    if (leading->role == ROLE_LEADER && request->kind == CALL_REPORT && !has_fresh_proof(sim)) {
        answer_lease(sim, request);
        return true;
    }
    if (leading->role == ROLE_LEADER) {
        if (server->busy && request->kind == CALL_REPORT)
            server_after(sim, REPORT_WAITS_US, EVENT_REPORT_WAITED, request->node, request->call);
        return false;
    }
    if (leading->role == ROLE_AWAY)
        answer_away(sim, request);
    else
        answer(sim, request, 503);
    return true;
}

bool leading_receive(struct sim *sim, struct message *request)
{
    if (!receives(sim, request))
        return false;
    (void)message_free(sim, request);
    return true;
}

static void on_waited(struct sim *sim, uint32_t node, uint64_t call)
{
    struct server *server = sim->server;
    struct message *request;

    DL_FOREACH(server->inbox, request)
    if (request->kind == CALL_REPORT && request->node == node && request->call == call)
        break;
    if (request == NULL || !server->up)
        return;
    DL_DELETE(server->inbox, request);
    answer_lease(sim, request);
    (void)message_free(sim, request);
}

/* What is told to a node has to be of who may tell it in this very moment. */
void leading_sign(struct sim *sim, struct message *answer)
{
    const struct leading *leading = &sim->server->leading;
    bool of_nodes =
        answer->kind == CALL_REPORT || answer->kind == CALL_ORDERS || answer->kind == CALL_JOIN;

    if (role_is_alone(leading))
        return;
    answer->server = sim->server->index;
    answer->term = leading->term;
    if (!of_nodes || answer->status == 0 || answer->status == 503 ||
        permission_holds(&leading->permission, server_boot_us(sim)) ||
        sim->config.mutant == SIM_MUTANT_PERMISSION_NONE)
        return;
    sim->seen[SIM_SEEN_PERMISSIONS_OVER]++;
    answer->status = 503;
    answer->orders = orders_data_unref(answer->orders);
    answer->lease_us = 0;
}

void leading_event(struct sim *sim, const struct event *event)
{
    switch (event->kind) {
    case EVENT_DATABASE_SAYS:
        on_said(sim, event->p);
        (void)query_free(sim, event->p);
        break;
    case EVENT_PROOF:
        on_proof(sim, event->b);
        break;
    case EVENT_SILENT:
        on_silent(sim, event->b);
        break;
    case EVENT_CANDIDATE:
        on_candidate(sim, event->b);
        break;
    default:
        on_waited(sim, event->a, event->b);
        break;
    }
}
