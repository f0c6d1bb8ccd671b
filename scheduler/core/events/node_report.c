/* SPDX-License-Identifier: Apache-2.0 */
/* node_report.c - nodes join, report, are cordoned, drained and removed */
#include "scheduler/core/events/node_report.h"

#include <stdio.h>
#include <utlist.h>
#include <errno.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/core/events/node_identity.h"
#include "scheduler/core/events/node_orders.h"
#include "scheduler/core/events/report_size.h"
#include "scheduler/core/events/process_frozen.h"
#include "scheduler/core/events/process_steps.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/foreign_load.h"
#include "scheduler/core/model/gpu_idle.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_disk.h"
#include "scheduler/core/model/node_kept.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/task_gaps.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/error.h"
#include "shared/start_fault.h"

#define SAY_REBOOTED "its node was started again"
#define SAY_AGENT_STOPS "its agent stops it"

static bool grants_too_much(const struct node *node)
{
    struct resources left = resources_of_offer(&node->offer);

    left.cpu_millicores -= (int64_t)node->cpu_granted_millicores;
    left.memory_bytes -= (int64_t)node->memory_granted_bytes;
    left.gpus -= node->gpus_granted;
    left.ports = 0;
    resources_add(&left,
                  &(struct resources){ .cpu_millicores = node->stopping.cpu_millicores,
                                       .memory_bytes = node->stopping.memory_bytes,
                                       .gpus = node->stopping.gpus },
                  1);
    return resources_owe(&left);
}

/* Running processes on a node that offers less than before are not disturbed. But a process that
 * was ordered for its former size and has not been heard of must not start there any more. */
static void withdraw(struct cluster *cluster, struct node *node, struct instant now)
{
    struct process *process = node->processes != NULL ? node->processes->node_prev : NULL;

    while (process != NULL) {
        struct process *before = process == node->processes ? NULL : process->node_prev;

        if (process->state == PROCESS_ASSIGNED &&
            (grants_too_much(node) || (process->gpu_mask & ~gpus_mask(node->offer.gpus)) != 0))
            process_stop(cluster, process, true, CAUSE_OFFERS_LESS,
                         "its node offers less than before", now);
        process = before;
    }
}

static void take_offer(struct cluster *cluster, struct node *node, const struct node_offer *offer,
                       struct instant now)
{
    struct node_offer bounded = node_offer_bounded(offer);

    if (!node_offers_same(&bounded, &node->offer)) {
        node->offer = bounded;
        fact_machine_changed(cluster, node);
        node_offer_changed(cluster, node);
        node_note_reachable(cluster, node); /* elsewhere, it may be */
        withdraw(cluster, node, now);
        cluster->plan_wanted = true;
        effect_save_node(cluster, node);
    }
    node_measure_offer(node);
}

/* cluster_join_node - see node_report.h; -EINVAL for a name that no host has */
int cluster_join_node(struct cluster *cluster, const char *name, const char *credential_hash,
                      const struct node_offer *offer, struct instant now, struct node **ret_node,
                      struct edl_error *error)
{
    struct node *node;

    if (!node_name_valid(name))
        return edl_error_at(error, -EINVAL, "/node", "%s", NODE_NAME_RULE);
    if (strlen(credential_hash) >= sizeof node->credential_hash)
        return edl_error_set(error, -EINVAL, "the credential's hash is too long");
    node = cluster_node(cluster, name);
    if (node != NULL && node->state != NODE_LOST && node->ever_reported) {
        (void)edl_error_at(error, -EEXIST, "/node", "another machine reports as node %s", name);
        return edl_error_remedy(error,
                                "give this one another name with --node, or remove that one; "
                                "one that was installed anew joins when its lease has ended");
    }
    if (node != NULL && node->state == NODE_LOST && node->processes != NULL) {
        (void)edl_error_at(error, -EEXIST, "/node",
                           "node %s is cut off, and keeps processes of ours", name);
        return edl_error_remedy(error, "if its machine is off for good: edl node remove --gone %s",
                                name);
    }
    if (node == NULL)
        node = node_new(cluster, name, NODE_READY, offer);
    else
        take_offer(cluster, node, offer, now);
    (void)snprintf(node->credential_hash, sizeof node->credential_hash, "%s", credential_hash);
    if (node->state != NODE_LOST)
        node_renew_lease(cluster, node, now);
    effect_save_node(cluster, node);
    effect_event(cluster, now, NULL, name, "node-joined", "%s joined with %llum CPU", name,
                 (unsigned long long)node->offer.cpu_millicores);
    cluster->plan_wanted = true;
    *ret_node = node;
    return 0;
}

