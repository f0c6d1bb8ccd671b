/* SPDX-License-Identifier: Apache-2.0 */
/* process_sm.c - the states of a process
 *
 *   assigned --> preparing --> running --> stopping --> exited     (forward only, steps may be
 * skipped) |            |            |            |
 *       +------------+------------+------------+------> exited | lost
 *
 * Its grants are free again when it is exited (its agent saw it gone) or lost (its node's lease
 * ended, its node was started again, or its agent does not know it). How it ended decides about its
 * slot: asked to stop - nothing; exit code 0 - finished; lost - due again; anything else
 * - a failure: due again after a back-off; with its restarts used up it is given up if others of
 * its role do the work, else it is the job's end; that comes sooner for a program that fails
 * everywhere at once (job_restarts.c). When one that ran is lost, a job that is not
 * fault tolerant goes back to the queue as a whole: those that are left cannot go on with a new one
 * among them. So it does when rank 0 is lost before it ran: the others know its address already. */
#include "scheduler/core/model/process_sm.h"

#include <stdarg.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/histogram.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/gpu_idle.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_fit.h"
#include "scheduler/core/model/node_pick.h"
#include "scheduler/core/model/node_starts.h"
#include "scheduler/core/model/past_refusals.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/start_elsewhere.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/model/usage.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/start_fault.h"

/* A process that ran for so long has left its earlier failures behind. */
#define RAN_WELL_US (600 * USEC_PER_SEC)
#define RAN_WELL_BACKOFFS 10

#define TO(state) (1U << (state))
#define GONE (TO(PROCESS_EXITED) | TO(PROCESS_LOST))

static const unsigned allowed[] = {
    [PROCESS_ASSIGNED] = TO(PROCESS_PREPARING) | TO(PROCESS_RUNNING) | TO(PROCESS_STOPPING) | GONE,
    [PROCESS_PREPARING] = TO(PROCESS_RUNNING) | TO(PROCESS_STOPPING) | GONE,
    [PROCESS_RUNNING] = TO(PROCESS_STOPPING) | GONE,
    [PROCESS_STOPPING] = GONE,
    [PROCESS_EXITED] = 0,
    [PROCESS_LOST] = 0,
};

static const char *const event_names[] = {
    [PROCESS_ASSIGNED] = "process-assigned", [PROCESS_PREPARING] = "process-preparing",
    [PROCESS_RUNNING] = "process-running",   [PROCESS_STOPPING] = "process-stopping",
    [PROCESS_EXITED] = "process-exited",     [PROCESS_LOST] = "process-lost",
};

/* A shell's exit code for a process killed by a signal is the same as the signal itself. */
static const struct {
    int exit_code;
    int exit_signal;
    const char *text;
} exit_texts[] = {
    { 1, 0, "General Error" },
    { 134, 6, "Program Abort" },
    { 136, 8, "Error Arithmetic Operation(Floating Point Exception)" },
    { 139, 11, "Segmentation Fault" },
};

void process_describe_exit(int exit_code, int exit_signal, char *buffer, size_t size)
{
    const char *text = "";

    for (size_t i = 0; i < ELEMENTS(exit_texts); i++)
        if (exit_signal != 0 ? exit_texts[i].exit_signal == exit_signal
                             : exit_texts[i].exit_code == exit_code)
            text = exit_texts[i].text;
    (void)snprintf(buffer, size, "%s %d%s%s%s", exit_signal != 0 ? "signal" : "exit code",
                   exit_signal != 0 ? exit_signal : exit_code, *text != '\0' ? " (" : "", text,
                   *text != '\0' ? ")" : "");
}

void process_name(const struct process *process, char *buffer, size_t size)
{
    (void)snprintf(buffer, size, "%s-%u", process->job->spec->roles[process->role].name,
                   process->index);
}

struct slot *process_slot(const struct process *process)
{
    return &process->job->slots[process->role][process->index];
}

