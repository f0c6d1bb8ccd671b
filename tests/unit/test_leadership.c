/* SPDX-License-Identifier: Apache-2.0 */
/* test_leadership.c - what a scheduler answers in each role, its permission, and the URL of its
 * database as people see it */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/leadership/leadership.h"
#include "scheduler/leadership/store_url.h"
#include "scheduler/store/store_internal.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":4000,\"memory_bytes\":4294967296,\"gpus\":0,"     \
    "\"port_first\":20000,\"port_last\":20099"
#define REPORT(more_) "{\"boot_id\":\"b1\",\"sent_us\":1,\"processes\":[]," more_ OFFER "}"
#define OTHER_BOOT "{\"boot_id\":\"b2\",\"sent_us\":1,\"processes\":[]," OFFER "}"
#define ELSEWHERE "https://n2.example:7010"

TEST_EACH(live_setup, live_teardown);

static void ask(struct live *live, unsigned status, const char *method, const char *path,
                const char *body, struct reply *reply)
{
    if (live_ask(live, method, path, NULL, body, reply) != status)
        fail_msg("%s %s: %u, %s", method, path, reply->status, reply->body);
}

/* As if the database had told so. */
static void play(struct live *live, enum leadership_role role, uint64_t term)
{
    struct leadership *leadership = &live->scheduler->leadership;

    leadership->role = role;
    leadership->term = term;
    (void)snprintf(leadership->self.name, sizeof leadership->self.name, "n1");
    (void)snprintf(leadership->leader.name, sizeof leadership->leader.name, "n2");
    (void)snprintf(leadership->leader.address, sizeof leadership->leader.address, ELSEWHERE);
    leadership->leader_term = 7;
    leadership->others[0] = leadership->leader;
    leadership->n_others = 1;
    if (role == ROLE_LEADER && live->scheduler->degraded.on)
        degraded_end(live->scheduler);
}

/* allow - for as long as a slow machine takes */
static void allow(struct live *live)
{
    leadership_stored(live->scheduler, clock_read_us(CLOCK_BOOTTIME) + 300 * USEC_PER_SEC);
}

/* doubt - the permission holds for the next call, and is not fresh */
static void doubt(struct live *live)
{
    live->scheduler->leadership.permission.until_us =
        clock_read_us(CLOCK_BOOTTIME) + PERMISSION_US - 2 * USEC_PER_SEC;
}

static void join(struct live *live, struct reply *reply)
{
    ask(live, 201, "POST", "/nodes/join", "{\"node\":\"n1\"," OFFER "}", reply);
}

/* The calls of a node come with its credential. */
static unsigned report(struct live *live, const char *credential, const char *body,
                       struct reply *reply)
{
    reply_clear(reply);
    live_send_as(live, credential, "POST", "/nodes/n1/report", NULL, body, reply);
    live_wait(live, reply);
    return reply->status;
}

TEST(test_one_that_is_alone_tells_of_no_term)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    join(live, &reply);
    assert_null(json_object_get(reply.json, "term"));
    assert_null(json_object_get(reply.json, "servers"));
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    assert_string_equal(reply.body, "{\"status\":\"ok\"}");
    assert_true(leadership_may_lease(live->scheduler));
    reply_clear(&reply);
}

TEST(test_a_standby_names_the_leader)
{
    static const struct {
        const char *method, *path;
        unsigned status;
    } calls[] = {
        { "GET", "/healthz", 200 },
        { "GET", "/version", 200 },
        { "GET", "/openapi.json", 200 },
        { "GET", "/", 200 },
        { "GET", "/jobs", 503 },
        { "GET", "/nodes", 503 },
        { "POST", "/jobs", 503 },
        { "POST", "/nodes/join", 503 },
        { "DELETE", "/jobs/1", 503 },
        { "GET", "/events", 503 },
        { "POST", "/nodes/n1/report", 503 },
    };
    struct live *live = *state;
    struct reply reply = { 0 };

    play(live, ROLE_STANDBY, 0);
    allow(live); /* and yet it tells no lease: it knows no node */
    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        ask(live, calls[i].status, calls[i].method, calls[i].path,
            streq(calls[i].method, "POST") ? "{}" : NULL, &reply);
        if (calls[i].status != 503)
            continue;
        assert_int_equal(reply.retry_after_s, 1);
        assert_non_null(strstr(reply.error.remedy, ELSEWHERE));
    }
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    assert_string_equal(json_string_value(json_object_get(reply.json, "role")), "standby");
    assert_string_equal(json_string_value(json_object_get(reply.json, "leader")), ELSEWHERE);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "term")), 7);
    /* Nobody's credential is looked at: it knows none. */
    live->token = "0000";
    ask(live, 503, "GET", "/jobs", NULL, &reply);
    reply_clear(&reply);
}

