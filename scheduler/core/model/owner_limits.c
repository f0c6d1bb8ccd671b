/* SPDX-License-Identifier: Apache-2.0 */
/* owner_limits.c - how much the jobs of one user, or of one group, may hold and be */
#include "scheduler/core/model/owner_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

struct job_owners job_owners(const struct cluster *cluster, const struct job *job)
{
    struct job_owners owners = { .n = 0 };

    owners.n = group_table_owners_of(cluster->config.groups, job->user, owners.index);
    return owners;
}

/* Stopping instances of which the slot is filled again, once it is free. */
static uint32_t come_back(const struct job *job, uint32_t role)
{
    uint32_t n = 0;

    for (uint32_t i = 0; job->counts[role].stopping > 0 && i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        n += slot->due && slot->live != NULL && slot->live->state == PROCESS_STOPPING;
    }
    return n;
}

/* The minimum of a started job is filled, and nobody asks again then. */
static uint32_t staying_of(const struct job *job, uint32_t role)
{
    uint32_t n = job_count(job, role, false) + job->counts[role].due + come_back(job, role);

    return job_is_started(job) ? MAX_OF(n, job_role_floor(job, role)) : 0;
}

struct resources owner_part(const struct job *job, bool stopping)
{
    struct resources held = { 0 };

    for (uint32_t r = 0; job->state != JOB_QUEUED && r < job->spec->n_roles; r++) {
        const struct resources need = resources_of_role(&job->spec->roles[r]);

        resources_add(&held, &need, staying_of(job, r));
        if (stopping) /* one that is filled again may be filled elsewhere before it is gone */
            resources_add(&held, &need,
                          job_is_started(job) ? job->counts[r].stopping : job->counts[r].live);
    }
    return held;
}

struct resources *owner_sums(const struct cluster *cluster, size_t *ret_n)
{
    struct resources *sums;
    const struct job *job;

    *ret_n = group_table_n_owners(cluster->config.groups);
    if (*ret_n == 0)
        return NULL;
    sums = xcalloc(*ret_n, sizeof *sums);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        struct job_owners owners = job_owners(cluster, job);
        struct resources held;

        if (owners.n == 0 || job->state == JOB_QUEUED)
            continue;
        held = owner_part(job, true);
        for (uint32_t i = 0; i < owners.n; i++)
            resources_add(&sums[owners.index[i]], &held, 1);
    }
    return sums;
}

/* The limits of one owner, as amounts of one kind. */
struct bound {
    uint64_t most; /* 0: none */
    int64_t held, more;
    const char *unit;
    uint64_t scale;
};

static void bounds_of(const struct owner_limits *limits, const struct resources *sum,
                      const struct resources *more, struct bound ret[2])
{
    ret[0] = (struct bound){ limits->cpu_millicores, sum->cpu_millicores, more->cpu_millicores,
                             "core", 1000 };
    ret[1] = (struct bound){ limits->gpus, sum->gpus, more->gpus, "GPU", 1 };
}

static bool is_over(const struct bound *bound)
{
    return bound->most != 0 && bound->more > 0 &&
           (bound->held < 0 ? 0 : (uint64_t)bound->held) + (uint64_t)bound->more > bound->most;
}

bool owner_is_over(const struct owner *owner, const struct resources *sum,
                   struct resources *ret_over)
{
    const struct owner_limits *limits = &owner->limits;

    *ret_over = (struct resources){
        .cpu_millicores =
            limits->cpu_millicores != 0 && sum->cpu_millicores > (int64_t)limits->cpu_millicores,
        .gpus = limits->gpus != 0 && sum->gpus > (int64_t)limits->gpus,
    };
    return ret_over->cpu_millicores > 0 || ret_over->gpus > 0;
}

/* ret_bound: which of its limits */
static const struct owner *find_excess(const struct cluster *cluster, const struct job *job,
                                       const struct resources *sums, const struct resources *more,
                                       struct bound *ret_bound)
{
    struct job_owners owners = job_owners(cluster, job);
    struct bound bounds[2];

    for (uint32_t i = 0; i < owners.n; i++) {
        const struct owner *owner = group_table_owner(cluster->config.groups, owners.index[i]);

        bounds_of(&owner->limits, &sums[owners.index[i]], more, bounds);
        for (size_t b = 0; b < ELEMENTS(bounds); b++) {
            if (!is_over(&bounds[b]))
                continue;
            *ret_bound = bounds[b];
            return owner;
        }
    }
    return NULL;
}

