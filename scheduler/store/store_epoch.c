/* SPDX-License-Identifier: Apache-2.0 */
/* store_epoch.c - where numbers go on after a backup took the place of the database */
#include "scheduler/core/core.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

uint64_t store_epoch(const struct store *store)
{
    return store->sums.epoch;
}

uint64_t store_first_number(const struct store *store)
{
    return store_epoch(store) << EPOCH_SHIFT;
}

bool store_epoch_numbers(const struct store *store, struct epoch_numbers *ret)
{
    uint64_t epoch = store_epoch(store);

    ret->first = ret->first_job = epoch << EPOCH_SHIFT;
    ret->first_incarnation = 1;
    if (store->sums.first_job > 0) {
        ret->first_job = store->sums.first_job;
        ret->first_incarnation = epoch_first_incarnation(epoch);
    }
    return epoch > 0;
}

int store_known(struct store *store, struct epoch_known *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_KNOWN];
    int r = store_next(statement, "reading what is known", error);

    *ret = (struct epoch_known){ .next_job = 0 };
    if (r == 1)
        *ret = (struct epoch_known){ .next_job = store_column_u64(statement, 0),
                                     .made_us = store_column_u64(statement, 1),
                                     .known_until_us = store_column_u64(statement, 2) };
    store_reset(statement);
    return MIN_OF(r, 0);
}

/* Tokens go on from there: none of them is given twice. Answers and lines of the audit log are not
 * known by their numbers outside. */
static int add_epoch(struct store *store, uint64_t epoch, uint64_t first_job, uint64_t wall_us,
                     struct edl_error *error)
{
    struct prepared *add = store->statements[ST_EPOCH_ADD];
    struct prepared *end = store->statements[ST_JOIN_TOKEN_END];
    int r;

    store_bind_u64(add, 1, epoch);
    store_bind_u64(add, 2, wall_us);
    store_bind_u64(add, 3, first_job);
    r = store_step_done(store, ST_EPOCH_ADD, error);
    if (r == 0)
        r = store_put_number(store, "token", &store->numbers.token, epoch << EPOCH_SHIFT, error);
    store_bind_u64(end, 1, wall_us);
    return r < 0 ? r : store_step_done(store, ST_JOIN_TOKEN_END, error);
}

int store_begin_epoch(struct store *store, uint64_t epoch, uint64_t first_job, uint64_t wall_us,
                      struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;
    int r = store_need_sums(store, error);

    if (r < 0)
        return r;
    if (calls->begin(store->engine) < 0)
        return store_error(store, "beginning an epoch", error);
    r = add_epoch(store, epoch, first_job, wall_us, error);
    if (r == 0 && calls->commit(store->engine) < 0)
        r = store_error(store, "beginning an epoch", error);
    if (r < 0)
        calls->rollback(store->engine);
    store_forget_sums(store);
    return r < 0 ? r : store_need_sums(store, error);
}
