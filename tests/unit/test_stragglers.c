/* SPDX-License-Identifier: Apache-2.0 */
/* test_stragglers.c - instances that are slow where they are: seen, avoided, moved once */

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/victims.h"
#include "scheduler/core/speed/pace.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define CORE UINT64_C(1000)
#define FAST 2 /* seconds for a task */
#define SLOW 8

/* What a trainer works on. */
struct work {
    uint64_t incarnation;
    const struct task *task;
    uint64_t until_us;
};

/* Machines that are more or less fast, and one job that works on its data there. */
struct plant {
    struct world *w;
    struct job *job;
    unsigned task_s[WORLD_NODES]; /* by agent */
    struct work works[16];        /* by index */
};

static unsigned task_s(const struct plant *p, const struct process *process)
{
    for (size_t i = 0; i < p->w->n_agents; i++)
        if (strcmp(p->w->agents[i].name, process->node->name) == 0)
            return p->task_s[i];
    fail_msg("%s is not there", process->node->name);
    return 0;
}

static void take_task(struct plant *p, struct process *process, struct work *work)
{
    enum task_lease_result result;
    struct task *task = NULL;
    bool save;

    assert_int_equal(cluster_lease_task(p->w->cluster, process, NULL, 0, p->w->now, &result, &task,
                                        &save, NULL),
                     0);
    *work = (struct work){ .incarnation = process->incarnation,
                           .task = result == TASK_LEASE_GIVEN ? task : NULL,
                           .until_us = p->w->now.now_us + task_s(p, process) * USEC_PER_SEC };
}

static void go_on(struct plant *p, struct process *process, struct work *work)
{
    if (work->incarnation == process->incarnation && work->task != NULL) {
        if (p->w->now.now_us < work->until_us)
            return;
        assert_int_equal(cluster_finish_task(p->w->cluster, process, work->task->id,
                                             task_queue_pass(p->job->queue), work->task->lease,
                                             p->w->now, NULL),
                         0);
    }
    take_task(p, process, work);
}

static void work_s(struct plant *p, unsigned seconds)
{
    for (; seconds > 0; seconds--) {
        world_second(p->w);
        for (uint32_t i = 0; i < p->job->n_slots[0]; i++) {
            struct process *process = p->job->slots[0][i].live;

            if (process != NULL && process->state == PROCESS_RUNNING && !process->stop_wanted)
                go_on(p, process, &p->works[i]);
        }
        world_plan(p->w);
        world_replan(p->w);
    }
}

/* So many machines of one core each, the first of which is slow, for a job of min to max instances.
 */
struct setting {
    uint32_t machines, min, max, tasks, load_permille;
};

static void begin_with(struct plant *p, struct setting setting)
{
    *p = (struct plant){ 0 };
    world_policy = &policy_goodput;
    p->w = world_new(setting.machines, CORE, GIB, setting.load_permille);
    for (uint32_t i = 0; i < setting.machines; i++)
        p->task_s[i] = i == 0 ? SLOW : FAST;
    world_run(p->w, 1);
    p->job = world_submit(p->w, world_spec("a", setting.min, setting.max, CORE, 0, 0));
    assert_int_equal(cluster_set_dataset(p->w->cluster, p->job, world_queue(setting.tasks, 1), "d",
                                         p->w->now, NULL),
                     0);
}

static void begin(struct plant *p, uint32_t machines, uint32_t min, uint32_t max)
{
    begin_with(p, (struct setting){ .machines = machines,
                                    .min = min,
                                    .max = max,
                                    .tasks = 3000,
                                    .load_permille = 1000 });
}

static void end(struct plant *p)
{
    world_free(p->w);
    world_policy = &policy_fulfilment;
}

static struct node *node_at(const struct plant *p, uint32_t agent)
{
    return cluster_node(p->w->cluster, p->w->agents[agent].name);
}

static double speed_of(const struct plant *p, uint32_t agent)
{
    return exp(node_at(p, agent)->speeds[SPEED_CPU].log);
}

static uint64_t n_moved(const struct plant *p)
{
    return p->w->cluster->figures.stragglers_moved;
}

/* --- arithmetic --- */

