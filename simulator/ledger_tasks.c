/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_tasks.c - what became of a job's data: the holder of each task, how often it failed, the
 * process that saves the model
 *
 * Leases and ends are known from calls that were answered; that a holder ended, and how, from the
 * machine that it was on. A lease that nobody ended is looked at when somebody else gets the task
 * or its pass is over: its holder has ended by then, or had it for as long as the shortest lease,
 * without the time in which it stood still.
 * Failures are counted generously, so that one too few is an error and one too many is not. */
#include <inttypes.h>

#include "scheduler/core/base/queue_rules.h"
#include "simulator/internal.h"

#define CLOCK_PART 50 /* clocks of nodes go faster or slower by less */
#define REPORT_US (3 * USEC_PER_SEC)

static bool has_ended(const struct truth_job *truth, uint64_t incarnation)
{
    return incarnation < truth->n_processes &&
           process_state_is_final(truth->processes[incarnation].state);
}

/* By itself and not with success. */
static bool has_failed(const struct truth_process *known)
{
    return known->state == PROCESS_EXITED && known->end == END_ITSELF && !known->finished &&
           known->stop_commit == 0;
}

void ledger_stands_still(struct sim *sim, const struct unit *unit)
{
    unit->job->processes[unit->id.incarnation].frozen_since_us = sim->now_us;
}

void ledger_goes_on(struct sim *sim, const struct unit *unit)
{
    struct truth_process *process = &unit->job->processes[unit->id.incarnation];

    process->stood_us += sim->now_us - process->frozen_since_us;
    process->frozen_since_us = 0;
}

uint64_t ledger_stood_us(const struct sim *sim, const struct truth_job *truth, uint64_t holder)
{
    const struct truth_process *process = &truth->processes[holder];

    return process->stood_us +
           (process->frozen_since_us > 0 ? sim->now_us - process->frozen_since_us : 0);
}

/* worked_us - for how long its holder could work on it at least; clocks of nodes are a little fast
 * or slow, and what stands still is known by the last report */
static uint64_t worked_us(const struct sim *sim, const struct truth_job *truth,
                          const struct truth_task *task)
{
    uint64_t stood_us = ledger_stood_us(sim, truth, task->holder) - task->stood_us;
    uint64_t known_us = stood_us - stood_us / CLOCK_PART;
    uint64_t held_us = sim->now_us - task->leased_us;
    uint64_t off_us = known_us > REPORT_US ? known_us - REPORT_US : 0;

    return held_us - MIN_OF(off_us, held_us);
}

static void time_out(struct sim *sim, struct truth_task *task)
{
    task->failures++;
    sim->seen[SIM_SEEN_TASKS_TIMED_OUT]++;
}

/* By the clock of a scheduler that goes faster it is over sooner. */
static uint64_t least_us(const struct sim *sim)
{
    uint64_t ppm = sim->n_servers > 1 ? sim->config.drift_ppm : 0;

    return TASK_LEASE_LEAST_US - TASK_LEASE_LEAST_US * ppm / PPM;
}

/* Nobody holds it any more. */
static void release(struct sim *sim, const struct truth_job *truth, uint32_t pass,
                    struct truth_task *task)
{
    bool ended = has_ended(truth, task->holder);
    const struct truth_process *holder = ended ? &truth->processes[task->holder] : NULL;

    if (!task->held)
        return;
    task->held = false;
    if (ended) {
        /* its time may have been over before its end was on record, whether it stood or not: what
         * the scheduler knew of that then is not known here */
        task->failures +=
            holder->ended_us - MIN_OF(task->leased_us, holder->ended_us) >= least_us(sim);
        task->deaths += has_failed(holder);
        sim->seen[SIM_SEEN_TASKS_GIVEN_BACK] += !has_failed(holder);
    } else if (worked_us(sim, truth, task) >= least_us(sim)) {
        time_out(sim, task);
    } else {
        violate(sim, "tasks",
                "job %s: task %zu of pass %" PRIu32 " is taken from incarnation %" PRIu64
                ", which has had it for %.3f s and works",
                truth->name, (size_t)(task - truth->tasks) % truth->n_tasks, pass, task->holder,
                (double)(sim->now_us - task->leased_us) / 1e6);
    }
}

bool ledger_may_discard(const struct truth_task *task)
{
    return task->failures > TASK_FAILURES_MAX || task->deaths >= TASK_DEATHS_MAX;
}

static void end_pass(struct sim *sim, struct truth_job *truth)
{
    uint32_t pass = truth->passes_ended++;
    bool trained = false;

    for (uint32_t i = 0; i < truth->n_tasks; i++) {
        struct truth_task *task = &truth->tasks[(size_t)pass * truth->n_tasks + i];

        release(sim, truth, pass, task);
        trained = trained || task->accepted != 0;
        if (task->accepted != 0)
            continue;
        truth->records_discarded += truth->records_per_task;
        sim->seen[SIM_SEEN_TASKS_DISCARDED]++;
        if (!ledger_may_discard(task))
            violate(sim, "tasks",
                    "job %s: pass %" PRIu32 " is over, and task %" PRIu32
                    " was not trained and failed %" PRIu32 " times, not more than %d; %" PRIu32
                    " of its processes died",
                    truth->name, pass, i, task->failures, TASK_FAILURES_MAX, task->deaths);
    }
    if (!trained && truth->n_tasks > 0)
        violate(sim, "tasks",
                "job %s goes on behind pass %" PRIu32 ", of which nothing was trained", truth->name,
                pass);
}

static void end_passes(struct sim *sim, struct truth_job *truth, uint32_t n)
{
    while (truth->passes_ended < n)
        end_pass(sim, truth);
}

