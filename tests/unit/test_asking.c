/* SPDX-License-Identifier: Apache-2.0 */
/* test_asking.c - calls that read a database far away: handled again until all is there, and
 * each change is made once */
#include "tests/unit/live_scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/calls/asking.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/store/far/far_internal.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"min-instance\":1,\"max-instance\":1}}}"
#define SWEEP                                                                                      \
    "{\"metadata\":{\"name\":\"sweep\"},\"spec\":{\"array\":\"0-39\",\"trainer\":"                 \
    "{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":1}}}"

static int setup(void **state)
{
    (void)setenv("EDL_STORE_DELAY_MS", "10", 1);
    return live_setup(state);
}

static int teardown(void **state)
{
    (void)unsetenv("EDL_STORE_DELAY_MS");
    return live_teardown(state);
}

TEST_EACH(setup, teardown);

static void step(struct live *live, uint64_t end_us)
{
    assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
}

static void land(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (live->scheduler->flight != NULL || live->scheduler->turn_wanted)
        step(live, end_us);
}

static void await_read(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (live->scheduler->askings.reading == NULL)
        step(live, end_us);
}

static void ask(struct live *live, unsigned status, const char *method, const char *path,
                const char *body)
{
    struct reply reply = { 0 };

    if (live_ask(live, method, path, NULL, body, &reply) != status)
        fail_msg("%s %s: %u, %s", method, path, reply.status, reply.body);
    reply_clear(&reply);
}

/* The core lets go of all that is over but the last. */
static void let_go(struct live *live)
{
    cluster_keep_ended(live->scheduler->cluster, 1, 0);
    do {
        scheduler_touch(live->scheduler);
        land(live);
    } while (cluster_archive_is_due(live->scheduler->cluster));
}

static void add_ended(struct live *live, const char *job)
{
    ask(live, 201, "POST", "/jobs", job);
    ask(live, 202, "DELETE",
        strstr(job, "sweep") != NULL ? "/arrays/sweep"
        : strstr(job, "one") != NULL ? "/jobs/one"
                                     : "/jobs/two",
        "{\"reason\":\"enough\"}");
    land(live);
}

static size_t n_jobs(const struct reply *reply)
{
    return json_array_size(json_object_get(reply->json, "jobs"));
}

/* --- */

TEST(test_an_archived_job_is_shown)
{
    static const char *const paths[] = { "/jobs/1",         "/jobs/one",
                                         "/jobs/1/events",  "/jobs/1/logs",
                                         "/jobs/1/why",     "/jobs/1/processes",
                                         "/jobs/1/resizes", "/usage",
                                         "/jobs?state=all", "/audit",
                                         "/events?after=1", "/jobs?state=all&fold=1" };
    struct live *live = *state;
    struct reply reply = { 0 };

    add_ended(live, JOB("one"));
    add_ended(live, JOB("two"));
    let_go(live);
    assert_null(cluster_job(live->scheduler->cluster, 1));
    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        uint64_t rounds = live->scheduler->askings.n_rounds;

        if (live_ask(live, "GET", paths[i], NULL, NULL, &reply) != 200)
            fail_msg("%s: %u %s", paths[i], reply.status, reply.body);
        assert_true(live->scheduler->askings.n_rounds > rounds); /* it was asked for */
        assert_true(live->scheduler->askings.n_rounds <= rounds + 5);
        assert_int_equal(live->scheduler->askings.bytes, 0);
        reply_clear(&reply);
    }
    assert_int_equal(live_ask(live, "GET", "/jobs/none", NULL, NULL, &reply), 404);
    reply_clear(&reply);
}

/* Arrays of a page are counted together: a round for each would keep all others waiting. */
TEST(test_folded_arrays_are_counted_in_one_round)
{
    static const char *const paths[] = { "/jobs?state=all&fold=1&limit=200",
                                         "/jobs?state=all&fold=1&limit=200&order=newest" };
    enum { ARRAYS = 12 };
    struct live *live = *state;
    struct reply reply = { 0 };

    for (int i = 0; i < ARRAYS; i++) {
        char job[300], path[40];

        (void)snprintf(job, sizeof job,
                       "{\"metadata\":{\"name\":\"a%d\"},\"spec\":{\"array\":\"3-%d\",\"trainer\":"
                       "{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":1}}}",
                       i, 4 + i);
        ask(live, 201, "POST", "/jobs", job);
        (void)snprintf(path, sizeof path, "/arrays/a%d", i);
        ask(live, 202, "DELETE", path, "{\"reason\":\"enough\"}");
        land(live);
    }
    add_ended(live, JOB("one"));
    let_go(live);
    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        uint64_t rounds = live->scheduler->askings.n_rounds;

        assert_int_equal(live_ask(live, "GET", paths[i], NULL, NULL, &reply), 200);
        assert_in_range(live->scheduler->askings.n_rounds, rounds + 1, rounds + 5);
        assert_int_equal(n_jobs(&reply), ARRAYS + 1);
        for (int k = 0; k < ARRAYS; k++) {
            const json_t *array =
                json_object_get(json_array_get(json_object_get(reply.json, "jobs"),
                                               (size_t)(i == 0 ? k : ARRAYS - k)),
                                "array");
            char name[8];

            (void)snprintf(name, sizeof name, "a%d", k);
            assert_string_equal(json_string_value(json_object_get(array, "name")), name);
            assert_int_equal(json_integer_value(json_object_get(array, "jobs")), 2 + k);
            assert_int_equal(json_integer_value(json_object_get(array, "first_index")), 3);
        }
        reply_clear(&reply);
    }
}

