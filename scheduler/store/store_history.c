/* SPDX-License-Identifier: Apache-2.0 */
/* store_history.c - how far the history of events reaches, and how old ones go
 *
 * Each turn that adds events lets a few more go than it adds, the oldest first, in its own
 * transaction: no sweep, no long transaction, and a bound that was lowered is reached while work
 * goes on. Revisions that are left stay consecutive, because only the beginning goes. But where a
 * restored history goes on they jump, which is no reason to let more of it go. */
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
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

/* --- events --- */

/* How many events are newer than this one: revisions that a restored history skipped are none. */
static uint64_t newer_than(const struct store_sums *sums, uint64_t revision)
{
    uint64_t newer = sums->events.newest - revision;

    for (size_t i = 0; i < sums->n_gaps; i++)
        if (sums->gaps[i].next_first > revision + 1)
            newer -= sums->gaps[i].next_first - 1 - sums->gaps[i].last;
    return newer;
}

/* The last of the oldest that are too many, 0 for none; before the gap that comes next. */
static uint64_t last_of_many(const struct store *store, uint64_t limit)
{
    const struct store_sums *sums = &store->sums;
    uint64_t keep = store->history.events, newer = newer_than(sums, sums->events.oldest), last;

    if (keep == 0 || newer < keep)
        return 0;
    last = sums->events.oldest + MIN_OF(newer - keep + 1, limit) - 1;
    for (size_t i = 0; i < sums->n_gaps; i++)
        if (sums->gaps[i].last >= sums->events.oldest)
            last = MIN_OF(last, sums->gaps[i].last);
    return last;
}

/* Looks at those behind *last, which moves to the last of them that may go with all before it. The
 * newest event always stays: it tells how far revisions have come. */
static int look_for_old(struct store *store, uint64_t limit, uint64_t now_us, uint64_t *last,
                        struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EVENT_OLDEST];
    struct store_sums *sums = &store->sums;
    uint64_t keep_us = store->history.us;
    int r;

    if (keep_us == 0 || store_rests(sums->events_rest_us, keep_us, now_us))
        return 0;
    store_bind_u64(statement, 1, *last);
    store_bind_u64(statement, 2, limit);
    while ((r = store_next(statement, "reading old events", error)) == 1) {
        uint64_t revision = store_column_u64(statement, 0);
        uint64_t time_us = store_column_u64(statement, 1);

        if (revision == sums->events.newest || time_us + keep_us >= now_us) {
            sums->events_rest_us = store_rest_from(keep_us, time_us, now_us);
            break;
        }
        *last = revision;
    }
    store_reset(statement);
    return MIN_OF(r, 0);
}

static void move_oldest(struct store_sums *sums, uint64_t oldest)
{
    for (size_t i = 0; i < sums->n_gaps; i++)
        if (oldest > sums->gaps[i].last && oldest < sums->gaps[i].next_first)
            oldest = sums->gaps[i].next_first;
    sums->events.oldest = oldest;
}

static void count_events(struct store_sums *sums, uint64_t n)
{
    uint64_t before = MAX_OF(sums->events.newest, sums->epoch << EPOCH_SHIFT);

    sums->events.newest = before + n;
    if (sums->events.oldest == 0)
        sums->events.oldest = before + 1;
}

int store_trim_events(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    uint64_t limit = 2 * rest->n_events + TRIM_LEAST, last;
    int r;

    if (rest->n_events == 0)
        return 0;
    count_events(&store->sums, rest->n_events);
    last = last_of_many(store, limit);
    r = look_for_old(store, limit, rest->event_wall_us, &last, error);
    if (r < 0 || last == 0)
        return r;
    store_bind_u64(store->statements[ST_EVENT_TRIM], 1, last);
    r = store_step_done(store, ST_EVENT_TRIM, error);
    move_oldest(&store->sums, last + 1);
    return r;
}

/* --- ends of logs --- */

static int bind_process(struct prepared *statement, uint64_t job_id, const char *role,
                        uint64_t index, uint64_t incarnation)
{
    store_bind_u64(statement, 1, job_id);
    store_bind_text(statement, 2, role);
    store_bind_u64(statement, 3, index);
    store_bind_u64(statement, 4, incarnation);
    return 5; /* the next parameter */
}

