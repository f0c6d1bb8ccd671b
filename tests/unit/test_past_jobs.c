/* SPDX-License-Identifier: Apache-2.0 */
/* test_past_jobs.c - what is told of jobs that are over is the same before and after they left the
 * core, and after a restart */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define JOB(name_, cpu_, more_)                                                                    \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"command\":[\"true\"],"        \
    "\"min-instance\":1,\"max-instance\":1,\"resources\":{\"requests\":{\"cpu\":\"" cpu_ "\"}}}"   \
    "" more_ "}}"

static void ask(struct live *live, const char *method, const char *path, const char *body,
                unsigned wanted)
{
    struct reply reply = { 0 };
    unsigned status = live_ask(live, method, path, NULL, body, &reply);

    if (status != wanted)
        fail_msg("%s %s: %u %.*s", method, path, status, (int)reply.size, reply.body);
    reply_clear(&reply);
}

/* A turn of its own. */
static void turn(struct live *live)
{
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
}

/* The node says that everything ordered runs, or has ended with success. */
static void report(struct live *live, enum process_state state)
{
    struct cluster *cluster = live->scheduler->cluster;
    struct node *node = cluster_node(cluster, "n1");
    struct process_report list[16];
    struct node_report say = { .boot_id = "boot", .offer = node->offer, .complete = true };
    struct edl_error error = { 0 };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        assert_in_range(say.n_processes, 0, ELEMENTS(list) - 1);
        list[say.n_processes++] = (struct process_report){
            .job_id = process->job->id,
            .role = process->job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = state,
            .pid = 4711,
            .cpu_used_us = 900,
        };
        if (state == PROCESS_EXITED)
            log_hub_push(live->scheduler->logs,
                         &(struct log_push){ .process = process,
                                             .text = "its last words\n",
                                             .next_offset = 15,
                                             .wall_us = clock_instant().wall_us,
                                             .end = true },
                         clock_instant().now_us);
    }
    say.processes = list;
    assert_int_equal(cluster_report(cluster, node, &say, clock_instant(), &error), 0);
    turn(live);
}

static void join(struct live *live)
{
    struct node_offer offer = { .address = "10.0.0.7",
                                .cpu_millicores = 4000,
                                .memory_bytes = UINT64_C(4) << 30,
                                .port_first = 20000,
                                .port_last = 20099 };
    struct edl_error error = { 0 };
    struct node *node;

    assert_int_equal(cluster_join_node(live->scheduler->cluster, "n1", "-", &offer, clock_instant(),
                                       &node, &error),
                     0);
    report(live, PROCESS_RUNNING);
}

/* 1 "one" ran twice by that name (5 as well), 2 to 4 an array, 6 killed while it waited, 7 waits,
 * 8 runs. */
static void fill(struct live *live)
{
    join(live);
    ask(live, "POST", "/jobs", JOB("one", "1", ""), 201);
    ask(live, "POST", "/jobs", JOB("many", "500m", ",\"array\":\"0-2\""), 201);
    report(live, PROCESS_RUNNING);
    report(live, PROCESS_EXITED);
    ask(live, "POST", "/jobs", JOB("one", "1", ",\"priority\":3"), 201);
    report(live, PROCESS_RUNNING);
    report(live, PROCESS_EXITED);
    ask(live, "POST", "/jobs", JOB("killed", "64", ""), 201);
    ask(live, "DELETE", "/jobs/killed", "{\"reason\":\"no more\"}", 202);
    ask(live, "POST", "/jobs", JOB("waits", "64", ""), 201);
    ask(live, "POST", "/jobs", JOB("runs", "1", ""), 201);
    report(live, PROCESS_RUNNING);
}

static bool has_left(const struct live *live, uint64_t id)
{
    return cluster_job(live->scheduler->cluster, id) == NULL;
}

/* All that are over leave the core. */
static void archive(struct live *live)
{
    live->scheduler->cluster->config.keep_ended_us = 1;
    turn(live);
    turn(live);
    for (uint64_t id = 1; id <= 8; id++)
        assert_int_equal(has_left(live, id), id <= 6);
}

