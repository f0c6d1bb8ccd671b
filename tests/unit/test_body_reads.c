/* SPDX-License-Identifier: Apache-2.0 */
/* test_body_reads.c - large bodies: how large they may be, their reader, their order, and the
 * callers for whom they are not read
 *
 * Where an order counts the thread that reads is held at a semaphore, so that all bodies sent
 * meanwhile wait. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/report_size.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/worker.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/document_bounds.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define KIB 1024
#define DEADLINE_US (120 * USEC_PER_SEC)
#define BODY_BYTES (JOB_DOCUMENT_MAX_BYTES + 1024)

#define OFFER                                                                                      \
    "\"address\":\"127.0.0.1\",\"cpu_millicores\":4000,\"memory_bytes\":1073741824,\"gpus\":0,"    \
    "\"port_first\":20000,\"port_last\":20099"

/* document - a job's, of so many bytes; in YAML, a comment makes it so long */
static char *document(const char *name, size_t size, bool yaml)
{
    char *text = xcalloc(size + 1, 1);
    int n =
        snprintf(text, size + 1,
                 yaml ? "name: %s\nroles: [{role: trainer, command: ['true'], min: 1, max: 1,"
                        " cpu: '1000'}]\n#"
                      : "{\"name\":\"%s\",\"roles\":[{\"role\":\"trainer\",\"command\":[\"true\"],"
                        "\"min\":1,\"max\":1,\"cpu\":\"1000\"}]}",
                 name);

    (void)memset(text + n, yaml ? 'x' : ' ', size - (size_t)n);
    return text;
}

/* report - of a node, of so many bytes */
static char *report(unsigned sent_us, size_t size)
{
    char *text = xcalloc(size + 1, 1);
    int n = snprintf(text, size + 1,
                     "{\"boot_id\":\"b\",\"sent_us\":%u," OFFER ",\"processes\":[]}", sent_us);

    (void)memset(text + n, ' ', size - (size_t)n);
    return text;
}

static void join(struct live *live, bool heard)
{
    struct reply reply = { 0 };
    _cleanup_free_ char *text = report(1, KIB);

    assert_int_equal(live_ask(live, "POST", "/nodes/join", NULL, "{\"node\":\"n1\"," OFFER "}",
                              &reply),
                     201);
    if (heard)
        assert_int_equal(live_ask(live, "POST", "/nodes/n1/report", NULL, text, &reply), 200);
    reply_clear(&reply);
}

/* --- bounds --- */

static unsigned post(struct live *live, const char *path, char *take_text, struct reply *reply)
{
    unsigned status = live_ask(live, "POST", path, NULL, take_text, reply);

    free(take_text);
    return status;
}

TEST_EACH(live_setup, live_teardown);

TEST(test_documents_are_bounded)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    size_t most = JOB_DOCUMENT_MAX_BYTES;

    assert_int_equal(post(live, "/jobs", document("small", 2 * KIB, true), &reply), 201);
    assert_int_equal(live->scheduler->body_reads.n_read, 0);
    assert_int_equal(post(live, "/jobs", document("yaml", most, true), &reply), 201);
    assert_int_equal(post(live, "/jobs", document("json", most, false), &reply), 201);
    assert_int_equal(live->scheduler->body_reads.n_read, 2);
    assert_int_equal(post(live, "/jobs", document("more", most + 1, true), &reply), 413);
    assert_string_equal(reply.error.text, "the body is larger than 262144 bytes");
    assert_string_equal(reply.error.remedy, JOB_DOCUMENT_REMEDY);
    assert_int_equal(live->scheduler->body_reads.n_read, 2);
    reply_clear(&reply);
}

/* What is wrong with a document is told alike wherever it is read. */
TEST(test_a_wrong_document_is_told_alike)
{
    static const struct {
        const char *begin, *text;
    } rows[] = {
        { "a: 1\na: 2\n", "line 2, column 1: this key is given twice: a" },
        { "{\"a\":1,\n\"a\":2", "line 2, column 3: " },
        { "# c\n%TAG ! a\n", "line 2, column 1: directives are not supported" },
        { "name: x\n", "the job has no role" },
    };
    struct live *live = *state;
    struct reply small = { 0 }, large = { 0 };
    char *text = xcalloc(BODY_BYTES, 1);

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        size_t length = strlen(rows[i].begin);

        (void)memset(text, 0, BODY_BYTES);
        (void)memcpy(text, rows[i].begin, length);
        assert_int_equal(live_ask(live, "POST", "/jobs", NULL, text, &small), 422);
        if (strstr(small.error.text, rows[i].text) != small.error.text)
            fail_msg("%s", small.error.text);
        (void)memset(text + length, ' ', 100 * KIB);
        assert_int_equal(live_ask(live, "POST", "/jobs", NULL, text, &large), 422);
        if (strstr(large.error.text, rows[i].text) != large.error.text)
            fail_msg("%s", large.error.text);
        assert_string_equal(large.error.remedy, small.error.remedy);
    }
    assert_int_equal(live->scheduler->body_reads.n_read, ELEMENTS(rows));
    reply_clear(&small);
    reply_clear(&large);
    free(text);
}

