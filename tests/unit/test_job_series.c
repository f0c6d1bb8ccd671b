/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_series.c - the points of a job go on over a restart, and stay when it has ended */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/history/job_series.h"
#include "scheduler/nodes/progress.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define HISTORY "/jobs/1/history?bins=10"
static const char document[] =
    "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"trainer\":{\"command\":[\"true\"],"
    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}}";

static void turn(struct live *live)
{
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
}

/* The node says that of the only process that it was ordered to run, which tells its progress. */
static void report(struct live *live, enum process_state state)
{
    struct node *node = cluster_node(live->scheduler->cluster, "n1");
    const struct process *process = node->processes;
    struct process_report one = { .job_id = 1, .role = "trainer", .state = state, .pid = 4711 };
    struct node_report say = { .boot_id = "boot", .offer = node->offer, .complete = true };
    struct edl_error error = { 0 };
    json_t *told;

    if (process != NULL) {
        one.incarnation = process->incarnation;
        say.processes = &one;
        say.n_processes = 1;
    }
    told =
        json_pack("[{s:i,s:s,s:i,s:I,s:{s:i,s:f}}]", "job_id", 1, "role", "trainer", "index", 0,
                  "incarnation", (json_int_t)one.incarnation, "progress", "step", 7, "loss", 2.5);
    assert_int_equal(cluster_report(live->scheduler->cluster, node, &say, clock_instant(), &error),
                     0);
    progresses_take(&live->scheduler->progresses, "n1", told, clock_instant().now_us);
    job_series_report(live->scheduler, &say);
    json_decref(told);
    turn(live);
}

static void join_and_run(struct live *live)
{
    const struct node_offer offer = { .address = "10.0.0.7",
                                      .cpu_millicores = 4000,
                                      .memory_bytes = UINT64_C(4) << 30,
                                      .port_first = 20000,
                                      .port_last = 20099 };
    struct edl_error error = { 0 };
    struct reply reply = { 0 };
    struct node *node;

    assert_int_equal(cluster_join_node(live->scheduler->cluster, "n1", "-", &offer, clock_instant(),
                                       &node, &error),
                     0);
    report(live, PROCESS_RUNNING);
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, document, &reply), 201);
    reply_clear(&reply);
    report(live, PROCESS_RUNNING);
}

/* How many points there are, and the loss of one. */
static size_t points(struct live *live, size_t at, double *ret_loss)
{
    struct reply reply = { 0 };
    json_t *progress, *costs;
    size_t n;

    assert_int_equal(live_ask(live, "GET", HISTORY, NULL, NULL, &reply), 200);
    progress = json_object_get(reply.json, "progress");
    costs = json_object_get(progress, "cost");
    n = json_array_size(json_object_get(progress, "time_us"));
    assert_int_equal(json_array_size(costs), n);
    *ret_loss = json_number_value(json_array_get(costs, at));
    reply_clear(&reply);
    return n;
}

static void run_sql(const struct live *live, const char *sql)
{
    char path[100];
    sqlite3 *db;

    (void)snprintf(path, sizeof path, "%s/edl.db", live->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_points_go_on_over_restarts_and_stay_at_the_end)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    double loss = 0;

    join_and_run(live);
    report(live, PROCESS_RUNNING);
    assert_int_equal(points(live, 0, &loss), 1); /* the next one is not due yet */
    assert_true(loss == 2.5);
    /* what an earlier run stored, of this job: two points */
    live_stop(live);
    run_sql(live, "INSERT OR REPLACE INTO job_series VALUES (1, 'step', 'loss', 5000000,"
                  " '[[1000,null,null,9],[2000,0.5,3,8]]')");
    live_start(live);
    assert_int_equal(points(live, 0, &loss), 2);
    assert_true(loss == 9);
    report(live, PROCESS_RUNNING); /* it is heard of: its points go on */
    assert_int_equal(points(live, 2, &loss), 3);
    assert_true(loss == 2.5);
    assert_int_equal(live_ask(live, "DELETE", "/jobs/1", NULL, NULL, &reply), 202);
    reply_clear(&reply);
    report(live, PROCESS_EXITED);
    assert_true(job_state_is_final(cluster_job(live->scheduler->cluster, 1)->state));
    assert_null(live->scheduler->series.jobs); /* stored, and out of memory */
    assert_true(points(live, 1, &loss) >= 3);
    assert_true(loss == 8);
    live_restart(live);
    assert_true(points(live, 0, &loss) >= 3);
    assert_true(loss == 9);
}
