/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_types.c - what jobs make of types of GPU: learnt, preferred, and left for better ones */
#include <math.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement_types.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/victims.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"
#include "tests/unit/types_world.h"

/* --- the table, and arithmetic --- */

static uint8_t find(struct gpu_types *types, const char *value)
{
    struct labels labels = { 0 };

    if (value != NULL)
        assert_int_equal(labels_set(&labels, LABEL_GPU_TYPE, value, NULL), 0);
    return gpu_types_find(types, &labels);
}

TEST(test_types_have_a_number_each_as_long_as_there_is_room)
{
    struct gpu_types types = { 0 };
    char name[16];

    assert_int_equal(find(&types, NULL), GPU_TYPE_OTHER);
    assert_int_equal(find(&types, ""), GPU_TYPE_OTHER);
    assert_false(gpu_types_is_mixed(&types));
    for (uint32_t i = 1; i < GPU_TYPES_MAX; i++) {
        (void)snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(find(&types, name), i);
        gpu_types_count(&types, (uint8_t)i, 1);
        assert_int_equal(gpu_types_is_mixed(&types), i > 1);
    }
    assert_int_equal(find(&types, "t2"), 2);
    assert_int_equal(find(&types, "one-more"), GPU_TYPE_OTHER);
}

/* What no node has any more makes room for another name: what is gone for longest goes first. */
TEST(test_names_that_are_gone_are_given_anew)
{
    struct gpu_types types = { 0 };
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };
    char name[16];

    for (uint32_t i = 1; i < GPU_TYPES_MAX; i++) {
        (void)snprintf(name, sizeof name, "t%u", i);
        gpu_types_count(&types, find(&types, name), 1);
    }
    gpu_speeds_current(&speeds, &types, 0);
    gpu_speeds_note(&speeds, 1U << 3 | 1U << 4, log_s, NEVER_US);
    gpu_types_count(&types, 4, -1);
    gpu_types_count(&types, 3, -1);
    assert_int_equal(find(&types, "t3"), 3); /* it keeps its place while nobody needs it */
    assert_int_equal(find(&types, "new"), 4);
    gpu_types_count(&types, 4, 1);
    gpu_speeds_current(&speeds, &types, 0); /* nobody takes it for the old one */
    assert_int_equal(speeds.rounds[3], 1);
    assert_int_equal(speeds.rounds[4], 0);
    assert_int_equal(find(&types, "newer"), 3);
    gpu_types_count(&types, 3, 1);
    assert_int_equal(find(&types, "t4"), GPU_TYPE_OTHER);
}

TEST(test_only_differences_are_learnt)
{
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0, 3, 3 + log(4) };

    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    assert_near(speeds.log[1], log(2), 1e-9);
    assert_near(speeds.log[2], -log(2), 1e-9);
    for (int i = 0; i < 4; i++) /* another one weighs less and less */
        gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    log_s[2] = 3;
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    assert_near(speeds.log[1] - speeds.log[2], 0.75 * log(4), 1e-9);
}

TEST(test_a_new_type_does_not_move_those_that_are_known)
{
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };

    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US); /* alike */
    log_s[3] = log(4);
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 3, log_s, NEVER_US); /* four times as slow */
    assert_near(speeds.log[1] - speeds.log[2], 0, 1e-9);
    assert_near(speeds.log[1] - speeds.log[3], log(4), 1e-9);
}

TEST(test_what_was_seen_long_ago_is_forgotten)
{
    struct gpu_types types = { 0 };
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };

    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, 10);
    gpu_speeds_note(&speeds, 1U << 2 | 1U << 3, log_s, 20);
    gpu_speeds_current(&speeds, &types, 10);
    assert_int_equal(speeds.rounds[1], 0);
    assert_int_equal(speeds.rounds[2], 2);
    assert_int_equal(speeds.rounds[3], 1);
}

