/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - an instance of a job in mode mpi: takes orders of mpirun, and runs them
 *
 * A loop over poll(2). An order's connection is its life: when the caller is gone, the command's
 * group is killed. */
#pragma once

#include <sys/types.h>

#include "mpi/meeting.h"

struct edl_error;

#define MPI_STRANGERS_MAX 64 /* callers that have not proved themselves; the oldest one goes */
#define MPI_ORDERS_MAX 256   /* commands at once */
#define MPI_MEETING_US (10 * USEC_PER_SEC)

struct mpi_slot_config {
    int listen_fd;              /* borrowed; does not block */
    struct mpi_meeting meeting; /* without nonces */
    pid_t command;              /* a child; the slot ends with it; 0: it ends when it is told to */
};

/* mpi_slot_block_signals - SIGCHLD and SIGTERM wait from now on, for mpi_slot_run; before a child
 * is begun. mpi_slot_free_signals - in a child, before it executes */
void mpi_slot_block_signals(void);
void mpi_slot_free_signals(void);

/* mpi_slot_run - the status to end with; commands that still run are killed. SIGTERM: when the
 * command, or the last one that was ordered, has ended. -errno */
int mpi_slot_run(const struct mpi_slot_config *config, struct edl_error *error);

/* mpi_status_of - of waitpid(2), as a shell tells it: 128 and the signal */
uint8_t mpi_status_of(int status);
