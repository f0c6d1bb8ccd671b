/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_far.c - a scheduler whose database is far: what is answered while a turn is in flight,
 * and what comes of it */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/turn_flight.h"
#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/store_internal.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"min-instance\":1,\"max-instance\":1}}}"
#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":4000,\"memory_bytes\":4294967296,\"gpus\":0,"     \
    "\"port_first\":20000,\"port_last\":20099"
#define REPORT "{\"boot_id\":\"b1\",\"sent_us\":1,\"processes\":[]," OFFER "}"

static int setup(void **state)
{
    (void)setenv("EDL_STORE_DELAY_MS", "0", 1);
    return live_setup(state);
}

static int teardown(void **state)
{
    (void)unsetenv("EDL_STORE_DELAY_MS");
    return live_teardown(state);
}

TEST_EACH(setup, teardown);

static void ask(struct live *live, unsigned status, const char *method, const char *path,
                const char *key, const char *body, struct reply *reply)
{
    if (live_ask(live, method, path, key, body, reply) != status)
        fail_msg("%s %s: %u, %s", method, path, reply->status, reply->body);
}

static void step(struct live *live)
{
    assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
}

/* Until a turn is in flight that nothing has answered. */
static void await_flight(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (live->scheduler->flight == NULL) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
}

static void await_landing(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (live->scheduler->flight != NULL || live->scheduler->turn_wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
}

static const char *join(struct live *live, char credential[65])
{
    struct reply reply = { 0 };

    live->token = live->scheduler->join_token;
    ask(live, 201, "POST", "/nodes/join", NULL, "{\"node\":\"n1\",\"boot_id\":\"b1\"," OFFER "}",
        &reply);
    (void)snprintf(credential, 65, "%s",
                   json_string_value(json_object_get(reply.json, "credential")));
    live->token = credential;
    ask(live, 200, "POST", "/nodes/n1/report", NULL, REPORT, &reply);
    reply_clear(&reply);
    live->token = NULL;
    return credential;
}

TEST(test_what_is_stored_is_read_back)
{
    struct live *live = *state;
    struct reply reply = { 0 }, again = { 0 };

    assert_non_null(far_of(live->scheduler->store));
    ask(live, 201, "POST", "/users", NULL, "{\"name\":\"ann\"}", &reply);
    ask(live, 201, "POST", "/jobs", "k1", JOB("kept"), &reply);
    live_restart(live);
    ask(live, 201, "POST", "/jobs", "k1", JOB("kept"), &again);
    assert_string_equal(again.body, reply.body);
    ask(live, 200, "GET", "/users/ann", NULL, NULL, &reply);
    ask(live, 200, "GET", "/events?after=0", NULL, NULL, &reply);
    assert_non_null(strstr(reply.body, "job-queued"));
    reply_clear(&reply);
    reply_clear(&again);
}

TEST(test_calls_wait_for_the_turn_in_flight)
{
    struct live *live = *state;
    struct reply first = { 0 }, second = { 0 }, read = { 0 }, health = { 0 };

    await_landing(live);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("one"), &first);
    await_flight(live);
    live_send(live, "POST", "/jobs", NULL, JOB("two"), &second);
    live_send(live, "GET", "/jobs", NULL, NULL, &read);
    live_send(live, "GET", "/healthz", NULL, NULL, &health);
    live_wait(live, &health);
    assert_non_null(live->scheduler->flight);
    assert_int_equal(first.n + second.n + read.n, 0);
    assert_null(cluster_job(live->scheduler->cluster, 2)); /* nothing changed the core */
    live_go_on_writing();
    live_wait(live, &first);
    live_wait(live, &read);
    live_wait(live, &second);
    assert_int_equal(first.status, 201);
    assert_int_equal(second.status, 201);
    assert_non_null(strstr(read.body, "\"one\""));
    reply_clear(&first);
    reply_clear(&second);
    reply_clear(&read);
    reply_clear(&health);
}

TEST(test_a_report_in_flight_gets_its_lease)
{
    struct live *live = *state;
    struct reply job = { 0 }, report = { 0 };
    const struct node *node;
    char credential[65];
    uint64_t before_us;

    (void)join(live, credential);
    await_landing(live);
    node = cluster_node(live->scheduler->cluster, "n1");
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("one"), &job);
    await_flight(live);
    before_us = node->lease_deadline_us;
    live_send_as(live, credential, "POST", "/nodes/n1/report", NULL, REPORT, &report);
    live_wait(live, &report);
    assert_non_null(live->scheduler->flight);
    assert_int_equal(job.n, 0);
    assert_int_equal(report.status, 200);
    assert_true(json_is_false(json_object_get(report.json, "stored")));
    assert_true(json_integer_value(json_object_get(report.json, "lease_us")) > 0);
    assert_true(node->lease_deadline_us > before_us);
    live_go_on_writing();
    live_wait(live, &job);
    reply_clear(&job);
    reply_clear(&report);
}

