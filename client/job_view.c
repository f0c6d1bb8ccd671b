/* SPDX-License-Identifier: Apache-2.0 */
/* job_view.c - what several verbs need to know of a job in the server's words */
#include "client/job_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

/* So long a reader waits for output until it looks whether its job waits, in seconds. */
#define LOOK_STARTING_S 1 /* whether it starts is told at once */
#define LOOK_QUEUED_S 5   /* a reason changes without an event, after a plan */
#define LOOK_RUNNING_S 20
#define REASON_QUIET_US (10 * USEC_PER_SEC) /* between two texts of one reason: counts change */
#define OUTAGE_MAX_US (60 * USEC_PER_SEC)   /* a scheduler that restarts is back long before */

bool job_is_final(const json_t *job)
{
    static const char *const final[] = { "succeeded", "failed", "killed" };

    for (size_t i = 0; i < ELEMENTS(final); i++)
        if (streq(json_text(job, "state"), final[i]))
            return true;
    return false;
}

int job_outcome(const json_t *job)
{
    return streq(json_text(job, "state"), "succeeded") ? STATUS_OK : STATUS_FAILED;
}

char *job_path(const char *job, const char *suffix)
{
    _cleanup_free_ char *segment = text_url_segment(job);

    return text_format("/jobs/%s%s", segment, suffix);
}

void job_print_line(const json_t *job)
{
    const char *name = json_text(job, json_object_get(job, "name") != NULL ? "name" : "job");
    const char *reason = json_text(job, "reason");

    (void)printf("job %s (%" PRIu64 ") %s%s%s\n", name, json_u64(job, "id"),
                 json_text(job, "state"), reason[0] != '\0' ? ": " : "", reason);
}

void job_print_first_error(const json_t *first)
{
    char when[64];

    if (json_is_object(first))
        (void)printf("first error: %s on node %s, %s: %s\n", json_text(first, "process"),
                     json_text(first, "node"),
                     text_time(json_u64(first, "time_us"), when, sizeof when),
                     json_text(first, "text"));
}

void job_print_skipped(const char *label, uint64_t tasks, uint64_t records)
{
    if (tasks > 0)
        (void)printf("%s %" PRIu64 " task%s with %" PRIu64 " record%s failed too often and %s not "
                     "trained\n",
                     label, tasks, PLURAL(tasks), records, PLURAL(records),
                     tasks == 1 ? "was" : "were");
}

void job_print_lost(const char *label, uint64_t chunks, uint64_t records)
{
    if (chunks > 0)
        (void)printf("%s %" PRIu64 " record%s in %" PRIu64 " damaged chunk%s %s not trained\n",
                     label, records, records == 1 ? "" : "s", chunks, chunks == 1 ? "" : "s",
                     records == 1 ? "was" : "were");
}

/* The job, or NULL in *ret while the server is away for not longer than OUTAGE_MAX_US. */
static int ask(struct server *server, const char *path, uint64_t *heard_us, json_t **ret)
{
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int status = server_call(server, &call, &answer);

    if (status == STATUS_OK) {
        *heard_us = now_us;
        *ret = json_incref(answer.json);
    } else if (status != STATUS_NO_SERVER || now_us - *heard_us > OUTAGE_MAX_US) {
        status = report_answer(&answer);
    } else {
        status = STATUS_OK;
    }
    http_answer_clear(&answer);
    return status;
}

int job_wait(struct server *server, const char *job, uint64_t timeout_us, json_t **ret_job)
{
    _cleanup_free_ char *path = job_path(job, "");
    uint64_t start_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t heard_us = start_us;
    uint64_t revision = 0;
    /* The revision first: what happens between the two questions then ends the wait at once. */
    int status = server_event_revision(server, &revision);

    for (;;) {
        _cleanup_json_ json_t *answer = NULL;

        if (status == STATUS_OK)
            status = ask(server, path, &heard_us, &answer);
        if (status != STATUS_OK)
            return status;
        if (answer != NULL && job_is_final(answer)) {
            *ret_job = TAKE_PTR(answer);
            return STATUS_OK;
        }
        uint64_t passed_us = clock_read_us(CLOCK_BOOTTIME) - start_us;

        if (timeout_us != NEVER_US && passed_us >= timeout_us) {
            struct edl_error error = { 0 };

            (void)edl_error_set(&error, -ETIME, "job %s is still %s", job,
                                answer != NULL ? json_text(answer, "state") : "unknown");
            (void)edl_error_remedy(&error, "edl why %s", job);
            return report_error(&error);
        }
        (void)server_event_wait(server, &revision,
                                timeout_us == NEVER_US ? NEVER_US : timeout_us - passed_us);
    }
}

bool job_reason_is_news(const json_t *told, const json_t *job, uint64_t passed_us)
{
    const char *before = json_text(told, "reason"), *text = json_text(job, "reason");

    if (*text == '\0' || streq(text, before))
        return false;
    return *before == '\0' || passed_us >= REASON_QUIET_US ||
           !streq(json_text(job, "reason_code"), json_text(told, "reason_code"));
}

void job_watch_begin(struct job_watch *watch, const char *job, const json_t *told)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    *watch = (struct job_watch){
        .path = job_path(job, ""), .told = told, .told_us = now_us, .wait_s = LOOK_STARTING_S
    };
}

void job_watch_end(struct job_watch *watch)
{
    free(watch->path);
    json_decref(watch->last);
    *watch = (struct job_watch){ 0 };
}

static unsigned look_after_s(const char *state)
{
    static const struct {
        const char *state;
        unsigned after_s;
    } rows[] = { { "queued", LOOK_QUEUED_S }, { "starting", LOOK_STARTING_S } };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (streq(rows[i].state, state))
            return rows[i].after_s;
    return LOOK_RUNNING_S;
}

static void tell_waiting(struct job_watch *watch, json_t *job, uint64_t now_us)
{
    bool waits = streq(json_text(job, "state"), "queued");

    watch->wait_s = look_after_s(json_text(job, "state"));
    watch->next_us = now_us + watch->wait_s * USEC_PER_SEC;
    watch->gave_up = waits && watch->gives_up_at != NULL &&
                     streq(watch->gives_up_at, json_text(job, "reason_code"));
    if (!waits) { /* it is told anew when it is queued again, for the same reason only later */
        watch->left = true;
        return;
    }
    if (!job_reason_is_news(watch->told, job, now_us - watch->told_us) &&
        !(watch->left && now_us - watch->told_us >= REASON_QUIET_US))
        return;
    watch->left = false;
    report_note("%s waits: %s", json_text(job, "name"), json_text(job, "reason"));
    json_decref(watch->last);
    watch->told = watch->last = json_incref(job);
    watch->told_us = now_us;
}

int job_watch_look(struct server *server, struct job_watch *watch)
{
    struct http_call call = { .method = "GET", .path = watch->path };
    struct http_answer answer = { 0 };
    bool verbatim = server->verbatim;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int status;

    if (now_us < watch->next_us)
        return STATUS_OK;
    server->verbatim = false; /* it is for people */
    status = server_call(server, &call, &answer);
    server->verbatim = verbatim;
    if (status == STATUS_OK)
        tell_waiting(watch, answer.json, now_us);
    else if (status == STATUS_NO_SERVER)
        status = STATUS_OK; /* the next question for output tells */
    else
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return watch->gave_up ? STATUS_FAILED : status;
}
