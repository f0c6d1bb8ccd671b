/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_scale.c - `edl scale`: change a job's bounds, priority or time limit */
#include <errno.h>
#include <inttypes.h>

#include "client/job_array.h"
#include "client/job_build.h"
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

struct scale_options {
    struct common_options common;
    const char *role;
    const char *priority;
    const char *time;
};

static const struct option_row scale_options[] = {
    { "role", "ROLE", "which role (default: trainer)", option_text,
      OPTION_FIELD(struct scale_options, role), .letter = 'r' },
    { "priority", "N", "order of service while jobs wait (higher is sooner)", option_text,
      OPTION_FIELD(struct scale_options, priority) },
    { "time", "TIME", "how long it may run in all: 90m, 8h; 0: as long as it likes", option_text,
      OPTION_FIELD(struct scale_options, time) },
};

static int read_range(const char *range, const char *job, const char *role, json_t *body,
                      struct edl_error *error)
{
    uint64_t min, max;

    if (text_range(range, &min, &max) < 0) {
        (void)edl_error_set(error, -EINVAL, "\"%s\" is no range of instances", range);
        return edl_error_remedy(error, "edl scale %s 2:6", job);
    }
    (void)json_object_update_new(body, json_pack("{s:s,s:I,s:I}", "role", role, "min",
                                                 (json_int_t)min, "max", (json_int_t)max));
    return 0;
}

static int read_priority(const char *text, json_t *body, struct edl_error *error)
{
    int64_t priority;

    if (parse_i64(text, &priority) < 0) {
        (void)edl_error_set(error, -EINVAL, "--priority %s is not a whole number", text);
        return edl_error_remedy(error, "jobs have 0 by default, higher goes first");
    }
    (void)json_object_set_new(body, "priority", json_integer(priority));
    return 0;
}

static int read_bound(const char *text, json_t *body, struct edl_error *error)
{
    uint64_t n;

    if (parse_u64(text, &n) < 0 || n > INT32_MAX) {
        (void)edl_error_set(error, -EINVAL, "\"%%%s\" is no number of jobs at once", text);
        return edl_error_remedy(error, "edl scale sweep%%4, or sweep%%0 for all of them");
    }
    (void)json_object_set_new(body, "at_once", json_integer((json_int_t)n));
    return 0;
}

static int read_body(const struct invocation *invocation, json_t *body, struct edl_error *error)
{
    const struct scale_options *options = invocation->options;
    const char *job = invocation->arguments.args[0];
    int r = 0;

    if (invocation->arguments.n_args > 1)
        r = read_range(invocation->arguments.args[1], job,
                       options->role != NULL ? options->role : "trainer", body, error);
    if (r == 0 && options->priority != NULL)
        r = read_priority(options->priority, body, error);
    if (r == 0 && strchr(job, '%') != NULL)
        r = read_bound(strchr(job, '%') + 1, body, error);
    if (r == 0 && options->time != NULL && streq(options->time, "0"))
        (void)json_object_set_new(body, "time_limit", json_string("0"));
    else if (r == 0)
        r = job_add_time_limit(body, options->time, error);
    if (r < 0 || json_object_size(body) > 0)
        return r;
    (void)edl_error_set(error, -EINVAL, "there is nothing to change");
    return edl_error_remedy(error, "edl scale %s 2:6, or edl scale %s --priority 10", job, job);
}

static void print_change(const json_t *answer, const json_t *body)
{
    (void)printf("job %s (%" PRIu64 ") %s:", json_text(answer, "name"), json_u64(answer, "id"),
                 json_text(answer, "state"));
    if (json_object_get(body, "min") != NULL)
        (void)printf(" %s %" PRIu64 " to %" PRIu64, json_text(body, "role"), json_u64(body, "min"),
                     json_u64(body, "max"));
    if (json_object_get(body, "priority") != NULL)
        (void)printf(" priority %" JSON_INTEGER_FORMAT,
                     json_integer_value(json_object_get(body, "priority")));
    if (json_object_get(body, "at_once") != NULL)
        (void)printf(" jobs of its array at once %" PRIu64, json_u64(body, "at_once"));
    if (json_object_get(body, "time_limit") != NULL)
        (void)printf(" time limit %s", json_text(body, "time_limit"));
    (void)printf("\n");
}