TEST(test_a_leader_tells_its_term_and_all_addresses)
{
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct reply reply = { 0 };
    char *credential;
    json_t *servers;

    play(live, ROLE_LEADER, 8);
    (void)snprintf(leadership->self.address, SCHEDULER_ADDRESS_MAX, "https://n1.example:7010");
    leadership->others[1] = (struct scheduler_peer){ "n3", "http://127.0.0.1:7010", 0 };
    leadership->n_others = 2; /* one of them for its own machine alone */
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    assert_int_equal(report(live, credential, REPORT("\"term\":8,"), &reply), 200);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "term")), 8);
    servers = json_object_get(reply.json, "servers");
    assert_int_equal(json_array_size(servers), 2);
    assert_string_equal(json_string_value(json_array_get(servers, 1)), ELSEWHERE);
    reply_clear(&reply);
    free(credential);
}

/* The clock is looked at when the answer is made. */
TEST(test_a_lease_needs_the_permission)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char *credential;

    play(live, ROLE_LEADER, 8);
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    assert_int_equal(report(live, credential, REPORT(""), &reply), 200);
    live->scheduler->leadership.permission.until_us = clock_read_us(CLOCK_BOOTTIME);
    assert_int_equal(report(live, credential, REPORT(""), &reply), 503);
    assert_null(json_object_get(reply.json, "lease_us"));
    ask(live, 503, "GET", "/jobs", NULL, &reply); /* what another one took since is not in it */
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    allow(live);
    assert_int_equal(report(live, credential, REPORT(""), &reply), 200);
    reply_clear(&reply);
    free(credential);
}

TEST(test_a_higher_term_ends_ones_own)
{
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct reply reply = { 0 };
    char *credential;

    play(live, ROLE_LEADER, 8);
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    assert_int_equal(report(live, credential, REPORT("\"term\":9,"), &reply), 503);
    assert_int_equal(leadership->role, ROLE_AWAY);
    assert_false(leadership_may_lease(live->scheduler));
    ask(live, 503, "GET", "/jobs", NULL, &reply);
    ask(live, 200, "GET", "/version", NULL, &reply);
    /* The database has said since that no such term is: the node's word keeps nobody from leading.
     */
    play(live, ROLE_LEADER, 8);
    allow(live);
    assert_int_equal(report(live, credential, REPORT("\"term\":99,"), &reply), 200);
    assert_int_equal(leadership->role, ROLE_LEADER);
    assert_int_equal(leadership->told_term, 99); /* and yet its next term is above */
    reply_clear(&reply);
    free(credential);
}

/* A database that was put back to an earlier moment has lost terms that agents know. */
TEST(test_a_number_that_no_cluster_has_reached_is_no_term)
{
    static const struct {
        uint64_t own, told;
        bool counts;
    } rows[] = {
        { 8, 8, false },
        { 8, 9, true },
        { 8, 8 + (UINT64_C(1) << 20), true },
        { 8, 9 + (UINT64_C(1) << 20), false },
        { 8, UINT64_C(1) << 53, false },
        { 8, INT64_MAX, false },
        { (UINT64_C(1) << 53) - 2, (UINT64_C(1) << 53) - 1, true },
        { (UINT64_C(1) << 53) - 2, UINT64_C(1) << 53, false },
    };
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct reply reply = { 0 };
    char *credential, body[600];

    play(live, ROLE_LEADER, 8);
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        play(live, ROLE_LEADER, rows[i].own);
        allow(live);
        leadership->ended_by_word_us = leadership->told_term = 0;
        (void)snprintf(body, sizeof body, REPORT("\"term\":%" PRIu64 ","), rows[i].told);
        assert_int_equal(report(live, credential, body, &reply), rows[i].counts ? 503 : 200);
        assert_int_equal(leadership->role, rows[i].counts ? ROLE_AWAY : ROLE_LEADER);
        assert_int_equal(leadership->told_term, rows[i].counts ? rows[i].told : 0);
    }
    reply_clear(&reply);
    free(credential);
}

