/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.c - notices that the scheduler itself stood still (see pulse.h) */
#include "scheduler/nodes/pulse.h"

#include "scheduler/core/events/lease.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define TIMER_ACCURACY_US (10 * USEC_PER_MSEC)

/* Twice in the shortest standstill that is told. */
static uint64_t period_us(const struct scheduler *scheduler)
{
    return cluster_stall_least_us(scheduler->cluster) / 2;
}

static void arm(struct scheduler *scheduler, uint64_t now_us)
{
    struct pulse *pulse = &scheduler->pulse;

    pulse->due_us = now_us + period_us(scheduler);
    (void)sd_event_source_set_time(pulse->timer, pulse->due_us);
    (void)sd_event_source_set_enabled(pulse->timer, SD_EVENT_ONESHOT);
}

void pulse_look(struct scheduler *scheduler)
{
    struct pulse *pulse = &scheduler->pulse;
    struct instant now = clock_instant();
    uint64_t missed_us = now.now_us > pulse->due_us ? now.now_us - pulse->due_us : 0;

    if (missed_us < cluster_stall_least_us(scheduler->cluster))
        return;
    arm(scheduler, now.now_us);
    if (scheduler->degraded.on) /* nobody is judged, and all leases are full after it */
        return;
    cluster_stalled(scheduler->cluster, missed_us, now);
    log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_SCHEDULER_STALLED },
              "stood still for %.1f s: no node is blamed for silence in that time",
              (double)missed_us / (double)USEC_PER_SEC);
}

static int on_pulse(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    pulse_look(userdata);
    arm(userdata, clock_read_us(CLOCK_BOOTTIME));
    return 0;
}

int pulse_init(struct scheduler *scheduler, struct edl_error *error)
{
    int r = sd_event_add_time(scheduler->event, &scheduler->pulse.timer, CLOCK_BOOTTIME, NEVER_US,
                              TIMER_ACCURACY_US, on_pulse, scheduler);

    if (r < 0)
        return edl_error_errno(error, r, "the event loop");
    arm(scheduler, clock_read_us(CLOCK_BOOTTIME));
    return 0;
}

void pulse_done(struct pulse *pulse)
{
    pulse->timer = sd_event_source_disable_unref(pulse->timer);
}