TEST(test_pace_is_the_median_of_the_last_tasks)
{
    static const double seconds[] = { 50, 2, 2, 90, 2 };
    struct goodput_pace pace = { 0 };

    for (size_t i = 0; i < 3; i++)
        assert_false(goodput_pace_note(&pace, 1, 10, seconds[i])); /* the first one warms up */
    assert_true(goodput_pace_note(&pace, 1, 10, seconds[3]));
    assert_true(goodput_pace_note(&pace, 1, 10, seconds[4]));
    assert_near(exp(goodput_pace_log_s(&pace)), 0.2, 1e-6);
    assert_false(goodput_pace_is_known(&pace, 2));
    assert_false(goodput_pace_note(&pace, 2, 10, 2)); /* another size: from the start */
    assert_false(goodput_pace_is_known(&pace, 2));
}

TEST(test_others_are_all_but_one)
{
    static const double sorted[] = { 1, 2, 4, 8 };

    assert_near(goodput_pace_of_others(sorted, 2, 0), 2, 0);
    assert_near(goodput_pace_of_others(sorted, 2, 1), 1, 0);
    assert_near(goodput_pace_of_others(sorted, 3, 0), 3, 0);
    assert_near(goodput_pace_of_others(sorted, 3, 2), 1.5, 0);
    assert_near(goodput_pace_of_others(sorted, 4, 0), 4, 0);
    assert_near(goodput_pace_of_others(sorted, 4, 1), 4, 0);
    assert_near(goodput_pace_of_others(sorted, 4, 3), 2, 0);
}

TEST(test_levels_stick)
{
    struct node_speed speed = { 0 };

    assert_false(node_speed_add(&speed, log(0.68))); /* within what is like most */
    for (int i = 0; i < 20; i++)
        (void)node_speed_add(&speed, log(0.5));
    assert_int_equal(speed.level, -1);
    for (int i = 0; i < 20; i++)
        (void)node_speed_add(&speed, log(0.72)); /* not enough to come back */
    assert_int_equal(speed.level, -1);
    for (int i = 0; i < 20; i++)
        (void)node_speed_add(&speed, log(0.9));
    assert_int_equal(speed.level, 0);
    for (int i = 0; i < 20; i++)
        (void)node_speed_add(&speed, -50); /* nobody believes that */
    assert_near(speed.log, -log(GOODPUT_PACE_MOST), 0.01);
}

/* --- seen --- */

TEST(test_node_is_seen_to_be_slow)
{
    struct plant p;

    begin(&p, 4, 4, 4 + 1); /* it has nothing to spare, and there is no other place */
    work_s(&p, 100);
    assert_near(speed_of(&p, 0), (double)FAST / SLOW, 0.1);
    for (uint32_t i = 1; i < 4; i++)
        assert_near(speed_of(&p, i), 1, 0.1);
    assert_true(node_at(&p, 0)->levels[SPEED_CPU] < 0);
    assert_int_equal(node_at(&p, 0)->levels[SPEED_GPU], 0);
    assert_int_equal(n_moved(&p), 0);
    /* three and a quarter of four */
    assert_near(p.job->learned->evenness, (3 + 0.25) / 4, 0.02);
    end(&p);
}

TEST(test_job_on_one_node_says_nothing)
{
    struct plant p;

    begin(&p, 1, 1, 2);
    p.w->agents[0].offer.cpu_millicores = 2 * CORE;
    work_s(&p, 100);
    assert_int_equal(job_count_running(p.job, 0), 2);
    assert_int_equal(node_at(&p, 0)->speeds[SPEED_CPU].rounds, 0);
    end(&p);
}

TEST(test_speed_is_forgotten)
{
    struct plant p;

    begin(&p, 3, 3, 4);
    work_s(&p, 100);
    assert_true(node_at(&p, 0)->levels[SPEED_CPU] < 0);
    p.w->agents[0].offer.memory_bytes *= 2; /* it was rebuilt */
    world_second(p.w);
    world_second(p.w);
    assert_int_equal(node_at(&p, 0)->speeds[SPEED_CPU].rounds, 0);
    assert_int_equal(node_at(&p, 0)->levels[SPEED_CPU], 0);
    work_s(&p, 60);
    assert_true(node_at(&p, 0)->levels[SPEED_CPU] < 0);
    p.w->agents[0].boot++;
    world_second(p.w);
    assert_int_equal(node_at(&p, 0)->levels[SPEED_CPU], 0);
    work_s(&p, 100);
    assert_true(node_at(&p, 0)->levels[SPEED_CPU] < 0);
    for (unsigned i = 0; i < 31 * 6; i++) { /* nobody finishes anything any more */
        world_advance(p.w, 10 * USEC_PER_SEC);
        world_run(p.w, 1);
    }
    assert_int_equal(node_at(&p, 0)->levels[SPEED_CPU], 0);
    end(&p);
}

