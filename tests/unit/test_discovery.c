/* SPDX-License-Identifier: Apache-2.0 */
/* test_discovery.c - the members and the servers, as the API tells them: long polls */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/job_names.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define MEET "/jobs/self-made/rendezvous"
#define SIZE 3

/* of SIZE at least, so that it starts with them and grows to one more on four cores */
static const char job_document[] =
    "{\"metadata\":{\"name\":\"self-made\"},\"spec\":{\"mode\":\"collective\",\"fault_tolerant\":"
    "true,\"trainer\":{\"command\":[\"true\"],\"min-instance\":3,\"max-instance\":4,"
    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}}";

static void turn(struct live *live)
{
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
}

/* The node says that everything ordered runs, but for one incarnation that was killed (0: none). */
static void report(struct live *live, const char *name, uint64_t killed)
{
    struct cluster *cluster = live->scheduler->cluster;
    struct node *node = cluster_node(cluster, name);
    struct process_report *list = xcalloc(node->n_processes, sizeof *list);
    struct node_report say = { .boot_id = "boot", .offer = node->offer, .complete = true };
    struct edl_error error = { 0 };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        bool ends = process->incarnation == killed || process->stop_wanted;

        list[say.n_processes++] = (struct process_report){
            .job_id = process->job->id,
            .role = process->job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = ends ? PROCESS_EXITED : PROCESS_RUNNING,
            .exit_signal = ends ? 9 : 0,
        };
    }
    say.processes = list;
    if (cluster_report(cluster, node, &say, clock_instant(), &error) < 0)
        fail_msg("%s", error.text);
    free(list);
    turn(live);
}

static void join(struct live *live, const char *name, const char *address, uint64_t cpu_millicores)
{
    struct node_offer offer = { .cpu_millicores = cpu_millicores,
                                .memory_bytes = UINT64_C(4) << 30,
                                .port_first = 20000,
                                .port_last = 20999 };
    struct edl_error error = { 0 };
    struct node *node;

    (void)snprintf(offer.address, sizeof offer.address, "%s", address);
    assert_int_equal(cluster_join_node(live->scheduler->cluster, name, "-", &offer, clock_instant(),
                                       &node, &error),
                     0);
    report(live, name, 0);
}

static struct process *trainer(const struct live *live, uint32_t index)
{
    const struct job *job = cluster_find_job(live->scheduler->cluster, "self-made");

    assert_non_null(job);
    return job->slots[0][index].live;
}

static void submit(struct live *live, const char *document)
{
    struct reply reply = { 0 };

    if (live_ask(live, "POST", "/jobs", NULL, document, &reply) != 201)
        fail_msg("%s", reply.body);
    reply_clear(&reply);
}

/* A job of SIZE that runs. */
static void begin(struct live *live)
{
    join(live, "n1", "10.0.0.1", 3000);
    submit(live, job_document);
    report(live, "n1", 0);
    assert_int_equal(trainer(live, SIZE - 1)->state, PROCESS_RUNNING);
}

static void meet(struct live *live, uint32_t index, const char *body, struct reply *reply)
{
    live_send_for(live, trainer(live, index), "POST", MEET, body, reply);
}

static int64_t number(const struct reply *reply, const char *key)
{
    return json_integer_value(json_object_get(reply->json, key));
}

/* All of them have the same generation; it has so many members. */
static void agreed(struct live *live, struct reply *replies, uint32_t n, int64_t generation)
{
    for (uint32_t i = 0; i < n; i++) {
        live_wait(live, &replies[i]);
        if (replies[i].status != 200)
            fail_msg("%u: %s", replies[i].status, replies[i].body);
        assert_int_equal(number(&replies[i], "generation"), generation);
        assert_int_equal(number(&replies[i], "rank"), i);
        assert_int_equal(number(&replies[i], "world_size"), n);
        assert_true(json_equal(json_object_get(replies[i].json, "members"),
                               json_object_get(replies[0].json, "members")));
        assert_true(json_equal(json_object_get(replies[i].json, "master"),
                               json_object_get(replies[0].json, "master")));
    }
    for (uint32_t i = 0; i < n; i++)
        reply_clear(&replies[i]);
}

