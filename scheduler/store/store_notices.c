/* SPDX-License-Identifier: Apache-2.0 */
/* store_notices.c - messages to owners of jobs, until they are sent: rows in, rows out */
#include "scheduler/store/store.h"

#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

int store_put_notice(struct store *store, const struct stored_notice *notice,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[notice->gone ? ST_NOTICE_DELETE : ST_NOTICE_PUT];
    int r;

    store_bind_u64(statement, 1, notice->id);
    if (notice->gone)
        return store_step_done(store, ST_NOTICE_DELETE, error);
    store_bind_u64(statement, 2, notice->channel);
    store_bind_text(statement, 3, notice->user);
    store_bind_text(statement, 4, notice->target);
    store_bind_text(statement, 5, notice->notices);
    store_bind_u64(statement, 6, notice->n_notices);
    store_bind_u64(statement, 7, notice->n_more);
    store_bind_u64(statement, 8, notice->tries);
    store_bind_u64(statement, 9, notice->made_wall_us);
    store_bind_u64(statement, 10, notice->due_wall_us);
    r = store_step_done(store, ST_NOTICE_PUT, error);
    return r < 0 ? r : store_put_number(store, "notice", &store->numbers.notice, notice->id, error);
}

static int load_one(struct prepared *statement, struct stored_notice *ret, struct edl_error *error)
{
    struct row row;

    row_begin(&row, statement, error, "notice %s", store_column_text(statement, 0));
    *ret = (struct stored_notice){
        .id = row_u64(&row, 0, INT64_MAX),
        .channel = (uint32_t)row_u64(&row, 1, 1),
        .user = store_column_text(statement, 2),
        .target = store_column_text(statement, 3),
        .notices = store_column_text(statement, 4),
        .n_notices = (uint32_t)row_u64(&row, 5, UINT32_MAX),
        .n_more = (uint32_t)row_u64(&row, 6, UINT32_MAX),
        .tries = (uint32_t)row_u64(&row, 7, UINT32_MAX),
        .made_wall_us = row_u64(&row, 8, INT64_MAX),
        .due_wall_us = row_u64(&row, 9, INT64_MAX),
    };
    return row.r;
}

int store_notices(struct store *store, store_notice_fn fn, void *userdata, uint64_t *ret_last,
                  struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_NOTICE_ALL];
    int r;

    while ((r = store_next(statement, "reading notices", error)) == 1) {
        struct stored_notice notice;

        r = load_one(statement, &notice, error);
        if (r < 0)
            break;
        fn(&notice, userdata);
    }
    store_reset(statement);
    return r < 0 ? r : store_number_of(store, ST_NOTICE_LAST, ret_last, error);
}
