/* SPDX-License-Identifier: Apache-2.0 */
/* check_counts.c - every sum that is kept is found again by counting */
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/check/check_internal.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/placement_pins.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/queue.h"

static int check_role(const struct job *job, uint32_t role, struct edl_error *error)
{
    const struct role_counts *kept = &job->counts[role];
    struct role_counts counted = { 0 };

    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct slot *slot = &job->slots[role][i];

        counted.live += slot->live != NULL;
        counted.stopping += slot->live != NULL && slot->live->state == PROCESS_STOPPING;
        counted.running += slot->live != NULL && slot->live->state == PROCESS_RUNNING;
        counted.at_work +=
            slot->live != NULL && slot->live->at_work && slot->live->state != PROCESS_STOPPING;
        counted.leaving += slot->live != NULL && process_is_leaving(slot->live);
        counted.due += slot->due && slot->live == NULL;
        counted.finished += slot->finished;
        counted.given_up += slot_is_given_up(job, slot);
        if (slot_is_free(job, slot) && i < kept->lowest_free)
            return BROKEN("job %s: slot %u is free below the lowest, %u", job->spec->name, i,
                          kept->lowest_free);
    }
    if (counted.live != kept->live || counted.stopping != kept->stopping ||
        counted.running != kept->running || counted.at_work != kept->at_work ||
        counted.leaving != kept->leaving || counted.due != kept->due ||
        counted.finished != kept->finished || counted.given_up != kept->given_up)
        return BROKEN("job %s: %s counted as %u live %u stopping %u running %u due %u finished %u "
                      "given up, kept are %u %u %u %u %u %u",
                      job->spec->name, job->spec->roles[role].name, counted.live, counted.stopping,
                      counted.running, counted.due, counted.finished, counted.given_up, kept->live,
                      kept->stopping, kept->running, kept->due, kept->finished, kept->given_up);
    return 0;
}

static int check_after(const struct job *job, struct edl_error *error)
{
    const struct dependency *dependent;
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_after; i++) {
        const struct job *on = job->after[i].on;
        const struct awaited_array *array = job->after[i].array;

        n += on != NULL || array != NULL;
        if (array != NULL && (array->n_left == 0 || (array->failed != NULL && !job->after[i].any)))
            return BROKEN("job %s waits for the array %s, which is over", job->spec->name,
                          array->name);
        if (on != NULL && job_state_is_final(on->state))
            return BROKEN("job %s waits for %s, which is %s", job->spec->name, on->spec->name,
                          job_state_to_string(on->state));
    }
    if (n != job->n_waits || (n > 0 && job->state != JOB_QUEUED))
        return BROKEN("job %s is %s and waits for %u others, %u are counted", job->spec->name,
                      job_state_to_string(job->state), n, job->n_waits);
    DL_FOREACH(job->dependents, dependent)
    if (dependent->on != job)
        return BROKEN("job %s is waited for by %s, which does not know", job->spec->name,
                      dependent->waiter->spec->name);
    return 0;
}

static int check_rendezvous(const struct job *job, uint32_t role, struct edl_error *error)
{
    const struct rendezvous *kept = rendezvous_of(job, role);
    struct rendezvous counted = { 0 };

    if (kept == NULL)
        return 0;
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;
        bool member =
            process != NULL && process->generation != 0 && process->generation == kept->generation;

        if (process == NULL)
            continue;
        if ((process->arrived || member) && process->state == PROCESS_STOPPING)
            return BROKEN("job %s: %s-%u is being stopped and waits or is a member",
                          job->spec->name, job->spec->roles[role].name, i);
        counted.n_standing += member;
        counted.n_arrived += process->arrived;
        counted.n_newcomers += process->arrived && !member;
    }
    if (counted.n_standing != kept->n_standing || counted.n_arrived != kept->n_arrived ||
        counted.n_newcomers != kept->n_newcomers)
        return BROKEN("job %s: %s: %u members, %u arrived, %u of them new; kept are %u, %u and %u",
                      job->spec->name, job->spec->roles[role].name, counted.n_standing,
                      counted.n_arrived, counted.n_newcomers, kept->n_standing, kept->n_arrived,
                      kept->n_newcomers);
    if (!kept->over && (kept->n_arrived > 0 || kept->n_standing < kept->n_members))
        return BROKEN(
            "job %s: %s: generation %llu is not over, with %u of %u members and %u arrived",
            job->spec->name, job->spec->roles[role].name, (unsigned long long)kept->generation,
            kept->n_standing, kept->n_members, kept->n_arrived);
    return 0;
}