TEST_PLAIN(test_the_password_of_a_url_goes_to_nobody)
{
    static const struct {
        const char *url, *shown;
    } rows[] = {
        { "postgresql://edl@db1/edl", "postgresql://edl@db1/edl" },
        { "postgresql:///edl", "postgresql:///edl" },
        { "postgresql://edl:secret@db1/edl", "postgresql://edl@db1/edl" },
        { "postgresql://edl:secret@db1:5433,db2:5434/edl?target_session_attrs=read-write",
          "postgresql://edl@db1:5433,db2:5434/edl?target_session_attrs=read-write" },
        { "postgresql://db1/edl?user=edl&password=secret&sslmode=require",
          "postgresql://db1/edl?user=edl&sslmode=require" },
        { "postgresql:///edl?password=secret", "postgresql:///edl" },
        { "postgresql:///edl?host=/run&sslpassword=secret", "postgresql:///edl?host=/run" },
        { "postgresql://edl:se/cr@et@db1/edl", "postgresql://edl@db1/edl" },
        { "postgresql://db1:5432/edl?user=a@b", "postgresql://db1:5432/edl?user=a@b" },
        { "postgresql://edl:s:e?cret@db1/edl", "postgresql://edl@db1/edl" },
        { "postgresql:///edl?user=a&passwor%64=secret", "postgresql:///edl?user=a" },
        { "postgresql:///edl?%50ASSWORD=secret&user=a", "postgresql:///edl?user=a" },
        { "postgresql:///edl?passfile=a%20b&password_of=%zz",
          "postgresql:///edl?passfile=a%20b&password_of=%zz" },
    };
    char shown[STORE_URL_MAX];

    (void)state;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        store_url_without_password(rows[i].url, shown);
        assert_string_equal(shown, rows[i].shown);
        assert_int_equal(store_url_has_password(rows[i].url), !streq(rows[i].url, rows[i].shown));
    }
}

/* Neither an error nor what a reload tells has the password in it. */
TEST_PLAIN(test_the_options_of_a_shared_database)
{
    static const struct {
        const char *option, *value;
        bool good;
    } rows[] = {
        { "--store", "postgresql://edl:secret@db1/edl", true },
        { "--store", "sqlite", true },
        { "--store", "mysql://edl:secret@db1/edl", false },
        { "--store", "edl:secret", false },
        { "--store", "postgresql://edl:secret@db1/edl\nx", false },
        { "--store", "postgresql://edl:secret@db1/edl ", false },
        { "--migrate", "postgresql://edl:secret@db1/edl", true },
        { "--migrate", "postgresql://edl:secret@db1/edl\t", false },
        { "--migrate", "sqlite:/a b", true },
        { "--scheduler-name", "n-2.example", true },
        { "--scheduler-name", "", false },
        { "--scheduler-name", "a b", false },
        { "--address", "https://n2.example:7010", true },
        { "--address", "http://127.0.0.1:7010", true },
        { "--address", "n2:7010", false },
        { "--address", "https://", false },
        { "--address", "https://n2:7010/x", false },
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *argv[] = { "edl-scheduler", "--conf",      "",  "--state-dir", "/x",
                               rows[i].option,  rows[i].value, NULL };
        struct scheduler_options options;
        struct edl_error error = { 0 };
        bool done;
        int r = options_parse((int)ELEMENTS(argv) - 1, (char **)(uintptr_t)argv, &options, &done,
                              &error);

        assert_int_equal(r == 0, rows[i].good);
        assert_null(strstr(error.text, "secret"));
        assert_null(strstr(error.remedy, "secret"));
        for (size_t k = 0; r == 0 && k < SETTINGS_MAX; k++)
            assert_null(strstr(options.given[k], "secret"));
        if (r == 0 && streq(rows[i].value, "sqlite"))
            assert_string_equal(options.store, "");
    }
}

