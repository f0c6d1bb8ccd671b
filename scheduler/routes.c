/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the whole API in one table, and what its handlers share */
#include "scheduler/api.h"

#include <errno.h>

#include "scheduler/auth.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/job_document.h"
#include "shared/macro.h"

#define KIB 1024
#define NO_BODY 1 /* a body that is not read anyway; 0 would mean the server's default */
#define NODE_BODY (16 * KIB)
#define REPORT_BODY (4 * KIB * KIB)   /* thousands of processes */
#define DATASET_BODY (32 * KIB * KIB) /* a chunk takes about 100 bytes */
#define LOG_BODY (2 * KIB * KIB)      /* 256 KiB of text, escaped */
#define METRICS_BODY (16 * KIB)

static const struct http_route table[] = {
    { "GET", "/healthz", api_healthz, ROUTE_PUBLIC, NO_BODY, "whether it answers", NULL },
    { "GET", "/readyz", api_readyz, ROUTE_PUBLIC, NO_BODY, "whether it takes work", NULL },
    { "GET", "/metrics", api_scrape, 0, NO_BODY, "figures for Prometheus", NULL },
    { "GET", "/version", api_version, ROUTE_PUBLIC, NO_BODY, "the scheduler's version", NULL },
    { "GET", "/cluster", api_cluster, 0, NO_BODY, "nodes, jobs and utilisation in sum", NULL },

    { "POST", "/jobs", api_jobs_submit, ROUTE_KEYED, JOB_DOCUMENT_MAX_BYTES,
      "submit a job; ?dry_run=1: tell what that would do", "dry_run" },
    { "GET", "/jobs", api_jobs_list, 0, NO_BODY, "jobs", "state" },
    { "GET", "/jobs/{job}", api_job_show, 0, NO_BODY, "one job with its document", NULL },
    { "DELETE", "/jobs/{job}", api_job_kill, ROUTE_KEYED, NODE_BODY, "stop a job for good", NULL },
    { "PATCH", "/jobs/{job}", api_job_scale, ROUTE_KEYED, NODE_BODY,
      "other bounds for a role; ?dry_run=1", "dry_run" },
    { "GET", "/jobs/{job}/processes", api_job_processes, 0, NO_BODY, "a job's processes", "state" },
    { "GET", "/jobs/{job}/why", api_job_why, 0, NO_BODY, "why a job is in its state", NULL },
    { "GET", "/jobs/{job}/events", api_job_events, 0, NO_BODY, "what happened to a job", "after" },
    { "GET", "/jobs/{job}/logs", api_job_logs, 0, NO_BODY, "what a job's processes wrote",
      "role index after follow wait" },
    { "GET", "/events", api_events, 0, NO_BODY, "what happened; long poll", "after wait" },

    { "GET", "/jobs/{job}/tasks", api_job_tasks, ROUTE_PROCESS | ROUTE_ADMIN, NO_BODY,
      "a job's task queue in sum", NULL },
    { "GET", "/jobs/{job}/hosts", api_job_hosts, ROUTE_PROCESS | ROUTE_ADMIN, NO_BODY,
      "where the processes of a role are", "role" },
    { "PUT", "/jobs/{job}/dataset", api_dataset_put, ROUTE_PROCESS, DATASET_BODY,
      "the tasks of a pass; the first one counts", NULL },
    { "GET", "/jobs/{job}/dataset", api_dataset_get, ROUTE_PROCESS | ROUTE_ADMIN, NO_BODY,
      "whether there is a dataset", NULL },
    { "POST", "/jobs/{job}/tasks/lease", api_task_lease, ROUTE_PROCESS, 256 * KIB,
      "a task to train; long poll", NULL },
    { "POST", "/jobs/{job}/tasks/finish", api_task_finish, ROUTE_PROCESS, NODE_BODY,
      "a task is trained", NULL },
    { "POST", "/jobs/{job}/tasks/fail", api_task_fail, ROUTE_PROCESS, NODE_BODY,
      "a task failed, or is given back", NULL },
    { "POST", "/jobs/{job}/save-model", api_save_model, ROUTE_PROCESS, NODE_BODY,
      "the model is saved", NULL },
    { "POST", "/jobs/{job}/metrics", api_metrics, ROUTE_PROCESS, METRICS_BODY,
      "figures to show with the job", NULL },

    { "POST", "/nodes/join", api_node_join, ROUTE_JOIN, NODE_BODY, "a node comes in", NULL },
    { "GET", "/nodes", api_nodes_list, 0, NO_BODY, "nodes", NULL },
    { "GET", "/nodes/{node}", api_node_show, 0, NO_BODY, "one node", NULL },
    { "PATCH", "/nodes/{node}", api_node_set, ROUTE_KEYED, NODE_BODY,
      "ready, cordoned or draining; ?dry_run=1", "dry_run" },
    { "DELETE", "/nodes/{node}", api_node_remove, ROUTE_KEYED, NO_BODY, "forget a node", NULL },
    { "POST", "/nodes/{node}/report", api_node_report, ROUTE_NODE, REPORT_BODY,
      "what an agent sees; renews its lease", NULL },
    { "GET", "/nodes/{node}/orders", api_node_orders, ROUTE_NODE, NO_BODY,
      "what an agent should run; long poll", "after wait" },
    { "POST", "/nodes/{node}/logs", api_node_logs, ROUTE_NODE, LOG_BODY, "output of a process",
      NULL },
};

const struct http_route *routes(size_t *ret_n)
{
    *ret_n = ELEMENTS(table);
    return table;
}

struct job *api_job(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "job");
    struct job *job = cluster_find_job(scheduler->cluster, name);
    struct edl_error error = { 0 };

    if (job != NULL)
        return job;
    (void)edl_error_set(&error, -ENOENT, "there is no job \"%s\"", name);
    (void)edl_error_remedy(&error, "`edl ps --all` lists every job");
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

struct node *api_node(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "node");
    struct node *node = cluster_node(scheduler->cluster, name);
    struct edl_error error = { 0 };

    if (node != NULL)
        return node;
    (void)edl_error_set(&error, -ENOENT, "there is no node \"%s\"", name);
    (void)edl_error_remedy(&error, "`edl nodes` lists every node");
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

int api_wait_us(const struct http_request *request, uint64_t fallback_s, uint64_t *ret_deadline_us,
                struct edl_error *error)
{
    uint64_t wait_s;
    int r = http_request_query_u64(request, "wait", fallback_s, &wait_s, error);

    if (r < 0)
        return r;
    *ret_deadline_us =
        clock_read_us(CLOCK_BOOTTIME) + MIN_OF(wait_s, (uint64_t)POLL_WAIT_MAX_S) * USEC_PER_SEC;
    return 0;
}
