/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c - the bills of users, so that one user's thousands do not stand before all
 *
 * Start-time fair queueing over users, within a priority and a group: the user with the least bill
 * goes first. A start adds the cost that is expected of the job, and its end the rest of its true
 * cost. In advance it is that of ten minutes at most. So a wrong guess, or a long job that fails
 * at once, costs its user little, and nothing has to be given back.
 *
 * Each level has a clock: the bill of the user who was served last, before that start. A user that
 * begins to wait counts as having a bill of at least as much. So nobody saves up by asking for
 * nothing, nor by asking for a node that will not come for a week. While nobody waits the clock
 * goes on to the bills of jobs that are over: a user alone on an empty cluster took it from nobody.
 * Among jobs of one user, and among users with equal bills, the turn decides (job_turn.c).
 *
 * A job that was started before is paid for. When it has to wait again, because its node was lost,
 * it goes before all users' jobs of its priority. So does one that others gave way for (park.c).
 *
 * Bills are on record with the jobs. So a restart and a copy of the cluster know them as well.
 * Another priority or group counts afresh. */
#include "scheduler/core/plan/shares.h"

#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"

#define ADVANCE_MOST_S 600.0
#define GPU_MILLICORES 8000 /* the cost of a GPU */

static bool is_back(const struct share *share)
{
    return share->key.back != 0;
}

static struct share_level *level_of(struct queue *queue, int32_t priority, uint32_t group)
{
    const struct share_level_key key = { .priority = priority, .group = group };
    struct share_level *level;

    HASH_FIND(hh, queue->levels, &key, sizeof key, level);
    if (level == NULL) {
        level = xcalloc(1, sizeof *level);
        level->key = key;
        HASH_ADD(hh, queue->levels, key, sizeof level->key, level);
    }
    return level;
}

static struct share *find_key(struct queue *queue, const struct share_key *key, uint32_t group)
{
    struct share *share;

    HASH_FIND(hh, queue->shares, key, sizeof *key, share);
    if (share == NULL) {
        share = xcalloc(1, sizeof *share);
        share->key = *key;
        HASH_ADD(hh, queue->shares, key, sizeof share->key, share);
    }
    if (share->n_jobs == 0) /* his group is another one now */
        share->level = level_of(queue, key->priority, group);
    return share;
}

static struct share_key key_of(const struct queue *queue, const struct job *job, bool back)
{
    struct share_key key = { .priority = job->spec->priority, .back = back };

    if (queue->fair && !back)
        (void)snprintf(key.user, sizeof key.user, "%s", job->user);
    return key;
}

struct share_key share_key_of(const struct queue *queue, const struct job *job)
{
    bool back = job->goes_first || job->parked_for != 0 || (queue->fair && job->charged > 0);

    return key_of(queue, job, back);
}

static struct share *share_find(struct queue *queue, const struct job *job)
{
    const struct share_key key = share_key_of(queue, job);

    return find_key(queue, &key, job->group);
}

/* Of its user's other jobs, also where it waits again, or is over. */
static struct share *share_of_user(struct cluster *cluster, const struct job *job)
{
    struct queue *queue = &cluster->planner->queue;
    const struct share_key key = key_of(queue, job, false);

    return find_key(queue, &key, group_table_index(cluster->config.groups, job->user));
}

static bool is_beside(const struct share *share, const struct share *other)
{
    return other != share && other->level == share->level && !is_back(other);
}

/* Only where it comes to stand behind others the order is another one. */
static void set_served(struct queue *queue, struct share *share, uint64_t served)
{
    const struct share *other;
    bool moves = false;

    if (served <= share->served)
        return;
    for (other = queue->shares; other != NULL && share->classes != NULL; other = other->hh.next)
        moves = moves || (is_beside(share, other) && other->n_jobs > 0 &&
                          other->served >= share->served && other->served <= served);
    share->served = served;
    queue_follow_share(queue, share, moves);
}

/* Where nobody of the group waits the clocks of other groups count as well: its own stands still
 * meanwhile. */
