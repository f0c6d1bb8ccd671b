/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.c - what a slot and the caller that gives it an order prove to each other */
#include "mpi/meeting.h"

#include <errno.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PROTOCOL "edl-mpi"
#define CALLER "caller"
#define SLOT "slot"
#define LABEL "EDL words of mpi 1" /* with its NUL: before what is digested */

_Static_assert(JOB_NONCE_BYTES == JOB_PROOF_BYTES, "a digest stands in the place of a nonce");

static struct job_claim claim_of(const struct mpi_meeting *meeting, const char *role,
                                 const uint8_t *nonce, const uint8_t *peer_nonce)
{
    return (struct job_claim){ .protocol = PROTOCOL,
                               .job_id = meeting->job_id,
                               .role = role,
                               .index = meeting->index,
                               .incarnation = meeting->incarnation,
                               .nonce = nonce,
                               .peer_nonce = peer_nonce };
}

int mpi_meeting_prove(const struct mpi_meeting *meeting, uint8_t ret[JOB_PROOF_BYTES],
                      struct edl_error *error)
{
    struct job_claim claim = claim_of(meeting, SLOT, meeting->caller_nonce, meeting->slot_nonce);

    return job_proof_make(meeting->secret, &claim, ret, error);
}

bool mpi_meeting_is_slot(const struct mpi_meeting *meeting, const uint8_t proof[JOB_PROOF_BYTES])
{
    struct job_claim claim = claim_of(meeting, SLOT, meeting->caller_nonce, meeting->slot_nonce);

    return job_proof_check(meeting->secret, &claim, proof);
}

/* Words together with the nonce of their speaker: the digest stands for that nonce in the proof. */
static int digest(const struct mpi_meeting *meeting, const uint8_t nonce[JOB_NONCE_BYTES],
                  const void *bytes, size_t n, uint8_t ret[JOB_PROOF_BYTES],
                  struct edl_error *error)
{
    size_t size = sizeof LABEL + JOB_NONCE_BYTES + n;
    _cleanup_free_ uint8_t *message = xcalloc(1, size);

    memcpy(message, LABEL, sizeof LABEL);
    memcpy(message + sizeof LABEL, nonce, JOB_NONCE_BYTES);
    if (n > 0)
        memcpy(message + sizeof LABEL + JOB_NONCE_BYTES, bytes, n);
    return job_hmac(meeting->secret, message, size, ret, error);
}

static int prove_order(const struct mpi_meeting *meeting, const void *bytes, size_t n,
                       uint8_t ret[JOB_PROOF_BYTES], struct edl_error *error)
{
    uint8_t said[JOB_PROOF_BYTES];
    struct job_claim claim = claim_of(meeting, CALLER, meeting->slot_nonce, said);
    int r = digest(meeting, meeting->caller_nonce, bytes, n, said, error);

    return r < 0 ? r : job_proof_make(meeting->secret, &claim, ret, error);
}

static bool is_order(const struct mpi_meeting *meeting, const void *bytes, size_t n,
                     const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t said[JOB_PROOF_BYTES];
    struct job_claim claim = claim_of(meeting, CALLER, meeting->slot_nonce, said);

    return digest(meeting, meeting->caller_nonce, bytes, n, said, NULL) == 0 &&
           job_proof_check(meeting->secret, &claim, proof);
}