struct process *process_new(struct job *job, uint32_t role, uint32_t index, uint64_t incarnation)
{
    struct process *process = xcalloc(1, sizeof *process);

    process->job = job;
    process->role = role;
    process->index = index;
    process->incarnation = incarnation;
    process->exit_code = -1;
    DL_APPEND2(job->processes, process, job_prev, job_next);
    return process;
}

void process_attach(struct process *process, struct node *node)
{
    slot_count(process->job, process->role, process->index, -1);
    process->node = node;
    memcpy(process->node_name, node->name, sizeof process->node_name);
    DL_APPEND2(node->processes, process, node_prev, node_next);
    node->gpus_used |= process->gpu_mask;
    process_slot(process)->live = process;
    process_count(process, 1);
}

static void detach(struct cluster *cluster, struct process *process)
{
    struct node *node = process->node;
    const struct process *other;

    if (node == NULL)
        return;
    process_count(process, -1);
    process_slot(process)->live = NULL;
    process->node = NULL;
    slot_count(process->job, process->role, process->index, 1);
    DL_DELETE2(node->processes, process, node_prev, node_next);
    node->gpus_used = 0;
    DL_FOREACH2(node->processes, other, node_next)
    node->gpus_used |= other->gpu_mask;
    node_changed(cluster, node);
    job_touch(cluster, process->job);
    effect_orders(cluster, node);
}

bool process_may_become(const struct process *process, enum process_state to)
{
    return (allowed[process->state] & TO(to)) != 0;
}

/* Sizes that change while the job runs: how long its new processes take to start, those that leave
 * to go. */
static void count_resize(struct cluster_figures *figures, struct process *process,
                         enum process_state to, struct instant now)
{
    bool runs = process->job->state == JOB_RUNNING || process->job->state == JOB_RESIZING;
    struct histogram *histogram = to == PROCESS_RUNNING ? &figures->resize_start
                                  : process_state_is_final(to) && process->stop_wanted
                                      ? &figures->resize_stop
                                      : NULL;

    if (runs && histogram != NULL && process->since_us != 0)
        histogram_observe(histogram, now.now_us - process->since_us);
}

static void count_move(struct cluster_figures *figures, struct process *process,
                       enum process_state to, struct instant now)
{
    enum process_end end = process->stop_wanted                                   ? END_STOPPED
                           : to == PROCESS_LOST                                   ? END_LOST
                           : process->exit_code == 0 && process->exit_signal == 0 ? END_FINISHED
                                                                                  : END_FAILED;

    figures->processes[process->state]--;
    if (process_state_is_final(to))
        figures->process_ends[end]++;
    else
        figures->processes[to]++;
    count_resize(figures, process, to, now);
}

/* Its tasks are still its own: the unfinished ones are known. */
static void account(struct cluster *cluster, struct process *process, struct instant now)
{
    struct usage usage;

    process->ended_wall_us = now.wall_us;
    usage_of_process(process, now.wall_us, &usage);
    usage_of_ended(process->job, &usage);
    effect_save_job(cluster, process->job);
}

bool process_set_state(struct cluster *cluster, struct process *process, enum process_state to,
                       struct instant now)
{
    char name[ROLE_NAME_MAX + 16];