/* --- another scheduler comes in --- */

static void make_authority(const struct live *live)
{
    const char *names[] = { "localhost" };
    struct tls_files files = { 0 };
    struct edl_error error = { 0 };

    assert_int_equal(tls_files_open(live->folder, names, 1,
                                    clock_read_us(CLOCK_REALTIME) / USEC_PER_SEC, &files, &error),
                     0);
    tls_files_clear(&files);
}

TEST(test_a_line_for_one_more_scheduler_is_good_once)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char *token;

    ask(live, 409, "POST", "/schedulers", "{\"name\":\"n3\"}", &reply); /* it is alone */
    assert_non_null(strstr(reply.error.remedy, "migrate"));
    play(live, ROLE_LEADER, 8);
    allow(live);
    (void)snprintf(live->scheduler->options.store, STORE_URL_MAX, "postgresql://edl:secret@db/edl");
    make_authority(live);
    ask(live, 400, "POST", "/schedulers", "{\"name\":\"a b\"}", &reply);
    ask(live, 409, "POST", "/schedulers", "{\"name\":\"n2\"}", &reply); /* there is one */
    ask(live, 201, "POST", "/schedulers", "{\"name\":\"n3\"}", &reply);
    token = strdup(json_string_value(json_object_get(reply.json, "token")));
    reply_clear(&reply);
    live_send_as(live, token, "POST", "/nodes/join", NULL, "{\"node\":\"n3\"," OFFER "}", &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 403); /* it lets no node in */
    reply_clear(&reply);
    live_send_as(live, token, "POST", "/schedulers/join", NULL, NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(json_string_value(json_object_get(reply.json, "name")), "n3");
    assert_string_equal(json_string_value(json_object_get(reply.json, "store")),
                        "postgresql://edl@db/edl");
    assert_true(json_is_true(json_object_get(reply.json, "password")));
    assert_null(strstr(reply.body, "secret@"));
    assert_string_equal(json_string_value(json_object_get(reply.json, "admin_token")),
                        live->scheduler->admin_token);
    assert_non_null(
        strstr(json_string_value(json_object_get(reply.json, "ca_key")), "PRIVATE KEY"));
    reply_clear(&reply);
    live_send_as(live, token, "POST", "/schedulers/join", NULL, NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 401);
    /* Neither does the token of a node, or an admin's. */
    ask(live, 401, "POST", "/schedulers/join", NULL, &reply);
    ask(live, 201, "POST", "/tokens/join", "{\"node\":\"n9\"}", &reply);
    free(token);
    token = strdup(json_string_value(json_object_get(reply.json, "token")));
    reply_clear(&reply);
    live_send_as(live, token, "POST", "/schedulers/join", NULL, NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 401);
    reply_clear(&reply);
    free(token);
}

