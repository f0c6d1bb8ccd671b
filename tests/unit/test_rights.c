/* SPDX-License-Identifier: Apache-2.0 */
/* test_rights.c - what each person may not, and the ways round it that are closed */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/users.h"
#include "scheduler/core/core.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":"        \
    "{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":2}}}"
#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static unsigned ask(struct live *live, const char *method, const char *path, const char *body)
{
    struct reply reply = { 0 };
    unsigned status = live_ask(live, method, path, NULL, body, &reply);

    reply_clear(&reply);
    return status;
}

/* A user with that role, and a token of it in ret. */
static void make_user(struct live *live, const char *name, const char *role, char *ret)
{
    struct reply reply = { 0 };
    char body[160];

    live->token = NULL;
    (void)snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"%s\"}", name, role);
    assert_int_equal(ask(live, "POST", "/users", body), 201);
    (void)snprintf(body, sizeof body, "{\"user\":\"%s\"}", name);
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, body, &reply), 201);
    (void)snprintf(ret, 65, "%s", json_string_value(json_object_get(reply.json, "token")));
    assert_int_equal(strlen(ret), 64);
    reply_clear(&reply);
}

#define ARRAY(range_)                                                                              \
    "{\"metadata\":{\"name\":\"big\"},\"spec\":{\"array\":\"" range_                               \
    "\",\"fault_tolerant\":true,\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,"          \
    "\"max-instance\":2}}}"

TEST_EACH(live_setup, live_teardown);

TEST(test_an_array_is_of_one_person)
{
    static const char intruder[] =
        "{\"metadata\":{\"name\":\"big-77\"},\"spec\":{\"array\":{\"name\":\"big\",\"index\":77,"
        "\"jobs\":1000},\"fault_tolerant\":true,\"trainer\":{\"entrypoint\":\"true\","
        "\"min-instance\":1,\"max-instance\":2}}}";
    struct live *live = *state;
    char ann[65], bob[65];
    struct reply reply = { 0 };

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", ARRAY("0-2")), 201);
    live->token = bob;
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, intruder, &reply), 422);
    assert_non_null(strstr(reply.body, "\"/spec/array\""));
    assert_int_equal(live_ask(live, "DELETE", "/arrays/big", NULL, NULL, &reply), 403);
    assert_non_null(strstr(reply.body, "belongs to ann"));
    assert_int_equal(ask(live, "POST", "/jobs", ARRAY("3-4")), 201); /* bob's own of that name */
    assert_int_equal(live_ask(live, "GET", "/jobs?array=big", NULL, NULL, &reply), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "jobs")), 5);
    assert_int_equal(live_ask(live, "GET", "/jobs?array=bob%2Fbig", NULL, NULL, &reply), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "jobs")), 2);
    assert_int_equal(live_ask(live, "DELETE", "/arrays/ann%2Fbig", NULL, NULL, &reply), 403);
    live->token = NULL; /* the admin has none, and has to say whose */
    assert_int_equal(live_ask(live, "DELETE", "/arrays/big", NULL, NULL, &reply), 409);
    assert_non_null(strstr(reply.body, "several users have an array"));
    live->token = ann;
    assert_int_equal(live_ask(live, "DELETE", "/arrays/big", NULL, NULL, &reply), 202);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "jobs")), 3);
    live->token = NULL; /* ann's is over: bob's is the only one */
    assert_int_equal(live_ask(live, "DELETE", "/arrays/big", NULL, NULL, &reply), 202);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "jobs")), 2);
    reply_clear(&reply);
}

static void assert_env(struct live *live, const char *token, const char *value)
{
    struct reply reply = { 0 };
    const char *told = NULL;

    live->token = token;
    assert_int_equal(live_ask(live, "GET", "/jobs/hers", NULL, NULL, &reply), 200);
    assert_int_equal(json_unpack(reply.json, "{s:{s:{s:s}}}", "spec", "env", "KEY", &told), 0);
    assert_string_equal(told, value);
    assert_int_equal(strstr(reply.body, "s3cret") != NULL, streq(value, "s3cret"));
    reply_clear(&reply);
}

TEST(test_the_environment_is_its_owners)
{
    struct live *live = *state;
    char ann[65], bob[65], eve[65], otto[65];

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    make_user(live, "eve", "viewer", eve);
    make_user(live, "otto", "operator", otto);
    live->token = ann;
    assert_int_equal(
        ask(live, "POST", "/jobs",
            "{\"name\":\"hers\",\"fault_tolerant\":true,\"env\":{\"KEY\":\"s3cret\"},"
            "\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":2}}"),
        201);
    assert_env(live, ann, "s3cret");
    assert_env(live, bob, "(hidden)");
    assert_env(live, eve, "(hidden)");
    assert_env(live, otto, "s3cret");
    assert_env(live, NULL, "s3cret");
}

