/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_lost.c - the records that damaged chunks have lost are known after a restart */
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static void lose(struct fixture *f, struct process *holder, uint64_t lost)
{
    const struct task *task = lease(f, holder);
    const struct task_finish end = { .task = task->id,
                                     .pass = task_queue_pass(holder->job->queue),
                                     .lease = task->lease,
                                     .lost_records = lost,
                                     .lost_chunks = 1 };
    struct edl_error error = { 0 };

    if (cluster_end_task(f->cluster, holder, &end, start, &error) < 0)
        fail_msg("%s", error.text);
}

TEST_WITH(test_what_was_lost_survives, .setup = set_up, .teardown = tear_down)
{
    struct fixture *f = *state;
    struct process *holder = start_data(f, 2);
    struct task_queue_counts counts;

    lose(f, holder, 3);
    commit(f);
    restart(f);
    counts = task_queue_counts(the_job(f)->queue);
    assert_int_equal(counts.records_done, 7);
    assert_int_equal(counts.records_total, 7);
    assert_int_equal(counts.records_lost, 3);
    assert_int_equal(counts.chunks_lost, 1);
    lose(f, a_trainer(the_job(f)), 10); /* ends the pass */
    commit(f);
    restart(f);
    counts = task_queue_counts(the_job(f)->queue);
    assert_int_equal(task_queue_pass(the_job(f)->queue), 1);
    assert_int_equal(counts.records_done + counts.records_lost + counts.chunks_lost, 0);
    assert_int_equal(counts.records_total, 7);
    assert_int_equal(counts.records_lost_total, 13);
    assert_int_equal(counts.chunks_lost_total, 2);
}

/* Who died with it, and that it was skipped for that. */
TEST_WITH(test_deaths_survive, .setup = set_up, .teardown = tear_down)
{
    const struct task wanted = {
        .deaths = 4, .outlived = 3, .died_slot = 1025, .died_before = UINT64_C(1) << 40
    };
    struct fixture *f = *state;
    struct process *holder = start_data(f, 2);
    const struct task *task = lease(f, holder);
    uint32_t id = task->id;
    struct task_death last = { .slot = 7, .next = 9, .n_at_work = 1 };

    task_queue_restore_deaths(holder->job->queue, id, &wanted);
    effect_save_tasks(f->cluster, holder->job);
    commit(f);
    restart(f);
    task = task_queue_task(the_job(f)->queue, id);
    assert_int_equal(task->deaths, wanted.deaths);
    assert_int_equal(task->outlived, wanted.outlived);
    assert_int_equal(task->died_slot, wanted.died_slot);
    assert_int_equal(task->died_before, wanted.died_before);
    holder = a_trainer(the_job(f));
    last.at_work = &holder->incarnation;
    (void)task_queue_release_holder(the_job(f)->queue, holder->incarnation, &last);
    assert_int_equal(task->state, TASK_DISCARDED);
    effect_save_tasks(f->cluster, the_job(f));
    commit(f);
    restart(f);
    assert_int_equal(task_queue_counts(the_job(f)->queue).tasks_deadly_total, 1);
}
