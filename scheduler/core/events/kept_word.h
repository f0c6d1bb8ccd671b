/* SPDX-License-Identifier: Apache-2.0 */
/* kept_word.h - one node's lease, in a word that the scheduler and its keeper both change
 *
 *     generation (16 bits) | when its node was heard last, in ms of boot time (48 bits; 0: closed)
 *
 * The keeper may move the time forward while the word is open, and answers behind that; the
 * scheduler closes it before it calls the node lost. Both compare and swap: so either the keeper's
 * change is first, and the scheduler sees that the node was heard; or the word is closed, and the
 * keeper answers nothing. One that is opened again has another generation, which the agent learns
 * by a report only. An instant that is older than the swap does no harm: the scheduler counts from
 * it.
 *
 * Used by: core/lease.c, lease_keeper.c, the simulator. Tests: tests/unit/test_lease.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KEPT_TIME_BITS 48
#define KEPT_TIME_MASK ((UINT64_C(1) << KEPT_TIME_BITS) - 1)
#define KEPT_UNIT_US UINT64_C(1000)

static inline uint32_t kept_generation(uint64_t word)
{
    return (uint32_t)(word >> KEPT_TIME_BITS);
}

static inline bool kept_is_open(uint64_t word)
{
    return (word & KEPT_TIME_MASK) != 0;
}

/* kept_heard_us - rounded down, so never later than it was */
static inline uint64_t kept_heard_us(uint64_t word)
{
    return (word & KEPT_TIME_MASK) * KEPT_UNIT_US;
}

static inline uint64_t kept_word(uint32_t generation, uint64_t heard_us)
{
    return (uint64_t)generation << KEPT_TIME_BITS | (heard_us / KEPT_UNIT_US & KEPT_TIME_MASK);
}

/* kept_open - a report of its node was taken at now_us; the generation that its agent is to name */
static inline uint32_t kept_open(_Atomic uint64_t *at, uint64_t now_us)
{
    uint64_t word = atomic_load(at);

    while (!kept_is_open(word))
        if (atomic_compare_exchange_weak(at, &word, kept_word(kept_generation(word), now_us)))
            break;
    return kept_generation(word);
}

/* kept_renew - its node asked at now_us; false: that generation is over, or none is open */
static inline bool kept_renew(_Atomic uint64_t *at, uint32_t generation, uint64_t now_us)
{
    uint64_t word = atomic_load(at);

    do {
        if (!kept_is_open(word) || kept_generation(word) != generation)
            return false;
        if (kept_heard_us(word) >= now_us)
            return true;
    } while (!atomic_compare_exchange_weak(at, &word, kept_word(generation, now_us)));
    return true;
}

/* kept_close - the word as it was last: false, and nothing is changed, when that is another one */
static inline bool kept_close(_Atomic uint64_t *at, uint64_t *word)
{
    uint32_t next = kept_generation(*word) + 1; /* wraps to 0 */

    return atomic_compare_exchange_strong(at, word, (uint64_t)next << KEPT_TIME_BITS);
}
