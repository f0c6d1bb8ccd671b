/* SPDX-License-Identifier: Apache-2.0 */
/* test_rounds.c - rounds of gradients by trainers that come and go: by hand, and random histories
 * of several servers */
#include <stdint.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/test.h"
#include "trainer/server/rounds.h"

TEST(test_all_push)
{
    struct rounds rounds = { 0 };

    assert_false(rounds_is_over(&rounds)); /* nobody is here */
    rounds_enter(&rounds, 7, 0);
    rounds_enter(&rounds, 2, 0);
    assert_int_equal(rounds_push(&rounds, 7, 0, false), 0);
    assert_false(rounds_is_over(&rounds));
    assert_int_equal(rounds_push(&rounds, 7, 0, false), EDL_ESTALE); /* once */
    assert_int_equal(rounds_push(&rounds, 3, 0, false), EDL_ESTALE); /* no member */
    assert_int_equal(rounds_push(&rounds, 2, 1, false), EDL_ESTALE); /* too early */
    assert_int_equal(rounds_push(&rounds, 2, 0, false), 0);
    assert_true(rounds_is_over(&rounds));
    rounds_next(&rounds);
    assert_int_equal(rounds.now, 1);
    assert_int_equal(rounds_push(&rounds, 2, 0, false), EDL_ESTALE); /* too late */
    assert_int_equal(rounds_push(&rounds, 2, 1, true), 0);
    assert_int_equal(rounds_push(&rounds, 7, 1, false), 0);
    rounds_next(&rounds);
    assert_int_equal(rounds.n_members, 1); /* the other one had no more data */
    assert_int_equal(rounds.members[0].trainer, 7);
    rounds_clear(&rounds);
}

TEST(test_who_dies_stalls_nobody)
{
    struct rounds rounds = { 0 };

    rounds_enter(&rounds, 0, 0);
    rounds_enter(&rounds, 1, 0);
    assert_int_equal(rounds_push(&rounds, 0, 0, false), 0);
    rounds_leave(&rounds, 1);
    assert_true(rounds_is_over(&rounds));
    rounds_leave(&rounds, 1); /* again: nothing */
    rounds_next(&rounds);
    /* one that pushed and died: the next round is not over by its push */
    rounds_enter(&rounds, 1, 0);
    assert_int_equal(rounds_push(&rounds, 1, 1, false), 0);
    rounds_leave(&rounds, 1);
    assert_false(rounds_is_over(&rounds));
    rounds_leave(&rounds, 0);
    assert_false(rounds_is_over(&rounds));
    rounds_clear(&rounds);
}

TEST(test_later_rounds_are_waited_for)
{
    struct rounds rounds = { 0 };

    rounds_enter(&rounds, 0, 0);
    rounds_enter(&rounds, 1, 5); /* it has seen round 5 elsewhere */
    assert_int_equal(rounds_push(&rounds, 0, 0, false), 0);
    assert_true(rounds_is_over(&rounds));
    rounds_next(&rounds);
    assert_int_equal(rounds.now, 1);
    rounds_leave(&rounds, 0);
    assert_true(rounds_is_over(&rounds)); /* nobody owes anything before 5 */
    rounds_next(&rounds);
    assert_int_equal(rounds.now, 5);
    assert_false(rounds_is_over(&rounds));
    rounds_clear(&rounds);
}

TEST(test_the_first_round_awaits_all)
{
    struct rounds rounds = { 0 };

    rounds_await(&rounds, 2);
    rounds_enter(&rounds, 4, 0);
    assert_int_equal(rounds_push(&rounds, 4, 0, false), 0);
    rounds_enter(&rounds, 4, 0); /* a new connection of the same one */
    assert_int_equal(rounds_push(&rounds, 4, 0, false), 0);
    assert_false(rounds_is_over(&rounds));
    rounds_enter(&rounds, 9, 0);
    rounds_leave(&rounds, 9); /* it came, and has no data */
    assert_true(rounds_is_over(&rounds));
    rounds_clear(&rounds);
}

/* ---- histories: several servers, whose trainers talk to all of them ----
 *
 * A message to one server is an event of its own, in random order. A trainer is at one of these. */
enum stage { AWAY, ENTERS, ENTERS_LATE, COMPUTES, PUSHES };

#define SERVERS 3
#define TRAINERS 4
#define ROUNDS_MAX 400

struct trainer {
    enum stage stage;
    bool sent[SERVERS], answered[SERVERS];
    uint64_t told[SERVERS]; /* the round that each server answered with */
    uint64_t round;
    bool leaves;
};

struct history {
    struct rounds servers[SERVERS];
    struct trainer trainers[TRAINERS];
    uint32_t sums[SERVERS][ROUNDS_MAX]; /* bits of trainers */
    uint64_t committed;
    bool naive; /* who enters takes what it is told, whatever the servers say */
    bool mixed; /* a gradient of values of different rounds was made */
    uint64_t random;
};

static uint64_t draw(struct history *h, uint64_t n)
{
    return random_below(&h->random, n);
}

static void stage_set(struct trainer *t, enum stage stage)
{
    t->stage = stage;
    memset(t->sent, 0, sizeof t->sent);
    memset(t->answered, 0, sizeof t->answered);
}

