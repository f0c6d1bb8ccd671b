/* SPDX-License-Identifier: Apache-2.0 */
/* test_join_tokens.c - one-time join tokens in a whole scheduler: which calls use one up, which do
 * not, which are left after a restart; and how much a flood of refusals writes */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/accounts/join_tokens.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define OFFER                                                                                      \
    "\"address\":\"127.0.0.1\",\"cpu_millicores\":1000,\"memory_bytes\":1073741824,\"gpus\":0,"    \
    "\"port_first\":30000,\"port_last\":30100"
#define CREDENTIAL "\"credential\":\"%064d\""

static char *make(struct live *live, const char *body)
{
    struct reply reply = { 0 };
    char *token;

    assert_int_equal(live_ask(live, "POST", "/tokens/join", NULL, body, &reply), 201);
    token = xstrdup(json_string_value(json_object_get(reply.json, "token")));
    assert_int_equal(strlen(token), TOKEN_HEX);
    reply_clear(&reply);
    return token;
}

/* join_from - the status; with a credential of that number, from a machine ("": not told) */
static unsigned join_from(struct live *live, const char *token, const char *node, int credential,
                          const char *machine_id)
{
    struct reply reply = { 0 };
    char body[512];
    unsigned status;

    (void)snprintf(body, sizeof body,
                   "{\"node\":\"%s\",\"machine_id\":\"%s\"," OFFER "," CREDENTIAL "}", node,
                   machine_id, credential);
    live_send_as(live, token, "POST", "/nodes/join", NULL, body, &reply);
    live_wait(live, &reply);
    status = reply.status;
    if (status == 201) /* it has its own, so none goes over the wire */
        assert_null(json_object_get(reply.json, "credential"));
    reply_clear(&reply);
    return status;
}

static unsigned join(struct live *live, const char *token, const char *node, int credential)
{
    return join_from(live, token, node, credential, "");
}

static const struct stored_token *find(const struct live *live, const char *token)
{
    const struct stored_token *found = join_tokens_find(live->scheduler, token);

    assert_non_null(found);
    return found;
}

static void expire(const struct live *live, const char *token)
{
    ((struct stored_token *)(uintptr_t)find(live, token))->expires_wall_us = 1;
}

TEST_EACH(live_setup, live_teardown);

TEST(test_a_token_joins_one_node_once)
{
    struct live *live = *state;
    _cleanup_free_ char *named = make(live, "{\"node\":\"n1\"}");
    _cleanup_free_ char *open = make(live, NULL);

    assert_int_equal(join(live, named, "n2", 1), 403);
    assert_int_equal(find(live, named)->used_wall_us, 0); /* a refusal uses nothing up */
    assert_int_equal(join(live, named, "n1", 1), 201);
    assert_string_equal(find(live, named)->used_by, "n1");
    /* the answer was lost: the same again, and nothing else */
    assert_int_equal(join(live, named, "n1", 1), 201);
    assert_int_equal(join(live, named, "n1", 2), 401);
    assert_int_equal(join(live, named, "n2", 1), 401);
    /* one without a name takes no name that is there */
    assert_int_equal(join(live, open, "n1", 3), 403);
    assert_int_equal(join(live, open, "n2", 3), 201);
    assert_int_equal(join(live, open, "n3", 3), 401);
}

/* Whoever pasted the line and had to begin anew: as long as nothing has reported, and from there.
 */
TEST(test_a_token_joins_again_until_the_first_report)
{
    struct live *live = *state;
    _cleanup_free_ char *token = make(live, NULL);
    struct reply reply = { 0 };
    char credential[65];

    assert_int_equal(join_from(live, token, "n1", 1, "aa"), 201);
    assert_int_equal(join_from(live, token, "n1", 2, "bb"), 401);
    assert_int_equal(join_from(live, token, "n2", 2, "aa"), 401);
    assert_int_equal(join(live, token, "n1", 2), 401);
    assert_int_equal(join_from(live, token, "n1", 2, "aa"), 201);
    /* the second one counts, until its agent has reported */
    (void)snprintf(credential, sizeof credential, "%064d", 1);
    live_send_as(live, credential, "GET", "/nodes/n1/orders", NULL, NULL, &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 401);
    reply_clear(&reply);
    (void)snprintf(credential, sizeof credential, "%064d", 2);
    live_send_as(live, credential, "POST", "/nodes/n1/report", NULL,
                 "{\"boot_id\":\"b\",\"machine_id\":\"aa\",\"processes\":[]," OFFER "}", &reply);
    live_wait(live, &reply);
    assert_int_equal(reply.status, 200);
    reply_clear(&reply);
    assert_int_equal(join_from(live, token, "n1", 3, "aa"), 401);
}

static void take_back(struct live *live, const char *token)
{
    struct reply reply = { 0 };
    char path[64];

    (void)snprintf(path, sizeof path, "/tokens/join/%s", find(live, token)->id);
    assert_int_equal(live_ask(live, "DELETE", path, NULL, NULL, &reply), 200);
    reply_clear(&reply);
}

