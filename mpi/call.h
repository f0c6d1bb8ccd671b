/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one order to a slot, and how it ended; blocks */
#pragma once

#include "mpi/meeting.h"

struct edl_error;
struct mpi_slot_place;

/* mpi_call - the status by which the slot says that the command ended, 0 to 255; waits for that
 * without end. Of an order to end it is the order's.
 * meeting: secret and job_id are set, the rest is filled in. -EHOSTUNREACH: the slot does not
 * answer, or goes; -EACCES: it is another program; else as mpi_meeting_put_order */
int mpi_call(struct mpi_meeting *meeting, const struct mpi_slot_place *place,
             const struct mpi_order *order, struct edl_error *error);
