/* SPDX-License-Identifier: Apache-2.0 */
/* job_columns.c - see job_columns.h */
#include "client/job_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/json_read.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

/* column_cell - adds what a column shows of a job; users: of all names in the list */
typedef void (*column_cell)(struct table *table, const json_t *job, const char *key,
                            const json_t *users);

struct job_column {
    const char *name, *header;
    column_cell cell;
    const char *key; /* of the server's answer, where the cell takes any */
    bool right;
};

/* "trainer 3/2-6" for an elastic role, "pserver 1/1" for one of fixed size. */
static void add_roles(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    const json_t *roles = json_object_get(job, key);
    char text[256] = "";
    size_t used = 0;
    size_t i;
    json_t *role;

    (void)users;
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

static void add_progress(struct table *table, const json_t *job, const char *key,
                         const json_t *users)
{
    uint64_t records = json_u64(job, "records_pass"); /* of one pass */
    uint64_t passes = json_u64(job, "passes");
    const json_t *steps = json_object_get(job, "steps");

    (void)key;
    (void)users;
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

static void add_lasted(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    char text[32];

    (void)key;
    (void)users;
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

static void add_job(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    const char *name = json_text(job, key);

    if (json_is_null(json_object_get(users, name)))
        table_add(table, "%s/%s", json_text(job, "user"), name);
    else
        table_add(table, "%s", name);
}

static void add_text(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    (void)users;
    table_add(table, "%s", json_text(job, key));
}

static void add_number(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    (void)users;
    table_add(table, "%" PRIu64, json_u64(job, key));
}

static void add_time(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    char text[32];

    (void)users;
    table_add(table, "%s", text_time(json_u64(job, key), text, sizeof text));
}

/* sum_of - what the instances that are there have been granted */
static uint64_t sum_of(const json_t *job, const char *key)
{
    uint64_t sum = 0;
    size_t i;
    json_t *role;

    json_array_foreach(json_object_get(job, "roles"), i, role)
    {
        sum += json_u64(role, "live") * json_u64(role, key);
    }
    return sum;
}

static void add_cpu(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    char text[32];

    (void)users;
    table_add(table, "%s", text_cpu(sum_of(job, key), text, sizeof text));
}

static void add_memory(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    char text[32];

    (void)users;
    table_add(table, "%s", text_bytes(sum_of(job, key), text, sizeof text));
}

static void add_gpus(struct table *table, const json_t *job, const char *key, const json_t *users)
{
    (void)users;
    table_add(table, "%" PRIu64, sum_of(job, key));
}

static const struct job_column columns[] = {
    { "id", "ID", add_number, "id", true },
    { "job", "JOB", add_job, "name", false },
    { "name", "NAME", add_text, "name", false },
    { "user", "USER", add_text, "user", false },
    { "state", "STATE", add_text, "state", false },
    { "instances", "RUNNING/BOUNDS", add_roles, "roles", false },
    { "progress", "PROGRESS", add_progress, "", false },
    { "time", "TIME", add_lasted, "", false },
    { "reason", "REASON", add_text, "reason", false },
    { "code", "CODE", add_text, "reason_code", false },
    { "submitted", "SUBMITTED", add_time, "submitted_us", false },
    { "started", "STARTED", add_time, "started_us", false },
    { "ended", "ENDED", add_time, "ended_us", false },
    { "cpu", "CPU", add_cpu, "cpu_millicores", true },
    { "memory", "MEMORY", add_memory, "memory_bytes", true },
    { "gpus", "GPUS", add_gpus, "gpus", true },
    { "resizes", "RESIZES", add_number, "resizes", true },
};

static const struct job_column *find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(columns); i++)
        if (streq(name, columns[i].name))
            return &columns[i];
    return NULL;
}

static int refuse(const char *name, struct edl_error *error)
{
    const char *known[ELEMENTS(columns)], *nearest;
    char list[200] = "";
    size_t used = 0;

    for (size_t i = 0; i < ELEMENTS(columns); i++) {
        known[i] = columns[i].name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? "," : "",
                                 columns[i].name);
    }
    nearest = nearest_word(name, known, ELEMENTS(columns));
    (void)edl_error_set(error, -EINVAL, "there is no column \"%s\"", name);
    return edl_error_remedy(error, "%s", nearest != NULL ? nearest : list);
}

int job_columns_read(const char *list, struct job_columns *ret, struct edl_error *error)
{
    struct job_columns read = { .n = 0 };

    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, ", ");
        char name[40];

        (void)snprintf(name, sizeof name, "%.*s", (int)MIN_OF(n, sizeof name - 1), at);
        at += n + (at[n] != '\0');
        if (n == 0)
            continue;
        if (read.n == JOB_COLUMNS_MAX)
            return edl_error_set(error, -EINVAL, "more than %d columns", JOB_COLUMNS_MAX);
        read.columns[read.n] = find(name);
        if (read.columns[read.n++] == NULL)
            return refuse(name, error);
    }
    if (read.n == 0)
        return refuse("", error);
    *ret = read;
    return 0;
}

void job_columns_print(const struct job_columns *shown, const json_t *jobs, bool header, FILE *out)
{
    _cleanup_json_ json_t *users = users_of_names(jobs);
    const char *headers[JOB_COLUMNS_MAX + 1] = { NULL };
    struct table *table;
    uint32_t right = 0;
    size_t i;
    json_t *job;

    for (size_t c = 0; c < shown->n; c++) {
        headers[c] = shown->columns[c]->header;
        right |= (uint32_t)shown->columns[c]->right << c;
    }
    table = table_new(headers, right);
    if (!header)
        table_bare(table);
    json_array_foreach(jobs, i, job)
    {
        for (size_t c = 0; c < shown->n; c++)
            shown->columns[c]->cell(table, job, shown->columns[c]->key, users);
    }
    table_print(table, out);
    (void)table_free(table);
}
