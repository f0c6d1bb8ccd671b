/* SPDX-License-Identifier: Apache-2.0 */
/* store_tokens.c - join tokens: rows in, rows out */
#include "scheduler/store/store.h"

#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

int store_put_token(struct store *store, const struct stored_token *token, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_JOIN_TOKEN_PUT];
    int r;

    store_bind_text(statement, 1, token->hash);
    store_bind_text(statement, 2, token->id);
    store_bind_text(statement, 3, token->node);
    store_bind_text(statement, 4, token->made_by);
    store_bind_u64(statement, 5, token->made_wall_us);
    store_bind_u64(statement, 6, token->expires_wall_us);
    store_bind_u64(statement, 7, token->used_wall_us);
    store_bind_text(statement, 8, token->used_by);
    store_bind_text(statement, 9, token->credential_hash);
    store_bind_u64(statement, 10, token->made_with);
    r = store_step_done(store, ST_JOIN_TOKEN_PUT, error);
    if (r < 0)
        return r;
    statement = store->statements[ST_JOIN_TOKEN_TRIM];
    store_bind_u64(statement, 1, stored_token_oldest_us(token->made_wall_us));
    return store_step_done(store, ST_JOIN_TOKEN_TRIM, error);
}

uint64_t stored_token_oldest_us(uint64_t now_wall_us)
{
    return now_wall_us > STORED_TOKEN_US ? now_wall_us - STORED_TOKEN_US : 0;
}

static int load_one(sqlite3_stmt *statement, struct stored_token *ret, struct edl_error *error)
{
    struct row row;

    row_begin(&row, statement, error, "join token %s", store_column_text(statement, 1));
    row_text(&row, 0, ret->hash, sizeof ret->hash);
    row_text(&row, 1, ret->id, sizeof ret->id);
    row_text(&row, 2, ret->node, sizeof ret->node);
    row_text(&row, 3, ret->made_by, sizeof ret->made_by);
    ret->made_wall_us = row_u64(&row, 4, INT64_MAX);
    ret->expires_wall_us = row_u64(&row, 5, INT64_MAX);
    ret->used_wall_us = row_u64(&row, 6, INT64_MAX);
    row_text(&row, 7, ret->used_by, sizeof ret->used_by);
    row_text(&row, 8, ret->credential_hash, sizeof ret->credential_hash);
    ret->made_with = row_u64(&row, 9, INT64_MAX);
    return row.r;
}

int store_tokens(struct store *store, store_token_fn fn, void *userdata, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_JOIN_TOKEN_ALL];
    int step = SQLITE_DONE;
    int r = 0;

    while (r == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct stored_token token = { 0 };

        r = load_one(statement, &token, error);
        if (r == 0)
            fn(&token, userdata);
    }
    if (r == 0 && step != SQLITE_DONE)
        r = store_error(store, "reading join tokens", error);
    (void)sqlite3_reset(statement);
    return r;
}
