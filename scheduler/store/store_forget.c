/* SPDX-License-Identifier: Apache-2.0 */
/* store_forget.c - rows that go: superseded processes at once, jobs bit by bit
 *
 * Pages that become free are used again by the rows that come, so the file stops growing. It is not
 * made smaller, which would move pages in every turn (auto_vacuum) or stop the service (VACUUM). */
#include "scheduler/core/core.h"
#include "scheduler/store/store_internal.h"

/* The most that a turn deletes; a tail is 64 KiB. */
#define SWEEP_ROWS 512
#define SWEEP_TAILS 16
#define SWEEP_JOB_ROWS 4 /* the count of a job without rows of its own: some eight statements */
#define BEHIND_JOBS 4096 /* forgotten ones that wait */

int store_forget_job(struct store *store, uint64_t id, struct edl_error *error)
{
    int r;

    store->sweeping = true;
    store_bind_u64(store->statements[ST_ARCHIVED_DROP], 1, id);
    r = store_step_done(store, ST_ARCHIVED_DROP, error);
    if (r < 0)
        return r;
    store_bind_u64(store->statements[ST_FORGET_JOB], 1, id);
    return store_step_done(store, ST_FORGET_JOB, error);
}

int store_forget_tasks(struct store *store, uint64_t id, struct edl_error *error)
{
    store_bind_u64(store->statements[ST_FORGET_TASKS], 1, id);
    return store_step_done(store, ST_FORGET_TASKS, error);
}

int store_forget_process(struct store *store, const struct effect *effect, struct edl_error *error)
{
    struct prepared *process = store->statements[ST_FORGET_PROCESS];
    int r;

    store_bind_u64(process, 1, effect->job->id);
    store_bind_u64(process, 2, effect->role);
    store_bind_u64(process, 3, effect->index);
    store_bind_u64(process, 4, effect->id);
    r = store_step_done(store, ST_FORGET_PROCESS, error);
    if (r < 0)
        return r;
    return store_forget_tail(store, effect->job->id, effect->name, effect->index, effect->id,
                             error);
}

/* count_tails - those that are going to be deleted, before */
static int count_tails(struct store *store, uint64_t job_id, uint64_t most, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_FORGOTTEN_TAIL_BYTES];
    uint64_t bytes = 0;
    int r;

    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, most);
    r = store_number_of(store, ST_FORGOTTEN_TAIL_BYTES, &bytes, error);
    return r < 0 ? r : store_uncount_tails(store, bytes, error);
}

/* Rows of one kind; *left: the rest of the turn's bound. */
static int delete_some(struct store *store, enum statement which, uint64_t job_id, uint64_t *left,
                       bool *ret_all, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    uint64_t n;
    int r = which == ST_FORGOTTEN_TAILS ? count_tails(store, job_id, *left, error) : 0;

    if (r < 0)
        return r;
    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, *left);
    r = store_step_done(store, which, error);
    n = store_changes(store);
    *ret_all = n < *left;
    *left -= n;
    return r;
}

static int delete_rest(struct store *store, uint64_t job_id, bool whole, struct edl_error *error)
{
    static const enum statement rest[] = { ST_FORGOTTEN_DONE,      ST_FORGOTTEN_RENDEZVOUS,
                                           ST_FORGOTTEN_QUEUE_END, ST_FORGOTTEN_QUEUE,
                                           ST_FORGOTTEN_SERIES,    ST_FORGOTTEN_ROW };
    int r = 0;

    for (size_t i = 0; r == 0 && i < (whole ? ELEMENTS(rest) : 1); i++) {
        store_bind_u64(store->statements[rest[i]], 1, job_id);
        r = store_step_done(store, rest[i], error);
    }
    return r;
}

/* 1 with the first job that is forgotten, 0: there is none. */
static int first_forgotten(struct store *store, uint64_t *ret, bool *ret_whole,
                           struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_FORGOTTEN_FIRST];
    int r = store_next(statement, "reading forgotten jobs", error);

    if (r == 1) {
        *ret = store_column_u64(statement, 0);
        *ret_whole = store_column_u64(statement, 1) != 0;
    }
    store_reset(statement);
    return r;
}

int store_sweep(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    static const struct {
        enum statement which;
        bool tails;
    } kinds[] = { { ST_FORGOTTEN_TASKS, false }, /* first: all that goes when it is not whole */
                  { ST_FORGOTTEN_TAILS, true },
                  { ST_FORGOTTEN_PROCESSES, false } };
    uint64_t rows = SWEEP_ROWS;
    uint64_t tails = SWEEP_TAILS;
    uint64_t job_id = 0;
    bool whole = false;
    int r = 0;

    store->sweeping |= rest->forgets_tasks;
    while (store->sweeping && r == 0 && rows > 0 && tails > 0) {
        bool all = true;

        r = first_forgotten(store, &job_id, &whole, error);
        if (r <= 0) {
            store->sweeping = r < 0;
            return r;
        }
        r = 0;
        for (size_t i = 0; r == 0 && all && i < (whole ? ELEMENTS(kinds) : 1); i++)
            r = delete_some(store, kinds[i].which, job_id, kinds[i].tails ? &tails : &rows, &all,
                            error);
        if (r == 0 && all)
            r = delete_rest(store, job_id, whole, error);
        rows -= MIN_OF(rows, (uint64_t)SWEEP_JOB_ROWS);
    }
    return r;
}

int store_look_at_rest(struct store *store, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_FORGOTTEN_COUNT];
    int r;

    store->rest = store->sweeping || store->trimming;
    store->behind = false;
    if (!store->sweeping)
        return 0;
    store_bind_u64(statement, 1, BEHIND_JOBS);
    r = store_next(statement, "counting forgotten jobs", error);
    if (r == 1)
        store->behind = store_column_u64(statement, 0) == BEHIND_JOBS;
    store_reset(statement);
    return MIN_OF(r, 0);
}

bool store_has_rest(const struct store *store)
{
    return store->rest;
}

bool store_is_behind(const struct store *store)
{
    return store->behind;
}
