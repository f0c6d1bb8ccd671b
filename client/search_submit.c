/* SPDX-License-Identifier: Apache-2.0 */
/* search_submit.c - see search_submit.h */
#include "client/search_submit.h"

#include <errno.h>
#include <inttypes.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_record.h"
#include "client/search_space.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define CONFLICT 409
#define BROKEN 500

/* refuse - of a trial that cannot be submitted; whether its user has as many jobs as may be is seen
 * at what runs: the first of a search that is refused never comes */
static int refuse(const struct http_answer *answer, const struct search_jobs *jobs,
                  const char *name, bool *ret_full)
{
    struct edl_error error = { 0 };

    (void)http_answer_error(answer, &error);
    for (size_t i = 0; answer->status == CONFLICT && error.pointer[0] == '\0' && i < jobs->n; i++)
        *ret_full |= json_u64(jobs->jobs[i].json, "ended_us") == 0;
    if (*ret_full)
        return STATUS_OK;
    edl_error_prefix(&error, "job %s cannot be submitted: ", name);
    return report_error(&error);
}

/* look - at what was submitted. Were it not seen as that trial, it would be submitted for ever. */
static int look(struct server *server, struct search_jobs *jobs, uint64_t id, const char *name)
{
    const struct search_space *space = jobs->record.space;
    _cleanup_free_ double *values = xcalloc(space->n_parameters, sizeof *values);
    struct edl_error error = { 0 };
    bool is_ours = false;
    int status = search_jobs_look(server, jobs, id, &is_ours);

    for (size_t i = 0; i < jobs->n && is_ours; i++)
        if (jobs->jobs[i].id == id)
            is_ours = search_values_from_json(space,
                                              json_object_get(json_object_get(jobs->jobs[i].json,
                                                                              "trial"),
                                                              "parameters"),
                                              values, NULL) >= 0;
    if (status != STATUS_OK || is_ours)
        return status;
    (void)edl_error_set(&error, EDL_EBADSPEC, "job %s was submitted, and is no trial of search %s",
                        name, jobs->name);
    (void)edl_error_remedy(&error, "edl show %s; begin a search with another --name", name);
    return report_error(&error);
}

int search_submit(struct server *server, struct search_jobs *jobs,
                  const struct search_action *action, unsigned attempt, const double *values,
                  bool *ret_full)
{
    const struct search_record *record = &jobs->record;
    _cleanup_free_ char *key = search_job_key(record, action->number, action->rung, attempt);
    _cleanup_free_ char *header = text_format(IDEMPOTENCY_HEADER "%s", key);
    _cleanup_free_ char *name = search_job_name(record, action->number, action->rung);
    _cleanup_free_ char *text = search_job_document(record, action, attempt, values);
    struct http_call call = { .method = "POST",
                              .path = "/jobs",
                              .body = text,
                              .body_size = strlen(text),
                              .content_type = "application/json",
                              .headers = { header } };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    *ret_full = false;
    if (status == STATUS_FAILED && answer.status >= BROKEN) {
        (void)report_answer(&answer);
        status = STATUS_NO_SERVER; /* asked again later: its key makes one job of it */
    } else if (status == STATUS_FAILED)
        status = refuse(&answer, jobs, name, ret_full);
    else if (status == STATUS_NO_SERVER)
        status = report_answer(&answer);
    else
        status = look(server, jobs, json_u64(answer.json, "id"), name);
    http_answer_clear(&answer);
    return status;
}

int search_end_job(struct server *server, uint64_t id, const char *reason)
{
    _cleanup_free_ char *path = text_format("/jobs/%" PRIu64, id);
    _cleanup_json_ json_t *body = json_pack("{s:s}", "reason", reason);
    struct http_call call = { .method = "DELETE", .path = path, .json = body };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status == STATUS_FAILED && answer.status == CONFLICT)
        status = STATUS_OK; /* it is over */
    if (status != STATUS_OK)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}