/* Replies of a server for what has become of its rounds. */
static void settle(struct history *h, uint32_t s)
{
    struct rounds *rounds = &h->servers[s];

    while (rounds_is_over(rounds)) {
        const uint64_t round = rounds->now;

        for (size_t i = 0; i < rounds->n_members; i++)
            if (rounds->members[i].pushed && round < ROUNDS_MAX) {
                assert_int_equal(h->sums[s][round] & 1u << rounds->members[i].trainer, 0);
                h->sums[s][round] |= 1u << rounds->members[i].trainer;
            }
        rounds_next(rounds);
        for (uint32_t t = 0; t < TRAINERS; t++)
            if (h->trainers[t].stage == PUSHES && h->trainers[t].sent[s] &&
                !h->trainers[t].answered[s] && h->trainers[t].round == round) {
                h->trainers[t].answered[s] = true;
                h->trainers[t].told[s] = rounds->now;
                h->committed++;
            }
    }
    for (uint32_t t = 0; t < TRAINERS; t++)
        if (h->trainers[t].stage == ENTERS_LATE && h->trainers[t].sent[s] &&
            h->trainers[t].round <= rounds->now) {
            h->trainers[t].answered[s] = true;
            h->trainers[t].told[s] = rounds->now;
        }
}

static void send_to(struct history *h, uint32_t t, uint32_t s)
{
    struct trainer *trainer = &h->trainers[t];

    trainer->sent[s] = true;
    if (trainer->stage == ENTERS) {
        rounds_enter(&h->servers[s], t, 0);
        trainer->answered[s] = true;
        trainer->told[s] = h->servers[s].now;
    } else if (trainer->stage == ENTERS_LATE) {
        rounds_enter(&h->servers[s], t, trainer->round);
    } else {
        /* in the right protocol no push is ever refused */
        int r = rounds_push(&h->servers[s], t, h->naive ? h->servers[s].now : trainer->round,
                            trainer->leaves);

        assert_int_equal(r, 0);
    }
    settle(h, s);
}

static void go_on(struct history *h, uint32_t t)
{
    struct trainer *trainer = &h->trainers[t];
    bool same = true;

    for (uint32_t s = 0; s < SERVERS; s++)
        if (!trainer->answered[s])
            return;
    if (trainer->stage == PUSHES) {
        trainer->round++;
        for (uint32_t s = 0; s < SERVERS && !trainer->leaves; s++)
            assert_int_equal(trainer->told[s], trainer->round);
        stage_set(trainer, trainer->leaves ? AWAY : COMPUTES);
        return;
    }
    if (trainer->stage == ENTERS) {
        trainer->round = 0;
        for (uint32_t s = 0; s < SERVERS; s++)
            trainer->round = MAX_OF(trainer->round, trainer->told[s]);
    }
    for (uint32_t s = 0; s < SERVERS; s++)
        same = same && trainer->told[s] == trainer->round;
    if (trainer->stage == ENTERS && !same && !h->naive) {
        stage_set(trainer, ENTERS_LATE);
        return;
    }
    h->mixed = h->mixed || !same;
    stage_set(trainer, COMPUTES);
}

static void die(struct history *h, uint32_t t)
{
    stage_set(&h->trainers[t], AWAY);
    for (uint32_t s = 0; s < SERVERS; s++) {
        rounds_leave(&h->servers[s], t);
        settle(h, s);
    }
}

/* act - something that this trainer can do; false: it waits for others */
static bool act(struct history *h, uint32_t t)
{
    struct trainer *trainer = &h->trainers[t];
    uint32_t s = (uint32_t)draw(h, SERVERS);

    if (trainer->stage == AWAY) {
        stage_set(trainer, ENTERS);
        return true;
    }
    if (trainer->stage == COMPUTES) {
        trainer->leaves = draw(h, 8) == 0;
        stage_set(trainer, PUSHES);
        return true;
    }
    for (uint32_t k = 0; k < SERVERS; k++, s = (s + 1) % SERVERS)
        if (!trainer->sent[s]) {
            send_to(h, t, s);
            for (uint32_t other = 0; other < TRAINERS; other++)
                if (h->trainers[other].stage != AWAY && h->trainers[other].stage != COMPUTES)
                    go_on(h, other);
            return true;
        }
    return false;
}

static void history_run(struct history *h, uint64_t seed, bool naive)
{
    *h = (struct history){ .naive = naive };
    h->random = seed;
    for (unsigned i = 0; i < 3000 && !h->mixed; i++) {
        uint32_t t = (uint32_t)draw(h, TRAINERS), tries = 0;

        if (draw(h, 40) == 0)
            die(h, (uint32_t)draw(h, TRAINERS));
        while (!act(h, t) && tries++ < TRAINERS)
            t = (t + 1) % TRAINERS;
        assert_true(tries <= TRAINERS); /* somebody can always act */
    }
    for (uint32_t s = 0; s < SERVERS; s++)
        rounds_clear(&h->servers[s]);
}

TEST(test_histories)
{
    static struct history h;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        history_run(&h, seed, false);
        assert_false(h.mixed);
        assert_true(h.committed > 100);
    }
}

/* What the second ENTER is for: without it gradients of mixed values come soon. */
TEST(test_who_enters_once_mixes_rounds)
{
    static struct history h;
    unsigned mixed = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        history_run(&h, seed, true);
        mixed += h.mixed;
    }
    assert_true(mixed > 10);
}