TEST(test_a_list_misses_no_job_that_moves_meanwhile)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    add_ended(live, SWEEP);
    live_send(live, "GET", "/jobs?state=all&limit=200", NULL, NULL, &reply);
    await_read(live); /* all are in the core */
    let_go(live);     /* now they are in the archive */
    live_wait(live, &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(n_jobs(&reply), 40);
    reply_clear(&reply);
}

/* Where many end, each round finds that some have moved: in the end none moves for its sake. */
TEST(test_a_list_comes_to_its_end_though_jobs_move)
{
    struct live *live = *state;
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    struct reply reply = { 0 };
    unsigned held = 0;

    add_ended(live, SWEEP);
    live_send(live, "GET", "/jobs?state=all&limit=200", NULL, NULL, &reply);
    while (reply.n == 0) {
        if (live->scheduler->askings.n_holding > 0)
            held++;
        else
            live->scheduler->askings.n_archived++; /* as if some had */
        step(live, end_us);
    }
    assert_true(held > 0);
    assert_int_equal(live->scheduler->askings.n_holding, 0);
    assert_int_equal(reply.status, 200);
    assert_int_equal(n_jobs(&reply), 40);
    reply_clear(&reply);
}

TEST(test_fifty_readers_at_once)
{
    enum { READERS = 50 };
    static struct reply replies[READERS];
    struct live *live = *state;

    add_ended(live, SWEEP);
    let_go(live);
    for (int i = 0; i < READERS; i++) {
        replies[i] = (struct reply){ 0 };
        live_send(live, "GET", i % 2 == 0 ? "/jobs?state=all&limit=200" : "/jobs/3", NULL, NULL,
                  &replies[i]);
    }
    for (int i = 0; i < READERS; i++) {
        live_wait(live, &replies[i]);
        assert_int_equal(replies[i].status, 200);
        if (i % 2 == 0)
            assert_int_equal(n_jobs(&replies[i]), 40);
        reply_clear(&replies[i]);
    }
    assert_int_equal(live->scheduler->askings.bytes, 0);
}

TEST(test_callers_that_leave_are_forgotten)
{
    struct live *live = *state;
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    struct reply replies[4] = { { 0 } };

    add_ended(live, JOB("one"));
    add_ended(live, JOB("two"));
    let_go(live);
    live_send(live, "GET", "/jobs/1", NULL, NULL, &replies[0]);
    live_send(live, "GET", "/jobs?state=all", NULL, NULL, &replies[1]);
    live_send(live, "GET", "/events?after=0", NULL, NULL, &replies[2]);
    live_send(live, "GET", "/jobs/1/logs", NULL, NULL, &replies[3]);
    await_read(live);
    live->async = http_async_free(live->async);
    while (live->scheduler->askings.reading != NULL || live->scheduler->askings.begun != NULL ||
           live->scheduler->askings.bytes != 0)
        step(live, end_us);
    for (size_t i = 0; i < ELEMENTS(replies); i++)
        assert_int_equal(replies[i].n, 0);
    live_restart(live); /* with a client that is heard */
    ask(live, 200, "GET", "/jobs/1", NULL);
}

/* --- changes --- */

static void two_at_once(struct live *live)
{
    struct reply first = { 0 }, second = { 0 };

    live_send(live, "POST", "/jobs", "k1", JOB("once"), &first);
    live_send(live, "POST", "/jobs", "k1", JOB("once"), &second);
    live_wait(live, &first);
    live_wait(live, &second);
    assert_int_equal(first.status, 201);
    assert_int_equal(second.status, 201);
    assert_string_equal(first.body, second.body);
    assert_int_equal(HASH_COUNT(cluster_jobs(live->scheduler->cluster)), 1);
    reply_clear(&first);
    reply_clear(&second);
}

TEST(test_a_key_does_its_thing_once)
{
    struct live *live = *state;

    two_at_once(live);
}

/* Both ask for an earlier answer, and are told that there is none, before one of them is done. */
TEST(test_a_key_that_has_to_be_looked_up_does_its_thing_once)
{
    struct live *live = *state;

    live->scheduler->answered.whole = false;
    two_at_once(live);
    assert_true(live->scheduler->askings.n_rounds > 0);
}

/* The answer of the first is stored between the other's two rounds. */
TEST(test_a_key_answered_meanwhile_is_read_anew)
{
    struct live *live = *state;
    struct reply first = { 0 }, second = { 0 };

    live->scheduler->answered.whole = false;
    live_send(live, "POST", "/jobs", "k1", JOB("once"), &second);
    await_read(live);
    live->scheduler->answered.whole = true; /* this one is done at once */
    live_send(live, "POST", "/jobs", "k1", JOB("once"), &first);
    live_wait(live, &first);
    live_wait(live, &second);
    assert_int_equal(first.status, 201);
    assert_int_equal(second.status, 201);
    assert_string_equal(first.body, second.body);
    assert_int_equal(HASH_COUNT(cluster_jobs(live->scheduler->cluster)), 1);
    reply_clear(&first);
    reply_clear(&second);
}

