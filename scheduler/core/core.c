/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - the root of the core: makes and frees its rooms, and hands what time brings to them
 *
 * With submission.c the root, which may use every room. */
#include "scheduler/core/core.h"

#include <utlist.h>

#include "scheduler/core/ask/reason.h"
#include "scheduler/core/base/deadline.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/events/node_lost.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/foreign_load.h"
#include "scheduler/core/model/gpu_idle.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/machines.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/node_starts.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/planner_copy.h"
#include "scheduler/core/record/clone.h"
#include "scheduler/core/speed/family.h"

/* A further pass follows only when one itself ended a job, made one complete, or made instances
 * that could give way for a waiting job. */
#define PASSES_MAX 4

/* Plans take one part in so many of the time. Few small ones at once are let through: ahead
 * of their share by so much. No pause is longer than the last. */
#define PLANS_SHARE 10
#define PLANS_AHEAD_US (20 * USEC_PER_MSEC)
#define PAUSE_MOST_US (2 * USEC_PER_SEC)

static struct room *find_room(const void *cluster, const char *name)
{
    const struct node *node = cluster_node(cluster, name);

    return node != NULL ? node->room : NULL;
}

static struct room *find_empty_room(const void *cluster, const char *name)
{
    const struct node *node = cluster_node(cluster, name);

    return node != NULL ? node->empty_room : NULL;
}

/* cluster_new - empty; config is copied, its policy borrowed */
struct cluster *cluster_new(const struct cluster_config *config)
{
    struct cluster *cluster = xcalloc(1, sizeof *cluster);

    cluster->config = *config;
    cluster->policy_name = config->policy->name;
    cluster->next_job_id = cluster->first_incarnation = 1;
    cluster->sessions = config->first_session;
    cluster->offers_version = 1;
    figures_init(&cluster->figures);
    deadlines_init(&cluster->deadlines);
    cluster->planner = planner_new(config);
    cluster->planner->cluster = cluster;
    cluster->planner->rooms.find = find_room;
    cluster->planner->offered.find = find_empty_room;
    cluster->planner->rooms.userdata = cluster->planner->offered.userdata = cluster;
    if (config->policy->learns) {
        cluster->families = goodput_families_new();
        goodput_families_bound(cluster->families, CLUSTER_FAMILIES_MAX, CLUSTER_FAMILY_ENDED_MAX);
    }
    return cluster;
}

/* cluster_free - with all that it owns; accepts NULL; returns NULL */
struct cluster *cluster_free(struct cluster *cluster)
{
    struct job *job;
    struct job *next_job;
    struct node *node;
    struct node *next_node;

    if (cluster == NULL)
        return NULL;
    (void)planner_free(cluster->planner, cluster->config.policy); /* its queue refers to jobs */
    job_names_done(cluster);
    HASH_ITER(hh, cluster->jobs, job, next_job)
    {
        HASH_DEL(cluster->jobs, job);
        planned_free(job);
        job_free(job);
    }
    machines_free(cluster);
    HASH_ITER(hh, cluster->nodes, node, next_node)
    {
        HASH_DEL(cluster->nodes, node);
        (void)node_free(node);
    }
    nodes_free_removed(cluster);
    after_free(cluster);
    array_notices_free(cluster);
    holdings_done(&cluster->holdings);
    free(cluster->past_refusals);
    (void)goodput_families_free(cluster->families);
    free(cluster->effects);
    free(cluster->facts);
    free(cluster);
    return NULL;
}

/* the object that a deadline is a part of */
#define OWNER_OF(deadline, type, member) ((type *)((char *)(deadline)-offsetof(type, member)))

static void deadlines_fire(struct cluster *cluster, struct instant now)
{
    struct deadlines *deadlines = &cluster->deadlines;
    struct deadline *first;

    while ((first = deadlines_first(deadlines)) != NULL && first->at_us <= now.now_us) {
        deadline_set(deadlines, first, (enum deadline_kind)first->kind, NEVER_US);
        switch ((enum deadline_kind)first->kind) {
        case DEADLINE_BACKOFF: /* the plan finds the job's next one */
            job_touch(cluster, OWNER_OF(first, struct job, backoff));
            cluster->plan_wanted = true;
            break;
        case DEADLINE_TASKS:
            job_expire_tasks(cluster, OWNER_OF(first, struct job, tasks_due), now);
            break;
        case DEADLINE_JOB:
            job_overdue(cluster, OWNER_OF(first, struct job, due), now);
            break;
        case DEADLINE_LIMIT:
            job_ran_out(cluster, OWNER_OF(first, struct job, limit), now);
            break;
        case DEADLINE_FOREIGN:
            node_foreign_fell(cluster, OWNER_OF(first, struct node, foreign_falls), now);
            break;
        case DEADLINE_SPEED:
            node_speed_fell_due(cluster, OWNER_OF(first, struct node, speed_forgotten), now);
            break;
        case DEADLINE_IDLE:
            job_idle_fell_due(cluster, OWNER_OF(first, struct job, idle_forgotten));
            break;
        case DEADLINE_BACKLOG:
            job_backlog_fell_due(cluster, OWNER_OF(first, struct backlog, look), now);
            break;
        case DEADLINE_UNFIT:
            job_unfit_fell_due(cluster, OWNER_OF(first, struct job, unfit_forgotten));
            break;
        case DEADLINE_PROOF:
            job_proof_fell_due(cluster, OWNER_OF(first, struct job, proof), now);
            break;
        case DEADLINE_REST:
            job_touch(cluster, OWNER_OF(first, struct planned, rest)->job);
            cluster->plan_wanted = true;
            break;
        case DEADLINE_PARK:
            cluster->planner->park_due = true;
            cluster->plan_wanted = true;
            break;
        case DEADLINE_POLICY:
        case DEADLINE_QUIET:
            cluster->plan_wanted = true;
            break;
        }
    }
}

