/* SPDX-License-Identifier: Apache-2.0 */
/* test_users.c - people: the rights of each, that they survive a restart, and the rows that are
 * kept */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/accounts/users.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":"        \
    "{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":2}}}"
#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

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

static void assert_is(struct live *live, const char *user, const char *role)
{
    struct reply reply = { 0 };

    assert_int_equal(live_ask(live, "GET", "/whoami", NULL, NULL, &reply), 200);
    assert_string_equal(json_string_value(json_object_get(reply.json, "user")), user);
    assert_string_equal(json_string_value(json_object_get(reply.json, "role")), role);
    reply_clear(&reply);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_jobs_belong_to_who_submits_them)
{
    struct live *live = *state;
    char ann[65], bob[65], eve[65], otto[65];
    struct reply reply = { 0 };

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    make_user(live, "eve", "viewer", eve);
    make_user(live, "otto", "operator", otto);
    live->token = ann;
    assert_is(live, "ann", "user");
    assert_int_equal(ask(live, "POST", "/jobs", JOB("hers")), 201);
    assert_int_equal(live_ask(live, "GET", "/jobs/hers", NULL, NULL, &reply), 200);
    assert_string_equal(json_string_value(json_object_get(reply.json, "user")), "ann");
    live->token = bob;
    assert_int_equal(ask(live, "GET", "/jobs/hers", NULL), 200);
    assert_int_equal(live_ask(live, "DELETE", "/jobs/hers", NULL, NULL, &reply), 403);
    assert_non_null(strstr(reply.body, "belongs to ann"));
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"max\":1}"), 403);
    live->token = eve;
    assert_int_equal(ask(live, "GET", "/jobs", NULL), 200);
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, JOB("no"), &reply), 403);
    assert_non_null(strstr(reply.body, "needs the role user, and eve is viewer"));
    live->token = otto;
    assert_int_equal(ask(live, "PATCH", "/jobs/hers", "{\"max\":1}"), 202);
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"x\"}"), 403);
    live->token = ann;
    assert_int_equal(ask(live, "DELETE", "/jobs/hers", NULL), 202);
    assert_int_equal(live_ask(live, "GET", "/jobs/hers", NULL, NULL, &reply), 200);
    assert_string_equal(json_string_value(json_object_get(reply.json, "reason")), "killed by ann");
    reply_clear(&reply);
}

/* A user can fill its own place only; an admin has no limit but that of all. */
TEST(test_jobs_of_a_user_are_bounded)
{
    struct live *live = *state;
    struct holding_limits *limits = &live->scheduler->options.limits;
    struct reply reply = { 0 };
    char ann[65], bob[65];

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    limits->user[HOLDING_JOBS] = 2;
    limits->user[HOLDING_INSTANCES] = 9;
    limits->all[HOLDING_JOBS] = 5;
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 201);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("b")), 201);
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, JOB("c"), &reply), 409);
    assert_non_null(strstr(reply.body, "jobs that are not over of ann: 2 there are"));
    assert_non_null(strstr(reply.body, "\"remedy\":"));
    assert_int_equal(ask(live, "POST", "/jobs?dry_run=1", JOB("c")), 409);
    assert_int_equal(ask(live, "PATCH", "/jobs/a", "{\"max\":7}"), 202);
    assert_int_equal(ask(live, "PATCH", "/jobs/a", "{\"max\":8}"), 409);
    live->token = bob;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("d")), 201);
    live->token = NULL;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("e")), 201);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("f")), 201);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("g")), 409);
    assert_int_equal(ask(live, "PATCH", "/jobs/d", "{\"max\":10}"), 202);
    assert_int_equal(live_ask(live, "GET", "/metrics", NULL, NULL, &reply), 200);
    assert_non_null(strstr(reply.body, "\nedl_over_limit_total 4\n"));
    assert_non_null(strstr(reply.body, "\nedl_active_amount{amount=\"jobs\"} 5\n"));
    assert_non_null(strstr(reply.body, "\nedl_active_limit{amount=\"jobs\"} 5\n"));
    limits->all[HOLDING_JOBS] = 20; /* of that nobody takes more than he leaves: test_holdings */
    live->token = ann;              /* what ends makes room */
    assert_int_equal(ask(live, "DELETE", "/jobs/b", NULL), 202);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("c")), 201);
    reply_clear(&reply);
}