static const struct {
    const char *method, *path, *body;
} calls[] = {
    { "GET", "/jobs/1", NULL },
    { "GET", "/jobs/5", NULL },
    { "GET", "/jobs/one", NULL },
    { "GET", "/jobs/many-1", NULL },
    { "GET", "/jobs/killed", NULL },
    { "GET", "/jobs/7", NULL },
    { "GET", "/jobs/nobody", NULL },
    { "GET", "/jobs/99", NULL },
    { "GET", "/jobs/one/why", NULL },
    { "GET", "/jobs/killed/why", NULL },
    { "GET", "/jobs/one/processes?state=all", NULL },
    { "GET", "/jobs/1/processes", NULL },
    { "GET", "/jobs/1/events", NULL },
    { "GET", "/jobs/1/logs?role=trainer", NULL },
    { "GET", "/jobs/1/logs?role=nobody", NULL },
    { "GET", "/jobs/1/tasks", NULL },
    { "GET", "/jobs/1/hosts", NULL },
    { "GET", "/jobs/1/dataset", NULL },
    { "GET", "/jobs/1/resizes", NULL },
    { "GET", "/jobs?state=all", NULL },
    { "GET", "/jobs?state=all&limit=2", NULL },
    { "GET", "/jobs?state=all&limit=3&cursor=2", NULL },
    { "GET", "/jobs?state=all&limit=2&cursor=5", NULL },
    { "GET", "/jobs?state=all&limit=2&cursor=6", NULL },
    { "GET", "/jobs?state=all&limit=9&cursor=6", NULL },
    { "GET", "/jobs?state=all&cursor=8", NULL },
    { "GET", "/jobs?state=all&array=many&limit=2", NULL },
    { "GET", "/jobs?state=all&array=many&limit=2&cursor=3", NULL },
    { "GET", "/jobs?state=all&array=one", NULL },
    { "GET", "/jobs?state=all&order=newest", NULL },
    { "GET", "/jobs?state=all&order=newest&limit=3&cursor=6", NULL },
    { "GET", "/jobs?state=all&order=newest&fold=1", NULL },
    { "GET", "/jobs?state=all&fold=1&limit=2", NULL },
    { "GET", "/jobs?state=over&order=newest&name=ONE", NULL },
    { "GET", "/jobs?state=killed", NULL },
    { "GET", "/jobs", NULL },
    { "GET", "/cluster", NULL },
    { "DELETE", "/jobs/1", NULL },
    { "DELETE", "/jobs/one", "{\"reason\":\"late\"}" },
    { "DELETE", "/arrays/many", NULL },
    { "DELETE", "/arrays/one", NULL },
    { "PATCH", "/jobs/1", "{\"priority\":4}" },
    { "PATCH", "/jobs/1?dry_run=1", "{\"priority\":4}" },
    { "PATCH", "/jobs/1", "{\"min\":9,\"role\":\"nobody\"}" },
    { "POST", "/jobs", JOB("runs", "1", "") },
    { "POST", "/jobs", JOB("next", "1", ",\"after\":[\"killed\"]") },
    { "POST", "/jobs?dry_run=1", JOB("next", "1", ",\"after\":[\"6\"]") },
    { "POST", "/jobs?dry_run=1", JOB("next", "1", ",\"after\":[\"one\",\"many-2\",\"runs\"]") },
    { "POST", "/jobs?dry_run=1", JOB("next", "1", ",\"after\":[\"many\"]") },
    { "POST", "/jobs?dry_run=1", JOB("next", "1", ",\"after\":[\"runs\",\"many\"]") },
    { "POST", "/jobs", JOB("next", "1", ",\"after\":[\"nobody\"]") },
};

/* What makes no difference, but is never the same. */
static void strip(json_t *json)
{
    json_t *value;
    const char *key;
    size_t i;

    json_array_foreach(json, i, value) strip(value);
    if (!json_is_object(json))
        return;
    (void)json_object_del(json, "request_id");
    (void)json_object_del(json, "instance");
    json_object_foreach(json, key, value) strip(value);
}

