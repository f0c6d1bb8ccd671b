/* SPDX-License-Identifier: Apache-2.0 */
/* test_fence.c - when a process has to end: instants, asked and unasked, and random renewals */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/core/fence.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/test.h"

#define LEASE 12000 /* a third is 4000, a sixth 2000, a twelfth 1000 */
#define DEADLINE 100000
#define KILL_AFTER 900000

TEST(test_instants)
{
    static const struct {
        uint64_t deadline, lease, term, freeze, kill;
    } table[] = {
        { DEADLINE, LEASE, 96000, 98000, 99000 },
        { 1000, LEASE, 0, 0, 0 }, /* the lease is longer than the boot is ago */
        { 0, LEASE, 0, 0, 0 },    /* there never was one */
        { DEADLINE, 0, NEVER_US, NEVER_US, NEVER_US }, /* not fenced */
        { DEADLINE, 1, DEADLINE, DEADLINE, DEADLINE }, /* nothing to divide */
    };

    for (size_t i = 0; i < ELEMENTS(table); i++) {
        assert_int_equal(fence_term_at(table[i].deadline, table[i].lease), table[i].term);
        assert_int_equal(fence_freeze_at(table[i].deadline, table[i].lease), table[i].freeze);
        assert_int_equal(fence_kill_at(table[i].deadline, table[i].lease), table[i].kill);
    }
}

/* look_in - the verdict as one number for tables: 1 for term, 2 for kill, 4 for freeze, 8 for thaw
 */
static int look_in(struct fence *fence, uint16_t epoch, uint64_t deadline, uint64_t now,
                   uint64_t *ret_next)
{
    struct fence_verdict verdict = fence_look(fence, (struct lease_word){ deadline, epoch }, now);

    *ret_next = verdict.look_at_us;
    return verdict.term + 2 * verdict.kill + 4 * verdict.freeze + 8 * verdict.thaw;
}

static int look(struct fence *fence, uint64_t deadline, uint64_t now, uint64_t *ret_next)
{
    return look_in(fence, 7, deadline, now, ret_next);
}

/* freezable - with nothing on its record; killed after 900 s */
static struct fence freezable(uint64_t grace)
{
    struct fence fence;

    fence_init(&fence, LEASE, grace);
    fence_may_freeze(&fence, KILL_AFTER);
    return fence;
}

/* frozen - at 98000, in epoch 7 */
static struct fence frozen(void)
{
    struct fence fence = freezable(60000);
    uint64_t next;

    assert_int_equal(look(&fence, DEADLINE, 98000, &next), 4);
    fence_verified(&fence);
    return fence;
}

TEST(test_lease_word)
{
    struct lease_word lease = { .deadline_us = (UINT64_C(1) << 48) - 1, .epoch = UINT16_MAX };
    uint64_t packed = lease_word_pack(lease);

    assert_int_equal(packed, UINT64_MAX);
    assert_int_equal(lease_word_unpack(packed).deadline_us, lease.deadline_us);
    assert_int_equal(lease_word_unpack(packed).epoch, lease.epoch);
    assert_int_equal(lease_word_unpack(0).deadline_us, 0);
}

TEST(test_lease_end_freezes)
{
    struct fence fence = freezable(60000);
    uint64_t next;

    assert_int_equal(look(&fence, DEADLINE, 90000, &next), 0);
    assert_int_equal(next, 98000);
    assert_int_equal(look(&fence, DEADLINE, 97999, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 98000, &next), 4);
    assert_int_equal(next, 99000); /* it is verified by then */
    fence_verified(&fence);
    assert_int_equal(look(&fence, DEADLINE, DEADLINE, &next), 0);
    assert_int_equal(next, 98000 + KILL_AFTER);
    assert_int_equal(look(&fence, DEADLINE, 98000 + KILL_AFTER - 1, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 98000 + KILL_AFTER, &next), 2); /* no SIGTERM */
    assert_int_equal(fence.cause, FENCE_LEASE);
}

