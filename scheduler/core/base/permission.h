/* SPDX-License-Identifier: Apache-2.0 */
/* permission.h - for how long a leader may tell leases without a new proof that it leads
 *
 * With a store that two schedulers share, a deposed one may still hear nodes and not know.
 * So its right to tell leases ends by itself, and the next leader waits for that. A proof is a turn
 * that is stored: anything else is answered by a database that stands alone, too. Instants are
 * those of CLOCK_BOOTTIME, which counts while a machine sleeps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

#define PERMISSION_US (8 * USEC_PER_SEC)
/* An agent that has missed its scheduler waits seconds between two tries, and a connection to a
 * machine that was off may take as long: all of them are heard within this from a start on. */
#define FIRST_LEASE_LEAST_US (15 * USEC_PER_SEC)

/* All zero: there is none. */
struct permission {
    uint64_t until_us;
};

/* permission_stored - a turn that was sent at sent_us is known to be stored, so its leader led then
 * or later. Of several turns the one that was sent last counts */
void permission_stored(struct permission *permission, uint64_t sent_us);

/* permission_holds - looked at when a lease is put into an answer, by a clock read then: a process
 * that was stopped meanwhile has none any more */
bool permission_holds(const struct permission *permission, uint64_t now_us);

/* permission_wait_us - a leader that had permission_us left told a node that it may act for
 * told_us: so long after a start that node acts no more. Clocks differ by a fiftieth at most;
 * margin_us comes on top */
uint64_t permission_wait_us(uint64_t permission_us, uint64_t told_us, uint64_t margin_us);

/* permission_first_lease_us - for how long a new leader judges no node, from its term on */
uint64_t permission_first_lease_us(uint64_t lease_us, uint64_t margin_us);
