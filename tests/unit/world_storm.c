/* SPDX-License-Identifier: Apache-2.0 */
/* world_storm.c - random events on a pretended cluster, for the tests that want many */
#include "tests/unit/world_storm.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"

#define ENDED_KEPT 12

uint64_t storm_number(const char *name, uint64_t otherwise)
{
    return number_from_environment(name, otherwise);
}

struct world *storm_world(size_t n_nodes)
{
    struct world *w = world_new(n_nodes, 2500, GIB, 900);

    w->seed = the_seed(STORM_SEED);
    return w;
}

void storm_archive(struct world *w)
{
    cluster_keep_ended(w->cluster, ENDED_KEPT, 0);
    (void)cluster_archive_ended(w->cluster, w->now);
}

void storm_happen(struct world *w, const struct storm_event *events, size_t n)
{
    unsigned sum = 0;
    unsigned chosen;

    for (size_t i = 0; i < n; i++)
        sum += events[i].weight;
    chosen = (unsigned)world_random(w, sum);
    for (; chosen >= events->weight; events++)
        chosen -= events->weight;
    events->happen(w);
}

static int count_active(const struct world *w)
{
    const struct job *job;
    int n;

    DL_COUNT2(w->cluster->active, job, n, active_next);
    return n;
}

struct job *storm_job(struct world *w)
{
    int n = count_active(w);
    struct job *job = w->cluster->active;

    if (n == 0)
        return NULL;
    for (uint64_t chosen = world_random(w, (uint64_t)n); chosen > 0; chosen--)
        job = job->active_next;
    return job;
}

struct process *storm_process(struct world *w)
{
    const struct job *job = storm_job(w);
    uint32_t role;

    if (job == NULL)
        return NULL;
    role = (uint32_t)world_random(w, job->spec->n_roles);
    return job->slots[role][world_random(w, job->n_slots[role])].live;
}

struct fake_agent *storm_agent(struct world *w)
{
    return &w->agents[world_random(w, w->n_agents)];
}

void storm_submit(struct world *w, struct job_spec *take_spec, int n_max)
{
    struct job *job;

    if (count_active(w) >= n_max ||
        cluster_submit(w->cluster, take_spec, w->user, w->now, &job, NULL) < 0)
        (void)job_spec_free(take_spec);
    else if (world_random(w, 2) == 0)
        assert_int_equal(cluster_set_dataset(w->cluster, job,
                                             world_queue(1 + (uint32_t)world_random(w, 20), 2), "d",
                                             w->now, NULL),
                         0);
}

/* --- events --- */

void storm_turn(struct world *w)
{
    world_turn(w, world_random(w, w->n_agents));
}

void storm_kill(struct world *w)
{
    struct job *job = storm_job(w);

    if (job != NULL)
        assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
}

void storm_scale(struct world *w)
{
    struct job *job = storm_job(w);
    uint32_t min = 1 + (uint32_t)world_random(w, 5);

    if (job != NULL) /* not every job has a pserver */
        (void)cluster_scale_job(w->cluster, job, world_random(w, 4) != 0 ? NULL : "pserver", min,
                                min + (uint32_t)world_random(w, 6), w->now, NULL);
}

void storm_prioritise(struct world *w)
{
    struct job *job = storm_job(w);
    struct job_change change = { .prioritise = true, .priority = (int32_t)world_random(w, 7) - 3 };

    if (world_random(w, 3) == 0) { /* and bounds with it */
        change.scale = true;
        change.min = change.max = 1 + (uint32_t)world_random(w, 4);
    }
    if (job != NULL) /* not what is stopping */
        (void)cluster_change_job(w->cluster, job, &change, w->now, NULL);
}

void storm_exit(struct world *w)
{
    static const int codes[] = { 0, 0, 0, 1, 139, 7 };
    const struct process *process = storm_process(w);

    if (process != NULL)
        world_exit(w, process, codes[world_random(w, ELEMENTS(codes))],
                   world_random(w, 8) == 0 ? 9 : 0);
}