/* A node that never reported would else be anybody's who has its line and its machine-id. */
TEST(test_a_used_token_expires)
{
    struct live *live = *state;
    _cleanup_free_ char *token = make(live, NULL);

    assert_int_equal(join_from(live, token, "n1", 1, "aa"), 201);
    assert_int_equal(join_from(live, token, "n1", 2, "bb"), 401); /* another machine */
    expire(live, token);
    assert_int_equal(join_from(live, token, "n1", 2, "aa"), 401);
    assert_int_equal(join_from(live, token, "n1", 1, "aa"), 201); /* its answer, again */
}

TEST(test_a_used_token_is_revoked)
{
    struct live *live = *state;
    _cleanup_free_ char *token = make(live, NULL);

    assert_int_equal(join_from(live, token, "n1", 1, "aa"), 201);
    take_back(live, token);
    assert_int_equal(join_from(live, token, "n1", 2, "aa"), 401);
}

TEST(test_a_used_token_ends_with_who_made_it)
{
    struct live *live = *state;
    _cleanup_free_ char *token = NULL;
    struct reply reply = { 0 };
    char otto[65];

    assert_int_equal(live_ask(live, "POST", "/users", NULL,
                              "{\"name\":\"otto\",\"role\":\"operator\"}", &reply),
                     201);
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, "{\"user\":\"otto\"}", &reply), 201);
    (void)snprintf(otto, sizeof otto, "%s",
                   json_string_value(json_object_get(reply.json, "token")));
    live->token = otto;
    token = make(live, NULL);
    live->token = NULL;
    assert_int_equal(join_from(live, token, "n1", 1, "aa"), 201);
    assert_int_equal(live_ask(live, "DELETE", "/users/otto", NULL, NULL, &reply), 200);
    assert_int_equal(join_from(live, token, "n1", 2, "aa"), 401);
    reply_clear(&reply);
}

TEST(test_a_used_token_ends_with_the_next_one)
{
    struct live *live = *state;
    _cleanup_free_ char *first = make(live, NULL);
    _cleanup_free_ char *second = make(live, "{\"node\":\"n1\"}");

    assert_int_equal(join_from(live, first, "n1", 1, "aa"), 201);
    assert_int_equal(join_from(live, second, "n1", 2, "aa"), 201);
    assert_int_equal(join_from(live, first, "n1", 3, "aa"), 401);
    assert_int_equal(join_from(live, second, "n1", 3, "aa"), 201);
}

TEST(test_tokens_survive_a_restart_as_hashes)
{
    struct live *live = *state;
    _cleanup_free_ char *used = make(live, "{\"node\":\"n1\"}");
    _cleanup_free_ char *unused = make(live, "{\"node\":\"n2\"}");

    assert_int_equal(join(live, used, "n1", 1), 201);
    live_restart(live);
    assert_int_equal(live->scheduler->join_tokens.n, 2);
    assert_string_equal(find(live, used)->used_by, "n1");
    assert_string_equal(find(live, unused)->used_by, "");
    assert_int_equal(join(live, used, "n1", 1), 201);
    assert_int_equal(join(live, used, "n1", 2), 401);
    assert_int_equal(join(live, unused, "n2", 2), 201);
}

TEST(test_expired_and_revoked_tokens)
{
    struct live *live = *state;
    _cleanup_free_ char *expired = make(live, NULL);
    _cleanup_free_ char *revoked = make(live, NULL);
    _cleanup_free_ char *used = make(live, NULL);
    struct reply reply = { 0 };
    char path[64];

    expire(live, expired);
    assert_int_equal(join(live, expired, "n1", 1), 401);
    (void)snprintf(path, sizeof path, "/tokens/join/%s", find(live, revoked)->id);
    assert_int_equal(live_ask(live, "DELETE", path, NULL, NULL, &reply), 200);
    assert_string_equal(json_string_value(json_object_get(reply.json, "state")), "expired");
    assert_int_equal(join(live, revoked, "n1", 1), 401);
    assert_int_equal(live_ask(live, "DELETE", "/tokens/join/nosuch", NULL, NULL, &reply), 404);
    /* used in time: the same node may still ask for its answer */
    assert_int_equal(join(live, used, "n1", 1), 201);
    expire(live, used);
    assert_int_equal(join(live, used, "n1", 1), 201);
    /* but not once the node was removed */
    assert_int_equal(live_ask(live, "DELETE", "/nodes/n1", NULL, NULL, &reply), 200);
    assert_int_equal(join(live, used, "n1", 1), 401);
    reply_clear(&reply);
}