static void lease(struct sim *sim, const struct pending *pending, struct truth_task *task)
{
    struct truth_job *truth = pending->job;

    end_passes(sim, truth, pending->ref.pass);
    if (task->lease != pending->ref.lease || task->holder != pending->holder)
        release(sim, truth, pending->ref.pass, task);
    task->held = true;
    task->lease = pending->ref.lease;
    task->holder = pending->holder;
    task->leased_us = pending->at_us;
    task->stood_us = ledger_stood_us(sim, truth, task->holder);
}

static void end_lease(struct sim *sim, const struct pending *pending, struct truth_task *task)
{
    static const char *const words[] = {
        [PENDING_FINISH] = "finish", [PENDING_FAIL] = "failure", [PENDING_RETURN] = "return"
    };
    struct truth_job *truth = pending->job;
    bool again = pending->kind == PENDING_FINISH && task->accepted == pending->ref.lease;
    uint64_t lost;

    if (task->lease != pending->ref.lease || task->holder != pending->holder ||
        (!task->held && !again)) {
        violate(sim, "tasks",
                "job %s: a stale %s was accepted: task %u of pass %u, lease %u of %" PRIu64
                ", is leased as %u to %" PRIu64,
                truth->name, words[pending->kind], pending->ref.task, pending->ref.pass,
                pending->ref.lease, pending->holder, task->lease, task->holder);
        return;
    }
    task->held = false;
    task->failures += pending->kind == PENDING_FAIL;
    sim->seen[SIM_SEEN_TASKS_FAILED] += pending->kind == PENDING_FAIL;
    sim->seen[SIM_SEEN_TASKS_GIVEN_BACK] += pending->kind == PENDING_RETURN;
    if (pending->kind != PENDING_FINISH || again)
        return;
    if (task->accepted != 0)
        violate(sim, "tasks", "job %s: task %u of pass %u is counted twice", truth->name,
                pending->ref.task, pending->ref.pass);
    task->accepted = pending->ref.lease;
    sim->seen[SIM_SEEN_TASKS_FINISHED]++;
    lost = program_lost(truth->damaged_each, truth->records_per_task, &pending->ref);
    truth->records_accepted += truth->records_per_task - lost;
    truth->records_lost += lost;
    sim->seen[SIM_SEEN_TASKS_DAMAGED] += lost > 0;
}

/* Who was told to save the model does so, or ends; nobody else is told before. */
static void elect(struct sim *sim, const struct pending *pending)
{
    struct truth_job *truth = pending->job;

    end_passes(sim, truth, truth->passes);
    if (truth->saved ||
        (truth->saver != 0 && truth->saver != pending->holder && !has_ended(truth, truth->saver)))
        violate(sim, "tasks",
                "job %s: incarnation %" PRIu64 " is to save the model, which %" PRIu64 " %s",
                truth->name, pending->holder, truth->saver,
                truth->saved ? "has saved" : "was told to");
    truth->saver = pending->holder;
}

static void save(struct sim *sim, const struct pending *pending)
{
    struct truth_job *truth = pending->job;

    if (truth->saver != pending->holder)
        violate(sim, "tasks",
                "job %s: incarnation %" PRIu64 " saved the model, which %" PRIu64 " was told to",
                truth->name, pending->holder, truth->saver);
    truth->saved = true;
}

void ledger_apply_task(struct sim *sim, const struct pending *pending)
{
    struct truth_job *truth = pending->job;
    struct truth_task *task;

    if (pending->kind == PENDING_SAVER) {
        elect(sim, pending);
        return;
    }
    if (pending->kind == PENDING_SAVED) {
        save(sim, pending);
        return;
    }
    if (pending->ref.task >= truth->n_tasks || pending->ref.pass >= truth->passes) {
        violate(sim, "tasks", "job %s: task %u of pass %u does not exist", truth->name,
                pending->ref.task, pending->ref.pass);
        return;
    }
    task = &truth->tasks[(size_t)pending->ref.pass * truth->n_tasks + pending->ref.task];
    if (pending->kind == PENDING_LEASE)
        lease(sim, pending, task);
    else
        end_lease(sim, pending, task);
}

/* The totals that the scheduler tells are what was seen from here. */
void ledger_check_records(struct sim *sim, struct truth_job *truth, const struct job *job)
{
    struct task_queue_counts counts;

    if (job->queue == NULL) {
        if (job->state == JOB_SUCCEEDED && truth->n_tasks > 0)
            violate(sim, "tasks", "job %s succeeded and never had its data", truth->name);
        return;
    }
    counts = task_queue_counts(job->queue);
    if (counts.records_total != truth->records_accepted)
        violate(sim, "tasks", "job %s: %" PRIu64 " records are counted, %" PRIu64 " were trained",
                truth->name, counts.records_total, truth->records_accepted);
    if (counts.records_lost_total != truth->records_lost)
        violate(sim, "tasks",
                "job %s: %" PRIu64 " records are counted as lost, %" PRIu64 " could not be read",
                truth->name, counts.records_lost_total, truth->records_lost);
    if (counts.records_done + counts.records_lost != counts.done * truth->records_per_task)
        violate(sim, "tasks",
                "job %s: of %u tasks that are done %" PRIu64 " records count as done and %" PRIu64
                " as lost",
                truth->name, counts.done, counts.records_done, counts.records_lost);
    if (job->state != JOB_SUCCEEDED)
        return;
    end_passes(sim, truth, truth->passes);
    if (counts.records_discarded_total != truth->records_discarded)
        violate(sim, "tasks",
                "job %s succeeded and counts %" PRIu64 " records as discarded, of %" PRIu64
                " that were not trained",
                truth->name, counts.records_discarded_total, truth->records_discarded);
    if (!truth->saved)
        violate(sim, "tasks", "job %s succeeded and nobody saved its model", truth->name);
}
