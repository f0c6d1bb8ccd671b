/* SPDX-License-Identifier: Apache-2.0 */
/* test_usage.c - accounting: every second of a grant is of one kind, and of the right one */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/usage.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define SECOND USEC_PER_SEC

/* A process of 2 cores, 1 GPU and 1 GiB: assigned at 10 s, running from 12 s. */
struct fixture {
    struct role_spec role;
    struct job_spec spec;
    struct job job;
    struct process process;
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){ .spec = { .n_roles = 1, .roles = &f->role } };
    f->role = (struct role_spec){ .cpu_millicores = 2000, .gpus = 1, .memory_bytes = GIB };
    f->job.spec = &f->spec;
    f->process = (struct process){ .job = &f->job,
                                   .state = PROCESS_RUNNING,
                                   .assigned_wall_us = 10 * SECOND,
                                   .started_wall_us = 12 * SECOND };
}

/* Seconds of each kind, by the memory, which nothing is idle of; and idle core-seconds. */
static void assert_seconds(const struct fixture *f, uint64_t now_s, unsigned useful,
                           unsigned resize, unsigned wasted, unsigned idle_core_s)
{
    const unsigned wanted[USAGE_KINDS] = {
        [USAGE_USEFUL] = useful, [USAGE_RESIZE] = resize, [USAGE_WASTED] = wasted
    };
    uint64_t cpu = 0;
    struct usage usage;

    usage_of_process(&f->process, now_s * SECOND, &usage);
    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        assert_int_equal(usage.kinds[kind].memory_mib_ms, wanted[kind] * UINT64_C(1024000));
        assert_int_equal(usage.kinds[kind].gpu_ms, wanted[kind] * UINT64_C(1000));
        cpu += usage.kinds[kind].cpu_millicore_ms;
    }
    assert_int_equal(usage.kinds[USAGE_IDLE].cpu_millicore_ms, idle_core_s * UINT64_C(1000000));
    assert_int_equal(cpu, (useful + resize + wasted) * UINT64_C(2000000)); /* they add up */
}

static void end(struct fixture *f, enum process_state state, int exit_code, uint64_t end_s)
{
    f->process.state = state;
    f->process.exit_code = exit_code;
    f->process.ended_wall_us = end_s * SECOND;
}

TEST(test_what_runs)
{
    struct fixture f;

    begin(&f);
    f.process.cpu_used_us = 16 * SECOND;
    assert_seconds(&f, 20, 8, 2, 0, 0);
    f.process.cpu_used_us = 6 * SECOND;
    assert_seconds(&f, 20, 8, 2, 0, 10);
    f.process.cpu_used_us = 100 * SECOND; /* more than was granted: nothing is idle */
    assert_seconds(&f, 20, 8, 2, 0, 0);
}

TEST(test_what_starts)
{
    struct fixture f;

    begin(&f);
    f.process.state = PROCESS_PREPARING;
    f.process.started_wall_us = 0;
    assert_seconds(&f, 20, 0, 10, 0, 0);
    end(&f, PROCESS_LOST, -1, 15);
    assert_seconds(&f, 20, 0, 5, 0, 0);
}

TEST(test_ends)
{
    struct fixture f;

    begin(&f);
    f.process.cpu_used_us = 1000 * SECOND;
    end(&f, PROCESS_EXITED, 0, 22);
    assert_seconds(&f, 99, 10, 2, 0, 0);
    end(&f, PROCESS_EXITED, 1, 22);
    assert_seconds(&f, 99, 0, 2, 10, 0);
    f.process.credited_wall_us = 20 * SECOND; /* a task was finished then */
    assert_seconds(&f, 99, 8, 2, 2, 0);
    end(&f, PROCESS_LOST, -1, 22);
    assert_seconds(&f, 99, 8, 2, 2, 0);
}

TEST(test_one_that_is_asked_to_stop)
{
    struct fixture f;

    begin(&f);
    f.process.cpu_used_us = 1000 * SECOND;
    f.process.stop_wanted = true;
    f.process.stopping_wall_us = 20 * SECOND;
    f.process.state = PROCESS_STOPPING;
    assert_seconds(&f, 23, 8, 5, 0, 0);
    end(&f, PROCESS_EXITED, 143, 25); /* 143: by the signal that it was sent */
    assert_seconds(&f, 99, 8, 7, 0, 0);
}

TEST(test_a_clock_that_jumps_back_costs_nothing)
{
    struct fixture f;

    begin(&f);
    f.process.cpu_used_us = 1000 * SECOND;
    assert_seconds(&f, 5, 0, 0, 0, 0);
    end(&f, PROCESS_EXITED, 1, 5);
    assert_seconds(&f, 5, 0, 0, 0, 0);
    end(&f, PROCESS_EXITED, 0, 11); /* back to before it ran */
    assert_seconds(&f, 5, 0, 1, 0, 0);
}

/* A trainer that is stopped with a task loses what it did since its last one. */
TEST(test_a_job_is_charged_for_what_ended_and_what_lives)
{
    struct world *w = world_new(1, 10000, GIB, 1000);
    struct job *job = world_submit(w, world_spec("job", 1, 2, 1000, 0, 0));
    struct job_change smaller = { .scale = true, .min = 1, .max = 1 };
    enum task_lease_result result;
    struct process *victim;
    struct usage usage;
    struct task *task;
    uint64_t sum = 0;
    bool save;

    world_run(w, 3);
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(40, 1), "aa", w->now, NULL),
                     0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(cluster_lease_task(w->cluster, world_live(job, "trainer", i), NULL, 0,
                                            w->now, &result, &task, &save, NULL),
                         0);
    for (unsigned i = 0; i < 10; i++)
        world_second(w);
    assert_int_equal(cluster_change_job(w->cluster, job, &smaller, w->now, NULL), 0);
    world_plan(w);
    victim = world_live(job, "trainer", 0)->stop_wanted ? world_live(job, "trainer", 0)
                                                        : world_live(job, "trainer", 1);
    assert_true(victim->stop_wanted);
    world_run(w, 3);
    assert_int_equal(job_count(job, 0, true), 1);
    assert_int_equal(job->usage->kinds[USAGE_WASTED].cpu_millicore_ms, 10 * UINT64_C(1000000));
    usage_of_job(job, w->now.wall_us, &usage);
    for (int kind = 0; kind < USAGE_KINDS; kind++)
        sum += usage.kinds[kind].cpu_millicore_ms;
    assert_int_equal(sum, 2 * 10 * UINT64_C(1000000)); /* two of one core for 10 s */
    world_check(w);
    world_free(w);
}