/* A device that others use is not granted; running processes on it are not disturbed. */
static void take_foreign_gpus(struct cluster *cluster, struct node *node, uint64_t mask)
{
    if (node->gpus_foreign == mask)
        return;
    node->gpus_foreign = mask;
    node_changed(cluster, node);
    cluster->plan_wanted = true;
}

/* The live process of ours on this very node that a report speaks of, or NULL. */
static struct process *reported_process(const struct cluster *cluster, const struct node *node,
                                        const struct process_report *report)
{
    const struct job *job = cluster_job(cluster, report->job_id);
    struct process *process;
    int role =
        job == NULL || report->role == NULL ? -ENOENT : job_spec_role(job->spec, report->role);

    if (role < 0 || report->index >= job->n_slots[role])
        return NULL;
    process = job->slots[role][report->index].live;
    return process != NULL && process->incarnation == report->incarnation && process->node == node
               ? process
               : NULL;
}

/* Its node ended it, or did not begin it (the lease was over, the machine goes down, somebody else
 * is on its GPU): no success or failure of its own. A node that sets itself aside by the same
 * report takes a failed start upon itself. */
static bool ended_by_node(const struct process_report *report, bool set_aside)
{
    if (report->start_fault == START_FAULT_NODE)
        return set_aside;
    if (report->start_fault != START_FAULT_NONE)
        return report->start_fault == START_FAULT_PLACE;
    return cause_is_nodes(report->cause);
}

/* Its resources stay granted to it like to any process that is stopping: nobody else gets those
 * cores, devices and ports, and the rest of the node goes on. */
static void take_stuck(struct cluster *cluster, struct process *process,
                       const struct process_report *report, struct instant now)
{
    bool stuck =
        report->state == PROCESS_STOPPING && report->reason != NULL && *report->reason != '\0';
    bool told = process->stuck != NULL;
    char name[ROLE_NAME_MAX + 16];

    free(process->stuck);
    process->stuck = stuck ? xstrdup(report->reason) : NULL;
    if (!stuck || told)
        return;
    process_name(process, name, sizeof name);
    effect_process_event(cluster, now, process, "process-stuck",
                         "%s: %s; its resources stay taken until it goes", name, report->reason);
}

static void lost_with_report(struct cluster *cluster, struct process *process,
                             const struct process_report *report, bool rebooted, struct instant now)
{
    enum cause cause = report->start_fault != START_FAULT_NONE ? CAUSE_NOT_STARTED : report->cause;

    if (rebooted)
        process_lost(cluster, process, CAUSE_REBOOTED, SAY_REBOOTED, now);
    else
        process_lost(cluster, process, cause != CAUSE_NONE ? cause : CAUSE_NOT_STARTED,
                     report->reason != NULL ? report->reason : cause_to_string(cause), now);
}

/* Next to no processor: a second to begin with, and a fiftieth for threads that look around. */
#define QUIET_CPU_US USEC_PER_SEC
#define QUIET_SHARE 50

static void take_cpu(struct process *process, const struct process_report *report,
                     struct instant now)
{
    uint64_t used_us = report->cpu_used_us;
    bool quiet = process->quiet_us != 0 && process->quiet_us <= now.now_us &&
                 used_us <= process->quiet_cpu_us + QUIET_CPU_US +
                                (now.now_us - process->quiet_us) / QUIET_SHARE;

