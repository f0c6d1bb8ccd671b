/* SPDX-License-Identifier: Apache-2.0 */
/* store_history.c - how far the history of events reaches, and how old ones go
 *
 * Each turn that adds events lets a few more go than it adds, the oldest first, in its own
 * transaction: no sweep, no long transaction, and a bound that was lowered is reached while work
 * goes on. Revisions that are left stay consecutive, because only the beginning goes. But where a
 * restored history goes on they jump, which is no reason to let more of it go. */
#include "scheduler/core/core.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TRIM_LEAST 64       /* events that may go with a turn, besides twice those it adds */
#define TRIM_LEAST_TAILS 16 /* so with ends of logs, which have 64 KiB */

void store_keep(struct store *store, const struct store_history *history)
{
    store->history = *history;
}

int store_event_bounds(struct store *store, struct event_bounds *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EVENT_BOUNDS];
    int r = store_next(statement, "reading how far events reach", error);

    if (r == 1)
        *ret = (struct event_bounds){ .oldest = store_column_u64(statement, 0),
                                      .newest = store_column_u64(statement, 1) };
    store_reset(statement);
    return MIN_OF(r, 0);
}

/* How many events are newer than this one. */
static uint64_t newer_than(struct store *store, uint64_t revision, uint64_t newest)
{
    struct prepared *statement = store->statements[ST_EVENT_SKIPPED];
    uint64_t skipped = 0;

    store_bind_u64(statement, 1, revision);
    store_bind_u64(statement, 2, EPOCH_SHIFT);
    if (store_next(statement, "", NULL) == 1)
        skipped = store_column_u64(statement, 0);
    store_reset(statement);
    return newest - revision - skipped;
}

/* The last of the oldest that may all go, 0 for none. The newest event always stays: it tells how
 * far revisions have come. */
static int last_to_go(struct store *store, uint64_t limit, uint64_t now_us, uint64_t *ret,
                      struct edl_error *error)
{
    const struct store_history *keep = &store->history;
    struct prepared *statement = store->statements[ST_EVENT_OLDEST];
    struct event_bounds bounds;
    int r = store_event_bounds(store, &bounds, error);

    *ret = 0;
    store_bind_u64(statement, 1, limit);
    while (r == 0 && (r = store_next(statement, "reading old events", error)) == 1) {
        uint64_t revision = store_column_u64(statement, 0);
        bool many = keep->events != 0 && bounds.newest - revision >= keep->events &&
                    newer_than(store, revision, bounds.newest) >= keep->events;
        bool old = keep->us != 0 && store_column_u64(statement, 1) + keep->us < now_us;

        r = 0;
        if (revision == bounds.newest || (!many && !old))
            break;
        *ret = revision;
    }
    store_reset(statement);
    return r;
}

uint64_t store_log_bytes(const struct store *store)
{
    return store_first_number_of(store, ST_TAIL_BYTES);
}

int store_trim_tails(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    uint64_t most = store->history.log_bytes;
    int r = 0;

    if (most == 0 || rest->n_tails == 0)
        return 0;
    for (size_t i = 0; r == 0 && i < 2 * rest->n_tails + TRIM_LEAST_TAILS; i++) {
        if (store_log_bytes(store) <= most)
            return 0;
        r = store_step_done(store, ST_TAIL_TRIM, error);
    }
    return r;
}

int store_trim_events(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    uint64_t last;
    int r;

    if (rest->n_events == 0 || (store->history.events == 0 && store->history.us == 0))
        return 0;
    r = last_to_go(store, 2 * rest->n_events + TRIM_LEAST, rest->event_wall_us, &last, error);
    if (r < 0 || last == 0)
        return r;
    store_bind_u64(store->statements[ST_EVENT_TRIM], 1, last);
    return store_step_done(store, ST_EVENT_TRIM, error);
}
