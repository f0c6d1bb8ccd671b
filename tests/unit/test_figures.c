/* SPDX-License-Identifier: Apache-2.0 */
/* test_figures.c - what operators watch of the cluster: every figure moves with its subject
 *
 * That the figures of this moment are the result of counting is a part of cluster_check, and so of
 * every test that uses a world. */

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/resize_text.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

TEST(test_histogram_counts_each_duration_once)
{
    struct histogram h;

    histogram_init(&h, histogram_work_us);
    histogram_observe(&h, 0);
    histogram_observe(&h, 10); /* bounds are inclusive */
    histogram_observe(&h, 11);
    histogram_observe(&h, 5 * USEC_PER_SEC + 1);
    assert_int_equal(h.counts[0], 2);
    assert_int_equal(h.counts[1], 1);
    assert_int_equal(h.counts[HISTOGRAM_BOUNDS], 1);
    assert_int_equal(histogram_count(&h), 4);
    assert_int_equal(h.sum_us, 5 * USEC_PER_SEC + 22);
}

TEST(test_histogram_bounds_rise)
{
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++) {
        assert_true(histogram_work_us[i] > histogram_work_us[i - 1]);
        assert_true(histogram_wait_us[i] > histogram_wait_us[i - 1]);
    }
}

TEST(test_jobs_wait_start_and_end)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    const struct cluster_figures *f = &w->cluster->figures;
    struct node *node = cluster_node(w->cluster, "node-0");
    struct job *first;
    struct job *second;

    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_CORDONED, w->now, NULL), 0);
    first = world_submit(w, world_spec("first", 2, 2, 400, 0, 0));
    world_advance(w, 3 * USEC_PER_SEC);
    assert_int_equal(f->jobs[JOB_QUEUED], 1);
    assert_int_equal(figures_oldest_wait_us(w->cluster, w->now), 3 * USEC_PER_SEC);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
    world_run(w, 4);
    second = world_submit(w, world_spec("second", 2, 2, 400, 0, 0));
    world_plan(w);
    world_advance(w, 7 * USEC_PER_SEC);
    world_run(w, 1);
    assert_int_equal(f->jobs_submitted, 2);
    assert_int_equal(f->jobs[JOB_RUNNING], 1);
    assert_int_equal(f->jobs[JOB_QUEUED], 1);
    assert_int_equal(figures_oldest_wait_us(w->cluster, w->now),
                     w->now.wall_us - second->submitted_wall_us);
    assert_int_equal(histogram_count(&f->queue_wait), 1);
    assert_int_equal(f->queue_wait.sum_us, 3 * USEC_PER_SEC);
    assert_int_equal(f->processes[PROCESS_RUNNING], 2);
    assert_int_equal(f->process_starts[START_NEW], 2);
    assert_int_equal(cluster_kill_job(w->cluster, second, NULL, w->now, NULL), 0);
    assert_int_equal(f->jobs_ended[JOB_KILLED], 1);
    assert_int_equal(figures_oldest_wait_us(w->cluster, w->now), 0);
    world_exit(w, world_live(first, "trainer", 0), 0, 0);
    world_exit(w, world_live(first, "trainer", 1), 0, 0);
    world_run(w, 3);
    assert_int_equal(f->jobs_ended[JOB_SUCCEEDED], 1);
    assert_int_equal(f->jobs[JOB_SUCCEEDED], 1);
    assert_int_equal(f->process_ends[END_FINISHED], 2);
    assert_int_equal(f->processes[PROCESS_RUNNING], 0);
    assert_int_equal(histogram_count(&f->queue_wait), 1); /* a killed one never started */
    world_free(w);
}

TEST(test_processes_end_and_start_again)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    const struct cluster_figures *f = &w->cluster->figures;
    struct job *job = world_submit(w, world_spec("one", 2, 2, 400, 0, 0));

    world_run(w, 4);
    world_exit(w, world_live(job, "trainer", 0), 1, 0);
    world_run(w, 2);
    assert_int_equal(f->process_ends[END_FAILED], 1);
    world_advance(w, 10 * USEC_PER_SEC);
    world_run(w, 3);
    assert_int_equal(f->process_starts[START_NEW], 2);
    assert_int_equal(f->process_starts[START_AGAIN], 1);
    w->agents[0].silent = true;
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(f->nodes_lost, 1);
    assert_int_equal(f->process_ends[END_LOST], 2);
    world_free(w);
}

