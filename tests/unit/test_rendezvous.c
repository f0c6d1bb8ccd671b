/* SPDX-License-Identifier: Apache-2.0 */
/* test_rendezvous.c - the processes of a role agree on their members, in any order of arrivals and
 * ends */

#include "scheduler/core/core.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static enum rendezvous_result arrive_after(struct world *w, struct process *process, uint64_t after)
{
    enum rendezvous_result result;
    struct edl_error error = { 0 };

    assert_non_null(process);
    if (cluster_arrive(w->cluster, process, after, NULL, w->now, &result, &error) < 0)
        fail_msg("%s", error.text);
    world_plan(w);
    return result;
}

/* As a program does: with the generation that it knows, and is done with. */
static enum rendezvous_result arrive(struct world *w, const struct job *job, uint32_t index,
                                     uint64_t after)
{
    return arrive_after(w, world_live(job, "trainer", index), after);
}

static bool is_over(const struct job *job, uint32_t index, uint64_t generation)
{
    bool over;

    assert_int_equal(rendezvous_is_over(world_live(job, "trainer", index), generation, &over, NULL),
                     0);
    return over;
}

/* The newest generation is that one, and has these members in the order of their indexes. */
static void assert_agreed(const struct job *job, uint64_t generation, const uint32_t *indexes,
                          uint32_t n)
{
    const struct rendezvous *agreed = rendezvous_of(job, role_of(job, "trainer"));

    assert_non_null(agreed);
    assert_int_equal(agreed->generation, generation);
    assert_int_equal(agreed->n_members, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(agreed->members[i].index, indexes[i]);
}
#define AGREED(job, generation, ...)                                                               \
    assert_agreed(job, generation, (const uint32_t[]){ __VA_ARGS__ },                              \
                  ELEMENTS(((const uint32_t[]){ __VA_ARGS__ })))

static struct world *world_of(size_t n_nodes)
{
    return world_new(n_nodes, 1000, GIB, 1000);
}

/* A job that runs; one process a node. */
static struct job *job_of(struct world *w, uint32_t min, uint32_t max)
{
    struct job *job = world_submit(w, world_spec("job", min, max, 1000, 0, 0));

    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

/* Generation 1 of all that run. */
static void agree_on_first(struct world *w, const struct job *job, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(arrive(w, job, i, 0), i + 1 < n ? RENDEZVOUS_WAIT : RENDEZVOUS_AGREED);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(arrive(w, job, i, 0), RENDEZVOUS_AGREED);
    assert_int_equal(rendezvous_of(job, 0)->generation, 1);
    assert_int_equal(rendezvous_of(job, 0)->n_members, n);
}

static void exits(struct world *w, const struct job *job, uint32_t index, int code, int signal)
{
    world_exit(w, world_live(job, "trainer", index), code, signal);
    world_run(w, 1);
}

static struct fake_agent *agent_of(struct world *w, const struct process *process)
{
    for (size_t i = 0; i < w->n_agents; i++)
        if (streq(w->agents[i].name, process->node_name))
            return &w->agents[i];
    fail_msg("no such node");
    return NULL;
}

TEST(test_first_needs_all_in_any_order)
{
    for (unsigned order = 0; order < 24; order++) {
        struct world *w = world_of(4);
        struct job *job = job_of(w, 4, 4);
        uint32_t left[] = { 0, 1, 2, 3 };
        unsigned code = order;

        for (uint32_t n = 4; n > 0; n--) {
            uint32_t at = code % n;
            uint32_t index = left[at];

            code /= n;
            left[at] = left[n - 1];
            assert_int_equal(arrive(w, job, index, 0), n > 1 ? RENDEZVOUS_WAIT : RENDEZVOUS_AGREED);
            if (n > 1) /* to look again is not to arrive twice */
                assert_int_equal(arrive(w, job, index, 0), RENDEZVOUS_WAIT);
        }
        AGREED(job, 1, 0, 1, 2, 3);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(arrive(w, job, i, 0), RENDEZVOUS_AGREED);
            assert_false(is_over(job, i, 1));
            assert_true(is_over(job, i, 2));
        }
        AGREED(job, 1, 0, 1, 2, 3);
        world_free(w);
    }
}

/* Also those that are not even started yet. */
TEST(test_first_waits_for_what_is_being_started)
{
    struct world *w = world_of(3);
    struct job *job;
    const struct process *missing[4];

    w->agents[1].silent = true;
    job = world_submit(w, world_spec("job", 3, 3, 1000, 0, 0));
    world_run(w, 3);
    for (uint32_t i = 0; i < 3; i++)
        if (world_live(job, "trainer", i)->state == PROCESS_RUNNING)
            assert_int_equal(arrive(w, job, i, 0), RENDEZVOUS_WAIT);
    assert_int_equal(rendezvous_missing(job, 0, missing, ELEMENTS(missing)), 1);
    assert_string_equal(missing[0]->node_name, "node-1");
    w->agents[1].silent = false;
    world_run(w, 3);
    assert_int_equal(arrive(w, job, missing[0]->index, 0), RENDEZVOUS_AGREED);
    AGREED(job, 1, 0, 1, 2);
    world_free(w);
}

TEST(test_new_ones_open_the_next_when_they_arrive)
{
    struct world *w = world_of(4);
    struct job *job = job_of(w, 2, 2);

    agree_on_first(w, job, 2);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 4, w->now, NULL), 0);
    world_plan(w);
    assert_int_equal(job_count(job, 0, false), 4);
    assert_false(is_over(job, 0, 1)); /* nobody stops for what only begins */
    world_run(w, 3);
    assert_false(is_over(job, 0, 1));
    assert_int_equal(arrive(w, job, 3, 0), RENDEZVOUS_WAIT);
    assert_true(is_over(job, 0, 1));
    assert_true(is_over(job, 1, 1));
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT); /* 2 runs: it comes soon */
    assert_int_equal(arrive(w, job, 2, 0), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1, 2, 3);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(arrive(w, job, i, i < 2 ? 1 : 0), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1, 2, 3);
    world_free(w);
}

