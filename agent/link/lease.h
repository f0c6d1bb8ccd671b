/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h - the node's lease on its processes: a boot-time deadline and its epoch in a shared file
 *
 * The agent moves the deadline forward after every report the scheduler took. Supervisors map the
 * file and fence their process when the deadline comes, also when the agent is dead. The file has
 * two words of eight bytes: the deadline alone, which supervisors of earlier versions read, and
 * then deadline and epoch together (core/lease_word.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/lease_word.h"

struct edl_error;

struct lease_map {
    _Atomic uint64_t *words; /* NULL when not mapped */
    /* the second word is there; false: an agent of an earlier version made the file, and knows no
     * epochs */
    bool has_epoch;
};

/* lease_map_open - maps path; writer: created 0600 when missing, and what an earlier version made
 * gets its second word. reset: no lease (it was of another boot, whose clock is not ours). */
int lease_map_open(const char *path, bool writer, bool reset, struct lease_map *ret,
                   struct edl_error *error);
void lease_map_close(struct lease_map *map);

/* lease_map_read - all 0 when not mapped */
struct lease_word lease_map_read(const struct lease_map *map);

/* lease_map_has_epoch - false: an agent of an earlier version writes the deadline alone, perhaps
 * one that was started since the file was mapped: it cuts the second word off, which is read as 0
 */
bool lease_map_has_epoch(const struct lease_map *map);

/* lease_map_extend - only ever forward; by the one writer */
void lease_map_extend(struct lease_map *map, struct lease_word lease);
