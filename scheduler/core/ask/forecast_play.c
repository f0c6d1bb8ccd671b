/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_play.c - a copy of a cluster, played forward in time
 *
 * The decisions of a plan are found among its effects: a process that was assigned runs after
 * start_us, one that was asked to stop is seen gone after stop_us or its job's grace. Both are told
 * to the copy as an agent would, by cluster_report. All that happens at one instant is told before
 * the plan that follows. A step costs the processes under way and the jobs whose end is known.
 *
 * A job's end is known when it has a task queue and has counted records: the rest of its passes, at
 * the mean rate since it started, in the work of one instance; it goes on in proportion to the
 * instances that run. One with a time limit ends there at the latest. */
#include "scheduler/core/ask/forecast_play.h"

#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/node_report.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"

#define DEFAULT_US USEC_PER_SEC
#define START_MAX_US (600 * USEC_PER_SEC) /* a mean above that says nothing of the next start */
#define HORIZON_US (24 * 3600 * USEC_PER_SEC)
#define STEPS_MAX 4096
/* One step in so many may be there for the age of jobs alone: the others find what is asked. */
#define STEPS_PER_RENEWAL 4
/* Deadlines within so much of each other are one step: those of task leases are many, and change
 * nothing here. */
#define DEADLINE_STEP_US USEC_PER_SEC

struct play_pending {
    struct process *process; /* of the copy */
    bool stops;
    uint64_t due_us;
    UT_hash_handle hh; /* k: process */
};

struct play_end {
    struct job *job;     /* of the copy */
    double work_left_us; /* of one instance; below 0: nobody knows it, or it has ended */
    uint64_t limit_us;   /* when it will have run for its time limit; NEVER_US: it has none */
};

/* --- changes under way --- */

static void expect(struct play *play, struct process *process, bool stops, uint64_t in_us)
{
    struct play_pending *pending;

    HASH_FIND_PTR(play->pending, &process, pending);
    if (pending != NULL && pending->stops == stops)
        return;
    if (pending == NULL) {
        pending = xcalloc(1, sizeof *pending);
        pending->process = process;
        HASH_ADD_PTR(play->pending, process, pending);
    }
    pending->stops = stops;
    pending->due_us = play->now.now_us + in_us;
}

static uint64_t stop_takes_us(const struct play *play, const struct process *process)
{
    return play->longest ? MAX_OF(process->job->spec->grace_us, play->stop_us) : play->stop_us;
}

static void expect_no_more(struct play *play, struct play_pending *pending)
{
    HASH_DEL(play->pending, pending);
    free(pending);
}

/* The change of a process since the last look at it; true: it was asked to stop just now. */
static bool follow(struct play *play, struct process *process)
{
    struct play_pending *pending;
    bool known;

    HASH_FIND_PTR(play->pending, &process, pending);
    known = pending != NULL && pending->stops;
    if (process->state == PROCESS_STOPPING)
        expect(play, process, true, stop_takes_us(play, process));
    else if (process->state < PROCESS_RUNNING)
        expect(play, process, false, play->start_us);
    else if (pending != NULL)
        expect_no_more(play, pending);
    return process->state == PROCESS_STOPPING && !known;
}

/* Its limit is an end like others, and jobs end in some plays only: the copy's own clock stops. */
static uint64_t take_limit(struct cluster *copy, struct job *job)
{
    uint64_t limit_us = deadline_at(&job->limit);

    deadline_set(&copy->deadlines, &job->limit, DEADLINE_LIMIT, NEVER_US);
    return limit_us;
}

static void expect_limit(struct play *play, struct job *job)
{
    uint64_t limit_us = take_limit(play->cluster, job);
    size_t i = 0;

    if (limit_us == NEVER_US)
        return;
    while (i < play->n_ends && play->ends[i].job != job)
        i++;
    if (i == play->n_ends) {
        play->ends = xreallocarray(play->ends, play->n_ends + 1, sizeof *play->ends);
        play->ends[play->n_ends++] = (struct play_end){ .job = job, .work_left_us = -1 };
    }
    play->ends[i].limit_us = limit_us;
}

