/* SPDX-License-Identifier: Apache-2.0 */
/* replay_read.c - a cluster's record from its server, or from files that were saved earlier */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/replay.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "simulator/trace/record.h"

#define HTTP_NOT_FOUND 404
#define HTTP_GONE 410
#define SAVE_EVENTS "edl events --json >FILE"
#define SAVE_JOBS "edl ps --all --json >FILE"

/* --- jobs --- */

const json_t *replay_role(const json_t *job)
{
    const json_t *roles = json_object_get(job, "roles"), *best = NULL;
    size_t i;
    const json_t *role;

    json_array_foreach(roles, i, role)
    {
        bool is_pserver = streq(json_text(role, "role"), "pserver");

        /* as the scheduler has it: parameter servers beside others are never elastic */
        if (json_u64(role, "min") < json_u64(role, "max") &&
            (!is_pserver || json_array_size(roles) == 1))
            return role;
        if (best == NULL || !streq(json_text(best, "role"), "trainer"))
            best = role;
    }
    return best;
}

static uint32_t others_beside(const json_t *job, const json_t *counted)
{
    uint64_t n = 0;
    size_t i;
    const json_t *role;

    json_array_foreach(json_object_get(job, "roles"), i, role) n +=
        role != counted ? json_u64(role, "min") : 0;
    return (uint32_t)MIN_OF(n, (uint64_t)ROLE_INSTANCES_MAX * JOB_ROLES_MAX);
}

static uint32_t bound_of(const json_t *role, const char *name)
{
    return (uint32_t)MIN_OF(json_u64(role, name), (uint64_t)ROLE_INSTANCES_MAX);
}

void replay_add_jobs(struct replay *replay)
{
    size_t i;
    const json_t *job;

    json_array_foreach(replay->jobs, i, job)
    {
        const json_t *role = replay_role(job);
        struct record_job known = {
            .id = json_u64(job, "id"),
            .submitted_us = json_u64(job, "submitted_us"),
            .name = json_text(job, "name"),
            .user = json_text(job, "user"),
            .role = json_text(role, "role"),
            .min = bound_of(role, "min"),
            .max = bound_of(role, "max"),
            .others = others_beside(job, role),
        };

        if (role != NULL && known.id != 0)
            record_job_add(replay->record, &known);
    }
}

int replay_read_job(struct server *server, uint64_t id, json_t **ret)
{
    _cleanup_free_ char *path = text_format("/jobs/%" PRIu64, id);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    *ret = NULL;
    if (status == STATUS_OK)
        *ret = json_incref(answer.json);
    else if (answer.failure == 0 && answer.status == HTTP_NOT_FOUND)
        status = STATUS_OK;
    else
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

static int read_list(struct server *server, const char *path, const char *member, json_t **ret)
{
    _cleanup_json_ json_t *answer = NULL;
    int status = server_list(server, path, member, &answer);

    if (status == STATUS_OK)
        *ret = json_incref(json_object_get(answer, member));
    return status;
}

/* --- events --- */

int replay_add_event(struct record *record, const json_t *event, struct edl_error *error)
{
    const json_t *id = json_object_get(event, "job_id");
    struct record_event known = {
        .time_us = json_u64(event, "time_us"),
        .job_id = json_u64(event, "job_id"),
        .event = json_string_value(json_object_get(event, "event")),
        .text = json_string_value(json_object_get(event, "text")),
    };
    const char *missing = NULL;

    if (known.time_us == 0)
        missing = "time_us";
    else if (known.event == NULL)
        missing = "event";
    else if (known.text == NULL)
        missing = "text";
    else if (id != NULL && !json_is_null(id) && !json_is_integer(id))
        missing = "job_id";
    if (missing != NULL) {
        (void)edl_error_set(error, -EINVAL, "no event: %s is missing or of another type", missing);
        return edl_error_remedy(error, "lines as " SAVE_EVENTS " writes them");
    }
    record_event_add(record, &known);
    return 0;
}

static int gone(uint64_t after)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, EDL_ECOMPACTED,
                        "the events behind %" PRIu64 " were compacted while they were read", after);
    (void)edl_error_remedy(
        &error,
        "once more; --keep-events of edl-scheduler(8) keeps more, and a file that " SAVE_EVENTS
        " saved in time is read with --events FILE");
    return report_error(&error);
}

static int take_page(struct replay *replay, const json_t *answer, uint64_t *after)
{
    struct edl_error error = { 0 };
    size_t i;
    const json_t *event;

    json_array_foreach(json_object_get(answer, "events"), i, event)
    {
        if (replay_add_event(replay->record, event, &error) < 0)
            return report_error(&error);
        *after = json_u64(event, "revision");
    }
    return STATUS_OK;
}

