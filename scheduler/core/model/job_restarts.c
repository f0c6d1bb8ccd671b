/* SPDX-License-Identifier: Apache-2.0 */
/* job_restarts.c - whether it is of any use to start again what failed
 *
 * A program with a wrong import or without its data fails wherever it is started, and each time.
 * Eleven tries of each instance, over five minutes, tell nobody more than the first. It is known by
 * three things together:
 *   everywhere      each instance that ever started has failed, each on one node after the other
 *                   (place_slot), and no node that takes processes is large enough for one and is
 *                   not among those. So a fault of some nodes ends no job that others can run; one
 *                   that is full now is waited for, as long as the document's restarts last;
 *   within seconds  none of them, not one that was stopped or lost either, ran for AT_ONCE_US;
 *   nothing done    no task was finished, no figures or progress were told, no instance ended
 *                   with success.
 * Then the document's tries_at_once is the limit for one slot, in place of restart_max; one try on
 * each node is enough for a program that says that another is of no use (needs_no_retry). Instances
 * are those of the roles that work; for a parameter server, the servers: the trainers wait for
 * those, and a server that runs says nothing of a trainer. An instance that could not be started is
 * not counted: its program never ran, and other nodes are tried (place_slot). All of it follows
 * from the processes that are remembered, so a restart decides alike; it forgets the progress that
 * ended processes told. */
#include "scheduler/core/model/job_restarts.h"

#include <stdio.h>
#include <utlist.h>
#include <stdlib.h>
#include <sysexits.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_fit.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* At most, by one clock or the other: a wall clock that jumps ahead only gives more tries. Of one
 * that was never seen to run, or whose end nobody saw, all the time that it was there may count:
 * its node may have been cut off meanwhile. */
uint64_t process_ran_for_us(const struct process *process, struct instant now)
{
    bool seen = process->started_wall_us != 0 && process->state != PROCESS_LOST;
    uint64_t from_us = seen ? process->started_wall_us : process->assigned_wall_us;
    uint64_t until_us =
        process_state_is_final(process->state) ? process->ended_wall_us : now.wall_us;

    return MAX_OF(until_us > from_us ? until_us - from_us : 0, process->ran_us);
}

/* Of a shell, of env(1) and of others that start a program: it may not be executed, or it was not
 * found. A program may end so for a reason of its own: then it does on each node. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

bool process_found_no_program(const struct process *process, const struct process_report *report,
                              struct instant now)
{
    bool by_itself = report->cause == CAUSE_PROGRAM || report->cause == CAUSE_NONE;

    if (report->start_fault != START_FAULT_NONE || report->unfit != UNFIT_NOT)
        return report->start_fault == START_FAULT_PROGRAM;
    return by_itself && report->exit_signal == 0 &&
           (report->exit_code == EXIT_NOT_EXECUTABLE || report->exit_code == EXIT_NOT_FOUND) &&
           !process->told_progress && !process->at_work &&
           process_ran_for_us(process, now) < AT_ONCE_US;
}

static bool has_done_something(const struct job *job)
{
    if (job->finishing || job->metrics != NULL)
        return true;
    return job->queue != NULL &&
           (task_queue_pass(job->queue) > 0 || task_queue_counts(job->queue).done > 0);
}

/* It ran, and its end was its own. */
static bool failed_itself(const struct process *process)
{
    return process->state == PROCESS_EXITED && !process->stop_wanted && !process->start_failed;
}

static bool failed_at_once_on(const struct process *process, const struct node *node,
                              struct instant now)
{
    return failed_itself(process) && streq(process->node_name, node->name) &&
           process_ran_for_us(process, now) < AT_ONCE_US;
}

bool slot_failed_at_once(const struct job *job, const struct slot *slot, const struct node *node,
                         struct instant now)
{
    const struct process *newest = slot->newest;
    const struct process *process;

    if (newest == NULL)
        return false;
    if (failed_at_once_on(newest, node, now))
        return true;
    DL_FOREACH2(job->past, process, past_next)
    {
        if (process->role == newest->role && process->index == newest->index &&
            failed_at_once_on(process, node, now))
            return true;
    }
    return false;
}

/* Signs that it may yet get somewhere. */
static bool gets_on(const struct process *process, struct instant now)
{
    const struct slot *slot = process_slot(process);

    if (process->told_progress || process_ran_for_us(process, now) >= AT_ONCE_US)
        return true;
    return !process_state_is_final(process->state) && !process->stop_wanted && slot->failures == 0;
}

static bool is_first_on_its_node(const struct job *job, const struct process *process)
{
    const struct process *other;

    DL_FOREACH2(job->processes, other, job_next)
    {
        if (other == process)
            return true;
        if (failed_itself(other) && streq(other->node_name, process->node_name))
            return false;
    }
    return true;
}

