/* SPDX-License-Identifier: Apache-2.0 */
/* far_reads.c - rows of the loop's statements: looked up in a memo, or asked of a thread
 *
 * The thread has one connection and answers one round after the other: the statements of a memo
 * that are not read yet. A connection that failed is given up, and the next round opens another. A
 * round that meets one that has died since is made once more. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "scheduler/store/far/asked.h"
#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/reader_source.h"
#include "scheduler/store/store_asked.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/worker.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ROUND_US (5 * USEC_PER_SEC)
#define MIB ((size_t)1 << 20)

/* Where a statement of the loop stands among its rows. */
struct far_rows {
    const struct asked_rows *rows; /* borrowed from the memo */
    size_t next;
};

/* The thread's own while a round is under way. */
struct reading {
    struct reader_source source;
    uint64_t delay_us;                 /* of each round, for tests */
    struct engine *engine;             /* owned; NULL: none is open */
    struct prepared *statements[ST_N]; /* owned: its */
    uint64_t until_us;                 /* CLOCK_MONOTONIC; of the round */
};

struct far_reads {
    struct worker *worker;    /* owned */
    struct reading *reading;  /* owned */
    struct round *round;      /* borrowed: under way; NULL: none is */
    struct store_asked *memo; /* borrowed; in which reads are looked up; NULL: in none */
    bool told;                /* of a read without a memo: once is enough */
};

struct round {
    struct worker_job job;   /* first */
    struct far_reads *reads; /* of the loop */
    struct reading *reading;
    struct store_asked *memo;
    store_asked_fn done;
    void *userdata;
};

/* --- in the thread --- */

static bool is_late(void *userdata)
{
    const struct reading *reading = userdata;

    return clock_read_us(CLOCK_MONOTONIC) > reading->until_us;
}

static void disconnect(struct reading *reading)
{
    for (int i = 0; i < ST_N; i++)
        if (reading->statements[i] != NULL)
            reading->statements[i] = reading->engine->calls->finish(reading->statements[i]);
    reading->engine = engine_close(reading->engine);
}

static int connect_first(struct reading *reading, struct edl_error *error)
{
    const struct reader_patience patience = { is_late, reading };

    if (reading->engine != NULL)
        return 0;
    return reading->source.open(&reading->source, &patience, &reading->engine, error);
}

static int prepare(struct reading *reading, int place, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;

    if (reading->statements[place] != NULL)
        return 0;
    text = store_text_of(reading->engine->calls, store_statement_text((enum statement)place));
    return reading->engine->calls->prepare(reading->engine, text, &reading->statements[place]) < 0
               ? engine_error(reading->engine, text, error)
               : 0;
}

static void bind(struct prepared *statement, int at, const struct far_value *value)
{
    switch (value->kind) {
    case FAR_NULL:
        store_bind_text(statement, at, NULL);
        break;
    case FAR_NUMBER:
        store_bind_i64(statement, at, value->number);
        break;
    case FAR_REAL:
        store_bind_real(statement, at, value->real);
        break;
    case FAR_TEXT:
        store_bind_text(statement, at, value->text);
        break;
    }
}

static int too_large(struct edl_error *error)
{
    (void)edl_error_set(error, -E2BIG, "the answer is made of more than %zu MiB of the database",
                        STORE_ASKED_BYTES / MIB);
    return edl_error_remedy(error, "ask for less at once");
}

/* room: bytes that its rows may take */
static int read_one(struct reading *reading, struct asked *asked, size_t room,
                    struct edl_error *error)
{
    struct prepared *statement;
    int r = prepare(reading, asked->place, error);

    if (r < 0)
        return r;
    statement = reading->statements[asked->place];
    for (int i = 0; i < asked->n; i++)
        bind(statement, i + 1, &asked->values[i]);
    while ((r = store_next(statement, "reading", error)) == 1) {
        asked_rows_take(&asked->rows, statement);
        if (asked->rows.bytes > room || is_late(reading))
            break;
    }
    store_reset(statement);
    if (r == 1 && asked->rows.bytes > room)
        return too_large(error);
    return r == 1 ? edl_error_set(error, -ETIMEDOUT, "reading takes too long") : r;
}

