/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - who asks for more than a share is told so a second later
 *
 * A refusal costs the loop about as much as a small answer. A client that is refused and asks again
 * at once, over hundreds of connections, would keep it busy with nothing else. A connection that
 * waits for its refusal asks for nothing. Few are answered in a pass of the loop.
 *
 * Used by: dispatch.c. Tests: tests/unit/test_dispatch.c. */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct http_request;
struct refusal;

struct refusals {
    struct refusal *list;   /* owned; the first to be told first */
    sd_event_source *timer; /* owned */
};

int refusals_init(struct refusals *refusals, sd_event *event, struct edl_error *error);

/* refusals_add - keeps the request; error is copied */
void refusals_add(struct refusals *refusals, struct http_request *request,
                  const struct edl_error *error);

/* refusals_done - forgets who is not told yet (the server is gone) */
void refusals_done(struct refusals *refusals);