    process_name(process, name, sizeof name);
    if (!process_may_become(process, to)) {
        unlisted_move(cluster, process->job->spec->name, name,
                      process_state_to_string(process->state), process_state_to_string(to));
        return false;
    }
    if (process->node != NULL)
        process_count(process, -1);
    count_move(&cluster->figures, process, to, now);
    process->state = to;
    if (process->node != NULL) {
        process_count(process, 1);
        if (to == PROCESS_STOPPING)
            node_changed(cluster, process->node);
    }
    job_touch(cluster, process->job);
    if (to == PROCESS_RUNNING && process->started_wall_us == 0)
        process->started_wall_us = now.wall_us;
    if (to == PROCESS_RUNNING) {
        process_slot(process)->failed_starts = 0;
        node_started(cluster, process->node, process->job, now);
        past_refusals_ran(cluster, process);
    }
    if (to == PROCESS_STOPPING)
        process->stopping_wall_us = now.wall_us;
    if (process_state_is_final(to))
        account(cluster, process, now);
    rendezvous_moved(cluster, process);
    fact_process_moved(cluster, process, now);
    effect_save_process(cluster, process);
    effect_process_event(cluster, now, process, event_names[to], "%s%s%s", name,
                         *process->reason != '\0' ? ": " : "", process->reason);
    cluster->plan_wanted = true;
    return true;
}

bool process_assign(struct cluster *cluster, struct job *job, uint32_t role, uint32_t index,
                    struct node *node, struct instant now)
{
    struct process *process;
    uint16_t ports[PROCESS_PORTS_MAX];
    uint64_t gpu_mask;
    uint32_t n_ports = job->spec->roles[role].n_ports;

    if (!node_pick_gpus(node, job->spec->roles[role].gpus, &gpu_mask) ||
        !node_pick_ports(node, n_ports, ports))
        return false;
    process = process_new(job, role, index, job->next_incarnation++);
    process->assigned_wall_us = now.wall_us;
    process->since_us = now.now_us;
    process->n_ports = n_ports;
    process->gpu_mask = gpu_mask;
    memcpy(process->ports, ports, n_ports * sizeof *ports);
    history_add(process);
    process_attach(process, node);
    node_changed(cluster, node);
    job_touch(cluster, job);
    cluster->figures.processes[PROCESS_ASSIGNED]++;
    cluster->figures.process_starts[job->slots[role][index].due ? START_AGAIN : START_NEW]++;
    slot_set_due(cluster, job, role, index, false);
    cluster->n_assigned++;
    effect_save_job(cluster, job);
    effect_save_process(cluster, process);
    effect_orders(cluster, node);
    effect_process_event(cluster, now, process, event_names[PROCESS_ASSIGNED],
                         "%s-%u: incarnation %llu", job->spec->roles[role].name, index,
                         (unsigned long long)process->incarnation);
    return true;
}

static void say(struct process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A longer text is cut between two characters: others' words are among it. */
static void say(struct process *process, const char *format, ...)
{
    char text[PROCESS_REASON_SIZE + 4];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)snprintf(process->reason, sizeof process->reason, "%.*s",
                   printable_prefix(text, sizeof process->reason - 1), text);
}

void process_stop(struct cluster *cluster, struct process *process, bool again, enum cause cause,
                  const char *reason, struct instant now)
{
    if (process->stop_wanted || process_state_is_final(process->state))
        return;
    process->stop_wanted = true;
    process->since_us = now.now_us;
    slot_set_due(cluster, process->job, process->role, process->index, again);
    process->cause = cause;
    say(process, "%s", reason);
    (void)process_set_state(cluster, process, PROCESS_STOPPING, now);
    if (!again)
        process_note_taken(cluster, process, now);
    effect_orders(cluster, process->node);
}

/* release_tasks - died: by itself, so its tasks remember it */
static void release_tasks(struct cluster *cluster, struct process *process, bool died,
                          struct instant now)
{
    struct job *job = process->job;
    const struct tasks_mark before = tasks_mark(job);
    size_t n;

    if (job->queue == NULL)
        return;
    fact_tasks_lost(cluster, process, now);
    n = died ? tasks_of_dead(process)
             : task_queue_release_holder(job->queue, process->incarnation, NULL);
    cluster->figures.task_ends[TASK_END_RELEASED] += n;
    /* after the last pass it may have been the elected saver, which is stored as well */
    if (n > 0 || task_queue_is_finished(job->queue))
        tasks_changed(cluster, job, &before, now);
}