static void set_clock(struct queue *queue, struct share_level *level)
{
    const struct share_level *other;
    uint64_t least = UINT64_MAX;

    level->now = MAX_OF(level->now, 1U);
    if (level->n_jobs > 0)
        return;
    level->now = MAX_OF(level->now, level->ended);
    for (other = queue->levels; other != NULL; other = other->hh.next)
        if (other->key.priority == level->key.priority && other->n_jobs > 0)
            least = MIN_OF(least, other->now);
    level->now = MAX_OF(level->now, least < UINT64_MAX ? least : 0);
}

static void note_ended(struct share_level *level, const struct job *job)
{
    if (job_state_is_final(job->state))
        level->ended = MAX_OF(level->ended, job->served + job->charged);
}

/* Once after a restart: the bills by the records of jobs that were started. */
static void know(struct cluster *cluster)
{
    struct queue *queue = &cluster->planner->queue;
    struct share *share;
    struct job *job;

    queue->knows_shares = true;
    for (job = cluster->jobs; job != NULL && queue->fair; job = job->hh.next) {
        if (job->charged == 0)
            continue;
        share = share_of_user(cluster, job);
        share->level->now = MAX_OF(share->level->now, job->served);
        set_served(queue, share, job->served + job->charged);
        note_ended(share->level, job);
    }
}

static void bill(struct cluster *cluster, const struct job *job, uint64_t served, uint64_t charged,
                 struct instant now)
{
    const struct act act = {
        .kind = ACT_BILL, .job = job->id, .served = served, .charged = charged
    };

    (void)plan_do(cluster, &act, now);
}

struct share *share_enter(struct queue *queue, const struct job *job)
{
    struct share *share = share_find(queue, job);

    share->n_jobs++;
    if (!queue->fair || is_back(share) || job->served == 0)
        return share;
    share->level->now = MAX_OF(share->level->now, job->served);
    share->level->n_jobs++;
    set_served(queue, share, job->served);
    return share;
}

void share_join(struct cluster *cluster, struct share *share, struct job *job, struct instant now)
{
    struct queue *queue = &cluster->planner->queue;

    if (!queue->fair || is_back(share) || job->served > 0)
        return;
    set_clock(queue, share->level);
    bill(cluster, job, share->level->now, job->charged, now);
    share->level->n_jobs++;
    set_served(queue, share, job->served);
}

/* A user that begins to wait counts as that one does in any case. */
void shares_tidy(struct queue *queue)
{
    struct share *share;
    struct share *next;

    HASH_ITER(hh, queue->shares, share, next)
    {
        if (share->n_jobs > 0 || share->served > share->level->now)
            continue;
        HASH_DEL(queue->shares, share);
        free(share);
    }
}

void share_leave(struct share *share)
{
    share->n_jobs--;
    if (share->level->n_jobs > 0 && !is_back(share))
        share->level->n_jobs--;
}

/* In thousandths of a core-second; above 0. */
static uint64_t cost_in_advance(const struct cluster *cluster, const struct job *job)
{
    double s = cluster->families != NULL ? job_expected_s(cluster, job)
                                         : (double)job->spec->expected_us / USEC_PER_SEC;
    double millicores = 0;

    for (size_t r = 0; r < job->spec->n_roles; r++) {
        const struct role_spec *role = &job->spec->roles[r];

        millicores += (double)role->min *
                      ((double)role->cpu_millicores + (double)role->gpus * GPU_MILLICORES);
    }
    return (uint64_t)(millicores * (s > 0 ? fmin(s, ADVANCE_MOST_S) : ADVANCE_MOST_S)) + 1;
}

static uint64_t cost_used(const struct job *job, struct instant now)
{
    struct usage usage;
    uint64_t cost = 0;

    usage_of_job(job, now.wall_us, &usage);
    for (size_t i = 0; i < USAGE_KINDS; i++)
        cost +=
            usage.kinds[i].cpu_millicore_ms / 1000 + usage.kinds[i].gpu_ms / 1000 * GPU_MILLICORES;
    return cost;
}

