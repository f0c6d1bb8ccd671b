/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - who serves: how a student finds its teachers, whichever job they are of
 *
 * A name stands for the processes that the newest job of that name has now: a service that is
 * submitted anew is the same one. So a waiting caller looks the job up again at every look. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/events/services.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/json/job_json.h"
#include "scheduler/nodes/serving.h"
#include "scheduler/scheduler.h"
#include "scheduler/workspaces/archive.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/nearest.h"

#define ID_DIGITS_MAX 20

/* JOB is a number as well. */
struct poll {
    uint64_t after;
    char user[USER_NAME_MAX + 1];
    char name[USER_NAME_MAX + 1 + ID_DIGITS_MAX + SERVICE_NAME_MAX + 1];
};

static int unknown(const struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    _cleanup_free_ struct service *services = NULL;
    size_t n = services_list(scheduler->cluster, &services);
    _cleanup_free_ const char **names = xcalloc(n, sizeof(*names));
    const char *nearest;

    for (size_t i = 0; i < n; i++)
        names[i] = services[i].name;
    nearest = nearest_word(name, names, n);
    (void)edl_error_set(error, -ENOENT, "there is no service \"%.100s\"", name);
    return nearest != NULL ? edl_error_remedy(error, "did you mean \"%s\"?", nearest)
                           : edl_error_remedy(error, "`edl services` lists every one; a service is"
                                                     " called JOB or JOB.ROLE");
}

/* A job that is over serves with nobody, and is known all the same. */
static int find(struct scheduler *scheduler, const char *user, const char *name,
                struct service *ret, struct edl_error *error)
{
    const char *dot = strchr(job_ref_read(name).name, '.');
    char job_name[sizeof((struct poll *)0)->name];
    struct job *job = NULL;
    int r;

    if (strlen(name) >= sizeof job_name)
        return unknown(scheduler, name, error);
    (void)snprintf(job_name, sizeof job_name, "%.*s",
                   (int)(dot != NULL ? (size_t)(dot - name) : strlen(name)), name);
    r = archive_find_job(scheduler, user, job_name, &job, error);
    if (r < 0)
        return r;
    return r == 0 ? unknown(scheduler, name, error)
                  : service_of(job, dot != NULL ? dot + 1 : NULL, ret, error);
}

int api_service_job(struct scheduler *scheduler, const char *user, const char *name,
                    struct job **ret, struct edl_error *error)
{
    struct service service;
    int r = find(scheduler, user, name, &service, error);

    if (r == 0)
        *ret = cluster_job(scheduler->cluster, service.job->id);
    return r == 0 && *ret == NULL ? unknown(scheduler, name, error) : r;
}

static json_t *service_to_json(const struct scheduler *scheduler, const struct service *service,
                               const struct process *const *processes, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct process *process = processes[i];

        (void)json_array_append_new(
            array,
            json_pack("{s:s,s:I,s:I,s:s,s:s,s:o,s:o,s:I,s:o}", "role",
                      service->job->spec->roles[process->role].name, "index",
                      (json_int_t)process->index, "incarnation", (json_int_t)process->incarnation,
                      "node", process->node_name, "address", process_address(process), "ports",
                      ports_to_json(process), "gpus", gpus_to_json(process->gpu_mask), "started_us",
                      (json_int_t)clock_shown_us(process->started_wall_us), "figures",
                      serving_of_process(&scheduler->progresses, process)));
    }
    return json_pack("{s:s,s:I,s:I,s:o,s:o}", "service", service->name, "job_id",
                     (json_int_t)service->job->id, "version",
                     (json_int_t)service_version(processes, n), "processes", array, "figures",
                     serving_figures(&scheduler->progresses, service, processes, n));
}

static bool poll_service(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll *poll = data;
    _cleanup_free_ const struct process **processes = NULL;
    struct edl_error error = { 0 };
    struct service service;
    size_t n;

    if (find(scheduler, poll->user, poll->name, &service, &error) < 0) {
        held_reply_error(held, &error);
        return true;
    }
    n = service_processes(&service, &processes);
    if (!last && service_version(processes, n) == poll->after)
        return false;
    held_tell(scheduler, held, 200, service_to_json(scheduler, &service, processes, n));
    return true;
}

void api_service(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *name = http_request_param(request, "name");
    struct edl_error error = { 0 };
    struct service service;
    struct poll *poll;
    char topic[TOPIC_MAX];
    char user[USER_NAME_MAX + 1];
    uint64_t deadline_us = 0;
    uint64_t after = 0;
    bool waits = http_request_query(request, "after") != NULL;
    int r = http_request_query_u64(request, "after", 0, &after, &error);

    if (r == 0)
        r = api_wait_us(request, 0, &deadline_us, &error);
    if (r == 0)
        r = auth_reader(scheduler, request, &error);
    auth_whose(scheduler, request, user);
    if (r == 0)
        r = find(scheduler, user, name, &service, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    poll = xcalloc(1, sizeof *poll);
    poll->after = after;
    (void)snprintf(poll->user, sizeof poll->user, "%s", user);
    (void)snprintf(poll->name, sizeof poll->name, "%s", name);
    (void)snprintf(topic, sizeof topic, "service/%s", service.job->spec->name);
    if (!waits) {
        (void)poll_service(scheduler, held_new(request), poll, true);
        free(poll);
        return;
    }
    waiters_add(scheduler, held_new(request), topic, deadline_us, poll_service, poll);
}

void api_services_list(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    _cleanup_free_ struct service *services = NULL;
    size_t n = services_list(scheduler->cluster, &services);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct service *service = &services[i];
        uint64_t want = 0;
        _cleanup_free_ const struct process **processes = NULL;
        size_t serving = service_processes(service, &processes);

        for (uint32_t r = 0; r < service->job->spec->n_roles; r++)
            want += service->roles >> r & 1 ? service->job->target[r] : 0;
        (void)json_array_append_new(
            array, json_pack("{s:s,s:I,s:s,s:I,s:I,s:o}", "service", service->name, "job_id",
                             (json_int_t)service->job->id, "user", service->job->user, "serving",
                             (json_int_t)serving, "want", (json_int_t)want, "figures",
                             serving_figures(&scheduler->progresses, service, processes, serving)));
    }
    http_reply_json(request, 200, json_pack("{s:o}", "services", array));
}