    process->cpu_used_us = used_us;
    if (report->state == PROCESS_RUNNING && quiet)
        return;
    process->quiet_us = report->state == PROCESS_RUNNING ? now.now_us : 0;
    process->quiet_cpu_us = used_us;
}

static void take_process(struct cluster *cluster, struct process *process,
                         const struct process_report *report, const struct node_report *whole,
                         bool rebooted, struct instant now)
{
    bool set_aside = whole->set_aside != NULL && *whole->set_aside != '\0';
    bool changed = false;

    process->listed = true;
    process->reported = true;
    take_cpu(process, report, now);
    process->memory_used_bytes = report->memory_used_bytes;
    process->memory_peak_bytes = MAX_OF(process->memory_peak_bytes, report->memory_peak_bytes);
    process->tasks = report->tasks;
    process->ran_us = MAX_OF(process->ran_us, report->ran_us); /* its end is told without */
    process_take_frozen(cluster, process, report, now);
    process->told_progress |= report->told_progress;
    process_take_steps(cluster, process, &report->steps, now);
    process_take_backlog(cluster, process, &report->backlog, now);
    fact_seen(cluster, process, now);
    take_stuck(cluster, process, report, now);
    if (report->pid != 0 && process->pid != report->pid) {
        process->pid = report->pid;
        effect_save_process(cluster, process);
    }
    if (report->state == PROCESS_EXITED && !process->stop_wanted &&
        (rebooted || ended_by_node(report, set_aside) ||
         process_was_refused(process, report, &whole->offer))) {
        lost_with_report(cluster, process, report, rebooted, now);
        return;
    }
    if (report->state == PROCESS_EXITED) {
        process_exited(cluster, process, report, now);
        return;
    }
    /* Stopped unasked (its agent is being stopped itself): neither its success nor its failure. */
    if (report->state == PROCESS_STOPPING && !process->stop_wanted) {
        process_stop(cluster, process, true, CAUSE_AGENT_STOPS, SAY_AGENT_STOPS, now);
        process_leaves_gang(cluster, process, SAY_AGENT_STOPS, now);
        changed = true;
    } else if (report->state == PROCESS_PREPARING || report->state == PROCESS_RUNNING) {
        changed = process_may_become(process, report->state) &&
                  process_set_state(cluster, process, report->state, now);
    }
    if (changed && !job_stop_if_unfit(cluster, process->job, now))
        job_settle(cluster, process->job, now);
}

/* A process that its agent spoke of before and does not list any more is gone. One that it never
 * spoke of may be an order that it has not seen; after a reboot it carries that out like any other
 * (it may have read orders before it reports, so a process that it lists as running with a new boot
 * id does run). */
static void take_absent(struct cluster *cluster, struct node *node, bool rebooted,
                        struct instant now)
{
    struct process *process;
    struct process *next;

    DL_FOREACH_SAFE2(node->processes, process, next, node_next)
    if (process->reported && !process->listed)
        process_lost(cluster, process, rebooted ? CAUSE_REBOOTED : CAUSE_UNSEEN,
                     rebooted ? SAY_REBOOTED : "its agent does not know it", now);
}

static void returned(struct cluster *cluster, struct node *node, struct instant now)
{
    node_set_state(cluster, node, node->admin_state, "node-returned", "reports again", now);
    node_note_reachable(cluster, node);
}

void cluster_note_disconnected(struct cluster *cluster, struct node *node, struct instant now)
{
    if (node->disconnected || node->state == NODE_LOST)
        return;
    node->disconnected = true;
    effect_event(cluster, now, NULL, node->name, "node-disconnected",
                 "its agent has ended or was cut off; its processes go on until the lease ends");
}

/* cluster_report - see node_report.h; linear in the processes of the report and of the node */
int cluster_report(struct cluster *cluster, struct node *node, const struct node_report *report,
                   struct instant now, struct edl_error *error)
{
    struct process *process;
    uint32_t n_stale = 0;
    uint32_t n_new = node_count_new(node);
    bool rebooted;
    int r = node_admit(cluster, node, report, error);

