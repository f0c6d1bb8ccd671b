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

struct array_notice *array_notice_find(const struct cluster *cluster, uint64_t first_id)
{
    struct array_notice *array;

    HASH_FIND(hh, cluster->array_notices, &first_id, sizeof first_id, array);
    return array;
}

struct array_notice *array_notice_add(struct cluster *cluster, uint64_t first_id, uint32_t n_jobs)
{
    struct array_notice *array = xcalloc(1, sizeof *array);

    array->first_id = first_id;
    array->n_jobs = n_jobs;
    HASH_ADD(hh, cluster->array_notices, first_id, sizeof array->first_id, array);
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

/* tells_as_one - of all of its array at once */
static bool tells_as_one(const struct job_spec *spec)
{
    return spec->notify != NULL && spec->array.n > 0 && !spec->notify->each;
}

void notices_of_array(struct cluster *cluster, const struct job_spec *spec)
{
    if (tells_as_one(spec))
        effect_save_array_notice(cluster,
                                 array_notice_add(cluster, cluster->next_job_id, spec->array.n));
}

/* array_of - NULL: nobody knows. Jobs of an array have numbers in a row, and its first is at most
 * as far away as it has jobs */
static struct array_notice *array_of(const struct cluster *cluster, const struct job *job)
{
    for (uint64_t back = 0; back < job->spec->array.n && back < job->id; back++) {
        struct array_notice *array = array_notice_find(cluster, job->id - back);

        if (array != NULL)
            return back < array->n_jobs ? array : NULL;
    }
    return NULL;
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

static void of_array(struct cluster *cluster, struct array_notice *array, struct job *job,
                     bool begins, bool returns)
{
    bool over = job_state_is_final(job->state);

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
    struct array_notice *array;

    if (job->spec->notify == NULL || (!begins && !returns && !job_state_is_final(job->state)))
        return;
    array = tells_as_one(job->spec) ? array_of(cluster, job) : NULL;
    if (array != NULL)
        of_array(cluster, array, job, begins, returns);
    else
        of_one(cluster, job, begins, returns);
}