static bool has_failed_on(const struct job *job, const struct node *node, bool works)
{
    const struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        if ((failed_itself(process) || process->cause == CAUSE_NO_PROGRAM) &&
            job_role_works(job, process->role) == works && streq(process->node_name, node->name))
            return true;
    }
    return false;
}

/* It could hold an instance of the role when it is empty, and none of them has tried. */
static bool is_untried(const struct job *job, uint32_t role, const struct node *node)
{
    return node_takes_processes(node) && node_could_run(node, job, role) &&
           !has_failed_on(job, node, job_role_works(job, role));
}

/* Of a role that names its nodes those count whose instance the maximum allows. */
static bool is_untried_somewhere(const struct cluster *cluster, const struct job *job,
                                 uint32_t role)
{
    const struct role_spec *spec = &job->spec->roles[role];
    const struct node *node;

    for (uint32_t i = 0; i < MIN_OF(spec->n_nodes, spec->max); i++) {
        node = cluster_node(cluster, spec->nodes[i]);
        if (node != NULL && is_untried(job, role, node))
            return true;
    }
    for (node = cluster->nodes; spec->nodes == NULL && node != NULL; node = node->hh.next)
        if (is_untried(job, role, node))
            return true;
    return false;
}

/* How often, where and in how many instances. */
struct fruitless {
    uint32_t most; /* tries of one slot */
    uint32_t n_instances, n_nodes;
};

/* count_tries - false: something gets on, or has */
static bool count_tries(const struct job *job, bool works, struct instant now,
                        struct fruitless *ret)
{
    uint32_t *tries[JOB_ROLES_MAX] = { NULL };
    const struct process *process;
    bool fruitless = true;

    *ret = (struct fruitless){ 0 };
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        tries[r] = xcalloc(job->n_slots[r], sizeof *tries[r]);
    DL_FOREACH2(job->processes, process, job_next)
    {
        uint32_t *n = &tries[process->role][process->index];

        if (job_role_works(job, process->role) != works)
            continue;
        fruitless = fruitless && !gets_on(process, now);
        if (!failed_itself(process))
            continue;
        ret->n_instances += (*n)++ == 0;
        ret->n_nodes += is_first_on_its_node(job, process);
        ret->most = MAX_OF(ret->most, *n);
    }
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        free(tries[r]);
    return fruitless;
}

/* Words, a configuration or an input that it cannot use are the same at the next try on that node.
 * Input is missing only as long as the job's own data are not known. */
static bool needs_no_retry(const struct job *job, const struct process *last)
{
    static const int statuses[] = { EX_USAGE, EX_NOINPUT, EX_CONFIG };

    for (size_t i = 0; i < ELEMENTS(statuses) && last->exit_signal == 0; i++)
        if (last->exit_code == statuses[i])
            return statuses[i] != EX_NOINPUT || job->queue == NULL;
    return false;
}

bool job_fails_at_once(const struct cluster *cluster, const struct job *job,
                       const struct process *last, struct instant now, char *buffer, size_t size)
{
    struct fruitless found;

    if (job->spec->tries_at_once == 0 || has_done_something(job) ||
        !count_tries(job, job_role_works(job, last->role), now, &found) ||
        found.most < (needs_no_retry(job, last) ? 1 : job->spec->tries_at_once) ||
        is_untried_somewhere(cluster, job, last->role))
        return false;
    (void)snprintf(buffer, size,
                   "%s%u instance%s on %u node%s failed within seconds, up to %u time%s each, and "
                   "nothing was ever done",
                   found.n_instances > 1 ? "all " : "", found.n_instances,
                   found.n_instances == 1 ? "" : "s", found.n_nodes, found.n_nodes == 1 ? "" : "s",
                   found.most, found.most == 1 ? "" : "s");
    return true;
}

/* has_been_refused - an earlier process of the slot, on the same node */
static bool has_been_refused(const struct job *job, const struct process *last)
{
    const struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process != last && process->role == last->role && process->index == last->index &&
            failed_itself(process) && process->exit_signal == 0 &&
            process->exit_code == EX_CONFIG && streq(process->node_name, last->node_name))
            return true;
    }
    return false;
}

bool job_refuses_for_good(const struct cluster *cluster, const struct job *job,
                          const struct process *last)
{
    return job->spec->mode == JOB_MODE_COLLECTIVE && last->exit_signal == 0 &&
           last->exit_code == EX_CONFIG &&
           (has_been_refused(job, last) || !is_untried_somewhere(cluster, job, last->role));
}

bool job_can_do_without(const struct process *process)
{
    const struct job *job = process->job;
    const struct role_spec *spec = &job->spec->roles[process->role];
    const struct role_counts *counts = &job->counts[process->role];
    uint32_t others = counts->running + (job->finishing ? counts->finished : 0);

    if (job_elastic_role(job) != (int)process->role || others == 0)
        return false;
    if (job->finishing) /* without a task queue nobody else does its share */
        return job->queue != NULL;
    return spec->max > spec->min + counts->given_up;
}
