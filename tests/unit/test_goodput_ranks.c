/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_ranks.c - sums of weights by rank, kept up to date while jobs come and go */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "scheduler/core/policy/ranks.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/test.h"

#define JOBS 300

struct member {
    struct goodput_rank rank; /* first */
    double length, weight;
    double told; /* its sum when it was last named */
    bool there;
};

struct world {
    struct goodput_ranks ranks;
    struct member members[JOBS];
    size_t named; /* since it was set to 0 */
};

static void name(struct goodput_rank *rank, void *userdata)
{
    struct world *world = userdata;

    ((struct member *)rank)->told = goodput_ranks_before(rank);
    world->named++;
}

static void put(struct world *world, size_t i, double length, double weight)
{
    struct member *member = &world->members[i];

    member->there = true;
    member->length = length;
    member->weight = weight;
    goodput_ranks_put(&world->ranks, &member->rank, length, weight);
    member->told = goodput_ranks_before(&member->rank);
}

static void take(struct world *world, size_t i)
{
    world->members[i].there = false;
    goodput_ranks_remove(&world->ranks, &world->members[i].rank);
}

static void settle(struct world *world)
{
    goodput_ranks_settle(&world->ranks, name, world);
}

static struct world *world_new(void)
{
    struct world *world = xcalloc(1, sizeof *world);

    goodput_ranks_init(&world->ranks);
    return world;
}

static void world_done(struct world *world)
{
    for (size_t i = 0; i < JOBS; i++)
        take(world, i);
    goodput_ranks_done(&world->ranks);
    free(world);
}

/* Nobody's sum may differ from what it was told, after any history; and it is that of a set that
 * was made at once, in another order. */
static void check(const struct world *world)
{
    struct world *fresh = world_new();

    for (size_t i = JOBS; i-- > 0;)
        if (world->members[i].there)
            put(fresh, i, world->members[i].length, world->members[i].weight);
    settle(fresh);
    for (size_t i = 0; i < JOBS; i++) {
        if (!world->members[i].there)
            continue;
        assert_true(world->members[i].told == goodput_ranks_before(&world->members[i].rank));
        assert_true(world->members[i].told == goodput_ranks_before(&fresh->members[i].rank));
    }
    world_done(fresh);
}

TEST(test_who_has_another_sum_is_named)
{
    struct world *world = world_new();
    uint64_t seed = 7;

    for (int event = 0; event < 3000; event++) {
        size_t i = random_below(&seed, JOBS);

        if (world->members[i].there && random_below(&seed, 3) == 0)
            take(world, i);
        else
            put(world, i, (double)random_below(&seed, 60),
                exp2((double)random_below(&seed, 5) - 2));
        if (random_below(&seed, 3) > 0)
            continue; /* several events between two settlements */
        settle(world);
        if (event % 20 == 0)
            check(world);
    }
    settle(world);
    check(world);
    world_done(world);
}

/* Steps are half an octave: no further from what it is than half of one. */
TEST(test_sums_are_near_what_they_are)
{
    struct world *world = world_new();
    double last = 0;

    for (size_t i = 0; i < JOBS; i++)
        put(world, i, (double)(JOBS - i), 1);
    settle(world);
    assert_true(goodput_ranks_before(&world->members[0].rank) == 0);
    for (size_t i = 1; i < JOBS; i++) {
        double before = goodput_ranks_before(&world->members[i].rank);

        assert_in_range((uint64_t)(1000 * before / (double)i), 1000 / 1.2, 1000 * 1.2);
        assert_true(before >= last);
        last = before;
    }
    world_done(world);
}

TEST(test_equal_lengths_weigh_the_same)
{
    struct world *world = world_new();
    double before;

    put(world, 0, 100, 1);
    for (size_t i = 1; i < 9; i++)
        put(world, i, 10, 1);
    put(world, 9, 1, 1);
    settle(world);
    before = goodput_ranks_before(&world->members[1].rank);
    for (size_t i = 1; i < 9; i++)
        assert_true(goodput_ranks_before(&world->members[i].rank) == before);
    assert_true(goodput_ranks_before(&world->members[0].rank) < before);
    assert_true(goodput_ranks_before(&world->members[9].rank) > before);
    world_done(world);
}

/* One more job moves the ranks of all that are shorter: few of them weigh something else by it. */
TEST(test_one_event_names_few)
{
    struct world *world = world_new();

    for (size_t i = 0; i < JOBS - 1; i++)
        put(world, i, (double)(JOBS - i), 1);
    settle(world);
    world->named = 0;
    put(world, JOBS - 1, JOBS + 1, 1);
    settle(world);
    assert_in_range(world->named, 1, 20); /* of 300; 2 steps an octave */
    world->named = 0;
    settle(world);
    assert_int_equal(world->named, 0);
    world_done(world);
}