void play_plan(struct play *play)
{
    const struct effect *effects;
    size_t n;

    cluster_plan(play->cluster, play->now);
    effects = cluster_effects(play->cluster, &n);
    for (size_t i = 0; i < n; i++) {
        struct process *process = effects[i].process;

        if (effects[i].kind == EFFECT_SAVE_PROCESS && follow(play, process) &&
            process->job->state != JOB_STOPPING && play->on_stop != NULL)
            play->on_stop(process, play->userdata);
        if (effects[i].kind == EFFECT_SAVE_JOB)
            expect_limit(play, effects[i].job);
    }
    cluster_effects_clear(play->cluster);
}

/* Tells the copy what an agent would: one process, or only that the node is there. */
static void report(struct play *play, struct node *node, const struct process_report *process)
{
    struct node_report node_report = { .boot_id = node->boot_id,
                                       .offer = node->offer,
                                       .foreign_cpu_millicores = node->foreign_cpu_millicores,
                                       .foreign_memory_bytes = node->foreign_memory_bytes,
                                       .gpus_foreign = node->gpus_foreign,
                                       .gpus_idle = node->gpus_idle,
                                       .ports_foreign = node->ports_foreign,
                                       .n_ports_foreign = node->n_ports_foreign,
                                       .disk_full = node->disk_full,
                                       .processes = process,
                                       .n_processes = process != NULL };

    (void)cluster_report(play->cluster, node, &node_report, play->now, NULL);
}

static void happen(struct play *play, const struct play_pending *pending)
{
    const struct process *process = pending->process;
    struct process_report process_report = {
        .job_id = process->job->id,
        .role = process->job->spec->roles[process->role].name,
        .index = process->index,
        .incarnation = process->incarnation,
        .state = pending->stops ? PROCESS_EXITED : PROCESS_RUNNING,
        .pid = process->pid,
        .exit_code = -1,
        .cpu_used_us = process->cpu_used_us,
        .memory_used_bytes = process->memory_used_bytes,
    };

    if (!process_state_is_final(process->state))
        report(play, process->node, &process_report);
}

static void happen_all_due(struct play *play)
{
    struct play_pending *pending;
    struct play_pending *next;

    HASH_ITER(hh, play->pending, pending, next)
    {
        if (pending->due_us > play->now.now_us)
            continue;
        HASH_DEL(play->pending, pending);
        happen(play, pending);
        free(pending);
    }
}

/* --- jobs that end --- */

/* Instances that work on the data now. */
static uint32_t workers(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_role_works(job, r))
            n += job_count_running(job, r);
    return n;
}

/* The work left, in the time of one instance; negative: nobody knows. */
static double work_left_us(const struct job *job, struct instant now)
{
    struct task_queue_counts counts;
    double all, gone, took_us;

    if (job->queue == NULL || !job_is_started(job) || workers(job) == 0 ||
        job->started_wall_us == 0 || now.wall_us <= job->started_wall_us)
        return -1;
    counts = task_queue_counts(job->queue);
    if (counts.records_total == 0)
        return -1;
    all = (double)counts.records_pass * task_queue_passes(job->queue);
    gone =
        (double)(counts.records_total + counts.records_discarded_total + counts.records_lost_total);
    took_us = (double)(now.wall_us - job->started_wall_us);
    return MAX_OF(all - gone, 0) * took_us / (double)counts.records_total * workers(job);
}

static void find_ends(struct play *play)
{
    size_t n = 0;
    struct job *job;

    DL_COUNT2(play->cluster->active, job, n, active_next);
    play->ends = xcalloc(n, sizeof *play->ends);
    DL_FOREACH2(play->cluster->active, job, active_next)
    {
        double left_us = work_left_us(job, play->now);
        uint64_t limit_us = take_limit(play->cluster, job);

        if (left_us >= 0 || limit_us != NEVER_US)
            play->ends[play->n_ends++] =
                (struct play_end){ .job = job, .work_left_us = left_us, .limit_us = limit_us };
    }
}

/* Its work is known, and somebody does it now. */
static bool is_worked_on(const struct play_end *end)
{
    return end->work_left_us >= 0 && workers(end->job) > 0;
}

