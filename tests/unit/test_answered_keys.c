/* SPDX-License-Identifier: Apache-2.0 */
/* test_answered_keys.c - which keys may have an answer: all that have one, and few others */
#include "scheduler/calls/answered_keys.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define DAY_US STORED_ANSWER_US
#define NAME_MAX_BYTES 40

static void put_answer(struct fixture *f, const char *user, const char *key, uint64_t wall_us)
{
    struct stored_answer answer = { .user = (char *)(uintptr_t)user,
                                    .key = (char *)(uintptr_t)key,
                                    .digest = (char[]){ "d" },
                                    .status = 201,
                                    .location = (char[]){ "" },
                                    .etag = (char[]){ "" },
                                    .body = (char[]){ "{}" },
                                    .wall_us = wall_us };
    struct edl_error error = { 0 };

    if (store_commit(f->store, &(struct turn_records){ .answers = &answer, .n_answers = 1 },
                     &error) < 0)
        fail_msg("%s", error.text);
}

TEST_EACH(set_up, tear_down);

TEST(test_nothing_is_known_before_a_load)
{
    struct answered_keys keys = { .n = 0 };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t added;

    assert_int_equal(answered_keys_look(&keys, "ann a", &added), -ENODATA);
    answered_keys_add(&keys, "ann a", start.wall_us);
    assert_int_equal(answered_keys_look(&keys, "ann a", &added), 1);
    assert_int_equal(answered_keys_look(&keys, "ann b", &added), -ENODATA);
    assert_int_equal(answered_keys_load(&keys, f->store, &error), 0);
    assert_int_equal(answered_keys_look(&keys, "ann a", &added), 0); /* it is not in the database */
    answered_keys_done(&keys);
}

TEST(test_those_of_the_database_are_known)
{
    struct answered_keys keys = { .n = 0 };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    uint64_t first, second;

    put_answer(f, "ann", "a", start.wall_us);
    put_answer(f, "ben", "a", start.wall_us + 1);
    assert_int_equal(answered_keys_load(&keys, f->store, &error), 0);
    assert_int_equal(answered_keys_look(&keys, "ann a", &first), 1);
    assert_int_equal(answered_keys_look(&keys, "ben a", &second), 1);
    assert_true(first < second);
    assert_int_equal(answered_keys_look(&keys, "ann b", &first), 0);
    answered_keys_add(&keys, "ann a", start.wall_us + 2); /* anew, as the first has had its day */
    assert_int_equal(answered_keys_look(&keys, "ann a", &first), 1);
    assert_true(first > second);
    answered_keys_done(&keys);
}

static void add_many(struct answered_keys *keys, unsigned from, unsigned to, uint64_t wall_us)
{
    for (unsigned i = from; i < to; i++) {
        char name[NAME_MAX_BYTES];

        (void)snprintf(name, sizeof name, "ann key-%u", i);
        answered_keys_add(keys, name, wall_us);
    }
}

static int look(const struct answered_keys *keys, unsigned i)
{
    char name[NAME_MAX_BYTES];
    uint64_t added;

    (void)snprintf(name, sizeof name, "ann key-%u", i);
    return answered_keys_look(keys, name, &added);
}

TEST(test_of_too_many_the_old_ones_go)
{
    struct answered_keys keys = { .n = 0 };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    unsigned most = (unsigned)ANSWERED_KEYS_MAX;

    assert_int_equal(answered_keys_load(&keys, f->store, &error), 0);
    add_many(&keys, 0, most, start.wall_us);
    assert_int_equal(look(&keys, 0), 1);
    add_many(&keys, most, 2 * most - 1, start.wall_us + DAY_US + 1);
    assert_true(keys.n <= most);
    assert_int_equal(look(&keys, 0), 0); /* had its day: it has no answer any more */
    assert_int_equal(look(&keys, most), 1);
    add_many(&keys, 2 * most - 1, 2 * most + 10, start.wall_us + DAY_US + 2);
    assert_true(keys.n <= most);
    assert_int_equal(look(&keys, most), -ENODATA); /* may have one, and is looked up */
    assert_int_equal(look(&keys, 2 * most), 1);
    answered_keys_done(&keys);
}
