/* SPDX-License-Identifier: Apache-2.0 */
/* lease_word.h - a node's lease on its processes, as one word that is read and written at once
 *
 * The upper 48 bits are the deadline: boot time in microseconds, enough for 8.9 years. The lower 16
 * are the epoch: it rises when a lease is renewed whose deadline had passed. During such a gap the
 * scheduler may have given the work to another node. So a deadline that moves forward in the same
 * epoch lets a process go on, and one of another epoch does not.
 *
 * Pure. Used by: fence.c, agent_core.c, lease.c, the simulator. */
#pragma once

#include <stdint.h>

#define LEASE_EPOCH_BITS 16

struct lease_word {
    uint64_t deadline_us; /* boot time; 0: there never was a lease */
    uint16_t epoch;
};

static inline uint64_t lease_word_pack(struct lease_word word)
{
    return word.deadline_us << LEASE_EPOCH_BITS | word.epoch;
}

static inline struct lease_word lease_word_unpack(uint64_t packed)
{
    return (struct lease_word){ .deadline_us = packed >> LEASE_EPOCH_BITS,
                                .epoch = (uint16_t)packed };
}