static uint64_t doubled_us(uint64_t wait_us, uint32_t times)
{
    while (times-- > 0 && wait_us > 0 && wait_us < BACKOFF_MAX_US)
        wait_us *= 2;
    return MIN_OF(wait_us, BACKOFF_MAX_US);
}

/* For every document, a process that fails again is not started again at once: each incarnation is
 * rows, events, orders and a plan, which all others wait for. */
static uint64_t backoff_us(const struct job *job, uint32_t failures)
{
    uint64_t wanted_us = doubled_us(job->spec->restart_backoff_us, failures - 1);

    return failures < 2 ? wanted_us : MAX_OF(wanted_us, doubled_us(BACKOFF_LEAST_US, failures - 2));
}

/* Failures of long ago say nothing of a process that has run well since: else every job that goes
 * on for months would die of its rare failures. */
static bool ran_well(const struct process *process, struct instant now)
{
    uint32_t failures = process_slot(process)->failures;
    uint64_t wait_us = failures > 0 ? backoff_us(process->job, failures) : 0;
    uint64_t well_us = MAX_OF(RAN_WELL_BACKOFFS * wait_us, RAN_WELL_US);

    return process->started_wall_us != 0 && now.wall_us > process->started_wall_us &&
           now.wall_us - process->started_wall_us >= well_us;
}

static void back_off(struct cluster *cluster, const struct process *process, struct instant now)
{
    struct job *job = process->job;
    struct slot *slot = process_slot(process);
    uint64_t own_us = now.now_us + backoff_us(job, slot->failures + slot->failed_starts);
    uint64_t of_job_us = job_hasty_failed(job, process, now);

    slot->not_before_us = MAX_OF(own_us, of_job_us);
    if (slot->not_before_us > now.now_us)
        deadline_set(&cluster->deadlines, &job->backoff, DEADLINE_BACKOFF,
                     MIN_OF(deadline_at(&job->backoff), slot->not_before_us));
}

static void start_again(struct cluster *cluster, const struct process *process, struct instant now)
{
    back_off(cluster, process, now);
    slot_set_due(cluster, process->job, process->role, process->index, true);
}

static void failed(struct cluster *cluster, struct process *process, const char *how,
                   struct instant now)
{
    struct job *job = process->job;
    uint32_t failures = (ran_well(process, now) ? 0 : process_slot(process)->failures) + 1;
    bool dispensable = job_can_do_without(process);
    bool final = job_refuses_for_good(cluster, job, process);
    char name[ROLE_NAME_MAX + 16];
    char at_once[160];

    if (final) /* it counts as one that failed too often */
        failures = MAX_OF(failures, job->spec->restart_max + 1);
    slot_set_failures(cluster, job, process->role, process->index, failures);
    process_name(process, name, sizeof name);
    if (!job->spec->fault_tolerant)
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_PROCESS_FAILED,
                 "%s failed on node %s and the job is not fault tolerant: %s", name,
                 process->node_name, how);
    else if (job_fails_at_once(cluster, job, process, now, at_once, sizeof at_once))
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_FAILED_AT_ONCE,
                 "Failed %s count beyond the threshold: %s; last %s on node %s: %s",
                 job->spec->roles[process->role].name, at_once, name, process->node_name, how);
    else if (failures <= job->spec->restart_max)
        start_again(cluster, process, now);
    else if (final && dispensable)
        effect_process_event(cluster, now, process, "process-given-up",
                             "%s is not started again, as another try is of no use, and others do "
                             "its work: %s",
                             name, how);
    else if (final)
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_PROCESS_FAILED,
                 "%s failed on node %s, and another try is of no use: %s", name, process->node_name,
                 how);
    else if (dispensable)
        effect_process_event(cluster, now, process, "process-given-up",
                             "%s failed %u time%s and is not started again, others do its work: %s",
                             name, failures, PLURAL(failures), how);
    else
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_PROCESS_FAILED,
                 "Failed %s count beyond the threshold: %u (%s failed %u time%s; last on node %s: "
                 "%s)",
                 job->spec->roles[process->role].name, job->spec->restart_max, name, failures,
                 PLURAL(failures), process->node_name, how);
}

