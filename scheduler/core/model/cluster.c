/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - the cluster's life time, look-ups and what time alone brings */
#include "scheduler/core/plan/plan_internal.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/events/lease.h"

#include <stdio.h>
#include <utlist.h>

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
    cluster->next_job_id = 1;
    cluster->sessions = config->first_session;
    cluster->offers_version = 1;
    figures_init(&cluster->figures);
    cluster->planner = planner_new(config->policy, config->groups);
    cluster->planner->rooms.find = find_room;
    cluster->planner->offered.find = find_empty_room;
    cluster->planner->rooms.userdata = cluster->planner->offered.userdata = cluster;
    if (config->policy->learns) {
        cluster->families = goodput_families_new();
        goodput_families_bound(cluster->families, CLUSTER_FAMILIES_MAX, CLUSTER_FAMILY_ENDED_MAX);
    }
    return cluster;
}

void process_free(struct process *process)
{
    free(process->stuck);
    free(process->note);
    free(process->steps);
    free(process);
}

void job_free(struct job *job)
{
    struct process *process;
    struct process *next;

    DL_FOREACH_SAFE2(job->processes, process, next, job_next)
    process_free(process);
    for (size_t i = 0; i < job->spec->n_roles; i++)
        free(job->slots[i]);
    free(job->slots);
    (void)task_queue_free(job->queue);
    free(job->metrics);
    free(job->usage);
    free(job->learned);
    (void)unfit_nodes_free(job->unfit);
    free(job->reason);
    free(job->dataset_digest);
    rendezvous_free(job); /* before the spec: it says how many roles there are */
    free(job->plan.why);
    free(job->plan.places);
    job_hasty_forget(job);
    free(job->plan.reserved);
    free(job->after);
    (void)job_spec_free(job->spec);
    free(job);
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
    job_names_done(cluster);
    HASH_ITER(hh, cluster->jobs, job, next_job)
    {
        HASH_DEL(cluster->jobs, job);
        job_free(job);
    }
    machines_free(cluster);
    HASH_ITER(hh, cluster->nodes, node, next_node)
    {
        HASH_DEL(cluster->nodes, node);
        (void)node_free(NULL, node);
    }
    after_free(cluster);
    holdings_done(&cluster->holdings);
    (void)goodput_families_free(cluster->families);
    (void)planner_free(cluster->planner, cluster->config.policy);
    free(cluster->effects);
    free(cluster);
    return NULL;
}

void unlisted_move(struct cluster *cluster, const char *what, const char *name, const char *from,
                   const char *to)
{
    if (*cluster->unlisted == '\0')
        (void)snprintf(cluster->unlisted, sizeof cluster->unlisted, "%s %.60s: %s -> %s", what,
                       name, from, to);
}

/* cluster_job - by id, or NULL */
struct job *cluster_job(const struct cluster *cluster, uint64_t id)
{
    struct job *job;

    HASH_FIND(hh, cluster->jobs, &id, sizeof id, job);
    return job;
}

/* cluster_node - by name, or NULL */
struct node *cluster_node(const struct cluster *cluster, const char *name)
{
    struct node *node;

    HASH_FIND_STR(cluster->nodes, name, node);
    return node;
}

/* job_find_process - that very incarnation, live or not, unless it was forgotten; O(1) for the
 * newest of its slot, else linear in the job's history, which is bounded */
struct process *job_find_process(const struct job *job, uint32_t role, uint32_t index,
                                 uint64_t incarnation)
{
    struct process *process;

    if (role >= job->spec->n_roles || index >= job->n_slots[role])
        return NULL;
    process = job->slots[role][index].newest;
    if (process != NULL && process->incarnation == incarnation)
        return process;
    DL_FOREACH2(job->past, process, past_next)
    {
        if (process->role == role && process->index == index && process->incarnation == incarnation)
            return process;
    }
    return NULL;
}

/* job_count - live processes of a role; O(1) */
uint32_t job_count(const struct job *job, uint32_t role, bool with_stopping)
{
    const struct role_counts *counts = &job->counts[role];

    return with_stopping ? counts->live : counts->live - counts->stopping;
}

/* job_count_running - processes of a role that run; O(1) */
uint32_t job_count_running(const struct job *job, uint32_t role)
{
    return job->counts[role].running;
}

void job_tasks_changed(struct cluster *cluster, struct job *job)
{
    bool counts = job->queue != NULL && !job_state_is_final(job->state);
    struct task_queue_counts now =
        counts ? task_queue_counts(job->queue) : (struct task_queue_counts){ 0 };

    cluster->figures.tasks_todo += (uint64_t)now.todo - job->counted_todo;
    cluster->figures.tasks_leased += (uint64_t)now.leased - job->counted_leased;
    job->counted_todo = now.todo;
    job->counted_leased = now.leased;
    deadline_set(&cluster->planner->deadlines, &job->plan.tasks, DEADLINE_TASKS,
                 counts ? task_queue_next_deadline_us(job->queue) : NEVER_US);
}

