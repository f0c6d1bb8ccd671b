/* SPDX-License-Identifier: Apache-2.0 */
/* test_states.c - the tables of states: a listed change happens, another one is refused and told */
#include <stdint.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/node_lost.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process_sm.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* rows: from, columns: to, in the order of the enums */
static const char *const job_moves[] = {
    /*            q s r z S O F K */
    [JOB_QUEUED] = ".x....xx",   [JOB_STARTING] = "..x.x...", [JOB_RUNNING] = "...xx...",
    [JOB_RESIZING] = "..x.x...", [JOB_STOPPING] = "x....xxx", [JOB_SUCCEEDED] = "........",
    [JOB_FAILED] = "........",   [JOB_KILLED] = "........",
};

static const char *const process_moves[] = {
    /*                 a p r s E L */
    [PROCESS_ASSIGNED] = ".xxxxx", [PROCESS_PREPARING] = "..xxxx", [PROCESS_RUNNING] = "...xxx",
    [PROCESS_STOPPING] = "....xx", [PROCESS_EXITED] = "......",    [PROCESS_LOST] = "......",
};

static void check_told(struct world *w, bool listed, bool moved, const char *what, int from, int to)
{
    if (moved != listed)
        fail_msg("%s: %d -> %d is %s", what, from, to, listed ? "refused" : "allowed");
    if (!listed && (*w->cluster->unlisted == '\0' || cluster_check(w->cluster, NULL) == 0))
        fail_msg("%s: %d -> %d was refused silently", what, from, to);
}

TEST(test_every_move_of_a_job)
{
    for (int from = JOB_QUEUED; from <= JOB_KILLED; from++)
        for (int to = JOB_QUEUED; to <= JOB_KILLED; to++) {
            struct world *w = world_new(1, 1000, GIB, 1000);
            struct job *job = world_submit(w, world_spec("j", 1, 1, 100, 0, 0));
            enum job_state was = job->state;
            bool moved;

            job->state = (enum job_state)from;
            moved = job_set_state(w->cluster, job, (enum job_state)to, w->now);
            check_told(w, job_moves[from][to] == 'x', moved, "job", from, to);
            assert_int_equal(job->state, moved ? to : from);
            if (moved && job_state_is_final(job->state)) /* it left the list of the active ones */
                DL_APPEND2(w->cluster->active, job, active_prev, active_next);
            job->state = was;
            world_free(w);
        }
}

TEST(test_every_move_of_a_process)
{
    for (int from = PROCESS_ASSIGNED; from <= PROCESS_LOST; from++)
        for (int to = PROCESS_ASSIGNED; to <= PROCESS_LOST; to++) {
            struct world *w = world_new(1, 1000, GIB, 1000);
            struct job *job = world_submit(w, world_spec("j", 1, 1, 100, 0, 0));
            struct process *process = world_live(job, "trainer", 0);
            bool listed = process_moves[from][to] == 'x';

            /* its counts are not looked at here: only the table */
            process->state = (enum process_state)from;
            assert_int_equal(process_may_become(process, (enum process_state)to), listed);
            if (!listed)
                check_told(w, false,
                           process_set_state(w->cluster, process, (enum process_state)to, w->now),
                           "process", from, to);
            process->state = PROCESS_ASSIGNED;
            world_free(w);
        }
}

/* Nobody can ask for the others: setting a state takes three, and the rest comes from reports. */
TEST(test_moves_of_a_node)
{
    static const enum node_state wishes[] = { NODE_READY, NODE_CORDONED, NODE_DRAINING };
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct node *node = cluster_node(w->cluster, "node-0");

    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(cluster_set_node_state(w->cluster, node, wishes[i], w->now, NULL), 0);
            assert_int_equal(cluster_set_node_state(w->cluster, node, wishes[k], w->now, NULL), 0);
            assert_int_equal(node->state, wishes[k]);
        }
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_LOST, w->now, NULL), -EINVAL);
    assert_int_equal(cluster_set_node_state(w->cluster, node, NODE_QUARANTINED, w->now, NULL),
                     -EINVAL);
    assert_string_equal(w->cluster->unlisted, "");
    node_end_lease(w->cluster, node);
    node_lost(w->cluster, node, w->now);
    node_lost(w->cluster, node, w->now); /* lost -> lost is in no table */
    assert_string_equal(w->cluster->unlisted, "node node-0: lost -> lost");
    assert_true(cluster_check(w->cluster, NULL) < 0);
    world_free(w);
}
