/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_fit.c - the model and the plan agree which gangs the nodes could run */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node_fit.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/fits.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/ask/reason.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define NODES_MOST 5
#define ROUNDS 4000

static uint64_t random_bits;

static uint32_t below(uint32_t n)
{
    random_bits ^= random_bits << 13;
    random_bits ^= random_bits >> 7;
    random_bits ^= random_bits << 17;
    return (uint32_t)(random_bits >> 16) % n;
}

static struct cluster *some_cluster(void)
{
    const struct cluster_config config = { .policy = world_policy };
    struct cluster *cluster = cluster_new(&config);
    uint32_t n = 1 + below(NODES_MOST);

    for (uint32_t i = 0; i < n; i++) {
        struct node_offer offer = { .cpu_millicores = 500 * (1 + below(4)),
                                    .memory_bytes = GIB * (1 + below(3)),
                                    .gpus = below(3) };
        char name[16];

        if (below(2) > 0) {
            offer.port_first = 30000;
            offer.port_last = (uint16_t)(30000 + below(4));
        }
        if (below(2) > 0)
            assert_int_equal(labels_set(&offer.labels, "rack", below(2) > 0 ? "r0" : "r1", NULL),
                             0);
        (void)snprintf(name, sizeof name, "node-%u", i);
        (void)node_new(cluster, name, below(4) > 0 ? NODE_READY : NODE_CORDONED, &offer);
    }
    return cluster;
}

static void pin(struct role_spec *role)
{
    role->n_nodes = role->max;
    role->nodes = xcalloc(role->n_nodes + 1, sizeof *role->nodes);
    for (uint32_t i = 0; i < role->n_nodes; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "node-%u", below(NODES_MOST));
        role->nodes[i] = xstrdup(name);
    }
}

static void change(struct role_spec *role)
{
    role->cpu_millicores = 100 * below(9);
    role->memory_bytes = (int64_t)(GIB / 4 * below(6));
    role->gpus = below(4) > 0 ? 0 : 1;
    role->n_ports = below(3) > 0 ? 0 : 1;
    if (below(3) == 0) {
        role->selector = xcalloc(1, sizeof *role->selector);
        assert_int_equal(labels_set(role->selector, "rack", below(2) > 0 ? "r0" : "r1", NULL), 0);
    }
    if (below(3) == 0)
        pin(role);
}

static struct job *some_job(struct cluster *cluster)
{
    struct job_spec *spec = world_spec("job", 1 + below(6), 6, 100, below(2) * (1 + below(3)), 100);
    struct job *job;
    struct node *node;

    for (uint32_t r = 0; r < spec->n_roles; r++)
        change(&spec->roles[r]);
    job = job_new(cluster, cluster->next_job_id, spec, "ann");
    for (node = cluster->nodes; node != NULL; node = node->hh.next)
        if (below(4) == 0)
            job_expect_unfit(job, node, below(spec->n_roles),
                             below(2) > 0 ? UNFIT_NO_ACCOUNT : UNFIT_NO_WORKSPACE, "no");
    return job;
}

/* The plan looks for places in its index, and then for a proof that there are none. */
TEST(test_agrees_with_the_plan)
{
    uint32_t n_could = 0;

    random_bits = the_seed(44);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct cluster *cluster = some_cluster();
        struct job *job = some_job(cluster);
        struct demand demands[JOB_ROLES_MAX];
        bool could = job_could_be_complete(cluster, job);
        size_t n = gang_demands_of_job(job, demands);

        rooms_look(cluster->planner);
        if (could != (demands_fit_ever(cluster, demands, n) != FIT_NEVER))
            fail_msg("round %u: %s", i, could ? "the plan says never" : "the model says never");
        n_could += could;
        (void)cluster_free(cluster);
    }
    assert_true(n_could > ROUNDS / 10);
    assert_true(n_could < ROUNDS - ROUNDS / 10);
}

/* Of one instance the plan asks the room of the node. */
TEST(test_agrees_about_one_instance)
{
    random_bits = the_seed(44);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct cluster *cluster = some_cluster();
        const struct job *job = some_job(cluster);
        const struct node *node;

        rooms_look(cluster->planner);
        for (node = cluster->nodes; node != NULL; node = node->hh.next)
            for (uint32_t r = 0; r < job->spec->n_roles; r++) {
                const struct want any = want_of(job, r);
                const struct want slot = want_of_slot(job, r, 0);
                bool large = resources_fit(&node->empty_room->now, &any.need);

                assert_int_equal(node_could_run(node, job, r),
                                 large && room_carries(node->empty_room, &any));
                assert_int_equal(node_could_run_slot(node, job, r, 0),
                                 large && room_carries(node->empty_room, &slot));
            }
        (void)cluster_free(cluster);
    }
}