static char *answer_of(struct live *live, size_t call)
{
    struct reply reply = { 0 };
    unsigned status =
        live_ask(live, calls[call].method, calls[call].path, NULL, calls[call].body, &reply);
    json_t *all;
    char *text;

    strip(reply.json);
    all = json_pack("{s:i,s:O?}", "status", (int)status, "body", reply.json);
    text = json_dumps(all, JSON_SORT_KEYS | JSON_INDENT(1));
    json_decref(all);
    reply_clear(&reply);
    return text;
}

static char *jobs_figure(struct live *live)
{
    struct reply reply = { 0 };
    char *found;

    assert_int_equal(live_ask(live, "GET", "/metrics", NULL, NULL, &reply), 200);
    found = strstr(reply.body, "edl_jobs{state=\"succeeded\"}");
    assert_non_null(found);
    found = strndup(found, strcspn(found, "\n"));
    reply_clear(&reply);
    return found;
}

/* What changes from call to call of a job that runs. */
static bool has_clock(size_t call)
{
    return strstr(calls[call].path, "state=all") != NULL || streq(calls[call].path, "/jobs");
}

static void drop_clocks_of_live(char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    json_t *job;
    size_t i;
    char *again;

    json_array_foreach(json_object_get(json_object_get(json, "body"), "jobs"), i, job)
    {
        if (json_integer_value(json_object_get(job, "id")) <= 6)
            continue;
        (void)json_object_del(job, "usage");
        (void)json_object_del(job, "lasted_us");
    }
    again = json_dumps(json, JSON_SORT_KEYS | JSON_INDENT(1));
    assert_true(strlen(again) <= strlen(text));
    memcpy(text, again, strlen(again) + 1);
    free(again);
    json_decref(json);
}

static void collect(struct live *live, char **ret)
{
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        ret[i] = answer_of(live, i);
        if (has_clock(i))
            drop_clocks_of_live(ret[i]);
    }
}

static void compare(char **before, char **after)
{
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        if (!streq(before[i], after[i]))
            fail_msg("%s %s: %s\nthen: %s", calls[i].method, calls[i].path, before[i], after[i]);
        free(after[i]);
    }
}

TEST_EACH(live_setup, live_teardown);

TEST(test_all_is_told_as_before)
{
    struct live *live = *state;
    char *before[ELEMENTS(calls)], *after[ELEMENTS(calls)];
    char *figure, *figure_after;

    fill(live);
    collect(live, before);
    assert_non_null(strstr(before[0], "\"status\": 200"));
    assert_non_null(strstr(before[13], "its last words"));
    figure = jobs_figure(live);
    assert_string_equal(figure, "edl_jobs{state=\"succeeded\"} 5");
    archive(live);
    collect(live, after);
    compare(before, after);
    figure_after = jobs_figure(live);
    assert_string_equal(figure, figure_after);
    free(figure_after);
    live_restart(live);
    for (uint64_t id = 1; id <= 8; id++)
        assert_int_equal(has_left(live, id), id <= 6);
    figure_after = jobs_figure(live);
    assert_string_equal(figure, figure_after);
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        char *again = answer_of(live, i);

        if (has_clock(i) || strstr(calls[i].path, "dry_run") != NULL ||
            streq(calls[i].path, "/cluster") || strstr(calls[i].path, "/logs") != NULL) {
            free(again); /* they tell of what lives, whose node was not heard yet; a log may have
                            more to come for some seconds after a restart */
        } else if (!streq(before[i], again)) {
            fail_msg("%s %s: %s\nafter a restart: %s", calls[i].method, calls[i].path, before[i],
                     again);
        } else {
            free(again);
        }
        free(before[i]);
    }
    free(figure);
    free(figure_after);
}

/* Numbers of the listed jobs, of a folded array with the first one and the states, and what is
 * next. */
