/* SPDX-License-Identifier: Apache-2.0 */
/* store_figures.c - whether the database answers, and its figures for operators
 *
 * Each costs a few calls on files that the database holds open; none reads more than one row. */
#include "scheduler/store/store.h"

#include "scheduler/store/store_asked.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

void store_figures(const struct store *store, struct store_figures *ret)
{
    struct engine_figures figures = { 0 };

    store->engine->calls->figures(store->engine, &figures);
    *ret = (struct store_figures){
        .commits = &store->commits,
        .commit_failures = store->commit_failures,
        .database_bytes = figures.database_bytes,
        .wal_bytes = figures.log_bytes,
        .log_bytes = store_log_bytes(store),
        .disk_free_bytes = figures.disk_free_bytes,
    };
}

int store_check(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_PROBE];
    int r;

    if (store->last_commit < 0)
        return edl_error_set(error, store->last_commit, "the last commit failed");
    r = store->engine->calls->check(store->engine, error);
    if (r < 0 || store_is_far(store)) /* turns, and signs of life, tell of a far one */
        return r;
    r = store_next(statement, "reading", error);
    store_reset(statement);
    return MIN_OF(r, 0);
}

int store_probe(struct store *store, struct edl_error *error)
{
    int r = store->engine->calls->probe(store->engine, error);

    if (r == 0)
        store->last_commit = 0;
    return r;
}

int store_room(struct store *store, uint64_t bytes, struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;
    int r = calls->room != NULL ? calls->room(store->engine, bytes, error) : 0;

    return r < 0 ? r : store_probe(store, error);
}
