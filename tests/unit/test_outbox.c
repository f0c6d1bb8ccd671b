/* SPDX-License-Identifier: Apache-2.0 */
/* test_outbox.c - messages to owners: which is due, when it is tried again, how they gather */
#include "scheduler/notices/outbox.h"

#include <stdio.h>
#include <string.h>

#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define S USEC_PER_SEC
#define START (UINT64_C(1000000) * S)

static const struct outbox_rules rules = { .tries = 3, .per_hour = 0 };

static bool add(struct outbox *outbox, const char *user, const char *target, const char *notice,
                uint64_t now_us)
{
    return outbox_add(outbox, NOTICE_WEBHOOK, user, target, notice, now_us);
}

static struct outbox_message *take(struct outbox *outbox, uint64_t now_us)
{
    return outbox_take(outbox, &rules, now_us);
}

static void stored(struct outbox *outbox)
{
    outbox_stored(outbox, START);
}

TEST(test_nothing_is_sent_before_it_is_stored)
{
    struct outbox *outbox = outbox_new();
    struct outbox_message *message;

    assert_true(add(outbox, "ann", "u", "1", START));
    assert_true(outbox_has_changes(outbox));
    assert_null(take(outbox, START));
    assert_true(outbox_next_us(outbox, &rules) == UINT64_MAX);
    stored(outbox);
    assert_int_equal(outbox_next_us(outbox, &rules), START);
    message = take(outbox, START);
    assert_non_null(message);
    assert_int_equal(message->id, 1);
    assert_string_equal(message->notices, "1\n");
    assert_null(take(outbox, START));
    assert_false(outbox_has_changes(outbox));
    outbox_sent(outbox, message);
    assert_true(outbox_has_changes(outbox));
    assert_true(outbox_first(outbox)->gone);
    assert_int_equal(outbox_waiting(outbox), 0);
    stored(outbox);
    assert_null(outbox_first(outbox));
    assert_true(add(outbox, "ann", "u", "2", START));
    assert_int_equal(outbox_first(outbox)->id, 2);
    (void)outbox_free(outbox);
}

TEST(test_notices_gather_until_one_is_tried)
{
    struct outbox *outbox = outbox_new();
    struct outbox_message *first, *second;

    assert_true(add(outbox, "ann", "u", "1", START));
    assert_true(add(outbox, "ann", "u", "2", START));
    assert_true(add(outbox, "ann", "v", "3", START));
    assert_true(add(outbox, "bob", "u", "4", START));
    assert_true(outbox_add(outbox, NOTICE_MAIL, "ann", "u", "5", START));
    assert_int_equal(outbox_waiting(outbox), 4);
    stored(outbox);
    first = take(outbox, START);
    assert_string_equal(first->notices, "1\n2\n");
    assert_true(add(outbox, "ann", "u", "6", START));
    assert_true(add(outbox, "ann", "u", "7", START));
    assert_int_equal(outbox_waiting(outbox), 5);
    assert_string_equal(first->notices, "1\n2\n");
    stored(outbox);
    second = outbox_find(outbox, 5);
    assert_string_equal(second->notices, "6\n7\n");
    /* the first to that target is on its way: the second waits, also for its next try */
    assert_false(outbox_failed(outbox, first, &rules, false, START));
    stored(outbox);
    for (int i = 0; i < 3; i++)
        assert_true(take(outbox, START) != second);
    (void)outbox_free(outbox);
}

TEST(test_a_message_has_so_many_notices_and_counts_the_others)
{
    struct outbox *outbox = outbox_new();
    const struct outbox_message *message;

    for (int i = 0; i < OUTBOX_NOTICES_MAX + 7; i++)
        assert_true(add(outbox, "ann", "u", "x", START));
    message = outbox_first(outbox);
    assert_int_equal(outbox_waiting(outbox), 1);
    assert_int_equal(message->n_notices, OUTBOX_NOTICES_MAX);
    assert_int_equal(message->n_more, 7);
    assert_int_equal(strlen(message->notices), 2 * OUTBOX_NOTICES_MAX);
    (void)outbox_free(outbox);
}

