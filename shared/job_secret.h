/* SPDX-License-Identifier: Apache-2.0 */
/* job_secret.h - the secret of a job, and how its processes prove to each other that they know it
 *
 * The scheduler makes one secret for each job. A process of the job asks its agent for it
 * (GET /jobs/self/secret), and nobody else is told. Two processes that meet on a network each send
 * a fresh nonce and a proof; the secret itself never travels between them.
 *
 * A proof is HMAC-SHA-256(secret, claim). The claim says for which protocol the proof is, who the
 * prover is, and which nonces were exchanged. So a proof is of no use on another connection, for
 * another protocol, or to another process. It proves who is at the other end when a connection
 * begins. Later messages are neither encrypted nor authenticated.
 *
 * Used by: scheduler, trainer. Tests: tests/unit/test_job_secret.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/job_claim.h"

#define JOB_SECRET_BYTES 32
#define JOB_SECRET_HEX (2 * JOB_SECRET_BYTES)
#define JOB_PROOF_BYTES 32

struct edl_error;

/* job_secret_is_set - whether it is one; all 0 stands for none */
static inline bool job_secret_is_set(const uint8_t secret[JOB_SECRET_BYTES])
{
    uint8_t any = 0;

    for (int i = 0; i < JOB_SECRET_BYTES; i++)
        any |= secret[i];
    return any != 0;
}

/* job_secret_make, job_nonce_make - random bytes; -EIO when there are none */
int job_secret_make(uint8_t ret[JOB_SECRET_BYTES], struct edl_error *error);
int job_nonce_make(uint8_t ret[JOB_NONCE_BYTES], struct edl_error *error);

/* job_hmac - HMAC-SHA-256(secret, message): what proofs are made of; -EIO when the library fails */
int job_hmac(const uint8_t secret[JOB_SECRET_BYTES], const void *message, size_t n,
             uint8_t ret[JOB_PROOF_BYTES], struct edl_error *error);

/* job_proof_make - the proof of a claim; -EINVAL when a name is too long, or as job_hmac */
int job_proof_make(const uint8_t secret[JOB_SECRET_BYTES], const struct job_claim *claim,
                   uint8_t ret[JOB_PROOF_BYTES], struct edl_error *error);

/* job_proof_check - whether proof is the proof of the claim; takes as long whatever it holds */
bool job_proof_check(const uint8_t secret[JOB_SECRET_BYTES], const struct job_claim *claim,
                     const uint8_t proof[JOB_PROOF_BYTES]);
