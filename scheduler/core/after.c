/* SPDX-License-Identifier: Apache-2.0 */
/* after.c - jobs that wait for others to succeed (`after`)
 *
 * Such a job is queued and not in the queue: nothing is placed or promised for it. It enters when
 * the last job that it names has succeeded, in the order of its own submission, and fails when one
 * of them ends otherwise. A cycle cannot be: only jobs that are there can be named. What is waited
 * for is derived from the document and the states of the jobs it names, so no row holds it. */
#include "scheduler/core/core_internal.h"
#include "scheduler/core/plan_internal.h"

#include <stdio.h>
#include <utlist.h>

#define ULL(value) ((unsigned long long)(value))

static bool has_failed(enum job_state state)
{
    return job_state_is_final(state) && state != JOB_SUCCEEDED;
}

/* The core first: what it let go of is older than what it has of the same name. */
static bool find_named(const struct cluster *cluster, const struct archived_jobs *archived,
                       const char *name, struct archived_job *ret)
{
    const struct job *job = cluster_find_job(cluster, name);

    if (job != NULL) {
        *ret = (struct archived_job){ .named = name, .id = job->id, .state = job->state };
        memcpy(ret->name, job->spec->name, sizeof ret->name);
        return true;
    }
    for (size_t i = 0; archived != NULL && i < archived->n; i++)
        if (streq(archived->jobs[i].named, name)) {
            *ret = archived->jobs[i];
            return true;
        }
    return false;
}

/* The first job of an array, or NULL. Linear in all jobs: for the remedy of an error. */
static const struct job *first_of_array(const struct cluster *cluster, const char *name)
{
    const struct job *job = cluster->jobs;

    while (job != NULL && !streq(job_spec_array(job->spec), name))
        job = job->hh.next;
    return *name != '\0' ? job : NULL;
}

static int resolve_one(const struct cluster *cluster, const struct archived_jobs *archived,
                       const char *name, const char *pointer, uint64_t *ret_id,
                       struct edl_error *error)
{
    struct archived_job on;

    if (!find_named(cluster, archived, name, &on)) {
        const struct job *first = first_of_array(cluster, name);

        (void)edl_error_at(error, EDL_EBADSPEC, pointer, "there is no job \"%.80s\"", name);
        if (first != NULL)
            return edl_error_remedy(error, "it is an array: name its jobs, %s and so on",
                                    first->spec->name);
        return edl_error_remedy(error, "submit it before; `edl ps --all` lists every job");
    }
    if (has_failed(on.state)) {
        (void)edl_error_at(error, EDL_EBADSPEC, pointer,
                           "job %s (%llu) is %s: what is to run after it never would", on.name,
                           ULL(on.id), job_state_to_string(on.state));
        (void)edl_error_remedy(error, "submit %s again and wait for that one, or leave it out",
                               on.name);
        return EDL_EBADSPEC;
    }
    *ret_id = on.id;
    return 0;
}

/* Each once, in the order of the document: 1 and the name of 1 are the same job. */
static void keep_ids(struct job_spec *spec, const uint64_t *ids, size_t n)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        char text[24];
        size_t same = 0;

        while (same < i && ids[same] != ids[i])
            same++;
        free(spec->after[i]);
        spec->after[i] = NULL;
        if (same < i)
            continue;
        (void)snprintf(text, sizeof text, "%llu", ULL(ids[i]));
        spec->after[n_kept++] = xstrdup(text);
    }
}

int after_resolve(const struct cluster *cluster, const struct archived_jobs *archived,
                  struct job_spec *spec, struct edl_error *error)
{
    uint64_t ids[JOB_AFTER_MAX];
    size_t n = 0;

    for (; spec->after != NULL && spec->after[n] != NULL; n++) {
        char pointer[32];
        int r;

        (void)snprintf(pointer, sizeof pointer, "/spec/after/%zu", n);
        if (n == JOB_AFTER_MAX)
            return edl_error_at(error, EDL_EBADSPEC, pointer, "more than %d jobs", JOB_AFTER_MAX);
        r = resolve_one(cluster, archived, spec->after[n], pointer, &ids[n], error);
        if (r < 0)
            return r;
    }
    keep_ids(spec, ids, n);
    return 0;
}

void after_drop_done(const struct cluster *cluster, struct job_spec *spec)
{
    char **kept = spec->after;

    if (kept == NULL)
        return;
    for (char **name = spec->after; *name != NULL; name++) {
        const struct job *on = cluster_find_job(cluster, *name);

        if (on == NULL || on->state == JOB_SUCCEEDED) /* not in the core: that is over, too */
            free(*name);
        else
            *kept++ = *name;
    }
    *kept = NULL;
}

/* --- who waits for whom --- */

const struct job *after_first(const struct job *job)
{
    for (uint32_t i = 0; i < job->n_after; i++)
        if (job->after[i].on != NULL)
            return job->after[i].on;
    return NULL;
}

static void unlink_one(struct dependency *dependency)
{
    if (dependency->on == NULL)
        return;
    DL_DELETE(dependency->on->dependents, dependency);
    dependency->on = NULL;
    dependency->waiter->n_waits--;
}

