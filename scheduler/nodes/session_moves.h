/* SPDX-License-Identifier: Apache-2.0 */
/* session_moves.h - when a session moved something last, beside what says that its sides are there
 *
 * Pure. sessions.c looks now and then, and each look compares with the one before it. So a few keys
 * count as well, however long nothing has moved. Used by: sessions.c. Tests:
 * tests/unit/test_session_turns.c */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

/* What moves when nothing does: a frame of 8 bytes from each of two sides each 15 s
 * (session_frame.h). */
#define SESSION_PING_US (15 * USEC_PER_SEC)
#define SESSION_PING_BYTES ((uint64_t)2 * 8)

struct session_moves {
    uint64_t moved_us;   /* the last time that it moved something */
    uint64_t seen_us;    /* the last look */
    uint64_t seen_bytes; /* of all that had come then */
};

static inline void session_moves_begin(struct session_moves *moves, uint64_t now_us)
{
    moves->moved_us = moves->seen_us = now_us;
}

static inline uint64_t session_moves_idle_us(const struct session_moves *moves, uint64_t now_us)
{
    return now_us - MIN_OF(moves->moved_us, now_us);
}

/* session_moves_look - bytes: all that have come from both sides. true: for idle_us nothing moved.
 * A look right behind another one tells little, and is left out where nothing depends on it. */
static inline bool session_moves_look(struct session_moves *moves, uint64_t bytes, uint64_t now_us,
                                      uint64_t idle_us)
{
    uint64_t passed_us = now_us - MIN_OF(moves->seen_us, now_us);
    uint64_t pings = passed_us / SESSION_PING_US + 1;

    if (passed_us < SESSION_PING_US && session_moves_idle_us(moves, now_us) < idle_us)
        return false;
    if (bytes - moves->seen_bytes > pings * SESSION_PING_BYTES)
        moves->moved_us = now_us;
    moves->seen_us = now_us;
    moves->seen_bytes = bytes;
    return session_moves_idle_us(moves, now_us) >= idle_us;
}