/* The sum is changed in its row: nobody knows here how much the process has there. */
static int count_tail(struct store *store, const struct log_tail *tail, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_COUNT];
    uint64_t bytes = strlen(tail->text) + (tail->times != NULL ? strlen(tail->times) : 0);
    int at = bind_process(statement, tail->job_id, tail->role, tail->index, tail->incarnation);

    store_bind_u64(statement, at, bytes);
    return store_step_done(store, ST_TAIL_COUNT, error);
}

int store_put_tail(struct store *store, const struct log_tail *tail, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_PUT];
    int r = count_tail(store, tail, error);
    int at = bind_process(statement, tail->job_id, tail->role, tail->index, tail->incarnation);

    store_bind_u64(statement, at++, tail->sequence);
    store_bind_text(statement, at++, tail->text);
    store_bind_text(statement, at++, tail->times != NULL ? tail->times : "");
    store_bind_u64(statement, at, tail->next_offset);
    return r < 0 ? r : store_step_done(store, ST_TAIL_PUT, error);
}

int store_forget_tail(struct store *store, uint64_t job_id, const char *role, uint64_t index,
                      uint64_t incarnation, struct edl_error *error)
{
    struct log_tail none = { .job_id = job_id,
                             .index = (uint32_t)index,
                             .incarnation = incarnation,
                             .text = (char *)(uintptr_t) "" }; /* why: it is not written to */
    int r;

    (void)snprintf(none.role, sizeof none.role, "%s", role);
    r = count_tail(store, &none, error);
    (void)bind_process(store->statements[ST_FORGET_TAIL], job_id, role, index, incarnation);
    return r < 0 ? r : store_step_done(store, ST_FORGET_TAIL, error);
}

uint64_t store_log_bytes(const struct store *store)
{
    return store->sums.log_bytes;
}

int store_uncount_tails(struct store *store, uint64_t bytes, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_UNCOUNT];

    if (bytes == 0)
        return 0;
    store->sums.log_bytes -= MIN_OF(store->sums.log_bytes, bytes);
    store_bind_u64(statement, 1, store->sums.log_bytes);
    return store_step_done(store, ST_TAIL_UNCOUNT, error);
}

/* A process whose kept end is the oldest. */
struct oldest_tail {
    uint64_t job_id, index, incarnation, bytes;
    char role[sizeof((struct log_tail *)0)->role];
};

/* Those that have to go, limit at most; ret has room for them. How many, or negative. */
static int read_oldest(struct store *store, uint64_t excess_bytes, int limit,
                       struct oldest_tail *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_OLDEST];
    uint64_t bytes = 0;
    int n = 0, r = 0;

    store_bind_u64(statement, 1, (uint64_t)limit);
    while (bytes < excess_bytes && n < limit &&
           (r = store_next(statement, "reading old ends of logs", error)) == 1) {
        struct oldest_tail *tail = &ret[n++];

        *tail = (struct oldest_tail){ .job_id = store_column_u64(statement, 0),
                                      .index = store_column_u64(statement, 2),
                                      .incarnation = store_column_u64(statement, 3),
                                      .bytes = store_column_u64(statement, 4) };
        (void)snprintf(tail->role, sizeof tail->role, "%s", store_column_text(statement, 1));
        bytes += tail->bytes;
    }
    store_reset(statement);
    return r < 0 ? r : n;
}

static int trim_tails(struct store *store, uint64_t excess_bytes, int limit,
                      struct edl_error *error)
{
    _cleanup_free_ struct oldest_tail *tails = xcalloc((size_t)limit, sizeof *tails);
    int n = read_oldest(store, excess_bytes, limit, tails, error);
    uint64_t bytes = 0;
    int r = MIN_OF(n, 0);

    for (int i = 0; r == 0 && i < n; i++) {
        (void)bind_process(store->statements[ST_FORGET_TAIL], tails[i].job_id, tails[i].role,
                           tails[i].index, tails[i].incarnation);
        r = store_step_done(store, ST_FORGET_TAIL, error);
        bytes += tails[i].bytes;
    }
    return r < 0 ? r : store_uncount_tails(store, bytes, error);
}

int store_trim_tails(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    struct store_sums *sums = &store->sums;
    uint64_t most = store->history.log_bytes;
    int limit = 2 * (int)rest->n_tails + TRIM_LEAST_TAILS, r;

    if (rest->n_tails == 0 && !rest->forgets_tails)
        return 0;
    r = store_number_of(store, ST_TAIL_BYTES, &sums->log_bytes, error);
    if (r < 0 || most == 0 || rest->n_tails == 0 || sums->log_bytes <= most)
        return r;
    return trim_tails(store, sums->log_bytes - most, limit, error);
}
