/* SPDX-License-Identifier: Apache-2.0 */
/* store_archive.c - jobs that are over and that the core has let go of: marked, found and summed up
 *
 * Their rows stay as they were written last. A figure that would cost a look at all of them is kept
 * as a sum in the transaction that changes it: their number, and their grants. */
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

/* The bounds of one turn; a turn is one transaction. More than the core lets go of in one. */
#define DROP_PER_TURN 160                       /* jobs */
#define DROP_BYTES_PER_TURN ((uint64_t)4 << 20) /* of their rows */

static int mark(struct store *store, const struct archived_facts *job, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVE];

    store_bind_u64(statement, 1, job->id);
    store_bind_u64(statement, 2, job->document);
    store_bind_text(statement, 3, NULL);
    store_bind_text(statement, 4, NULL);
    if (job->in_array) {
        store_bind_i64(statement, 3, job->index);
        store_bind_i64(statement, 4, job->n);
    }
    store_bind_u64(statement, 5, job->kept_bytes);
    return store_step_done(store, ST_ARCHIVE, error);
}

static int add_usage(struct store *store, const struct archived_facts *job, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVE_USAGE];
    int at = 1;

    store_bind_text(statement, at++, job->user);
    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        const struct resource_time *time = &job->usage.kinds[kind];

        store_bind_u64(statement, at++, time->cpu_millicore_ms);
        store_bind_u64(statement, at++, time->gpu_ms);
        store_bind_u64(statement, at++, time->memory_mib_ms);
    }
    return store_step_done(store, ST_ARCHIVE_USAGE, error);
}

static int archive(struct store *store, uint64_t id, struct edl_error *error)
{
    struct archived_facts job;
    int r = store_share_document(store, id, &job, error);

    if (r <= 0)
        return r;
    store->sums.archived[job.state]++;
    store->sums.archived_changed[job.state] = true;
    user_sums_add(&store->sums.archive, job.user, 1, job.kept_bytes);
    r = mark(store, &job, error);
    return r < 0 ? r : add_usage(store, &job, error);
}

int store_archive_jobs(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < rest->n_archived; i++)
        r = archive(store, rest->archived[i], error);
    return r;
}

/* 1 with the next row, good until the statement is stepped or reset; 0: there is none. */
static int next_row(struct store *store, enum statement which, struct edl_error *error)
{
    return store_next(store->statements[which], "reading archived jobs", error);
}

static int read_found(struct store *store, enum statement which, const char *text,
                      struct archived_job *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    struct row row;
    int r = next_row(store, which, error);

    if (r == 1) {
        row_begin(&row, statement, error, "job %lld", (long long)store_column_i64(statement, 0));
        *ret = (struct archived_job){ .named = text, .id = row_u64(&row, 0, INT64_MAX) };
        row_text(&row, 1, ret->name, sizeof ret->name);
        ret->state = (enum job_state)row_state(&row, 2, job_state_from_string);
        r = row.r < 0 ? row.r : 1;
    }
    store_reset(statement);
    return r;
}

int store_find_archived(struct store *store, const char *user, const char *text,
                        struct archived_job *ret, struct edl_error *error)
{
    struct job_ref ref = job_ref_read(text);
    enum statement which = ref.by_id ? ST_ARCHIVED_BY_ID : ST_ARCHIVED_BY_NAME;
    struct prepared *statement = store->statements[which];

    if (ref.by_id) {
        store_bind_u64(statement, 1, MIN_OF(ref.id, (uint64_t)INT64_MAX));
    } else {
        store_bind_text(statement, 1, ref.name);
        store_bind_text(statement, 2, ref.has_user ? ref.user : user);
    }
    return read_found(store, which, text, ret, error);
}

int store_only_archived(struct store *store, const char *name, struct archived_job *ret,
                        struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_USERS];
    char user[sizeof((struct job *)0)->user];
    char other[sizeof user];
    struct row row;
    int r;

    store_bind_text(statement, 1, name);
    r = next_row(store, ST_ARCHIVED_USERS, error);
    if (r == 1 && store_column_is_null(statement, 0))
        r = 0;
    if (r == 1) {
        row_begin(&row, statement, error, "jobs named %s", name);
        row_text(&row, 0, user, sizeof user);
        row_text(&row, 1, other, sizeof other);
        r = row.r < 0 ? row.r : 1;
    }
    store_reset(statement);
    if (r != 1)
        return r;
    if (!streq(user, other))
        return names_are_of_several("a job", name, user, other, error);
    store_bind_text(store->statements[ST_ARCHIVED_BY_NAME], 1, name);
    store_bind_text(store->statements[ST_ARCHIVED_BY_NAME], 2, user);
    return read_found(store, ST_ARCHIVED_BY_NAME, name, ret, error);
}

