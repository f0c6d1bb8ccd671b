/* SPDX-License-Identifier: Apache-2.0 */
/* store_answers.c - what requests with an Idempotency-Key were answered with
 *
 * Bounded without a sweep: each row that comes lets the two oldest go that have had their day. When
 * all take too much, the oldest of the user with the most goes. A row that is too old and still
 * there is not found. */
#include "scheduler/store/store.h"

#include <string.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

static uint64_t oldest_us(uint64_t now_wall_us)
{
    return now_wall_us > STORED_ANSWER_US ? now_wall_us - STORED_ANSWER_US : 0;
}

/* The one that has just come may be large, and those that go small. */
int store_trim_answers(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < rest->n_answers; i++) {
        store_bind_u64(store->statements[ST_ANSWER_OLD], 1, oldest_us(rest->answered_wall_us));
        r = store_step_done(store, ST_ANSWER_OLD, error);
    }
    if (rest->n_answers == 0)
        return 0;
    while (r == 0 && store_first_number_of(store, ST_ANSWER_BYTES) > STORED_ANSWERS_BYTES) {
        r = store_step_done(store, ST_ANSWER_SHARE, error);
        if (store_changes(store) == 0)
            break;
    }
    return r;
}

int store_put_answer(struct store *store, const struct stored_answer *answer,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ANSWER_DROP];
    int r;

    store_bind_text(statement, 1, answer->user);
    store_bind_text(statement, 2, answer->key);
    r = store_step_done(store, ST_ANSWER_DROP, error); /* one that had its day */
    if (r < 0)
        return r;
    statement = store->statements[ST_ANSWER_PUT];
    store_bind_text(statement, 1, answer->user);
    store_bind_text(statement, 2, answer->key);
    store_bind_text(statement, 3, answer->digest);
    store_bind_u64(statement, 4, answer->status);
    store_bind_text(statement, 5, answer->location);
    store_bind_text(statement, 6, answer->body);
    store_bind_u64(statement, 7, answer->wall_us);
    store_bind_text(statement, 8, answer->etag);
    return store_step_done(store, ST_ANSWER_PUT, error);
}

int store_find_answer(struct store *store, const char *user, const char *key, uint64_t now_wall_us,
                      struct stored_answer *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ANSWER_FIND];
    int r;

    store_bind_text(statement, 1, user);
    store_bind_text(statement, 2, key);
    store_bind_u64(statement, 3, oldest_us(now_wall_us));
    r = store_next(statement, "looking for an Idempotency-Key", error);
    if (r == 1)
        *ret = (struct stored_answer){
            .user = xstrdup(user),
            .key = xstrdup(key),
            .digest = xstrdup(store_column_text(statement, 0)),
            .status = (unsigned)store_column_u64(statement, 1),
            .location = xstrdup(store_column_text(statement, 2)),
            .body = xstrdup(store_column_text(statement, 3)),
            .wall_us = store_column_u64(statement, 4),
            .etag = xstrdup(store_column_text(statement, 5)),
        };
    store_reset(statement);
    return r;
}

void stored_answer_clear(struct stored_answer *answer)
{
    free(answer->user);
    free(answer->key);
    free(answer->digest);
    free(answer->location);
    free(answer->etag);
    free(answer->body);
    *answer = (struct stored_answer){ 0 };
}
