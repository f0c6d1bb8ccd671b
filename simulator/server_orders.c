/* SPDX-License-Identifier: Apache-2.0 */
/* server_orders.c - what agents are ordered, as scheduler/nodes/orders.c */
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/node_orders.h"
#include "simulator/internal.h"

/* The mutants of what is ordered. */
static void spoil_order(const struct sim *sim, struct order *order, const struct node *node,
                        bool started)
{
    if (sim->config.mutant == SIM_MUTANT_GPU_SHARED)
        order->gpu_mask = (UINT64_C(1) << __builtin_popcountll(order->gpu_mask)) - 1;
    if (sim->config.mutant == SIM_MUTANT_PORT_SHARED)
        for (uint32_t i = 0; i < order->n_ports; i++)
            order->ports[i] = (uint16_t)(node->offer.port_first + i);
    if (sim->config.mutant == SIM_MUTANT_GRANT_HALVED)
        order->cpu_millicores /= 2;
    if (sim->config.mutant == SIM_MUTANT_GRACE_HALVED)
        order->grace_us /= 2;
    if (sim->config.mutant == SIM_MUTANT_STOP_UNASKED && order->id.index == 1)
        order->run = order->run && !started;
}

static void fill_order(const struct sim *sim, struct order *order, const struct process *process)
{
    const struct role_spec *role = &process->job->spec->roles[process->role];

    order->id.job_id = process->job->id;
    memcpy(order->id.role, role->name, sizeof order->id.role);
    order->id.index = process->index;
    order->id.incarnation = process->incarnation;
    order->role = process->role;
    order->run = !process->stop_wanted && process->state != PROCESS_STOPPING;
    order->grace_us = process->job->spec->grace_us;
    order->keep_cut_off = process->job->spec->keep_cut_off;
    order->cpu_millicores = role->cpu_millicores;
    order->memory_bytes = role->memory_bytes;
    order->gpu_mask = process->gpu_mask;
    order->n_ports = process->n_ports;
    memcpy(order->ports, process->ports, sizeof order->ports);
    spoil_order(sim, order, process->node, process->state == PROCESS_RUNNING);
}

void server_answer_orders(struct sim *sim, struct message *take_answer)
{
    const struct node *node =
        cluster_node(sim->server->cluster, sim->nodes[take_answer->node]->name);
    struct process *process;
    struct orders_turn turn;
    size_t n = 0;

    if (node == NULL) {
        take_answer->status = 404;
        send_answer(sim, take_answer);
        return;
    }
    DL_COUNT2(node->processes, process, n, node_next);
    take_answer->orders =
        xcalloc(1, sizeof *take_answer->orders + n * sizeof take_answer->orders->items[0]);
    take_answer->orders->refs = 1;
    take_answer->version = take_answer->orders->version = node->orders_version;
    take_answer->orders->commit = sim->server->commits;
    server_add_away(sim, node, take_answer);
    /* a plan that is still wanted, as one is that did not settle, has decided nothing yet */
    take_answer->orders->uncommitted = server_has_news(sim);
    turn = node_orders_begin(node);
    DL_FOREACH2(node->processes, process, node_next)
    if (node_orders_may_tell(&turn, process)) {
        node_orders_told(&turn, process);
        fill_order(sim, &take_answer->orders->items[take_answer->orders->n++], process);
    }
    send_answer(sim, take_answer);
}
