/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_plan.c - what the ranks of a new generation do first */
#include "libedl/group_plan.h"
#include "tests/unit/test.h"

#define V 8

static struct group_cover cover_of(unsigned bits)
{
    struct group_cover cover = { 0 };

    for (unsigned m = 0; m < 32; m++)
        if (bits >> m & 1)
            group_cover_add(&cover, m);
    return cover;
}

static unsigned bits_of(const struct group_cover *cover)
{
    unsigned bits = 0;

    for (unsigned m = 0; m < 32; m++)
        bits |= (unsigned)group_cover_has(cover, m) << m;
    return bits;
}

static struct group_hello kept(uint64_t identity, uint64_t applied, unsigned bits)
{
    return (struct group_hello){ .identity = identity,
                                 .applied = applied,
                                 .gradient_step = applied + 1,
                                 .micro_batches = V,
                                 .cover = cover_of(bits) };
}

static void assert_each_once(const struct group_plan *plan, unsigned n, unsigned micro_batches)
{
    for (unsigned m = 0; m < GROUP_MICRO_BATCHES_MAX; m++) {
        unsigned takers = 0;

        for (unsigned k = 0; k < n; k++)
            takers += group_cover_has(&plan->take[k], m);
        assert_int_equal(takers, m < micro_batches ? 1 : 0);
    }
}

TEST(test_a_fresh_group_shares_equally)
{
    struct group_hello hellos[3] = { { 0 } };
    struct group_plan plan;

    group_plan_make(hellos, 3, V, &plan);
    assert_int_equal(plan.donor, 0);
    assert_int_equal(plan.applied, 0);
    for (unsigned k = 0; k < 3; k++) {
        struct group_cover share = group_share(k, 3, V);

        assert_false(plan.behind[k]);
        assert_false(plan.keeps[k]);
        assert_int_equal(bits_of(&plan.take[k]), bits_of(&share));
    }
    assert_each_once(&plan, 3, V);
}

TEST(test_the_newest_identity_wins_over_more_steps)
{
    struct group_hello hellos[] = { { .identity = 3, .applied = 9 },
                                    { .identity = 4, .applied = 8 },
                                    { .identity = 4, .applied = 8 },
                                    { .identity = 4, .applied = 7 } };
    static const bool behind[] = { true, false, false, true };
    struct group_plan plan;

    group_plan_make(hellos, 4, V, &plan);
    assert_int_equal(plan.identity, 4);
    assert_int_equal(plan.applied, 8);
    assert_int_equal(plan.donor, 1);
    assert_memory_equal(plan.behind, behind, sizeof behind);
}

TEST(test_what_was_kept_stays_and_the_rest_goes_to_the_least_laden)
{
    struct group_hello hellos[] = { kept(2, 5, 0x07),
                                    kept(2, 5, 0x18),
                                    { .identity = 2, .applied = 5 } };
    struct group_plan plan;

    group_plan_make(hellos, 3, V, &plan);
    assert_true(plan.keeps[0] && plan.keeps[1] && !plan.keeps[2]);
    assert_int_equal(bits_of(&plan.take[0]), 0x07);
    assert_int_equal(bits_of(&plan.take[1]), 0x98);
    assert_int_equal(bits_of(&plan.take[2]), 0x60);
    assert_each_once(&plan, 3, V);
}

TEST(test_a_gradient_that_does_not_fit_is_not_kept)
{
    struct group_hello stale = kept(2, 5, 0x01), other_step = kept(2, 5, 0x02),
                       other_number = kept(2, 5, 0x04), twice = kept(2, 5, 0x30),
                       too_high = kept(2, 5, 0x100);
    struct group_hello hellos[] = { kept(2, 5, 0x10), stale, other_step,
                                    other_number,     twice, too_high };
    struct group_plan plan;

    hellos[1].identity = 1;
    hellos[2].gradient_step = 5;
    hellos[3].micro_batches = V + 1;
    group_plan_make(hellos, 6, V, &plan);
    assert_true(plan.keeps[0]);
    for (unsigned k = 1; k < 6; k++)
        assert_false(plan.keeps[k]);
    assert_true(plan.behind[1]);
    assert_each_once(&plan, 6, V);
}

/* The choice of one counts for all: of the donor, who has the state that it follows from. */
TEST(test_the_donor_chooses_the_batch)
{
    struct group_hello hellos[] = { { .identity = 3, .applied = 9, .chosen = 2 },
                                    { .identity = 4, .applied = 8, .chosen = 16 },
                                    { .identity = 4, .applied = 8, .chosen = 4 },
                                    { .chosen = 8 } };
    struct group_plan plan;

    assert_int_equal(group_plan_micro_batches(hellos, 4), 16);
    hellos[2] = kept(4, 8, 0x0f); /* of a step with V */
    group_plan_make(hellos, 4, group_plan_micro_batches(hellos, 4), &plan);
    assert_false(plan.keeps[2]);
    assert_each_once(&plan, 4, 16);
}

TEST(test_ranks_beyond_the_micro_batches_take_none)
{
    struct group_hello hellos[GROUP_RANKS_MAX] = { { 0 } };
    struct group_plan plan;

    group_plan_make(hellos, GROUP_RANKS_MAX, 3, &plan);
    assert_each_once(&plan, GROUP_RANKS_MAX, 3);
    group_plan_make(hellos, GROUP_RANKS_MAX, GROUP_MICRO_BATCHES_MAX, &plan);
    assert_each_once(&plan, GROUP_RANKS_MAX, GROUP_MICRO_BATCHES_MAX);
    hellos[9] = kept(0, 0, 0x01);
    hellos[9].micro_batches = GROUP_MICRO_BATCHES_MAX;
    group_plan_make(hellos, GROUP_RANKS_MAX, GROUP_MICRO_BATCHES_MAX, &plan);
    assert_true(plan.keeps[9]);
    assert_each_once(&plan, GROUP_RANKS_MAX, GROUP_MICRO_BATCHES_MAX);
}
