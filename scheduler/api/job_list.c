/* SPDX-License-Identifier: Apache-2.0 */
/* job_list.c - GET /jobs: a page of jobs, by their numbers in either direction, filtered, and with
 * each array as one of its jobs when that is asked for
 *
 * Jobs are in the core or in the archive. A list goes through both side by side, from the place
 * where the page before ended. A page costs milliseconds, however few jobs fit: it ends early after
 * so many rows, maybe without a job, and says where it goes on. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/api/api.h"
#include "scheduler/api/page.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_match.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/json/job_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/workspaces/archive.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"

/* A page is made in one go: what is more comes with the next one, whatever was asked for. */
enum { JOBS_OF_A_PAGE = 250, CORE_ROWS_OF_A_PAGE = 20000, ARCHIVE_ROWS_OF_A_PAGE = 2500 };

struct listing {
    struct scheduler *scheduler; /* borrowed */
    struct job_match match;
    bool newest, fold;
    const struct job *core; /* the next of the core; NULL: there is none, or its rows are used up */
    size_t core_rows;       /* that may be looked at yet */
    uint64_t core_at;       /* the last of them */
    struct archive_walk walk;
    struct archive_row past; /* the next of the archive; id 0: likewise */
    uint64_t at;             /* behind this number it goes on */
    bool more;
    bool asks; /* of a far store: a count is not there, and a whole array is taken for it */
};

/* What a page says of one job. */
struct listed {
    uint64_t id;
    const struct job *job; /* NULL: it is in the archive */
    uint32_t first_index;  /* of the run */
    struct array_run run;  /* n 0: it stands for itself alone */
    char array[JOB_NAME_MAX + 1], user[ACCOUNT_NAME_MAX + 1];
};

/* --- the core --- */

static bool is_behind(const struct listing *listing, uint64_t id, uint64_t at)
{
    return listing->newest ? id < at : id > at;
}

static const struct job *core_end(const struct listing *listing)
{
    const struct cluster *cluster = listing->scheduler->cluster;
    const struct job *active = cluster_active_jobs(cluster);

    if (job_match_wants_over(&listing->match))
        return listing->newest ? cluster_last_job(cluster) : cluster_jobs(cluster);
    return listing->newest && active != NULL ? active->active_prev : active;
}

static const struct job *core_next(const struct listing *listing, const struct job *job)
{
    const struct job *first = cluster_active_jobs(listing->scheduler->cluster);

    if (job_match_wants_over(&listing->match))
        return listing->newest ? job->hh.prev : job->hh.next;
    if (listing->newest)
        return job != first ? job->active_prev : NULL;
    return job->active_next;
}

/* From a job that is behind the place on to one that fits. */
static void core_seek(struct listing *listing, const struct job *job)
{
    while (job != NULL && listing->core_rows > 0) {
        listing->core_rows--;
        listing->core_at = job->id;
        if (job_match_fits_job(&listing->match, job)) {
            listing->core = job;
            return;
        }
        job = core_next(listing, job);
    }
    if (job == NULL)
        listing->core_at = listing->newest ? 0 : UINT64_MAX;
    listing->core = NULL;
}

static void core_open(struct listing *listing)
{
    const struct job *job = cluster_job(listing->scheduler->cluster, listing->at);

    if (job != NULL && (job_match_wants_over(&listing->match) || !job_state_is_final(job->state)))
        job = core_next(listing, job);
    else
        for (job = core_end(listing); job != NULL && !is_behind(listing, job->id, listing->at);)
            job = core_next(listing, job); /* it has ended, or is not in the core any more */
    core_seek(listing, job);
}

/* --- the archive --- */

static int past_seek(struct listing *listing, struct edl_error *error)
{
    int r =
        job_match_wants_over(&listing->match)
            ? store_walk_archived(listing->scheduler->store, &listing->walk, &listing->past, error)
            : 0;

    if (r == 1)
        return 0;
    listing->past.id = 0;
    if (r == 0 && listing->walk.rows > 0)
        listing->walk.at = listing->newest ? 0 : UINT64_MAX; /* it is at its end */
    return r;
}

/* --- both --- */

/* wall - the number up to which both were looked through */
static uint64_t wall(const struct listing *listing)
{
    uint64_t core = listing->core_at, past = listing->walk.at;

    return listing->newest ? MAX_OF(core, past) : MIN_OF(core, past);
}

static bool is_over(const struct listing *listing)
{
    return listing->core == NULL && listing->past.id == 0 &&
           wall(listing) == (listing->newest ? 0 : UINT64_MAX);
}

/* Whether there is a next one; what lies behind the wall is of the next page. */
static bool peek(const struct listing *listing, bool *ret_past, uint64_t *ret_id)
{
    uint64_t core = listing->core != NULL ? listing->core->id : 0;
    uint64_t past = listing->past.id;

    if (core == 0 && past == 0)
        return false;
    *ret_past = core == 0 || (past != 0 && is_behind(listing, core, past));
    *ret_id = *ret_past ? past : core;
    return !is_behind(listing, *ret_id, wall(listing));
}

