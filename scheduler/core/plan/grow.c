/* SPDX-License-Identifier: Apache-2.0 */
/* grow.c - shows the policy what changed and carries out what it decides
 *
 * Requested = what live processes hold that are not stopping (their release is under way) + foreign
 * load + what started jobs lack + the gangs that room is being made for, with the servers that are
 * promised to them. All of it is kept as sums; the policy itself keeps the jobs, of which it is
 * told the touched ones. It grows and shrinks by one instance at a time, and each is placed or
 * stopped at once. */
#include "scheduler/core/plan/grow.h"

#include <stdio.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/digest.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/gpu_idle.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/plan/exchange.h"
#include "scheduler/core/plan/give.h"
#include "scheduler/core/plan/hold.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/repair.h"
#include "scheduler/core/plan/servers.h"
#include "scheduler/core/plan/victims.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"
#include "scheduler/core/policy/worth.h"
#include "scheduler/core/speed/measure.h"
#include "shared/job_spec.h"

/* A job that the policy moved rests for so many of its resize costs. */
#define RESTS 5
/* After it moved somebody it is not asked for so long, unless it is urgent. */
#define BETWEEN_MOVES_US (2 * USEC_PER_SEC)

/* A process that leaves a draining node by its own end only is wanted nowhere else
 * (plan/drain.c). */
static uint32_t ends_where_it_is(const struct job *job, uint32_t role)
{
    bool finishes = job->finishing && job_role_works(job, role);

    return job->spec->fault_tolerant && !finishes ? 0 : job->counts[role].leaving;
}

static int64_t lacking(const struct job *job, uint32_t role)
{
    int64_t there = (int64_t)job_staying(job, role) + ends_where_it_is(job, role);

    return MAX_OF((int64_t)held_of_role(job, role) - there, 0);
}

static struct resources lack_of(const struct job *job)
{
    struct resources lack = { 0 };
    size_t gang = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct resources need = resources_of_role(&job->spec->roles[r]);

        if (planned_promised(job))
            resources_add(&lack, &need, job->spec->roles[r].min);
        else if (job_is_started(job))
            resources_add(&lack, &need, lacking(job, r));
        gang += job->spec->roles[r].min;
    }
    if (planned_promised(job)) {
        const struct resources beyond = plan_promised_beyond(job, gang);

        resources_add(&lack, &beyond, 1);
    }
    return lack;
}

/* Slots that could be filled: one that is still being stopped or was given up is not. So a growth
 * that the policy wants fails for want of a node only, which says something about other jobs as
 * well. */
static uint32_t most_of(const struct job *job, uint32_t role)
{
    const struct role_counts *counts = &job->counts[role];
    uint32_t max = job->spec->roles[role].max;
    uint32_t kept =
        MIN_OF(counts->stopping + counts->leaving + counts->finished + counts->given_up, max);

    return max - kept;
}

static void entry_of_started(const struct job *job, uint32_t role, struct policy_job *entry)
{
    const struct role_spec *spec = &job->spec->roles[role];
    uint32_t live = job_count(job, role, true);

    uint32_t held = held_of_role(job, role);

    entry->parallelism = held - job->gives;
    entry->max = MAX_OF(MAX_OF(most_of(job, role), entry->parallelism), spec->min);
    entry->stable = live == held && live == job_count_running(job, role);
    entry->rests = deadline_at(&planned_is(job)->rest) != NEVER_US;
    if (entry->wanted > 0) { /* that has a hysteresis of its own, and it gives at any moment */
        entry->stable = true;
        entry->rests = false;
    }
    if (job->state == JOB_STARTING) { /* the gang comes first */
        entry->stable = false;
        entry->min = entry->parallelism;
        entry->max = entry->parallelism;
    } else if (job->finishing) {
        entry->max = entry->parallelism;
        /* without a task queue nobody else does a slot's share: it is not shrunk any more */
        entry->min = job->queue != NULL ? MIN_OF(spec->min, entry->max) : entry->max;
    }
}

/* Ports, labels, nodes that cannot run it, nodes of its own: of two jobs that differ in them one
 * may find a node where the other does not.
 */
