/* SPDX-License-Identifier: Apache-2.0 */
/* test_datasets.c - datasets come in bounded pieces, whole or not at all: beside others, over a
 * commit that fails, and with the job's end; too large ones are refused */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/histogram.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

enum { TASKS = 2 * DATASET_SLICE_TASKS + 100, SLICES = 3 };

static void turn(struct live *live)
{
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
}

/* The node says that everything ordered runs, or has ended when it is to. */
static void report(struct live *live)
{
    struct node *node = cluster_node(live->scheduler->cluster, "n1");
    struct process_report list[16];
    struct node_report say = { .boot_id = "boot", .offer = node->offer, .complete = true };
    struct edl_error error = { 0 };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        assert_true(say.n_processes < ELEMENTS(list));
        list[say.n_processes++] = (struct process_report){
            .job_id = process->job->id,
            .role = process->job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = process->stop_wanted ? PROCESS_EXITED : PROCESS_RUNNING,
        };
    }
    say.processes = list;
    if (cluster_report(live->scheduler->cluster, node, &say, clock_instant(), &error) < 0)
        fail_msg("%s", error.text);
    turn(live);
}

static struct process *trainer(const struct live *live, const char *name, uint32_t index)
{
    const struct job *job = cluster_find_job(live->scheduler->cluster, name);

    assert_non_null(job);
    assert_non_null(job->slots[0][index].live);
    return job->slots[0][index].live;
}

static const struct task_queue *queue_of(const struct live *live, const char *name)
{
    return cluster_find_job(live->scheduler->cluster, name)->queue;
}

/* A job of two trainers that run. */
static void begin(struct live *live, const char *name)
{
    struct reply reply = { 0 };
    char document[300];

    (void)snprintf(document, sizeof document,
                   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":"
                   "{\"command\":[\"true\"],\"min-instance\":2,\"max-instance\":2,"
                   "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}}",
                   name);
    if (live_ask(live, "POST", "/jobs", NULL, document, &reply) != 201)
        fail_msg("%s", reply.body);
    reply_clear(&reply);
    report(live);
    assert_int_equal(trainer(live, name, 1)->state, PROCESS_RUNNING);
}

static int setup(void **state)
{
    struct node_offer offer = { .address = "10.0.0.1",
                                .cpu_millicores = 8000,
                                .memory_bytes = UINT64_C(4) << 30,
                                .port_first = 20000,
                                .port_last = 20999 };
    struct live *live;
    struct node *node;

    if (live_setup(state) != 0)
        return -1;
    live = *state;
    assert_int_equal(cluster_join_node(live->scheduler->cluster, "n1", "-", &offer, clock_instant(),
                                       &node, NULL),
                     0);
    report(live);
    begin(live, "a");
    return 0;
}

TEST_EACH(setup, live_teardown);

/* Of so many tasks; the caller's. */
static char *dataset(const char *digest, unsigned n)
{
    json_t *tasks = json_array();
    json_t *body = json_pack("{s:s,s:o}", "digest", digest, "tasks", tasks);
    char path[20], *text;

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "/%06u", i);
        (void)json_array_append_new(tasks, json_pack("{s:[{s:s,s:i,s:i}]}", "chunks", "path", path,
                                                     "offset", 0, "records", 9));
    }
    text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return text;
}

static void give(struct live *live, const char *name, uint32_t index, const char *body,
                 struct reply *reply)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/jobs/%s/dataset", name);
    live_send_for(live, trainer(live, name, index), "PUT", path, body, reply);
}

static void answered(struct live *live, struct reply *reply, unsigned status, const char *says)
{
    live_wait(live, reply);
    if (reply->status != status || strstr(reply->body, says) == NULL)
        fail_msg("%u: %s", reply->status, reply->body);
    reply_clear(reply);
}

static int64_t rows(const struct live *live)
{
    char path[100];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t n;

    (void)snprintf(path, sizeof path, "%s/edl.db", live->folder);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM task", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return n;
}

/* Rows go bit by bit, with the turns that write something. */
static void await_no_rows(struct live *live)
{
    struct reply reply = { 0 };

    for (unsigned i = 0; rows(live) > 0; i++) {
        char body[60];

        assert_true(i < 20);
        (void)snprintf(body, sizeof body, "{\"state\":\"%s\"}", i % 2 == 0 ? "cordoned" : "ready");
        if (live_ask(live, "PATCH", "/nodes/n1", NULL, body, &reply) / 100 != 2)
            fail_msg("%s", reply.body);
        reply_clear(&reply);
    }
}

static uint64_t commits(const struct live *live)
{
    struct store_figures figures;
    uint64_t n = 0;

    store_figures(live->scheduler->store, &figures);
    for (size_t i = 0; i < ELEMENTS(figures.commits->counts); i++)
        n += figures.commits->counts[i];
    return n;
}

