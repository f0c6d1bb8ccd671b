/* SPDX-License-Identifier: Apache-2.0 */
/* test_pins.c - roles that name the node of each instance */
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Instance i of the role runs on node-DIGIT of that place: "201". */
static void pin(struct job_spec *spec, const char *role, const char *digits)
{
    struct role_spec *of = &spec->roles[job_spec_role(spec, role)];

    of->n_nodes = (uint32_t)strlen(digits);
    of->nodes = xcalloc(of->n_nodes + 1, sizeof *of->nodes);
    for (uint32_t i = 0; i < of->n_nodes; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "node-%c", digits[i]);
        of->nodes[i] = xstrdup(name);
    }
}

static struct job_spec *pinned_spec(const char *name, uint32_t min, uint32_t max, uint64_t cpu,
                                    const char *digits)
{
    struct job_spec *spec = world_spec(name, min, max, cpu, 0, 0);

    pin(spec, "trainer", digits);
    return spec;
}

static const struct job *job_of(const struct world *w, const char *name)
{
    return cluster_find_job(w->cluster, name);
}

/* Where its instances live, a digit each; '.': nowhere. */
static void assert_places(const struct world *w, const char *name, const char *role,
                          const char *digits)
{
    const struct job *job = job_of(w, name);
    char found[16] = "";

    for (uint32_t i = 0; i < strlen(digits); i++) {
        const struct slot *slot = &job->slots[role_of(job, role)][i];

        found[i] = slot->live != NULL ? slot->live->node_name[strlen("node-")] : '.';
    }
    assert_string_equal(found, digits);
}

static void assert_waits(const struct world *w, const char *name, const char *text,
                         const char *change)
{
    const struct job *job = job_of(w, name);
    struct job_account account;
    char explained[2 * JOB_REASON_SIZE];

    (void)cluster_explain(w->cluster, job, explained, sizeof explained);
    if (strstr(explained, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, explained);
    cluster_account(w->cluster, job, &account);
    assert_int_equal(account.change, CHANGE_NODE);
    if (strstr(account.text, change) == NULL)
        fail_msg("\"%s\" is not in: %s", change, account.text);
}

static void assert_queued_as(const struct world *w, const char *name, const char *code,
                             const char *text, const char *change)
{
    const struct job *job = job_of(w, name);

    assert_int_equal(job->state, JOB_QUEUED);
    assert_string_equal(job->reason_code, code);
    assert_string_equal(cluster_explain_code(w->cluster, job), code);
    if (strstr(job->reason, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, job->reason);
    assert_waits(w, name, text, change);
}

static void assert_queued(const struct world *w, const char *name, const char *text,
                          const char *change)
{
    assert_queued_as(w, name, "waits-for-node", text, change);
}

static void set_state(struct world *w, const char *name, enum node_state state)
{
    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, name), state,
                                            w->now, NULL),
                     0);
}

TEST(test_each_runs_on_its_node)
{
    struct world *w = world_new(4, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("job", 3, 3, 200, 3, 100);

    pin(spec, "trainer", "201");
    pin(spec, "pserver", "012");
    (void)world_submit(w, spec);
    world_run(w, 4);
    assert_int_equal(job_of(w, "job")->state, JOB_RUNNING);
    assert_places(w, "job", "trainer", "201");
    assert_places(w, "job", "pserver", "012");
    world_replan(w);
    world_restart(w);
    world_run(w, 3);
    assert_places(w, "job", "trainer", "201");
    world_free(w);
}

/* Two share a node, in the order of the list, though one node would hold all. */
TEST(test_names_repeat)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("job", 3, 3, 300, "121"));
    world_run(w, 4);
    assert_places(w, "job", "trainer", "121");
    world_free(w);
}

/* A role without names settles in what the others leave. */
TEST(test_the_others_settle_around_them)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = world_spec("job", 2, 2, 900, 2, 600);

    w->agents[0].offer.cpu_millicores = 3000;
    world_run(w, 2);
    pin(spec, "pserver", "01"); /* what comes first elsewhere would fill node-0 */
    spec->roles[job_spec_role(spec, "trainer")].cpu_millicores = 1200;
    (void)world_submit(w, spec);
    world_run(w, 4);
    assert_places(w, "job", "pserver", "01");
    assert_places(w, "job", "trainer", "00");
    world_free(w);
}

