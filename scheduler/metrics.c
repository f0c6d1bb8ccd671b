/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - what the loop measures of itself
 *
 * A source that never fires is asked before every wait of the loop (its prepare hook): the time
 * since the last wait ended is how long whatever came meanwhile had to wait. That costs two looks
 * at the clock a pass and wakes nobody. A timer that measures its own lateness would wake an idle
 * scheduler, and see a stall only by luck. */
#include "scheduler/metrics.h"

#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

static int on_prepare(sd_event_source *source, void *userdata)
{
    struct metrics *metrics = userdata;
    uint64_t woken_us;
    uint64_t now_us;

    /* positive: the loop has not waited yet */
    if (sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &woken_us) != 0)
        return 0;
    now_us = clock_read_us(CLOCK_MONOTONIC);
    histogram_observe(&metrics->loop_busy, now_us > woken_us ? now_us - woken_us : 0);
    return 0;
}

static int on_never(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    (void)userdata;
    return 0;
}

int metrics_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct metrics *metrics = &scheduler->metrics;
    int r;

    histogram_init(&metrics->plans, histogram_work_us);
    histogram_init(&metrics->loop_busy, histogram_work_us);
    metrics->started_wall_us = clock_read_us(CLOCK_REALTIME);
    r = sd_event_add_time(scheduler->event, &metrics->probe, CLOCK_MONOTONIC, NEVER_US, 0, on_never,
                          metrics);
    if (r >= 0)
        r = sd_event_source_set_prepare(metrics->probe, on_prepare);
    if (r >= 0) /* a hook is asked only while its source is enabled */
        r = sd_event_source_set_enabled(metrics->probe, SD_EVENT_ON);
    return r < 0 ? edl_error_errno(error, r, "the event loop's measurement") : 0;
}

void metrics_done(struct metrics *metrics)
{
    (void)sd_event_source_disable_unref(metrics->probe);
}
