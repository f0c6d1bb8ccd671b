/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_history.c - what the store lets go of: old events, forgotten jobs, superseded
 * processes
 */
#include "scheduler/store/store_internal.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static struct event_bounds bounds_of(const struct fixture *f)
{
    struct event_bounds bounds;
    struct edl_error error = { 0 };

    assert_int_equal(store_event_bounds(f->store, &bounds, &error), 0);
    return bounds;
}

static void count_event(const struct stored_event *event, void *userdata)
{
    uint64_t *last = userdata;

    assert_int_equal(event->revision, *last + 1);
    *last = event->revision;
}

/* A turn with one event. */
static void happen(struct fixture *f, uint64_t wall_us)
{
    struct effect effect = { .kind = EFFECT_EVENT, .event = "test", .wall_us = wall_us };
    struct edl_error error = { 0 };

    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .effects = &effect, .n_effects = 1 },
                                  &error),
                     0);
}

TEST_EACH(set_up, tear_down);

TEST(test_events_are_bounded_by_number)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t last;

    for (uint64_t i = 0; i < 500; i++)
        happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).oldest, 1);
    store_keep(f->store, &(struct store_history){ .events = 10 });
    happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).oldest, 67); /* in small steps, not all at once */
    for (uint64_t i = 0; i < 10; i++)
        happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).newest, 511);
    assert_int_equal(bounds_of(f).oldest, 502);
    last = 501;
    assert_int_equal(store_events(f->store, 0, 501, 100, count_event, &last, &error), 0);
    assert_int_equal(last, 511);
}

/* A restored history goes on with much higher revisions: what was before counts as before. */
TEST(test_events_survive_a_restore)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    for (uint64_t i = 0; i < 20; i++)
        happen(f, start.wall_us);
    assert_int_equal(store_begin_epoch(f->store, 5, 1000, start.wall_us, &error), 0);
    store_keep(f->store, &(struct store_history){ .events = 10 });
    happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).newest, (5 << EPOCH_SHIFT) + 1);
    assert_int_equal(bounds_of(f).oldest, 12);
    assert_int_equal(store_begin_epoch(f->store, 8, 1000, start.wall_us, &error), 0);
    assert_int_equal(store_begin_epoch(f->store, 9, 1000, start.wall_us, &error), 0);
    for (uint64_t i = 0; i < 5; i++)
        happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).oldest, 17);
    for (uint64_t i = 0; i < 5; i++)
        happen(f, start.wall_us);
    assert_int_equal(bounds_of(f).oldest, (9 << EPOCH_SHIFT) + 1);
}

TEST(test_events_are_bounded_by_age)
{
    struct fixture *f = *state;
    uint64_t hour_us = 3600 * USEC_PER_SEC;

    store_keep(f->store, &(struct store_history){ .us = hour_us });
    happen(f, start.wall_us + hour_us); /* the clock was ahead, and set back */
    happen(f, start.wall_us);
    happen(f, start.wall_us + hour_us + USEC_PER_SEC);
    /* the second is too old, but before it is one that is not: no hole in the history */
    assert_int_equal(bounds_of(f).oldest, 1);
    happen(f, start.wall_us + 9 * hour_us);
    assert_int_equal(bounds_of(f).oldest, 4);
    assert_int_equal(bounds_of(f).newest, 4); /* the newest stays, however old */
    happen(f, start.wall_us + 99 * hour_us);
    assert_int_equal(bounds_of(f).newest, 5); /* and revisions go on behind it */
}

static int64_t count_rows(const struct fixture *f, const char *table)
{
    char sql[80];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return number_of_sql(f, sql);
}

