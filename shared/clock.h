/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - boot time for every deadline, elapsed time since 1970 for every age
 *
 * The machine's wall clock is set by people, by NTP and by a weak battery. So the daemons keep a
 * time that nobody sets (elapsed_clock.h). It stands for the wall clock in all that is stored and
 * compared, and only what people read is what the wall clock shows (clock_shown_us). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* One reading, handed to everything that decides (deciders never read a clock). */
struct instant {
    uint64_t now_us;  /* CLOCK_BOOTTIME; deadlines, leases, back-off */
    uint64_t wall_us; /* elapsed time since 1970: goes on alike when the wall clock is set */
    int64_t ahead_us; /* the wall clock shows wall_us + ahead_us */
};

static inline uint64_t clock_read_us(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct elapsed_clock;

/* clock_keep - from now on clock_instant reads this clock, which stays the caller's; NULL: the wall
 * clock, as at first. At a program's start, before it has threads. */
void clock_keep(const struct elapsed_clock *clock);

struct instant clock_instant(void);

/* What says the id of this boot where a service may not look into /proc/sys (a unit's %b). */
#define CLOCK_BOOT_ID_VARIABLE "EDL_BOOT_ID"

/* clock_boot_id - the random id of this boot, without newline; -errno */
int clock_boot_id(char *ret, size_t size);

/* clock_shown_us - what the wall clock showed, or will show, at an instant's wall_us; 0 is 0, that
 * is: never */
uint64_t clock_shown_us(uint64_t wall_us);

/* clock_elapsed_us - the wall_us of what the wall clock will show, by what it shows now; 0 is 0 */
uint64_t clock_elapsed_us(uint64_t shown_us);

/* instant_shown_us - the same by the offset of an instant alone, for what decides */
static inline uint64_t instant_shown_us(struct instant now, uint64_t wall_us)
{
    return wall_us + (uint64_t)now.ahead_us;
}
