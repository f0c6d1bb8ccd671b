/* SPDX-License-Identifier: Apache-2.0 */
/* test_copy.c - all rows of one database into another, of SQLite */
#include <errno.h>
#include <string.h>

#include "scheduler/core/record/compare.h"
#include "scheduler/store/copy/copy.h"
#include "scheduler/store/copy/copy_line.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define ODD "a\tb\nc\\d \\N \xc3\xa9\x01\x7f"

TEST_EACH(set_up, tear_down);

static void beside(const struct fixture *f, const char *name, char ret[128])
{
    (void)snprintf(ret, 128, "%s/%s", f->folder, name);
}

static const struct copy_wishes wishes = { .where = "the target", .clear = "give another" };

/* The store is closed, as migrate does it; the copy is at path. */
static int copy_to(struct fixture *f, const char *path, struct copy_sum *ret,
                   struct edl_error *error)
{
    struct copy_place *from = NULL, *to = NULL;
    int r;

    f->store = store_free(f->store);
    if (sqlite_copy_source(f->path, &from, error) < 0 || sqlite_copy_target(path, &to, error) < 0)
        fail_msg("%s", error->text);
    r = copy_all(from, to, &wishes, ret, error);
    (void)copy_close(from);
    (void)copy_close(to);
    return r;
}

static char *text_of(const char *path, const char *sql)
{
    sqlite3_stmt *statement;
    sqlite3 *db;
    char *text;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    text = (char *)sqlite3_column_text(statement, 0);
    text = text != NULL ? xstrdup(text) : NULL;
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return text;
}

static void assert_same(const char *path, const char *copy, const char *sql)
{
    _cleanup_free_ char *before = text_of(path, sql);
    _cleanup_free_ char *after = text_of(copy, sql);

    assert_string_equal(after, before);
}

