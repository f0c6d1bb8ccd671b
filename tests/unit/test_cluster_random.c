/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster_random.c - many random events; the invariants after each; at the end every job comes
 * to its end
 *
 * EDL_SEED and EDL_EVENTS choose the run; the seed is printed. Liveness: when the storm is over and
 * the nodes are back, every job that fits ends with success, or the reason for its waiting is that
 * it never fits. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>
#include <utlist.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

#define EVENTS 24000
#define ACTIVE_MAX 12

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static struct job *random_job(struct world *w)
{
    struct job *job;
    int n = 0;
    int chosen;

    DL_COUNT2(w->cluster->active, job, n, active_next);
    if (n == 0)
        return NULL;
    chosen = (int)world_random(w, (uint64_t)n);
    for (job = w->cluster->active; chosen > 0; chosen--)
        job = job->active_next;
    return job;
}

static struct process *random_process(struct world *w)
{
    struct job *job = random_job(w);
    uint32_t role;
    uint32_t index;

    if (job == NULL)
        return NULL;
    role = (uint32_t)world_random(w, job->spec->n_roles);
    index = (uint32_t)world_random(w, job->n_slots[role]);
    return job->slots[role][index].live;
}

static struct node *random_node(struct world *w)
{
    return cluster_node(w->cluster, w->agents[world_random(w, w->n_agents)].name);
}

static void do_submit(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 4);
    struct job_spec *spec;
    struct job *job;
    char name[16];
    int n = 0;

    DL_COUNT2(w->cluster->active, job, n, active_next);
    if (n >= ACTIVE_MAX)
        return;
    (void)snprintf(name, sizeof name, "job-%" PRIu64, world_random(w, 30));
    spec =
        world_spec(name, min, min + (uint32_t)world_random(w, 10), 100 * (1 + world_random(w, 12)),
                   (uint32_t)world_random(w, 3), 100 * world_random(w, 10));
    spec->fault_tolerant = world_random(w, 5) != 0;
    spec->priority = (int32_t)world_random(w, 3);
    spec->restart_max = (uint32_t)world_random(w, 6);
    spec->passes = 2;
    if (cluster_submit(w->cluster, spec, "ann", w->now, &job, NULL) < 0)
        (void)job_spec_free(spec);
    else if (world_random(w, 3) == 0)
        assert_int_equal(cluster_set_dataset(w->cluster, job,
                                             world_queue(1 + (uint32_t)world_random(w, 20), 2), "d",
                                             w->now, NULL),
                         0);
}

static void do_turn(struct world *w)
{
    world_turn(w, world_random(w, w->n_agents));
}

static void do_kill(struct world *w)
{
    struct job *job = random_job(w);

    if (job != NULL && world_random(w, 3) == 0)
        assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
}

static void do_scale(struct world *w)
{
    struct job *job = random_job(w);
    uint32_t min = 1 + (uint32_t)world_random(w, 5);

    if (job != NULL)
        (void)cluster_scale_job(w->cluster, job, world_random(w, 4) != 0 ? NULL : "pserver", min,
                                min + (uint32_t)world_random(w, 6), w->now, NULL);
}

static void do_exit(struct world *w)
{
    static const int codes[] = { 0, 0, 0, 1, 139, 7 };
    const struct process *process = random_process(w);

    if (process != NULL)
        world_exit(w, process, codes[world_random(w, ELEMENTS(codes))],
                   world_random(w, 8) == 0 ? 9 : 0);
}

static void do_advance(struct world *w)
{
    world_advance(w, world_random(w, 4) == 0 ? world_random(w, 15 * USEC_PER_SEC)
                                             : world_random(w, 100000));
}

static void do_silence(struct world *w)
{
    struct fake_agent *agent = &w->agents[world_random(w, w->n_agents)];

    agent->silent = !agent->silent && world_random(w, 3) == 0;
}

static void do_boot(struct world *w)
{
    struct fake_agent *agent = &w->agents[world_random(w, w->n_agents)];

    agent->boot++;
    agent->reports_first = world_random(w, 2) == 0;
    agent->n = 0;
}

static void do_node_state(struct world *w)
{
    struct node *node = random_node(w);

    if (node != NULL)
        (void)cluster_set_node_state(w->cluster, node,
                                     world_random(w, 3) != 0 ? NODE_READY
                                                             : NODE_CORDONED + world_random(w, 2),
                                     w->now, NULL);
}

static void do_remove_or_join(struct world *w)
{
    struct fake_agent *agent = &w->agents[world_random(w, w->n_agents)];
    struct node *node = cluster_node(w->cluster, agent->name);

    if (node != NULL)
        (void)cluster_remove_node(w->cluster, node, w->now, NULL);
    else
        assert_int_equal(cluster_join_node(w->cluster, agent->name, "h", &agent->offer, w->now,
                                           &node, NULL),
                         0);
}