static uint64_t resizes(const struct cluster_figures *f, enum resize_direction direction,
                        const char *reason)
{
    for (unsigned i = 0; i < RESIZE_REASONS; i++)
        if (streq(resize_reason_to_string(i), reason))
            return f->resizes[direction][i];
    fail_msg("no such reason: %s", reason);
    return 0;
}

TEST(test_resizes_have_direction_reason_and_duration)
{
    struct world *w = world_new(2, 2000, GIB, 1000);
    const struct cluster_figures *f = &w->cluster->figures;
    struct job *job = world_submit(w, world_spec("one", 1, 10, 400, 0, 0));
    uint64_t all = 0;

    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 10);
    assert_true(resizes(f, RESIZE_GROW, "grown") > 0);
    assert_int_equal(histogram_count(&f->resize_stop), 0);
    w->agents[0].foreign_cpu_millicores = 1300;
    world_run(w, 4);
    assert_true(resizes(f, RESIZE_SHRINK, "foreign-load") > 0);
    assert_int_equal(f->process_ends[END_STOPPED], 4);
    assert_int_equal(histogram_count(&f->resize_stop), 4);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 1, 3, w->now, NULL), 0);
    world_plan(w);
    assert_true(resizes(f, RESIZE_SHRINK, "bounds") > 0);
    for (unsigned d = 0; d < RESIZE_DIRECTIONS; d++)
        for (unsigned r = 0; r < RESIZE_REASONS; r++)
            all += f->resizes[d][r];
    assert_int_equal(all, job->resizes);
    assert_int_equal(resizes(f, RESIZE_GROW, "other") + resizes(f, RESIZE_SHRINK, "other"), 0);
    world_free(w);
}

/* The sentence may say anything: what counts is the reason that stands beside it. */
TEST(test_resizes_are_counted_by_their_reason)
{
    struct world *w = world_new(1, 2000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 4, 400, 0, 0));
    const struct cluster_figures *f = &w->cluster->figures;
    uint64_t shrunk, other;

    world_run(w, 6);
    shrunk = resizes(f, RESIZE_SHRINK, "given-up");
    other = resizes(f, RESIZE_SHRINK, "other");
    job_decided(job, RESIZE_GIVEN_UP, "moved: bounds: no code");
    job_set_target(w->cluster, job, 0, job->target[0] - 1, w->now);
    job_set_target(w->cluster, job, 0, job->target[0] - 1, w->now);
    assert_int_equal(resizes(f, RESIZE_SHRINK, "given-up"), shrunk + 1);
    assert_int_equal(resizes(f, RESIZE_SHRINK, "other"), other + 1); /* nobody said why */
    world_free(w);
}

TEST(test_tasks_are_leased_and_end)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    const struct cluster_figures *f = &w->cluster->figures;
    struct job *job = world_submit(w, world_spec("one", 2, 2, 400, 0, 0));
    struct process *p;
    struct task *task;
    enum task_lease_result result;
    uint32_t lease[3];
    uint32_t id[3];
    bool save;

    world_run(w, 4);
    p = world_live(job, "trainer", 0);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(40, 1), "aa", w->now, NULL),
                     0);
    assert_int_equal(f->tasks_todo, 40);
    for (size_t i = 0; i < ELEMENTS(id); i++) {
        assert_int_equal(cluster_lease_task(w->cluster, p, id, i, w->now, &result, &task, &save,
                                            NULL),
                         0);
        assert_int_equal(result, TASK_LEASE_GIVEN);
        id[i] = task->id;
        lease[i] = task->lease;
    }
    assert_int_equal(f->task_leases, 3);
    assert_int_equal(f->tasks_leased, 3);
    for (int again = 0; again < 2; again++) /* counted once, however often it is said */
        assert_int_equal(cluster_finish_task(w->cluster, p, id[0], 0, lease[0], w->now, NULL), 0);
    assert_int_equal(f->task_ends[TASK_END_FINISHED], 1);
    assert_int_equal(f->task_records, task_queue_counts(job->queue).records_total);
    assert_int_equal(cluster_fail_task(w->cluster, p, id[1], 0, lease[1], true, NULL, w->now, NULL),
                     0);
    assert_int_equal(f->task_ends[TASK_END_RETURNED], 1);
    world_check(w);
    world_exit(w, p, 1, 0);
    world_run(w, 2);
    assert_int_equal(f->task_ends[TASK_END_RELEASED], 1);
    assert_int_equal(f->tasks_leased, 0);
    assert_int_equal(f->tasks_todo, 39);
    assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(f->tasks_todo, 0); /* an ended job has nothing to do */
    world_free(w);
}