/* read_page - *after 0: from the oldest that there is */
static int read_page(struct replay *replay, struct server *server, uint64_t *after, bool *ret_more)
{
    _cleanup_free_ char *path =
        *after == 0 ? xstrdup("/events") : text_format("/events?after=%" PRIu64, *after);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    uint64_t before = *after;
    int status = server_call(server, &call, &answer);

    if (status == STATUS_OK)
        status = take_page(replay, answer.json, after);
    else if (answer.failure == 0 && answer.status == HTTP_GONE)
        status = gone(*after);
    else
        status = report_answer(&answer);
    *ret_more = *after > before && *after < json_u64(answer.json, "newest");
    http_answer_clear(&answer);
    return status;
}

static int read_events(struct replay *replay, struct server *server)
{
    uint64_t after = 0;
    bool more = true;
    int status = STATUS_OK;

    while (status == STATUS_OK && more)
        status = read_page(replay, server, &after, &more);
    return status;
}

/* last_heard_us - by the server's clock it is not earlier than this */
static uint64_t last_heard_us(const json_t *nodes)
{
    uint64_t newest = 0;
    size_t i;
    const json_t *node;

    json_array_foreach(nodes, i, node) newest = MAX_OF(newest, json_u64(node, "last_report_us"));
    return newest;
}

int replay_read_server(struct replay *replay, struct server *server)
{
    /* jobs first: who comes between the two calls has events, and bounds that were seen */
    int status = read_list(server, "/jobs?state=all", "jobs", &replay->jobs);

    if (status == STATUS_OK)
        status = read_events(replay, server);
    if (status == STATUS_OK)
        status = read_list(server, "/nodes?limit=1000", "nodes", &replay->nodes);
    if (status == STATUS_OK)
        status = server_get(server, &replay->cluster, "/cluster");
    if (status != STATUS_OK)
        return status;
    replay_add_jobs(replay);
    replay->end_us = last_heard_us(replay->nodes);
    return STATUS_OK;
}

/* --- files --- */

static int bad_line(const char *path, uint64_t line, const char *what, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s line %" PRIu64 ": %s", path, line, what);
    return edl_error_remedy(error, "an event on each line, as " SAVE_EVENTS " writes them");
}

static int take_line(struct replay *replay, const char *text, size_t n, uint64_t line,
                     uint64_t *revision, struct edl_error *error)
{
    const char *path = replay->options->events;
    json_error_t wrong;
    _cleanup_json_ json_t *event = json_loadb(text, n, JSON_REJECT_DUPLICATES, &wrong);

    if (event == NULL)
        return bad_line(path, line, wrong.text, error);
    if (!json_is_object(event))
        return bad_line(path, line, "an object is expected", error);
    if (json_u64(event, "revision") <= *revision)
        return bad_line(path, line, "its revision does not rise", error);
    *revision = json_u64(event, "revision");
    if (replay_add_event(replay->record, event, error) == 0)
        return 0;
    edl_error_prefix(error, "%s line %" PRIu64 ": ", path, line);
    return -EINVAL;
}

static int read_event_file(struct replay *replay, struct edl_error *error)
{
    const char *path = replay->options->events;
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_free_ char *text = NULL;
    size_t room = 0;
    uint64_t line = 0, revision = 0;
    ssize_t n;
    int r = 0;

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s", path);
    while (r == 0 && (n = getline(&text, &room, file)) >= 0) {
        line++;
        if (strspn(text, " \t\r\n") < (size_t)n)
            r = take_line(replay, text, (size_t)n, line, &revision, error);
    }
    if (r == 0 && ferror(file))
        return edl_error_errno(error, -EIO, "%s", path);
    return r == 0 && revision == 0 ? bad_line(path, MAX_OF(line, 1U), "no event", error) : r;
}

static int read_job_file(struct replay *replay, struct edl_error *error)
{
    const char *path = replay->options->jobs;
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_json_ json_t *root = NULL;
    json_error_t wrong;

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s", path);
    root = json_loadf(file, JSON_REJECT_DUPLICATES, &wrong);
    if (root != NULL && json_is_array(json_object_get(root, "jobs"))) {
        replay->jobs = json_incref(json_object_get(root, "jobs"));
        return 0;
    }
    if (root == NULL)
        (void)edl_error_set(error, -EINVAL, "%s line %d: %s", path, wrong.line, wrong.text);
    else
        (void)edl_error_set(error, -EINVAL, "%s: {\"jobs\": [...]} is expected", path);
    return edl_error_remedy(error, "what " SAVE_JOBS " writes");
}

int replay_read_files(struct replay *replay, struct edl_error *error)
{
    int r = read_event_file(replay, error);

    if (r == 0 && replay->options->jobs != NULL)
        r = read_job_file(replay, error);
    if (r == 0)
        replay_add_jobs(replay);
    return r;
}