/* A database that stands still lets no more come in than may wait: the rest is told to come again,
 * and nothing of them is in the core, or in the turn. */
TEST(test_a_burst_in_flight_waits_or_is_refused)
{
    enum { BURST = 300, MAY_WAIT = 256 };
    struct live *live = *state;
    struct scheduler *scheduler = live->scheduler;
    struct reply first = { 0 }, *replies = xcalloc(BURST, sizeof *replies);
    char(*jobs)[sizeof JOB("more-999")] = xcalloc(BURST, sizeof *jobs);
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    size_t n_refused = 0;

    await_landing(live);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("first"), &first);
    await_flight(live);
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(jobs[i], sizeof jobs[i], JOB("more-%03d"), i);
        live_send(live, "POST", "/jobs", NULL, jobs[i], &replies[i]);
    }
    while (scheduler->dispatch.refused[FAIR_CALLER_FULL] < BURST - MAY_WAIT) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
    assert_int_equal(fair_waiting(scheduler->dispatch.waiting[DISPATCH_PEOPLE], FAIR_ALL),
                     MAY_WAIT);
    assert_null(cluster_job(scheduler->cluster, 2));
    live_go_on_writing();
    for (size_t i = 0; i < BURST; i++) {
        live_wait(live, &replies[i]);
        assert_true(replies[i].status == 201 || replies[i].status == 429);
        n_refused += replies[i].status == 429;
        reply_clear(&replies[i]);
    }
    assert_int_equal(n_refused, BURST - MAY_WAIT);
    live_wait(live, &first);
    reply_clear(&first);
    free(replies);
    free(jobs);
}

/* A document takes far more memory than its body: few are read while a database stands still. */
TEST(test_large_bodies_in_flight_wait_as_they_came)
{
    enum { BODIES = 24, READ_AHEAD = 16, BYTES = 20000 };
    struct live *live = *state;
    struct scheduler *scheduler = live->scheduler;
    const struct fair *read = scheduler->dispatch.waiting[DISPATCH_PEOPLE];
    const struct fair *raw = scheduler->body_reads.waiting[DISPATCH_PEOPLE];
    struct reply first = { 0 }, replies[BODIES] = { 0 };
    char(*jobs)[BYTES] = xcalloc(BODIES, sizeof *jobs);
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    await_landing(live);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("first"), &first);
    await_flight(live);
    for (int i = 0; i < BODIES; i++) {
        int n = snprintf(jobs[i], BYTES, JOB("large-%02d"), i);

        (void)memset(jobs[i] + n, ' ', (size_t)(BYTES - n - 1));
        live_send(live, "POST", "/jobs", NULL, jobs[i], &replies[i]);
    }
    while (fair_waiting(read, FAIR_ALL) + fair_waiting(raw, FAIR_ALL) < BODIES) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
    assert_int_equal(fair_waiting(read, FAIR_ALL), READ_AHEAD);
    assert_int_equal(scheduler->dispatch.n_read, READ_AHEAD);
    live_go_on_writing();
    for (int i = 0; i < BODIES; i++) {
        live_wait(live, &replies[i]);
        assert_int_equal(replies[i].status, 201);
        reply_clear(&replies[i]);
    }
    assert_int_equal(scheduler->dispatch.n_read, 0);
    live_wait(live, &first);
    reply_clear(&first);
    free(jobs);
}

#define REPORT_OF(state_)                                                                          \
    "{\"boot_id\":\"b1\",\"sent_us\":2,\"processes\":[{\"job_id\":1,\"role\":\"trainer\","         \
    "\"index\":0,"                                                                                 \
    "\"incarnation\":1,\"exit_code\":0,\"state\":\"" state_ "\"}]," OFFER "}"