/* A job with 2,000 tasks: forgotten at once, deleted bit by bit, also over a restart. */
TEST(test_a_forgotten_job_goes_bit_by_bit)
{
    static const char *const tables[] = { "job",        "process",  "queue",    "task",
                                          "rendezvous", "log_tail", "forgotten" };
    struct effect archive = { .kind = EFFECT_ARCHIVE_JOB, .id = 1 };
    struct turn_records turn = { .effects = &archive, .n_effects = 1, .wall_us = start.wall_us };
    struct log_tail tail = { .job_id = 1, .role = "trainer", .incarnation = 2, .sequence = 5 };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char text[] = "its last words";

    (void)start_data(f, 2000);
    agree(f, the_job(f));
    tail.text = text;
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .tails = &tail, .n_tails = 1 },
                                  &error),
                     0);
    store_keep(f->store,
               &(struct store_history){ .us = 1 }); /* it goes as soon as it is archived */
    turn.tails = &tail;                             /* something of it comes in that very turn */
    turn.n_tails = 1;
    assert_int_equal(store_commit(f->store, &turn, &error), 0);
    assert_int_equal(count_rows(f, "task"), 2000 - 512);
    assert_int_equal(count_rows(f, "job"), 1);
    restart(f); /* in the middle of it: nothing of the job is there any more */
    assert_null(cluster_job(f->cluster, 1));
    for (int i = 0; i < 10; i++)
        happen(f, start.wall_us);
    for (size_t i = 0; i < ELEMENTS(tables); i++)
        assert_int_equal(count_rows(f, tables[i]), 0);
}

/* A job that is over keeps what its tasks were, not the tasks. */
TEST(test_the_tasks_of_an_ended_job_go)
{
    const struct instant later = { .now_us = start.now_us + 60 * USEC_PER_SEC,
                                   .wall_us = start.wall_us + 60 * USEC_PER_SEC };
    struct fixture *f = *state;
    struct process *holder = start_data(f, 2000);
    struct edl_error error = { 0 };
    struct task_queue_counts counts;
    struct cluster *before;
    enum task_lease_result result;
    struct task *task;
    bool save;

    assert_int_equal(cluster_lease_task(f->cluster, holder, NULL, 0, start, &result, &task, &save,
                                        &error),
                     0);
    assert_int_equal(cluster_finish_task(f->cluster, holder, task->id, 0, task->lease, start,
                                         &error),
                     0);
    commit(f);
    assert_int_equal(cluster_kill_job(f->cluster, the_job(f), "enough", start, &error), 0);
    cluster_tick(f->cluster, later); /* its node is lost, and with it what is stopping */
    cluster_plan(f->cluster, later);
    assert_int_equal(the_job(f)->state, JOB_KILLED);
    commit(f);
    assert_int_equal(task_queue_n_tasks(the_job(f)->queue), 0);
    assert_int_equal(count_rows(f, "task"), 2000 - 512);
    before = f->cluster;
    f->cluster = NULL;
    restart(f); /* in the middle of it */
    if (cluster_compare(before, f->cluster, &error) < 0)
        fail_msg("%s", error.text);
    (void)cluster_free(before);
    counts = task_queue_counts(the_job(f)->queue);
    assert_int_equal(counts.todo, 1999);
    assert_int_equal(counts.done, 1);
    assert_int_equal(counts.records_total, 10);
    assert_int_equal(counts.records_pass, 20000);
    for (int i = 0; i < 10; i++)
        happen(f, start.wall_us);
    assert_int_equal(count_rows(f, "task"), 0);
    assert_int_equal(count_rows(f, "job"), 1);
    assert_int_equal(count_rows(f, "forgotten"), 0);
    store_keep(f->store, &(struct store_history){ .us = 1 });
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){
                                      .effects =
                                          &(struct effect){ .kind = EFFECT_ARCHIVE_JOB, .id = 1 },
                                      .n_effects = 1,
                                      .wall_us = later.wall_us + USEC_PER_SEC },
                                  &error),
                     0);
    assert_int_equal(count_rows(f, "queue_end"), 0);
    assert_int_equal(count_rows(f, "job"), 0);
}

/* What an earlier program kept of a job that is over goes with the first turns. */
TEST(test_tasks_that_were_kept_go_after_a_restart)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    (void)start_data(f, 100);
    run_sql(f, "UPDATE process SET state = 'exited';"
               "UPDATE job SET state = 'succeeded', ended_wall_us = 1");
    restart(f);
    assert_int_equal(task_queue_n_tasks(the_job(f)->queue), 0);
    assert_int_equal(task_queue_counts(the_job(f)->queue).todo, 100);
    commit(f);
    assert_int_equal(count_rows(f, "task"), 0);
    assert_int_equal(count_rows(f, "queue_end"), 1);
    assert_int_equal(cluster_check(f->cluster, &error), 0);
}