static void meet_all(struct live *live, struct reply *replies, uint32_t n, const char *body)
{
    for (uint32_t i = 0; i < n; i++)
        meet(live, i, body, &replies[i]);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_all_get_the_same)
{
    struct live *live = *state;
    struct reply replies[SIZE] = { 0 };
    const json_t *member;

    begin(live);
    meet_all(live, replies, SIZE, NULL); /* nothing needs to be said */
    live_wait(live, &replies[1]);
    member = json_array_get(json_object_get(replies[1].json, "members"), 1);
    assert_string_equal(json_string_value(json_object_get(member, "address")), "10.0.0.1");
    assert_string_equal(json_string_value(json_object_get(member, "node")), "n1");
    assert_int_equal(json_array_size(json_object_get(member, "ports")), 1);
    agreed(live, replies, SIZE, 1);
    /* an answer that was lost; without the list */
    meet(live, 2, "{\"members\":false}", &replies[0]);
    live_wait(live, &replies[0]);
    assert_int_equal(number(&replies[0], "generation"), 1);
    assert_int_equal(number(&replies[0], "rank"), 2);
    assert_null(json_object_get(replies[0].json, "members"));
    reply_clear(&replies[0]);
}

TEST(test_wait_that_ends_names_who_is_missing)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    const json_t *missing;

    begin(live);
    meet(live, 1, "{\"wait\":0}", &reply);
    live_wait(live, &reply);
    assert_true(json_is_true(json_object_get(reply.json, "wait")));
    assert_int_equal(number(&reply, "arrived"), 1);
    missing = json_object_get(reply.json, "missing");
    assert_int_equal(json_array_size(missing), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(missing, 1), "index")), 2);
    reply_clear(&reply);
}

TEST(test_members_hear_that_it_is_over)
{
    struct live *live = *state;
    struct reply replies[SIZE + 1] = { 0 }, watches[SIZE] = { 0 };

    begin(live);
    meet_all(live, replies, SIZE, "{}");
    agreed(live, replies, SIZE, 1);
    meet(live, 0, "{\"generation\":1,\"wait\":0}", &watches[0]);
    live_wait(live, &watches[0]);
    assert_true(json_is_false(json_object_get(watches[0].json, "over")));
    /* room comes, and with it one more: over when that arrives, not before */
    meet_all(live, watches, SIZE, "{\"generation\":1}");
    join(live, "n2", "10.0.0.2", 1000);
    report(live, "n2", 0);
    assert_int_equal(trainer(live, 3)->state, PROCESS_RUNNING);
    for (uint32_t i = 0; i < SIZE; i++)
        assert_int_equal(watches[i].n, 0);
    meet(live, 3, "{}", &replies[3]);
    for (uint32_t i = 0; i < SIZE; i++) {
        live_wait(live, &watches[i]);
        assert_true(json_is_true(json_object_get(watches[i].json, "over")));
        reply_clear(&watches[i]);
    }
    meet_all(live, replies, SIZE, "{\"after\":1}");
    agreed(live, replies, SIZE + 1, 2);
    /* an end that nobody asked for */
    meet(live, 0, "{\"generation\":2}", &watches[0]);
    meet(live, 1, "{\"generation\":2}", &watches[1]);
    live_send(live, "GET", "/healthz", NULL, NULL, &watches[2]); /* both wait by then */
    live_wait(live, &watches[2]);
    report(live, "n2", trainer(live, 3)->incarnation);
    live_wait(live, &watches[0]);
    live_wait(live, &watches[1]);
    meet_all(live, replies, SIZE, "{\"after\":2}");
    agreed(live, replies, SIZE, 3);
    for (uint32_t i = 0; i < SIZE; i++)
        reply_clear(&watches[i]);
}

/* The last one to be waited for ends instead of arriving. */
TEST(test_end_completes_a_generation)
{
    struct live *live = *state;
    struct reply replies[SIZE + 1] = { 0 };

    join(live, "n2", "10.0.0.2", 1000);
    begin(live);
    report(live, "n2", 0);
    meet(live, 0, "{}", &replies[0]);
    meet(live, 1, "{}", &replies[1]);
    meet(live, 2, "{}", &replies[2]);
    live_ask(live, "GET", "/healthz", NULL, NULL, &replies[3]);
    assert_int_equal(replies[0].n + replies[1].n + replies[2].n, 0);
    report(live, trainer(live, 3)->node_name, trainer(live, 3)->incarnation);
    agreed(live, replies, 3, 1);
    reply_clear(&replies[3]);
}