TEST(test_the_schedulers_are_listed)
{
    struct live *live = *state;
    struct shared_facts *facts = &live->scheduler->leadership.facts;
    struct reply reply = { 0 };
    const json_t *list;

    ask(live, 200, "GET", "/schedulers", NULL, &reply);
    list = json_object_get(reply.json, "schedulers");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "role")),
                        "alone");
    play(live, ROLE_LEADER, 8);
    allow(live);
    live->scheduler->leadership.facts_us = 1;
    (void)snprintf(facts->server, sizeof facts->server, "db1");
    facts->copies[0] = (struct shared_copy){ .name = "db2", .state = "sync", .lag_us = 5 };
    facts->n_copies = 1;
    facts->n_schedulers = 2;
    (void)snprintf(live->scheduler->leadership.advice, sizeof live->scheduler->leadership.advice,
                   "do this\nand that\n");
    ask(live, 200, "GET", "/schedulers", NULL, &reply);
    list = json_object_get(reply.json, "schedulers");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "address")),
                        ELSEWHERE);
    assert_non_null(strstr(reply.body, "\"db2\""));
    assert_non_null(strstr(reply.body, "\"advice\":[\"do this\",\"and that\"]"));
    ask(live, 200, "GET", "/metrics", NULL, &reply);
    assert_non_null(strstr(reply.body, "\nedl_scheduler_role{role=\"leader\"} 1\n"));
    assert_non_null(strstr(reply.body, "\nedl_scheduler_role{role=\"standby\"} 0\n"));
    assert_non_null(strstr(reply.body, "\nedl_database_copies{state=\"sync\"} 1\n"));
    assert_non_null(strstr(reply.body, "\nedl_jobs"));
    (void)snprintf(facts->copies[0].state, sizeof facts->copies[0].state, "unknown");
    ask(live, 200, "GET", "/metrics", NULL, &reply);
    assert_non_null(strstr(reply.body, "\nedl_database_copies{state=\"unknown\"} 1\n"));
    assert_non_null(strstr(reply.body, "\nedl_database_copies{state=\"async\"} 0\n"));
    ask(live, 404, "DELETE", "/schedulers/n7", NULL, &reply);
    ask(live, 409, "DELETE", "/schedulers/n1", NULL, &reply); /* itself */
    assert_non_null(strstr(reply.error.text, "n1 leads"));
    ask(live, 200, "DELETE", "/schedulers/n2", NULL, &reply);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "lines")), 0);
    assert_non_null(json_object_get(reply.json, "seen_ago_us"));
    ask(live, 200, "GET", "/schedulers", NULL, &reply);
    assert_int_equal(json_array_size(json_object_get(reply.json, "schedulers")), 1);
    reply_clear(&reply);
}

TEST(test_a_scheduler_that_is_taken_away_has_no_line)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char *tokens[2];

    play(live, ROLE_LEADER, 8);
    allow(live);
    (void)snprintf(live->scheduler->options.store, STORE_URL_MAX, "postgresql:///edl");
    for (size_t i = 0; i < ELEMENTS(tokens); i++) { /* typed twice: both are good */
        ask(live, 201, "POST", "/schedulers", "{\"name\":\"n3\"}", &reply);
        tokens[i] = strdup(json_string_value(json_object_get(reply.json, "token")));
    }
    ask(live, 200, "DELETE", "/schedulers/n3", NULL, &reply);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "lines")), 2);
    assert_null(json_object_get(reply.json, "seen_ago_us"));
    for (size_t i = 0; i < ELEMENTS(tokens); i++) {
        reply_clear(&reply);
        live_send_as(live, tokens[i], "POST", "/schedulers/join", NULL, NULL, &reply);
        live_wait(live, &reply);
        assert_int_equal(reply.status, 401);
        free(tokens[i]);
    }
    ask(live, 404, "DELETE", "/schedulers/n3", NULL, &reply);
    reply_clear(&reply);
}

/* Its figures are of itself, and for everybody; what is of the cluster is not among them. */
TEST(test_the_figures_of_a_standby)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    play(live, ROLE_STANDBY, 0);
    live->token = "0000";
    ask(live, 200, "GET", "/metrics", NULL, &reply);
    assert_non_null(strstr(reply.body, "\nedl_scheduler_role{role=\"standby\"} 1\n"));
    assert_non_null(strstr(reply.body, "\nedl_leader_term 7\n"));
    assert_null(strstr(reply.body, "edl_jobs"));
    ask(live, 503, "GET", "/metrics/cluster", NULL, &reply);
    play(live, ROLE_LEADER, 8);
    allow(live);
    ask(live, 401, "GET", "/metrics", NULL, &reply);
    reply_clear(&reply);
}

/* Away is for the time in which nobody knows who leads. */
TEST(test_one_that_was_deposed_is_a_standby_of_the_next)
{
    static const struct {
        const char *leader;
        uint64_t term; /* of the leader */
        const char *role;
    } rows[] = {
        { "", 8, "away" },
        { "n1", 8, "away" }, /* as the database had it last */
        { "n2", 7, "away" }, /* of before */
        { "n2", 9, "standby" },
    };
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct reply reply = { 0 };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        play(live, ROLE_AWAY, 8);
        (void)snprintf(leadership->leader.name, sizeof leadership->leader.name, "%s",
                       rows[i].leader);
        leadership->leader_term = rows[i].term;
        ask(live, 200, "GET", "/healthz", NULL, &reply);
        assert_string_equal(json_string_value(json_object_get(reply.json, "role")), rows[i].role);
    }
    ask(live, 200, "GET", "/metrics", NULL, &reply);
    assert_non_null(strstr(reply.body, "\nedl_scheduler_role{role=\"standby\"} 1\n"));
    ask(live, 503, "GET", "/jobs", NULL, &reply);
    assert_non_null(strstr(reply.body, "is a standby"));
    reply_clear(&reply);
}