int check_job_counts(const struct job *job, struct edl_error *error)
{
    bool queued = job->state == JOB_QUEUED && job->n_waits == 0;
    uint64_t tasks_us = job->queue != NULL && !job_state_is_final(job->state)
                            ? task_queue_next_deadline_us(job->queue)
                            : NEVER_US;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (check_role(job, r, error) < 0 || check_rendezvous(job, r, error) < 0)
            return EDL_EBADTRANSITION;
    if (queued != job->filed)
        return BROKEN("job %s is %s and %s the queue", job->spec->name,
                      job_state_to_string(job->state), queued ? "not in" : "in");
    if (check_after(job, error) < 0)
        return EDL_EBADTRANSITION;
    if (job_state_is_final(job->state) && deadline_at(&job->due) != NEVER_US)
        return BROKEN("job %s is over and its deadline is waited for", job->spec->name);
    if (planned_is(job)->marked != 0)
        return BROKEN("job %s: victims of a search are still marked", job->spec->name);
    if (deadline_at(&job->tasks_due) != tasks_us)
        return BROKEN("job %s: its tasks' deadline is not kept", job->spec->name);
    if ((planned_is(job)->yield_role != 0) != (job_surplus(job) > 0))
        return BROKEN("job %s: %u could give way, kept is role %u", job->spec->name,
                      job_surplus(job), planned_is(job)->yield_role);
    return 0;
}

static struct resources held_by(const struct node *node, const struct process *process)
{
    struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

    held.ports = node_ports_of(node, process);
    return held;
}

int check_node_counts(const struct node *node, struct edl_error *error)
{
    struct resources stopping = { 0 };
    struct resources yield = { 0 };
    struct resources all = { 0 };
    struct room_facts facts;
    const struct process *process;
    uint64_t gpus_used = 0;
    uint32_t n = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        struct resources held = held_by(node, process);

        n++;
        gpus_used |= process->gpu_mask;
        resources_add(&all, &held, 1);
        if (process->state == PROCESS_STOPPING)
            resources_add(&stopping, &held, 1);
        else if (job_surplus(process->job) > 0 &&
                 job_elastic_role(process->job) == (int)process->role)
            resources_add(&yield, &held, 1);
    }
    if (n != node->n_processes || all.ports != node->ports_held || gpus_used != node->gpus_used)
        return BROKEN("node %s: %u processes with %lld ports counted, kept are %u and %lld",
                      node->name, n, (long long)all.ports, node->n_processes,
                      (long long)node->ports_held);
    if (!resources_equal(&stopping, &node->stopping) ||
        !resources_equal(&yield, &node->room->yield))
        return BROKEN("node %s: %lldm stop and %lldm could, kept are %lldm and %lldm", node->name,
                      (long long)stopping.cpu_millicores, (long long)yield.cpu_millicores,
                      (long long)node->stopping.cpu_millicores,
                      (long long)node->room->yield.cpu_millicores);
    facts = node_facts(node);
    facts.yield = yield;
    if (room_is_listed(node->room) != node_takes_processes(node) ||
        (room_is_listed(node->room) && (!resources_equal(&facts.now, &node->room->facts.now) ||
                                        !resources_equal(&facts.later, &node->room->facts.later) ||
                                        !resources_equal(&facts.yield, &node->room->facts.yield) ||
                                        !resources_equal(&facts.most, &node->room->facts.most))))
        return BROKEN("node %s: its room in the index is not its room", node->name);
    return 0;
}

