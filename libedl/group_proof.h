/* SPDX-License-Identifier: Apache-2.0 */
/* group_proof.h - two ranks prove to each other that they know the secret of their job
 *
 * The same proofs as those of shared/job_secret.h, by libmd: the library for programs needs no
 * GnuTLS. Each proof answers a nonce of the other end. The two ends have different roles, so
 * neither can send a proof back as its own. */
#pragma once

#include <stdbool.h>

#include "libedl/group_frame.h"

/* The two ends of a link, as each end knows them. */
struct group_meeting {
    uint64_t job, generation;
    uint32_t dialler, acceptor; /* ranks */
    uint8_t dialler_nonce[JOB_NONCE_BYTES], acceptor_nonce[JOB_NONCE_BYTES];
};

/* group_nonce - -EIO: there are no random bytes */
int group_nonce(uint8_t ret[JOB_NONCE_BYTES]);

/* group_proof - of the acceptor or of the dialler */
void group_proof(const uint8_t secret[JOB_SECRET_BYTES], const struct group_meeting *meeting,
                 bool of_acceptor, uint8_t ret[JOB_PROOF_BYTES]);

/* group_proof_is - whether proof is that; takes as long whatever it holds */
bool group_proof_is(const uint8_t secret[JOB_SECRET_BYTES], const struct group_meeting *meeting,
                    bool of_acceptor, const uint8_t proof[JOB_PROOF_BYTES]);

/* group_hmac - HMAC-SHA-256(secret, message) */
void group_hmac(const uint8_t secret[JOB_SECRET_BYTES], const void *message, size_t n,
                uint8_t ret[JOB_PROOF_BYTES]);