TEST(test_restart_is_no_end)
{
    struct live *live = *state;
    struct reply replies[SIZE] = { 0 };

    begin(live);
    meet_all(live, replies, SIZE, "{}");
    agreed(live, replies, SIZE, 1);
    live_restart(live);
    meet(live, 0, "{\"generation\":1,\"wait\":0}", &replies[0]);
    live_wait(live, &replies[0]);
    assert_true(json_is_false(json_object_get(replies[0].json, "over")));
    meet_all(live, replies, SIZE, "{}");
    agreed(live, replies, SIZE, 1);
    report(live, "n1", 0);
    meet_all(live, replies, SIZE, "{\"after\":1}");
    agreed(live, replies, SIZE, 2);
}

/* What could not be stored was told to nobody, and its number is free: for other members or notes.
 */
TEST(test_commit_that_fails_is_no_generation)
{
    struct live *live = *state;
    struct reply replies[SIZE] = { 0 }, health = { 0 };
    const json_t *first;

    begin(live);
    meet_all(live, replies, SIZE, "{\"note\":\"taken back\"}");
    live_hold(live);
    for (uint32_t i = 0; i < 3; i++) /* on a connection of its own: all have arrived by then */
        (void)live_ask(live, "GET", "/healthz", NULL, NULL, &health);
    live_disk_full(true);
    live_release(live);
    for (uint32_t i = 0; i < SIZE; i++) {
        live_wait(live, &replies[i]);
        assert_int_equal(replies[i].status, 507);
    }
    live_disk_full(false);
    while (live->scheduler->degraded.on)
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    report(live, "n1", 0);
    meet_all(live, replies, SIZE, "{\"note\":\"brought again\"}");
    live_wait(live, &replies[0]);
    first = json_array_get(json_object_get(replies[0].json, "members"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "note")), "brought again");
    agreed(live, replies, SIZE, 1);
    reply_clear(&health);
}

static void ask_secret(struct live *live, uint32_t index, unsigned status, char ret[65])
{
    struct process *process = trainer(live, index);
    struct reply reply = { 0 };

    live_send_for(live, process, "GET", "/jobs/self-made/secret", NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 403); /* to no admin */
    live->token = "its node's";
    assert_int_equal(auth_hash(live->token, process->node->credential_hash, NULL), 0);
    live_send_for(live, process, "GET", "/jobs/self-made/secret", NULL, &reply);
    live_wait(live, &reply);
    live->token = NULL;
    if (reply.status != status)
        fail_msg("%u: %s", reply.status, reply.body);
    if (status == 200)
        (void)snprintf(ret, 65, "%s", json_string_value(json_object_get(reply.json, "secret")));
    reply_clear(&reply);
}

/* One for all processes of the job and for its life, also while nothing can be stored; a job of
 * before there were any gets its own when it is asked for, once that can be stored. */
TEST(test_secret)
{
    static const char another_job[] = "{\"name\":\"a\",\"mode\":\"collective\",\"roles\":"
                                      "[{\"role\":\"trainer\",\"command\":[\"true\"],\"min\":1}]}";
    struct live *live = *state;
    char first[65] = "", again[65] = "", late[65] = "";
    struct reply reply = { 0 };

    begin(live);
    ask_secret(live, 0, 200, first);
    assert_int_equal(strlen(first), 64);
    ask_secret(live, 1, 200, again);
    assert_string_equal(again, first);
    live_restart(live);
    live_disk_full(true);
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, another_job, &reply), 507);
    ask_secret(live, 2, 200, again);
    assert_string_equal(again, first);
    memset(trainer(live, 0)->job->secret, 0, JOB_SECRET_BYTES);
    ask_secret(live, 0, 507, again);
    live_disk_full(false);
    while (live->scheduler->degraded.on)
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    memset(trainer(live, 0)->job->secret, 0, JOB_SECRET_BYTES);
    ask_secret(live, 0, 200, late);
    assert_string_not_equal(late, first);
    ask_secret(live, 1, 200, again);
    assert_string_equal(again, late);
    live_restart(live);
    ask_secret(live, 2, 200, again);
    assert_string_equal(again, late);
    reply_clear(&reply);
}

