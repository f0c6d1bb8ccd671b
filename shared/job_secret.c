/* SPDX-License-Identifier: Apache-2.0 */
/* job_secret.c - the secret of a job, and how its processes prove to each other that they know it
 */
#include "shared/job_secret.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "shared/error.h"

static int random_bytes(gnutls_rnd_level_t level, uint8_t *ret, size_t n, struct edl_error *error)
{
    int r = gnutls_rnd(level, ret, n);

    return r < 0 ? edl_error_set(error, -EIO, "no random bytes: %s", gnutls_strerror(r)) : 0;
}

int job_secret_make(uint8_t ret[JOB_SECRET_BYTES], struct edl_error *error)
{
    return random_bytes(GNUTLS_RND_KEY, ret, JOB_SECRET_BYTES, error);
}

int job_nonce_make(uint8_t ret[JOB_NONCE_BYTES], struct edl_error *error)
{
    return random_bytes(GNUTLS_RND_NONCE, ret, JOB_NONCE_BYTES, error);
}

int job_hmac(const uint8_t secret[JOB_SECRET_BYTES], const void *message, size_t n,
             uint8_t ret[JOB_PROOF_BYTES], struct edl_error *error)
{
    int r = gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, JOB_SECRET_BYTES, message, n, ret);

    return r < 0 ? edl_error_set(error, -EIO, "HMAC-SHA-256: %s", gnutls_strerror(r)) : 0;
}

int job_proof_make(const uint8_t secret[JOB_SECRET_BYTES], const struct job_claim *claim,
                   uint8_t ret[JOB_PROOF_BYTES], struct edl_error *error)
{
    uint8_t message[JOB_CLAIM_BYTES_MAX];
    size_t n = job_claim_encode(claim, message);

    if (n == 0)
        return edl_error_set(error, -EINVAL, "a name in a proof has more than %d bytes",
                             JOB_CLAIM_TEXT_MAX);
    return job_hmac(secret, message, n, ret, error);
}

bool job_proof_check(const uint8_t secret[JOB_SECRET_BYTES], const struct job_claim *claim,
                     const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t expected[JOB_PROOF_BYTES];

    return job_proof_make(secret, claim, expected, NULL) == 0 &&
           gnutls_memcmp(expected, proof, JOB_PROOF_BYTES) == 0;
}
