/* SPDX-License-Identifier: Apache-2.0 */
/* job_defaults.c - see job_defaults.h */
#include "scheduler/api/job_defaults.h"

#include <stdlib.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* What other programs have of it is no job's; the half is left to jobs whatever they take now. */
static uint64_t shared_memory(const struct node *node)
{
    return node->offer.memory_bytes -
           MIN_OF(node->foreign_planned_memory, node->offer.memory_bytes / 2);
}

void job_defaults_apply(const struct scheduler *scheduler, struct job_spec *spec,
                        struct job_defaults *ret)
{
    const struct node *node = cluster_nodes(scheduler->cluster);
    _cleanup_free_ struct role_share *nodes = xcalloc(HASH_COUNT(node) + 1, sizeof *nodes);
    size_t n = 0;

    for (; node != NULL; node = node->hh.next)
        nodes[n++] = (struct role_share){ .cpu_millicores = node->offer.cpu_millicores,
                                          .memory_bytes = shared_memory(node),
                                          .gpus = node->offer.gpus,
                                          .name = node->name,
                                          .labels = &node->offer.labels,
                                          .away = !node_takes_processes(node) };
    job_spec_ask_by_default(spec, &scheduler->options.role_defaults, nodes, n, &ret->cpu,
                            &ret->memory);
}

json_t *job_defaults_to_json(const struct job_spec *spec, const struct job_defaults *given)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *role = &spec->roles[i];
        json_t *row;

        if (((given->cpu | given->memory) & 1U << i) == 0)
            continue;
        row = json_pack("{s:s}", "role", role->name);
        if ((given->cpu & 1U << i) != 0)
            (void)json_object_set_new(row, "cpu_millicores",
                                      json_integer((json_int_t)role->cpu_millicores));
        if ((given->memory & 1U << i) != 0)
            (void)json_object_set_new(row, "memory_bytes",
                                      json_integer((json_int_t)role->memory_bytes));
        (void)json_array_append_new(array, row);
    }
    return array;
}
