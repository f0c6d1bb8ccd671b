/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - jobs that are over leave the core, when there are many or after a while
 *
 * They stand in a list in the order of their ends, so that looking whether one is to go costs
 * nothing. The shell keeps them and goes on telling of them; the core has no use for them. These
 * stay:
 *   - the job with the highest number, because the next number follows from it after a restart;
 *   - one that this turn, or a plan that is due, still speaks of, until the next turn;
 *   - one that a queued job was to run after, whose waiting for room is counted from its end; of
 *     those that succeeded so many only: behind that the waiting is counted from the submission;
 *   - one that has an older one of its name before it here: a job that is found here by a name is
 *     newer than all archived ones. */
#include "scheduler/core/model/archive.h"

#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/macro.h"

/* The bounds of one turn; a turn is one transaction. The turns that follow do the rest. */
#define ARCHIVE_PER_TURN 128                       /* jobs */
#define ARCHIVE_BYTES_PER_TURN ((uint64_t)1 << 20) /* of their documents */
#define ARCHIVE_LOOKS_PER_TURN 2048                /* jobs that are looked at, needed or not */

static int compare_ends(const struct job *a, const struct job *b)
{
    if (a->ended_wall_us != b->ended_wall_us)
        return a->ended_wall_us < b->ended_wall_us ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

void ended_add(struct cluster *cluster, struct job *job)
{
    struct job *before = cluster->ended != NULL ? cluster->ended->ended_prev : NULL;

    cluster->n_ended++;
    holdings_ended(&cluster->holdings, job->user, 1);
    /* it is the last, unless the clock was set back */
    while (before != NULL && compare_ends(before, job) > 0)
        before = before == cluster->ended ? NULL : before->ended_prev;
    if (before != NULL)
        DL_APPEND_ELEM2(cluster->ended, before, job, ended_prev, ended_next);
    else
        DL_PREPEND2(cluster->ended, job, ended_prev, ended_next);
}

void ended_restore(struct cluster *cluster, struct job *job)
{
    cluster->n_ended++;
    holdings_ended(&cluster->holdings, job->user, 1);
    DL_APPEND2(cluster->ended, job, ended_prev, ended_next);
}

void ended_restored(struct cluster *cluster)
{
    DL_SORT2(cluster->ended, compare_ends, ended_prev, ended_next);
}

bool ended_is_ordered(const struct cluster *cluster)
{
    const struct job *job;
    size_t n = 0;

    DL_FOREACH2(cluster->ended, job, ended_next)
    {
        n++;
        if (!job_state_is_final(job->state) ||
            (job->ended_next != NULL && compare_ends(job, job->ended_next) >= 0))
            return false;
    }
    return n == cluster->n_ended;
}

void job_close_queue(struct cluster *cluster, struct job *job)
{
    if (job->queue != NULL && !task_queue_is_closed(job->queue)) {
        task_queue_close(job->queue);
        effect_save_tasks(cluster, job);
    }
    job_tasks_changed(cluster, job);
}

static bool is_spoken_of(const struct job *job)
{
    const struct process *process;

    if (job->effects_pending != 0 || job->touched || job->changed || job->n_planner_refs != 0)
        return true;
    DL_FOREACH2(job->processes, process, job_next)
    if (process->effects_pending != 0 || !process_state_is_final(process->state))
        return true;
    return false;
}

static bool is_old(const struct cluster *cluster, const struct job *job, struct instant now)
{
    uint64_t keep_us = cluster->config.keep_ended_us;

    return keep_us != 0 && job->ended_wall_us + keep_us < now.wall_us;
}

/* cluster_ended_beyond - see archive.h */
uint64_t cluster_ended_beyond(const struct cluster *cluster)
{
    uint64_t keep = cluster->config.keep_ended_jobs;

    return keep != 0 && cluster->n_ended > keep ? cluster->n_ended - keep : 0;
}

/* cluster_archive_leaving - see archive.h */
uint64_t cluster_archive_leaving(const struct cluster *cluster)
{
    uint64_t beyond = cluster_ended_beyond(cluster);
    uint64_t fresh =
        cluster->n_ended > cluster->archive.ended ? cluster->n_ended - cluster->archive.ended : 0;

    return cluster->archive.due ? beyond : MIN_OF(beyond, fresh);
}

static bool is_needed(const struct cluster *cluster, const struct job *job)
{
    return job->id + 1 == cluster->next_job_id || job->name_older != NULL || is_spoken_of(job);
}

/* By jobs that have not run yet. Of one that succeeded they need the moment of its end only: of
 * these so many stay. */
static bool is_named(struct cluster *cluster, const struct job *job)
{
    uint64_t most = cluster->config.keep_named_jobs;

    if (job->n_named == 0 && job->awaited == NULL)
        return false;
    return job->state != JOB_SUCCEEDED || most == 0 || cluster->archive.named++ < most;
}

static void let_go(struct cluster *cluster, struct job *job)
{
    if (cluster->archive.next == job)
        cluster->archive.next = job->ended_next;
    if (job->awaited != NULL)
        job->awaited->n_jobs--;
    DL_DELETE2(cluster->ended, job, ended_prev, ended_next);
    cluster->n_ended--;
    holdings_ended(&cluster->holdings, job->user, -1);
    cluster->figures.jobs[job->state]--;
    job_name_leave(cluster, job);
    HASH_DEL(cluster->jobs, job);
    effect_archive_job(cluster, job->id);
    job_free(job);
}

/* cluster_keep_ended - see archive.h */
void cluster_keep_ended(struct cluster *cluster, uint64_t jobs, uint64_t us)
{
    cluster->config.keep_ended_jobs = jobs;
    cluster->config.keep_ended_us = us;
}

/* The rest of a turn's bounds. */
struct archive_budget {
    uint64_t jobs, bytes, looks;
};

static bool take(struct archive_budget *budget, const struct job *job)
{
    uint64_t bytes = job_spec_bytes(job->spec);

    if (budget->jobs == 0 || budget->bytes == 0)
        return false;
    budget->jobs--;
    budget->bytes -= MIN_OF(bytes, budget->bytes);
    return true;
}

/* Goes on where the last turn ended, so that those that are needed are passed once in a round. true
 * at the end of a round, false when the budget is spent. */
static bool go_on(struct cluster *cluster, struct archive_budget *budget, struct instant now)
{
    struct job *job = cluster->archive.next != NULL ? cluster->archive.next : cluster->ended;

    for (; job != NULL; job = cluster->archive.next) {
        if (cluster_ended_beyond(cluster) == 0 && !is_old(cluster, job, now))
            break;
        if (budget->looks == 0)
            return false;
        budget->looks--;
        if (is_needed(cluster, job) || is_named(cluster, job)) {
            cluster->archive.next = job->ended_next;
        } else if (take(budget, job)) {
            cluster->archive.next = job;
            let_go(cluster, job);
        } else {
            cluster->archive.next = job;
            return false;
        }
    }
    cluster->archive.next = NULL;
    cluster->archive.named = 0;
    return true;
}

/* cluster_archive_ended - see archive.h; O(1) when nobody is to go */
size_t cluster_archive_ended(struct cluster *cluster, struct instant now)
{
    struct archive_budget budget = { ARCHIVE_PER_TURN, ARCHIVE_BYTES_PER_TURN,
                                     ARCHIVE_LOOKS_PER_TURN };
    bool more = cluster->n_ended > cluster->archive.ended; /* have ended since */
    bool round = go_on(cluster, &budget, now);
    size_t n = ARCHIVE_PER_TURN - budget.jobs;

    cluster->archive.ended = cluster->n_ended;
    cluster->archive.due =
        !round || (cluster_ended_beyond(cluster) > 0 && (n > 0 || more)); /* else all are needed */
    return n;
}

/* cluster_archive_is_due - see archive.h */
bool cluster_archive_is_due(const struct cluster *cluster)
{
    return cluster->archive.due;
}