TEST(test_a_copy_loads_as_the_same_cluster)
{
    struct fixture *f = *state;
    struct copy_sum sum = { 0 };
    struct edl_error error = { 0 };
    struct cluster *loaded = new_cluster();
    struct store *store;
    char path[128];

    (void)start_data(f, 40);
    agree(f, the_job(f));
    restart(f);
    beside(f, "copy", path);
    if (copy_to(f, path, &sum, &error) < 0)
        fail_msg("%s", error.text);
    assert_true(sum.rows > 50);
    assert_int_equal(sum.mended, 0);
    if (store_open(path, &store, &error) < 0 || store_load(store, loaded, start, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(loaded, start);
    if (cluster_compare(f->cluster, loaded, &error) < 0)
        fail_msg("%s", error.text);
    (void)cluster_free(loaded);
    (void)store_free(store);
    copy_sum_done(&sum);
    (void)unlink(path);
}

TEST(test_every_value_comes_over_as_it_is)
{
    struct fixture *f = *state;
    struct copy_sum sum = { 0 };
    struct edl_error error = { 0 };
    char path[128];

    run_sql_at(
        f->path,
        "INSERT INTO job_series VALUES (9223372036854775807, 'a' || char(9) || 'b' ||"
        " char(10) || 'c\\d \\N ' || char(233, 1, 127), '', -9223372036854775807, '\\N');"
        "INSERT INTO family VALUES (7, 'ann/n', 1, 0.1, '[]', 0, 1e300, -1.5e-7, '[]', '', 0);"
        "INSERT INTO event (revision, time_us, event, job_id, node, text)"
        " VALUES (7, 1, 'x', NULL, '', ''), (8, 1, 'x', 3, 'n', CAST(x'61ff62c3' AS TEXT));"
        "UPDATE archived_share SET jobs = 3 WHERE user = '*'");
    beside(f, "copy", path);
    if (copy_to(f, path, &sum, &error) < 0)
        fail_msg("%s", error.text);
    assert_same(f->path, path, "SELECT job_id || rate_of || period_us || points FROM job_series");
    assert_same(f->path, path,
                "SELECT printf('%!.20g %!.20g %!.20g', most_s, unit_s, resize_s)"
                " FROM family");
    assert_same(f->path, path, "SELECT typeof(job_id) || revision FROM event WHERE revision = 7");
    assert_same(f->path, path, "SELECT group_concat(version || applied_us) FROM schema_migration");
    assert_same(f->path, path, "SELECT jobs FROM archived_share WHERE user = '*'");
    assert_int_equal(sum.mended, 1); /* a text that is not UTF-8: PostgreSQL takes none */
    {
        _cleanup_free_ char *text = text_of(path, "SELECT text FROM event WHERE revision = 8");

        assert_string_equal(text, "a\xef\xbf\xbd"
                                  "b\xef\xbf\xbd");
    }
    copy_sum_done(&sum);
    (void)unlink(path);
}

TEST(test_triggers_add_nothing_to_a_copy)
{
    struct fixture *f = *state;
    struct copy_sum sum = { 0 };
    struct edl_error error = { 0 };
    char path[128];

    (void)run_job(f->cluster);
    commit(f);
    run_sql_at(f->path, "INSERT INTO document (id, user, digest, jobs, bytes, text)"
                        " VALUES (1, 'ann', 'd', 1, 100, 't')");
    beside(f, "copy", path);
    if (copy_to(f, path, &sum, &error) < 0)
        fail_msg("%s", error.text);
    assert_same(f->path, path,
                "SELECT group_concat(user || jobs || '/' || bytes)"
                " FROM archived_share");
    copy_sum_done(&sum);
    (void)unlink(path);
}

/* copy_onto - into a database that there is already */
static int copy_onto(struct fixture *f, const char *path, struct edl_error *error)
{
    struct copy_place *from = NULL, *to = NULL;
    struct copy_sum sum = { 0 };
    int r;

    f->store = store_free(f->store);
    if (sqlite_copy_source(f->path, &from, error) < 0 || sqlite_copy_source(path, &to, error) < 0)
        fail_msg("%s", error->text);
    r = copy_all(from, to, &wishes, &sum, error);
    copy_sum_done(&sum);
    (void)copy_close(from);
    (void)copy_close(to);
    return r;
}

TEST(test_a_target_that_holds_a_cluster_is_refused)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        { "INSERT INTO audit VALUES (1, 1, 'ann', '', '', '', 200, '')",
          "the target holds another cluster already; jobs: 0, nodes: 0" },
        { "UPDATE schema_migration SET applied_us = 7 WHERE version = 1;"
          "INSERT INTO epoch (epoch, began_wall_us) VALUES (9, 9)",
          "the target holds this cluster already; jobs: 0, nodes: 0" },
        { "ALTER TABLE queue ADD COLUMN more INTEGER",
          "the target has another table queue, see its column more" },
        { "CREATE TABLE aaa (id INTEGER PRIMARY KEY)", "the target has another table aaa" },
    };
    struct fixture *f = *state;

    run_sql_at(f->path, "UPDATE schema_migration SET applied_us = 7 WHERE version = 1");
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error = { 0 };
        struct store *other;
        char path[128];

        beside(f, "other", path);
        if (store_open(path, &other, &error) < 0)
            fail_msg("%s", error.text);
        (void)store_free(other);
        run_sql_at(path, cases[i].sql);
        assert_true(copy_onto(f, path, &error) < 0);
        assert_string_equal(error.text, cases[i].says);
        assert_true(strlen(error.remedy) > 0);
        (void)unlink(path);
    }
}

TEST(test_a_damaged_or_older_source_is_refused)
{
    struct fixture *f = *state;
    struct copy_place *from = NULL;
    struct edl_error error = { 0 };
    char path[128];

    beside(f, "none", path);
    assert_int_equal(sqlite_copy_source(path, &from, &error), -ENOENT);
    f->store = store_free(f->store);
    run_sql_at(f->path, "PRAGMA user_version = 3");
    assert_int_equal(sqlite_copy_source(f->path, &from, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "start this edl-scheduler once"));
}

TEST(test_lines_are_read_back_field_by_field)
{
    const char *const fields[] = { "", ODD, NULL, "", "\\", "\\N", "last" };
    struct copy_line line = { 0 };
    char buffer[200];
    const char *field;
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < ELEMENTS(fields); i++)
        copy_line_add(&line, fields[i]);
    copy_line_end(&line);
    assert_null(memchr(line.text, '\n', line.size - 1));
    for (size_t i = 0; i < ELEMENTS(fields); i++) {
        assert_true(copy_field_next(line.text, line.size, &at, buffer, &field));
        if (fields[i] == NULL)
            assert_null(field);
        else
            assert_string_equal(field, fields[i]);
    }
    assert_false(copy_field_next(line.text, line.size, &at, buffer, &field));
    copy_line_done(&line);
}
