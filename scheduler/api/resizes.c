/* SPDX-License-Identifier: Apache-2.0 */
/* resizes.c - how a job's size changed, and why: read from its events */
#include "scheduler/api/api.h"

#include "scheduler/core/model/resize_text.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define RESIZES_MAX 1000 /* in one answer; ask again with after= the last revision */

static void add_resize(const struct stored_event *event, void *userdata)
{
    struct resize resize;
    json_t *reason;

    if (resize_parse(event->text, &resize) < 0)
        return; /* of an earlier version, which wrote it in other words */
    reason = json_string(resize.reason);
    (void)json_array_append_new(userdata,
                                json_pack("{s:I,s:I,s:s,s:I,s:I,s:s,s:o}", "revision",
                                          (json_int_t)event->revision, "time_us",
                                          (json_int_t)clock_shown_us(event->time_us), "role",
                                          resize.role, "from", (json_int_t)resize.from, "to",
                                          (json_int_t)resize.to, "code",
                                          *resize.code != '\0' ? resize.code : "other", "reason",
                                          /* it may have been cut within a character */
                                          reason != NULL ? reason : json_string("(not UTF-8)")));
}

void api_job_resizes(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };
    json_t *resizes;
    uint64_t after;

    if (job == NULL)
        return;
    if (http_request_query_u64(request, "after", 0, &after, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    resizes = json_array();
    if (store_resizes(scheduler->store, job->id, after, RESIZES_MAX, add_resize, resizes, &error) <
        0) {
        json_decref(resizes);
        http_reply_error(request, &error);
        return;
    }
    http_reply_json(request, 200, json_pack("{s:o}", "resizes", resizes));
}
