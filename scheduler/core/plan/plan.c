/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - planning: from the present to the wanted state
 *
 *   1. elastic instances on draining nodes for which others stand in leave (plan/drain.c)
 *   2. started jobs keep to their bounds; it is known which ones lack something (plan/repair.c)
 *   3. nodes that owe are relieved (plan/drain.c)
 *   4. lacking jobs are repaired, processes that are to leave a draining node move to a place
 *      elsewhere, and waiting gangs start, or room is made for them (plan/start.c)
 *   5. the policy grows and shrinks elastic jobs (plan/grow.c)
 *   6. instances that are much slower than their others, or would be faster on another type of
 *      GPU, move or change places (plan/straggler.c, plan/exchange.c)
 *   7. touched jobs are settled: sizes, states, reasons
 *
 * A plan looks at all nodes, all jobs that are not over, and all that wait: no event has to know
 * what a plan would make of it. The shell tells what a plan took, and the next one pauses for nine
 * times that, 2 s at most (cluster_plan_took). What costs more than a look is done for jobs that
 * were touched (job_touch), by an event or by the plan: the policy is told of them, and they are
 * settled. */
#include "scheduler/core/plan/plan.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/grow.h"
#include "scheduler/core/plan/hold.h"
#include "scheduler/core/plan/drain.h"
#include "scheduler/core/plan/filing.h"
#include "scheduler/core/plan/park.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/reserve.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/plan/start.h"
#include "scheduler/core/plan/straggler.h"

struct planner *planner_new(const struct cluster_config *config)
{
    struct planner *planner = xcalloc(1, sizeof *planner);

    capacity_init(&planner->rooms);
    capacity_init(&planner->offered);
    queue_init(&planner->queue, config->policy->by_turn, !config->first_come);
    planner->policy = config->policy->new ();
    planner->n_groups = 1;
    planner->groups_version = UINT64_MAX; /* of none */
    return planner;
}

struct planner *planner_free(struct planner *planner, const struct policy *policy)
{
    struct array_room *array, *next;

    capacity_done(&planner->rooms);
    capacity_done(&planner->offered);
    queue_done(&planner->queue);
    (void)policy->free(planner->policy);
    free(planner->told);
    for (int i = 0; i < OWNER_SUMS; i++)
        free(planner->owner_sums[i]);
    HASH_ITER(hh, planner->arrays, array, next)
    {
        HASH_DEL(planner->arrays, array);
        free(array);
    }
    acts_clear(&planner->acts);
    free(planner->acts.items);
    free(planner);
    return NULL;
}

/* No take may speak of a room that is gone: reservations are made afresh. */
static void forget_removed_nodes(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;
    struct job *job;

    if (cluster->removed == NULL)
        return;
    capacity_roll_back(&planner->rooms, 0);
    for (size_t i = 0; i < planner->queue.n_promised; i++)
        plan_forget_places(planner->queue.promised[i]);
    if (planner->queue.held != NULL)
        plan_forget_places(planner->queue.held);
    DL_FOREACH2(planner->lacking, job, planned->lacking_next)
    plan_reserve_forget(job);
    plan_hold_drop(planner);
    nodes_free_removed(cluster);
}

static struct job **touched_jobs(struct cluster *cluster, size_t *ret_n)
{
    struct job **jobs;
    struct job *job;
    size_t n = 0;

    DL_COUNT2(cluster->touched, job, n, touched_next);
    jobs = xcalloc(n, sizeof(*jobs));
    *ret_n = n;
    n = 0;
    DL_FOREACH2(cluster->touched, job, touched_next)
    jobs[n++] = job;
    jobs_sort(jobs, n);
    return jobs;
}

static void untouch(struct cluster *cluster, struct job *job)
{
    job->touched = false;
    DL_DELETE2(cluster->touched, job, touched_prev, touched_next);
}

