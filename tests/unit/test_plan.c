/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - the queue of waiting gangs, the jobs that give way, and the reasons */
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static uint32_t trainers(const struct job *job)
{
    return job_count_running(job, role_of(job, "trainer"));
}

static void assert_says(const struct job *job, const char *code, const char *words)
{
    if (!streq(job->reason_code, code) || strstr(job->reason, words) == NULL)
        fail_msg("%s: %s (%s)", job->spec->name, job->reason_code, job->reason);
}

/* The text of the last event of that kind about this job, or "". */
static void last_event(struct world *w, const struct job *job, const char *event, char *text,
                       size_t size)
{
    const struct effect *effects;
    size_t n;

    *text = '\0';
    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT && effects[i].job == job &&
            streq(effects[i].event, event))
            (void)snprintf(text, size, "%s", effects[i].text);
}

static size_t saved_jobs(struct world *w)
{
    const struct effect *effects;
    size_t saved = 0;
    size_t n;

    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++)
        saved += effect_saves_job(&effects[i]);
    return saved;
}

static struct job *submit_unplanned(struct world *w, struct job_spec *spec)
{
    struct job *job = NULL;

    assert_int_equal(cluster_submit(w->cluster, spec, "ann", w->now, &job, NULL), 0);
    return job;
}

TEST(test_jobs_that_ask_the_same_wait_in_one_class)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *jobs[5];
    char name[16];

    (void)world_submit(w, world_spec("full", 1, 1, 800, 0, 0));
    for (size_t i = 0; i < ELEMENTS(jobs); i++) {
        (void)snprintf(name, sizeof name, "wait-%zu", i);
        jobs[i] = submit_unplanned(w, world_spec(name, 2, 3, 300, 0, 0));
        cluster_plan(w->cluster, w->now);
        assert_int_equal(saved_jobs(w), 1); /* nobody else is told anything */
        world_plan(w);
    }
    assert_says(jobs[0], "gang-does-not-fit", "2 processes needs 600m CPU");
    assert_says(jobs[1], "queued",
                "behind 1 job that asks for the same; the first of them, wait-0");
    assert_says(jobs[4], "queued", "behind 4 jobs");
    assert_int_equal(cluster_kill_job(w->cluster, jobs[0], NULL, w->now, NULL), 0);
    world_plan(w);
    assert_says(jobs[1], "gang-does-not-fit", "until a job ends");
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "full"), NULL,
                                      w->now, NULL),
                     0);
    world_run(w, 3);
    assert_int_equal(jobs[1]->state, JOB_RUNNING);
    assert_int_equal(jobs[2]->state, JOB_QUEUED);
    assert_says(jobs[2], "gang-does-not-fit", "free are 400m CPU on 1 node,");
    world_replan(w);
    world_free(w);
}

