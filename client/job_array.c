/* SPDX-License-Identifier: Apache-2.0 */
/* job_array.c - see job_array.h */
#include "client/job_array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
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

/* ---- by the number of its first job ---- */

/* read_number - "12" or "12_3"; *ret_index: -1: none is said */
static bool read_number(const char *word, uint64_t *ret_id, int64_t *ret_index)
{
    const char *line = strchr(word, '_');
    _cleanup_free_ char *id = text_format("%.*s", (int)strcspn(word, "_"), word);
    uint64_t index = 0;

    if (parse_u64(id, ret_id) < 0 ||
        (line != NULL && (parse_u64(line + 1, &index) < 0 || index > INT32_MAX)))
        return false;
    *ret_index = line != NULL ? (int64_t)index : -1;
    return true;
}

/* ask_quietly - NULL: there is none, which whoever asks next is told */
static json_t *ask_quietly(struct server *server, uint64_t id)
{
    _cleanup_free_ char *path = text_format("/jobs/%" PRIu64, id);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    json_t *job =
        server_call(server, &call, &answer) == STATUS_OK ? json_incref(answer.json) : NULL;

    http_answer_clear(&answer);
    return job;
}

/* run_from - the jobs that follow from `first` on, n of them; NULL: it is not the first, or some
 * are not known any more */
static json_t *run_from(const json_t *listed, const json_t *first, uint64_t n)
{
    uint64_t id = json_u64(first, "id"), index = index_of(first);
    json_t *jobs = json_array();
    bool begins = true;
    size_t i;
    json_t *job;

    json_array_foreach(listed, i, job)
    {
        uint64_t at = json_u64(job, "id");

        if (at + 1 == id && index_of(job) + 1 == index)
            begins = false;
        if (at >= id && at - id < n && index_of(job) - index == at - id)
            (void)json_array_append(jobs, job);
    }
    if (begins && json_array_size(jobs) == n)
        return jobs;
    json_decref(jobs);
    return NULL;
}

static void keep_index(json_t *jobs, uint64_t index)
{
    for (size_t i = json_array_size(jobs); i > 0; i--)
        if (index_of(json_array_get(jobs, i - 1)) != index)
            (void)json_array_remove(jobs, i - 1);
}

int array_begun(struct server *server, const char *word, char **ret_name, json_t **ret_jobs)
{
    _cleanup_json_ json_t *first = NULL, *answer = NULL;
    _cleanup_free_ char *whose = NULL, *segment = NULL, *path = NULL;
    const json_t *array;
    int64_t index;
    uint64_t id;
    int status;

    *ret_name = NULL;
    *ret_jobs = NULL;
    if (!read_number(word, &id, &index) || (first = ask_quietly(server, id)) == NULL)
        return STATUS_OK;
    array = json_object_get(json_object_get(first, "spec"), "array");
    if (array == NULL)
        return STATUS_OK;
    whose = text_format("%s/%s", json_text(first, "user"), json_text(array, "name"));
    segment = text_url_segment(whose);
    path = text_format("/jobs?state=all&array=%s", segment);
    status = server_list(server, path, "jobs", &answer);
    if (status != STATUS_OK)
        return status;
    *ret_jobs = run_from(json_object_get(answer, "jobs"), first, json_u64(array, "jobs"));
    if (*ret_jobs != NULL && index >= 0)
        keep_index(*ret_jobs, (uint64_t)index);
    if (*ret_jobs != NULL)
        *ret_name = xstrdup(json_text(array, "name"));
    return STATUS_OK;
}

/* is_newest - whether the name means these jobs */
static bool is_newest(struct server *server, const char *name, const json_t *jobs)
{
    _cleanup_json_ json_t *meant = NULL;

    return array_find(server, name, &meant) == STATUS_OK && meant != NULL &&
           json_array_size(meant) == json_array_size(jobs) &&
           json_u64(json_array_get(meant, 0), "id") == json_u64(json_array_get(jobs, 0), "id");
}

/* say_jobs - by a name, or by their numbers with colons between */
static int say_jobs(struct server *server, const char *name, const json_t *jobs, FILE *out,
                    struct edl_error *error)
{
    size_t n = json_array_size(jobs);

    if (n > 1 && is_newest(server, name, jobs)) {
        (void)fputs(name, out);
        return 0;
    }
    if (n == 0 || n > JOB_AFTER_MAX) {
        (void)edl_error_set(error, -EINVAL,
                            n == 0 ? "the array %.80s has no job of that index"
                                   : "a newer job or array is called %.80s",
                            name);
        return edl_error_remedy(error, "edl ps --all --array NAME lists its jobs; name up to %d",
                                JOB_AFTER_MAX);
    }
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%" PRIu64, i > 0 ? ":" : "", json_u64(json_array_get(jobs, i), "id"));
    return 0;
}

int array_dependency(struct server *server, const char *dependency, char **ret,
                     struct edl_error *error)
{
    size_t size = 0;
    FILE *out = open_memstream(ret, &size);
    int r = 0;

    if (out == NULL)
        abort();
    for (const char *at = dependency; r == 0; at++) {
        size_t n = strcspn(at, ":,?");
        _cleanup_free_ char *word = text_format("%.*s", (int)n, at), *name = NULL;
        _cleanup_json_ json_t *jobs = NULL;

        if (array_begun(server, word, &name, &jobs) == STATUS_OK && jobs != NULL)
            r = say_jobs(server, name, jobs, out, error);
        else
            (void)fputs(word, out);
        at += n;
        if (*at == '\0')
            break;
        (void)fputc(*at, out);
    }
    (void)fclose(out);
    return r;
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