TEST(test_what_is_still_prepared_stops_nobody)
{
    struct world *w = world_of(4);
    struct job *job = job_of(w, 2, 2);
    struct fake_agent *slow;

    agree_on_first(w, job, 2);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 2, 4, w->now, NULL), 0);
    world_plan(w);
    slow = agent_of(w, world_live(job, "trainer", 2));
    slow->silent = true;
    world_run(w, 3);
    assert_int_equal(arrive(w, job, 3, 0), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1, 3);
    slow->silent = false;
    world_run(w, 3);
    assert_false(is_over(job, 0, 2));
    assert_int_equal(arrive(w, job, 2, 0), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 3, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 0, 2), RENDEZVOUS_AGREED);
    AGREED(job, 3, 0, 1, 2, 3);
    world_free(w);
}

/* It is complete because of an end, not of an arrival: who looks again finds it so. */
TEST(test_one_is_lost_while_others_wait)
{
    struct world *w = world_of(4);
    struct job *job = job_of(w, 2, 4);

    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(arrive(w, job, i, 0), RENDEZVOUS_WAIT);
    exits(w, job, 3, 0, 9);
    assert_int_equal(arrive(w, job, 1, 0), RENDEZVOUS_AGREED);
    AGREED(job, 1, 0, 1, 2);
    /* one that had arrived */
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    exits(w, job, 0, 1, 0);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 1, 2);
    world_free(w);
}

