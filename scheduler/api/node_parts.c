/* SPDX-License-Identifier: Apache-2.0 */
/* node_parts.c - the processes of a node, and its events */
#include "scheduler/api/api.h"

#include <utlist.h>

#include "scheduler/api/page.h"
#include "scheduler/core/core.h"
#include "scheduler/json/event_json.h"
#include "scheduler/json/job_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/http_server.h"

void api_node_processes(struct http_request *request, void *userdata)
{
    const struct node *node = api_node(userdata, request);
    const struct process *process;
    json_t *processes;

    if (node == NULL)
        return;
    processes = json_array();
    DL_FOREACH2(node->processes, process, node_next)
    {
        json_t *json = process_to_json(process);

        (void)json_object_set_new(json, "user", json_string(process->job->user));
        (void)json_array_append_new(processes, json);
    }
    http_reply_json(request, 200, json_pack("{s:o}", "processes", processes));
}

static void add_event(const struct stored_event *event, void *userdata)
{
    (void)json_array_append_new(userdata, event_to_json(event));
}

void api_node_events(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    json_t *events;
    uint64_t before, limit;
    int r;

    if (node == NULL)
        return;
    events = json_array();
    r = http_request_query_u64(request, "before", INT64_MAX, &before, &error);
    if (r == 0)
        r = page_limit(request, &limit, &error);
    if (r == 0)
        r = store_node_events(scheduler->store, node->name, before, (uint32_t)limit, add_event,
                              events, &error);
    if (r < 0) {
        json_decref(events);
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200, json_pack("{s:o}", "events", events));
}
