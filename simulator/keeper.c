/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - agents that have their leases kept while the scheduler stands still or is away
 *
 * As agent/keep.c and scheduler/lease_keeper.c: datagrams, which are lost where calls would be
 * late. The scheduler may be frozen or write; the keeper outlives it, but for a reboot of its
 * machine, by ALONE_US or until the next one begins. */
#include "scheduler/core/events/lease.h"
#include "simulator/internal.h"

#define ASK_PART_OF_LEASE 8
#define ALONE_US (60 * USEC_PER_SEC) /* KEEPER_ALONE_US of scheduler/keeper_table.h */

/* false: it never arrives */
static bool travel(const struct sim *sim, struct sim_node *node, bool is_cut, uint64_t *ret_us)
{
    uint64_t *random = &node->keep.random;

    *ret_us = draw(random, sim->config.latency) + node->slow_us;
    if (chance(random, sim->config.tail_ppm))
        *ret_us = random_below(random, sim->config.tail_us + 1);
    return !is_cut && !chance(random, sim->config.loss_ppm + sim->loss_ppm);
}

/* What an event carries: which of the agents asks, when by its boot clock, of which generation. */
static void *agent_tag(const struct sim_node *node)
{
    return (void *)(uintptr_t)node->agent->number; /* a number, nobody looks there */
}

static void on_ask(struct sim *sim, struct sim_node *node)
{
    uint64_t us;

    node->keep.asks = node->agent != NULL &&
                      agent_core_lease_deadline_us(node->agent->core) > node_boot_us(sim, node);
    if (!node->keep.asks)
        return;
    sim_after(sim, sim->config.lease_us / ASK_PART_OF_LEASE, EVENT_KEEP_ASK, node->number, 0);
    if (travel(sim, node, node->cut_up, &us))
        sim_at(sim, sim->now_us + us, EVENT_KEEP_ASKED, node->number,
               kept_word(node->keep.generation, 0) | node_boot_us(sim, node), agent_tag(node));
}

static bool is_up(const struct sim *sim)
{
    return sim->server.up || sim->now_us < sim->server.kept_until_us;
}

static void on_asked(struct sim *sim, struct sim_node *node, const struct event *event)
{
    uint64_t us;

    if (!is_up(sim) ||
        !kept_renew(&node->keep.word, kept_generation(event->b), server_instant(sim).now_us))
        return;
    if (travel(sim, node, node->cut_down, &us))
        sim_at(sim, sim->now_us + us, EVENT_KEPT, node->number, event->b, event->p);
}

static void on_kept(struct sim *sim, struct sim_node *node, const struct event *event)
{
    uint64_t sent_us = event->b & KEPT_TIME_MASK;

    if (node->agent == NULL || event->p != agent_tag(node) ||
        kept_generation(event->b) != node->keep.generation)
        return;
    sim->seen[SIM_SEEN_LEASES_KEPT]++;
    link_sm_kept(&node->agent->link, sent_us, sim->config.lease_us, node_boot_us(sim, node));
    agent_core_kept(node->agent->core, sent_us, sim->config.lease_us, node_boot_us(sim, node));
    freezing_extend(sim, node, agent_core_lease(node->agent->core));
}

void keep_event(struct sim *sim, const struct event *event)
{
    struct sim_node *node = sim->nodes[event->a];

    if (event->kind == EVENT_KEEP_ASK)
        on_ask(sim, node);
    else if (event->kind == EVENT_KEEP_ASKED)
        on_asked(sim, node, event);
    else
        on_kept(sim, node, event);
}

/* Of a generation 0 the agent is told as of any other one. */
uint32_t keep_tell(struct sim *sim, struct sim_node *node)
{
    if (sim->config.no_keeper)
        return 0;
    return 1 + kept_open(&node->keep.word, MAX_OF(server_instant(sim).now_us, KEPT_UNIT_US));
}

void keep_told(struct sim *sim, struct sim_node *node, uint32_t told)
{
    if (told == 0)
        return;
    node->keep.generation = told - 1;
    if (!node->keep.asks)
        sim_after(sim, 0, EVENT_KEEP_ASK, node->number, 0);
    node->keep.asks = true;
}

static _Atomic uint64_t *word_of(const char *name, void *userdata)
{
    const struct sim *sim = userdata;

    return &sim->nodes[sim_node_number(cluster_node(sim->server.cluster, name))]->keep.word;
}

void keep_judge(struct sim *sim, struct instant now)
{
    if (sim->config.mutant != SIM_MUTANT_KEEPER_NOT_ASKED)
        cluster_ask_kept(sim->server.cluster, word_of, sim, now);
}

void keep_forget(struct sim_node *node)
{
    uint64_t word = atomic_load(&node->keep.word);

    (void)kept_close(&node->keep.word, &word);
}

void keep_end(struct sim *sim, bool is_reboot)
{
    sim->server.kept_until_us = is_reboot ? 0 : sim->now_us + ALONE_US;
}

void keep_begin(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        keep_forget(sim->nodes[i]);
}