TEST(test_those_that_are_left_go_on_at_once)
{
    struct world *w = world_of(3);
    struct job *job = job_of(w, 2, 3);
    uint64_t before = world_live(job, "trainer", 1)->incarnation;

    agree_on_first(w, job, 3);
    exits(w, job, 1, 0, 9);
    assert_true(is_over(job, 0, 1));
    assert_int_equal(arrive(w, job, 2, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 2);
    world_advance(w, 2 * USEC_PER_SEC); /* the back-off is over */
    world_run(w, 3);
    assert_true(world_live(job, "trainer", 1)->incarnation > before);
    assert_false(is_over(job, 0, 2));
    assert_int_equal(arrive(w, job, 1, 0), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 0, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 2), RENDEZVOUS_AGREED);
    AGREED(job, 3, 0, 1, 2);
    /* also when the new one runs before they come: it may have much to load first */
    exits(w, job, 1, 0, 9);
    world_advance(w, 4 * USEC_PER_SEC);
    world_run(w, 3);
    assert_int_equal(world_live(job, "trainer", 1)->state, PROCESS_RUNNING);
    assert_int_equal(arrive(w, job, 0, 3), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 3), RENDEZVOUS_AGREED);
    AGREED(job, 4, 0, 2);
    world_free(w);
}

TEST(test_never_fewer_than_the_minimum)
{
    struct world *w = world_of(3);
    struct job *job = job_of(w, 3, 3);

    agree_on_first(w, job, 3);
    exits(w, job, 2, 0, 9);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    world_advance(w, 2 * USEC_PER_SEC);
    world_run(w, 3);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 0), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1, 2);
    /* one that has done its part is not missed */
    exits(w, job, 0, 0, 0);
    assert_int_equal(arrive(w, job, 2, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 2), RENDEZVOUS_AGREED);
    AGREED(job, 3, 1, 2);
    /* fewer are enough from now on */
    exits(w, job, 2, 0, 9);
    assert_int_equal(arrive(w, job, 1, 3), RENDEZVOUS_WAIT);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 3, w->now, NULL), 0);
    assert_int_equal(arrive(w, job, 1, 3), RENDEZVOUS_AGREED);
    AGREED(job, 4, 1);
    world_free(w);
}

TEST(test_who_is_being_stopped_leaves)
{
    struct world *w = world_of(3);
    struct job *job = job_of(w, 1, 3);
    uint32_t leaver = 3;

    agree_on_first(w, job, 3);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT); /* it may be one that waits */
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    assert_int_equal(cluster_scale_job(w->cluster, job, NULL, 1, 2, w->now, NULL), 0);
    w->max_linger = 0;
    world_plan(w);
    for (uint32_t i = 0; i < 3; i++)
        if (world_live(job, "trainer", i)->state == PROCESS_STOPPING)
            leaver = i;
    assert_true(leaver < 3);
    assert_int_equal(arrive(w, job, leaver, 1), RENDEZVOUS_LEAVING);
    assert_true(is_over(job, leaver, 1));
    for (uint32_t i = 0; i < 3; i++)
        if (i != leaver)
            (void)arrive(w, job, i, 1);
    assert_int_equal(rendezvous_of(job, 0)->generation, 2);
    assert_int_equal(rendezvous_of(job, 0)->n_members, 2);
    for (uint32_t i = 0; i < 3; i++)
        if (i != leaver)
            assert_false(is_over(job, i, 2));
    assert_true(is_over(job, leaver, 2));
    world_run(w, 3); /* and it is gone: nothing new */
    assert_int_equal(rendezvous_of(job, 0)->generation, 2);
    assert_false(rendezvous_of(job, 0)->over);
    world_free(w);
}