/* Goes on behind all of them up to that number. */
static int pass(struct listing *listing, uint64_t id, struct edl_error *error)
{
    int r = 0;

    listing->at = id;
    while (listing->core != NULL && !is_behind(listing, listing->core->id, id))
        core_seek(listing, core_next(listing, listing->core));
    if (listing->past.id != 0 && !is_behind(listing, listing->past.id, id)) {
        listing->walk.at = id;
        r = past_seek(listing, error);
    }
    return r;
}

/* --- arrays --- */

static void count_of_core(const struct listing *listing, struct array_run *run)
{
    uint64_t id = run->id - MIN_OF(run->id, (uint64_t)run->n - 1);

    for (; id < run->id + run->n; id++) {
        const struct job *job = cluster_job(listing->scheduler->cluster, id);

        if (job == NULL || !streq(job_spec_array(job->spec), run->name) ||
            !streq(job->user, run->user) || id - job->spec->array.first != run->id - run->index ||
            job->submitted_wall_us != run->submitted_wall_us)
            continue;
        run->states[job->state]++;
        run->first = run->first != 0 ? MIN_OF(run->first, id) : id;
        run->last = MAX_OF(run->last, id);
    }
}

static int count_run(struct listing *listing, struct listed *one, struct edl_error *error)
{
    struct archive_walk *walk = &listing->walk;
    int r;

    one->run.name = one->array;
    one->run.user = one->user;
    count_of_core(listing, &one->run);
    r = store_count_run(listing->scheduler->store, &one->run, error);
    if (r < 0)
        return r;
    walk->rows -= MIN_OF(walk->rows, (size_t)r);
    one->first_index = one->run.index - (uint32_t)(one->id - one->run.first);
    return 0;
}

static void read_core(const struct job *job, struct listed *ret)
{
    const struct job_array *array = &job->spec->array;

    ret->job = job;
    (void)snprintf(ret->array, sizeof ret->array, "%s", job_spec_array(job->spec));
    (void)snprintf(ret->user, sizeof ret->user, "%s", job->user);
    ret->run.index = array->first;
    ret->run.submitted_wall_us = job->submitted_wall_us;
    ret->run.n = *ret->array != '\0' ? array->n : 0;
}

static void read_past(const struct archive_row *row, struct listed *ret)
{
    (void)snprintf(ret->array, sizeof ret->array, "%s", row->array);
    (void)snprintf(ret->user, sizeof ret->user, "%s", row->user);
    ret->run.index = row->index;
    ret->run.submitted_wall_us = row->submitted_wall_us;
    ret->run.n = row->n;
}

/* ask_on - the count is on its way: what follows is asked for in the same round. Most arrays are in
 * the archive as a whole */
static void ask_on(struct listing *listing, struct array_run *run)
{
    uint64_t others = run->n - 1;

    listing->asks = true;
    run->first = listing->newest ? run->id - MIN_OF(run->id - 1, others) : run->id;
    run->last = listing->newest ? run->id : run->id + others;
}

/* take - the next one, by itself or for its array; 0: there is none */
static int take(struct listing *listing, struct listed *ret, struct edl_error *error)
{
    bool is_past;
    uint64_t id;
    int r = 0;

    if (!peek(listing, &is_past, &id))
        return 0;
    *ret = (struct listed){ .id = id, .run.id = id };
    if (is_past)
        read_past(&listing->past, ret);
    else
        read_core(listing->core, ret);
    if (!listing->fold)
        ret->run.n = 0;
    if (ret->run.n > 0)
        r = count_run(listing, ret, error);
    if (r == -EINPROGRESS) {
        ask_on(listing, &ret->run);
        r = 0;
    }
    if (r == 0 && ret->run.n > 0)
        id = listing->newest ? ret->run.first : ret->run.last;
    if (r == 0)
        r = pass(listing, id, error);
    return r < 0 ? r : 1;
}

/* --- the page --- */

static int open_listing(struct listing *listing, struct edl_error *error)
{
    askings_note_archive(listing->scheduler);
    listing->core_rows = CORE_ROWS_OF_A_PAGE;
    listing->walk = (struct archive_walk){ .newest = listing->newest,
                                           .at = listing->at,
                                           .match = &listing->match,
                                           .rows = ARCHIVE_ROWS_OF_A_PAGE };
    core_open(listing);
    return past_seek(listing, error);
}

/* How many are listed, or negative. */
static int fill(struct listing *listing, struct listed *page, size_t room, struct edl_error *error)
{
    size_t n = 0;
    int r = 1;

    while (r == 1 && n < room) {
        r = take(listing, &page[n], error);
        n += r == 1;
    }
    if (r < 0 || listing->asks)
        return r < 0 ? r : -EINPROGRESS;
    listing->more = !is_over(listing);
    if (r == 0 && listing->more)
        listing->at = wall(listing);
    return (int)n;
}

