/* SPDX-License-Identifier: Apache-2.0 */
/* test_postgresql_schema.c - the tables of both engines have the same columns, of the same kinds */
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

/* Of PostgreSQL alone. */
static const char *const own[] = { "leader", "scheduler", "workspace", "workspace_piece" };

static bool is_own(const char *line)
{
    for (size_t i = 0; i < ELEMENTS(own); i++)
        if (strncmp(line, own[i], strlen(own[i])) == 0 && line[strlen(own[i])] == '.')
            return true;
    return false;
}

/* lines_of - the rows of a statement, a line each, but for those of tables of one engine */
static char *lines_of(const struct store *store, const char *sql)
{
    struct prepared *statement = NULL;
    char *lines = NULL;
    size_t size;
    FILE *out = open_memstream(&lines, &size);

    assert_non_null(out);
    assert_int_equal(store->engine->calls->prepare(store->engine, sql, &statement), 0);
    while (store_next(statement, "", NULL) == 1)
        if (!is_own(store_column_text(statement, 0)))
            (void)fprintf(out, "%s\n", store_column_text(statement, 0));
    (void)store->engine->calls->finish(statement);
    (void)fclose(out);
    return lines;
}

static void see_same(const struct fixture *f, const char *sqlite_sql, const char *postgresql_sql)
{
    struct edl_error error = { 0 };
    struct store *sqlite = NULL;
    char *here, *there;

    if (postgresql_test_server() == NULL) {
        print_message("EDL_TEST_POSTGRESQL names no server\n");
        skip();
    }
    assert_int_equal(store_open(f->path, &sqlite, &error), 0);
    here = lines_of(sqlite, sqlite_sql);
    there = lines_of(f->store, postgresql_sql);
    assert_true(strlen(here) > 100);
    assert_string_equal(here, there);
    free(here);
    free(there);
    (void)store_free(sqlite);
}

TEST(test_columns_of_both_engines_are_the_same)
{
    see_same(*state,
             "SELECT t.name || '.' || c.name || ' ' || CASE c.type WHEN 'INTEGER' THEN 'bigint'"
             " WHEN 'REAL' THEN 'double precision' ELSE lower(c.type) END || CASE WHEN c.pk > 0"
             " THEN ' key' WHEN c.\"notnull\" THEN ' not null' ELSE '' END AS line FROM"
             " sqlite_schema AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' AND"
             " t.name NOT LIKE 'sqlite_%' ORDER BY line",
             "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, NULL) || CASE"
             " WHEN a.attnum = ANY (coalesce(i.indkey::smallint[], '{}')) THEN ' key' WHEN"
             " a.attnotnull THEN ' not null' ELSE '' END AS line FROM pg_class AS c JOIN"
             " pg_attribute AS a ON a.attrelid = c.oid LEFT JOIN pg_index AS i ON i.indrelid ="
             " c.oid AND i.indisprimary WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT"
             " a.attisdropped AND c.relnamespace = current_schema()::regnamespace ORDER BY line");
}

/* Those with a name of their own: the others come with keys. */
TEST(test_indexes_of_both_engines_are_the_same)
{
    see_same(*state,
             "SELECT tbl_name || '.' || name AS line FROM sqlite_schema WHERE type = 'index' AND"
             " sql IS NOT NULL ORDER BY line",
             "SELECT c.relname || '.' || n.relname AS line FROM pg_index AS i JOIN pg_class AS c ON"
             " c.oid = i.indrelid JOIN pg_class AS n ON n.oid = i.indexrelid WHERE c.relkind = 'r'"
             " AND c.relnamespace = current_schema()::regnamespace AND NOT EXISTS (SELECT 1 FROM"
             " pg_constraint AS k WHERE k.conindid = i.indexrelid) ORDER BY line");
}
