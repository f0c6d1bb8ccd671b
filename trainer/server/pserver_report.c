/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_report.c - see pserver_report.h */
#include "trainer/server/pserver_report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "shared/process_progress.h"
#include "trainer/server/pserver.h"

#define PERIOD_US (5 * USEC_PER_SEC)
#define TIMEOUT_US (10 * USEC_PER_SEC)
#define ROWS_MAX 64 /* trainers: what a report has room for, with long numbers */

struct pserver_report {
    const struct pserver *server; /* borrowed */
    struct http_async *async;     /* owned */
    sd_event_source *timer;       /* owned */
    struct http_async_call *call; /* under way */
    uint64_t told;                /* pushes, committed or not, that the agent has heard of */
    uint64_t telling;             /* the same, under way */
    bool tells_pushes;
    struct http_async_call *recovery_call;          /* under way */
    struct pserver_recovered recovered, recovering; /* that the scheduler has heard of; under way */
};

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct pserver_report *report = userdata;

    if (http_answer_error(answer, NULL) == 0) /* else the next one says it again */
        report->told = report->telling;
    report->call = NULL;
}

/* describe - {"pushes": [[0, 3, 120, 2]]}: of server 0, and trainer-3 */
static json_t *describe(const struct pserver *server, uint64_t *ret_pushes)
{
    json_t *rows = json_array();
    uint64_t committed, discarded;

    *ret_pushes = 0;
    for (uint32_t i = 0; i < PSERVER_TRAINERS_MAX; i++) {
        if (!pserver_pushes(server, i, &committed, &discarded))
            continue;
        *ret_pushes += committed + discarded;
        if (json_array_size(rows) < ROWS_MAX)
            (void)json_array_append_new(rows,
                                        json_pack("[I, I, I, I]", (json_int_t)pserver_index(server),
                                                  (json_int_t)i, (json_int_t)committed,
                                                  (json_int_t)discarded));
    }
    return json_pack("{s:o}", PROGRESS_PUSHES, rows);
}

/* ---- how it came back ---- */

static void tell_recovery(void *userdata);

static void on_recovery_answer(const struct http_answer *answer, void *userdata)
{
    struct pserver_report *report = userdata;

    report->recovery_call = NULL;
    if (http_answer_error(answer, NULL) != 0)
        return; /* the next one says it again */
    report->recovered = report->recovering;
    tell_recovery(report);
}

static json_t *describe_recovery(const struct pserver_recovered *now,
                                 const struct pserver_recovered *before)
{
    static const char *const words[] = { [RECOVERED_START] = "start-values",
                                         [RECOVERED_CHECKPOINT] = "checkpoint",
                                         [RECOVERED_TRAINERS] = "trainers" };

    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "source", words[now->source], "lost",
                     (json_int_t)now->lost, "of", (json_int_t)now->of, "told",
                     (json_int_t)before->lost, "told_of", (json_int_t)before->of, "rows_missing",
                     (json_int_t)now->rows_missing, "rows", (json_int_t)now->rows);
}

/* tell_recovery - when there is something new, one call after the other: what changes meanwhile is
 * told by the next one */
static void tell_recovery(void *userdata)
{
    struct pserver_report *report = userdata;
    struct http_call call = { .method = "POST",
                              .path = "/jobs/self/recovered",
                              .timeout_us = TIMEOUT_US };
    struct pserver_recovered now = { 0 };
    json_t *object;

    if (report->recovery_call != NULL || !pserver_recovered(report->server, &now) ||
        memcmp(&now, &report->recovered, sizeof now) == 0)
        return;
    object = describe_recovery(&now, &report->recovered);
    report->recovering = now;
    call.json = object;
    (void)http_async_start(report->async, &call, on_recovery_answer, report, &report->recovery_call,
                           NULL);
    json_decref(object);
}

static int on_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct pserver_report *report = userdata;
    struct http_call call = { .method = "POST",
                              .path = "/processes/self/progress",
                              .timeout_us = TIMEOUT_US };
    uint64_t pushes;
    json_t *object = describe(report->server, &pushes);

    (void)time_us;
    if (report->tells_pushes && pserver_index(report->server) != PSERVER_ANY &&
        pushes != report->told && report->call == NULL) {
        call.json = object;
        report->telling = pushes;
        (void)http_async_start(report->async, &call, on_answer, report, &report->call, NULL);
    }
    json_decref(object);
    tell_recovery(report); /* again, if it failed */
    (void)sd_event_source_set_time_relative(source, PERIOD_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int pserver_report_new(sd_event *event, const char *socket, struct pserver *server,
                       bool tells_pushes, struct pserver_report **ret, struct edl_error *error)
{
    struct pserver_report *report = xcalloc(1, sizeof *report);
    _cleanup_free_ char *base = NULL;
    int r;

    if (asprintf(&base, "unix:%s", socket) == -1)
        abort();
    report->server = server;
    report->tells_pushes = tells_pushes;
    r = http_async_new(event, base, &report->async, error);
    if (r >= 0) {
        r = sd_event_add_time_relative(event, &report->timer, CLOCK_BOOTTIME, PERIOD_US, 0, on_due,
                                       report);
        if (r < 0)
            (void)edl_error_errno(error, r, "cannot set up the event loop");
    }
    if (r < 0) {
        (void)pserver_report_free(report);
        return r;
    }
    pserver_on_recovery(server, tell_recovery, report);
    *ret = report;
    return 0;
}

struct pserver_report *pserver_report_free(struct pserver_report *report)
{
    if (report == NULL)
        return NULL;
    report->timer = sd_event_source_disable_unref(report->timer);
    report->async = http_async_free(report->async);
    free(report);
    return NULL;
}