/* is_of_the_rows - behind an error of these the connection is as good as before */
static bool is_of_the_rows(int r)
{
    return r == -E2BIG || r == 0;
}

static int read_all(struct reading *reading, struct store_asked *memo, struct edl_error *error)
{
    bool together = !reading->source.anew && memo->n_wanted > 1;
    const struct engine_calls *calls = reading->engine->calls;
    size_t bytes = memo->bytes;
    int r = together ? calls->begin(reading->engine) : 0;

    if (r < 0)
        return engine_error(reading->engine, "reading", error);
    for (struct asked *asked = memo->first; r == 0 && asked != NULL; asked = asked->next) {
        if (asked->there)
            continue;
        asked_rows_done(&asked->rows);
        r = read_one(reading, asked, STORE_ASKED_BYTES - MIN_OF(bytes, STORE_ASKED_BYTES), error);
        bytes += asked->rows.bytes;
    }
    if (together && is_of_the_rows(r) && calls->commit(reading->engine) < 0)
        return engine_error(reading->engine, "reading", error);
    return r;
}

static int read_round(struct reading *reading, struct store_asked *memo, struct edl_error *error)
{
    bool was_open = reading->engine != NULL;
    int r;

    reading->until_us = clock_read_us(CLOCK_MONOTONIC) + ROUND_US;
    r = connect_first(reading, error);
    if (r == 0)
        r = read_all(reading, memo, error);
    if (r == -ENOTCONN && was_open) {
        disconnect(reading);
        r = connect_first(reading, error);
        if (r == 0)
            r = read_all(reading, memo, error);
    }
    if (reading->engine != NULL && (reading->source.anew || !is_of_the_rows(r)))
        disconnect(reading);
    return r;
}