static int scale_one(struct server *server, const char *job, const json_t *body, json_t **ret)
{
    _cleanup_free_ char *path = job_path(job, "");

    return server_request(server, "PATCH", path, body, ret);
}

/* scale_array - each job that is not over, although another was refused */
static int scale_array(struct server *server, const char *name, const json_t *jobs,
                       const json_t *body, json_t *changed)
{
    struct edl_error error = { 0 };
    int worst = STATUS_OK;
    size_t i, n = 0;
    json_t *job;

    json_array_foreach(jobs, i, job)
    {
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));
        json_t *answer = NULL;
        int status;

        if (job_is_final(job) || worst == STATUS_NO_SERVER)
            continue;
        n++;
        status = scale_one(server, id, body, &answer);
        if (status == STATUS_OK)
            (void)json_array_append_new(changed, answer);
        worst = MAX_OF(worst, status);
    }
    if (n > 0)
        return worst;
    (void)edl_error_set(&error, -EINVAL, "all jobs of array %.80s are over", name);
    (void)edl_error_remedy(&error, "submit it anew");
    return report_error(&error);
}

/* bound_array - by any of its jobs that is not over */
static int bound_array(struct server *server, const char *name, const json_t *jobs,
                       const json_t *body, json_t *changed)
{
    struct edl_error error = { 0 };
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job)
    {
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));
        json_t *answer = NULL;
        int status;

        if (job_is_final(job))
            continue;
        status = scale_one(server, id, body, &answer);
        if (status == STATUS_OK)
            (void)json_array_append_new(changed, answer);
        return status;
    }
    (void)edl_error_set(&error, -ENOENT, "%.80s is no array with jobs that are not over", name);
    (void)edl_error_remedy(&error, "`edl ps` lists arrays; %%N is of these alone");
    return report_error(&error);
}

static int scale(struct server *server, const struct invocation *invocation, const json_t *body)
{
    _cleanup_free_ char *named = xstrdup(invocation->arguments.args[0]);
    const char *name = named;
    _cleanup_json_ json_t *jobs = NULL, *changed = json_array(), *answer = NULL;
    int status;
    size_t i;
    json_t *one;

    named[strcspn(named, "%")] = '\0';
    status = array_find(server, name, &jobs);
    if (status != STATUS_OK)
        return status;
    if (json_object_get(body, "at_once") != NULL) {
        status = bound_array(server, name, jobs, body, changed);
        answer = json_pack("{s:s,s:O}", "array", name, "jobs", changed);
    } else if (jobs != NULL) {
        status = scale_array(server, name, jobs, body, changed);
        answer = json_pack("{s:s,s:O}", "array", name, "jobs", changed);
    } else {
        status = scale_one(server, name, body, &answer);
        if (status == STATUS_OK)
            (void)json_array_append(changed, answer);
    }
    if (invocation->common->json && json_array_size(changed) > 0) {
        json_print(answer);
        return status;
    }
    json_array_foreach(changed, i, one)
    {
        print_change(one, body);
    }
    return status;
}

static int run(const struct invocation *invocation)
{
    _cleanup_json_ json_t *body = json_object();
    struct edl_error error = { 0 };
    struct server server;
    int status;

    if (read_body(invocation, body, &error) < 0)
        return report_error(&error);
    status = server_open(invocation->common, &server);
    if (status != STATUS_OK)
        return status;
    status = scale(&server, invocation, body);
    server_clear(&server);
    return status;
}

const struct verb verb_scale = {
    .name = "scale",
    .usage = "JOB|ARRAY[%N] [MIN:MAX] [--role ROLE] [--priority N] [--time TIME]",
    .summary = "Change how many instances a job may have, its priority or its time limit",
    .details =
        "MIN:MAX, MIN-MAX or N (exactly N). The policy chooses the number between them; running\n"
        "processes that stay are not disturbed. Parameter servers (--role pserver) stay as many "
        "as\n"
        "the job began with: a job that has never run may be given another number.\n"
        "--time less than before is yours to set; more is an admin's.\n"
        "An array's name stands for all its jobs that are not over. ARRAY%N: so many of them at "
        "once,\n0 for all.",
    VERB_OPTIONS(scale_options, struct scale_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
