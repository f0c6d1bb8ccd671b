/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster_random.c - many random events; the invariants after each; at the end every job comes
 * to its end
 *
 * EDL_SEED chooses the run (seeds.h), EDL_EVENTS and EDL_UNSETTLED_SEEDS how much of it. Liveness:
 * when the storm is over and the nodes are back, every job that fits ends with success. Else the
 * reason for its waiting is that it never fits. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <utlist.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/core/plan/start.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"
#include "tests/unit/world_storm.h"

#define EVENTS 12000
#define ACTIVE_MAX 12
#define UNSETTLED_SEEDS 20
#define KINDS_SEEDS 12
#define KINDS_MAX 180
#define PATIENCE 3000 /* seconds in which jobs may end */
#define STAYS_OVER 60 /* seconds in which none may begin again */

static uint64_t pins_one_in; /* of so many roles one names its nodes; 0: none */

/* Some of them twice; node-8 is a member of no world. */
static void pin_some(struct world *w, struct job_spec *spec)
{
    for (size_t r = 0; r < spec->n_roles && pins_one_in > 0; r++) {
        struct role_spec *role = &spec->roles[r];

        if (world_random(w, pins_one_in) != 0)
            continue;
        role->n_nodes = role->max + (uint32_t)world_random(w, 3);
        role->nodes = xcalloc(role->n_nodes + 1, sizeof *role->nodes);
        for (uint32_t i = 0; i < role->n_nodes; i++) {
            uint64_t node =
                world_random(w, 12 * WORLD_NODES) == 0 ? WORLD_NODES : world_random(w, WORLD_NODES);
            char name[24];

            (void)snprintf(name, sizeof name, "node-%" PRIu64, node);
            role->nodes[i] = xstrdup(name);
        }
    }
}

static void submit(struct world *w, int n_max)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 4);
    struct job_spec *spec;
    const struct job *other;
    char name[16];

    (void)snprintf(name, sizeof name, "job-%" PRIu64, world_random(w, 30));
    spec =
        world_spec(name, min, min + (uint32_t)world_random(w, 10), 100 * (1 + world_random(w, 12)),
                   (uint32_t)world_random(w, 3), 100 * world_random(w, 10));
    spec->fault_tolerant = world_random(w, 5) != 0;
    spec->priority = (int32_t)world_random(w, 3);
    spec->restart_max = (uint32_t)world_random(w, 6);
    spec->passes = 2;
    spec->keep_remains = world_random(w, 6) == 0;
    other = world_random(w, 4) == 0 ? storm_job(w) : NULL;
    if (other != NULL) {
        spec->after = xcalloc(2, sizeof *spec->after);
        spec->after[0] = xstrdup(other->spec->name);
    }
    if (world_random(w, 8) == 0)
        spec->deadline_us = (1 + world_random(w, 120)) * USEC_PER_SEC;
    pin_some(w, spec);
    storm_submit(w, spec, n_max);
}

static void do_submit(struct world *w)
{
    submit(w, ACTIVE_MAX);
}

static void act(struct world *w)
{
    static const struct storm_event events[] = {
        { 40, storm_turn },          { 8, do_submit },        { 1, storm_kill },
        { 3, storm_scale },          { 2, storm_prioritise }, { 4, storm_exit },
        { 8, storm_advance },        { 2, storm_silence },    { 1, storm_boot },
        { 2, storm_node_state },     { 2, storm_foreign },    { 1, storm_unfit },
        { 1, storm_remove_or_join }, { 1, storm_restart },    { 10, storm_work },
        { 10, storm_arrive },
    };

    storm_happen(w, events, ELEMENTS(events));
}

/* What runs does its work and ends well; people end what is left of a job that has. */
static void end_well(struct world *w)
{
    struct job *job;
    struct job *next;

    DL_FOREACH_SAFE2(w->cluster->active, job, next, active_next)
    {
        uint32_t r = role_of(job, "trainer");

        if (job->state == JOB_STOPPING && job->spec->keep_remains)
            assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
        for (uint32_t i = 0; job->state == JOB_RUNNING && i < job->n_slots[r]; i++) {
            struct process *process = job->slots[r][i].live;

            if (process != NULL && process->state == PROCESS_RUNNING && job->queue != NULL)
                storm_work_of(w, process);
            else if (process != NULL && process->state == PROCESS_RUNNING)
                world_exit(w, process, 0, 0);
        }
    }
}