/* The list for everybody is left out, unless somebody wants it. */
TEST(test_many_members_are_not_listed)
{
    struct live *live = *state;
    const uint32_t n = 257;
    struct reply *replies = xcalloc(n, sizeof *replies);
    char document[400];

    join(live, "n1", "10.0.0.1", 100000);
    (void)
        snprintf(document, sizeof document,
                 "{\"name\":\"self-made\",\"mode\":\"collective\",\"roles\":[{\"role\":\"trainer\","
                 "\"command\":[\"true\"],\"min\":%u,\"cpu\":\"100m\",\"memory\":\"4Mi\"}]}",
                 n);
    submit(live, document);
    report(live, "n1", 0);
    for (uint32_t i = 0; i < n; i++) { /* one after the other: a client has so many connections */
        meet(live, i, i + 1 < n ? "{\"wait\":0}" : "{}", &replies[i]);
        live_wait(live, &replies[i]);
    }
    assert_int_equal(number(&replies[n - 1], "world_size"), n);
    assert_int_equal(number(&replies[n - 1], "rank"), n - 1);
    assert_null(json_object_get(replies[n - 1].json, "members"));
    meet(live, 0, "{\"members\":true}", &replies[0]);
    live_wait(live, &replies[0]);
    assert_int_equal(json_array_size(json_object_get(replies[0].json, "members")), n);
    for (uint32_t i = 0; i < n; i++)
        reply_clear(&replies[i]);
    free(replies);
}

TEST(test_bad_calls)
{
    static const struct {
        const char *body;
        unsigned status;
        const char *says;
    } calls[] = {
        { "{\"after\":1}", 400, "/after" },
        { "{\"after\":0,\"generation\":1}", 400, "/after" },
        { "{\"generation\":-1}", 400, "/generation" },
        { "{\"members\":3}", 400, "/members" },
        { "{\"wait\":100000}", 400, "/wait" },
        { "{\"note\":[]}", 400, "/note" },
        { "[]", 400, "" },
    };
    struct live *live = *state;
    struct reply reply = { 0 };
    const struct process *old;

    begin(live);
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        meet(live, 0, calls[i].body, &reply);
        live_wait(live, &reply);
        if (reply.status != calls[i].status || strstr(reply.body, calls[i].says) == NULL)
            fail_msg("%s: %u %s", calls[i].body, reply.status, reply.body);
    }
    old = trainer(live, 0);
    report(live, "n1", old->incarnation);
    live_send_for(live, old, "POST", MEET, "{}", &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 409);
    reply_clear(&reply);
}

TEST(test_who_is_being_stopped_leaves)
{
    struct live *live = *state;
    struct reply reply = { 0 }, killed = { 0 };
    struct process *first;

    begin(live);
    first = trainer(live, 0);
    live_send_for(live, first, "POST", MEET, "{}", &reply);
    assert_int_equal(live_ask(live, "DELETE", "/jobs/self-made", NULL, "{}", &killed), 202);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 200);
    assert_true(json_is_true(json_object_get(reply.json, "leaving")));
    reply_clear(&reply);
    reply_clear(&killed);
}

/* --- services --- */

#define ROLE(name_, max_, cpu_)                                                                    \
    "{\"role\":\"" name_ "\",\"command\":[\"true\"],\"min\":1,\"max\":" max_ ",\"cpu\":\"" cpu_    \
    "\",\"ports\":1}"

/* One process, up to three. */
#define SERVICE(more_)                                                                             \
    "{\"name\":\"teachers\",\"mode\":\"service\",\"fault_tolerant\":true" more_                    \
    ",\"roles\":[" ROLE("server", "3", "1") "]}"
static const char service_document[] = SERVICE("");
static const char kept_document[] = SERVICE(",\"on_disconnect\":\"keep\"");
static const char students_document[] =
    "{\"name\":\"students\",\"mode\":\"collective\",\"roles\":[" ROLE("trainer", "1",
                                                                      "100m") "," ROLE("teacher",
                                                                                       "1",
                                                                                       "100m") "]}";

