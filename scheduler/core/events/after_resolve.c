/* SPDX-License-Identifier: Apache-2.0 */
/* after_resolve.c - what `after` names, as numbers of jobs
 *
 * Names are of the moment of the submission: the job keeps the number of a job, "12", or those of
 * the first and the last job of an array, "12-40". The jobs of an array that were submitted
 * together have consecutive numbers in the order of their indexes. */
#include "scheduler/core/events/after_resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/model/after.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define ULL(value) ((unsigned long long)(value))
#define NUMBERS_TEXT 48

static int refuse_failed(const char *name, uint64_t id, enum job_state state, const char *again,
                         const char *pointer, struct edl_error *error)
{
    (void)edl_error_at(error, EDL_EBADSPEC, pointer,
                       "job %s (%llu) is %s: a job after it would never run", name, ULL(id),
                       job_state_to_string(state));
    (void)edl_error_remedy(error, "submit %s again and wait for that one, or leave it out", again);
    return EDL_EBADSPEC;
}

static bool has_failed(enum job_state state)
{
    return job_state_is_final(state) && state != JOB_SUCCEEDED;
}

/* --- a job --- */

static int found(const struct job *job, const char *text, struct archived_job *ret)
{
    *ret = (struct archived_job){ .named = text, .id = job->id, .state = job->state };
    memcpy(ret->name, job->spec->name, sizeof ret->name);
    return 1;
}

/* The core first: a job that it let go of is older than one that it has of the same name and user.
 * 1, 0, or
 * -ENOTUNIQ. */
static int find_named(const struct cluster *cluster, const char *user,
                      const struct archived_jobs *archived, const char *text,
                      struct archived_job *ret, struct edl_error *error)
{
    struct job_ref ref = job_ref_read(text);
    struct job *job = cluster_job_of(cluster, user, &ref);
    int r;

    if (job != NULL)
        return found(job, text, ret);
    for (size_t i = 0; archived != NULL && i < archived->n; i++)
        if (streq(archived->jobs[i].named, text)) {
            *ret = archived->jobs[i];
            return 1;
        }
    if (ref.by_id || ref.has_user)
        return 0;
    r = cluster_only_job(cluster, ref.name, &job, error);
    return r == 1 ? found(job, text, ret) : r;
}

/* --- an array --- */

static void look_at(const struct job *job, bool own, struct array_place *place)
{
    const struct array_place seen = *place;

    if (seen.n > 0 && !own && seen.own)
        return;
    if (seen.n == 0 || (own && !seen.own) || job->id > seen.id)
        *place = (struct array_place){ .id = job->id,
                                       .index = job->spec->array.first,
                                       .n = job->spec->array.n,
                                       .own = own,
                                       .user = job->user };
    if (seen.n > 0 && !own)
        place->rival = streq(seen.user, job->user) ? seen.rival : seen.user;
}

/* cluster_find_arrays - see after_resolve.h */
void cluster_find_arrays(const struct cluster *cluster, const char *user, char *const *names,
                         size_t n, struct array_place *ret)
{
    struct job_ref refs[JOB_AFTER_MAX];

    n = MIN_OF(n, (size_t)JOB_AFTER_MAX);
    memset(ret, 0, n * sizeof *ret);
    for (size_t i = 0; i < n; i++)
        refs[i] = job_ref_read(job_after_named(names[i]));
    for (const struct job *job = cluster->jobs; job != NULL; job = job->hh.next) {
        const char *array = job_spec_array(job->spec);

        for (size_t i = 0; *array != '\0' && i < n; i++) {
            bool own = streq(job->user, refs[i].has_user ? refs[i].user : user);

            if (streq(array, refs[i].name) && (own || !refs[i].has_user))
                look_at(job, own, &ret[i]);
        }
    }
}

static const struct archived_array *find_archived_array(const struct archived_jobs *archived,
                                                        const char *name)
{
    for (size_t i = 0; archived != NULL && i < archived->n_arrays; i++)
        if (streq(archived->arrays[i].named, name))
            return &archived->arrays[i];
    return NULL;
}

/* The newest of that name, here or in the archive; archived ones are the caller's own. */
static bool find_array(const struct archived_array *archived, const struct array_place *here,
                       struct array_place *ret)
{
    bool own = here->n > 0 && here->own;

    *ret = archived != NULL && (!own || archived->place.id > here->id) ? archived->place : *here;
    return here->n > 0 || archived != NULL;
}

/* How many of its jobs the core has, and the number of the first; the one that has failed is
 * refused unless any end will do. */
static int look_at_jobs(const struct cluster *cluster, const struct array_place *place,
                        const char *name, bool any, const char *pointer, uint32_t *ret_n,
                        uint64_t *ret_first, struct edl_error *error)
{
    uint64_t from = place->id - MIN_OF(place->id, (uint64_t)place->n);

    *ret_n = 0;
    *ret_first = UINT64_MAX;
    for (uint64_t id = from; id < place->id + place->n; id++) {
        const struct job *job = cluster_job(cluster, id);

        if (job == NULL || !streq(job_spec_array(job->spec), name) ||
            job->id - job->spec->array.first != place->id - place->index)
            continue;
        if (!any && has_failed(job->state))
            return refuse_failed(job->spec->name, id, job->state, name, pointer, error);
        *ret_first = MIN_OF(*ret_first, id);
        (*ret_n)++;
    }
    return 0;
}