/* The members have done the work of a collective job: who comes then would begin it again. */
TEST(test_who_comes_too_late_leaves)
{
    static const struct {
        const char *what;
        enum job_mode mode;
        int code; /* of the last member */
        bool waits;
    } rows[] = { { "all are done", JOB_MODE_COLLECTIVE, 0, false },
                 { "it waits when the last one ends", JOB_MODE_COLLECTIVE, 0, true },
                 { "one has failed", JOB_MODE_COLLECTIVE, 1, false },
                 { "another mode", JOB_MODE_PSERVER, 0, false } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct world *w = world_of(3);
        struct job_spec *spec = world_spec("job", 2, 3, 1000, 0, 0);
        const bool leaves = rows[i].mode == JOB_MODE_COLLECTIVE && rows[i].code == 0;
        enum rendezvous_result result;
        struct job *job;

        spec->mode = rows[i].mode;
        spec->fault_tolerant = true;
        job = world_submit(w, spec);
        world_run(w, 3);
        agree_on_first(w, job, 3);
        exits(w, job, 2, 0, 9); /* the two others go on without it */
        assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
        assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_AGREED);
        for (int s = 0; s < 5; s++) /* it is back */
            world_second(w);
        exits(w, job, 0, 0, 0);
        if (rows[i].waits)
            assert_int_equal(arrive(w, job, 2, 0), RENDEZVOUS_WAIT);
        exits(w, job, 1, rows[i].code, 0);
        for (int s = 0; rows[i].code != 0 && s < 5; s++)
            world_second(w);
        result = arrive(w, job, 2, 0);
        if ((result == RENDEZVOUS_LEAVING) != leaves)
            fail_msg("%s: result %d", rows[i].what, result);
        assert_int_equal(rendezvous_of(job, 0)->generation, 2 + (result == RENDEZVOUS_AGREED));
        world_free(w);
    }
}

TEST(test_old_incarnation_is_refused)
{
    struct world *w = world_of(2);
    struct job *job = job_of(w, 2, 2);
    struct process *old = world_live(job, "trainer", 1);
    enum rendezvous_result result;
    bool over;

    agree_on_first(w, job, 2);
    exits(w, job, 1, 0, 9);
    assert_int_equal(cluster_arrive(w->cluster, old, 0, NULL, w->now, &result, NULL), EDL_ESTALE);
    assert_int_equal(rendezvous_is_over(old, 1, &over, NULL), EDL_ESTALE);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    world_free(w);
}

/* A member whose peers do not answer wants another one. */
TEST(test_member_may_be_done_with_it)
{
    struct world *w = world_of(2);
    struct job *job = job_of(w, 2, 2);

    agree_on_first(w, job, 2);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_true(is_over(job, 1, 1));
    assert_int_equal(arrive(w, job, 1, 0), RENDEZVOUS_AGREED); /* it never got the first one */
    AGREED(job, 2, 0, 1);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1);
    world_free(w);
}

TEST(test_restart_disturbs_nobody)
{
    struct world *w = world_of(3);
    struct job *job = job_of(w, 2, 3);

    agree_on_first(w, job, 3);
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(is_over(job, i, 1));
        assert_int_equal(arrive(w, job, i, 0), RENDEZVOUS_AGREED);
    }
    AGREED(job, 1, 0, 1, 2);
    /* in the middle: who had arrived calls again */
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(arrive(w, job, 2, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 1, 2);
    /* a member that ends while nobody looks */
    world_exit(w, world_live(job, "trainer", 0), 0, 9);
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_false(is_over(job, 1, 2));
    world_run(w, 1);
    assert_true(is_over(job, 1, 2));
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_true(is_over(job, 1, 2));
    assert_int_equal(arrive(w, job, 1, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 2), RENDEZVOUS_AGREED);
    AGREED(job, 3, 1, 2);
    world_free(w);
}

/* What was agreed on after the backup is forgotten, also that it ever was. */
TEST(test_restore_repeats_no_number)
{
    struct world *w = world_of(4);
    struct job *job = job_of(w, 2, 2);
    struct job *other = world_submit(w, world_spec("other", 1, 1, 1000, 0, 0));

    world_run(w, 3);
    agree_on_first(w, job, 2);
    w->replay_every = UINT32_MAX; /* the store in memory keeps no epoch */
    cluster_begin_epoch(w->cluster, &(struct epoch_numbers){ 1 << 20, 2000, 7 }, w->now);
    world_plan(w);
    assert_true(is_over(job, 0, 1));
    assert_int_equal(arrive(w, job, 0, 7), RENDEZVOUS_WAIT); /* 7: of after the backup */
    assert_int_equal(arrive(w, job, 1, 7), RENDEZVOUS_AGREED);
    AGREED(job, (1 << 20) + 1, 0, 1);
    world_restart(w);
    other = cluster_find_job(w->cluster, "other");
    assert_int_equal(arrive(w, other, 0, 0), RENDEZVOUS_AGREED);
    AGREED(other, (1 << 20) + 1, 0);
    world_free(w);
}