static void assert_list(struct live *live, const char *query, const char *wanted)
{
    struct reply reply = { 0 };
    char path[120], told[400] = "";
    size_t i, used = 0;
    json_t *job;

    (void)snprintf(path, sizeof path, "/jobs?%s", query);
    assert_int_equal(live_ask(live, "GET", path, NULL, NULL, &reply), 200);
    json_array_foreach(json_object_get(reply.json, "jobs"), i, job)
    {
        const json_t *array = json_object_get(job, "array");
        char *states = json_dumps(json_object_get(array, "states"), JSON_COMPACT | JSON_SORT_KEYS);

        used += (size_t)snprintf(told + used, sizeof told - used, "%d ",
                                 (int)json_integer_value(json_object_get(job, "id")));
        if (array != NULL)
            used += (size_t)snprintf(told + used, sizeof told - used, "%s@%d:%d%s ",
                                     json_string_value(json_object_get(array, "name")),
                                     (int)json_integer_value(json_object_get(array, "first_id")),
                                     (int)json_integer_value(json_object_get(array, "first_index")),
                                     states);
        free(states);
    }
    (void)snprintf(told + used, sizeof told - used, "> %s",
                   json_is_null(json_object_get(reply.json, "next"))
                       ? "-"
                       : json_string_value(json_object_get(reply.json, "next")));
    if (!streq(told, wanted))
        fail_msg("%s: %s instead of %s", query, told, wanted);
    reply_clear(&reply);
}

/* Whether they are in the core, in the archive, or an array in both. */
TEST(test_lists)
{
    static const struct {
        const char *query, *wanted;
    } cases[] = {
        { "state=all", "1 2 3 4 5 6 7 8 > -" },
        { "", "7 8 > -" },
        { "order=newest", "8 7 > -" },
        { "order=newest&limit=1", "8 > 8" },
        { "order=newest&limit=1&cursor=8", "7 > -" },
        { "order=newest&state=all&limit=3", "8 7 6 > 6" },
        { "order=newest&state=all&limit=3&cursor=6", "5 4 3 > 3" },
        { "order=newest&state=all&limit=3&cursor=3", "2 1 > -" },
        { "order=newest&state=all&cursor=99", "8 7 6 5 4 3 2 1 > -" },
        { "order=newest&state=all&cursor=1", "> -" },
        { "order=newest&state=over&fold=1", "6 5 4 many@2:0{\"succeeded\":3} 1 > -" },
        { "state=all&fold=1&limit=2", "1 2 many@2:0{\"succeeded\":3} > 4" },
        { "state=all&fold=1&cursor=4&limit=2", "5 6 > 6" },
        { "state=all&fold=1&order=newest&limit=1&cursor=5", "4 many@2:0{\"succeeded\":3} > 2" },
        { "state=all&fold=1&order=newest&limit=1&cursor=2", "1 > -" },
        { "state=all&fold=1&name=many-1&order=newest", "3 many@2:0{\"succeeded\":3} > -" },
        { "state=killed,running", "6 8 > -" },
        { "state=failed", "> -" },
        { "state=all&array=many&order=newest&limit=2", "4 3 > 3" },
        { "state=all&array=many&order=newest&cursor=3", "2 > -" },
        { "state=all&name=ONE", "1 5 > -" },
        { "state=all&user=nobody", "> -" },
    };
    struct live *live = *state;

    fill(live);
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_list(live, cases[i].query, cases[i].wanted);
    live->scheduler->cluster->config.keep_ended_jobs = 3; /* the array is in both */
    turn(live);
    turn(live);
    assert_true(has_left(live, 3));
    assert_false(has_left(live, 4));
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_list(live, cases[i].query, cases[i].wanted);
    archive(live);
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_list(live, cases[i].query, cases[i].wanted);
    ask(live, "GET", "/jobs?order=up", NULL, 400);
    ask(live, "GET", "/jobs?fold=2", NULL, 400);
    ask(live, "GET", "/jobs?state=done", NULL, 400);
}

/* A sweep that was submitted in two parts is two arrays, in the core and in the archive. */
TEST(test_parts_of_a_sweep_are_listed_apart)
{
    struct live *live = *state;

    ask(live, "POST", "/jobs", JOB("part", "64", ",\"array\":\"0-2\""), 201);
    ask(live, "POST", "/jobs", JOB("part", "64", ",\"array\":\"3-5\""), 201);
    assert_list(live, "fold=1", "1 part@1:0{\"queued\":3} 4 part@4:3{\"queued\":3} > -");
    assert_list(live, "fold=1&name=part-2", "3 part@1:0{\"queued\":3} > -");
    for (unsigned i = 0; i < 6; i++) {
        char path[40];

        (void)snprintf(path, sizeof path, "/jobs/%u", i + 1);
        ask(live, "DELETE", path, NULL, 202);
    }
    live->scheduler->cluster->config.keep_ended_jobs = 2;
    turn(live);
    turn(live);
    assert_true(has_left(live, 4));
    assert_false(has_left(live, 6)); /* it is in both */
    assert_list(live, "fold=1&state=over&order=newest&name=part-3", "4 part@4:3{\"killed\":3} > -");
}