TEST(test_nodes_are_summed)
{
    struct world *w = world_new(3, 2000, GIB, 1000);
    struct node_sums sums;

    (void)world_submit(w, world_spec("one", 2, 2, 400, 0, 0));
    w->agents[0].offer.gpus = w->agents[1].offer.gpus = 4;
    w->agents[0].foreign_cpu_millicores = 300;
    world_run(w, 4);
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-1"),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_plan(w);
    w->agents[2].silent = true;
    for (int i = 0; i < 6; i++) {
        world_advance(w, 5 * USEC_PER_SEC);
        world_run(w, 1);
    }
    sums = figures_sum_nodes(w->cluster);
    assert_int_equal(sums.nodes[NODE_READY], 1);
    assert_int_equal(sums.nodes[NODE_CORDONED], 1);
    assert_int_equal(sums.nodes[NODE_LOST], 1);
    assert_int_equal(sums.cpu_millicores, 4000); /* without the lost one */
    assert_int_equal(sums.cpu_granted_millicores, 800);
    assert_int_equal(sums.cpu_foreign_millicores, 300);
    assert_int_equal(sums.gpus_free, 4);
    assert_int_equal(sums.gpus_withheld, 4);
    world_free(w);
}

TEST(test_silence_is_told_of_the_node_that_is_silent_longest)
{
    struct world *w = world_new(2, 2000, GIB, 1000);

    world_run(w, 2);
    assert_int_equal(figures_oldest_report_us(w->cluster, w->now), 0);
    w->agents[1].silent = true;
    world_advance(w, 2 * USEC_PER_SEC);
    world_run(w, 1);
    world_advance(w, 3 * USEC_PER_SEC);
    assert_int_equal(figures_oldest_report_us(w->cluster, w->now), 5 * USEC_PER_SEC);
    world_free(w);
}

TEST(test_a_restart_keeps_what_is_and_forgets_what_was)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 2, 400, 0, 0));

    world_run(w, 4);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(8, 1), "aa", w->now, NULL),
                     0);
    world_commit(w);
    world_restart(w);
    assert_int_equal(w->cluster->figures.jobs[JOB_RUNNING], 1);
    assert_int_equal(w->cluster->figures.processes[PROCESS_RUNNING], 2);
    assert_int_equal(w->cluster->figures.tasks_todo, 8);
    assert_int_equal(w->cluster->figures.jobs_submitted, 0);
    world_check(w);
    world_free(w);
}

/* What an event tells of a change of size is read back, whole or cut. */
TEST(test_resizes_are_read_back_from_their_events)
{
    static const struct {
        const char *text, *role, *code, *reason; /* role NULL: refused */
        uint32_t from, to;
    } rows[] = {
        { "trainer: 2 -> 5 (grown: load 61.2% of 97.0%)", "trainer", "grown", "load 61.2% of 97.0%",
          2, 5 },
        { "a: 10 -> 0", "a", "", "", 10, 0 },
        { "a: 1 -> 2 (bounds: its bounds are now 1..2 (", "a", "bounds",
          "its bounds are now 1..2 (", 1, 2 },
        { "a: 1 -> 2 (boun", "a", "", "", 1, 2 },
        { "a: 1 -> 2 (x: y: z)", "a", "x", "y: z", 1, 2 },
        { .text = "" },
        { .text = "a: 1" },
        { .text = "a: 1 -> " },
        { .text = "a: -1 -> 2" },
        { .text = "a: 1 -> 99999" },
        { .text = "a: 1 -> 2 and more" },
        { .text = "one was submitted" },
        { .text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1 -> 2" },
    };
    char text[240];

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct resize resize;

        if (resize_parse(rows[i].text, &resize) < 0) {
            if (rows[i].role != NULL)
                fail_msg("%s: refused", rows[i].text);
            continue;
        }
        if (rows[i].role == NULL)
            fail_msg("%s: read", rows[i].text);
        assert_string_equal(resize.role, rows[i].role);
        assert_string_equal(resize.code, rows[i].code);
        assert_string_equal(resize.reason, rows[i].reason);
        assert_int_equal(resize.from, rows[i].from);
        assert_int_equal(resize.to, rows[i].to);
    }
    assert_string_equal(resize_describe("trainer", 2, 5, "grown: load 61.2% of 97.0%", text,
                                        sizeof text),
                        rows[0].text);
    assert_string_equal(resize_describe("a", 10, 0, "", text, sizeof text), rows[1].text);
}
