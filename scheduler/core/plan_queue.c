/* SPDX-License-Identifier: Apache-2.0 */
/* plan_queue.c - starts waiting gangs, in order of priority and submission, or says why it cannot
 *
 * A gang that does not fit now but will when what is stopping is gone, or when elastic jobs give
 * way down to their minima, is promised that room: later gangs and growth see the nodes without it
 * (backfill takes only the rest). A gang that would not fit even then is promised nothing and
 * nobody shrinks for it: it waits for a job's end. */
#include "scheduler/core/core_internal.h"

#include <stdio.h>
#include <utlist.h>

static size_t gang_size(const struct demand *demands, size_t n)
{
    size_t size = 0;

    for (size_t i = 0; i < n; i++)
        size += demands[i].count;
    return size;
}

static struct resources gang_total(const struct demand *demands, size_t n)
{
    struct resources total = { 0 };

    for (size_t i = 0; i < n; i++)
        resources_add(&total, &demands[i].need, demands[i].count);
    return total;
}

/* Takes nodes that are away for present: "never" is a strong word. Asked again only when offers
 * change. */
static bool fits_ever(const struct cluster *cluster, struct job *job, const struct demand *demands,
                      size_t n)
{
    struct rooms rooms;

    if (job->fits_version == cluster->offers_version)
        return job->fits_ever;
    rooms = rooms_of_nodes(cluster, true);
    job->fits_ever = rooms_place_gang(&rooms, demands, n, true, NULL, NULL);
    job->fits_version = cluster->offers_version;
    rooms_done(&rooms);
    return job->fits_ever;
}

static void explain_never(struct cluster *cluster, struct job *job, const struct demand *demands,
                          size_t n)
{
    struct rooms rooms = rooms_of_nodes(cluster, true);
    struct resources offered = { 0 };
    char need[80];
    char have[80];

    for (size_t i = 0; i < rooms.n; i++)
        resources_add(&offered, &rooms.items[i].now, 1);
    resources_describe(&offered, have, sizeof have);
    for (size_t i = 0; i < n; i++) {
        if (rooms_best_fit(&rooms, &demands[i].need, true) != NULL)
            continue;
        resources_describe(&demands[i].need, need, sizeof need);
        job_set_reason(cluster, job, "never-fits",
                       "one %s needs %s and %lld ports: no node offers that much, even empty",
                       job->spec->roles[demands[i].role].name, need,
                       (long long)demands[i].need.ports);
        rooms_done(&rooms);
        return;
    }
    offered = gang_total(demands, n);
    resources_describe(&offered, need, sizeof need);
    job_set_reason(cluster, job, "never-fits",
                   "its minimum of %zu processes needs %s: the %zu nodes offer %s and cannot hold "
                   "it even when empty",
                   gang_size(demands, n), need, rooms.n, have);
    rooms_done(&rooms);
}

static void explain(struct plan *plan, struct job *job, const struct demand *demands, size_t n,
                    bool promised)
{
    struct cluster *cluster = plan->cluster;
    struct resources total = gang_total(demands, n);
    struct resources left = { 0 };
    int64_t largest = 0;
    char need[80];

    if (plan->rooms.n == 0) {
        job_set_reason(cluster, job, "no-nodes", "no node is ready to take processes");
        return;
    }
    if (!fits_ever(cluster, job, demands, n)) {
        explain_never(cluster, job, demands, n);
        return;
    }
    for (size_t i = 0; i < plan->rooms.n; i++) {
        const struct resources *now = &plan->rooms.items[i].now;

        if (now->cpu_millicores <= 0)
            continue;
        resources_add(&left, now, 1);
        largest = MAX_OF(largest, now->cpu_millicores);
    }
    resources_describe(&total, need, sizeof need);
    job_set_reason(cluster, job, "gang-does-not-fit",
                   "its minimum of %zu processes needs %s; free are %lldm CPU on %zu nodes, at "
                   "most %lldm on one; %s",
                   gang_size(demands, n), need, (long long)left.cpu_millicores, plan->rooms.n,
                   (long long)largest,
                   promised ? "room is being made for it"
                            : "it waits until a job ends or a node comes");
}

/* Lowest free slot; right after the submit all are. */
static void start(struct plan *plan, struct job *job, const struct placed *placed, size_t n)
{
    uint32_t next[JOB_ROLES_MAX] = { 0 };

    job_set_reason(plan->cluster, job, "starting", "its %zu processes are being started", n);
    (void)job_set_state(plan->cluster, job, JOB_STARTING, plan->now);
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        job_set_target(plan->cluster, job, r, job->spec->roles[r].min, plan->now);
    for (size_t i = 0; i < n; i++)
        /* room has counted the ports: this cannot fail */
        (void)process_assign(plan->cluster, job, placed[i].role, next[placed[i].role]++,
                             placed[i].room->node, plan->now);
}

/* What it is promised counts as requested, so that the policy makes room and lets nobody grow into
 * it. */
static bool promise(struct plan *plan, struct job *job, const struct demand *demands, size_t n)
{
    struct resources total = gang_total(demands, n);

    if (plan->tries == 0 || !plan_make_room(plan, demands, n))
        return false;
    resources_add(&plan->promised, &total, 1);
    if (plan->beneficiary == NULL)
        plan->beneficiary = job;
    return true;
}

static bool place_job(struct plan *plan, struct job *job)
{
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands(job->spec, demands);
    struct placed *placed = xcalloc(gang_size(demands, n), sizeof *placed);
    size_t n_placed;
    bool waits = false;

    if (rooms_place_gang(&plan->rooms, demands, n, true, placed, &n_placed)) {
        start(plan, job, placed, n_placed);
    } else {
        waits = fits_ever(plan->cluster, job, demands, n) && promise(plan, job, demands, n);
        explain(plan, job, demands, n, waits);
    }
    free(placed);
    return waits;
}

struct turn {
    struct job *job;
    size_t index; /* in the list of active jobs */
};

static int compare_turns(const void *a, const void *b)
{
    const struct job *x = ((const struct turn *)a)->job;
    const struct job *y = ((const struct turn *)b)->job;

    if (x->spec->priority != y->spec->priority)
        return x->spec->priority > y->spec->priority ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void plan_gangs(struct plan *plan)
{
    struct turn *turns = xcalloc(plan->n_active, sizeof *turns);
    size_t n = 0;
    size_t i = 0;
    struct job *job;

    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        if (job->state == JOB_QUEUED)
            turns[n++] = (struct turn){ .job = job, .index = i };
        i++;
    }
    qsort(turns, n, sizeof *turns, compare_turns);
    for (i = 0; i < n; i++)
        plan->waiting[turns[i].index] = place_job(plan, turns[i].job);
    free(turns);
}