/* A key says what it said the first time, however the body was read. */
TEST(test_a_large_body_has_its_key)
{
    struct live *live = *state;
    struct reply first = { 0 }, again = { 0 };
    char *text = document("keyed", 100 * KIB, true);

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", text, &first), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", text, &again), 201);
    assert_string_equal(first.body, again.body);
    text[100 * KIB - 1] = 'y';
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", text, &again), 422);
    reply_clear(&first);
    reply_clear(&again);
    free(text);
}

/* How much a report may hold follows from what the node has. */
TEST(test_reports_are_bounded)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    struct node *node;

    join(live, false);
    node = cluster_node(live->scheduler->cluster, "n1");
    assert_int_equal(post(live, "/nodes/n1/report", report(2, 4 * KIB * KIB), &reply), 200);
    assert_int_equal(post(live, "/nodes/n1/report", report(3, 64 * KIB), &reply), 200);
    assert_int_equal(post(live, "/nodes/n1/report", report(4, 64 * KIB + 1), &reply), 413);
    assert_string_equal(reply.error.text, "the body is larger than 65536 bytes");
    assert_non_null(strstr(reply.error.remedy, "restart its agent"));
    node->had.before = 2; /* processes, a minute ago */
    assert_int_equal(post(live, "/nodes/n1/report", report(5, 80 * KIB), &reply), 200);
    assert_int_equal(post(live, "/nodes/n1/report", report(6, 80 * KIB + 1), &reply), 413);
    reply_clear(&reply);
}

TEST_PLAIN(test_what_a_node_has)
{
    const struct document_bounds most = { .bytes = SIZE_MAX, .values = 100000 };
    struct node node = { .heard = true, .n_processes = 3, .n_stale = 1 };
    struct document_bounds bounds = most;

    cluster_bound_report(&node, &bounds);
    assert_int_equal(bounds.bytes, (64 + 4 * 8) * KIB);
    assert_int_equal(bounds.values, 4096 + 4 * 64);
    node.had.before = 10;
    cluster_bound_report(&node, &bounds); /* never more than it was */
    assert_int_equal(bounds.bytes, (64 + 4 * 8) * KIB);
    bounds = most;
    cluster_bound_report(&node, &bounds);
    assert_int_equal(bounds.bytes, (64 + 11 * 8) * KIB);
    node.heard = false;
    bounds = most;
    cluster_bound_report(&node, &bounds);
    assert_int_equal(bounds.bytes, (64 + 2048 * 8) * KIB);
    assert_int_equal(bounds.values, 100000);
}

/* --- the order --- */

struct hold {
    struct worker_job job; /* first */
    sem_t at;
    bool over;
};

static void run_hold(struct worker_job *job)
{
    (void)sem_wait(&((struct hold *)job)->at);
}

static void on_held(struct worker_job *job)
{
    ((struct hold *)job)->over = true;
}

/* The thread stands still from here on, until hold_end. */
static void hold_begin(struct live *live, struct hold *hold)
{
    *hold = (struct hold){ .job = { .run = run_hold, .done = on_held } };
    assert_int_equal(sem_init(&hold->at, 0, 0), 0);
    worker_start(live->scheduler->body_reads.worker, &hold->job);
}

static void step(struct live *live)
{
    assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
}

static void hold_end(struct live *live, struct hold *hold)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    assert_int_equal(sem_post(&hold->at), 0);
    while (!hold->over) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
    (void)sem_destroy(&hold->at);
}

static size_t waiting(const struct live *live, enum dispatch_tier tier)
{
    return fair_waiting(live->scheduler->body_reads.waiting[tier], FAIR_ALL);
}

static void await_waiting(struct live *live, enum dispatch_tier tier, size_t n)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (waiting(live, tier) != n) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
}

/* The one that is being read when a node reports is the last before the report. */
TEST(test_nodes_go_first)
{
    enum { MANY = 8 };
    struct live *live = *state;
    struct reply replies[MANY] = { 0 }, reported = { 0 };
    char *large = report(2, 256 * KIB);
    struct hold hold;

    join(live, false);
    hold_begin(live, &hold);
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        char *text;

        (void)snprintf(name, sizeof name, "job-%u", i);
        text = document(name, 100 * KIB, true);
        live_send(live, "POST", "/jobs", NULL, text, &replies[i]);
        free(text);
    }
    await_waiting(live, DISPATCH_PEOPLE, MANY - 1);
    live_send(live, "POST", "/nodes/n1/report", NULL, large, &reported);
    free(large);
    await_waiting(live, DISPATCH_NODES, 1);
    hold_end(live, &hold);
    while (!cluster_node(live->scheduler->cluster, "n1")->heard)
        step(live);
    assert_true(HASH_COUNT(live->scheduler->cluster->jobs) <= 1);
    live_wait(live, &reported);
    assert_int_equal(reported.status, 200);
    for (unsigned i = 0; i < MANY; i++) {
        live_wait(live, &replies[i]);
        assert_int_equal(replies[i].status, 201);
        reply_clear(&replies[i]);
    }
    assert_int_equal(live->scheduler->body_reads.n_read, MANY + 1);
    reply_clear(&reported);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    (void)answer;
    ++*(unsigned *)userdata;
}

