/* SPDX-License-Identifier: Apache-2.0 */
/* job_secret.c - the secret of a job, and how its processes prove to each other that they know it
 */
#include "shared/job_secret.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "shared/error.h"

/* The first bytes of every claim: proofs of this module are never those of another use of the key.
 * Another encoding takes another text. */
#define LABEL "EDL proof of a job 1"
/* label, two texts with their lengths, three numbers, two nonces */
#define CLAIM_MAX (sizeof LABEL + 2 * (8 + JOB_CLAIM_TEXT_MAX) + 3 * 8 + 2 * JOB_NONCE_BYTES)

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

static uint8_t *put_u64(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

static uint8_t *put(uint8_t *out, const void *bytes, size_t n)
{
    memcpy(out, bytes, n);
    return out + n;
}

static uint8_t *put_text(uint8_t *out, const char *text)
{
    size_t n = strlen(text);

    return put(put_u64(out, n), text, n);
}

/* Every part is of a fixed length or follows its length, so two claims never encode alike. */
static size_t encode(const struct job_claim *claim, uint8_t *ret)
{
    uint8_t *out = put(ret, LABEL, sizeof LABEL);

    out = put_text(out, claim->protocol);
    out = put_u64(out, claim->job_id);
    out = put_text(out, claim->role);
    out = put_u64(out, claim->index);
    out = put_u64(out, claim->incarnation);
    out = put(out, claim->nonce, JOB_NONCE_BYTES);
    out = put(out, claim->peer_nonce, JOB_NONCE_BYTES);
    return (size_t)(out - ret);
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
    uint8_t message[CLAIM_MAX];

    if (strlen(claim->protocol) > JOB_CLAIM_TEXT_MAX || strlen(claim->role) > JOB_CLAIM_TEXT_MAX)
        return edl_error_set(error, -EINVAL, "a name in a proof has more than %d bytes",
                             JOB_CLAIM_TEXT_MAX);
    return job_hmac(secret, message, encode(claim, message), ret, error);
}

bool job_proof_check(const uint8_t secret[JOB_SECRET_BYTES], const struct job_claim *claim,
                     const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t expected[JOB_PROOF_BYTES];

    return job_proof_make(secret, claim, expected, NULL) == 0 &&
           gnutls_memcmp(expected, proof, JOB_PROOF_BYTES) == 0;
}
