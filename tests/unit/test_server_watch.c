/* SPDX-License-Identifier: Apache-2.0 */
/* test_server_watch.c - whom `edl` looks at while one of several schedulers does not answer */
#include "client/server_watch.h"

#include "shared/macro.h"
#include "tests/unit/test.h"

static const struct server_word stands_by = { .named = SERVERS_MAX };

static struct server_watch watch_of(unsigned n, unsigned current)
{
    struct server_watch watch = { 0 };

    server_watch_call(&watch, n, current);
    return watch;
}

static void assert_stays(struct server_watch *watch, unsigned at, const struct server_word *word)
{
    struct server_step step = server_watch_heard(watch, at, word);

    assert_false(step.moves);
    assert_int_equal(step.looks, 0);
}

static void assert_moves(struct server_watch *watch, unsigned at, uint64_t term)
{
    const struct server_word word = { .leads = true, .named = SERVERS_MAX, .term = term };
    struct server_step step = server_watch_heard(watch, at, &word);

    assert_true(step.moves);
    assert_int_equal(step.to, at);
}

static struct server_word leads(uint64_t term)
{
    return (struct server_word){ .leads = true, .named = SERVERS_MAX, .term = term };
}

TEST(test_the_next_address_comes_a_step_later_each)
{
    struct server_watch watch = watch_of(3, 1);
    uint64_t next_us;

    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 1 | 1U << 2);
    assert_int_equal(next_us, WATCH_STEP_US);
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0);
    assert_int_equal(next_us, WATCH_AGAIN_US);
    assert_int_equal(server_watch_due(&watch, &next_us), 0); /* they are all under way */
    assert_stays(&watch, 2, NULL);
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 2);
    assert_stays(&watch, 0, &stands_by);
    assert_stays(&watch, 2, &stands_by);
    assert_stays(&watch, 1, &stands_by); /* looked at once: its call waits there */
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0 | 1U << 2);
}

TEST(test_two_addresses_and_all_that_may_be)
{
    struct server_watch watch = watch_of(2, 0);
    uint32_t seen = 0;
    uint64_t next_us;

    assert_int_equal(server_watch_due(&watch, &next_us), 3);
    assert_int_equal(next_us, WATCH_AGAIN_US);
    watch = watch_of(SERVERS_MAX, SERVERS_MAX - 1);
    for (unsigned i = 0; i + 1 < SERVERS_MAX; i++) {
        uint32_t due = server_watch_due(&watch, &next_us);

        assert_int_equal(seen & due, 0);
        seen |= due;
    }
    assert_int_equal(seen, (1U << SERVERS_MAX) - 1);
    assert_int_equal(server_watch_due(&watch, &next_us), 0);
}

TEST(test_the_call_moves_from_one_that_says_nothing)
{
    struct server_watch watch = watch_of(2, 0);
    uint64_t next_us;

    (void)server_watch_due(&watch, &next_us);
    assert_moves(&watch, 1, 4);
}

TEST(test_a_leader_that_is_well_keeps_its_long_poll_until_there_is_a_higher_term)
{
    struct server_watch watch = watch_of(2, 0);
    struct server_word own = leads(7), old = leads(6);
    uint64_t next_us;

    (void)server_watch_due(&watch, &next_us);
    assert_stays(&watch, 0, &own);
    assert_stays(&watch, 1, &stands_by);
    assert_stays(&watch, 1, &own); /* two addresses of one scheduler */
    assert_stays(&watch, 1, &old);
    server_watch_call(&watch, 2, 0); /* the next call */
    (void)server_watch_due(&watch, &next_us);
    assert_moves(&watch, 1, 8);
    server_watch_call(&watch, 2, 1);
    assert_stays(&watch, 0, &own); /* it was deposed, and does not know it */
    assert_moves(&watch, 0, 9);
}

TEST(test_one_of_a_term_that_is_over_is_not_followed)
{
    struct server_watch watch = watch_of(3, 0);
    struct server_word old = leads(7);

    assert_moves(&watch, 1, 8);
    server_watch_call(&watch, 3, 2); /* which says nothing */
    assert_stays(&watch, 0, &old);
    assert_moves(&watch, 1, 8);
}

TEST(test_one_scheduler_without_terms_is_not_changed_for_itself)
{
    struct server_watch watch = watch_of(2, 0);
    struct server_word one = leads(0);

    assert_moves(&watch, 1, 0); /* nothing was heard at the first address */
    server_watch_call(&watch, 2, 1);
    assert_stays(&watch, 0, &one);
    assert_stays(&watch, 1, &one);
    server_watch_call(&watch, 2, 0);
    assert_stays(&watch, 1, &one);
}

TEST(test_who_is_named_is_looked_at_once_in_a_turn)
{
    struct server_watch watch = watch_of(4, 0);
    struct server_word names_3 = { .named = 3 }, names_2 = { .named = 2 }, names_0 = { .named = 0 };
    struct server_step step;
    uint64_t next_us;

    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0 | 1U << 1);
    step = server_watch_heard(&watch, 1, &names_3);
    assert_false(step.moves);
    assert_int_equal(step.looks, 1U << 3);
    step = server_watch_heard(&watch, 3, &names_2);
    assert_int_equal(step.looks, 1U << 2);
    assert_stays(&watch, 2, &names_3); /* they name each other */
    assert_stays(&watch, 3, &names_0); /* where the call is */
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 2);
    step = server_watch_heard(&watch, 2, &names_3);
    assert_int_equal(step.looks, 1U << 3);
}

/* Another cluster's scheduler leads as well: a call that it refused would come back for ever. */
TEST(test_who_does_not_know_the_token_is_not_moved_to_again)
{
    struct server_watch watch = watch_of(2, 0);
    const struct server_word alone = leads(0);

    assert_moves(&watch, 1, 0);
    server_watch_call(&watch, 2, 1);
    server_watch_answered(&watch, true);
    server_watch_call(&watch, 2, 0);
    assert_stays(&watch, 1, &alone);
    server_watch_call(&watch, 2, 1); /* a round comes by, and it knows the token now */
    server_watch_answered(&watch, false);
    server_watch_call(&watch, 2, 0);
    assert_moves(&watch, 1, 0);
}

/* Its refusal is the only answer that there is. */
TEST(test_who_does_not_know_the_token_is_moved_to_from_one_that_is_silent)
{
    const struct server_word alone = leads(0);

    for (unsigned answers = 0; answers < 2; answers++) {
        struct server_watch watch = watch_of(2, 1);
        uint64_t next_us;

        server_watch_answered(&watch, true);
        server_watch_call(&watch, 2, 0);
        assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0 | 1U << 1);
        assert_stays(&watch, 1, &alone);
        if (answers == 1)
            assert_stays(&watch, 0, &alone);
        assert_int_equal(server_watch_due(&watch, &next_us), 1U << 1);
        if (answers == 1)
            assert_stays(&watch, 1, &alone);
        else
            assert_moves(&watch, 1, 0);
    }
}

/* Both stood still for longer than a look lasts, and one goes on. */
TEST(test_one_that_is_silent_is_looked_at_again)
{
    struct server_watch watch = watch_of(2, 1);
    uint64_t next_us;

    server_watch_answered(&watch, true);
    server_watch_call(&watch, 2, 0);
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0 | 1U << 1);
    assert_stays(&watch, 0, NULL);
    assert_stays(&watch, 1, NULL);
    assert_int_equal(server_watch_due(&watch, &next_us), 1U << 0 | 1U << 1);
    assert_moves(&watch, 1, 0);
}