static struct http_async_call *send_to_leave(struct live *live, const char *body, unsigned *answers)
{
    struct http_call call = { .method = "POST",
                              .path = "/jobs",
                              .bearer_token = live->scheduler->admin_token,
                              .body = body,
                              .body_size = strlen(body) };
    struct http_async_call *started;
    struct edl_error error = { 0 };

    assert_int_equal(http_async_start(live->async, &call, on_answer, answers, &started, &error), 0);
    return started;
}

/* One whose caller leaves while it is read has been read for nothing; of the others none is. */
TEST(test_who_has_left_is_not_read_for)
{
    enum { MANY = 5 };
    struct live *live = *state;
    struct http_async_call *calls[MANY];
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    struct reply reply = { 0 };
    char *text = document("left", 100 * KIB, true);
    unsigned answers = 0;
    struct hold hold;

    hold_begin(live, &hold);
    for (unsigned i = 0; i < MANY; i++)
        calls[i] = send_to_leave(live, text, &answers);
    await_waiting(live, DISPATCH_PEOPLE, MANY - 1);
    for (unsigned i = 0; i < MANY; i++)
        http_async_cancel(calls[i]);
    while (live->scheduler->body_reads.n_left < MANY) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        step(live);
    }
    assert_int_equal(waiting(live, DISPATCH_PEOPLE), 0);
    hold_end(live, &hold);
    free(text);
    assert_int_equal(post(live, "/jobs", document("stays", 100 * KIB, true), &reply), 201);
    assert_int_equal(live->scheduler->body_reads.n_read, 2);
    assert_int_equal(HASH_COUNT(live->scheduler->cluster->jobs), 1);
    assert_int_equal(answers, 0);
    reply_clear(&reply);
}

/* A scheduler that ends leaves nothing of what waits. */
TEST(test_it_ends_while_bodies_wait)
{
    struct live *live = *state;
    char *text = document("late", 100 * KIB, true);
    unsigned answers = 0;

    for (unsigned i = 0; i < 3; i++)
        (void)send_to_leave(live, text, &answers);
    await_waiting(live, DISPATCH_PEOPLE, 2);
    free(text);
    live_restart(live);
}

/* --- the start --- */

/* What people want changed waits, what they want to see does not. */
TEST(test_a_start_hears_nodes_first)
{
    struct live *live = *state;
    struct reply small = { 0 }, large = { 0 }, read = { 0 }, reported = { 0 };
    char *little = document("small", 2 * KIB, true), *much = document("large", 100 * KIB, true);
    char *text = report(2, KIB), again[KIB];

    join(live, true);
    assert_false(live->scheduler->dispatch.opening);
    live_restart(live);
    assert_true(live->scheduler->dispatch.opening);
    /* as long as it takes here */
    assert_true(sd_event_source_set_enabled(live->scheduler->dispatch.opened, SD_EVENT_OFF) >= 0);
    live_send(live, "POST", "/jobs", NULL, little, &small);
    live_send(live, "POST", "/jobs", NULL, much, &large);
    await_waiting(live, DISPATCH_PEOPLE, 1);
    assert_int_equal(live_ask(live, "GET", "/jobs", NULL, NULL, &read), 200);
    assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &read), 200);
    assert_int_equal(small.n + large.n, 0);
    /* as it is of a boot that this run has not heard of, it is to come once more */
    assert_int_equal(live_ask(live, "POST", "/nodes/n1/report", NULL, text, &reported), 409);
    assert_true(live->scheduler->dispatch.opening);
    assert_int_equal(small.n + large.n, 0);
    (void)snprintf(again, sizeof again, "{\"session\":%lld,%.400s",
                   (long long)json_integer_value(json_object_get(reported.json, "session")),
                   text + 1);
    assert_int_equal(live_ask(live, "POST", "/nodes/n1/report", NULL, again, &reported), 200);
    assert_false(live->scheduler->dispatch.opening);
    live_wait(live, &small);
    live_wait(live, &large);
    assert_int_equal(small.status, 201);
    assert_int_equal(large.status, 201);
    free(little);
    free(much);
    free(text);
    reply_clear(&small);
    reply_clear(&large);
    reply_clear(&read);
    reply_clear(&reported);
}

/* A node that is gone for good keeps nobody waiting. */
TEST(test_a_start_does_not_wait_for_long)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    join(live, true);
    live_restart(live);
    assert_true(live->scheduler->dispatch.opening);
    assert_int_equal(post(live, "/jobs", document("small", 2 * KIB, true), &reply), 201);
    assert_false(live->scheduler->dispatch.opening);
    assert_false(cluster_node(live->scheduler->cluster, "n1")->heard);
    reply_clear(&reply);
}
