/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_engine.c - what an engine of the store does with statements and transactions */
#include <errno.h>
#include <string.h>

#include "scheduler/store/store_internal.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

static const struct engine_calls *calls_of(const struct fixture *f)
{
    return f->store->engine->calls;
}

static struct prepared *prepare(const struct fixture *f, const char *text)
{
    struct edl_error error = { 0 };
    struct prepared *statement = NULL;

    if (calls_of(f)->prepare(f->store->engine, text, &statement) < 0) {
        (void)engine_error(f->store->engine, text, &error);
        fail_msg("%s", error.text);
    }
    return statement;
}

static void put_series(const struct fixture *f, uint64_t job_id, char *take_points)
{
    struct prepared *statement = prepare(f, "INSERT INTO job_series (job_id, rate_of, cost_name,"
                                            " period_us, points) VALUES (?1, ?2, '', ?3, ?4)");

    store_bind_u64(statement, 1, job_id);
    store_bind_text(statement, 2, "it's");
    store_bind_i64(statement, 3, -7);
    store_take_text(statement, 4, take_points);
    assert_int_equal(calls_of(f)->run(statement), 0);
    assert_int_equal(calls_of(f)->changes(f->store->engine), 1);
    (void)calls_of(f)->finish(statement);
}

static int64_t count(const struct fixture *f)
{
    return engine_number(f->store->engine, "SELECT count(*) FROM job_series");
}

TEST(test_values_come_back_as_they_were_bound)
{
    const struct fixture *f = *state;
    struct prepared *statement;

    put_series(f, INT64_MAX, xstrdup("\xc3\xa9 \" \\"));
    statement = prepare(f, "SELECT job_id, rate_of, period_us, points, (SELECT us FROM away WHERE"
                           " id = ?1) AS missing, ?2 FROM job_series WHERE rate_of = ?3");
    store_bind_u64(statement, 1, 2);
    store_bind_real(statement, 2, 0.1);
    store_bind_text(statement, 3, "it's");
    for (int i = 0; i < 2; i++) { /* what was bound stays bound */
        assert_int_equal(store_next(statement, "", NULL), 1);
        assert_int_equal(store_column_u64(statement, 0), INT64_MAX);
        assert_string_equal(store_column_text(statement, 1), "it's");
        assert_int_equal(store_column_i64(statement, 2), -7);
        assert_string_equal(store_column_text(statement, 3), "\xc3\xa9 \" \\");
        assert_false(store_column_is_null(statement, 3));
        assert_true(store_column_is_null(statement, 4));
        assert_string_equal(store_column_text(statement, 4), "");
        assert_int_equal(store_column_u64(statement, 4), 0);
        assert_true(store_column_real(statement, 5) == 0.1);
        assert_string_equal(calls_of(f)->name(statement, 4), "missing");
        assert_int_equal(store_next(statement, "", NULL), 0);
        store_reset(statement);
    }
    (void)calls_of(f)->finish(statement);
}

TEST(test_a_statement_that_was_left_early_begins_anew)
{
    const struct fixture *f = *state;
    struct prepared *statement = prepare(f, "SELECT job_id FROM job_series ORDER BY job_id");

    put_series(f, 1, xstrdup(""));
    put_series(f, 2, xstrdup(""));
    assert_int_equal(store_next(statement, "", NULL), 1);
    store_reset(statement);
    assert_int_equal(store_next(statement, "", NULL), 1);
    assert_int_equal(store_column_u64(statement, 0), 1);
    assert_int_equal(store_next(statement, "", NULL), 1);
    assert_int_equal(store_column_u64(statement, 0), 2);
    (void)calls_of(f)->finish(statement);
}

TEST(test_a_transaction_is_there_as_a_whole_or_not_at_all)
{
    const struct fixture *f = *state;
    struct engine *engine = f->store->engine;

    calls_of(f)->rollback(engine); /* of none */
    assert_int_equal(calls_of(f)->begin(engine), 0);
    put_series(f, 1, xstrdup(""));
    calls_of(f)->rollback(engine);
    assert_int_equal(count(f), 0);
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(calls_of(f)->begin(engine), 0);
        put_series(f, id, xstrdup(""));
        assert_int_equal(calls_of(f)->commit(engine), 0);
    }
    assert_int_equal(count(f), 2);
}

TEST(test_an_error_tells_the_reason_and_the_statement)
{
    const struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct prepared *statement = NULL;
    int r = calls_of(f)->prepare(f->store->engine, "SELECT nonsense FROM job", &statement);

    assert_true(r < 0);
    assert_null(statement);
    assert_int_equal(engine_error(f->store->engine, "SELECT nonsense FROM job", &error), r);
    assert_non_null(strstr(error.text, "nonsense"));
    assert_int_equal(engine_number(f->store->engine, "SELECT nonsense FROM job"), -1);
    assert_int_equal(engine_number(f->store->engine, "SELECT 1 FROM job"), -1);
}

TEST(test_a_row_that_breaks_a_rule_is_refused_and_the_statement_goes_on)
{
    const struct fixture *f = *state;
    struct prepared *statement = prepare(f, "INSERT INTO job_series VALUES (?1, '', '', 0, '')");

    for (uint64_t i = 0; i < 2; i++) {
        store_bind_u64(statement, 1, i);
        assert_int_equal(calls_of(f)->run(statement), 0);
        assert_true(calls_of(f)->run(statement) < 0);
    }
    (void)calls_of(f)->finish(statement);
    assert_int_equal(count(f), 2);
}

/* change_all - every job was resized so often */
static int change_all(struct fixture *f, uint32_t resizes)
{
    struct edl_error error = { 0 };
    const struct effect *effects;
    size_t n;
    int r;

    for (struct job *job = cluster_jobs(f->cluster); job != NULL; job = job->hh.next) {
        job->resizes = resizes;
        effect_save_job(f->cluster, job);
    }
    effects = cluster_effects(f->cluster, &n);
    r = store_commit(f->store, &(struct turn_records){ .effects = effects, .n_effects = n },
                     &error);
    cluster_effects_clear(f->cluster);
    return r;
}

/* Whatever the engine does with the changes of a turn, it counts the rows. */
TEST(test_a_job_that_is_changed_has_a_row)
{
    static const char *const names[] = { "a", "b", "c" };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct engine *engine = f->store->engine;

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        char text[100];
        struct job *job;

        (void)snprintf(text, sizeof text,
                       "metadata: {name: %s}\nspec: {trainer: {entrypoint: x}}\n", names[i]);
        assert_int_equal(cluster_submit(f->cluster, parse_job(text), "me", start, &job, &error), 0);
    }
    commit(f);
    assert_int_equal(change_all(f, 1), 0);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM job WHERE resizes = 1"), 3);
    (void)engine_number(engine, "DELETE FROM job WHERE id = 2");
    assert_int_equal(change_all(f, 2), -ENOENT);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM job WHERE resizes = 1"), 2);
    (void)cluster_free(f->cluster);
    f->cluster = new_cluster();
    assert_int_equal(store_load(f->store, f->cluster, start, &error), 0);
    assert_int_equal(change_all(f, 3), 0);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM job WHERE resizes = 3"), 2);
}
