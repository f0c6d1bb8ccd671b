/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - nodes: made, quarantined, freed; the table of their states
 *
 *   (join) --> ready <--> cordoned <--> draining
 *                |            |            |
 *                +------------+------------+--> lost --(a report)--> its state before
 *
 * A ready node on which nothing can be started is quarantined (node_starts.c), and one whose agent
 * sets it aside (node_take_set_aside): it takes nothing new until an operator sets it ready.
 *
 * A node takes no process before a complete report (its first one, the first since it was lost, the
 * first since the scheduler was started), none while it offers less of a resource than is granted,
 * and none while its agent still runs leftovers of before it was lost: those hold resources that
 * nobody granted. */
#include "scheduler/core/model/node.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/machines.h"
#include "scheduler/core/model/node_disk.h"
#include "scheduler/core/model/node_gpu_type.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/printable.h"

#define REASON_QUARANTINED                                                                         \
    "three different jobs could not be started there and none could; set it ready when it is "     \
    "mended"

struct node_offer node_offer_bounded(const struct node_offer *offer)
{
    struct node_offer bounded = *offer;

    bounded.address[sizeof bounded.address - 1] = '\0';
    bounded.cpu_millicores = MIN_OF(bounded.cpu_millicores, NODE_CPU_MILLICORES_MAX);
    bounded.memory_bytes = MIN_OF(bounded.memory_bytes, NODE_MEMORY_BYTES_MAX);
    bounded.gpus = MIN_OF(bounded.gpus, NODE_GPUS_MAX);
    memset(&bounded.gpu_numa[bounded.gpus], 0, NODE_GPUS_MAX - bounded.gpus);
    return bounded;
}

struct node *node_new(struct cluster *cluster, const char *name, enum node_state state,
                      const struct node_offer *offer)
{
    struct node *node = xcalloc(1, sizeof *node);

    (void)snprintf(node->name, sizeof node->name, "%s", name);
    node->state = state;
    node->admin_state = state == NODE_LOST ? NODE_READY : state;
    node->offer = node_offer_bounded(offer);
    node->port_next = offer->port_first;
    node->gpu_type = GPU_TYPE_NONE;
    HASH_ADD_STR(cluster->nodes, name, node);
    node_offer_changed(cluster, node);
    return node;
}

struct node *node_free(struct node *node)
{
    free(node->room);
    free(node->empty_room);
    free(node->ports_foreign);
    free(node);
    return NULL;
}

void node_remove(struct cluster *cluster, struct node *node)
{
    HASH_DEL(cluster->nodes, node);
    unfit_forget_node(cluster, node);
    node_set_gpu_type(cluster, node, false);
    node->state = NODE_LOST; /* takes nothing, drains nothing, counts for nothing */
    node->removed = true;
    node_changed(cluster, node);
    deadline_set(&cluster->deadlines, &node->foreign_falls, DEADLINE_FOREIGN, NEVER_US);
    deadline_set(&cluster->deadlines, &node->speed_forgotten, DEADLINE_SPEED, NEVER_US);
    node_forget_machine(cluster, node);
    LL_PREPEND2(cluster->removed, node, removed_next);
    cluster->offers_version++;
    cluster->plan_wanted = true;
}

void nodes_free_removed(struct cluster *cluster)
{
    struct node *node;
    struct node *next;

    LL_FOREACH_SAFE2(cluster->removed, node, next, removed_next)
    (void)node_free(node);
    cluster->removed = NULL;
}

bool node_offers_same(const struct node_offer *a, const struct node_offer *b)
{
    return streq(a->address, b->address) && a->cpu_millicores == b->cpu_millicores &&
           a->memory_bytes == b->memory_bytes && a->gpus == b->gpus &&
           a->port_first == b->port_first && a->port_last == b->port_last &&
           a->numa_nodes == b->numa_nodes &&
           memcmp(a->gpu_numa, b->gpu_numa, sizeof a->gpu_numa) == 0 &&
           labels_equal(&a->labels, &b->labels);
}

