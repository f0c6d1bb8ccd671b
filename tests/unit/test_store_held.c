/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_held.c - who held what over time: written as it changes, and read beside the loop */
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/store/store_reader.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define MINUTE (60 * USEC_PER_SEC)

static void commit_at(struct fixture *f, uint64_t us, bool begun)
{
    struct turn_records records = { .wall_us = start.wall_us + us,
                                    .begun = begun ? f->cluster : NULL };
    struct edl_error error = { 0 };

    records.effects = cluster_effects(f->cluster, &records.n_effects);
    if (store_commit(f->store, &records, &error) < 0)
        fail_msg("%s", error.text);
    cluster_effects_clear(f->cluster);
}

struct spans {
    struct held_span all[16];
    size_t n;
};

static void see_span(const struct held_span *span, void *userdata)
{
    struct spans *spans = userdata;

    if (span->processes == 0)
        return;
    assert_true(spans->n < ELEMENTS(spans->all));
    assert_string_equal(span->user, "me");
    spans->all[spans->n++] = *span;
}

/* From the start on, in minutes. */
static struct spans look(struct fixture *f, uint64_t from, uint64_t to, bool gpus)
{
    struct held_query query = { .since_us = start.wall_us + from * MINUTE,
                                .until_us = start.wall_us + to * MINUTE,
                                .gpus = gpus };
    struct spans spans = { .n = 0 };
    struct store_reader *reader = NULL;
    struct edl_error error = { 0 };

    if (store_reader_open(store_reader_source(f->store), &reader, &error) < 0 ||
        store_reader_spans(reader, &query, see_span, &spans, &error) < 0)
        fail_msg("%s", error.text);
    (void)store_reader_close(reader);
    return spans;
}

static const struct held_span *span_of(const struct spans *spans, uint32_t role, uint64_t n)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->all[i].role == role && spans->all[i].processes == n)
            return &spans->all[i];
    fail_msg("role %u has no span of %u processes", role, (unsigned)n);
    return NULL;
}

static struct process *live_trainer(const struct job *job)
{
    struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    if (process->role == 1 && !process_state_is_final(process->state))
        return process;
    fail_msg("no trainer lives");
    return NULL;
}

static void end_trainer(struct fixture *f)
{
    struct process *trainer = live_trainer(the_job(f));
    struct process_report list[] = { { .job_id = 1,
                                       .role = "trainer",
                                       .index = trainer->index,
                                       .incarnation = trainer->incarnation,
                                       .state = PROCESS_EXITED } };
    struct node_report report = node_says(list, 1);
    struct edl_error error = { 0 };

    report.complete = false;
    if (cluster_report(f->cluster, trainer->node, &report, start, &error) < 0)
        fail_msg("%s", error.text);
}

TEST_EACH(set_up, tear_down);

TEST(test_spans_begin_and_end_with_processes)
{
    struct fixture *f = *state;
    struct spans spans;

    (void)run_job(f->cluster);
    commit_at(f, 0, false);
    spans = look(f, 1, 10, false); /* one trainer after the other ends */
    assert_int_equal(spans.n, 2);
    assert_int_equal(span_of(&spans, 1, 2)->amount, 3000);
    assert_int_equal(span_of(&spans, 0, 1)->amount, 500);
    assert_int_equal(span_of(&spans, 1, 2)->since_us, start.wall_us + 1 * MINUTE);
    assert_int_equal(span_of(&spans, 1, 2)->until_us, start.wall_us + 10 * MINUTE);
    end_trainer(f);
    commit_at(f, 4 * MINUTE, false);
    spans = look(f, 1, 10, false);
    assert_int_equal(spans.n, 3);
    assert_int_equal(span_of(&spans, 1, 2)->until_us, start.wall_us + 4 * MINUTE);
    assert_int_equal(span_of(&spans, 1, 1)->amount, 1500);
    assert_int_equal(span_of(&spans, 1, 1)->since_us, start.wall_us + 4 * MINUTE);
    spans = look(f, 5, 10, false);
    assert_int_equal(spans.n, 2); /* what was before is out of the window */
    spans = look(f, 1, 3, false);
    assert_int_equal(spans.n, 2);
    assert_int_equal(span_of(&spans, 1, 2)->until_us, start.wall_us + 3 * MINUTE);
    assert_int_equal(look(f, 1, 10, true).all[0].amount, 0);
}