/* Whoever looks anywhere is told the cause: no error of the database tells it. Those who showed a
 * credential hear the names, too. */
TEST(test_a_database_that_waits_for_its_copy_is_told)
{
    enum { NOTHING, THAT_IT_WAITS, NAMES };
    static const struct {
        enum leadership_role role;
        const char *leader, *method, *path;
        unsigned status;
        int told;
    } rows[] = {
        { ROLE_LEADER, "n1", "GET", "/healthz", 200, THAT_IT_WAITS },
        { ROLE_LEADER, "n1", "GET", "/schedulers", 200, NAMES },
        { ROLE_AWAY, "n1", "GET", "/healthz", 200, THAT_IT_WAITS },
        { ROLE_AWAY, "n1", "GET", "/jobs", 503, THAT_IT_WAITS },
        { ROLE_AWAY, "", "POST", "/jobs", 503, THAT_IT_WAITS },
        { ROLE_STANDBY, "n1", "GET", "/jobs", 503,
          THAT_IT_WAITS },                                    /* was started again meanwhile */
        { ROLE_STANDBY, "n2", "GET", "/jobs", 503, NOTHING }, /* ask the one that leads */
        { ROLE_STANDBY, "n2", "GET", "/healthz", 200, THAT_IT_WAITS },
    };
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct shared_facts *facts = &leadership->facts;
    struct reply reply = { 0 };

    (void)snprintf(facts->server, sizeof facts->server, "db1");
    (void)snprintf(facts->wanted_copies, sizeof facts->wanted_copies, "db2");
    leadership->facts_us = 1;
    for (size_t i = 0; i < 2 * ELEMENTS(rows); i++) {
        size_t at = i % ELEMENTS(rows);
        int told = i < ELEMENTS(rows) ? rows[at].told : NOTHING;

        facts->commit_waits_us = i < ELEMENTS(rows) ? 2500 * USEC_PER_MSEC : 0;
        play(live, rows[at].role, 8);
        allow(live);
        (void)snprintf(leadership->leader.name, sizeof leadership->leader.name, "%s",
                       rows[at].leader);
        ask(live, rows[at].status, rows[at].method, rows[at].path,
            streq(rows[at].method, "POST") ? "{}" : NULL, &reply);
        if ((strstr(reply.body, "waits for its synchronous copy") != NULL) != (told != NOTHING) ||
            (strstr(reply.body, "\"remedy\":\"start that copy") != NULL) != (told != NOTHING) ||
            (strstr(reply.body, "db1 waits for its synchronous copy \\\"db2\\\"") != NULL) !=
                (told == NAMES))
            fail_msg("case %zu: %s", i, reply.body);
        if (told == THAT_IT_WAITS &&
            (strstr(reply.body, "db1") != NULL || strstr(reply.body, "db2") != NULL))
            fail_msg("case %zu names them: %s", i, reply.body);
    }
    facts->commit_waits_us = 2500 * USEC_PER_MSEC;
    play(live, ROLE_AWAY, 8);
    ask(live, 200, "GET", "/metrics", NULL, &reply);
    assert_non_null(strstr(reply.body, "\nedl_database_copy_wait_seconds 2.5"));
    reply_clear(&reply);
}

