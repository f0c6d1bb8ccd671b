/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_types.c - what jobs make of types of GPU: learnt, preferred, left, and exchanged
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scheduler/core/outlook.h"
#include "scheduler/core/plan_internal.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"

#define CORE UINT64_C(1000)
#define FAST 2 /* seconds for a task */
#define SLOW 8
#define JOBS 3
#define SLOTS 24

/* --- the table, and arithmetic --- */

static uint8_t find(struct gpu_types *types, const char *value)
{
    struct labels labels = { 0 };

    if (value != NULL)
        assert_int_equal(labels_set(&labels, LABEL_GPU_TYPE, value, NULL), 0);
    return gpu_types_find(types, &labels);
}

static void test_types_have_a_number_each_as_long_as_there_is_room(void **state)
{
    struct gpu_types types = { 0 };
    char name[16];

    (void)state;
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
static void test_names_that_are_gone_are_given_anew(void **state)
{
    struct gpu_types types = { 0 };
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };
    char name[16];

    (void)state;
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

static void test_only_differences_are_learnt(void **state)
{
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0, 3, 3 + log(4) };

    (void)state;
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    assert_near(speeds.log[1], log(2), 1e-9);
    assert_near(speeds.log[2], -log(2), 1e-9);
    for (int i = 0; i < 4; i++) /* another one weighs less and less */
        gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    log_s[2] = 3;
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US);
    assert_near(speeds.log[1] - speeds.log[2], 0.75 * log(4), 1e-9);
}

static void test_a_new_type_does_not_move_those_that_are_known(void **state)
{
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };

    (void)state;
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, NEVER_US); /* alike */
    log_s[3] = log(4);
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 3, log_s, NEVER_US); /* four times as slow */
    assert_near(speeds.log[1] - speeds.log[2], 0, 1e-9);
    assert_near(speeds.log[1] - speeds.log[3], log(4), 1e-9);
}

static void test_what_was_seen_long_ago_is_forgotten(void **state)
{
    struct gpu_types types = { 0 };
    struct gpu_speeds speeds = { 0 };
    double log_s[GPU_TYPES_MAX] = { 0 };

    (void)state;
    gpu_speeds_note(&speeds, 1U << 1 | 1U << 2, log_s, 10);
    gpu_speeds_note(&speeds, 1U << 2 | 1U << 3, log_s, 20);
    gpu_speeds_current(&speeds, &types, 10);
    assert_int_equal(speeds.rounds[1], 0);
    assert_int_equal(speeds.rounds[2], 2);
    assert_int_equal(speeds.rounds[3], 1);
}

static void test_what_is_typical_of_a_type_is_the_mean_of_its_nodes(void **state)
{
    struct gpu_types types = { 0 };

    (void)state;
    assert_near(gpu_types_typical(&types, 1), 0, 0);
    gpu_types_count_speed(&types, 1, 0.25, 1);
    gpu_types_count_speed(&types, 1, -0.75, 1);
    assert_near(gpu_types_typical(&types, 1), -0.25, 1e-6);
    gpu_types_count_speed(&types, 1, -0.75, -1);
    assert_near(gpu_types_typical(&types, 1), 0.25, 1e-6);
    assert_near(gpu_types_typical(&types, GPU_TYPE_NONE), 0, 0);
}

/* --- a cluster --- */

/* What a trainer works on. */
struct work {
    uint64_t incarnation;
    const struct task *task;
    uint64_t until_us;
};

/* Two machines of each of two types, and jobs that work on their data there. */
struct plant {
    struct world *w;
    struct job *jobs[JOBS];
    unsigned task_s[JOBS][2]; /* of type A, of type B */
    struct work works[JOBS][SLOTS];
    size_t n;
};

static uint32_t trainers_of(const struct job *job)
{
    return (uint32_t)(job->spec->n_roles - 1);
}

static uint32_t type_of(const struct process *process)
{
    return streq(labels_get(&process->node->offer.labels, LABEL_GPU_TYPE), "B");
}