void share_charge(struct cluster *cluster, struct job *job, struct instant now)
{
    struct queue *queue = &cluster->planner->queue;
    struct share *share;

    if (!queue->fair || job->charged > 0)
        return; /* it was charged when it was started first */
    share = share_of_user(cluster, job);
    bill(cluster, job, MAX_OF(share->served, job->served), cost_in_advance(cluster, job), now);
    share->level->now = MAX_OF(share->level->now, job->served);
    set_served(queue, share, job->served + job->charged);
}

/* It is over: its user is charged the rest of its true cost, and it has his bill on record. */
static void settle(struct cluster *cluster, struct job *job, struct instant now)
{
    struct queue *queue = &cluster->planner->queue;
    uint64_t used = cost_used(job, now);
    struct share *share;

    if (!queue->fair || job->charged == 0)
        return;
    share = share_of_user(cluster, job);
    if (used > job->charged) {
        used -= job->charged;
        set_served(queue, share, MAX_OF(share->served, job->served + job->charged) + used);
        bill(cluster, job, job->served, share->served - job->served, now);
    }
    note_ended(share->level, job);
}

/* Since the last plan, those that ended last first: all but the first of these were settled. */
static void settle_ended(struct cluster *cluster, struct instant now)
{
    struct job *job = cluster->ended != NULL ? cluster->ended->ended_prev : NULL;

    while (job != NULL && !job->settled && job != cluster->ended)
        job = job->ended_prev;
    for (; job != NULL; job = job->ended_next) {
        if (job->settled)
            continue;
        settle(cluster, job, now);
        (void)plan_do(cluster, &(struct act){ .kind = ACT_PAID, .job = job->id }, now);
    }
}

void shares_begin(struct cluster *cluster, struct instant now)
{
    struct queue *queue = &cluster->planner->queue;
    struct share_level *level;
    struct share *share;

    if (queue->groups_version != cluster->groups_version)
        shares_forget(queue); /* they are known afresh, for the other groups */
    queue->groups_version = cluster->groups_version;
    for (share = queue->shares; share != NULL; share = share->hh.next) {
        share->n_jobs = 0;
        share->classes = NULL;
    }
    for (level = queue->levels; level != NULL; level = level->hh.next)
        level->n_jobs = 0;
    if (!queue->knows_shares)
        know(cluster);
    settle_ended(cluster, now);
}

void shares_copy(struct queue *copy, const struct queue *queue)
{
    const struct share_level *level;
    const struct share *share;

    copy->knows_shares = queue->knows_shares;
    for (level = queue->levels; level != NULL; level = level->hh.next) {
        struct share_level *its = level_of(copy, level->key.priority, level->key.group);

        its->now = level->now;
        its->ended = level->ended;
    }
    for (share = queue->shares; share != NULL; share = share->hh.next)
        set_served(copy, find_key(copy, &share->key, share->level->key.group), share->served);
}

uint32_t share_others_before(const struct cluster *cluster, const struct job *job)
{
    const struct queue *queue = &cluster->planner->queue;
    const struct share *share =
        planned_is(job)->class != NULL ? planned_is(job)->class->share : NULL;
    const struct share *other;
    uint32_t n = 0;

    if (share == NULL || is_back(share))
        return 0;
    for (other = queue->shares; other != NULL; other = other->hh.next)
        if (is_beside(share, other) && other->served < share->served)
            n += other->n_jobs;
    return n;
}

void shares_forget(struct queue *queue)
{
    struct share *share;
    struct share *next;
    struct share_level *level;
    struct share_level *next_level;

    HASH_ITER(hh, queue->shares, share, next)
    {
        HASH_DEL(queue->shares, share);
        free(share);
    }
    HASH_ITER(hh, queue->levels, level, next_level)
    {
        HASH_DEL(queue->levels, level);
        free(level);
    }
    queue->knows_shares = false;
}
