/* SPDX-License-Identifier: Apache-2.0 */
/* store_held.c - who held what over time: a row for each span in which it stayed the same
 *
 * A role of a job holds what its processes were granted, until each was seen gone. Written in the
 * transaction that changes it, so both agree after any end of the scheduler. Most saves of a
 * process change nothing of it, and cost no look at a row. */
#include <stdlib.h>
#include <uthash.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

/* Each job makes some four events: with a quarter of their number spans reach as far back. */
#define EVENTS_PER_SPAN 4
#define TRIM_LEAST 64 /* spans that may go with a turn, besides twice those it adds */

/* The row of held_now: how much a role holds, and since when. */
struct span_now {
    struct span_key {
        uint64_t job_id, role;
    } key;
    uint64_t since_us, processes, cpu_millicores, gpus;
    UT_hash_handle hh;
};

static struct span_now *span_of(struct store *store, uint64_t job_id, uint64_t role, bool make)
{
    const struct span_key key = { job_id, role };
    struct span_now *span;

    HASH_FIND(hh, store->sums.spans, &key, sizeof key, span);
    if (span == NULL && make) {
        span = xcalloc(1, sizeof *span);
        span->key = key;
        HASH_ADD(hh, store->sums.spans, key, sizeof span->key, span);
    }
    return span;
}

static void drop_span(struct store *store, struct span_now *span)
{
    HASH_DEL(store->sums.spans, span);
    free(span);
}

void store_forget_spans(struct store *store)
{
    struct span_now *span, *next;

    HASH_ITER(hh, store->sums.spans, span, next)
    drop_span(store, span);
}

int store_read_spans(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_HELD_NOW];
    int r;

    while ((r = store_next(statement, "reading what jobs hold", error)) == 1) {
        struct span_now *span =
            span_of(store, store_column_u64(statement, 0), store_column_u64(statement, 1), true);

        span->since_us = store_column_u64(statement, 2);
        span->processes = store_column_u64(statement, 3);
        span->cpu_millicores = store_column_u64(statement, 4);
        span->gpus = store_column_u64(statement, 5);
    }
    store_reset(statement);
    return r;
}

/* One that began just now was none. */
static int end_span(struct store *store, const struct role_held *held, const struct span_now *span,
                    uint64_t now_us, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_HELD_ADD];

    store->held_added++;
    if (span->since_us >= now_us)
        return 0;
    store_bind_u64(statement, 1, ++store->numbers.held);
    store_bind_u64(statement, 2, held->job_id);
    store_bind_u64(statement, 3, held->role);
    store_bind_text(statement, 4, held->user);
    store_bind_u64(statement, 5, span->since_us);
    store_bind_u64(statement, 6, now_us);
    store_bind_u64(statement, 7, span->processes);
    store_bind_u64(statement, 8, span->cpu_millicores);
    store_bind_u64(statement, 9, span->gpus);
    return store_step_done(store, ST_HELD_ADD, error);
}

static int put_span(struct store *store, const struct role_held *held, uint64_t now_us,
                    struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_HELD_PUT];
    struct span_now *span = span_of(store, held->job_id, held->role, true);

    span->since_us = now_us;
    span->processes = held->processes;
    span->cpu_millicores = held->cpu_millicores;
    span->gpus = held->gpus;
    store_bind_u64(statement, 1, held->job_id);
    store_bind_u64(statement, 2, held->role);
    store_bind_text(statement, 3, held->user);
    store_bind_u64(statement, 4, now_us);
    store_bind_u64(statement, 5, held->processes);
    store_bind_u64(statement, 6, held->cpu_millicores);
    store_bind_u64(statement, 7, held->gpus);
    return store_step_done(store, ST_HELD_PUT, error);
}

static int put_role(struct store *store, const struct role_held *held, uint64_t now_us,
                    struct edl_error *error)
{
    struct span_now *span = span_of(store, held->job_id, held->role, false);
    int r = 0;

    if (span == NULL ? held->processes == 0
                     : span->processes == held->processes &&
                           span->cpu_millicores == held->cpu_millicores && span->gpus == held->gpus)
        return 0;
    if (span != NULL)
        r = end_span(store, held, span, now_us, error);
    if (r < 0 || held->processes > 0)
        return r < 0 ? r : put_span(store, held, now_us, error);
    drop_span(store, span);
    store_bind_u64(store->statements[ST_HELD_DROP], 1, held->job_id);
    store_bind_u64(store->statements[ST_HELD_DROP], 2, held->role);
    return store_step_done(store, ST_HELD_DROP, error);
}

static int trim(struct store *store, uint64_t now_us, struct edl_error *error)
{
    const struct store_history *keep = &store->history;
    struct prepared *statement = store->statements[ST_HELD_TRIM];

    if (store->held_added == 0 || (keep->events == 0 && keep->us == 0))
        return 0;
    store_bind_u64(statement, 1, 2 * store->held_added + TRIM_LEAST);
    store_bind_u64(statement, 2,
                   keep->events != 0 ? MAX_OF(keep->events / EVENTS_PER_SPAN, UINT64_C(1))
                                     : (uint64_t)INT64_MAX);
    store_bind_u64(statement, 3, keep->us != 0 && keep->us < now_us ? now_us - keep->us : 0);
    store_bind_u64(statement, 4, store->numbers.held);
    return store_step_done(store, ST_HELD_TRIM, error);
}

int store_put_held(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    int r = 0;

    store->held_added = 0;
    for (size_t i = 0; r == 0 && i < rest->n_held; i++)
        r = put_role(store, &rest->held[i], rest->wall_us, error);
    return r < 0 ? r : trim(store, rest->wall_us, error);
}
