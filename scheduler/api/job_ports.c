/* SPDX-License-Identifier: Apache-2.0 */
/* job_ports.c - see job_ports.h */
#include "scheduler/api/job_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* The role that listens at ports of its own choice on nodes that it names, or NULL */
static const struct role_spec *listening_role(const struct job_spec *spec)
{
    int role = job_spec_role(spec, "pserver");

    if (role < 0 || spec->port == 0 || spec->roles[role].n_ports > 0 ||
        spec->roles[role].nodes == NULL)
        return NULL;
    return &spec->roles[role];
}

static uint32_t ports_end(const struct job_spec *spec)
{
    return spec->port + MAX_OF(spec->ports_num + spec->ports_num_for_sparse, 1U);
}

/* The nodes of a role that its instances may use, in order. */
struct names {
    const char **items; /* owned; borrowed texts */
    size_t n;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct names names_of(const struct role_spec *role)
{
    struct names names = { .items = xcalloc(role->n_nodes + 1U, sizeof(*names.items)),
                           .n = MIN_OF(role->n_nodes, role->max) };

    for (size_t i = 0; i < names.n; i++)
        names.items[i] = role->nodes[i];
    qsort(names.items, names.n, sizeof(*names.items), compare_names);
    return names;
}

static bool share_a_node(const struct names *names, const struct role_spec *role)
{
    for (uint32_t i = 0; i < MIN_OF(role->n_nodes, role->max); i++) {
        const char *name = role->nodes[i];

        if (bsearch(&name, names->items, names->n, sizeof(*names->items), compare_names) != NULL)
            return true;
    }
    return false;
}

static bool share_a_port(const struct job_spec *a, const struct job_spec *b)
{
    return a->port < ports_end(b) && b->port < ports_end(a);
}

int api_job_ports_check(const struct http_request *request, const struct cluster *cluster,
                        const struct job_spec *spec, struct edl_error *error)
{
    const char *given = http_request_query(request, "ports");
    const struct role_spec *role = listening_role(spec);
    const struct job *job;
    struct names names;

    if (given == NULL)
        return 0;
    if (!streq(given, "own")) {
        (void)edl_error_set(error, -EINVAL, "ports=%s is not known", given);
        return edl_error_remedy(error, "ports=own, or leave it out");
    }
    if (role == NULL)
        return 0;
    names = names_of(role);
    DL_FOREACH2(cluster_active_jobs(cluster), job, active_next)
    {
        const struct role_spec *other = listening_role(job->spec);

        if (other == NULL || !share_a_port(spec, job->spec) || !share_a_node(&names, other))
            continue;
        free(names.items);
        (void)edl_error_at(error, -EEXIST, "/spec/port",
                           "job %s (%llu) has ports %u to %u on a node of this one",
                           job->spec->name, (unsigned long long)job->id, job->spec->port,
                           ports_end(job->spec) - 1);
        return edl_error_remedy(error, "give another port, %u or above", ports_end(job->spec));
    }
    free(names.items);
    return 0;
}
