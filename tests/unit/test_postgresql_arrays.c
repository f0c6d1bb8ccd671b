/* SPDX-License-Identifier: Apache-2.0 */
/* test_postgresql_arrays.c - which statements go as arrays, how, and which runs change places */
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "scheduler/store/store_columns.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static void add_types(struct column_types *types)
{
    column_types_add(types, "t", "id", "bigint");
    column_types_add(types, "t", "name", "text");
    column_types_add(types, "t", "user", "text");
    column_types_add(types, "t", "share", "double precision");
    column_types_add(types, "u", "name", "text");
}

/* form_of - as the engine makes it; NULL: there is none */
static struct array_form *form_of(const char *text)
{
    struct column_types types = { 0 };
    unsigned places[POSTGRESQL_PARAMETERS_MAX], n;
    _cleanup_free_ char *sent = postgresql_statement(text, places, &n);
    struct array_form *form;

    add_types(&types);
    form = array_form_of(text, places, n, &types);
    column_types_done(&types);
    return form;
}

TEST(test_statements_of_one_row_have_a_form)
{
    static const struct {
        const char *text, *sql; /* NULL: it has none */
        size_t n_keys;
    } rows[] = {
        { "INSERT INTO t (id, name) VALUES (?1,?2)",
          "INSERT INTO \"t\" (\"id\", \"name\") SELECT * FROM unnest($1::bigint[], $2::text[])",
          0 },
        { "INSERT INTO t (id, \"user\", share) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET"
          " \"user\"=?2, share=?3",
          "INSERT INTO \"t\" (\"id\", \"user\", \"share\") SELECT * FROM unnest($1::bigint[],"
          " $2::text[], $3::double precision[]) ON CONFLICT (\"id\") DO UPDATE SET \"user\" ="
          " excluded.\"user\", \"share\" = excluded.\"share\"",
          1 },
        { "INSERT INTO t (id, name) VALUES (?1, ?2) ON CONFLICT (id, name) DO NOTHING",
          "INSERT INTO \"t\" (\"id\", \"name\") SELECT * FROM unnest($1::bigint[], $2::text[]) ON"
          " CONFLICT (\"id\", \"name\") DO NOTHING",
          2 },
        { "UPDATE t SET name=?2, share=?3 WHERE id=?1",
          "UPDATE \"t\" SET \"name\" = v.p1, \"share\" = v.p2 FROM unnest($1::text[],"
          " $2::double precision[], $3::bigint[]) AS v (p1, p2, p3) WHERE \"t\".\"id\" = v.p3",
          1 },
        { "DELETE FROM t WHERE id = ?1 AND name = ?2",
          "DELETE FROM \"t\" USING unnest($1::bigint[], $2::text[]) AS v (p1, p2) WHERE "
          "\"t\".\"id\""
          " = v.p1 AND \"t\".\"name\" = v.p2",
          2 },
        { "SELECT id FROM t WHERE id = ?1", NULL, 0 },
        { "DELETE FROM t", NULL, 0 },
        { "DELETE FROM t WHERE id >= ?1", NULL, 0 },
        { "DELETE FROM t WHERE id = ?1 OR name = ?2", NULL, 0 },
        { "DELETE FROM t WHERE id IN (SELECT id FROM t LIMIT ?1)", NULL, 0 },
        { "DELETE FROM t WHERE unknown = ?1", NULL, 0 },
        { "UPDATE t SET id = id + 1 WHERE name = ?1", NULL, 0 },
        { "UPDATE t SET id = 2 WHERE name = ?1", NULL, 0 },
        { "UPDATE t SET name = ?1", NULL, 0 },
        { "UPDATE t SET name = ?1 WHERE \"user\" = ?1", NULL, 0 }, /* of two columns */
        { "INSERT INTO t (id, name) VALUES (?1, NULLIF(?2, ''))", NULL, 0 },
        { "INSERT INTO t (id, name) VALUES (1, ?1)", NULL, 0 },
        { "INSERT INTO t (id) VALUES (?1), (?2)", NULL, 0 },
        { "INSERT INTO t (id) SELECT ?1", NULL, 0 },
        { "INSERT INTO t (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET name=?1", NULL,
          0 },
        { "INSERT INTO t (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET name = t.name",
          NULL, 0 },
        { "INSERT INTO t (id) VALUES (?1) RETURNING id", NULL, 0 },
        { "INSERT INTO t (id) VALUES (?1) ON CONFLICT (name) DO NOTHING", NULL, 0 },
        { "INSERT INTO nowhere (id) VALUES (?1)", NULL, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct array_form *form = form_of(rows[i].text);

        if ((form == NULL) != (rows[i].sql == NULL))
            fail_msg("%s: %s", rows[i].text, form != NULL ? form->sql : "has no form");
        if (form != NULL) {
            assert_string_equal(form->sql, rows[i].sql);
            assert_int_equal(form->n_keys, rows[i].n_keys);
        }
        (void)array_form_free(form);
    }
}

static const char *const puts_text = "INSERT INTO t (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO"
                                     " UPDATE SET name=?2";

#define ROW(...)                                                                                   \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void see_literal(const struct array_rows *rows, size_t parameter, const char *expected)
{
    _cleanup_free_ char *literal = array_rows_literal(rows, parameter);

    assert_string_equal(literal, expected);
}

TEST(test_of_one_key_the_last_run_wins)
{
    struct array_rows rows = { .form = form_of(puts_text) };

    array_rows_add(&rows, ROW("1", "a"));
    array_rows_add(&rows, ROW("2", "b"));
    array_rows_add(&rows, ROW("1", "c"));
    assert_int_equal(rows.n, 2);
    see_literal(&rows, 0, "{\"1\",\"2\"}");
    see_literal(&rows, 1, "{\"c\",\"b\"}");
    array_rows_clear(&rows);
    see_literal(&rows, 0, "{}");
    (void)array_form_free(rows.form);
}

TEST(test_where_nothing_is_done_the_first_run_wins)
{
    struct array_rows rows = {
        .form = form_of("INSERT INTO t (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING")
    };

    array_rows_add(&rows, ROW("1", "a"));
    array_rows_add(&rows, ROW("1", "c"));
    see_literal(&rows, 1, "{\"a\"}");
    array_rows_clear(&rows);
    (void)array_form_free(rows.form);
}

TEST(test_keys_of_several_columns_are_told_apart)
{
    struct array_rows rows = { .form = form_of("DELETE FROM t WHERE name = ?1 AND \"user\" = ?2") };

    array_rows_add(&rows, ROW("1:", "x"));
    array_rows_add(&rows, ROW("1", ":x"));
    array_rows_add(&rows, ROW("", "1:x"));
    assert_int_equal(rows.n, 3);
    array_rows_clear(&rows);
    (void)array_form_free(rows.form);
}

TEST(test_texts_of_all_kinds_are_elements)
{
    struct array_rows rows = { .form = form_of("INSERT INTO t (id, name) VALUES (?1, ?2)") };

    array_rows_add(&rows, ROW("1", "a \"b\" \\ {c,d}\n"));
    array_rows_add(&rows, ROW(NULL, ""));
    array_rows_add(&rows, ROW("3", "NULL"));
    see_literal(&rows, 0, "{\"1\",NULL,\"3\"}");
    see_literal(&rows, 1, "{\"a \\\"b\\\" \\\\ {c,d}\n\",\"\",\"NULL\"}");
    array_rows_clear(&rows);
    (void)array_form_free(rows.form);
}

TEST(test_runs_about_other_rows_do_not_clash)
{
    static const struct {
        const char *text;
        const char *values[2];
        bool clashes; /* with what waits: the rows 1 and 2 of t, a and b */
    } rows[] = {
        { "UPDATE t SET name=?2 WHERE id=?1", { "x", "3" }, false },
        { "UPDATE t SET name=?2 WHERE id=?1", { "x", "2" }, true },
        { "DELETE FROM t WHERE id=?1", { "3" }, false },
        { "DELETE FROM t WHERE id=?1", { "1" }, true },
        { "DELETE FROM t WHERE name=?1", { "c" }, false },
        { "DELETE FROM t WHERE name=?1", { "b" }, true },
        { "DELETE FROM t WHERE \"user\"=?1", { "c" }, true }, /* nobody knows */
        { "INSERT INTO t (id, name) VALUES (?1, ?2)", { "2", "z" }, true },
        { "INSERT INTO t (id, name) VALUES (?1, ?2)", { "4", "z" }, false },
        { "DELETE FROM u WHERE name=?1", { "a" }, false },
    };
    struct array_rows waiting = { .form = form_of(puts_text) };

    array_rows_add(&waiting, ROW("1", "a"));
    array_rows_add(&waiting, ROW("2", "b"));
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct array_form *form = form_of(rows[i].text);

        assert_non_null(form);
        if (array_rows_clash(&waiting, form, rows[i].values) != rows[i].clashes)
            fail_msg("%s, row %zu", rows[i].text, i);
        (void)array_form_free(form);
    }
    array_rows_clear(&waiting);
    (void)array_form_free(waiting.form);
}

/* The statements of which a turn has many. */
TEST(test_statements_of_turns_have_a_form)
{
    static const struct {
        enum statement which;
        const struct record_table *table;
    } rows[] = { { ST_JOB_PUT, &job_table },         { ST_JOB_CHANGE, &job_table },
                 { ST_PROCESS_PUT, &process_table }, { ST_NODE_PUT, &node_table },
                 { ST_TASK_PUT, &task_table },       { ST_TASK_SET, &task_table } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *text =
            store_text_of(&postgresql_calls, store_statement_text(rows[i].which));
        unsigned places[POSTGRESQL_PARAMETERS_MAX], n;
        _cleanup_free_ char *sent = postgresql_statement(text, places, &n);
        struct column_types types = { 0 };
        struct array_form *form;

        for (size_t k = 0; k < rows[i].table->n; k++)
            column_types_add(&types, rows[i].table->name, rows[i].table->columns[k].name, "text");
        form = array_form_of(text, places, n, &types);
        if (form == NULL)
            fail_msg("%s", text);
        assert_true(form->n_keys > 0);
        (void)array_form_free(form);
        column_types_done(&types);
    }
}