/* As a network would. */
static void be_late(uint64_t us)
{
    struct timespec left = { .tv_sec = (time_t)(us / USEC_PER_SEC),
                             .tv_nsec = (long)(us % USEC_PER_SEC * 1000) };

    while (us > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        continue;
}

static void reading_free(struct reading *reading)
{
    if (reading->engine != NULL)
        disconnect(reading);
    free(reading);
}

static void run(struct worker_job *job)
{
    struct round *round = (struct round *)job;
    struct store_asked *memo = round->memo;
    struct edl_error error = { 0 };
    int r = read_round(round->reading, memo, &error);

    memo->bytes = 0;
    for (struct asked *asked = memo->first; asked != NULL; asked = asked->next) {
        if (!asked->there && r < 0) {
            asked_rows_done(&asked->rows);
            asked->error = error;
            asked->r = r;
        }
        asked->there = true;
        memo->bytes += asked->rows.bytes;
    }
    memo->n_wanted = 0;
    be_late(round->reading->delay_us);
}

/* The last job of a thread that was left to itself. */
static void bury(struct worker_job *job)
{
    struct round *last = (struct round *)job;

    (void)store_asked_free(last->memo);
    reading_free(last->reading);
}

/* --- in the loop --- */

static void on_done(struct worker_job *job)
{
    struct round ended = *(struct round *)job;

    free(job);
    ended.reads->round = NULL;
    ended.done(ended.memo, ended.userdata);
}

int far_reads_new(sd_event *event, struct far *far, struct far_reads **ret, struct edl_error *error)
{
    struct far_reads *reads = xcalloc(1, sizeof *reads);
    int r = worker_new(event, "edl-reading", &reads->worker, error);

    if (r < 0) {
        free(reads);
        return r;
    }
    reads->reading = xcalloc(1, sizeof *reads->reading);
    reads->reading->source = far->config.writer->readers;
    reads->reading->delay_us = far->config.delay_us;
    *ret = reads;
    return 0;
}

/* abandon - the thread may hang in its round: it goes on alone, and takes the memo with it */
static void abandon(struct far_reads *reads)
{
    struct round round = *reads->round;
    struct round *last = xcalloc(1, sizeof *last);

    *last = (struct round){ .job = { .run = bury }, .reading = reads->reading, .memo = round.memo };
    (void)worker_abandon_to(reads->worker, &last->job);
    round.done(NULL, round.userdata);
}

struct far_reads *far_reads_free(struct far_reads *reads)
{
    if (reads == NULL)
        return NULL;
    if (reads->round != NULL) {
        abandon(reads);
    } else {
        reads->worker = worker_free(reads->worker);
        reading_free(reads->reading);
    }
    free(reads);
    return NULL;
}

static int fail(struct far *far, int r, const char *text)
{
    far->error = (struct edl_error){ 0 };
    return edl_error_set(&far->error, r, "%s", text);
}

static int look_up(struct far *far, struct far_statement *statement)
{
    struct far_reads *reads = far->reads;
    struct asked *asked;

    if (reads->memo == NULL) {
        if (!reads->told)
            log_error("nobody waits for a read of the database: %.200s",
                      store_statement_text((enum statement)statement->place));
        reads->told = true;
        return fail(far, -EIO, "nobody waits for a read of the database");
    }
    asked = asked_find(reads->memo, statement);
    if (asked == NULL)
        asked = asked_add(reads->memo, statement);
    if (!asked->there)
        return fail(far, -EINPROGRESS, "the database is asked for it");
    if (asked->r < 0) {
        far->error = asked->error;
        return asked->r;
    }
    statement->rows = xcalloc(1, sizeof *statement->rows);
    statement->rows->rows = &asked->rows;
    return 0;
}

int far_next(struct far *far, struct far_statement *statement)
{
    int r = statement->rows == NULL ? look_up(far, statement) : 0;

    if (r < 0)
        return r;
    if (statement->rows->next == statement->rows->rows->n) {
        far_reset(statement);
        return 0;
    }
    statement->rows->next++;
    return 1;
}

void far_reset(struct far_statement *statement)
{
    free(TAKE_PTR(statement->rows));
}

static const struct asked_cell *cell_at(const struct far_statement *statement, int column)
{
    static const struct asked_cell none = { .text = NULL };
    const struct far_rows *at = statement->rows;

    if (at == NULL || at->next == 0 || column < 0 || (size_t)column >= at->rows->n_columns)
        return &none;
    return &at->rows->cells[(at->next - 1) * at->rows->n_columns + (size_t)column];
}

const char *far_text(struct far_statement *statement, int column)
{
    return cell_at(statement, column)->text;
}

int64_t far_number(struct far_statement *statement, int column)
{
    return cell_at(statement, column)->number;
}

double far_real(struct far_statement *statement, int column)
{
    return cell_at(statement, column)->real;
}

const char *far_name(struct far_statement *statement, int column)
{
    const struct far_rows *at = statement->rows;

    return at != NULL && column >= 0 && (size_t)column < at->rows->n_columns
               ? at->rows->names[column]
               : NULL;
}

/* --- the memo --- */

bool store_is_far(const struct store *store)
{
    return store != NULL && far_of(store) != NULL;
}

struct store_asked *store_ask_for(struct store *store, struct store_asked *memo)
{
    struct far *far = far_of(store);
    struct store_asked *before = NULL;

    if (far != NULL) {
        before = far->reads->memo;
        far->reads->memo = memo;
    }
    return before;
}

void store_ask_send(struct store *store, struct store_asked *memo, store_asked_fn done,
                    void *userdata)
{
    struct far_reads *reads = far_of(store)->reads;
    struct round *round = xcalloc(1, sizeof *round);

    *round = (struct round){ .job = { .run = run, .done = on_done },
                             .reads = reads,
                             .reading = reads->reading,
                             .memo = memo,
                             .done = done,
                             .userdata = userdata };
    reads->round = round;
    worker_start(reads->worker, &round->job);
}