TEST(test_a_new_key_is_not_looked_up)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    uint64_t rounds = live->scheduler->askings.n_rounds;

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("once"), &reply), 201);
    assert_int_equal(live->scheduler->askings.n_rounds, rounds);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("once"), &reply), 201);
    assert_int_equal(live->scheduler->askings.n_rounds, rounds + 1);
    live_restart(live);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("once"), &reply), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("twice"), &reply), 201);
    assert_int_equal(live->scheduler->askings.n_rounds, 1);
    reply_clear(&reply);
}

/* --- long polls --- */

/* The news come while it reads, for the n-th time, that there are none. */
static void hear_news_at(struct live *live, unsigned n)
{
    struct reply poll = { 0 }, page = { 0 };
    char path[80];
    uint64_t rounds, deadline_us;

    ask(live, 201, "POST", "/jobs", JOB("one"));
    land(live);
    assert_int_equal(live_ask(live, "GET", "/events?limit=1000", NULL, NULL, &page), 200);
    (void)snprintf(path, sizeof path, "/events?wait=30&after=%" PRId64,
                   (int64_t)json_integer_value(json_object_get(page.json, "newest")));
    rounds = live->scheduler->askings.n_rounds;
    deadline_us = clock_read_us(CLOCK_BOOTTIME) + 30 * USEC_PER_SEC;
    live_send(live, "GET", path, NULL, NULL, &poll);
    while (live->scheduler->askings.n_rounds < rounds + n ||
           live->scheduler->askings.reading == NULL)
        step(live, deadline_us);
    ask(live, 201, "POST", "/jobs", JOB("news"));
    live_wait(live, &poll);
    assert_int_equal(poll.status, 200);
    assert_non_null(strstr(poll.body, "news"));
    assert_true(clock_read_us(CLOCK_BOOTTIME) < deadline_us); /* not only at its end */
    reply_clear(&poll);
    reply_clear(&page);
}

TEST(test_a_long_poll_hears_of_news_while_it_begins)
{
    hear_news_at(*state, 0);
}

TEST(test_a_long_poll_hears_of_news_while_it_looks)
{
    hear_news_at(*state, 1);
}

TEST(test_a_long_poll_ends_at_its_deadline)
{
    struct live *live = *state;
    struct reply poll = { 0 }, page = { 0 };
    char path[80];

    ask(live, 201, "POST", "/jobs", JOB("one"));
    assert_int_equal(live_ask(live, "GET", "/events?limit=1000", NULL, NULL, &page), 200);
    (void)snprintf(path, sizeof path, "/events?wait=1&after=%" PRId64,
                   (int64_t)json_integer_value(json_object_get(page.json, "newest")));
    assert_int_equal(live_ask(live, "GET", path, NULL, NULL, &poll), 200);
    assert_int_equal(json_array_size(json_object_get(poll.json, "events")), 0);
    reply_clear(&poll);
    reply_clear(&page);
}

/* --- turns that are late --- */

#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":4000,\"memory_bytes\":4294967296,\"gpus\":0,"     \
    "\"port_first\":20000,\"port_last\":20099"
#define REPORT(boot_, disk_full_)                                                                  \
    "{\"boot_id\":\"" boot_ "\",\"sent_us\":1,\"processes\":[],\"disk_full\":" disk_full_          \
    "," OFFER "}"

static void join(struct live *live)
{
    ask(live, 201, "POST", "/nodes/join", "{\"node\":\"n1\"," OFFER "}");
    ask(live, 200, "POST", "/nodes/n1/report", REPORT("boot-1", "false"));
    land(live);
}

TEST(test_reports_wait_for_no_turn_that_is_late)
{
    struct live *live = *state;
    struct reply known = { 0 }, later = { 0 }, again = { 0 };

    join(live);
    live_stop_writing(live);
    live_send(live, "POST", "/nodes/n1/report", NULL, REPORT("boot-1", "true"), &known);
    live_wait(live, &known); /* it has news: the turn in flight stores them */
    assert_int_equal(known.status, 200);
    assert_true(json_is_false(json_object_get(known.json, "stored")));
    assert_true(json_integer_value(json_object_get(known.json, "lease_us")) > 0);
    assert_non_null(live->scheduler->flight);
    live_send(live, "POST", "/nodes/n1/report", NULL, REPORT("boot-1", "true"), &later);
    live_wait(live, &later);
    assert_true(json_is_false(json_object_get(later.json, "stored")));
    live_go_on_writing();
    land(live);
    assert_int_equal(live_ask(live, "POST", "/nodes/n1/report", NULL, REPORT("boot-1", "true"),
                              &again),
                     200);
    assert_null(json_object_get(again.json, "stored"));
    reply_clear(&known);
    reply_clear(&later);
    reply_clear(&again);
}
