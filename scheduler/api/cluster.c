/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - whether it answers and takes work, the cluster in sum, and its policy */
#include <utlist.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/openapi/openapi.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define JOBS_LISTED 1000 /* GET /jobs has them all, page by page */

void api_healthz(struct http_request *request, void *userdata)
{
    http_reply_json(request, 200, leadership_health(userdata));
}

void api_readyz(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };

    if (scheduler_ready(userdata, &error) < 0)
        http_reply_error(request, &error);
    else
        http_reply_json(request, 200, json_pack("{s:s}", "status", "ready"));
}

void api_version(struct http_request *request, void *userdata)
{
    (void)userdata;
    http_reply_json(request, 200, json_pack("{s:s}", "version", EDL_VERSION));
}

void api_openapi(struct http_request *request, void *userdata)
{
    size_t n;
    const struct http_route *table = routes(&n);

    (void)userdata;
    http_reply_json(request, 200, openapi_document(table, n));
}

struct sums {
    uint64_t nodes, ready;
    uint64_t cpu, cpu_granted, cpu_foreign, memory, memory_granted;
};

static struct sums sum_nodes(const struct cluster *cluster)
{
    struct sums sums = { 0 };

    for (const struct node *node = cluster_nodes(cluster); node != NULL; node = node->hh.next) {
        sums.nodes++;
        sums.ready += node->state == NODE_READY;
        if (node->state == NODE_LOST)
            continue; /* what it offers is not there */
        sums.cpu += node->offer.cpu_millicores;
        sums.cpu_granted += node->cpu_granted_millicores;
        sums.cpu_foreign += node->foreign_cpu_millicores;
        sums.memory += node->offer.memory_bytes;
        sums.memory_granted += node->memory_granted_bytes;
    }
    return sums;
}

static uint32_t running_trainers(const struct job *job)
{
    int role = job_spec_role(job->spec, "trainer");

    return role >= 0 ? job_count_running(job, (uint32_t)role) : 0;
}

void api_cluster(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct cluster *cluster = scheduler->cluster;
    struct sums sums = sum_nodes(cluster);
    json_t *jobs = json_array();
    uint64_t submitted = 0, pending = 0;
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(cluster), job, active_next)
    {
        pending += job->state == JOB_QUEUED;
        if (++submitted <= JOBS_LISTED)
            (void)json_array_append_new(jobs, json_pack("{s:s,s:I,s:s,s:I}", "name",
                                                        job->spec->name, "id", (json_int_t)job->id,
                                                        "state", job_state_to_string(job->state),
                                                        "running_trainers",
                                                        (json_int_t)running_trainers(job)));
    }
    http_reply_json(request, 200,
                    json_pack("{s:s,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:o}", "policy",
                              cluster_config(cluster)->policy->name, "max_load",
                              (double)cluster_config(cluster)->max_load_permille / 1000.0, "nodes",
                              (json_int_t)sums.nodes, "nodes_ready", (json_int_t)sums.ready,
                              "cpu_millicores", (json_int_t)sums.cpu, "cpu_granted_millicores",
                              (json_int_t)sums.cpu_granted, "foreign_cpu_millicores",
                              (json_int_t)sums.cpu_foreign, "memory_bytes", (json_int_t)sums.memory,
                              "memory_granted_bytes", (json_int_t)sums.memory_granted,
                              "utilisation", (double)cluster_utilisation_ppm(cluster) / 1e6,
                              "submitted_jobs", (json_int_t)submitted, "pending_jobs",
                              (json_int_t)pending, "jobs", jobs));
}

/* Seconds saved in a second; null: none is for sale */
static json_t *price_to_json(enum policy_resource resource, const struct policy_price *price)
{
    return json_pack("{s:s,s:s,s:o}", "resource", policy_resource_to_string(resource), "per",
                     policy_resource_unit(resource), "price",
                     price->for_sale ? json_real(price->worth) : json_null());
}

/* null: this policy knows none */
static json_t *prices_to_json(const struct cluster *cluster)
{
    struct policy_price prices[POLICY_RESOURCES];
    json_t *array;

    if (!cluster_prices(cluster, prices))
        return json_null();
    array = json_array();
    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++)
        if (!prices[r].none)
            (void)json_array_append_new(array, price_to_json(r, &prices[r]));
    return array;
}

void api_policy(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    const struct cluster_config *config = cluster_config(scheduler->cluster);
    json_t *known = json_array();
    const struct policy *policy;

    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++)
        (void)json_array_append_new(known, json_pack("{s:s,s:s}", "name", policy->name, "summary",
                                                     policy->summary));
    http_reply_json(request, 200,
                    json_pack("{s:s,s:f,s:o,s:o}", "policy", config->policy->name, "max_load",
                              (double)config->max_load_permille / 1000.0, "prices",
                              prices_to_json(scheduler->cluster), "known", known));
}