static uint64_t where_of(const struct job *job, const struct role_spec *spec)
{
    const struct labels *selector = role_selector(spec);
    uint64_t digest = spec->n_ports;

    for (uint32_t i = 0; i < selector->n; i++) {
        digest = digest_text(digest, selector->items[i].name);
        digest = digest_text(digest, selector->items[i].value);
    }
    if (job->unfit != NULL || spec->nodes != NULL)
        digest ^= (job->id + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return digest;
}

/* false: the policy has nothing to do with it */
static bool entry_of(const struct job *job, struct policy_job *entry)
{
    int elastic = job_elastic_role(job);
    uint32_t role = elastic >= 0 ? (uint32_t)elastic : (uint32_t)job->spec->n_roles - 1;
    const struct role_spec *spec = &job->spec->roles[role];
    uint64_t due_us = deadline_at(&job->due);

    if (!planned_promised(job) && (elastic < 0 || !job_is_started(job)))
        return false;
    *entry = (struct policy_job){ .id = job->id,
                                  .priority = job->spec->priority,
                                  .min = spec->min,
                                  .max = spec->min,
                                  .pending = planned_promised(job),
                                  .cpu_millicores = spec->cpu_millicores,
                                  .memory_bytes = spec->memory_bytes,
                                  .gpus = spec->gpus,
                                  .where = where_of(job, spec),
                                  .group = job->group,
                                  .wanted = job_wanted_by_backlog(job),
                                  .busy = job_busy_most(job, role),
                                  .units_left = -1 };
    if (job->learned != NULL) {
        entry->learned = &job->learned->told;
        entry->units_done = job->learned->units_done;
        entry->units_left = job->learned->units_left;
        entry->learned_at_s = (double)job->learned->told_us / USEC_PER_SEC;
        entry->elapsed_s = job->learned->elapsed_s;
        entry->crowd = job->learned->crowd;
        entry->due_s = due_us == NEVER_US ? 0 : (double)due_us / USEC_PER_SEC;
    }
    if (!planned_promised(job))
        entry_of_started(job, role, entry);
    return true;
}

/* More than its owner may hold would be asked for in vain, and others would give way for it. */
static void bound_by_owner(const struct planner *planner, struct job *job, struct policy_job *entry)
{
    int role = planned_promised(job) ? -1 : job_elastic_role(job);
    uint64_t most;

    if (role < 0)
        return;
    if (owner_room_is_bound(planner, job))
        planned_of(job)->owner_growth = owner_room_growth(planner, job, (uint32_t)role);
    most = (uint64_t)entry->parallelism + owner_room_more(planner, job, (uint32_t)role);
    entry->max = (uint32_t)MIN_OF((uint64_t)entry->max, MAX_OF(most, (uint64_t)entry->min));
}

void plan_tell_policy(struct plan *plan, struct job *job)
{
    const struct policy *policy = plan->cluster->config.policy;
    struct planner *planner = plan->planner;
    struct resources lack = lack_of(job);
    struct policy_job entry;

    plan_count_gives(plan, job);
    resources_add(&planner->requested, &planned_is(job)->lack, -1);
    resources_add(&planner->requested, &lack, 1);
    planned_of(job)->lack = lack;
    if (entry_of(job, &entry)) {
        bound_by_owner(planner, job, &entry);
        policy->put(planner->policy, &entry);
        planned_set(job, &planned_of(job)->known_to_policy, true);
    } else if (planned_is(job)->known_to_policy) {
        policy->drop(planner->policy, job->id);
        planned_set(job, &planned_of(job)->known_to_policy, false);
    }
}

/* It neither gives nor takes until the move has paid for itself; else two jobs of about the same
 * worth hand their instances to and fro, and each measurement makes the other one worth more. */
static void rest(const struct plan *plan, struct job *job)
{
    if (job->learned != NULL)
        deadline_set(&plan->cluster->deadlines, &planned_of(job)->rest, DEADLINE_REST,
                     plan->now.now_us +
                         (uint64_t)(RESTS * job->learned->told.resize_s * USEC_PER_SEC));
}

static void decided_by_policy(struct plan *plan, struct job *job, enum resize_reason reason)
{
    char why[160];

    rest(plan, job);
    plan->planner->moved_us = plan->now.now_us;
    if (*job_describe_backlog(job, why, sizeof why) == '\0')
        plan->cluster->config.policy->explain(plan->planner->policy, job->id, why, sizeof why);
    plan_size(plan, job, reason, "%s, %s", why, plan->load);
}

static bool grow(void *userdata, uint64_t id)
{
    struct plan *plan = userdata;
    struct job *job = cluster_job(plan->cluster, id);
    int role = job == NULL || !job_is_started(job) ? -1 : job_elastic_role(job);
    uint32_t counted, short_of;

    if (role < 0 || job->finishing || job->state == JOB_STARTING)
        return false;
    if (owner_room_more(plan->planner, job, (uint32_t)role) == 0) {
        plan->owner_refused = true; /* the policy takes that for a want of room, also of others */
        return false;
    }
    counted =
        job_count(job, (uint32_t)role, false) + count_backing_off(job, (uint32_t)role, plan->now);
    plan_hold_on(plan);
    short_of = fill_role(plan, job, (uint32_t)role, counted + 1);
    plan_hold_off(plan);
    if (short_of > 0)
        return false;
    decided_by_policy(plan, job, RESIZE_GROWN);
    return true;
}

/* A repair that is still to come goes before living instances. */
static bool shrink(void *userdata, uint64_t id)
{
    struct plan *plan = userdata;
    struct job *job = cluster_job(plan->cluster, id);
    int elastic = job == NULL || !job_is_started(job) ? -1 : job_elastic_role(job);
    uint32_t role = (uint32_t)elastic;
    struct process *victim;
    uint32_t counted;
    uint32_t due;
    char reason[sizeof victim->reason];

    if (elastic < 0)
        return false;
    counted = job_staying(job, role);
    due = job_count_due(job, role);
    if (counted + due <= job->spec->roles[role].min)
        return false;
    if (due > 0) {
        trim_due(plan, job, role, due - 1);
    } else {
        victim = next_victim(job, role, true);
        if (victim == NULL)
            return false;
        (void)snprintf(reason, sizeof reason, "shrunk by the policy %s: %s",
                       plan->cluster->config.policy->name, plan->load);
        plan_stop(plan, victim, false, CAUSE_SHRUNK, reason);
    }
    decided_by_policy(plan, job, RESIZE_SHRUNK);
    return true;
}

/* An instance without a task loses nothing by a stop. */
static bool give(void *userdata, uint64_t id)
{
    struct plan *plan = userdata;
    struct job *job = cluster_job(plan->cluster, id);

    if (job == NULL || !plan_give(plan, job))
        return shrink(userdata, id);
    decided_by_policy(plan, job, RESIZE_SHRUNK);
    return true;
}

static bool keep(void *userdata, uint64_t id)
{
    struct plan *plan = userdata;
    struct job *job = cluster_job(plan->cluster, id);

    if (job == NULL || job->gives == 0)
        return false;
    plan_set_gives(plan, job, job->gives - 1);
    plan_touch(plan->cluster, job);
    decided_by_policy(plan, job, RESIZE_GROWN);
    return true;
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* cluster_job_leaves_room - see grow.h */
bool cluster_job_leaves_room(const struct cluster *cluster, uint64_t id, double believed_s)
{
    const struct job *job = cluster_job(cluster, id);
    int role = job != NULL ? job_elastic_role(job) : -1;
    const struct goodput_learned *learned;
    double saved_s; /* a unit, with one more */
    uint32_t held;

    if (role < 0 || job->learned == NULL)
        return false;
    learned = &job->learned->told;
    held = held_of_role(job, (uint32_t)role);
    if (!learned->silent &&
        held >= (uint64_t)GOODPUT_GROWTH_MAX *
                    MAX_OF(learned->largest, job->spec->roles[role].min)) /* it is measured first */
        return true;
    saved_s = goodput_learn_unit_s(learned, held) - goodput_learn_unit_s(learned, held + 1);
    if (saved_s <= 0 && learned->largest > 0)
        return true;
    return learned->resize_s > GOODPUT_CHEAP_S && learned->resize_s <= believed_s &&
           !(job->learned->units_left * saved_s > learned->resize_s);
}

/* Over a limit nobody waits for the end of a task. */
static bool is_within_limits(const struct cluster *cluster)
{
    const struct planner *planner = cluster->planner;

    return planner->requested.cpu_millicores <=
               policy_load_limit(planner->total.cpu_millicores,
                                 cluster->config.max_load_permille) &&
           planner->requested.memory_bytes <= planner->total.memory_bytes &&
           planner->requested.gpus <= planner->total.gpus;
}

/* cluster_totals - see grow.h */
struct policy_totals cluster_totals(const struct cluster *cluster)
{
    const struct planner *planner = cluster->planner;
    const struct resources none = { 0 };
    const struct resources *given = is_within_limits(cluster) ? &planner->given : &none;

    return (struct policy_totals){
        .cpu_total_millicores = planner->total.cpu_millicores,
        .cpu_requested_millicores = planner->requested.cpu_millicores - given->cpu_millicores,
        .memory_total_bytes = planner->total.memory_bytes,
        .memory_requested_bytes = planner->requested.memory_bytes - given->memory_bytes,
        .gpu_total = planner->total.gpus,
        .gpu_requested = planner->requested.gpus - given->gpus,
        .cpu_stopping_millicores = planner->stopping.cpu_millicores + given->cpu_millicores,
        .memory_stopping_bytes = planner->stopping.memory_bytes + given->memory_bytes,
        .gpu_stopping = planner->stopping.gpus + given->gpus,
        .max_load_permille = cluster->config.max_load_permille,
        .groups = planner->n_groups > 1 ? planner->groups : NULL,
        .n_groups = planner->n_groups,
    };
}

/* cluster_limit_of - see grow.h: a stopping instance is load until it is gone */
enum policy_resource cluster_limit_of(const struct cluster *cluster, const struct role_spec *role)
{
    const struct policy_totals totals = cluster_totals(cluster);
    const struct request one = { .cpu_millicores = role->cpu_millicores,
                                 .memory_bytes = role->memory_bytes,
                                 .gpus = role->gpus };
    enum policy_resource r = POLICY_CPU;

    while (r < POLICY_RESOURCES && (request_amount(&one, r) == 0 ||
                                    policy_free(&totals, r) >= (int64_t)request_amount(&one, r)))
        r++;
    return r;
}

void plan_prepare_policy(struct plan *plan)
{
    const struct policy *policy = plan->cluster->config.policy;
    struct policy_totals totals = cluster_totals(plan->cluster);

    if (policy->prepare != NULL)
        policy->prepare(plan->planner->policy, &totals);
}

/* The policy moved somebody a moment ago and nothing is urgent: it decides on all news together,
 * when the deadline wants a plan. At the instant of its moves it is asked again: it has nothing to
 * change then. */
static bool waits_to_ask(const struct plan *plan)
{
    struct cluster *cluster = plan->cluster;
    struct planner *planner = plan->planner;
    uint64_t next_us = planner->moved_us + BETWEEN_MOVES_US;
    bool waits = planner->moved_us > 0 && plan->now.now_us > planner->moved_us &&
                 plan->now.now_us < next_us && planner->queue.n_promised == 0 &&
                 is_within_limits(cluster);

    deadline_set(&cluster->deadlines, &planner->asked, DEADLINE_POLICY, waits ? next_us : NEVER_US);
    return waits;
}

void plan_ask_policy(struct plan *plan)
{
    static const struct policy_ops ops = {
        .grow = grow, .shrink = shrink, .give = give, .keep = keep
    };
    const struct planner *planner = plan->planner;
    struct policy_totals totals = cluster_totals(plan->cluster);

    if (waits_to_ask(plan))
        return;
    (void)snprintf(plan->load, sizeof plan->load, "load %.1f%% of at most %.1f%%",
                   percent(totals.cpu_requested_millicores, totals.cpu_total_millicores),
                   totals.max_load_permille / 10.0);
    plan->cluster->config.policy->decide(planner->policy, &totals, &ops, plan);
}

/* cluster_prices - see grow.h */
bool cluster_prices(const struct cluster *cluster, struct policy_price ret[POLICY_RESOURCES])
{
    const struct policy *policy = cluster->config.policy;
    struct policy_totals totals = cluster_totals(cluster);

    memset(ret, 0, POLICY_RESOURCES * sizeof *ret);
    if (policy->prices == NULL)
        return false;
    policy->prices(cluster->planner->policy, &totals, ret);
    return true;
}
