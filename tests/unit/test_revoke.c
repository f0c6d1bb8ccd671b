/* SPDX-License-Identifier: Apache-2.0 */
/* test_revoke.c - rights that were taken away from people and nodes after a backup was made, and
 * those that an older backup brings back all the same, which is told */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/restore_backup.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define NODE(name_, credential_)                                                                   \
    "{\"node\":\"" name_ "\",\"address\":\"127.0.0.1\",\"cpu_millicores\":1000,"                   \
    "\"memory_bytes\":1073741824,\"gpus\":0,\"port_first\":30000,\"port_last\":30100,"             \
    "\"credential\":\"" credential_ "\"}"
#define FILE_MAX_BYTES (4 << 20)
#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"
#define SPARE "3333333333333333333333333333333333333333333333333333333333333333"

static unsigned ask(struct live *live, const char *method, const char *path, const char *body)
{
    struct reply reply = { 0 };
    unsigned status = live_ask(live, method, path, NULL, body, &reply);

    reply_clear(&reply);
    return status;
}

struct person {
    char token[65];
    char path[64]; /* of the token */
};

static void make_token(struct live *live, const char *user, struct person *ret)
{
    struct reply reply = { 0 };
    char body[160];

    (void)snprintf(body, sizeof body, "{\"user\":\"%s\",\"note\":\"laptop\"}", user);
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, body, &reply), 201);
    (void)snprintf(ret->token, sizeof ret->token, "%s",
                   json_string_value(json_object_get(reply.json, "token")));
    (void)snprintf(ret->path, sizeof ret->path, "/tokens/%lld",
                   (long long)json_integer_value(json_object_get(reply.json, "id")));
    reply_clear(&reply);
}

static void make_user(struct live *live, const char *name, const char *role, struct person *ret)
{
    char body[160];

    (void)snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"%s\"}", name, role);
    assert_int_equal(ask(live, "POST", "/users", body), 201);
    make_token(live, name, ret);
}

/* With that token; the scheduler's own is used again afterwards. */
static unsigned ask_as(struct live *live, const char *token, const char *method, const char *path)
{
    unsigned status;

    live->token = token;
    status = ask(live, method, path, method[0] == 'P' ? "{}" : NULL);
    live->token = NULL;
    return status;
}

/* Whether the node's credential is good: its call is heard, whatever else is wrong with it. */
static bool may_report(struct live *live, const char *node, const char *credential)
{
    char path[80];

    (void)snprintf(path, sizeof path, "/nodes/%s/report", node);
    return ask_as(live, credential, "POST", path) != 401;
}

static void file_of(const struct live *live, const char *name, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s/%s", live->folder, name);
}

/* A file of the folder, or one by its whole path. */
static char *slurp(const struct live *live, const char *name, size_t *ret_size)
{
    char path[4120];
    char *data = xcalloc(FILE_MAX_BYTES, 1);
    _cleanup_fclose_ FILE *file = NULL;

    file_of(live, name, path, sizeof path);
    file = fopen(name[0] == '/' ? name : path, "re");
    assert_non_null(file);
    *ret_size = fread(data, 1, FILE_MAX_BYTES, file);
    assert_in_range(*ret_size, 1, FILE_MAX_BYTES - 1);
    return data;
}

static void spit(const struct live *live, const char *name, const void *data, size_t size)
{
    _cleanup_fclose_ FILE *file = NULL;
    char path[128];

    file_of(live, name, path, sizeof path);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
}

static void copy(const struct live *live, const char *from, const char *to)
{
    size_t size;
    _cleanup_free_ char *data = slurp(live, from, &size);

    spit(live, to, data, size);
}

static bool same(const struct live *live, const char *a, const char *b)
{
    size_t sizes[2];
    _cleanup_free_ char *first = slurp(live, a, &sizes[0]);
    _cleanup_free_ char *second = slurp(live, b, &sizes[1]);

    return sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0;
}

/* GET /backup, kept under that name. */
static void take(struct live *live, const char *name)
{
    struct reply reply = { 0 };

    assert_int_equal(live_ask(live, "GET", "/backup", NULL, NULL, &reply), 200);
    spit(live, name, reply.body, reply.size);
    reply_clear(&reply);
}

