/* SPDX-License-Identifier: Apache-2.0 */
/* types_world.h - a cluster with GPUs of two types, and jobs whose tasks take so long on each */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/outlook.h"
#include "tests/unit/cluster_world.h"

#define CORE UINT64_C(1000)
#define FAST 2 /* seconds for a task */
#define SLOW 8
#define JOBS 3
#define SLOTS 24

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

static inline uint32_t trainers_of(const struct job *job)
{
    return (uint32_t)(job->spec->n_roles - 1);
}

static inline uint32_t type_of(const struct process *process)
{
    return streq(labels_get(&process->node->offer.labels, LABEL_GPU_TYPE), "B");
}

static inline void work_on(struct plant *p, size_t j, struct process *process, struct work *work)
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

static inline void work_s(struct plant *p, unsigned seconds)
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

static inline void begin_with(struct plant *p, const char *const *types, size_t n)
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

static inline void begin(struct plant *p)
{
    begin_with(p, (const char *const[]){ "A", "A", "B", "B" }, 4);
}

/* A program of its own: numbers in it do not tell families apart. */
static inline struct job *add(struct plant *p, const char *program, struct job_spec *spec,
                              unsigned a_s, unsigned b_s)
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

static inline struct job *add_job(struct plant *p, const char *program, uint32_t max, unsigned a_s,
                                  unsigned b_s)
{
    return add(p, program, world_spec(program, 1, max, CORE, 0, 0), a_s, b_s);
}

static inline void kill_all(struct plant *p)
{
    for (size_t j = 0; j < p->n; j++)
        if (!job_state_is_final(p->jobs[j]->state))
            assert_int_equal(cluster_kill_job(p->w->cluster, p->jobs[j], "killed", p->w->now, NULL),
                             0);
    p->n = 0;
    memset(p->works, 0, sizeof p->works);
    work_s(p, 10);
}

static inline void end(struct plant *p)
{
    world_free(p->w);
    world_policy = &policy_fulfilment;
}

static inline uint32_t n_on(const struct job *job, uint32_t type)
{
    uint32_t role = trainers_of(job);
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[role]; i++)
        n += job->slots[role][i].live != NULL && type_of(job->slots[role][i].live) == type;
    return n;
}

/* Two programs, each four times as fast on a type of its own, one after the other. */
static inline void learn_both(struct plant *p)
{
    (void)add_job(p, "a", 16, FAST, SLOW);
    work_s(p, 200);
    kill_all(p);
    (void)add_job(p, "b", 16, SLOW, FAST);
    work_s(p, 200);
    kill_all(p);
}

/* Keeps jobs off the nodes of one type: 0 A, 1 B, 2 none. */
static inline void close_nodes(struct plant *p, uint32_t type)
{
    for (size_t i = 0; i < p->w->n_agents; i++)
        p->w->agents[i].offer.gpus = i / 2 == type ? 0 : 4;
    world_run(p->w, 2);
}

/* Both are all on the wrong type: nobody is slower than its others. */
static inline void cross(struct plant *p, uint32_t max, struct job **ret_a, struct job **ret_b)
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
