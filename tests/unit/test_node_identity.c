/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_identity.c - copies of machines are refused; several agents on one machine are not */
#include <errno.h>

#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define MACHINE "0123456789abcdef0123456789abcdef"
#define OTHER_MACHINE "fedcba9876543210fedcba9876543210"

static int join(struct world *w, const char *name, const char *machine_id, const char *boot_id,
                struct edl_error *error)
{
    struct node *node;
    int r = cluster_check_machine(w->cluster, name, machine_id, boot_id, error);

    if (r == 0)
        r = cluster_join_node(w->cluster, name, "hash", &w->agents[0].offer, w->now, &node, error);
    world_commit(w);
    return r;
}

/* report - session: what the last answer said */
static int report(struct world *w, const char *name, const char *machine_id, const char *boot_id,
                  struct edl_error *error)
{
    struct node *node = cluster_node(w->cluster, name);
    struct node_report heard = { .boot_id = boot_id,
                                 .machine_id = machine_id,
                                 .sent_us = w->now.now_us,
                                 .offer = w->agents[0].offer,
                                 .complete = true };
    int r = cluster_report(w->cluster, node, &heard, w->now, error);

    heard.session = node->session;
    if (r == EDL_ESTALE)
        r = cluster_report(w->cluster, node, &heard, w->now, error);
    world_commit(w);
    return r;
}

static struct world *two_nodes(void)
{
    struct world *w = world_new(1, 4000, GIB, 900);

    assert_int_equal(join(w, "a", MACHINE, "boot-1", NULL), 0);
    assert_int_equal(report(w, "a", MACHINE, "boot-1", NULL), 0);
    return w;
}

TEST(test_a_copy_is_refused_when_it_joins)
{
    struct world *w = two_nodes();
    struct edl_error error = { 0 };

    assert_int_equal(join(w, "b", MACHINE, "boot-2", &error), -EEXIST);
    assert_non_null(strstr(error.text, "node a at "));
    assert_non_null(strstr(error.text, "/etc/machine-id"));
    assert_non_null(strstr(error.remedy, "systemd-machine-id-setup"));
    assert_non_null(strstr(error.remedy, "edl node remove a"));
    assert_string_equal(error.pointer, "/machine_id");
    assert_null(cluster_node(w->cluster, "b"));
    /* with an id of its own it is welcome, and so is who says nothing of the kind */
    assert_int_equal(join(w, "b", OTHER_MACHINE, "boot-2", NULL), 0);
    assert_int_equal(join(w, "c", NULL, NULL, NULL), 0);
    assert_int_equal(join(w, "d", "", "boot-2", NULL), 0);
    world_free(w);
}

static size_t disconnections(struct world *w)
{
    const struct effect *effects;
    size_t n, found = 0;

    effects = cluster_effects(w->cluster, &n);
    for (size_t i = 0; i < n; i++)
        found += effects[i].kind == EFFECT_EVENT && streq(effects[i].event, "node-disconnected") &&
                 streq(effects[i].name, "a");
    return found;
}

TEST(test_an_agent_that_left_is_told_of_once)
{
    struct world *w = two_nodes();
    struct node *node = cluster_node(w->cluster, "a");

    cluster_note_disconnected(w->cluster, node, w->now);
    cluster_note_disconnected(w->cluster, node, w->now);
    assert_int_equal(disconnections(w), 1);
    assert_int_equal(node->state, NODE_READY); /* the lease decides, as ever */
    world_commit(w);
    assert_int_equal(report(w, "a", MACHINE, "boot-1", NULL), 0);
    cluster_note_disconnected(w->cluster, node, w->now);
    assert_int_equal(disconnections(w), 1);
    world_commit(w);
    world_free(w);
}

TEST(test_several_agents_on_one_machine_are_not_copies)
{
    struct world *w = two_nodes();

    assert_int_equal(join(w, "b", MACHINE, "boot-1", NULL), 0);
    assert_int_equal(report(w, "b", MACHINE, "boot-1", NULL), 0);
    /* the machine is started again: one after the other reports from the new boot */
    assert_int_equal(report(w, "a", MACHINE, "boot-2", NULL), 0);
    assert_int_equal(report(w, "b", MACHINE, "boot-2", NULL), 0);
    world_free(w);
}

TEST(test_a_name_is_taken_back)
{
    struct world *w = two_nodes();
    struct edl_error error = { 0 };

    /* renamed and started again: as long as nobody says that it is the same */
    assert_int_equal(join(w, "b", MACHINE, "boot-2", &error), -EEXIST);
    assert_int_equal(cluster_remove_node(w->cluster, cluster_node(w->cluster, "a"), w->now, NULL),
                     0);
    assert_int_equal(join(w, "b", MACHINE, "boot-2", NULL), 0);
    assert_int_equal(report(w, "b", MACHINE, "boot-2", NULL), 0);
    /* or until the one of before is silent for longer than its lease */
    assert_int_equal(join(w, "c", MACHINE, "boot-3", NULL), -EEXIST);
    world_advance(w, 60 * USEC_PER_SEC);
    assert_int_equal(cluster_node(w->cluster, "b")->state, NODE_LOST);
    assert_int_equal(join(w, "c", MACHINE, "boot-3", NULL), 0);
    /* installed anew under its own name */
    assert_int_equal(join(w, "b", OTHER_MACHINE, "boot-4", NULL), 0);
    world_free(w);
}

TEST(test_a_copy_that_slipped_in_is_refused_when_it_reports)
{
    struct world *w = two_nodes();
    struct edl_error error = { 0 };

    assert_int_equal(join(w, "b", NULL, NULL, NULL), 0); /* an agent of before */
    assert_int_equal(report(w, "b", MACHINE, "boot-2", &error), -EEXIST);
    assert_false(cluster_node(w->cluster, "b")->heard);
    assert_int_equal(report(w, "b", OTHER_MACHINE, "boot-2", NULL), 0);
    /* after a restart of the scheduler nobody is known: who comes first is heard */
    world_restart(w);
    assert_int_equal(report(w, "b", MACHINE, "boot-2", NULL), 0);
    assert_int_equal(report(w, "a", MACHINE, "boot-1", &error), -EEXIST);
    assert_non_null(strstr(error.text, "node b"));
    world_free(w);
}

TEST(test_a_copy_of_a_node_that_had_joined)
{
    struct world *w = two_nodes();
    struct edl_error error = { 0 };

    assert_int_equal(report(w, "a", MACHINE, "boot-2", NULL), 0); /* a restart, for all we know */
    assert_int_equal(report(w, "a", MACHINE, "boot-1", &error), -EEXIST);
    assert_non_null(strstr(error.text, "two machines report as node a"));
    assert_non_null(strstr(error.remedy, "state folder"));
    assert_int_equal(report(w, "a", MACHINE, "boot-2", NULL), 0);
    assert_int_equal(report(w, "a", MACHINE, "boot-1", NULL), -EEXIST);
    assert_int_equal(report(w, "a", MACHINE, "boot-3", NULL), 0); /* this is a restart */
    world_free(w);
}