/* run_one - job 1 runs on n1 */
static void run_one(struct live *live, char credential[65])
{
    struct reply reply = { 0 };

    (void)join(live, credential);
    ask(live, 201, "POST", "/jobs", NULL, JOB("one"), &reply);
    await_landing(live);
    live->token = credential;
    ask(live, 200, "POST", "/nodes/n1/report", NULL, REPORT_OF("running"), &reply);
    live->token = NULL;
    await_landing(live);
    assert_int_equal(cluster_job(live->scheduler->cluster, 1)->state, JOB_RUNNING);
    reply_clear(&reply);
}

/* land - the turn in flight comes back, and no other begins */
static void land(struct live *live)
{
    const struct turn_flight *flight = live->scheduler->flight;

    assert_non_null(flight);
    live_go_on_writing();
    while (live->scheduler->flight == flight)
        step(live);
    assert_null(live->scheduler->flight);
}

/* Turns may follow each other without a pause, and each may take longer than a report waits: the
 * end of a process is known behind the one in which it was told. */
TEST(test_news_that_came_in_flight_are_taken_behind_it)
{
    struct live *live = *state;
    struct reply job = { 0 }, report = { 0 };
    const struct job *one;
    char credential[65];

    run_one(live, credential);
    one = cluster_job(live->scheduler->cluster, 1);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("two"), &job);
    await_flight(live);
    live_send_as(live, credential, "POST", "/nodes/n1/report", NULL, REPORT_OF("exited"), &report);
    live_wait(live, &report);
    assert_true(json_is_false(json_object_get(report.json, "stored")));
    assert_int_equal(one->state, JOB_RUNNING);
    land(live);
    assert_int_equal(one->state, JOB_SUCCEEDED);
    live_wait(live, &job);
    reply_clear(&job);
    reply_clear(&report);
}

/* The next turn is wanted already: a report that waits comes before it all the same. */
TEST(test_a_report_that_waits_comes_before_the_next_turn)
{
    struct live *live = *state;
    struct scheduler *scheduler = live->scheduler;
    struct reply job = { 0 }, report = { 0 };
    const struct job *one;
    char credential[65];

    run_one(live, credential);
    one = cluster_job(scheduler->cluster, 1);
    for (size_t i = 0; i < ELEMENTS(scheduler->flights_took_us); i++)
        scheduler->flights_took_us[i] = LIVE_LEASE_US; /* so it waits */
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("two"), &job);
    await_flight(live);
    live_send_as(live, credential, "POST", "/nodes/n1/report", NULL, REPORT_OF("exited"), &report);
    while (report.n == 0 &&
           fair_waiting(scheduler->dispatch.waiting[DISPATCH_NODES], FAIR_ALL) == 0)
        step(live);
    scheduler_touch(scheduler);
    land(live);
    assert_int_equal(one->state, JOB_SUCCEEDED);
    live_wait(live, &report);
    live_wait(live, &job);
    reply_clear(&job);
    reply_clear(&report);
}

static void see_late(void *userdata, const char *node, const json_t *body)
{
    assert_string_equal(node, "n1");
    *(json_int_t *)userdata += json_integer_value(body);
}

TEST(test_the_newest_late_report_of_a_node_is_kept)
{
    static const uint64_t sent_us[] = { 1, 3, 2 };
    struct late_reports reports = { 0 };
    json_int_t sum = 0;

    for (size_t i = 0; i < ELEMENTS(sent_us); i++) {
        json_t *body = json_integer((json_int_t)sent_us[i]);

        late_reports_keep(&reports, "n1", sent_us[i], body);
        json_decref(body);
    }
    late_reports_take(&reports, see_late, &sum);
    assert_int_equal(sum, 3);
    late_reports_take(&reports, see_late, &sum);
    assert_int_equal(sum, 3);
}

/* The process ends with a turn on its way: it is there or not, and nobody was told that it is. */
TEST(test_an_end_in_flight_tells_nothing)
{
    struct live *live = *state;
    struct reply job = { 0 }, again = { 0 };

    await_landing(live);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", "k1", JOB("one"), &job);
    await_flight(live);
    live_restart(live);
    live_go_on_writing(); /* of the former one: its thread ends alone */
    assert_true(job.status != 201);
    ask(live, 201, "POST", "/jobs", "k1", JOB("one"), &again);
    assert_int_equal(json_integer_value(json_object_get(again.json, "id")), 1);
    reply_clear(&job);
    reply_clear(&again);
}