/* What is measured without GPUs does not keep alive what was seen with them. */
TEST(test_each_kind_is_forgotten_by_itself)
{
    struct plant p;
    struct node *node;

    begin(&p, 2, 1, 2);
    node = node_at(&p, 1);
    for (int i = 0; i < 4; i++)
        node_note_speed(p.w->cluster, node, SPEED_GPU, log(0.2), p.w->now);
    assert_true(node->levels[SPEED_GPU] < 0);
    for (unsigned i = 0; i < 31 * 6; i++) {
        world_advance(p.w, 10 * USEC_PER_SEC);
        node_note_speed(p.w->cluster, node, SPEED_CPU, log(0.2), p.w->now);
        world_run(p.w, 1);
    }
    assert_int_equal(node->levels[SPEED_GPU], 0);
    assert_int_equal(node->speeds[SPEED_GPU].rounds, 0);
    assert_true(node->levels[SPEED_CPU] < 0);
    end(&p);
}

/* Of another machine nothing is held against it for longer than of any. */
TEST(test_moves_are_forgotten_with_the_machine)
{
    struct plant p;

    begin(&p, 3, 1, 2);
    node_at(&p, 0)->moved_away = 4;
    p.w->agents[0].boot++;
    world_second(p.w);
    assert_int_equal(node_at(&p, 0)->moved_away, 0);
    end(&p);
}

TEST(test_knowing_better_can_be_ruled_out)
{
    struct plant p;

    begin(&p, 4, 1, 3);
    p.w->cluster->config.ignores_speed = true;
    work_s(&p, 200);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(node_at(&p, i)->speeds[SPEED_CPU].rounds, 0);
    assert_int_equal(n_moved(&p), 0);
    end(&p);
}

static double tasks_left(const struct plant *p)
{
    return (double)(task_queue_counts(p->job->queue).todo +
                    task_queue_counts(p->job->queue).leased);
}

/* When it will be over is told by what its slow instance really does. */
TEST(test_outlook_counts_the_slow)
{
    struct job_outlook outlook;
    struct plant p;

    begin(&p, 2, 2, 3);
    work_s(&p, 600);
    assert_true(job_outlook(p.job, p.w->now, &outlook));
    assert_near(outlook.left_s / (tasks_left(&p) / (1.0 / FAST + 1.0 / SLOW)), 1, 0.1);
    end(&p);
}

/* Its node is emptied: the one that is left is as fast as any. */
TEST(test_slow_one_is_gone)
{
    struct job_outlook outlook;
    struct plant p;

    begin(&p, 2, 1, 2);
    work_s(&p, 200);
    assert_true(p.job->learned->evenness < 0.7);
    assert_int_equal(cluster_set_node_state(p.w->cluster, node_at(&p, 0), NODE_DRAINING, p.w->now,
                                            NULL),
                     0);
    work_s(&p, 600);
    assert_int_equal(job_count_running(p.job, 0), 1);
    assert_near(p.job->learned->evenness, 1, 0);
    assert_true(job_outlook(p.job, p.w->now, &outlook));
    assert_near(outlook.left_s / (tasks_left(&p) * FAST), 1, 0.1);
    end(&p);
}

/* --- moved --- */

static uint32_t n_on(const struct plant *p, uint32_t agent)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->job->n_slots[0]; i++)
        n +=
            p->job->slots[0][i].live != NULL && p->job->slots[0][i].live->node == node_at(p, agent);
    return n;
}

TEST(test_straggler_moves_once)
{
    struct plant p;

    begin(&p, 4, 1, 3);
    work_s(&p, 20);
    assert_int_equal(job_count_running(p.job, 0), 3);
    assert_int_equal(n_on(&p, 0), 1);
    work_s(&p, 60);
    assert_int_equal(n_moved(&p), 1);
    assert_int_equal(n_on(&p, 0), 0);
    assert_int_equal(job_count_running(p.job, 0), 3);
    assert_string_equal(job_moved(p.job),
                        "trainer-0 was moved from node-0: 0.25 times as fast as its others");
    work_s(&p, 300);
    assert_int_equal(n_moved(&p), 1);
    assert_int_equal(n_on(&p, 0), 0);
    end(&p);
}