/* Success of the last one that could work off the data, with data left or a model owed. */
static bool deserts(const struct process *process)
{
    const struct job *job = process->job;

    if (job_owes_nothing(job) || !job_role_works(job, process->role))
        return false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_role_works(job, r) && job_count(job, r, false) + job_count_due(job, r) > 0)
            return false;
    return true;
}

static void ended_by_itself(struct cluster *cluster, struct process *process, struct instant now)
{
    struct job *job = process->job;

    if (process->exit_code != 0 || process->exit_signal != 0) {
        failed(cluster, process, process->reason, now);
    } else if (!job_role_works(job, process->role)) {
        /* a server: only its job's end ends its work */
        failed(cluster, process, "exit code 0, but its job still needs it", now);
    } else if (deserts(process)) {
        failed(cluster, process,
               task_queue_is_finished(job->queue)
                   ? "exit code 0, but a process of its job called elected(), to learn which one "
                     "saves the model, and none called model_saved() behind that"
                   : "exit code 0, but its job's data is not finished",
               now);
    } else {
        job->finishing = true;
        job_hasty_ran(job, process);
        slot_set_finished(cluster, job, process->role, process->index, true);
        effect_save_job(cluster, job);
    }
}

bool process_was_refused(const struct process *process, const struct process_report *report,
                         const struct node_offer *offer)
{
    const struct role_spec *spec = &process->job->spec->roles[process->role];

    if (process->state >= PROCESS_RUNNING || report->start_fault == START_FAULT_NONE)
        return false;
    for (uint32_t i = 0; i < process->n_ports; i++)
        if (process->ports[i] < offer->port_first || process->ports[i] > offer->port_last)
            return true;
    return spec->cpu_millicores > offer->cpu_millicores ||
           spec->memory_bytes > offer->memory_bytes ||
           (process->gpu_mask & ~gpus_mask(offer->gpus)) != 0;
}

/* Its slot is due, unless somebody asked it to stop. */
static void lose(struct cluster *cluster, struct process *process, enum cause cause,
                 const char *reason, struct instant now)
{
    struct job *job = process->job;

    if (!process->stop_wanted) {
        process->cause = cause;
        say(process, "%s", reason);
        slot_set_due(cluster, job, process->role, process->index, job_is_started(job));
    }
    detach(cluster, process);
    (void)process_set_state(cluster, process, PROCESS_LOST, now);
    release_tasks(cluster, process, false, now);
}

/* It is placed anew, elsewhere, and none of its restarts is spent. The job is over when no node is
 * left. */
static void goes_elsewhere(struct cluster *cluster, struct process *process, enum cause cause,
                           const char *reason, struct instant now)
{
    struct job *job = process->job;

    lose(cluster, process, cause, reason, now);
    if (job_stop_if_unfit(cluster, job, now))
        return;
    process_leaves_gang(cluster, process, process->reason, now);
    job_settle(cluster, job, now);
}

/* Its node cannot run it, and says why. */
static void unfit(struct cluster *cluster, struct process *process,
                  const struct process_report *report, struct instant now)
{
    const char *reason = report->reason != NULL ? report->reason : unfit_to_string(report->unfit);

    if (report->unfit != UNFIT_ACCOUNT_REFUSED) /* that is its owner's will */
        node_start_failed(cluster, process->node, process->job, DOUBT_REQUEST, now);
    job_note_unfit(cluster, process, report->unfit, reason, now);
    goes_elsewhere(cluster, process, CAUSE_UNFIT, reason, now);
}

/* A job that bears failures does not wait for another node: it goes to one that has room now. Else
 * it is tried again after its back-off, on any node that has room then. That spends none of its
 * restarts while another node may become free. */
