/* SPDX-License-Identifier: Apache-2.0 */
/* store_series.c - how jobs went: a bounded number of points of each, in one row */
#include "scheduler/store/store_internal.h"
#include "shared/error.h"

int store_put_series(struct store *store, const struct turn_records *records,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_SERIES_PUT];
    int r = 0;

    for (size_t i = 0; r == 0 && i < records->n_series; i++) {
        const struct stored_series *series = &records->series[i];

        store_bind_u64(statement, 1, series->job_id);
        store_bind_text(statement, 2, series->rate_of);
        store_bind_text(statement, 3, series->cost_name);
        store_bind_u64(statement, 4, series->period_us);
        store_bind_text(statement, 5, series->points);
        r = store_step_done(store, ST_SERIES_PUT, error);
    }
    return r;
}

int store_series(struct store *store, uint64_t job_id, store_series_fn fn, void *userdata,
                 struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_SERIES_OF];
    int r;

    store_bind_u64(statement, 1, job_id);
    r = store_next(statement, "reading how a job went", error);
    if (r == 1)
        fn(&(struct stored_series){ .job_id = job_id,
                                    .rate_of = store_column_text(statement, 0),
                                    .cost_name = store_column_text(statement, 1),
                                    .period_us = store_column_u64(statement, 2),
                                    .points = store_column_text(statement, 3) },
           userdata);
    store_reset(statement);
    return r;
}
