/* SPDX-License-Identifier: Apache-2.0 */
/* archive_drain.c - see archive_drain.h */
#include "scheduler/workspaces/archive_drain.h"

#include <systemd/sd-event.h>

#include "scheduler/core/model/archive.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"

#define PAUSE_US (5 * USEC_PER_MSEC) /* in which the loop serves others */

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    scheduler_touch(userdata);
    return 0;
}

int archive_drain_init(struct scheduler *scheduler, struct edl_error *error)
{
    int r = sd_event_add_time(scheduler->event, &scheduler->drain, CLOCK_MONOTONIC, NEVER_US,
                              USEC_PER_MSEC, on_timer, scheduler);

    if (r >= 0)
        r = sd_event_source_set_enabled(scheduler->drain, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

void archive_drain_turn(struct scheduler *scheduler)
{
    if (store_is_behind(scheduler->store) || scheduler->askings.n_holding > 0)
        return;
    if (cluster_archive_ended(scheduler->cluster, clock_instant()) > 0)
        scheduler->askings.n_archived++;
}

void archive_drain_go_on(struct scheduler *scheduler)
{
    if (!store_has_rest(scheduler->store) && !cluster_archive_is_due(scheduler->cluster))
        return;
    (void)sd_event_source_set_time_relative(scheduler->drain, PAUSE_US);
    (void)sd_event_source_set_enabled(scheduler->drain, SD_EVENT_ONESHOT);
}