static bool ends_by_limit(const struct play_end *end)
{
    return end->limit_us != NEVER_US && end->job->runs_from_wall_us != 0 &&
           job_is_started(end->job);
}

/* NEVER_US when nobody works on it now, and it has no limit. */
static uint64_t end_us(const struct play *play, const struct play_end *end)
{
    uint64_t limit_us = ends_by_limit(end) ? end->limit_us : NEVER_US;
    double in_us;

    if (!is_worked_on(end))
        return limit_us;
    in_us = end->work_left_us / workers(end->job);
    return in_us > (double)(play->until_us - play->now.now_us)
               ? limit_us
               : MIN_OF(limit_us, play->now.now_us + (uint64_t)in_us + 1);
}

static uint64_t next_end_us(const struct play *play)
{
    uint64_t next_us = NEVER_US;

    for (size_t i = 0; i < play->n_ends; i++)
        next_us = MIN_OF(next_us, end_us(play, &play->ends[i]));
    return next_us;
}

static void work(struct play *play, uint64_t us)
{
    for (size_t i = 0; i < play->n_ends; i++) {
        struct play_end *end = &play->ends[i];

        if (end->work_left_us >= 0)
            end->work_left_us = MAX_OF(end->work_left_us - (double)us * workers(end->job), 0);
    }
}

/* Its processes stop as those of a job do whose work is done, or whose time is over. */
static void end_now(struct play *play, struct play_end *end)
{
    bool by_limit = !is_worked_on(end) || end->work_left_us >= 1;

    if (by_limit)
        job_stop(play->cluster, end->job, play->now, INTENT_KILLED, CAUSE_TIME_LIMIT,
                 "its time is over");
    else
        job_stop(play->cluster, end->job, play->now, INTENT_DONE, CAUSE_DONE,
                 "its data is worked off");
    end->work_left_us = -1;
    end->limit_us = NEVER_US;
    play->ended = end->job;
    play->ended_by_limit = by_limit;
    play->n_ended++;
}

static void end_all_due(struct play *play)
{
    for (size_t i = 0; i < play->n_ends; i++) {
        struct play_end *end = &play->ends[i];
        bool is_done = is_worked_on(end) && end->work_left_us < 1;
        bool is_over = ends_by_limit(end) && end->limit_us <= play->now.now_us;

        if (is_done && !job_is_started(end->job))
            end->work_left_us = -1;
        else if (is_done || is_over)
            end_now(play, end);
    }
}

/* --- beliefs about jobs that tell nothing --- */

/* By it an agent would tell that the job goes on; NULL: it does not, or it would tell more than
 * that. */
static const struct process *told_of(const struct job *job)
{
    const struct process *process;

    if (!job_is_started(job) || job->queue != NULL || job->tells_steps)
        return NULL;
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->node != NULL && process->node->state != NODE_LOST)
            return process;
    }
    return NULL;
}

static uint64_t next_renewal_us(const struct play *play)
{
    uint64_t next_us = NEVER_US;
    const struct job *job;

    if (play->renewals_left == 0)
        return NEVER_US;
    DL_FOREACH2(play->cluster->active, job, active_next)
    {
        if (job_learn_outdated_us(job) < next_us && told_of(job) != NULL)
            next_us = job_learn_outdated_us(job);
    }
    return MAX_OF(next_us, play->now.now_us + DEADLINE_STEP_US);
}

static void renew_all_due(struct play *play)
{
    const struct process *process;
    const struct job *job;

    DL_FOREACH2(play->cluster->active, job, active_next)
    {
        process = job_learn_outdated_us(job) <= play->now.now_us ? told_of(job) : NULL;
        if (process != NULL)
            fact_seen(play->cluster, process, play->now);
    }
}

/* --- time --- */

/* The next instant at which something happens that is no job's end. */
static uint64_t next_change_us(const struct play *play)
{
    uint64_t next_us = cluster_next_deadline_us(play->cluster);
    const struct play_pending *pending;

    if (next_us != NEVER_US)
        next_us = MAX_OF(next_us, play->now.now_us + DEADLINE_STEP_US);
    for (pending = play->pending; pending != NULL; pending = pending->hh.next)
        next_us = MIN_OF(next_us, pending->due_us);
    return MIN_OF(next_us, next_renewal_us(play));
}

