/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - see archive.h */
#include "scheduler/workspaces/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

int archive_page(struct scheduler *scheduler, const struct archive_query *query,
                 struct cluster **ret, struct edl_error *error)
{
    const struct cluster_config config = { .policy = scheduler->options.policy };
    struct cluster *cluster = cluster_new(&config);
    struct instant now = clock_instant();
    int r;

    askings_note_archive(scheduler);
    r = store_load_archived(scheduler->store, query, cluster, now, error);
    if (r < 0) {
        (void)cluster_free(cluster);
        return r;
    }
    cluster_restored(cluster, now);
    *ret = cluster;
    return 0;
}

static int load(struct scheduler *scheduler, uint64_t id, struct job **ret, struct edl_error *error)
{
    struct cluster *loaded;
    int r = archive_page(scheduler, &(struct archive_query){ .id = id }, &loaded, error);

    if (r < 0)
        return r;
    archive_done(scheduler);
    scheduler->archived = loaded;
    *ret = cluster_job(loaded, id);
    return *ret != NULL;
}

/* The caller's own before those of others, and the core before the archive: a job that it let go of
 * is older than one that it has of the same user and name. 1: it is *ret, or *past when *ret is
 * NULL. */
static int look_for_job(struct scheduler *scheduler, const char *user, const char *text,
                        struct job **ret, struct archived_job *past, struct edl_error *error)
{
    struct job_ref ref = job_ref_read(text);
    int r;

    *ret = cluster_job_of(scheduler->cluster, user, &ref);
    if (*ret != NULL)
        return 1;
    askings_note_archive(scheduler);
    r = store_find_archived(scheduler->store, user, text, past, error);
    if (r != 0 || ref.by_id || ref.has_user)
        return r;
    r = cluster_only_job(scheduler->cluster, ref.name, ret, error);
    return r != 0 ? r : store_only_archived(scheduler->store, text, past, error);
}

int archive_find_job(struct scheduler *scheduler, const char *user, const char *text,
                     struct job **ret, struct edl_error *error)
{
    struct archived_job past;
    int r = look_for_job(scheduler, user, text, ret, &past, error);

    return r == 1 && *ret == NULL ? load(scheduler, past.id, ret, error) : r;
}

int archive_job(struct scheduler *scheduler, uint64_t id, struct job **ret, struct edl_error *error)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, id);
    return archive_find_job(scheduler, "", text, ret, error);
}

/* Each costs a walk over the jobs of the core, and one over its own in the archive. */
#define ARRAYS_MAX 16

/* An array that is only in the core, and not older than those here, needs nothing of here. */
static int look_for_array(struct scheduler *scheduler, const char *user, char *name,
                          struct archived_array *ret, struct edl_error *error)
{
    struct array_place here, past;
    int r = store_find_archived_array(scheduler->store, user, name, &past, error);

    if (r <= 0)
        return r;
    cluster_find_arrays(scheduler->cluster, user, &name, 1, &here);
    *ret = (struct archived_array){ .named = name,
                                    .place = here.own && here.id > past.id ? here : past };
    r = store_archived_of_array(scheduler->store, ret, error);
    return r < 0 ? r : 1;
}

/* 1: it is the next of jobs or of arrays, which ret counts. */
static int look_for_one(struct scheduler *scheduler, const char *user, char *name,
                        struct archived_jobs *ret, struct archived_job *jobs,
                        struct archived_array *arrays, struct edl_error *error)
{
    struct job *job;
    int r = look_for_job(scheduler, user, name, &job, &jobs[ret->n], error);

    if (r == 1 && job == NULL)
        ret->n++;
    if (r == -ENOTUNIQ)
        return edl_error_at_key(error, EDL_EBADSPEC, "/spec/after");
    if (r != 0)
        return r;
    if (ret->n_arrays == ARRAYS_MAX) {
        (void)edl_error_at(error, EDL_EBADSPEC, "/spec/after", "more than %d arrays that are over",
                           ARRAYS_MAX);
        return edl_error_remedy(error, "name the last ones, or wait for a job that waits for some");
    }
    r = look_for_array(scheduler, user, name, &arrays[ret->n_arrays], error);
    if (r == 1)
        ret->n_arrays++;
    return r;
}

static bool is_named_before(char *const *names, size_t i)
{
    size_t before = 0;

    while (!streq(names[before], names[i]))
        before++;
    return before < i;
}

int archive_after(struct scheduler *scheduler, const char *user, const struct job_spec *spec,
                  struct archived_jobs *ret, struct edl_error *error)
{
    struct archived_job *jobs;
    struct archived_array *arrays;
    size_t n = 0;
    int r = 0;

    while (spec->after != NULL && spec->after[n] != NULL && n < JOB_AFTER_MAX)
        n++;
    *ret = (struct archived_jobs){ 0 };
    if (n == 0)
        return 0;
    ret->jobs = jobs = xcalloc(n, sizeof *jobs);
    ret->arrays = arrays = xcalloc(n, sizeof *arrays);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (!is_named_before(spec->after, i))
            r = look_for_one(scheduler, user, (char *)(uintptr_t)job_after_named(spec->after[i]),
                             ret, jobs, arrays, error);
    if (r < 0)
        archive_after_done(ret);
    return r < 0 ? r : 0;
}

void archive_after_done(struct archived_jobs *jobs)
{
    /* why: const to the core, made by archive_after */
    free((struct archived_job *)jobs->jobs);
    free((struct archived_array *)jobs->arrays);
    *jobs = (struct archived_jobs){ 0 };
}

void archive_done(struct scheduler *scheduler)
{
    scheduler->archived = cluster_free(scheduler->archived);
}
