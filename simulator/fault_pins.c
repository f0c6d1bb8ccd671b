/* SPDX-License-Identifier: Apache-2.0 */
/* fault_pins.c - jobs whose roles name the node of each instance */
#include "simulator/faults.h"

static char *choose_node(uint32_t n_nodes, uint64_t *random)
{
    char name[16];

    (void)snprintf(name, sizeof name, "n%u", (uint32_t)random_below(random, n_nodes));
    return xstrdup(name);
}

void schedule_pin_roles(struct job_spec *spec, uint32_t n_nodes, uint64_t random)
{
    for (size_t r = 0; r < spec->n_roles; r++) {
        struct role_spec *role = &spec->roles[r];

        if (random_below(&random, 2) == 0)
            continue;
        if (streq(role->name, "pserver"))
            role->max = role->min;
        role->n_nodes = role->max + (uint32_t)random_below(&random, 2);
        role->nodes = xcalloc(role->n_nodes + 1, sizeof *role->nodes);
        for (uint32_t i = 0; i < role->n_nodes; i++)
            role->nodes[i] = choose_node(n_nodes, &random);
    }
}