TEST(test_waits_for_a_closed_node)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    set_state(w, "node-1", NODE_CORDONED);
    (void)world_submit(w, pinned_spec("job", 3, 3, 200, "012"));
    world_run(w, 3);
    assert_queued(w, "job", "instance 1 of trainer runs on node-1, which is cordoned",
                  "node node-1, once it takes processes");
    assert_int_equal(job_count_live(job_of(w, "job")), 0);
    set_state(w, "node-1", NODE_READY);
    world_run(w, 3);
    assert_places(w, "job", "trainer", "012");
    world_free(w);
}

/* Others that wait are not kept by it, and others that ask for as much are no job like it. */
TEST(test_waits_for_an_unknown_node)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    char text[JOB_REASON_SIZE];

    (void)world_submit(w, pinned_spec("job", 3, 3, 200, "017"));
    (void)world_submit(w, pinned_spec("next", 3, 3, 200, "012"));
    world_run(w, 3);
    assert_queued(w, "job",
                  "instance 2 of trainer runs on node-7, which is not a member (edl nodes)",
                  "a node called node-7 (edl node add)");
    assert_true(cluster_never_fits(w->cluster, job_of(w, "job"), text, sizeof text));
    assert_non_null(strstr(text, "node-7"));
    assert_places(w, "next", "trainer", "012");
    (void)snprintf(w->agents[3].name, sizeof w->agents[3].name, "node-7");
    w->agents[3].offer = w->agents[0].offer;
    w->n_agents = 4;
    assert_int_equal(cluster_join_node(w->cluster, "node-7", "hash", &w->agents[3].offer, w->now,
                                       &(struct node *){ NULL }, NULL),
                     0);
    world_run(w, 4);
    assert_places(w, "job", "trainer", "017");
    world_free(w);
}

TEST(test_waits_for_labels_and_for_a_large_node)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = pinned_spec("labels", 2, 2, 100, "01");

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "rack", "r1", NULL), 0);
    world_run(w, 2);
    assert_int_equal(role_select(&spec->roles[0], "rack", "r1", NULL), 0);
    (void)world_submit(w, spec);
    (void)world_submit(w, pinned_spec("large", 2, 2, 600, "00"));
    world_run(w, 3);
    assert_queued(w, "labels", "instance 1 of trainer runs on node-1, which does not carry rack=r1",
                  "rack=r1 on node node-1");
    assert_queued(w, "large", "instance 1 of trainer runs on node-0, which offers 1000m CPU",
                  "more CPU on node node-0");
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "rack", "r1", NULL), 0);
    world_run(w, 3);
    assert_places(w, "labels", "trainer", "01");
    world_free(w);
}

/* A full node is waited for though another is empty. */
TEST(test_waits_for_a_full_node)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = pinned_spec("fills", 1, 1, 900, "0");

    (void)world_submit(w, spec);
    world_run(w, 3);
    (void)world_submit(w, pinned_spec("job", 2, 2, 200, "10"));
    world_run(w, 3);
    assert_queued(w, "job", "instance 1 of trainer runs on node-0, which has 100m CPU",
                  "100m more CPU on node node-0");
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "fills"), NULL,
                                      w->now, NULL),
                     0);
    world_run(w, 4);
    assert_places(w, "job", "trainer", "10");
    world_free(w);
}

/* Who could give way on that node does; who could elsewhere stays. */
static void make_room_on(const char *digits, const char *other)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    const struct job *elastic;

    (void)world_submit(w, world_spec("elastic", 1, 4, 450, 0, 0));
    world_run(w, 3);
    world_fall_silent(w);
    elastic = job_of(w, "elastic");
    assert_int_equal(job_count_live(elastic), 4);
    (void)world_submit(w, pinned_spec("job", 2, 2, 400, digits));
    world_run(w, 6);
    assert_places(w, "job", "trainer", digits);
    assert_int_equal(job_count_live(elastic), 2);
    for (uint32_t i = 0; i < 4; i++)
        if (elastic->slots[0][i].live != NULL)
            assert_string_equal(elastic->slots[0][i].live->node_name, other);
    world_free(w);
}

TEST(test_room_is_made_there)
{
    make_room_on("11", "node-0");
    make_room_on("00", "node-1");
}

/* A helper sits where an instance has to come back to, and fits elsewhere; another one, elsewhere,
 * is left alone. */