/* A place is free on a faster node, and nothing may grow there: the cluster has its load. */
TEST(test_minimum_is_not_moved)
{
    for (uint32_t min = 2; min <= 3; min++) {
        struct plant p;

        begin_with(&p,
                   (struct setting){
                       .machines = 4, .min = min, .max = 4, .tasks = 3000, .load_permille = 800 });
        work_s(&p, 100);
        assert_int_equal(job_count_running(p.job, 0), 3);
        assert_int_equal(n_moved(&p), min == 2);
        assert_int_equal(n_on(&p, 0), min == 3);
        end(&p);
    }
}

/* The one faster node that has room cannot start it: it is not sent there again and again. */
TEST(test_not_moved_to_where_it_cannot_start)
{
    struct fake_agent *broken;
    struct plant p;

    begin(&p, 4, 1, 3);
    p.w->seed = 7;
    p.w->max_linger = 3;
    broken = &p.w->agents[3];
    for (unsigned second = 0; second < 900; second++) {
        work_s(&p, 1);
        for (size_t i = 0; i < broken->n; i++)
            if (broken->items[i].state == PROCESS_PREPARING) {
                broken->items[i].state = PROCESS_EXITED;
                broken->items[i].exit_code = 1;
                broken->items[i].start_fault = START_FAULT_NODE;
                broken->items[i].reason = "cannot start: it is not installed";
            }
    }
    assert_in_range(n_moved(&p), 1, 3);
    end(&p);
}

/* Whoever comes takes the place before the slot is free again: it is tried ever more rarely. */
TEST(test_moves_in_vain_get_rare)
{
    struct job *other = NULL;
    uint64_t moved = 0;
    struct plant p;
    char name[16];

    begin(&p, 4, 1, 3);
    p.w->seed = 3;
    p.w->max_linger = 8;
    for (unsigned second = 0; second < 1200; second++) {
        work_s(&p, 1);
        if (n_moved(&p) > moved) {
            moved = n_moved(&p);
            (void)snprintf(name, sizeof name, "b%d", (int)moved);
            other = world_submit(p.w, world_spec(name, 1, 1, CORE, 0, 0));
        }
        if (other == NULL || job_count_running(other, 0) == 0 || job_count_running(p.job, 0) < 3)
            continue;
        assert_int_equal(cluster_kill_job(p.w->cluster, other, "in the way", p.w->now, NULL), 0);
        other = NULL;
    }
    assert_in_range(moved, 2, 5);
    end(&p);
}

/* What is left is done before a move is paid back. */
TEST(test_short_rest_is_not_worth_a_move)
{
    static const uint32_t tasks[] = { 140, 3000 };

    for (int many = 0; many < 2; many++) {
        struct plant p;

        begin_with(&p, (struct setting){ .machines = 4,
                                         .min = 1,
                                         .max = 3,
                                         .tasks = tasks[many],
                                         .load_permille = 1000 });
        work_s(&p, 70);
        assert_true(task_queue_counts(p.job->queue).todo > 50);
        assert_int_equal(n_moved(&p), many);
        end(&p);
    }
}

TEST(test_slowest_gives_first)
{
    struct plant p;

    begin(&p, 3, 1, 3); /* no other place */
    work_s(&p, 80);
    assert_int_equal(job_count_running(p.job, 0), 3);
    assert_ptr_equal(next_victim(p.job, 0, true)->node, node_at(&p, 0));
    end(&p);
}

/* Beside its job, but for a node that is known to be slow. */
TEST(test_growth_goes_to_the_fastest)
{
    for (int slow = 0; slow < 2; slow++) {
        struct plant p;
        struct node *first;

        begin(&p, 2, 1, 1);
        for (int i = 0; i < 2; i++)
            p.w->agents[i].offer.cpu_millicores = 2 * CORE;
        work_s(&p, 5);
        first = world_live(p.job, "trainer", 0)->node;
        for (int i = 0; slow && i < 3; i++)
            node_note_speed(p.w->cluster, first, SPEED_CPU, log(0.2), p.w->now);
        assert_int_equal(cluster_scale_job(p.w->cluster, p.job, NULL, 1, 2, p.w->now, NULL), 0);
        work_s(&p, 3);
        assert_int_equal(job_count_running(p.job, 0), 2);
        assert_int_equal(world_live(p.job, "trainer", 1)->node != first, slow);
        end(&p);
    }
}