static bool tries_again(struct cluster *cluster, struct process *process, bool again,
                        struct instant now)
{
    if (!again && process_fits_elsewhere(cluster, process, true, now))
        return true;
    if (!process_fits_elsewhere(cluster, process, false, now))
        return false;
    process_slot(process)->failed_starts++;
    back_off(cluster, process, now);
    return true;
}

/* Its node could not start it, for a fault of its own. false: it counts as any failure. The end of
 * a job that bears none would be this one failure, so it waits while there may be another node. */
static bool start_failed(struct cluster *cluster, struct process *process,
                         const struct process_report *report, struct instant now)
{
    const char *reason = report->reason != NULL ? report->reason : "cannot start";
    bool again = node_failed_to_start(process->node, process->job, now);

    if (report->start_fault == START_FAULT_DISK) {
        job_note_unfit(cluster, process, UNFIT_DISK_FULL, reason, now);
    } else {
        node_start_failed(cluster, process->node, process->job, DOUBT_NONE, now);
        if (process->job->spec->fault_tolerant
                ? !tries_again(cluster, process, again, now)
                : job_note_failed_start(cluster, process, UNFIT_START_FAILED, reason, now) !=
                      ELSEWHERE_MAYBE)
            return false;
    }
    goes_elsewhere(cluster, process, CAUSE_NOT_STARTED, reason, now);
    return true;
}

/* The others of its role were told where it is, and go there first. Only fixed sizes come by here,
 * so rank 0 is index 0. */
static bool is_met_by_others(const struct process *process)
{
    const struct role_spec *spec = &process->job->spec->roles[process->role];

    return process->index == 0 && spec->n_ports > 0 && spec->min > 1;
}

/* Its node has not what it is to execute, and another one may have it: none of its restarts is
 * spent. Whatever its agent saw of it, nothing of it ran. So the rest of its gang goes on, unless
 * others were told to meet it. false: it is not tried elsewhere, and *ret_elsewhere says why. */
static bool lacks_program(struct cluster *cluster, struct process *process,
                          const struct process_report *report, struct instant now,
                          const char **ret_elsewhere)
{
    static const char *const elsewhere[] = {
        [ELSEWHERE_NONE] = "; no other node can execute it",
        [ELSEWHERE_ENOUGH] = "; so many other nodes could not either that the rest is not tried",
    };
    struct job *job = process->job;
    const char *reason = report->reason != NULL ? report->reason : "cannot execute its program";
    enum elsewhere where;

    node_start_failed(cluster, process->node, job, DOUBT_PROGRAM, now);
    where = job_note_failed_start(cluster, process, UNFIT_NO_PROGRAM, reason, now);
    if (where != ELSEWHERE_MAYBE) {
        if (HASH_COUNT(cluster->nodes) > 1)
            *ret_elsewhere = elsewhere[where];
        return false;
    }
    lose(cluster, process, CAUSE_NO_PROGRAM, reason, now);
    if (is_met_by_others(process) && !job->finishing)
        process_leaves_gang(cluster, process, process->reason, now);
    job_settle(cluster, job, now);
    return true;
}

static enum cause cause_of_end(const struct process_report *report)
{
    if (report->start_fault == START_FAULT_PROGRAM)
        return CAUSE_NO_PROGRAM;
    if (report->start_fault != START_FAULT_NONE)
        return CAUSE_NOT_STARTED;
    return report->cause != CAUSE_NONE ? report->cause : CAUSE_PROGRAM;
}

/* Any node would refuse it. */
static void asks_in_vain(struct cluster *cluster, struct process *process, struct instant now)
{
    char name[ROLE_NAME_MAX + 16];

    process_name(process, name, sizeof name);
    job_stop(cluster, process->job, now, INTENT_FAILED, CAUSE_PROCESS_FAILED,
             "no node can start %s, for its job's request: %s; submit it again with that changed "
             "(tried on node %s)",
             name, process->reason, process->node_name);
}

