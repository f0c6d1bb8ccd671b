/* SPDX-License-Identifier: Apache-2.0 */
/* store_sums.c - see store_sums.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/states.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define READING "reading sums"
#define OF_ALL "*" /* no user's name */

/* --- sums by user --- */

void user_sums_add(struct user_sums *sums, const char *user, uint64_t n, uint64_t bytes)
{
    struct user_sum *sum;

    HASH_FIND_STR(sums->users, user, sum);
    if (sum == NULL) {
        sum = xcalloc(1, sizeof *sum);
        sum->user = xstrdup(user);
        HASH_ADD_KEYPTR(hh, sums->users, sum->user, strlen(sum->user), sum);
    }
    sum->changed = true;
    sum->n += n;
    sum->bytes += bytes;
    sums->n += n;
    sums->bytes += bytes;
}

static void drop_sum(struct user_sums *sums, struct user_sum *sum)
{
    HASH_DEL(sums->users, sum);
    free(sum->user);
    free(sum);
}

void user_sums_take(struct user_sums *sums, const char *user, uint64_t n, uint64_t bytes)
{
    struct user_sum *sum;

    HASH_FIND_STR(sums->users, user, sum);
    if (sum == NULL)
        return;
    n = MIN_OF(n, sum->n);
    bytes = MIN_OF(bytes, sum->bytes);
    sum->changed = true;
    sum->n -= n;
    sum->bytes -= bytes;
    sums->n -= n;
    sums->bytes -= bytes;
    if (sum->n == 0 && sum->bytes == 0 && !sums->have_rows)
        drop_sum(sums, sum);
}

void user_sums_clear(struct user_sums *sums)
{
    struct user_sum *sum, *next;

    HASH_ITER(hh, sums->users, sum, next)
    drop_sum(sums, sum);
    *sums = (struct user_sums){ .have_rows = sums->have_rows };
}

const struct user_sum *user_sums_most(const struct user_sums *sums, bool by_bytes)
{
    const struct user_sum *most = NULL, *sum;

    for (sum = sums->users; sum != NULL; sum = sum->hh.next) {
        uint64_t has = by_bytes ? sum->bytes : sum->n;
        uint64_t before = most == NULL ? 0 : by_bytes ? most->bytes : most->n;

        if (sum->n > 0 &&
            (has > before || (most != NULL && has == before && strcmp(sum->user, most->user) < 0)))
            most = sum;
    }
    return most;
}

/* --- looks that rest --- */

static uint64_t rest_us(uint64_t keep_us)
{
    return MIN_OF(keep_us / 2, (uint64_t)STORE_REST_US);
}

bool store_rests(uint64_t until_us, uint64_t keep_us, uint64_t now_us)
{
    uint64_t left_us = until_us - MIN_OF(until_us, now_us);

    return left_us > 0 &&
           left_us <= rest_us(keep_us); /* more: the clock, or the bound, went back */
}

uint64_t store_rest_from(uint64_t keep_us, uint64_t oldest_us, uint64_t now_us)
{
    return MIN_OF(now_us + rest_us(keep_us), oldest_us + keep_us + 1);
}

/* --- reading --- */

int store_number_of(struct store *store, enum statement which, uint64_t *ret,
                    struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    int r = store_next(statement, READING, error);

    *ret = r == 1 ? store_column_u64(statement, 0) : 0;
    store_reset(statement);
    return MIN_OF(r, 0);
}

static int read_numbers(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_NUMBERS];
    struct store_sums *sums = &store->sums;
    struct store_numbers *numbers = &store->numbers;
    int r = store_next(statement, READING, error);

    if (r == 1) {
        *numbers = (struct store_numbers){
            .answer = store_column_u64(statement, 2),
            .audit = MAX_OF(store_column_u64(statement, 4), store_column_u64(statement, 10)),
            .family = store_column_u64(statement, 5),
            .document = store_column_u64(statement, 6),
            .held = store_column_u64(statement, 7),
            .token = store_column_u64(statement, 8),
            .notice = store_column_u64(statement, 9),
        };
        sums->events = (struct event_bounds){ .oldest = store_column_u64(statement, 0),
                                              .newest = store_column_u64(statement, 1) };
        sums->audit_last = numbers->audit;
        sums->audit_first = store_column_u64(statement, 3);
        if (sums->audit_first == 0)
            sums->audit_first = sums->audit_last + 1;
    }
    store_reset(statement);
    return MIN_OF(r, 0);
}

/* Of each epoch: revisions go on behind epoch << EPOCH_SHIFT, wherever they were. */
static int read_epochs(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EPOCHS];
    struct store_sums *sums = &store->sums;
    uint64_t first = 0;
    int r;

    while ((r = store_next(statement, READING, error)) == 1) {
        struct event_gap gap = { .last = MAX_OF(store_column_u64(statement, 1), first) };

        sums->epoch = store_column_u64(statement, 0);
        sums->first_job = store_column_u64(statement, 2);
        first = sums->epoch << EPOCH_SHIFT;
        gap.next_first = first + 1;
        sums->gaps = xreallocarray(sums->gaps, sums->n_gaps + 1, sizeof *sums->gaps);
        sums->gaps[sums->n_gaps++] = gap;
    }
    store_reset(statement);
    store->numbers.event = MAX_OF(sums->events.newest, first);
    return r;
}