TEST(test_pauses_between_tries)
{
    assert_int_equal(outbox_backoff_us(1), 10 * S);
    assert_int_equal(outbox_backoff_us(2), 20 * S);
    assert_int_equal(outbox_backoff_us(4), 80 * S);
    assert_int_equal(outbox_backoff_us(8), 1280 * S);
    assert_int_equal(outbox_backoff_us(9), 1800 * S);
    assert_int_equal(outbox_backoff_us(UINT32_MAX), 1800 * S);
}

TEST(test_tries_end)
{
    struct outbox *outbox = outbox_new();
    struct outbox_message *message;

    assert_true(add(outbox, "ann", "u", "1", START));
    stored(outbox);
    message = take(outbox, START);
    assert_false(outbox_failed(outbox, message, &rules, false, START + S));
    assert_null(take(outbox, START + 60 * S)); /* its try is to be stored */
    stored(outbox);
    assert_int_equal(outbox_next_us(outbox, &rules), START + 11 * S);
    assert_null(take(outbox, START + 10 * S));
    assert_ptr_equal(take(outbox, START + 11 * S), message);
    assert_false(outbox_failed(outbox, message, &rules, false, START + 12 * S));
    stored(outbox);
    assert_int_equal(outbox_next_us(outbox, &rules), START + 32 * S);
    assert_ptr_equal(take(outbox, START + 40 * S), message);
    assert_true(outbox_failed(outbox, message, &rules, false, START + 41 * S));
    assert_int_equal(outbox_waiting(outbox), 0);
    stored(outbox);
    /* one that no try helps, and one that is too old */
    assert_true(add(outbox, "ann", "u", "2", START));
    assert_true(add(outbox, "ann", "v", "3", START));
    stored(outbox);
    assert_true(outbox_failed(outbox, take(outbox, START), &rules, true, START));
    assert_true(
        outbox_failed(outbox, take(outbox, START), &rules, false, START + OUTBOX_AGE_S * S));
    (void)outbox_free(outbox);
}

TEST(test_a_user_has_a_part_of_the_places)
{
    struct outbox *outbox = outbox_new();
    char target[16];
    size_t n = 0;

    for (int i = 0; i < 10; i++) {
        (void)snprintf(target, sizeof target, "u%d", i);
        assert_true(add(outbox, "ann", target, "x", START));
    }
    assert_true(add(outbox, "bob", "v", "x", START + S));
    stored(outbox);
    while (take(outbox, START) != NULL)
        n++;
    assert_int_equal(n, OUTBOX_USER_AT_ONCE);
    assert_int_equal(outbox_sending(outbox), OUTBOX_USER_AT_ONCE);
    assert_int_equal(outbox_next_us(outbox, &rules), START + S);
    assert_string_equal(take(outbox, START + S)->user, "bob");
    (void)outbox_free(outbox);
}

TEST(test_all_places)
{
    struct outbox *outbox = outbox_new();
    char user[16];
    size_t n = 0;

    for (int i = 0; i < 2 * OUTBOX_AT_ONCE; i++) {
        (void)snprintf(user, sizeof user, "u%d", i);
        assert_true(add(outbox, user, "t", "x", START));
    }
    stored(outbox);
    while (take(outbox, START) != NULL)
        n++;
    assert_int_equal(n, OUTBOX_AT_ONCE);
    assert_true(outbox_next_us(outbox, &rules) == UINT64_MAX);
    (void)outbox_free(outbox);
}