static void unlink_all(struct job *job)
{
    for (uint32_t i = 0; i < job->n_after; i++)
        unlink_one(&job->after[i]);
}

static void fail(struct cluster *cluster, struct job *job, const struct job *on, struct instant now)
{
    unlink_all(job);
    job_set_reason(cluster, job, "dependency-failed",
                   "it was to run after %s (%llu), which %s: %.140s", on->spec->name, ULL(on->id),
                   on->state == JOB_KILLED ? "was killed" : "failed", on->reason);
    job_want_nothing(job);
    (void)job_set_state(cluster, job, JOB_FAILED, now);
}

/* Without the states of the others: it is stored, and what is stored is not written anew for each
 * of their moves. */
static void tell(struct cluster *cluster, struct job *job)
{
    const struct job *on = after_first(job);

    if (job->n_waits > 1)
        job_set_reason(cluster, job, "waits-for-job",
                       "waits until %s (%llu) and %u other jobs have succeeded", on->spec->name,
                       ULL(on->id), job->n_waits - 1);
    else
        job_set_reason(cluster, job, "waits-for-job", "waits until %s (%llu) has succeeded",
                       on->spec->name, ULL(on->id));
}

char *after_describe(const struct job *job, char *buffer, size_t size)
{
    const struct job *on = after_first(job);
    char others[48] = "";

    buffer[0] = '\0';
    if (on == NULL)
        return buffer;
    if (job->n_waits > 1)
        (void)snprintf(others, sizeof others, ", and for %u other jobs", job->n_waits - 1);
    (void)snprintf(buffer, size,
                   "waits for %s (%llu), which is %s%s; it is placed when %s, and fails when %s",
                   on->spec->name, ULL(on->id), job_state_to_string(on->state), others,
                   job->n_waits > 1 ? "all have succeeded" : "that one has succeeded",
                   job->n_waits > 1 ? "one does not" : "it does not");
    return buffer;
}

uint64_t after_ready_wall_us(const struct cluster *cluster, const struct job *job)
{
    uint64_t ready_us = job->submitted_wall_us;

    for (char **name = job->spec->after; name != NULL && *name != NULL; name++) {
        const struct job *on = cluster_find_job(cluster, *name);

        if (on != NULL)
            ready_us = MAX_OF(ready_us, on->ended_wall_us);
    }
    return ready_us;
}

void after_name(struct cluster *cluster, const struct job *job, int sign)
{
    for (char **name = job->spec->after; name != NULL && *name != NULL; name++) {
        struct job *on = cluster_find_job(cluster, *name);

        if (on != NULL)
            on->n_named += (uint32_t)sign;
    }
}

static void enter(struct cluster *cluster, struct job *job)
{
    job->plan.verdict = VERDICT_NONE;
    job_set_reason(cluster, job, "queued", "waits for its turn to be placed");
    queue_enter(cluster, job, true);
    cluster->plan_wanted = true;
}

void after_link(struct cluster *cluster, struct job *job, bool tell_turn, struct instant now)
{
    const struct job *failed = NULL;
    uint32_t n = 0;

    while (job->spec->after != NULL && job->spec->after[n] != NULL)
        n++;
    job->after = n > 0 ? xcalloc(n, sizeof *job->after) : NULL;
    job->n_after = n;
    after_name(cluster, job, 1);
    for (uint32_t i = 0; i < n; i++) {
        struct job *on = cluster_find_job(cluster, job->spec->after[i]);

        /* one that is not in the core has succeeded: had it failed, so would this one have then */
        if (on == NULL || on->state == JOB_SUCCEEDED)
            continue;
        if (has_failed(on->state)) {
            failed = on;
            continue;
        }
        job->after[i] = (struct dependency){ .waiter = job, .on = on };
        DL_APPEND(on->dependents, &job->after[i]);
        job->n_waits++;
    }
    if (failed != NULL)
        fail(cluster, job, failed, now);
    else if (job->n_waits > 0)
        tell(cluster, job);
    else if (tell_turn)
        enter(cluster, job);
    else
        queue_enter(cluster, job, false);
}

static void settle_one(struct cluster *cluster, struct dependency *dependency, struct instant now)
{
    struct job *waiter = dependency->waiter;
    const struct job *on = dependency->on;

    unlink_one(dependency);
    if (on->state != JOB_SUCCEEDED)
        fail(cluster, waiter, on, now);
    else if (waiter->n_waits > 0)
        tell(cluster, waiter);
    else
        enter(cluster, waiter);
}

/* A list instead of recursion: a chain may have thousands. */
void after_ended(struct cluster *cluster, struct job *job, struct instant now)
{
    unlink_all(job);
    if (cluster->ends != NULL) { /* the one at the head is being told of */
        job->ends_next = cluster->ends->ends_next;
        cluster->ends->ends_next = job;
        return;
    }
    job->ends_next = NULL;
    cluster->ends = job;
    while (cluster->ends != NULL) {
        struct job *on = cluster->ends;

        while (on->dependents != NULL)
            settle_one(cluster, on->dependents, now);
        cluster->ends = on->ends_next;
    }
}