/* on_disconnect: keep - its peers may reach it, the scheduler cannot. */
TEST(test_nobody_waits_for_what_is_cut_off)
{
    struct world *w = world_of(3);
    struct job_spec *spec = world_spec("job", 1, 3, 1000, 0, 0);
    struct fake_agent *cut;
    struct job *job;

    spec->keep_cut_off = true;
    job = world_submit(w, spec);
    world_run(w, 3);
    agree_on_first(w, job, 3);
    cut = agent_of(w, world_live(job, "trainer", 1));
    cut->silent = cut->keeps = true;
    for (int i = 0; i < 40; i++)
        world_second(w);
    assert_int_equal(world_live(job, "trainer", 1)->node->state, NODE_LOST);
    assert_false(is_over(job, 0, 1));
    assert_int_equal(arrive(w, job, 0, 1), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 1), RENDEZVOUS_AGREED);
    AGREED(job, 2, 0, 2);
    cut->silent = false;
    world_run(w, 2);
    assert_false(is_over(job, 0, 2));
    assert_true(is_over(job, 1, 1));
    assert_int_equal(arrive(w, job, 1, 1), RENDEZVOUS_WAIT);
    assert_true(is_over(job, 0, 2));
    assert_int_equal(arrive(w, job, 0, 2), RENDEZVOUS_WAIT);
    assert_int_equal(arrive(w, job, 2, 2), RENDEZVOUS_AGREED);
    AGREED(job, 3, 0, 1, 2);
    world_free(w);
}

/* Who waits has to be told to look again. */
TEST(test_whoever_waits_is_woken)
{
    struct world *w = world_of(3);
    struct job *job = job_of(w, 2, 3);
    enum rendezvous_result result;
    const struct effect *effects;
    size_t n, n_wakes = 0;

    agree_on_first(w, job, 3);
    (void)cluster_effects(w->cluster, &n);
    assert_int_equal(n, 0);
    assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", 0), 1, NULL, w->now,
                                    &result, NULL),
                     0);
    assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", 1), 1, NULL, w->now,
                                    &result, NULL),
                     0);
    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++)
        n_wakes += effects[i].kind == EFFECT_MEMBERSHIP && effects[i].job == job;
    assert_int_equal(n_wakes, 1);
    assert_int_equal(n, 1); /* and nothing is to be stored */
    world_free(w);
}

/* --- whatever happens in whatever order --- */

#define TRIO 3
#define DEPTH 4 /* events, of as many kinds as events[] has, each with each process */

struct story {
    struct world *w;
    struct job *job;
    uint64_t known[TRIO],
        of[TRIO]; /* the generation that each has, and which incarnation that is */
    struct rendezvous_member agreed[4 * DEPTH][TRIO];
    uint32_t n_agreed[4 * DEPTH];
    uint64_t newest;
};

