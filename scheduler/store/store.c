/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the database: the transaction of a turn, events and log tails
 *
 * Each turn is one transaction. A failure inside rolls back and is returned. The
 * caller's memory is then ahead of the disk, and it has to load the stored state again. */
#include "scheduler/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/store_asked.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TAILS_OF_A_PIECE 32 /* of a far store: some 2 MiB */

int store_error(struct store *store, const char *what, struct edl_error *error)
{
    return engine_error(store->engine, what, error);
}

uint64_t store_changes(struct store *store)
{
    return store->engine->calls->changes(store->engine);
}

/* has_to_change - the statement is of a row that is there, and exactly one is to change */
static bool has_to_change(enum statement which)
{
    return which == ST_JOB_CHANGE;
}

static int step_one(struct store *store, enum statement which, struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;

    if ((calls->run_one != NULL ? calls->run_one : calls->run)(store->statements[which]) < 0)
        return store_error(store, "writing", error);
    if (calls->run_one == NULL && store_changes(store) != 1)
        return edl_error_set(error, -ENOENT, "a job that is saved has no row");
    return 0;
}

int store_step_done(struct store *store, enum statement which, struct edl_error *error)
{
    if (has_to_change(which))
        return step_one(store, which, error);
    return store->engine->calls->run(store->statements[which]) < 0
               ? store_error(store, "writing", error)
               : 0;
}

int store_prepare_all(struct store *store, struct edl_error *error)
{
    for (int i = 0; i < ST_N; i++) {
        _cleanup_free_ char *text =
            store_text_of(store->engine->calls, store_statement_text((enum statement)i));

        if (store->engine->calls->prepare(store->engine, text, &store->statements[i]) < 0)
            return store_error(store, text, error);
    }
    return 0;
}

struct store *store_new(void)
{
    struct store *store = xcalloc(1, sizeof *store);

    store->sweeping = true;
    store_free_sums(store);
    histogram_init(&store->commits, histogram_work_us);
    return store;
}

struct store *store_free(struct store *store)
{
    if (store == NULL)
        return NULL;
    for (int i = 0; i < ST_N; i++)
        if (store->statements[i] != NULL)
            (void)store->engine->calls->finish(store->statements[i]);
    store->engine = engine_close(store->engine);
    store_free_sums(store);
    free(store);
    return NULL;
}

const struct reader_source *store_reader_source(const struct store *store)
{
    return &store->readers;
}

int store_schema_version(const struct store *store)
{
    return store->schema_version;
}

static bool is_record(enum effect_kind kind)
{
    return kind != EFFECT_ORDERS && kind != EFFECT_MEMBERSHIP && kind != EFFECT_NOTICE;
}

int store_write_records(struct store *store, const struct turn_records *records,
                        struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < records->n_effects; i++)
        r = store_put_effect(store, &records->effects[i], error);
    if (r == 0)
        r = store_put_series(store, records, error);
    for (size_t i = 0; r == 0 && i < records->n_tails; i++)
        r = store_put_tail(store, &records->tails[i], error);
    for (size_t i = 0; r == 0 && i < records->n_answers; i++)
        r = store_put_answer(store, &records->answers[i], error);
    if (r == 0)
        r = store_put_accounts(store, records->accounts, records->n_accounts, error);
    for (size_t i = 0; r == 0 && i < records->n_tokens; i++)
        r = store_put_token(store, &records->tokens[i], error);
    for (size_t i = 0; r == 0 && i < records->n_notices; i++)
        r = store_put_notice(store, &records->notices[i], error);
    if (r == 0)
        r = store_put_tasks(store, &records->tasks, error);
    return r == 0 && records->clock != NULL ? store_put_clock(store, records->clock, error) : r;
}

int store_write_rest(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    static int (*const steps[])(struct store *, const struct turn_rest *, struct edl_error *) = {
        store_archive_jobs, store_put_held,    store_trim_answers,
        store_trim_audit,   store_trim_events, store_trim_families,
        store_trim_archive, store_trim_tails,  store_sweep,
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(steps); i++)
        r = steps[i](store, rest, error);
    if (r == 0)
        r = store_write_sums(store, error);
    return r < 0 ? r : store_look_at_rest(store, error);
}

static int write_turn(struct store *store, const struct turn_records *records,
                      struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;
    struct turn_rest rest;
    int r = store_need_sums(store, error);

    if (r < 0)
        return r;
    if (calls->begin(store->engine) < 0)
        return store_error(store, "writing", error);
    r = store_write_records(store, records, error);
    turn_rest_of(records, &rest);
    if (r == 0)
        r = store_write_rest(store, &rest, error);
    turn_rest_done(&rest);
    if (r == 0 && calls->commit(store->engine) < 0)
        r = store_error(store, "writing", error);
    if (r == 0)
        return 0;
    calls->rollback(store->engine);
    store_forget_sums(store);
    return r;
}