TEST(test_classes_keep_priority_and_submission)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *full = world_submit(w, world_spec("full", 1, 1, 1000, 0, 0));
    struct job *first = world_submit(w, world_spec("first", 1, 1, 600, 0, 0));
    struct job *other = world_submit(w, world_spec("other", 1, 1, 700, 0, 0));
    struct job *again = world_submit(w, world_spec("again", 1, 1, 600, 0, 0));
    struct job_spec *spec = world_spec("urgent", 1, 1, 300, 0, 0);
    struct job *urgent;

    spec->priority = 1;
    urgent = world_submit(w, spec);
    world_run(w, 2);
    assert_int_equal(cluster_kill_job(w->cluster, full, NULL, w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(urgent->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, first, NULL, w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(other->state, JOB_RUNNING); /* it came before the second of the class */
    assert_int_equal(again->state, JOB_QUEUED);
    world_free(w);
}

TEST(test_a_job_that_waits_is_preferred_when_people_say_so)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *full = world_submit(w, world_spec("full", 1, 1, 1000, 0, 0));
    struct job *first = world_submit(w, world_spec("first", 1, 1, 600, 0, 0));
    struct job *second = world_submit(w, world_spec("second", 1, 1, 600, 0, 0));
    const struct job_change prefer = { .prioritise = true, .priority = 1 };

    world_run(w, 2);
    assert_int_equal(cluster_change_job(w->cluster, second, &prefer, w->now, NULL), 0);
    assert_int_equal(cluster_kill_job(w->cluster, full, NULL, w->now, NULL), 0);
    world_run(w, 3);
    assert_int_equal(second->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_QUEUED);
    world_replan(w);
    world_free(w);
}

TEST(test_a_change_is_made_as_a_whole_or_not_at_all)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("job", 1, 2, 1000, 0, 0));
    struct job_change change = {
        .scale = true, .min = 3, .max = 2, .prioritise = true, .priority = 1
    };
    struct edl_error error = { 0 };

    world_run(w, 3);
    assert_int_equal(cluster_change_job(w->cluster, job, &change, w->now, &error), -EINVAL);
    assert_string_equal(error.pointer, "/max");
    assert_int_equal(job->spec->priority, 0);
    change = (struct job_change){
        .scale = true, .min = 1, .max = 3, .prioritise = true, .priority = JOB_PRIORITY_MAX + 1
    };
    assert_int_equal(cluster_change_job(w->cluster, job, &change, w->now, &error), -EINVAL);
    assert_string_equal(error.pointer, "/priority");
    assert_int_equal(job->spec->roles[0].max, 2);
    change.priority = -JOB_PRIORITY_MAX;
    assert_int_equal(cluster_change_job(w->cluster, job, &change, w->now, &error), 0);
    assert_int_equal(job->spec->roles[0].max, 3);
    assert_int_equal(job->spec->priority, -JOB_PRIORITY_MAX);
    world_replan(w);
    world_free(w);
}

TEST(test_all_of_a_class_are_told_never_and_start_when_a_node_comes)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *one = world_submit(w, world_spec("one", 1, 1, 1500, 0, 0));
    struct job *two = world_submit(w, world_spec("two", 1, 1, 1500, 0, 0));

    assert_says(one, "never-fits", "1500m");
    assert_says(two, "never-fits", "1500m");
    w->agents[1].offer.cpu_millicores = 2000;
    world_run(w, 3);
    assert_int_equal(one->state, JOB_RUNNING);
    assert_says(two, "gang-does-not-fit", "until a job ends");
    world_replan(w);
    world_free(w);
}

TEST(test_room_is_made_for_several_of_a_class_at_once)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *elastic = world_submit(w, world_spec("elastic", 1, 10, 100, 0, 0));
    struct job *jobs[3];
    char name[16];

    world_run(w, 4);
    assert_int_equal(trainers(elastic), 10);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "new-%zu", i);
        jobs[i] = world_submit(w, world_spec(name, 1, 1, 300, 0, 0));
        assert_says(jobs[i], "gang-does-not-fit", "room is being made");
    }
    assert_int_equal(job_count(elastic, 0, false), 1);
    world_run(w, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(jobs[i]->state, JOB_RUNNING);
    assert_int_equal(trainers(elastic), 1);
    world_free(w);
}

