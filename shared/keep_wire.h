/* SPDX-License-Identifier: Apache-2.0 */
/* keep_wire.h - the datagrams by which an agent has its lease kept while the scheduler is busy
 *
 *     agent  -- ask: slot, generation, sent_us -->  edl-lease-keeper
 *            <-- kept: the same --
 *
 * Each is as long as its answer, and proves that its sender knows the key of that slot and
 * generation, which the scheduler tells the agent in the answer to each report. Whoever records one
 * can repeat it only; the keeper takes none that is not newer than the last.
 *
 * Used by: scheduler, agent. Tests: tests/unit/test_keep_wire.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define KEEP_KEY_BYTES 32
#define KEEP_DATAGRAM_BYTES 56

enum keep_kind { KEEP_ASK, KEEP_KEPT };

struct keep_datagram {
    uint32_t slot;
    uint32_t generation;
    uint64_t sent_us; /* boot time of the agent; the lease counts from it */
};

/* keep_key_make - a new one; -EIO */
int keep_key_make(uint8_t ret[KEEP_KEY_BYTES], struct edl_error *error);

/* keep_key_of - the key of one generation of a slot, from that of all; -EIO */
int keep_key_of(const uint8_t master[KEEP_KEY_BYTES], uint32_t slot, uint32_t generation,
                uint8_t ret[KEEP_KEY_BYTES]);

/* keep_write - 0 or -EIO */
int keep_write(enum keep_kind kind, const struct keep_datagram *datagram,
               const uint8_t key[KEEP_KEY_BYTES], uint8_t ret[KEEP_DATAGRAM_BYTES]);

/* keep_read - what it says, not yet whether that is true; false: it is no datagram of this kind */
bool keep_read(enum keep_kind kind, const uint8_t *bytes, size_t n, struct keep_datagram *ret);

/* keep_is_true - whether who wrote it knows the key; in the same time whatever differs */
bool keep_is_true(const uint8_t bytes[KEEP_DATAGRAM_BYTES], const uint8_t key[KEEP_KEY_BYTES]);