static void restore_stopped(struct live *live, const char *name, struct restored *ret)
{
    struct scheduler_options options = { .policy = &policy_fulfilment,
                                         .max_load_permille = 1000,
                                         .lease_us = 20 * USEC_PER_SEC };
    struct edl_error error = { 0 };

    *ret = (struct restored){ 0 };
    (void)snprintf(options.state_dir, sizeof options.state_dir, "%s", live->folder);
    file_of(live, name, options.restore_file, sizeof options.restore_file);
    if (restore_backup(&options, ret, &error) < 0)
        fail_msg("%s", error.text);
}

static void restore(struct live *live, const char *name, struct restored *ret)
{
    live_stop(live);
    restore_stopped(live, name, ret);
    live_start(live);
}

static void assert_told(const struct restored *restored, enum revoked_kind kind, size_t n,
                        const char *what)
{
    if (restored->unknown.code != 0)
        fail_msg("%s", restored->unknown.text);
    if (restored->n_revoked[kind] != n)
        fail_msg("kind %d: %zu instead of %zu: %s", kind, restored->n_revoked[kind], n,
                 restored->revoked[kind] != NULL ? restored->revoked[kind] : "");
    if (n != 0 && strstr(restored->revoked[kind], what) == NULL)
        fail_msg("kind %d: %s is not in %s", kind, what, restored->revoked[kind]);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_people)
{
    struct live *live = *state;
    struct person ann, second, bob, eve, new;
    struct restored restored;

    make_user(live, "ann", "user", &ann);
    make_token(live, "ann", &second);
    make_user(live, "bob", "user", &bob);
    make_user(live, "eve", "operator", &eve);
    take(live, "taken");
    assert_int_equal(ask(live, "DELETE", second.path, NULL), 200);
    assert_int_equal(ask(live, "DELETE", "/users/bob", NULL), 200);
    assert_int_equal(ask(live, "PATCH", "/users/eve", "{\"role\":\"viewer\"}"), 200);
    assert_int_equal(ask(live, "PATCH", "/users/ann", "{\"role\":\"operator\"}"), 200);
    make_user(live, "new", "viewer", &new);
    assert_int_equal(ask(live, "POST", "/users", "{\"name\":\"late\"}"), 201);
    assert_int_equal(ask(live, "DELETE", "/users/late", NULL), 200);
    restore(live, "taken", &restored);
    assert_told(&restored, REVOKED_TOKEN, 2, "of ann (laptop)"); /* one of ann's, and bob's */
    assert_told(&restored, REVOKED_USER, 0, NULL);
    assert_told(&restored, REVOKED_ROLE, 4, "user eve is viewer");
    assert_told(&restored, REVOKED_ROLE, 4, "user bob is none");
    assert_told(&restored, REVOKED_ROLE, 4, "user late is none"); /* came and went since */
    assert_told(&restored, REVOKED_UNKNOWN, 0, NULL);
    assert_int_equal(ask_as(live, ann.token, "GET", "/jobs"), 200);
    assert_int_equal(ask_as(live, second.token, "GET", "/jobs"), 401);
    assert_int_equal(ask_as(live, bob.token, "GET", "/jobs"), 401);
    assert_int_equal(ask_as(live, eve.token, "GET", "/jobs"), 200);
    assert_int_equal(ask_as(live, eve.token, "PATCH", "/nodes/none"), 403);
    /* A role that was raised since is as it was; one who may only look could do more as nobody. */
    assert_int_equal(ask_as(live, ann.token, "PATCH", "/nodes/none"), 403);
    assert_int_equal(ask(live, "GET", "/users/new", NULL), 200);
    assert_int_equal(ask_as(live, new.token, "GET", "/jobs"), 401);
    restored_clear(&restored);
    restore(live, "taken", &restored); /* and once more, of what was restored */
    assert_told(&restored, REVOKED_TOKEN, 2, "of ann (laptop)");
    assert_int_equal(ask_as(live, second.token, "GET", "/jobs"), 401);
    assert_int_equal(ask_as(live, ann.token, "GET", "/jobs"), 200);
    restored_clear(&restored);
}

