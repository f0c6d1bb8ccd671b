/* SPDX-License-Identifier: Apache-2.0 */
/* store_walk.c - archived jobs by their numbers, for lists: a few columns of each, and a bounded
 * number of rows at once */
#include <errno.h>

#include "scheduler/core/model/job_match.h"
#include "scheduler/core/model/states.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_asked.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PIECE_ROWS 250 /* of a far store, in one read */
#define NEXT_PIECE 2

static int read_row(struct prepared *statement, struct archive_row *ret, struct edl_error *error)
{
    struct row row;

    row_begin(&row, statement, error, "job %lld", (long long)store_column_i64(statement, 0));
    *ret = (struct archive_row){ .id = row_u64(&row, 0, INT64_MAX) };
    row_text(&row, 1, ret->name, sizeof ret->name);
    row_text(&row, 2, ret->user, sizeof ret->user);
    ret->state = (enum job_state)row_state(&row, 3, job_state_from_string);
    if (store_column_is_null(statement, 4))
        return row.r;
    row_text(&row, 4, ret->array, sizeof ret->array);
    ret->index = (uint32_t)row_u64(&row, 5, JOB_ARRAY_INDEX_MAX);
    ret->n = (uint32_t)row_u64(&row, 6, JOB_ARRAY_MAX);
    ret->submitted_wall_us = row_u64(&row, 7, INT64_MAX);
    return row.r;
}

/* 1: the row fits and is *ret; 0: it does not. */
static int take_row(struct prepared *statement, struct archive_walk *walk, struct archive_row *ret,
                    struct edl_error *error)
{
    int r = read_row(statement, ret, error);

    if (r < 0)
        return r;
    walk->at = ret->id;
    walk->rows--;
    return job_match_fits(walk->match, &(struct job_facts){ .state = ret->state,
                                                            .user = ret->user,
                                                            .name = ret->name,
                                                            .array = ret->array });
}

/* As take_row, of the next row; -ENOENT: there is none. */
static int step(struct store *store, enum statement which, struct archive_walk *walk,
                struct archive_row *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    int r = store_next(statement, "reading archived jobs", error);

    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    return take_row(statement, walk, ret, error);
}

static enum statement bind_walk(struct store *store, const struct archive_walk *walk, uint64_t at,
                                size_t rows)
{
    static const enum statement statements[2][2] = {
        { ST_ARCHIVED_RISING, ST_ARCHIVED_FALLING },
        { ST_ARCHIVED_ARRAY_RISING, ST_ARCHIVED_ARRAY_FALLING },
    };
    enum statement which = statements[walk->match->array != NULL][walk->newest];
    struct prepared *statement = store->statements[which];

    store_bind_u64(statement, 1, MIN_OF(at, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, rows);
    if (walk->match->array != NULL)
        store_bind_text(statement, 3, walk->match->array);
    return which;
}

/* skip - over the rows of a piece that were seen before. 1: it stands on the next one, which is not
 * read; 0: there is none in this piece, which had *ret_n */
static int skip(struct prepared *statement, const struct archive_walk *walk, size_t *ret_n,
                struct edl_error *error)
{
    int r;

    while ((r = store_next(statement, "reading archived jobs", error)) == 1) {
        uint64_t id = store_column_u64(statement, 0);

        ++*ret_n;
        if (walk->newest ? id < walk->at : id > walk->at)
            return 1;
    }
    return r;
}

/* 1, 0 as store_walk_archived; NEXT_PIECE: this one is at its end, and there may be another */
static int walk_piece(struct store *store, struct archive_walk *walk, struct archive_row *ret,
                      struct edl_error *error)
{
    enum statement which;
    size_t n = 0;
    int r = 0, fits = 0;

    if (!walk->in_piece)
        walk->piece = walk->at;
    walk->in_piece = true;
    which = bind_walk(store, walk, walk->piece, PIECE_ROWS);
    while (fits == 0 && walk->rows > 0 &&
           (r = skip(store->statements[which], walk, &n, error)) == 1)
        fits = take_row(store->statements[which], walk, ret, error);
    store_reset(store->statements[which]);
    if (r < 0 || fits != 0 || walk->rows == 0)
        return r < 0 ? r : fits;
    walk->in_piece = false;
    return n == PIECE_ROWS ? NEXT_PIECE : 0;
}

static int walk_far(struct store *store, struct archive_walk *walk, struct archive_row *ret,
                    struct edl_error *error)
{
    int r;

    do
        r = walk->rows > 0 ? walk_piece(store, walk, ret, error) : 0;
    while (r == NEXT_PIECE);
    return r;
}

int store_walk_archived(struct store *store, struct archive_walk *walk, struct archive_row *ret,
                        struct edl_error *error)
{
    enum statement which;
    int r = 0;

    if (store_is_far(store))
        return walk_far(store, walk, ret, error);
    which = bind_walk(store, walk, walk->at, walk->rows);
    while (r == 0 && walk->rows > 0)
        r = step(store, which, walk, ret, error);
    store_reset(store->statements[which]);
    return r == -ENOENT ? 0 : r;
}

static int count_row(struct prepared *statement, struct array_run *run, struct edl_error *error)
{
    struct row row;
    uint64_t n, first, last;
    int state;

    row_begin(&row, statement, error, "jobs of the array %s", run->name);
    state = row_state(&row, 0, job_state_from_string);
    n = row_u64(&row, 1, INT64_MAX);
    first = row_u64(&row, 2, INT64_MAX);
    last = row_u64(&row, 3, INT64_MAX);
    if (row.r < 0)
        return row.r;
    run->states[state] += n;
    run->first = run->first != 0 ? MIN_OF(run->first, first) : first;
    run->last = MAX_OF(run->last, last);
    return (int)n;
}

int store_count_run(struct store *store, struct array_run *run, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_RUN];
    int counted = 0, r;

    store_bind_text(statement, 1, run->name);
    store_bind_text(statement, 2, run->user);
    store_bind_u64(statement, 3, run->id - MIN_OF(run->id, (uint64_t)run->n));
    store_bind_u64(statement, 4, run->id + run->n);
    store_bind_i64(statement, 5, (int64_t)run->id - (int64_t)run->index);
    store_bind_u64(statement, 6, run->submitted_wall_us);
    while ((r = store_next(statement, "counting archived jobs", error)) == 1) {
        r = count_row(statement, run, error);
        if (r < 0)
            break;
        counted += r;
    }
    store_reset(statement);
    return r < 0 ? r : counted;
}