int store_has_archived_array(struct store *store, const char *user, const char *name,
                             struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_ARRAY];
    int r;

    store_bind_text(statement, 1, name);
    store_bind_text(statement, 2, user);
    r = next_row(store, ST_ARCHIVED_ARRAY, error);
    store_reset(statement);
    return r;
}

int store_find_archived_array(struct store *store, const char *user, const char *text,
                              struct array_place *ret, struct edl_error *error)
{
    struct job_ref ref = job_ref_read(text);
    struct prepared *statement = store->statements[ST_ARCHIVED_ARRAY_NEWEST];
    struct row row;
    int r;

    store_bind_text(statement, 1, ref.name);
    store_bind_text(statement, 2, ref.has_user ? ref.user : user);
    r = next_row(store, ST_ARCHIVED_ARRAY_NEWEST, error);
    if (r == 1) {
        row_begin(&row, statement, error, "job %lld", (long long)store_column_i64(statement, 0));
        *ret = (struct array_place){ .id = row_u64(&row, 0, INT64_MAX),
                                     .index = (uint32_t)row_u64(&row, 1, JOB_ARRAY_INDEX_MAX),
                                     .n = (uint32_t)row_u64(&row, 2, JOB_ARRAY_MAX) };
        r = row.r < 0 ? row.r : 1;
    }
    store_reset(statement);
    return r;
}

/* The job that the statement stands on. */
static int count_of_array(struct prepared *statement, struct archived_array *array,
                          struct edl_error *error)
{
    struct archived_job job = { .named = array->named };
    struct row row;

    row_begin(&row, statement, error, "job %lld", (long long)store_column_i64(statement, 0));
    job.id = row_u64(&row, 0, INT64_MAX);
    row_text(&row, 1, job.name, sizeof job.name);
    job.state = (enum job_state)row_state(&row, 2, job_state_from_string);
    if (array->n++ == 0)
        array->first = job.id;
    if (job.state != JOB_SUCCEEDED && array->failed.id == 0)
        array->failed = job;
    return row.r;
}

int store_archived_of_array(struct store *store, struct archived_array *ret,
                            struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_OF_ARRAY];
    const struct array_place *place = &ret->place;
    int r;

    ret->n = 0;
    ret->first = UINT64_MAX;
    ret->failed = (struct archived_job){ .id = 0 };
    store_bind_text(statement, 1, job_ref_read(ret->named).name);
    store_bind_u64(statement, 2, place->id - MIN_OF(place->id, (uint64_t)place->n));
    store_bind_u64(statement, 3, place->id + place->n);
    store_bind_i64(statement, 4, (int64_t)(place->id - place->index));
    while ((r = next_row(store, ST_ARCHIVED_OF_ARRAY, error)) == 1) {
        r = count_of_array(statement, ret, error);
        if (r < 0)
            break;
    }
    store_reset(statement);
    return r;
}

void store_archived_counts(const struct store *store, uint64_t *ret)
{
    memcpy(ret, store->sums.archived, sizeof store->sums.archived);
}

uint64_t store_archived_total(const struct store *store)
{
    uint64_t total = 0;

    for (size_t i = 0; i < FIGURE_JOB_STATES; i++)
        total += store->sums.archived[i];
    return total;
}

uint64_t store_archived_bytes(const struct store *store)
{
    return store->sums.archive.bytes;
}

/* An archived job that may have to go. */
struct candidate {
    uint64_t id, ended_wall_us;
};

/* 1 with the one that ended first, of all or of this user; 0: there is none. */
static int oldest(struct store *store, const char *user, struct candidate *ret,
                  struct edl_error *error)
{
    enum statement which = user != NULL ? ST_ARCHIVED_OLDEST_OF : ST_ARCHIVED_OLDEST;
    struct prepared *statement = store->statements[which];
    int r;

    if (user != NULL)
        store_bind_text(statement, 1, user);
    r = next_row(store, which, error);
    if (r == 1)
        *ret = (struct candidate){ store_column_u64(statement, 0), store_column_u64(statement, 1) };
    store_reset(statement);
    return r;
}

/* 1 with the facts of an archived job, which are to be taken back; 0: there is none. */
static int read_facts(struct store *store, uint64_t id, struct archived_facts *ret,
                      struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_FACTS];
    struct row row;
    int r;

    *ret = (struct archived_facts){ .id = id };
    store_bind_u64(statement, 1, id);
    r = next_row(store, ST_ARCHIVED_FACTS, error);
    if (r == 1) {
        row_begin(&row, statement, error, "job %llu", (unsigned long long)id);
        row_text(&row, 0, ret->user, sizeof ret->user);
        ret->state = (enum job_state)row_state(&row, 1, job_state_from_string);
        ret->kept_bytes = row_u64(&row, 2, INT64_MAX);
        ret->document = row_u64(&row, 3, INT64_MAX);
        ret->document_jobs = row_u64(&row, 4, INT64_MAX);
        ret->document_bytes = row_u64(&row, 5, INT64_MAX);
        r = row.r < 0 ? row.r : 1;
    }
    store_reset(statement);
    return r;
}