/* A database of before, whose jobs hold something that no change told of. */
TEST(test_the_first_commit_of_a_run_looks_at_all)
{
    struct fixture *f = *state;
    struct spans spans;

    (void)run_job(f->cluster);
    commit(f); /* at no time: nothing is written */
    assert_int_equal(look(f, 0, 10, false).n, 0);
    restart(f);
    cluster_effects_clear(f->cluster);
    commit_at(f, 2 * MINUTE, false);
    assert_int_equal(look(f, 0, 10, false).n, 0);
    commit_at(f, 3 * MINUTE, true);
    spans = look(f, 0, 10, false);
    assert_int_equal(spans.n, 2);
    assert_int_equal(span_of(&spans, 1, 2)->since_us, start.wall_us + 3 * MINUTE);
    commit_at(f, 5 * MINUTE, true); /* twice is once */
    assert_int_equal(look(f, 0, 10, false).n, 2);
}

static void see_known(struct fixture *f, uint64_t *ret)
{
    struct store_reader *reader = NULL;
    struct edl_error error = { 0 };

    if (store_reader_open(store_reader_source(f->store), &reader, &error) < 0 ||
        store_reader_known(reader, ret, &error) < 0)
        fail_msg("%s", error.text);
    (void)store_reader_close(reader);
}