static void do_foreign(struct world *w)
{
    w->agents[world_random(w, w->n_agents)].foreign_cpu_millicores =
        world_random(w, 2) * world_random(w, 2500);
}

static void do_restart(struct world *w)
{
    world_restart(w);
}

static void work(struct world *w, struct process *process)
{
    enum task_lease_result result;
    struct task *task = NULL;
    bool save = false;

    if (cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save, NULL) < 0)
        return;
    if (result == TASK_LEASE_GIVEN && world_random(w, 8) != 0)
        assert_int_equal(cluster_finish_task(w->cluster, process, task->id,
                                             task_queue_pass(process->job->queue), task->lease,
                                             w->now, NULL),
                         0);
    if (save)
        assert_int_equal(cluster_model_saved(w->cluster, process, w->now, NULL), 0);
    if (result == TASK_LEASE_FINISHED)
        world_exit(w, process, 0, 0);
}

static void do_work(struct world *w)
{
    struct process *process = random_process(w);

    if (process != NULL && process->job->queue != NULL && process->state == PROCESS_RUNNING &&
        streq(process->job->spec->roles[process->role].name, "trainer"))
        work(w, process);
}

static const struct {
    unsigned weight;
    void (*act)(struct world *w);
} acts[] = {
    { 40, do_turn },      { 8, do_submit },  { 3, do_kill },           { 3, do_scale },
    { 4, do_exit },       { 8, do_advance }, { 2, do_silence },        { 1, do_boot },
    { 2, do_node_state }, { 2, do_foreign }, { 1, do_remove_or_join }, { 1, do_restart },
    { 10, do_work },
};

static void act(struct world *w)
{
    unsigned sum = 0;
    unsigned chosen;

    for (size_t i = 0; i < ELEMENTS(acts); i++)
        sum += acts[i].weight;
    chosen = (unsigned)world_random(w, sum);
    for (size_t i = 0; i < ELEMENTS(acts); i++) {
        if (chosen < acts[i].weight) {
            acts[i].act(w);
            break;
        }
        chosen -= acts[i].weight;
    }
}

/* The storm is over: all nodes are there and idle but for ours. */
static void calm(struct world *w)
{
    for (size_t i = 0; i < w->n_agents; i++) {
        struct fake_agent *agent = &w->agents[i];
        struct node *node = cluster_node(w->cluster, agent->name);

        agent->silent = false;
        agent->foreign_cpu_millicores = 0;
        if (node == NULL)
            assert_int_equal(cluster_join_node(w->cluster, agent->name, "h", &agent->offer, w->now,
                                               &node, NULL),
                             0);
        assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
    }
    w->max_linger = 0;
}

/* What runs does its work and ends well. */
static void end_well(struct world *w)
{
    struct job *job;

    DL_FOREACH2(w->cluster->active, job, active_next)
    {
        uint32_t r = role_of(job, "trainer");

        for (uint32_t i = 0; job->state == JOB_RUNNING && i < job->n_slots[r]; i++) {
            struct process *process = job->slots[r][i].live;

            if (process != NULL && process->state == PROCESS_RUNNING && job->queue != NULL)
                work(w, process);
            else if (process != NULL && process->state == PROCESS_RUNNING)
                world_exit(w, process, 0, 0);
        }
    }
}

static void test_random_events_keep_invariants_and_everything_ends(void **state)
{
    uint64_t seed = from_environment("EDL_SEED", 20181103);
    uint64_t events = from_environment("EDL_EVENTS", EVENTS);
    struct world *w = world_new(WORLD_NODES, 2500, GIB, 900);
    const struct job *job;
    unsigned succeeded = 0;

    (void)state;
    print_message("EDL_SEED=%" PRIu64 "\n", seed);
    w->seed = seed != 0 ? seed : 1;
    w->max_linger = 3;
    for (uint64_t i = 0; i < events; i++) {
        act(w);
        world_check(w);
        if (world_random(w, 4) != 0)
            world_plan(w);
        if (world_random(w, 8) == 0)
            world_replan(w);
    }
    calm(w);
    for (int i = 0; i < 3000; i++) {
        world_run(w, 1);
        end_well(w);
        world_advance(w, USEC_PER_SEC);
    }
    DL_FOREACH2(w->cluster->active, job, active_next)
    if (!streq(job->reason_code, "never-fits") && !streq(job->reason_code, "gang-not-packed"))
        fail_msg("%s is %s for ever: %s", job->spec->name, job_state_to_string(job->state),
                 job->reason);
    for (job = w->cluster->jobs; job != NULL; job = job->hh.next)
        succeeded += job->state == JOB_SUCCEEDED;
    print_message("%" PRIu64 " checks, %u jobs, %u succeeded\n", w->n_checks,
                  HASH_COUNT(w->cluster->jobs), succeeded);
    assert_true(succeeded > 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_events_keep_invariants_and_everything_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
