/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_frozen.c - what stood still is told once, is idle in the usage, and teaches nothing
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/usage.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct process *only(struct world *w)
{
    return world_live(cluster_find_job(w->cluster, "one"), "trainer", 0);
}

/* tell_of - its node reports this of it, us later */
static void tell_of(struct world *w, uint64_t us, struct process_report item)
{
    struct process *process = only(w);
    struct node_report report = { .boot_id = process->node->boot_id,
                                  .offer = process->node->offer,
                                  .processes = &item,
                                  .n_processes = 1,
                                  .complete = true };

    item.job_id = process->job->id;
    item.role = "trainer";
    item.incarnation = process->incarnation;
    item.pid = process->pid;
    item.cpu_used_us = 1000;
    w->now.now_us += us;
    w->now.wall_us += us;
    assert_int_equal(cluster_report(w->cluster, process->node, &report, w->now, NULL), 0);
}

/* tell - that it runs, stood still for so long, and what it told of its steps */
static void tell(struct world *w, uint64_t us, uint64_t frozen_us, uint64_t steps)
{
    tell_of(w, us,
            (struct process_report){
                .state = PROCESS_RUNNING,
                .exit_code = -1,
                .frozen_us = frozen_us,
                .steps = { .any = steps > 0,
                           .sums = { .steps = steps, .samples = steps, .compute_us = steps } } });
}

/* tell_killed - that it was killed after it had stood still for so long */
static void tell_killed(struct world *w, uint64_t us, uint64_t frozen_us)
{
    tell_of(w, us,
            (struct process_report){ .state = PROCESS_EXITED,
                                     .exit_code = -1,
                                     .exit_signal = SIGKILL,
                                     .frozen_us = frozen_us });
}

static struct world *running(void)
{
    struct world *w = world_new(1, 4000, GIB, 900);
    struct job_spec *spec = world_spec("one", 1, 1, 1000, 0, 0);

    spec->roles[0].memory_bytes = 1 << 20;
    (void)world_submit(w, spec);
    world_run(w, 3);
    assert_int_equal(only(w)->state, PROCESS_RUNNING);
    world_commit(w);
    return w;
}

/* The texts of the events of this name, which are to be so many. */
static const char *event(const struct world *w, const char *name, unsigned wanted)
{
    const char *text = NULL;
    size_t n;
    const struct effect *effects = cluster_effects(w->cluster, &n);

    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT && streq(effects[i].event, name)) {
            text = effects[i].text;
            wanted--;
        }
    assert_int_equal(wanted, 0);
    return text;
}

TEST(test_it_is_told_when_it_stands_and_when_it_goes_on)
{
    struct world *w = running();

    tell(w, USEC_PER_SEC, 0, 0);
    (void)event(w, "process-frozen", 0);
    tell(w, 20 * USEC_PER_SEC, 19 * USEC_PER_SEC, 0);
    assert_string_equal(event(w, "process-frozen", 1),
                        "trainer-0 stands still, so far for 19.0 s: its node was cut off");
    tell(w, USEC_PER_SEC, 19500 * USEC_PER_MSEC, 0);
    tell(w, USEC_PER_SEC, 19500 * USEC_PER_MSEC, 0);
    tell(w, USEC_PER_SEC, 19500 * USEC_PER_MSEC, 0);
    assert_string_equal(event(w, "process-thawed", 1),
                        "trainer-0 stood still for 19.5 s: its node was cut off");
    (void)event(w, "process-frozen", 1);
    world_commit(w);
    world_restart(w); /* it is remembered: what was told is no news */
    tell(w, USEC_PER_SEC, 19500 * USEC_PER_MSEC, 0);
    (void)event(w, "process-frozen", 0);
    tell(w, 10 * USEC_PER_SEC, 24 * USEC_PER_SEC, 0);
    tell(w, USEC_PER_SEC, 24 * USEC_PER_SEC, 0);
    assert_string_equal(event(w, "process-thawed", 1),
                        "trainer-0 stood still for 4.5 s: its node was cut off");
    world_free(w);
}

