/* SPDX-License-Identifier: Apache-2.0 */
/* start_elsewhere.c - see start_elsewhere.h */
#include "scheduler/core/model/start_elsewhere.h"

#include <stddef.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_fit.h"
#include "scheduler/core/model/node_starts.h"
#include "scheduler/core/model/process.h"
#include "shared/clock.h"
#include "shared/job_spec.h"

static bool has_room(const struct node *node, const struct role_spec *role)
{
    const struct resources need = resources_of_role(role);
    struct room_facts facts = node_facts(node);

    resources_add(&facts.later, &node->promised_later, -1);
    resources_add(&facts.now, &node->promised_now, -1);
    return resources_fit(&facts.later, &need) && resources_fit(&facts.now, &need);
}

/* A node is large enough on which its job did not fail to start. at_once: and has room now. Of an
 * instance with a node of its own only that one counts. */
static bool fits_on(const struct node *node, const struct process *process, bool at_once,
                    struct instant now)
{
    const struct job *job = process->job;

    return node != NULL && node_takes_processes(node) &&
           node_could_run_slot(node, job, process->role, process->index) &&
           (!at_once || has_room(node, &job->spec->roles[process->role])) &&
           !node_failed_to_start(node, job, now);
}

bool process_fits_elsewhere(const struct cluster *cluster, const struct process *process,
                            bool at_once, struct instant now)
{
    const char *only = role_node(&process->job->spec->roles[process->role], process->index);

    if (only != NULL)
        return fits_on(cluster_node(cluster, only), process, at_once, now);
    for (const struct node *node = cluster->nodes; node != NULL; node = node->hh.next)
        if (fits_on(node, process, at_once, now))
            return true;
    return false;
}
