/* SPDX-License-Identifier: Apache-2.0 */
/* test_recovery.c - what a server that comes back asks its trainers for, and what it says is lost
 */
#include "trainer_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "trainer/server/recovery.h"
#include "trainer/exchange/table.h"

#define BEFORE 7 /* an earlier life */
#define NOW 8

static const struct recovery_now untrained = { .updates = 0 };

static struct wire_past past_of(uint64_t life, uint64_t updates, bool holds)
{
    return (struct wire_past){
        .life = life, .updates = updates, .holds = holds, .trained = updates > 0
    };
}

TEST(test_first_life)
{
    struct recovery recovery;
    struct wire_past fresh = { 0 }, same = past_of(NOW, 3, true);
    uint64_t of;

    recovery_init(&recovery, NOW, false, 0);
    assert_false(recovery_meet(&recovery, &fresh, &untrained));
    assert_int_equal(recovery_wish(&recovery, &fresh, &untrained), WISH_NOTHING);
    assert_false(recovery_meet(&recovery, &same, &untrained)); /* its connection broke */
    assert_int_equal(recovery_wish(&recovery, &same, &untrained), WISH_NOTHING);
    assert_int_equal(recovery_lost(&recovery, &of), 0);
    assert_int_equal(recovery.seen, 0);
}

/* A new trainer of a job that was trained waits, one with values is asked for them, and then the
 * others for rows. */
TEST(test_without_checkpoint)
{
    struct recovery recovery;
    const struct wire_past fresh = { .trained = 1 }, idle = past_of(BEFORE, 40, true),
                           best = past_of(BEFORE, 102, true), forgot = past_of(BEFORE, 103, false);
    const struct recovery_now waits = { .awaits = true },
                              seeded = { .updates = 40, .rows_missing = 3 },
                              trained = { .updates = 45, .rows_missing = 3 },
                              better = { .updates = 102, .rows_missing = 0 };
    uint64_t of;

    recovery_init(&recovery, NOW, false, 0);
    assert_true(recovery_meet(&recovery, &fresh, &untrained));
    assert_int_equal(recovery_wish(&recovery, &fresh, &waits), WISH_WAIT);
    assert_true(recovery_meet(&recovery, &idle, &waits));
    assert_int_equal(recovery_wish(&recovery, &idle, &waits), WISH_VALUES);
    recovery_seeded(&recovery, &idle, 0);
    assert_int_equal(recovery_wish(&recovery, &fresh, &seeded), WISH_NOTHING);
    assert_int_equal(recovery_wish(&recovery, &idle, &seeded), WISH_ROWS);
    assert_false(recovery_meet(&recovery, &forgot, &trained)); /* it says how many there were */
    assert_int_equal(recovery_wish(&recovery, &forgot, &trained), WISH_NOTHING);
    assert_int_equal(recovery_lost(&recovery, &of), 103 - 40);
    assert_int_equal(of, 103);
    assert_int_equal(recovery_wish(&recovery, &best, &trained), WISH_VALUES);
    recovery_seeded(&recovery, &best, 45); /* five of this life go with it */
    assert_int_equal(recovery_lost(&recovery, &of), 1 + 5);
    assert_int_equal(of, 103 + 5);
    assert_int_equal(recovery_wish(&recovery, &idle, &better), WISH_NOTHING);
}

/* The server died before its first update. A trainer that saw another server's first one waits; one
 * that pulled this server's values, and knows of no task that was counted, brings them. */
TEST(test_values_before_the_first_update)
{
    struct recovery recovery;
    const struct wire_past saw = { .trained = 1 }, holds = past_of(BEFORE, 0, true);
    struct wire_past stale = holds;
    const struct recovery_now waits = { .awaits = true };
    uint64_t of;

    stale.trained = 1; /* a task was counted since it pulled */
    recovery_init(&recovery, NOW, false, 0);
    assert_int_equal(recovery_wish(&recovery, &holds, &untrained), WISH_NOTHING);
    assert_true(recovery_meet(&recovery, &saw, &untrained));
    assert_int_equal(recovery_wish(&recovery, &saw, &waits), WISH_WAIT);
    assert_int_equal(recovery_wish(&recovery, &stale, &waits), WISH_WAIT);
    assert_int_equal(recovery_wish(&recovery, &holds, &waits), WISH_VALUES);
    recovery_seeded(&recovery, &holds, 0);
    assert_int_equal(recovery_wish(&recovery, &saw, &untrained), WISH_NOTHING);
    assert_int_equal(recovery_lost(&recovery, &of), 0);
}