TEST(test_uploads_are_bounded)
{
    static const char path[] = "/workspaces/"
                               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct live *live = *state;
    struct workspace_limits *limits = &live->scheduler->workspaces.limits;
    struct reply reply = { 0 };
    char ann[65];

    make_user(live, "ann", "user", ann);
    live->token = ann;
    limits->max_bytes = 1 << 20;
    limits->reserve_bytes = UINT64_C(1) << 60;
    assert_int_equal(live_ask(live, "PUT", path, NULL, "abc", &reply), 507);
    assert_non_null(strstr(reply.body, "kept for its database"));
    limits->reserve_bytes = 0;
    limits->sender_bytes = 1;
    assert_int_equal(live_ask(live, "PUT", path, NULL, "abc", &reply), 409);
    assert_non_null(strstr(reply.body, "ann has sent"));
    live->token = NULL; /* who sets the limit has none */
    assert_int_equal(ask(live, "PUT", path, "abc"), 200);
    live->token = ann;
    assert_int_equal(ask(live, "PUT", path, "abc"), 409); /* it is there, and not hers */
    limits->sender_bytes = 0;
    assert_int_equal(ask(live, "PUT", path, "abc"), 200);
    limits->sender_bytes = 1;
    assert_int_equal(ask(live, "PUT", path, "abc"), 200); /* now it is: nothing is sent */
    reply_clear(&reply);
}

#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define WITH_ABC(name_)                                                                            \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"workspace\":\"" ABC "\",\"min-instance\":1}}}"

static size_t listed(struct live *live)
{
    struct reply reply = { 0 };
    size_t n;

    assert_int_equal(live_ask(live, "GET", "/workspaces", NULL, NULL, &reply), 200);
    n = json_array_size(json_object_get(reply.json, "workspaces"));
    reply_clear(&reply);
    return n;
}

/* Its name is in every job that uses it, which everybody may look at. */
TEST(test_workspaces_are_of_users)
{
    static const char path[] = "/workspaces/"
                               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct live *live = *state;
    char ann[65], eve[65], op[65];

    live->scheduler->workspaces.limits = (struct workspace_limits){ .max_bytes = 1 << 20 };
    make_user(live, "ann", "user", ann);
    make_user(live, "eve", "user", eve);
    make_user(live, "op", "operator", op);
    live->token = ann;
    assert_int_equal(ask(live, "PUT", path, "abc"), 200);
    assert_int_equal(ask(live, "GET", path, NULL), 200);
    assert_int_equal(ask(live, "POST", "/jobs", WITH_ABC("hers")), 201);
    live->token = eve;
    assert_int_equal(ask(live, "GET", path, NULL), 404);
    assert_int_equal(listed(live), 0);
    assert_int_equal(ask(live, "POST", "/jobs", WITH_ABC("stolen")), 422);
    assert_int_equal(ask(live, "POST", "/jobs?dry_run=1", WITH_ABC("stolen")), 422);
    assert_int_equal(ask(live, "PUT", path, "abd"), 400); /* to know the name is not to have it */
    assert_int_equal(ask(live, "GET", path, NULL), 404);
    live->token = op;
    assert_int_equal(ask(live, "GET", path, NULL), 200);
    assert_int_equal(listed(live), 1);
    assert_int_equal(ask(live, "POST", "/jobs", WITH_ABC("looked-after")), 201);
    live->token = eve; /* who has it may send it, and both have it then */
    assert_int_equal(ask(live, "PUT", path, "abc"), 200);
    assert_int_equal(ask(live, "GET", path, NULL), 200);
    assert_int_equal(ask(live, "POST", "/jobs", WITH_ABC("own")), 201);
    live_restart(live);
    assert_int_equal(listed(live), 1);
    live->token = ann;
    assert_int_equal(ask(live, "GET", path, NULL), 200);
    live->token = op; /* a job of one's own that uses it is enough */
    assert_true(workspace_is_of(live->scheduler->workspaces.all, "op"));
    live->token = NULL;
    make_user(live, "lee", "viewer", ann);
    live->token = ann;
    assert_int_equal(listed(live), 0);
}