TEST(test_nodes)
{
    struct live *live = *state;
    struct restored restored;

    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("stays", ONE)), 201);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("goes", ONE)), 201);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("again", ONE)), 201);
    take(live, "taken");
    assert_int_equal(ask(live, "DELETE", "/nodes/goes", NULL), 200);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("again", TWO)), 201);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("later", ONE)), 201);
    restore(live, "taken", &restored);
    assert_int_equal(restored.nodes, 2);
    assert_told(&restored, REVOKED_NODE, 1, "node goes");
    assert_told(&restored, REVOKED_CREDENTIAL, 1, "node again");
    assert_told(&restored, REVOKED_LEFT_OUT, 1, "node later");
    assert_told(&restored, REVOKED_UNKNOWN, 0, NULL);
    assert_int_equal(ask(live, "GET", "/nodes/goes", NULL), 404);
    assert_true(may_report(live, "stays", ONE));
    assert_false(may_report(live, "goes", ONE));
    assert_false(may_report(live, "again", ONE));
    assert_true(may_report(live, "again", TWO));
    restored_clear(&restored);
}

/* The former database was itself restored: it knows nothing of what was made and taken away between
 * its backup and that restore. */
TEST(test_what_cannot_be_known_is_told)
{
    struct live *live = *state;
    struct person ann, late;
    struct restored restored;

    make_user(live, "ann", "user", &ann);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("old", ONE)), 201);
    take(live, "older");
    make_user(live, "late", "user", &late);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("late", ONE)), 201);
    take(live, "newer");
    restore(live, "older", &restored);
    assert_int_equal(ask_as(live, late.token, "GET", "/jobs"), 401);
    restored_clear(&restored);
    assert_int_equal(ask(live, "DELETE", ann.path, NULL), 200);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("old", TWO)), 201);
    restore(live, "newer", &restored);
    assert_told(&restored, REVOKED_TOKEN, 1, "of ann");
    assert_told(&restored, REVOKED_CREDENTIAL, 1, "node old");
    assert_told(&restored, REVOKED_UNKNOWN, 3, "node late");
    assert_non_null(strstr(restored.revoked[REVOKED_UNKNOWN], "user late"));
    assert_non_null(strstr(restored.revoked[REVOKED_UNKNOWN], "of late (laptop)"));
    assert_int_equal(ask_as(live, ann.token, "GET", "/jobs"), 401);
    assert_int_equal(ask_as(live, late.token, "GET", "/jobs"), 200);
    assert_true(may_report(live, "late", ONE));
    assert_false(may_report(live, "old", ONE));
    restored_clear(&restored);
}

/* A token that was removed just before the scheduler was killed: that is in the log alone. */
static void killed_after_a_removal(struct live *live, struct person *ret)
{
    make_user(live, "ann", "user", ret);
    take(live, "taken");
    assert_int_equal(ask(live, "DELETE", ret->path, NULL), 200);
    copy(live, "edl.db", "killed");
    copy(live, "edl.db-wal", "killed-wal");
    live_stop(live);
    copy(live, "killed", "edl.db");
    copy(live, "killed-wal", "edl.db-wal");
}

TEST(test_a_log_is_read_and_left_as_it_is)
{
    struct live *live = *state;
    struct person ann;
    struct restored restored;
    char log[4120];

    killed_after_a_removal(live, &ann);
    restore_stopped(live, "taken", &restored);
    assert_told(&restored, REVOKED_TOKEN, 1, "of ann");
    assert_true(same(live, restored.aside, "killed"));
    (void)snprintf(log, sizeof log, "%s-wal", restored.aside);
    assert_true(same(live, log, "killed-wal"));
    restored_clear(&restored);
    live_start(live);
    assert_int_equal(ask_as(live, ann.token, "GET", "/jobs"), 401);
}

/* It was broken off when the database had been moved, and its log had not. */
TEST(test_a_restore_that_was_broken_off)
{
    struct live *live = *state;
    struct person ann;
    struct restored restored;
    char path[128], aside[128];

    killed_after_a_removal(live, &ann);
    file_of(live, "edl.db", path, sizeof path);
    file_of(live, "edl.db.before-x", aside, sizeof aside);
    assert_int_equal(rename(path, aside), 0);
    spit(live, "restoring", "edl.db.before-x", strlen("edl.db.before-x"));
    restore_stopped(live, "taken", &restored);
    assert_told(&restored, REVOKED_TOKEN, 1, "of ann");
    assert_string_equal(restored.aside, aside);
    assert_true(same(live, "edl.db.before-x-wal", "killed-wal"));
    file_of(live, "edl.db-wal", path, sizeof path);
    assert_int_equal(access(path, F_OK), -1);
    restored_clear(&restored);
    live_start(live);
    assert_int_equal(ask_as(live, ann.token, "GET", "/jobs"), 401);
}

