/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks.c - the place of a process among the others of its role
 *
 * A role is a text with a letter for each slot: a to z is a process on that node, A to Z one there
 * that is asked to stop, '+' is to be started again, '=' has finished, '.' is empty. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/events/ranks.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { SLOTS = 1024, NODES = 26, NOBODY = -1 };

struct role {
    struct job job;
    struct slot slots[SLOTS], *lists[1];
    struct process processes[SLOTS];
    struct node nodes[NODES];
    uint32_t n_slots[1];
};

static struct role *role_of(const char *text, uint64_t gpu_mask)
{
    struct role *role = xcalloc(1, sizeof *role);

    role->lists[0] = role->slots;
    role->job.slots = role->lists;
    role->job.n_slots = role->n_slots;
    role->n_slots[0] = (uint32_t)strlen(text);
    assert_in_range(role->n_slots[0], 1, SLOTS);
    for (uint32_t i = 0; i < role->n_slots[0]; i++) {
        struct process *process = &role->processes[i];

        role->slots[i].due = text[i] == '+';
        role->slots[i].finished = text[i] == '=';
        if (!isalpha((unsigned char)text[i]))
            continue;
        *process = (struct process){ .job = &role->job, .index = i, .gpu_mask = gpu_mask };
        process->node = &role->nodes[tolower((unsigned char)text[i]) - 'a'];
        process->stop_wanted = isupper((unsigned char)text[i]);
        role->slots[i].live = process;
    }
    return role;
}

struct row {
    const char *slots;
    uint32_t index;
    uint32_t expected[5]; /* rank, of how many, local rank, of how many, group */
    int master;           /* the slot of rank 0 */
};

static void check(const struct row *row, uint64_t gpu_mask)
{
    struct role *role = role_of(row->slots, gpu_mask);
    struct process_ranks ranks;

    ranks_of(&role->processes[row->index], &ranks);
    if (memcmp(row->expected,
               (uint32_t[]){ ranks.rank, ranks.world_size, ranks.local_rank, ranks.local_size,
                             ranks.group_rank },
               sizeof row->expected) != 0)
        fail_msg("%s, slot %u: rank %u of %u, local %u of %u, group %u", row->slots, row->index,
                 ranks.rank, ranks.world_size, ranks.local_rank, ranks.local_size,
                 ranks.group_rank);
    if (row->master == NOBODY)
        assert_null(ranks.master);
    else
        assert_ptr_equal(ranks.master, &role->processes[row->master]);
    free(role);
}

TEST(test_processes_without_gpus_are_a_group_per_node)
{
    static const struct row rows[] = {
        { "a", 0, { 0, 1, 0, 1, 0 }, 0 },
        { "abc", 2, { 2, 3, 0, 1, 2 }, 0 },  /* one on each node */
        { "aabb", 1, { 1, 4, 1, 2, 0 }, 0 }, /* two on each */
        { "aabb", 2, { 2, 4, 0, 2, 1 }, 0 },
        { "abab", 2, { 2, 4, 1, 2, 0 }, 0 },  /* mixed */
        { "cacba", 3, { 3, 5, 0, 1, 2 }, 0 }, /* nodes by their first rank, c a b */
        { "cacba", 4, { 4, 5, 1, 2, 1 }, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        check(&rows[i], 0);
}

TEST(test_a_process_with_gpus_is_alone_with_them)
{
    static const struct row rows[] = {
        { "a", 0, { 0, 1, 0, 1, 0 }, 0 },
        { "aaaa", 2, { 2, 4, 0, 1, 2 }, 0 }, /* set_device(2) would fail: it sees one */
        { "abab", 3, { 3, 4, 0, 1, 3 }, 0 },
        { "a+aA", 2, { 2, 3, 0, 1, 2 }, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        check(&rows[i], 1);
        check(&rows[i], UINT64_C(0xf0)); /* four of its own count from 0 as well */
    }
}

TEST(test_ranks_have_no_gap)
{
    static const struct row rows[] = {
        { "a..b.a", 3, { 1, 3, 0, 1, 1 }, 0 },
        { "a..b.a", 5, { 2, 3, 1, 2, 0 }, 0 },
        { "...b.a", 3, { 0, 2, 0, 1, 0 }, 3 },
        { "AaBb", 3, { 1, 2, 0, 1, 1 }, 1 }, /* those that leave have no place */
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        check(&rows[i], 0);
}

/* What the others were told when they started stays true when one of them starts again. */
TEST(test_a_place_is_kept_for_its_next_process)
{
    static const struct row rows[] = {
        { "a+b", 2, { 2, 3, 0, 1, 1 }, 0 },
        { "a=b", 2, { 2, 3, 0, 1, 1 }, 0 },
        { "+ab", 1, { 1, 3, 0, 1, 0 }, NOBODY }, /* where rank 0 will be is not known yet */
        { "=ab", 2, { 2, 3, 0, 1, 1 }, NOBODY },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        check(&rows[i], 0);
}

/* One that is asked to stop before its agent took it is asked about as well. */
TEST(test_a_process_counts_itself)
{
    check(&(struct row){ "aAb", 1, { 1, 3, 1, 2, 0 }, 0 }, 0);
    check(&(struct row){ "A.b", 0, { 0, 2, 0, 1, 0 }, 0 }, 0);
}

TEST(test_a_large_gang_is_counted_once_each)
{
    char text[SLOTS + 1] = "";
    bool seen[SLOTS] = { false };
    struct role *role;

    for (uint32_t i = 0; i < SLOTS; i++)
        text[i] = (char)('a' + i * 7 % NODES);
    role = role_of(text, 0);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct process_ranks ranks;

        ranks_of(&role->processes[i], &ranks);
        assert_int_equal(ranks.rank, i);
        assert_int_equal(ranks.world_size, SLOTS);
        assert_in_range(ranks.group_rank, 0, NODES - 1);
        assert_in_range(ranks.local_rank, 0, ranks.local_size - 1);
        assert_false(seen[ranks.local_rank * NODES + ranks.group_rank]);
        seen[ranks.local_rank * NODES + ranks.group_rank] = true;
    }
    free(role);
}