/* A generation is what it was the first time that anybody was given it. */
static void note_agreed(struct story *s, const struct process *caller)
{
    const struct rendezvous *agreed = rendezvous_of(s->job, 0);
    uint64_t g = agreed->generation;
    bool has_caller = false;

    assert_in_range(g, s->newest, ELEMENTS(s->agreed) - 1);
    assert_in_range(agreed->n_members, 2, TRIO);
    if (g > s->newest) {
        memcpy(s->agreed[g], agreed->members, agreed->n_members * sizeof *agreed->members);
        s->n_agreed[g] = agreed->n_members;
        s->newest = g;
    }
    assert_int_equal(agreed->n_members, s->n_agreed[g]);
    for (uint32_t i = 0; i < agreed->n_members; i++) {
        assert_int_equal(agreed->members[i].index, s->agreed[g][i].index);
        assert_int_equal(agreed->members[i].incarnation, s->agreed[g][i].incarnation);
        has_caller = has_caller || agreed->members[i].incarnation == caller->incarnation;
    }
    assert_true(has_caller);
    s->known[caller->index] = g;
}

static void story_arrive(struct story *s, uint32_t index)
{
    struct process *process = s->job->slots[0][index].live;

    if (process == NULL || process->state != PROCESS_RUNNING)
        return;
    if (s->of[index] != process->incarnation) {
        s->of[index] = process->incarnation;
        s->known[index] = 0;
    }
    if (arrive_after(s->w, process, s->known[index]) == RENDEZVOUS_AGREED)
        note_agreed(s, process);
}

static void story_kill(struct story *s, uint32_t index)
{
    if (s->job->slots[0][index].live != NULL)
        exits(s->w, s->job, index, 0, 9);
}

/* What is due starts, as far as its back-off is over. */
static void story_wait(struct story *s, uint32_t index)
{
    (void)index;
    world_advance(s->w, 2 * USEC_PER_SEC);
    world_run(s->w, 2);
}

static void story_restart(struct story *s, uint32_t index)
{
    (void)index;
    world_restart(s->w);
    s->job = cluster_find_job(s->w->cluster, "job");
}

static const struct {
    void (*fn)(struct story *s, uint32_t index);
    uint32_t n; /* with so many different processes */
} events[] = {
    { story_arrive, TRIO }, { story_kill, TRIO }, { story_wait, 1 }, { story_restart, 1 }
};

static void happen(struct story *s, uint32_t which)
{
    size_t i = 0;

    for (; which >= events[i].n; i++)
        which -= events[i].n;
    events[i].fn(s, which);
}

/* Everything is repaired: all agree, after a generation without the new ones at the most. */
static void end_well(struct story *s)
{
    for (int i = 0; i < 4; i++) {
        world_advance(s->w, 9 * USEC_PER_SEC);
        world_run(s->w, 2);
    }
    for (uint32_t call = 0; call < 3; call++)
        for (uint32_t i = 0; i < TRIO; i++) {
            assert_int_equal(s->job->slots[0][i].live->state, PROCESS_RUNNING);
            if (call == 0 || s->known[i] != s->newest || is_over(s->job, i, s->newest))
                story_arrive(s, i);
        }
    assert_int_equal(rendezvous_of(s->job, 0)->generation, s->newest);
    assert_int_equal(s->n_agreed[s->newest], TRIO);
    for (uint32_t i = 0; i < TRIO; i++) {
        assert_int_equal(s->known[i], s->newest);
        assert_false(is_over(s->job, i, s->newest));
    }
}

TEST(test_every_order_of_events)
{
    uint32_t n_events = 0;
    uint32_t n_stories = 1;

    for (size_t i = 0; i < ELEMENTS(events); i++)
        n_events += events[i].n;
    for (int i = 0; i < DEPTH; i++)
        n_stories *= n_events;
    for (uint32_t story = 0; story < n_stories; story++) {
        struct story s = { .w = world_of(TRIO) };
        uint32_t code = story;

        s.w->replay_every = UINT32_MAX; /* a restart is among the events */
        s.job = job_of(s.w, 2, TRIO);
        for (uint32_t i = 0; i < TRIO && story % 2 == 0; i++) /* together already, or not yet */
            story_arrive(&s, i);
        for (int i = 0; i < DEPTH; i++, code /= n_events)
            happen(&s, code % n_events);
        end_well(&s);
        world_free(s.w);
    }
    print_message("%u stories\n", n_stories);
}
