/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_places.c - what a reader of logs prints, leaves out, and gets from the node */
#include "client/log_places.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define NONE (-1) /* an entry does not tell it */

/* take - an entry of trainer-0 */
static struct log_verdict take(struct log_places *places, json_int_t incarnation, json_int_t offset,
                               json_int_t next)
{
    json_t *entry = json_pack("{s:s,s:i,s:I,s:s}", "role", "trainer", "index", 0, "incarnation",
                              incarnation, "text", "text");
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
    return take(places, incarnation, offset, next).step;
}

static void take_notice(struct log_places *places)
{
    json_t *entry = json_pack("{s:s,s:i,s:i,s:s,s:b}", "role", "trainer", "index", 0, "incarnation",
                              1, "text", "[edl: missing]\n", "notice", 1);

    assert_int_equal(log_places_take(places, entry).step, LOG_SKIP);
    json_decref(entry);
}

static size_t n_held(const struct log_verdict *verdict)
{
    json_t *held = log_places_held(verdict);
    size_t n = json_array_size(held);

    json_decref(held);
    return n;
}

TEST_PLAIN(what_goes_on_is_printed_and_what_is_known_is_not)
{
    struct log_places *places = log_places_new(false);

    assert_int_equal(step_of(places, 1, 500, 600), LOG_PRINT); /* where it begins to read */
    assert_int_equal(step_of(places, 1, 600, 700), LOG_PRINT);
    assert_int_equal(step_of(places, 1, 500, 700), LOG_SKIP);    /* the server began anew */
    assert_int_equal(step_of(places, 1, NONE, NONE), LOG_PRINT); /* of a server of before */
    assert_int_equal(step_of(places, 1, 700, 701), LOG_PRINT);
    (void)log_places_free(places);
}

TEST_PLAIN(what_is_missing_comes_from_the_node)
{
    struct log_places *places = log_places_new(true);
    struct log_verdict verdict = take(places, 1, 500, 600); /* it began before the reader came */

    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, 0);
    assert_int_equal(verdict.bytes, 600);
    take_notice(places); /* of the server, which does not know that the reader has it */
    log_places_fetched(&verdict);
    verdict = take(places, 1, 600, 700);
    assert_int_equal(verdict.step, LOG_PRINT);
    assert_int_equal(n_held(&verdict), 0);
    verdict = take(places, 1, 650, 800); /* half of it is known */
    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, 700);
    assert_int_equal(verdict.bytes, 100);
    log_places_fetched(&verdict);
    verdict = take(places, 1, NONE, 900); /* an end that the server has kept, piece by piece */
    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, 800);
    log_places_fetched(&verdict);
    assert_int_equal(step_of(places, 1, NONE, 900), LOG_SKIP);
    (void)log_places_free(places);
}

TEST_PLAIN(what_no_node_gives_is_told)
{
    struct log_places *places = log_places_new(true);
    struct log_verdict verdict;

    take_notice(places);
    verdict = take(places, 1, NONE, 600);
    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(n_held(&verdict), 1);
    log_places_not_fetched(&verdict, false);
    assert_int_equal(step_of(places, 1, NONE, 600), LOG_PRINT); /* the rest of the kept end */
    verdict = take(places, 1, 700, 800);
    assert_int_equal(verdict.step, LOG_FETCH); /* its node may be back */
    log_places_not_fetched(&verdict, true);
    take_notice(places);
    verdict = take(places, 1, 900, 1000);
    assert_int_equal(verdict.step, LOG_PRINT); /* it was refused, and is asked for no more */
    assert_int_equal(n_held(&verdict), 1);
    (void)log_places_free(places);
}

TEST_PLAIN(what_the_node_dropped_is_counted)
{
    struct log_places *places = log_places_new(true);
    json_t *entry =
        json_pack("{s:s,s:i,s:i,s:s,s:i,s:i,s:i}", "role", "trainer", "index", 0, "incarnation", 1,
                  "text", "text", "offset", 900, "next_offset", 1000, "dropped_bytes", 400);
    struct log_verdict verdict = log_places_take(places, entry);

    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.dropped, 400);
    assert_int_equal(verdict.offset, 400);
    assert_int_equal(verdict.bytes, 600);
    json_decref(entry);
    (void)log_places_free(places);
}

TEST_PLAIN(a_process_that_starts_again_is_read_from_its_beginning)
{
    struct log_places *places = log_places_new(false);
    struct log_verdict verdict;

    assert_int_equal(step_of(places, 1, 500, 600), LOG_PRINT);
    verdict = take(places, 2, 300, 400);
    assert_int_equal(verdict.step, LOG_FETCH);
    assert_int_equal(verdict.offset, 0);
    log_places_fetched(&verdict);
    assert_int_equal(step_of(places, 1, 600, 650), LOG_PRINT); /* the end of the first one */
    (void)log_places_free(places);
}