/* One that came when the table was full is of no type of its own. */
static bool has_its_type(const struct cluster *cluster, const struct node *node)
{
    uint8_t type = node->gpu_type;

    if (node->room == NULL || node->room->gpu_type != type || node->empty_room->gpu_type != type ||
        (type == GPU_TYPE_NONE) != (node->offer.gpus == 0))
        return false;
    return type == GPU_TYPE_NONE || type == GPU_TYPE_OTHER ||
           gpu_types_lookup(&cluster->gpu_types, &node->offer.labels) == type;
}

static int check_types(const struct cluster *cluster, struct edl_error *error)
{
    const struct gpu_types *kept = &cluster->gpu_types;
    struct gpu_types counted = { 0 };
    const struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        if (!has_its_type(cluster, node))
            return BROKEN("node %s: its rooms are not of its type of GPU", node->name);
        gpu_types_count(&counted, node->gpu_type, 1);
        if (node->speeds[SPEED_GPU].rounds > 0)
            gpu_types_count_speed(&counted, node->gpu_type, node->speeds[SPEED_GPU].log, 1);
    }
    if (memcmp(counted.n_nodes, kept->n_nodes, sizeof counted.n_nodes) != 0 ||
        memcmp(counted.n_known, kept->n_known, sizeof counted.n_known) != 0 ||
        memcmp(counted.sum_micro, kept->sum_micro, sizeof counted.sum_micro) != 0)
        return BROKEN("the nodes of a type of GPU, or their speeds, are miscounted");
    return 0;
}

static int check_totals(const struct cluster *cluster, struct edl_error *error)
{
    const struct planner *planner = cluster->planner;
    struct resources requested = { 0 };
    struct resources total = { 0 };
    struct resources stopping = { 0 };
    struct resources given = { 0 };
    uint32_t n_unheard = 0;
    const struct node *node;
    const struct job *job;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        n_unheard += node->state != NODE_LOST && node->ever_reported && !node->heard;
        resources_add(&total, &node->room->total, 1);
        resources_add(&requested, &node->room->requested, 1);
        resources_add(&stopping, &node->room->stopping, 1);
    }
    for (job = cluster->jobs; job != NULL; job = job->hh.next) {
        resources_add(&requested, &planned_is(job)->lack, 1);
        resources_add(&given, &planned_is(job)->given, 1);
    }
    if (n_unheard != cluster->n_unheard)
        return BROKEN("%u nodes have not been heard since the restart, %u are counted", n_unheard,
                      cluster->n_unheard);
    if (!resources_equal(&total, &planner->total) ||
        !resources_equal(&stopping, &planner->stopping) ||
        !resources_equal(&given, &planner->given) ||
        !resources_equal(&requested, &planner->requested))
        return BROKEN("the policy is told of %lldm requested of %lldm, it is %lldm of %lldm",
                      (long long)planner->requested.cpu_millicores,
                      (long long)planner->total.cpu_millicores, (long long)requested.cpu_millicores,
                      (long long)total.cpu_millicores);
    return 0;
}

