/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - what a process is told of its place among the others of its role when it starts
 *
 * Programs that know nothing of edl read it once, as torchrun and Open MPI tell it. It holds for
 * that moment. In a job of a fixed size that is not fault tolerant it holds until the end, because
 * such a job restarts as a whole. Elsewhere the rendezvous is the authority (rendezvous.h); both
 * rank by the index of the slots.
 *
 * A group are the processes that see the same devices. Processes with GPUs see their own only, so
 * each is a group of one, and its local rank 0 is its own first device. Processes without GPUs are
 * a group per node. */
#pragma once

#include <stdint.h>

struct process;

struct process_ranks {
    uint32_t rank, world_size;       /* among all places of the role, without a gap */
    uint32_t local_rank, local_size; /* among its group */
    uint32_t group_rank;             /* of its group; groups are ordered by their first rank */
    const struct process *master;    /* of rank 0, borrowed; NULL while that place has none */
};

/* ranks_of - how PROCESS, which is live, stands now
 * A place is a slot whose process lives and is not asked to stop, or is to be started again, or
 * has finished. The latter two keep the ranks of the others what they were. */
void ranks_of(const struct process *process, struct process_ranks *ret);
