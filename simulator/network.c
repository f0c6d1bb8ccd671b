/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - calls and answers between agents, clients and the scheduler
 *
 * A message is lost, comes late, or comes twice; messages overtake each other, because each draws
 * its own time. A message that is cut off is lost or, as connections do when the way is open again,
 * comes late. Nobody hears of a loss: the caller's time runs out. Only a machine that is up and
 * where nobody listens refuses, and a scheduler that ends resets what was open. */
#include "simulator/internal.h"

#include <utlist.h>

#define LATE_LEAST_US USEC_PER_SEC
#define LATE_MOST_US (30 * USEC_PER_SEC)

static const char *const call_names[] = {
    [CALL_JOIN] = "join",
    [CALL_REPORT] = "report",
    [CALL_ORDERS] = "orders",
    [CALL_DATASET] = "dataset",
    [CALL_LEASE] = "lease",
    [CALL_FINISH] = "finish",
    [CALL_FAIL] = "fail",
    [CALL_SAVED] = "saved",
    [CALL_SUBMIT] = "submit",
    [CALL_KILL] = "kill",
    [CALL_SCALE] = "scale",
    [CALL_PRIORITISE] = "prioritise",
    [CALL_NODE_STATE] = "node-state",
    [CALL_NODE_REMOVE] = "node-remove",
};

struct message *message_new(struct sim *sim, enum call_kind kind)
{
    struct message *message = sim->free_messages;

    if (message == NULL)
        message = xcalloc(1, sizeof *message);
    else
        sim->free_messages = message->next;
    *message = (struct message){ .kind = kind, .node = NOBODY, .op = NOBODY };
    return message;
}

struct report_data *report_data_unref(struct report_data *data)
{
    if (data != NULL && --data->refs == 0)
        free(data);
    return NULL;
}

struct orders_data *orders_data_unref(struct orders_data *data)
{
    if (data != NULL && --data->refs == 0)
        free(data);
    return NULL;
}

struct message *message_free(struct sim *sim, struct message *message)
{
    if (message == NULL)
        return NULL;
    (void)report_data_unref(message->report);
    (void)orders_data_unref(message->orders);
    message->next = sim->free_messages;
    sim->free_messages = message;
    return NULL;
}

static struct message *copy(struct sim *sim, const struct message *message)
{
    struct message *twin = message_new(sim, message->kind);

    *twin = *message;
    twin->next = twin->prev = NULL;
    if (twin->report != NULL)
        twin->report->refs++;
    if (twin->orders != NULL)
        twin->orders->refs++;
    return twin;
}

static const char *caller_name(const struct sim *sim, const struct message *message)
{
    return message->node != NOBODY ? sim->nodes[message->node]->name : "client";
}

static uint64_t *random_of(struct sim *sim, const struct message *message)
{
    return message->node != NOBODY ? &sim->nodes[message->node]->network_random
                                   : &sim->operations[message->op].random;
}

static uint64_t latency(const struct sim *sim, uint64_t *random, const struct sim_node *node)
{
    uint64_t us = draw(random, sim->config.latency);

    if (chance(random, sim->config.tail_ppm))
        us = random_below(random, sim->config.tail_us + 1);
    return us + (node != NULL ? node->slow_us : 0);
}

/* false: it never arrives */
static bool travel(struct sim *sim, const struct message *message, uint64_t *ret_us)
{
    const struct sim_node *node = message->node != NOBODY ? sim->nodes[message->node] : NULL;
    uint64_t *random = random_of(sim, message);
    bool cut_up = node != NULL ? node->cut_up : sim->clients_cut_up;
    bool cut_down = node != NULL ? node->cut_down : sim->clients_cut_down;
    uint32_t apart = node != NULL ? node->apart[message->server] : 0;
    bool cut = message->answer ? cut_down || (apart & 2) != 0 : cut_up || (apart & 1) != 0;

    *ret_us = latency(sim, random, node);
    if (cut) {
        *ret_us += LATE_LEAST_US + random_below(random, LATE_MOST_US);
        return random_below(random, 4) == 0;
    }
    return !chance(random, sim->config.loss_ppm + sim->loss_ppm);
}

