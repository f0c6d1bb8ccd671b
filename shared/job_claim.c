/* SPDX-License-Identifier: Apache-2.0 */
/* job_claim.c - the bytes that a proof of a job's secret is made over */
#include "shared/job_claim.h"

#include <string.h>

/* The first bytes of every claim: proofs of this module are never those of another use of the key.
 * Another encoding takes another text. */
#define LABEL "EDL proof of a job 1"

_Static_assert(sizeof LABEL + 2 * (8 + JOB_CLAIM_TEXT_MAX) + 3 * 8 + 2 * JOB_NONCE_BYTES <=
                   JOB_CLAIM_BYTES_MAX,
               "label, two texts with their lengths, three numbers, two nonces");

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

size_t job_claim_encode(const struct job_claim *claim, uint8_t ret[JOB_CLAIM_BYTES_MAX])
{
    uint8_t *out = put(ret, LABEL, sizeof LABEL);

    if (strlen(claim->protocol) > JOB_CLAIM_TEXT_MAX || strlen(claim->role) > JOB_CLAIM_TEXT_MAX)
        return 0;
    out = put_text(out, claim->protocol);
    out = put_u64(out, claim->job_id);
    out = put_text(out, claim->role);
    out = put_u64(out, claim->index);
    out = put_u64(out, claim->incarnation);
    out = put(out, claim->nonce, JOB_NONCE_BYTES);
    out = put(out, claim->peer_nonce, JOB_NONCE_BYTES);
    return (size_t)(out - ret);
}
