/* SPDX-License-Identifier: Apache-2.0 */
/* group_proof.c - two ranks prove to each other that they know the secret of their job */
#include "libedl/group_proof.h"

#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

_Static_assert(JOB_PROOF_BYTES == SHA256_DIGEST_LENGTH, "a proof is one digest");

int group_nonce(uint8_t ret[JOB_NONCE_BYTES])
{
    return getrandom(ret, JOB_NONCE_BYTES, 0) == JOB_NONCE_BYTES ? 0 : -EIO;
}

static void digest_padded(const uint8_t secret[JOB_SECRET_BYTES], uint8_t pad, const void *message,
                          size_t n, uint8_t ret[JOB_PROOF_BYTES])
{
    uint8_t key[SHA256_BLOCK_LENGTH];
    SHA2_CTX state;

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)((i < JOB_SECRET_BYTES ? secret[i] : 0) ^ pad);
    SHA256Init(&state);
    SHA256Update(&state, key, sizeof key);
    SHA256Update(&state, message, n);
    SHA256Final(ret, &state);
    explicit_bzero(key, sizeof key);
    explicit_bzero(&state, sizeof state);
}

void group_hmac(const uint8_t secret[JOB_SECRET_BYTES], const void *message, size_t n,
                uint8_t ret[JOB_PROOF_BYTES])
{
    uint8_t inner[JOB_PROOF_BYTES];

    digest_padded(secret, 0x36, message, n, inner); /* the two pads of RFC 2104 */
    digest_padded(secret, 0x5c, inner, sizeof inner, ret);
}

void group_proof(const uint8_t secret[JOB_SECRET_BYTES], const struct group_meeting *meeting,
                 bool of_acceptor, uint8_t ret[JOB_PROOF_BYTES])
{
    const struct job_claim claim = {
        .protocol = "edl-group",
        .job_id = meeting->job,
        .role = of_acceptor ? "acceptor" : "dialler",
        .index = of_acceptor ? meeting->acceptor : meeting->dialler,
        .incarnation = meeting->generation,
        .nonce = of_acceptor ? meeting->dialler_nonce : meeting->acceptor_nonce,
        .peer_nonce = of_acceptor ? meeting->acceptor_nonce : meeting->dialler_nonce
    };
    uint8_t message[JOB_CLAIM_BYTES_MAX];

    group_hmac(secret, message, job_claim_encode(&claim, message), ret);
}

bool group_proof_is(const uint8_t secret[JOB_SECRET_BYTES], const struct group_meeting *meeting,
                    bool of_acceptor, const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t expected[JOB_PROOF_BYTES], differences = 0;

    group_proof(secret, meeting, of_acceptor, expected);
    for (int i = 0; i < JOB_PROOF_BYTES; i++)
        differences |= expected[i] ^ proof[i];
    return differences == 0;
}
