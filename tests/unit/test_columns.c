/* SPDX-License-Identifier: Apache-2.0 */
/* test_columns.c - the tables of columns hold what records, live objects and the schema have */
#include "scheduler/store/store_columns.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

/* The live objects of the tables; size 0: there is none that could be compared. */
static const struct {
    const struct record_table *table;
    size_t live_size;
} tables[] = {
    { &node_table, sizeof(struct node) },
    { &job_table, sizeof(struct job) },
    { &process_table, sizeof(struct process) },
    { &queue_table, 0 },
    { &queue_end_table, 0 },
    { &task_table, sizeof(struct task) },
    { &rendezvous_table, 0 },
    { &join_token_table, 0 },
};

/* The store writes these by statements of its own: no record has them. */
static const char *const stores_own[] = { "job.archived", "job.document", "job.kept_bytes",
                                          "job.array_index", "job.array_jobs" };

static bool is_stores_own(const char *table, const char *column)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s.%s", table, column);
    for (size_t i = 0; i < ELEMENTS(stores_own); i++)
        if (streq(stores_own[i], name))
            return true;
    return false;
}

static bool has_column(const struct record_table *table, const char *name)
{
    for (int i = 0; i < store_columns_n(table); i++)
        if (streq(table->columns[i].name, name))
            return true;
    return false;
}

TEST_EACH(set_up, tear_down);

/* The other way round the database is not opened: no statement could be prepared. */
TEST(test_every_column_of_the_schema_is_in_its_table)
{
    const struct fixture *f = *state;
    const struct engine_calls *calls = f->store->engine->calls;
    struct prepared *statement = NULL;

    assert_int_equal(calls->prepare(f->store->engine,
                                    f->url[0] != '\0'
                                        ? "SELECT column_name FROM information_schema.columns WHERE"
                                          " table_name = ?1"
                                        : "SELECT name FROM pragma_table_info(?1)",
                                    &statement),
                     0);
    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        const struct record_table *table = tables[i].table;
        int n = 0;

        store_bind_text(statement, 1, table->name);
        while (store_next(statement, "", NULL) == 1) {
            const char *name = store_column_text(statement, 0);

            if (is_stores_own(table->name, name))
                continue;
            if (!has_column(table, name))
                fail_msg("the table %s has no column %s", table->name, name);
            n++;
        }
        store_reset(statement);
        assert_int_equal(n, store_columns_n(table));
    }
    (void)calls->finish(statement);
}

static size_t alignment_of(const struct column *column)
{
    switch (column->kind) {
    case COLUMN_TEXT: /* a struct in the record may begin with one */
        return streq(column->name, "address") ? _Alignof(struct node_offer) : 1;
    case COLUMN_SECRET:
        return 1;
    case COLUMN_LABELS:
        return _Alignof(struct labels);
    case COLUMN_LIST:
        return column->most != 0 ? sizeof(void *) : MIN_OF(column->list->element_size, 8);
    default:
        return MIN_OF(column->size, 8);
    }
}

/* Between two members, and behind the last one, there is no more than alignment takes. */
static void covers(const char *name, const struct column *columns, size_t n, size_t size)
{
    size_t end = 0;

    while (end < size) {
        const struct column *next = NULL;
        size_t alignment = sizeof(void *);
        size_t at = size;

        for (size_t i = 0; i < n; i++)
            if (columns[i].size > 0 && columns[i].at + columns[i].size > end &&
                (next == NULL || columns[i].at < next->at))
                next = &columns[i];
        if (next != NULL) {
            alignment = alignment_of(next);
            at = next->at;
        }
        if (at > end && (at - end >= alignment || at % alignment != 0))
            fail_msg("%s: no column has the bytes %zu to %zu", name, end, at - 1);
        end = next != NULL ? next->at + next->size : size;
    }
}

