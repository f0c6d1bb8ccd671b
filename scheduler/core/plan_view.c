/* SPDX-License-Identifier: Apache-2.0 */
/* plan_view.c - shows the policy the cluster and takes its answer
 *
 * Requested = what live processes hold that are not stopping (their release is under way) + foreign
 * load + what started jobs lack + the gangs that room is being made for. A node's idle figures are
 * physical: what is stopping still holds. Only nodes that take processes are shown, so what runs on
 * a cordoned node is neither offered nor requested. */
#include "scheduler/core/core_internal.h"

#include <utlist.h>

static int64_t not_negative(int64_t value)
{
    return MAX_OF(value, 0);
}

static void view_nodes(const struct plan *plan, struct policy_view *view, struct policy_node *nodes)
{
    for (size_t i = 0; i < plan->rooms.n; i++) {
        const struct room *room = &plan->rooms.items[i];
        const struct node *node = room->node;
        const struct process *process;
        struct resources requested = { 0 };

        DL_FOREACH2(node->processes, process, node_next)
        {
            struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

            if (process->state != PROCESS_STOPPING)
                resources_add(&requested, &held, 1);
        }
        view->cpu_total_millicores += (int64_t)node->offer.cpu_millicores;
        view->memory_total_bytes += (int64_t)node->offer.memory_bytes;
        view->gpu_total += node->offer.gpus;
        view->cpu_requested_millicores +=
            requested.cpu_millicores + (int64_t)node->foreign_cpu_millicores;
        view->memory_requested_bytes +=
            requested.memory_bytes + (int64_t)node->foreign_memory_bytes;
        view->gpu_requested += requested.gpus;
        nodes[i] = (struct policy_node){
            .cpu_idle_millicores =
                not_negative(MIN_OF(room->now.cpu_millicores, room->later.cpu_millicores)),
            .memory_free_bytes =
                not_negative(MIN_OF(room->now.memory_bytes, room->later.memory_bytes)),
            .gpus_free = not_negative(MIN_OF(room->now.gpus, room->later.gpus)),
        };
    }
    view->nodes = nodes;
    view->n_nodes = plan->rooms.n;
}

static void request(struct policy_view *view, const struct resources *what, int64_t times)
{
    view->cpu_requested_millicores += times * what->cpu_millicores;
    view->memory_requested_bytes += times * what->memory_bytes;
    view->gpu_requested += times * what->gpus;
}

/* What a started job lacks in its fixed roles, and to what its elastic one must come back, is
 * wanted already. */
static uint32_t held_of_role(const struct job *job, uint32_t role)
{
    uint32_t held = job_count(job, role, false) + job_count_due(job, role);

    return MAX_OF(held, job_role_floor(job, role));
}

static void view_started(const struct job *job, struct policy_view *view, struct policy_job *entry)
{
    int elastic = job_elastic_role(job);
    const struct role_spec *spec;
    uint32_t live;

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct resources need = resources_of_role(&job->spec->roles[r]);

        request(view, &need, (int64_t)held_of_role(job, r) - job_count(job, r, false));
    }
    if (elastic < 0)
        return;
    spec = &job->spec->roles[elastic];
    live = job_count(job, (uint32_t)elastic, true);
    entry->parallelism = held_of_role(job, (uint32_t)elastic);
    entry->min = spec->min;
    entry->max = spec->max;
    if (job->finishing) {
        entry->max = MIN_OF(spec->max, entry->parallelism);
        /* without a task queue nobody else does a slot's share: it is not shrunk any more */
        entry->min = job->queue != NULL ? MIN_OF(spec->min, entry->max) : entry->max;
    }
    entry->stable = job->state != JOB_STARTING && live == entry->parallelism &&
                    live == job_count_running(job, (uint32_t)elastic);
}

static void view_role(const struct job *job, uint32_t role, struct policy_job *entry)
{
    const struct role_spec *spec = &job->spec->roles[role];

    *entry = (struct policy_job){ .id = job->id,
                                  .priority = job->spec->priority,
                                  .min = spec->min,
                                  .max = spec->min,
                                  .cpu_millicores = spec->cpu_millicores,
                                  .memory_bytes = spec->memory_bytes,
                                  .gpus = spec->gpus };
}

void plan_ask_policy(struct plan *plan, uint32_t *ret_target)
{
    struct policy_node *nodes = xcalloc(plan->rooms.n, sizeof *nodes);
    struct policy_job *jobs = xcalloc(plan->n_active, sizeof *jobs);
    size_t *index = xcalloc(plan->n_active, sizeof *index);
    uint32_t *target = xcalloc(plan->n_active, sizeof *target);
    struct policy_view view = { .max_load_permille = plan->cluster->config.max_load_permille,
                                .jobs = jobs };
    const struct job *job;
    size_t i = 0;

    view_nodes(plan, &view, nodes);
    request(&view, &plan->promised, 1);
    DL_FOREACH2(plan->cluster->active, job, active_next)
    {
        struct policy_job *entry = &jobs[view.n_jobs];
        int elastic = job_elastic_role(job);

        view_role(job, elastic >= 0 ? (uint32_t)elastic : (uint32_t)job->spec->n_roles - 1, entry);
        if (job_is_started(job))
            view_started(job, &view, entry);
        entry->pending = plan->waiting[i];
        if ((job_is_started(job) && elastic >= 0) || entry->pending)
            index[view.n_jobs++] = i;
        i++;
    }
    plan->cluster->config.policy->plan(&view, target);
    for (i = 0; i < view.n_jobs; i++)
        ret_target[index[i]] = MIN_OF(MAX_OF(target[i], jobs[i].min), jobs[i].max);
    free(target);
    free(index);
    free(jobs);
    free(nodes);
}