void node_measure_offer(struct node *node)
{
    const struct process *process;

    node->offer_shrunk = node->cpu_granted_millicores > node->offer.cpu_millicores ||
                         node->memory_granted_bytes > node->offer.memory_bytes ||
                         node->gpus_granted > node->offer.gpus;
    node->gpus_beyond = 0;
    DL_FOREACH2(node->processes, process, node_next)
    node->gpus_beyond |= process->gpu_mask & ~gpus_mask(node->offer.gpus);
}

#define TO(state) (1U << (state))

/* Invariant of each: ready takes processes (if it reported); cordoned takes none; draining takes
 * none and keeps what could go nowhere without a loss; quarantined takes none until somebody says
 * ready; lost has none, and no lease. */
static const unsigned allowed[] = {
    [NODE_READY] = TO(NODE_CORDONED) | TO(NODE_DRAINING) | TO(NODE_LOST) | TO(NODE_QUARANTINED),
    [NODE_CORDONED] = TO(NODE_READY) | TO(NODE_DRAINING) | TO(NODE_LOST),
    [NODE_DRAINING] = TO(NODE_READY) | TO(NODE_CORDONED) | TO(NODE_LOST),
    [NODE_LOST] = TO(NODE_READY) | TO(NODE_CORDONED) | TO(NODE_DRAINING) | TO(NODE_QUARANTINED),
    [NODE_QUARANTINED] = TO(NODE_READY) | TO(NODE_CORDONED) | TO(NODE_DRAINING) | TO(NODE_LOST),
};

void node_set_state(struct cluster *cluster, struct node *node, enum node_state state,
                    const char *event, const char *text, struct instant now)
{
    struct process *process;

    if (!(allowed[node->state] & TO(state))) {
        unlisted_move(cluster, "node", node->name, node_state_to_string(node->state),
                      node_state_to_string(state));
        return;
    }
    DL_FOREACH2(node->processes, process, node_next)
    process_count(process, -1);
    node->state = state;
    DL_FOREACH2(node->processes, process, node_next)
    process_count(process, 1);
    DL_FOREACH2(node->processes, process, node_next) /* only now: it looks at all of the job */
    job_touch(cluster, process->job);
    node->n_start_failures = 0;
    node->waits[0] = '\0';
    if (state != NODE_QUARANTINED && state != NODE_LOST)
        node->set_aside[0] = '\0';
    node_changed(cluster, node);
    effect_save_node(cluster, node);
    effect_event(cluster, now, NULL, node->name, event, "%s %s", node->name, text);
    cluster->plan_wanted = true;
}

void node_quarantine(struct cluster *cluster, struct node *node, struct instant now)
{
    node->admin_state = NODE_QUARANTINED;
    node_set_state(cluster, node, NODE_QUARANTINED, "node-quarantined",
                   "is quarantined: " REASON_QUARANTINED, now);
}

void node_take_set_aside(struct cluster *cluster, struct node *node, const char *why,
                         uint64_t number, struct instant now)
{
    char text[NODE_SET_ASIDE_SIZE + 64];

    if (why == NULL || *why == '\0' || (number != 0 && number == node->set_aside_number))
        return;
    node->set_aside_number = number;
    if (node->state != NODE_READY && node->state != NODE_QUARANTINED) {
        effect_event(cluster, now, NULL, node->name, "node-set-aside", "%s: %s", node->name, why);
        return;
    }
    (void)snprintf(node->set_aside, sizeof node->set_aside, "%.*s",
                   printable_prefix(why, sizeof node->set_aside - 1), why);
    (void)snprintf(text, sizeof text, "is quarantined: %s; set it ready when it is mended",
                   node->set_aside);
    if (node->state == NODE_QUARANTINED) {
        effect_save_node(cluster, node);
        effect_event(cluster, now, NULL, node->name, "node-quarantined", "%s %s", node->name, text);
        return;
    }
    node->admin_state = NODE_QUARANTINED;
    node_set_state(cluster, node, NODE_QUARANTINED, "node-quarantined", text, now);
}

/* node_reason - see node.h */
const char *node_reason(const struct node *node)
{
    if (node->state == NODE_DRAINING)
        return node->waits;
    if (node->state == NODE_QUARANTINED)
        return node->set_aside[0] != '\0' ? node->set_aside : REASON_QUARANTINED;
    return node->state == NODE_READY && node->disk_full ? REASON_DISK_FULL : "";
}
