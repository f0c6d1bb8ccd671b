/* SPDX-License-Identifier: Apache-2.0 */
/* test_idempotency.c - Idempotency-Key: the same request again has the same answer, and one effect
 */
#include "tests/unit/live_scheduler.h"

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/idempotency.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":"        \
    "{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":2}}}"
#define BAD_JOB "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}"

static size_t n_jobs(struct live *live)
{
    struct reply reply = { 0 };
    size_t n;

    assert_int_equal(live_ask(live, "GET", "/jobs?state=all", NULL, NULL, &reply), 200);
    n = json_array_size(json_object_get(reply.json, "jobs"));
    reply_clear(&reply);
    return n;
}

static void assert_other(const struct reply *reply)
{
    assert_int_equal(reply->status, 422);
    assert_non_null(strstr(reply->body, "was used for a request with another method"));
    assert_true(reply->error.remedy[0] != '\0');
}

TEST_EACH(live_setup, live_teardown);

TEST(test_same_request_has_the_same_answer)
{
    struct live *live = *state;
    struct reply first = { 0 }, again = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &first), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &again), 201);
    assert_string_equal(again.body, first.body);
    assert_int_equal(n_jobs(live), 1);
    live_restart(live);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &again), 201);
    assert_string_equal(again.body, first.body);
    assert_int_equal(n_jobs(live), 1);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("b"), &again), 201);
    assert_int_equal(n_jobs(live), 2);
    reply_clear(&first);
    reply_clear(&again);
}

TEST(test_other_request_is_refused)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &reply), 201);
    (void)live_ask(live, "POST", "/jobs", "k1", JOB("b"), &reply);
    assert_other(&reply);
    (void)live_ask(live, "POST", "/jobs?dry_run=1", "k1", JOB("a"), &reply);
    assert_other(&reply);
    (void)live_ask(live, "DELETE", "/jobs/a", "k1", NULL, &reply);
    assert_other(&reply);
    live_restart(live);
    (void)live_ask(live, "POST", "/jobs", "k1", JOB("b"), &reply);
    assert_other(&reply);
    assert_int_equal(n_jobs(live), 1);
    reply_clear(&reply);
}

/* Three of the same and a fourth that is not, before the first is committed. */
TEST(test_keys_within_a_turn)
{
    struct live *live = *state;
    struct reply same[3] = { 0 }, other = { 0 }, health = { 0 };

    live_send(live, "POST", "/jobs", "k1", JOB("a"), &same[0]);
    live_hold(live);
    live_send(live, "POST", "/jobs", "k1", JOB("a"), &same[1]);
    live_send(live, "POST", "/jobs", "k1", JOB("a"), &same[2]);
    live_send(live, "POST", "/jobs", "k1", JOB("b"), &other);
    for (int i = 0; i < 3; i++) /* the loop has seen them all by then */
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    assert_int_equal(same[0].n + same[1].n + same[2].n + other.n, 0);
    live_release(live);
    for (size_t i = 0; i < ELEMENTS(same); i++) {
        live_wait(live, &same[i]);
        assert_int_equal(same[i].status, 201);
        assert_string_equal(same[i].body, same[0].body);
    }
    live_wait(live, &other);
    assert_other(&other);
    assert_int_equal(n_jobs(live), 1);
    for (size_t i = 0; i < ELEMENTS(same); i++)
        reply_clear(&same[i]);
    reply_clear(&other);
    reply_clear(&health);
}

/* Answer and effect are one transaction: a retry after a failure does what was not done. */
TEST(test_key_of_a_turn_that_failed_is_free)
{
    struct live *live = *state;
    struct reply first = { 0 }, same = { 0 }, health = { 0 };

    live_send(live, "POST", "/jobs", "k1", JOB("a"), &first);
    live_hold(live);
    live_send(live, "POST", "/jobs", "k1", JOB("a"), &same);
    for (int i = 0; i < 3; i++)
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    live_disk_full(true);
    live_release(live);
    live_wait(live, &first);
    live_wait(live, &same);
    live_disk_full(false);
    assert_true(first.status >= 500);
    assert_int_equal(same.status, first.status);
    live_restart(live);
    assert_int_equal(n_jobs(live), 0);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &same), 201);
    assert_int_equal(n_jobs(live), 1);
    reply_clear(&first);
    reply_clear(&same);
    reply_clear(&health);
}

TEST(test_what_did_nothing_is_not_remembered)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", BAD_JOB, &reply), 422);
    assert_null(strstr(reply.body, "Idempotency"));
    assert_int_equal(live_ask(live, "POST", "/jobs?dry_run=1", "k1", JOB("a"), &reply), 200);
    assert_int_equal(live_ask(live, "DELETE", "/jobs/a", "k1", NULL, &reply), 404);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &reply), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("a"), &reply), 409);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("b"), &reply), 201);
    assert_int_equal(n_jobs(live), 2);
    reply_clear(&reply);
}

/* A forecast and a refusal that wait for the commit of another request are not remembered either.
 */