TEST(test_tokens_are_kept_and_go_with_their_user)
{
    struct live *live = *state;
    char ann[65];

    make_user(live, "ann", "user", ann);
    live_restart(live);
    live->token = ann;
    assert_is(live, "ann", "user");
    assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"admin\"}"), 403);
    assert_int_equal(ask(live, "DELETE", "/tokens/99", NULL), 404);
    live->token = NULL;
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"role\":\"viewer\"}"), 200);
    live->token = ann;
    assert_is(live, "ann", "viewer");
    live->token = NULL;
    assert_int_equal(ask(live, "DELETE", "/users/ann", NULL), 200);
    live->token = ann;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    assert_int_equal(auth_socket_role(live->scheduler, "ann"), USER_NOBODY);
    live_restart(live);
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    assert_int_equal(auth_socket_role(live->scheduler, "ann"), USER_NOBODY);
    live->token = NULL;
    assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"ann\"}"), 404);
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"ann\"}"), 201);
    assert_int_equal(auth_socket_role(live->scheduler, "ann"), USER_USER);
    live->scheduler->options.socket_role = USER_USER;
    assert_int_equal(auth_socket_role(live->scheduler, "nobody"), USER_USER);
    assert_int_equal(auth_socket_role(live->scheduler, "admin"), USER_NOBODY);
    live->token = ann; /* the name is back, its old token is not */
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
}

/* The list of those who were removed does not grow for ever; what they hold goes before. */
TEST(test_a_user_is_forgotten)
{
    size_t n;
    struct live *live = *state;
    struct edl_error error = { 0 };
    char ann[65], name[16];
    struct user *user;

    make_user(live, "ann", "user", ann);
    assert_int_equal(ask(live, "POST", "/groups", "{\"name\":\"g\"}"), 201);
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"group\":\"g\"}"), 200);
    assert_int_equal(ask(live, "DELETE", "/users/ann?forget=yes", NULL), 400);
    assert_int_equal(ask(live, "DELETE", "/users/ann?forget=1", NULL), 200);
    assert_int_equal(ask(live, "GET", "/users/ann", NULL), 404);
    live->scheduler->options.socket_role = USER_VIEWER;
    assert_int_equal(auth_socket_role(live->scheduler, "ann"), USER_VIEWER);
    assert_int_equal(groups_find(live->scheduler->users, "g")->n_members, 0);
    live_restart(live);
    assert_int_equal(ask(live, "GET", "/users/ann", NULL), 404);
    live->token = ann;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    live->token = NULL;
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"eve\"}"), 201);
    assert_int_equal(ask(live, "DELETE", "/users/eve", NULL), 200);
    for (unsigned i = 0; i < USERS_MAX - 1; i++) { /* in memory: eve is there already */
        (void)snprintf(name, sizeof name, "u%u", i);
        assert_int_equal(users_put(live->scheduler->users, name, USER_USER, 1, &user, &error), 0);
    }
    assert_int_equal(users_put(live->scheduler->users, "bob", USER_USER, 1, &user, &error),
                     -EDQUOT);
    assert_string_equal(error.remedy, "forget some who were removed: edl user remove eve --forget");
    assert_int_equal(users_put(live->scheduler->users, "eve", USER_USER, 1, &user, &error), 0);
    (void)users_pending(live->scheduler->users, &n);
    users_pending_clear(live->scheduler->users, n);
}

