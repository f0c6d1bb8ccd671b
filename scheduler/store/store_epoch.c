/* SPDX-License-Identifier: Apache-2.0 */
/* store_epoch.c - where numbers go on after a backup took the place of the database */
#include "scheduler/core/core.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"

uint64_t store_epoch(struct store *store)
{
    int64_t epoch = engine_number(store->engine, "SELECT coalesce(max(epoch), 0) FROM epoch");

    return epoch > 0 ? (uint64_t)epoch : 0;
}

uint64_t store_first_number(struct store *store)
{
    return store_epoch(store) << EPOCH_SHIFT;
}

bool store_epoch_numbers(struct store *store, struct epoch_numbers *ret)
{
    uint64_t epoch = store_epoch(store);
    int64_t first_job =
        engine_number(store->engine, "SELECT first_job FROM epoch ORDER BY epoch DESC");

    ret->first = ret->first_job = epoch << EPOCH_SHIFT;
    ret->first_incarnation = 1;
    if (first_job > 0) {
        ret->first_job = (uint64_t)first_job;
        ret->first_incarnation = epoch_first_incarnation(epoch);
    }
    return epoch > 0;
}

void store_known(struct store *store, struct epoch_known *ret)
{
    *ret = STORE_KNOWN(store->engine, "");
}
