/* SPDX-License-Identifier: Apache-2.0 */
/* after.c - jobs that wait for others to succeed, or only to be over (`after`)
 *
 * Such a job is queued and not in the queue: nothing is placed or promised for it. It enters when
 * the last job that it names has succeeded, in the order of its own submission, and fails when one
 * of them ends otherwise. A cycle cannot be: only jobs that are there can be named. The document
 * and the states of the jobs it names tell what it waits for, so no row holds it.
 *
 * Where the text begins with "any:", any end will do. An array of which so many jobs run at once is
 * made of these: each waits for the end of the one that is so many places before it.
 *
 * An array is one thing to wait for, that counts its jobs (struct awaited_array): a thousand jobs
 * behind a thousand others are a thousand links, not a million. */
#include "scheduler/core/model/after.h"

#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/waiting.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define ULL(value) ((unsigned long long)(value))

#define DEPENDENCY_TEXT 128

static bool has_failed(enum job_state state)
{
    return job_state_is_final(state) && state != JOB_SUCCEEDED;
}

static bool waits(const struct dependency *dependency)
{
    return dependency->on != NULL || dependency->array != NULL;
}

/* --- arrays that are waited for --- */

static struct awaited_array *find_array(const struct cluster *cluster, uint64_t first)
{
    struct awaited_array *array;

    HASH_FIND(hh, cluster->awaited, &first, sizeof first, array);
    return array;
}

/* A job that is not in the core has succeeded: had it failed, so would who names it have then. */
static void count_job(struct awaited_array *array, struct job *job)
{
    job->awaited = array;
    array->n_jobs++;
    (void)snprintf(array->name, sizeof array->name, "%s", job_spec_array(job->spec));
    if (!job_state_is_final(job->state)) {
        array->n_left++;
        return;
    }
    array->ended_wall_us = MAX_OF(array->ended_wall_us, job->ended_wall_us);
    if (has_failed(job->state) && array->failed == NULL)
        array->failed = job;
}

static struct awaited_array *add_array(struct cluster *cluster, const struct after_name *name)
{
    struct awaited_array *array = xcalloc(1, sizeof *array);

    array->first = name->first;
    array->n = name->n;
    HASH_ADD(hh, cluster->awaited, first, sizeof array->first, array);
    for (uint64_t id = name->first; id < name->first + name->n; id++) {
        struct job *job = cluster_job(cluster, id);

        if (job != NULL)
            count_job(array, job);
    }
    return array;
}

static void drop_array(struct cluster *cluster, struct awaited_array *array)
{
    for (uint64_t id = array->first; array->n_jobs > 0 && id < array->first + array->n; id++) {
        struct job *job = cluster_job(cluster, id);

        if (job == NULL)
            continue;
        job->awaited = NULL;
        array->n_jobs--;
    }
    HASH_DEL(cluster->awaited, array);
    free(array);
}

void after_free(struct cluster *cluster)
{
    struct awaited_array *array;
    struct awaited_array *next;

    HASH_ITER(hh, cluster->awaited, array, next)
    {
        HASH_DEL(cluster->awaited, array);
        free(array);
    }
}

static const struct job *first_left(const struct cluster *cluster,
                                    const struct awaited_array *array)
{
    for (uint64_t id = array->first; id < array->first + array->n; id++) {
        const struct job *job = cluster_job(cluster, id);

        if (job != NULL && !job_state_is_final(job->state))
            return job;
    }
    return NULL;
}

/* --- links between jobs --- */

static const struct dependency *first_dependency(const struct job *job)
{
    for (uint32_t i = 0; i < job->n_after; i++)
        if (waits(&job->after[i]))
            return &job->after[i];
    return NULL;
}

const struct job *after_first(const struct cluster *cluster, const struct job *job)
{
    const struct dependency *dependency = first_dependency(job);

    if (dependency == NULL)
        return NULL;
    return dependency->on != NULL ? dependency->on : first_left(cluster, dependency->array);
}

static void unlink_one(struct dependency *dependency)
{
    if (!waits(dependency))
        return;
    if (dependency->on != NULL)
        DL_DELETE(dependency->on->dependents, dependency);
    else
        DL_DELETE(dependency->array->dependents, dependency);
    dependency->on = NULL;
    dependency->array = NULL;
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
    job->intent = INTENT_FAILED;
    job_set_reason(cluster, job, CAUSE_DEPENDENCY_FAILED,
                   "it was to run after %s (%llu), which %s: %.*s", on->spec->name, ULL(on->id),
                   on->state == JOB_KILLED ? "was killed" : "failed",
                   printable_prefix(on->reason, 140), on->reason);
    job_want_nothing(job);
    (void)job_set_state(cluster, job, JOB_FAILED, now);
}

/* How those have to end for which a job waits. */
enum ends { ENDS_SUCCESS, ENDS_ANY, ENDS_MIXED };

static enum ends ends_of(const struct job *job)
{
    uint32_t n_any = 0;