TEST(test_bad_users_are_refused)
{
    static const struct {
        const char *body;
        unsigned status;
    } rows[] = {
        { "{\"name\":\"a:b\"}", 400 },
        { "{\"name\":\"\"}", 400 },
        { "{\"name\":\"a\\nb\"}", 400 },
        { "{\"name\":\"../x\"}", 400 },
        { "{\"name\":\"admin\"}", 409 },
        { "{\"name\":\"ann\",\"role\":\"king\"}", 400 },
        { "{\"name\":\"ann\",\"roles\":\"user\"}", 400 },
        { "{}", 400 },
    };
    struct live *live = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_int_equal(ask(live, "POST", "/users", rows[i].body), rows[i].status);
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"ann\"}"), 201);
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"ann\"}"), 409);
    assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"nobody\"}"), 404);
}

TEST(test_names_of_directories_are_names_of_users)
{
    static const struct {
        const char *body, *path, *token;
    } rows[] = {
        { "{\"name\":\"DOM\\\\alice\"}", "/users/DOM%5Calice", "{\"user\":\"DOM\\\\alice\"}" },
        { "{\"name\":\"alice@corp.example.com\"}", "/users/alice%40corp.example.com",
          "{\"user\":\"alice@corp.example.com\"}" },
        { "{\"name\":\"Bob.Smith\"}", "/users/Bob.Smith", "{\"user\":\"Bob.Smith\"}" },
        { "{\"name\":\"m\xc3\xbcller\"}", "/users/m%C3%BCller", "{\"user\":\"m\xc3\xbcller\"}" },
        { "{\"name\":\"a-name-of-more-than-thirty-two-bytes\"}",
          "/users/a-name-of-more-than-thirty-two-bytes",
          "{\"user\":\"a-name-of-more-than-thirty-two-bytes\"}" },
    };
    struct live *live = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        assert_int_equal(ask(live, "POST", "/users", rows[i].body), 201);
        assert_int_equal(ask(live, "POST", "/tokens", rows[i].token), 201);
        assert_int_equal(ask(live, "DELETE", rows[i].path, NULL), 200);
        assert_int_equal(ask(live, "GET", rows[i].path, NULL), 200);
    }
}

/* Somebody else's key is another key. */
TEST(test_keys_are_of_one_person)
{
    struct live *live = *state;
    char ann[65], bob[65];
    struct reply reply = { 0 };

    make_user(live, "ann", "user", ann);
    make_user(live, "bob", "user", bob);
    live->token = ann;
    assert_int_equal(live_ask(live, "POST", "/jobs", "k", JOB("a"), &reply), 201);
    live->token = bob;
    assert_int_equal(live_ask(live, "POST", "/jobs", "k", JOB("b"), &reply), 201);
    assert_string_equal(json_string_value(json_object_get(reply.json, "job")), "b");
    reply_clear(&reply);
}

static void assert_entry(const json_t *entries, size_t at, const char *user, const char *method,
                         const char *target)
{
    const json_t *entry = json_array_get(entries, at);

    assert_non_null(entry);
    assert_string_equal(json_string_value(json_object_get(entry, "user")), user);
    assert_string_equal(json_string_value(json_object_get(entry, "method")), method);
    assert_string_equal(json_string_value(json_object_get(entry, "target")), target);
}

