/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_vfs.h - for tests: a disk in memory under SQLite that loses power and has errors
 *
 * While it is installed it is SQLite's default VFS. A write is seen at once and survives a loss of
 * power only after a sync, and a name only after a sync of the folder. How much of the rest does is
 * chosen (faulty_restore). A sync that fails loses what it was to write for good, although it goes
 * on being seen: so does Linux. One process, one connection at a time; locks are granted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault {
    FAULT_NONE,
    FAULT_POWER,      /* this call may have been carried out; every later one fails */
    FAULT_FULL,       /* a write finds no room */
    FAULT_WRITE,      /* a write fails in the middle */
    FAULT_SYNC,       /* a sync fails, and what it was to write is lost */
    FAULT_READ,       /* a read fails */
    FAULT_SHORT_READ, /* a read gets less than there should be */
    FAULT_MEMORY,     /* SQLite gets no memory */
    FAULT_KINDS
};
const char *fault_name(enum fault fault);

/* What survives of what was not synced. */
enum survival {
    SURVIVES_ALL,     /* as when only the process was killed */
    SURVIVES_NOTHING, /* the synced image */
    SURVIVES_FIRST,   /* some, and nothing after them */
    SURVIVES_ANY,     /* any, in any order, each write torn at any sector */
    SURVIVAL_KINDS
};

/* faulty_install - an empty disk; the seed decides about what survives. Before any other use of
 * SQLite in the program, or after faulty_remove. */
void faulty_install(uint64_t seed);
void faulty_remove(void);

/* faulty_content - of the file of that name, as it is seen: the caller's to free. faulty_add - a
 * file of this content, as it lies on the platter: so that what takes long to make is made once. */
void *faulty_content(const char *name, size_t *ret_size);
void faulty_add(const char *name, const void *content, size_t size);

/* faulty_calls - calls so far that this fault could strike: writes, syncs, truncations and removals
 * for FAULT_POWER, writes for FAULT_WRITE, and so on */
uint64_t faulty_calls(enum fault fault);

/* faulty_strike - the nth such call from now (1: the next) fails, and times - 1 after it;
 * FAULT_NONE: none will */
void faulty_strike(enum fault fault, uint64_t nth, unsigned times);
bool faulty_struck(void);

/* faulty_hold - calls are neither counted nor struck until it is let go */
void faulty_hold(bool hold);

/* faulty_power_off - every call fails from here on; faulty_restore - it is on again: the files are
 * what survived. Handles of before stay dead; close their connections before this. */
void faulty_power_off(void);
void faulty_restore(enum survival survival);
