/* SPDX-License-Identifier: Apache-2.0 */
/* starts.c - from the core's decision to a process, through all that a start waits for */
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/environment.h"
#include "agent/options.h"
#include "agent/workspace/workspace_cache.h"
#include "agent/workspace/workspaces.h"
#include "shared/clock.h"
#include "shared/error.h"

/* local_scheduler - the one on this machine, whose socket no process may see; NULL: none */
static const char *local_scheduler(const struct server_list *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        if (strncmp(servers->urls[i], "unix:", 5) == 0)
            return servers->urls[i];
    return NULL;
}

void agent_start_now(struct agent *a, const struct process_id *id, json_t *order)
{
    char cpus[CPU_LIST_SIZE];
    const struct environment_facts facts = { .boot_id = a->boot_id,
                                             .lease_us = agent_core_lease_us(a->core),
                                             .cut_off_kill_us = a->now->cut_off_kill_us,
                                             .accounts = a->accounts,
                                             .cpus = agent_pin(a, order, cpus),
                                             .tasks_max = a->now->tasks_max,
                                             .cpu_quota = a->now->cpu_quota,
                                             .log_max_bytes = a->now->log_max_bytes,
                                             .cgroup = a->cgroup_home,
                                             .scheduler = local_scheduler(&a->member.servers),
                                             .limits = { a->inventory.cpu_millicores,
                                                         a->inventory.memory_bytes, a->gpus.n,
                                                         a->now->port_first, a->now->port_last } };
    char reason[AGENT_REASON_SIZE];
    json_t *named = gpus_name(&a->gpus, order);
    int r = process_start(&a->table, id, named, &facts, reason);

    if (r < 0) {
        agent_core_start_failed(a->core, id, start_fault_of_error(r), reason,
                                clock_read_us(CLOCK_BOOTTIME));
        agent_decided(a);
    }
    json_decref(named);
}

/* First its workspace, which may take minutes; the prolog of its job; its devices after
 * that, as they are then */
void agent_start(struct agent *a, const struct agent_action *action)
{
    json_t *order = a->orders.documents[action->idx_order];

    if (workspaces_await(a->workspaces, &action->id, order) ||
        agent_await_prolog(a, &action->id, order) || agent_await_gpus(a, &action->id, order))
        agent_core_start_waits(a->core, &action->id, clock_read_us(CLOCK_BOOTTIME));
    else
        agent_start_now(a, &action->id, order);
}

void agent_start_behind_prolog(struct agent *a, const struct process_id *id, json_t *order)
{
    if (!agent_await_gpus(a, id, order))
        agent_start_late(a, id, order);
}

void agent_on_workspace(const struct process_id *id, json_t *order, const struct edl_error *why,
                        void *userdata)
{
    struct agent *a = userdata;

    if (why != NULL)
        agent_core_start_failed(a->core, id, workspace_cache_fault(why->code), why->text,
                                clock_read_us(CLOCK_BOOTTIME));
    else if (!agent_await_prolog(a, id, order))
        agent_start_behind_prolog(a, id, order);
    agent_decided(a);
}

/* One that still waits never starts */
void agent_stop(struct agent *a, const struct agent_action *action)
{
    struct process *p = process_find(&a->table, &action->id);

    if (p != NULL)
        process_stop(p, action->grace_us);
    else if (agent_cancel_prolog(a, &action->id))
        return; /* it ends with that */
    else if (workspaces_cancel(a->workspaces, &action->id) || agent_cancel_gpus(a, &action->id))
        agent_core_start_failed(a->core, &action->id, START_FAULT_NONE, "stopped before it started",
                                clock_read_us(CLOCK_BOOTTIME));
}
