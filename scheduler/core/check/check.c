/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the invariants, looked at from outside: linear in everything, for tests and the
 * simulator */
#include "scheduler/core/check/check.h"

#include <utlist.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/check/check_internal.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/plan/rooms.h"
#include "scheduler/core/model/states.h"

#define ULL(value) ((unsigned long long)(value))

static int check_ports(const struct node *node, struct edl_error *error)
{
    const struct process *a;
    const struct process *b;

    DL_FOREACH2(node->processes, a, node_next)
    for (b = a; b != NULL; b = b->node_next)
        for (uint32_t i = 0; i < a->n_ports; i++)
            for (uint32_t j = a == b ? i + 1 : 0; j < b->n_ports; j++)
                if (a->ports[i] == b->ports[j])
                    return BROKEN("node %s: port %u was handed out twice", node->name, a->ports[i]);
    return 0;
}

static int check_gpus(const struct node *node, struct edl_error *error)
{
    const struct process *process;
    uint64_t seen = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        uint32_t wanted = process->job->spec->roles[process->role].gpus;

        if ((uint32_t)__builtin_popcountll(process->gpu_mask) != wanted)
            return BROKEN("node %s: a process holds the devices %llx and was to get %u", node->name,
                          ULL(process->gpu_mask), wanted);
        if (seen & process->gpu_mask)
            return BROKEN("node %s: a GPU was handed out twice: %llx", node->name,
                          ULL(seen & process->gpu_mask));
        seen |= process->gpu_mask;
    }
    if (seen & ~gpus_mask(node->offer.gpus) & ~node->gpus_beyond)
        return BROKEN("node %s: the devices %llx were handed out, it offers %u", node->name,
                      ULL(seen), node->offer.gpus);
    return 0;
}

static int check_node(const struct node *node, struct edl_error *error)
{
    const struct process *process;
    uint64_t cpu = 0;
    uint64_t memory = 0;
    uint64_t gpus = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        const struct role_spec *role = &process->job->spec->roles[process->role];

        if (process->node != node || process_state_is_final(process->state))
            return BROKEN("node %s lists a process that is not live there", node->name);
        if (node->state == NODE_LOST && !process->job->spec->keep_cut_off)
            return BROKEN("node %s is lost and has live processes", node->name);
        cpu += role->cpu_millicores;
        memory += role->memory_bytes;
        gpus += role->gpus;
    }
    if (cpu != node->cpu_granted_millicores || memory != node->memory_granted_bytes ||
        gpus != node->gpus_granted)
        return BROKEN("node %s: granted %llum, its processes hold %llum", node->name,
                      ULL(node->cpu_granted_millicores), ULL(cpu));
    if (!node->offer_shrunk && (cpu > node->offer.cpu_millicores ||
                                memory > node->offer.memory_bytes || gpus > node->offer.gpus))
        return BROKEN("node %s is over-committed: %llum of %llum", node->name, ULL(cpu),
                      ULL(node->offer.cpu_millicores));
    if ((node->state == NODE_LOST) != (node->lease_prev == NULL))
        return BROKEN("node %s is %s with%s a lease", node->name, node_state_to_string(node->state),
                      node->lease_prev == NULL ? "out" : "");
    return check_ports(node, error) < 0 ? EDL_EBADTRANSITION : check_gpus(node, error);
}

static int check_processes(const struct job *job, struct edl_error *error)
{
    const struct process *process;
    uint64_t last = 0;
    uint32_t live = 0;
    uint32_t past = 0;

    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->incarnation <= last || process->incarnation >= job->next_incarnation)
            return BROKEN("job %s: incarnation %llu after %llu", job->spec->name,
                          ULL(process->incarnation), ULL(last));
        last = process->incarnation;
        if (process->index >= job->n_slots[process->role])
            return BROKEN("job %s: index %u has no slot", job->spec->name, process->index);
        past += process_slot(process)->newest != process;
        if (process_state_is_final(process->state)) {
            if (process->node != NULL || process_slot(process)->live == process)
                return BROKEN("job %s: an ended process is still held", job->spec->name);
            continue;
        }
        live++;
        if (process_is_pinned(process) &&
            !streq(role_node(&job->spec->roles[process->role], process->index), process->node_name))
            return BROKEN("job %s: instance %u is to run on %s and is on %s", job->spec->name,
                          process->index,
                          role_node(&job->spec->roles[process->role], process->index),
                          process->node_name);
        if (process->node == NULL || process_slot(process)->live != process)
            return BROKEN("job %s: two live processes in a slot, or one on no node",
                          job->spec->name);
        if ((process->state == PROCESS_STOPPING) != process->stop_wanted)
            return BROKEN("job %s: a process is %s and stop_wanted is %d", job->spec->name,
                          process_state_to_string(process->state), process->stop_wanted);
    }
    if (past != job->n_past)
        return BROKEN("job %s: %u superseded processes are listed, %u are counted", job->spec->name,
                      past, job->n_past);
    if (live != job_count_live(job))
        return BROKEN("job %s: %u live processes, its slots say %u", job->spec->name, live,
                      job_count_live(job));
    return 0;
}

static int check_sizes(const struct cluster *cluster, const struct job *job,
                       struct edl_error *error)
{
    int servers = spec_servers(job->spec);

    if (servers >= 0 && job_is_started(job) &&
        job->spec->roles[servers].min != job->spec->roles[servers].max)
        return BROKEN("job %s is started and its parameter servers are %u to %u", job->spec->name,
                      job->spec->roles[servers].min, job->spec->roles[servers].max);
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct role_spec *role = &job->spec->roles[r];
        uint32_t counted = job_count(job, r, false);