TEST(test_what_is_typical_of_a_type_is_the_mean_of_its_nodes)
{
    struct gpu_types types = { 0 };

    assert_near(gpu_types_typical(&types, 1), 0, 0);
    gpu_types_count_speed(&types, 1, 0.25, 1);
    gpu_types_count_speed(&types, 1, -0.75, 1);
    assert_near(gpu_types_typical(&types, 1), -0.25, 1e-6);
    gpu_types_count_speed(&types, 1, -0.75, -1);
    assert_near(gpu_types_typical(&types, 1), 0.25, 1e-6);
    assert_near(gpu_types_typical(&types, GPU_TYPE_NONE), 0, 0);
}

/* --- a cluster --- */

TEST(test_nodes_have_types)
{
    struct plant p;
    const struct gpu_types *types;

    begin(&p);
    types = &p.w->cluster->gpu_types;
    assert_int_equal(types->n_nodes[1], 2);
    assert_int_equal(types->n_nodes[2], 2);
    assert_int_equal(types->n_nodes[GPU_TYPE_OTHER], 0);
    assert_true(cluster_minds_types(p.w->cluster));
    assert_int_equal(labels_set(&p.w->agents[0].offer.labels, LABEL_GPU_TYPE, "B", NULL), 0);
    p.w->agents[1].offer.gpus = 0;
    world_run(p.w, 1);
    assert_int_equal(types->n_nodes[1], 0);
    assert_int_equal(types->n_nodes[2], 3);
    assert_false(cluster_minds_types(p.w->cluster));
    end(&p);
}

static double bias_of(const struct job *job)
{
    return job->learned->bias.clear ? job->learned->bias.log[1] - job->learned->bias.log[2] : 0;
}

/* One whose type is better for everybody is a fast machine, and nothing else is known. */
TEST(test_what_all_jobs_see_is_of_the_nodes)
{
    struct plant p;
    struct job *job;

    begin(&p);
    job = add_job(&p, "a", 12, FAST, SLOW);
    work_s(&p, 300);
    assert_near(bias_of(job), 0, 0);
    assert_near(cluster_node(p.w->cluster, p.w->agents[0].name)->speeds[SPEED_GPU].log -
                    cluster_node(p.w->cluster, p.w->agents[3].name)->speeds[SPEED_GPU].log,
                log(4), 0.3);
    assert_int_equal(type_of(next_victim(job, 0, true)), 1);
    end(&p);
}

TEST(test_each_program_goes_where_it_is_fast)
{
    struct plant p;
    const struct job *a, *b;

    begin(&p);
    learn_both(&p);
    b = add_job(&p, "b", 8, SLOW, FAST);
    work_s(&p, 8);
    assert_int_equal(n_on(b, 1), 8);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 8);
    assert_int_equal(n_on(a, 0), 8);
    assert_near(bias_of(a) - bias_of(b), 2 * log(4), 0.6);
    kill_all(&p);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 8);
    assert_int_equal(n_on(a, 0), 8);
    end(&p);
}

TEST(test_nobody_expects_anything_of_an_unknown_program)
{
    struct plant p;
    const struct job *c;

    begin(&p);
    learn_both(&p);
    c = add_job(&p, "c", 2, FAST, FAST);
    work_s(&p, 60);
    assert_false(c->learned->bias.clear);
    end(&p);
}

/* No node is blamed for what a program makes of its type. */
TEST(test_nodes_are_judged_by_what_was_expected)
{
    struct plant p;
    double before[4];

    begin(&p);
    learn_both(&p);
    for (size_t i = 0; i < 4; i++)
        before[i] = cluster_node(p.w->cluster, p.w->agents[i].name)->speeds[SPEED_GPU].log;
    (void)add_job(&p, "a", 16, FAST, SLOW);
    work_s(&p, 200);
    for (size_t i = 0; i < 4; i++)
        assert_near(cluster_node(p.w->cluster, p.w->agents[i].name)->speeds[SPEED_GPU].log,
                    before[i], 0.2);
    end(&p);
}

