/* SPDX-License-Identifier: Apache-2.0 */
/* node_kept.c - what goes on while its node is cut off (on_disconnect: keep)
 *
 * No lease ends it, so the end of the lease tells nothing of it: it stays live on the lost node,
 * with its slot and all that it was granted, until a report or a person tells its end. */
#include "scheduler/core/model/node_kept.h"

#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_spec.h"

/* node_first_fenced - see node_kept.h. The first that ended with the lease, or NULL. Linear in
 * those that are kept, once for each that is not: the end of one may stop others, so no place in
 * the list is good for long. Nodes are lost rarely. */
struct process *node_first_fenced(const struct node *node)
{
    struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    if (!process->job->spec->keep_cut_off)
        break;
    return process;
}

/* node_note_kept - see node_kept.h. A kept process holds its slot and its grants until its end
 * is known */
void node_note_kept(struct cluster *cluster, const struct node *node, struct instant now)
{
    const struct process *process;
    char name[ROLE_NAME_MAX + 16];

    DL_FOREACH2(node->processes, process, node_next)
    {
        if (!process->job->spec->keep_cut_off)
            continue;
        process_name(process, name, sizeof name);
        effect_membership(cluster, process->job); /* nobody waits for it */
        effect_process_event(
            cluster, now, process, "process-kept",
            "%s may go on, its node is cut off; no other is started until it is back or "
            "removed as gone",
            name);
    }
}

/* node_note_reachable - see node_kept.h */
void node_note_reachable(struct cluster *cluster, const struct node *node)
{
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    effect_membership(cluster, process->job);
}

/* cluster_give_up_node - see node_kept.h */
int cluster_give_up_node(struct cluster *cluster, struct node *node, struct instant now,
                         struct edl_error *error)
{
    if (node->state != NODE_LOST) {
        (void)edl_error_set(error, EDL_EBADTRANSITION, "node %s is %s, it is not gone", node->name,
                            node_state_to_string(node->state));
        return edl_error_remedy(error, "drain it instead");
    }
    while (node->processes != NULL)
        process_lost(cluster, node->processes, CAUSE_NODE_GONE, "its node was removed as gone",
                     now);
    return 0;
}