TEST(test_changes_are_on_record_and_nothing_else)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    const json_t *entries;
    char ann[65];

    make_user(live, "ann", "user", ann);
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 201);
    assert_int_equal(ask(live, "POST", "/jobs?dry_run=1", JOB("b")), 200);
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 409);
    assert_int_equal(ask(live, "GET", "/audit", NULL), 403);
    live_restart(live);
    assert_int_equal(ask(live, "DELETE", "/jobs/a", NULL), 202);
    live->token = NULL;
    assert_int_equal(live_ask(live, "GET", "/audit?after=1", NULL, NULL, &reply), 200);
    entries = json_object_get(reply.json, "entries");
    assert_entry(entries, 0, "admin", "POST", "/tokens");
    assert_entry(entries, 1, "ann", "POST", "/jobs");
    assert_entry(entries, 2, "ann", "DELETE", "/jobs/a");
    assert_int_equal(json_array_size(entries), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(entries, 1), "via")),
                        "token 1");
    reply_clear(&reply);
}

/* Each such call is a commit and a line of the audit log. */
TEST(test_token_calls_have_a_rate)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char ann[65], bob[65], path[40];
    unsigned n = 0;

    make_user(live, "ann", "viewer", ann);
    make_user(live, "bob", "viewer", bob);
    live->token = ann;
    while (live_ask(live, "POST", "/tokens", NULL, "{}", &reply) == 201) {
        (void)snprintf(path, sizeof path, "/tokens/%lld",
                       (long long)json_integer_value(json_object_get(reply.json, "id")));
        n++;
        if (live_ask(live, "DELETE", path, NULL, NULL, &reply) != 200)
            break;
        n++;
        assert_true(n < 2 * TOKEN_CALLS_AT_ONCE);
    }
    assert_int_equal(reply.status, 429);
    assert_non_null(strstr(reply.body, "and may one more every 6 seconds"));
    assert_in_range(n, TOKEN_CALLS_AT_ONCE, TOKEN_CALLS_AT_ONCE + 10); /* time passes */
    live->token = bob;
    assert_int_equal(ask(live, "POST", "/tokens", "{}"), 201);
    live->token = NULL; /* who makes them for others has no such bound */
    for (unsigned i = 0; i < TOKEN_CALLS_AT_ONCE + 1; i++) {
        assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"x\",\"role\":\"user\"}") / 100,
                         2);
        assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"x\"}"), 201);
        assert_int_equal(ask(live, "DELETE", "/users/x", NULL), 200);
    }
    reply_clear(&reply);
}

TEST(test_tokens_expire_and_numbers_are_given_once)
{
    struct live *live = *state;
    struct users *users = live->scheduler->users;
    const struct token_wish first = { .hash = HASH_A, .note = "", .expires_wall_us = 2000 };
    const struct token_wish second = { .hash = HASH_B, .note = "" };
    struct edl_error error = { 0 };
    const struct token *token;
    struct user *user;
    struct reply reply = { 0 };

    assert_int_equal(users_put(users, "ann", USER_USER, 1000, &user, &error), 0);
    assert_int_equal(tokens_add(users, user, &first, 1000, &token, &error), 0);
    assert_non_null(tokens_find(users, HASH_A, 1999));
    assert_null(tokens_find(users, HASH_A, 2000));
    assert_int_equal(tokens_add(users, user, &second, 2000, &token, &error), 0);
    assert_int_equal(user->n_tokens, 1); /* what had expired went */
    assert_int_equal(token->id, 2);
    tokens_drop(users, tokens_by_id(users, 2));
    assert_int_equal(ask(live, "POST", "/jobs", JOB("a")), 201); /* a turn stores it */
    live_restart(live);
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, "{\"user\":\"ann\"}", &reply), 201);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "id")), 3);
    reply_clear(&reply);
    user = users_find(live->scheduler->users, "ann");
    for (unsigned i = user->n_tokens; i < TOKENS_PER_USER_MAX; i++)
        assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"ann\"}"), 201);
    assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"ann\"}"), 409);
}

