/* SPDX-License-Identifier: Apache-2.0 */
/* test_fair.c - callers in turn, how much of each may wait, and when each may be served */
#include <stdint.h>

#include "scheduler/calls/fair.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ANY ((struct fair_limits){ 0 })

struct call {
    struct fair_item item; /* first */
    char name;
};

static struct call call(char name)
{
    return (struct call){ .name = name };
}

static char take(struct fair *fair, unsigned classes)
{
    struct call *next = (struct call *)fair_take(fair, classes);

    return next != NULL ? next->name : '-';
}

TEST(test_a_thousand_of_one_keep_nobody_waiting)
{
    struct fair *fair = fair_new(&ANY);
    struct call many[1000], one = call('b'), other = call('c');

    for (size_t i = 0; i < ELEMENTS(many); i++) {
        many[i] = call('a');
        assert_int_equal(fair_add(fair, "anna", FAIR_ANYTIME, &many[i].item), FAIR_TAKEN);
    }
    assert_int_equal(take(fair, FAIR_ALL), 'a');
    assert_int_equal(fair_add(fair, "bert", FAIR_ANYTIME, &one.item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "cleo", FAIR_ANYTIME, &other.item), FAIR_TAKEN);
    assert_int_equal(take(fair, FAIR_ALL), 'a');
    assert_int_equal(take(fair, FAIR_ALL), 'b');
    assert_int_equal(take(fair, FAIR_ALL), 'c');
    for (size_t i = 2; i < ELEMENTS(many); i++)
        assert_int_equal(take(fair, FAIR_ALL), 'a');
    assert_int_equal(take(fair, FAIR_ALL), '-');
    assert_null(fair_free(fair));
}

TEST(test_callers_take_turns)
{
    static const struct {
        const char *caller;
        char name;
    } asked[] = { { "anna", '1' }, { "anna", '2' }, { "bert", '3' },
                  { "anna", '4' }, { "bert", '5' }, { "cleo", '6' } };
    static const char served[] = "136254";
    struct fair *fair = fair_new(&ANY);
    struct call calls[ELEMENTS(asked)];

    for (size_t i = 0; i < ELEMENTS(asked); i++) {
        calls[i] = call(asked[i].name);
        assert_int_equal(fair_add(fair, asked[i].caller, FAIR_ANYTIME, &calls[i].item), FAIR_TAKEN);
    }
    for (size_t i = 0; i < ELEMENTS(asked); i++)
        assert_int_equal(take(fair, FAIR_ALL), served[i]);
    (void)fair_free(fair);
}

TEST(test_each_has_a_bound)
{
    const struct fair_limits limits = { .each = 2, .all = 3 };
    struct fair *fair = fair_new(&limits);
    struct call calls[6];

    for (size_t i = 0; i < ELEMENTS(calls); i++)
        calls[i] = call((char)('0' + i));
    assert_int_equal(fair_add(fair, "anna", FAIR_ANYTIME, &calls[0].item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "anna", FAIR_SETTLED, &calls[1].item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "anna", FAIR_ANYTIME, &calls[2].item), FAIR_CALLER_FULL);
    assert_null(calls[2].item.caller);
    assert_int_equal(fair_add(fair, "bert", FAIR_ANYTIME, &calls[3].item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "bert", FAIR_ANYTIME, &calls[4].item), FAIR_FULL);
    /* one who has nothing waiting comes in whatever the others do */
    assert_int_equal(fair_add(fair, "cleo", FAIR_ANYTIME, &calls[5].item), FAIR_TAKEN);
    assert_int_equal(fair_waiting(fair, FAIR_ALL), 4);
    assert_int_equal(take(fair, FAIR_ALL), '0');
    assert_int_equal(take(fair, FAIR_ALL), '3');
    assert_int_equal(fair_add(fair, "anna", FAIR_ANYTIME, &calls[2].item), FAIR_TAKEN);
    (void)fair_free(fair);
    assert_null(calls[1].item.caller); /* nobody is left pointing into what is gone */
    assert_null(calls[2].item.caller);
}

TEST(test_what_waits_for_a_commit_holds_up_nothing_else)
{
    struct fair *fair = fair_new(&ANY);
    struct call read = call('r'), change = call('c'), other = call('o');

    assert_int_equal(fair_add(fair, "anna", FAIR_SETTLED, &read.item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "anna", FAIR_ANYTIME, &change.item), FAIR_TAKEN);
    assert_int_equal(fair_add(fair, "bert", FAIR_SETTLED, &other.item), FAIR_TAKEN);
    assert_int_equal(fair_waiting(fair, FAIR_ONLY(FAIR_SETTLED)), 2);
    assert_int_equal(take(fair, FAIR_ONLY(FAIR_ANYTIME)), 'c');
    assert_int_equal(take(fair, FAIR_ONLY(FAIR_ANYTIME)), '-');
    assert_int_equal(fair_waiting(fair, FAIR_ONLY(FAIR_ANYTIME)), 0);
    assert_int_equal(take(fair, FAIR_ALL), 'o'); /* anna has just had her turn */
    assert_int_equal(take(fair, FAIR_ALL), 'r');
    (void)fair_free(fair);
}

TEST(test_one_that_leaves_is_passed_over)
{
    struct fair *fair = fair_new(&ANY);
    struct call a = call('a'), b = call('b'), gone = call('g');

    (void)fair_add(fair, "anna", FAIR_ANYTIME, &gone.item);
    (void)fair_add(fair, "anna", FAIR_ANYTIME, &a.item);
    (void)fair_add(fair, "bert", FAIR_ANYTIME, &b.item);
    fair_remove(fair, &gone.item);
    fair_remove(fair, &gone.item); /* twice is once */
    assert_int_equal(take(fair, FAIR_ALL), 'a');
    fair_remove(fair, &b.item);
    assert_int_equal(take(fair, FAIR_ALL), '-');
    assert_int_equal(fair_waiting(fair, FAIR_ALL), 0);
    (void)fair_free(fair);
}
