/* SPDX-License-Identifier: Apache-2.0 */
/* gone_peer.h - processes that seem to wait for one of their role that has ended
 *
 * For people who ask; plans do not look at it. Linear in the processes of the job. Used by:
 * scheduler (api: why.c). Tests: tests/unit/test_gone_peer.c. */
#pragma once

#include <stdint.h>

#include "shared/clock.h"

struct job;
struct process;

/* A program that was told a fixed world waits in silence for a process that has ended. Starts,
 * validations and checkpoints on a slow disk are shorter. */
#define GONE_PEER_US (300 * UINT64_C(1000000))

struct gone_peer {
    const struct process
        *process;     /* that ended while others of its role ran; NULL: there is none */
    uint32_t waiting; /* of its role, and do nothing since */
    uint64_t gone_us; /* since it ended */
};

/* job_gone_peer - the last one that ended, if of those that it left behind none works any more */
void job_gone_peer(const struct job *job, struct instant now, struct gone_peer *ret);

#define GONE_PEER_TEXT_SIZE 320

/* gone_peer_text - a sentence, and what to do about it; "" when there is none. Returns buffer. */
const char *gone_peer_text(const struct gone_peer *gone, char *buffer, size_t size);
