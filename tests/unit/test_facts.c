/* SPDX-License-Identifier: Apache-2.0 */
/* test_facts.c - what is learnt from facts does not depend on when they are taken
 *
 * Two clusters live through the same random history. One learns after each event, the other when
 * its turn plans: later events of a turn must not change the content of a fact. EDL_SEED and
 * EDL_EVENTS choose the history. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/facts.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "tests/unit/world_storm.h"

#define CORE UINT64_C(1000) /* millicores */
#define EVENTS 3000
#define NODES 8
#define ACTIVE_MAX 6

/* --- the same beliefs --- */

static void submit(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 2);
    struct job_spec *spec;
    char name[16];

    (void)snprintf(name, sizeof name, "job-%" PRIu64, world_random(w, 30));
    spec = world_spec(name, min, min + (uint32_t)world_random(w, 8), 200,
                      (uint32_t)world_random(w, 2), 100);
    spec->fault_tolerant = true;
    spec->passes = 2;
    spec->restart_max = 5;
    storm_submit(w, spec, ACTIVE_MAX);
}

/* One with as much data as it takes to learn from. */
static void submit_long(struct world *w)
{
    struct job_spec *spec;
    struct job *job;
    char name[16];

    (void)snprintf(name, sizeof name, "long-%" PRIu64, world_random(w, 3));
    spec = world_spec(name, 2, 6, 200, 0, 0);
    spec->fault_tolerant = true;
    spec->restart_max = 50;
    if (cluster_submit(w->cluster, spec, w->user, w->now, &job, NULL) < 0)
        (void)job_spec_free(spec);
    else
        assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(300, 9), "d", w->now,
                                             NULL),
                         0);
}

static void pass_time(struct world *w)
{
    world_advance(w, (1 + world_random(w, 300)) * USEC_PER_MSEC);
}

static void work_much(struct world *w)
{
    for (int i = 0; i < 12; i++) {
        storm_work(w);
        if (world_random(w, 3) == 0)
            pass_time(w);
    }
}

static void act(struct world *w)
{
    static const struct storm_event events[] = {
        { 8, storm_turn },    { 12, world_second }, { 4, submit },           { 4, submit_long },
        { 1, storm_kill },    { 2, storm_scale },   { 3, storm_exit },       { 8, pass_time },
        { 1, storm_silence }, { 1, storm_boot },    { 1, storm_node_state }, { 40, work_much },
        { 6, storm_arrive },  { 1, storm_restart },
    };

    storm_happen(w, events, ELEMENTS(events));
}