static void assert_unknown(struct live *live, int code, const char *token)
{
    struct restored restored;

    restore_stopped(live, "taken", &restored);
    assert_int_equal(restored.unknown.code, code);
    assert_true(restored.unknown.text[0] != '\0');
    for (size_t i = 0; i < REVOKED_N; i++)
        assert_int_equal(restored.n_revoked[i], 0);
    restored_clear(&restored);
    live_start(live);
    assert_int_equal(ask_as(live, token, "GET", "/jobs"), 200);
    live_stop(live);
}

TEST(test_a_former_database_that_cannot_be_read)
{
    struct live *live = *state;
    struct person ann;
    char path[128];
    FILE *file;

    make_user(live, "ann", "user", &ann);
    take(live, "taken");
    live_stop(live);
    file_of(live, "edl.db", path, sizeof path);
    assert_int_equal(unlink(path), 0);
    assert_unknown(live, -ENOENT, ann.token);
    file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8192, SEEK_SET), 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
    assert_unknown(live, EDL_ECORRUPT, ann.token);
    assert_int_equal(unlink(path), 0); /* another cluster's */
    live_start(live);
    live_stop(live);
    assert_unknown(live, -EINVAL, ann.token);
    live_start(live);
}

/* --- two databases, row by row --- */

static void run_sql(const struct live *live, const char *name, const char *sql)
{
    char path[128];
    sqlite3 *db;

    file_of(live, name, path, sizeof path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

static void count(enum revoked_kind kind, const char *what, void *userdata)
{
    (void)what;
    ((size_t *)userdata)[kind]++;
}

/* What runs on a node that was removed since could run elsewhere before it has ended there. */
TEST(test_a_node_with_processes_keeps_its_row)
{
    struct live *live = *state;
    struct edl_error error = { 0 };
    char path[128], former[128];
    size_t told[REVOKED_N] = { 0 };
    struct epoch_known known;

    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("busy", ONE)), 201);
    assert_int_equal(ask(live, "POST", "/nodes/join", NODE("idle", ONE)), 201);
    take(live, "taken");
    live_stop(live);
    run_sql(live, "taken",
            "PRAGMA foreign_keys = OFF; INSERT INTO process VALUES"
            " (1, 0, 0, 1, 'running', 'busy', '[]', 7, 0, 0, 0, '', 1, 1, 0, 0, 0, '[]', 0, 0, ''),"
            " (1, 0, 1, 2, 'exited', 'idle', '[]', 7, 0, 0, 0, '', 1, 1, 1, 0, 0, '[]', 0, 0, '')");
    run_sql(live, "edl.db", "DELETE FROM node");
    run_sql(live, "taken",
            "INSERT INTO user (name, role, created_wall_us) VALUES ('a', 'user', 1);"
            "INSERT INTO token (id, hash, user, note, created_wall_us, expires_wall_us) VALUES (7, "
            "'" SPARE "', 'a', 'old', 1, 2)");
    file_of(live, "taken", path, sizeof path);
    file_of(live, "edl.db", former, sizeof former);
    run_sql(live, "edl.db", "INSERT OR REPLACE INTO number VALUES ('token', 9)");
    if (store_revoke(path, former, 3, count, told, &known, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(told[REVOKED_NODE], 2);
    assert_int_equal(told[REVOKED_TOKEN], 0); /* it has expired, nobody misses it */
    assert_int_equal(told[REVOKED_USER], 1);
    run_sql(live, "taken",
            "CREATE TABLE assert (ok INTEGER CHECK (ok)); INSERT INTO assert SELECT"
            " (SELECT group_concat(name || credential_hash) FROM node) = 'busy' AND"
            " (SELECT count(*) FROM token) = 0 AND (SELECT count(*) FROM user) = 0");
    live_start(live);
}