static void expire_tasks(struct cluster *cluster, struct job *job, struct instant now)
{
    const struct tasks_mark before = tasks_mark(job);
    size_t n = task_queue_expire(job->queue, now.now_us);

    cluster->figures.task_ends[TASK_END_EXPIRED] += n;
    if (n > 0) {
        effect_event(cluster, now, job, "", "tasks-expired", "tasks were not finished in time");
        tasks_changed(cluster, job, &before, now);
        tasks_settle(cluster, job, now);
    }
    job_tasks_changed(cluster, job);
}

/* what a deadline is a part of */
#define OWNER_OF(deadline, type, member) ((type *)((char *)(deadline)-offsetof(type, member)))

void deadlines_fire(struct cluster *cluster, struct instant now)
{
    struct deadlines *deadlines = &cluster->planner->deadlines;
    struct deadline *first;

    while ((first = deadlines_first(deadlines)) != NULL && first->at_us <= now.now_us) {
        deadline_set(deadlines, first, (enum deadline_kind)first->kind, NEVER_US);
        switch ((enum deadline_kind)first->kind) {
        case DEADLINE_BACKOFF: /* the plan finds the job's next one */
            job_touch(cluster, OWNER_OF(first, struct job, plan.backoff));
            if (job_chooses_servers(OWNER_OF(first, struct job, plan.backoff)))
                queue_might_move(cluster->planner); /* it waits for more servers no longer */
            cluster->plan_wanted = true;
            break;
        case DEADLINE_TASKS:
            expire_tasks(cluster, OWNER_OF(first, struct job, plan.tasks), now);
            break;
        case DEADLINE_JOB:
            job_overdue(cluster, OWNER_OF(first, struct job, plan.due), now);
            break;
        case DEADLINE_FOREIGN:
            node_foreign_fell(cluster, OWNER_OF(first, struct node, foreign_falls), now);
            break;
        case DEADLINE_SPEED:
            node_speed_fell_due(cluster, OWNER_OF(first, struct node, speed_forgotten), now);
            break;
        case DEADLINE_IDLE:
            job_idle_fell_due(cluster, OWNER_OF(first, struct job, plan.idle_forgotten));
            break;
        case DEADLINE_UNFIT:
            job_unfit_fell_due(cluster, OWNER_OF(first, struct job, plan.unfit_forgotten));
            break;
        case DEADLINE_QUIET:
            cluster->plan_wanted = true;
            break;
        }
    }
}

/* cluster_tick - idempotent; O(log n) for each deadline that has passed */
void cluster_tick(struct cluster *cluster, struct instant now)
{
    struct node *node;

    while ((node = cluster_first_lease(cluster)) != NULL && node->lease_deadline_us <= now.now_us)
        node_lost(cluster, node, now);
    deadlines_fire(cluster, now);
}

/* cluster_next_deadline_us - when cluster_tick has something to do; O(log n) */
uint64_t cluster_next_deadline_us(const struct cluster *cluster)
{
    const struct deadline *first = deadlines_first(&cluster->planner->deadlines);
    uint64_t next = first != NULL ? first->at_us : NEVER_US;

    const struct node *node = cluster_first_lease(cluster);

    return node != NULL ? MIN_OF(next, node->lease_deadline_us) : next;
}

/* Reports cost tens of microseconds each: spaced so, they take a hundredth of a core or two. */
#define REPORT_SPACING_US (5 * USEC_PER_MSEC)
#define REPORT_PART_OF_LEASE 4

uint64_t cluster_next_report_us(const struct cluster *cluster)
{
    uint64_t spaced_us = HASH_COUNT(cluster->nodes) * REPORT_SPACING_US;

    return MIN_OF(spaced_us, cluster->config.lease_us / REPORT_PART_OF_LEASE);
}

/* cluster_utilisation_ppm - CPU granted plus foreign over CPU offered; linear in nodes */
uint32_t cluster_utilisation_ppm(const struct cluster *cluster)
{
    uint64_t used = 0;
    uint64_t offered = 0;
    const struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        if (node->state == NODE_LOST)
            continue;
        used += MIN_OF(node->cpu_granted_millicores + node->foreign_cpu_millicores,
                       node->offer.cpu_millicores);
        offered += node->offer.cpu_millicores;
    }
    return offered == 0 ? 0 : (uint32_t)(used * 1000000 / offered);
}