static void work_on(struct plant *p, size_t j, struct process *process, struct work *work)
{
    struct cluster *cluster = p->w->cluster;
    enum task_lease_result result;
    struct task *task = NULL;
    bool save;

    if (work->incarnation == process->incarnation && work->task != NULL) {
        if (p->w->now.now_us < work->until_us)
            return;
        assert_int_equal(cluster_finish_task(cluster, process, work->task->id,
                                             task_queue_pass(p->jobs[j]->queue), work->task->lease,
                                             p->w->now, NULL),
                         0);
    }
    assert_int_equal(cluster_lease_task(cluster, process, NULL, 0, p->w->now, &result, &task, &save,
                                        NULL),
                     0);
    *work = (struct work){ .incarnation = process->incarnation,
                           .task = result == TASK_LEASE_GIVEN ? task : NULL,
                           .until_us =
                               p->w->now.now_us + p->task_s[j][type_of(process)] * USEC_PER_SEC };
}

static void work_s(struct plant *p, unsigned seconds)
{
    for (; seconds > 0; seconds--) {
        world_second(p->w);
        for (size_t j = 0; j < p->n; j++)
            for (uint32_t i = 0; i < p->jobs[j]->n_slots[trainers_of(p->jobs[j])]; i++) {
                struct process *process = p->jobs[j]->slots[trainers_of(p->jobs[j])][i].live;

                if (process != NULL && process->state == PROCESS_RUNNING && !process->stop_wanted)
                    work_on(p, j, process, &p->works[j][i]);
            }
        world_plan(p->w);
        world_replan(p->w);
    }
}

static void begin_with(struct plant *p, const char *const *types, size_t n)
{
    *p = (struct plant){ 0 };
    world_policy = &policy_goodput;
    p->w = world_new(n, 8 * CORE, GIB, 1000);
    p->w->replay_every = 300; /* thousands of tasks are long to load */
    for (size_t i = 0; i < n; i++) {
        struct node_offer *offer = &p->w->agents[i].offer;

        offer->gpus = 4;
        assert_int_equal(labels_set(&offer->labels, LABEL_GPU_TYPE, types[i], NULL), 0);
    }
    world_run(p->w, 1);
}

static void begin(struct plant *p)
{
    begin_with(p, (const char *const[]){ "A", "A", "B", "B" }, 4);
}

/* A program of its own: numbers in it do not tell families apart. */
static struct job *add(struct plant *p, const char *program, struct job_spec *spec, unsigned a_s,
                       unsigned b_s)
{
    struct job *job;

    spec->roles[spec->n_roles - 1].gpus = 1;
    p->task_s[p->n][0] = a_s;
    p->task_s[p->n][1] = b_s;
    job = world_submit(p->w, world_command(spec, program));
    p->jobs[p->n++] = job;
    assert_int_equal(cluster_set_dataset(p->w->cluster, job, world_queue(5000, 1), "d", p->w->now,
                                         NULL),
                     0);
    return job;
}

static struct job *add_job(struct plant *p, const char *program, uint32_t max, unsigned a_s,
                           unsigned b_s)
{
    return add(p, program, world_spec(program, 1, max, CORE, 0, 0), a_s, b_s);
}

static void kill_all(struct plant *p)
{
    for (size_t j = 0; j < p->n; j++)
        if (!job_state_is_final(p->jobs[j]->state))
            assert_int_equal(cluster_kill_job(p->w->cluster, p->jobs[j], "killed", p->w->now, NULL),
                             0);
    p->n = 0;
    memset(p->works, 0, sizeof p->works);
    work_s(p, 10);
}

static void end(struct plant *p)
{
    world_free(p->w);
    world_policy = &policy_fulfilment;
}

static uint32_t n_on(const struct job *job, uint32_t type)
{
    uint32_t role = trainers_of(job);
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[role]; i++)
        n += job->slots[role][i].live != NULL && type_of(job->slots[role][i].live) == type;
    return n;
}

