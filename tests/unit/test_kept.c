/* SPDX-License-Identifier: Apache-2.0 */
/* test_kept.c - processes that go on while their node is cut off (on_disconnect: keep) */
#include <errno.h>

#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* beside one that is not */
TEST(test_what_is_kept_is_started_nowhere_else)
{
    struct world *w = world_new(2, 2000, GIB, 900);
    struct job_spec *spec = world_spec("kept", 1, 1, 500, 0, 0);
    struct job *kept, *other;
    struct node *node, *same;
    struct edl_error error = { 0 };
    uint64_t first, others;

    spec->keep_cut_off = true;
    kept = world_submit(w, spec);
    world_run(w, 4);
    node = world_live(kept, "trainer", 0)->node;
    assert_int_equal(cluster_set_node_state(w->cluster,
                                            cluster_node(w->cluster, streq(node->name, "node-0")
                                                                         ? "node-1"
                                                                         : "node-0"),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    other = world_submit(w, world_spec("other", 1, 1, 500, 0, 0));
    world_run(w, 4);
    assert_ptr_equal(world_live(other, "trainer", 0)->node, node);
    assert_int_equal(cluster_set_node_state(w->cluster,
                                            cluster_node(w->cluster, streq(node->name, "node-0")
                                                                         ? "node-1"
                                                                         : "node-0"),
                                            NODE_READY, w->now, NULL),
                     0);
    first = world_live(kept, "trainer", 0)->incarnation;
    others = world_live(other, "trainer", 0)->incarnation;
    for (size_t i = 0; i < 2; i++)
        w->agents[i].silent = w->agents[i].keeps = streq(w->agents[i].name, node->name);
    for (int i = 0; i < 40; i++)
        world_second(w);
    assert_int_equal(node->state, NODE_LOST);
    assert_int_equal(kept->state, JOB_RUNNING);
    assert_int_equal(world_live(kept, "trainer", 0)->incarnation, first);
    assert_int_equal(node->cpu_granted_millicores, 500);
    assert_true(world_live(other, "trainer", 0)->incarnation > others);
    assert_ptr_not_equal(world_live(other, "trainer", 0)->node, node);
    /* neither forgotten nor taken by another machine of its name */
    assert_int_equal(cluster_remove_node(w->cluster, node, w->now, &error), EDL_EBADTRANSITION);
    assert_non_null(strstr(error.remedy, "--gone"));
    assert_int_equal(cluster_join_node(w->cluster, node->name, "anew", &node->offer, w->now, &same,
                                       &error),
                     -EEXIST);
    /* back: nothing happened to it */
    for (size_t i = 0; i < 2; i++)
        w->agents[i].silent = false;
    world_run(w, 4);
    assert_int_equal(node->state, NODE_READY);
    assert_int_equal(world_live(kept, "trainer", 0)->incarnation, first);
    assert_int_equal(cluster_give_up_node(w->cluster, node, w->now, &error), EDL_EBADTRANSITION);
    /* killed meanwhile, it is stopping until somebody knows its end */
    for (size_t i = 0; i < 2; i++)
        w->agents[i].silent = streq(w->agents[i].name, node->name);
    for (int i = 0; i < 40; i++)
        world_second(w);
    assert_int_equal(cluster_kill_job(w->cluster, kept, "enough", w->now, NULL), 0);
    world_run(w, 4);
    assert_int_equal(kept->state, JOB_STOPPING);
    assert_int_equal(cluster_give_up_node(w->cluster, node, w->now, &error), 0);
    assert_int_equal(cluster_remove_node(w->cluster, node, w->now, &error), 0);
    world_run(w, 2);
    assert_int_equal(kept->state, JOB_KILLED);
    world_free(w);
}