/* Of many that do not fit a page looks at some, and says where it goes on. */
TEST(test_a_page_is_bounded)
{
    struct live *live = *state;

    ask(live, "POST", "/jobs", JOB("needle", "1", ""), 201);
    ask(live, "DELETE", "/jobs/needle", NULL, 202);
    for (int i = 0; i < 6; i++) {
        ask(live, "POST", "/jobs", JOB("hay", "1", ",\"array\":\"0-999\""), 201);
        ask(live, "DELETE", "/arrays/hay", NULL, 202);
    }
    ask(live, "POST", "/jobs", JOB("last", "1", ""), 201);
    live->scheduler->cluster->config.keep_ended_us = 1;
    for (int i = 0; i < 100 && !has_left(live, 6001); i++)
        turn(live);
    assert_true(has_left(live, 6001));
    assert_list(live, "state=all&order=newest&name=needle", "> 3502");
    assert_list(live, "state=all&order=newest&name=needle&cursor=3502", "> 1002");
    assert_list(live, "state=all&order=newest&name=needle&cursor=1002", "1 > -");
    assert_list(live, "state=all&name=needle", "1 > 2500");
    assert_list(live, "state=all&name=needle&cursor=5000", "> -");
    assert_list(live, "state=all&order=newest&fold=1&limit=3",
                "6002 6001 hay@5002:0{\"killed\":1000} 5001 hay@4002:0{\"killed\":1000} > 4002");
    assert_list(live, "state=all&order=newest&fold=1&cursor=2002",
                "2001 hay@1002:0{\"killed\":1000} 1001 hay@2:0{\"killed\":1000} 1 > -");
    /* members count as rows that were looked at */
    assert_list(live, "state=all&order=newest&fold=1&cursor=6002",
                "6001 hay@5002:0{\"killed\":1000} 5001 hay@4002:0{\"killed\":1000} "
                "4001 hay@3002:0{\"killed\":1000} > 3002");
}

/* The sums of those that are over; what lives goes on. */
static json_t *usage(struct live *live, const char *path, json_t **ret)
{
    struct reply reply = { 0 };

    assert_int_equal(live_ask(live, "GET", path, NULL, NULL, &reply), 200);
    *ret = json_incref(reply.json);
    reply_clear(&reply);
    return json_array_get(json_object_get(*ret, "users"), 0);
}

TEST(test_usage_stays_counted)
{
    struct live *live = *state;
    json_t *before, *after, *user, *others;

    fill(live);
    ask(live, "DELETE", "/jobs/runs", NULL, 202);
    report(live, PROCESS_EXITED);
    user = usage(live, "/usage", &before);
    assert_int_equal(json_integer_value(json_object_get(user, "jobs")), 8);
    live->scheduler->cluster->config.keep_ended_us = 1;
    turn(live);
    turn(live);
    assert_true(has_left(live, 1));
    assert_true(json_equal(user, usage(live, "/usage", &after)));
    json_decref(after);
    live_restart(live);
    assert_true(json_equal(user, usage(live, "/usage?user=admin", &after)));
    json_decref(after);
    (void)usage(live, "/usage?user=nobody", &others);
    assert_int_equal(json_array_size(json_object_get(others, "users")), 0);
    json_decref(others);
    /* also when they are not kept any more */
    store_keep(live->scheduler->store, &(struct store_history){ .jobs = 1 });
    turn(live);
    ask(live, "POST", "/jobs", JOB("another", "64", ""), 201);
    ask(live, "DELETE", "/jobs/another", NULL, 202);
    assert_int_equal(store_archived_total(live->scheduler->store), 0);
    ask(live, "GET", "/jobs/1", NULL, 404);
    user = usage(live, "/usage", &after);
    assert_int_equal(json_integer_value(json_object_get(user, "jobs")), 9);
    json_decref(after);
    json_decref(before);
}