static void assert_group(struct live *live, const char *name, unsigned permille, unsigned weight,
                         unsigned n_members)
{
    struct reply reply = { 0 };
    char path[64];

    (void)snprintf(path, sizeof path, "/groups/%s", name);
    assert_int_equal(live_ask(live, "GET", path, NULL, NULL, &reply), 200);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "guaranteed_permille")),
                     permille);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "weight")), weight);
    assert_int_equal(json_integer_value(json_object_get(reply.json, "members")), n_members);
    reply_clear(&reply);
}

static void assert_group_of_job(const struct live *live, const char *job, const char *group)
{
    const struct cluster *cluster = live->scheduler->cluster;
    const struct group_spec *all;
    size_t n;

    assert_non_null(cluster->config.groups);
    all = group_table_all(cluster->config.groups, &n);
    assert_string_equal(all[cluster_find_job(cluster, job)->group].name, group);
}

TEST(test_groups_are_kept_and_the_core_is_told)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char ann[65];

    make_user(live, "ann", "user", ann);
    live->token = ann;
    assert_int_equal(ask(live, "POST", "/jobs", JOB("hers")), 201);
    assert_int_equal(ask(live, "POST", "/groups", "{\"name\":\"vision\"}"), 403);
    live->token = NULL;
    assert_int_equal(ask(live, "POST", "/groups",
                         "{\"name\":\"vision\",\"guaranteed_permille\":600}"),
                     201);
    assert_int_equal(ask(live, "POST", "/groups", "{\"name\":\"speech\",\"weight\":3}"), 201);
    assert_int_equal(ask(live, "POST", "/groups", "{\"name\":\"speech\"}"), 409);
    assert_int_equal(ask(live, "POST", "/groups", "{\"name\":\"A b\"}"), 400);
    assert_int_equal(ask(live, "PATCH", "/groups/speech", "{}"), 400);
    assert_int_equal(ask(live, "PATCH", "/groups/speech", "{\"weight\":0}"), 400);
    assert_int_equal(live_ask(live, "PATCH", "/groups/speech", NULL,
                              "{\"guaranteed_permille\":401}", &reply),
                     400);
    assert_non_null(strstr(reply.body, "600 are guaranteed to others"));
    reply_clear(&reply);
    assert_int_equal(ask(live, "PATCH", "/groups/speech", "{\"guaranteed_permille\":400}"), 200);
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"group\":\"sight\"}"), 400);
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{}"), 400);
    assert_group_of_job(live, "hers", "");
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"group\":\"vision\"}"), 200);
    assert_group_of_job(live, "hers", "vision");
    live_restart(live);
    assert_group(live, "vision", 600, 1, 1);
    assert_group(live, "speech", 400, 3, 0);
    assert_group_of_job(live, "hers", "vision");
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"role\":\"viewer\"}"), 200);
    assert_group(live, "vision", 600, 1, 1); /* another role, the same group */
    assert_int_equal(ask(live, "DELETE", "/groups/vision", NULL), 200);
    assert_group_of_job(live, "hers", "");
    assert_int_equal(ask(live, "DELETE", "/groups/speech", NULL), 200);
    assert_null(live->scheduler->cluster->config.groups);
    live_restart(live);
    assert_null(live->scheduler->cluster->config.groups);
    assert_null(users_find(live->scheduler->users, "ann")->group);
}

/* --- codes for edl login --- */

static void make_code(struct live *live, const char *name, const char *text, uint64_t expires_us)
{
    struct users *users = live->scheduler->users;
    struct edl_error error = { 0 };
    const struct token *token;
    char hash[65];
    struct token_wish wish = {
        .hash = hash, .note = "", .expires_wall_us = expires_us, .is_login = true
    };

    assert_int_equal(auth_hash(text, hash, &error), 0);
    assert_int_equal(tokens_add(users, users_find(users, name), &wish, 1, &token, &error), 0);
}

