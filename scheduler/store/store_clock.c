/* SPDX-License-Identifier: Apache-2.0 */
/* store_clock.c - the one row that says how elapsed time goes on, and the steps of the wall clock
 */
#include "scheduler/store/store.h"

#include <stdio.h>

#include "scheduler/store/store_internal.h"
#include "shared/elapsed_clock.h"
#include "shared/error.h"
#include "shared/macro.h"

int store_put_clock(struct store *store, const struct elapsed_record *clock,
                    struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_CLOCK_PUT];
    int r;

    store_bind_text(statement, 1, clock->boot_id);
    store_bind_u64(statement, 2, clock->boot_us);
    store_bind_u64(statement, 3, clock->real_us);
    store_bind_u64(statement, 4, clock->elapsed_us);
    r = store_step_done(store, ST_CLOCK_PUT, error);
    if (r == 0)
        r = store_step_done(store, ST_CLOCK_STEPS_DROP, error);
    statement = store->statements[ST_CLOCK_STEP_PUT];
    for (size_t i = 0; r == 0 && i < clock->n_steps; i++) {
        store_bind_u64(statement, 1, i);
        store_bind_u64(statement, 2, clock->steps[i].from_us);
        store_bind_u64(statement, 3, (uint64_t)clock->steps[i].ahead_us);
        r = store_step_done(store, ST_CLOCK_STEP_PUT, error);
    }
    return r;
}

static int load_steps(struct store *store, struct elapsed_record *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_CLOCK_STEPS];
    int r = 0;

    while (ret->n_steps < ELAPSED_STEPS_MAX &&
           (r = store_next(statement, "reading the steps of the clock", error)) == 1)
        ret->steps[ret->n_steps++] = (struct clock_step){ store_column_u64(statement, 0),
                                                          (int64_t)store_column_u64(statement, 1) };
    store_reset(statement);
    return MIN_OF(r, 0);
}

int store_clock(struct store *store, struct elapsed_record *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_CLOCK_ALL];
    uint64_t newest_us;
    int r = store_next(statement, "reading the clock", error);

    *ret = (struct elapsed_record){ .n_steps = 0 };
    if (r == 1) {
        (void)snprintf(ret->boot_id, sizeof ret->boot_id, "%s", store_column_text(statement, 0));
        ret->boot_us = store_column_u64(statement, 1);
        ret->real_us = store_column_u64(statement, 2);
        ret->elapsed_us = store_column_u64(statement, 3);
    }
    store_reset(statement);
    if (r != 1)
        return r;
    r = load_steps(store, ret, error);
    if (r == 0)
        r = store_number_of(store, ST_CLOCK_NEWEST, &newest_us, error);
    if (r < 0)
        return r;
    elapsed_record_reach(ret, newest_us); /* of a commit that came later: time does not go back */
    if (!elapsed_record_is_valid(ret))
        return edl_error_set(error, EDL_ECORRUPT, "the stored clock makes no sense");
    return 1;
}