/* cluster_tick - idempotent; O(log n) for each deadline that has passed */
void cluster_tick(struct cluster *cluster, struct instant now)
{
    learn_take(cluster);
    nodes_lose_silent(cluster, now);
    deadlines_fire(cluster, now);
}

/* cluster_next_deadline_us - when cluster_tick has something to do; O(log n) */
uint64_t cluster_next_deadline_us(const struct cluster *cluster)
{
    const struct deadline *first = deadlines_first(&cluster->deadlines);
    uint64_t next = first != NULL ? first->at_us : NEVER_US;

    const struct node *node = cluster_first_lease(cluster);

    return node != NULL ? MIN_OF(next, node->lease_deadline_us) : next;
}

/* A plan that is not settled after so many passes stays wanted: the next turn, which each report
 * brings, goes on with it. */
static void plan_all(struct cluster *cluster, struct instant now)
{
    for (int i = 0; cluster->plan_wanted && i < PASSES_MAX; i++) {
        deadlines_fire(cluster, now);
        learn_take(cluster);
        plan_pass(cluster, i == 0, now);
    }
    learn_take(cluster);
    reasons_tell(cluster, now);
}

/* Plans have had their share of the time for the moment: an event need not wait for one. */
static bool is_paused(const struct cluster *cluster, struct instant now)
{
    return now.now_us + PLANS_AHEAD_US < cluster->plan_owed_us;
}

/* cluster_plan - see core.h; idempotent until the next event */
bool cluster_plan(struct cluster *cluster, struct instant now)
{
    bool paused = is_paused(cluster, now);

    learn_take(cluster);
    if (plan_is_quiet(cluster, now)) {
        plan_settle(cluster, now);
        return false;
    }
    if (!cluster->plan_wanted)
        return false;
    deadline_set(&cluster->deadlines, &cluster->pause, DEADLINE_QUIET,
                 paused ? cluster->plan_owed_us - PLANS_AHEAD_US : NEVER_US);
    cluster->plan_wanted = !paused;
    if (!paused)
        plan_all(cluster, now);
    return !paused;
}

/* cluster_plan_took - see core.h */
void cluster_plan_took(struct cluster *cluster, struct instant now, uint64_t us)
{
    uint64_t owed_us = MAX_OF(cluster->plan_owed_us, now.now_us) + PLANS_SHARE * us;

    cluster->plan_owed_us = MIN_OF(owed_us, now.now_us + PAUSE_MOST_US);
}

/* cluster_want_plan - see core.h */
void cluster_want_plan(struct cluster *cluster)
{
    cluster->plan_wanted = true;
}

/* cluster_wants_plan - see core.h */
bool cluster_wants_plan(struct cluster *cluster)
{
    learn_take(cluster);
    return cluster->plan_wanted;
}

static struct cluster *copy_of(const struct cluster *cluster, bool with_ended, struct instant now)
{
    struct cluster *copy = cluster_copy_facts(cluster, with_ended, now);

    planner_copy(copy, cluster);
    return copy;
}

/* cluster_clone - see core.h */
struct cluster *cluster_clone(const struct cluster *cluster, struct instant now)
{
    return copy_of(cluster, true, now);
}

/* cluster_clone_active - see core.h */
struct cluster *cluster_clone_active(const struct cluster *cluster, struct instant now)
{
    return copy_of(cluster, false, now);
}

/* cluster_effects - borrowed; valid until the next event. Learning has effects as well */
const struct effect *cluster_effects(struct cluster *cluster, size_t *ret_n)
{
    learn_take(cluster);
    *ret_n = cluster->n_effects;
    return cluster->effects;
}

/* cluster_replan - see core.h */
void cluster_replan(struct cluster *cluster, struct instant now)
{
    learn_take(cluster);
    cluster->plan_wanted = true;
    if (!plan_is_quiet(cluster, now))
        plan_all(cluster, now);
}