TEST(test_a_job_leaves_a_type_that_is_slow_for_it)
{
    struct plant p;
    struct job *a;
    uint64_t moves;

    begin(&p);
    cross(&p, 4, &a, NULL);
    work_s(&p, 1200);
    assert_int_equal(n_on(a, 0), 4);
    moves = p.w->cluster->figures.stragglers_moved;
    assert_true(moves >= 4);
    assert_non_null(strstr(job_moved(a), " to GPUs on "));
    for (size_t i = 0; i < p.w->n_agents; i++) /* no machine is blamed for it */
        assert_int_equal(cluster_node(p.w->cluster, p.w->agents[i].name)->moved_away, 0);
    work_s(&p, 600);
    assert_int_equal(p.w->cluster->figures.stragglers_moved, moves);
    end(&p);
}

/* Whose instances may wait for each other, and are equally fast, show nothing by it. */
TEST(test_equal_paces_beside_parameter_servers_teach_nothing)
{
    struct plant p;
    const struct job *job;

    begin(&p);
    job = add(&p, "s", world_spec("s", 1, 12, CORE, 1, CORE), FAST, FAST);
    work_s(&p, 300);
    assert_true(n_on(job, 0) > 0 && n_on(job, 1) > 0);
    assert_false(p.w->cluster->gpu_types.learnt);
    kill_all(&p);
    (void)add(&p, "s", world_spec("s", 1, 12, CORE, 1, CORE), FAST, SLOW); /* this one does */
    work_s(&p, 300);
    assert_true(p.w->cluster->gpu_types.learnt);
    end(&p);
}

/* It only takes tasks: nobody of it waits for another one. */
TEST(test_a_collective_job_that_takes_tasks_teaches)
{
    struct job_spec *spec = world_spec("m", 1, 12, CORE, 0, 0);
    struct plant p;

    begin(&p);
    spec->mode = JOB_MODE_COLLECTIVE;
    (void)add(&p, "m", spec, FAST, SLOW);
    work_s(&p, 300);
    assert_true(p.w->cluster->gpu_types.learnt);
    end(&p);
}

TEST(test_a_gang_starts_where_its_program_is_fast)
{
    for (int first = 0; first < 2; first++) {
        const struct job *a = NULL, *b;
        struct plant p;

        begin(&p);
        learn_both(&p);
        if (first == 0)
            a = add(&p, "a", world_spec("a", 4, 4, CORE, 0, 0), FAST, SLOW);
        b = add(&p, "b", world_spec("b", 4, 4, CORE, 0, 0), SLOW, FAST);
        if (first == 1)
            a = add(&p, "a", world_spec("a", 4, 4, CORE, 0, 0), FAST, SLOW);
        world_run(p.w, 1);
        assert_int_equal(n_on(a, 0), 4);
        assert_int_equal(n_on(b, 1), 4);
        end(&p);
    }
}

TEST(test_nobody_moves_where_that_costs_more)
{
    struct plant p;
    struct job *a;

    begin(&p);
    cross(&p, 4, &a, NULL);
    for (int i = 0; i < 300; i++) {
        a->learned->of.resize_s = 1e6;
        work_s(&p, 1);
    }
    assert_int_equal(p.w->cluster->figures.stragglers_moved, 0);
    assert_true(n_on(a, 1) >= 3);
    end(&p);
}

static struct job *waiting(struct plant *p)
{
    struct job_spec *spec = world_spec("a", 1, 16, CORE, 0, 0);

    spec->roles[0].gpus = 1;
    for (size_t i = 0; i < p->w->n_agents; i++)
        p->w->agents[i].offer.cpu_millicores = 500;
    world_run(p->w, 2);
    return world_submit(p->w, world_command(spec, "a"));
}

static struct want wanted_by(struct plant *p, const struct job *job)
{
    const struct plan plan = { .cluster = p->w->cluster, .now = p->w->now };

    return want_of_job(&plan, job, 0);
}