TEST(test_a_freeze_that_is_not_seen_kills)
{
    struct fence fence = freezable(60000);
    uint64_t next;

    assert_int_equal(look(&fence, DEADLINE, 98000, &next), 4);
    assert_int_equal(look(&fence, DEADLINE, 98999, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 99000, &next), 2);
    assert_int_equal(fence.cause, FENCE_LEASE);
    fence = frozen();
    fence_unfrozen(&fence, 200000); /* somebody else had it thawed */
    assert_int_equal(look(&fence, DEADLINE, 200000, &next), 2);
}

/* A loop that is held up freezes late, and may not take time beyond the deadline for it. */
TEST(test_a_late_freeze_is_seen_before_the_deadline)
{
    static const struct {
        uint64_t now, next;
    } table[] = {
        { 98500, 99500 },         /* a twelfth of the lease later */
        { 99000, DEADLINE },      /* the same */
        { 99400, DEADLINE },      /* sooner */
        { 99999, DEADLINE },      /* likewise */
        { DEADLINE, 101000 },     /* it is past: as soon as can be */
        { DEADLINE + 5, 101005 }, /* likewise */
    };

    for (size_t i = 0; i < ELEMENTS(table); i++) {
        struct fence fence = freezable(60000);
        uint64_t next;

        assert_int_equal(look(&fence, DEADLINE, table[i].now, &next), 4);
        assert_int_equal(next, table[i].next);
        assert_int_equal(look(&fence, DEADLINE, table[i].next, &next), 2);
    }
}

/* The trap: that the lease goes on is not enough, its epoch tells of a gap. */
TEST(test_a_renewal_thaws_in_the_same_epoch_only)
{
    struct fence fence = frozen();
    uint64_t next;

    assert_int_equal(look_in(&fence, 8, DEADLINE + 50000, 99500, &next), 0);
    assert_int_equal(look(&fence, DEADLINE + 50000, 99500, &next), 8);
    assert_int_equal(next, 148000);
    assert_int_equal(look(&fence, DEADLINE + 50000, 148000, &next), 4);
    /* one that is over again by then is none */
    fence = frozen();
    assert_int_equal(look(&fence, DEADLINE + 50000, 148000, &next), 0);
}

TEST(test_it_is_watched_while_the_epoch_may_go_on)
{
    struct fence fence;
    uint64_t next, lease = 60 * FENCE_POLL_US, deadline = 10 * lease;

    fence_init(&fence, lease, 0);
    fence_may_freeze(&fence, 100 * lease);
    assert_int_equal(look(&fence, deadline, deadline - lease / 6, &next), 4);
    fence_verified(&fence);
    assert_int_equal(look(&fence, deadline, deadline - lease / 8, &next), 0);
    assert_int_equal(next, deadline - lease / 8 + FENCE_POLL_US);
    assert_int_equal(look(&fence, deadline, deadline, &next), 0); /* no more */
    assert_int_equal(next, deadline - lease / 6 + 100 * lease);
}

static bool thaws(struct fence fence, uint16_t epoch, uint16_t now_epoch, uint64_t deadline,
                  uint64_t now)
{
    return fence_thaw(&fence, epoch, (struct lease_word){ deadline, now_epoch }, now);
}

TEST(test_a_thaw_is_of_the_present_epoch)
{
    struct fence fence = frozen();
    uint64_t next;

    assert_true(thaws(fence, 8, 8, 300000, 250000));
    assert_false(thaws(fence, 8, 9, 300000, 250000)); /* a second gap has overtaken it */
    assert_false(thaws(fence, 7, 8, 300000, 250000));
    assert_false(thaws(fence, 8, 8, 300000, 298000));        /* it would be frozen at once */
    assert_false(thaws(freezable(0), 7, 7, 300000, 250000)); /* it runs */
    fence_stop(&fence, 60000, 240000);
    assert_false(thaws(fence, 8, 8, 300000, 250000));
    fence = frozen();
    assert_true(fence_thaw(&fence, 8, (struct lease_word){ 300000, 8 }, 250000));
    assert_int_equal(look_in(&fence, 8, 300000, 250000, &next), 0);
    assert_int_equal(next, 298000);
    assert_int_equal(look_in(&fence, 8, 300000, 298000, &next), 4);
}