/* The first pass of a plan looks at all jobs that are not over, the others at what that changed. */
static void examine(struct plan *plan, bool all)
{
    struct job **jobs;
    struct job *job, *next;
    size_t n;

    if (all) {
        DL_FOREACH_SAFE2(plan->cluster->active, job, next, active_next)
        plan_examine(plan, job);
    }
    jobs = touched_jobs(plan->cluster, &n);
    for (size_t i = 0; i < n; i++)
        if (!all || job_state_is_final(jobs[i]->state)) /* that lacks nothing any more */
            plan_examine(plan, jobs[i]);
    free(jobs);
}

static void tell_policy(struct plan *plan)
{
    struct job *job;

    DL_FOREACH2(plan->cluster->touched, job, touched_next)
    plan_tell_policy(plan, job);
    plan_prepare_policy(plan);
}

/* false: no job was touched */
static bool finish(struct plan *plan)
{
    size_t n;
    struct job **jobs = touched_jobs(plan->cluster, &n);

    for (size_t i = 0; i < n; i++)
        plan_finish(plan, jobs[i]);
    for (size_t i = 0; i < n; i++) {
        plan_tell_policy(plan, jobs[i]);
        untouch(plan->cluster, jobs[i]);
    }
    free(jobs);
    return n > 0;
}

/* The sums of the groups decide the order, and the jobs that may be asked to give; those of owners
 * who may start. */
static void note_groups(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;

    if (planner->groups_changed && (planner->n_groups > 1 || planner->n_owners > 0))
        queue_might_move(cluster);
    planner->groups_changed = false;
}

/* Everything is looked at, whatever events have said of it. */
static void look_at_all(struct cluster *cluster, struct instant now)
{
    acts_clear(&cluster->planner->acts);
    rooms_look(cluster->planner);
    forget_removed_nodes(cluster);
    rooms_look_at_all(cluster->planner);
    queue_might_move(cluster);
    queue_file(cluster, now);
}

void plan_pass(struct cluster *cluster, bool first, struct instant now)
{
    struct plan plan = {
        .cluster = cluster, .planner = cluster->planner, .now = now, .searches = SEARCHES_MAX
    };
    bool changed;

    cluster->plan_wanted = false;
    if (first)
        look_at_all(cluster, now);
    plan_drain(&plan);
    examine(&plan, first);
    tell_policy(&plan); /* the functions below ask which jobs give way */
    plan_relieve(&plan);
    plan_queue_release(&plan);
    note_groups(cluster);
    plan_queue(&plan);
    plan_park(&plan);
    learn_take(cluster);
    rooms_look(plan.planner);
    owner_room_note_growth(cluster);
    tell_policy(&plan);
    plan_ask_policy(&plan);
    plan_stragglers(&plan);
    changed = finish(&plan);
    plan_drain_tell(&plan);
    rooms_tell(plan.planner);
    plan_queue_release(&plan);
    note_groups(cluster);
    /* the decisions since may make room for waiting jobs, and stand in for processes that leave
     * their node */
    if (plan.owner_refused || (plan.planner->queue_moves && plan_queue_waits(cluster)) ||
        (changed && plan_drain_any(cluster)))
        cluster->plan_wanted = true;
}

/* After a restart nobody knows what foreign load there is, nor what nodes still run that they
 * should not. Agents tell within a few heartbeats; until then nothing is started and nothing
 * stopped, for a part of a lease at most. */
bool plan_is_quiet(struct cluster *cluster, struct instant now)
{
    uint64_t until_us = deadline_at(&cluster->quiet);

    if (until_us == NEVER_US)
        return false;
    if (cluster->n_unheard > 0 && now.now_us < until_us)
        return true;
    deadline_set(&cluster->deadlines, &cluster->quiet, DEADLINE_QUIET, NEVER_US);
    return false;
}

/* The events are told; their consequences wait: the jobs stay touched. */
void plan_settle(struct cluster *cluster, struct instant now)
{
    size_t n;
    struct job **jobs = touched_jobs(cluster, &n);

    acts_clear(&cluster->planner->acts);
    for (size_t i = 0; i < n; i++)
        (void)plan_do(cluster, &(struct act){ .kind = ACT_SETTLE, .job = jobs[i]->id }, now);
    free(jobs);
    cluster->plan_wanted = false; /* the last node that is heard wants one, or the deadline */
}