    if (r == 0 && !node->heard)
        r = cluster_check_machine(cluster, node->name, report->machine_id, report->boot_id, error);
    if (r < 0)
        return r;
    node_repeats(cluster, node, report->session);
    node_renew_lease(cluster, node, now);
    node_note_processes(node, report->n_processes, now);
    node->last_report_wall_us = now.wall_us;
    tasks_heard_again(cluster, node, now);
    node->reported_us = now.now_us;
    if (node->state == NODE_LOST)
        returned(cluster, node, now);
    if (!node->ever_reported) {
        node->ever_reported = true;
        node_changed(cluster, node);
        cluster->plan_wanted = true;
        effect_save_node(cluster, node);
    }
    node->disconnected = false;
    rebooted = node_take_identity(cluster, node, report);
    node_take_foreign(cluster, node, report, now);
    take_foreign_gpus(cluster, node, report->gpus_foreign);
    node_take_foreign_ports(cluster, node, report->ports_foreign, report->n_ports_foreign);
    node_take_disk(cluster, node, report->disk_full, now);
    node_take_set_aside(cluster, node, report->set_aside, report->set_aside_number, now);
    DL_FOREACH2(node->processes, process, node_next)
    process->listed = false;
    for (size_t i = 0; i < report->n_processes; i++) {
        process = reported_process(cluster, node, &report->processes[i]);
        cluster_meet_job(cluster, report->processes[i].job_id);
        if (process != NULL)
            take_process(cluster, process, &report->processes[i], report, rebooted, now);
        else if (!process_state_is_final(report->processes[i].state))
            n_stale++;
    }
    if (report->complete || rebooted)
        take_absent(cluster, node, rebooted, now);
    node_orders_go_on(cluster, node, n_new);
    take_offer(cluster, node, &report->offer, now);
    node_take_idle_gpus(cluster, node, report->gpus_idle, now);
    if (report->complete && (node->n_stale != n_stale || !node->heard)) {
        node->heard = true;
        node->n_stale = n_stale;
        node_changed(cluster, node);
        cluster->plan_wanted = true;
    }
    return 0;
}

/* cluster_set_node_state - see node_report.h; a lost node takes the new state when it is back.
 * Idempotent. */
int cluster_set_node_state(struct cluster *cluster, struct node *node, enum node_state state,
                           struct instant now, struct edl_error *error)
{
    if (state != NODE_READY && state != NODE_CORDONED && state != NODE_DRAINING)
        return edl_error_at(error, -EINVAL, "/state",
                            "a node can be set ready, cordoned or draining, not %s",
                            node_state_to_string(state));
    if (node->admin_state != state) {
        node->admin_state = state;
        effect_save_node(cluster, node);
    }
    if (node->state == NODE_LOST || node->state == state)
        return 0;
    node_set_state(cluster, node, state,
                   state == NODE_READY      ? "node-ready"
                   : state == NODE_CORDONED ? "node-cordoned"
                                            : "node-draining",
                   state == NODE_READY      ? "takes processes again"
                   : state == NODE_CORDONED ? "takes no new processes"
                                            : "is being emptied",
                   now);
    return 0;
}

/* cluster_remove_node - see node_report.h; node is freed */
int cluster_remove_node(struct cluster *cluster, struct node *node, struct instant now,
                        struct edl_error *error)
{
    if (node->processes != NULL) {
        (void)edl_error_set(error, EDL_EBADTRANSITION, "node %s still has processes", node->name);
        return edl_error_remedy(error,
                                node->state == NODE_LOST
                                    ? "they are kept although it is cut off; when that machine is "
                                      "off for good: edl node remove --gone %s"
                                    : "drain it first and wait until it is empty: edl node drain "
                                      "%s",
                                node->name);
    }
    node_end_lease(cluster, node);
    effect_forget_node(cluster, node);
    effect_event(cluster, now, NULL, node->name, "node-removed", "%s was removed", node->name);
    node_remove(cluster, node);
    return 0;
}
