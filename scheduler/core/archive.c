/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - jobs that are over leave the core, when there are many or after a while
 *
 * They stand in a list in the order of their ends, so that looking whether one is to go costs
 * nothing. Who keeps them goes on telling of them; the core has no use for them. These stay:
 *   - the job with the highest number, because the next number follows from it after a restart;
 *   - one that this turn, or a plan that is due, still speaks of, until the next turn;
 *   - one that a queued job was to run after, whose waiting for room is counted from its end;
 *   - one that has an older one of its name before it here: what is found here by a name is newer
 *     than all that is archived. */
#include <utlist.h>

#include "scheduler/core/plan_internal.h"

#define ARCHIVE_PER_TURN 64 /* jobs; a turn is one transaction */

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

    if (job->effects_pending != 0 || job->plan.touched || job->plan.lacking ||
        job->plan.known_to_policy)
        return true;
    DL_FOREACH2(job->processes, process, job_next)
    if (process->effects_pending != 0 || !process_state_is_final(process->state))
        return true;
    return false;
}

static bool is_too_much(const struct cluster *cluster, const struct job *job, struct instant now)
{
    const struct cluster_config *config = &cluster->config;

    if (config->keep_ended_jobs != 0 && cluster->n_ended > config->keep_ended_jobs)
        return true;
    return config->keep_ended_us != 0 && job->ended_wall_us + config->keep_ended_us < now.wall_us;
}

static bool is_needed(const struct cluster *cluster, const struct job *job)
{
    return job->id + 1 == cluster->next_job_id || job->n_named > 0 || job->awaited != NULL ||
           job->name_older != NULL || is_spoken_of(job);
}

static void let_go(struct cluster *cluster, struct job *job)
{
    DL_DELETE2(cluster->ended, job, ended_prev, ended_next);
    cluster->n_ended--;
    cluster->figures.jobs[job->state]--;
    job_name_leave(cluster, job);
    HASH_DEL(cluster->jobs, job);
    effect_archive_job(cluster, job->id);
    job_free(job);
}

/* cluster_keep_ended - see cluster.h */
void cluster_keep_ended(struct cluster *cluster, uint64_t jobs, uint64_t us)
{
    cluster->config.keep_ended_jobs = jobs;
    cluster->config.keep_ended_us = us;
}

/* cluster_archive_ended - see cluster.h; O(1) when nobody is to go */
size_t cluster_archive_ended(struct cluster *cluster, struct instant now)
{
    struct job *job, *next;
    size_t n = 0, seen = 0;

    DL_FOREACH_SAFE2(cluster->ended, job, next, ended_next)
    {
        if (++seen > ARCHIVE_PER_TURN || !is_too_much(cluster, job, now))
            break;
        if (is_needed(cluster, job))
            continue;
        let_go(cluster, job);
        n++;
    }
    return n;
}