static int check_index(const struct capacity *capacity, struct edl_error *error)
{
    const struct tree_node *at = tree_first(&capacity->tree);
    const struct tree_node *next;
    struct resources taken = { 0 };
    struct resources taken_now = { 0 };
    int64_t free_cpu = 0;
    uint32_t n = 0;

    for (; at != NULL; at = next, n++) {
        const struct room *room = (const struct room *)at;
        struct resources later = room->facts.later;
        struct resources now = room->facts.now;

        next = tree_after(&capacity->tree, at);
        resources_add(&later, &room->taken_later, -1);
        resources_add(&now, &room->taken_now, -1);
        resources_add(&taken, &room->taken_later, 1);
        resources_add(&taken_now, &room->taken_now, 1);
        free_cpu += MAX_OF(room->now.cpu_millicores, 0);
        if (!resources_equal(&later, &room->later) || !resources_equal(&now, &room->now))
            return BROKEN("room %s is not its facts less what is reserved", room->name);
    }
    if (n != capacity->tree.n || free_cpu != capacity->free_cpu_millicores)
        return BROKEN("the index lists %u rooms of %u, %lldm free of %lldm", n, capacity->tree.n,
                      (long long)free_cpu, (long long)capacity->free_cpu_millicores);
    for (size_t i = 0; i < capacity->n_log; i++) {
        const struct take *take = &capacity->log[i];

        if (!room_is_listed(take->room))
            continue;
        resources_add(&taken, &take->what, -1);
        resources_add(&taken_now, &take->what, take->now ? -1 : 0);
    }
    if (!resources_equal(&taken, &(struct resources){ 0 }) ||
        !resources_equal(&taken_now, &(struct resources){ 0 }))
        return BROKEN("%lldm are taken that no log tells of", (long long)taken.cpu_millicores);
    return 0;
}

/* The index holds as much as the queue says, and no search sees it between two plans. */
static int check_held(const struct capacity *rooms, const struct queue *queue,
                      struct edl_error *error)
{
    const struct tree_node *at;
    struct resources held = { 0 };

    for (at = tree_first(&rooms->tree); at != NULL; at = tree_after(&rooms->tree, at))
        resources_add(&held, &((const struct room *)at)->held, 1);
    for (size_t i = 0; i < queue->n_kept; i++)
        if (room_is_listed(queue->kept[i].room))
            resources_add(&held, &queue->kept[i].need, -1);
    if (rooms->holding)
        return BROKEN("job %s is held room for after the plan",
                      queue->held != NULL ? queue->held->spec->name : "-");
    if (!resources_equal(&held, &(struct resources){ 0 }))
        return BROKEN("the index holds %lldm too much", (long long)held.cpu_millicores);
    return 0;
}

/* As the last plan filed them: an event since leaves it to the next one. */
static int check_queue(const struct cluster *cluster, struct edl_error *error)
{
    const struct queue *queue = &cluster->planner->queue;
    const struct queue_class *class;
    const struct job *job;
    size_t promised = 0;
    uint32_t all = 0, shared = 0, fresh = 0;
    const struct share *share;
    const struct share_level *level;

    if (queue->n_jobs != cluster->n_filed)
        return BROKEN("%u jobs are in the queue, %llu are filed", queue->n_jobs,
                      (unsigned long long)cluster->n_filed);
    for (class = queue->classes; class != NULL; class = class->hh.next) {
        struct turn last = { 0 };
        uint32_t n = 0;

        DL_FOREACH2(class->jobs, job, planned->class_next)
        {
            const struct turn turn = queue_turn(queue, job);

            if (turn_compare(&turn, &last) <= 0 || planned_is(job)->class != class ||
                queue_before(job) != n)
                return BROKEN("job %s is out of order in its class", job->spec->name);
            last = turn;
            n++;
            promised += planned_promised(job);
            if (planned_is(job)->places != NULL && !planned_promised(job) && job != queue->held)
                return BROKEN("job %s keeps places that it is not promised", job->spec->name);
        }
        if (n != class->n_jobs)
            return BROKEN("a class of %u jobs says it has %u", n, class->n_jobs);
        all += n;
        if (tree_holds(&class->tree) != (class->next != NULL && !class->never))
            return BROKEN("a class of %u jobs is lost", n);
    }
    for (share = queue->shares; share != NULL; share = share->hh.next) {
        shared += share->n_jobs;
        fresh += queue->fair && !share->key.back ? share->n_jobs : 0;
    }
    for (level = queue->levels; level != NULL; level = level->hh.next)
        fresh -= level->n_jobs;
    if (fresh != 0)
        return BROKEN("levels of shares count other jobs than their shares: %d", (int)fresh);
    if (shared != queue->n_jobs)
        return BROKEN("%u jobs count to shares, %u are in the queue", shared, queue->n_jobs);
    if (all != queue->n_jobs)
        return BROKEN("%u jobs are in the queue, kept is %u", all, queue->n_jobs);
    if (promised != queue->n_promised)
        return BROKEN("%zu jobs have a promise, %zu are listed", promised, queue->n_promised);
    return 0;
}