TEST(test_is_stored_slice_by_slice_and_once)
{
    struct live *live = *state;
    _cleanup_free_ char *body = dataset("d1", TASKS), *other = dataset("d2", TASKS);
    struct reply replies[2] = { 0 };
    uint64_t before = commits(live);

    give(live, "a", 0, body, &replies[0]);
    give(live, "a", 1, body, &replies[1]);
    live_hold(live); /* the first slice is due */
    assert_null(queue_of(live, "a"));
    live_release(live);
    answered(live, &replies[0], 200, "{\"tasks\":4196,\"passes\":1}");
    answered(live, &replies[1], 200, "{\"tasks\":4196,\"passes\":1}");
    assert_in_range(commits(live) - before, SLICES + 1, SLICES + 2); /* and each was written once */
    assert_int_equal(rows(live), TASKS);
    give(live, "a", 1, other, &replies[1]);
    answered(live, &replies[1], 409, "another dataset already");
    live_restart(live);
    assert_int_equal(task_queue_n_tasks(queue_of(live, "a")), TASKS);
    assert_string_equal(task_queue_task(queue_of(live, "a"), TASKS - 1)->chunks[0].path, "/004195");
}

TEST(test_refuses_what_is_too_much)
{
    struct live *live = *state;
    struct scheduler_options *options = &live->scheduler->options;
    _cleanup_free_ char *body = dataset("d1", 10), *more = dataset("d1", 11);
    struct reply replies[2] = { 0 };

    begin(live, "b");
    options->dataset.tasks = 10;
    give(live, "a", 0, more, &replies[0]);
    answered(live, &replies[0], 422, "put more chunks into each task");
    options->dataset.bytes = strlen(body) - 1;
    give(live, "a", 0, body, &replies[0]);
    answered(live, &replies[0], 413, "let chunks be larger pieces of files");
    options->dataset.bytes = 0;
    options->limits.user[HOLDING_TASKS] = 19;
    give(live, "a", 0, body, &replies[0]);
    answered(live, &replies[0], 200, "{\"tasks\":10,\"passes\":1}");
    give(live, "b", 0, body, &replies[1]);
    answered(live, &replies[1], 422, "10 there are, 10 would come, 19 may be");
    options->limits.user[HOLDING_TASKS] = 20;
    give(live, "b", 0, body, &replies[1]);
    answered(live, &replies[1], 200, "{\"tasks\":10,\"passes\":1}");
}

/* What is under way counts: nobody gets in beside it. */
TEST(test_counts_what_is_under_way)
{
    struct live *live = *state;
    _cleanup_free_ char *body = dataset("d1", TASKS);
    struct reply replies[2] = { 0 };

    begin(live, "b");
    live->scheduler->options.limits.user[HOLDING_TASKS] = 2 * TASKS - 1;
    give(live, "a", 0, body, &replies[0]);
    live_hold(live);
    give(live, "b", 0, body, &replies[1]);
    answered(live, &replies[1], 422, "0 there are, 8392 would come, 8391 may be");
    live_release(live);
    answered(live, &replies[0], 200, "{\"tasks\":4196,\"passes\":1}");
}

TEST(test_goes_with_its_job)
{
    struct live *live = *state;
    struct cluster *cluster = live->scheduler->cluster;
    _cleanup_free_ char *body = dataset("d1", TASKS);
    struct reply reply = { 0 };

    give(live, "a", 0, body, &reply);
    live_hold(live);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
    assert_int_equal(rows(live), DATASET_SLICE_TASKS);
    assert_int_equal(cluster_kill_job(cluster, cluster_find_job(cluster, "a"), "killed",
                                      clock_instant(), NULL),
                     0);
    turn(live);
    report(live);
    answered(live, &reply, 409, "is killed");
    await_no_rows(live);
}

/* A shorter one takes its place: nothing is left of what was being stored. */
TEST(test_comes_again_behind_a_full_disk)
{
    struct live *live = *state;
    _cleanup_free_ char *body = dataset("d1", TASKS), *shorter = dataset("d2", 5);
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    struct reply reply = { 0 };

    give(live, "a", 0, body, &reply);
    live_hold(live);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
    live_disk_full(true);
    answered(live, &reply, 507, "");
    assert_int_equal(rows(live), DATASET_SLICE_TASKS);
    live_disk_full(false);
    while (live->scheduler->degraded.on) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    }
    give(live, "a", 0, shorter, &reply);
    answered(live, &reply, 200, "{\"tasks\":5,\"passes\":1}");
    live_restart(live);
    assert_int_equal(task_queue_n_tasks(queue_of(live, "a")), 5);
    assert_int_equal(rows(live), 5);
}

TEST(test_ends_with_the_scheduler)
{
    struct live *live = *state;
    _cleanup_free_ char *body = dataset("d1", TASKS);
    struct reply reply = { 0 };

    give(live, "a", 0, body, &reply);
    live_hold(live);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
    live_restart(live); /* in the midst of it */
    assert_null(queue_of(live, "a"));
    reply_clear(&reply);
    give(live, "a", 0, body, &reply);
    answered(live, &reply, 200, "{\"tasks\":4196,\"passes\":1}");
    assert_int_equal(rows(live), TASKS);
}
