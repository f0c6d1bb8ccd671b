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
