/* SPDX-License-Identifier: Apache-2.0 */
/* job_claim.h - what a proof of a job's secret is about; pure
 *
 * shared/job_secret.c and libedl/group_proof.c make proofs of the same form with different
 * libraries: the library for programs needs no GnuTLS. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JOB_NONCE_BYTES 32
#define JOB_CLAIM_TEXT_MAX 64 /* of a protocol's or role's name, without its NUL */
#define JOB_CLAIM_BYTES_MAX 320

/* What a proof is about. Pointers are borrowed. */
struct job_claim {
    const char *protocol; /* "edl-pserver": a proof for one protocol is none for another */
    uint64_t job_id;
    const char *role; /* of the prover; the two ends of a connection have different ones */
    uint64_t index, incarnation;
    const uint8_t *nonce;      /* JOB_NONCE_BYTES of whoever checks: made for this connection */
    const uint8_t *peer_nonce; /* JOB_NONCE_BYTES of the prover */
};

/* job_claim_encode - how many bytes of ret it takes; 0: a name is too long
 * Every part is of a fixed length or follows its length, so two claims never encode alike. */
size_t job_claim_encode(const struct job_claim *claim, uint8_t ret[JOB_CLAIM_BYTES_MAX]);
