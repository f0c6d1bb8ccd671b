/* SPDX-License-Identifier: Apache-2.0 */
/* elapsed_clock.h - time that goes on alike, whatever becomes of the wall clock
 *
 * It begins as the wall clock and is counted on by the boot-time clock. What is stored of it lets
 * the next run go on: in the same boot exactly; after a boot, of which the machine knows nothing
 * but its wall clock, by the difference of that, a day at most. So nothing grows older than a day
 * because of a clock that is wrong. It never goes back. A machine that takes
 * over from another one goes on in the same way.
 *
 * The offsets of the wall clock are kept as steps, so that people read what it showed. A step that
 * is taken back within a day is forgotten: the clock was wrong meanwhile.
 *
 * Pure. Used by: scheduler/cluster_clock.c, agent/machine/node_clock.c, the simulator. Tests:
 * tests/unit/test_elapsed_clock.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELAPSED_BOOT_UNKNOWN "?"
#define ELAPSED_BOOT_ID_SIZE 40
#define ELAPSED_STEPS_MAX 16
#define ELAPSED_GAP_MAX_US ((uint64_t)24 * 3600 * 1000000)
#define ELAPSED_STEP_US 1000000 /* less is no step: a clock that is set by NTP moves a little */

/* What a machine knows of time. */
struct clock_reading {
    const char *boot_id; /* borrowed; ELAPSED_BOOT_UNKNOWN: each run counts as another boot */
    uint64_t boot_us;    /* CLOCK_BOOTTIME */
    uint64_t real_us;    /* CLOCK_REALTIME; where it is shared: the clock that all can read */
    bool is_shared;      /* what is stored may be of another machine */
};

/* From then on the wall clock was ahead by so much; before the first step it was not. */
struct clock_step {
    uint64_t from_us;
    int64_t ahead_us;
};

/* What is stored: one moment by all three clocks. */
struct elapsed_record {
    char boot_id[ELAPSED_BOOT_ID_SIZE];
    uint64_t boot_us, real_us;
    uint64_t elapsed_us;
    size_t n_steps;
    struct clock_step steps[ELAPSED_STEPS_MAX]; /* the earliest first */
};

struct elapsed_clock {
    struct elapsed_record known; /* the moment from which is counted */
};

/* elapsed_clock_begin - goes on from what was stored; NULL: begins as the wall clock. Returns by
 * how much that was set meanwhile, as far as it is told: as elapsed_clock_look */
int64_t elapsed_clock_begin(struct elapsed_clock *clock, const struct elapsed_record *stored,
                            const struct clock_reading *now);

/* elapsed_clock_at - at a boot time of this boot */
uint64_t elapsed_clock_at(const struct elapsed_clock *clock, uint64_t boot_us);

/* elapsed_clock_look - notes whether the wall clock was set; returns by how much, 0: it was not */
int64_t elapsed_clock_look(struct elapsed_clock *clock, const struct clock_reading *now);

/* elapsed_clock_reach - it is that late at least */
void elapsed_clock_reach(struct elapsed_clock *clock, uint64_t elapsed_us);

/* elapsed_clock_ahead_us - of the wall clock, at that elapsed time */
int64_t elapsed_clock_ahead_us(const struct elapsed_clock *clock, uint64_t elapsed_us);

/* elapsed_clock_record - what is to be stored of this moment */
struct elapsed_record elapsed_clock_record(const struct elapsed_clock *clock,
                                           const struct clock_reading *now);

/* elapsed_record_reach - something else is stored of that time, so it is that late at least */
void elapsed_record_reach(struct elapsed_record *record, uint64_t elapsed_us);

/* elapsed_record_is_valid - of stored text: times that can be counted with, steps in order */
bool elapsed_record_is_valid(const struct elapsed_record *record);