static void send(struct sim *sim, struct message *take_message)
{
    uint64_t *random = random_of(sim, take_message);
    uint64_t us;

    /* a client or what is between may send a request again when its connection is reset */
    if (chance(random, sim->config.duplicate_ppm) && travel(sim, take_message, &us)) {
        sim->seen[take_message->node != NOBODY ? SIM_SEEN_MESSAGES_TWICE
                                               : SIM_SEEN_CLIENT_CALLS_TWICE]++;
        sim_at(sim, sim->now_us + us, EVENT_DELIVER, take_message->node, 0,
               copy(sim, take_message));
    }
    if (travel(sim, take_message, &us)) {
        sim_at(sim, sim->now_us + us, EVENT_DELIVER, take_message->node, 0, take_message);
        return;
    }
    sim->seen[take_message->node != NOBODY ? SIM_SEEN_MESSAGES_LOST : SIM_SEEN_CLIENT_CALLS_LOST]++;
    TRACE(sim, "lost: %s %s %s", caller_name(sim, take_message), take_message->answer ? "<-" : "->",
          call_names[take_message->kind]);
    (void)message_free(sim, take_message);
}

void send_request(struct sim *sim, struct message *take_request)
{
    take_request->answer = false;
    addresses_ask(sim, take_request);
    take_request->generation = sim->servers[take_request->server].generation;
    send(sim, take_request);
}

struct message *answer_new(struct sim *sim, const struct message *request, int status)
{
    struct message *answer = message_new(sim, request->kind);

    answer->answer = true;
    answer->status = status;
    answer->node = request->node;
    answer->op = request->op;
    answer->call = request->call;
    answer->process = request->process;
    answer->ref = request->ref;
    answer->server = sim->server->index;
    return answer;
}

void send_answer(struct sim *sim, struct message *take_answer)
{
    leading_sign(sim, take_answer);
    send(sim, take_answer);
}

static void deliver_answer(struct sim *sim, struct message *take_answer)
{
    struct sim_node *node = take_answer->node != NOBODY ? sim->nodes[take_answer->node] : NULL;

    if (node != NULL)
        addresses_judge(sim, node, take_answer);
    if (node == NULL) {
        client_answer(sim, take_answer);
    } else if (node->agent != NULL && take_answer->process == 0) {
        agent_answer(sim, node, take_answer);
    } else if (node->agent != NULL) {
        struct unit *unit = machine_unit(node, take_answer->process);

        if (unit != NULL && unit->frozen) { /* it lies in its socket */
            sim_at(sim, sim->now_us + USEC_PER_SEC, EVENT_DELIVER, node->number, 0, take_answer);
            return;
        }
        if (unit != NULL && unit->call == take_answer->call)
            program_answer(sim, unit, take_answer);
    }
    (void)message_free(sim, take_answer);
}

/* Calls are numbered as they are made. */
static void note_order(struct sim *sim, const struct message *request)
{
    struct sim_node *node = request->node != NOBODY ? sim->nodes[request->node] : NULL;

    if (node == NULL)
        return;
    sim->seen[SIM_SEEN_MESSAGES_OVERTAKEN] += request->call < node->last_call;
    node->last_call = MAX_OF(node->last_call, request->call);
}

void network_deliver(struct sim *sim, struct message *take_message)
{
    bool beat = take_message->kind == CALL_REPORT || take_message->kind == CALL_ORDERS;

    if (!beat)
        TRACE(sim, take_message->answer ? "%s <- %s: %d" : "%s -> %s",
              caller_name(sim, take_message), call_names[take_message->kind], take_message->status);
    if (take_message->answer) {
        deliver_answer(sim, take_message);
        return;
    }
    note_order(sim, take_message);
    server_receive(sim, take_message);
}