#define SAME(what, a, b)                                                                           \
    do {                                                                                           \
        double x_ = (double)(a), y_ = (double)(b);                                                 \
        if (x_ != y_ && !(isnan(x_) && isnan(y_)))                                                 \
            fail_msg("%s of %s: %.17g learnt at once, %.17g later", #a, what, x_, y_);             \
    } while (0)

static void compare_learned(const char *name, const struct job_learned *a,
                            const struct job_learned *b)
{
    SAME(name, a != NULL, b != NULL);
    if (a == NULL || b == NULL)
        return;
    SAME(name, a->of.windows, b->of.windows);
    SAME(name, a->of.largest, b->of.largest);
    SAME(name, a->of.instances, b->of.instances);
    SAME(name, a->of.measured_s, b->of.measured_s);
    SAME(name, a->of.resize_s, b->of.resize_s);
    SAME(name, a->of.work_s, b->of.work_s);
    SAME(name, a->of.sizes, b->of.sizes);
    SAME(name, a->told.work_s, b->told.work_s);
    SAME(name, a->told.windows, b->told.windows);
    SAME(name, a->told_us, b->told_us);
    SAME(name, a->units_done, b->units_done);
    SAME(name, a->units_left, b->units_left);
    SAME(name, a->crowd, b->crowd);
    SAME(name, a->paces, b->paces);
    SAME(name, a->evenness, b->evenness);
    SAME(name, a->straggler, b->straggler);
}

static void compare_job(const struct job *a, const struct job *b)
{
    assert_non_null(b);
    compare_learned(a->spec->name, a->learned, b->learned);
    SAME(a->spec->name, a->noted_us, b->noted_us);
    for (uint32_t r = 0; r < a->spec->n_roles; r++)
        for (uint32_t i = 0; i < a->n_slots[r]; i++) {
            const struct process *x = a->slots[r][i].live, *y = b->slots[r][i].live;

            SAME(a->spec->name, x != NULL, y != NULL);
            if (x == NULL || y == NULL)
                continue;
            SAME(a->spec->name, x->speed, y->speed);
            SAME(a->spec->name, x->runs, y->runs);
            SAME(a->spec->name, x->runs, x->state == PROCESS_RUNNING);
        }
}

/* Returns how much is known. */
static unsigned compare_beliefs(const struct cluster *a, const struct cluster *b)
{
    const struct node *node;
    const struct job *job;
    unsigned n = 0;

    for (job = a->jobs; job != NULL; job = job->hh.next) {
        compare_job(job, cluster_job(b, job->id));
        n += job->learned != NULL && job->learned->of.windows > 0;
    }
    for (node = a->nodes; node != NULL; node = node->hh.next) {
        const struct node *other = cluster_node(b, node->name);

        SAME(node->name, node->speeds[SPEED_CPU].rounds, other->speeds[SPEED_CPU].rounds);
        SAME(node->name, node->speeds[SPEED_CPU].log, other->speeds[SPEED_CPU].log);
        n += node->speeds[SPEED_CPU].rounds > 0;
    }
    return n;
}

TEST(test_beliefs_do_not_depend_on_when_facts_are_taken)
{
    struct world *at_once, *later;
    unsigned known = 0, waited = 0;
    uint64_t events = storm_number("EDL_EVENTS", EVENTS);

    world_policy = &policy_goodput;
    at_once = storm_world(NODES);
    later = storm_world(NODES);
    at_once->replay_every = later->replay_every = 1000;
    for (uint64_t i = 0; i < events; i++) {
        bool plans;

        act(at_once);
        learn_take(at_once->cluster);
        act(later);
        waited += later->cluster->n_facts > 1;
        plans = world_random(at_once, 3) == 0;
        assert_int_equal(world_random(later, 3) == 0, plans);
        if (!plans)
            continue;
        world_plan(at_once);
        world_plan(later);
        known += compare_beliefs(at_once->cluster, later->cluster) > 0;
    }
    print_message("%u turns with facts that waited, %u with beliefs\n", waited, known);
    assert_true(waited > events / 20 && known > events / 20);
    world_free(at_once);
    world_free(later);
    world_policy = &policy_fulfilment;
}

/* --- what they speak of goes --- */

static struct job *run_one(struct world **ret, const struct policy *policy)
{
    struct world *w;
    struct job *job;

    world_policy = policy;
    w = world_new(2, 4 * CORE, GIB, 1000);
    world_run(w, 1);
    job = world_submit(w, world_spec("a", 2, 4, CORE, 0, 0));
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(w->cluster->n_facts, 0); /* each was taken before its plan */
    world_policy = &policy_fulfilment;
    *ret = w;
    return job;
}

TEST(test_facts_of_what_is_gone_are_dropped)
{
    struct world *w;
    struct job *job = run_one(&w, &policy_goodput);
    struct fact *fact;

    fact_machine_changed(w->cluster, cluster_node(w->cluster, "node-0"));
    fact_seen(w->cluster, job->slots[0][0].live, w->now);
    fact_of_job(w->cluster, FACT_SIZE, job, w->now);
    assert_int_equal(w->cluster->n_facts, 3);
    fact = w->cluster->facts;
    (void)snprintf(fact[0].node, sizeof fact[0].node, "%s", "nobody");
    fact[1].incarnation += 1000;
    fact[1].kind = FACT_PROCESS_MOVED; /* to false, had it found one */
    fact[2].job += 1000;
    learn_take(w->cluster);
    assert_int_equal(w->cluster->n_facts, 0);
    assert_true(job->slots[0][0].live->runs);
    world_free(w);
}

/* A copy knows what the original has not learnt yet. */
TEST(test_copy_takes_the_facts_as_they_are)
{
    struct world *w;
    struct job *job = run_one(&w, &policy_goodput);
    struct cluster *copy;

    job->learned->stood_still = false;
    fact_stood_still(w->cluster, job->slots[0][0].live, USEC_PER_SEC, w->now);
    copy = cluster_clone(w->cluster, w->now);
    assert_int_equal(copy->n_facts, 1);
    assert_false(cluster_job(copy, job->id)->learned->stood_still);
    learn_take(copy);
    assert_true(cluster_job(copy, job->id)->learned->stood_still);
    assert_false(job->learned->stood_still);
    (void)cluster_free(copy);
    world_free(w);
}

TEST(test_nothing_is_told_where_nobody_learns)
{
    struct world *w;
    struct job *job = run_one(&w, &policy_fulfilment);

    fact_seen(w->cluster, job->slots[0][0].live, w->now);
    fact_of_job(w->cluster, FACT_SIZE, job, w->now);
    assert_int_equal(w->cluster->n_facts, 0);
    assert_null(w->cluster->facts);
    world_free(w);
}
