/* SPDX-License-Identifier: Apache-2.0 */
/* store_reader.c - see store_reader.h */
#include "scheduler/store/store_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/reader_source.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TEXT_MAX 1200

struct store_reader {
    struct engine *engine; /* owned */
    uint64_t until_us;     /* CLOCK_MONOTONIC */
};

static bool is_late(void *userdata)
{
    const struct store_reader *reader = userdata;

    return clock_read_us(CLOCK_MONOTONIC) > reader->until_us;
}

static int too_late(struct edl_error *error)
{
    (void)edl_error_set(error, -ETIMEDOUT, "reading so much history takes too long");
    return edl_error_remedy(error, "ask for a shorter time");
}

int store_reader_open(const struct reader_source *source, struct store_reader **ret,
                      struct edl_error *error)
{
    struct store_reader *reader = xcalloc(1, sizeof *reader);
    const struct reader_patience patience = { is_late, reader };
    int r;

    reader->until_us = clock_read_us(CLOCK_MONOTONIC) + STORE_READER_US;
    r = source->open(source, &patience, &reader->engine, error);
    if (r == 0 && !source->anew && reader->engine->calls->begin(reader->engine) < 0) {
        r = engine_error(reader->engine, "reading the history", error);
        (void)engine_close(reader->engine);
    }
    if (r == 0) {
        *ret = reader;
        return 0;
    }
    free(reader);
    return r == -ETIMEDOUT ? too_late(error) : r;
}

struct store_reader *store_reader_close(struct store_reader *reader)
{
    if (reader == NULL)
        return NULL;
    (void)engine_close(reader->engine);
    free(reader);
    return NULL;
}

static struct prepared *finish(struct prepared *statement)
{
    return statement != NULL ? statement->engine->calls->finish(statement) : NULL;
}

static int prepare(struct store_reader *reader, const char *sql, struct prepared **ret,
                   struct edl_error *error)
{
    _cleanup_free_ char *text = store_text_of(reader->engine->calls, sql);
    int r = reader->engine->calls->prepare(reader->engine, text, ret);

    if (r == 0)
        return 0;
    return r == -ETIMEDOUT ? too_late(error)
                           : engine_error(reader->engine, "reading the history", error);
}

/* 1 with a row, 0 behind the last one. */
static int step(struct prepared *statement, struct edl_error *error)
{
    int r = store_next(statement, "reading the history", error);

    return r == -ETIMEDOUT ? too_late(error) : r;
}

#define LATER "CASE WHEN since_us > ?1 THEN since_us ELSE ?1 END"

/* All spans of the window, those that go on included. ?1, ?2: its ends; ?3: the job */
static void spans_text(const struct held_query *query, const char *columns, const char *end,
                       char ret[TEXT_MAX])
{
    const char *amount = query->gpus ? "gpus" : "cpu_millicores";
    const char *one = query->job_id != 0 ? " AND job_id = ?3" : "";

    (void)snprintf(ret, TEXT_MAX,
                   "SELECT %s FROM ("
                   "SELECT \"user\", job_id, role, processes, %s AS amount, " LATER " AS since,"
                   " CASE WHEN until_us < ?2 THEN until_us ELSE ?2 END AS until FROM held%s"
                   " WHERE until_us > ?1 AND since_us < ?2%s"
                   " UNION ALL SELECT \"user\", job_id, role, processes, %s, " LATER ", ?2"
                   " FROM held_now WHERE since_us < ?2%s) AS span%s",
                   columns, amount,
                   query->job_id != 0 ? " {index held_job}" : " {index held_until}", one, amount,
                   one, end);
}

static int prepare_spans(struct store_reader *reader, const struct held_query *query,
                         const char *columns, const char *end, struct prepared **ret,
                         struct edl_error *error)
{
    char text[TEXT_MAX];
    int r;

    spans_text(query, columns, end, text);
    r = prepare(reader, text, ret, error);
    if (r < 0)
        return r;
    store_bind_u64(*ret, 1, MIN_OF(query->since_us, (uint64_t)INT64_MAX));
    store_bind_u64(*ret, 2, MIN_OF(query->until_us, (uint64_t)INT64_MAX));
    if (query->job_id != 0)
        store_bind_u64(*ret, 3, query->job_id);
    return 0;
}

int store_reader_owners(struct store_reader *reader, const struct held_query *query,
                        held_owner_fn fn, void *userdata, struct edl_error *error)
{
    /* as a real number: a week of a large cluster is more than 64 bits hold */
    static const char by_user[] = "\"user\", 0, sum(amount * 1.0 * (until - since)) AS total";
    static const char by_job[] = "\"user\", job_id, sum(amount * 1.0 * (until - since)) AS total";
    struct prepared *statement = NULL;
    int r = prepare_spans(reader, query, query->by_job ? by_job : by_user,
                          query->by_job
                              ? " WHERE amount > 0 GROUP BY job_id, \"user\" ORDER BY 3 DESC, 2"
                              : " WHERE amount > 0 GROUP BY \"user\" ORDER BY 3 DESC, 1",
                          &statement, error);

    while (r == 0 && (r = step(statement, error)) == 1) {
        fn(&(struct held_owner){ .user = store_column_text(statement, 0),
                                 .job_id = store_column_u64(statement, 1),
                                 .total = store_column_real(statement, 2) },
           userdata);
        r = 0;
    }
    (void)finish(statement);
    return r;
}

