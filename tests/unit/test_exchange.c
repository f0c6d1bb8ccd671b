/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchange.c - two jobs exchange their places on types of GPU: the ends that agree, and
 * messages that may come between */
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/planned.h"
#include "tests/unit/test.h"
#include "tests/unit/types_world.h"

/* Nothing is free: they take each other's places, one by one, and no GPU is lost over it. */
TEST(test_two_jobs_exchange_their_places)
{
    struct plant p;
    struct job *a, *b;

    begin(&p);
    cross(&p, 8, &a, &b);
    work_s(&p, 900);
    assert_int_equal(n_on(a, 0), 8);
    assert_int_equal(n_on(b, 1), 8);
    assert_non_null(strstr(job_moved(a), "exchanged for a place on "));
    assert_int_equal(a->exchange.with, 0);
    assert_int_equal(b->exchange.with, 0);
    end(&p);
}

/* It is as fast on either, and gives its place for a while's standstill of one instance. */
TEST(test_who_does_not_mind_exchanges_as_well)
{
    struct plant p;
    struct job *a, *b;

    begin(&p);
    (void)add_job(&p, "b", 16, FAST, FAST);
    work_s(&p, 200);
    kill_all(&p);
    (void)add_job(&p, "a", 16, FAST, SLOW);
    work_s(&p, 200);
    kill_all(&p);
    close_nodes(&p, 0);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 10);
    close_nodes(&p, 2);
    b = add_job(&p, "b", 8, FAST, FAST);
    work_s(&p, 900);
    assert_int_equal(n_on(a, 0), 8);
    assert_int_equal(n_on(b, 1), 8);
    assert_non_null(strstr(job_moved(b), ": about as fast, and a gains"));
    end(&p);
}

/* Both are faster on A: whoever is there stays. */
TEST(test_nobody_gives_a_place_to_his_loss)
{
    struct plant p;
    struct job *a, *b;

    begin(&p);
    learn_both(&p);
    (void)add_job(&p, "c", 16, FAST, 2 * FAST);
    work_s(&p, 200);
    kill_all(&p);
    close_nodes(&p, 0);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 10);
    close_nodes(&p, 2);
    b = add_job(&p, "c", 8, FAST, 2 * FAST);
    work_s(&p, 1000);
    assert_int_equal(n_on(a, 1), 8);
    assert_int_equal(n_on(b, 0), 8);
    end(&p);
}

/* Until both of them are in an exchange. */
static void begin_exchange(struct plant *p, uint32_t linger, struct job **ret_a, struct job **ret_b)
{
    begin(p);
    cross(p, 8, ret_a, ret_b);
    p->w->seed = 1;
    p->w->max_linger = linger;
    for (int i = 0; i < 600 && (*ret_a)->exchange.with == 0; i++)
        work_s(p, 1);
    assert_int_equal((*ret_a)->exchange.with, (*ret_b)->id);
    assert_int_equal((*ret_b)->exchange.with, (*ret_a)->id);
}

TEST(test_the_other_s_end_ends_an_exchange)
{
    struct plant p;
    struct job *a, *b;

    begin_exchange(&p, 0, &a, &b);
    assert_int_equal(cluster_kill_job(p.w->cluster, b, "killed", p.w->now, NULL), 0);
    work_s(&p, 10); /* and not the minute that it would have waited */
    assert_int_equal(a->exchange.with, 0);
    assert_int_equal(n_on(a, 0) + n_on(a, 1), 8);
    end(&p);
}

/* While they are being stopped what they have is theirs still: a third one does not grow on it. */
TEST(test_nobody_grows_on_what_is_exchanged)
{
    struct plant p;
    struct job *a, *b, *c;
    int seconds = 0;

    begin(&p);
    p.w->seed = 1;
    p.w->max_linger = 8; /* stops take a while */
    cross(&p, 7, &a, &b);
    c = add_job(&p, "c", 16, FAST, FAST);
    for (int i = 0; i < 900; i++) {
        uint64_t with = a->exchange.with;
        uint32_t before = n_on(c, 0) + n_on(c, 1);

        work_s(&p, 1);
        if (with != b->id || a->exchange.with != b->id)
            continue; /* c is a third one only while these two exchange */
        assert_int_equal(n_on(c, 0) + n_on(c, 1), before);
        seconds++;
    }
    assert_true(seconds > 0);
    end(&p);
}