/* Nothing came free, and the node's sums are what they were; but more of it may be shrunk away. */
TEST(test_lowered_minimum_lets_room_be_made)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *elastic = world_submit(w, world_spec("elastic", 2, 3, 300, 0, 0));
    struct job *gang;

    world_run(w, 4);
    assert_int_equal(trainers(elastic), 3);
    gang = world_submit(w, world_spec("gang", 1, 1, 500, 0, 0));
    assert_says(gang, "gang-does-not-fit", "until a job ends");
    assert_int_equal(cluster_scale_job(w->cluster, elastic, NULL, 1, 3, w->now, NULL), 0);
    world_plan(w);
    assert_says(gang, "gang-does-not-fit", "room is being made");
    world_run(w, 3);
    assert_int_equal(gang->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_deep_queue_is_told_and_gets_its_turn)
{
    struct world *w = world_new(1, 100000, GIB, 1000);
    struct job *full = world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    struct job *jobs[200];
    char name[16];

    for (uint32_t i = 0; i < ELEMENTS(jobs); i++) {
        (void)snprintf(name, sizeof name, "kind-%u", i);
        jobs[i] = world_submit(w, world_spec(name, 1, 1, 101 + i, 0, 0));
    }
    assert_says(jobs[0], "gang-does-not-fit", "101m");
    assert_says(jobs[199], "queued", "behind more than 128 kinds of jobs");
    world_run(w, 1);
    assert_int_equal(cluster_kill_job(w->cluster, full, NULL, w->now, NULL), 0);
    world_run(w, 3);
    for (size_t i = 0; i < ELEMENTS(jobs); i++)
        assert_int_equal(jobs[i]->state, JOB_RUNNING);
    world_free(w);
}

/* Whoever is new is told where he is, not how many wait in all. */
TEST(test_new_kind_before_the_depth_is_told_its_reason)
{
    struct world *w = world_new(1, 100000, GIB, 1000);
    struct job_spec *spec;
    struct job *job;
    char name[16];

    (void)world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    for (uint32_t i = 0; i < 140; i++) {
        (void)snprintf(name, sizeof name, "kind-%u", i);
        spec = world_spec(name, 1, 1, 101 + i, 0, 0);
        spec->priority = i < 100 ? 5 : 0;
        (void)world_submit(w, spec);
    }
    spec = world_spec("between", 1, 1, 500, 0, 0);
    spec->priority = 3;
    job = world_submit(w, spec);
    assert_says(job, "gang-does-not-fit", "500m");
    spec = world_spec("behind", 1, 1, 500, 0, 0);
    job = world_submit(w, spec);
    assert_says(job, "queued", "behind more than 128 kinds of jobs");
    world_free(w);
}

/* A job at the front of the queue, and the plan; how many others are written by that. */
static unsigned others_written(struct world *w, uint64_t cpu_millicores, struct job **ret_job)
{
    struct job_spec *spec = world_spec("first", 1, 1, cpu_millicores, 0, 0);
    const struct effect *effects;
    unsigned others = 0;
    size_t n;

    spec->priority = 9;
    assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, ret_job, NULL), 0);
    cluster_plan(w->cluster, w->now);
    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++)
        others += effect_saves_job(&effects[i]) && effects[i].job != *ret_job;
    world_commit(w);
    return others;
}

/* The last one before the depth is told that it is behind it when a new one stays before it, and is
 * tried again when that leaves; nobody else is. */
TEST(test_only_who_crosses_the_depth_is_looked_at)
{
    struct world *w = world_new(1, 100000, GIB, 1000);
    struct job *jobs[140];
    struct job *first;
    char name[16];

    (void)world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    for (uint32_t i = 0; i < ELEMENTS(jobs); i++) {
        (void)snprintf(name, sizeof name, "kind-%u", i);
        jobs[i] = world_submit(w, world_spec(name, 1, 1, 101 + i, 0, 0));
    }
    world_run(w, 1);
    assert_int_equal(others_written(w, 200000, &first), 0); /* never fits, so it stands nowhere */
    assert_says(jobs[127], "gang-does-not-fit", "228m");
    assert_int_equal(cluster_kill_job(w->cluster, first, NULL, w->now, NULL), 0);
    world_plan(w);

    assert_int_equal(others_written(w, 700, &first), 1);
    assert_says(jobs[127], "queued", "behind more than 128 kinds of jobs");
    assert_int_equal(cluster_kill_job(w->cluster, first, NULL, w->now, NULL), 0);
    world_plan(w);
    assert_says(jobs[127], "gang-does-not-fit", "228m");
    assert_says(jobs[128], "queued", "behind more than 128 kinds of jobs");
    assert_false(w->cluster->plan_wanted);
    world_free(w);
}

