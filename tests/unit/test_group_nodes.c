/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_nodes.c - which rank adds up which values, for its node and for all */
#include "libedl/group_nodes.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const struct {
    uint64_t machines[8];
    unsigned n, nodes, slices;
    bool saves;
} cases[] = {
    { { 0 }, 1, 1, 1, false },
    { { 7, 7, 7 }, 3, 1, 3, false },
    { { 7, 8, 9 }, 3, 3, 1, false },
    { { 0, 0, 0 }, 3, 3, 1, false }, /* unknown: nothing is shared */
    { { 7, 8, 7, 8 }, 4, 2, 2, true },
    { { 7, 7, 7, 8 }, 4, 2, 3, true },
    { { 8, 7, 7, 9, 9 }, 5, 3, 2, true },
    { { 7, 7, 7, 8, 8, 9 }, 6, 3, 3, true },
    { { 7, 7, 7, 7, 7, 8, 8, 8 }, 8, 2, 5, true },
    { { 7, 7, 0, 0, 8 }, 5, 4, 2, true },
};

static const size_t sizes[] = { 0, 1, 4, 10, 1009 };

/* each value of a chunk is collected by one rank of each node, and in ascending order */
static void assert_collected(const struct group_nodes *nodes, unsigned n, size_t n_values,
                             unsigned chunk, unsigned node)
{
    size_t at = n_values * chunk / nodes->n;

    for (unsigned k = 0; k < n; k++) {
        struct group_range part = group_nodes_part(nodes, n_values, chunk, k);

        if (nodes->node[k] != node)
            continue;
        assert_int_equal(part.first, at);
        at += part.n;
    }
    assert_int_equal(at, n_values * (chunk + 1) / nodes->n);
}

/* what a rank owns comes once from each other node, from those that it meets */
static void assert_brought(const struct group_nodes *nodes, unsigned n, size_t n_values,
                           unsigned rank)
{
    unsigned own = nodes->node[rank];
    struct group_range mine = group_nodes_part(nodes, n_values, own, rank);

    for (unsigned node = 0; node < nodes->n; node++) {
        size_t at = mine.first;
        unsigned n_met = 0;

        for (unsigned k = 0; node != own && k < n; k++) {
            struct group_range part = group_nodes_common(nodes, n_values, own, k, rank);

            if (nodes->node[k] != node)
                continue;
            assert_true(group_nodes_meet(nodes, k, rank) == group_nodes_meet(nodes, rank, k));
            if (!group_nodes_meet(nodes, k, rank)) {
                assert_int_equal(part.n, 0);
                continue;
            }
            assert_int_equal(part.first, at);
            at += part.n;
            n_met++;
        }
        assert_int_equal(at, node != own ? mine.first + mine.n : mine.first);
        assert_true(n_met > 0 || node == own); /* so that it hears of each node */
    }
}

TEST(test_each_value_has_one_owner_and_one_collector_on_each_node)
{
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct group_nodes nodes;

        assert_true(group_nodes_by_machine(cases[i].machines, cases[i].n, &nodes) ==
                    cases[i].saves);
        assert_int_equal(nodes.n, cases[i].nodes);
        assert_int_equal(nodes.n_slices, cases[i].slices);
        for (size_t s = 0; s < ELEMENTS(sizes); s++) {
            for (unsigned chunk = 0; chunk < nodes.n; chunk++)
                for (unsigned node = 0; node < nodes.n; node++)
                    assert_collected(&nodes, cases[i].n, sizes[s], chunk, node);
            for (unsigned k = 0; k < cases[i].n; k++)
                assert_brought(&nodes, cases[i].n, sizes[s], k);
        }
    }
}

TEST(test_apart_each_meets_each_and_owns_its_slice)
{
    struct group_nodes nodes;

    group_nodes_apart(5, &nodes);
    for (unsigned a = 0; a < 5; a++) {
        struct group_range mine = group_nodes_part(&nodes, 1009, a, a);

        assert_int_equal(mine.first, 1009 * a / 5);
        assert_int_equal(mine.first + mine.n, 1009 * (a + 1) / 5);
        for (unsigned b = 0; b < 5; b++)
            assert_true(group_nodes_meet(&nodes, a, b) == (a != b));
    }
}

/* 2 (n - 1) / n gradients for each node, where apart each of m ranks sends 2 (N - m) / N */
TEST(test_what_goes_from_node_to_node_does_not_grow_with_ranks)
{
    static const uint64_t machines[] = { 7, 7, 7, 7, 8, 8, 8, 8 };
    struct group_nodes nodes, apart;
    size_t values[2] = { 0 };

    assert_true(group_nodes_by_machine(machines, 8, &nodes));
    group_nodes_apart(8, &apart);
    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 4; b < 8; b++) {
            values[0] += group_nodes_common(&nodes, 8000, 1, a, b).n; /* brought */
            values[0] += group_nodes_common(&nodes, 8000, 0, a, b).n; /* given */
            values[1] += group_nodes_common(&apart, 8000, b, a, b).n +
                         group_nodes_common(&apart, 8000, a, a, b).n;
        }
    assert_int_equal(values[0], 8000);
    assert_int_equal(values[1], 4 * 8000);
}