TEST(test_a_login_code_is_good_once_and_for_nothing_else)
{
    static char code[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static char late[] = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct live *live = *state;
    struct reply reply = { 0 };
    char ann[65], got[65];

    make_user(live, "ann", "user", ann);
    make_code(live, "ann", code, 0);
    make_code(live, "ann", late, 2);
    live->token = code;
    assert_int_equal(ask(live, "GET", "/whoami", NULL), 401);
    assert_int_equal(ask(live, "POST", "/tokens", "{}"), 401);
    assert_int_equal(ask(live, "POST", "/login", "{\"user\":\"eve\"}"), 400);
    live->token = late;
    assert_int_equal(ask(live, "POST", "/login", "{}"), 401);
    live->token = ann; /* a token is no code */
    assert_int_equal(ask(live, "POST", "/login", "{}"), 403);
    live->token = code;
    assert_int_equal(live_ask(live, "POST", "/login", NULL, "{}", &reply), 201);
    (void)snprintf(got, sizeof got, "%s", json_string_value(json_object_get(reply.json, "token")));
    assert_true(json_is_false(json_object_get(reply.json, "login")));
    reply_clear(&reply);
    assert_int_equal(ask(live, "POST", "/login", "{}"), 401);
    live->token = got;
    assert_is(live, "ann", "user");
    live->token = NULL; /* no other machine reaches this scheduler */
    assert_int_equal(ask(live, "POST", "/tokens", "{\"user\":\"ann\",\"login\":true}"), 409);
    assert_int_equal(ask(live, "POST", "/tokens",
                         "{\"user\":\"ann\",\"login\":true,\"ttl_s\":604801}"),
                     400);
}

/* What a browser keeps may read, as an operator at most, and take itself away. */
TEST(test_a_token_of_a_browser_reads_and_goes)
{
    static char code[] = "2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const bodies[] = { "{\"browser\":1}", "{\"browser\":true,\"ttl_s\":7776001}",
                                          "{\"note\":\"a\\nb\"}" };
    struct live *live = *state;
    struct reply reply = { 0 };
    char ada[65], got[65], own[64], other[64];

    make_user(live, "ada", "admin", ada);
    make_code(live, "ada", code, 0);
    live->token = code;
    for (size_t i = 0; i < ELEMENTS(bodies); i++)
        assert_int_equal(ask(live, "POST", "/login", bodies[i]), 400);
    assert_int_equal(live_ask(live, "POST", "/login", NULL,
                              "{\"browser\":true,\"note\":\"Firefox\"}", &reply),
                     201);
    (void)snprintf(got, sizeof got, "%s", json_string_value(json_object_get(reply.json, "token")));
    (void)snprintf(own, sizeof own, "/tokens/%lld",
                   json_integer_value(json_object_get(reply.json, "id")));
    (void)snprintf(other, sizeof other, "/tokens/%lld",
                   json_integer_value(json_object_get(reply.json, "id")) - 2);
    assert_string_equal(json_string_value(json_object_get(reply.json, "note")), "Firefox");
    assert_int_equal(json_integer_value(json_object_get(reply.json, "expires_us")) -
                         json_integer_value(json_object_get(reply.json, "created_us")),
                     INT64_C(30) * 86400 * USEC_PER_SEC);
    reply_clear(&reply);
    for (int round = 0; round < 2; round++) { /* and so after a restart */
        live->token = got;
        assert_is(live, "ada", "operator");
        assert_int_equal(ask(live, "GET", "/jobs", NULL), 200);
        assert_int_equal(ask(live, "GET", "/audit", NULL), 403);
        assert_int_equal(ask(live, "POST", "/tokens", "{}"), 403);
        assert_int_equal(ask(live, "PATCH", "/users/ada", "{\"role\":\"viewer\"}"), 403);
        assert_int_equal(ask(live, "DELETE", other, NULL), 404);
        live_restart(live);
    }
    assert_int_equal(ask(live, "DELETE", own, NULL), 200);
    assert_int_equal(ask(live, "GET", "/jobs", NULL), 401);
    live->token = ada;
    assert_is(live, "ada", "admin");
}
