/* SPDX-License-Identifier: Apache-2.0 */
/* plan_reason.c - what waiting jobs are told: why, in numbers, and what would change it
 *
 * A job is told when its standing changes, not whenever a number does: each telling is a row to be
 * saved, and with thousands waiting that would be thousands of rows an event. So the numbers are
 * those of that moment; cluster_explain gives those of now. */
#include "scheduler/core/plan_internal.h"

#include <stdio.h>
#include <utlist.h>

/* spec_fits_ever - see core_internal.h. Takes nodes that are away for present: "never" is a strong
 * word. */
bool spec_fits_ever(const struct cluster *cluster, const struct job_spec *spec)
{
    struct capacity *offered = &cluster->planner->offered;
    struct demand demands[JOB_ROLES_MAX];
    size_t mark = capacity_mark(offered);
    size_t n = gang_demands(spec, demands);
    bool fits = place_gang(offered, demands, n, true, NULL);

    capacity_roll_back(offered, mark);
    return fits;
}

bool queue_fits_ever(const struct cluster *cluster, struct queue_class *class)
{
    if (class->fits_version != cluster->offers_version) {
        class->fits_ever = spec_fits_ever(cluster, class->jobs->spec);
        class->fits_version = cluster->offers_version;
    }
    return class->fits_ever;
}

/* explain_never - see core_internal.h */
void explain_never(const struct cluster *cluster, const struct job_spec *spec, char *buffer,
                   size_t size)
{
    const struct capacity *offered = &cluster->planner->offered;
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands(spec, demands);
    struct resources total = gang_total(demands, n);
    char need[80];

    for (size_t i = 0; i < n; i++) {
        const struct want *want = &demands[i].want;
        char labels[100];

        if (capacity_best_fit(offered, want, true) != NULL)
            continue;
        resources_describe(&want->need, need, sizeof need);
        (void)snprintf(buffer, size,
                       "one %s needs %s and %lld ports%s%s: no node offers that much, even empty; "
                       "a larger node or a smaller request would change it",
                       spec->roles[demands[i].role].name, need, (long long)want->need.ports,
                       want->selector != NULL ? " on a node with " : "",
                       want->selector != NULL
                           ? labels_describe(want->selector, labels, sizeof labels)
                           : "");
        return;
    }
    resources_describe(&total, need, sizeof need);
    (void)snprintf(buffer, size,
                   "its minimum of %zu processes needs %s: the %u nodes offer %lldm CPU and cannot "
                   "hold it even when empty; more nodes or a lower minimum would change it",
                   gang_size(demands, n), need, capacity_n_rooms(offered),
                   (long long)offered->free_cpu_millicores);
}

/* How many of its class came before it; at the end, where new ones come, that is no walk. */
static uint32_t jobs_before(const struct queue_class *class, const struct job *job)
{
    uint32_t n = 0;

    if (job->plan.class_next == NULL)
        return class->n_jobs - 1;
    for (; job != class->jobs; job = job->plan.class_prev)
        n++;
    return n;
}

static void say_waits(const struct cluster *cluster, const struct demand *demands, size_t n,
                      bool promised, char *buffer, size_t size)
{
    const struct capacity *rooms = &cluster->planner->rooms;
    struct resources total = gang_total(demands, n);
    char need[80];

    resources_describe(&total, need, sizeof need);
    (void)snprintf(buffer, size,
                   "its minimum of %zu processes needs %s; free are %lldm CPU on %u nodes, at "
                   "most %lldm on one; %s",
                   gang_size(demands, n), need, (long long)rooms->free_cpu_millicores,
                   capacity_n_rooms(rooms), (long long)capacity_largest_cpu(rooms),
                   promised ? "room is being made for it"
                            : "it waits until a job ends or a node comes");
}

static const char *const codes[] = {
    [VERDICT_NONE] = "queued",
    [VERDICT_BEHIND] = "queued",
    [VERDICT_DEEP] = "queued",
    [VERDICT_WAITS] = "gang-does-not-fit",
    [VERDICT_PROMISED] = "gang-does-not-fit",
    [VERDICT_NO_NODES] = "no-nodes",
    [VERDICT_NEVER] = "never-fits",
};

static void say(const struct cluster *cluster, const struct job *job, enum queue_verdict verdict,
                char *buffer, size_t size)
{
    const struct queue_class *class = job->plan.queue_class;
    struct demand demands[JOB_ROLES_MAX];
    size_t n = gang_demands(job->spec, demands);
    struct resources total = gang_total(demands, n);
    char need[80];

    resources_describe(&total, need, sizeof need);
    switch (verdict) {
    case VERDICT_NONE:
        (void)snprintf(buffer, size, "waits for its turn to be placed");
        break;
    case VERDICT_BEHIND:
        (void)
            snprintf(buffer, size,
                     "waits behind %u jobs that ask for the same; the first of them, %s, needs %s",
                     jobs_before(class, job), class->jobs->spec->name, need);
        break;
    case VERDICT_DEEP:
        (void)snprintf(buffer, size,
                       "waits behind more than %d kinds of jobs; its minimum of %zu processes "
                       "needs %s",
                       QUEUE_DEPTH, gang_size(demands, n), need);
        break;
    case VERDICT_WAITS:
    case VERDICT_PROMISED:
        say_waits(cluster, demands, n, verdict == VERDICT_PROMISED, buffer, size);
        break;
    case VERDICT_NO_NODES:
        (void)snprintf(buffer, size, "no node is ready to take processes");
        break;
    case VERDICT_NEVER:
        explain_never(cluster, job->spec, buffer, size);
        break;
    }
}

void queue_tell(struct cluster *cluster, struct job *job, enum queue_verdict verdict)
{
    char text[sizeof job->reason];

    if (job->plan.verdict == verdict)
        return;
    job->plan.verdict = verdict;
    say(cluster, job, verdict, text, sizeof text);
    job_set_reason(cluster, job, codes[verdict], "%s", text);
}

/* cluster_explain - see cluster.h; O(log n), and a walk past those before it in its class */
char *cluster_explain(const struct cluster *cluster, const struct job *job, char *buffer,
                      size_t size)
{
    enum queue_verdict verdict = job->plan.verdict;

    buffer[0] = '\0';
    if (job->state != JOB_QUEUED)
        return buffer;
    if (verdict == VERDICT_NONE && job != job->plan.queue_class->next)
        verdict = VERDICT_BEHIND; /* it was told before a restart */
    say(cluster, job, verdict, buffer, size);
    return buffer;
}