void storm_work_of(struct world *w, struct process *process)
{
    uint32_t pass = task_queue_pass(process->job->queue);
    enum task_lease_result result;
    struct task *task = NULL;
    bool save = false;

    if (cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save, NULL) < 0)
        return;
    if (result == TASK_LEASE_GIVEN && world_random(w, 6) != 0)
        assert_int_equal(cluster_finish_task(w->cluster, process, task->id, pass, task->lease,
                                             w->now, NULL),
                         0);
    else if (result == TASK_LEASE_GIVEN && world_random(w, 2) != 0)
        assert_int_equal(cluster_fail_task(w->cluster, process, task->id, pass, task->lease,
                                           world_random(w, 2) != 0, NULL, w->now, NULL),
                         0);
    if (save && world_random(w, 2) != 0)
        assert_int_equal(cluster_model_saved(w->cluster, process, "/out/model", w->now, NULL), 0);
    if (result == TASK_LEASE_FINISHED && world_random(w, 4) != 0)
        world_exit(w, process, 0, 0);
}

void storm_work(struct world *w)
{
    struct process *process = storm_process(w);

    if (process != NULL && process->job->queue != NULL && process->state == PROCESS_RUNNING &&
        streq(process->job->spec->roles[process->role].name, "trainer"))
        storm_work_of(w, process);
}

void storm_arrive(struct world *w)
{
    struct process *process = storm_process(w);
    enum rendezvous_result result;

    if (process != NULL)
        assert_int_equal(cluster_arrive(w->cluster, process,
                                        world_random(w, 3) == 0 ? process->generation : 0,
                                        process->incarnation % 2 == 0 ? "even" : NULL, w->now,
                                        &result, NULL),
                         0);
}

void storm_advance(struct world *w)
{
    world_advance(w, world_random(w, 4) == 0 ? world_random(w, 15 * USEC_PER_SEC)
                                             : world_random(w, 200000));
}

void storm_silence(struct world *w)
{
    struct fake_agent *agent = storm_agent(w);

    agent->silent = !agent->silent && world_random(w, 3) == 0;
}

void storm_boot(struct world *w)
{
    struct fake_agent *agent = storm_agent(w);

    agent->boot++;
    agent->reports_first = world_random(w, 2) == 0;
    agent->n = 0;
}

void storm_node_state(struct world *w)
{
    struct node *node = cluster_node(w->cluster, storm_agent(w)->name);

    if (node != NULL)
        (void)cluster_set_node_state(w->cluster, node,
                                     world_random(w, 3) != 0 ? NODE_READY
                                                             : NODE_CORDONED + world_random(w, 2),
                                     w->now, NULL);
}

void storm_foreign(struct world *w)
{
    storm_agent(w)->foreign_cpu_millicores = world_random(w, 2) * world_random(w, 2500);
}

void storm_unfit(struct world *w)
{
    struct fake_agent *agent = storm_agent(w);

    agent->unfit = (enum unfit)world_random(w, UNFIT_START_FAILED);
    agent->unfit_one_in = (uint32_t)world_random(w, 4);
    agent->unfit_roles = (uint32_t)world_random(w, 4);
}

void storm_remove_or_join(struct world *w)
{
    struct fake_agent *agent = storm_agent(w);
    struct node *node = cluster_node(w->cluster, agent->name);

    if (node != NULL)
        (void)cluster_remove_node(w->cluster, node, w->now, NULL);
    else
        assert_int_equal(cluster_join_node(w->cluster, agent->name, "h", &agent->offer, w->now,
                                           &node, NULL),
                         0);
}

void storm_restart(struct world *w)
{
    world_restart(w);
}

void storm_calm(struct world *w)
{
    for (size_t i = 0; i < w->n_agents; i++) {
        struct fake_agent *agent = &w->agents[i];
        struct node *node = cluster_node(w->cluster, agent->name);

        agent->silent = false;
        agent->foreign_cpu_millicores = 0;
        agent->unfit = UNFIT_NOT;
        if (node == NULL)
            assert_int_equal(cluster_join_node(w->cluster, agent->name, "h", &agent->offer, w->now,
                                               &node, NULL),
                             0);
        assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_READY, w->now, NULL), 0);
    }
}