TEST(test_its_own_job_gives_way_there)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job_spec *spec = pinned_spec("job", 2, 2, 800, "01");
    const struct process *helper;
    const struct job *job;

    spec->roles[spec->n_roles++] =
        (struct role_spec){ .name = "helper", .min = 2, .max = 2, .cpu_millicores = 500 };
    (void)world_submit(w, spec);
    world_run(w, 4);
    job = job_of(w, "job");
    assert_places(w, "job", "helper", "22");
    w->agents[1].silent = true;
    set_state(w, "node-2", NODE_CORDONED);
    world_exit(w, world_live(job, "helper", 0), 1, 0);
    for (int i = 0; i < 120; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "0.");
    assert_places(w, "job", "helper", ".2");
    w->agents[1].silent = false;
    w->agents[1].offer.cpu_millicores = 600; /* for the helper only, until it is what it was */
    for (int i = 0; i < 60; i++)
        world_second(w);
    assert_places(w, "job", "helper", "12");
    w->agents[1].offer.cpu_millicores = 1000;
    set_state(w, "node-2", NODE_READY);
    helper = world_live(job, "helper", 1);
    for (int i = 0; i < 60; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "01");
    assert_places(w, "job", "helper", "22");
    assert_ptr_equal(world_live(job, "helper", 1), helper);
    world_free(w);
}

TEST(test_comes_back_where_it_was)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("job", 3, 3, 200, "012"));
    world_run(w, 3);
    world_exit(w, world_live(job_of(w, "job"), "trainer", 1), 1, 0);
    world_run(w, 1);
    assert_places(w, "job", "trainer", "0.2");
    for (int i = 0; i < 4; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "012");
    w->agents[1].silent = true;
    for (int i = 0; i < 120; i++)
        world_second(w);
    assert_int_equal(cluster_node(w->cluster, "node-1")->state, NODE_LOST);
    assert_places(w, "job", "trainer", "0.2");
    assert_waits(w, "job", "instance 1 of trainer runs on node-1, which is lost",
                 "node node-1, once it takes processes");
    w->agents[1].silent = false;
    for (int i = 0; i < 60; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "012");
    assert_int_equal(job_of(w, "job")->state, JOB_RUNNING);
    world_free(w);
}

/* Two of one job are lost with their nodes: each has its place kept, and comes back there alone. */
TEST(test_one_of_two_comes_back_first)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("job", 3, 3, 600, "012"));
    world_run(w, 3);
    w->agents[1].silent = w->agents[2].silent = true;
    for (int i = 0; i < 120; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "0..");
    w->agents[2].silent = false;
    for (int i = 0; i < 60; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "0.2");
    w->agents[1].silent = false;
    for (int i = 0; i < 60; i++)
        world_second(w);
    assert_places(w, "job", "trainer", "012");
    world_free(w);
}

/* The lowest slot whose node has room. */
TEST(test_grows_where_there_is_room)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("fills", 1, 1, 900, "1"));
    world_run(w, 3);
    (void)world_submit(w, pinned_spec("job", 1, 3, 300, "012"));
    world_run(w, 3);
    world_fall_silent(w);
    world_run(w, 3);
    assert_places(w, "job", "trainer", "0.2");
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "fills"), NULL,
                                      w->now, NULL),
                     0);
    world_fall_silent(w);
    assert_places(w, "job", "trainer", "012");
    world_free(w);
}

/* There is nowhere to move it: a node that drains waits for its end. */
TEST(test_a_drain_waits_for_it)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("job", 2, 2, 200, "01"));
    world_run(w, 3);
    set_state(w, "node-1", NODE_DRAINING);
    world_run(w, 5);
    assert_places(w, "job", "trainer", "01");
    assert_non_null(strstr(cluster_node(w->cluster, "node-1")->waits,
                           "the end of instances that run there and nowhere else: job"));
    world_free(w);
}

/* An elastic one has others stand in for it. */
TEST(test_an_elastic_job_leaves_a_node_that_drains)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    (void)world_submit(w, pinned_spec("job", 1, 3, 200, "011"));
    world_run(w, 3);
    world_fall_silent(w);
    assert_places(w, "job", "trainer", "011");
    set_state(w, "node-0", NODE_DRAINING);
    world_run(w, 5);
    assert_places(w, "job", "trainer", ".11");
    world_free(w);
}

