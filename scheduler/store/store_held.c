/* SPDX-License-Identifier: Apache-2.0 */
/* store_held.c - who held what over time: a row for each span in which it stayed the same
 *
 * A role of a job holds what its processes were granted, until each was seen gone. Written in the
 * transaction that changes it, so both agree after any end of the scheduler. Most saves of a
 * process change nothing of it: they cost one look at a row. */
#include <string.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

/* Each job makes some four events: with a quarter of their number spans reach as far back. */
#define EVENTS_PER_SPAN 4
#define TRIM_LEAST 64 /* spans that may go with a turn, besides twice those it adds */

struct amount {
    uint64_t processes, cpu_millicores, gpus;
};

/* 1 with what the role held until now; 0: nothing. */
static int held_until_now(struct store *store, uint64_t job_id, uint32_t role, struct amount *ret,
                          struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_HELD_NOW];
    int r;

    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, role);
    r = store_next(statement, "reading what a job holds", error);
    if (r == 1)
        *ret = (struct amount){ .processes = store_column_u64(statement, 1),
                                .cpu_millicores = store_column_u64(statement, 2),
                                .gpus = store_column_u64(statement, 3) };
    store_reset(statement);
    return r;
}

static int end_span(struct store *store, uint64_t job_id, uint32_t role, uint64_t now_us,
                    struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_HELD_ADD];

    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, role);
    store_bind_u64(statement, 3, now_us);
    store->held_added++;
    return store_step_done(store, ST_HELD_ADD, error);
}

static int put_role(struct store *store, const struct role_held *held, uint64_t now_us,
                    struct edl_error *error)
{
    struct amount now = { held->processes, held->cpu_millicores, held->gpus }, before = { 0 };
    enum statement which = now.processes > 0 ? ST_HELD_PUT : ST_HELD_DROP;
    struct prepared *statement = store->statements[which];
    int r = held_until_now(store, held->job_id, held->role, &before, error);

    if (r < 0 || memcmp(&now, &before, sizeof now) == 0)
        return MIN_OF(r, 0);
    r = r == 1 ? end_span(store, held->job_id, held->role, now_us, error) : 0;
    if (r < 0)
        return r;
    store_bind_u64(statement, 1, held->job_id);
    store_bind_u64(statement, 2, held->role);
    if (which == ST_HELD_PUT) {
        store_bind_text(statement, 3, held->user);
        store_bind_u64(statement, 4, now_us);
        store_bind_u64(statement, 5, now.processes);
        store_bind_u64(statement, 6, now.cpu_millicores);
        store_bind_u64(statement, 7, now.gpus);
    }
    return store_step_done(store, which, error);
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
