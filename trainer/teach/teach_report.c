/* SPDX-License-Identifier: Apache-2.0 */
/* teach_report.c - a teacher of a job tells its agent how it is */
#include "trainer/teach/teach_report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/process_progress.h"
#include "shared/step_sums.h"
#include "shared/step_sums_json.h"
#include "trainer/teach/teach_server.h"

#define PERIOD_US USEC_PER_SEC
#define TIMEOUT_US (10 * USEC_PER_SEC)

struct teach_report {
    const struct teach_server *server; /* borrowed */
    char model[PROGRESS_TEXT_BYTES];
    struct http_async *async;                           /* owned */
    sd_event_source *timer;                             /* owned */
    struct http_async_call *progress_call, *steps_call; /* under way */
    struct teach_figures shown;                         /* by the progress before */
    uint64_t shown_us;
    struct teach_figures stepped, stepping; /* that the agent has heard of; under way */
};

/* ---- progress ---- */

static double per_second(uint64_t now, uint64_t before, uint64_t us)
{
    return us > 0 ? 1e6 * (double)(now - before) / (double)us : 0;
}

static json_t *describe(const struct teach_report *report, const struct teach_figures *now,
                        uint64_t us)
{
    const struct teach_figures *before = &report->shown;
    const uint64_t batches = now->batches - before->batches;
    const double busy = us > 0 ? (double)(now->compute_us - before->compute_us) / (double)us : 0;

    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:i, s:I, s:I, s:I, s:I, s:s, s:b}", "queue_tasks",
                     (json_int_t)now->queue, "busy_share", MIN_OF(busy, 1.0), "batch_mean",
                     batches > 0 ? (double)(now->samples - before->samples) / (double)batches : 0.0,
                     "tasks_per_s", per_second(now->tasks, before->tasks, us), "samples_per_s",
                     per_second(now->samples, before->samples, us), "students", (int)now->students,
                     "tasks", (json_int_t)now->tasks, "batches", (json_int_t)now->batches,
                     "samples", (json_int_t)now->samples, "failed", (json_int_t)now->failed,
                     "model", report->model, "leaving", (int)now->leaving);
}

static void on_progress_answer(const struct http_answer *answer, void *userdata)
{
    struct teach_report *report = userdata;

    (void)answer; /* nothing depends on it */
    report->progress_call = NULL;
}

static void tell_progress(struct teach_report *report, const struct teach_figures *now)
{
    const uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct http_call call = { .method = "POST",
                              .path = "/processes/self/progress",
                              .timeout_us = TIMEOUT_US };
    json_t *object;

    if (report->progress_call != NULL)
        return;
    object = describe(report, now, now_us - report->shown_us);
    call.json = object;
    (void)http_async_start(report->async, &call, on_progress_answer, report, &report->progress_call,
                           NULL);
    json_decref(object);
    report->shown = *now;
    report->shown_us = now_us;
}

/* ---- steps ---- */

static void on_steps_answer(const struct http_answer *answer, void *userdata)
{
    struct teach_report *report = userdata;

    if (http_answer_error(answer, NULL) == 0) /* else the next one says it again */
        report->stepped = report->stepping;
    report->steps_call = NULL;
}

static void tell_steps(struct teach_report *report, const struct teach_figures *now)
{
    const struct teach_figures *before = &report->stepped;
    const struct step_sums sums = { .step = now->batches,
                                    .steps = now->batches - before->batches,
                                    .samples = now->samples - before->samples,
                                    .compute_us = now->compute_us - before->compute_us,
                                    .wait_us = now->wait_us - before->wait_us };
    struct http_call call = { .method = "POST",
                              .path = "/processes/self/steps",
                              .timeout_us = TIMEOUT_US };
    json_t *object;

    if (report->steps_call != NULL || sums.steps == 0)
        return;
    object = step_sums_to_json(&sums);
    call.json = object;
    report->stepping = *now;
    (void)http_async_start(report->async, &call, on_steps_answer, report, &report->steps_call,
                           NULL);
    json_decref(object);
}

static int on_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct teach_report *report = userdata;
    struct teach_figures now;

    (void)time_us;
    teach_server_figures(report->server, &now);
    tell_progress(report, &now);
    tell_steps(report, &now);
    (void)sd_event_source_set_time_relative(source, PERIOD_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int teach_report_new(sd_event *event, const char *socket, const struct teach_server *server,
                     const char *model, struct teach_report **ret, struct edl_error *error)
{
    struct teach_report *report = xcalloc(1, sizeof *report);
    _cleanup_free_ char *base = NULL;
    int r;

    if (asprintf(&base, "unix:%s", socket) == -1)
        abort();
    report->server = server;
    report->shown_us = clock_read_us(CLOCK_BOOTTIME);
    (void)snprintf(report->model, sizeof report->model, "%.*s",
                   printable_prefix(model, sizeof report->model - 1), model);
    printable_mask(report->model, strlen(report->model), "");
    r = http_async_new(event, base, &report->async, error);
    if (r >= 0) {
        r = sd_event_add_time_relative(event, &report->timer, CLOCK_BOOTTIME, 0, 0, on_due, report);
        if (r < 0)
            (void)edl_error_errno(error, r, "cannot set up the event loop");
    }
    if (r < 0) {
        (void)teach_report_free(report);
        return r;
    }
    *ret = report;
    return 0;
}

struct teach_report *teach_report_free(struct teach_report *report)
{
    if (report == NULL)
        return NULL;
    report->timer = sd_event_source_disable_unref(report->timer);
    report->async = http_async_free(report->async);
    free(report);
    return NULL;
}