/* All of it has to be known: nobody knows how a job ended that was removed from the history. */
static int resolve_array(const struct cluster *cluster, const struct archived_array *archived,
                         const char *name, bool any, const struct array_place *place,
                         const char *pointer, struct after_name *ret, struct edl_error *error)
{
    uint64_t first;
    uint32_t n;
    int r = look_at_jobs(cluster, place, name, any, pointer, &n, &first, error);

    if (r < 0)
        return r;
    if (!any && archived != NULL && archived->failed.id != 0)
        return refuse_failed(archived->failed.name, archived->failed.id, archived->failed.state,
                             name, pointer, error);
    if (archived != NULL) {
        n += archived->n;
        first = MIN_OF(first, archived->first);
    }
    if (n != place->n) {
        (void)edl_error_at(error, EDL_EBADSPEC, pointer,
                           "the scheduler keeps %u of %u job%s of the array %.80s no more: "
                           "whether all have succeeded is not known",
                           place->n - MIN_OF(n, place->n), place->n, PLURAL(place->n), name);
        return edl_error_remedy(error, "name those of its jobs that are to be waited for");
    }
    *ret = (struct after_name){ .first = first, .n = n, .any = any };
    return 0;
}

/* --- all that a document names --- */

/* here: where the core has an array of that name */
static int resolve_one(const struct cluster *cluster, const char *user,
                       const struct archived_jobs *archived, const char *text,
                       const struct array_place *here, const char *pointer, struct after_name *ret,
                       struct edl_error *error)
{
    const char *name = job_after_named(text);
    const struct archived_array *array = find_archived_array(archived, name);
    bool any = job_after_is_any(text);
    struct array_place place;
    struct archived_job on;
    int r = find_named(cluster, user, archived, name, &on, error);

    if (r < 0)
        return edl_error_at_key(error, EDL_EBADSPEC, pointer);
    if (r == 1) {
        *ret = (struct after_name){ .first = on.id, .any = any };
        return !any && has_failed(on.state)
                   ? refuse_failed(on.name, on.id, on.state, on.name, pointer, error)
                   : 0;
    }
    if (find_array(array, here, &place) && place.rival != NULL) {
        (void)names_are_of_several("an array", name, place.user, place.rival, error);
        return edl_error_at_key(error, EDL_EBADSPEC, pointer);
    }
    if (place.n > 0)
        return resolve_array(cluster, array, job_ref_read(name).name, any, &place, pointer, ret,
                             error);
    (void)edl_error_at(error, EDL_EBADSPEC, pointer, "there is no job \"%.80s\"", name);
    return edl_error_remedy(error, "submit it before; `edl ps --all` lists every job");
}

/* Each once, in the order of the document: 1 and the name of 1 are the same job. */
static void keep_numbers(struct job_spec *spec, const struct after_name *names, size_t n)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        char text[NUMBERS_TEXT];
        size_t same = 0;

        while (same < i && (names[same].first != names[i].first || names[same].n != names[i].n ||
                            names[same].any != names[i].any))
            same++;
        free(spec->after[i]);
        spec->after[i] = NULL;
        if (same < i)
            continue;
        if (names[i].n == 0)
            (void)snprintf(text, sizeof text, "%s%llu", names[i].any ? JOB_AFTER_ANY : "",
                           ULL(names[i].first));
        else
            (void)snprintf(text, sizeof text, "%s%llu-%llu", names[i].any ? JOB_AFTER_ANY : "",
                           ULL(names[i].first), ULL(names[i].first + names[i].n - 1));
        spec->after[n_kept++] = xstrdup(text);
    }
}

/* first_same - the first place of the same text: nothing is looked for twice */
static size_t first_same(char *const *names, size_t i)
{
    size_t same = 0;

    while (!streq(names[same], names[i]))
        same++;
    return same;
}

static bool are_all_jobs(const struct cluster *cluster, char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && cluster_find_job(cluster, job_after_named(names[i])) != NULL)
        i++;
    return i == n;
}

int after_resolve(const struct cluster *cluster, const char *user,
                  const struct archived_jobs *archived, struct job_spec *spec,
                  struct edl_error *error)
{
    struct array_place here[JOB_AFTER_MAX] = { { 0 } };
    struct after_name names[JOB_AFTER_MAX];
    size_t n = 0;

    while (spec->after != NULL && spec->after[n] != NULL && n < JOB_AFTER_MAX)
        n++;
    if (n == JOB_AFTER_MAX && spec->after[n] != NULL)
        return edl_error_at(error, EDL_EBADSPEC, "/spec/after", "more than %d jobs", JOB_AFTER_MAX);
    if (!are_all_jobs(cluster, spec->after, n))
        cluster_find_arrays(cluster, user, spec->after, n, here);
    for (size_t i = 0; i < n; i++) {
        size_t same = first_same(spec->after, i);
        char pointer[40];
        int r;

        names[i] = names[same];
        if (same < i)
            continue;
        (void)snprintf(pointer, sizeof pointer, "/spec/after/%zu", i);
        r = resolve_one(cluster, user, archived, spec->after[i], &here[i], pointer, &names[i],
                        error);
        if (r < 0)
            return r;
    }
    keep_numbers(spec, names, n);
    return 0;
}