static bool may_wait_for_ever(const struct cluster *cluster, const struct job *job)
{
    const struct job *first = after_first(cluster, job);
    char text[JOB_REASON_SIZE];

    if (first != NULL && first != job)
        return may_wait_for_ever(cluster, first);
    return streq(job->reason_code, "never-fits") || streq(job->reason_code, "gang-not-packed") ||
           ((streq(job->reason_code, "waits-for-node") ||
             streq(job->reason_code, "node-cannot-run-it")) &&
            cluster_never_fits(cluster, job, text, sizeof text));
}

/* One of those that need not; NULL: none. */
static const struct job *job_to_end(const struct world *w)
{
    const struct job *job;

    DL_FOREACH2(w->cluster->active, job, active_next)
    {
        if (!may_wait_for_ever(w->cluster, job))
            return job;
    }
    return NULL;
}

static void run_until_all_end(struct world *w)
{
    const struct job *job = NULL;
    int over = 0;

    for (int i = 0; i < PATIENCE && over < STAYS_OVER; i++) {
        world_run(w, 1);
        end_well(w);
        world_advance(w, USEC_PER_SEC);
        job = job_to_end(w);
        over = job == NULL ? over + 1 : 0;
    }
    if (job != NULL)
        fail_msg("%s is %s for ever: %s", job->spec->name, job_state_to_string(job->state),
                 job->reason);
}

static void storm_until_all_end(uint64_t events)
{
    struct world *w = storm_world(WORLD_NODES);
    const struct job *job;
    unsigned succeeded = 0;

    w->max_linger = 3;
    for (uint64_t i = 0; i < events; i++) {
        act(w);
        storm_archive(w);
        if (world_random(w, 4) != 0)
            world_plan(w); /* with a check before it */
        else
            world_check(w);
        if (world_random(w, 8) == 0)
            world_replan(w);
    }
    storm_calm(w);
    w->max_linger = 0;
    run_until_all_end(w);
    for (job = w->cluster->jobs; job != NULL; job = job->hh.next)
        succeeded += job->state == JOB_SUCCEEDED;
    print_message("%" PRIu64 " checks, %u jobs, %u succeeded\n", w->n_checks,
                  (unsigned)w->cluster->next_job_id - 1, succeeded);
    assert_true(succeeded > 0);
    world_free(w);
}

TEST(test_random_events_keep_invariants_and_everything_ends)
{
    storm_until_all_end(storm_number("EDL_EVENTS", EVENTS));
}

TEST(test_random_events_with_goodput_keep_invariants_and_everything_ends)
{
    world_policy = &policy_goodput;
    storm_until_all_end(storm_number("EDL_EVENTS", EVENTS / 3));
    world_policy = &policy_fulfilment;
}

/* Half of the roles name the node of each instance. */
TEST(test_random_events_with_pins_keep_invariants_and_everything_ends)
{
    pins_one_in = 2;
    storm_until_all_end(storm_number("EDL_EVENTS", EVENTS / 2));
    world_policy = &policy_goodput;
    storm_until_all_end(storm_number("EDL_EVENTS", EVENTS / 4));
    world_policy = &policy_fulfilment;
    pins_one_in = 0;
}

static void submit_many(struct world *w)
{
    for (uint64_t n = 1 + world_random(w, 6); n > 0; n--)
        submit(w, 2 * ACTIVE_MAX);
}

static void act_at_once(struct world *w)
{
    static const struct storm_event events[] = {
        { 6, submit_many }, { 2, storm_kill },       { 4, storm_scale },   { 2, storm_prioritise },
        { 4, storm_exit },  { 6, storm_node_state }, { 2, storm_foreign }, { 2, storm_unfit },
    };

    for (uint64_t n = 1 + world_random(w, 12); n > 0; n--)
        storm_happen(w, events, ELEMENTS(events));
}

/* Much at once on few nodes: now and then the passes of one plan are too few. What it left is
 * wanted still, and the next turns go on with it though nothing else happens. Returns how many
 * plans did not settle at once. */