/* Kinds that never fit take up the depth of the plan that finds that out, and stand nowhere then.
 */
TEST(test_kinds_that_never_fit_keep_nobody_behind_the_depth)
{
    struct world *w = world_new(1, 100000, GIB, 1000);
    static const struct {
        const char *name;
        uint64_t cpu_millicores;
        int32_t priority;
    } at_once[] = { { "never", 200000, 9 }, { "nor-ever", 300000, 9 }, { "between", 500, 3 } };
    struct job_spec *spec;
    char name[16];

    (void)world_submit(w, world_spec("full", 1, 1, 100000, 0, 0));
    for (uint32_t i = 0; i < 140; i++) {
        (void)snprintf(name, sizeof name, "kind-%u", i);
        spec = world_spec(name, 1, 1, 101 + i, 0, 0);
        spec->priority = i < 126 ? 5 : 0;
        (void)world_submit(w, spec);
    }
    for (size_t i = 0; i < ELEMENTS(at_once); i++) {
        spec = world_spec(at_once[i].name, 1, 1, at_once[i].cpu_millicores, 0, 0);
        spec->priority = at_once[i].priority;
        assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, NULL, NULL), 0);
    }
    world_plan(w);
    assert_says(cluster_find_job(w->cluster, "between"), "gang-does-not-fit", "500m");
    assert_says(cluster_find_job(w->cluster, "kind-126"), "gang-does-not-fit", "227m");
    assert_says(cluster_find_job(w->cluster, "kind-127"), "queued", "behind more than 128 kinds");
    world_free(w);
}

TEST(test_explain_has_the_numbers_of_now)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job *one = world_submit(w, world_spec("one", 1, 1, 700, 0, 0));
    struct job *two = world_submit(w, world_spec("two", 1, 1, 900, 0, 0));
    struct job *three = world_submit(w, world_spec("three", 1, 1, 400, 0, 0));
    char text[240];

    world_run(w, 2);
    assert_int_equal(three->state, JOB_QUEUED);
    assert_string_equal(cluster_explain(w->cluster, one, text, sizeof text), "");
    (void)cluster_explain(w->cluster, three, text, sizeof text);
    assert_non_null(strstr(text, "free are 400m CPU on 2 nodes, at most 300m CPU on one"));
    assert_int_equal(cluster_set_node_state(w->cluster, world_live(two, "trainer", 0)->node,
                                            NODE_CORDONED, w->now, NULL),
                     0);
    world_plan(w);
    (void)cluster_explain(w->cluster, three, text, sizeof text);
    assert_non_null(strstr(text, "free are 300m CPU on 1 node,"));
    world_free(w);
}

TEST(test_resizes_say_why)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *one = world_submit(w, world_spec("one", 1, 5, 200, 0, 0));
    struct job *big;
    char text[240];

    world_turn(w, 0);
    (void)cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-0"), NODE_READY, w->now,
                                 NULL);
    world_run(w, 4);
    assert_int_equal(trainers(one), 5);
    big = submit_unplanned(w, world_spec("big", 1, 1, 350, 0, 0));
    cluster_plan(w->cluster, w->now);
    last_event(w, one, "job-resized", text, sizeof text);
    assert_string_equal(text, "trainer: 5 -> 3 (make-room: shrunk to make room for job big: its "
                              "gang of 1 needs 350m CPU, 0.0 GiB memory)");
    assert_string_equal(world_live(one, "trainer", 4)->reason,
                        "shrunk to make room for job big: its gang of 1 needs 350m CPU, 0.0 GiB "
                        "memory");
    world_plan(w);
    world_run(w, 3);
    assert_int_equal(big->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, big, NULL, w->now, NULL), 0);
    w->agents[0].silent = true; /* it reports by hand below */
    world_plan(w);
    w->agents[0].silent = false;
    assert_int_equal(cluster_scale_job(w->cluster, one, NULL, 1, 2, w->now, NULL), 0);
    cluster_plan(w->cluster, w->now);
    last_event(w, one, "job-resized", text, sizeof text);
    assert_string_equal(text, "trainer: 3 -> 2 (bounds: its bounds are now 1..2)");
    world_free(w);
}