int mpi_meeting_put_order(const struct mpi_meeting *meeting, const struct mpi_order *order,
                          uint8_t **ret, size_t *ret_size, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t n = 0;
    int r = mpi_order_write(order, &text, &n, error);

    if (r < 0)
        return r;
    bytes = xcalloc(1, MPI_ORDER_HEAD_BYTES + n);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    memcpy(bytes + MPI_ORDER_HEAD_BYTES, text, n);
    r = prove_order(meeting, text, n, bytes + 4, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(bytes);
    *ret_size = MPI_ORDER_HEAD_BYTES + n;
    return 0;
}

int mpi_meeting_put_status(const struct mpi_meeting *meeting, uint8_t status,
                           uint8_t ret[MPI_STATUS_BYTES], struct edl_error *error)
{
    uint8_t said[JOB_PROOF_BYTES];
    struct job_claim claim = claim_of(meeting, SLOT, meeting->caller_nonce, said);
    int r = digest(meeting, meeting->slot_nonce, &status, 1, said, error);

    ret[0] = status;
    return r < 0 ? r : job_proof_make(meeting->secret, &claim, ret + 1, error);
}

bool mpi_meeting_is_status(const struct mpi_meeting *meeting, const uint8_t bytes[MPI_STATUS_BYTES])
{
    uint8_t said[JOB_PROOF_BYTES];
    struct job_claim claim = claim_of(meeting, SLOT, meeting->caller_nonce, said);

    return digest(meeting, meeting->slot_nonce, bytes, 1, said, NULL) == 0 &&
           job_proof_check(meeting->secret, &claim, bytes + 1);
}

/* ---- the slot's end ---- */

void mpi_peer_begin(struct mpi_peer *peer, const struct mpi_meeting *meeting)
{
    *peer = (struct mpi_peer){ .state = MPI_PEER_NONCE,
                               .meeting = *meeting,
                               .wanted = JOB_NONCE_BYTES,
                               .n_out = JOB_NONCE_BYTES };
    memcpy(peer->out, meeting->slot_nonce, JOB_NONCE_BYTES);
}

void mpi_peer_clear(struct mpi_peer *peer)
{
    free(peer->body);
    mpi_order_clear(&peer->order);
    *peer = (struct mpi_peer){ .state = MPI_PEER_NONCE };
}

static void want(struct mpi_peer *peer, enum mpi_peer_state state, size_t bytes)
{
    peer->state = state;
    peer->wanted = bytes;
    peer->got = 0;
}

static int take_nonce(struct mpi_peer *peer, struct edl_error *error)
{
    want(peer, MPI_PEER_HEAD, MPI_ORDER_HEAD_BYTES);
    peer->n_out = JOB_PROOF_BYTES;
    return mpi_meeting_prove(&peer->meeting, peer->out, error);
}

static int take_head(struct mpi_peer *peer, struct edl_error *error)
{
    size_t n = 0;

    for (int i = 0; i < 4; i++)
        n |= (size_t)peer->head[i] << 8 * i;
    if (n == 0 || n > MPI_ORDER_BYTES_MAX)
        return edl_error_set(error, -E2BIG, "an order of %zu bytes; it has 1 to %u", n,
                             MPI_ORDER_BYTES_MAX);
    peer->body = xcalloc(1, n);
    want(peer, MPI_PEER_BODY, n);
    return 0;
}

static int take_body(struct mpi_peer *peer, struct edl_error *error)
{
    int r;

    if (!is_order(&peer->meeting, peer->body, peer->wanted, peer->head + 4))
        return edl_error_set(error, -EACCES, "a caller does not know the secret of the job");
    r = mpi_order_read(peer->body, peer->wanted, &peer->order, error);
    if (r < 0)
        return r;
    want(peer, MPI_PEER_ORDER, 0);
    return 1;
}

static uint8_t *part(struct mpi_peer *peer)
{
    return peer->state == MPI_PEER_NONCE  ? peer->meeting.caller_nonce
           : peer->state == MPI_PEER_HEAD ? peer->head
                                          : peer->body;
}

int mpi_peer_take(struct mpi_peer *peer, const uint8_t *bytes, size_t n, struct edl_error *error)
{
    static int (*const takers[])(struct mpi_peer * peer, struct edl_error * error) = {
        [MPI_PEER_NONCE] = take_nonce,
        [MPI_PEER_HEAD] = take_head,
        [MPI_PEER_BODY] = take_body,
    };
    int r = 0;

    peer->n_out = 0;
    while (r == 0 && n > 0) {
        size_t taken = MIN_OF(n, peer->wanted - peer->got);

        if (peer->state == MPI_PEER_ORDER)
            return edl_error_set(error, -EINVAL, "a caller says more than an order");
        memcpy(part(peer) + peer->got, bytes, taken);
        peer->got += taken;
        bytes += taken;
        n -= taken;
        if (peer->got == peer->wanted)
            r = takers[peer->state](peer, error);
    }
    if (r == 1 && n > 0)
        return edl_error_set(error, -EINVAL, "a caller says more than an order");
    return r;
}