/* Between the word that it may go on and the thaw, its supervisor may wait for a disk. */
TEST(test_a_thaw_that_takes_longer_than_a_lease_is_none)
{
    struct fence fence = frozen();
    uint64_t next;

    assert_true(fence_thaw(&fence, 8, (struct lease_word){ 300000, 8 }, 250000));
    assert_false(fence_outlived(&fence, (struct lease_word){ 400000, 8 }, 350000));
    assert_true(fence_outlived(&fence, (struct lease_word){ 900000, 9 }, 800000));
    assert_int_equal(fence.stance, FENCE_FROZEN);
    assert_false(fence_outlived(&fence, (struct lease_word){ 900000, 9 }, 800000));
    assert_false(fence_thaw(&fence, 8, (struct lease_word){ 900000, 9 }, 800000));
    assert_true(fence_thaw(&fence, 9, (struct lease_word){ 900000, 9 }, 800000));
    fence_stop(&fence, 100000, 810000); /* with its grace, as it was to go on */
    assert_true(fence_outlived(&fence, (struct lease_word){ 1900000, 10 }, 1800000));
    assert_int_equal(look(&fence, 1900000, 1800000, &next), 2); /* now, and without SIGTERM */
}

TEST(test_a_stop_kills_what_is_frozen)
{
    struct fence fence = frozen();
    uint64_t next;

    fence_stop(&fence, 60000, 150000);
    assert_int_equal(look(&fence, DEADLINE, 150000, &next), 2); /* neither SIGTERM nor a thaw */
    assert_int_equal(fence.cause, FENCE_STOPPED);
    fence = freezable(60000); /* nor what is being frozen, when the lease is renewed as well */
    assert_int_equal(look(&fence, DEADLINE, 98000, &next), 4);
    fence_stop(&fence, 60000, 98001);
    assert_int_equal(look(&fence, DEADLINE + 50000, 98001, &next), 2);
}

/* It has its grace, and is no longer for the lease than before: to freeze it would only delay. */
TEST(test_what_is_being_stopped_is_killed_at_the_end_of_the_lease)
{
    struct fence fence = freezable(60000);
    uint64_t next;

    fence_stop(&fence, 60000, 90000);
    assert_int_equal(look(&fence, DEADLINE, 90000, &next), 1);
    assert_int_equal(next, 99000);
    assert_int_equal(look(&fence, DEADLINE, 98999, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 99000, &next), 2);
    assert_int_equal(fence.cause, FENCE_STOPPED);
}

TEST(test_woken_after_the_deadline_freezes_at_once)
{
    struct fence fence = freezable(60000);
    uint64_t next;

    assert_int_equal(look(&fence, DEADLINE, 50000, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, DEADLINE + 7000, &next), 4);
    assert_int_equal(next, DEADLINE + 7000 + LEASE / 12);
    assert_int_equal(look(&fence, DEADLINE, DEADLINE + 7000 + LEASE / 12, &next), 2);
}

TEST(test_lease_runs_out)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE, 90000, &next), 0);
    assert_int_equal(next, 96000);
    assert_int_equal(look(&fence, DEADLINE, 95999, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 1);
    assert_int_equal(next, 99000);
    assert_int_equal(fence.cause, FENCE_LEASE);
    assert_int_equal(look(&fence, DEADLINE, 98999, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, 99000, &next), 2);
    assert_int_equal(next, NEVER_US);
}

TEST(test_short_grace_kills_earlier)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 500);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 1);
    assert_int_equal(next, 96500);
    fence_init(&fence, LEASE, 0);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 3);
}

TEST(test_renewed_lease_goes_on)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE + 50000, 96000, &next), 0);
    assert_int_equal(next, 146000);
}

TEST(test_renewal_after_term_is_too_late)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 1);
    assert_int_equal(look(&fence, DEADLINE + 50000, 97000, &next), 0);
    assert_int_equal(next, 99000);
    assert_int_equal(look(&fence, DEADLINE + 50000, 99000, &next), 2);
}

TEST(test_woken_after_the_deadline_kills_at_once)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE, 50000, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, DEADLINE + 7, &next), 3);
}