void process_exited(struct cluster *cluster, struct process *process,
                    const struct process_report *report, struct instant now)
{
    struct job *job = process->job;
    bool success = report->exit_code == 0 && report->exit_signal == 0;
    const char *words = report->reason != NULL ? report->reason : "", *elsewhere = "";
    bool no_program;
    char how[100];

    if (report->unfit != UNFIT_NOT && !process->stop_wanted) {
        unfit(cluster, process, report, now);
        return;
    }
    if (report->unfit != UNFIT_NOT) /* the first of its gang that was refused stopped the others */
        job_note_unfit(cluster, process, report->unfit,
                       report->reason != NULL ? report->reason : unfit_to_string(report->unfit),
                       now);
    if ((report->start_fault == START_FAULT_NODE || report->start_fault == START_FAULT_DISK) &&
        !process->stop_wanted && start_failed(cluster, process, report, now))
        return;
    no_program = process_found_no_program(process, report, now);
    if (no_program && !process->stop_wanted &&
        lacks_program(cluster, process, report, now, &elsewhere))
        return;
    if (process->state == PROCESS_RUNNING && !no_program && report->start_fault == START_FAULT_NONE)
        node_proved(cluster, process->node, job, now);
    process->exit_code = report->exit_code;
    process->exit_signal = report->exit_signal;
    process->error_before_us = report->error_before_us;
    process->error = report->error != NULL ? xstrdup(report->error) : NULL;
    cluster->figures.orphans_reaped += report->orphans_reaped;
    if (!process->stop_wanted) {
        process->cause = cause_of_end(report);
        process_describe_exit(report->exit_code, report->exit_signal, how, sizeof how);
        say(process, "%s%s%s%s", how, *words != '\0' ? ": " : "", words, elsewhere);
    }
    process->start_failed = report->start_fault != START_FAULT_NONE && !no_program;
    if (report->cause == CAUSE_STOOD_STILL)
        effect_process_event(cluster, now, process, "stood-still", "%s", words);
    detach(cluster, process);
    (void)process_set_state(cluster, process, PROCESS_EXITED, now);
    tasks_note_end(process, success);
    release_tasks(cluster, process, !process->stop_wanted && !success, now);
    if (!process->stop_wanted && job_is_started(job) && report->start_fault == START_FAULT_JOB)
        asks_in_vain(cluster, process, now);
    else if (!process->stop_wanted && job_is_started(job))
        ended_by_itself(cluster, process, now);
    job_settle(cluster, job, now);
}

void process_leaves_gang(struct cluster *cluster, struct process *process, const char *how,
                         struct instant now)
{
    struct job *job = process->job;
    char name[ROLE_NAME_MAX + 16];

    if (job->spec->fault_tolerant || !job_is_started(job) ||
        (process->started_wall_us == 0 && !is_met_by_others(process)))
        return;
    process_name(process, name, sizeof name);
    if (job->finishing) /* finished work of others is not done again */
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_PROCESS_FAILED,
                 "%s was lost on node %s, others have finished, and the job is not fault "
                 "tolerant: %s",
                 name, process->node_name, how);
    else
        job_stop(cluster, job, now, INTENT_REQUEUED, CAUSE_MEMBER_LOST,
                 "%s was lost on node %s and the job is not fault tolerant, so it starts again as "
                 "a whole: %s",
                 name, process->node_name, how);
}

void process_lost(struct cluster *cluster, struct process *process, enum cause cause,
                  const char *reason, struct instant now)
{
    struct job *job = process->job;
    bool unasked = !process->stop_wanted;
    bool restored = process->node == NULL; /* the rest of its job is not tied together yet */

    lose(cluster, process, cause, reason, now);
    if (unasked && !restored)
        process_leaves_gang(cluster, process, reason, now);
    job_settle(cluster, job, now);
}