TEST(test_a_superseded_process_goes)
{
    struct fixture *f = *state;
    struct job *job = run_job(f->cluster);
    struct log_tail tail = { .job_id = 1, .role = "trainer", .sequence = 5 };
    struct effect forget = { .kind = EFFECT_FORGET_PROCESS, .job = job };
    struct edl_error error = { 0 };
    char text[] = "its last words";
    int n;

    commit(f);
    n = count_rows(f, "process");
    tail.text = text;
    tail.incarnation = forget.id = a_trainer(job)->incarnation;
    tail.index = forget.index = a_trainer(job)->index;
    forget.role = a_trainer(job)->role;
    (void)snprintf(forget.name, sizeof forget.name, "trainer");
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .tails = &tail,
                                                          .n_tails = 1,
                                                          .effects = &forget,
                                                          .n_effects = 1 },
                                  &error),
                     0);
    assert_int_equal(count_rows(f, "log_tail"), 1); /* its end came in the same turn: the next */
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .effects = &forget, .n_effects = 1 },
                                  &error),
                     0);
    assert_int_equal(count_rows(f, "process"), n - 1);
    assert_int_equal(count_rows(f, "log_tail"), 0);
}

/* What is written to processes' logs for months does not fill the disk. */
TEST(test_ends_of_logs_are_bounded_by_bytes)
{
    enum { TAILS = 100, BYTES = 1000 };
    struct fixture *f = *state;
    struct log_tail tail = { .role = "trainer", .incarnation = 1, .times = (char *)"[]" };
    const struct turn_records records = { .tails = &tail, .n_tails = 1 };
    struct edl_error error = { 0 };
    char *text = xcalloc(BYTES + 1, 1);

    memset(text, 'x', BYTES);
    tail.text = text;
    tail.job_id = run_job(f->cluster)->id;
    commit(f);
    for (tail.index = 0; tail.index < TAILS; tail.index++) {
        tail.sequence = TAILS - tail.index; /* the last to come is the oldest */
        assert_int_equal(store_commit(f->store, &records, &error), 0);
    }
    assert_int_equal(store_log_bytes(f->store), TAILS * (BYTES + 2));
    store_keep(f->store, &(struct store_history){ .log_bytes = 10 * (BYTES + 2) });
    tail.index = 0;
    tail.sequence = TAILS + 1;
    text[BYTES / 2] = '\0'; /* one that is replaced */
    assert_int_equal(store_commit(f->store, &records, &error), 0);
    assert_int_equal(count_rows(f, "log_tail"), TAILS - 18); /* in small steps */
    for (int i = 0; i < 6; i++) {
        tail.sequence++;
        assert_int_equal(store_commit(f->store, &records, &error), 0);
    }
    assert_int_equal(count_rows(f, "log_tail"), 10);
    assert_int_equal(store_log_bytes(f->store), 9 * (BYTES + 2) + BYTES / 2 + 2);
    look_anew(f);
    assert_int_equal(store_log_bytes(f->store), 9 * (BYTES + 2) + BYTES / 2 + 2);
    run_sql(f, "DELETE FROM log_tail WHERE idx > 9"); /* none: they were the oldest */
    assert_int_equal(count_rows(f, "log_tail"), 10);
    free(text);
}

/* --- those of a node --- */

struct told {
    uint64_t revisions[8];
    size_t n;
};

static void note_event(const struct stored_event *event, void *userdata)
{
    struct told *told = userdata;

    assert_string_equal(event->node, "n1");
    told->revisions[told->n++] = event->revision;
}

TEST(test_events_of_a_node_are_told_newest_first)
{
    static const char *const nodes[] = { "n1", "", "n2", "n1", "n1" };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct told told = { .n = 0 };

    for (size_t i = 0; i < 5; i++) {
        struct effect effect = { .kind = EFFECT_EVENT, .event = "test", .wall_us = start.wall_us };

        (void)snprintf(effect.name, sizeof effect.name, "%s", nodes[i]);
        assert_int_equal(store_commit(f->store,
                                      &(struct turn_records){ .effects = &effect, .n_effects = 1 },
                                      &error),
                         0);
    }
    assert_int_equal(store_node_events(f->store, "n1", UINT64_MAX, 2, note_event, &told, &error),
                     0);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.revisions[0], 5);
    assert_int_equal(told.revisions[1], 4);
    assert_int_equal(store_node_events(f->store, "n1", 4, 2, note_event, &told, &error), 0);
    assert_int_equal(told.n, 3);
    assert_int_equal(told.revisions[2], 1);
    assert_int_equal(store_node_events(f->store, "", UINT64_MAX, 9, note_event, &told, &error), 0);
    assert_int_equal(told.n, 3);
}
