/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_usage.c - `edl usage`: the grants of users, groups or jobs, and their use
 *
 * Without --since the scheduler's own sums are asked for, which know jobs that were deleted, too. A
 * window is summed here over the jobs that are kept, page by page: no call costs the scheduler more
 * than a page. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/usage_sum.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

struct usage_options {
    struct common_options common;
    const char *user, *since, *by;
};

#define AT(member) OPTION_FIELD(struct usage_options, member)

static const struct option_row usage_options[] = {
    { "user", "NAME", "only this one's", option_text, AT(user) },
    { "since", "TIME", "only from then on: 7d, 2026-11-01, 2026-11-01T12:00:00Z", option_text,
      AT(since) },
    { "by", "WHAT", "user (this one), group or job", option_text, AT(by) },
};

#undef AT

struct question {
    enum usage_by by;
    const char *user; /* NULL: of all */
    uint64_t since_us, now_us;
    json_t *groups; /* of users that are in one: {USER: GROUP}; owned */
    struct usage_sum *sum;
};

/* --- what is asked --- */

static int read_options(const struct usage_options *options, struct question *ret)
{
    struct edl_error error = { 0 };
    int r = 0;

    ret->user = options->user;
    ret->now_us = clock_read_us(CLOCK_REALTIME);
    if (options->by != NULL && usage_by_read(options->by, &ret->by) < 0) {
        r = edl_error_set(&error, -EINVAL, "--by: \"%s\" is none of user, group, job", options->by);
        (void)edl_error_remedy(&error, "edl usage --by group");
    }
    if (r == 0 && options->since != NULL)
        r = usage_since_read(options->since, ret->now_us, &ret->since_us);
    if (r < 0 && error.text[0] == '\0') {
        r = edl_error_set(&error, r,
                          r == -ERANGE ? "--since: %s is to come"
                                       : "--since: \"%s\" is no time, day or instant",
                          options->since);
        (void)edl_error_remedy(&error, "7d, 2026-11-01 or 2026-11-01T12:00:00Z");
    }
    return r < 0 ? report_error(&error) : STATUS_OK;
}

/* --- the sums --- */

static const char *name_of(const struct question *question, const json_t *of)
{
    const char *user = json_text(of, "user");
    const char *group = json_string_value(json_object_get(question->groups, user));

    if (question->by == USAGE_BY_USER)
        return user;
    return group != NULL ? group : "-";
}

static double core_hours(const json_t *usage, const char *kind)
{
    const json_t *of = json_object_get(usage, kind);

    return json_number_value(json_object_get(of, "cpu_core_seconds")) / 3600;
}

static double gpu_hours(const json_t *usage)
{
    double s = 0;
    const char *kind;
    json_t *of;

    json_object_foreach((json_t *)usage, kind, of) s +=
        json_number_value(json_object_get(of, "gpu_seconds"));
    return s / 3600;
}

static void add_job(struct question *question, const json_t *job)
{
    const json_t *usage = json_object_get(job, "usage");
    double part = usage_part(job, question->since_us, question->now_us);
    _cleanup_json_ json_t *facts = NULL;
    char id[32];

    if (part <= 0 || (question->user != NULL && !streq(json_text(job, "user"), question->user)))
        return;
    if (question->by != USAGE_BY_JOB) {
        usage_sum_add(question->sum, name_of(question, job), 1, usage, part, NULL);
        return;
    }
    facts = json_pack("{s:s,s:s,s:s}", "name", json_text(job, "name"), "user",
                      json_text(job, "user"), "state", json_text(job, "state"));
    (void)snprintf(id, sizeof id, "%" PRIu64, json_u64(job, "id"));
    usage_sum_add(question->sum, id, 1, usage, part, facts);
}

static void add_page(const json_t *page, void *userdata)
{
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(page, "jobs"), i, job) add_job(userdata, job);
}

static int ask_groups(struct server *server, struct question *question)
{
    _cleanup_json_ json_t *users = NULL;
    int status = server_list(server, "/users?limit=1000", "users", &users);
    size_t i;
    json_t *user;

    question->groups = json_object();
    json_array_foreach(json_object_get(users, "users"), i, user)
    {
        if (*json_text(user, "group") != '\0')
            (void)json_object_set(question->groups, json_text(user, "name"),
                                  json_object_get(user, "group"));
    }
    return status;
}

