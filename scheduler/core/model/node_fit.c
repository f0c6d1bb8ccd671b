/* SPDX-License-Identifier: Apache-2.0 */
/* node_fit.c - which nodes could run an instance of a job if nothing else ran there
 *
 * Pure questions about nodes and documents. Where an instance really goes is a question of the
 * plan, which keeps an index for it. */
#include "scheduler/core/model/node_fit.h"

#include <stdlib.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/job_spec.h"
#include "shared/label.h"

bool node_could_hold(const struct node *node, const struct role_spec *role)
{
    const struct resources offer = resources_of_offer(&node->offer);
    const struct resources need = resources_of_role(role);

    return resources_fit(&offer, &need) &&
           (role->selector == NULL || labels_cover(&node->offer.labels, role->selector));
}

bool node_could_run(const struct node *node, const struct job *job, uint32_t role)
{
    return node_could_hold(node, &job->spec->roles[role]) &&
           !unfit_nodes_hold(job->unfit, node, UINT32_C(1) << role);
}

bool node_could_run_slot(const struct node *node, const struct job *job, uint32_t role,
                         uint32_t index)
{
    const char *only = role_node(&job->spec->roles[role], index);

    return (only == NULL || streq(node->name, only)) && node_could_run(node, job, role);
}

/* --- a gang --- */

/* An instance and the node that its role names for it. */
struct pin {
    const struct node *node;
    struct resources need;
};

static int compare_nodes(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct pin *)a)->node;
    uintptr_t y = (uintptr_t)((const struct pin *)b)->node;

    return (x > y) - (x < y);
}

/* Several may share a node. */
static bool sums_fit(struct pin *pins, size_t n)
{
    struct resources sum = { 0 };

    qsort(pins, n, sizeof *pins, compare_nodes);
    for (size_t i = 0; i < n; i++) {
        const struct resources offer = resources_of_offer(&pins[i].node->offer);

        if (i > 0 && pins[i].node != pins[i - 1].node)
            sum = (struct resources){ 0 };
        resources_add(&sum, &pins[i].need, 1);
        if (!resources_fit(&offer, &sum))
            return false;
    }
    return true;
}

/* false: one of them could not run on its node, whatever else runs there */
static bool list_pins(const struct cluster *cluster, const struct job *job, uint32_t role,
                      struct pin *pins)
{
    const struct role_spec *spec = &job->spec->roles[role];

    for (uint32_t i = 0; i < spec->min; i++) {
        const struct node *node = cluster_node(cluster, role_node(spec, i));

        if (node == NULL || !node_could_run(node, job, role))
            return false;
        pins[i] = (struct pin){ .node = node, .need = resources_of_role(spec) };
    }
    return true;
}

static bool pins_could_run(const struct cluster *cluster, const struct job *job)
{
    const struct job_spec *spec = job->spec;
    struct pin *pins;
    size_t most = 0, n = 0;
    bool could = true;

    for (uint32_t r = 0; r < spec->n_roles; r++)
        most += spec->roles[r].nodes != NULL ? spec->roles[r].min : 0;
    if (most == 0)
        return true;
    pins = xcalloc(most, sizeof *pins);
    for (uint32_t r = 0; could && r < spec->n_roles; r++)
        if (spec->roles[r].nodes != NULL) {
            could = list_pins(cluster, job, r, &pins[n]);
            n += spec->roles[r].min;
        }
    could = could && sums_fit(pins, n);
    free(pins);
    return could;
}

/* Its minimum has so many places. */
static bool role_could_run(const struct cluster *cluster, const struct job *job, uint32_t role)
{
    const struct resources need = resources_of_role(&job->spec->roles[role]);
    int64_t left = job->spec->roles[role].min;

    for (const struct node *node = cluster->nodes; node != NULL && left > 0; node = node->hh.next)
        if (node_could_run(node, job, role)) {
            const struct resources offer = resources_of_offer(&node->offer);

            left -= MIN_OF(left, resources_times(&offer, &need));
        }
    return left == 0;
}

/* The nodes that could run any of its roles have enough together. */
static bool sum_could_run(const struct cluster *cluster, const struct job *job)
{
    const uint32_t roles = (uint32_t)((UINT64_C(1) << job->spec->n_roles) - 1);
    struct resources need = { 0 }, total = { 0 };

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct resources one = resources_of_role(&job->spec->roles[r]);

        resources_add(&need, &one, job->spec->roles[r].min);
    }
    for (const struct node *node = cluster->nodes; node != NULL; node = node->hh.next) {
        const struct unfit_node *unfit = unfit_nodes_find(job->unfit, node);
        const struct resources offer = resources_of_offer(&node->offer);

        if (unfit == NULL || (unfit->roles & roles) != roles)
            resources_add(&total, &offer, 1);
    }
    return resources_fit(&total, &need);
}

bool job_could_be_complete(const struct cluster *cluster, const struct job *job)
{
    if (!pins_could_run(cluster, job))
        return false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job->spec->roles[r].nodes == NULL && !role_could_run(cluster, job, r))
            return false;
    return sum_could_run(cluster, job);
}
