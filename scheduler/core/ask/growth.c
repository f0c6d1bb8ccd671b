/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - see growth.h: the first of the bounds that stops one more instance, from the job's own
 * knowledge over the limits of the cluster to the nodes; else the policy's words */
#include "scheduler/core/ask/growth.h"

#include <stdio.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/grow.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/policy/policy.h"
#include "scheduler/core/speed/measure.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* One more instance of a job. */
struct growth {
    const struct cluster *cluster;
    const struct job *job;
    const struct role_spec *role;
    uint32_t at, held; /* number of the role; instances */
};

/* Each writes its sentence and returns true when it stops the growth. */
typedef bool bound(const struct growth *growth, char *buffer, size_t size);

/* By what it tells of its queue. */
static bool is_enough(const struct growth *growth, char *buffer, size_t size)
{
    uint32_t wanted = job_wanted_by_backlog(growth->job);

    if (wanted == 0 || growth->held < wanted)
        return false;
    if (*job_describe_backlog(growth->job, buffer, size) == '\0')
        (void)snprintf(buffer, size, "it serves, and has not told of its queue yet");
    return true;
}

static bool is_unmeasured(const struct growth *growth, char *buffer, size_t size)
{
    const struct job *job = growth->job;
    const struct goodput_learned *learned = job->learned != NULL ? &job->learned->told : NULL;
    uint64_t seen;

    if (learned == NULL || learned->silent || job_wanted_by_backlog(job) > 0)
        return false;
    seen = MAX_OF(learned->largest, MAX_OF(growth->role->min, 1U));
    if (growth->held < GOODPUT_GROWTH_MAX * seen)
        return false;
    if (learned->largest > 0)
        (void)
            snprintf(buffer, size,
                     "its speed was measured with up to %u, and it grows to at most %u times that",
                     learned->largest, (unsigned)GOODPUT_GROWTH_MAX);
    else if (job->queue != NULL || job->tells_steps)
        (void)snprintf(buffer, size, "its speed is being measured before it has more");
    else
        (void)snprintf(buffer, size,
                       "nobody knows its speed yet; it grows on when it has told of its steps "
                       "(edl.step), or has run for a minute without");
    return true;
}

static bool is_limited(const struct growth *growth, char *buffer, size_t size)
{
    const struct policy_totals totals = cluster_totals(growth->cluster);
    enum policy_resource over = cluster_limit_of(growth->cluster, growth->role);

    if (over == POLICY_RESOURCES)
        return false;
    if (over == POLICY_CPU)
        (void)snprintf(
            buffer, size,
            "%.2f of the cluster's %.2f cores are requested, and jobs grow up to a load of "
            "%.1f%% (--max-load)",
            (double)totals.cpu_requested_millicores / 1000,
            (double)totals.cpu_total_millicores / 1000, totals.max_load_permille / 10.0);
    else
        (void)snprintf(buffer, size, "the cluster's %s is requested to the end",
                       over == POLICY_GPU ? "number of GPUs" : "memory");
    return true;
}

static bool is_owners(const struct growth *growth, char *buffer, size_t size)
{
    const struct resources *sums = growth->cluster->planner->owner_sums[OWNER_NOW];
    const struct resources need = resources_of_role(growth->role);
    const struct owner *owner =
        sums != NULL ? owner_exceeded(growth->cluster, growth->job, sums, &need) : NULL;

    if (owner == NULL)
        return false;
    (void)snprintf(buffer, size, "one more is beyond what %s %.80s may hold at once",
                   owner->is_group ? "group" : "user", owner->name);
    return true;
}

static bool is_promised(const struct growth *growth, char *buffer, size_t size)
{
    if (growth->cluster->planner->queue.n_promised == 0)
        return false;
    (void)snprintf(buffer, size, "room is being made for jobs that wait");
    return true;
}

/* An instance that has a node of its own waits for that, and says so elsewhere. */
static bool finds_no_node(const struct growth *growth, char *buffer, size_t size)
{
    const struct want want = want_of(growth->job, growth->at);
    char need[80];

    if (growth->role->nodes != NULL ||
        capacity_best_fit(&growth->cluster->planner->rooms, &want, true) != NULL)
        return false;
    resources_describe(&want.need, need, sizeof need);
    (void)snprintf(buffer, size, "no node has room for one more, which needs %s", need);
    return true;
}

/* By what each of its instances is worth. */
static bool is_decided(const struct growth *growth, char *buffer, size_t size)
{
    if (*job_describe_backlog(growth->job, buffer, size) == '\0')
        growth->cluster->config.policy->explain(growth->cluster->planner->policy, growth->job->id,
                                                buffer, size);
    return true;
}

static bound *const bounds[] = { is_enough,   is_unmeasured, is_owners, is_limited,
                                 is_promised, finds_no_node, is_decided };

char *cluster_explain_growth(const struct cluster *cluster, const struct job *job, char *buffer,
                             size_t size)
{
    int elastic = job_elastic_role(job);
    struct growth growth = { .cluster = cluster, .job = job, .at = (uint32_t)MAX_OF(elastic, 0) };
    char why[240];

    buffer[0] = '\0';
    rooms_look(cluster->planner);
    if (elastic < 0 || job->finishing || !(job->state == JOB_RUNNING || job->state == JOB_RESIZING))
        return buffer;
    growth.role = &job->spec->roles[elastic];
    growth.held = held_of_role(job, growth.at) - job->gives;
    if (growth.held >= growth.role->max)
        return buffer;
    for (size_t i = 0; !bounds[i](&growth, why, sizeof why);)
        i++;
    (void)snprintf(buffer, size, "it has %u of at most %u %s instances: %s", growth.held,
                   growth.role->max, growth.role->name, why);
    return buffer;
}
