/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h - the node's lease on its processes: one boot-time deadline in a shared file
 *
 * The agent moves the deadline forward after every report the scheduler took. Supervisors map the
 * same eight bytes and fence their process when the deadline comes, also when the agent is dead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

struct lease_map {
    _Atomic uint64_t *deadline_us; /* CLOCK_BOOTTIME; NULL when not mapped */
};

/* lease_map_open - maps path; writer: created 0600 when missing. reset: deadline set to 0 (it was
 * of another boot, whose clock is not ours). */
int lease_map_open(const char *path, bool writer, bool reset, struct lease_map *ret,
                   struct edl_error *error);
void lease_map_close(struct lease_map *map);

/* lease_map_read - deadline, 0 when not mapped */
uint64_t lease_map_read(const struct lease_map *map);

/* lease_map_extend - only ever forward */
void lease_map_extend(struct lease_map *map, uint64_t deadline_us);