TEST(test_growth_says_why)
{
    struct world *w = world_new(1, 1000, GIB, 900);
    struct job *one = world_submit(w, world_spec("one", 1, 3, 200, 0, 0));
    struct process_report item = {
        .job_id = 1, .role = "trainer", .incarnation = 1, .state = PROCESS_RUNNING
    };
    struct node_report report = {
        .boot_id = "boot-0", .offer = w->agents[0].offer, .processes = &item, .n_processes = 1
    };
    char text[240];

    assert_int_equal(cluster_report(w->cluster, cluster_node(w->cluster, "node-0"), &report, w->now,
                                    NULL),
                     0);
    cluster_plan(w->cluster, w->now);
    last_event(w, one, "job-resized", text, sizeof text);
    assert_string_equal(text, "trainer: 1 -> 3 (grown: fulfilment 0.50, load 20.0% of at most "
                              "90.0%)");
    world_free(w);
}

static void lease(struct world *w, struct process *process)
{
    enum task_lease_result result;
    struct task *task;
    bool save;

    assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(result, TASK_LEASE_GIVEN);
}

TEST(test_victim_loses_least_work)
{
    struct world *w = world_new(1, 800, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 4, 200, 0, 0));
    static const uint32_t takes[] = { 3, 1, 2 }; /* a task, one after another; 0 takes none */
    static const uint32_t goes[] = { 0, 2, 1 };
    char name[16];

    world_run(w, 4);
    assert_int_equal(trainers(job), 4);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(40, 1), "aa", w->now, NULL),
                     0);
    for (size_t i = 0; i < ELEMENTS(takes); i++) {
        lease(w, world_live(job, "trainer", takes[i]));
        world_advance(w, USEC_PER_SEC);
    }
    for (uint32_t i = 0; i < ELEMENTS(goes); i++) {
        (void)snprintf(name, sizeof name, "new-%u", i);
        (void)world_submit(w, world_spec(name, 1, 1, 200, 0, 0));
        assert_int_equal(world_live(job, "trainer", goes[i])->state, PROCESS_STOPPING);
        world_run(w, 3);
        assert_int_equal(trainers(job), 3 - i);
    }
    assert_int_equal(world_live(job, "trainer", 3)->state, PROCESS_RUNNING);
    world_free(w);
}

TEST(test_victim_is_who_does_not_run_yet)
{
    struct world *w = world_new(1, 2500, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 2, 3, 200, 0, 0));

    world_run(w, 4);
    assert_int_equal(trainers(job), 3);
    world_exit(w, world_live(job, "trainer", 0), 1, 0);
    world_run(w, 1);
    w->now.now_us += 2 * USEC_PER_SEC;
    w->now.wall_us += 2 * USEC_PER_SEC;
    cluster_tick(w->cluster, w->now);
    world_plan(w);
    assert_int_equal(world_live(job, "trainer", 0)->state, PROCESS_ASSIGNED);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 2, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(world_live(job, "trainer", 0)->state, PROCESS_STOPPING);
    assert_int_equal(world_live(job, "trainer", 2)->state, PROCESS_RUNNING);
    world_free(w);
}