    for (uint32_t i = 0; i < job->n_after; i++)
        n_any += waits(&job->after[i]) && job->after[i].any;
    return n_any == 0 ? ENDS_SUCCESS : n_any == job->n_waits ? ENDS_ANY : ENDS_MIXED;
}

/* Without the states of the others: it is stored, and a stored text is not written anew for each of
 * their moves. */
static void tell(struct cluster *cluster, struct job *job)
{
    static const char *const ends[][2] = { { "has succeeded", "have succeeded" },
                                           { "is over", "are over" },
                                           { "has ended", "have ended as they have to" } };
    const struct dependency *dependency = first_dependency(job);
    bool one = dependency->on != NULL && job->n_waits == 1;
    char what[DEPENDENCY_TEXT], others[40] = "";

    if (dependency->on != NULL)
        (void)snprintf(what, sizeof what, "%s (%llu)", dependency->on->spec->name,
                       ULL(dependency->on->id));
    else
        (void)snprintf(what, sizeof what, "all jobs of %s (%llu-%llu)", dependency->array->name,
                       ULL(dependency->array->first),
                       ULL(dependency->array->first + dependency->array->n - 1));
    if (job->n_waits > 1)
        (void)snprintf(others, sizeof others, " and %u other%s", job->n_waits - 1,
                       PLURAL(job->n_waits - 1));
    job_set_reason(cluster, job, CAUSE_WAITS_FOR_JOB, "waits until %s%s %s", what, others,
                   ends[ends_of(job)][!one]);
}

/* "first (1), which is running", "grid (5-104), of whose jobs 3 of 100 have not succeeded" */
static void describe(const struct dependency *dependency, char ret[DEPENDENCY_TEXT + 64])
{
    const struct job *on = dependency->on;
    const struct awaited_array *array = dependency->array;

    if (on != NULL)
        (void)snprintf(ret, DEPENDENCY_TEXT + 64, "%s (%llu), which is %s", on->spec->name,
                       ULL(on->id), job_state_to_string(on->state));
    else
        (void)snprintf(ret, DEPENDENCY_TEXT + 64,
                       "%s (%llu-%llu), of whose jobs %u of %u %s not %s", array->name,
                       ULL(array->first), ULL(array->first + array->n - 1), array->n_left, array->n,
                       dependency->any      ? array->n_left == 1 ? "is" : "are"
                       : array->n_left == 1 ? "has"
                                            : "have",
                       dependency->any ? "over" : "succeeded");
}

char *after_describe(const struct job *job, char *buffer, size_t size)
{
    const struct dependency *dependency = first_dependency(job);
    char what[DEPENDENCY_TEXT + 64], others[40] = "";
    bool many = job->n_waits > 1 || (dependency != NULL && dependency->array != NULL);

    buffer[0] = '\0';
    if (dependency == NULL)
        return buffer;
    describe(dependency, what);
    if (job->n_waits > 1)
        (void)snprintf(others, sizeof others, ", and for %u other%s", job->n_waits - 1,
                       PLURAL(job->n_waits - 1));
    if (ends_of(job) == ENDS_ANY)
        (void)snprintf(buffer, size, "waits for %s%s; it is placed when %s over, however %s", what,
                       others, many ? "all are" : "that one is", many ? "they end" : "it ends");
    else if (ends_of(job) == ENDS_MIXED)
        (void)snprintf(buffer, size,
                       "waits for %s%s; it is placed when all have ended as they "
                       "have to, and fails when one does not",
                       what, others);
    else
        (void)snprintf(buffer, size, "waits for %s%s; it is placed when %s, and fails when %s",
                       what, others, many ? "all have succeeded" : "that one has succeeded",
                       many ? "one does not" : "it does not");
    return buffer;
}

void after_describe_success(const struct job *job, char *buffer, size_t size)
{
    const struct dependency *dependency = first_dependency(job);
    char what[DEPENDENCY_TEXT + 64], others[40] = "";

    describe(dependency, what);
    if (job->n_waits > 1)
        (void)snprintf(others, sizeof others, ", and that of %u other%s", job->n_waits - 1,
                       PLURAL(job->n_waits - 1));
    (void)snprintf(buffer, size, "the %s of %s %s%s", dependency->any ? "end" : "success",
                   dependency->on != NULL ? "job" : "the array", what, others);
}

uint64_t after_ready_wall_us(const struct cluster *cluster, const struct job *job)
{
    uint64_t ready_us = job->submitted_wall_us;

    for (char **text = job->spec->after; text != NULL && *text != NULL; text++) {
        struct after_name name = after_read(*text);
        const struct awaited_array *array = name.n > 0 ? find_array(cluster, name.first) : NULL;
        const struct job *on = name.n == 0 ? cluster_job(cluster, name.first) : NULL;

        if (on != NULL)
            ready_us = MAX_OF(ready_us, on->ended_wall_us);
        if (array != NULL)
            ready_us = MAX_OF(ready_us, array->ended_wall_us);
    }
    return ready_us;
}