const struct owner *owner_exceeded(const struct cluster *cluster, const struct job *job,
                                   const struct resources *sums, const struct resources *more)
{
    struct bound bound;

    return find_excess(cluster, job, sums, more, &bound);
}

char *owner_excess(const struct cluster *cluster, const struct job *job,
                   const struct resources *sums, const struct resources *more, char *buffer,
                   size_t size)
{
    struct bound bound;
    const struct owner *owner = find_excess(cluster, job, sums, more, &bound);

    buffer[0] = '\0';
    if (owner != NULL)
        (void)snprintf(buffer, size, "its %s %.80s may hold %g %s%s at once, and the job needs %g",
                       owner->is_group ? "group" : "owner", owner->name,
                       (double)bound.most / (double)bound.scale, bound.unit,
                       bound.most == bound.scale ? "" : "s",
                       (double)bound.more / (double)bound.scale);
    return buffer;
}

static uint64_t times(uint64_t most, int64_t held, int64_t need)
{
    if (most == 0 || need <= 0)
        return UINT32_MAX;
    return held >= (int64_t)most ? 0 : ((uint64_t)((int64_t)most - held)) / (uint64_t)need;
}

uint32_t owner_room(const struct cluster *cluster, const struct job *job,
                    const struct resources *sums, const struct resources *need)
{
    struct job_owners owners = job_owners(cluster, job);
    uint64_t room = UINT32_MAX;

    for (uint32_t i = 0; i < owners.n; i++) {
        const struct resources *sum = &sums[owners.index[i]];
        const struct owner_limits *limits =
            &group_table_owner(cluster->config.groups, owners.index[i])->limits;

        room =
            MIN_OF(room, times(limits->cpu_millicores, sum->cpu_millicores, need->cpu_millicores));
        room = MIN_OF(room, times(limits->gpus, sum->gpus, need->gpus));
    }
    return (uint32_t)room;
}

/* --- submissions --- */

static bool is_owner(const struct cluster *cluster, const char *user, uint32_t owner)
{
    uint32_t owners[2];
    uint32_t n = group_table_owners_of(cluster->config.groups, user, owners);

    for (uint32_t i = 0; i < n; i++)
        if (owners[i] == owner)
            return true;
    return false;
}

/* Jobs that are not over are counted by user (holdings.h): linear in the users of a group's limit,
 * not in jobs. */
static uint64_t jobs_of(const struct cluster *cluster, uint32_t index)
{
    const struct owner *owner = group_table_owner(cluster->config.groups, index);
    const struct holding *holding;
    uint64_t n = 0;

    if (!owner->is_group)
        return holdings_jobs(&cluster->holdings, owner->name);
    for (holding = cluster->holdings.users; holding != NULL; holding = holding->hh.next)
        if (is_owner(cluster, holding->user, index))
            n += holding->amounts[HOLDING_JOBS];
    return n;
}

/* refuse - by a limit of that owner, at a key of the document */
static int refuse(const struct owner *owner, const char *pointer, const char *text,
                  struct edl_error *error)
{
    (void)edl_error_at(error, -EDQUOT, pointer, "%s %.80s may have %s",
                       owner->is_group ? "the group" : "the user", owner->name, text);
    return edl_error_remedy(error, "ask for less, or an admin for more: edl %s set %.80s",
                            owner->is_group ? "group" : "user", owner->name);
}

static struct resources least_of(const struct job_spec *spec)
{
    struct resources least = { 0 };

    for (size_t r = 0; r < spec->n_roles; r++) {
        const struct resources need = resources_of_role(&spec->roles[r]);

        resources_add(&least, &need, spec->roles[r].min);
    }
    return least;
}

static int check_amounts(const struct owner *owner, const struct resources *least,
                         const char *pointer, struct edl_error *error)
{
    const struct resources none = { 0 };
    struct bound bounds[2];
    char text[160];

    bounds_of(&owner->limits, &none, least, bounds);
    for (size_t b = 0; b < ELEMENTS(bounds); b++) {
        if (!is_over(&bounds[b]))
            continue;
        (void)snprintf(text, sizeof text, "%g %s%s at once: the minimum of this job needs %g",
                       (double)bounds[b].most / (double)bounds[b].scale, bounds[b].unit,
                       bounds[b].most == bounds[b].scale ? "" : "s",
                       (double)bounds[b].more / (double)bounds[b].scale);
        return refuse(owner, pointer, text, error);
    }
    return 0;
}

