/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_clock.c - see cluster_clock.h
 *
 * A record is of one moment of this boot, and each is as good as the other until the machine boots
 * again. So a commit that is due anyway takes one with it once a minute: what is lost by a loss of
 * power is less than that, and the time since the last commit. */
#include "scheduler/cluster_clock.h"

#include <errno.h>
#include <stdio.h>

#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define STORED_EVERY_US (60 * USEC_PER_SEC)
#define DAY_S 86400.0

static struct clock_reading reading_of(const struct cluster_clock *clock)
{
    return (struct clock_reading){ .boot_id = clock->boot_id,
                                   .boot_us = clock_read_us(CLOCK_BOOTTIME),
                                   .real_us =
                                       clock_read_us(CLOCK_REALTIME) - (uint64_t)clock->ahead_us,
                                   .is_shared = clock->is_shared };
}

static const char *whose(const struct cluster_clock *clock)
{
    return clock->is_shared ? "the database" : "this machine";
}

static void tell_step(const struct cluster_clock *clock, int64_t us, const char *when)
{
    double s = (double)us / (double)USEC_PER_SEC;
    double days = s / DAY_S;

    log_warning("the wall clock of %s was set %s by %.0f s (%.1f days)%s: ages and"
                " durations go on by elapsed time",
                whose(clock), us > 0 ? "forward" : "back", us > 0 ? s : -s, us > 0 ? days : -days,
                when);
}

/* tell_away - after a boot the wall clock is all that tells of the time before. What counts of it
 * has a bound, so no wrong clock makes anything old. */
static void tell_away(const struct cluster_clock *clock, int64_t us)
{
    log_warning("by the wall clock of %s no scheduler ran for %.1f days: it was off, or the"
                " clock was set. One day of it counts: ages, deadlines and the ends of tokens go on"
                " from there",
                whose(clock), (double)us / (double)USEC_PER_SEC / DAY_S + 1.0);
}

/* begin - of an empty clock, which knows whose wall clock it reads */
static int begin(struct cluster_clock *clock, struct store *store, bool by_wall_clock,
                 struct edl_error *error)
{
    struct elapsed_record stored = { 0 };
    struct clock_reading now;
    int r = store_clock(store, &stored, error);
    int64_t set_us;

    clock->changed = true;
    if (r < 0)
        return r;
    if (clock_boot_id(clock->boot_id, sizeof clock->boot_id) < 0)
        (void)snprintf(clock->boot_id, sizeof clock->boot_id, "%s", ELAPSED_BOOT_UNKNOWN);
    now = reading_of(clock);
    now.is_shared |= by_wall_clock; /* a backup may be of any machine */
    set_us = elapsed_clock_begin(&clock->elapsed, r == 1 ? &stored : NULL, &now);
    if (by_wall_clock)
        elapsed_clock_reach(&clock->elapsed, now.real_us);
    (void)elapsed_clock_look(&clock->elapsed, &now);
    clock_keep(&clock->elapsed);
    if (by_wall_clock)
        return 0;
    if (set_us > 0 && !streq(stored.boot_id, clock->boot_id))
        tell_away(clock, set_us);
    else if (set_us != 0)
        tell_step(clock, set_us, " while no scheduler ran");
    return 0;
}

int cluster_clock_begin(struct cluster_clock *clock, struct store *store, struct edl_error *error)
{
    *clock = (struct cluster_clock){ 0 };
    return begin(clock, store, false, error);
}

int cluster_clock_take_over(struct cluster_clock *clock, struct store *store, int64_t ahead_us,
                            struct edl_error *error)
{
    *clock = (struct cluster_clock){ .is_shared = true, .ahead_us = ahead_us };
    return begin(clock, store, false, error);
}

void cluster_clock_compared(struct cluster_clock *clock, int64_t ahead_us)
{
    if (clock->is_shared)
        clock->ahead_us = ahead_us;
}

int cluster_clock_restore(struct cluster_clock *clock, struct store *store, struct edl_error *error)
{
    *clock = (struct cluster_clock){ 0 };
    return begin(clock, store, true, error);
}

void cluster_clock_seal(struct cluster_clock *clock, bool stops, struct turn_records *records)
{
    struct clock_reading now;
    int64_t set_us;

    if (clock->boot_id[0] == '\0') /* a test without one */
        return;
    now = reading_of(clock);
    set_us = elapsed_clock_look(&clock->elapsed, &now);
    if (set_us != 0) {
        tell_step(clock, set_us, "");
        clock->changed = true;
    }
    if (!clock->changed && !stops && now.boot_us - clock->stored_us < STORED_EVERY_US)
        return;
    clock->record = elapsed_clock_record(&clock->elapsed, &now);
    records->clock = &clock->record;
}

void cluster_clock_stored(struct cluster_clock *clock, const struct turn_records *records)
{
    if (records->clock == NULL)
        return;
    clock->changed = false;
    clock->stored_us = clock->record.boot_us;
}
