/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c - who asks for more than a share is told so a second later */
#include "scheduler/calls/refusals.h"

#include <stdlib.h>
#include <utlist.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define DELAY_US USEC_PER_SEC
#define ACCURACY_US (20 * USEC_PER_MSEC)
#define AT_ONCE 64 /* some 2 ms */

struct refusal {
    struct refusals *refusals;
    struct http_request *request; /* borrowed */
    struct edl_error error;
    uint64_t due_us; /* CLOCK_MONOTONIC */
    struct refusal *next, *prev;
};

static void drop(struct refusal *refusal)
{
    DL_DELETE(refusal->refusals->list, refusal);
    free(refusal);
}

static void on_gone(struct http_request *request, void *userdata)
{
    (void)request;
    drop(userdata);
}

static void arm(struct refusals *refusals)
{
    if (refusals->list == NULL)
        return;
    (void)sd_event_source_set_time(refusals->timer, refusals->list->due_us);
    (void)sd_event_source_set_enabled(refusals->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct refusals *refusals = userdata;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);

    (void)source;
    (void)usec;
    for (unsigned i = 0; i < AT_ONCE && refusals->list != NULL && refusals->list->due_us <= now_us;
         i++) {
        struct refusal *first = refusals->list;
        struct http_request *request = first->request;
        struct edl_error error = first->error;

        drop(first);
        http_request_defer(request, NULL, NULL);
        http_reply_error(request, &error);
    }
    arm(refusals);
    return 0;
}

int refusals_init(struct refusals *refusals, sd_event *event, struct edl_error *error)
{
    int r = sd_event_add_time(event, &refusals->timer, CLOCK_MONOTONIC, 0, ACCURACY_US, on_timer,
                              refusals);

    if (r >= 0)
        r = sd_event_source_set_enabled(refusals->timer, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "cannot put refusals on the event loop") : 0;
}

void refusals_add(struct refusals *refusals, struct http_request *request,
                  const struct edl_error *error)
{
    struct refusal *refusal = xcalloc(1, sizeof *refusal);
    bool first = refusals->list == NULL;

    *refusal = (struct refusal){ .refusals = refusals,
                                 .request = request,
                                 .error = *error,
                                 .due_us = clock_read_us(CLOCK_MONOTONIC) + DELAY_US };
    DL_APPEND(refusals->list, refusal);
    http_request_defer(request, on_gone, refusal);
    http_request_watch(request);
    if (first)
        arm(refusals);
}

void refusals_done(struct refusals *refusals)
{
    refusals->timer = sd_event_source_disable_unref(refusals->timer);
    while (refusals->list != NULL)
        drop(refusals->list);
}
