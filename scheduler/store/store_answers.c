/* SPDX-License-Identifier: Apache-2.0 */
/* store_answers.c - what requests with an Idempotency-Key were answered with
 *
 * Bounded without a sweep: a turn with some lets twice as many go, and a few, that have had their
 * day. When all take too much, the oldest of the user with the most go. A row that is too old and
 * still there is not found, and its key may come anew: of two the newest counts. */
#include "scheduler/store/store.h"

#include <string.h>

#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define OLD_LEAST 64

static uint64_t oldest_us(uint64_t now_wall_us)
{
    return now_wall_us > STORED_ANSWER_US ? now_wall_us - STORED_ANSWER_US : 0;
}

/* drop_up_to - its rows up to that one; user NULL: those of all */
static int drop_up_to(struct store *store, const char *user, uint64_t sequence,
                      struct edl_error *error)
{
    enum statement which = user != NULL ? ST_ANSWER_DROP_OF : ST_ANSWER_DROP;
    struct prepared *statement = store->statements[which];

    if (sequence == 0)
        return 0;
    store_bind_u64(statement, 1, sequence);
    if (user != NULL)
        store_bind_text(statement, 2, user);
    return store_step_done(store, which, error);
}

/* Those that have had their day: twice as many as come, and some. */
static int drop_old(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ANSWER_OLDEST];
    struct store_sums *sums = &store->sums;
    uint64_t now_us = rest->answered_wall_us, last = 0;
    int r;

    if (store_rests(sums->answers_rest_us, STORED_ANSWER_US, now_us))
        return 0;
    store_bind_u64(statement, 1, 2 * rest->n_answers + OLD_LEAST);
    while ((r = store_next(statement, "reading old answers", error)) == 1) {
        uint64_t wall_us = store_column_u64(statement, 3);

        if (wall_us >= oldest_us(now_us)) {
            sums->answers_rest_us = store_rest_from(STORED_ANSWER_US, wall_us, now_us);
            break;
        }
        last = store_column_u64(statement, 0);
        user_sums_take(&sums->answers, store_column_text(statement, 1), 1,
                       store_column_u64(statement, 2));
    }
    store_reset(statement);
    return r < 0 ? r : drop_up_to(store, NULL, last, error);
}

/* The oldest of the user with the most, as long as all take too much and it is that. */
static int drop_of_one(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ANSWER_OLDEST_OF];
    struct user_sums *sums = &store->sums.answers;
    const struct user_sum *most = user_sums_most(sums, true);
    _cleanup_free_ char *user = most != NULL ? xstrdup(most->user) : NULL;
    uint64_t last = 0;
    int r = 0;

    if (user == NULL)
        return edl_error_set(error, EDL_ECORRUPT, "answers take room, and there are none");
    store_bind_text(statement, 1, user);
    store_bind_u64(statement, 2, OLD_LEAST);
    while (sums->bytes > STORED_ANSWERS_BYTES && (most = user_sums_most(sums, true)) != NULL &&
           streq(most->user, user) &&
           (r = store_next(statement, "reading old answers", error)) == 1) {
        last = store_column_u64(statement, 0);
        user_sums_take(sums, user, 1, store_column_u64(statement, 1));
    }
    store_reset(statement);
    if (r == 0 && last == 0)
        return edl_error_set(error, EDL_ECORRUPT, "answers of %s are counted, and not there", user);
    return r < 0 ? r : drop_up_to(store, user, last, error);
}

/* The one that has just come may be large, and those that go small. */
int store_trim_answers(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    struct user_sums *sums = &store->sums.answers;
    int r;

    if (rest->n_answers == 0)
        return 0;
    for (size_t i = 0; i < rest->n_shares; i++)
        if (rest->shares[i].n_answers > 0)
            user_sums_add(sums, rest->shares[i].user, rest->shares[i].n_answers,
                          rest->shares[i].answer_bytes);
    r = drop_old(store, rest, error);
    while (r == 0 && sums->bytes > STORED_ANSWERS_BYTES)
        r = drop_of_one(store, error);
    return r;
}

int store_put_answer(struct store *store, const struct stored_answer *answer,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ANSWER_PUT];

    store_bind_u64(statement, 1, ++store->numbers.answer);
    store_bind_text(statement, 2, answer->user);
    store_bind_text(statement, 3, answer->key);
    store_bind_text(statement, 4, answer->digest);
    store_bind_u64(statement, 5, answer->status);
    store_bind_text(statement, 6, answer->location);
    store_bind_text(statement, 7, answer->body);
    store_bind_u64(statement, 8, answer->wall_us);
    store_bind_text(statement, 9, answer->etag);
    store_bind_u64(statement, 10, store_answer_bytes(answer));
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