/* Another scheduler may have let the node in meanwhile: a refusal for good would end it. */
TEST(test_one_that_may_be_deposed_refuses_no_node_for_good)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char *credential;

    play(live, ROLE_LEADER, 8);
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    assert_int_equal(report(live, "0000", REPORT(""), &reply), 401);
    assert_int_equal(report(live, credential, REPORT(""), &reply), 200);
    doubt(live);
    assert_true(leadership_may_lease(live->scheduler));
    assert_false(leadership_is_fresh(live->scheduler));
    assert_int_equal(report(live, "0000", REPORT(""), &reply), 503);
    doubt(live);
    assert_int_equal(report(live, credential, REPORT("\"foreign_cpu_millicores\":700,"), &reply),
                     200);
    assert_true(json_is_false(json_object_get(reply.json, "stored")));
    /* its news count all the same, or turns of some seconds would hide each end */
    assert_int_equal(cluster_node(live->scheduler->cluster, "n1")->foreign_cpu_millicores, 700);
    doubt(live);
    ask(live, 200, "GET", "/jobs", NULL, &reply);
    doubt(live);
    /* one that a lease alone does not help: its machine has started anew */
    assert_int_equal(report(live, credential, OTHER_BOOT, &reply), 503);
    assert_int_equal(reply.retry_after_s, 1);
    assert_non_null(strstr(reply.error.text, "waits for its database"));
    live->scheduler->leadership.permission.until_us = 0; /* nor are joins and orders answered now */
    ask(live, 503, "POST", "/nodes/join", "{\"node\":\"n1\"," OFFER "}", &reply);
    reply_clear(&reply);
    live_send_as(live, credential, "GET", "/nodes/n1/orders?wait=0", NULL, NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 503);
    reply_clear(&reply);
    free(credential);
}

#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"min-instance\":1,\"max-instance\":1}}}"

static int no_room(struct engine *engine)
{
    (void)engine;
    return -ENOSPC;
}

static int tell_no_room(struct engine *engine, const char *what, struct edl_error *error)
{
    (void)engine;
    return edl_error_set(error, -ENOSPC, "the database edl at db1: no space left (%s)", what);
}

/* fill - each commit fails so, as of a server; the way back is the test's */
static void fill(struct live *live)
{
    static struct engine_calls full;
    struct engine *engine = live->scheduler->store->engine;

    full = *engine->calls;
    full.commit = no_room;
    full.error = tell_no_room;
    engine->calls = &full;
}

static void await_room(struct live *live, const struct engine_calls *calls)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;

    live->scheduler->store->engine->calls = calls;
    (void)sd_event_source_set_enabled(live->scheduler->degraded.retry, SD_EVENT_ONESHOT);
    while (live->scheduler->degraded.on || live->scheduler->turn_wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

TEST(test_a_full_database_ends_no_term)
{
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    const struct engine_calls *calls = live->scheduler->store->engine->calls;
    struct reply reply = { 0 };
    char *credential;

    play(live, ROLE_LEADER, 8);
    allow(live);
    join(live, &reply);
    credential = strdup(json_string_value(json_object_get(reply.json, "credential")));
    assert_int_equal(report(live, credential, REPORT("\"term\":8,"), &reply), 200);
    ask(live, 201, "POST", "/jobs", JOB("kept"), &reply);
    fill(live);
    ask(live, 503, "POST", "/jobs", JOB("lost"), &reply);
    (void)sd_event_source_set_enabled(live->scheduler->degraded.retry, SD_EVENT_OFF);
    assert_int_equal(reply.retry_after_s, 1);
    assert_non_null(strstr(reply.body, "nothing can be stored, as a disk is full"));
    assert_non_null(strstr(reply.body, "goes on by itself"));
    assert_int_equal(leadership->role, ROLE_LEADER);
    ask(live, 503, "DELETE", "/jobs/kept", NULL, &reply);
    ask(live, 200, "GET", "/jobs/kept", NULL, &reply);
    ask(live, 404, "GET", "/jobs/lost", NULL, &reply);
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    assert_non_null(strstr(reply.body, "a disk is full"));
    assert_int_equal(report(live, credential, REPORT("\"term\":8,"), &reply), 200);
    assert_true(json_is_false(json_object_get(reply.json, "stored")));
    await_room(live, calls);
    ask(live, 201, "POST", "/jobs", JOB("lost"), &reply);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "id")), 2);
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    assert_null(strstr(reply.body, "detail"));
    assert_int_equal(leadership->term, 8);
    free(credential);
    reply_clear(&reply);
}
