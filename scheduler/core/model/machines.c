/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c - which nodes say that they are on one machine, by its /etc/machine-id */
#include "scheduler/core/model/machines.h"

#include <stdio.h>
#include <utlist.h>
#include <stdlib.h>
#include <uthash.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node.h"
#include "shared/macro.h"

void node_forget_machine(struct cluster *cluster, struct node *node)
{
    struct machine_nodes *machine = node->machine;

    if (machine == NULL)
        return;
    node->machine = NULL;
    DL_DELETE2(machine->nodes, node, machine_prev, machine_next);
    if (machine->nodes != NULL)
        return;
    HASH_DEL(cluster->machines, machine);
    free(machine);
}

void machines_free(struct cluster *cluster)
{
    struct machine_nodes *machine;
    struct machine_nodes *next;

    HASH_ITER(hh, cluster->machines, machine, next)
    {
        HASH_DEL(cluster->machines, machine);
        free(machine);
    }
}

struct machine_nodes *cluster_machine(const struct cluster *cluster, const char *id)
{
    struct machine_nodes *machine = NULL;

    if (id != NULL && *id != '\0')
        HASH_FIND_STR(cluster->machines, id, machine);
    return machine;
}

void node_take_machine(struct cluster *cluster, struct node *node, const char *id)
{
    struct machine_nodes *machine = cluster_machine(cluster, id);

    if (id == NULL || *id == '\0' || (machine != NULL && machine == node->machine))
        return;
    node_forget_machine(cluster, node);
    if (machine == NULL) {
        machine = xcalloc(1, sizeof *machine);
        (void)snprintf(machine->id, sizeof machine->id, "%s", id);
        HASH_ADD_STR(cluster->machines, id, machine);
    }
    node->machine = machine;
    DL_APPEND2(machine->nodes, node, machine_prev, machine_next);
}
