/* SPDX-License-Identifier: Apache-2.0 */
/* low_water.h - how many bytes a wait for a socket ends with
 *
 * A wait for the rest of a long body ends once for each 512 KiB instead of with every packet: to
 * wake a process costs its sender more than the copy of a packet. Used by: ps_connection, ps_link.
 * Tests: tests/unit/test_low_water.c. */
#pragma once

#include <stddef.h>

#define LOW_WATER_NONE 1 /* of a new socket */

/* low_water_set - from now on missing_bytes make the socket readable, or less where it is much
 * io_mark: the mark that the socket has, LOW_WATER_NONE at first. The end of the stream makes it
 * readable at once, whatever the mark is. */
void low_water_set(int fd, size_t missing_bytes, int *io_mark);