        if (job->state == JOB_STOPPING && counted > 0 && !job_keeps_remains(job))
            return BROKEN("job %s stops but a %s was not asked to", job->spec->name, role->name);
        if (!job_is_started(job) || cluster_plan_is_due(cluster) || job->touched)
            continue; /* bounds may have moved: the plan will follow */
        if (counted > role->max)
            return BROKEN("job %s: %u of %s, more than %u", job->spec->name, counted, role->name,
                          role->max);
        if (!job->finishing && job->target[r] + job_count_finished(job, r) < role->min)
            return BROKEN("job %s: target of %s is %u, less than %u", job->spec->name, role->name,
                          job->target[r], role->min);
        if (job->state == JOB_RUNNING &&
            (counted != job->target[r] || counted != job_count_running(job, r)))
            return BROKEN("job %s is running with %u of %u %s", job->spec->name, counted,
                          job->target[r], role->name);
    }
    return 0;
}

static int check_job(const struct cluster *cluster, const struct job *job, struct edl_error *error)
{
    int r = check_processes(job, error);

    if (r == 0)
        r = check_sizes(cluster, job, error);
    if (r < 0)
        return r;
    if ((job->state == JOB_QUEUED || job_state_is_final(job->state)) && job_count_live(job) > 0)
        return BROKEN("job %s is %s and has live processes", job->spec->name,
                      job_state_to_string(job->state));
    if (job->state == JOB_STOPPING && job_count_live(job) == 0)
        return BROKEN("job %s stops although nothing of it is left", job->spec->name);
    if (*job->reason == '\0' || *job->reason_code == '\0')
        return BROKEN("job %s is %s without a reason", job->spec->name,
                      job_state_to_string(job->state));
    if (!job_state_is_final(job->state) &&
        (job->state == JOB_STOPPING) != (job->intent != INTENT_NONE))
        return BROKEN("job %s is %s with the intent \"%s\"", job->spec->name,
                      job_state_to_string(job->state), intent_to_string(job->intent));
    if (job_state_is_final(job->state) != (job->active_prev == NULL))
        return BROKEN("job %s is %s and %slisted as active", job->spec->name,
                      job_state_to_string(job->state), job->active_prev == NULL ? "not " : "");
    return 0;
}

static int check_awaited(const struct cluster *cluster, const struct awaited_array *array,
                         struct edl_error *error)
{
    uint32_t n_jobs = 0, n_left = 0;

    for (uint64_t id = array->first; id < array->first + array->n; id++) {
        const struct job *job = cluster_job(cluster, id);

        n_jobs += job != NULL && job->awaited == array;
        n_left += job != NULL && !job_state_is_final(job->state);
    }
    if (n_jobs != array->n_jobs || n_left != array->n_left || array->n_named == 0)
        return BROKEN("array %s (%llu): %u jobs and %u left are counted, %u and %u kept, for %u",
                      array->name, ULL(array->first), n_jobs, n_left, array->n_jobs, array->n_left,
                      array->n_named);
    return 0;
}

/* Every queued job counts once at each job and each array that it names. */
static int check_named(const struct cluster *cluster, struct edl_error *error)
{
    uint64_t kept = 0, counted = 0;

    for (const struct awaited_array *array = cluster->awaited; array != NULL;
         array = array->hh.next) {
        int r = check_awaited(cluster, array, error);

        if (r < 0)
            return r;
        kept += array->n_named;
    }
    for (const struct job *job = cluster->jobs; job != NULL; job = job->hh.next) {
        char **name = job->state == JOB_QUEUED ? job->spec->after : NULL;

        kept += job->n_named;
        for (; name != NULL && *name != NULL; name++) {
            struct after_name after = after_read(*name);
            const struct job *on = after.n == 0 ? cluster_job(cluster, after.first) : NULL;

            counted += on != NULL || after.n > 0;
            if (on != NULL && on->n_named == 0)
                return BROKEN("job %s is to run after %s, which does not know", job->spec->name,
                              on->spec->name);
        }
    }
    return kept == counted ? 0
                           : BROKEN("%llu jobs are to run after others, %llu are counted",
                                    ULL(counted), ULL(kept));
}

/* cluster_check - see check.h */
/* check_leases - of a list: the first to end first */
static int check_leases(const struct node *node, struct edl_error *error)
{
    for (; node != NULL; node = node->lease_next)
        if (node->lease_next != NULL &&
            node->lease_next->lease_deadline_us < node->lease_deadline_us)
            return BROKEN("the list of leases is not in order at %s", node->name);
    return 0;
}

int cluster_check(const struct cluster *cluster, struct edl_error *error)
{
    const struct node *node;
    const struct job *job;
    int r;

    if (*cluster->unlisted != '\0')
        return BROKEN("a move that no table lists: %s", cluster->unlisted);
    rooms_look(cluster->planner);
    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        r = check_node(node, error);
        if (r == 0)
            r = check_node_counts(node, error);
        if (r < 0)
            return r;
    }
    for (job = cluster->jobs; job != NULL; job = job->hh.next) {
        r = check_job(cluster, job, error);
        if (r == 0)
            r = check_job_counts(job, error);
        if (r < 0)
            return r;
    }
    r = check_named(cluster, error);
    if (r < 0)
        return r;
    r = check_leases(cluster->leases, error);
    if (r == 0)
        r = check_leases(cluster->starting, error);
    if (r < 0)
        return r;
    return check_planner(cluster, error);
}