static int drop(struct store *store, uint64_t id, struct edl_error *error)
{
    struct store_sums *sums = &store->sums;
    struct archived_facts job;
    int r = read_facts(store, id, &job, error);

    if (r <= 0)
        return r;
    sums->archived[job.state] -= MIN_OF(sums->archived[job.state], UINT64_C(1));
    sums->archived_changed[job.state] = true;
    user_sums_take(&sums->archive, job.user, 1, job.kept_bytes);
    r = store_leave_document(store, &job, error);
    return r < 0 ? r : store_forget_job(store, id, error);
}

/* 1 with the oldest when it is too old; 0: it is not, or nobody looks just now. */
static int next_too_old(struct store *store, uint64_t now_us, struct candidate *ret,
                        struct edl_error *error)
{
    uint64_t keep_us = store->history.us, *rests_us = &store->sums.archive_rests_us;
    int r;

    if (keep_us == 0 || store_rests(*rests_us, keep_us, now_us))
        return 0;
    r = oldest(store, NULL, ret, error);
    if (r < 0 || (r == 1 && ret->ended_wall_us + keep_us < now_us))
        return r;
    *rests_us = store_rest_from(keep_us, r == 1 ? ret->ended_wall_us : now_us, now_us);
    return 0;
}

/* 1 with the one that is to go next; 0: none is. n_ended: jobs that count, and are not archived */
static int next_to_drop(struct store *store, const struct turn_rest *rest, struct candidate *ret,
                        struct edl_error *error)
{
    const struct store_history *keep = &store->history;
    const struct user_sums *archive = &store->sums.archive;
    const struct user_sum *most = NULL;

    if (keep->jobs != 0 && archive->n + rest->n_ended > keep->jobs)
        most = user_sums_most(archive, false);
    else if (keep->job_bytes != 0 && archive->bytes > keep->job_bytes)
        most = user_sums_most(archive, true);
    else
        return next_too_old(store, rest->wall_us, ret, error);
    return most != NULL ? oldest(store, most->user, ret, error) : 0;
}

int store_trim_archive(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    const struct user_sums *archive = &store->sums.archive;
    uint64_t begin = archive->bytes;
    struct candidate job = { 0 };
    int r = 0;

    for (int i = 0; i < DROP_PER_TURN && begin - archive->bytes < DROP_BYTES_PER_TURN; i++) {
        r = next_to_drop(store, rest, &job, error);
        store->trimming = r == 1;
        if (r <= 0)
            return r;
        r = drop(store, job.id, error);
        if (r < 0)
            return r;
    }
    return r;
}

/* Rows come by user and kind; the user's last one is followed by another user's, or none. */
struct summing {
    char user[sizeof((struct job *)0)->user];
    uint64_t n_jobs;
    struct usage usage;
};

static void give_sum(const struct summing *sum, store_usage_fn fn, void *userdata)
{
    if (sum->n_jobs > 0)
        fn(&(struct archived_usage){ sum->user, sum->n_jobs, &sum->usage }, userdata);
}

int store_archived_usage(struct store *store, const char *user, store_usage_fn fn, void *userdata,
                         struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_ARCHIVED_USAGE];
    struct summing sum = { .n_jobs = 0 };
    int r;

    store_bind_text(statement, 1, user);
    while ((r = next_row(store, ST_ARCHIVED_USAGE, error)) == 1) {
        struct row row;
        struct resource_time *time;

        row_begin(&row, statement, error, "archived_usage of %s", store_column_text(statement, 0));
        if (!streq(store_column_text(statement, 0), sum.user)) {
            give_sum(&sum, fn, userdata);
            sum = (struct summing){ .n_jobs = 0 };
        }
        row_text(&row, 0, sum.user, sizeof sum.user);
        time = &sum.usage.kinds[row_u64(&row, 1, USAGE_KINDS - 1)];
        sum.n_jobs = row_u64(&row, 2, INT64_MAX);
        time->cpu_millicore_ms = row_u64(&row, 3, INT64_MAX);
        time->gpu_ms = row_u64(&row, 4, INT64_MAX);
        time->memory_mib_ms = row_u64(&row, 5, INT64_MAX);
        if (row.r < 0) {
            r = row.r;
            break;
        }
    }
    if (r == 0)
        give_sum(&sum, fn, userdata);
    store_reset(statement);
    return r;
}