/* With a checkpoint nothing is asked for, and what it lacks is counted once. */
TEST(test_with_checkpoint)
{
    struct recovery recovery;
    const struct wire_past a = past_of(BEFORE, 10140, true), b = past_of(BEFORE, 10100, true);
    struct recovery_now now = { .updates = 9479 };
    uint64_t of;

    recovery_init(&recovery, NOW, true, 9479);
    assert_false(recovery_meet(&recovery, &a, &now));
    assert_int_equal(recovery_wish(&recovery, &a, &now), WISH_NOTHING);
    now.updates = 9490;
    assert_false(recovery_meet(&recovery, &b, &now));
    assert_false(recovery_meet(&recovery, &a, &now));
    assert_int_equal(recovery_lost(&recovery, &of), 661);
    assert_int_equal(of, 10140);
}

/* A checkpoint from before the first update has start values. */
TEST(test_checkpoint_of_nothing)
{
    struct recovery recovery;
    const struct wire_past past = past_of(BEFORE, 500, true);

    recovery_init(&recovery, NOW, true, 0);
    assert_true(recovery.restored);
    assert_true(recovery_meet(&recovery, &past, &untrained));
    assert_int_equal(recovery_wish(&recovery, &past, &untrained), WISH_VALUES);
}

/* Start values were served before the trainer that has better ones was there. */
TEST(test_late_values)
{
    struct recovery recovery;
    const struct wire_past fresh = { 0 }, late = past_of(BEFORE, 40, true);
    const struct recovery_now began = { .updates = 6 };
    uint64_t of;

    recovery_init(&recovery, NOW, false, 0);
    assert_false(recovery_meet(&recovery, &fresh, &untrained));
    assert_false(recovery_meet(&recovery, &late, &began));
    assert_int_equal(recovery_wish(&recovery, &late, &began), WISH_VALUES);
    recovery_seeded(&recovery, &late, 6);
    assert_int_equal(recovery_lost(&recovery, &of), 6);
    assert_int_equal(of, 46);
}

TEST(test_past_on_the_wire)
{
    struct wire_past past = { 11, 12, 13, 1, 1 }, back;
    struct wire_past_ok ok = { 21, 22, 23, WISH_ROWS }, ok_back;
    uint8_t bytes[WIRE_PAST_BYTES + 1] = { 0 };

    assert_int_equal(wire_past_encode(&past, bytes), WIRE_PAST_BYTES);
    assert_int_equal(wire_past_decode(bytes, WIRE_PAST_BYTES, &back, NULL), 0);
    assert_memory_equal(&back, &past, sizeof past);
    for (size_t size = 0; size <= sizeof bytes; size++)
        if (size != WIRE_PAST_BYTES)
            assert_int_equal(wire_past_decode(bytes, size, &back, NULL), -EINVAL);
    past.updates = UINT64_MAX; /* would be taken for a mark in the table */
    (void)wire_past_encode(&past, bytes);
    assert_int_equal(wire_past_decode(bytes, WIRE_PAST_BYTES, &back, NULL), -EINVAL);
    assert_int_equal(wire_past_ok_encode(&ok, bytes), WIRE_PAST_OK_BYTES);
    assert_int_equal(wire_past_ok_decode(bytes, WIRE_PAST_OK_BYTES, &ok_back, NULL), 0);
    assert_int_equal(ok_back.life, 21);
    assert_int_equal(ok_back.samples, 23);
    assert_int_equal(ok_back.wish, WISH_ROWS);
    ok.wish = WISHES;
    (void)wire_past_ok_encode(&ok, bytes);
    assert_int_equal(wire_past_ok_decode(bytes, WIRE_PAST_OK_BYTES, &ok_back, NULL), -EINVAL);
}

/* ---- the table ---- */

#define ROWS 4

static struct table *table_of(uint32_t method, float l2_rate)
{
    struct declaration d = { .seed = 5, .optimizer = optimizer_default(method), .n_params = 2 };
    struct table *table = NULL;

