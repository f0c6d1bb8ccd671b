/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_orders.c - a node that is given thousands of processes is told of them bit by bit */
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/node_orders.h"
#include "shared/macro.h"
#include "shared/orders_max.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define JOBS 5U
#define EACH 1000U

static struct process_report reports[JOBS * EACH];

/* tell_but - reports what the node is told of, as an agent would; returns how many that are
 * Each that the agent knows from before is told of again. waits: of this job nothing can be told.
 */
static uint32_t tell_but(const struct node *node, enum process_state state, const char *waits)
{
    struct orders_turn turn = node_orders_begin(node);
    struct process *process;
    uint32_t n = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        if (!node_orders_may_tell(&turn, process)) {
            assert_false(process->reported || process->told);
            continue;
        }
        if (streq(process->job->spec->name, waits))
            continue;
        node_orders_told(&turn, process);
        reports[n++] =
            (struct process_report){ .job_id = process->job->id,
                                     .role = process->job->spec->roles[process->role].name,
                                     .index = process->index,
                                     .incarnation = process->incarnation,
                                     .state = state };
    }
    return n;
}

static uint32_t tell(const struct node *node, enum process_state state)
{
    return tell_but(node, state, "");
}

static void report(struct world *w, struct node *node, uint32_t n)
{
    const struct node_report told = { .boot_id = node->boot_id,
                                      .offer = node->offer,
                                      .processes = reports,
                                      .n_processes = n,
                                      .complete = true };

    assert_int_equal(cluster_report(w->cluster, node, &told, w->now, NULL), 0);
}

static struct world *crowded(uint32_t jobs)
{
    struct world *w = world_new(1, JOBS * EACH, GIB, 1000);
    char name[16];

    world_run(w, 1);
    for (uint32_t i = 0; i < jobs; i++) {
        (void)snprintf(name, sizeof name, "job-%u", i);
        (void)world_submit(w, world_spec(name, EACH, EACH, 1, 0, 0));
    }
    cluster_plan(w->cluster, w->now);
    return w;
}

TEST(test_starts_are_told_in_turn)
{
    struct world *w = crowded(1);
    struct node *node = cluster_node(w->cluster, "node-0");
    uint32_t n = tell(node, PROCESS_PREPARING);

    assert_int_equal(node_count_new(node), EACH);
    assert_int_equal(n, NODE_STARTS_TOLD);
    for (uint32_t before = n; n < EACH; before = n) {
        uint64_t version = node->orders_version;

        report(w, node, n);
        assert_true(node->orders_version != version); /* or it would not ask */
        n = tell(node, PROCESS_PREPARING);
        assert_int_equal(n, MIN_OF(before + NODE_STARTS_TOLD, EACH));
    }
    world_free(w);
}

TEST(test_what_was_told_is_told_again)
{
    struct world *w = crowded(1);
    struct node *node = cluster_node(w->cluster, "node-0");
    uint32_t n = tell(node, PROCESS_PREPARING);
    const struct process_report first = reports[0];

    reports[0] = reports[n - 1]; /* all but the first */
    report(w, node, n - 1);
    assert_int_equal(tell(node, PROCESS_PREPARING), n - 1 + NODE_STARTS_TOLD);
    assert_int_equal(reports[0].index, first.index);
    world_free(w);
}

/* The number of an account is being asked for: its processes take nobody's place. Once it is known,
 * they push out none that the agent may have begun to start. */
TEST(test_what_cannot_be_told_yet_spends_nothing)
{
    struct world *w = crowded(2);
    struct node *node = cluster_node(w->cluster, "node-0");
    uint32_t n = tell_but(node, PROCESS_PREPARING, "job-0");
    const uint64_t other = reports[0].job_id;

    assert_int_equal(n, NODE_STARTS_TOLD);
    assert_int_equal(tell(node, PROCESS_PREPARING), NODE_STARTS_TOLD); /* nothing is reported yet */
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(reports[i].job_id, other);
    report(w, node, n);
    assert_int_equal(tell(node, PROCESS_PREPARING), 2 * NODE_STARTS_TOLD);
    assert_true(reports[0].job_id != other);
    world_free(w);
}

TEST(test_no_more_than_an_agent_follows)
{
    struct world *w = crowded(JOBS);
    struct node *node = cluster_node(w->cluster, "node-0");
    uint32_t n = 0, before;

    do {
        before = n;
        n = tell(node, PROCESS_RUNNING);
        assert_true(n <= ORDERS_MAX);
        report(w, node, n);
    } while (n > before);
    assert_int_equal(n, ORDERS_MAX);
    assert_int_equal(node_count_new(node), JOBS * EACH - ORDERS_MAX);
    world_free(w);
}
