/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_places.c - what a reader of logs prints, leaves out, and gets from the node */
#include "client/log_places.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define NONE (-1) /* an entry does not tell it */

/* take - an entry of trainer-0 */
static struct log_verdict take_text(struct log_places *places, json_int_t incarnation,
                                    json_int_t offset, json_int_t next, const char *text)
{
    json_t *entry = json_pack("{s:s,s:i,s:I,s:s}", "role", "trainer", "index", 0, "incarnation",
                              incarnation, "text", text);
    struct log_verdict verdict;

    if (offset != NONE)
        (void)json_object_set_new(entry, "offset", json_integer(offset));
    if (next != NONE)
        (void)json_object_set_new(entry, "next_offset", json_integer(next));
    verdict = log_places_take(places, entry);
    json_decref(entry);
    return verdict;
}

static enum log_step step_of(struct log_places *places, json_int_t incarnation, json_int_t offset,
                             json_int_t next)
{
    return take_text(places, incarnation, offset, next, "text").step;
}

static void is_fetched(struct log_places *places, json_int_t offset, json_int_t next, uint64_t from)
{
    struct log_verdict verdict = take_text(places, 1, offset, next, "text");

    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, from);
    assert_int_equal(verdict.end, next);
}

TEST_PLAIN(what_goes_on_is_printed_and_what_is_known_is_not)
{
    struct log_places *places = log_places_new();

    log_places_set(places, "trainer", 0, 1, 500);
    assert_int_equal(step_of(places, 1, 500, 600), LOG_PRINT); /* where it begins to read */
    assert_int_equal(step_of(places, 1, 600, 700), LOG_PRINT);
    assert_int_equal(step_of(places, 1, 500, 700), LOG_SKIP);    /* the server began anew */
    assert_int_equal(step_of(places, 1, NONE, NONE), LOG_PRINT); /* of a server of before */
    assert_int_equal(step_of(places, 1, 700, 701), LOG_PRINT);
    (void)log_places_free(places);
}

TEST_PLAIN(what_is_missing_comes_from_the_node)
{
    struct log_places *places = log_places_new();
    json_t *notice = json_pack("{s:s,s:i,s:i,s:s,s:b}", "role", "trainer", "index", 0,
                               "incarnation", 1, "text", "[edl: missing]\n", "notice", 1);

    is_fetched(places, 500, 600, 0); /* it began before the reader came */
    assert_int_equal(log_places_take(places, notice).step, LOG_SKIP);
    assert_int_equal(step_of(places, 1, 600, 700), LOG_PRINT);
    is_fetched(places, 650, 800, 700);  /* half of it is known */
    is_fetched(places, NONE, 900, 800); /* an end that the server has kept, piece by piece */
    assert_int_equal(step_of(places, 1, NONE, 900), LOG_SKIP);
    assert_int_equal(step_of(places, 2, 0, 10), LOG_PRINT); /* another start is another log */
    json_decref(notice);
    (void)log_places_free(places);
}

TEST_PLAIN(what_the_text_cannot_say_comes_from_the_node)
{
    struct log_places *places = log_places_new();
    struct log_verdict verdict = take_text(places, 1, 0, 5, "caf\xef\xbf\xbd\n");

    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, 0);
    assert_int_equal(step_of(places, 1, 5, 9), LOG_PRINT);
    (void)log_places_free(places);
}