/* The scheduler's own sums, by user. */
static int ask_sums(struct server *server, struct question *question)
{
    _cleanup_free_ char *segment = text_url_segment(question->user != NULL ? question->user : "");
    _cleanup_json_ json_t *answer = NULL;
    int status = server_get(server, &answer, question->user != NULL ? "/usage?user=%s" : "/usage%s",
                            segment);
    size_t i;
    json_t *user;

    json_array_foreach(json_object_get(answer, "users"), i, user)
        usage_sum_add(question->sum, name_of(question, user), json_u64(user, "jobs"),
                      json_object_get(user, "usage"), 1, NULL);
    return status;
}

static int ask(struct server *server, struct question *question)
{
    int status = question->by == USAGE_BY_GROUP ? ask_groups(server, question) : STATUS_OK;

    if (status != STATUS_OK)
        return status;
    if (question->since_us == 0 && question->by != USAGE_BY_JOB)
        return ask_sums(server, question);
    return server_pages(server, "/jobs?state=all", add_page, question);
}

/* --- how it is told --- */

static void add_row(struct table *table, enum usage_by by, const json_t *row)
{
    static const char *const kinds[] = { "useful", "idle", "resize", "wasted" };
    const json_t *usage = json_object_get(row, "usage");

    table_add(table, "%s", json_text(row, usage_by_to_string(by)));
    if (by == USAGE_BY_JOB) {
        table_add(table, "%s", json_text(row, "name"));
        table_add(table, "%s", json_text(row, "user"));
        table_add(table, "%s", json_text(row, "state"));
    } else {
        table_add(table, "%" PRIu64, json_u64(row, "jobs"));
    }
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        table_add(table, "%.2f", core_hours(usage, kinds[i]));
    table_add(table, "%.2f", gpu_hours(usage));
}

static void print_rows(enum usage_by by, const json_t *rows)
{
#define AMOUNTS "USEFUL CORE-H", "IDLE", "RESIZE", "WASTED", "GPU-H", NULL
    static const char *const of_users[] = { "USER", "JOBS", AMOUNTS };
    static const char *const of_groups[] = { "GROUP", "JOBS", AMOUNTS };
    static const char *const of_jobs[] = { "JOB", "NAME", "USER", "STATE", AMOUNTS };
#undef AMOUNTS
    static const char *const *const headers[] = {
        [USAGE_BY_USER] = of_users, [USAGE_BY_GROUP] = of_groups, [USAGE_BY_JOB] = of_jobs
    };
    uint32_t left = by == USAGE_BY_JOB ? 0xfU : 1U;
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers[by], ~left);
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) add_row(table, by, row);
    table_print(table, stdout);
}

static void print_json(const struct question *question, json_t *take_rows)
{
    _cleanup_json_ json_t *answer =
        json_pack("{s:s,s:I,s:I,s:o}", "by", usage_by_to_string(question->by), "since_us",
                  (json_int_t)question->since_us, "until_us", (json_int_t)question->now_us,
                  question->by == USAGE_BY_USER ? "users" : "rows", take_rows);

    json_print(answer);
}

static int run(const struct invocation *invocation)
{
    const struct usage_options *options = invocation->options;
    struct question question = { .by = USAGE_BY_USER };
    struct server server;
    int status = read_options(options, &question);

    if (status == STATUS_OK)
        status = server_open(&options->common, &server);
    if (status != STATUS_OK)
        return status;
    question.sum = usage_sum_new();
    status = ask(&server, &question);
    server_clear(&server);
    if (status == STATUS_OK) {
        json_t *rows = usage_sum_rows(question.sum, usage_by_to_string(question.by),
                                      question.by != USAGE_BY_JOB);

        if (options->common.json) {
            print_json(&question, rows);
        } else {
            print_rows(question.by, rows);
            json_decref(rows);
        }
    }
    (void)usage_sum_free(question.sum);
    json_decref(question.groups);
    return status;
}

const struct verb verb_usage = {
    .name = "usage",
    .usage = "[--user NAME] [--since TIME] [--by user|group|job]",
    .summary = "The grants of users, groups or jobs, and their use",
    .details =
        "In core-hours: useful; idle, granted and not used; resize, while processes started"
        " and stopped;\nwasted. Wasted work has to be done again because a process failed, "
        "was lost or had to stop.\nWith --since: of the jobs that the scheduler keeps still. "
        "One that began before counts by the\npart of its time since then.",
    VERB_OPTIONS(usage_options, struct usage_options),
    .run = run,
};