TEST(test_it_is_idle_in_the_usage)
{
    struct world *w = running();
    struct usage before, after;

    tell(w, 100 * USEC_PER_SEC, 0, 0);
    usage_of_process(only(w), w->now.wall_us, &before);
    tell(w, 0, 40 * USEC_PER_SEC, 0);
    usage_of_process(only(w), w->now.wall_us, &after);
    assert_int_equal(before.kinds[USAGE_IDLE].memory_mib_ms, 0);
    assert_int_equal(after.kinds[USAGE_USEFUL].memory_mib_ms +
                         after.kinds[USAGE_IDLE].memory_mib_ms,
                     before.kinds[USAGE_USEFUL].memory_mib_ms);
    assert_int_equal(after.kinds[USAGE_USEFUL].cpu_millicore_ms +
                         after.kinds[USAGE_IDLE].cpu_millicore_ms,
                     before.kinds[USAGE_USEFUL].cpu_millicore_ms +
                         before.kinds[USAGE_IDLE].cpu_millicore_ms);
    tell(w, 0, 4000 * USEC_PER_SEC, 0); /* more than it was there: no more than all */
    usage_of_process(only(w), w->now.wall_us, &after);
    assert_int_equal(after.kinds[USAGE_USEFUL].memory_mib_ms, 0);
    world_free(w);
}

/* Killed at cut-off-kill: its end is the first that is heard of it. */
TEST(test_what_ended_while_it_stood_still)
{
    const struct usage *usage;
    struct world *w = running();

    tell(w, 10 * USEC_PER_SEC, 0, 0);
    tell_killed(w, 900 * USEC_PER_SEC, 890 * USEC_PER_SEC);
    (void)event(w, "process-frozen", 0);
    assert_string_equal(
        event(w, "process-thawed", 1),
        "trainer-0 stood still and then ended, after 890.0 s: its node was cut off");
    usage = cluster_find_job(w->cluster, "one")->usage;
    assert_non_null(usage);
    assert_in_range(usage->kinds[USAGE_WASTED].memory_mib_ms, 20 * 1000, 21 * 1000);
    assert_int_equal(usage->kinds[USAGE_IDLE].memory_mib_ms, 890 * 1000);
    assert_int_equal(usage->kinds[USAGE_USEFUL].memory_mib_ms, 0);
    world_free(w);
}

TEST(test_what_ends_after_it_was_told_to_stand_still)
{
    struct world *w = running();

    tell(w, 20 * USEC_PER_SEC, 19 * USEC_PER_SEC, 0);
    tell_killed(w, 20 * USEC_PER_SEC, 39 * USEC_PER_SEC);
    (void)event(w, "process-frozen", 1);
    assert_string_equal(event(w, "process-thawed", 1),
                        "trainer-0 stood still and then ended, after 39.0 s: its node was cut off");
    world_free(w);
}

/* The step that lasted while it stood still is part of no note, nor is one before it. */
TEST(test_a_step_that_stood_still_is_no_measure)
{
    struct world *w = running();
    uint64_t noted_us;

    tell(w, USEC_PER_SEC, 0, 10);
    tell(w, 6 * USEC_PER_SEC, 0, 70);
    noted_us = only(w)->steps->last_us;
    assert_int_equal(noted_us, 6 * USEC_PER_SEC);
    tell(w, 30 * USEC_PER_SEC, 29 * USEC_PER_SEC, 70);
    tell(w, USEC_PER_SEC, 29 * USEC_PER_SEC, 71);
    assert_int_equal(only(w)->steps->last_us, noted_us);
    assert_int_equal(only(w)->steps->undone.steps, 0);
    tell(w, 5 * USEC_PER_SEC, 29 * USEC_PER_SEC, 121);
    assert_int_equal(only(w)->steps->last_us, 5 * USEC_PER_SEC);
    assert_int_equal(only(w)->steps->last.steps, 50);
    assert_int_equal(only(w)->steps->total.steps, 121);
    world_free(w);
}
