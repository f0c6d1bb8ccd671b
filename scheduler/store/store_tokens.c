/* SPDX-License-Identifier: Apache-2.0 */
/* store_tokens.c - join tokens: rows in, rows out */
#include "scheduler/store/store.h"

#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TOKEN(member) COLUMN_RECORD(struct stored_token, member)

static const struct column join_token_columns[] = {
    { "token_hash", COLUMN_TEXT, TOKEN(hash), .flags = COLUMN_KEY },
    { "id", COLUMN_TEXT, TOKEN(id), .flags = COLUMN_ONCE },
    { "node", COLUMN_TEXT, TOKEN(node), .flags = COLUMN_ONCE },
    { "made_by", COLUMN_TEXT, TOKEN(made_by), .flags = COLUMN_ONCE },
    { "made_wall_us", COLUMN_NUMBER, TOKEN(made_wall_us), .flags = COLUMN_ONCE },
    { "expires_wall_us", COLUMN_NUMBER, TOKEN(expires_wall_us) },
    { "used_wall_us", COLUMN_NUMBER, TOKEN(used_wall_us) },
    { "used_by", COLUMN_TEXT, TOKEN(used_by) },
    { "credential_hash", COLUMN_TEXT, TOKEN(credential_hash) },
    { "made_with", COLUMN_NUMBER, TOKEN(made_with), .flags = COLUMN_ONCE },
};
const struct record_table join_token_table = RECORD_TABLE(join_token, struct stored_token);

int store_put_token(struct store *store, const struct stored_token *token, struct edl_error *error)
{
    int r = store_put_record(store, ST_JOIN_TOKEN_PUT, &join_token_table, token, 0, error);
    struct prepared *statement = store->statements[ST_JOIN_TOKEN_TRIM];

    if (r < 0)
        return r;
    store_bind_u64(statement, 1, stored_token_oldest_us(token->made_wall_us));
    return store_step_done(store, ST_JOIN_TOKEN_TRIM, error);
}

uint64_t stored_token_oldest_us(uint64_t now_wall_us)
{
    return now_wall_us > STORED_TOKEN_US ? now_wall_us - STORED_TOKEN_US : 0;
}

static int load_one(struct prepared *statement, struct stored_token *ret, struct edl_error *error)
{
    struct row row;

    row_begin(&row, statement, error, "join token %s", store_column_text(statement, 1));
    store_read_record(&row, 0, &join_token_table, ret);
    return row.r;
}

int store_tokens(struct store *store, store_token_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_JOIN_TOKEN_ALL];
    int r;

    while ((r = store_next(statement, "reading join tokens", error)) == 1) {
        struct stored_token token = { 0 };

        r = load_one(statement, &token, error);
        if (r < 0)
            break;
        fn(&token, userdata);
    }
    store_reset(statement);
    return r;
}