/* While b's data are not there nobody can tell what a move costs it. */
TEST(test_who_has_no_data_yet_exchanges_nothing)
{
    struct job_spec *spec = world_spec("b", 1, 8, CORE, 0, 0);
    struct plant p;
    struct job *a;

    begin(&p);
    learn_both(&p);
    close_nodes(&p, 0);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 10);
    close_nodes(&p, 2);
    spec->roles[0].gpus = 1;
    (void)world_submit(p.w, world_command(spec, "b"));
    work_s(&p, 300);
    assert_int_equal(n_on(a, 0), 0);
    end(&p);
}

/* Who gains nothing by it is not asked by a job of lower priority. */
TEST(test_nobody_gives_way_to_a_lower_priority)
{
    struct job_spec *spec = world_spec("b", 1, 8, CORE, 0, 0);
    struct plant p;
    struct job *a, *b;

    begin(&p);
    (void)add_job(&p, "b", 16, FAST, FAST);
    work_s(&p, 200);
    kill_all(&p);
    (void)add_job(&p, "a", 16, FAST, SLOW);
    work_s(&p, 200);
    kill_all(&p);
    close_nodes(&p, 0);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 10);
    close_nodes(&p, 2);
    spec->priority = 10;
    b = add(&p, "b", spec, FAST, FAST);
    work_s(&p, 900);
    assert_true(n_on(b, 0) >= 7);
    assert_int_equal(n_on(a, 0), 0);
    end(&p);
}

/* a is at its minimum when one of it fails: what it waits with is wanted now, wherever. */
TEST(test_a_minimum_does_not_wait_for_an_exchange)
{
    struct plant p;
    struct job *a, *b;
    uint32_t left = 0;

    begin_exchange(&p, 30, &a, &b); /* stops take long */
    assert_int_equal(cluster_scale_job(p.w->cluster, a, "trainer", 7, 8, p.w->now, NULL), 0);
    for (uint32_t i = 0; i < a->n_slots[0] && left == 0; i++)
        if (a->slots[0][i].live != NULL && a->slots[0][i].live->state == PROCESS_RUNNING) {
            world_exit(p.w, a->slots[0][i].live, 1, 0);
            left = 1;
        }
    world_second(p.w);
    world_plan(p.w);
    assert_int_equal(a->exchange.with, 0);
    assert_int_equal(b->exchange.with, 0);
    assert_int_equal(planned_is(a)->in_vain, 1); /* the next one twice as late */
    work_s(&p, 30);
    assert_true(n_on(a, 0) + n_on(a, 1) >= 7);
    end(&p);
}

TEST(test_nobody_exchanges_what_costs_more)
{
    struct plant p;
    struct job *a, *b;

    begin(&p);
    cross(&p, 8, &a, &b);
    for (int i = 0; i < 300; i++) {
        a->learned->of.resize_s = b->learned->of.resize_s = 1e6;
        work_s(&p, 1);
        assert_int_equal(a->exchange.with, 0);
    }
    end(&p);
}

TEST(test_who_loses_a_third_keeps_its_place)
{
    struct plant p;
    struct job *a, *b;

    begin(&p);
    learn_both(&p);
    (void)add_job(&p, "c", 16, 10, 16);
    work_s(&p, 600);
    kill_all(&p);
    close_nodes(&p, 0);
    a = add_job(&p, "a", 8, FAST, SLOW);
    work_s(&p, 10);
    close_nodes(&p, 2);
    b = add_job(&p, "c", 8, 10, 16);
    work_s(&p, 1000);
    assert_int_equal(n_on(a, 1), 8);
    assert_int_equal(n_on(b, 0), 8);
    end(&p);
}

/* A copy plans as the original does, with what is known of types, also amid an exchange. */
TEST(test_a_copy_knows_the_types)
{
    struct plant p;
    struct job *a, *b;
    struct cluster *copy;

    begin_exchange(&p, 0, &a, &b);
    copy = cluster_clone(p.w->cluster, p.w->now);
    assert_memory_equal(&copy->gpu_types, &p.w->cluster->gpu_types, sizeof copy->gpu_types);
    assert_int_equal(cluster_check(copy, NULL), 0);
    for (size_t j = 0; j < p.n; j++) {
        const struct job *of = cluster_job(copy, p.jobs[j]->id);

        assert_memory_equal(&of->learned->bias, &p.jobs[j]->learned->bias,
                            sizeof of->learned->bias);
        assert_int_equal(of->exchange.with, p.jobs[j]->exchange.with);
    }
    (void)cluster_free(copy);
    end(&p);
}
