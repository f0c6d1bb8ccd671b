/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ps.c - `edl ps`: the jobs, one per line */
#include <inttypes.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

struct ps_options {
    struct common_options common;
    bool all;
    const char *array;
};

static const struct option_row ps_options[] = {
    { "all", NULL, "also the jobs that have ended", option_flag,
      OPTION_FIELD(struct ps_options, all), .letter = 'a' },
    { "array", "NAME", "only the jobs of this array", option_text,
      OPTION_FIELD(struct ps_options, array) },
};

/* "trainer 3/2-6" for an elastic role, "pserver 1/1" for one of fixed size. */
static void add_roles(struct table *table, const json_t *roles)
{
    char text[256] = "";
    size_t used = 0;
    size_t i;
    json_t *role;

    json_array_foreach(roles, i, role)
    {
        uint64_t min = json_u64(role, "min");
        uint64_t max = json_u64(role, "max");
        char bounds[48];

        if (min == max)
            (void)snprintf(bounds, sizeof(bounds), "%" PRIu64, min);
        else
            (void)snprintf(bounds, sizeof(bounds), "%" PRIu64 "-%" PRIu64, min, max);
        int n =
            snprintf(text + used, sizeof(text) - used, "%s%s %" PRIu64 "/%s", used > 0 ? ", " : "",
                     json_text(role, "role"), json_u64(role, "running"), bounds);

        if (n < 0 || (size_t)n >= sizeof(text) - used)
            break;
        used += (size_t)n;
    }
    table_add(table, "%s", text);
}

static void add_progress(struct table *table, const json_t *job)
{
    uint64_t records = json_u64(job, "records_pass"); /* of one pass */
    uint64_t passes = json_u64(job, "passes");
    const json_t *steps = json_object_get(job, "steps");

    if (steps != NULL && !json_is_true(json_object_get(job, "dataset")))
        table_add(table, "step %" PRIu64 " %.3g/s", json_u64(steps, "step"),
                  json_number_value(json_object_get(steps, "samples_per_s")));
    else if (!json_is_true(json_object_get(job, "dataset")) || records == 0)
        table_add(table, "-");
    else
        table_add(table, "pass %" PRIu64 "/%" PRIu64 " %.0f%%",
                  MIN_OF(json_u64(job, "pass") + 1, passes), passes,
                  100.0 *
                      (double)(json_u64(job, "records_done") + json_u64(job, "records_lost_pass")) /
                      (double)records);
}

/* lasted_us - of its first start to its end or to now; 0: it has not started. A scheduler of the
 * version before tells only what wall clocks showed. */
static uint64_t lasted_us(const json_t *job)
{
    uint64_t start_us = json_u64(job, "started_us");
    uint64_t end_us = json_u64(job, "ended_us");
    uint64_t now_us = end_us != 0 ? end_us : clock_read_us(CLOCK_REALTIME);

    if (json_object_get(job, "lasted_us") != NULL)
        return json_u64(job, "lasted_us");
    return start_us != 0 ? now_us - MIN_OF(start_us, now_us) : 0;
}

static void add_time(struct table *table, const json_t *job)
{
    char text[32];

    if (json_u64(job, "started_us") == 0)
        table_add(table, "-");
    else
        table_add(table, "%s", text_duration(lasted_us(job), text, sizeof(text)));
}

/* Names of which several users have a job here: null; of the others their user. */
static json_t *users_of_names(const json_t *jobs)
{
    json_t *users = json_object();
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job)
    {
        const char *name = json_text(job, "name");
        json_t *user = json_object_get(job, "user");
        const json_t *other = json_object_get(users, name);

        if (other == NULL)
            (void)json_object_set(users, name, user);
        else if (user != NULL && !json_equal(other, user))
            (void)json_object_set_new(users, name, json_null());
    }
    return users;
}

static void add_name(struct table *table, const json_t *job, const json_t *users)
{
    const char *name = json_text(job, "name");

    if (json_is_null(json_object_get(users, name)))
        table_add(table, "%s/%s", json_text(job, "user"), name);
    else
        table_add(table, "%s", name);
}

static char *jobs_path(bool all, const char *array)
{
    _cleanup_free_ char *segment = array != NULL ? text_url_segment(array) : NULL;

    return text_format("/jobs?state=%s%s%s", all ? "all" : "active", array != NULL ? "&array=" : "",
                       array != NULL ? segment : "");
}

static int run(const struct invocation *invocation)
{
    static const char *const headers[] = { "ID",       "JOB",  "STATE",  "RUNNING/BOUNDS",
                                           "PROGRESS", "TIME", "REASON", NULL };
    const struct ps_options *options = invocation->options;
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;
    _cleanup_free_ char *path = jobs_path(options->all, options->array);

    status = server_list(&server, path, "jobs", &answer);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_json_ json_t *users = users_of_names(json_object_get(answer, "jobs"));
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1);
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(answer, "jobs"), i, job)
    {
        table_add(table, "%" PRIu64, json_u64(job, "id"));
        add_name(table, job, users);
        table_add(table, "%s", json_text(job, "state"));
        add_roles(table, json_object_get(job, "roles"));
        add_progress(table, job);
        add_time(table, job);
        table_add(table, "%s", json_text(job, "reason"));
    }
    table_print(table, stdout);
    return STATUS_OK;
}

const struct verb verb_ps = {
    .name = "ps",
    .usage = "[--all] [--array NAME]",
    .summary = "List the jobs",
    VERB_OPTIONS(ps_options, struct ps_options),
    .run = run,
};
