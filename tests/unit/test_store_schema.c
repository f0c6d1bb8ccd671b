/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_schema.c - databases of other versions, and the answers that version 2 brought */
#include "tests/unit/store_fixture.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- answers to Idempotency-Keys --- */

static void put_answers(struct fixture *f, size_t first, size_t n, uint64_t wall_us)
{
    static char user[] = "me", digest[] = "d1", location[] = "/jobs/7", body[] = "{\"id\":7}";
    struct stored_answer *answers = xcalloc(n, sizeof *answers);
    struct edl_error error = { 0 };
    char(*keys)[24] = xcalloc(n, sizeof *keys);

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%zu", first + i);
        answers[i] = (struct stored_answer){ .user = user,
                                             .key = keys[i],
                                             .digest = digest,
                                             .status = 201,
                                             .location = location,
                                             .body = body,
                                             .wall_us = wall_us };
    }
    if (store_commit(f->store, &(struct turn_records){ .answers = answers, .n_answers = n },
                     &error) < 0)
        fail_msg("%s", error.text);
    free(answers);
    free(keys);
}

static bool has_answer(struct fixture *f, const char *user, const char *key, uint64_t wall_us)
{
    struct stored_answer found = { 0 };
    struct edl_error error = { 0 };
    int r = store_find_answer(f->store, user, key, wall_us, &found, &error);

    if (r < 0)
        fail_msg("%s", error.text);
    if (r == 1) {
        assert_string_equal(found.digest, "d1");
        assert_int_equal(found.status, 201);
        assert_string_equal(found.location, "/jobs/7");
        assert_string_equal(found.body, "{\"id\":7}");
    }
    stored_answer_clear(&found);
    return r == 1;
}

static int64_t count_answers(const struct fixture *f)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t n;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM answer", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return n;
}

static void test_answer_is_found_for_a_day(void **state)
{
    struct fixture *f = *state;
    uint64_t then_us = start.wall_us, end_us = then_us + STORED_ANSWER_US;

    put_answers(f, 1, 1, then_us);
    restart(f);
    assert_true(has_answer(f, "me", "k1", then_us));
    assert_true(has_answer(f, "me", "k1", end_us));
    assert_false(has_answer(f, "me", "k1", end_us + 1));
    assert_true(has_answer(f, "me", "k1", then_us - USEC_PER_SEC)); /* a clock that was set back */
    assert_false(has_answer(f, "you", "k1", then_us));
    assert_false(has_answer(f, "me", "k2", then_us));
    put_answers(f, 1, 1, end_us + 1); /* the key comes anew */
    assert_true(has_answer(f, "me", "k1", end_us + 2));
    assert_int_equal(count_answers(f), 1);
}

static void test_answers_make_room(void **state)
{
    struct fixture *f = *state;
    uint64_t then_us = start.wall_us, end_us = then_us + STORED_ANSWER_US;
    char key[24];

    put_answers(f, 0, 10, then_us);
    put_answers(f, 10, 5, end_us + 1); /* each lets two go that had their day */
    assert_int_equal(count_answers(f), 5);
    put_answers(f, 15, STORED_ANSWERS_MAX - 5, end_us + 1);
    assert_int_equal(count_answers(f), STORED_ANSWERS_MAX);
    put_answers(f, 10 + STORED_ANSWERS_MAX, 3, end_us + 1);
    assert_int_equal(count_answers(f), STORED_ANSWERS_MAX);
    assert_false(has_answer(f, "me", "k12", end_us + 1)); /* the oldest gave way */
    assert_true(has_answer(f, "me", "k13", end_us + 1));
    (void)snprintf(key, sizeof key, "k%d", STORED_ANSWERS_MAX + 12);
    assert_true(has_answer(f, "me", key, end_us + 1));
}

/* --- other versions --- */

static void test_newer_database_is_refused(void **state)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;

    f->store = store_free(f->store);
    run_sql(f->path, "PRAGMA user_version = 9999");
    assert_int_equal(store_open(f->path, &store, &error), -EINVAL);
    assert_null(store);
    assert_non_null(strstr(error.text, "9999"));
    assert_true(error.remedy[0] != '\0');
}

/* The reason comes first: the statement that failed may be longer than an error's text. */
static void test_error_begins_with_the_reason(void **state)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;

    f->store = store_free(f->store);
    run_sql(f->path, "ALTER TABLE job RENAME COLUMN metrics TO measures");
    assert_int_equal(store_open(f->path, &store, &error), EDL_ECORRUPT);
    assert_null(store);
    if (strstr(error.text, "no column named metrics (INSERT INTO job (") == NULL ||
        strlen(error.text) > 200)
        fail_msg("the error is %s", error.text);
}

/* The file as that version of the program shipped it; it never changes. */
static void make_version_1(const char *path)
{
    _cleanup_free_ char *sql = NULL;
    _cleanup_fclose_ FILE *file = NULL;
    const char *source = getenv("EDL_SOURCE_DIR");
    char name[4096];
    size_t size = 0;

    assert_non_null(source);
    (void)snprintf(name, sizeof name, "%s/scheduler/store/sql/0001_initial.sql", source);
    file = fopen(name, "re");
    assert_non_null(file);
    assert_true(getdelim(&sql, &size, '\0', file) > 0);
    run_sql(path, sql);
    run_sql(path, "PRAGMA journal_mode = WAL; PRAGMA user_version = 1;"
                  "INSERT INTO schema_migration VALUES (1, '0001_initial', 1)");
}

/* What an earlier program stored is there, and what is new works. */
static void test_version_1_is_brought_forward(void **state)
{
    static const char *const tables[] = { "node", "job",   "process", "queue",
                                          "task", "event", "log_tail" };
    struct fixture *f = *state;
    struct process *holder = start_data(f, 3);
    struct edl_error error = { 0 };
    struct cluster *before;
    char old[128], sql[256];
    int newest = store_schema_version(f->store);

    assert_true(newest > 1);
    (void)lease(f, holder);
    commit(f);
    before = f->cluster;
    f->cluster = NULL;
    (void)snprintf(old, sizeof old, "%s.old", f->path);
    make_version_1(old);
    run_sql(f->path, "ALTER TABLE job DROP COLUMN usage"); /* came with version 4 */
    for (size_t i = 0; i < ELEMENTS(tables); i++) { /* the rows as they are, in the old tables */
        (void)snprintf(sql, sizeof sql,
                       "ATTACH '%s' AS new; INSERT INTO main.%s SELECT * FROM new.%s", f->path,
                       tables[i], tables[i]);
        run_sql(old, sql);
    }
    f->store = store_free(f->store);
    assert_int_equal(rename(old, f->path), 0);
    restart(f);
    assert_int_equal(store_schema_version(f->store), newest);
    if (cluster_compare(before, f->cluster, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(task_queue_counts(the_job(f)->queue).leased, 1);
    put_answers(f, 1, 1, start.wall_us);
    restart(f); /* and is of the newest version from then on */
    assert_true(has_answer(f, "me", "k1", start.wall_us));
    assert_non_null(cluster_find_job(f->cluster, "example"));
    (void)cluster_free(before);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_answer_is_found_for_a_day),    T(test_answers_make_room),
        T(test_newer_database_is_refused),    T(test_error_begins_with_the_reason),
        T(test_version_1_is_brought_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
