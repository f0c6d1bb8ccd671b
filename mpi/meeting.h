/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.h - what a slot and the caller that gives it an order prove to each other; pure
 *
 *     edl-mpi-rsh                                    slot
 *                                             <-     its nonce
 *     its nonce                               ->
 *                                             <-     its proof
 *     order: length, proof, bytes             ->
 *                                             <-     at the end of the command: status, proof
 *
 * Each proof is made with the job's secret, of both nonces, the slot's place, and the bytes that
 * follow. So nobody else gives an order, changes one under way, or says how it ended. An order that
 * was overheard is good for no other connection. Nothing is encrypted: mpirun and its parts talk in
 * the open as well.
 *
 * A slot bounds what comes before the proof: MPI_ORDER_BYTES_MAX. Tests:
 * tests/unit/test_mpi_meeting.c, tests/fuzz/fuzz_mpi_peer.c. */
#pragma once

#include "mpi/order.h"
#include "shared/job_secret.h"

#define MPI_ORDER_HEAD_BYTES (4 + JOB_PROOF_BYTES) /* length in bytes, little-endian; proof */
#define MPI_STATUS_BYTES (1 + JOB_PROOF_BYTES)

/* Who meets: the slot, and a connection by its nonces. */
struct mpi_meeting {
    uint8_t secret[JOB_SECRET_BYTES];
    uint64_t job_id, index, incarnation; /* of the slot */
    uint8_t slot_nonce[JOB_NONCE_BYTES], caller_nonce[JOB_NONCE_BYTES];
};

/* mpi_meeting_prove - the slot's own proof
 * mpi_meeting_is_slot - whether that is one */
int mpi_meeting_prove(const struct mpi_meeting *meeting, uint8_t ret[JOB_PROOF_BYTES],
                      struct edl_error *error);
bool mpi_meeting_is_slot(const struct mpi_meeting *meeting, const uint8_t proof[JOB_PROOF_BYTES]);

/* mpi_meeting_put_order - the caller's order as it is sent: head and bytes; *ret: new */
int mpi_meeting_put_order(const struct mpi_meeting *meeting, const struct mpi_order *order,
                          uint8_t **ret, size_t *ret_size, struct edl_error *error);

/* mpi_meeting_put_status, _is_status - the slot's last word, and whether it is one */
int mpi_meeting_put_status(const struct mpi_meeting *meeting, uint8_t status,
                           uint8_t ret[MPI_STATUS_BYTES], struct edl_error *error);
bool mpi_meeting_is_status(const struct mpi_meeting *meeting,
                           const uint8_t bytes[MPI_STATUS_BYTES]);

/* The slot's end of a connection: bytes in, what to send out. */
enum mpi_peer_state { MPI_PEER_NONCE, MPI_PEER_HEAD, MPI_PEER_BODY, MPI_PEER_ORDER };

struct mpi_peer {
    enum mpi_peer_state state;
    struct mpi_meeting meeting;
    uint8_t head[MPI_ORDER_HEAD_BYTES];
    uint8_t *body;                /* owned; room for what the head says */
    size_t wanted, got;           /* bytes of the part under way */
    uint8_t out[JOB_NONCE_BYTES]; /* to be sent now, n_out; a nonce and a proof are as long */
    size_t n_out;
    struct mpi_order order; /* of MPI_PEER_ORDER; owned */
};

/* mpi_peer_begin - meeting: with the slot's nonce, which is the first to be sent */
void mpi_peer_begin(struct mpi_peer *peer, const struct mpi_meeting *meeting);
void mpi_peer_clear(struct mpi_peer *peer);

/* mpi_peer_take - bytes that came; 0: go on, after n_out bytes of out were sent; 1: order is there.
 * -EACCES: the caller did not prove itself; -E2BIG, -EINVAL, -EIO: it is refused */
int mpi_peer_take(struct mpi_peer *peer, const uint8_t *bytes, size_t n, struct edl_error *error);
