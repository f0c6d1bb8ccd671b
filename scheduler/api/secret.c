/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - the secret of a job, told to its own processes and to nobody else
 *
 * A job gets its secret with its submission, in the same transaction. One of a database from before
 * there were secrets gets it when the first process asks. People are refused in every role: a
 * person who knows the secret can pass for a process of the job. */
#include <errno.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/degraded.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/http_server.h"
#include "shared/job_secret.h"
#include "shared/log.h"
#include "shared/macro.h"

/* The secret of a service is made of its job's with these words: it proves nothing else. */
#define SERVICE_SECRET "edl-teacher service"

static int give(struct scheduler *scheduler, struct job *job, struct edl_error *error)
{
    uint8_t secret[JOB_SECRET_BYTES];
    int r = job_secret_make(secret, error);

    if (r < 0)
        return r;
    cluster_give_secret(scheduler->cluster, job, secret);
    explicit_bzero(secret, sizeof secret);
    scheduler_touch(scheduler);
    return 0;
}

void api_secret_make(struct scheduler *scheduler, const struct job *first, uint32_t n)
{
    struct edl_error error = { 0 };

    for (uint32_t i = 0; i < n; i++)
        if (give(scheduler, cluster_job(scheduler->cluster, first->id + i), &error) < 0) {
            (void)log_failure(&error, "no secret for a job before its processes ask for it");
            return;
        }
}

static int refuse_people(struct scheduler *scheduler, const struct http_request *request,
                         struct edl_error *error)
{
    struct caller caller;

    if (auth_caller(scheduler, request, &caller) != 1)
        return 0;
    (void)edl_error_set(error, -EACCES, "the secret of a job is told to its own processes only");
    return edl_error_remedy(error, "a process of the job asks its agent: edl_secret(), "
                                   "edl.secret(), or GET /jobs/self/secret at EDL_SOCKET");
}

void api_secret(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct process *process = NULL;
    char text[JOB_SECRET_HEX + 1];
    int r = refuse_people(scheduler, request, &error);

    if (r == 0)
        r = auth_process(scheduler, request, &process, &error);
    if (r == 0 && !job_secret_is_set(process->job->secret))
        r = scheduler->degraded.on ? degraded_error(scheduler, &error)
                                   : give(scheduler, process->job, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    hex_encode(process->job->secret, JOB_SECRET_BYTES, text);
    tell_after_commit(scheduler, request, 200, json_pack("{s:s}", "secret", text));
    explicit_bzero(text, sizeof text);
}

/* ---- of a service ---- */

static int find_served(struct scheduler *scheduler, const struct process *caller, const char *name,
                       struct job **ret, struct edl_error *error)
{
    int r = api_service_job(scheduler, caller->job->user, name, ret, error);

    if (r < 0 || streq((*ret)->user, caller->job->user))
        return r;
    (void)edl_error_set(error, -EACCES, "the service %s is one of %s", name, (*ret)->user);
    return edl_error_remedy(error, "its user's own jobs may ask it; start one of yours");
}

void api_service_secret(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const char *name = http_request_param(request, "name");
    struct edl_error error = { 0 };
    struct process *process = NULL;
    struct job *job = NULL;
    uint8_t secret[JOB_PROOF_BYTES];
    char text[JOB_SECRET_HEX + 1];
    int r = refuse_people(scheduler, request, &error);

    if (r == 0)
        r = auth_process(scheduler, request, &process, &error);
    if (r == 0)
        r = find_served(scheduler, process, name, &job, &error);
    if (r == 0 && !job_secret_is_set(job->secret))
        r = scheduler->degraded.on ? degraded_error(scheduler, &error)
                                   : give(scheduler, job, &error);
    if (r == 0)
        r = job_hmac(job->secret, SERVICE_SECRET, strlen(SERVICE_SECRET), secret, &error);
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    hex_encode(secret, sizeof secret, text);
    tell_after_commit(scheduler, request, 200, json_pack("{s:s}", "secret", text));
    explicit_bzero(text, sizeof text);
    explicit_bzero(secret, sizeof secret);
}
