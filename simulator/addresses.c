/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - agents and clients that know two schedulers
 *
 * Each keeps to one as long as it answers. A node keeps the highest term that it was told, and
 * takes nothing from a leader of a lower one. */
#include "simulator/internal.h"

void addresses_ask(struct sim *sim, struct message *request)
{
    const struct sim_node *node = request->node != NOBODY ? sim->nodes[request->node] : NULL;

    if (sim->n_servers < 2)
        return;
    request->server = node != NULL ? node->at : sim->operations[request->op].at;
    request->term = node != NULL && sim->config.mutant != SIM_MUTANT_TERMS_ALIKE ? node->term : 0;
}

bool addresses_moves(const struct sim *sim, const struct sim_node *node,
                     const struct message *answer)
{
    bool failed = answer->status == 0 || answer->status == 503;

    return sim->n_servers > 1 && answer->kind != CALL_ORDERS && answer->server == node->at &&
           link_sm_awaits(&node->agent->link, answer->call) && (failed || answer->ask_others);
}

void addresses_judge(struct sim *sim, struct sim_node *node, struct message *answer)
{
    if (answer->term > node->term)
        node->term = answer->term;
    if (answer->term == 0 || answer->term == node->term ||
        sim->config.mutant == SIM_MUTANT_TERMS_ALIKE)
        return;
    sim->seen[SIM_SEEN_TERMS_LOWER]++;
    answer->status = 503;
    answer->lease_us = 0;
}