bool play_end_is_next(const struct play *play)
{
    uint64_t next_us = next_end_us(play);

    return next_us != NEVER_US && next_us < next_change_us(play);
}

bool play_knows_an_end(const struct play *play)
{
    for (size_t i = 0; i < play->n_ends; i++)
        if (is_worked_on(&play->ends[i]) || ends_by_limit(&play->ends[i]))
            return true;
    return false;
}

bool play_is_settled(const struct play *play)
{
    return play->pending == NULL;
}

bool play_step(struct play *play, bool with_ends)
{
    uint64_t next_us = next_change_us(play);
    uint64_t ahead_us;

    if (with_ends)
        next_us = MIN_OF(next_us, next_end_us(play));
    if (next_us > play->until_us)
        return false;
    if (play->steps_left == 0) {
        play->cut_short = true;
        return false;
    }
    play->steps_left--;
    if (next_us == next_renewal_us(play))
        play->renewals_left--;
    ahead_us = next_us - MIN_OF(next_us, play->now.now_us);
    work(play, ahead_us);
    play->now.now_us += ahead_us;
    play->now.wall_us += ahead_us;
    cluster_tick(play->cluster, play->now);
    happen_all_due(play);
    renew_all_due(play);
    if (with_ends)
        end_all_due(play);
    play_plan(play);
    return true;
}

/* --- the beginning --- */

/* The mean time that the starts of running processes took; 0: none to learn from. */
static uint64_t measured_start_us(const struct cluster *cluster)
{
    const struct process *process;
    uint64_t sum_us = 0;
    uint64_t n = 0;

    for (const struct node *node = cluster->nodes; node != NULL; node = node->hh.next)
        DL_FOREACH2(node->processes, process, node_next)
        {
            if (process->assigned_wall_us == 0 ||
                process->started_wall_us < process->assigned_wall_us)
                continue;
            sum_us += process->started_wall_us - process->assigned_wall_us;
            n++;
        }
    return n == 0 || sum_us / n > START_MAX_US ? 0 : sum_us / n;
}

static uint64_t either(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

int play_init(struct play *play, const struct cluster *cluster, struct instant now,
              const struct forecast_options *options, bool longest, struct edl_error *error)
{
    struct cluster *copy = cluster_clone_active(cluster, now);
    struct process *process;

    if (copy == NULL)
        return edl_error_set(error, EDL_ECORRUPT, "the cluster could not be copied");
    *play = (struct play){
        .cluster = copy,
        .now = now,
        .until_us = now.now_us + either(options->horizon_us, HORIZON_US),
        .stop_us = either(options->stop_us, DEFAULT_US),
        .start_us = either(options->start_us, either(measured_start_us(cluster), DEFAULT_US)),
        .longest = longest,
        .steps_left = options->steps_max != 0 ? options->steps_max : STEPS_MAX,
    };
    play->renewals_left = play->steps_left / STEPS_PER_RENEWAL;
    /* nobody reports in time here, so a lease that was just renewed must last */
    copy->config.lease_us = 2 * (play->until_us - now.now_us);
    copy->config.parking_us = 0; /* each look at it would be a step, and a day has many */
    for (struct node *node = copy->nodes; node != NULL; node = node->hh.next) {
        if (node->state != NODE_LOST && node->ever_reported)
            report(play, node, NULL);
        DL_FOREACH2(node->processes, process, node_next)
        (void)follow(play, process);
    }
    find_ends(play);
    cluster_effects_clear(copy);
    return 0;
}

void play_done(struct play *play)
{
    struct play_pending *pending;
    struct play_pending *next;

    HASH_ITER(hh, play->pending, pending, next)
    {
        HASH_DEL(play->pending, pending);
        free(pending);
    }
    free(play->ends);
    play->ends = NULL;
    play->cluster = cluster_free(play->cluster);
}