TEST(test_every_refusal_is_noted_once)
{
    static const struct {
        const char *method, *path, *body;
        unsigned status;
    } rows[] = {
        { "GET", "/audit", NULL, 403 }, /* by the route */
        { "DELETE", "/jobs/hers", NULL, 403 },
        { "PATCH", "/jobs/hers", "{\"max\":1}", 403 },
        { "PATCH", "/jobs/hers?dry_run=1", "{\"max\":1}", 403 },
        { "POST", "/tokens", "{\"user\":\"ann\"}", 403 },
        { "GET", "/jobs/hers", NULL, 200 },
        { "DELETE", "/tokens/99", NULL, 404 },
        { "POST", "/jobs", "{}", 422 },
    };
    struct live *live = *state;
    char ann[65], bob[65];
    uint64_t noted = 0;

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("hers")), 201);
    live->token = bob;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        assert_int_equal(ask(live, rows[i].method, rows[i].path, rows[i].body), rows[i].status);
        noted += rows[i].status == 403;
        assert_int_equal(live->scheduler->denials.total, noted);
    }
    live->token = HASH_A;
    assert_int_equal(ask(live, "GET", "/jobs", NULL), 401);
    assert_int_equal(live->scheduler->denials.total, noted + 1);
}

static void on_stream_end(const struct http_answer *answer, void *userdata)
{
    struct reply *reply = userdata;

    reply->n++;
    reply->status = answer->status;
}

/* Opens an event stream, and waits until it is there. */
static void open_stream(struct live *live, const char *token, struct reply *reply)
{
    unsigned before = live->scheduler->n_event_streams;
    struct http_call call = { .method = "GET",
                              .path = "/events",
                              .bearer_token = token,
                              .headers = { "Accept: text/event-stream" } };
    struct edl_error error = { 0 };

    assert_int_equal(http_async_start(live->async, &call, on_stream_end, reply, NULL, &error), 0);
    while (live->scheduler->n_event_streams == before)
        assert_int_equal(ask(live, "GET", "/whoami", NULL), 200);
}

TEST(test_who_is_removed_reads_no_more)
{
    struct live *live = *state;
    struct reply ann_stream = { 0 }, bob_stream = { 0 }, poll = { 0 }, logs = { 0 }, read = { 0 },
                 posted = { 0 }, change = { 0 };
    char ann[65], bob[65];

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 201);
    open_stream(live, ann, &ann_stream);
    open_stream(live, bob, &bob_stream);
    live_send_as(live, ann, "GET", "/events?after=1&wait=30", NULL, NULL, &poll);
    live_send_as(live, ann, "GET", "/jobs/a/logs?follow=1&wait=30", NULL, NULL, &logs);
    while (http_server_waiting(live->scheduler->listeners.servers[0]) < 2)
        assert_int_equal(ask(live, "GET", "/whoami", NULL), 200);
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"role\":\"viewer\"}"), 200);
    assert_int_equal(ann_stream.n + poll.n + logs.n, 0); /* a viewer may */
    live_send(live, "POST", "/jobs", NULL, JOB("b"), &posted);
    live_hold(live);
    live_send_as(live, ann, "GET", "/jobs", NULL, NULL, &read); /* waits for the commit */
    live_readers(live, 1);
    live_send(live, "DELETE", "/users/ann", NULL, NULL, &change);
    while (auth_socket_role(live->scheduler, "ann") != USER_NOBODY)
        (void)sd_event_run(live->scheduler->event, USEC_PER_SEC);
    live_release(live);
    live_wait(live, &posted);
    live_wait(live, &change);
    live_wait(live, &read);
    assert_int_equal(read.status, 401);
    live_wait(live, &poll);
    assert_int_equal(poll.status, 401);
    live_wait(live, &logs);
    assert_int_equal(logs.status, 401);
    live_wait(live, &ann_stream);
    assert_int_equal(ann_stream.status, 200);
    assert_int_equal(bob_stream.n, 0);
    assert_int_equal(live->scheduler->n_event_streams, 1);
    /* and one whose token has expired is noticed at the next beat or event */
    tokens_by_id(live->scheduler->users, 2)->expires_wall_us = 1;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("c")), 201);
    live_wait(live, &bob_stream);
    reply_clear(&poll);
    reply_clear(&logs);
    reply_clear(&read);
    reply_clear(&posted);
    reply_clear(&change);
}

/* It knows the tokens of its own term alone, and the next leader has the news. */
TEST(test_who_leads_no_more_lets_nobody_read_on)
{
    struct live *live = *state;
    struct edl_error why = { .code = -ENOTCONN };
    struct reply stream = { 0 };
    char ann[65];

    make_user(live, "ann", "user", ann);
    open_stream(live, ann, &stream);
    live->scheduler->leadership.role = ROLE_LEADER;
    leadership_end(live->scheduler, &why);
    live_wait(live, &stream);
    assert_int_equal(live->scheduler->n_event_streams, 0);
    live->scheduler->leadership.role = ROLE_ALONE;
}