/* The nodes of those that serve, with a blank behind each; the version. */
static json_int_t serving(const struct reply *reply, char *ret, size_t size)
{
    const json_t *processes = json_object_get(reply->json, "processes");
    const json_t *process;
    size_t used = 0;
    size_t i;

    if (reply->status != 200)
        fail_msg("%u: %s", reply->status, reply->body);
    *ret = '\0';
    json_array_foreach(processes, i, process)
    {
        const char *node = json_string_value(json_object_get(process, "node"));

        assert_true(used < size);
        used += (size_t)snprintf(ret + used, size - used, "%s ", node);
        assert_int_equal(json_array_size(json_object_get(process, "ports")), 1);
        assert_true(json_integer_value(json_object_get(process, "started_us")) > 0);
    }
    return number(reply, "version");
}

static json_int_t ask_service(struct live *live, const char *path, const char *nodes)
{
    struct reply reply = { 0 };
    json_int_t version;
    char found[80];

    (void)live_ask(live, "GET", path, NULL, NULL, &reply);
    version = serving(&reply, found, sizeof found);
    assert_string_equal(found, nodes);
    reply_clear(&reply);
    return version;
}

/* Waits there when this returns: what is asked on a connection of its own was asked later. */
static void wait_service(struct live *live, json_int_t after, struct reply *reply)
{
    struct reply health = { 0 };
    char path[80];

    (void)snprintf(path, sizeof path, "/services/teachers?after=%lld&wait=30", (long long)after);
    live_send(live, "GET", path, NULL, NULL, reply);
    for (int i = 0; i < 3; i++)
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    assert_int_equal(reply->n, 0);
    reply_clear(&health);
}

/* A service that tells of no queue in its first seconds takes the room that there is. */
static void tell_no_queue(struct live *live)
{
    struct instant later = clock_instant();

    later.now_us += BACKLOG_HOLD_US + 2 * BACKLOG_LOOK_US;
    cluster_tick(live->scheduler->cluster, later);
    turn(live);
}

/* A service that grew to n1 and n2. */
static void serve(struct live *live, const char *document)
{
    join(live, "n1", "10.0.0.1", 1000);
    submit(live, document);
    report(live, "n1", 0);
    tell_no_queue(live);
    join(live, "n2", "10.0.0.2", 1000);
    report(live, "n2", 0);
}

/* The leases of all nodes end but of this one. */
static void lose(struct live *live, const char *reporting)
{
    struct cluster *cluster = live->scheduler->cluster;
    struct node *node = cluster_node(cluster, reporting);
    struct instant later = clock_instant();

    later.now_us += LIVE_LEASE_US - USEC_PER_SEC;
    for (int i = 0; i < 2; i++) {
        struct node_report say = { .boot_id = "boot", .offer = node->offer };

        assert_int_equal(cluster_report(cluster, node, &say, later, NULL), 0);
        later.now_us += LIVE_LEASE_US / 2;
        cluster_tick(cluster, later);
    }
    turn(live);
}

TEST(test_service_is_who_serves_now)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    json_int_t version, next;
    char found[80];

    join(live, "n1", "10.0.0.1", 1000);
    submit(live, service_document);
    version = ask_service(live, "/services/teachers", ""); /* it is assigned, no more */
    wait_service(live, version, &reply);
    report(live, "n1", 0);
    live_wait(live, &reply);
    next = serving(&reply, found, sizeof found);
    assert_string_equal(found, "n1 ");
    assert_true(next != version);
    assert_int_equal(ask_service(live, "/services/teachers.server?after=1&wait=30", "n1 "), next);
    assert_int_equal(ask_service(live, "/services/1", "n1 "), next);
    /* one more */
    wait_service(live, next, &reply);
    tell_no_queue(live);
    join(live, "n2", "10.0.0.2", 1000);
    report(live, "n2", 0);
    live_wait(live, &reply);
    version = serving(&reply, found, sizeof found);
    assert_string_equal(found, "n1 n2 ");
    /* a wait that ends */
    assert_int_equal(ask_service(live, "/services/teachers", "n1 n2 "), version);
    (void)snprintf(found, sizeof found, "/services/teachers?after=%lld&wait=0", (long long)version);
    assert_int_equal(ask_service(live, found, "n1 n2 "), version);
    /* the same after a restart: nobody has to ask for what it knows */
    live_restart(live);
    assert_int_equal(ask_service(live, "/services/teachers", "n1 n2 "), version);
    report(live, "n1", 0);
    report(live, "n2", 0);
    assert_int_equal(ask_service(live, "/services/teachers", "n1 n2 "), version);
    reply_clear(&reply);
}