static void test_nodes_have_types(void **state)
{
    struct plant p;
    const struct gpu_types *types;

    (void)state;
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
static void test_what_all_jobs_see_is_of_the_nodes(void **state)
{
    struct plant p;
    struct job *job;

    (void)state;
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

/* Two programs, each four times as fast on a type of its own, one after the other. */
static void learn_both(struct plant *p)
{
    (void)add_job(p, "a", 16, FAST, SLOW);
    work_s(p, 200);
    kill_all(p);
    (void)add_job(p, "b", 16, SLOW, FAST);
    work_s(p, 200);
    kill_all(p);
}

static void test_each_program_goes_where_it_is_fast(void **state)
{
    struct plant p;
    const struct job *a, *b;

    (void)state;
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

static void test_nobody_expects_anything_of_an_unknown_program(void **state)
{
    struct plant p;
    const struct job *c;

    (void)state;
    begin(&p);
    learn_both(&p);
    c = add_job(&p, "c", 2, FAST, FAST);
    work_s(&p, 60);
    assert_false(c->learned->bias.clear);
    end(&p);
}

/* No node is blamed for what a program makes of its type. */
static void test_nodes_are_judged_by_what_was_expected(void **state)
{
    struct plant p;
    double before[4];

    (void)state;
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

/* Keeps jobs off the nodes of one type: 0 A, 1 B, 2 none. */
static void close_nodes(struct plant *p, uint32_t type)
{
    for (size_t i = 0; i < p->w->n_agents; i++)
        p->w->agents[i].offer.gpus = i / 2 == type ? 0 : 4;
    world_run(p->w, 2);
}

/* Both are all on the wrong type: nobody is slower than its others. */
static void cross(struct plant *p, uint32_t max, struct job **ret_a, struct job **ret_b)
{
    learn_both(p);
    close_nodes(p, 0);
    *ret_a = add_job(p, "a", max, FAST, SLOW);
    work_s(p, 10);
    close_nodes(p, 2);
    if (ret_b != NULL) {
        *ret_b = add_job(p, "b", max, SLOW, FAST);
        work_s(p, 10);
        assert_true(n_on(*ret_b, 0) + 1 >= max);
    }
    assert_true(n_on(*ret_a, 1) + 1 >= max);
}

static void test_a_job_leaves_a_type_that_is_slow_for_it(void **state)
{
    struct plant p;
    struct job *a;
    uint64_t moves;

    (void)state;
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

/* Nothing is free: they take each other's places, one by one, and no GPU is lost over it. */
static void test_two_jobs_exchange_their_places(void **state)
{
    struct plant p;
    struct job *a, *b;

    (void)state;
    begin(&p);
    cross(&p, 8, &a, &b);
    work_s(&p, 900);
    assert_int_equal(n_on(a, 0), 8);
    assert_int_equal(n_on(b, 1), 8);
    assert_non_null(strstr(job_moved(a), "exchanged for a place on "));
    assert_int_equal(a->learned->exchange.with, 0);
    assert_int_equal(b->learned->exchange.with, 0);
    end(&p);
}

/* It is as fast on either, and gives its place for a while's standstill of one instance. */
static void test_who_does_not_mind_exchanges_as_well(void **state)
{
    struct plant p;
    struct job *a, *b;

    (void)state;
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
    assert_non_null(strstr(job_moved(b), ": as fast, and a gains"));
    end(&p);
}

/* Both are faster on A: whoever is there stays. */
static void test_nobody_gives_a_place_to_his_loss(void **state)
{
    struct plant p;
    struct job *a, *b;

    (void)state;
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
static void begin_exchange(struct plant *p, struct job **ret_a, struct job **ret_b)
{
    begin(p);
    cross(p, 8, ret_a, ret_b);
    for (int i = 0; i < 600 && (*ret_a)->learned->exchange.with == 0; i++)
        work_s(p, 1);
    assert_int_equal((*ret_a)->learned->exchange.with, (*ret_b)->id);
    assert_int_equal((*ret_b)->learned->exchange.with, (*ret_a)->id);
}

static void test_the_other_s_end_ends_an_exchange(void **state)
{
    struct plant p;
    struct job *a, *b;

    (void)state;
    begin_exchange(&p, &a, &b);
    assert_int_equal(cluster_kill_job(p.w->cluster, b, "killed", p.w->now, NULL), 0);
    work_s(&p, 10); /* and not the minute that it would have waited */
    assert_int_equal(a->learned->exchange.with, 0);
    assert_int_equal(n_on(a, 0) + n_on(a, 1), 8);
    end(&p);
}

/* While they are being stopped what they have is theirs still: a third one does not grow on it. */
static void test_nobody_grows_on_what_is_exchanged(void **state)
{
    struct plant p;
    struct job *a, *b, *c;
    int seconds = 0;

    (void)state;
    begin(&p);
    p.w->seed = 1;
    p.w->max_linger = 8; /* stops take a while */
    cross(&p, 7, &a, &b);
    c = add_job(&p, "c", 16, FAST, FAST);
    for (int i = 0; i < 900; i++) {
        uint64_t with = a->learned->exchange.with;
        uint32_t before = n_on(c, 0) + n_on(c, 1);

        work_s(&p, 1);
        if (with == 0 || a->learned->exchange.with == 0)
            continue;
        assert_int_equal(n_on(c, 0) + n_on(c, 1), before);
        seconds++;
    }
    assert_true(seconds > 0);
    end(&p);
}

/* Whose instances may wait for each other, and are equally fast, show nothing by it. */
static void test_equal_paces_beside_parameter_servers_teach_nothing(void **state)
{
    struct plant p;
    const struct job *job;

    (void)state;
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

static void test_who_ignores_types_learns_nothing_of_them(void **state)
{
    struct plant p;

    (void)state;
    begin(&p);
    p.w->cluster->config.ignores_types = true;
    (void)add_job(&p, "a", 12, FAST, SLOW);
    work_s(&p, 300);
    assert_false(p.w->cluster->gpu_types.learnt);
    end(&p);
}

/* Nodes of nine types: two share the first entry, also in a copy and when one could have its own.
 */
static void test_more_types_than_the_table_holds(void **state)
{
    const char *names[GPU_TYPES_MAX + 1];
    char texts[GPU_TYPES_MAX + 1][32];
    struct cluster *copy;
    struct plant p;

    (void)state;
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

/* A copy plans as the original does, with what is known of types, also amid an exchange. */
static void test_a_copy_knows_the_types(void **state)
{
    struct plant p;
    struct job *a, *b;
    struct cluster *copy;

    (void)state;
    begin_exchange(&p, &a, &b);
    copy = cluster_clone(p.w->cluster, p.w->now);
    assert_memory_equal(&copy->gpu_types, &p.w->cluster->gpu_types, sizeof copy->gpu_types);
    assert_int_equal(cluster_check(copy, NULL), 0);
    for (size_t j = 0; j < p.n; j++) {
        const struct job_learned *of = cluster_job(copy, p.jobs[j]->id)->learned;

        assert_memory_equal(&of->bias, &p.jobs[j]->learned->bias, sizeof of->bias);
        assert_int_equal(of->exchange.with, p.jobs[j]->learned->exchange.with);
    }
    (void)cluster_free(copy);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_have_a_number_each_as_long_as_there_is_room),
        cmocka_unit_test(test_names_that_are_gone_are_given_anew),
        cmocka_unit_test(test_only_differences_are_learnt),
        cmocka_unit_test(test_a_new_type_does_not_move_those_that_are_known),
        cmocka_unit_test(test_what_was_seen_long_ago_is_forgotten),
        cmocka_unit_test(test_what_is_typical_of_a_type_is_the_mean_of_its_nodes),
        cmocka_unit_test(test_nodes_have_types),
        cmocka_unit_test(test_what_all_jobs_see_is_of_the_nodes),
        cmocka_unit_test(test_each_program_goes_where_it_is_fast),
        cmocka_unit_test(test_nobody_expects_anything_of_an_unknown_program),
        cmocka_unit_test(test_nodes_are_judged_by_what_was_expected),
        cmocka_unit_test(test_a_job_leaves_a_type_that_is_slow_for_it),
        cmocka_unit_test(test_two_jobs_exchange_their_places),
        cmocka_unit_test(test_who_does_not_mind_exchanges_as_well),
        cmocka_unit_test(test_nobody_gives_a_place_to_his_loss),
        cmocka_unit_test(test_the_other_s_end_ends_an_exchange),
        cmocka_unit_test(test_nobody_grows_on_what_is_exchanged),
        cmocka_unit_test(test_equal_paces_beside_parameter_servers_teach_nothing),
        cmocka_unit_test(test_who_ignores_types_learns_nothing_of_them),
        cmocka_unit_test(test_more_types_than_the_table_holds),
        cmocka_unit_test(test_a_copy_knows_the_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
