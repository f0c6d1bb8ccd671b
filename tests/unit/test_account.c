/* SPDX-License-Identifier: Apache-2.0 */
/* test_account.c - why a job waits, node by node, and the changes that would start it: that it
 * really does */
#include <stdio.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/ask/reason.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct job_account account_of(struct world *w, const char *name)
{
    struct job_account account;

    cluster_account(w->cluster, cluster_find_job(w->cluster, name), &account);
    world_check(w); /* it changed nothing */
    return account;
}

static const struct node_account *of_node(const struct job_account *account, const char *name)
{
    for (size_t i = 0; i < account->n_nodes; i++)
        if (streq(account->nodes[i].node->name, name))
            return &account->nodes[i];
    fail_msg("%s is not listed", name);
    return NULL;
}

/* Two nodes of 1000m; 600m and 500m are taken. */
static struct world *busy_world(void)
{
    struct world *w = world_new(2, 1000, GIB, 1000);

    (void)world_submit(w, world_spec("large", 1, 1, 600, 0, 0));
    world_run(w, 3);
    (void)world_submit(w, world_spec("small", 1, 1, 500, 0, 0));
    world_run(w, 3);
    return w;
}

TEST(test_so_much_more_on_one_node)
{
    struct world *w = busy_world();
    struct job_account account;
    size_t at;

    (void)world_submit(w, world_spec("waits", 2, 2, 450, 0, 0));
    world_run(w, 3);
    account = account_of(w, "waits");
    assert_int_equal(account.wanted, 2);
    assert_int_equal(account.needs.cpu_millicores, 450);
    assert_int_equal(account.n_nodes, 2);
    assert_int_equal(account.change, CHANGE_ROOM);
    assert_int_equal(account.nodes[0].verdict, ACCOUNT_FITS); /* the one with 500m */
    assert_int_equal(account.nodes[0].fits, 1);
    assert_int_equal(account.nodes[1].verdict, ACCOUNT_FULL);
    assert_int_equal(account.nodes[1].free.cpu_millicores, 400);
    assert_int_equal(account.nodes[1].lacks.cpu_millicores, 50);
    /* one finds its place; for the other 50m are missing where 400m are free */
    assert_int_equal(account.more.cpu_millicores, 50);
    assert_ptr_equal(account.on, account.nodes[1].node);
    assert_non_null(strstr(account.text, "50m more CPU on one node; "));
    at = streq(account.on->name, w->agents[0].name) ? 0 : 1;
    w->agents[at].offer.cpu_millicores += 49;
    world_run(w, 3);
    assert_int_equal(cluster_find_job(w->cluster, "waits")->state, JOB_QUEUED);
    w->agents[at].offer.cpu_millicores += 1;
    world_run(w, 3);
    assert_int_equal(cluster_find_job(w->cluster, "waits")->state, JOB_RUNNING);
    account = account_of(w, "waits");
    assert_int_equal(account.change, CHANGE_NONE);
    assert_int_equal(account.n_nodes, 0);
    world_free(w);
}

TEST(test_nodes_that_take_nothing)
{
    struct world *w = busy_world();
    struct job_account account;

    assert_int_equal(cluster_set_node_state(w->cluster, cluster_node(w->cluster, "node-0"),
                                            NODE_CORDONED, w->now, NULL),
                     0);
    (void)world_submit(w, world_spec("waits", 1, 1, 1500, 0, 0));
    world_run(w, 3);
    account = account_of(w, "waits");
    assert_int_equal(of_node(&account, "node-0")->verdict, ACCOUNT_CLOSED);
    assert_int_equal(of_node(&account, "node-1")->verdict, ACCOUNT_TOO_SMALL);
    assert_int_equal(account.change, CHANGE_SMALLER);
    world_free(w);
}

TEST(test_labels)
{
    struct world *w = busy_world();
    struct job_spec *spec = world_spec("waits", 1, 1, 100, 0, 0);
    struct job_account account;

    assert_int_equal(role_select(&spec->roles[spec->n_roles - 1], "gpu", "a100", NULL), 0);
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "gpu", "a100", NULL), 0);
    w->agents[1].offer.cpu_millicores = 550; /* some of it is granted */
    world_run(w, 3);
    (void)world_submit(w, spec);
    world_run(w, 3);
    account = account_of(w, "waits");
    assert_int_equal(of_node(&account, "node-0")->verdict, ACCOUNT_LABELS);
    assert_int_equal(of_node(&account, "node-1")->verdict, ACCOUNT_FULL);
    assert_int_equal(account.change, CHANGE_ROOM);
    assert_ptr_equal(account.on, cluster_node(w->cluster, "node-1"));
    w->agents[1].offer.cpu_millicores += (uint64_t)account.more.cpu_millicores;
    world_run(w, 3);
    assert_int_equal(cluster_find_job(w->cluster, "waits")->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_the_job_before_it)
{
    struct world *w = busy_world();
    struct job_account account;

    (void)world_submit(w, world_spec("first", 1, 1, 900, 0, 0));
    (void)world_submit(w, world_spec("second", 1, 1, 900, 0, 0));
    world_run(w, 3);
    account = account_of(w, "second");
    assert_int_equal(account.change, CHANGE_JOB);
    assert_ptr_equal(account.before, cluster_find_job(w->cluster, "first"));
    assert_int_equal(account_of(w, "first").change, CHANGE_ROOM);
    assert_int_equal(account_of(w, "large").change, CHANGE_NONE);
    world_free(w);
}

