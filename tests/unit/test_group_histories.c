/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_histories.c - a group whose ranks come and go comes through each random history, and
 * each mistake that a simpler design would make breaks one
 *
 * EDL_HISTORIES of the design that is built (5,000), from EDL_FIRST_SEED on; EDL_SEED, such as a
 * date, chooses it otherwise. A history that fails is printed event by event. */
#include "libedl/group_plan.h"
#include "shared/macro.h"
#include "tests/sim/group_histories.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define HISTORIES_OF_A_DAY UINT64_C(10000000)

static bool is_mistaken(const struct group_design *design)
{
    return design->histories > 0;
}

static uint64_t first_history(void)
{
    uint64_t day = number_from_environment("EDL_SEED", 0);
    uint64_t first = number_from_environment("EDL_FIRST_SEED", day * HISTORIES_OF_A_DAY);

    print_message("EDL_FIRST_SEED=%" PRIu64 "\n", first);
    return first;
}

/* each design without a mistake in turn */
TEST(test_the_design_comes_through_each_history)
{
    size_t n;
    const struct group_design *designs = group_designs(&n);
    uint64_t first = first_history(), histories = number_from_environment("EDL_HISTORIES", 5000);
    size_t sound = 0;

    while (sound < n && !is_mistaken(&designs[sound]))
        sound++;
    assert_true(sound >= 2);
    for (uint64_t i = 0; i < histories; i++) {
        const struct group_design *design = &designs[(first + i) % sound];
        char failure[GROUP_FAILURE_MAX];

        if (group_history_run(design, first + i, NULL, failure) == 0)
            continue;
        (void)group_history_run(design, first + i, stderr, failure);
        fail_msg("%s: EDL_FIRST_SEED=%" PRIu64 " EDL_HISTORIES=1: %s", design->name, first + i,
                 failure);
    }
}

TEST(test_each_mistake_breaks_a_history)
{
    size_t n, missed = 0;
    const struct group_design *designs = group_designs(&n);

    for (size_t d = 0; d < n; d++) {
        char failure[GROUP_FAILURE_MAX];
        uint64_t seed = 0;

        if (!is_mistaken(&designs[d]))
            continue;
        while (seed < designs[d].histories &&
               group_history_run(&designs[d], seed, NULL, failure) == 0)
            seed++;
        if (seed < designs[d].histories)
            print_message("%s: seed %" PRIu64 ": %s\n", designs[d].name, seed, failure);
        else
            print_message("%s: none of %u histories breaks it\n", designs[d].name,
                          designs[d].histories);
        missed += seed == designs[d].histories;
    }
    assert_int_equal(missed, 0);
}

static char *told(const struct group_design *design, uint64_t seed)
{
    char failure[GROUP_FAILURE_MAX], *text = NULL;
    size_t size;
    FILE *trace = open_memstream(&text, &size);

    assert_non_null(trace);
    (void)group_history_run(design, seed, trace, failure);
    (void)fclose(trace);
    return text;
}

TEST(test_a_seed_is_a_history)
{
    size_t n;
    const struct group_design *designs = group_designs(&n);
    char *once = told(&designs[0], 7), *other = told(&designs[0], 8);
    char *again = told(&designs[0], 7);

    assert_string_equal(once, again);
    assert_string_not_equal(once, other);
    free(once);
    free(other);
    free(again);
}
