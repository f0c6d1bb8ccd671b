/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_meeting.c - what a slot and its caller prove: whole meetings, and every way to fail one
 */
#include <errno.h>

#include "mpi/meeting.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static char command[] = "orted --daemon";
static const struct mpi_order asked = { .command = command };

static struct mpi_meeting meeting_of(uint8_t secret, uint8_t slot_nonce, uint8_t caller_nonce)
{
    struct mpi_meeting meeting = { .job_id = 12, .index = 1, .incarnation = 3 };

    memset(meeting.secret, secret, sizeof meeting.secret);
    memset(meeting.slot_nonce, slot_nonce, sizeof meeting.slot_nonce);
    memset(meeting.caller_nonce, caller_nonce, sizeof meeting.caller_nonce);
    return meeting;
}

/* give - an order by a caller who thinks that this is the meeting, in pieces of so many bytes */
static int give(const struct mpi_meeting *callers, struct mpi_peer *peer, size_t piece,
                struct edl_error *error)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t n = 0;
    int r = mpi_peer_take(peer, callers->caller_nonce, JOB_NONCE_BYTES, error);

    assert_int_equal(r, 0);
    assert_int_equal(peer->n_out, JOB_PROOF_BYTES);
    assert_int_equal(mpi_meeting_put_order(callers, &asked, &bytes, &n, error), 0);
    for (size_t i = 0; r == 0 && i < n; i += piece)
        r = mpi_peer_take(peer, bytes + i, MIN_OF(piece, n - i), error);
    return r;
}

TEST(test_an_order_of_a_member_is_taken)
{
    static const size_t pieces[] = { 1, 7, 100000 };

    for (size_t i = 0; i < ELEMENTS(pieces); i++) {
        struct mpi_meeting meeting = meeting_of(1, 2, 3);
        struct edl_error error = { 0 };
        struct mpi_peer peer;

        mpi_peer_begin(&peer, &meeting);
        assert_int_equal(peer.n_out, JOB_NONCE_BYTES);
        assert_memory_equal(peer.out, meeting.slot_nonce, JOB_NONCE_BYTES);
        assert_int_equal(give(&meeting, &peer, pieces[i], &error), 1);
        assert_string_equal(peer.order.command, command);
        mpi_peer_clear(&peer);
    }
}

/* A stranger, a nonce of another connection (as of one that was overheard), an order for another
 * slot, a slot that has been replaced since, another job. */
TEST(test_others_are_refused)
{
    struct mpi_meeting true_one = meeting_of(1, 2, 3);
    struct mpi_meeting wrong[] = { meeting_of(9, 2, 3), meeting_of(1, 8, 3), true_one, true_one,
                                   true_one };

    wrong[2].index = 2;
    wrong[3].incarnation = 4;
    wrong[4].job_id = 13;
    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct edl_error error = { 0 };
        struct mpi_peer peer;

        mpi_peer_begin(&peer, &true_one);
        assert_int_equal(give(&wrong[i], &peer, 100000, &error), -EACCES);
        assert_null(peer.order.command);
        mpi_peer_clear(&peer);
    }
}

/* One that changes a byte of it under way. */
TEST(test_a_changed_order_is_refused)
{
    struct mpi_meeting meeting = meeting_of(1, 2, 3);
    struct edl_error error = { 0 };
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t n = 0;

    assert_int_equal(mpi_meeting_put_order(&meeting, &asked, &bytes, &n, &error), 0);
    for (size_t i = 4; i < n; i++) {
        struct mpi_peer peer;

        mpi_peer_begin(&peer, &meeting);
        assert_int_equal(mpi_peer_take(&peer, meeting.caller_nonce, JOB_NONCE_BYTES, &error), 0);
        bytes[i] ^= 1;
        assert_int_equal(mpi_peer_take(&peer, bytes, n, &error), -EACCES);
        bytes[i] ^= 1;
        mpi_peer_clear(&peer);
    }
}

TEST(test_what_comes_before_the_proof_is_bounded)
{
    static const uint8_t lengths[][4] = { { 0 }, { 1, 0, 4, 0 }, { 255, 255, 255, 255 } };
    struct mpi_meeting meeting = meeting_of(1, 2, 3);

    for (size_t i = 0; i < ELEMENTS(lengths); i++) {
        uint8_t head[MPI_ORDER_HEAD_BYTES] = { 0 };
        struct edl_error error = { 0 };
        struct mpi_peer peer;

        memcpy(head, lengths[i], sizeof lengths[i]);
        mpi_peer_begin(&peer, &meeting);
        assert_int_equal(mpi_peer_take(&peer, meeting.caller_nonce, JOB_NONCE_BYTES, &error), 0);
        assert_int_equal(mpi_peer_take(&peer, head, sizeof head, &error), -E2BIG);
        assert_null(peer.body);
        mpi_peer_clear(&peer);
    }
}

TEST(test_a_caller_says_one_order)
{
    struct mpi_meeting meeting = meeting_of(1, 2, 3);
    struct edl_error error = { 0 };
    struct mpi_peer peer;

    mpi_peer_begin(&peer, &meeting);
    assert_int_equal(give(&meeting, &peer, 100000, &error), 1);
    assert_int_equal(mpi_peer_take(&peer, (const uint8_t *)"x", 1, &error), -EINVAL);
    mpi_peer_clear(&peer);
}

/* A caller tells its secrets to no program that took the port of a slot that is gone. */
TEST(test_the_slot_proves_itself)
{
    struct mpi_meeting meeting = meeting_of(1, 2, 3), stranger = meeting_of(9, 2, 3);
    uint8_t proof[JOB_PROOF_BYTES], status[MPI_STATUS_BYTES];

    assert_int_equal(mpi_meeting_prove(&meeting, proof, NULL), 0);
    assert_true(mpi_meeting_is_slot(&meeting, proof));
    assert_false(mpi_meeting_is_slot(&stranger, proof));
    assert_int_equal(mpi_meeting_put_status(&meeting, 7, status, NULL), 0);
    assert_int_equal(status[0], 7);
    assert_true(mpi_meeting_is_status(&meeting, status));
    assert_false(mpi_meeting_is_status(&stranger, status));
    status[0] = 0;
    assert_false(mpi_meeting_is_status(&meeting, status));
    memcpy(status + 1, proof, sizeof proof);
    assert_false(mpi_meeting_is_status(&meeting, status));
}