TEST(test_output_is_its_submitters)
{
    static const struct {
        const char *role;
        enum user_role least;
        unsigned status; /* of a reader with that role, who is not the submitter */
    } cases[] = {
        { "viewer", USER_OPERATOR, 403 },   { "user", USER_OPERATOR, 403 },
        { "operator", USER_OPERATOR, 200 }, { "operator", USER_ADMIN, 403 },
        { "admin", USER_ADMIN, 200 },       { "viewer", USER_VIEWER, 200 },
    };
    struct live *live = *state;
    char ann[65];

    make_user(live, "ann", "user", ann);
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 201);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char name[16], other[65];

        (void)snprintf(name, sizeof name, "other-%zu", i);
        make_user(live, name, cases[i].role, other);
        live->scheduler->options.log_role = cases[i].least;
        live->token = other;
        assert_int_equal(ask(live, "GET", "/jobs/ann%2Fa/logs", NULL), cases[i].status);
        live->token = ann;
        assert_int_equal(ask(live, "GET", "/jobs/ann%2Fa/logs", NULL), 200);
    }
}

/* A token of the caller's own, its text in ret; its end. */
static json_int_t make_token(struct live *live, const char *with, const char *body, char *ret)
{
    struct reply reply = { 0 };
    json_int_t expires_us;

    live->token = with;
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, body, &reply), 201);
    (void)snprintf(ret, 65, "%s", json_string_value(json_object_get(reply.json, "token")));
    expires_us = json_integer_value(json_object_get(reply.json, "expires_us")); /* null: 0 */
    reply_clear(&reply);
    return expires_us;
}

TEST(test_a_token_ends_with_the_one_it_was_made_with)
{
    struct live *live = *state;
    char ann[65], brief[65], child[65], grandchild[65], other[65], eve[65];
    json_int_t end_us;

    make_user(live, "ann", "admin", ann); /* token 1 */
    end_us = make_token(live, ann, "{\"ttl_s\":1000}", brief);
    assert_true(end_us > 0);
    assert_int_equal(make_token(live, brief, "{}", child), end_us);
    assert_int_equal(make_token(live, child, "{\"ttl_s\":5000}", grandchild), end_us);
    assert_true(make_token(live, child, "{\"ttl_s\":10}", other) < end_us);
    make_user(live, "eve", "user", eve);
    assert_int_equal(make_token(live, brief, "{\"user\":\"eve\"}", eve), 0); /* for others */
    live_restart(live);
    live->token = ann;
    assert_int_equal(ask(live, "DELETE", "/tokens/3", NULL), 200); /* the child */
    live->token = grandchild;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    live->token = other;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    live_restart(live);
    live->token = brief;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 200);
    live->token = eve;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 200);
    assert_int_equal(users_find(live->scheduler->users, "ann")->n_tokens, 2);
}

/* The states of all join tokens, in the order in which they were made. */
static void assert_join_tokens(struct live *live, const char *states)
{
    char text[80] = "";
    struct reply reply = { 0 };
    const json_t *token;
    size_t i;

    assert_int_equal(live_ask(live, "GET", "/tokens/join", NULL, NULL, &reply), 200);
    json_array_foreach(json_object_get(reply.json, "tokens"), i, token)
    {
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                       json_string_value(json_object_get(token, "state")));
    }
    assert_string_equal(text, states);
    reply_clear(&reply);
}

TEST(test_join_tokens_end_with_the_right_to_make_them)
{
    struct live *live = *state;
    char otto[65], olga[65];

    make_user(live, "otto", "operator", otto);
    make_user(live, "olga", "operator", olga);
    live->token = otto;
    assert_int_equal(ask(live, "POST", "/tokens/join", "{}"), 201);
    live->token = olga;
    assert_int_equal(ask(live, "POST", "/tokens/join", "{}"), 201);
    live->token = NULL;
    assert_int_equal(ask(live, "POST", "/tokens/join", "{}"), 201);
    assert_int_equal(ask(live, "PATCH", "/users/otto", "{\"role\":\"admin\"}"), 200);
    assert_join_tokens(live, "unused unused unused");
    assert_int_equal(ask(live, "PATCH", "/users/otto", "{\"role\":\"user\"}"), 200);
    assert_join_tokens(live, "expired unused unused");
    assert_int_equal(ask(live, "DELETE", "/users/olga", NULL), 200);
    live_restart(live);
    assert_join_tokens(live, "expired expired unused");
}

