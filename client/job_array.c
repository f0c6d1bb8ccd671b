/* SPDX-License-Identifier: Apache-2.0 */
/* job_array.c - see job_array.h */
#include "client/job_array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define NAMES_SAID 4

/* The number behind the last '-' of its name. */
static uint64_t index_of(const json_t *job)
{
    const char *dash = strrchr(json_text(job, "name"), '-');
    uint64_t index = 0;

    return dash != NULL && parse_u64(dash + 1, &index) == 0 ? index : 0;
}

json_t *array_of(const json_t *jobs, const char *user)
{
    json_t *newest = json_array();
    const json_t *after = NULL;

    for (size_t i = json_array_size(jobs); i > 0; i--) {
        json_t *job = json_array_get(jobs, i - 1);

        if (user != NULL && !streq(json_text(job, "user"), user))
            continue;
        if (after != NULL && (json_u64(job, "id") + 1 != json_u64(after, "id") ||
                              index_of(job) + 1 != index_of(after)))
            break;
        (void)json_array_insert(newest, 0, job);
        after = job;
    }
    return newest;
}

static bool are_of_several(const json_t *jobs)
{
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i,
                       job) if (!streq(json_text(job, "user"),
                                       json_text(json_array_get(jobs, 0), "user"))) return true;
    return false;
}

/* Of several users' the caller's own. */
static int pick(struct server *server, const char *name, const json_t *jobs, json_t **ret)
{
    _cleanup_json_ json_t *own = NULL;
    _cleanup_json_ json_t *caller = NULL;
    struct edl_error error = { 0 };
    int status = STATUS_OK;

    if (!are_of_several(jobs)) {
        *ret = array_of(jobs, NULL);
        return STATUS_OK;
    }
    status = server_get(server, &caller, "/whoami");
    if (status != STATUS_OK)
        return status;
    own = array_of(jobs, json_text(caller, "user"));
    if (json_array_size(own) > 0) {
        *ret = TAKE_PTR(own);
        return STATUS_OK;
    }
    (void)edl_error_set(&error, -ENOTUNIQ, "several users have an array \"%.80s\"", name);
    (void)edl_error_remedy(&error, "say whose it is: %s/%.80s",
                           json_text(json_array_get(jobs, 0), "user"), name);
    return report_error(&error);
}

/* *ret stays NULL when there is no such array. */
static int find(struct server *server, const char *name, json_t **ret)
{
    _cleanup_free_ char *segment = text_url_segment(name);
    _cleanup_free_ char *path = text_format("/jobs?state=all&array=%s", segment);
    _cleanup_json_ json_t *answer = NULL;
    int status = server_list(server, path, "jobs", &answer);
    const json_t *jobs = json_object_get(answer, "jobs");

    if (status != STATUS_OK || json_array_size(jobs) == 0)
        return status;
    return pick(server, name, jobs, ret);
}

int array_find(struct server *server, const char *name, json_t **ret)
{
    _cleanup_free_ char *path = job_path(name, "");
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);
    bool none = status == STATUS_FAILED && answer.status == 404;

    *ret = NULL;
    if (none)
        status = find(server, name, ret);
    if (none ? status == STATUS_OK && *ret == NULL : status != STATUS_OK)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

static bool is_of_group(const json_t *group, const json_t *job)
{
    return streq(json_text(group, "state"), json_text(job, "state")) &&
           streq(json_text(group, "reason_code"), json_text(job, "reason_code")) &&
           (streq(json_text(job, "state"), "queued") ||
            streq(json_text(group, "reason"), json_text(job, "reason")));
}

json_t *array_groups(const json_t *jobs)
{
    json_t *groups = json_array();
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job)
    {
        json_t *group = NULL;

        for (size_t g = 0; g < json_array_size(groups) && group == NULL; g++)
            if (is_of_group(json_array_get(groups, g), job))
                group = json_array_get(groups, g);
        if (group == NULL) {
            group = json_pack("{s:s,s:s,s:s,s:[]}", "state", json_text(job, "state"), "reason_code",
                              json_text(job, "reason_code"), "reason", json_text(job, "reason"),
                              "jobs");
            (void)json_array_append_new(groups, group);
        }
        (void)json_array_append(json_object_get(group, "jobs"), job);
    }
    return groups;
}

void array_print_summary(const char *name, const json_t *jobs)
{
    static const char *const states[] = { "queued",   "starting",  "running", "resizing",
                                          "stopping", "succeeded", "failed",  "killed" };
    size_t n = json_array_size(jobs);
    const char *between = ": ";

    (void)printf("array %s: %zu job%s (%" PRIu64 " to %" PRIu64 ")", name, n, n == 1 ? "" : "s",
                 json_u64(json_array_get(jobs, 0), "id"),
                 json_u64(json_array_get(jobs, n - 1), "id"));
    for (size_t s = 0; s < ELEMENTS(states); s++) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
            count += streq(json_text(json_array_get(jobs, i), "state"), states[s]);
        if (count > 0) {
            (void)printf("%s%zu %s", between, count, states[s]);
            between = ", ";
        }
    }
    (void)fputc('\n', stdout);
}

void array_print_group(const json_t *group)
{
    const json_t *jobs = json_object_get(group, "jobs");
    size_t n = json_array_size(jobs);
    const json_t *first = json_array_get(jobs, 0);
    const json_t *last = json_array_get(jobs, n - 1);
    const char *reason = json_text(group, "reason");

    (void)printf("%zu job%s %s (%s", n, n == 1 ? "" : "s", json_text(group, "state"),
                 json_text(first, "name"));
    if (n > 1 && json_u64(last, "id") - json_u64(first, "id") + 1 == n) {
        (void)printf(" to %s", json_text(last, "name"));
    } else {
        for (size_t i = 1; i < MIN_OF(n, (size_t)NAMES_SAID); i++)
            (void)printf(", %s", json_text(json_array_get(jobs, i), "name"));
        if (n > NAMES_SAID)
            (void)printf(" and %zu more", n - NAMES_SAID);
    }
    (void)printf(")%s%s\n", reason[0] != '\0' ? ": " : "", reason);
}

int array_outcome(const json_t *jobs)
{
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job) if (job_outcome(job) != STATUS_OK) return STATUS_FAILED;
    return STATUS_OK;
}