/* It does not act, so nothing is asked of it. */
TEST(test_who_breaks_its_promise_is_killed)
{
    struct fence fence = freezable(30000);
    uint64_t next;

    fence_silent(&fence, 1000);
    assert_int_equal(look(&fence, DEADLINE, 1000, &next), 2);
    assert_int_equal(fence.cause, FENCE_SILENT);
    assert_int_equal(fence_exit_cause(fence.cause, EXIT_CAUSE_PROGRAM), EXIT_CAUSE_STOOD_STILL);
}

TEST(test_who_is_frozen_or_ends_anyway_breaks_no_promise)
{
    struct fence fence = freezable(30000);
    uint64_t next;

    assert_int_equal(look(&fence, DEADLINE, 98000, &next), 4);
    fence_silent(&fence, 98000);
    assert_int_equal(fence.cause, FENCE_NONE);
    fence = freezable(30000);
    fence_stop(&fence, 30000, 1000);
    fence_silent(&fence, 2000);
    assert_int_equal(look(&fence, DEADLINE, 2000, &next), 1);
    assert_int_equal(fence.cause, FENCE_STOPPED);
}

TEST(test_asked_to_end)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, 0, 60000);
    assert_int_equal(look(&fence, 0, 10, &next), 0);
    assert_int_equal(next, NEVER_US);
    fence_stop(&fence, 1000, 10);
    fence_stop(&fence, 5000, 11); /* can only be brought nearer */
    assert_int_equal(look(&fence, 0, 11, &next), 1);
    assert_int_equal(next, 1010);
    fence_stop(&fence, 100, 20);
    assert_int_equal(look(&fence, 0, 20, &next), 0);
    assert_int_equal(next, 120);
    assert_int_equal(look(&fence, 0, 120, &next), 2);
    assert_int_equal(fence.cause, FENCE_STOPPED);
    fence_init(&fence, 0, 0);
    fence_stop(&fence, UINT64_MAX, 10); /* no end of patience, but no overflow either */
    assert_int_equal(look(&fence, 0, 11, &next), 1);
}

TEST(test_lease_runs_out_while_asked_to_end)
{
    struct fence fence;
    uint64_t next;

    fence_init(&fence, LEASE, 60000);
    fence_stop(&fence, 60000, 90000);
    assert_int_equal(look(&fence, DEADLINE, 90000, &next), 1);
    assert_int_equal(next, 96000);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 0); /* it got its SIGTERM */
    assert_int_equal(next, 99000);
    assert_int_equal(look(&fence, DEADLINE, 99000, &next), 2);
    assert_int_equal(fence.cause, FENCE_STOPPED);
}

/* One that is looked at when it asked to be, whatever happens to the lease, is killed before the
 * deadline as it stood when it ran out, and gets SIGTERM once, before or with SIGKILL. */
static void one_life(uint64_t *random)
{
    uint64_t lease = 12 + random_below(random, 100000);
    uint64_t now = random_below(random, 200000);
    uint64_t deadline = now + 1 + random_below(random, lease);
    struct fence fence;
    int n_terms = 0;

    fence_init(&fence, lease, random_below(random, 2 * lease));
    for (int i = 0; i < 1000; i++) {
        struct fence_verdict verdict = fence_look(&fence, (struct lease_word){ deadline, 1 }, now);

        n_terms += verdict.term;
        assert_true(n_terms <= 1);
        assert_true(fence.fenced || now < fence_term_at(deadline, lease));
        if (verdict.kill) {
            assert_int_equal(n_terms, 1);
            assert_true(!fence.fenced || now < deadline);
            return;
        }
        assert_true(verdict.look_at_us > now);
        if (random_below(random, 3) == 0) { /* something happens before */
            now += random_below(random, verdict.look_at_us - now);
            if (!fence.fenced && random_below(random, 4) != 0)
                deadline = MAX_OF(deadline, now + lease);
            else if (random_below(random, 4) == 0)
                fence_stop(&fence, random_below(random, 2 * lease), now);
        } else {
            now = verdict.look_at_us;
        }
    }
    fail_msg("a process outlived everything");
}

TEST(test_random_lives)
{
    uint64_t random = 1;

    for (int i = 0; i < 20000; i++)
        one_life(&random);
}