bool store_has_records(const struct store *store, const struct turn_records *records)
{
    size_t n_records = records->n_tails + records->n_answers + records->n_accounts +
                       records->n_tokens + records->tasks.n + records->tasks.dropped +
                       records->n_series + records->n_notices;

    for (size_t i = 0; i < records->n_effects; i++)
        n_records += is_record(records->effects[i].kind);
    return n_records > 0 || records->begun != NULL || store->rest;
}

int store_commit(struct store *store, const struct turn_records *records, struct edl_error *error)
{
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);
    int r;

    if (!store_has_records(store, records))
        return 0;
    if (far_of(store) != NULL)
        return far_commit(store, records, error);
    r = write_turn(store, records, error);
    store->last_commit = r;
    if (r < 0)
        store->commit_failures++;
    else
        histogram_observe(&store->commits, clock_read_us(CLOCK_MONOTONIC) - start_us);
    return r;
}

/* read_events - of a statement whose parameters are bound */
static int read_events(struct prepared *statement, store_event_fn fn, void *userdata,
                       struct edl_error *error)
{
    int r;

    while ((r = store_next(statement, "reading events", error)) == 1) {
        struct stored_event event = {
            .revision = store_column_u64(statement, 0),
            .time_us = store_column_u64(statement, 1),
            .event = store_column_text(statement, 2),
            .job_id = store_column_u64(statement, 3),
            .node = store_column_text(statement, 4),
            .text = store_column_text(statement, 5),
        };

        fn(&event, userdata);
    }
    store_reset(statement);
    return r;
}

static int each_event(struct store *store, enum statement which, uint64_t job_id, uint64_t after,
                      uint32_t limit, store_event_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];

    store_bind_u64(statement, 1, MIN_OF(after, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    if (job_id != 0)
        store_bind_u64(statement, 3, job_id);
    return read_events(statement, fn, userdata, error);
}

int store_events(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                 store_event_fn fn, void *userdata, struct edl_error *error)
{
    return each_event(store, job_id != 0 ? ST_EVENT_AFTER_JOB : ST_EVENT_AFTER, job_id, after,
                      limit, fn, userdata, error);
}

int store_resizes(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                  store_event_fn fn, void *userdata, struct edl_error *error)
{
    return each_event(store, ST_EVENT_RESIZES, job_id, after, limit, fn, userdata, error);
}

int store_node_events(struct store *store, const char *node, uint64_t before, uint32_t limit,
                      store_event_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EVENT_NODE];

    store_bind_u64(statement, 1, MIN_OF(before, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    store_bind_text(statement, 3, node);
    return read_events(statement, fn, userdata, error);
}

int store_log_sequence(struct store *store, uint64_t *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_SEQUENCE];
    int r = store_next(statement, "reading how far logs reach", error);

    if (r == 1)
        *ret = store_column_u64(statement, 0);
    store_reset(statement);
    return MIN_OF(r, 0);
}

/* A piece of them, of so many rows; *after: moves to the last. 1: there may be more that are
 * wanted; 0: not */
static int read_tails(struct store *store, uint64_t job_id, uint64_t *after, uint64_t rows,
                      store_tail_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_JOB];
    bool wants = true;
    uint64_t n = 0;
    int r;

    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, MIN_OF(*after, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 3, rows);
    while (wants && (r = store_next(statement, "reading logs", error)) == 1) {
        _cleanup_free_ char *text = xstrdup(store_column_text(statement, 5));
        _cleanup_free_ char *times = xstrdup(store_column_text(statement, 6));
        struct log_tail tail = {
            .job_id = store_column_u64(statement, 0),
            .index = (uint32_t)store_column_u64(statement, 2),
            .incarnation = store_column_u64(statement, 3),
            .sequence = store_column_u64(statement, 4),
            .text = text,
            .times = times,
            .next_offset = store_column_u64(statement, 7),
        };

        (void)snprintf(tail.role, sizeof tail.role, "%s", store_column_text(statement, 1));
        *after = tail.sequence;
        n++;
        wants = fn(&tail, userdata);
    }
    store_reset(statement);
    return r < 0 ? r : wants && n == rows;
}

int store_log_tails(struct store *store, uint64_t job_id, uint64_t after, store_tail_fn fn,
                    void *userdata, struct edl_error *error)
{
    uint64_t rows = store_is_far(store) ? TAILS_OF_A_PIECE : INT64_MAX;
    int r;

    do
        r = read_tails(store, job_id, &after, rows, fn, userdata, error);
    while (r == 1);
    return r;
}