TEST(test_a_commit_that_fails_refuses_its_calls)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    ask(live, 201, "POST", "/jobs", NULL, JOB("kept"), &reply);
    live_disk_full(true);
    ask(live, 507, "POST", "/jobs", NULL, JOB("lost"), &reply);
    assert_null(cluster_job(live->scheduler->cluster, 2));
    live_disk_full(false);
    while (live->scheduler->degraded.on) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
    ask(live, 201, "POST", "/jobs", NULL, JOB("more"), &reply);
    reply_clear(&reply);
}

/* A commit whose fate is not known ends the term, whatever the disk has. */
TEST(test_a_full_disk_is_no_excuse_for_an_unknown_fate)
{
    static const struct {
        int code;
        enum leadership_role role;
        bool ends; /* by a word of a node, behind the turn */
        bool outlives, ends_at;
    } rows[] = {
        { -ENOSPC, ROLE_LEADER, false, true, true },
        { -ENOSPC, ROLE_LEADER, true, false, true },
        { -ENOSPC, ROLE_AWAY, false, false, true },
        { -ENOSPC, ROLE_ALONE, false, false, false },
        { -ENOTCONN, ROLE_LEADER, false, false, true },
        { -ESTALE, ROLE_LEADER, false, false, true },
        { -EAGAIN, ROLE_LEADER, false, false, true },
        { -ETIMEDOUT, ROLE_LEADER, false, false, true },
        { -ETIMEDOUT, ROLE_ALONE, false, false, false },
        { EDL_ECORRUPT, ROLE_LEADER, false, false, false },
    };
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        leadership->role = rows[i].role;
        leadership->ends = rows[i].ends;
        if (leadership_outlives(live->scheduler, rows[i].code) != rows[i].outlives ||
            leadership_ends_at(live->scheduler, rows[i].code) != rows[i].ends_at)
            fail_msg("case %zu", i);
    }
    leadership->role = ROLE_ALONE;
    leadership->ends = false;
}

/* --- a commit that never comes back --- */

static int lose(struct engine *engine)
{
    (void)engine;
    return -ENOTCONN;
}

static int tell_lost(struct engine *engine, const char *what, struct edl_error *error)
{
    (void)engine;
    return edl_error_set(error, -ENOTCONN, "the database is lost (%s)", what);
}

/* Reads queue behind a commit that hangs until it is given up. Each is told to come again then. */
TEST(test_each_read_behind_a_lost_commit_is_told_to_come_again)
{
    static struct engine_calls lost; /* also behind the test */
    static const char *const paths[] = {
        "/jobs",
        "/jobs?state=all",
        "/jobs/one",
        "/jobs/one/why",
        "/jobs/one/events",
        "/jobs/one/history",
        "/jobs/one/processes",
        "/jobs/one/logs",
        "/jobs/no-such",
        "/events?after=0",
        "/events?after=1000000&wait=60",
        "/nodes",
        "/history/allocation",
        "/cluster",
        "/usage",
        "/audit",
        "/users",
        "/schedulers",
    };
    struct live *live = *state;
    struct scheduler *scheduler = live->scheduler;
    struct engine *engine = far_of(scheduler->store)->near->engine;
    struct reply job = { 0 }, plan = { 0 }, replies[ELEMENTS(paths)] = { 0 };

    ask(live, 201, "POST", "/jobs", NULL, JOB("one"), &job);
    await_landing(live);
    reply_clear(&job);
    scheduler->leadership.role = ROLE_LEADER;
    leadership_stored(scheduler, clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US);
    live_stop_writing(live);
    live_send(live, "POST", "/jobs", NULL, JOB("two"), &job);
    await_flight(live);
    live_send(live, "POST", "/jobs?dry_run=1", NULL, JOB("three"), &plan);
    for (size_t i = 0; i < ELEMENTS(paths); i++)
        live_send(live, "GET", paths[i], NULL, NULL, &replies[i]);
    live_readers(live, ELEMENTS(paths));
    lost = *engine->calls;
    lost.commit = lose;
    lost.error = tell_lost;
    engine->calls = &lost;
    live_go_on_writing();
    live_wait(live, &job);
    live_wait(live, &plan);
    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        live_wait(live, &replies[i]);
        if (replies[i].status != 503 || replies[i].retry_after_s == 0)
            fail_msg("GET %s: %u, %s", paths[i], replies[i].status, replies[i].body);
        reply_clear(&replies[i]);
    }
    assert_int_equal(job.status, 503);
    assert_int_equal(plan.status, 503);
    assert_true(job.retry_after_s > 0 && plan.retry_after_s > 0);
    reply_clear(&job);
    reply_clear(&plan);
}