TEST(test_what_runs_after_them)
{
    struct live *live = *state;
    const struct job *job;

    fill(live);
    archive(live);
    ask(live, "POST", "/jobs", JOB("next", "1", ",\"after\":[\"one\",\"2\",\"runs\"]"), 201);
    job = cluster_find_job(live->scheduler->cluster, "next");
    assert_string_equal(job->spec->after[0], "5"); /* the newest of that name */
    assert_string_equal(job->reason, "waits until runs (8) has succeeded");
    live_restart(live);
    job = cluster_find_job(live->scheduler->cluster, "next");
    assert_string_equal(job->reason, "waits until runs (8) has succeeded");
    report(live, PROCESS_RUNNING);
    report(live, PROCESS_EXITED);
    report(live, PROCESS_RUNNING);
    job = cluster_find_job(live->scheduler->cluster, "next");
    assert_int_equal(job->state, JOB_RUNNING);
    /* names that are free again, and numbers that go on */
    ask(live, "POST", "/jobs", JOB("one", "1", ""), 201);
    assert_int_equal(cluster_find_job(live->scheduler->cluster, "one")->id, 10);
}

TEST(test_a_key_is_answered_from_before)
{
    static const char body[] = JOB("one", "1", "");
    struct live *live = *state;
    struct reply first = { 0 }, again = { 0 };

    join(live);
    assert_int_equal(live_ask(live, "POST", "/jobs", "a-key", body, &first), 201);
    ask(live, "DELETE", "/jobs/one", NULL, 202);
    report(live, PROCESS_EXITED);
    ask(live, "POST", "/jobs", JOB("two", "64", ""), 201);
    live->scheduler->cluster->config.keep_ended_us = 1;
    turn(live);
    turn(live);
    assert_true(has_left(live, 1));
    assert_int_equal(live_ask(live, "POST", "/jobs", "a-key", body, &again), 201);
    assert_true(json_equal(first.json, again.json));
    reply_clear(&first);
    reply_clear(&again);
}

/* A machine that was cut off comes back with what its processes wrote. */
TEST(test_logs_may_come_late)
{
    static const char offer[] =
        "{\"node\":\"n1\",\"address\":\"10.0.0.7\",\"cpu_millicores\":4000,"
        "\"memory_bytes\":4294967296,\"gpus\":0,\"port_first\":20000,\"port_last\":20099}";
    static const char late[] =
        "{\"job_id\":1,\"role\":\"trainer\",\"index\":0,\"incarnation\":1,\"offset\":0,"
        "\"next_offset\":9,\"text\":\"came late\",\"end\":true}";
    struct live *live = *state;
    struct reply joined = { 0 }, logs = { 0 };

    live->token = live->scheduler->join_token;
    assert_int_equal(live_ask(live, "POST", "/nodes/join", NULL, offer, &joined), 201);
    live->token = NULL;
    report(live, PROCESS_RUNNING);
    ask(live, "POST", "/jobs", JOB("one", "1", ""), 201);
    report(live, PROCESS_RUNNING);
    ask(live, "DELETE", "/jobs/one", NULL, 202);
    cluster_tick(live->scheduler->cluster,
                 (struct instant){ clock_instant().now_us + 3600 * USEC_PER_SEC,
                                   clock_instant().wall_us, 0 }); /* its node is lost */
    ask(live, "POST", "/jobs", JOB("two", "64", ""), 201);
    live->scheduler->cluster->config.keep_ended_us = 1;
    turn(live);
    turn(live);
    assert_true(has_left(live, 1));
    live->token = json_string_value(json_object_get(joined.json, "credential"));
    ask(live, "POST", "/nodes/n1/logs", late, 204);
    live->token = NULL;
    assert_int_equal(live_ask(live, "GET", "/jobs/one/logs", NULL, NULL, &logs), 200);
    assert_non_null(strstr(logs.body, "came late"));
    reply_clear(&joined);
    reply_clear(&logs);
}
