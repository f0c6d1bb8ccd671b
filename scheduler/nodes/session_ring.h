/* SPDX-License-Identifier: Apache-2.0 */
/* session_ring.h - bytes of one direction of a session, on their way through the scheduler
 *
 * Pure. Memory is there while it holds some. Used by: session_pipe.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

#define SESSION_RING_BYTES ((size_t)64 * 1024)

/* Zeroed: empty. */
struct session_ring {
    uint8_t *bytes; /* owned; NULL: it is empty */
    size_t at, n;
};

static inline size_t session_ring_room(const struct session_ring *ring)
{
    return SESSION_RING_BYTES - ring->n;
}

/* session_ring_put - size: at most its room */
static inline void session_ring_put(struct session_ring *ring, const void *data, size_t size)
{
    size_t to = (ring->at + ring->n) % SESSION_RING_BYTES;
    size_t first = MIN_OF(size, SESSION_RING_BYTES - to);

    if (ring->bytes == NULL)
        ring->bytes = xcalloc(1, SESSION_RING_BYTES);
    memcpy(ring->bytes + to, data, first);
    memcpy(ring->bytes, (const uint8_t *)data + first, size - first);
    ring->n += size;
}

/* session_ring_look - the first bytes that lie together, `most` of them at most; borrowed. NULL:
 * there are none */
static inline const uint8_t *session_ring_look(const struct session_ring *ring, size_t most,
                                               size_t *ret_size)
{
    *ret_size = MIN_OF(MIN_OF(ring->n, SESSION_RING_BYTES - ring->at), most);
    return ring->n > 0 ? ring->bytes + ring->at : NULL;
}

static inline void session_ring_clear(struct session_ring *ring)
{
    free(ring->bytes);
    *ring = (struct session_ring){ 0 };
}

/* session_ring_drop - so many of the first bytes have gone on */
static inline void session_ring_drop(struct session_ring *ring, size_t size)
{
    ring->n -= size;
    ring->at = ring->n > 0 ? (ring->at + size) % SESSION_RING_BYTES : 0;
}