/* It would start but for what is not ours, and does when that ends. */
TEST(test_foreign_load)
{
    struct world *w = world_new(2, 1000, GIB, 1000);
    struct job_account account;
    const struct job *job;
    char text[JOB_REASON_SIZE];

    w->cluster->config.foreign_hold_us = 0;
    w->agents[0].foreign_cpu_millicores = 700;
    w->agents[1].foreign_cpu_millicores = 300;
    world_run(w, 3);
    (void)world_submit(w, world_spec("waits", 2, 2, 800, 0, 0));
    world_run(w, 3);
    job = cluster_find_job(w->cluster, "waits");
    assert_int_equal(job->state, JOB_QUEUED);
    assert_string_equal(job->reason_code, "foreign-load");
    assert_non_null(strstr(job->reason, "other programs use 1000m CPU"));
    assert_non_null(strstr(job->reason, "on 2 nodes, most on node-0"));
    assert_string_equal(cluster_explain_code(w->cluster, job), "foreign-load");
    account = account_of(w, "waits");
    assert_int_equal(account.change, CHANGE_FOREIGN);
    assert_string_equal(wait_change_to_string(account.change), "foreign-load");
    assert_ptr_equal(account.on, cluster_node(w->cluster, "node-0"));
    assert_int_equal(of_node(&account, "node-0")->verdict, ACCOUNT_FOREIGN);
    assert_int_equal(of_node(&account, "node-0")->foreign.cpu_millicores, 700);
    assert_int_equal(of_node(&account, "node-0")->lacks.cpu_millicores, 500);
    w->agents[0].foreign_cpu_millicores = 200;
    world_run(w, 3);
    assert_int_equal(job->state, JOB_QUEUED); /* node-1 is left */
    (void)cluster_explain(w->cluster, job, text, sizeof text);
    assert_non_null(strstr(text, "other programs use 500m CPU"));
    w->agents[1].foreign_cpu_millicores = 200;
    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

/* A job holds what is wanted, and other programs some more: their end alone would not do. */
TEST(test_foreign_load_is_not_named_in_vain)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job_account account;

    w->agents[0].foreign_cpu_millicores = 100;
    (void)world_submit(w, world_spec("holds", 1, 1, 500, 0, 0));
    world_run(w, 3);
    (void)world_submit(w, world_spec("waits", 1, 1, 800, 0, 0));
    world_run(w, 3);
    account = account_of(w, "waits");
    assert_int_equal(account.change, CHANGE_ROOM);
    assert_int_equal(of_node(&account, "node-0")->verdict, ACCOUNT_FULL);
    assert_string_not_equal(cluster_explain_code(w->cluster, cluster_find_job(w->cluster, "waits")),
                            "foreign-load");
    world_free(w);
}

/* Of many nodes the nearest are listed and the others summed up. */
TEST(test_the_list_is_bounded)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job_account account;
    struct node_offer offer = w->agents[0].offer;
    struct node *node;
    char name[16];

    (void)world_submit(w, world_spec("waits", 1, 1, 5000, 0, 0));
    world_run(w, 2);
    for (int i = 0; i < 50; i++) {
        struct node_report report = { .boot_id = "boot", .complete = true };

        (void)snprintf(name, sizeof name, "n%02d", i);
        offer.cpu_millicores = (uint64_t)(1000 + i);
        report.offer = offer;
        assert_int_equal(cluster_join_node(w->cluster, name, "c", &offer, w->now, &node, NULL), 0);
        if (i < 30)
            assert_int_equal(cluster_report(w->cluster, node, &report, w->now, NULL), 0);
    }
    cluster_plan(w->cluster, w->now);
    account = account_of(w, "waits");
    assert_int_equal(account.n_nodes, ACCOUNT_NODES_MAX);
    assert_string_equal(account.nodes[0].node->name, "n29");
    assert_string_equal(account.nodes[19].node->name, "n10");
    assert_int_equal(account.others[ACCOUNT_TOO_SMALL], 11);
    assert_int_equal(account.others[ACCOUNT_CLOSED], 20);
    world_free(w);
}