static int check_jobs(const struct cluster *cluster, uint32_t index, uint64_t n,
                      struct edl_error *error)
{
    const struct owner *owner = group_table_owner(cluster->config.groups, index);
    uint64_t held;
    char text[160];

    if (owner->limits.jobs == 0)
        return 0;
    held = jobs_of(cluster, index);
    if (held + n <= owner->limits.jobs)
        return 0;
    (void)snprintf(text, sizeof text,
                   "at most %" PRIu64 " jobs: there are %" PRIu64 ", and more come: %" PRIu64,
                   owner->limits.jobs, held, n);
    return refuse(owner, "/spec", text, error);
}

static int check_time(const struct owner *owner, struct job_spec *spec, struct edl_error *error)
{
    uint64_t most_us = owner->limits.time_us;
    char text[160];

    if (most_us == 0)
        return 0;
    if (spec->time_limit_us > most_us) {
        (void)snprintf(text, sizeof text,
                       "jobs of a time limit of %" PRIu64 " s at most: this one asks for %" PRIu64
                       " s",
                       most_us / USEC_PER_SEC, spec->time_limit_us / USEC_PER_SEC);
        return refuse(owner, "/spec/time_limit", text, error);
    }
    return 0;
}

int owners_check_submit(const struct cluster *cluster, struct job_spec *spec, const char *user,
                        struct edl_error *error)
{
    uint32_t owners[2];
    uint32_t n = group_table_owners_of(cluster->config.groups, user, owners);
    const struct resources least = least_of(spec);
    uint64_t least_us = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const struct owner *owner = group_table_owner(cluster->config.groups, owners[i]);

        r = check_time(owner, spec, error);
        if (r == 0)
            r = check_amounts(owner, &least, "/spec", error);
        if (r == 0)
            r = check_jobs(cluster, owners[i], MAX_OF(spec->array.n, 1U), error);
        if (owner->limits.time_us != 0 && (least_us == 0 || owner->limits.time_us < least_us))
            least_us = owner->limits.time_us;
    }
    if (r == 0 && spec->time_limit_us == 0)
        spec->time_limit_us = least_us;
    return r;
}

/* The next plan fills its minimum, and looks at no limit then. */
static int check_started(const struct cluster *cluster, const struct job *job, uint32_t role,
                         uint32_t min, struct edl_error *error)
{
    const struct resources need = resources_of_role(&job->spec->roles[role]);
    uint32_t held = staying_of(job, role);
    struct resources more = { 0 };
    char text[200] = "";
    struct resources *sums;
    size_t n_sums;

    if (min <= held)
        return 0;
    sums = owner_sums(cluster, &n_sums);
    resources_add(&more, &need, min - held);
    if (sums != NULL)
        (void)owner_excess(cluster, job, sums, &more, text, sizeof text);
    free(sums);
    if (text[0] == '\0')
        return 0;
    (void)edl_error_at(error, -EDQUOT, "/min", "%s", text);
    return edl_error_remedy(error, "a lower minimum, or ask an admin for more");
}

/* As a submission with that minimum: it waits until there is room. */
static int check_queued(const struct cluster *cluster, const struct job *job, uint32_t role,
                        uint32_t min, struct edl_error *error)
{
    const struct resources need = resources_of_role(&job->spec->roles[role]);
    struct resources least = least_of(job->spec);
    struct job_owners owners = job_owners(cluster, job);
    int r = 0;

    if (min <= job->spec->roles[role].min)
        return 0;
    resources_add(&least, &need, min - job->spec->roles[role].min);
    for (uint32_t i = 0; r == 0 && i < owners.n; i++)
        r = check_amounts(group_table_owner(cluster->config.groups, owners.index[i]), &least,
                          "/min", error);
    return r;
}

int owners_check_min(const struct cluster *cluster, const struct job *job, uint32_t role,
                     uint32_t min, struct edl_error *error)
{
    return job_is_started(job) ? check_started(cluster, job, role, min, error)
                               : check_queued(cluster, job, role, min, error);
}
