/* SPDX-License-Identifier: Apache-2.0 */
/* notices.c - see notices.h */
#include "scheduler/core/model/notices.h"

#include <stdlib.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/states.h"
#include "shared/job_notify.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

bool array_notice_is_over(const struct array_notice *array)
{
    return array->n_succeeded + array->n_failed + array->n_killed >= array->n_jobs;
}

bool job_fell_short(const struct job *job)
{
    return job->state == JOB_FAILED || (job->state == JOB_KILLED && job->cause != CAUSE_KILLED);
}

struct array_notice *array_notice_find(const struct cluster *cluster, int64_t base)
{
    struct array_notice *array;

    HASH_FIND(hh, cluster->array_notices, &base, sizeof base, array);
    return array;
}

struct array_notice *array_notice_add(struct cluster *cluster, int64_t base, uint32_t n_jobs)
{
    struct array_notice *array = xcalloc(1, sizeof *array);

    array->base = base;
    array->n_jobs = n_jobs;
    HASH_ADD(hh, cluster->array_notices, base, sizeof array->base, array);
    return array;
}

static void drop(struct cluster *cluster, struct array_notice *array)
{
    HASH_DEL(cluster->array_notices, array);
    free(array);
}

void array_notice_stored(struct cluster *cluster, struct array_notice *array)
{
    array->pending = false;
    if (array_notice_is_over(array))
        drop(cluster, array);
}

void array_notices_free(struct cluster *cluster)
{
    struct array_notice *array, *next;

    HASH_ITER(hh, cluster->array_notices, array, next)
    drop(cluster, array);
}

static struct array_notice *array_of(struct cluster *cluster, const struct job *job)
{
    int64_t base = (int64_t)job->id - (int64_t)job->spec->array.first;
    struct array_notice *array = array_notice_find(cluster, base);

    return array != NULL ? array : array_notice_add(cluster, base, job->spec->array.n);
}

static void count_end(struct array_notice *array, const struct job *job)
{
    bool fell_short = job_fell_short(job);

    array->n_succeeded += job->state == JOB_SUCCEEDED;
    array->n_failed += fell_short;
    array->n_killed += job->state == JOB_KILLED && !fell_short;
    if (fell_short && array->first_failed == 0)
        array->first_failed = job->id;
}

/* once - a notice of the array that is told of its first job alone */
static void once(struct cluster *cluster, struct array_notice *array, struct job *job,
                 enum notify_event event)
{
    if ((job->spec->notify->on & event) == 0 || (array->told & event) != 0)
        return;
    array->told |= event;
    effect_notice(cluster, job, event, array);
}

static void of_array(struct cluster *cluster, struct job *job, bool begins, bool returns)
{
    bool over = job_state_is_final(job->state);
    struct array_notice *array;

    if (!begins && !returns && !over)
        return;
    array = array_of(cluster, job);
    if (begins)
        once(cluster, array, job, NOTIFY_BEGIN);
    if (returns)
        once(cluster, array, job, NOTIFY_REQUEUE);
    if (over) {
        count_end(array, job);
        if (array_notice_is_over(array) && (job->spec->notify->on & NOTIFY_END) != 0)
            once(cluster, array, job, NOTIFY_END);
        else if (job_fell_short(job))
            once(cluster, array, job, NOTIFY_FAIL);
    }
    effect_save_array_notice(cluster, array);
}

/* An end that failed is told once, by either word. */
static void of_one(struct cluster *cluster, struct job *job, bool begins, bool returns)
{
    uint32_t on = job->spec->notify->on;
    bool failed = job_fell_short(job);

    if (begins && (on & NOTIFY_BEGIN) != 0)
        effect_notice(cluster, job, NOTIFY_BEGIN, NULL);
    if (returns && (on & NOTIFY_REQUEUE) != 0)
        effect_notice(cluster, job, NOTIFY_REQUEUE, NULL);
    if (!job_state_is_final(job->state))
        return;
    if (failed && (on & (NOTIFY_FAIL | NOTIFY_END)) != 0)
        effect_notice(cluster, job, NOTIFY_FAIL, NULL);
    else if ((on & NOTIFY_END) != 0)
        effect_notice(cluster, job, NOTIFY_END, NULL);
}

void notices_of_move(struct cluster *cluster, struct job *job, bool begins, bool returns)
{
    if (job->spec->notify == NULL)
        return;
    if (job->spec->array.n > 0 && !job->spec->notify->each)
        of_array(cluster, job, begins, returns);
    else
        of_one(cluster, job, begins, returns);
}