/* That each class is found at the place where it is, by those that are before it. */
static int check_order(const struct planner *planner, struct edl_error *error)
{
    const struct queue_class *class = queue_after(planner, NULL);
    uint32_t place = 0;

    for (; class != NULL; place++) {
        const struct queue_key key = queue_key(planner, class);

        class = queue_after(planner, &key);
    }
    if (place != planner->queue.n_open)
        return BROKEN("%u classes are in order, kept is %u", place, planner->queue.n_open);
    return 0;
}

static void count_job(struct cluster_figures *counted, const struct job *job)
{
    const struct process *process;
    struct task_queue_counts tasks;

    counted->jobs[job->state]++;
    DL_FOREACH2(job->processes, process, job_next)
    counted->processes[process->state] += !process_state_is_final(process->state);
    if (job->queue == NULL || job_state_is_final(job->state))
        return;
    tasks = task_queue_counts(job->queue);
    counted->tasks_todo += tasks.todo;
    counted->tasks_leased += tasks.leased;
}

/* All sums that are kept for users, and those are of active jobs. */
static int check_holdings(const struct cluster *cluster, struct edl_error *error)
{
    uint64_t counted[HOLDING_AMOUNTS] = { 0 };
    uint64_t users[HOLDING_AMOUNTS] = { 0 };
    uint64_t ended = 0;
    const struct holding *holding;
    const struct job *job;

    DL_FOREACH2(cluster->active, job, active_next)
    {
        counted[HOLDING_JOBS]++;
        counted[HOLDING_INSTANCES] += job->held_instances;
        counted[HOLDING_BYTES] += job->held_bytes;
        counted[HOLDING_TASKS] += job->queue != NULL ? task_queue_n_tasks(job->queue) : 0;
        counted[HOLDING_TASK_BYTES] += job->held_task_bytes;
    }
    for (holding = cluster->holdings.users; holding != NULL; holding = holding->hh.next) {
        ended += holding->ended;
        for (unsigned i = 0; i < HOLDING_AMOUNTS; i++)
            users[i] += holding->amounts[i];
    }
    if (ended != cluster->n_ended)
        return BROKEN("users have %llu jobs that are over, in all there are %llu",
                      (unsigned long long)ended, (unsigned long long)cluster->n_ended);
    for (unsigned i = 0; i < HOLDING_AMOUNTS; i++)
        if (counted[i] != cluster->holdings.all[i] || users[i] != counted[i])
            return BROKEN("%llu %s of active jobs, kept are %llu, of users %llu",
                          (unsigned long long)counted[i], holding_amount_to_string(i),
                          (unsigned long long)cluster->holdings.all[i],
                          (unsigned long long)users[i]);
    return 0;
}