static void name_array(struct cluster *cluster, const struct after_name *name, int sign)
{
    struct awaited_array *array = find_array(cluster, name->first);

    if (array == NULL && sign > 0)
        array = add_array(cluster, name);
    if (array == NULL)
        return;
    array->n_named += (uint32_t)sign;
    if (array->n_named == 0)
        drop_array(cluster, array);
}

void after_name(struct cluster *cluster, struct job *job, int sign)
{
    if (sign < 0)
        unlink_all(job);
    for (char **text = job->spec->after; text != NULL && *text != NULL; text++) {
        struct after_name name = after_read(*text);
        struct job *on = name.n == 0 ? cluster_job(cluster, name.first) : NULL;

        if (name.n > 0)
            name_array(cluster, &name, sign);
        else if (on != NULL)
            on->n_named += (uint32_t)sign;
    }
}

static void enter(struct cluster *cluster, struct job *job)
{
    job->was_told = false;
    job_set_reason(cluster, job, CAUSE_QUEUED, "waits for its turn to be placed");
    job_file(cluster, job);
    cluster->plan_wanted = true;
}

/* The one that has failed already, or NULL. */
static const struct job *link_one(struct cluster *cluster, struct job *job, uint32_t i)
{
    struct after_name name = after_read(job->spec->after[i]);
    struct awaited_array *array = name.n > 0 ? find_array(cluster, name.first) : NULL;
    struct job *on = name.n == 0 ? cluster_job(cluster, name.first) : NULL;

    if (!name.any && array != NULL && array->failed != NULL)
        return array->failed;
    if (!name.any && on != NULL && has_failed(on->state))
        return on;
    /* one that is not in the core is over, and has succeeded: had it failed, so would one that
     * waits for its success have then */
    if ((array == NULL || array->n_left == 0) && (on == NULL || job_state_is_final(on->state)))
        return NULL;
    job->after[i] = (struct dependency){ .waiter = job, .on = on, .array = array, .any = name.any };
    if (on != NULL)
        DL_APPEND(on->dependents, &job->after[i]);
    else
        DL_APPEND(array->dependents, &job->after[i]);
    job->n_waits++;
    return NULL;
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
        const struct job *on = link_one(cluster, job, i);

        failed = on != NULL ? on : failed;
    }
    if (failed != NULL)
        fail(cluster, job, failed, now);
    else if (job->n_waits > 0)
        tell(cluster, job);
    else if (tell_turn)
        enter(cluster, job);
    else
        job_file(cluster, job);
}

/* on: the job or array that it waited for, or one job of it */
static void settle_one(struct cluster *cluster, struct dependency *dependency, const struct job *on,
                       struct instant now)
{
    struct job *waiter = dependency->waiter;

    unlink_one(dependency);
    if (!dependency->any && on->state != JOB_SUCCEEDED)
        fail(cluster, waiter, on, now);
    else if (waiter->n_waits > 0)
        tell(cluster, waiter);
    else
        enter(cluster, waiter);
}

/* first_settled - the first that has waited long enough for an array: for all of it, or for the
 * first failure where nothing but success will do; NULL: none. Each end of one of its jobs asks */
static struct dependency *first_settled(const struct awaited_array *array)
{
    struct dependency *dependency = array->dependents;

    if (array->n_left > 0 && array->failed == NULL)
        return NULL;
    while (dependency != NULL && array->n_left > 0 && dependency->any)
        dependency = dependency->next;
    return dependency;
}

/* The array goes with the last who names it. */
static void settle_array(struct cluster *cluster, const struct job *on, struct instant now)
{
    struct awaited_array *array = on->awaited;

    if (array == NULL)
        return;
    array->n_left--;
    array->ended_wall_us = MAX_OF(array->ended_wall_us, on->ended_wall_us);
    if (has_failed(on->state) && array->failed == NULL)
        array->failed = on;
    while (on->awaited != NULL) {
        struct dependency *dependency = first_settled(on->awaited);

        if (dependency == NULL)
            return;
        settle_one(cluster, dependency, on, now);
    }
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
        const struct job *on = cluster->ends;

        while (on->dependents != NULL)
            settle_one(cluster, on->dependents, on, now);
        settle_array(cluster, on, now);
        cluster->ends = on->ends_next;
    }
}

struct after_name after_read(const char *written)
{
    const char *text = job_after_named(written), *dash = strchr(text, '-');
    struct after_name name = { .any = job_after_is_any(written) };
    char first[24] = "";
    uint64_t last;

    if (dash == NULL) {
        (void)job_id_from_text(text, &name.first);
        return name;
    }
    (void)snprintf(first, sizeof first, "%.*s", (int)MIN_OF(dash - text, 23), text);
    if (job_id_from_text(first, &name.first) && job_id_from_text(dash + 1, &last) &&
        last >= name.first && last - name.first < JOB_ARRAY_MAX)
        name.n = (uint32_t)(last - name.first + 1);
    return name;
}