/* load_past - those of the archive, as a cluster of their own; NULL: there are none */
static int load_past(struct listing *listing, const struct listed *page, size_t n,
                     struct cluster **ret, struct edl_error *error)
{
    uint64_t ids[JOBS_OF_A_PAGE];
    struct archive_query query = { .ids = ids };

    for (size_t i = 0; i < n; i++) {
        const struct listed *one = &page[listing->newest ? n - 1 - i : i];

        if (one->job == NULL)
            ids[query.n_ids++] = one->id;
    }
    *ret = NULL;
    return query.n_ids > 0 ? archive_page(listing->scheduler, &query, ret, error) : 0;
}

static json_t *run_to_json(const struct listed *one)
{
    json_t *states = json_object();
    uint64_t jobs = 0;

    for (size_t i = 0; i < ELEMENTS(one->run.states); i++) {
        if (one->run.states[i] > 0)
            (void)json_object_set_new(states, job_state_to_string((enum job_state)i),
                                      json_integer((json_int_t)one->run.states[i]));
        jobs += one->run.states[i];
    }
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:o}", "name", one->array, "jobs", (json_int_t)jobs,
                     "first_id", (json_int_t)one->run.first, "last_id", (json_int_t)one->run.last,
                     "first_index", (json_int_t)one->first_index, "states", states);
}

static json_t *page_to_json(const struct listing *listing, const struct listed *page, size_t n,
                            const struct cluster *past)
{
    const char *policy = listing->scheduler->options.policy->name;
    json_t *jobs = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct job *job = page[i].job != NULL ? page[i].job : cluster_job(past, page[i].id);
        json_t *item = job_to_json(job, policy, false);

        if (page[i].run.n > 0)
            (void)json_object_set_new(item, "array", run_to_json(&page[i]));
        (void)json_array_append_new(jobs, item);
    }
    return json_pack("{s:o,s:o}", "jobs", jobs, "next",
                     listing->more ? json_sprintf("%" PRIu64, listing->at) : json_null());
}

/* reply - a page of up to limit jobs; negative: error says why there is none */
static int reply(struct http_request *request, struct listing *listing, uint64_t limit,
                 struct edl_error *error)
{
    size_t room = MIN_OF((size_t)limit, (size_t)JOBS_OF_A_PAGE);
    struct listed *page = xcalloc(room, sizeof *page);
    struct cluster *past = NULL;
    int n = open_listing(listing, error);

    if (n == 0)
        n = fill(listing, page, room, error);
    if (n > 0) {
        int r = load_past(listing, page, (size_t)n, &past, error);

        n = r < 0 ? r : n;
    }
    if (n >= 0)
        http_reply_json(request, 200, page_to_json(listing, page, (size_t)n, past));
    (void)cluster_free(past);
    free(page);
    return n < 0 ? n : 0;
}

/* --- the question --- */

/* ?cursor=N: the number at which the page before ended */
static int query_cursor(struct http_request *request, struct listing *listing,
                        struct edl_error *error)
{
    const char *cursor = http_request_query(request, "cursor");

    listing->at = listing->newest ? UINT64_MAX : 0;
    if (cursor == NULL || parse_u64(cursor, &listing->at) == 0)
        return 0;
    return page_cursor_error(cursor, error);
}

/* ?KEY=WORD against the two words that are known; the first is meant when it is left out */
static int query_words(struct http_request *request, const char *key, const char *first,
                       const char *second, bool *ret_second, struct edl_error *error)
{
    const char *word = http_request_query(request, key);

    *ret_second = word != NULL && streq(word, second);
    if (word == NULL || *ret_second || streq(word, first))
        return 0;
    (void)edl_error_set(error, -EINVAL, "%s=%.40s is not known", key, word);
    return edl_error_remedy(error, "give %s=%s or %s=%s", key, first, key, second);
}

/* ref: of the array, which lives as long as the listing */
static int read_question(struct http_request *request, struct job_ref *ref, struct listing *ret,
                         uint64_t *ret_limit, struct edl_error *error)
{
    const char *array = http_request_query(request, "array");
    struct job_match *match = &ret->match;
    int r = job_match_states(http_request_query(request, "state"), &match->states, error);

    if (r == 0)
        r = query_words(request, "order", "oldest", "newest", &ret->newest, error);
    if (r == 0)
        r = query_words(request, "fold", "0", "1", &ret->fold, error);
    if (r == 0)
        r = page_limit(request, ret_limit, error);
    if (r == 0)
        r = query_cursor(request, ret, error);
    match->user = http_request_query(request, "user");
    match->name = http_request_query(request, "name");
    if (array != NULL) {
        *ref = job_ref_read(array);
        match->array = ref->name;
        match->array_user = ref->has_user ? ref->user : NULL;
    }
    return r;
}

void api_jobs_list(struct http_request *request, void *userdata)
{
    struct listing listing = { .scheduler = userdata };
    struct edl_error error = { 0 };
    struct job_ref ref;
    uint64_t limit;
    int r = read_question(request, &ref, &listing, &limit, &error);

    if (r == 0)
        r = reply(request, &listing, limit, &error);
    if (r < 0)
        http_reply_error(request, &error);
}
