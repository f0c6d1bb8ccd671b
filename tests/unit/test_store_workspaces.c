/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_workspaces.c - archives as rows: whole or not there, and changed by the leader alone
 */
#include <errno.h>
#include <string.h>

#include "scheduler/store/store_workspaces.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

struct rows {
    struct store *store; /* leads */
    struct engine *engine;
    uint64_t term;
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error;
};

static struct engine *open_bytes(struct rows *rows, uint64_t term)
{
    struct engine *engine = NULL;
    int r = -ENOTCONN;

    for (int i = 0; r == -ENOTCONN && i < POSTGRESQL_TEST_TRIES; i++)
        r = postgresql_open_bytes(rows->url, term, &engine, &rows->error);
    if (r < 0)
        fail_msg("%s", rows->error.text);
    return engine;
}

static void begin(struct rows *rows)
{
    if (postgresql_test_server() == NULL) {
        print_message("EDL_TEST_POSTGRESQL names no server\n");
        skip();
    }
    *rows = (struct rows){ 0 };
    postgresql_test_begin(rows->url);
    if (postgresql_test_open(rows->url, &rows->store, &rows->error) < 0 ||
        store_workspaces_make(rows->store, &rows->error) < 0 ||
        postgresql_lead(rows->store, "a", "", 0, NULL, &rows->term, &rows->error) < 0)
        fail_msg("%s", rows->error.text);
    rows->engine = open_bytes(rows, rows->term);
}

static void end(struct rows *rows)
{
    (void)engine_close(rows->engine);
    (void)store_free(rows->store);
}

static int64_t n_pieces(struct rows *rows)
{
    return engine_number(rows->engine, "SELECT count(*) FROM workspace_piece");
}

static void put(struct rows *rows, const char *pieces, uint64_t number, const char *bytes)
{
    assert_int_equal(store_workspace_put(rows->engine, pieces, number, bytes, strlen(bytes),
                                         &rows->error),
                     0);
}

static int name(struct rows *rows, const char *pieces, uint64_t bytes)
{
    const struct stored_workspace row = { SHA, "ann", "ann\n", bytes };

    return store_workspace_name(rows->engine, pieces, &row, &rows->error);
}

static void see_row(const struct stored_workspace *row, void *userdata)
{
    unsigned *n = userdata;

    assert_string_equal(row->sha256, SHA);
    assert_string_equal(row->sender, "ann");
    assert_string_equal(row->owners, "ann\nbob\n");
    assert_int_equal(row->bytes, 3);
    ++*n;
}

TEST(test_an_archive_is_there_with_all_of_its_bytes)
{
    struct rows rows;
    char data[WORKSPACE_PIECE_BYTES];
    size_t size = 0;
    unsigned n = 0;

    begin(&rows);
    put(&rows, "1.0", 0, "a\xff");
    assert_int_equal(name(&rows, "1.0", 3), -EAGAIN);
    assert_int_equal(store_workspace_get(rows.engine, SHA, 0, data, &size, &rows.error), 0);
    put(&rows, "1.0", 1, "c");
    assert_int_equal(name(&rows, "1.0", 3), 0);
    assert_int_equal(store_workspace_own(rows.engine, SHA, "ann\nbob\n", &rows.error), 0);
    assert_int_equal(store_workspaces_each(rows.store, see_row, &n, &rows.error), 0);
    assert_int_equal(n, 1);
    assert_int_equal(store_workspace_get(rows.engine, SHA, 0, data, &size, &rows.error), 1);
    assert_int_equal(size, 2);
    assert_memory_equal(data, "a\xff", 2);
    assert_int_equal(store_workspace_get(rows.engine, SHA, 2, data, &size, &rows.error), 0);
    end(&rows);
}

/* The second of two uploads, and one that was cut off. */
TEST(test_bytes_that_no_archive_has_go)
{
    struct rows rows;

    begin(&rows);
    put(&rows, "1.0", 0, "abc");
    put(&rows, "1.1", 0, "abc");
    assert_int_equal(name(&rows, "1.0", 3), 0);
    assert_int_equal(name(&rows, "1.1", 3), 0);
    assert_int_equal(n_pieces(&rows), 1);
    for (uint64_t i = 0; i < 40; i++)
        put(&rows, "0.7", i, "cut off");
    assert_int_equal(store_workspace_drop(rows.engine, "1.0", &rows.error), 0); /* it is named */
    assert_int_equal(n_pieces(&rows), 41);
    assert_int_equal(store_workspace_tidy(rows.engine, &rows.error), 0);
    assert_int_equal(n_pieces(&rows), 1);
    assert_int_equal(store_workspace_remove(rows.engine, SHA, &rows.error), 0);
    assert_int_equal(n_pieces(&rows), 0);
    assert_int_equal(engine_number(rows.engine, "SELECT count(*) FROM workspace"), 0);
    end(&rows);
}

TEST(test_a_scheduler_of_another_term_names_and_removes_nothing)
{
    struct rows rows;

    begin(&rows);
    put(&rows, "1.0", 0, "abc");
    assert_int_equal(name(&rows, "1.0", 3), 0);
    assert_int_equal(engine_number(rows.engine, "UPDATE leader SET term = term + 1 WHERE id = 1"
                                                " RETURNING 1"),
                     1);
    put(&rows, "0.1", 0, "abc");
    assert_int_equal(store_workspace_remove(rows.engine, SHA, &rows.error), -ESTALE);
    assert_int_equal(store_workspace_own(rows.engine, SHA, "", &rows.error), -ESTALE);
    assert_int_equal(store_workspace_tidy(rows.engine, &rows.error), -ESTALE);
    assert_int_equal(n_pieces(&rows), 2);
    assert_int_equal(engine_number(rows.engine, "SELECT count(*) FROM workspace WHERE owners ="
                                                " E'ann\\n'"),
                     1);
    end(&rows);
}

TEST(test_a_server_of_an_earlier_term_is_passed_over)
{
    struct engine *engine = NULL;
    struct rows rows;

    begin(&rows);
    assert_int_equal(postgresql_open_bytes(rows.url, rows.term + 1, &engine, &rows.error),
                     -ENOTCONN);
    assert_non_null(strstr(rows.error.text, "it has rows of term 1, and term 2 is that of another"
                                            " server"));
    end(&rows);
}

/* The caller who sends an archive can do nothing about it: he is told to come again. */
TEST(test_a_schema_that_moved_on_is_no_fault_of_the_caller)
{
    struct engine *engine = NULL;
    struct rows rows;

    begin(&rows);
    postgresql_test_sql(rows.url, "INSERT INTO schema_migration VALUES (9999, '', 0)");
    assert_int_equal(postgresql_open_bytes(rows.url, rows.term, &engine, &rows.error), -ENOTCONN);
    assert_non_null(strstr(rows.error.text, "it has schema 9999"));
    postgresql_test_sql(rows.url, "DELETE FROM schema_migration WHERE version = 9999");
    end(&rows);
}