TEST(test_wishes_that_are_refused)
{
    static const char *const bodies[] = {
        "{\"ttl_us\":0}",
        "{\"ttl_us\":-1}",
        "{\"ttl_us\":604800000001}",
        "{\"ttl_us\":\"1h\"}",
        "{\"node\":\"..\"}",
        "{\"node\":\"a/b\"}",
        "{\"node\":\"join\"}",
        "{\"nodes\":\"n1\"}",
        "{\"node\":7}",
        "{\"node\":\"\\u0000n\"}",
        "[]",
    };
    struct live *live = *state;
    struct reply reply = { 0 };

    for (size_t i = 0; i < ELEMENTS(bodies); i++) {
        assert_int_equal(live_ask(live, "POST", "/tokens/join", NULL, bodies[i], &reply), 400);
    }
    assert_int_equal(live->scheduler->join_tokens.n, 0);
    reply_clear(&reply);
}

static int make_as(struct live *live, const char *name, uint64_t now_us, struct edl_error *error)
{
    const struct join_token_maker maker = { name, streq(name, "admin"), 0 };
    const struct stored_token *made;
    char token[TOKEN_HEX + 1];

    return join_tokens_make(live->scheduler, "", &maker, now_us, 1, token, &made, error);
}

static void note_id(const struct stored_token *token, void *userdata)
{
    (void)snprintf(userdata, sizeof token->id, "%s", token->id);
}

static void commit(struct live *live)
{
    struct reply reply = { 0 };

    scheduler_touch(live->scheduler);
    assert_int_equal(live_ask(live, "GET", "/tokens/join", NULL, NULL, &reply), 200);
    reply_clear(&reply);
}

/* Nobody who may make some keeps the others from it. */
TEST(test_good_tokens_are_bounded)
{
    static const char *const operators[] = { "ann", "bob", "eve" };
    struct live *live = *state;
    const struct stored_token *revoked;
    struct edl_error error = { 0 };
    uint64_t then_us = 1000 * STORED_TOKEN_US;
    char id[sizeof revoked->id];

    for (size_t k = 0; k < ELEMENTS(operators); k++) {
        for (int i = 0; i < JOIN_TOKENS_MAKER_MAX; i++)
            assert_int_equal(make_as(live, operators[k], then_us, &error), 0);
        assert_int_equal(make_as(live, operators[k], then_us, &error), -EDQUOT);
        assert_non_null(strstr(error.remedy, "edl node revoke"));
        if (k > 0)
            continue;
        /* what is revoked makes room at once */
        id[0] = '\0';
        join_tokens_each(live->scheduler, note_id, id);
        assert_int_equal(join_tokens_revoke(live->scheduler, id, then_us, &revoked, &error), 0);
        assert_int_equal(make_as(live, operators[k], then_us, &error), 0);
    }
    assert_int_equal(make_as(live, "otto", then_us, &error), -EDQUOT);
    for (int i = 0; i < JOIN_TOKENS_RESERVED; i++)
        assert_int_equal(make_as(live, "admin", then_us, &error), 0);
    assert_int_equal(make_as(live, "admin", then_us, &error), -EDQUOT);
    assert_int_equal(make_as(live, "otto", then_us + 1, &error), 0); /* they have expired */
    commit(live);
    assert_int_equal(live->scheduler->join_tokens.n, JOIN_TOKENS_MAX + 2);
    /* and go by themselves */
    assert_int_equal(make_as(live, "otto", then_us + STORED_TOKEN_US + 3, &error), 0);
    assert_int_equal(live->scheduler->join_tokens.n, 1);
    commit(live);
    live_restart(live); /* the disk forgot them as well */
    assert_int_equal(live->scheduler->join_tokens.n, 1);
}

TEST(test_kept_tokens_are_bounded)
{
    struct live *live = *state;
    struct edl_error error = { 0 };
    uint64_t then_us = 1000 * STORED_TOKEN_US;

    for (unsigned i = 0; i < JOIN_TOKENS_KEPT + 200; i++) {
        assert_int_equal(make_as(live, "ann", then_us + 2 * i, &error), 0);
        if (i % 1000 == 999)
            commit(live);
    }
    commit(live);
    assert_int_equal(live->scheduler->join_tokens.n, JOIN_TOKENS_KEPT);
    live_restart(live);
    assert_int_equal(live->scheduler->join_tokens.n, JOIN_TOKENS_KEPT);
}

TEST(test_a_flood_of_refusals_is_counted_not_written)
{
    struct live *live = *state;
    struct denials *denials = &live->scheduler->denials;
    char peer[32];

    for (int i = 0; i < 1000; i++)
        denials_note_text(denials, "10.0.0.1", "GET /nodes", "test");
    assert_int_equal(denials->n_lines, 5);
    denials_note_text(denials, "10.0.0.2", "GET /nodes", "test"); /* others are still told */
    assert_int_equal(denials->n_lines, 6);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(peer, sizeof peer, "10.1.%d.%d", i / 250, i % 250);
        denials_note_text(denials, peer, "GET /nodes", "test");
    }
    assert_int_equal(denials->n_lines, 100);
    assert_true(denials->n_peers <= 1024);
    assert_int_equal(denials->total, 6001);
}