TEST(test_processes_of_a_job_stay_close)
{
    struct world *w = world_new(6, 1000, GIB, 1000);
    struct job *job;
    struct job *near;

    for (size_t i = 0; i < w->n_agents; i++)
        assert_int_equal(labels_set(&w->agents[i].offer.labels, LABEL_RACK,
                                    i % 2 == 0 ? "even" : "odd", NULL),
                         0);
    world_run(w, 1);
    job = world_submit(w, world_spec("wide", 6, 6, 400, 1, 400));
    for (uint32_t i = 0; i < 6; i++) {
        const char *rack =
            labels_get(&world_live(job, "trainer", i)->node->offer.labels, LABEL_RACK);

        /* three nodes of a rack hold six of the seven */
        assert_true(i == 5 ||
                    streq(rack, labels_get(&world_live(job, "pserver", 0)->node->offer.labels,
                                           LABEL_RACK)));
    }
    near = world_submit(w, world_spec("near", 2, 2, 300, 1, 300));
    assert_ptr_equal(world_live(near, "trainer", 0)->node, world_live(near, "pserver", 0)->node);
    assert_ptr_equal(world_live(near, "trainer", 1)->node, world_live(near, "pserver", 0)->node);
    world_free(w);
}

TEST(test_whole_gpu_nodes_are_kept)
{
    struct world *w = world_new(3, 8000, GIB, 1000);
    struct job_spec *spec;
    struct job *small[3];
    struct job *large;
    char name[16];

    for (size_t i = 0; i < 2; i++)
        w->agents[i].offer.gpus = 4;
    world_run(w, 1);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "small-%zu", i);
        spec = world_spec(name, 1, 1, 100, 0, 0);
        spec->roles[0].gpus = 1;
        small[i] = world_submit(w, spec);
        assert_ptr_equal(world_live(small[i], "trainer", 0)->node,
                         world_live(small[0], "trainer", 0)->node);
    }
    assert_string_equal(
        world_live(world_submit(w, world_spec("cpu", 1, 1, 100, 0, 0)), "trainer", 0)->node->name,
        "node-2");
    spec = world_spec("large", 1, 1, 100, 0, 0);
    spec->roles[0].gpus = 4;
    large = world_submit(w, spec);
    assert_int_equal(large->state, JOB_STARTING);
    assert_int_equal(world_live(large, "trainer", 0)->gpu_mask, 0xf);
    world_free(w);
}

TEST(test_selector_is_kept_when_waiting_growing_and_never)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("fast", 1, 5, 400, 0, 0);
    struct job *job;
    struct job *lost;

    assert_int_equal(labels_set(&w->agents[1].offer.labels, "disk", "ssd", NULL), 0);
    world_run(w, 1);
    assert_int_equal(role_select(&spec->roles[0], "disk", "ssd", NULL), 0);
    job = world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(trainers(job), 2); /* the others are not for it */
    assert_string_equal(world_live(job, "trainer", 0)->node->name, "node-1");
    assert_string_equal(world_live(job, "trainer", 1)->node->name, "node-1");
    spec = world_spec("lost", 1, 1, 400, 0, 0);
    assert_int_equal(role_select(&spec->roles[0], "disk", "tape", NULL), 0);
    lost = world_submit(w, spec);
    assert_says(lost, "never-fits", "on a node with disk=tape");
    world_free(w);
}

/* A job that is not fault tolerant ends on the draining node: nothing is kept for it elsewhere. */
TEST(test_growth_waits_for_nobody_who_stays_on_a_draining_node)
{
    struct world *w = world_new(2, 5000, GIB, 1000);
    struct job_spec *spec = world_spec("stays", 1, 1, 2000, 0, 0);
    struct node *node = cluster_node(w->cluster, "node-0");
    struct job *elastic;

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "on", "0", NULL), 0);
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "on", "1", NULL), 0);
    world_run(w, 1);
    spec->fault_tolerant = false;
    assert_int_equal(role_select(&spec->roles[0], "on", "0", NULL), 0);
    (void)world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_DRAINING, w->now, NULL), 0);
    spec = world_spec("elastic", 1, 5, 1000, 0, 0);
    assert_int_equal(role_select(&spec->roles[0], "on", "1", NULL), 0);
    elastic = world_submit(w, spec);
    world_run(w, 12);
    assert_int_equal(node->n_processes, 1);
    assert_int_equal(job_count_running(elastic, 0), 5);
    world_replan(w);
    world_free(w);
}

