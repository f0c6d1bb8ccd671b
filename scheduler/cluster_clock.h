/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_clock.h - the scheduler's elapsed time: stored, and told to clock_instant
 *
 * All ages of jobs, logs, events, tokens and answers are counted by it, so that a wall clock that
 * jumps removes nothing and charges nobody. What people read is what the wall clock showed. Several
 * schedulers show that of their database, so that a wrong clock of one of them is none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/elapsed_clock.h"

struct edl_error;
struct store;
struct turn_records;

struct cluster_clock {
    struct elapsed_clock elapsed;
    char boot_id[ELAPSED_BOOT_ID_SIZE];
    bool is_shared;               /* schedulers of other machines store it, too */
    int64_t ahead_us;             /* of this machine's wall clock, before the database's; or 0 */
    struct elapsed_record record; /* what the next commit stores */
    uint64_t stored_us;           /* boot time of the last record that a commit took */
    bool changed;                 /* the wall clock was set since */
};

/* cluster_clock_begin - goes on from what the store has; clock_instant reads it from then on */
int cluster_clock_begin(struct cluster_clock *clock, struct store *store, struct edl_error *error);

/* cluster_clock_take_over - the same from what another machine may have stored. ahead_us: of this
 * machine's wall clock, before that of the database */
int cluster_clock_take_over(struct cluster_clock *clock, struct store *store, int64_t ahead_us,
                            struct edl_error *error);

/* cluster_clock_compared - with the database's again */
void cluster_clock_compared(struct cluster_clock *clock, int64_t ahead_us);

/* cluster_clock_restore - the same for a backup, of any machine: time went on since by the wall
 * clock, however long that is */
int cluster_clock_restore(struct cluster_clock *clock, struct store *store,
                          struct edl_error *error);

/* cluster_clock_seal - before a commit: looks at the wall clock, and gives the commit a record now
 * and then, at the latest when the scheduler stops */
void cluster_clock_seal(struct cluster_clock *clock, bool stops, struct turn_records *records);

/* cluster_clock_stored - the commit took it */
void cluster_clock_stored(struct cluster_clock *clock, const struct turn_records *records);