static unsigned settle_much_at_once(uint64_t seed)
{
    struct world *w = world_new(WORLD_NODES, 2500, GIB, 900);
    unsigned n_unsettled = 0;

    w->seed = MAX_OF(seed * 7919, UINT64_C(1));
    w->max_linger = 3;
    for (int i = 0; i < 100; i++) {
        int turns = 0;

        act_at_once(w);
        world_second(w);
        n_unsettled += w->cluster->plan_wanted;
        for (; w->cluster->plan_wanted && turns < 4; turns++)
            world_plan(w);
        if (w->cluster->plan_wanted)
            fail_msg("seed %" PRIu64 ": not settled after %d turns more", seed, turns);
        world_replan(w);
        world_second(w);
    }
    if (n_unsettled > 0)
        print_message("seed %" PRIu64 ": %u plans did not settle\n", seed, n_unsettled);
    world_free(w);
    return n_unsettled;
}

/* These seeds have such plans. When a change of the scheduler moves them, many seeds
 * (EDL_FIRST_SEED=1 EDL_UNSETTLED_SEEDS=2000) find others: those that have some are printed. */
TEST(test_plan_that_does_not_settle_goes_on_in_the_next_turn)
{
    static const uint64_t unsettled[] = { 407, 608, 691 };
    unsigned n_unsettled = 0;

    for (size_t i = 0; i < ELEMENTS(unsettled); i++)
        n_unsettled += settle_much_at_once(unsettled[i]);
    assert_true(n_unsettled > 0);
}

/* Hardly any has such plans; whoever has settles. */
TEST(test_plans_of_the_day_settle)
{
    uint64_t first = first_seed(1), n = storm_number("EDL_UNSETTLED_SEEDS", UNSETTLED_SEEDS);

    for (uint64_t seed = first; seed - first < n; seed++)
        (void)settle_much_at_once(seed);
}

/* Almost each is a kind of its own, most of them more than fits beside another. */
static void submit_a_kind(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 3);
    struct job_spec *spec;
    char name[16];

    (void)snprintf(name, sizeof name, "kind-%" PRIu64, world_random(w, 100000));
    spec = world_spec(name, min, min, 300 + world_random(w, 1700), 0, 0);
    spec->priority = (int32_t)world_random(w, 3);
    storm_submit(w, spec, KINDS_MAX);
}

/* Who is behind the depth is told so, and nobody else is. */
static void assert_told(const struct planner *planner)
{
    const struct queue_class *class = queue_after(planner, NULL);
    struct queue_key key;

    for (uint32_t i = 0; class != NULL; class = queue_after(planner, &key), i++) {
        bool told = planned_verdict(class->next) == VERDICT_DEEP;

        key = queue_key(planner, class);
        if (told != (i >= QUEUE_DEPTH))
            fail_msg("%s at place %u: %s", class->next->spec->name, i, class->next->reason);
    }
}

static void many_kinds(uint64_t seed)
{
    static const struct storm_event fills[] = {
        { 20, submit_a_kind }, { 2, storm_kill }, { 4, storm_scale },      { 4, storm_prioritise },
        { 2, storm_exit },     { 4, storm_turn }, { 1, storm_node_state },
    };
    static const struct storm_event drains[] = {
        { 2, submit_a_kind },    { 20, storm_kill }, { 4, storm_scale },
        { 4, storm_prioritise }, { 1, storm_turn },
    };
    struct world *w = world_new(WORLD_NODES, 2500, GIB, 900);

    print_message("seed %" PRIu64 "\n", seed);
    w->seed = seed * 7919;
    w->replay_every = 50;
    for (int i = 0; i < KINDS_MAX; i++)
        submit_a_kind(w);
    for (int i = 0; i < 240; i++) {
        if (i / 40 % 2 == 0)
            storm_happen(w, drains, ELEMENTS(drains));
        else
            storm_happen(w, fills, ELEMENTS(fills));
        world_plan(w);
        assert_told(w->cluster->planner);
        if (world_random(w, 12) == 0)
            world_replan(w);
    }
    world_free(w);
}

/* More kinds of jobs wait than are looked at one by one: who crosses that depth, either way, is
 * told what a plan from the start would tell it, and starts when that would start it. */
TEST(test_more_kinds_than_the_depth)
{
    for (uint64_t seed = 1; seed <= KINDS_SEEDS; seed++) {
        world_policy = seed % 2 == 0 ? &policy_goodput : &policy_fulfilment;
        many_kinds(seed);
    }
    world_policy = &policy_fulfilment;
}