TEST(test_who_is_stopped_or_lost_serves_nobody)
{
    struct live *live = *state;
    struct reply reply = { 0 }, killed = { 0 };
    json_int_t version;
    char found[80];

    serve(live, service_document);
    version = ask_service(live, "/services/teachers", "n1 n2 ");
    wait_service(live, version, &reply);
    lose(live, "n2");
    live_wait(live, &reply);
    version = serving(&reply, found, sizeof found);
    assert_string_equal(found, "n2 ");
    /* being stopped: before its end */
    wait_service(live, version, &reply);
    assert_int_equal(live_ask(live, "DELETE", "/jobs/teachers", NULL, "{}", &killed), 202);
    live_wait(live, &reply);
    (void)serving(&reply, found, sizeof found);
    assert_string_equal(found, "");
    /* over, it is known by its name, and whoever takes that serves */
    report(live, "n2", 0);
    (void)ask_service(live, "/services/teachers", "");
    submit(live, service_document);
    report(live, "n2", 0);
    (void)ask_service(live, "/services/teachers", "n2 ");
    (void)ask_service(live, "/services/1", "");
    reply_clear(&reply);
    reply_clear(&killed);
}

/* on_disconnect: keep - it runs on, and nobody can tell how it is */
TEST(test_who_is_cut_off_serves_nobody_meanwhile)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    json_int_t version;
    char found[80];

    serve(live, kept_document);
    version = ask_service(live, "/services/teachers", "n1 n2 ");
    wait_service(live, version, &reply);
    lose(live, "n2");
    live_wait(live, &reply);
    wait_service(live, serving(&reply, found, sizeof found), &reply);
    assert_string_equal(found, "n2 ");
    report(live, "n1", 0);
    live_wait(live, &reply);
    assert_int_equal(serving(&reply, found, sizeof found), version);
    assert_string_equal(found, "n1 n2 ");
    reply_clear(&reply);
}

TEST(test_names_of_services)
{
    static const struct {
        const char *path;
        unsigned status;
        const char *says;
    } calls[] = {
        { "/services/students", 200, "students.teacher" },
        { "/services/students.teacher", 200, "students.teacher" },
        { "/services/students.trainer", 200, "students.trainer" },
        { "/services/students.pserver", 404, "students.trainer" },
        { "/services/teacher", 404, "\\\"teachers\\\"" },
        { "/services/student.teacher", 404, "\\\"students.teacher\\\"" },
        { "/services/nothing-of-the-kind", 404, "edl services" },
        { "/services/students.", 404, "has no role" },
        { "/services/.teacher", 404, "no service" },
        { "/services/self-made", 404, "self-made.trainer" },
        { "/services/teachers?after=x", 400, "after" },
        { "/services", 200,
          "{\"service\":\"students.teacher\",\"job_id\":2,\"user\":\"admin\",\"serving\":1,"
          "\"want\":1,\"figures\":null}" },
    };
    struct live *live = *state;
    struct reply reply = { 0 };
    char path[200];

    join(live, "n1", "10.0.0.1", 4000);
    submit(live, service_document);
    submit(live, students_document);
    submit(live, job_document);
    report(live, "n1", 0);
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        unsigned status = live_ask(live, "GET", calls[i].path, NULL, NULL, &reply);

        if (status != calls[i].status || strstr(reply.body, calls[i].says) == NULL)
            fail_msg("%s: %u %s", calls[i].path, status, reply.body);
    }
    (void)snprintf(path, sizeof path, "/services/%0150d", 7);
    assert_int_equal(live_ask(live, "GET", path, NULL, NULL, &reply), 404);
    reply_clear(&reply);
}

/* Any job's process may ask for any service. */
TEST(test_processes_find_services)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    const struct job *students;
    char found[80];

    join(live, "n1", "10.0.0.1", 4000);
    submit(live, students_document);
    submit(live, service_document);
    report(live, "n1", 0);
    students = cluster_find_job(live->scheduler->cluster, "students");
    live_send_for(live, students->processes, "GET", "/services/teachers", NULL, &reply);
    live_wait(live, &reply);
    (void)serving(&reply, found, sizeof found);
    assert_string_equal(found, "n1 ");
    reply_clear(&reply);
}
