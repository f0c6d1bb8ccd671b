/* SPDX-License-Identifier: Apache-2.0 */
/* pins.c - the CPUs that a process of this node gets for itself (core/cpu_pins.h)
 *
 * Whose they are stands with the processes: in order.json, which the next agent reads, and they are
 * free when the process is seen gone. Nothing is kept beside that. */
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/machine/cpu_topology.h"
#include "agent/options.h"
#include "shared/log.h"
#include "shared/macro.h"

void agent_open_pins(struct agent *a)
{
    struct cpu_mask allowed;

    if (!a->options->pin_cores)
        return;
    cpu_topology_allowed(&allowed);
    a->topology = xcalloc(1, sizeof *a->topology);
    cpu_topology_read("", &allowed, a->topology);
}

/* node_of - where the first of its GPUs is */
static uint16_t node_of(const struct agent *a, const json_t *order)
{
    uint64_t mask = gpus_of_order(order);

    for (unsigned i = 0; i < a->gpus.n; i++)
        if (mask & UINT64_C(1) << i)
            return a->gpus.numa[i];
    return CPU_NUMA_NONE;
}

const char *agent_pin(const struct agent *a, const json_t *order, char list[CPU_LIST_SIZE])
{
    json_int_t millicores = json_integer_value(json_object_get(order, "cpu_millicores"));
    unsigned wanted = cpu_pins_wanted((uint64_t)MAX_OF(millicores, 0));
    struct cpu_mask taken = { 0 }, chosen;
    const struct process *p;

    if (a->topology == NULL || wanted == 0)
        return "";
    DL_FOREACH(a->table.list, p)
    if (p->handle != NULL)
        cpu_mask_add(&taken, &p->cpus);
    if (cpu_pins_choose(a->topology, &taken, wanted, node_of(a, order), &chosen))
        return cpu_mask_format(&chosen, list);
    log_warning("no %u CPUs are free for a process that was granted as many: it runs on all",
                wanted);
    return "";
}