/* Whose instance is elected to save leaves for nobody: the others were told, and end. */
TEST(test_who_saves_the_model_does_not_give_way)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("one", 1, 2, 400, 0, 0));
    enum task_lease_result result;
    struct process *other;
    struct process *saver;
    struct task *task;
    bool save;

    world_run(w, 4);
    other = world_live(job, "trainer", 0);
    saver = world_live(job, "trainer", 1); /* came last, holds no task: else it would go first */
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1, 1), "aa", w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, other, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_int_equal(cluster_finish_task(w->cluster, other, task->id, 0, task->lease, w->now, NULL),
                     0);
    assert_int_equal(cluster_lease_task(w->cluster, saver, NULL, 0, w->now, &result, &task, &save,
                                        NULL),
                     0);
    assert_true(save);
    w->agents[0].foreign_cpu_millicores = 900;
    world_run(w, 1);
    assert_true(other->stop_wanted);
    assert_false(saver->stop_wanted);
    world_run(w, 4);
    assert_false(saver->stop_wanted);
    assert_int_equal(cluster_model_saved(w->cluster, saver, "/out/model", w->now, NULL), 0);
    world_exit(w, saver, 0, 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_SUCCEEDED);
    world_free(w);
}

/* --- plans have a share of the time --- */

#define LONG_US (100 * USEC_PER_MSEC) /* for one plan */

TEST(test_plans_pause_after_a_long_one)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = submit_unplanned(w, world_spec("first", 1, 1, 100, 0, 0));
    struct job *late;
    uint64_t then_us;

    assert_true(cluster_plan(w->cluster, w->now));
    assert_int_equal(job->state, JOB_STARTING);
    cluster_plan_took(w->cluster, w->now, LONG_US);
    late = submit_unplanned(w, world_spec("late", 1, 1, 100, 0, 0));
    assert_false(cluster_plan(w->cluster, w->now));
    assert_int_equal(late->state, JOB_QUEUED);
    assert_false(cluster_has_news(w->cluster)); /* a report meanwhile has no turn of its own */
    assert_true(cluster_plan_is_due(w->cluster));
    then_us = cluster_next_deadline_us(w->cluster);
    assert_in_range(then_us, w->now.now_us + 8 * LONG_US, w->now.now_us + 10 * LONG_US);
    w->now.wall_us += then_us - w->now.now_us;
    w->now.now_us = then_us;
    cluster_tick(w->cluster, w->now);
    world_plan(w);
    assert_int_equal(late->state, JOB_STARTING);
    assert_false(cluster_plan_is_due(w->cluster));
    (void)world_free(w);
}

/* Starts, ends and failures are told at once; only the plan that follows them waits. */
TEST(test_jobs_are_settled_while_plans_pause)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("first", 1, 1, 100, 0, 0));
    struct job *wait = world_submit(w, world_spec("wait", 1, 1, 950, 0, 0));
    struct cluster *copy;

    cluster_plan_took(w->cluster, w->now, LONG_US);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(cluster_kill_job(w->cluster, job, "", w->now, NULL), 0);
    world_run(w, 2);
    assert_int_equal(job->state, JOB_KILLED);
    assert_int_equal(wait->state, JOB_QUEUED);
    copy = cluster_clone(w->cluster, w->now); /* owes the time of no plan */
    assert_true(cluster_plan(copy, w->now));
    assert_int_equal(cluster_job(copy, wait->id)->state, JOB_STARTING);
    (void)cluster_free(copy);
    world_advance(w, 10 * LONG_US);
    assert_int_equal(wait->state, JOB_STARTING);
    (void)world_free(w);
}

TEST(test_short_plans_do_not_pause)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    char name[16];

    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "job-%d", i);
        (void)submit_unplanned(w, world_spec(name, 1, 1, 100, 0, 0));
        assert_true(cluster_plan(w->cluster, w->now));
        cluster_plan_took(w->cluster, w->now, 200);
    }
    (void)world_free(w);
}
