/* SPDX-License-Identifier: Apache-2.0 */
/* node_pick.c - which ports and devices of a node an instance gets
 *
 * Linear in the processes of that one node: a machine's worth, not a cluster's. */
#include "scheduler/core/model/node_pick.h"

#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"

int64_t node_ports_of(const struct node *node, const struct process *process)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < process->n_ports; i++)
        n += process->ports[i] >= node->offer.port_first &&
             process->ports[i] <= node->offer.port_last;
    return n;
}

static bool port_is_used(const struct node *node, uint16_t port)
{
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    for (uint32_t i = 0; i < process->n_ports; i++)
        if (process->ports[i] == port)
            return true;
    return false;
}

static bool port_is_foreign(const struct node *node, uint16_t port)
{
    for (size_t i = 0; i < node->n_ports_foreign; i++)
        if (node->ports_foreign[i] == port)
            return true;
    return false;
}

int64_t node_ports_withheld(const struct node *node)
{
    int64_t n = 0;

    for (size_t i = 0; i < node->n_ports_foreign; i++) {
        uint16_t port = node->ports_foreign[i];

        n += port >= node->offer.port_first && port <= node->offer.port_last &&
             !port_is_used(node, port);
    }
    return n;
}

/* A port that another program listens on is not granted; whom it was granted to before keeps it. */
void node_take_foreign_ports(struct cluster *cluster, struct node *node, const uint16_t *ports,
                             size_t n)
{
    if (n == node->n_ports_foreign &&
        (n == 0 || memcmp(ports, node->ports_foreign, n * sizeof *ports) == 0))
        return;
    free(node->ports_foreign);
    node->ports_foreign = NULL;
    if (n > 0) {
        node->ports_foreign = xcalloc(n, sizeof *ports);
        memcpy(node->ports_foreign, ports, n * sizeof *ports);
    }
    node->n_ports_foreign = n;
    node_changed(cluster, node);
    cluster->plan_wanted = true;
}

bool node_pick_ports(struct node *node, uint32_t n, uint16_t *ret_ports)
{
    int64_t range = resources_of_offer(&node->offer).ports;
    uint16_t port = node->port_next;
    uint32_t found = 0;

    for (int64_t tried = 0; tried < range && found < n; tried++, port++) {
        if (port < node->offer.port_first || port > node->offer.port_last)
            port = node->offer.port_first;
        if (!port_is_used(node, port) && !port_is_foreign(node, port))
            ret_ports[found++] = port;
    }
    if (found == n)
        node->port_next = port;
    return found == n;
}

static uint64_t gpus_of_numa(const struct node *node, unsigned numa)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < node->offer.gpus; i++)
        if (node->offer.gpu_numa[i] == numa)
            mask |= UINT64_C(1) << i;
    return mask;
}

static uint64_t lowest_bits(uint64_t mask, uint32_t n)
{
    uint64_t picked = 0;

    for (; n > 0; n--) {
        picked |= mask & -mask;
        mask &= mask - 1;
    }
    return picked;
}

/* Of the NUMA nodes with enough free devices the one with the fewest: the others stay whole. */
bool node_pick_gpus(const struct node *node, uint32_t n, uint64_t *ret_mask)
{
    uint64_t all = gpus_mask(node->offer.gpus) & ~node->gpus_used & ~node->gpus_foreign;
    uint64_t best = all;

    for (unsigned numa = 0; numa < MAX_OF(node->offer.numa_nodes, 1); numa++) {
        uint64_t mask = all & gpus_of_numa(node, numa);

        if (__builtin_popcountll(mask) >= (int)n &&
            __builtin_popcountll(mask) < __builtin_popcountll(best))
            best = mask;
    }
    if (__builtin_popcountll(best) < (int)n)
        return false;
    *ret_mask = lowest_bits(best, n);
    return true;
}
