/* SPDX-License-Identifier: Apache-2.0 */
/* test_fence.c - when a process has to end: instants, asked and unasked, and random renewals */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/core/fence.h"
#include "shared/macro.h"
#include "shared/random.h"

#define LEASE 12000 /* a third is 4000, a twelfth 1000 */
#define DEADLINE 100000

static void test_instants(void **state)
{
    static const struct {
        uint64_t deadline, lease, term, kill;
    } table[] = {
        { DEADLINE, LEASE, 96000, 99000 },
        { 1000, LEASE, 0, 0 },               /* the lease is longer than the boot is ago */
        { 0, LEASE, 0, 0 },                  /* there never was one */
        { DEADLINE, 0, NEVER_US, NEVER_US }, /* not fenced */
        { DEADLINE, 1, DEADLINE, DEADLINE }, /* nothing to divide */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(table); i++) {
        assert_int_equal(fence_term_at(table[i].deadline, table[i].lease), table[i].term);
        assert_int_equal(fence_kill_at(table[i].deadline, table[i].lease), table[i].kill);
    }
}

/* look - the verdict as one number for tables: 1 for term, 2 for kill */
static int look(struct fence *fence, uint64_t deadline, uint64_t now, uint64_t *ret_next)
{
    struct fence_verdict verdict = fence_look(fence, deadline, now);

    *ret_next = verdict.look_at_us;
    return verdict.term + 2 * verdict.kill;
}

static void test_lease_runs_out(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
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

static void test_short_grace_kills_earlier(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
    fence_init(&fence, LEASE, 500);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 1);
    assert_int_equal(next, 96500);
    fence_init(&fence, LEASE, 0);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 3);
}

static void test_renewed_lease_goes_on(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE + 50000, 96000, &next), 0);
    assert_int_equal(next, 146000);
}

static void test_renewal_after_term_is_too_late(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE, 96000, &next), 1);
    assert_int_equal(look(&fence, DEADLINE + 50000, 97000, &next), 0);
    assert_int_equal(next, 99000);
    assert_int_equal(look(&fence, DEADLINE + 50000, 99000, &next), 2);
}

static void test_woken_after_the_deadline_kills_at_once(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
    fence_init(&fence, LEASE, 60000);
    assert_int_equal(look(&fence, DEADLINE, 50000, &next), 0);
    assert_int_equal(look(&fence, DEADLINE, DEADLINE + 7, &next), 3);
}

static void test_asked_to_end(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
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

static void test_lease_runs_out_while_asked_to_end(void **state)
{
    struct fence fence;
    uint64_t next;

    (void)state;
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
        struct fence_verdict verdict = fence_look(&fence, deadline, now);

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

static void test_random_lives(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < 20000; i++)
        one_life(&random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instants),
        cmocka_unit_test(test_lease_runs_out),
        cmocka_unit_test(test_short_grace_kills_earlier),
        cmocka_unit_test(test_renewed_lease_goes_on),
        cmocka_unit_test(test_renewal_after_term_is_too_late),
        cmocka_unit_test(test_woken_after_the_deadline_kills_at_once),
        cmocka_unit_test(test_asked_to_end),
        cmocka_unit_test(test_lease_runs_out_while_asked_to_end),
        cmocka_unit_test(test_random_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