static void pass_minutes(struct plant *p, unsigned minutes)
{
    for (; minutes > 0; minutes--) {
        world_advance(p->w, 60 * USEC_PER_SEC);
        world_run(p->w, 1);
    }
}

TEST(test_a_job_that_waits_believes_nothing_that_is_too_old)
{
    struct plant p;
    struct want want;
    struct job *a;

    begin(&p);
    learn_both(&p);
    pass_minutes(&p, 60);
    a = waiting(&p);
    want = wanted_by(&p, a);
    assert_true(want.order.step[1] > want.order.step[2]);
    pass_minutes(&p, 6 * 60);
    want = wanted_by(&p, a);
    assert_int_equal(want.order.step[1], want.order.step[2]);
    end(&p);
}

/* Their sums are looked at by each check. */
TEST(test_nodes_that_go_are_of_no_type)
{
    struct plant p;

    begin(&p);
    (void)add_job(&p, "a", 12, FAST, SLOW);
    work_s(&p, 100);
    kill_all(&p);
    p.w->agents[0].silent = true;
    world_run(p.w, 120);
    assert_int_equal(cluster_remove_node(p.w->cluster,
                                         cluster_node(p.w->cluster, p.w->agents[0].name), p.w->now,
                                         NULL),
                     0);
    assert_int_equal(p.w->cluster->gpu_types.n_nodes[1], 1);
    assert_int_equal(cluster_check(p.w->cluster, NULL), 0);
    end(&p);
}

TEST(test_speeds_are_bounded)
{
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0, -50, 50 };

    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    assert_near(speeds.log[1], GPU_STEP * GPU_STEPS_MOST, 1e-9);
    assert_near(speeds.log[2], -GPU_STEP * GPU_STEPS_MOST, 1e-9);
}

TEST(test_who_ignores_types_learns_nothing_of_them)
{
    struct plant p;

    begin(&p);
    p.w->cluster->config.ignores_types = true;
    (void)add_job(&p, "a", 12, FAST, SLOW);
    work_s(&p, 300);
    assert_false(p.w->cluster->gpu_types.learnt);
    end(&p);
}

/* Nodes of nine types: two share the first entry, also in a copy and when one could have its own.
 */
TEST(test_more_types_than_the_table_holds)
{
    const char *names[GPU_TYPES_MAX + 1];
    char texts[GPU_TYPES_MAX + 1][32];
    struct cluster *copy;
    struct plant p;

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        (void)snprintf(texts[i], sizeof texts[i], "t%zu", i);
        names[i] = texts[i];
    }
    begin_with(&p, names, ELEMENTS(names));
    assert_int_equal(p.w->cluster->gpu_types.n_nodes[GPU_TYPE_OTHER], 2);
    copy = cluster_clone(p.w->cluster, p.w->now);
    assert_memory_equal(copy->gpu_types.n_nodes, p.w->cluster->gpu_types.n_nodes,
                        sizeof copy->gpu_types.n_nodes);
    (void)cluster_free(copy);
    p.w->agents[0].offer.gpus = 0;
    world_run(p.w, 1);
    copy = cluster_clone(p.w->cluster, p.w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    assert_memory_equal(&copy->gpu_types, &p.w->cluster->gpu_types, sizeof copy->gpu_types);
    (void)cluster_free(copy);
    /* the name of the ninth, whose own place is in the first entry still, now has one */
    assert_int_equal(labels_set(&p.w->agents[1].offer.labels, LABEL_GPU_TYPE, names[8], NULL), 0);
    world_run(p.w, 1);
    assert_int_equal(p.w->cluster->gpu_types.n_nodes[GPU_TYPE_OTHER], 2);
    copy = cluster_clone(p.w->cluster, p.w->now);
    assert_int_equal(cluster_check(copy, NULL), 0);
    assert_memory_equal(copy->gpu_types.n_nodes, p.w->cluster->gpu_types.n_nodes,
                        sizeof copy->gpu_types.n_nodes);
    (void)cluster_free(copy);
    end(&p);
}