/* Twenty come at once, then one each minute; what comes meanwhile gathers in one. */
TEST(test_a_user_sends_so_many_in_an_hour)
{
    const struct outbox_rules slow = { .tries = 3, .per_hour = 60 };
    struct outbox *outbox = outbox_new();
    struct outbox_message *message = NULL;
    uint64_t now_us = START;
    int n = 0;

    for (int i = 0; i < 300; i++) {
        assert_true(add(outbox, "ann", "u", "x", now_us));
        stored(outbox);
        message = outbox_take(outbox, &slow, now_us);
        if (message == NULL)
            continue;
        outbox_sent(outbox, message);
        stored(outbox);
        n++;
        now_us += S / 100;
    }
    assert_int_equal(n, OUTBOX_BURST);
    assert_int_equal(outbox_waiting(outbox), 1);
    message = outbox_first(outbox);
    assert_int_equal(message->n_notices + message->n_more, 300 - OUTBOX_BURST);
    assert_in_range(outbox_next_us(outbox, &slow), START + 59 * S, START + 61 * S);
    assert_true(add(outbox, "bob", "u", "x", now_us));
    stored(outbox);
    assert_string_equal(outbox_take(outbox, &slow, now_us)->user, "bob");
    assert_null(outbox_take(outbox, &slow, now_us));
    message = outbox_take(outbox, &slow, START + 61 * S);
    assert_non_null(message);
    /* a further try of it is not counted again */
    assert_false(outbox_failed(outbox, message, &slow, false, START + 61 * S));
    stored(outbox);
    assert_int_equal(outbox_next_us(outbox, &slow), START + 71 * S);
    (void)outbox_free(outbox);
}

TEST(test_room_is_bounded)
{
    struct outbox *outbox = outbox_new();
    char user[16], target[16];
    int n = 0;

    for (int i = 0; i < 2 * OUTBOX_USER_MAX; i++) {
        (void)snprintf(target, sizeof target, "t%d", i);
        n += add(outbox, "ann", target, "x", START);
    }
    assert_int_equal(n, OUTBOX_USER_MAX);
    assert_true(add(outbox, "ann", "t0", "y", START)); /* it joins one that is there */
    for (int i = 0; i < 2 * OUTBOX_MAX; i++) {
        (void)snprintf(user, sizeof user, "u%d", i);
        n += add(outbox, user, "t", "x", START);
    }
    assert_int_equal(n, OUTBOX_MAX);
    assert_int_equal(outbox_waiting(outbox), OUTBOX_MAX);
    (void)outbox_free(outbox);
}

/* Beyond so many bytes of all there are numbers alone. */
TEST(test_bytes_are_bounded)
{
    struct outbox *outbox = outbox_new();
    char big[100001], target[16];
    size_t n = 0;

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(target, sizeof target, "t%d", i / 10);
        n += outbox_wants(outbox, NOTICE_WEBHOOK, "ann", target);
        assert_true(add(outbox, "ann", target, big, START));
    }
    assert_in_range(n * 100001, OUTBOX_BYTES, OUTBOX_BYTES + 100001);
    assert_int_equal(outbox_find(outbox, 99)->n_notices, 0);
    assert_int_equal(outbox_find(outbox, 99)->n_more, 10);
    stored(outbox);
    outbox_sent(outbox, take(outbox, START));
    assert_true(outbox_wants(outbox, NOTICE_WEBHOOK, "ann", "t98"));
    (void)outbox_free(outbox);
}

static struct outbox_message of_before(uint64_t id, const char *notices)
{
    return (struct outbox_message){ .id = id,
                                    .channel = NOTICE_WEBHOOK,
                                    .user = xstrdup("ann"),
                                    .target = xstrdup("u"),
                                    .notices = xstrdup(notices),
                                    .n_notices = 1,
                                    .made_wall_us = START,
                                    .due_wall_us = START };
}

/* It may have been sent by the run before: it stays what it was, with its number. */
TEST(test_a_restart)
{
    struct outbox *outbox = outbox_new();
    struct outbox_message first = of_before(7, "1\n"), second = of_before(9, "2\n");

    outbox_restore(outbox, &first);
    outbox_restore(outbox, &second);
    outbox_number_from(outbox, 30);
    assert_false(outbox_has_changes(outbox));
    assert_true(add(outbox, "ann", "u", "3", START));
    assert_int_equal(outbox_find(outbox, 31)->n_notices, 1);
    assert_string_equal(outbox_find(outbox, 9)->notices, "2\n");
    outbox_resume(outbox, 7); /* its try goes on */
    outbox_resume(outbox, 8);
    stored(outbox);
    assert_null(take(outbox, START));
    outbox_sent(outbox, outbox_find(outbox, 7));
    assert_int_equal(take(outbox, START)->id, 9);
    (void)outbox_free(outbox);
}
