/* SPDX-License-Identifier: Apache-2.0 */
/* signal_again.h - whether a signal to stop is a second one, or the first one once more
 *
 * timeout(1) sends one to its child and one to the whole group. A terminal that is closed sends
 * one, and its shell another. `kill -- -PGID` reaches a process, and the parent that tells it.
 * Nobody asks twice within a second. Used by: interrupt.c, dev_cluster.c, simulate_faults.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_AGAIN_US UINT64_C(1000000)

/* signal_again - false for the first one and for all that come within a second of it. first_us: 0
 * before; when the first one came after. May be called in a handler */
bool signal_again(uint64_t *first_us);