TEST(test_who_goes_first_is_for_operators_to_say)
{
    static const char first[] = "{\"name\":\"first\",\"priority\":1,\"fault_tolerant\":true,"
                                "\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,"
                                "\"max-instance\":2}}";
    struct live *live = *state;
    char ann[65], otto[65];
    struct reply reply = { 0 };

    make_user(live, "ann", "user", ann);
    make_user(live, "otto", "operator", otto);
    live->token = ann;
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, first, &reply), 403);
    assert_non_null(strstr(reply.body, "\"/priority\""));
    assert_int_equal(ask(live, "POST", "/jobs?dry_run=1", first), 403);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("hers")), 201);
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"priority\":1}"), 403);
    assert_int_equal(ask(live, "PATCH", "/jobs/hers?dry_run=1", "{\"priority\":1}"), 403);
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"priority\":-5}"), 202);
    live->token = otto;
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"priority\":50}"), 202);
    assert_int_equal(ask(live, "POST", "/jobs", first), 201);
    live->token = ann; /* and less than it is, its owner may */
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"max\":1}"), 202);
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"priority\":51}"), 403);
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"priority\":20}"), 202);
    reply_clear(&reply);
}

TEST(test_who_goes_is_on_record)
{
    struct live *live = *state;
    const char *user, *target;
    char ann[65], last[65];
    struct reply reply = { 0 };

    make_user(live, "ann", "admin", ann);
    (void)make_token(live, ann, "{}", last);
    live->token = last;
    assert_int_equal(ask(live, "DELETE", "/tokens/2", NULL), 200); /* with which it comes */
    live->token = ann;
    assert_int_equal(ask(live, "DELETE", "/users/ann", NULL), 200);
    live->token = NULL;
    assert_int_equal(live_ask(live, "GET", "/audit?after=3", NULL, NULL, &reply), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "entries")), 2);
    assert_int_equal(json_unpack(reply.json, "{s:[{s:s,s:s},{}]}", "entries", "user", &user,
                                 "target", &target),
                     0);
    assert_string_equal(user, "ann");
    assert_string_equal(target, "/tokens/2");
    assert_int_equal(json_unpack(reply.json, "{s:[{},{s:s,s:s}]}", "entries", "user", &user,
                                 "target", &target),
                     0);
    assert_string_equal(user, "ann");
    assert_string_equal(target, "/users/ann");
    reply_clear(&reply);
}

#define OFFER                                                                                      \
    "\"address\":\"127.0.0.1\",\"cpu_millicores\":1000,\"memory_bytes\":1073741824,\"gpus\":0,"    \
    "\"port_first\":30000,\"port_last\":30100"

/* A join token, its text in ret; its end. */
static uint64_t make_join_token(struct live *live, const char *with, char *ret)
{
    struct reply reply = { 0 };
    uint64_t expires_us;

    live->token = with;
    assert_int_equal(live_ask(live, "POST", "/tokens/join", NULL, "{}", &reply), 201);
    (void)snprintf(ret, 65, "%s", json_string_value(json_object_get(reply.json, "token")));
    expires_us = (uint64_t)json_integer_value(json_object_get(reply.json, "expires_us"));
    reply_clear(&reply);
    return expires_us;
}

static unsigned join_with(struct live *live, const char *join_token, const char *node)
{
    char body[300];

    live->token = join_token;
    (void)snprintf(body, sizeof body, "{\"node\":\"%s\"," OFFER "}", node);
    return ask(live, "POST", "/nodes/join", body);
}

/* Whoever stole a token could else go on for a week after it was taken back. */
TEST(test_a_join_token_ends_with_the_token_it_was_made_with)
{
    struct live *live = *state;
    char otto[65], brief[65], child[65], used[65], stolen[65], stays[65];
    json_int_t end_us;

    make_user(live, "otto", "operator", otto);                /* token 1 */
    end_us = make_token(live, otto, "{\"ttl_s\":60}", brief); /* token 2 */
    (void)make_token(live, brief, "{}", child);               /* token 3 */
    assert_true(make_join_token(live, otto, stays) > (uint64_t)end_us);
    assert_int_equal(make_join_token(live, brief, used), end_us);
    assert_int_equal(make_join_token(live, child, stolen), end_us);
    assert_int_equal(join_with(live, used, "n1"), 201);
    live_restart(live);
    live->token = otto;
    assert_int_equal(ask(live, "DELETE", "/tokens/2", NULL), 200); /* and with it the child */
    assert_int_equal(join_with(live, stolen, "n2"), 401);
    live_restart(live);
    assert_int_equal(join_with(live, stolen, "n2"), 401);
    assert_int_equal(join_with(live, stays, "n2"), 201);
    assert_non_null(cluster_node(live->scheduler->cluster, "n1")); /* what joined is in */
}
