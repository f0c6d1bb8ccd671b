/* SPDX-License-Identifier: Apache-2.0 */
/* store_history.c - how far the history of events reaches */
#include "scheduler/store/store.h"

#include "scheduler/store/store_internal.h"
#include "shared/error.h"

int store_event_bounds(struct store *store, struct event_bounds *ret, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_EVENT_BOUNDS];
    int r = 0;

    if (sqlite3_step(statement) == SQLITE_ROW)
        *ret = (struct event_bounds){ .oldest = store_column_u64(statement, 0),
                                      .newest = store_column_u64(statement, 1) };
    else
        r = store_error(store, "reading how far events reach", error);
    (void)sqlite3_reset(statement);
    return r;
}