static int check_figures(const struct cluster *cluster, struct edl_error *error)
{
    const struct cluster_figures *kept = &cluster->figures;
    struct cluster_figures counted = { 0 };
    const struct job *first = cluster->active;

    while (first != NULL && (first->state != JOB_QUEUED || first->n_waits > 0))
        first = first->active_next;
    if (!ended_is_ordered(cluster))
        return BROKEN("the list of the jobs that are over is not in the order of their ends");
    if (first != cluster->first_queued)
        return BROKEN("job %s is not the one that has been queued longest",
                      cluster->first_queued != NULL ? cluster->first_queued->spec->name : "(none)");
    for (const struct job *job = cluster->jobs; job != NULL; job = job->hh.next)
        count_job(&counted, job);
    if (counted.jobs[JOB_SUCCEEDED] + counted.jobs[JOB_FAILED] + counted.jobs[JOB_KILLED] !=
        cluster->n_ended)
        return BROKEN("%llu jobs that are over are listed, which is wrong",
                      (unsigned long long)cluster->n_ended);
    for (unsigned i = 0; i < FIGURE_JOB_STATES; i++)
        if (counted.jobs[i] != kept->jobs[i])
            return BROKEN("%llu jobs are %s, the figures say %llu",
                          (unsigned long long)counted.jobs[i],
                          job_state_to_string((enum job_state)i),
                          (unsigned long long)kept->jobs[i]);
    for (unsigned i = 0; i < FIGURE_PROCESS_STATES; i++)
        if (counted.processes[i] != kept->processes[i])
            return BROKEN("%llu processes are %s, the figures say %llu",
                          (unsigned long long)counted.processes[i],
                          process_state_to_string((enum process_state)i),
                          (unsigned long long)kept->processes[i]);
    if (counted.tasks_todo != kept->tasks_todo || counted.tasks_leased != kept->tasks_leased)
        return BROKEN("%llu tasks to do and %llu leased, the figures say %llu and %llu",
                      (unsigned long long)counted.tasks_todo,
                      (unsigned long long)counted.tasks_leased,
                      (unsigned long long)kept->tasks_todo, (unsigned long long)kept->tasks_leased);
    return 0;
}

static int check_groups(const struct cluster *cluster, struct edl_error *error)
{
    const struct planner *planner = cluster->planner;
    struct resources held[POLICY_GROUPS_MAX] = { 0 };

    for (const struct job *job = cluster->jobs; job != NULL; job = job->hh.next) {
        const struct resources used = wanted_of_job(job);

        if (job_state_is_final(job->state) &&
            resources_equal(&planned_is(job)->used, &(struct resources){ 0 }))
            continue;
        if (job->group >= planner->n_groups)
            return BROKEN("job %s is in group %u of %u", job->spec->name, job->group,
                          planner->n_groups);
        if (planner->n_groups > 1 && !resources_equal(&used, &planned_is(job)->used))
            return BROKEN("job %s holds %lldm of its group's, kept are %lldm", job->spec->name,
                          (long long)used.cpu_millicores,
                          (long long)planned_is(job)->used.cpu_millicores);
        resources_add(&held[job->group], &planned_is(job)->used, 1);
    }
    for (uint32_t g = 0; g < planner->n_groups; g++)
        if (held[g].cpu_millicores != planner->groups[g].cpu_millicores ||
            held[g].gpus != planner->groups[g].gpus)
            return BROKEN("group \"%s\" holds %lldm, kept are %lldm", planner->groups[g].name,
                          (long long)held[g].cpu_millicores,
                          (long long)planner->groups[g].cpu_millicores);
    return 0;
}

static int check_owners(const struct cluster *cluster, struct edl_error *error)
{
    const struct planner *planner = cluster->planner;
    size_t n;
    struct resources *now = owner_sums(cluster, &n);
    bool same = n == planner->n_owners;

    for (size_t i = 0; same && i < n; i++)
        same = resources_equal(&now[i], &planner->owner_sums[OWNER_NOW][i]);
    free(now);
    return same ? 0 : BROKEN("the owners' jobs hold something else than their sums say");
}

int check_planner(const struct cluster *cluster, struct edl_error *error)
{
    const struct planner *planner = cluster->planner;
    int r = check_totals(cluster, error);

    if (r == 0)
        r = check_types(cluster, error);

    if (r == 0)
        r = check_holdings(cluster, error);

    if (r == 0)
        r = check_groups(cluster, error);

    if (r == 0)
        r = check_owners(cluster, error);

    if (r == 0)
        r = check_figures(cluster, error);
    if (r == 0)
        r = check_index(&planner->rooms, error);
    if (r == 0)
        r = check_index(&planner->offered, error);
    if (r == 0)
        r = check_held(&planner->rooms, &planner->queue, error);
    if (r == 0 && !cluster->files_changed)
        r = check_queue(cluster, error);
    if (r == 0 && !cluster->files_changed)
        r = check_order(planner, error);
    return r;
}