TEST(test_old_spans_go_and_the_reader_knows)
{
    static const char many[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO "
        "held"
        " (id, job_id, role, \"user\", since_us, until_us, processes, cpu_millicores, gpus)"
        " SELECT 1 + i, 7, 0, 'me', i, 1000 + i, 1, 1000, 0 FROM n";
    struct fixture *f = *state;
    uint64_t known = 0;

    see_known(f, &known);
    assert_true(known > start.wall_us); /* since the database was made */
    run_sql(f, many);
    look_anew(f);
    store_keep(f->store, &(struct store_history){ .events = 80 });
    (void)run_job(f->cluster);
    commit_at(f, 0, false);
    end_trainer(f);
    commit_at(f, MINUTE, false);
    see_known(f, &known);
    assert_int_equal(known, 1066); /* 1 and 66 of the 102 rows went: as many as may in a turn */
    end_trainer(f);
    commit_at(f, 2 * MINUTE, false);
    see_known(f, &known);
    assert_in_range(known, 1067, 1100);
}

struct owners {
    char users[4][16];
    uint64_t jobs[4];
    double totals[4];
    size_t n;
};

static void see_owner(const struct held_owner *owner, void *userdata)
{
    struct owners *owners = userdata;

    assert_true(owners->n < 4);
    (void)snprintf(owners->users[owners->n], 16, "%s", owner->user);
    owners->jobs[owners->n] = owner->job_id;
    owners->totals[owners->n++] = owner->total;
}

TEST(test_owners_come_by_what_they_held)
{
    static const char rows[] =
        "INSERT INTO held (id, job_id, role, \"user\", since_us, until_us, processes, "
        "cpu_millicores, gpus)"
        " VALUES (2, 1, 0, 'ann', 100, 200, 1, 1000, 0), (3, 2, 0, 'bob', 100, 300, 1, 1000, 1),"
        " (4, 3, 0, 'ann', 50, 300, 1, 900, 0), (5, 4, 0, 'cy', 10, 99, 9, 9000, 9);"
        "INSERT INTO held_now VALUES (5, 0, 'bob', 290, 1, 9223372036854775, 0)";
    struct fixture *f = *state;
    struct held_query query = { .since_us = 100, .until_us = 300 };
    struct owners users = { .n = 0 }, jobs = { .n = 0 };
    struct store_reader *reader = NULL;
    struct edl_error error = { 0 };

    run_sql(f, rows);
    assert_int_equal(store_reader_open(store_reader_source(f->store), &reader, &error), 0);
    assert_int_equal(store_reader_owners(reader, &query, see_owner, &users, &error), 0);
    assert_int_equal(users.n, 2);
    assert_string_equal(users.users[0], "bob"); /* 10 us of very much */
    assert_string_equal(users.users[1], "ann");
    assert_int_equal((int)users.totals[1], 100 * 1000 + 200 * 900);
    query.by_job = true;
    query.until_us = 290;
    assert_int_equal(store_reader_owners(reader, &query, see_owner, &jobs, &error), 0);
    assert_int_equal(jobs.n, 3);
    assert_int_equal(jobs.jobs[0], 2);
    assert_int_equal(jobs.jobs[1], 3);
    query.gpus = true;
    jobs.n = 0;
    assert_int_equal(store_reader_owners(reader, &query, see_owner, &jobs, &error), 0);
    assert_int_equal(jobs.n, 1);
    (void)store_reader_close(reader);
}

struct resizes {
    uint64_t revisions[8];
    char name[16];
    size_t n;
};

static void see_resize(const struct held_resize *resize, void *userdata)
{
    struct resizes *resizes = userdata;

    assert_string_equal(resize->event.event, "job-resized");
    (void)snprintf(resizes->name, sizeof resizes->name, "%s", resize->name);
    resizes->revisions[resizes->n++] = resize->event.revision;
}

TEST(test_resizes_are_those_of_the_window)
{
    static const char rows[] =
        "INSERT INTO event (revision, time_us, event, job_id, node, text) VALUES"
        " (1001, 50, 'job-resized', 1, '', 'a'), (1002, 150, 'job-resized', 1, '', 'b'),"
        " (1003, 160, 'job-queued', 1, '', 'c'), (1004, 170, 'job-resized', 9, '', 'd'),"
        " (1005, 250, 'job-resized', 1, '', 'e'), (1006, 350, 'job-resized', 1, '', 'f')";
    struct fixture *f = *state;
    struct held_query query = { .since_us = 100, .until_us = 300 };
    struct resizes all = { .n = 0 }, one = { .n = 0 }, few = { .n = 0 };
    struct store_reader *reader = NULL;
    struct edl_error error = { 0 };

    (void)run_job(f->cluster);
    commit(f);
    run_sql(f, rows);
    assert_int_equal(store_reader_open(store_reader_source(f->store), &reader, &error), 0);
    assert_int_equal(store_reader_resizes(reader, &query, 9, see_resize, &all, &error), 0);
    assert_int_equal(all.n, 3);
    assert_int_equal(all.revisions[0], 1005); /* the newest first */
    assert_int_equal(all.revisions[2], 1002);
    assert_string_equal(all.name, "example");
    assert_int_equal(store_reader_resizes(reader, &query, 1, see_resize, &few, &error), 0);
    assert_int_equal(few.n, 1);
    query.job_id = 9;
    assert_int_equal(store_reader_resizes(reader, &query, 9, see_resize, &one, &error), 0);
    assert_int_equal(one.n, 1);
    assert_string_equal(one.name, ""); /* it was deleted */
    (void)store_reader_close(reader);
}

static void see_points(const struct stored_series *series, void *userdata)
{
    assert_string_equal(series->rate_of, "records");
    assert_int_equal(series->period_us, 5);
    *(bool *)userdata = streq(series->points, "[[1,null,null,2.5]]");
}

TEST(test_points_go_with_their_job)
{
    const struct stored_series series = { .job_id = 1,
                                          .rate_of = "records",
                                          .cost_name = "",
                                          .period_us = 5,
                                          .points = "[[1,null,null,2.5]]" };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    bool seen = false;

    (void)run_job(f->cluster);
    commit(f);
    assert_int_equal(store_series(f->store, 1, see_points, &seen, &error), 0);
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .series = &series, .n_series = 1 },
                                  &error),
                     0);
    assert_int_equal(store_series(f->store, 1, see_points, &seen, &error), 1);
    assert_true(seen);
    run_sql(f, "INSERT INTO forgotten (job_id, whole) VALUES (1, 1)");
    restart(f);
    commit_at(f, 0, true);
    assert_int_equal(store_series(f->store, 1, see_points, &seen, &error), 0);
}