/* A user, a number of rows and their bytes; that of all is made of them. */
static int read_users(struct store *store, enum statement which, struct user_sums *ret,
                      struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    int r;

    while ((r = store_next(statement, READING, error)) == 1)
        user_sums_add(ret, store_column_text(statement, 0), store_column_u64(statement, 1),
                      store_column_u64(statement, 2));
    store_reset(statement);
    for (struct user_sum *sum = ret->users; sum != NULL; sum = sum->hh.next)
        sum->changed = false;
    return r;
}

static int read_archived(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_COUNTS];
    int r;

    while ((r = store_next(statement, READING, error)) == 1) {
        struct row row;
        int state;

        row_begin(&row, statement, error, "archived_count");
        state = row_state(&row, 0, job_state_from_string);
        if (row.r == 0)
            store->sums.archived[state] = row_u64(&row, 1, INT64_MAX);
        r = row.r;
        if (r < 0)
            break;
    }
    store_reset(statement);
    return r;
}

int store_read_audit(struct store *store, struct edl_error *error)
{
    int r = read_users(store, ST_AUDIT_SUMS, &store->sums.audit, error);

    store->sums.audit_known = r == 0;
    return r;
}

void store_free_sums(struct store *store)
{
    struct store_sums *sums = &store->sums;

    user_sums_clear(&sums->answers);
    user_sums_clear(&sums->audit);
    user_sums_clear(&sums->archive);
    store_forget_spans(store);
    free(sums->gaps);
    *sums = (struct store_sums){ .archive.have_rows = true };
}

void store_forget_sums(struct store *store)
{
    store->sums.known = false;
}

int store_need_sums(struct store *store, struct edl_error *error)
{
    static int (*const reads[])(struct store *, struct edl_error *) = {
        read_numbers,
        read_epochs,
        read_archived,
        store_read_spans,
    };
    struct store_sums *sums = &store->sums;
    int r = 0;

    if (sums->known)
        return 0;
    store_free_sums(store);
    for (size_t i = 0; r == 0 && i < ELEMENTS(reads); i++)
        r = reads[i](store, error);
    if (r == 0)
        r = read_users(store, ST_ANSWER_SUMS, &sums->answers, error);
    if (r == 0)
        r = read_users(store, ST_ARCHIVED_SUMS, &sums->archive, error);
    if (r == 0)
        r = store_number_of(store, ST_TAIL_BYTES, &sums->log_bytes, error);
    sums->known = r == 0;
    return r;
}

/* --- writing --- */

int store_put_number(struct store *store, const char *name, uint64_t *last, uint64_t number,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_NUMBER_PUT];

    if (number <= *last)
        return 0;
    *last = number;
    store_bind_text(statement, 1, name);
    store_bind_u64(statement, 2, number);
    return store_step_done(store, ST_NUMBER_PUT, error);
}

static int write_share(struct store *store, const char *user, uint64_t jobs, uint64_t bytes,
                       bool stays, struct edl_error *error)
{
    enum statement which =
        stays || jobs > 0 || bytes > 0 ? ST_ARCHIVED_SHARE_PUT : ST_ARCHIVED_SHARE_DROP;
    struct prepared *statement = store->statements[which];

    store_bind_text(statement, 1, user);
    if (which == ST_ARCHIVED_SHARE_PUT) {
        store_bind_u64(statement, 2, jobs);
        store_bind_u64(statement, 3, bytes);
    }
    return store_step_done(store, which, error);
}

static int write_shares(struct store *store, struct edl_error *error)
{
    struct user_sums *archive = &store->sums.archive;
    struct user_sum *sum, *next;
    bool any = false;
    int r = 0;

    HASH_ITER(hh, archive->users, sum, next)
    {
        if (r < 0 || !sum->changed)
            continue;
        any = true;
        sum->changed = false;
        r = write_share(store, sum->user, sum->n, sum->bytes, false, error);
        if (sum->n == 0 && sum->bytes == 0)
            drop_sum(archive, sum);
    }
    return r < 0 || !any ? r : write_share(store, OF_ALL, archive->n, archive->bytes, true, error);
}

static int write_count(struct store *store, int state, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_COUNT_PUT];

    store_bind_text(statement, 1, job_state_to_string((enum job_state)state));
    store_bind_u64(statement, 2, store->sums.archived[state]);
    return store_step_done(store, ST_ARCHIVED_COUNT_PUT, error);
}

int store_write_sums(struct store *store, struct edl_error *error)
{
    int r = write_shares(store, error);

    for (int state = 0; r == 0 && state < FIGURE_JOB_STATES; state++) {
        if (!store->sums.archived_changed[state])
            continue;
        store->sums.archived_changed[state] = false;
        r = write_count(store, state, error);
    }
    return r;
}