TEST(test_every_member_of_a_record_has_a_column)
{
    (void)state;
    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        const struct record_table *table = tables[i].table;

        if (table != &queue_table && table != &queue_end_table)
            covers(table->name, table->columns, table->n, table->record_size);
        for (size_t c = 0; c < table->n; c++) {
            const struct column_list *list = table->columns[c].list;

            assert_int_equal(list != NULL, table->columns[c].kind == COLUMN_LIST);
            if (list != NULL && list->n > 1)
                covers(table->columns[c].name, list->members, list->n, list->element_size);
        }
    }
}

/* A queue has two rows; each sum of its tasks is in one of them, but for those that are leased. */
TEST(test_every_member_of_a_queue_has_a_column)
{
    struct column columns[64];
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < queue_table.n; i++)
        if (queue_table.columns[i].size != sizeof(struct task_queue_counts))
            columns[n++] = queue_table.columns[i];
    for (size_t i = 0; i < queue_end_table.n; i++)
        columns[n++] = queue_end_table.columns[i];
    columns[n++] =
        (struct column){ "leased", COLUMN_PART, COLUMN_RECORD(struct queue_record, counts.leased) };
    assert_in_range(n, 1, ELEMENTS(columns));
    covers("queue", columns, n, sizeof(struct queue_record));
}

/* A live object that differs in one member differs in its column, and only where it is compared. */
TEST(test_a_comparison_sees_each_column)
{
    (void)state;
    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        const struct record_table *table = tables[i].table;
        _cleanup_free_ char *a = xcalloc(1, tables[i].live_size + 1);
        _cleanup_free_ char *b = xcalloc(1, tables[i].live_size + 1);

        for (size_t c = 0; c < table->n && tables[i].live_size > 0; c++) {
            const struct column *column = &table->columns[c];
            const char *found;

            if (column->live_size == 0)
                continue;
            assert_int_equal(column->live_size, column->size);
            assert_in_range(column->live + column->live_size, 1, tables[i].live_size);
            b[column->live] ^= 1;
            found = columns_differ(table, a, b);
            if (column->loose)
                assert_null(found);
            else
                assert_string_equal(found, column->name);
            b[column->live] ^= 1;
        }
        if (tables[i].live_size > 0)
            assert_null(columns_differ(table, a, b));
    }
}

/* Each byte that both have goes from the live object to the record and back. */
TEST(test_members_go_to_the_record_and_back)
{
    (void)state;
    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        const struct record_table *table = tables[i].table;
        _cleanup_free_ char *live = xcalloc(1, tables[i].live_size + 1);
        _cleanup_free_ char *again = xcalloc(1, tables[i].live_size + 1);
        _cleanup_free_ char *record = xcalloc(1, table->record_size);

        if (tables[i].live_size == 0)
            continue;
        for (size_t byte = 0; byte < tables[i].live_size; byte++)
            live[byte] = (char)(byte % 251 + 1);
        columns_take(table, live, record);
        columns_give(table, record, again);
        for (size_t c = 0; c < table->n; c++)
            assert_memory_equal(live + table->columns[c].live, again + table->columns[c].live,
                                table->columns[c].live_size);
    }
}

TEST(test_texts_of_statements)
{
    static const struct {
        const char *marked, *text;
    } rows[] = {
        { "SELECT {rendezvous} FROM rendezvous",
          "SELECT job_id, role, generation, members FROM rendezvous" },
        { "{put rendezvous}",
          "INSERT INTO rendezvous (job_id, role, generation, members) VALUES (?1, ?2, ?3, ?4)"
          " ON CONFLICT (job_id, role) DO UPDATE SET generation=?3, members=?4" },
        { "{change task}",
          "UPDATE task SET state=?3, lease=?4, failures=?5, holder=?6, pass=?7, lost_records=?8,"
          " lost_chunks=?9, deaths=?10, outlived=?11, died_slot=?12, died_before=?13 WHERE "
          "job_id=?1"
          " AND id=?2" },
        { "a {b} {put moon} {", "a {b} {put moon} {" },
    };
    const struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *text = store_text_of(f->store->engine->calls, rows[i].marked);

        assert_string_equal(text, rows[i].text);
    }
}
