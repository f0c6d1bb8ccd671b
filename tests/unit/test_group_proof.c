/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_proof.c - proofs of two ranks: those of shared/job_secret.h, made by another library
 */
#include "libedl/group_proof.h"
#include "shared/job_secret.h"
#include "tests/unit/test.h"

static const uint8_t secret[JOB_SECRET_BYTES] = { 1, 2, 3 };

TEST(test_both_libraries_make_the_same_proof)
{
    uint8_t message[300], ours[JOB_PROOF_BYTES], theirs[JOB_PROOF_BYTES];

    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof message; n += 37) {
        group_hmac(secret, message, n, ours);
        assert_int_equal(job_hmac(secret, message, n, theirs, NULL), 0);
        assert_memory_equal(ours, theirs, sizeof ours);
    }
}

TEST(test_a_proof_is_of_one_end_of_one_link)
{
    struct group_meeting meeting = { .job = 7, .generation = 3, .dialler = 2, .acceptor = 1 };
    struct group_meeting other = meeting;
    uint8_t proof[JOB_PROOF_BYTES], odd_secret[JOB_SECRET_BYTES] = { 1, 2, 4 };

    assert_int_equal(group_nonce(meeting.dialler_nonce), 0);
    assert_int_equal(group_nonce(meeting.acceptor_nonce), 0);
    group_proof(secret, &meeting, true, proof);
    assert_true(group_proof_is(secret, &meeting, true, proof));
    assert_false(group_proof_is(secret, &meeting, false, proof)); /* sent back */
    assert_false(group_proof_is(odd_secret, &meeting, true, proof));
    assert_false(group_proof_is(secret, &other, true, proof)); /* other nonces */
    other = meeting;
    other.generation++;
    assert_false(group_proof_is(secret, &other, true, proof));
    other = meeting;
    other.job++;
    assert_false(group_proof_is(secret, &other, true, proof));
    other = meeting;
    other.acceptor++;
    assert_false(group_proof_is(secret, &other, true, proof));
    proof[31] ^= 1;
    assert_false(group_proof_is(secret, &meeting, true, proof));
}
