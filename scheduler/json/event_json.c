/* SPDX-License-Identifier: Apache-2.0 */
/* event_json.c - see event_json.h */
#include "scheduler/json/event_json.h"

#include <inttypes.h>

#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

json_t *event_to_json(const struct stored_event *event)
{
    json_t *item = json_pack("{s:I,s:I,s:s,s:s,s:s}", "revision", (json_int_t)event->revision,
                             "time_us", (json_int_t)clock_shown_us(event->time_us), "event",
                             event->event, "node", event->node, "text", event->text);

    if (item == NULL) /* its text was cut within a character */
        item = json_pack("{s:I,s:I,s:s,s:s,s:s}", "revision", (json_int_t)event->revision,
                         "time_us", (json_int_t)clock_shown_us(event->time_us), "event",
                         event->event, "node", event->node, "text", "(not UTF-8)");
    (void)json_object_set_new(item, "job_id",
                              event->job_id != 0 ? json_integer((json_int_t)event->job_id)
                                                 : json_null());
    return item;
}

int event_after_check(const struct event_bounds *bounds, uint64_t after, struct edl_error *error)
{
    if (after > bounds->newest)
        (void)edl_error_set(error, EDL_ECOMPACTED,
                            "there is no event %" PRIu64 ": the newest is %" PRIu64, after,
                            bounds->newest);
    else if (after + 1 < bounds->oldest)
        (void)edl_error_set(error, EDL_ECOMPACTED,
                            "the events behind %" PRIu64 " were compacted: the oldest is %" PRIu64,
                            after, bounds->oldest);
    else
        return 0;
    return edl_error_remedy(error, "read the present state anew, then go on with after=%" PRIu64,
                            event_after_usable(bounds, after));
}

uint64_t event_after_usable(const struct event_bounds *bounds, uint64_t after)
{
    return MIN_OF(MAX_OF(after, bounds->oldest - 1), bounds->newest);
}