/* A node that cannot run it is waited for, though no other can, not the end of the job; after ten
 * minutes it is tried again. */
TEST(test_a_refusal_is_waited_for)
{
    struct world *w = world_new(2, 1000, GIB, 1000);

    for (size_t i = 0; i < 2; i++) {
        w->agents[i].unfit = UNFIT_NO_ACCOUNT;
        w->agents[i].unfit_one_in = 1;
    }
    (void)world_submit(w, pinned_spec("job", 2, 2, 200, "01"));
    world_run(w, 5);
    assert_queued_as(w, "job", "node-cannot-run-it",
                     "instance 0 of trainer runs on node-0, which cannot run it: ",
                     "a change on node node-0: create the account there");
    w->agents[0].unfit = w->agents[1].unfit = UNFIT_NOT;
    world_advance(w, 600 * USEC_PER_SEC);
    world_run(w, 5);
    assert_places(w, "job", "trainer", "01");
    world_free(w);
}

/* No other node may start it, so what its own cannot start spends its restarts. */
TEST(test_a_node_that_starts_nothing_ends_the_job)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = pinned_spec("job", 1, 1, 200, "0");
    const struct job *job;

    spec->restart_max = 1;
    w->agents[0].start_fault = START_FAULT_NODE;
    w->agents[0].unfit_one_in = 1;
    job = world_submit(w, spec);
    for (int i = 0; i < 300 && !job_state_is_final(job->state); i++)
        world_second(w);
    assert_int_equal(job->state, JOB_FAILED);
    world_free(w);
}

/* The last node of the list is for an instance that the maximum does not allow: it is not waited
 * for. */
TEST(test_a_name_beyond_the_maximum_is_not_tried)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_spec *spec = pinned_spec("job", 1, 1, 200, "01");
    const struct job *job;
    int tries = 0;

    spec->tries_at_once = 3;
    job = world_submit(w, spec);
    for (int i = 0; i < 300 && !job_state_is_final(job->state); i++) {
        const struct process *process = world_live(job, "trainer", 0);

        if (process != NULL && process->state == PROCESS_RUNNING) {
            world_exit(w, process, 1, 0);
            tries++;
        }
        world_second(w);
    }
    assert_int_equal(job->state, JOB_FAILED);
    assert_int_equal(tries, 3);
    world_free(w);
}

TEST(test_a_larger_maximum_needs_more_names)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct edl_error error;

    (void)world_submit(w, pinned_spec("job", 1, 2, 100, "01"));
    world_run(w, 3);
    assert_int_equal(cluster_scale_job(w->cluster, cluster_find_job(w->cluster, "job"), "trainer",
                                       1, 3, w->now, &error),
                     -EINVAL);
    assert_string_equal(error.pointer, "/max");
    assert_non_null(strstr(error.text, "max is 3 but trainer names 2 nodes"));
    assert_non_null(strstr(error.remedy, "at most 2"));
    world_free(w);
}

static struct forecast forecast_of(const struct world *w, const char *digits)
{
    struct job_spec *spec = pinned_spec("job", 2, 2, 100, digits);
    struct forecast forecast;

    assert_int_equal(cluster_forecast(w->cluster, spec, "ann", NULL, w->now, NULL, &forecast, NULL),
                     0);
    (void)job_spec_free(spec);
    return forecast;
}

/* What would come of it: told without doing it. */
TEST(test_a_forecast_names_the_nodes)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct forecast forecast = forecast_of(w, "10");

    assert_int_equal(forecast.verdict, FORECAST_NOW);
    assert_int_equal(forecast.n_placements, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(forecast.placements[i].node,
                            forecast.placements[i].index == 0 ? "node-1" : "node-0");
    forecast_done(&forecast);
    forecast = forecast_of(w, "17");
    assert_int_equal(forecast.verdict, FORECAST_NEVER);
    assert_non_null(strstr(forecast.reason, "instance 1 of trainer runs on node-7, which is not"));
    forecast_done(&forecast);
    set_state(w, "node-1", NODE_CORDONED);
    world_run(w, 1);
    forecast = forecast_of(w, "10");
    assert_int_equal(forecast.verdict, FORECAST_UNKNOWN);
    assert_string_equal(forecast.code, "waits-for-node");
    assert_non_null(strstr(forecast.reason, "which is cordoned"));
    forecast_done(&forecast);
    world_free(w);
}