    d.optimizer.learning_rate = 0.1f;
    d.optimizer.l2_rate = l2_rate;
    d.params[0] = (struct param_spec){
        "rows", ROWS, 1, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    d.params[1] = (struct param_spec){ "weight", 2, 1, .initial_std = 0.1f, .learning_rate = 1.0f };
    assert_int_equal(table_new(&d, 0, 1, &table, NULL), 0);
    return table;
}

static const float dense[2] = { 1.0f, -2.0f };

static struct wire_push_pull request_of(uint32_t flags, const uint32_t *ids, const float *rows,
                                        uint32_t n)
{
    return (struct wire_push_pull){ .flags = flags,
                                    .n_sections = 1,
                                    .samples = 4,
                                    .dense = dense,
                                    .sections[0] = {
                                        .n_push = n, .push_ids = ids, .push_rows = rows } };
}

TEST(test_seed_and_rows)
{
    static const uint32_t first[] = { 2, 0 }, second[] = { 0, 3 };
    static const float one[] = { 22.0f, 20.0f }, two[] = { 30.0f, 33.0f };
    struct table *table = table_of(OPTIMIZER_ADAGRAD, 0);
    const float start = table_values(table)[3];
    struct wire_push_pull request = request_of(WIRE_SEED, first, one, 2);

    table_await_values(table);
    assert_true(table_awaits_values(table));
    request.dense = NULL;
    assert_int_equal(table_seed(table, &request, 100, 6400, NULL), -EINVAL);
    assert_true(table_awaits_values(table));
    request.dense = dense;
    assert_int_equal(table_seed(table, &request, 100, 6400, NULL), 0);
    assert_false(table_awaits_values(table));
    assert_int_equal(table_updates(table), 100);
    assert_int_equal(table_samples(table), 6400);
    assert_true(table_values(table)[0] == 1.0f && table_values(table)[1] == -2.0f);
    assert_true(table_values(table)[2] == 20.0f && table_values(table)[4] == 22.0f);
    assert_true(table_values(table)[3] == start);
    assert_int_equal(table_rows_missing(table), 2);
    assert_int_equal(table_rows(table), ROWS);
    request = request_of(WIRE_SEED, second, two, 2);
    table_seed_rows(table, &request);
    assert_true(table_values(table)[2] == 20.0f); /* is there already */
    assert_true(table_values(table)[5] == 33.0f);
    assert_int_equal(table_rows_missing(table), 1);
    table_await_values(table); /* of a table with updates: nothing */
    assert_false(table_awaits_values(table));
    (void)table_free(table);
}

/* Pushed rows are newer than what a trainer brings later. */
TEST(test_pushed_row_stays)
{
    static const uint32_t row[] = { 1 };
    static const float gradient[] = { 0.5f }, old[] = { 9.0f };
    struct table *table = table_of(OPTIMIZER_ADAGRAD, 0);
    struct wire_push_pull request = request_of(WIRE_SEED, NULL, NULL, 0);

    assert_int_equal(table_seed(table, &request, 100, 6400, NULL), 0);
    request = request_of(WIRE_PUSH, row, gradient, 1);
    table_push(table, &request);
    request = request_of(WIRE_SEED, row, old, 1);
    table_seed_rows(table, &request);
    assert_true(table_values(table)[3] != 9.0f);
    (void)table_free(table);
}

/* After many updates AdaGrad's steps are small, and no decay falls upon rows that were set. */
TEST(test_steps_after_a_seed)
{
    static const uint32_t ids[] = { 0, 1 };
    static const float values[] = { 5.0f, 6.0f }, gradients[] = { 0.5f, 0.5f };
    struct table *table = table_of(OPTIMIZER_ADAGRAD, 0.01f);
    struct wire_push_pull request = request_of(WIRE_SEED, ids, values, 2);
    float pulled[1];

    assert_int_equal(table_seed(table, &request, 10000, 40000, NULL), 0);
    request = request_of(WIRE_PUSH, ids, gradients, 1);
    table_push(table, &request);
    /* lr / sqrt(10000) and not lr, on dense ones; of the rows a fourth came, so 10000 / 4 */
    assert_true(table_values(table)[0] < 1.0f && table_values(table)[0] > 1.0f - 0.002f);
    assert_true(table_values(table)[2] < 5.0f && table_values(table)[2] > 5.0f - 0.003f);
    request = (struct wire_push_pull){ .n_sections = 1,
                                       .sections[0] = { .n_pull = 1, .pull_ids = &ids[1] } };
    table_pull_rows(table, &request, pulled);
    assert_true(pulled[0] == 6.0f);
    (void)table_free(table);
}