TEST(test_what_did_nothing_within_a_turn_is_not_remembered)
{
    struct live *live = *state;
    struct reply posted = { 0 }, forecast = { 0 }, refusal = { 0 }, health = { 0 };

    live_send(live, "POST", "/jobs", NULL, JOB("a"), &posted);
    live_hold(live);
    live_send(live, "POST", "/jobs?dry_run=1", "k1", JOB("b"), &forecast);
    live_send(live, "POST", "/jobs", "k2", JOB("a"), &refusal);
    for (int i = 0; i < 3; i++)
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    live_release(live);
    live_wait(live, &forecast);
    live_wait(live, &refusal);
    assert_int_equal(forecast.status, 200);
    assert_int_equal(refusal.status, 409);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("b"), &forecast), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("c"), &refusal), 201);
    live_wait(live, &posted);
    reply_clear(&posted);
    reply_clear(&health);
    reply_clear(&forecast);
    reply_clear(&refusal);
}

/* The scheduler ends in the middle of a turn: nothing was done, and the key is free. */
TEST(test_end_within_a_turn_frees_the_key)
{
    struct live *live = *state;
    struct reply first = { 0 }, same = { 0 }, read = { 0 };

    live_send(live, "POST", "/jobs", "k1", JOB("a"), &first);
    live_hold(live);
    live_send(live, "POST", "/jobs", "k1", JOB("a"), &same);
    live_send(live, "GET", "/jobs", NULL, NULL, &read);
    live_readers(live, 1);
    live_restart(live);
    assert_int_equal(first.n + same.n + read.n, 0); /* the test's client went with it */
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &first), 201);
    assert_int_equal(n_jobs(live), 1);
    reply_clear(&first);
}

/* What was answered is that much older when the scheduler is there again. */
static void let_pass(struct live *live, unsigned minutes)
{
    char path[100], sql[120];
    sqlite3 *db;

    live_stop(live);
    (void)snprintf(path, sizeof path, "%s/edl.db", live->folder);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE answer SET answered_wall_us = answered_wall_us - %u * 60000000",
                   minutes);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    (void)sqlite3_close(db);
    live_start(live);
}

TEST(test_key_is_free_after_24_hours)
{
    struct live *live = *state;
    struct reply first = { 0 }, again = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &first), 201);
    let_pass(live, 24 * 60 - 5);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &again), 201);
    assert_string_equal(again.body, first.body);
    let_pass(live, 6);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("a"), &again), 409);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("b"), &again), 201);
    assert_int_equal(n_jobs(live), 2);
    reply_clear(&first);
    reply_clear(&again);
}

TEST(test_patch_and_delete)
{
    static const struct {
        const char *method, *path, *body;
    } calls[] = {
        { "PATCH", "/jobs/a", "{\"max\":3}" },
        { "PATCH", "/nodes/n1", "{\"state\":\"cordoned\"}" },
        { "DELETE", "/jobs/a", "{\"reason\":\"enough\"}" },
        { "DELETE", "/nodes/n1", NULL },
    };
    struct live *live = *state;
    struct reply first = { 0 }, again = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, JOB("a"), &first), 201);
    assert_int_equal(
        live_ask(live, "POST", "/nodes/join", NULL,
                 "{\"node\":\"n1\",\"address\":\"10.0.0.7\",\"cpu_millicores\":1,"
                 "\"memory_bytes\":1,\"gpus\":0,\"port_first\":20000,\"port_last\":20001}",
                 &first),
        201);
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%zu", i);
        (void)live_ask(live, calls[i].method, calls[i].path, key, calls[i].body, &first);
        if (first.status / 100 != 2)
            fail_msg("%s %s: %s", calls[i].method, calls[i].path, first.body);
        live_restart(live);
        (void)live_ask(live, calls[i].method, calls[i].path, key, calls[i].body, &again);
        assert_int_equal(again.status, first.status);
        assert_string_equal(again.body, first.body);
    }
    /* without the key the second one is refused: the node is gone */
    assert_int_equal(live_ask(live, "DELETE", "/nodes/n1", NULL, NULL, &again), 404);
    reply_clear(&first);
    reply_clear(&again);
}

TEST(test_bad_keys_are_refused)
{
    char longest[IDEMPOTENCY_KEY_MAX + 2];
    const char *const bad[] = { "two words", "tab\there", "\xc3\xa9", longest };
    struct live *live = *state;
    struct reply reply = { 0 };

    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        assert_int_equal(live_ask(live, "POST", "/jobs", bad[i], JOB("a"), &reply), 400);
        assert_non_null(strstr(reply.body, "Idempotency-Key"));
    }
    assert_int_equal(n_jobs(live), 0);
    assert_int_equal(live_ask(live, "POST", "/jobs", longest + 1, JOB("a"), &reply), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "\"8e03978e-40d5\"", JOB("b"), &reply), 201);
    assert_int_equal(live_ask(live, "GET", "/jobs", "two words", NULL, &reply), 200);
    reply_clear(&reply);
}
