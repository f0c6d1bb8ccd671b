/* SPDX-License-Identifier: Apache-2.0 */
/* store_ahead.c - of a far store (store_asked.h): reads that belong together are asked for together
 *
 * One round brings them, and they tell of one moment. A near store answers as it is asked, and has
 * nothing to do here. */
#include <errno.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"

int store_ask_ahead(struct store *store, enum statement which)
{
    struct prepared *statement = store->statements[which];
    int r = store_next(statement, "", NULL);

    store_reset(statement);
    return r == -EINPROGRESS ? r : 0;
}

static void skip(const struct stored_event *event, void *userdata)
{
    (void)event;
    (void)userdata;
}

int store_bounds_of_page(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                         struct event_bounds *ret, struct edl_error *error)
{
    int r = store_event_bounds(store, ret, error);

    if (r == -EINPROGRESS)
        (void)store_events(store, job_id, after, limit, skip, NULL, NULL);
    return r;
}