int store_reader_spans(struct store_reader *reader, const struct held_query *query, held_span_fn fn,
                       void *userdata, struct edl_error *error)
{
    struct prepared *statement = NULL;
    int r = prepare_spans(reader, query, "\"user\", job_id, role, processes, amount, since, until",
                          "", &statement, error);

    while (r == 0 && (r = step(statement, error)) == 1) {
        fn(&(struct held_span){ .user = store_column_text(statement, 0),
                                .job_id = store_column_u64(statement, 1),
                                .role = (uint32_t)store_column_u64(statement, 2),
                                .processes = store_column_u64(statement, 3),
                                .amount = store_column_u64(statement, 4),
                                .since_us = store_column_u64(statement, 5),
                                .until_us = store_column_u64(statement, 6) },
           userdata);
        r = 0;
    }
    (void)finish(statement);
    return r;
}

/* Rows are in the order of their ends, and the first go first: from the end of the first that is
 * left on, none is missing. The very first one stands for what was before. */
int store_reader_known(struct store_reader *reader, uint64_t *ret_us, struct edl_error *error)
{
    struct prepared *statement = NULL;
    int r = prepare(reader, "SELECT until_us FROM held ORDER BY id LIMIT 1", &statement, error);

    if (r == 0)
        r = step(statement, error);
    if (r == 1)
        *ret_us = store_column_u64(statement, 0);
    (void)finish(statement);
    return MIN_OF(r, 0);
}

int store_reader_resizes(struct store_reader *reader, const struct held_query *query,
                         uint64_t limit, held_resize_fn fn, void *userdata, struct edl_error *error)
{
#define RESIZES(index, job)                                                                        \
    "SELECT e.revision, e.time_us, e.event, e.job_id, e.node, e.text, j.name, j.\"user\""          \
    " FROM event AS e {index " index "} LEFT JOIN job AS j ON j.id = e.job_id"                     \
    " WHERE e.event = 'job-resized'" job " ORDER BY e.revision DESC"
    struct prepared *statement = NULL;
    int r = query->job_id != 0
                ? prepare(reader, RESIZES("event_resize", " AND e.job_id = ?1"), &statement, error)
                : prepare(reader, RESIZES("event_resize_revision", ""), &statement, error);

    if (r == 0 && query->job_id != 0)
        store_bind_u64(statement, 1, query->job_id);
    while (limit > 0 && r == 0 && (r = step(statement, error)) == 1) {
        struct held_resize resize = {
            .event = { .revision = store_column_u64(statement, 0),
                       .time_us = store_column_u64(statement, 1),
                       .event = store_column_text(statement, 2),
                       .job_id = store_column_u64(statement, 3),
                       .node = store_column_text(statement, 4),
                       .text = store_column_text(statement, 5) },
            .name = store_column_text(statement, 6),
            .user = store_column_text(statement, 7),
        };

        r = 0;
        if (resize.event.time_us < query->since_us)
            break;
        if (resize.event.time_us > query->until_us)
            continue;
        fn(&resize, userdata);
        limit--;
    }
    (void)finish(statement);
    return r;
#undef RESIZES
}

int store_reader_job(struct store_reader *reader, uint64_t job_id, char **ret_name, char **ret_user,
                     struct edl_error *error)
{
    struct prepared *statement = NULL;
    int r = prepare(reader, "SELECT name, \"user\" FROM job WHERE id = ?1", &statement, error);

    if (r == 0) {
        store_bind_u64(statement, 1, job_id);
        r = step(statement, error);
    }
    if (r >= 0) {
        *ret_name = xstrdup(r == 1 ? store_column_text(statement, 0) : "");
        *ret_user = xstrdup(r == 1 ? store_column_text(statement, 1) : "");
    }
    (void)finish(statement);
    return MIN_OF(r, 0);
}

int store_reader_series(struct store_reader *reader, uint64_t job_id, store_series_fn fn,
                        void *userdata, struct edl_error *error)
{
    struct prepared *statement = NULL;
    int r = prepare(reader,
                    "SELECT rate_of, cost_name, period_us, points FROM job_series"
                    " WHERE job_id = ?1",
                    &statement, error);

    if (r == 0) {
        store_bind_u64(statement, 1, job_id);
        r = step(statement, error);
    }
    if (r == 1)
        fn(&(struct stored_series){ .job_id = job_id,
                                    .rate_of = store_column_text(statement, 0),
                                    .cost_name = store_column_text(statement, 1),
                                    .period_us = store_column_u64(statement, 2),
                                    .points = store_column_text(statement, 3) },
           userdata);
    (void)finish(statement);
    return r;
}
